//! Selection: the edge that a simulation takes from a node.
//!
//! PUCT, for the seat `s` to move at the node:
//!
//! ```text
//!     score(a) = Q_s(a) + c(N) * P(a) * sqrt(N) / (1 + n(a))
//!     c(N)     = c_puct + c_factor * ln((1 + N + c_base) / c_base)    (the logarithm is optional)
//! ```
//!
//! `n` counts an edge's visits, including visits in flight; `N` counts the node's visits, including
//! its own evaluation, so the first selection already follows the priors. With `c_deviation`, c(N) has one more factor
//! (`deviation.rs`). `Q_s` is the mean over
//! finished visits; before the first it is the first-play urgency. Ties: higher prior, then lower
//! index.
//!
//! Units: `P` sums to about 1 over legal actions. `Q` is seat `s`'s return on the scale of
//! `ValueRange`; `c_puct` is on that scale too, so it depends on the range.
//!
//! Rounding: Q and c(N) * sqrt(N) are computed in double precision and rounded once to single; P /
//! (1 + n), the product and the sum are single precision.
//!
//! Cost: unvisited edges share one Q and are stored apart from visited children, so the scan reads
//! only the visited children and the best unvisited prior.
//!
//! Limits: chance nodes sample instead; closed edges (`proofs.rs`) have Q = -inf.
//!
//! Twin: `sylvan.reference.selection`. Papers: Rosin 2011 (PUCT); Sturtevant 2008 (max^n); Silver
//! 2018; Schrittwieser 2020, appendix B.

use crate::contracts::config::{Config, Fpu, Selection};
use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::family::{CLOSED, Child, FamilyMut, Link};
use crate::memory::node::NodeId;
use crate::memory::simd::{best_scaled, best_score};
use crate::search::scale::Scale;
use crate::search::tree::Search;

/// A selected edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The child in this slot, and its number.
    Visited(u16, NodeId),
    /// The index of an unvisited action, and its prior.
    New(usize, f32),
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Selects an edge of a decision node by the rule of this search.
    #[inline]
    pub fn choose(&mut self, id: NodeId) -> Choice {
        match self.settings.config.selection {
            Selection::Puct { .. } => self.choose_puct(id),
            Selection::Uct { c_uct } => self.choose_uct(id, c_uct),
            Selection::Gumbel { .. } => self.choose_gumbel(id),
        }
    }

    fn choose_puct(&self, id: NodeId) -> Choice {
        let node = &self.pool[id];
        let Some(head) = self.pool.head(node) else {
            let (index, prior) = self.next_unvisited(id);
            return Choice::New(index, prior);
        };
        let explore = self.explore(id, node.started());
        let (slot, score) = match self.learned_scale(id) {
            _ if head.unfinished > 0 => self.best_of_unfinished(id, explore),
            None => best_score(self.pool.groups(node.owned), explore),
            Some(scale) => self.best_of_learned(id, scale, explore),
        };
        let child = self.pool.child(id, slot as u16);
        if head.best.1 >= 0.0 {
            let unvisited_score = self.fpu(id, head.mass) + explore * head.best.1;
            if unvisited_score > score || unvisited_score == score && !self.tie_goes_to(id, child) {
                return Choice::New(head.best.0, head.best.1);
            }
        }
        Choice::Visited(slot as u16, child)
    }

    /// The index and prior of the best unvisited edge of a node that has one.
    #[inline(always)]
    pub(crate) fn next_unvisited(&self, id: NodeId) -> (usize, f32) {
        match self.pool.head(&self.pool[id]) {
            Some(head) => head.best,
            None => self.best_unvisited(id),
        }
    }

    /// Whether a visited child precedes the best unvisited edge on a tie.
    #[cold]
    fn tie_goes_to(&self, id: NodeId, child: NodeId) -> bool {
        let (child, (index, prior)) = (&self.pool[child], self.best_unvisited(id));
        child.prior > prior || (child.prior == prior && usize::from(child.index) < index)
    }

    /// The best child if some have no finished visit; those have the first-play urgency as Q.
    #[cold]
    fn best_of_unfinished(&self, id: NodeId, explore: f32) -> (usize, f32) {
        let mass = self.pool.head(&self.pool[id]).map_or(0.0, |head| head.mass);
        let (fpu, scale) = (self.fpu(id, mass), self.learned_scale(id));
        self.best_of(id, |child| {
            let q = match (self.pool[child.id].visits, scale) {
                _ if child.q == CLOSED => CLOSED, // a known position may be closed before a visit
                (0, _) => fpu,
                (_, None) => child.q,
                (_, Some(scale)) => scale.apply(child.q),
            };
            q + explore * child.u
        })
    }

    /// The best child with a learned value range.
    fn best_of_learned(&self, id: NodeId, scale: Scale, explore: f32) -> (usize, f32) {
        let groups = self.pool.groups(self.pool[id].owned);
        best_scaled(groups, scale.shift, scale.factor, explore)
    }

    /// The slot and score of the child with the highest score, the first on ties.
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

    /// The first-play urgency at a node; `mass` is the prior mass of its tried edges.
    #[inline]
    pub fn fpu(&self, id: NodeId, mass: f32) -> f32 {
        let rule = self.settings.fpu(id == self.tree.root);
        let node = &self.pool[id];
        first_play_urgency(rule, self.scale(id), node.value(node.seat()), mass)
    }
}

