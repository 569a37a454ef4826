//! Backup: what a simulation found, added to every node of its path.
//!
//! From the leaf to the root each node takes one visit and the leaf's values, one per seat; above
//! a step that pays a reward the values become `reward + discount * value`. No sign is flipped.
//! Bounds and proofs travel along: when those of a child changed, its parent draws conclusions.
//!
//! Virtual visits make room for visits to come and are taken back exactly: they are whole numbers,
//! and Q does not contain them.
//!
//! Twin: `sylvan.reference.search.backup`.

use crate::config::ValueRange;
use crate::game::Game;
use crate::node::Kind;
use crate::tree::{Search, Step};
use crate::values::Values;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Turns one virtual visit of every node of the path into a finished one. `proven` says that
    /// the bounds of the last node changed.
    pub fn backup(&mut self, path: &[Step], mut value: V, mut proven: bool) {
        let discount = self.settings.config.discount;
        let learns_range = self.settings.config.value_range == ValueRange::Tree;
        for i in (0..path.len()).rev() {
            let Step { node: id, slot } = path[i];
            if proven && i + 1 < path.len() {
                proven = self.conclude(id);
            }
            let node = &mut self.pool[id];
            node.visits += 1;
            node.in_flight -= 1;
            node.w.add(&value);
            if i == 0 {
                break;
            }
            let node = *node;
            let parent = path[i - 1].node;
            if node.visits == 1 {
                self.pool.first_visit_finished(parent);
            }
            if self.pool[parent].kind() == Kind::Decision {
                let q = node.q(self.pool[parent].seat(), discount);
                self.pool.set_q(parent, slot, q);
                if learns_range {
                    self.tree.seen.include(q);
                }
            }
            value = value.through(&node.extra, discount);
        }
    }

    pub fn add_virtual_visits(&mut self, path: &[Step]) {
        self.change_virtual_visits(path, |n| n + 1);
    }

    pub fn remove_virtual_visits(&mut self, path: &[Step]) {
        self.change_virtual_visits(path, |n| n - 1);
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
