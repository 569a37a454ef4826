import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { readPlace, writePlace } from "../src/address";
import { destinations } from "../src/boards/chess";
import { colourOf, spread } from "../src/colour";
import { KEYS } from "../src/help";
import { findMove } from "../src/movefield";
import type { SettingInfo } from "../src/protocol";
import { read } from "../src/settings";
import { framesOf } from "../src/slow";
import { worth } from "../src/verdict";
import { count, minus, percent, signed, ticks } from "../src/words";

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

test("a move is found by its name or its squares, however it is written", () => {
  const labels = ["Bxc3", "bxc3", "O-O", "O-O-O", "Nf3+", "a8=Q", "a8=N#"];
  const actions = labels.map((label, action) => ({ action, label }));
  const found = (typed: string) => findMove(typed, actions, { g1f3: 4, a7a8q: 5 });
  assert.deepEqual(["Bxc3", "bxc3", "Bc3", "bc3"].map(found), [0, 1, 0, 1]);
  assert.deepEqual(["O-O", "0-0", "o-o-o", "oo"].map(found), [2, 2, 3, 2]);
  assert.deepEqual(["nf3", "Nf3!", "g1f3", "G1F3"].map(found), [4, 4, 4, 4]);
  assert.deepEqual(["a8q", "a8=Q", "a7a8Q", "a8n"].map(found), [5, 5, 5, 6]);
  assert.equal(found("c3"), null);
  assert.equal(found("BC3"), null); // two moves are alike
});

test("slow motion goes down the path and back to the root", () => {
  assert.deepEqual(framesOf(2), [
    ["selection", 1],
    ["selection", 2],
    ["expansion", 2],
    ["evaluation", 2],
    ["backup", 2],
    ["backup", 1],
    ["backup", 0],
  ]);
  assert.deepEqual(
    framesOf(0)
      .map(([phase]) => phase)
      .join(),
    "selection,expansion,evaluation,backup",
  );
});

test("the verdict names its units", () => {
  const search = { value: -0.25 } as Parameters<typeof worth>[0];
  const row = (score: string | null) => ({ score }) as Parameters<typeof worth>[1];
  assert.equal(worth(search, row(null)), "Q −0.250");
  assert.equal(worth(search, row("-1.03")), "Q −0.250 (−1.03 pawns)");
  assert.equal(worth(search, row("#3")), "mate in 3");
  assert.equal(worth(search, row("#-2")), "mated in 2");
  assert.equal(minus("#-2"), "#−2");
});

test("the help has the keys that the documentation lists", () => {
  const page = readFileSync("../docs/browser.md", "utf8");
  const listed = [...page.matchAll(/^\| (.+?) \| (.+?) \|$/gm)].slice(1);
  const rows = listed.map(([, key = "", does = ""]) => [key.replaceAll("`", ""), does]);
  for (const row of KEYS.Analyse ?? [])
    assert.ok(
      rows.some((each) => each.join() === row.join()),
      row[0],
    );
});

test("the colours of a tree are spread around the value of its root", () => {
  const tree = (...values: number[]) => ({ root: { value: values[0] ?? null }, values });
  assert.deepEqual(spread(tree(0.5, 0.1, 0.9), [-1, 1]), [0.09999999999999998, 0.9]);
  assert.deepEqual(spread(tree(0.2, 0.2, 0.21), [-1, 1]), [0.1, 0.30000000000000004]); // noise
  assert.deepEqual(spread({ root: null, values: [] }, [0, 10]), [4.5, 5.5]);
});

test("ticks have as many digits as tell them apart", () => {
  assert.deepEqual(ticks([1.098, 1.1, 1.102]), ["1.098", "1.1", "1.102"]);
  assert.deepEqual(ticks([0, 0.25, 0.5]), ["0", "0.25", "0.5"]);
  assert.deepEqual(ticks([10_000, 20_000]), ["10000", "20000"]);
  assert.deepEqual(ticks([0.5]), ["0.5"]);
});
