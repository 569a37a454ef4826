// Where the nodes of a tree stand: depth from left to right, one row per leaf from top to bottom. A
// node stands on the row of its first child, so that the most visited line is straight.

import type { TreeNode } from "./store";

export interface Placed {
  node: TreeNode;
  /** Depth. */
  x: number;
  /** Row. */
  y: number;
  /** The rows of its subtree are `y` to `end`, without `end`. */
  end: number;
  parent: Placed | null;
  children: Placed[];
}

export interface Layout {
  root: Placed | null;
  byId: Map<number, Placed>;
  depth: number;
  rows: number;
}

export function layout(root: TreeNode | null): Layout {
  const made: Layout = { root: null, byId: new Map(), depth: 0, rows: 0 };
  if (!root) return made;
  // Without recursion: a line of play may be thousands of actions deep.
  const order: Placed[] = [];
  const stack: Placed[] = [place(root, 0, null)];
  for (let at = stack.pop(); at; at = stack.pop()) {
    order.push(at);
    made.byId.set(at.node.id, at);
    made.depth = Math.max(made.depth, at.x);
    const parent = at;
    at.children = at.node.children.map((child) => place(child, parent.x + 1, parent));
    stack.push(...[...at.children].reverse());
  }
  let row = 0;
  for (const at of order) {
    at.y = row; // preorder: the rows above are taken
    if (at.children.length === 0) row += 1;
  }
  for (const at of order.reverse()) {
    at.end = at.children.at(-1)?.end ?? at.y + 1;
  }
  made.root = order.at(-1) ?? null;
  made.rows = row;
  return made;
}

function place(node: TreeNode, x: number, parent: Placed | null): Placed {
  return { node, x, y: 0, end: 0, parent, children: [] };
}

/** The placed nodes in a rectangle of columns and rows, and those whose links cross it. */
export function* within(
  root: Placed | null,
  left: number,
  right: number,
  top: number,
  bottom: number,
): Generator<Placed> {
  const stack = root ? [root] : [];
  for (let at = stack.pop(); at; at = stack.pop()) {
    if (at.end < top || at.y > bottom || at.x > right) continue;
    if (at.x >= left - 1) yield at;
    stack.push(...at.children);
  }
}
