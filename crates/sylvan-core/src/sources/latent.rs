//! States of a learned model (MuZero): the search uses slot numbers instead of rules.
//!
//! The model stores the hidden states; the tree numbers them. Slot 0 is the root's, and every
//! evaluation that the tree requests gets the next slot. A leaf gives the slot of its parent, the
//! action, and the slot for the model's output. The evaluation returns the reward of the step and
//! the legal actions (`Game::LEARNED`, `model_step.rs`). Below the root every action is legal,
//! except those with a logit of -inf.
//!
//! Seats move in turn; the model does not predict the seat to move.

use std::sync::Arc;

use crate::contracts::game::{Action, Game, Rules, Seat, Sure, Turn};

/// Properties shared by all states of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    pub num_players: usize,
    /// The number of all actions, legal at the root or not.
    pub num_actions: usize,
    pub zero_sum: bool,
    pub value_range: (f64, f64),
    /// Nodes store all their edges, not only as many as can still be tried.
    pub whole: bool,
}

/// The legal actions of a state.
#[derive(Clone, Debug)]
enum Legal {
    /// Unknown below the root.
    Unknown,
    All,
    Some(Arc<[Action]>),
}

/// A state: the step that led to it and its slot. Below the root it holds no shared data, so copies
/// by several threads do not contend.
#[derive(Clone, Debug)]
pub struct Latent {
    model: Model,
    legal: Legal,
    seat: Seat,
    /// The parent's slot and the action of the last step; undefined at a root.
    pub parent: u32,
    pub action: Action,
    /// Its own slot, set when it starts to wait for its evaluation.
    pub slot: u32,
}

impl Latent {
    /// A root where `seat` is to move with the legal actions `legal`, which is not empty.
    pub fn new(model: Model, seat: Seat, legal: Arc<[Action]>) -> Self {
        Self::root_of(model, seat, Legal::Some(legal))
    }

    /// Another root of the same model, where `seat` is to move; `legal` masks the legal actions,
    /// `None` allows all.
    pub fn root(&self, seat: Seat, legal: Option<&[bool]>) -> Self {
        let all = 0..self.model.num_actions as Action;
        let legal = match legal {
            Some(mask) if mask.contains(&false) => {
                let marked = all.zip(mask).filter(|(_, legal)| **legal);
                Legal::Some(marked.map(|(action, _)| action).collect())
            }
            _ => Legal::All,
        };
        Self::root_of(self.model, seat, legal)
    }

    fn root_of(model: Model, seat: Seat, legal: Legal) -> Self {
        Self {
            model,
            legal,
            seat,
            parent: 0,
            action: 0,
            slot: 0,
        }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The legal actions of a root; below the root, all actions.
    pub fn legal(&self) -> Vec<Action> {
        match &self.legal {
            Legal::Some(legal) => legal.to_vec(),
            Legal::All | Legal::Unknown => (0..self.model.num_actions as Action).collect(),
        }
    }

    /// Applies an action.
    pub fn step(&mut self, action: Action) {
        self.legal = Legal::Unknown;
        let next = self.seat + 1;
        let last = usize::from(next) == self.model.num_players;
        self.seat = if last { 0 } else { next };
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
        match &self.legal {
            Legal::Unknown => {}
            Legal::All => actions.extend(0..self.model.num_actions as Action),
            Legal::Some(legal) => actions.extend_from_slice(legal),
        }
        Ok(Turn::Seat(self.seat))
    }

    fn action_at(&self, index: usize, _: &mut Vec<Action>) -> Sure<Action> {
        Ok(index as Action) // nodes with a subset of the actions store it as a list
    }

    fn apply(&mut self, action: Action) -> Sure {
        self.step(action);
        Ok(())
    }

    fn edges_kept(&self, left: usize) -> usize {
        if self.model.whole { usize::MAX } else { left }
    }

    fn assign_slot(&mut self, number: u64) {
        self.slot = number as u32;
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        out.fill(0.0); // never called: no state of a model is terminal
        Ok(())
    }

    fn observe(&self, _: &mut [f32]) -> Sure {
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        Ok(self.slot.into())
    }
}
