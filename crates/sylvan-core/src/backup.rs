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
use crate::family::Link;
use crate::game::Game;
use crate::node::{Kind, NodeId};
use crate::pool::Pool;
use crate::selection::next_step;
use crate::tree::{Search, Seen, Settings, Step};
use crate::values::Values;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Whether several walks can be under way in this tree, so that virtual visits are needed.
    fn overlaps(&self) -> bool {
        self.settings.config.leaves_in_flight > 1
    }

    /// Adds a finished visit to every node of the path. `proven` says that the bounds of the last
    /// node changed.
    pub fn backup(&mut self, path: &[Step], mut value: V, mut proven: bool) {
        let Some((leaf, above)) = path.split_last() else {
            return;
        };
        let leaf = &mut self.pool[leaf.node];
        leaf.visits += 1;
        leaf.w.add(&value);
        let mut end = above.len();
        while proven && end > 0 {
            proven = self.conclude(path[end - 1].node);
            value = self.carry(&path[end - 1..=end], value);
            end -= 1;
        }
        self.carry(&path[..=end], value);
    }

    /// Carries a value that the last node of a path has taken in to all above; the value there.
    fn carry(&mut self, path: &[Step], value: V) -> V {
        let (root, seen) = (self.tree.root, &mut self.tree.seen);
        carry(self.pool, self.settings, seen, root, path, value)
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
        self.forget_next(path);
        for (i, &Step { node, slot }) in path.iter().enumerate() {
            self.pool[node].in_flight = change(self.pool[node].in_flight);
            if i > 0 {
                self.pool.refresh_u(path[i - 1].node, slot, node);
            }
        }
    }

    /// Makes the next steps from the nodes of a path unknown.
    pub fn forget_next(&mut self, path: &[Step]) {
        for step in path {
            if let Some(family) = self.pool.family(step.node) {
                self.pool.forget_next(family);
            }
        }
    }
}

#[inline(never)] // arguments do not overlap, so that none is read again after every write
fn carry<V: Values>(
    pool: &mut Pool<V>,
    settings: &Settings,
    seen: &mut Seen,
    root: NodeId,
    path: &[Step],
    mut value: V,
) -> V {
    let discount = settings.config.discount;
    let learns_range = settings.config.value_range == ValueRange::Tree;
    let mut mean = path.last().map_or(value, |step| pool[step.node].mean());
    for steps in path.windows(2).rev() {
        let (id, Step { node: child, slot }) = (steps[0].node, steps[1]);
        let child = pool[child];
        value = value.through(&child.extra, discount);
        let node = &mut pool[id];
        node.visits += 1;
        node.w.add(&value);
        let node = *node;
        let decides = node.kind() == Kind::Decision;
        let q = if decides {
            child.q(mean, node.seat(), discount)
        } else {
            0.0
        };
        mean = node.mean();
        let (u, first) = (child.share(), child.visits == 1);
        let mut family = pool.family_mut(node.owned);
        let (next, slot) = if let Some(scale) = settings.plain {
            family.record(slot, scale.apply(q), u, first);
            next_step((settings, scale), &family, &node, mean, id == root)
        } else {
            let scored = settings.known.map_or(q, |scale| scale.apply(q));
            family.record(slot, scored, u, first);
            if learns_range && decides {
                seen.include(q);
            }
            (Link::UNKNOWN, 0)
        };
        family.set_next(next, slot);
        if next.is_child() {
            pool.fetch(next);
        }
    }
    value
}
