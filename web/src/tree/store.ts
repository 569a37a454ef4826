// The nodes of the tree that the page has, kept up to date by the rows of `search` messages.

import type { NodeColumns, NodeRow } from "../protocol";

export interface TreeNode extends NodeRow {
  children: TreeNode[];
}

export class TreeStore {
  private readonly nodes = new Map<number, TreeNode>();
  root: TreeNode | null = null;

  get size(): number {
    return this.nodes.size;
  }

  get(id: number | null): TreeNode | null {
    return id === null ? null : (this.nodes.get(id) ?? null);
  }

  clear(): void {
    this.nodes.clear();
    this.root = null;
  }

  /** The values of all nodes that have one. */
  get values(): number[] {
    return [...this.nodes.values()].flatMap(({ value }) => (value === null ? [] : [value]));
  }

  /** Take in new nodes and new statistics, and forget nodes that are gone. A parent comes before
   *  its children. */
  apply(rows: readonly NodeRow[], changed: NodeColumns | null, gone: readonly number[]): void {
    const touched = new Set<TreeNode>();
    for (const id of gone) {
      const node = this.nodes.get(id);
      const parent = this.get(node?.parent ?? null);
      if (parent) parent.children = parent.children.filter((child) => child.id !== id);
      this.nodes.delete(id);
    }
    for (let at = 0; changed && at < changed.id.length; at++) {
      const parent = this.get(this.take(changed, at)?.parent ?? null);
      if (parent) touched.add(parent);
    }
    for (const row of rows) {
      let node = this.nodes.get(row.id);
      const parent = this.get(row.parent);
      if (node) Object.assign(node, row);
      else {
        node = { ...row, children: [] };
        this.nodes.set(row.id, node);
        if (parent) parent.children.push(node);
        else if (row.parent === null) this.root = node;
      }
      if (parent) touched.add(parent);
    }
    for (const parent of touched) parent.children.sort(byVisits);
  }

  /** Take in the new statistics of one node. */
  take(changed: NodeColumns, at: number): TreeNode | null {
    const node = this.get(changed.id[at] ?? null);
    if (!node) return null;
    node.N = changed.N[at] ?? 0;
    node.Q = changed.Q[at] ?? null;
    node.value = changed.value[at] ?? null;
    node.P = changed.P[at] ?? null;
    node.kind = changed.kind[at] ?? "leaf";
    node.proven = changed.proven[at] ?? false;
    node.seat = changed.seat[at] ?? null;
    node.unsent = changed.unsent[at] ?? 0;
    return node;
  }

  /** The actions from the root to a node. */
  path(node: TreeNode): number[] {
    const path: number[] = [];
    for (let at: TreeNode | null = node; at; at = this.get(at.parent)) {
      if (at.action !== null) path.push(at.action);
    }
    return path.reverse();
  }

  /** The node after some actions, if the page has it. */
  at(path: readonly number[]): TreeNode | null {
    let node = this.root;
    for (const action of path) {
      node = node?.children.find((child) => child.action === action) ?? null;
    }
    return node;
  }
}

function byVisits(a: TreeNode, b: TreeNode): number {
  return b.N - a.N || (b.P ?? 0) - (a.P ?? 0) || a.id - b.id;
}
