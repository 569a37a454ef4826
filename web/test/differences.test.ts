import assert from "node:assert/strict";
import test from "node:test";
import type { NodeRow } from "../src/protocol";
import { differences } from "../src/tree/differences";
import { TreeStore } from "../src/tree/store";

/** A tree from rows of id, parent, action, visits and unsent children. */
function tree(...rows: [number, number | null, number | null, number, number][]): TreeStore {
  const store = new TreeStore();
  const made = rows.map(
    ([id, parent, action, N, unsent]): NodeRow => ({
      id,
      parent,
      action,
      label: String(action),
      N,
      Q: 0,
      value: 0,
      P: 0.5,
      kind: "decision",
      proven: false,
      seat: 0,
      unsent,
    }),
  );
  store.apply(made, null, []);
  return store;
}

test("shares of visits are compared, whatever the number of simulations", () => {
  const one = tree([0, null, null, 101, 0], [1, 0, 5, 60, 0], [2, 0, 6, 40, 0]);
  const two = tree([7, null, null, 1001, 0], [8, 7, 6, 600, 0], [9, 7, 5, 400, 0]);
  assert.deepEqual(
    [...differences(one, two)],
    [
      [1, "more"],
      [2, "less"],
    ],
  );
  assert.deepEqual(
    [...differences(two, one)],
    [
      [8, "more"],
      [9, "less"],
    ],
  );
  assert.equal(differences(one, one).size, 0);
});

test("a node that the other search never visited is marked, one that is only not shown is not", () => {
  const one = tree([0, null, null, 101, 0], [1, 0, 5, 95, 0], [2, 0, 6, 5, 0]);
  const without = tree([0, null, null, 101, 0], [1, 0, 5, 100, 0]);
  assert.deepEqual([...differences(one, without)], [[2, "only"]]);
  const unsent = tree([0, null, null, 101, 1], [1, 0, 5, 95, 0]);
  assert.equal(differences(one, unsent).size, 0);
});

test("few visits say nothing, and an empty tree has no differences", () => {
  const one = tree([0, null, null, 11, 0], [1, 0, 5, 10, 0]);
  const two = tree([0, null, null, 11, 0], [1, 0, 6, 10, 0]);
  assert.equal(differences(one, two).size, 0);
  assert.equal(differences(one, new TreeStore()).size, 0);
});

test("differences are found at any depth, by the path of actions", () => {
  const one = tree([0, null, null, 100, 0], [1, 0, 5, 99, 0], [2, 1, 7, 90, 0], [3, 1, 8, 8, 0]);
  const two = tree([0, null, null, 100, 0], [4, 0, 5, 99, 0], [5, 4, 8, 90, 0], [6, 4, 7, 8, 0]);
  assert.deepEqual(
    new Map(differences(one, two)),
    new Map([
      [2, "more"],
      [3, "less"],
    ]),
  );
});
