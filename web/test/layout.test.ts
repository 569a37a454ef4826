import assert from "node:assert/strict";
import test from "node:test";
import type { NodeColumns, NodeRow } from "../src/protocol";
import { Camera } from "../src/tree/camera";
import { layout, within } from "../src/tree/layout";
import { TreeStore } from "../src/tree/store";

function row(id: number, parent: number | null, N: number): NodeRow {
  return {
    id,
    parent,
    action: parent === null ? null : id,
    label: String(id),
    N,
    Q: 0,
    value: 0,
    P: 0.5,
    kind: "decision",
    proven: false,
    seat: 0,
    unsent: 0,
  };
}

/** New statistics of nodes as a message has them. */
function columns(
  rows: { [Field in keyof NodeColumns]: NodeColumns[Field][number] }[],
): NodeColumns {
  return {
    id: rows.map(({ id }) => id),
    N: rows.map(({ N }) => N),
    Q: rows.map(({ Q }) => Q),
    value: rows.map(({ value }) => value),
    P: rows.map(({ P }) => P),
    kind: rows.map(({ kind }) => kind),
    proven: rows.map(({ proven }) => proven),
    seat: rows.map(({ seat }) => seat),
    unsent: rows.map(({ unsent }) => unsent),
  };
}

/** A tree with `count` nodes of random parents, the same for a seed. */
function grown(count: number, seed: number): TreeStore {
  let state = seed;
  const random = () => {
    state = (1103515245 * state + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
  const store = new TreeStore();
  const rows = [row(0, null, count)];
  for (let id = 1; id < count; id++) {
    rows.push(row(id, Math.floor(random() * id), Math.floor(100 * random())));
  }
  store.apply(rows, null, []);
  return store;
}

for (const seed of [1, 2, 3]) {
  test(`no two leaves share a row, and a node stands on its first child's (${seed})`, () => {
    const made = layout(grown(500, seed).root);
    const all = [...made.byId.values()];
    const leaves = all.filter((at) => at.children.length === 0);
    assert.equal(new Set(leaves.map((at) => at.y)).size, leaves.length);
    assert.equal(made.rows, leaves.length);
    for (const at of all) {
      assert.equal(at.y, at.children[0]?.y ?? at.y);
      assert.equal(at.x, at.parent ? at.parent.x + 1 : 0);
      const below = at.children.flatMap((child) => [child.y, child.end - 1]);
      for (const y of below) assert.ok(at.y <= y && y < at.end);
      const visits = at.children.map((child) => child.node.N);
      assert.deepEqual(
        visits,
        [...visits].sort((a, b) => b - a),
      );
    }
  });

  test(`a rectangle has the nodes that stand in it (${seed})`, () => {
    const made = layout(grown(500, seed).root);
    const [left, right, top, bottom] = [2, 5, 20, 60];
    const found = new Set([...within(made.root, left, right, top, bottom)].map((at) => at.node.id));
    for (const at of made.byId.values()) {
      const inside = at.x >= left && at.x <= right && at.y >= top && at.y <= bottom;
      if (inside) assert.ok(found.has(at.node.id));
    }
    for (const id of found) {
      const at = made.byId.get(id);
      assert.ok(at && at.x >= left - 1 && at.x <= right && at.end >= top && at.y <= bottom);
    }
  });
}

test("a line of 10,000 actions is laid out", () => {
  const store = new TreeStore();
  store.apply(
    Array.from({ length: 10_000 }, (_, id) => row(id, id ? id - 1 : null, 1)),
    null,
    [],
  );
  assert.deepEqual([layout(store.root).depth, layout(store.root).rows], [9999, 1]);
});

test("changed and gone rows give the tree that all rows at once give", () => {
  const store = grown(60, 7);
  const node = store.get(3);
  assert.ok(node);
  const { id, P, kind, proven, seat, unsent } = node;
  const changed = { id, N: 12345, Q: -0.5, value: 0.5, P, kind, proven, seat, unsent };
  store.apply([], columns([changed]), []);
  assert.deepEqual([store.get(3)?.N, store.get(3)?.Q, store.get(3)?.label], [12345, -0.5, "3"]);
  const leaf = [...layout(store.root).byId.values()].find((at) => !at.children.length);
  assert.ok(leaf);
  store.apply([], null, [leaf.node.id]);
  assert.equal(store.size, 59);
  assert.equal(store.get(leaf.node.id), null);
  const siblings = store.get(node.parent)?.children ?? [];
  assert.equal(siblings[0]?.id, 3);
  assert.ok(!siblings.some((child) => child.id === leaf.node.id));
});

test("a path leads back to its node", () => {
  const store = grown(200, 11);
  for (const id of [0, 17, 199]) {
    const node = store.get(id);
    assert.ok(node);
    assert.equal(store.at(store.path(node))?.id, id);
  }
  assert.equal(store.at([12345]), null);
});

test("zooming keeps the point under the cursor, and fitting shows all", () => {
  const camera = new Camera();
  const [column, line] = [camera.column(200), camera.row(90)];
  camera.zoomAt(1.7, 200, 90);
  assert.ok(Math.abs(camera.column(200) - column) < 1e-9);
  assert.ok(Math.abs(camera.row(90) - line) < 1e-9);
  camera.fit(12, 300, 800, 500);
  assert.ok(camera.px(0) >= 0 && camera.px(13) <= 800);
  assert.ok(camera.py(0) >= 0 && camera.py(299) <= 500);
  camera.reveal(12, 299, 800, 500);
  camera.zoom = 1;
  camera.reveal(12, 299, 800, 500);
  assert.ok(camera.px(12) >= 0 && camera.px(12) <= 800);
  assert.ok(camera.py(299) >= 0 && camera.py(299) <= 500);
});

test("a line is shown from its beginning, and no smaller than can be read", () => {
  const camera = new Camera();
  camera.line(3, 5, 800);
  assert.ok(camera.px(0) >= 0 && camera.px(4) <= 800);
  assert.ok(Math.abs(camera.py(5) - 24) < 1e-9);
  camera.line(40, 5, 800);
  assert.ok(camera.zoom >= 0.7);
});
