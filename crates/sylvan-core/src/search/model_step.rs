//! Select and update with a learned model: applies the model's output for the last batch and
//! selects the next leaves, in one pass per thread.
//!
//! A model may give values for the mover only (one seat, or two of a zero-sum game), one per seat
//! in seat order, or one per seat starting with the mover. The mover is the seat to move for
//! values, and the seat that made the step for rewards.

use crate::contracts::game::{Game, MAX_SEATS, Seat};
use crate::contracts::values::Values;
use crate::search::descend::SearchError;
use crate::search::forest::{Forest, Shard, Timing};
use crate::search::settings::Settings;
use crate::search::workers::each;

/// Values or rewards of B leaves for S seats.
#[derive(Clone, Copy, Debug)]
pub enum SeatArray<'a> {
    /// `[B]` for the mover.
    Mover(&'a [f32]),
    /// `[B, S]` in seat order.
    Seats(&'a [f32]),
    /// `[B, S]` starting with the mover.
    FromMover(&'a [f32]),
}

impl SeatArray<'_> {
    /// Writes the numbers of one leaf in seat order; returns false if one is not finite.
    #[inline]
    fn read(self, leaf: usize, mover: Seat, out: &mut [f32]) -> bool {
        if let (Self::Mover(numbers), [out]) = (self, &mut *out) {
            *out = numbers[leaf];
            return out.is_finite();
        }
        let (seats, mover) = (out.len(), usize::from(mover));
        match self {
            Self::Mover(numbers) => {
                out.fill(-numbers[leaf]);
                out[mover] = numbers[leaf];
            }
            Self::Seats(numbers) => out.copy_from_slice(&numbers[leaf * seats..][..seats]),
            Self::FromMover(numbers) => {
                out.copy_from_slice(&numbers[leaf * seats..][..seats]);
                out.rotate_right(mover);
            }
        }
        out.iter().all(|x| x.is_finite())
    }
}

/// The output of a model for the batch in flight.
#[derive(Clone, Copy, Debug)]
pub struct ModelOutput<'a> {
    /// Logits, `width` for each leaf.
    pub policy: &'a [f32],
    pub width: usize,
    /// The actions of the logits, rising within each leaf; `None` for all actions in order.
    pub actions: Option<&'a [i64]>,
    pub values: SeatArray<'a>,
    pub rewards: SeatArray<'a>,
}

/// An error that stops a search over a model; nothing is in flight then.
#[derive(Debug)]
pub enum StepError<E> {
    /// The policy of a leaf has a NaN or +inf logit, or no finite one.
    Policy {
        leaf: usize,
        tree: usize,
    },
    /// A value or reward of a leaf is not finite.
    Number {
        leaf: usize,
    },
    Search(SearchError<E>),
}

impl<G: Game, V: Values> Forest<G, V> {
    /// Applies the model's output for the batch, if there is one, and fills the next.
    pub fn step(
        &mut self,
        output: Option<&ModelOutput>,
        timing: &Timing,
    ) -> Result<(), StepError<G::Error>> {
        let budget = self.budget();
        let (settings, per_shard) = (&self.settings, self.per_shard);
        let mut first = 0;
        let mut jobs = Vec::with_capacity(self.shards.len());
        for (number, shard) in self.shards.iter_mut().enumerate() {
            let len = shard.batch.len();
            jobs.push((shard, number * per_shard, first));
            first += len;
        }
        let result = each(&mut jobs, |(shard, tree, leaf)| {
            if let Some(output) = output {
                shard.update(output, (*tree, *leaf), settings, budget)?;
            }
            let selected = shard.select(settings, budget, timing);
            selected.map_err(StepError::Search)
        });
        if result.is_err() {
            self.abandon();
        }
        result
    }
}

impl<G: Game, V: Values> Shard<G, V> {
    /// Applies the model's output for the shard's part of the batch; `first` holds the numbers of
    /// its first tree and leaf.
    fn update(
        &mut self,
        output: &ModelOutput,
        first: (usize, usize),
        settings: &Settings,
        budget: u64,
    ) -> Result<(), StepError<G::Error>> {
        let seats = settings.rules.num_players;
        let (mut values, mut rewards) = ([0.0; MAX_SEATS], [0.0; MAX_SEATS]);
        let (values, rewards) = (&mut values[..seats], &mut rewards[..seats]);
        let mut logits = std::mem::take(&mut self.logits);
        let batch = std::mem::take(&mut self.batch);
        let (mut done, mut result) = (0, Ok(()));
        for visit in batch.visits() {
            let leaf = first.1 + done;
            let before = match visit.seat {
                0 => seats as Seat - 1,
                seat => seat - 1,
            };
            if !output.values.read(leaf, visit.seat, values)
                || !output.rewards.read(leaf, before, rewards)
            {
                result = Err(StepError::Number { leaf });
                break;
            }
            let row = leaf * output.width..(leaf + 1) * output.width;
            let actions = output.actions.map(|actions| &actions[row.clone()]);
            let (mut search, _) = self.parts(visit.tree, settings, budget);
            let policy = (&output.policy[row], actions);
            if !search.expand_latent(visit, policy, values, rewards, &mut logits) {
                let tree = first.0 + visit.tree;
                result = Err(StepError::Policy { leaf, tree });
                break;
            }
            done += 1;
        }
        self.batch = batch;
        self.batch.forget(done);
        self.logits = logits;
        result
    }
}
