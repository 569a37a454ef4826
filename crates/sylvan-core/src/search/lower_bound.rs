//! Choice by lower confidence bound: the action that is good for sure, not the one tried most.
//!
//! ```text
//!     bound(a) = Q(a) - lcb * sqrt((high - Q(a)) * (Q(a) - low) / N(a))
//! ```
//!
//! on the scale of scores, which ends at `low` and `high`. The product is the greatest variance that
//! results with this mean can have, so no sum of squares is stored. Edges with less than a tenth of
//! the most visits do not take part: their Q is too young. Ties: higher prior, then lower index.
//!
//! Twin: `sylvan.reference.outcome`. Idea: Leela Zero and KataGo, which measure the variance.

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::search::outcome::RootSummary;
use crate::search::tree::Search;

/// The most visits of an edge divided by this take part.
const SHARE: u64 = 10;
/// The upper end of every scale of scores.
const HIGHEST: f64 = 1.0;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The index of the edge with the highest lower bound; `None` without `lcb`, without a visit or
    /// at a proven root.
    pub(super) fn best_by_bound(&self, found: &RootSummary) -> Option<usize> {
        let (lcb, root) = (self.settings.config.lcb, self.tree.root);
        if lcb == 0.0 || self.settings.config.proofs && self.pool[root].is_proven() {
            return None;
        }
        let visits = found.eligible_of(&found.tried).map(|(edge, _)| edge.visits);
        let most = u64::from(visits.max()?);
        let (scale, seat) = (self.scale(root), self.pool[root].seat());
        let mut best: Option<(f64, usize)> = None;
        for (edge, _) in found.eligible_of(&found.tried) {
            if edge.visits == 0 || SHARE * u64::from(edge.visits) < most {
                continue;
            }
            let child = &self.pool[edge.id];
            let q = child.q(child.mean(), seat, self.settings.config.discount);
            let q = f64::from(scale.apply(q));
            let spread = (HIGHEST - q) * (q - f64::from(scale.lowest));
            let bound = q - lcb * (spread.max(0.0) / f64::from(edge.visits)).sqrt();
            if best.is_none_or(|(top, _)| bound > top) {
                best = Some((bound, usize::from(edge.index)));
            }
        }
        best.map(|(_, index)| index)
    }
}
