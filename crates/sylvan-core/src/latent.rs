//! States of a learned model (MuZero): the search knows no rules, only slots.
//!
//! Hidden states stay where the model keeps them. A tree numbers them: slot 0 is the root's, and
//! every evaluation that the tree asks for gets the next one. A leaf says which slot its last step
//! started from, which action it took and into which slot the model shall write; what the step paid
//! and which actions follow is told with the evaluation (`Game::LEARNED`). Below the root no action
//! is illegal, except those to which the model gives no probability at all (a logit of -inf).
//!
//! Whose turn it is, the model is not asked: seats move one after another.

use std::sync::Arc;

use crate::game::{Action, Game, Rules, Seat, Sure, Turn};

/// What is the same in all states of a search.
#[derive(Debug, PartialEq)]
pub struct Model {
    pub num_players: usize,
    /// All actions, whether legal at the root or not.
    pub num_actions: usize,
    pub zero_sum: bool,
    pub value_range: (f64, f64),
}

/// A state: where it comes from and where it is kept.
#[derive(Clone, Debug)]
pub struct Latent {
    model: Arc<Model>,
    /// The legal actions of a root; inside the tree nobody knows them.
    legal: Option<Arc<[Action]>>,
    seat: Seat,
    /// The slot that the last step started from, and its action; meaningless at a root.
    pub parent: u32,
    pub action: Action,
    /// Its own slot, once it waits for its evaluation.
    pub slot: u32,
}

impl Latent {
    /// A root where `seat` chooses from `legal`, which is not empty.
    pub fn new(model: Arc<Model>, seat: Seat, legal: Arc<[Action]>) -> Self {
        Self {
            model,
            legal: Some(legal),
            seat,
            parent: 0,
            action: 0,
            slot: 0,
        }
    }

    /// Another root of the same model, where `seat` chooses from the actions that `legal` marks, all
    /// if it is None.
    pub fn root(&self, seat: Seat, legal: Option<&[bool]>) -> Self {
        let all = self.model.num_actions as Action;
        let legal = match legal {
            Some(mask) => (0..all)
                .zip(mask)
                .filter(|(_, legal)| **legal)
                .map(|(action, _)| action)
                .collect(),
            None => (0..all).collect(),
        };
        Self::new(Arc::clone(&self.model), seat, legal)
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The legal actions of a root.
    pub fn legal(&self) -> Option<&[Action]> {
        self.legal.as_deref()
    }

    /// The state after an action.
    pub fn step(&mut self, action: Action) {
        self.legal = None;
        self.seat = ((usize::from(self.seat) + 1) % self.model.num_players) as Seat;
        (self.parent, self.action) = (self.slot, action);
    }
}

impl Game for Latent {
    type Error = std::convert::Infallible;
    type Cell = f32;
    const KEEP_STATES: bool = true;
    const LEARNED: bool = true;

    fn rules(&self) -> Rules {
        Rules {
            num_players: self.model.num_players,
            num_actions: self.model.num_actions,
            zero_sum: self.model.zero_sum,
            has_rewards: true,
            value_range: self.model.value_range,
            observation_shape: Vec::new(),
        }
    }

    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        actions.clear();
        actions.extend(self.legal.iter().flat_map(|legal| legal.iter()));
        Ok(Turn::Seat(self.seat))
    }

    fn action_at(&self, place: usize, _: &mut Vec<Action>) -> Sure<Action> {
        Ok(place as Action) // nodes with fewer actions than there are have a list of them
    }

    fn apply(&mut self, action: Action) -> Sure {
        self.step(action);
        Ok(())
    }

    fn arrive(&mut self, number: u64) {
        self.slot = number as u32;
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        out.fill(0.0); // never asked: no state of a model is known to be the last
        Ok(())
    }

    fn observe(&self, _: &mut [f32]) -> Sure {
        Ok(())
    }

    fn key(&self) -> u64 {
        self.slot.into()
    }
}

/// Keeps the actions that follow a leaf: those with a finite logit, the `top_k` highest of them if
/// that is not 0, ties to the lower action. `logits` has one entry per action and is narrowed
/// along; `actions` is replaced.
pub fn narrow(logits: &mut Vec<f32>, actions: &mut Vec<Action>, top_k: usize) {
    if (top_k == 0 || top_k >= logits.len())
        && logits.iter().fold(true, |all, x| all & x.is_finite())
    {
        let n = logits.len() as Action;
        if actions.len() != logits.len() || actions.last() != Some(&(n - 1)) {
            actions.clear();
            actions.extend(0..n); // lists only ever grow upwards: else they are all of them already
        }
        return;
    }
    let floor = if top_k == 0 || top_k >= logits.len() {
        f32::NEG_INFINITY
    } else {
        kth_largest(logits, top_k)
    };
    // Above the floor all are kept; of those on it, as many of the first as there is room for.
    let above = logits.iter().filter(|&&logit| logit > floor).count();
    let mut room = if floor == f32::NEG_INFINITY {
        0
    } else {
        top_k - above
    };
    actions.clear();
    let mut kept = 0;
    for action in 0..logits.len() {
        let logit = logits[action];
        if logit > floor || (logit == floor && room > 0) {
            room -= usize::from(logit == floor);
            logits[kept] = logit;
            kept += 1;
            actions.push(action as Action);
        }
    }
    logits.truncate(kept);
}

fn kth_largest(logits: &[f32], k: usize) -> f32 {
    let mut sorted = logits.to_vec();
    *sorted
        .select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a))
        .1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn narrow_keeps_the_highest_and_of_equals_the_first() {
        let mut rng = Rng::new(1, 0);
        for _ in 0..2000 {
            let n = 1 + rng.below(40);
            let draw = |rng: &mut Rng| match rng.below(7) {
                0 => f32::NEG_INFINITY,
                x => x as f32,
            };
            let logits: Vec<f32> = (0..n).map(|_| draw(&mut rng)).collect();
            let top_k = rng.below(45);
            let mut order: Vec<usize> = (0..n).filter(|&i| logits[i].is_finite()).collect();
            order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
            if top_k > 0 {
                order.truncate(top_k);
            }
            order.sort_unstable();
            let (mut kept, mut actions) = (logits.clone(), vec![7]);
            narrow(&mut kept, &mut actions, top_k);
            assert_eq!(
                actions,
                order.iter().map(|&i| i as Action).collect::<Vec<_>>()
            );
            assert_eq!(kept, order.iter().map(|&i| logits[i]).collect::<Vec<_>>());
        }
    }
}
