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

use crate::contracts::config::ValueRange;
use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::family::Link;
use crate::memory::node::{Node, NodeId, NodeKind};
use crate::memory::pool::Pool;
use crate::search::scale::MinMaxStats;
use crate::search::selection::{FastPuct, next_step};
use crate::search::settings::Settings;
use crate::search::tree::Search;
use crate::search::visit::Step;

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
        let found = value;
        let leaf = &mut self.pool[leaf.node];
        leaf.visits += 1;
        leaf.w.add(&value);
        let mut end = above.len();
        while proven && end > 0 {
            proven = self.update_proof(path[end - 1].node);
            value = self.propagate(&path[end - 1..=end], value);
            end -= 1;
        }
        self.propagate(&path[..=end], value);
        if self.settings.config.rave > 0.0 {
            self.update_amaf(path, found);
        }
    }

    /// Carries a value that the last node of a path has taken in to all above; the value there.
    fn propagate(&mut self, path: &[Step], value: V) -> V {
        let Some(fast_puct) = &self.settings.fast_puct else {
            return propagate_slow(
                self.pool,
                self.settings,
                &mut self.tree.q_range,
                path,
                value,
            );
        };
        let levels = &mut self.scratch.levels;
        if levels.len() < path.len() {
            levels.resize(path.len(), Level::default());
        }
        let levels = &mut levels[..path.len() - 1];
        let rule = (self.settings, fast_puct);
        let value = propagate_fast(self.pool, rule, levels, self.tree.root, path, value);
        cache_next_steps(self.pool, levels);
        value
    }

    /// Counts a walk that waits for its evaluation as a visit to come, on every edge of its path.
    #[inline]
    pub fn add_virtual_visits(&mut self, path: &[Step]) {
        if self.overlaps() {
            self.change_virtual_visits(path, |n| n + 1);
        }
    }

    #[inline]
    pub fn remove_virtual_visits(&mut self, path: &[Step]) {
        if self.overlaps() {
            self.change_virtual_visits(path, |n| n - 1);
        }
    }

    #[inline(never)] // most searches have none
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

/// A node that has taken in the visit, and what follows for the edge to it.
#[derive(Clone, Copy)]
struct Updated<V: Values> {
    node: Node<V>,
    mean: V,
    share: f32,
}

impl<V: Values> Updated<V> {
    #[inline(always)]
    fn new(node: Node<V>) -> Self {
        Self {
            node,
            mean: node.mean(),
            share: node.share(),
        }
    }

    /// Q of the step to this node, for the seat that chooses at its parent, if one does.
    #[inline(always)]
    fn q(&self, parent: &Node<V>, discount: f64) -> f32 {
        match parent.kind() {
            NodeKind::Decision => self.node.q(self.mean, parent.seat(), discount),
            _ => 0.0,
        }
    }

    #[inline(always)]
    fn is_first(&self) -> bool {
        self.node.visits == 1
    }
}

/// Adds a value that the last node of a path has taken in to all above; the value at the first.
/// `tell` hears of each: what it became, the child that the path goes on to, and the child's slot;
/// what it answers goes into `notes`, one per level, deepest first.
#[inline(always)]
fn update_ancestors<V: Values, T>(
    pool: &mut Pool<V>,
    path: &[Step],
    discount: f64,
    mut value: V,
    notes: &mut [T],
    mut tell: impl FnMut(&mut Pool<V>, Updated<V>, Updated<V>, u16) -> T,
) -> V {
    let Some((last, above)) = path.split_last() else {
        return value;
    };
    let (mut child, mut slot) = (Updated::new(pool[last.node]), last.slot);
    for (step, note) in above.iter().rev().zip(notes) {
        value = value.step_value(&child.node.extra, discount);
        let node = &mut pool[step.node];
        node.visits += 1;
        node.w.add(&value);
        let node = Updated::new(*node);
        *note = tell(pool, node, child, slot);
        (child, slot) = (node, step.slot);
    }
    value
}

