//! Backup: adds the values of a leaf to every node of the path.
//!
//! From the leaf to the root each node gets one visit and the leaf's values, one per seat; each
//! step turns the values into `reward + discount * value`. No sign is flipped. Proven bounds are
//! backed up too: if those of a child changed, its parent updates its own.
//!
//! Virtual visits can be removed exactly: they are integers, and Q does not contain them. With one
//! leaf in flight per tree they are not needed and not added.
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
    /// Whether several descents can be in flight in this tree, so that virtual visits are needed.
    fn overlaps(&self) -> bool {
        self.settings.config.leaves_in_flight > 1
    }

    /// Adds a finished visit to every node of the path. `proven`: the bounds of the last node
    /// changed.
    pub fn backup(&mut self, path: &[Step], mut value: V, mut proven: bool) {
        if self.settings.config.transpositions {
            return self.backup_graph(path, value, proven, false);
        }
        let Some((leaf, above)) = path.split_last() else {
            return;
        };
        let found = value;
        let leaf = &mut self.pool[leaf.node];
        leaf.visits += 1;
        leaf.w.add(&value);
        let mut end = above.len();
        while proven && end > 0 {
            proven = self.pool.conclude(path[end - 1].node, self.settings);
            value = self.propagate::<false>(&path[end - 1..=end], value, false);
            end -= 1;
        }
        self.propagate::<false>(&path[..=end], value, false);
        if self.settings.config.rave > 0.0 {
            self.update_amaf(path, found);
        }
        if self.settings.config.c_deviation > 0.0 {
            self.record_squares(path, found, true);
        }
    }

    /// Adds a value to all nodes of a path except the last; returns the value at the first.
    /// `SHARED`: with transpositions; then `proven` says whether bounds of the last node changed.
    pub(super) fn propagate<const SHARED: bool>(
        &mut self,
        path: &[Step],
        value: V,
        proven: bool,
    ) -> V {
        let Some(fast_puct) = &self.settings.fast_puct else {
            let q_range = &mut self.tree.q_range;
            let from = (value, proven);
            return propagate_slow::<V, SHARED>(self.pool, self.settings, q_range, path, from);
        };
        let levels = &mut self.scratch.levels;
        if levels.len() < path.len() {
            levels.resize(path.len(), Level::default());
        }
        let levels = &mut levels[..path.len() - 1];
        let (rule, from) = ((self.settings, fast_puct), (value, proven));
        let root = self.tree.root;
        let value = propagate_fast::<V, SHARED>(self.pool, rule, levels, root, path, from);
        cache_next_steps(self.pool, levels);
        value
    }

    /// Adds a virtual visit to every node of the path, for a descent in flight.
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

    #[inline(never)] // most searches have no virtual visits
    fn change_virtual_visits(&mut self, path: &[Step], change: impl Fn(u16) -> u16) {
        self.forget_next(path);
        for (i, &Step { node, slot }) in path.iter().enumerate() {
            self.pool[node].in_flight = change(self.pool[node].in_flight);
            if i > 0 {
                let parent = path[i - 1].node;
                let edge = self.pool.edge(parent, slot, node);
                if edge != node {
                    self.pool[edge].in_flight = change(self.pool[edge].in_flight);
                }
                self.pool.refresh_u(parent, slot, edge);
            }
        }
    }

    /// Forgets the cached steps of all nodes of a path.
    pub fn forget_next(&mut self, path: &[Step]) {
        for step in path {
            if let Some(family) = self.pool.family(step.node) {
                self.pool.forget_next(family);
            }
        }
    }
}

/// A copy of an updated node, with its mean value and P / (1 + n).
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

    /// Q of the step to this node for the seat to move at its parent; 0 at a chance node.
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

