//! The outcome of a search: the policy target and the action to take.
//!
//! The *policy target* is the visit distribution at temperature 1 (PUCT, UCT) or the improved
//! policy (Gumbel), for any temperature of the picked action. Both use proofs: closed edges get 0,
//! and at a proven root only edges that keep its value are eligible. If no eligible edge was
//! visited, the target is the priors. Forced visits do not count (`forced_playouts.rs`).
//!
//! Temperature is applied to logarithms of counts relative to the greatest, `p ∝ exp((ln n - ln
//! n_max) / T)`, so small temperatures cannot overflow; temperature 0 takes the greatest count,
//! ties to the higher prior, then the lower index.
//!
//! Twin: `sylvan.reference.outcome`.

use crate::contracts::config::Selection;
use crate::contracts::game::Game;
use crate::contracts::numbers::{exp_double, ln};
use crate::contracts::rng::Rng;
use crate::contracts::simd::multiversioned;
use crate::contracts::values::Values;
use crate::search::gumbel::{Sums, Tried};
use crate::search::sequential_halving::Rank;
use crate::search::tree::Search;

/// The root's edges after a search: the tried ones individually, the untried ones together.
pub(crate) struct RootSummary {
    /// By falling prior, then rising index.
    pub tried: Vec<Tried>,
    sums: Sums,
    /// Whether each tried edge may be chosen.
    eligible: Vec<bool>,
    /// Whether an untried edge may be chosen.
    includes_untried: bool,
    /// The index of the preferred action.
    pub best: usize,
}

