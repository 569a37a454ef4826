//! Stopping early: a search ends when no other action can overtake the most visited one.
//!
//! ```text
//!     first - second > left
//! ```
//!
//! `first` and `second` are the most visits of open edges of the root, those in flight included;
//! `left` is the number of simulations that may still start: the rest of `simulations`, and what the
//! search would do until its deadline at its speed so far. Each simulation adds one visit to one
//! edge, so the rule changes the chosen action only if a proof would have closed its edge. An edge
//! without a rival is chosen at once.
//!
//! A simulation brings both sides of the inequality closer by at most two, so the next look is due
//! only after half as many simulations as are missing: a few dozen looks in the longest search.
//!
//! Twin: `sylvan.reference.decided`.

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::search::clock::Clock;
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Whether the next look is due and finds that the choice cannot change.
    #[inline]
    pub(super) fn is_decided(&mut self, clock: &Clock) -> bool {
        self.settings.config.stop_early
            && self.tree.progress.started >= self.tree.progress.next_look
            && self.look(clock)
    }

    #[cold]
    fn look(&mut self, clock: &Clock) -> bool {
        let (progress, limits) = (&self.tree.progress, &self.settings.config.limits);
        let by_count = limits
            .simulations
            .map(|most| most.saturating_sub(progress.started));
        let by_time = progress
            .began
            .and_then(|began| clock.simulations_left(began, progress.started));
        let Some(left) = by_count.into_iter().chain(by_time).min() else {
            return false;
        };
        let Some(lead) = self.lead() else {
            return true;
        };
        let missing = left.saturating_sub(lead);
        self.tree.progress.next_look = self.tree.progress.started + missing / 2 + 1;
        lead > left
    }

    /// Visits by which the first of the root's open edges leads; `None` without a rival.
    fn lead(&self) -> Option<u64> {
        let (tried, _) = self.tried(self.tree.root);
        let closed = tried.iter().filter(|edge| edge.closed).count();
        if self.tree.edges.actions.len() - closed == 1 {
            return None;
        }
        let (mut first, mut second) = (0, 0);
        for edge in tried.iter().filter(|edge| !edge.closed) {
            second = second.max(edge.started.min(first));
            first = first.max(edge.started);
        }
        Some(u64::from(first - second))
    }
}
