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
use crate::lanes::best_score;
use crate::node::{Node, NodeId};
use crate::pool::Child;
use crate::tree::{Scale, Search};
use crate::values::Values;

/// An edge to follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The child in this slot, and its number.
    Visited(u16, NodeId),
    /// The legal action at this place, never tried before, and its prior.
    New(usize, f32),
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The edge that the rule of this search takes from a decision node.
    #[inline]
    pub fn choose(&self, id: NodeId) -> Choice {
        match self.settings.config.selection {
            Selection::Puct { .. } => self.choose_puct(id),
            Selection::Uct { c_uct } => self.choose_uct(id, c_uct),
            Selection::Gumbel { .. } if id == self.tree.root => self.choose_gumbel_root(),
            Selection::Gumbel { .. } => self.choose_gumbel_interior(id),
        }
    }

    fn choose_puct(&self, id: NodeId) -> Choice {
        let node = &self.pool[id];
        let Some(scan) = self.pool.scan(node) else {
            return self.newcomer(id);
        };
        let explore = self.explore(node);
        let (slot, score) = match self.learned_scale(id) {
            _ if scan.unfinished > 0 => self.best_of_unfinished(id, explore),
            None => best_score(scan.groups, explore),
            Some(scale) => self.best_of_learned(id, scale, explore),
        };
        if scan.best >= 0.0 {
            let fresh = self.fpu(id, scan.mass) + explore * scan.best;
            if fresh > score || fresh == score && !self.tie_goes_to(id, scan.id(slot)) {
                return self.newcomer(id);
            }
        }
        Choice::Visited(slot as u16, scan.id(slot))
    }

    /// What PUCT takes from a node in the plainest case, which is nearly all: the range of values is
    /// known, no first visit is under way, no tie; otherwise `None`.
    #[inline]
    pub(crate) fn choose_plainly(&self, id: NodeId) -> Option<Choice> {
        let node = &self.pool[id];
        let Some(scan) = self.pool.scan(node) else {
            return Some(self.newcomer(id));
        };
        let explore = self.explore(node);
        let (slot, score) = best_score(scan.groups, explore);
        if scan.unfinished > 0 {
            return None;
        }
        if scan.best >= 0.0 {
            let fresh = self.fpu(id, scan.mass) + explore * scan.best;
            if fresh >= score {
                return (fresh > score).then(|| self.newcomer(id));
            }
        }
        Some(Choice::Visited(slot as u16, scan.id(slot)))
    }

    /// The best unvisited edge.
    fn newcomer(&self, id: NodeId) -> Choice {
        let (index, prior) = self.best_unvisited(id);
        Choice::New(index, prior)
    }

    /// The factor of the exploration shares of a node's edges.
    #[inline]
    fn explore(&self, node: &Node<V>) -> f32 {
        self.settings.explore(node.started())
    }

    /// Whether a visited child comes before the best unvisited edge, at equal scores.
    #[cold]
    fn tie_goes_to(&self, id: NodeId, child: NodeId) -> bool {
        let (child, (index, prior)) = (&self.pool[child], self.best_unvisited(id));
        child.prior > prior || (child.prior == prior && usize::from(child.index) < index)
    }

    /// The best child where some have no finished visit and so the first-play urgency for Q.
    #[cold]
    fn best_of_unfinished(&self, id: NodeId, explore: f32) -> (usize, f32) {
        let mass = self.pool.scan(&self.pool[id]).map_or(0.0, |scan| scan.mass);
        let (fpu, scale) = (self.fpu(id, mass), self.learned_scale(id));
        self.best_of(id, |child| {
            let q = match (self.pool[child.id].visits, scale) {
                (0, _) => fpu,
                (_, None) => child.q,
                (_, Some(scale)) => scale.apply(child.q),
            };
            q + explore * child.u
        })
    }

    /// The best child where the range of values is learned.
    fn best_of_learned(&self, id: NodeId, scale: Scale, explore: f32) -> (usize, f32) {
        self.best_of(id, |child| scale.apply(child.q) + explore * child.u)
    }

    /// The first of the highest scores and its place.
    fn best_of(&self, id: NodeId, score: impl Fn(Child) -> f32) -> (usize, f32) {
        let mut best = (0, f32::NEG_INFINITY);
        for (slot, child) in self.pool.children(id).enumerate() {
            let score = score(child);
            if score > best.1 {
                best = (slot, score);
            }
        }
        best
    }

    /// The first-play urgency at a node whose tried edges have this prior mass.
    #[inline(always)]
    pub fn fpu(&self, id: NodeId, mass: f32) -> f32 {
        let rule = if id == self.tree.root {
            self.settings.config.fpu_root
        } else {
            self.settings.config.fpu
        };
        let node = &self.pool[id];
        let value = || self.scale(id).apply(node.value(node.seat()));
        match rule {
            Fpu::Parent => value(),
            Fpu::Reduction(r) => value() - r * mass.sqrt(),
            Fpu::Loss => self.scale(id).lowest,
            Fpu::Value(value) => value,
        }
    }
}
