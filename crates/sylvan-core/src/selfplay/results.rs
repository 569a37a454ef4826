//! The outcomes of all searches of a forest. Self-play reads thousands of trees between two
//! searches, so the forest's threads share the work and the results are flat arrays, tree after
//! tree.

use crate::contracts::game::{Game, MAX_SEATS, Seat};
use crate::contracts::numbers::ln;
use crate::contracts::simd::multiversioned;
use crate::contracts::values::Values;
use crate::memory::node::NodeKind;
use crate::search::forest::Forest;
use crate::search::outcome::RootSummary;
use crate::search::tree::Search;
use crate::search::workers::each;

/// The outcomes of searches. N trees, S seats.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// `[N + 1]` tree i has the edges `offsets[i]..offsets[i + 1]`; none if its root is not
    /// evaluated or its game is over.
    pub offsets: Vec<i64>,
    /// Legal actions of the roots, in the game's order.
    pub actions: Vec<i32>,
    /// The policy target.
    pub policy: Vec<f32>,
    pub visits: Vec<u32>,
    /// The evaluator's priors, without noise.
    pub priors: Vec<f32>,
    /// `[N]` the preferred action; -1 without edges.
    pub best: Vec<i32>,
    /// `[N]` the seat to move; -1 without edges.
    pub seats: Vec<i8>,
    /// `[N, S]` the root's value per seat; zeros without edges.
    pub values: Vec<f32>,
    /// `[N]` KL(policy || priors) in nats.
    pub surprise: Vec<f32>,
    /// `[N]` simulations of this search.
    pub simulations: Vec<u32>,
}

/// Slices of the per-edge arrays of an `Outcomes`.
struct EdgeSlices<'a> {
    actions: &'a mut [i32],
    policy: &'a mut [f32],
    visits: &'a mut [u32],
    priors: &'a mut [f32],
}

impl<'a> EdgeSlices<'a> {
    /// The first `n` edges and the rest.
    fn split(self, n: usize) -> (Self, Self) {
        let (actions, other_actions) = self.actions.split_at_mut(n);
        let (policy, other_policy) = self.policy.split_at_mut(n);
        let (visits, other_visits) = self.visits.split_at_mut(n);
        let (priors, other_priors) = self.priors.split_at_mut(n);
        let first = Self {
            actions,
            policy,
            visits,
            priors,
        };
        let rest = Self {
            actions: other_actions,
            policy: other_policy,
            visits: other_visits,
            priors: other_priors,
        };
        (first, rest)
    }
}

impl Outcomes {
    /// Adds a tree; writes its edges to `room`, which has their length.
    fn add<G: Game, V: Values>(&mut self, search: &Search<'_, G, V>, room: EdgeSlices<'_>) {
        let seats = search.settings.rules.num_players;
        let root = &search.pool[search.tree.root];
        self.simulations.push(search.tree.progress.finished as u32);
        if root.kind() != NodeKind::Decision {
            self.best.push(-1);
            self.seats.push(-1);
            self.values.resize(self.values.len() + seats, 0.0);
            self.surprise.push(0.0);
            return;
        }
        let edges = &search.tree.edges;
        let (found, summary) = search.root_outcome(room.policy);
        self.best.push(edges.actions[found.best] as i32);
        self.seats.push(found.seat as i8);
        self.values.extend(&found.values[..seats]);
        self.surprise.push(found.surprise);
        for (out, &action) in room.actions.iter_mut().zip(&edges.actions) {
            *out = action as i32;
        }
        room.priors.copy_from_slice(&edges.priors);
        for edge in &summary.tried {
            room.visits[usize::from(edge.index)] = edge.visits;
        }
    }

    fn append(&mut self, other: Self) {
        self.best.extend(other.best);
        self.seats.extend(other.seats);
        self.values.extend(other.values);
        self.surprise.extend(other.surprise);
        self.simulations.extend(other.simulations);
    }
}

