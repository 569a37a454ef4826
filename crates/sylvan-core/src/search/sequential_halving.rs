//! Sequential halving at the root of a Gumbel search (`gumbel.rs`): the noise, the considered edges
//! and the schedule of their visits (Karnin et al. 2013).
//!
//! Cost: of thousands of legal actions, only the few with the highest g + ln P are considered, and
//! logarithms are computed only for actions that may be among them.

use crate::contracts::config::Selection;
use crate::contracts::game::Game;
use crate::contracts::numbers::{ln, ln_all};
use crate::contracts::rng::Rng;
use crate::contracts::values::Values;
use crate::search::gumbel::Tried;
use crate::search::root_edges::RootEdges;
use crate::search::top_actions::indices_of_greatest;
use crate::search::tree::Search;

/// The root's part of a Gumbel search.
#[derive(Clone, Debug)]
pub struct GumbelRoot {
    noise: Noise,
    /// Indices and g + ln P of the legal actions, by rising index; of many actions only those that
    /// may be considered.
    perturbed_logits: Vec<(u16, f64)>,
    /// The indices of the considered actions, by falling g + ln P.
    first: Vec<u16>,
    /// The visit count of the edges considered by each simulation.
    pub(crate) schedule: Vec<u32>,
    /// Visits per legal action before this search; empty if there were none.
    pub(crate) base: Vec<u32>,
    pub(crate) cache: TriedCache,
}

/// The tried edges of the root at its last selection.
#[derive(Clone, Debug, Default)]
pub(crate) struct TriedCache {
    pub tried: Vec<Tried>,
    /// The position of the selected edge in `tried`.
    pub taken: usize,
    /// Finished visits of the root.
    pub visits: u32,
}

impl GumbelRoot {
    /// g + ln P of an edge.
    pub fn perturbed_logit(&self, index: usize, edges: &RootEdges) -> f64 {
        match self.perturbed_logits.get(index) {
            Some(&(position, perturbed_logit)) if usize::from(position) == index => {
                return perturbed_logit;
            }
            _ => {}
        }
        let known = self
            .perturbed_logits
            .binary_search_by_key(&(index as u16), |perturbed_logit| perturbed_logit.0);
        known.map_or_else(
            |_| self.noise.perturbed_logits(edges)[index].1,
            |at| self.perturbed_logits[at].1,
        )
    }

    /// The visits of an edge in this search.
    pub fn new_visits(&self, index: usize, visits: u32) -> u32 {
        visits - self.base.get(index).copied().unwrap_or(0)
    }

    /// The number of tried edges with the scheduled visits, and the position of the last of them.
    pub(crate) fn due(&self, scheduled: u32, tried: &[Tried]) -> (usize, usize) {
        let mut due = (0, 0);
        for (position, edge) in tried.iter().enumerate() {
            // No branches: they would be mispredicted.
            let visits = self.new_visits(edge.index.into(), edge.started);
            let is_due = !edge.closed & (visits == scheduled);
            due.0 += usize::from(is_due);
            due.1 = if is_due { position } else { due.1 };
        }
        due
    }

    /// The visit count of the edges considered by the next simulation: the scheduled count,
    /// otherwise the nearest lower count, otherwise the nearest higher.
    pub(crate) fn considered(&self, scheduled: u32, tried: &[Tried], untried: bool) -> u32 {
        let (mut below, mut above) = (None, u32::MAX);
        if untried {
            below = Some(0);
        }
        for edge in tried.iter().filter(|edge| !edge.closed) {
            let n = self.new_visits(edge.index.into(), edge.started);
            if n <= scheduled {
                below = below.max(Some(n));
            } else {
                above = above.min(n);
            }
        }
        below.unwrap_or(above)
    }

    /// The most visits that an edge can still get in this search, including the one in flight. No
    /// edge is considered with more visits than the last scheduled count, because at each count
    /// some edge has no more: the visits so far are too few for all edges to exceed it. (Closed
    /// edges are skipped, but a learned model has none.)
    pub fn visits_left(&self, index: usize, visits: u32) -> usize {
        let most = self.schedule.last().map_or(u32::MAX, |&last| last + 1);
        most.saturating_sub(self.new_visits(index, visits)) as usize
    }