/// Adds a value to all nodes of a path except the last, which has it already; returns the value at
/// the first. Calls `record` with each updated node, the next child on the path and the child's
/// slot, and writes its results to `records`, one per level, deepest first. `SHARED`: positions may
/// be shared (`graph.rs`), and `proven` says whether bounds of the last node changed.
#[inline(always)]
fn update_ancestors<V: Values, T, const SHARED: bool>(
    pool: &mut Pool<V>,
    settings: &Settings,
    path: &[Step],
    (mut value, mut proven): (V, bool),
    records: &mut [T],
    mut record: impl FnMut(&mut Pool<V>, Updated<V>, Updated<V>, u16) -> T,
) -> V {
    let Some((&last, above)) = path.split_last() else {
        return value;
    };
    let discount = settings.config.discount;
    let (mut child, mut taken) = (Updated::new(pool[last.node]), last);
    for (&step, out) in above.iter().rev().zip(records) {
        let mut growth = None;
        if SHARED && pool[step.node].has_links() {
            let passed = pool.pass_shared(step.node, taken, value, settings);
            if passed.edge != taken.node {
                child = Updated::new(pool[passed.edge]);
            }
            (value, growth) = (passed.value, Some(passed.growth));
            proven |= passed.bounded;
        }
        if SHARED && proven {
            proven = settings.config.proofs && pool.conclude(step.node, settings);
        }
        value = value.step_value(&child.node.extra, discount);
        if SHARED && let Some(growth) = growth {
            value.add(&growth);
        }
        let node = &mut pool[step.node];
        node.visits += 1;
        node.w.add(&value);
        let node = Updated::new(*node);
        *out = record(pool, node, child, taken.slot);
        (child, taken) = (node, step);
    }
    value
}

/// A level of the path whose next step must be selected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    family: u32,
    explore: f32,
    /// The score of the best unvisited edge; NaN if the next step stays unknown.
    unvisited_score: f32,
}

/// Records a visit of the child in a slot of an updated node; returns the level for
/// `cache_next_steps`.
#[inline(always)]
fn record_fast<V: Values>(
    pool: &mut Pool<V>,
    (settings, fast_puct): (&Settings, &FastPuct),
    taken: Updated<V>,
    child: Updated<V>,
    slot: u16,
) -> Level {
    let node = &taken.node;
    let discount = settings.config.discount;
    let mut family = pool.family_mut(node.owned);
    let (mut explore, mut unvisited_score) = (0.0, f32::NAN);
    if node.is_open() {
        let [q, value] = child
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
}

/// The backup with `FastPuct`: updates all levels and writes the input of `cache_next_steps`.
#[inline(never)] // tells the compiler that arguments do not alias, so it need not reload them
fn propagate_fast<V: Values, const SHARED: bool>(
    pool: &mut Pool<V>,
    rule @ (settings, fast_puct): (&Settings, &FastPuct),
    levels: &mut [Level],
    root: NodeId,
    path: &[Step],
    from: (V, bool),
) -> V {
    let value = update_ancestors::<V, Level, SHARED>(
        pool,
        settings,
        path,
        from,
        levels,
        |pool, taken, child, slot| record_fast(pool, rule, taken, child, slot),
    );
    if path[0].node == root && fast_puct.root_differs() {
        apply_root_fpu(pool, fast_puct, levels, root);
    }
    value
}

/// Applies the root's first-play urgency, at the last of the levels.
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

/// Selects the next step at every level. Separate from `propagate_fast`, because each level is a
/// long dependency chain: with less code per level, the processor overlaps more levels.
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

/// The backup for rules that select during the descent.
#[inline(never)]
fn propagate_slow<V: Values, const SHARED: bool>(
    pool: &mut Pool<V>,
    settings: &Settings,
    q_range: &mut MinMaxStats,
    path: &[Step],
    from: (V, bool),
) -> V {
    let discount = settings.config.discount;
    let learns_range = settings.config.value_range == ValueRange::Tree;
    let records = &mut vec![(); path.len()]; // takes no memory
    update_ancestors::<V, (), SHARED>(
        pool,
        settings,
        path,
        from,
        records,
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
