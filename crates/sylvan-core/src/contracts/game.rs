//! What the search asks of a game.
//!
//! Players are seats `0..num_players`. A state says whose turn it is and which actions are legal,
//! takes an action in index, and at its end pays one return per seat. The search holds one state
//! per tree (the root's) and re-derives every other by applying actions to a copy of it, so
//! `clone_from` and `apply` are the two calls whose speed matters; games for which that is too slow
//! have their states kept (`KEEP_STATES`).
//!
//! An episode pays every seat `Σ_t γ^t · rewards_t + γ^T · returns_T`: what a game pays on the way
//! it must not pay again at the end.
//!
//! Where something is hidden, a search starts from a *view*: a state of the same type that holds what
//! one seat knows and nothing else. `sample` completes it to a deal, and all that follows happens in
//! that deal; what the view does not hold, no search can read.
//!
//! A game whose moves can fail while the search runs (one written in Python) names its error type;
//! the games of `sylvan-games` use `Infallible`, for which the checks compile to nothing.

use std::convert::Infallible;

use crate::contracts::rng::Rng;

/// A stable, documented integer per game; chance outcomes are actions too.
pub type Action = u32;

/// A player, `0..num_players`.
pub type Seat = u8;

/// The most seats a game may have.
pub const MAX_SEATS: usize = 8;

/// Who acts in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A seat chooses one of its legal actions.
    Seat(Seat),
    /// The rules draw one of the chance outcomes.
    Chance,
    /// The game is over.
    Over,
}

/// The facts about a game that hold in all its states.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    pub num_players: usize,
    /// Action codes are below this.
    pub num_actions: usize,
    /// Two seats whose returns and rewards always add up to zero.
    pub zero_sum: bool,
    /// Steps may pay rewards; without, only the end pays.
    pub has_rewards: bool,
    /// The lowest and highest return of a seat.
    pub value_range: (f64, f64),
    /// The shape of one observation.
    pub observation_shape: Vec<usize>,
}

impl Rules {
    /// Cells of one observation.
    pub fn observation_len(&self) -> usize {
        self.observation_shape.iter().product()
    }
}

/// A state of a game.
///
/// Listing the legal actions twice in the same state must give the same order: the tree knows an
/// unvisited edge only by its index in that list.
pub trait Game: Clone + Send + Sync {
    /// What can go wrong inside the game's own code.
    type Error: Send + 'static;
    /// One cell of an observation: `f32`, or `u64` for bit planes.
    type Cell: Copy + Default + Send + Sync + 'static;
    /// `apply` and `turn` are slow: the tree keeps the state and the actions of every node that it has
    /// expanded, within its budget, instead of deriving them again.
    const KEEP_STATES: bool = false;
    /// A learned model instead of rules: the evaluation of a state also brings the reward of the step
    /// to it and the actions that follow.
    const LEARNED: bool = false;
    /// States may be views, which `sample` completes.
    const HIDDEN: bool = false;

    fn rules(&self) -> Rules;

    /// `rules().value_range`, for games that know it without the rest.
    fn value_range(&self) -> (f64, f64) {
        self.rules().value_range
    }

    /// A cheap copy of a state that nobody will change; for games with `KEEP_STATES`.
    fn share(&self) -> Self {
        self.clone()
    }

    /// Bytes that a kept state takes.
    fn bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }

    /// Marks the state as the root of a search. A draw that could be claimed here does not end the
    /// game, and rules that count repetitions inside the tree count from here.
    fn set_root(&mut self) {}

    /// The seat that a view belongs to; `None` for full states.
    fn observer(&self) -> Option<Seat> {
        None
    }

    /// Whether this state is a view: what one seat knows.
    fn is_view(&self) -> bool {
        self.observer().is_some()
    }

    /// Completes a view to a full state, drawn from the states that its seat cannot tell apart, with
    /// the probability that the seat gives them. Depends on the view and the draws alone.
    fn sample(&mut self, _rng: &mut Rng) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Identifies what the seat to move knows beside the actions since the root: its hand. Equal keys
    /// at a node mean equal legal actions and equal evaluations.
    fn own_key(&self) -> u64 {
        self.key()
    }

    /// Whose turn it is. Replaces `actions` by the legal actions of the seat to move; clears it at
    /// chance nodes and at the end.
    fn turn(&self, actions: &mut Vec<Action>) -> Result<Turn, Self::Error>;

    /// The legal action at a index of the list that `turn` gives; `buffer` may be overwritten. For
    /// games that find one sooner than all.
    fn action_at(&self, index: usize, buffer: &mut Vec<Action>) -> Result<Action, Self::Error> {
        self.turn(buffer)?;
        Ok(buffer[index])
    }

    /// Takes a uniformly random legal action, by one draw below their number; returns whose turn it is
    /// then. A seat must be to move. `actions` holds the legal actions and is read by the next such
    /// step only: a game that needs no list may leave it unchanged.
    fn step_at_random(
        &mut self,
        actions: &mut Vec<Action>,
        rng: &mut Rng,
    ) -> Result<Turn, Self::Error> {
        self.apply(actions[rng.below(actions.len())])?;
        self.turn(actions)
    }

    /// Replaces `outcomes` by the chance outcomes with their probabilities, which add up to one.
    fn chance_outcomes(&self, outcomes: &mut Vec<(Action, f64)>) -> Result<(), Self::Error> {
        outcomes.clear();
        Ok(())
    }

    /// Takes a legal action or a chance outcome, in place. The game decides what another action does,
    /// short of undefined behaviour.
    fn apply(&mut self, action: Action) -> Result<(), Self::Error>;

    /// How many edges a leaf of a learned model keeps if `left` simulations remain: no more can be tried.
    fn edges_kept(&self, left: usize) -> usize {
        left
    }

    /// Called when the state begins to wait for an evaluation, the tree's `number`-th since its reset.
    fn arrive(&mut self, _number: u64) {}

    /// The return of each seat; `out` has `num_players` entries. Called only in finished games.
    fn returns(&self, out: &mut [f64]) -> Result<(), Self::Error>;

    /// The reward of the last step for each seat; `out` has `num_players` entries, all zero.
    fn rewards(&self, _out: &mut [f64]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes what the seat to move sees into all `observation_len` cells of `out`, whose contents are
    /// undefined.
    fn observe(&self, out: &mut [Self::Cell]) -> Result<(), Self::Error>;

    /// Equal keys mean equal futures and equal observations; for caches.
    fn key(&self) -> u64;
}

/// The result of a call that cannot fail.
pub type Sure<T = ()> = Result<T, Infallible>;