/// The outcome of one search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootOutcome {
    /// The index of the preferred action.
    pub best: usize,
    /// The seat to move.
    pub seat: Seat,
    /// The root's value per seat.
    pub values: [f32; MAX_SEATS],
    /// KL(policy || priors) in nats.
    pub surprise: f32,
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The outcome of the search; writes the policy target over the root's edges, which must be
    /// evaluated.
    pub(crate) fn root_outcome(&self, policy: &mut [f32]) -> (RootOutcome, RootSummary) {
        let root = &self.pool[self.tree.root];
        let proven = self.settings.config.proofs && root.is_proven();
        let summary = self.root_summary();
        let mut values = [0.0; MAX_SEATS];
        for seat in 0..self.settings.rules.num_players as Seat {
            values[usize::from(seat)] = if proven {
                root.proven().seat(seat) as f32 + 0.0
            } else {
                root.value(seat)
            };
        }
        let growth = self.target(&summary, policy);
        let tried = summary.tried.iter().map(|edge| usize::from(edge.index));
        let found = RootOutcome {
            best: summary.best,
            seat: root.seat(),
            values,
            surprise: divergence(policy, &self.tree.edges.priors, tried, growth),
        };
        (found, summary)
    }
}

/// KL(p || q) in nats; `q` need not sum to 1. At all other indices than `tried`, p is q times
/// `growth`.
fn divergence(p: &[f32], q: &[f32], tried: impl Iterator<Item = usize>, growth: f64) -> f32 {
    let total = sum(q);
    let term = |p: f64, ratio: f64| if p > 0.0 { p * ln(ratio * total) } else { 0.0 };
    let (mut rest, mut terms) = (1.0, 0.0);
    for index in tried {
        let (p, q) = (f64::from(p[index]), f64::from(q[index]));
        terms += term(p, p / q.max(f64::from(f32::MIN_POSITIVE)));
        rest -= p;
    }
    if growth > 0.0 {
        terms += term(rest, growth);
    }
    terms.max(0.0) as f32
}

multiversioned! {
    /// The sum of many numbers, in any order.
    fn sum(numbers: &[f32]) -> f64 {
        const LANES: usize = 16;
        let (chunks, rest) = numbers.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for chunk in chunks {
            for i in 0..LANES {
                sums[i] += f64::from(chunk[i]);
            }
        }
        let rest = rest.iter().map(|&x| f64::from(x));
        sums.into_iter().chain(rest).sum()
    }
}

impl<G: Game, V: Values> Forest<G, V> {
    /// The outcomes of all searches.
    pub fn outcomes(&mut self) -> Outcomes {
        let mut all = self.allocate_outcomes();
        let (budget, settings) = (self.budget(), &self.settings);
        let mut rest = EdgeSlices {
            actions: &mut all.actions,
            policy: &mut all.policy,
            visits: &mut all.visits,
            priors: &mut all.priors,
        };
        let mut offsets = &all.offsets[..];
        let mut jobs = Vec::with_capacity(self.shards.len());
        for shard in &mut self.shards {
            let ends = &offsets[..=shard.trees.len()];
            offsets = &offsets[shard.trees.len()..];
            let (room, other) = rest.split((ends[ends.len() - 1] - ends[0]) as usize);
            jobs.push((shard, ends, Some(room), Outcomes::default()));
            rest = other;
        }
        let done: Result<(), std::convert::Infallible> = each(&mut jobs, |job| {
            let (shard, ends, room, found) = job;
            let mut rest = room.take();
            for (tree, ends) in ends.windows(2).enumerate() {
                let Some(room) = rest.take() else { break };
                let (room, other) = room.split((ends[1] - ends[0]) as usize);
                found.add(&shard.parts(tree, settings, budget).0, room);
                rest = Some(other);
            }
            Ok(())
        });
        let Ok(()) = done;
        let each: Vec<Outcomes> = jobs.into_iter().map(|job| job.3).collect();
        each.into_iter().for_each(|found| all.append(found));
        all
    }

    /// `Outcomes` with offsets and allocated per-edge arrays.
    fn allocate_outcomes(&self) -> Outcomes {
        let mut offsets = vec![0];
        let mut last = 0;
        for i in 0..self.num_trees() {
            let tree = self.tree(i);
            if self.pool_of(i)[tree.root].kind() == NodeKind::Decision {
                last += tree.edges.actions.len();
            }
            offsets.push(last as i64);
        }
        Outcomes {
            offsets,
            actions: vec![0; last],
            policy: vec![0.0; last],
            visits: vec![0; last],
            priors: vec![0.0; last],
            ..Outcomes::default()
        }
    }
}
