//! Proofs: results that are known, not estimated, and what follows from them.
//!
//! Two seats that play for win, draw or loss (`Duel`): every node has bounds on seat 0's result.
//! A finished game has its result for both (a result strictly between is rounded outwards); a
//! decision node has, for its seat, the highest lower bound and the highest upper bound of its
//! edges, an untried edge being anything from -1 to 1; a chance node the lowest lower and the
//! highest upper bound. Any other game (`Seats`): a node is exact when it is finished, or when
//! all its edges are; a decision node then has the values of the edge that is best for its seat
//! (the lowest index among equals), a chance node the mean. If one seat's result fixes all (one
//! seat, or two of a zero-sum game; no rewards, no discount), an edge that reaches the highest
//! return is enough.
//!
//! What follows:
//! - a walk that comes to a proven node ends there with the proven value, and a proven root ends
//!   the search;
//! - the Q of an edge is held inside its bounds;
//! - an edge is *closed*, and not taken again, when it is proven to be worth less to the seat that
//!   chooses than another edge surely is, or proven to be worth the least there is while another
//!   edge may be worth more.
//!
//! Bounds only ever tighten, and dropping a subtree keeps them.
//!
//! Twin: `sylvan.reference.proofs`. Papers: Winands et al. 2008 (MCTS-Solver); Cazenave and
//! Saffidine 2010 (score bounds).

use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::node::{NodeId, NodeKind};
use crate::memory::pool::Pool;
use crate::search::tree::Search;

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Records the result of a finished game; whether that tells anything.
    pub fn prove_terminal(&mut self, id: NodeId, value: &V) -> bool {
        if V::BOUNDS {
            let result = value.seat(0);
            self.pool[id].set_bounds(result.floor() as i8, result.ceil() as i8);
        } else {
            self.pool[id].set_exact(*value);
        }
        self.pool[id].is_bounded()
    }

    /// Draws conclusions at a node some of whose children's bounds changed: closes edges, tightens
    /// the node's own bounds; whether those changed.
    pub fn update_proof(&mut self, id: NodeId) -> bool {
        let decision = self.pool[id].kind() == NodeKind::Decision;
        if decision {
            self.close_edges(id);
        }
        if V::BOUNDS {
            self.update_bounds(id, decision)
        } else {
            self.update_exact(id, decision)
        }
    }

    fn close_edges(&mut self, id: NodeId) {
        let seat = self.pool[id].seat();
        let discount = self.settings.config.discount;
        let bounds = |pool: &Pool<V>, child: NodeId| pool[child].step_bounds(seat, discount);
        let lows = self.pool.ids(id).map(|child| bounds(self.pool, child).0);
        let surely = lows.fold(f64::NEG_INFINITY, f64::max);
        let least = self.least_return();
        for slot in 0..self.pool.num_children(id) as u16 {
            let high = bounds(self.pool, self.pool.child(id, slot)).1;
            if high < surely || high <= least {
                self.pool.close(id, slot);
            }
        }
    }

    /// The least that any edge can be worth, where that is known.
    pub(crate) fn least_return(&self) -> f64 {
        let plain = !self.settings.rules.has_rewards && self.settings.config.discount == 1.0;
        if plain {
            self.settings.rules.value_range.0
        } else {
            f64::NEG_INFINITY
        }
    }

    fn update_bounds(&mut self, id: NodeId, decision: bool) -> bool {
        let (old_low, old_high) = self.pool[id].bounds();
        let untried = self.pool.num_children(id) < usize::from(self.pool[id].num_edges);
        let bounds = self.pool.ids(id).map(|child| self.pool[child].bounds());
        let untried = untried.then_some((-1, 1));
        let all = bounds.chain(untried);
        let (low, high) = match (decision, self.pool[id].seat()) {
            (true, 0) => all.fold((-1, -1), |(l, h), (cl, ch)| (l.max(cl), h.max(ch))),
            (true, _) => all.fold((1, 1), |(l, h), (cl, ch)| (l.min(cl), h.min(ch))),
            (false, _) => all.fold((1, -1), |(l, h), (cl, ch)| (l.min(cl), h.max(ch))),
        };
        let (low, high) = (low.max(old_low), high.min(old_high));
        self.pool[id].set_bounds(low, high);
        (low, high) != (old_low, old_high)
    }

    fn update_exact(&mut self, id: NodeId, decision: bool) -> bool {
        if self.pool[id].is_exact() {
            return false;
        }
        let discount = self.settings.config.discount;
        let mut children: Vec<NodeId> = self.pool.ids(id).collect();
        children.sort_by_key(|&child| self.pool[child].index);
        let all_exact = children.len() == usize::from(self.pool[id].num_edges)
            && children.iter().all(|&child| self.pool[child].is_exact());
        let step = |child: NodeId| {
            let node = &self.pool[child];
            V::exact(&node.extra).step_value(&node.extra, discount)
        };
        let exact = if decision {
            let seat = self.pool[id].seat();
            let mut best: Option<V> = None;
            for &child in children
                .iter()
                .filter(|&&child| self.pool[child].is_exact())
            {
                let value = step(child);
                if best.is_none_or(|best| value.seat(seat) > best.seat(seat)) {
                    best = Some(value);
                }
            }
            best.filter(|best| all_exact || best.seat(seat) >= self.decisive_return())
        } else {
            all_exact.then(|| self.mean(&children, step))
        };
        let Some(exact) = exact else { return false };
        self.pool[id].set_exact(exact);
        true
    }

    /// The return that no other edge can better and that fixes the other seat's as well.
    fn decisive_return(&self) -> f64 {
        let rules = &self.settings.rules;
        let fixed = rules.num_players == 1 || rules.zero_sum;
        let plain = !rules.has_rewards && self.settings.config.discount == 1.0;
        if fixed && plain {
            rules.value_range.1
        } else {
            f64::INFINITY
        }
    }

    /// The mean value of a chance node's outcomes, summed in their order.
    fn mean(&self, children: &[NodeId], step: impl Fn(NodeId) -> V) -> V {
        let mut seats = [0.0; crate::contracts::game::MAX_SEATS];
        let seats = &mut seats[..self.settings.rules.num_players];
        for &child in children {
            let probability = f64::from(self.pool[child].prior);
            let value = step(child);
            for (seat, sum) in seats.iter_mut().enumerate() {
                *sum += probability * value.seat(seat as u8);
            }
        }
        V::from_seats(seats)
    }
}
