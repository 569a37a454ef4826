//! Selection: the edge a simulation takes from a node.
//!
//! PUCT, for the seat `s` to move at the node:
//!
//! ```text
//!     score(a) = Q_s(a) + c(N) * P(a) * sqrt(N) / (1 + n(a))
//!     c(N)     = c_puct + c_factor * ln((1 + N + c_base) / c_base)    (the logarithm is optional)
//! ```
//!
//! `n` counts an edge's visits, those in flight included; `N` the node's, its own evaluation
//! included, so the first choice already follows the priors. `Q_s` is the mean over finished
//! visits; before the first it is the first-play urgency. Ties: higher prior, then lower index.
//!
//! Units: `P` sums to about 1 over legal actions. `Q` is seat `s`'s return on the scale of
//! `ValueRange`; `c_puct` is on that scale, so another range is another `c_puct`.
//!
//! Rounding: Q, P / (1 + n) and c(N) * sqrt(N) are single precision, each rounded once from double
//! arithmetic (P / (1 + n): single); their product and sum are single.
//!
//! Cost: unvisited edges share one Q and wait apart from the visited children, so the scan reads
//! the visited ones and the prior of the best unvisited.
//!
//! Limits: chance nodes sample instead; closed edges (`proofs.rs`) have Q = -inf.
//!
//! Twin: `sylvan.reference.selection`. Papers: Rosin 2011 (PUCT); Sturtevant 2008 (max^n); Silver
//! 2018; Schrittwieser 2020, appendix B.

use crate::config::{Fpu, Selection};
use crate::game::Game;
use crate::node::NodeId;
use crate::pool::{LANES, Scan};
use crate::tree::{Scale, Search};
use crate::values::Values;

/// An edge to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The child in this slot, and its number.
    Visited(u16, NodeId),
    /// The legal action at this place, never tried before.
    New(usize),
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The edge that the rule of this search takes from a decision node.
    pub fn choose(&self, id: NodeId) -> Choice {
        match self.settings.config.selection {
            Selection::Puct { .. } => self.choose_puct(id),
            Selection::Uct { c_uct } => self.choose_uct(id, c_uct),
            Selection::Gumbel { .. } if id == self.tree.root => self.choose_gumbel_root(),
            Selection::Gumbel { .. } => self.choose_gumbel_interior(id),
        }
    }

    #[inline]
    fn choose_puct(&self, id: NodeId) -> Choice {
        let node = &self.pool[id];
        let Some(scan) = self.pool.scan(node) else {
            return Choice::New(self.best_unvisited(id).0);
        };
        let explore = self.settings.explore(node.started());
        let scale = self.scale(id);
        let fpu = if scan.unfinished > 0 || scan.best >= 0.0 {
            self.fpu(id, scale, scan.mass)
        } else {
            0.0 // every edge has a Q of its own
        };
        let (slot, score) = if scan.unfinished == 0 {
            best_of(scan, scale, explore)
        } else {
            self.best_of_unfinished(id, fpu, scale, explore)
        };
        let fresh = fpu + explore * scan.best;
        if scan.best < 0.0 || fresh < score {
            return Choice::Visited(slot as u16, scan.id(slot));
        }
        let (index, prior) = self.best_unvisited(id);
        let place = scan.id(slot);
        let child = &self.pool[place];
        let tie_goes_to_child =
            child.prior > prior || (child.prior == prior && usize::from(child.index) < index);
        if fresh == score && tie_goes_to_child {
            Choice::Visited(slot as u16, place)
        } else {
            Choice::New(index)
        }
    }

    /// The best child where some have no finished visit and so the first-play urgency for Q.
    #[cold]
    fn best_of_unfinished(&self, id: NodeId, fpu: f32, scale: Scale, explore: f32) -> (usize, f32) {
        let mut best = (0, f32::NEG_INFINITY);
        for (slot, child) in self.pool.children(id).enumerate() {
            let q = match self.pool[child.id].visits {
                0 => fpu,
                _ => scale.apply(child.q),
            };
            let score = q + explore * child.u;
            if score > best.1 {
                best = (slot, score);
            }
        }
        best
    }

    /// The first-play urgency at a node whose tried edges have this prior mass.
    pub fn fpu(&self, id: NodeId, scale: Scale, mass: f32) -> f32 {
        let rule = if id == self.tree.root {
            self.settings.config.fpu_root
        } else {
            self.settings.config.fpu
        };
        let node = &self.pool[id];
        match rule {
            Fpu::Parent => scale.apply(node.value(node.seat())),
            Fpu::Reduction(r) => scale.apply(node.value(node.seat())) - r * mass.sqrt(),
            Fpu::Loss => scale.lowest,
            Fpu::Value(value) => value,
        }
    }
}

/// The first of the highest scores and its place, four children at a time and without a branch
/// that depends on a score.
#[inline]
fn best_of(scan: Scan, scale: Scale, explore: f32) -> (usize, f32) {
    let score = |q: [f32; LANES], u: [f32; LANES]| {
        let lane = |i: usize| scale.apply(q[i]) + explore * u[i];
        [lane(0), lane(1), lane(2), lane(3)]
    };
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for (q, u) in scan.groups() {
        let scores = score(q, u);
        for i in 0..LANES {
            lanes[i] = greater(lanes[i], scores[i]);
        }
    }
    let best = greater(greater(lanes[0], lanes[1]), greater(lanes[2], lanes[3]));
    for (group, (q, u)) in scan.groups().enumerate() {
        let scores = score(q, u);
        let mut equal = 0;
        for (i, score) in scores.into_iter().enumerate() {
            equal |= u32::from(score == best) << i;
        }
        if equal != 0 {
            return (LANES * group + equal.trailing_zeros() as usize, best);
        }
    }
    (0, best)
}
