import assert from "node:assert/strict";
import { test } from "node:test";
import { choice } from "../src/play/form";
import { clockText } from "../src/play/seats";

test("a clock shows minutes, and tenths when time is short", () => {
  assert.equal(clockText(300), "5:00");
  assert.equal(clockText(65.9), "1:05");
  assert.equal(clockText(9.96), "0:09.9");
  assert.equal(clockText(0.04), "0:00.0");
  assert.equal(clockText(-3), "0:00.0");
});

test("a choice of the form names a person, a strength or a network", () => {
  assert.deepEqual(choice("guest", 5), { who: "guest" });
  assert.deepEqual(choice("player", 5), { who: "player", level: 5 });
  assert.deepEqual(choice("level 10", 5), { who: "player", level: 10 });
  assert.deepEqual(choice("network level 3", 5), { who: "player", level: 5, network: "level 3" });
});