/// A level whose next step is to be chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    family: u32,
    explore: f32,
    /// The score of the best unvisited edge; not a number where the next step stays unknown.
    unvisited_score: f32,
}

/// Where the rule is fast_puct: the numbers of all levels, and what `cache_next_steps` needs.
#[inline(never)] // arguments do not overlap, so that none is read again after every write
fn propagate_fast<V: Values>(
    pool: &mut Pool<V>,
    (settings, fast_puct): (&Settings, &FastPuct),
    levels: &mut [Level],
    root: NodeId,
    path: &[Step],
    value: V,
) -> V {
    let discount = settings.config.discount;
    let value = update_ancestors(
        pool,
        path,
        discount,
        value,
        levels,
        |pool, taken, child, slot| {
            let node = &taken.node;
            let mut family = pool.family_mut(node.owned);
            let (mut explore, mut unvisited_score) = (0.0, f32::NAN);
            if node.is_open() {
                let [q, value] =
                    child
                        .node
                        .q_with_parent(child.mean, taken.mean, node.seat(), discount);
                let q = fast_puct.scale.apply(q);
                if family.record(slot, q, child.share, child.is_first()) == 0 {
                    explore = settings.explore(node.started());
                    unvisited_score = fast_puct.unvisited_score(&family, explore, value, false);
                }
            } else {
                let q = fast_puct.scale.apply(child.q(node, discount));
                family.record(slot, q, child.share, child.is_first());
            }
            Level {
                family: node.owned,
                explore,
                unvisited_score,
            }
        },
    );
    if path[0].node == root && fast_puct.root_differs() {
        apply_root_fpu(pool, fast_puct, levels, root);
    }
    value
}

/// Puts the root's own first-play urgency in force, at the last of the levels.
#[cold]
fn apply_root_fpu<V: Values>(
    pool: &mut Pool<V>,
    fast_puct: &FastPuct,
    levels: &mut [Level],
    root: NodeId,
) {
    let node = pool[root];
    if let Some(level) = levels.last_mut()
        && !level.unvisited_score.is_nan()
    {
        let family = pool.family_mut(node.owned);
        level.unvisited_score =
            fast_puct.unvisited_score(&family, level.explore, node.value(node.seat()), true);
    }
}

/// Chooses the next step at every level. Apart from the numbers, because a level is a long chain of
/// dependent steps: the less code it has, the more of them the processor works on side by side.
#[inline(never)]
fn cache_next_steps<V: Values>(pool: &mut Pool<V>, levels: &[Level]) {
    let exceeds_cache = pool.exceeds_cache();
    for level in levels {
        let mut family = pool.family_mut(level.family);
        let (next, slot) = next_step(&mut family, level.explore, level.unvisited_score);
        family.set_next(next, slot);
        if !next.is_child() {
            pool.prefetch_edges(level.family);
        } else if exceeds_cache {
            pool.prefetch(next);
        }
    }
}

/// Where the choice is made when a walk comes.
#[inline(never)]
fn propagate_slow<V: Values>(
    pool: &mut Pool<V>,
    settings: &Settings,
    q_range: &mut MinMaxStats,
    path: &[Step],
    value: V,
) -> V {
    let discount = settings.config.discount;
    let learns_range = settings.config.value_range == ValueRange::Tree;
    let notes = &mut vec![(); path.len()]; // of nothing, which takes no memory
    update_ancestors(
        pool,
        path,
        discount,
        value,
        notes,
        |pool, taken, child, slot| {
            let node = &taken.node;
            let q = child.q(node, discount);
            if learns_range && node.kind() == NodeKind::Decision {
                q_range.include(q);
            }
            let scored = settings.known.map_or(q, |scale| scale.apply(q));
            let mut family = pool.family_mut(node.owned);
            family.record(slot, scored, child.share, child.is_first());
            family.set_next(Link::UNKNOWN, 0);
        },
    )
}
