import assert from "node:assert/strict";
import test from "node:test";
import { RunPoints } from "../src/learn/points";
import type { Curves } from "../src/protocol";

function message(steps: number[], figures: Curves["figures"], fresh = false): Curves {
  return { type: "curves", run: "a", fresh, steps, figures };
}

test("points are put together, also of figures that come later or stop", () => {
  const run = new RunPoints();
  run.add(message([1, 2], { loss: [3, 2] }, true));
  run.add(message([3], { rating: [100] }));
  run.add(message([4], { loss: [1], rating: [null] }));
  assert.deepEqual(run.steps, [1, 2, 3, 4]);
  assert.deepEqual(run.figures.get("loss"), [3, 2, null, 1]);
  assert.deepEqual(run.figures.get("rating"), [null, null, 100, null]);
});

test("a run that went back to an earlier step begins anew", () => {
  const run = new RunPoints();
  run.add(message([1, 2], { loss: [3, 2], old: [1, 1] }, true));
  run.add(message([1], { loss: [5] }, true));
  assert.deepEqual([run.steps, [...run.figures]], [[1], [["loss", [5]]]]);
});
