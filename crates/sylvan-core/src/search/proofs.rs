//! Proofs: proven results and their use.
//!
//! Two seats with win, draw or loss (`Duel`): every node has bounds on seat 0's result. A finished
//! game has its result as both bounds (a result strictly between is rounded outwards). A decision
//! node has, for its seat, the highest lower bound and the highest upper bound of its edges; an
//! untried edge has -1 and 1. A chance node has the lowest lower and the highest upper bound.
//!
//! Any other game (`Seats`): a node is exact when it is finished, or when all its edges are. A
//! decision node then has the values of the best edge for its seat (the lowest index on ties), a
//! chance node the mean. If one seat's result determines all (one seat, or two of a zero-sum game;
//! no rewards, no discount), one edge with the highest return is enough.
//!
//! Use:
//! - a descent ends at a proven node with the proven value, and a proven root ends the search;
//! - the Q of an edge is clamped to its bounds;
//! - an edge is *closed* (never selected again) if its upper bound, for the seat to move, is below
//!   the lower bound of another edge or equal to the lowest return.
//!
//! Bounds only tighten, and dropping a subtree keeps them.
//!
//! Twin: `sylvan.reference.proofs`. Papers: Winands et al. 2008 (MCTS-Solver); Cazenave and
//! Saffidine 2010 (score bounds).

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::memory::pool::Pool;
use crate::search::settings::Settings;
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Records the result of a finished game; returns whether it bounds the node.
    pub fn prove_terminal(&mut self, id: NodeId, value: &V) -> bool {
        if V::BOUNDS {
            let result = value.seat(0);
            self.pool[id].set_bounds(result.floor() as i8, result.ceil() as i8);
        } else {
            self.pool[id].set_exact(*value);
        }
        self.pool[id].is_bounded()
    }
}

impl<V: Values> Pool<V> {
    /// Updates a node after bounds of its children changed: closes edges and tightens its own
    /// bounds; returns whether those changed.
    pub fn conclude(&mut self, id: NodeId, settings: &Settings) -> bool {
        let decision = self[id].kind() == NodeKind::Decision;
        if decision {
            self.close_edges(id, settings);
        }
        if V::BOUNDS {
            self.conclude_bounds(id, decision)
        } else {
            self.conclude_exact(id, decision, settings)
        }
    }

    fn close_edges(&mut self, id: NodeId, settings: &Settings) {
        let seat = self[id].seat();
        let discount = settings.config.discount;
        let bounds = |pool: &Pool<V>, child: NodeId| pool[child].step_bounds(seat, discount);
        let lows = self.ids(id).map(|child| bounds(self, child).0);
        let highest_low = lows.fold(f64::NEG_INFINITY, f64::max);
        let least = settings.least_return();
        for slot in 0..self.num_children(id) as u16 {
            let high = bounds(self, self.child(id, slot)).1;
            if high < highest_low || high <= least {
                self.close(id, slot);
            }
        }
    }

    fn conclude_bounds(&mut self, id: NodeId, decision: bool) -> bool {
        let (old_low, old_high) = self[id].bounds();
        let untried = self.num_children(id) < usize::from(self[id].num_edges);
        let bounds = self.ids(id).map(|child| self[child].bounds());
        let untried = untried.then_some((-1, 1));
        let all = bounds.chain(untried);
        let (low, high) = match (decision, self[id].seat()) {
            (true, 0) => all.fold((-1, -1), |(l, h), (cl, ch)| (l.max(cl), h.max(ch))),
            (true, _) => all.fold((1, 1), |(l, h), (cl, ch)| (l.min(cl), h.min(ch))),
            (false, _) => all.fold((1, -1), |(l, h), (cl, ch)| (l.min(cl), h.max(ch))),
        };
        let (low, high) = (low.max(old_low), high.min(old_high));
        self[id].set_bounds(low, high);
        (low, high) != (old_low, old_high)
    }

    fn conclude_exact(&mut self, id: NodeId, decision: bool, settings: &Settings) -> bool {
        if self[id].is_exact() {
            return false;
        }
        let discount = settings.config.discount;
        let mut children: Vec<NodeId> = self.ids(id).collect();
        children.sort_by_key(|&child| self[child].index);
        let all_exact = children.len() == usize::from(self[id].num_edges)
            && children.iter().all(|&child| self[child].is_exact());
        let step = |child: NodeId| {
            let node = &self[child];
            V::exact(&node.extra).step_value(&node.extra, discount)
        };
        let exact = if decision {
            let seat = self[id].seat();
            let mut best: Option<V> = None;
            for &child in children.iter().filter(|&&child| self[child].is_exact()) {
                let value = step(child);
                if best.is_none_or(|best| value.seat(seat) > best.seat(seat)) {
                    best = Some(value);
                }
            }
            best.filter(|best| all_exact || best.seat(seat) >= settings.decisive_return())
        } else {
            all_exact.then(|| self.mean(&children, settings.rules.num_players, step))
        };
        let Some(exact) = exact else { return false };
        self[id].set_exact(exact);
        true
    }

    /// The mean value of a chance node's outcomes, summed in their order.
    fn mean(&self, children: &[NodeId], num_players: usize, step: impl Fn(NodeId) -> V) -> V {
        let mut seats = [0.0; crate::contracts::game::MAX_SEATS];
        let seats = &mut seats[..num_players];
        for &child in children {
            let probability = f64::from(self[child].prior);
            let value = step(child);
            for (seat, sum) in seats.iter_mut().enumerate() {
                *sum += probability * value.seat(seat as u8);
            }
        }
        V::from_seats(seats)
    }
}

impl Settings {
    /// The lowest possible value of an edge, -inf if unknown.
    pub(crate) fn least_return(&self) -> f64 {
        let plain = !self.rules.has_rewards && self.config.discount == 1.0;
        if plain {
            self.rules.value_range.0
        } else {
            f64::NEG_INFINITY
        }
    }

    /// The highest return, if it also determines the other seat's; otherwise +inf.
    fn decisive_return(&self) -> f64 {
        let rules = &self.rules;
        let fixed = rules.num_players == 1 || rules.zero_sum;
        let plain = !rules.has_rewards && self.config.discount == 1.0;
        if fixed && plain {
            rules.value_range.1
        } else {
            f64::INFINITY
        }
    }
}
