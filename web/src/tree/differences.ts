// Where two searches of one position differ: nodes that one visited more than the other.

import type { TreeNode, TreeStore } from "./store";

/** How a node differs from its twin in the other tree. */
export type Difference = "more" | "less" | "only";

/** The share of a parent's visits from which a difference counts. */
export const NOTABLE = 0.1;
/** Shares of fewer visits than this say nothing. */
const FEWEST = 20;

/** The nodes of a tree that differ from those of another, by their ids. */
export function differences(own: TreeStore, other: TreeStore): Map<number, Difference> {
  const found = new Map<number, Difference>();
  const pairs: [TreeNode, TreeNode][] = own.root && other.root ? [[own.root, other.root]] : [];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [node, twin] = pair;
    const twins = new Map(twin.children.map((child) => [child.action, child]));
    const counts = node.N >= FEWEST && twin.N >= FEWEST;
    for (const child of node.children) {
      const same = twins.get(child.action);
      if (same) pairs.push([child, same]);
      if (!counts) continue;
      const by = child.N / node.N - (same?.N ?? 0) / twin.N;
      if (!same && twin.unsent > 0 && by < NOTABLE) continue; // it may only not be shown
      if (!same && twin.unsent === 0) found.set(child.id, "only");
      else if (Math.abs(by) >= NOTABLE) found.set(child.id, by > 0 ? "more" : "less");
    }
  }
  return found;
}