    /// The next untried edge: the highest g + ln P, then the higher prior, then the lower index.
    pub(crate) fn next(&self, edges: &RootEdges) -> Option<usize> {
        let mut first = self.first.iter().map(|&index| usize::from(index));
        first.find(|&i| edges.is_unvisited(i)).or_else(|| {
            let perturbed_logits = self.noise.perturbed_logits(edges).into_iter();
            let others = perturbed_logits.filter(|&(i, _)| edges.is_unvisited(i.into()));
            let next = others.max_by(|a, b| compare_perturbed(&edges.priors, a, b));
            next.map(|(i, _)| i.into())
        })
    }
}

/// The source of g.
#[derive(Clone, Debug)]
pub enum Noise {
    Given(Vec<f64>),
    /// The next draws of the generator, times a scale.
    Drawn(Rng, f64),
}

impl Noise {
    /// g + ln P of all edges of the root, by rising index.
    fn perturbed_logits(&self, edges: &RootEdges) -> Vec<(u16, f64)> {
        let mut logs: Vec<f64> = edges
            .priors
            .iter()
            .map(|&p| edges.quantised(p).into())
            .collect();
        ln_all(&mut logs);
        let noise = match self {
            Self::Given(noise) => noise.clone(),
            Self::Drawn(rng, scale) => {
                let mut noise = rng.clone().gumbel(logs.len());
                noise.iter_mut().for_each(|g| *g *= scale);
                noise
            }
        };
        let perturbed_logits = noise.into_iter().zip(logs).map(|(g, log)| g + log);
        (0..).zip(perturbed_logits).collect()
    }

    /// g + ln P of a few edges, including the `n` highest.
    ///
    /// g is `-ln E` with `E = -ln u` of a uniform number u, so the order is that of P / E, and E is
    /// between `1 - u` and `(1 - u) / u`: most edges need no logarithm.
    fn highest_logits(&self, edges: &RootEdges, n: usize) -> Vec<(u16, f64)> {
        let Self::Drawn(rng, 1.0) = self else {
            return self.perturbed_logits(edges);
        };
        if edges.priors.len() < FEW.max(8 * n) {
            return self.perturbed_logits(edges);
        }
        let mut rng = rng.clone();
        let uniform: Vec<f64> = edges.priors.iter().map(|_| rng.open_uniform()).collect();
        let prior = |i: usize| f64::from(edges.quantised(edges.priors[i]));
        let most: Vec<f32> = (0..uniform.len())
            .map(|i| (prior(i) / (1.0 - uniform[i])) as f32)
            .collect();
        let least = |&i: &u16| {
            let i = usize::from(i);
            prior(i) * uniform[i] / (1.0 - uniform[i])
        };
        let mut bounds: Vec<f64> = indices_of_greatest(&most, n).iter().map(least).collect();
        bounds.sort_unstable_by(|a, b| b.total_cmp(a));
        let floor = (bounds[n - 1] * (1.0 - 1e-6)) as f32; // below any rounding error
        let positions = (0..most.len()).filter(|&i| most[i] >= floor);
        let perturbed_logit = |i: usize| -ln(-ln(uniform[i])) + ln(prior(i));
        positions.map(|i| (i as u16, perturbed_logit(i))).collect()
    }
}

/// With fewer edges, compute all logarithms.
const FEW: usize = 64;

/// The order of the root's edges with equal visits.
#[derive(Clone, Copy)]
pub(crate) struct Rank {
    /// g + ln P + sigma(completed), and without sigma.
    score: f64,
    perturbed_logit: f64,
    prior: f32,
    pub index: usize,
}

impl Rank {
    pub fn new(index: usize, perturbed_logit: f64, sigma: f64, prior: f32) -> Self {
        let score = perturbed_logit + sigma;
        Self {
            score,
            perturbed_logit,
            prior,
            index,
        }
    }

