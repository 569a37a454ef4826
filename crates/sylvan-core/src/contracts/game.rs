//! The `Game` trait: the interface between the search and a game.
//!
//! Players are seats `0..num_players`. A state says whose turn it is and which actions are legal,
//! applies an action in place, and at the end of the game gives one return per seat. The search
//! stores one state per tree (the root's) and derives all others by applying actions to a copy of
//! it, so the speed of `clone_from` and `apply` matters most. For games where that is too slow, the
//! tree stores states (`KEEP_STATES`).
//!
//! The total return of a seat is `Σ_t γ^t · rewards_t + γ^T · returns_T`: rewards paid during the
//! game must not be paid again at the end.
//!
//! With hidden information, a search starts from a *view*: a state of the same type that holds only
//! the information of one seat. `sample` completes it to a deal, and the simulation continues in
//! that deal. So a search cannot read information that its seat does not have.
//!
//! A game whose calls can fail during a search (one written in Python) declares its error type; the
//! games of `sylvan-games` use `Infallible`, so the checks compile to nothing.

use std::convert::Infallible;

use crate::contracts::rng::{Rng, mix};

/// The number of an action, stable and documented per game; chance outcomes are actions too.
pub type Action = u32;

/// A player, `0..num_players`.
pub type Seat = u8;

/// The most seats a game may have.
pub const MAX_SEATS: usize = 8;

/// The seat that acts in a state, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A seat chooses one of its legal actions.
    Seat(Seat),
    /// The rules draw one of the chance outcomes.
    Chance,
    /// The game is over.
    Over,
}

/// Properties of a game that are the same in all its states.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    pub num_players: usize,
    /// Actions are `0..num_actions`.
    pub num_actions: usize,
    /// Two seats whose returns and rewards always add up to zero.
    pub zero_sum: bool,
    /// Steps may give rewards; if false, only the end of the game gives returns.
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
/// Listing the legal actions twice in the same state must give the same order: the tree identifies
/// an unvisited edge by its index in that list.
pub trait Game: Clone + Send + Sync {
    /// An error raised by the game's own code.
    type Error: Send + 'static;
    /// One cell of an observation: `f32`, or `u64` for bit planes.
    type Cell: bytemuck::NoUninit + Default + Send + Sync;
    /// `apply` and `turn` are slow: the tree stores the state and the actions of every expanded
    /// node, within its budget, instead of deriving them again.
    const KEEP_STATES: bool = false;
    /// A learned model instead of rules: the evaluation of a state also gives the reward of the
    /// step to it and its legal actions.
    const LEARNED: bool = false;
    /// States may be views, completed by `sample`.
    const HIDDEN: bool = false;

    fn rules(&self) -> Rules;

    /// Runs work on many states. A game whose rules need a lock takes it here once, instead of at
    /// every call.
    fn together<T>(work: impl FnOnce() -> T) -> T {
        work()
    }

    /// `rules().value_range`; a game may override this if it can compute it faster alone.
    fn value_range(&self) -> (f64, f64) {
        self.rules().value_range
    }

    /// A cheap copy of a state that will not be modified; for games with `KEEP_STATES`.
    fn share(&self) -> Self {
        self.clone()
    }