impl RootSummary {
    /// The eligible tried edges, each with its entry of `each`.
    pub(super) fn eligible_of<'a, T>(
        &'a self,
        each: &'a [T],
    ) -> impl Iterator<Item = (&'a Tried, &'a T)> {
        let edges = self.tried.iter().zip(each).zip(&self.eligible);
        edges
            .filter(|(_, eligible)| **eligible)
            .map(|(edge, _)| edge)
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Summarises the root's edges.
    pub(crate) fn root_summary(&self) -> RootSummary {
        let (tried, sums) = self.tried(self.tree.root);
        let (eligible, includes_untried) = self.eligible(&tried);
        let mut found = RootSummary {
            tried,
            sums,
            eligible,
            includes_untried,
            best: 0,
        };
        found.best = self.preferred(&found);
        found
    }

    /// Whether each tried edge of the root may be chosen, and whether an untried one may.
    fn eligible(&self, tried: &[Tried]) -> (Vec<bool>, bool) {
        let root = &self.pool[self.tree.root];
        let (seat, discount) = (root.seat(), self.settings.config.discount);
        let untried = tried.len() < self.tree.edges.actions.len();
        let proven = self.settings.config.proofs && root.is_proven();
        let eligible: Vec<bool> = if proven {
            let value = root.proven().seat(seat);
            let lows = tried
                .iter()
                .map(|edge| self.pool[edge.id].step_bounds(seat, discount).0);
            lows.map(|low| low >= value).collect()
        } else {
            tried.iter().map(|edge| !edge.closed).collect()
        };
        if eligible.contains(&true) || (untried && !proven) {
            (eligible, untried && !proven)
        } else {
            (vec![true; tried.len()], untried)
        }
    }

    /// The policy target over the root's legal actions, in their order.
    pub fn policy(&self) -> Vec<f32> {
        let mut policy = vec![0.0; self.tree.edges.actions.len()];
        self.target(&self.root_summary(), &mut policy);
        policy
    }

    /// Writes the policy target over the root's edges; returns its ratio to the priors of untried
    /// edges.
    pub(crate) fn target(&self, found: &RootSummary, policy: &mut [f32]) -> f64 {
        let growth = match self.settings.config.selection {
            Selection::Gumbel { .. } => {
                let mut tried = found.tried.clone();
                let shares = self.share(self.tree.root, &mut tried, &found.sums);
                let weights = tried.iter().map(|edge| shares.tried(edge));
                self.spread(found, shares.untried_factors(), weights, policy)
            }
            _ => self.count(found, policy),
        };
        growth.unwrap_or_else(|| {
            let priors = found.tried.iter().map(|edge| edge.prior);
            self.spread(found, (1.0, 1.0), priors, policy)
                .unwrap_or(0.0)
        })
    }

    /// Writes the visit distribution as policy; returns `None` if there are no visits. Untried
    /// edges get 0.
    fn count(&self, found: &RootSummary, policy: &mut [f32]) -> Option<f64> {
        let earned = self.unforced_visits(found);
        let sum: u64 = found.eligible_of(&earned).map(|(_, &n)| u64::from(n)).sum();
        policy.fill(0.0);
        for (edge, &n) in found.eligible_of(&earned) {
            policy[usize::from(edge.index)] = (f64::from(n) / sum as f64) as f32;
        }
        (sum > 0).then_some(0.0)
    }

    /// Normalises weights to a policy: `weights` for tried edges; for untried edges their priors
    /// times `factors.0`, divided by `factors.1`. Returns the ratio of the policy to the priors of
    /// untried edges, `None` if all weights are 0.
    fn spread(
        &self,
        found: &RootSummary,
        factors: (f32, f32),
        weights: impl Iterator<Item = f32>,
        policy: &mut [f32],
    ) -> Option<f64> {
        if found.includes_untried {
            self.tree.edges.write_untried(factors, policy);
        } else {
            policy.fill(0.0);
        }
        let weights: Vec<f32> = weights.collect();
        for (edge, &weight) in found.eligible_of(&weights) {
            policy[usize::from(edge.index)] = weight;
        }
        let sum = policy
            .iter()
            .fold(0.0, |sum, &weight| sum + f64::from(weight));
        if sum == 0.0 {
            return None;
        }
        divide_all(policy, sum);
        Some(f64::from(factors.0 / factors.1) / sum)
    }

    /// The index of the preferred action.
    pub fn best(&self) -> usize {
        self.root_summary().best
    }

    /// The same from a summary.
    fn preferred(&self, found: &RootSummary) -> usize {
        let chosen = self.best_ending(found);
        if let Some(index) = chosen.or_else(|| self.best_by_bound(found)) {
            return index;
        }
        let gumbel = self.tree.progress.gumbel.as_ref();
        let completion = gumbel.map(|_| self.completion(self.tree.root, &found.sums));
        let edges = &self.tree.edges;
        let perturbed_logit =
            |index: usize| gumbel.map_or(0.0, |gumbel| gumbel.perturbed_logit(index, edges));
        let sigma = |edge: &Tried| completion.as_ref().map_or(0.0, |c| c.of_edge(edge));
        let mut best: Option<(u32, Rank)> = None;
        for (edge, _) in found.eligible_of(&found.tried) {
            let index = usize::from(edge.index);
            let count = match gumbel {
                Some(gumbel) => gumbel.new_visits(index, edge.visits),
                None => edge.visits,
            };
            let rank = Rank::new(index, perturbed_logit(index), sigma(edge), edge.prior);
            if best.is_none_or(|(most, top)| count > most || count == most && rank.precedes(&top)) {
                best = Some((count, rank));
            }
        }
        if found.includes_untried && best.is_none_or(|(most, _)| most == 0) {
            let next = gumbel.map_or_else(|| Some(edges.best().0), |gumbel| gumbel.next(edges));
            let sigma = completion.map_or(0.0, |c| c.of_untried());
            let rank =
                next.map(|i| Rank::new(i, perturbed_logit(i), sigma, edges.current_prior(i)));
            if let Some(rank) = rank
                && best.is_none_or(|(_, top)| rank.precedes(&top))
            {
                return rank.index;
            }
        }
        best.map_or(0, |(_, rank)| rank.index)
    }

    /// The index of the action picked at the search's temperature; one draw unless it is 0.
    /// Repeated calls return the same index.
    pub fn pick(&mut self) -> usize {
        let temperature = self.settings.config.temperature;
        if temperature == 0.0 {
            return self.best();
        }
        let finished = self.tree.progress.finished;
        match self.tree.progress.picked {
            Some((at, index)) if at == finished => return index,
            _ => {}
        }
        let index = pick_at(temperature, &self.policy(), &mut self.tree.rng);
        self.tree.progress.picked = Some((finished, index));
        index
    }
}

/// Draws an index of a policy at a temperature above 0.
pub fn pick_at(temperature: f64, policy: &[f32], rng: &mut Rng) -> usize {
    let max = ln(f64::from(policy.iter().copied().fold(0.0, f32::max)));
    let weight = |&p: &f32| match p > 0.0 {
        true => exp_double((ln(f64::from(p)) - max) / temperature),
        false => 0.0,
    };
    let weights: Vec<f64> = policy.iter().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    rng.pick(weights.into_iter().map(|weight| weight / sum))
}

multiversioned! {
    /// Divides numbers in double precision.
    fn divide_all(numbers: &mut [f32], divisor: f64) {
        numbers.iter_mut().for_each(|x| *x = (f64::from(*x) / divisor) as f32);
    }
}