    pub fn precedes(&self, other: &Self) -> bool {
        if self.score != other.score {
            return self.score > other.score;
        }
        let one = (self.perturbed_logit, self.prior, other.index);
        one > (other.perturbed_logit, other.prior, self.index)
    }
}

/// Compares two indices with their g + ln P, before any visit.
fn compare_perturbed(priors: &[f32], a: &(u16, f64), b: &(u16, f64)) -> std::cmp::Ordering {
    let prior = |position: u16| priors[usize::from(position)];
    let order = a.1.total_cmp(&b.1);
    order
        .then(prior(a.0).total_cmp(&prior(b.0)))
        .then(b.0.cmp(&a.0))
}

/// The visit count considered by each simulation, for `m` considered edges.
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
    pub(crate) fn gumbel_root(&self, noise: Noise) -> GumbelRoot {
        let Selection::Gumbel { max_considered, .. } = self.settings.config.selection else {
            unreachable!("asked by a Gumbel search");
        };
        let simulations = self.settings.config.limits.simulations.unwrap_or(0) as usize;
        let edges = &self.tree.edges;
        let considered = max_considered.min(edges.priors.len());
        let perturbed_logits = noise.highest_logits(edges, considered);
        let mut first = perturbed_logits.clone();
        first.sort_unstable_by(|a, b| compare_perturbed(&edges.priors, b, a));
        first.truncate(considered);
        GumbelRoot {
            schedule: schedule(considered, simulations),
            base: self.started_at_root(),
            cache: TriedCache::default(),
            first: first.into_iter().map(|(position, _)| position).collect(),
            perturbed_logits,
            noise,
        }
    }

    /// Visits started per legal action of the root; empty if there are none.
    fn started_at_root(&self) -> Vec<u32> {
        let mut base = Vec::new();
        for id in self.pool.ids(self.tree.root) {
            base.resize(self.tree.edges.actions.len(), 0);
            base[usize::from(self.pool[id].index)] = self.pool[id].started();
        }
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_logits_contain_the_highest() {
        let mut rng = Rng::new(9, 0);
        for round in 0..400 {
            let n = 60 + rng.below(600);
            let peak = [0.0, 1.0, 8.0, 40.0][round % 4];
            let mut priors: Vec<f32> = (0..n)
                .map(|_| (-peak * rng.uniform()).exp() as f32)
                .collect();
            priors[rng.below(n)] = 0.0;
            let edges = RootEdges::new((0..n as u32).collect(), priors, 0.0);
            let noise = Noise::Drawn(Rng::new(round as u64, 1), 1.0);
            let considered = 1 + rng.below(20);
            let highest = |mut perturbed_logits: Vec<(u16, f64)>| {
                perturbed_logits.sort_by(|a, b| compare_perturbed(&edges.priors, b, a));
                perturbed_logits.truncate(considered);
                perturbed_logits
            };
            let found = noise.highest_logits(&edges, considered);
            assert!(found.is_sorted_by_key(|perturbed_logit| perturbed_logit.0));
            assert_eq!(highest(found), highest(noise.perturbed_logits(&edges)));
        }
    }

    #[test]
    fn no_edge_exceeds_the_last_scheduled_count() {
        // Take a random edge with the scheduled count.
        let mut rng = Rng::new(10, 0);
        for _ in 0..2000 {
            let (m, simulations) = (1 + rng.below(20), rng.below(200));
            let schedule = schedule(m, simulations);
            let mut visits = vec![0; m];
            for &due in &schedule {
                let equal: Vec<usize> = (0..m).filter(|&i| visits[i] == due).collect();
                visits[equal[rng.below(equal.len())]] += 1;
            }
            let most = schedule.last().map_or(0, |last| last + 1);
            assert_eq!(visits.into_iter().max(), Some(most));
        }
    }

    #[test]
    fn schedules_halve() {
        // 16 simulations over 4 edges: two visits for each of four, then the better two get the
        // rest.
        assert_eq!(
            schedule(4, 16),
            [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
        );
        assert_eq!(schedule(1, 3), [0, 1, 2]);
        assert_eq!(schedule(8, 3), [0, 0, 0]);
        assert!(schedule(5, 0).is_empty());
    }
}
