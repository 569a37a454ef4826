//! Gumbel search (Danihelka et al. 2022): sequential halving at the root, and inside the rule
//! that makes visits follow the improved policy.
//!
//! ```text
//!     sigma(q)  = (c_visit + max_b n(b)) * c_scale * q
//!     v_mix     = (v + sum n * (sum_visited P q / sum_visited P)) / (1 + sum n)
//!     completed = q for visited edges, v_mix for the others, then mapped to 0..1 over the node
//!     pi'       = softmax(ln P + sigma(completed))
//!     root:       argmax of g + ln P + sigma(completed) among edges with the scheduled new visits
//!     inside:     argmax of pi' - n / (1 + sum n)
//! ```
//!
//! `v` is the evaluator's own value for the seat to move, `g` the Gumbel noise, drawn once per
//! search. In v_mix and completed an edge counts as visited from its first finished visit and `n`
//! counts finished visits; in the argmax of the inside rule and in the schedule `n` includes those
//! in flight. The schedule is that of Karnin et al. 2013 for `simulations` and
//! `max_considered` edges; on a reused tree it counts new visits only. Closed edges (`proofs.rs`)
//! are passed over; if that leaves no edge with the scheduled count, the nearest count below
//! takes its place, else the nearest above.
//!
//! Rounding: doubles up to the input of the softmax. Ties: higher prior, then lower index.
//!
//! Twin: `sylvan.reference.gumbel`.

use crate::config::Selection;
use crate::family::{CLOSED, Child};
use crate::game::Game;
use crate::node::NodeId;
use crate::numbers::{ln, softmax};
use crate::selection::Choice;
use crate::tree::Search;
use crate::values::Values;

/// The root's part of a Gumbel search.
#[derive(Clone, Debug)]
pub struct GumbelRoot {
    /// Noise per legal action.
    pub noise: Vec<f64>,
    /// The visit count considered by each simulation.
    schedule: Vec<u32>,
    /// Visits per legal action before this search.
    base: Vec<u32>,
}

impl GumbelRoot {
    /// Visits of an edge that this search made.
    pub fn new_visits(&self, index: usize, visits: u32) -> u32 {
        visits - self.base[index]
    }
}

/// A node's edges in the game's order, with all that the formulas read.
pub struct Dense {
    pub priors: Vec<f32>,
    /// Finished visits.
    pub visits: Vec<u32>,
    /// Visits started.
    pub started: Vec<u32>,
    /// For the seat to move; 0 where unvisited.
    pub q: Vec<f64>,
    pub closed: Vec<bool>,
    /// Slots and numbers of the tried edges' nodes.
    pub slots: Vec<Option<(u16, NodeId)>>,
}

/// The visit count that each simulation considers, for `m` considered edges.
pub fn schedule(m: usize, simulations: usize) -> Vec<u32> {
    if m <= 1 {
        return (0..simulations as u32).collect();
    }
    let phases = m.next_power_of_two().ilog2() as usize;
    let mut visits = vec![0; m];
    let mut considered = m;
    let mut schedule = Vec::with_capacity(simulations);
    while schedule.len() < simulations {
        for _ in 0..(simulations / (phases * considered)).max(1) {
            schedule.extend_from_slice(&visits[..considered]);
            visits[..considered].iter_mut().for_each(|v| *v += 1);
        }
        considered = (considered / 2).max(2);
    }
    schedule.truncate(simulations);
    schedule
}

