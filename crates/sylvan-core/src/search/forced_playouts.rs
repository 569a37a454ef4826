//! Forced playouts and policy target pruning (Wu 2019, KataGo, section 3.2).
//!
//! Noise on the root's priors is useful only if the proposed moves get enough visits. Under PUCT, a
//! tried edge of the root is selected before any other while
//!
//! ```text
//!     n(a) < sqrt(k * P(a) * sum n)
//! ```
//!
//! where P includes the noise, `n` includes visits in flight and `k` is `forced_playouts`. Ties
//! between such edges: higher prior, then lower index.
//!
//! The policy target must not contain forced visits. Every edge except the most visited, c*, loses
//! up to ceil(sqrt(k * P * sum n)) visits, one by one while its score stays below that of c*; an
//! edge left with one visit loses that too.
//!
//! Limits: a search without noise forces no edge (`Forest::begin`); a proven root loses no visits.
//! Rounding: the bound is double precision, scores are those of `selection.rs`.
//!
//! Twin: `sylvan.reference.selection`, `sylvan.reference.outcome`.

use crate::contracts::config::Selection;
use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::family::CLOSED;
use crate::search::gumbel::Tried;
use crate::search::outcome::RootSummary;
use crate::search::selection::Choice;
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Whether this search forces playouts.
    fn forces_playouts(&self) -> bool {
        let config = &self.settings.config;
        config.forced_playouts > 0.0
            && !self.settings.quiet
            && matches!(config.selection, Selection::Puct { .. })
            && self.pool[self.tree.root].is_open()
    }

    /// The number of forced visits of a root edge with this prior.
    fn forced_visits(&self, prior: f32) -> f64 {
        let total = f64::from(self.pool[self.tree.root].started() - 1);
        (self.settings.config.forced_playouts * f64::from(prior) * total).sqrt()
    }

    /// The forced edge of the root, if there is one.
    #[inline]
    pub(crate) fn forced_edge(&self) -> Option<Choice> {
        if self.settings.config.forced_playouts == 0.0 || !self.forces_playouts() {
            return None;
        }
        let mut best: Option<(f32, u16, Choice)> = None;
        for (slot, child) in self.pool.children(self.tree.root).enumerate() {
            let node = &self.pool[child.id];
            let owed = child.q != CLOSED
                && node.started() > 0
                && f64::from(node.started()) < self.forced_visits(node.prior);
            let first = best.is_none_or(|(prior, index, _)| {
                node.prior > prior || node.prior == prior && node.index < index
            });
            if owed && first {
                let choice = Choice::Visited(slot as u16, child.id);
                best = Some((node.prior, node.index, choice));
            }
        }
        best.map(|(_, _, choice)| choice)
    }

    /// The visits of the root's tried edges without forced ones.
    pub(crate) fn unforced_visits(&self, found: &RootSummary) -> Vec<u32> {
        let mut visits: Vec<u32> = found.tried.iter().map(|edge| edge.visits).collect();
        if !self.forces_playouts() {
            return visits;
        }
        let root = self.tree.root;
        let explore = self.explore(root, self.pool[root].started());
        let scale = self.learned_scale(root);
        let score = |edge: &Tried, n: u32| {
            let q = self.pool.child_at(root, edge.slot.into()).q;
            let q = scale.map_or(q, |scale| scale.apply(q));
            q + explore * (edge.prior / (1 + n) as f32)
        };
        let is_best = |edge: &&Tried| usize::from(edge.index) == found.best;
        let best = found.tried.iter().find(is_best);
        let bar = best.map_or(f32::NEG_INFINITY, |best| score(best, best.visits));
        for (edge, n) in found.tried.iter().zip(&mut visits) {
            if is_best(&edge) {
                continue;
            }
            let forced = self.forced_visits(edge.prior).ceil() as u32;
            let least = n.saturating_sub(forced);
            while *n > least && score(edge, *n - 1) < bar {
                *n -= 1;
            }
            if *n == 1 {
                *n = 0;
            }
        }
        visits
    }
}
