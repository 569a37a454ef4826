//! The byte budget: a full tree drops its least visited subtrees, and the search continues.
//!
//! A sweep traverses the tree, a few thousand nodes at a time, and drops everything below nodes
//! with fewer visits than a threshold. Such a node keeps its visits, value sum and bounds (the
//! statistics of the edge to it) and becomes a leaf that may be evaluated again. The threshold
//! doubles when a whole round frees less than an eighth of the budget and halves when it frees more
//! than half. The root's edges and the paths of leaves in flight are never dropped, so the root's
//! counts stay exact.
//!
//! The work is spread over simulations, to keep deadlines: before each simulation the sweep visits
//! at most `STRIDE` nodes, unless the tree exceeds its budget by 1 / `SLACK`.
//!
//! Bytes are counted as the pool allocates them for this tree, so dropping depends only on the tree
//! itself.

use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::memory::pool::Pool;
use crate::memory::positions::Positions;

/// The most nodes visited by the sweep before one simulation.
const STRIDE: usize = 4096;
/// A tree may exceed its budget by this part, 1 / 32, during a sweep.
const SLACK: u64 = 32;
/// A step stops early once this many bytes are free again.
const RESERVE: u64 = 64 * 1024;

/// The state of the sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The path from the root to the current node, with the next slot to visit at each.
    stack: Vec<(NodeId, u16)>,
    /// Drop subtrees below nodes with fewer visits.
    threshold: u32,
    /// Bytes freed in this round through the tree.
    freed: u64,
    /// The number of the round; a shared position is visited once in each.
    round: u16,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            stack: Vec::new(),
            threshold: 2,
            freed: 0,
            round: 0,
        }
    }
}

/// The part of a tree's interface that the byte budget uses.
pub trait Owner {
    fn root(&self) -> NodeId;
    /// The size of the tree in bytes.
    fn bytes(&mut self) -> &mut u64;
    /// The number of nodes in the tree.
    fn nodes(&mut self) -> &mut u64;
    /// Drops the data stored outside the pool for a node, because the node or its subtree is
    /// dropped.
    fn forget(&mut self, id: NodeId);
    /// The table of positions, with transpositions.
    fn positions(&mut self) -> &mut Positions;
}

impl Sweep {
    /// Restarts the round, because nodes on the sweep's path may be removed.
    pub fn restart(&mut self) {
        self.stack.clear();
    }

    /// Resets position and threshold, because the tree gets another root.
    pub fn reset(&mut self) {
        *self = Self {
            round: self.round,
            ..Self::default()
        };
    }

    /// Frees some memory; returns false if the budget is exceeded and nothing more can be dropped.
    pub fn make_room<V: Values>(
        &mut self,
        pool: &mut Pool<V>,
        tree: &mut impl Owner,
        budget: u64,
    ) -> bool {
        let target = budget.saturating_sub(RESERVE.min(budget / SLACK));
        let hard = budget + budget / SLACK;
        let mut visited = 0;
        while *tree.bytes() > target {
            if visited >= STRIDE && *tree.bytes() <= hard {
                return true;
            }
            if !self.step(pool, tree, budget) {
                return *tree.bytes() <= budget;
            }
            visited += 1;
        }
        true
    }

    /// Visits one node; returns false if a whole round at the highest threshold freed nothing.
    fn step<V: Values>(&mut self, pool: &mut Pool<V>, tree: &mut impl Owner, budget: u64) -> bool {
        let Some((parent, next)) = self.stack.last_mut() else {
            return self.next_round(tree.root(), budget);
        };
        let (parent, slot) = (*parent, *next);
        if usize::from(slot) >= pool.num_children(parent) {
            self.stack.pop();
            return true;
        }
        *next += 1;
        let child = pool.position(pool.child(parent, slot));
        if pool.records && !pool.is_new_in(self.round, child) {
            return true;
        }
        let node = &pool[child];
        if !matches!(node.kind(), NodeKind::Decision | NodeKind::Chance) {
            return true;
        }
        if node.visits < self.threshold && node.in_flight == 0 {
            let before = *tree.bytes();
            pool.drop_below(child, tree);
            pool.relink(parent, slot, child);
            self.freed += before - *tree.bytes();
        } else if pool[child].has_family() {
            self.stack.push((child, 0));
        }
        true
    }

    fn next_round(&mut self, root: NodeId, budget: u64) -> bool {
        if self.freed < budget / 8 {
            if self.threshold == u32::MAX && self.freed == 0 {
                return false;
            }
            self.threshold = self.threshold.saturating_mul(2);
        } else if self.freed > budget / 2 {
            self.threshold = (self.threshold / 2).max(2);
        }
        self.freed = 0;
        self.round = self.round.wrapping_add(1);
        self.stack.push((root, 0));
        true
    }
}

impl<V: Values> Pool<V> {
    /// Drops everything below a node, which becomes a leaf and keeps its statistics.
    fn drop_below(&mut self, id: NodeId, tree: &mut impl Owner) {
        for child in self.ids(id).collect::<Vec<_>>() {
            self.remove_subtree(child, tree);
        }
        self.release(id, tree);
        self[id].num_edges = 0;
        self[id].set_links(false);
        self[id].set_kind(NodeKind::Leaf);
    }

    /// Removes a node and everything below it that has no other parent.
    pub fn remove_subtree(&mut self, id: NodeId, tree: &mut impl Owner) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if self[id].is_edge() {
                stack.extend(self.remove_edge(id, tree.bytes()));
                continue;
            }
            stack.extend(self.ids(id));
            self.remove_node(id, tree);
        }
    }

    /// Removes a node whose children were removed or have another parent.
    pub fn remove_node(&mut self, id: NodeId, tree: &mut impl Owner) {
        self.release(id, tree);
        if self.records {
            tree.positions().remove(self, id);
        }
        self.remove(id, tree.bytes());
        *tree.nodes() -= 1;
    }

    /// Frees the data of a node, in the pool and outside it.
    fn release(&mut self, id: NodeId, tree: &mut impl Owner) {
        tree.forget(id);
        self.drop_family(id, tree.bytes());
        self.drop_edges(id, tree.bytes());
    }
}
