//! Evaluators for any game: uniform, hash-random, and playouts by random moves or a policy of the
//! game.

use crate::contracts::evaluator::{Evaluator, Leaf};
use crate::contracts::game::{Action, Game, Turn};
use crate::contracts::rng::{Rng, mix};

/// Equal priors, and the middle of the value range for every seat.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl<G: Game> Evaluator<G> for Uniform {
    fn evaluate(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error> {
        logits.clear();
        logits.resize(leaf.actions.len(), 0.0);
        let (low, high) = leaf.state.value_range();
        let middle = (low + high) / 2.0;
        values.fill(if middle.is_finite() {
            middle as f32
        } else {
            0.0
        });
        Ok(())
    }
}

/// Pseudo-random logits in -2..2 and values in -1..1, determined by the position: replaces a
/// network in benchmarks of the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashRandom;

impl<G: Game> Evaluator<G> for HashRandom {
    fn evaluate(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error> {
        let key = leaf.state.key()?;
        // 16 bits of a multiplied key are random enough here and very cheap.
        let number = |x: u64, width: f32| (x >> 48) as i32 as f32 * (width / 65536.0) - width / 2.0;
        logits.clear();
        logits.extend(leaf.actions.iter().map(|&action| {
            let mixed = (key ^ u64::from(action)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            number(mixed ^ (mixed << 29), 4.0)
        }));
        let hash = mix(key, 0);
        for (seat, value) in values.iter_mut().enumerate() {
            *value = number(hash.rotate_left(16 * seat as u32), 2.0);
        }
        if let [first, second] = values {
            *second = -*first;
        }
        Ok(())
    }
}

/// A policy for playouts.
pub trait Playout<G: Game>: Send + Sync {
    /// Chooses one of `actions`, the legal actions of the seat to move; never empty. With hidden
    /// information, it should only read what that seat may see.
    fn choose(&self, state: &G, actions: &[Action], rng: &mut Rng) -> Result<Action, G::Error>;

    /// Takes the chosen action and returns whose turn it is then; updates `actions` unless the
    /// policy does not need them.
    fn step(
        &self,
        state: &mut G,
        actions: &mut Vec<Action>,
        rng: &mut Rng,
    ) -> Result<Turn, G::Error> {
        let action = self.choose(state, actions, rng)?;
        state.apply(action)?;
        state.turn(actions)
    }
}

/// Uniformly random legal actions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtRandom;

impl<G: Game> Playout<G> for AtRandom {
    #[inline]
    fn choose(&self, _: &G, actions: &[Action], rng: &mut Rng) -> Result<Action, G::Error> {
        Ok(actions[rng.below(actions.len())])
    }

    #[inline]
    fn step(
        &self,
        state: &mut G,
        actions: &mut Vec<Action>,
        rng: &mut Rng,
    ) -> Result<Turn, G::Error> {
        state.step_at_random(actions, rng)
    }
}

impl<G: Game> Playout<G> for Box<dyn Playout<G>> {
    fn choose(&self, state: &G, actions: &[Action], rng: &mut Rng) -> Result<Action, G::Error> {
        self.as_ref().choose(state, actions, rng)
    }

    fn step(
        &self,
        state: &mut G,
        actions: &mut Vec<Action>,
        rng: &mut Rng,
    ) -> Result<Turn, G::Error> {
        self.as_ref().step(state, actions, rng)
    }
}

/// Equal priors, and the mean result of playouts by a policy.
#[derive(Clone, Copy, Debug)]
pub struct Rollout<P = AtRandom> {
    /// Games per evaluation.
    pub playouts: u32,
    /// The most steps of a playout; a truncated game counts as the middle of the value range.
    pub max_length: u32,
    /// Discount of the search, for games with rewards.
    pub discount: f64,
    pub policy: P,
}

impl<P> Rollout<P> {
    fn play<G: Game>(
        &self,
        leaf: &Leaf<'_, G>,
        rng: &mut Rng,
        sums: &mut [f64],
    ) -> Result<(), G::Error>
    where
        P: Playout<G>,
    {
        let mut state = leaf.state.clone();
        let has_rewards = leaf.state.rules().has_rewards;
        let (mut actions, mut outcomes) = (leaf.actions.to_vec(), Vec::new());
        let mut turn = Turn::Seat(leaf.seat);
        let mut paid = vec![0.0; sums.len()];
        let mut weight = 1.0;
        for _ in 0..self.max_length {
            turn = match turn {
                Turn::Seat(_) => self.policy.step(&mut state, &mut actions, rng)?,
                Turn::Chance => {
                    state.chance_outcomes(&mut outcomes)?;
                    let drawn = rng.pick(outcomes.iter().map(|outcome| outcome.1));
                    state.apply(outcomes[drawn].0)?;
                    state.turn(&mut actions)?
                }
                Turn::Over => break,
            };
            if has_rewards {
                paid.fill(0.0);
                state.rewards(&mut paid)?;
                add(sums, &paid, weight);
                weight *= self.discount;
            } else {
                weight *= self.discount;
            }
        }
        if turn == Turn::Over {
            paid.fill(0.0);
            state.returns(&mut paid)?;
        } else {
            let (low, high) = leaf.state.value_range();
            let middle = (low + high) / 2.0;
            paid.fill(if middle.is_finite() && !has_rewards {
                middle
            } else {
                0.0
            });
        }
        add(sums, &paid, weight);
        Ok(())
    }
}

fn add(sums: &mut [f64], values: &[f64], weight: f64) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += weight * value;
    }
}

impl<G: Game, P: Playout<G>> Evaluator<G> for Rollout<P> {
    fn evaluate(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error> {
        logits.clear();
        logits.resize(leaf.actions.len(), 0.0);
        let mut sums = vec![0.0; values.len()];
        let mut rng = Rng::new(leaf.ticket, 0);
        for _ in 0..self.playouts {
            self.play(leaf, &mut rng, &mut sums)?;
        }
        for (value, sum) in values.iter_mut().zip(sums) {
            *value = (sum / f64::from(self.playouts)) as f32;
        }
        Ok(())
    }
}
