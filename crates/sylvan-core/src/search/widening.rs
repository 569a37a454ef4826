//! Two options of PUCT and UCT: progressive widening and RAVE.
//!
//! *Widening* (Coulom 2007; Chaslot et al. 2008): a node with N visits has at most
//!
//! ```text
//!     k(N) = ceil(widening * N ^ widening_power)
//! ```
//!
//! tried edges; if all of them are closed, one more may be tried. Of the untried edges only the one
//! with the highest prior can be selected, whatever RAVE says of the others.
//!
//! *RAVE* (Gelly and Silver 2011): the value of an action later in a simulation estimates its value
//! now. Every node stores, per action, the mean result of the simulations through it in which its
//! seat took that action there or below (only the first time counts), and mixes it into Q or the
//! first-play urgency:
//!
//! ```text
//!     Q'(a) = (1 - b) * Q(a) + b * AMAF(a)      b = sqrt(k / (3 N + k))
//! ```
//!
//! `k` (`rave`) is the number of visits at which both have equal weight. Only actions inside the
//! tree count, not those of a playout.
//!
//! N includes visits in flight and the node's own evaluation. Rounding: k(N), AMAF sums and b are
//! doubles; b, the mean and Q' are then single.
//!
//! Cost: each selection scans every edge of the node, so use these options only with few edges or
//! few simulations. Twin: `sylvan.reference.selection`, `sylvan.reference.search.backup`.

use crate::contracts::config::Selection;
use crate::contracts::game::{Action, Game, Seat};
use crate::contracts::numbers::{exp_double, ln};
use crate::contracts::values::Values;
use crate::memory::family::CLOSED;
use crate::memory::node::{Node, NodeId};
use crate::search::scale::Scale;
use crate::search::selection::Choice;
use crate::search::settings::Settings;
use crate::search::tree::Search;
use crate::search::visit::Visit;

impl Settings {
    /// Whether either option is on.
    #[inline]
    pub fn scans_all_edges(&self) -> bool {
        self.config.widening.is_some() || self.config.rave > 0.0
    }

    /// The most edges that may be tried at a node with this many visits.
    pub fn width(&self, visits: u32) -> usize {
        let Some((factor, power)) = self.config.widening else {
            return usize::MAX;
        };
        let most = factor * exp_double(power * ln(f64::from(visits.max(1))));
        (most.ceil() as usize).max(1)
    }
}

/// An edge to score.
pub(crate) struct Candidate {
    pub prior: f32,
    pub action: Action,
    /// Visits at which it was legal.
    pub available: u32,
    /// Its node, if it was tried.
    pub child: Option<NodeId>,
    pub closed: bool,
}

/// The index of the untried edge with the highest prior, the first on ties.
fn likeliest_untried(edges: &[Candidate]) -> Option<usize> {
    let untried = (0..edges.len()).filter(|&i| edges[i].child.is_none());
    untried.reduce(|top, i| {
        if edges[i].prior > edges[top].prior {
            i
        } else {
            top
        }
    })
}

/// The node at which an edge is selected.
pub(crate) struct ChoiceContext {
    pub id: NodeId,
    pub seat: Seat,
    pub scale: Scale,
    pub fpu: f32,
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Selects an edge of a node in a tree without deals, or of any root.
    pub(crate) fn choose_by_scan(
        &mut self,
        visit: &mut Visit<G>,
        id: NodeId,
    ) -> Result<Choice, G::Error> {
        let actions = self.actions_of(visit, id)?;
        let node = &self.pool[id];
        let started = node.started();
        let mass = self.pool.head(node).map_or(0.0, |head| head.mass);
        let context = ChoiceContext {
            id,
            seat: node.seat(),
            scale: self.scale(id),
            fpu: self.fpu(id, mass),
        };
        let priors = self.priors(id).into_iter().zip(actions);
        let mut edges: Vec<Candidate> = priors
            .map(|(prior, action)| Candidate {
                prior,
                action,
                available: started,
                child: None,
                closed: false,
            })
            .collect();
        let mut slots = vec![0; edges.len()];
        for (slot, child) in self.pool.children(id).enumerate() {
            let index = usize::from(self.pool[child.id].index);
            edges[index].child = Some(child.id);
            edges[index].closed = child.q == CLOSED;
            slots[index] = slot as u16;
        }
        let best = self.best_candidate(&context, &edges);
        Ok(match edges[best].child {
            Some(child) => Choice::Visited(slots[best], child),
            None => Choice::New(best, edges[best].prior),
        })
    }

