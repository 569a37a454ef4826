//! The byte budget: a tree that is full drops its least useful subtrees and searches on.
//!
//! A sweeper walks through the tree, a few thousand nodes at a time, and drops everything below
//! nodes with fewer visits than a threshold: the node stays, with its visits, value sum and bounds
//! (the statistics of the edge that leads there), and becomes a leaf that may be evaluated again.
//! When a whole round through the tree frees too little the threshold doubles, when it frees much
//! it halves; so what goes is always the least visited part. The root's own edges are never
//! dropped, nor anything on the path of a leaf in flight, so the root's counts stay exact.
//!
//! The work is spread over the simulations that need the room: a step of the sweeper looks at no
//! more than `STRIDE` nodes, which keeps deadlines, and lets the tree grow past its budget by at
//! most `SLACK` meanwhile.
//!
//! Bytes are those of nodes and blocks as the pool hands them out, before sharing between trees:
//! what a tree drops depends on nothing but the tree itself.

use crate::game::Game;
use crate::node::{Kind, NodeId};
use crate::tree::Search;
use crate::values::Values;

/// Nodes that one step of the sweeper looks at.
const STRIDE: usize = 4096;
/// The part of the budget by which a tree may outgrow it while the sweeper works: one in 32.
const SLACK: u64 = 32;
/// A step stops early once this many bytes are free again.
const RESERVE: u64 = 64 * 1024;

/// Where the sweeper is.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The path from the root to the sweeper, with the slot to look at next.
    stack: Vec<(NodeId, u16)>,
    /// Subtrees below nodes with fewer visits go.
    threshold: u32,
    /// Bytes freed in this round through the tree.
    freed: u64,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            stack: Vec::new(),
            threshold: 2,
            freed: 0,
        }
    }
}

impl Sweep {
    /// Starts its round anew, because nodes may go that it stands on.
    pub fn lose_place(&mut self) {
        self.stack.clear();
    }

    /// Forgets its place, because the tree is about to change.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Frees some memory; false if nothing can be dropped any more and the budget is exceeded.
    pub fn make_room(&mut self) -> bool {
        let target = self.budget.saturating_sub(RESERVE.min(self.budget / SLACK));
        let hard = self.budget + self.budget / SLACK;
        let mut looked = 0;
        while self.tree.bytes > target {
            if looked >= STRIDE && self.tree.bytes <= hard {
                return true;
            }
            if !self.sweep_step() {
                return self.tree.bytes <= self.budget;
            }
            looked += 1;
        }
        true
    }

    /// Looks at one node; false if a whole round at the highest threshold freed nothing.
    fn sweep_step(&mut self) -> bool {
        let Some((parent, slot)) = self.tree.sweep.stack.last_mut() else {
            return self.next_round();
        };
        let parent = *parent;
        if usize::from(*slot) >= self.pool.num_children(parent) {
            self.tree.sweep.stack.pop();
            return true;
        }
        let place = *slot;
        *slot += 1;
        let child = self.pool.child(parent, place);
        let node = &self.pool[child];
        if !matches!(node.kind(), Kind::Decision | Kind::Chance) {
            return true;
        }
        if node.visits < self.tree.sweep.threshold && node.in_flight == 0 {
            let before = self.tree.bytes;
            self.drop_below(child);
            self.pool.relink(parent, place, child);
            self.tree.sweep.freed += before - self.tree.bytes;
        } else if self.pool[child].has_family() {
            self.tree.sweep.stack.push((child, 0));
        }
        true
    }

    fn next_round(&mut self) -> bool {
        let sweep = &mut self.tree.sweep;
        if sweep.freed < self.budget / 8 {
            if sweep.threshold == u32::MAX && sweep.freed == 0 {
                return false;
            }
            sweep.threshold = sweep.threshold.saturating_mul(2);
        } else if sweep.freed > self.budget / 2 {
            sweep.threshold = (sweep.threshold / 2).max(2);
        }
        sweep.freed = 0;
        sweep.stack.push((self.tree.root, 0));
        true
    }

    /// Drops everything below a node, which becomes a leaf with the statistics it has.
    fn drop_below(&mut self, id: NodeId) {
        for child in self.pool.ids(id).collect::<Vec<_>>() {
            self.remove_subtree(child);
        }
        self.tree.forget(id);
        self.pool.drop_family(id, &mut self.tree.bytes);
        self.pool.drop_edges(id, &mut self.tree.bytes);
        self.pool[id].num_edges = 0;
        self.pool[id].set_kind(Kind::Leaf);
    }

    /// Removes a node and everything below it.
    pub fn remove_subtree(&mut self, id: NodeId) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            stack.extend(self.pool.ids(id));
            self.tree.forget(id);
            self.pool.drop_family(id, &mut self.tree.bytes);
            self.pool.drop_edges(id, &mut self.tree.bytes);
            self.pool.remove(id, &mut self.tree.bytes);
            self.tree.nodes -= 1;
        }
    }
}
