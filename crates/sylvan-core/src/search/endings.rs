//! The shortest win: with a proven root, the action is chosen by the plies to the end of the game.
//!
//! ```text
//!     plies(end) = 0
//!     plies(won) = 1 + the least plies of the edges that are proven to win
//!     plies(lost) = 1 + the most plies of all edges
//! ```
//!
//! A won root takes the edge with the fewest plies, a lost one that with the most; ties go to more
//! visits. Only what is proven counts, so a shorter win may exist. The plies are unknown where a
//! subtree was dropped or an endgame table proved the result; such edges come last.
//!
//! Only with two seats and a win, draw or loss. Twin: `sylvan.reference.endings`.

use std::collections::HashMap;

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::search::outcome::RootSummary;
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The index of the action that a won or lost root takes; `None` at any other root.
    pub(super) fn best_ending(&self, found: &RootSummary) -> Option<usize> {
        let (config, root) = (&self.settings.config, &self.pool[self.tree.root]);
        if !(config.shortest_win && config.proofs && V::BOUNDS && root.is_proven()) {
            return None;
        }
        let sign = match root.proven().seat(root.seat()) {
            value if value > 0.0 => -1,
            value if value < 0.0 => 1,
            _ => return None,
        };
        let (mut known, mut best) = (HashMap::new(), None);
        for (edge, _) in found.eligible_of(&found.tried) {
            let plies = self.plies_to_end(self.pool.position(edge.id), &mut known);
            let rank = (plies.map_or(i64::MIN, |plies| sign * plies), edge.visits);
            if best.is_none_or(|(top, _)| rank > top) {
                best = Some((rank, usize::from(edge.index)));
            }
        }
        best.map(|(_, index)| index)
    }

    /// The plies from a position to the end of the game, if a proof tells them.
    fn plies_to_end(&self, id: NodeId, known: &mut HashMap<NodeId, Option<i64>>) -> Option<i64> {
        let node = &self.pool[id];
        match node.kind() {
            NodeKind::Terminal => return Some(0),
            NodeKind::Decision if node.is_proven() => {}
            _ => return None,
        }
        if let Some(&plies) = known.get(&id) {
            return plies;
        }
        let (seat, value) = (node.seat(), node.proven().seat(node.seat()));
        let all = self.pool.num_children(id) == usize::from(node.num_edges);
        let mut children = self.pool.ids(id).map(|child| self.pool.position(child));
        let plies = if value > 0.0 {
            let wins = children.filter(|&child| {
                let child = &self.pool[child];
                child.is_proven() && child.proven().seat(seat) > 0.0
            });
            wins.filter_map(|child| self.plies_to_end(child, known))
                .min()
        } else if value < 0.0 && all {
            children.try_fold(0, |most, child| {
                Some(self.plies_to_end(child, known)?.max(most))
            })
        } else {
            None
        };
        let plies = plies.map(|plies| plies + 1);
        known.insert(id, plies);
        plies
    }
}