    /// The legal actions of a node.
    fn actions_of(&mut self, visit: &mut Visit<G>, id: NodeId) -> Result<Vec<Action>, G::Error> {
        if id == self.tree.root {
            return Ok(self.tree.edges.actions.clone());
        }
        if let Some(actions) = self.pool.actions(id) {
            return Ok(actions.to_vec());
        }
        if G::LEARNED {
            return Ok((0..self.pool[id].num_edges.into()).collect()); // all actions, in order
        }
        self.sync(visit)?;
        visit.state.turn(&mut self.scratch.actions)?;
        Ok(self.scratch.actions.clone())
    }

    /// The index of the best edge; ties go to the higher prior, then to the first.
    pub(crate) fn best_candidate(&self, context: &ChoiceContext, edges: &[Candidate]) -> usize {
        let started = self.pool[context.id].started();
        let tried = edges.iter().filter(|edge| edge.child.is_some()).count();
        let stuck = edges.iter().all(|edge| edge.child.is_none() || edge.closed);
        let may_try = stuck || tried < self.settings.width(started);
        let next = self.settings.config.widening.and(likeliest_untried(edges));
        let k = self.settings.config.rave;
        let beta = (k / (3.0 * f64::from(started) + k)).sqrt() as f32;
        let amaf = self.tree.amaf.get(&context.id);
        let mut best: Option<(usize, f64)> = None;
        for (i, edge) in edges.iter().enumerate() {
            let allowed = edge.child.is_some() || may_try && next.is_none_or(|next| next == i);
            if edge.closed || !allowed {
                continue;
            }
            let score = self.candidate_score(context, edge, |q| {
                let found = amaf.and_then(|amaf| amaf.get(&edge.action));
                found.map_or(q, |&(n, w)| {
                    let mean = context.scale.apply((w / f64::from(n)) as f32);
                    (1.0 - beta) * q + beta * mean
                })
            });
            let first = best.is_none_or(|(top, highest)| {
                score > highest || score == highest && edge.prior > edges[top].prior
            });
            if first {
                best = Some((i, score));
            }
        }
        best.map_or(0, |(i, _)| i)
    }

    /// The score of an edge; `mixed` maps its Q to Q'.
    fn candidate_score(
        &self,
        context: &ChoiceContext,
        edge: &Candidate,
        mixed: impl Fn(f32) -> f32,
    ) -> f64 {
        let (q, n) = match edge.child {
            None => (context.fpu, 0),
            Some(child) => {
                let child = &self.pool[child];
                let q = match child.visits {
                    0 => context.fpu,
                    _ => context.scale.apply(self.q_for(child, context.seat)),
                };
                (q, child.started())
            }
        };
        let q = mixed(q);
        match self.settings.config.selection {
            Selection::Uct { .. } if edge.child.is_none() => f64::INFINITY,
            Selection::Uct { c_uct } => {
                let log = ln(f64::from(edge.available));
                f64::from(q) + c_uct * (log / f64::from(n.max(1))).sqrt()
            }
            _ => {
                let share = edge.prior / (1 + n) as f32;
                f64::from(q + self.explore(context.id, edge.available) * share)
            }
        }
    }

    /// Q of the edge to a child with a finished visit, for a seat.
    #[inline]
    pub(crate) fn q_for(&self, child: &Node<V>, seat: Seat) -> f32 {
        child.q(child.mean(), seat, self.settings.config.discount)
    }
}