    /// Size of a stored state in bytes.
    fn bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }

    /// Marks the state as the root of a search. A claimable draw at the root does not end the game,
    /// and repetitions inside the tree are counted from here.
    fn set_root(&mut self) {}

    /// The seat of a view; `None` for full states.
    fn observer(&self) -> Option<Seat> {
        None
    }

    /// Whether this state is a view, with the information of one seat only.
    fn is_view(&self) -> bool {
        self.observer().is_some()
    }

    /// Whether seats do not see everything, so that self-play searches views.
    fn hides(&self) -> bool {
        false
    }

    /// The view of a seat of a full state.
    fn view(&self, _seat: Seat) -> Result<Self, Self::Error> {
        Ok(self.clone())
    }

    /// Completes a view to a full state, drawn from the states of the seat's information set by
    /// their probability for that seat. Depends only on the view and `rng`.
    fn sample(&mut self, _rng: &mut Rng) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A key of the private information of the seat to move, such as its hand. Equal keys at a node
    /// mean equal legal actions and equal evaluations.
    fn own_key(&self) -> Result<u64, Self::Error> {
        self.key()
    }

    /// Returns whose turn it is and replaces `actions` by the legal actions of the seat to move;
    /// clears it at chance nodes and at the end.
    fn turn(&self, actions: &mut Vec<Action>) -> Result<Turn, Self::Error>;

    /// The legal action at an index of the list from `turn`; `buffer` may be overwritten. A game
    /// may override this if it can find one action without listing all.
    fn action_at(&self, index: usize, buffer: &mut Vec<Action>) -> Result<Action, Self::Error> {
        self.turn(buffer)?;
        Ok(buffer[index])
    }

    /// Takes a uniformly random legal action, with one call of `rng.below`, and returns whose turn
    /// it is then. A seat must be to move. `actions` holds the legal actions and is only read by
    /// the next random step: a game that needs no list may leave it unchanged.
    fn step_at_random(
        &mut self,
        actions: &mut Vec<Action>,
        rng: &mut Rng,
    ) -> Result<Turn, Self::Error> {
        self.apply(actions[rng.below(actions.len())])?;
        self.turn(actions)
    }

    /// Replaces `outcomes` by the chance outcomes and their probabilities, which sum to 1.
    fn chance_outcomes(&self, outcomes: &mut Vec<(Action, f64)>) -> Result<(), Self::Error> {
        outcomes.clear();
        Ok(())
    }

    /// Applies a legal action or a chance outcome in place. The effect of any other action is up to
    /// the game, but must not be undefined behaviour.
    fn apply(&mut self, action: Action) -> Result<(), Self::Error>;

    /// The number of edges that a leaf of a learned model stores if `left` simulations remain,
    /// since no more can be tried.
    fn edges_kept(&self, left: usize) -> usize {
        left
    }

    /// Called when the state starts to wait for an evaluation, the tree's `number`-th since its
    /// reset.
    fn assign_slot(&mut self, _number: u64) {}

    /// The return of each seat; `out` has `num_players` entries. Called only in finished games.
    fn returns(&self, out: &mut [f64]) -> Result<(), Self::Error>;

    /// The reward of the last step for each seat; `out` has `num_players` entries, all zero.
    fn rewards(&self, _out: &mut [f64]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Writes an estimate of each seat's return in an unfinished game, in the range of `returns`;
    /// false if the game has none. It scores games of self-play that are cut off.
    fn estimate(&self, _out: &mut [f64]) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// The outputs of a policy network; `logit_index` is below it.
    fn num_logits(&self) -> usize {
        self.rules().num_actions
    }

    /// The index of a legal action's logit in a policy network's output.
    fn logit_index(&self, action: Action) -> Result<u32, Self::Error> {
        Ok(action)
    }

    /// Writes the observation of the seat to move into all `observation_len` cells of `out`, whose
    /// contents are undefined.
    fn observe(&self, out: &mut [Self::Cell]) -> Result<(), Self::Error>;

    /// A cache key: equal keys mean equal observations and equal continuations.
    fn key(&self) -> Result<u64, Self::Error>;

    /// The key under which a search with transpositions shares this state's node; `None` if it
    /// shares none. Equal keys mean equal legal actions and equal continuations, but for
    /// `is_repetition`, and no key may recur on a line. `ply` counts from the start of the tree.
    fn position_key(&self, ply: u64) -> Result<Option<u64>, Self::Error> {
        self.key().map(|key| Some(mix(key, ply)))
    }

    /// Whether the game is a draw here because this line of a search repeats one of its positions,
    /// which `position_key` does not say.
    fn is_repetition(&self) -> bool {
        false
    }

    /// Whether a legal action forces matters, as a check or a capture does: `forcing_bonus` raises
    /// its prior.
    fn is_forcing(&self, _action: Action) -> bool {
        false
    }
}

/// The result of a call that cannot fail.
pub type Sure<T = ()> = Result<T, Infallible>;
