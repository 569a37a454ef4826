import assert from "node:assert/strict";
import test from "node:test";
import { readPlace, writePlace } from "../src/address";
import { destinations } from "../src/boards/chess";
import { colourOf } from "../src/colour";
import type { SettingInfo } from "../src/protocol";
import { read } from "../src/settings";
import { count, percent, signed } from "../src/words";

test("numbers as people read them", () => {
  assert.equal(count(9999), "9,999");
  assert.equal(count(12_345), "12.3k");
  assert.equal(count(1_234_567), "1.23M");
  assert.equal(signed(0.004), "0.00");
  assert.equal(signed(-0.5), "−0.50");
  assert.equal(signed(null), "–");
  assert.equal(percent(0.0004), "<0.1%");
  assert.equal(percent(0.42), "42%");
});

test("the address keeps a place", () => {
  for (const place of [
    { game: "chess", start: "8/8/8/8/8/8/K1k5/8 w - - 0 1", moves: [1, 22, 333], ply: 2 },
    { game: "a/b.py:Nim", start: "", moves: [], ply: null },
  ]) {
    assert.deepEqual(readPlace(writePlace(place)), place);
  }
  assert.equal(readPlace(""), null);
  assert.deepEqual(readPlace("#game=chess&moves=1-x--2&ply=-3"), {
    game: "chess",
    start: "",
    moves: [1, 2],
    ply: null,
  });
});

test("a move to the last rank is one destination, however many promotions", () => {
  const found = destinations(["a7a8q", "a7a8r", "a7b8q", "e1g1"]);
  assert.deepEqual(
    [...found],
    [
      ["a7", ["a8", "b8"]],
      ["e1", ["g1"]],
    ],
  );
});

test("colours go from orange to blue", () => {
  assert.equal(colourOf(-1, -1, 1), "rgb(224,123,46)");
  assert.equal(colourOf(0, -1, 1), "rgb(238,236,231)");
  assert.equal(colourOf(5, 0, 5), "rgb(74,154,216)");
  assert.equal(colourOf(null, -1, 1), colourOf(0, 1, 1));
});

test("a setting is a number where it looks like one", () => {
  const info: SettingInfo = {
    name: "fpu",
    help: "",
    kind: "choice",
    choices: ["parent"],
    optional: true,
    default: "reduction",
  };
  assert.equal(read("1,5", info), 1.5);
  assert.equal(read("parent", info), "parent");
  assert.equal(read(" ", info), null);
  assert.equal(read("", { ...info, optional: false }), "reduction");
});
