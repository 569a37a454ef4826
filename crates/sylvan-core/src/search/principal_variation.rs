//! Principal variations: the expected line of play from a node.
//!
//! Without a proof, or with a proven draw: follow the most visited child, proven better ones first.
//! With a proven win or loss down to the end of the game: the winner takes the shortest line, the
//! loser the longest, so the length of the line is the distance to the end inside the proof. An
//! incomplete proof (its subtree was dropped to save memory, or it comes from a tablebase) has no
//! such line; follow visits there.
//!
//! A win is a proven value above 0 for the seat to move, a loss one below.

use crate::contracts::game::Action;
use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::family::{CLOSED, Child};
use crate::memory::node::{NodeId, NodeKind};
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The expected line from the root: the preferred action, then `line`.
    pub fn principal_variation(&self) -> Vec<Action> {
        if self.pool[self.tree.root].kind() != NodeKind::Decision {
            return Vec::new();
        }
        let first = self.tree.edges.actions[self.best()];
        let mut actions = vec![first];
        if let Some(id) = self.find(&actions) {
            actions.extend(self.line(id));
        }
        actions
    }

    /// The expected line from a node.
    pub fn line(&self, id: NodeId) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            // Between shared positions there are too many lines to compare them all.
            let compare = !self.settings.config.transpositions;
            if let Some(mut ending) = compare.then(|| self.ending(id, u32::MAX)).flatten() {
                ending.reverse();
                actions.extend(ending);
                break;
            }
            next = match self.pool[id].kind() {
                NodeKind::Decision => self.best_child(id),
                _ => None,
            };
            actions.extend(next.map(|child| self.pool[child].action));
            next = next.map(|child| self.pool.position(child));
        }
        actions
    }

    /// The line to the end of the game below a proven win or loss, last action first, if it has at
    /// most `most` actions.
    fn ending(&self, id: NodeId, most: u32) -> Option<Vec<Action>> {
        let node = &self.pool[id];
        if !(self.settings.config.proofs && node.is_bounded() && node.is_proven()) {
            return None;
        }
        match node.kind() {
            NodeKind::Terminal => return Some(Vec::new()),
            NodeKind::Decision => {}
            NodeKind::Leaf | NodeKind::Chance => return None,
        }
        let value = node.proven().seat(node.seat());
        if value > 0.0 {
            self.shortest(id, value, most)
        } else if value < 0.0 {
            self.longest(id, most)
        } else {
            None
        }
    }

    fn shortest(&self, id: NodeId, value: f64, mut most: u32) -> Option<Vec<Action>> {
        let seat = self.pool[id].seat();
        let discount = self.settings.config.discount;
        let mut best = None;
        for child in self.pool.ids(id) {
            let node = &self.pool[child];
            if most == 0 {
                break;
            }
            if node.step_bounds(seat, discount).0 < value {
                continue;
            }
            if let Some(mut ending) = self.ending(child, most - 1) {
                most = ending.len() as u32;
                ending.push(node.action);
                best = Some(ending);
            }
        }
        best
    }

    fn longest(&self, id: NodeId, most: u32) -> Option<Vec<Action>> {
        if most == 0 || self.pool.ids(id).count() < usize::from(self.pool[id].num_edges) {
            return None;
        }
        let mut best: Option<Vec<Action>> = None;
        for child in self.pool.ids(id) {
            let mut ending = self.ending(child, most - 1)?;
            if best.as_ref().is_none_or(|best| ending.len() >= best.len()) {
                ending.push(self.pool[child].action);
                best = Some(ending);
            }
        }
        best
    }

    /// The best child: not closed, then proven best, then most visited, then first tried.
    fn best_child(&self, id: NodeId) -> Option<NodeId> {
        let seat = self.pool[id].seat();
        let discount = self.settings.config.discount;
        let mut best: Option<((bool, f64, u32), NodeId)> = None;
        for Child { id: child, q, .. } in self.pool.children(id) {
            let node = &self.pool[child];
            if node.visits == 0 {
                continue;
            }
            let proven = self.settings.config.proofs && self.pool[id].is_proven();
            let lower_bound = if proven {
                node.step_bounds(seat, discount).0
            } else {
                0.0
            };
            let key = (q > CLOSED, lower_bound, node.visits);
            if best.is_none_or(|(top, _)| key > top) {
                best = Some((key, child));
            }
        }
        best.map(|(_, child)| child)
    }
}
