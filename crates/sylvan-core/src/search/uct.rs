//! UCT: takes every edge once, then the highest `Q_s(a) + c_uct * sqrt(ln N / n(a))`.
//!
//! Counts, Q, scale and ties are as in `selection.rs`; scores are doubles. An edge without a
//! finished visit has the first-play urgency as Q. Paper: Kocsis and Szepesvári 2006.

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::family::{CLOSED, Child};
use crate::memory::node::NodeId;
use crate::search::selection::Choice;
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    pub(crate) fn choose_uct(&self, id: NodeId, c_uct: f64) -> Choice {
        let (index, prior) = self.best_unvisited(id);
        if prior >= 0.0 {
            return Choice::New(index, prior);
        }
        let scale = self.learned_scale(id);
        let mass = self.pool.head(&self.pool[id]).map_or(0.0, |head| head.mass);
        let fpu = self.fpu(id, mass);
        let log = self.settings.log(self.pool[id].started());
        let mut best = (Choice::New(index, prior), f64::NEG_INFINITY);
        for (slot, Child { id, q, .. }) in self.pool.children(id).enumerate() {
            let child = &self.pool[id];
            let q = match (child.visits, scale) {
                _ if q == CLOSED => CLOSED,
                (0, _) => fpu,
                (_, None) => q,
                (_, Some(scale)) => scale.apply(q),
            };
            let n = f64::from(child.started().max(1));
            let score = f64::from(q) + c_uct * (log / n).sqrt();
            if score > best.1 {
                best = (Choice::Visited(slot as u16, id), score);
            }
        }
        best.0
    }
}
