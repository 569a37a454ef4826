//! Backup: what a simulation found, added to every node of its path.
//!
//! From the leaf to the root each node takes one visit and the leaf's values, one per seat; above
//! a step that pays a reward the values become `reward + discount * value`. No sign is flipped.
//! Bounds and proofs travel along: when those of a child changed, its parent draws conclusions.
//!
//! Virtual visits make room for visits to come and are taken back exactly: they are whole numbers,
//! and Q does not contain them. With one leaf in flight per tree nobody would see them, and there
//! are none.
//!
//! Twin: `sylvan.reference.search.backup`.

use crate::config::ValueRange;
use crate::game::Game;
use crate::node::Kind;
use crate::tree::{Search, Step};
use crate::values::Values;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Whether several walks can be under way in this tree, so that virtual visits are needed.
    fn overlaps(&self) -> bool {
        self.settings.config.leaves_in_flight > 1
    }

    /// Adds a finished visit to every node of the path. `proven` says that the bounds of the last
    /// node changed.
    pub fn backup(&mut self, path: &[Step], mut value: V, mut proven: bool) {
        let discount = self.settings.config.discount;
        let known = self.settings.known;
        let learns_range = self.settings.config.value_range == ValueRange::Tree;
        for i in (1..path.len()).rev() {
            let (parent, Step { node: id, slot }) = (path[i - 1].node, path[i]);
            if proven && i + 1 < path.len() {
                proven = self.conclude(id);
            }
            let pool = &mut *self.pool;
            let (family, seat, kind) = {
                let parent = &pool[parent];
                (parent.owned, parent.seat(), parent.kind())
            };
            let node = &mut pool[id];
            node.visits += 1;
            node.w.add(&value);
            let (first, u) = (node.visits == 1, node.share());
            let q = if kind == Kind::Decision {
                node.q(seat, discount)
            } else {
                0.0
            };
            value = value.through(&node.extra, discount);
            let scored = known.map_or(q, |scale| scale.apply(q));
            pool.record(family, slot, scored, u);
            if first {
                pool.first_visit_finished(family);
            }
            if learns_range && kind == Kind::Decision {
                self.tree.seen.include(q);
            }
        }
        let root = path[0].node;
        if proven && path.len() > 1 {
            self.conclude(root);
        }
        let root = &mut self.pool[root];
        root.visits += 1;
        root.w.add(&value);
    }

    /// Counts a walk that waits for its evaluation as a visit to come, on every edge of its path.
    pub fn add_virtual_visits(&mut self, path: &[Step]) {
        if self.overlaps() {
            self.change_virtual_visits(path, |n| n + 1);
        }
    }

    pub fn remove_virtual_visits(&mut self, path: &[Step]) {
        if self.overlaps() {
            self.change_virtual_visits(path, |n| n - 1);
        }
    }

    fn change_virtual_visits(&mut self, path: &[Step], change: impl Fn(u16) -> u16) {
        for (i, &Step { node, slot }) in path.iter().enumerate() {
            self.pool[node].in_flight = change(self.pool[node].in_flight);
            if i > 0 {
                self.pool.refresh_u(path[i - 1].node, slot, node);
            }
        }
    }
}