pub(crate) fn first_play_urgency(rule: Fpu, scale: Scale, value: f32, mass: f32) -> f32 {
    match rule {
        Fpu::Reduction(r) => scale.apply(value) - r * mass.sqrt(),
        Fpu::Parent => scale.apply(value),
        Fpu::Loss => scale.lowest,
        Fpu::Value(value) => value,
    }
}

/// Constants of PUCT with a known value range (`Settings::fast_puct`).
#[derive(Clone, Copy, Debug)]
pub struct FastPuct {
    pub scale: Scale,
    /// Below the root, and at the root.
    urgency: [Urgency; 2],
}

/// A rule of first-play urgency as one formula without branches: `weight * value + constant -
/// reduction * sqrt(mass)`, with `weight` 0 or 1, the node's value, and the prior mass of its tried
/// edges.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Urgency {
    weight: f32,
    constant: f32,
    reduction: f32,
}

impl Urgency {
    fn new(rule: Fpu, scale: Scale) -> Self {
        let (weight, constant, reduction) = match rule {
            Fpu::Parent => (1.0, 0.0, 0.0),
            Fpu::Reduction(reduction) => (1.0, 0.0, reduction),
            Fpu::Loss => (0.0, scale.lowest, 0.0),
            Fpu::Value(value) => (0.0, value, 0.0),
        };
        Self {
            weight,
            constant,
            reduction,
        }
    }
}

impl FastPuct {
    pub fn new(config: &Config, scale: Scale) -> Option<Self> {
        let urgency = [config.fpu, config.fpu_root].map(|rule| Urgency::new(rule, scale));
        let bare = config.widening.is_none() && config.rave == 0.0 && config.c_deviation == 0.0;
        let fast_puct = bare && matches!(config.selection, Selection::Puct { .. });
        fast_puct.then_some(Self { scale, urgency })
    }

    /// Whether the root has another first-play urgency than other nodes.
    #[inline]
    pub(crate) fn root_differs(&self) -> bool {
        self.urgency[0] != self.urgency[1]
    }

    /// The score of the best unvisited edge of a node with this family and value.
    #[inline]
    pub(crate) fn unvisited_score(
        &self,
        family: &FamilyMut,
        explore: f32,
        value: f32,
        at_root: bool,
    ) -> f32 {
        let (best, mass) = family.untried();
        let urgency = &self.urgency[usize::from(at_root)];
        let parent = self.scale.apply(value) * urgency.weight + urgency.constant;
        parent - urgency.reduction * mass.sqrt() + explore * best
    }
}

/// The next step from an open node with this family, and the child's slot; `UNKNOWN` on a tie.
/// `unvisited_score` is the score of the best unvisited edge. Every child must have a finished
/// visit.
#[inline]
pub(crate) fn next_step(family: &mut FamilyMut, explore: f32, unvisited_score: f32) -> (Link, u16) {
    let (slot, score) = best_score(family.groups(), explore);
    if unvisited_score < score {
        (family.link(slot), slot as u16)
    } else if unvisited_score > score {
        (Link::NEW, 0)
    } else {
        (Link::UNKNOWN, 0)
    }
}