impl<G: Game, V: Values> Search<'_, G, V> {
    pub(crate) fn gumbel_root(&self, noise: Vec<f64>) -> GumbelRoot {
        let Selection::Gumbel { max_considered, .. } = self.settings.config.selection else {
            unreachable!("asked by a Gumbel search");
        };
        let simulations = self.settings.config.limits.simulations.unwrap_or(0) as usize;
        GumbelRoot {
            schedule: schedule(max_considered.min(noise.len()), simulations),
            base: self.dense(self.tree.root).started,
            noise,
        }
    }

    pub(crate) fn dense(&self, id: NodeId) -> Dense {
        let priors = self.priors(id);
        let n = priors.len();
        let mut dense = Dense {
            priors,
            visits: vec![0; n],
            started: vec![0; n],
            q: vec![0.0; n],
            closed: vec![false; n],
            slots: vec![None; n],
        };
        let seat = self.pool[id].seat();
        for (slot, Child { id, q, .. }) in self.pool.children(id).enumerate() {
            let child = &self.pool[id];
            let index = usize::from(child.index);
            dense.slots[index] = Some((slot as u16, id));
            dense.visits[index] = child.visits;
            dense.started[index] = child.started();
            dense.closed[index] = q == CLOSED;
            if child.visits > 0 {
                dense.q[index] =
                    f64::from(child.q(child.mean(), seat, self.settings.config.discount));
            }
        }
        dense
    }

    /// sigma(completed Q) of every edge.
    pub(crate) fn sigma(&self, id: NodeId, dense: &Dense) -> Vec<f64> {
        let Selection::Gumbel {
            c_visit, c_scale, ..
        } = self.settings.config.selection
        else {
            unreachable!("asked by a Gumbel search");
        };
        let visited = || (0..dense.q.len()).filter(|&i| dense.visits[i] > 0);
        let total: f64 = visited().map(|i| f64::from(dense.visits[i])).sum();
        let mass: f64 = visited().map(|i| f64::from(dense.priors[i])).sum();
        let weighted: f64 = visited()
            .map(|i| f64::from(dense.priors[i]) * dense.q[i])
            .sum();
        let mean = if mass > 0.0 { weighted / mass } else { 0.0 };
        let raw = if id == self.tree.root {
            self.tree.edges.raw
        } else {
            f32::from_bits(self.pool.note(id))
        };
        let mixed = (f64::from(raw) + total * mean) / (1.0 + total);
        let completed = |i: usize| {
            if dense.visits[i] > 0 {
                dense.q[i]
            } else {
                mixed
            }
        };
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for i in 0..dense.q.len() {
            min = min.min(completed(i));
            max = max.max(completed(i));
        }
        let most = dense.visits.iter().max().copied().unwrap_or(0);
        let scale = (c_visit + f64::from(most)) * c_scale / (max - min).max(1e-8);
        (0..dense.q.len())
            .map(|i| (completed(i) - min) * scale)
            .collect()
    }

    /// pi', the improved policy of a node.
    pub(crate) fn improved_policy(&self, id: NodeId, dense: &Dense) -> Vec<f32> {
        let sigma = self.sigma(id, dense);
        let mut policy: Vec<f32> = dense
            .priors
            .iter()
            .zip(sigma)
            .map(|(&prior, sigma)| (ln(f64::from(prior)) + sigma) as f32)
            .collect();
        softmax(&mut policy);
        policy
    }

    pub(crate) fn choose_gumbel_interior(&self, id: NodeId) -> Choice {
        let dense = self.dense(id);
        let policy = self.improved_policy(id, &dense);
        let total: f64 = dense.started.iter().map(|&n| f64::from(n)).sum();
        let score = |i: usize| f64::from(policy[i]) - f64::from(dense.started[i]) / (1.0 + total);
        let open = (0..policy.len()).filter(|&i| !dense.closed[i]);
        pick(open, score, &dense)
    }

    pub(crate) fn choose_gumbel_root(&self) -> Choice {
        let gumbel = self
            .tree
            .progress
            .gumbel
            .as_ref()
            .expect("set when the root was prepared");
        let dense = self.dense(self.tree.root);
        let started = dense.started.iter().enumerate();
        let new: Vec<u32> = started.map(|(i, &n)| gumbel.new_visits(i, n)).collect();
        let step = self.tree.progress.started as usize;
        let scheduled = gumbel.schedule.get(step).copied().unwrap_or(u32::MAX);
        let open = || (0..new.len()).filter(|&i| !dense.closed[i]);
        let below = open().map(|i| new[i]).filter(|&n| n <= scheduled).max();
        let considered = below.or_else(|| open().map(|i| new[i]).min());
        let score = self.gumbel_scores(&dense);
        let candidates = open().filter(|&i| Some(new[i]) == considered);
        pick(candidates, |i| score[i], &dense)
    }

    /// g + ln P + sigma(completed) of every edge of the root.
    pub(crate) fn gumbel_scores(&self, dense: &Dense) -> Vec<f64> {
        let gumbel = self
            .tree
            .progress
            .gumbel
            .as_ref()
            .expect("set when the root was prepared");
        let sigma = self.sigma(self.tree.root, dense);
        (0..sigma.len())
            .map(|i| gumbel.noise[i] + ln(f64::from(dense.priors[i])) + sigma[i])
            .collect()
    }
}

/// The best-scored edge; ties go to the higher prior, then the lower index.
fn pick(edges: impl Iterator<Item = usize>, score: impl Fn(usize) -> f64, dense: &Dense) -> Choice {
    let mut best: Option<(usize, f64)> = None;
    for i in edges {
        let s = score(i);
        let better =
            best.is_none_or(|(b, top)| s > top || (s == top && dense.priors[i] > dense.priors[b]));
        if better {
            best = Some((i, s));
        }
    }
    let (index, _) = best.expect("a node that is not proven has an open edge");
    match dense.slots[index] {
        Some((slot, child)) => Choice::Visited(slot, child),
        None => Choice::New(index, dense.priors[index]),
    }
}

#[cfg(test)]
mod tests {
    use super::schedule;

    #[test]
    fn schedules_halve() {
        // 16 simulations over 4 edges: two rounds for each of four, then the better two get the rest.
        assert_eq!(
            schedule(4, 16),
            [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
        );
        assert_eq!(schedule(1, 3), [0, 1, 2]);
        assert_eq!(schedule(8, 3), [0, 0, 0]);
        assert!(schedule(5, 0).is_empty());
    }
}
