//! The start of a game: at the first state, after random moves, or at a position of the lease.
//!
//! A start is a sequence of actions from the first state, so a game can always be replayed. A game
//! whose kind is drawn as an opening plays 1 to `opening_plies` random moves that do not end it.
//! Then chance moves until a seat does. All draws come from the game's stream for its start.

use crate::contracts::game::{Action, Game, Turn};
use crate::contracts::rng::Rng;
use crate::selfplay::columns::{Columns, Widths, last, set};
use crate::selfplay::play_config::PlayConfig;

/// The number of random openings to try until one does not end the game.
const ATTEMPTS: usize = 100;

/// Chance in the column of seats.
const CHANCE: i8 = -1;

/// A new game.
#[derive(Debug)]
pub(crate) struct Start<G> {
    pub state: G,
    /// Whether it starts from a given position.
    pub restarted: bool,
}

/// Starts a game; adds the plies that lead to its start.
pub(crate) fn start<G: Game>(
    first: &G,
    config: &PlayConfig,
    positions: &[Vec<Action>],
    mut rng: Rng,
    columns: &mut Columns<G::Cell>,
    widths: Widths,
) -> Result<Start<G>, G::Error> {
    let kind = rng.uniform();
    let restarted = kind < config.restart_share && !positions.is_empty();
    let opens = kind >= config.restart_share && kind < config.restart_share + config.opening_share;
    let actions = if restarted {
        positions[rng.below(positions.len())].clone()
    } else if opens {
        random_opening(first, config.opening_plies, &mut rng)?
    } else {
        Vec::new()
    };
    let mut state = first.clone();
    let mut legal = Vec::new();
    for action in actions {
        let turn = state.turn(&mut legal)?;
        apply(&mut state, action, turn, columns, widths)?;
    }
    while state.turn(&mut legal)? == Turn::Chance {
        let outcome = drawn(&state, &mut rng)?;
        apply(&mut state, outcome, Turn::Chance, columns, widths)?;
    }
    Ok(Start { state, restarted })
}

/// Random moves, and outcomes of chance between them, that do not end the game.
fn random_opening<G: Game>(first: &G, most: usize, rng: &mut Rng) -> Result<Vec<Action>, G::Error> {
    let mut legal = Vec::new();
    for _ in 0..ATTEMPTS {
        let (mut state, mut actions) = (first.clone(), Vec::new());
        let mut moves = 1 + rng.below(most);
        let mut turn = state.turn(&mut legal)?;
        while moves > 0 && turn != Turn::Over {
            let action = match turn {
                Turn::Chance => drawn(&state, rng)?,
                _ => legal[rng.below(legal.len())],
            };
            moves -= usize::from(turn != Turn::Chance);
            state.apply(action)?;
            actions.push(action);
            turn = state.turn(&mut legal)?;
        }
        if turn != Turn::Over {
            return Ok(actions);
        }
    }
    Ok(Vec::new())
}

/// An outcome of chance, by its probability.
pub(crate) fn drawn<G: Game>(state: &G, rng: &mut Rng) -> Result<Action, G::Error> {
    let mut outcomes = Vec::new();
    state.chance_outcomes(&mut outcomes)?;
    let index = rng.pick(outcomes.iter().map(|&(_, probability)| probability));
    Ok(outcomes[index].0)
}

/// Applies an action without a search, and adds its ply.
fn apply<G: Game>(
    state: &mut G,
    action: Action,
    turn: Turn,
    columns: &mut Columns<G::Cell>,
    widths: Widths,
) -> Result<(), G::Error> {
    state.apply(action)?;
    let mut rewards = vec![0.0; widths.seats];
    state.rewards(&mut rewards)?;
    add_unsearched(columns, turn, action, &rewards, widths);
    Ok(())
}

/// Adds a ply that was not searched.
pub(crate) fn add_unsearched<C: Copy + Default>(
    columns: &mut Columns<C>,
    turn: Turn,
    action: Action,
    rewards: &[f64],
    widths: Widths,
) {
    columns.add_ply(widths);
    set(&mut columns.actions, action as i32);
    let seat = match turn {
        Turn::Seat(seat) => seat as i8,
        Turn::Chance | Turn::Over => CHANCE,
    };
    set(&mut columns.seats, seat);
    set_rewards(columns, rewards, widths);
}

/// Sets the rewards of the last ply.
pub(crate) fn set_rewards<C>(columns: &mut Columns<C>, rewards: &[f64], widths: Widths) {
    let out = last(&mut columns.rewards, widths.seats);
    out.iter_mut()
        .zip(rewards)
        .for_each(|(out, &reward)| *out = reward as f32);
}

/// The first illegal action of a sequence from the first state, by its index.
pub(crate) fn first_illegal<G: Game>(
    first: &G,
    actions: &[Action],
) -> Result<Option<usize>, G::Error> {
    let (mut state, mut legal, mut outcomes) = (first.clone(), Vec::new(), Vec::new());
    for (i, &action) in actions.iter().enumerate() {
        let found = match state.turn(&mut legal)? {
            Turn::Chance => {
                state.chance_outcomes(&mut outcomes)?;
                outcomes.iter().any(|&(outcome, _)| outcome == action)
            }
            Turn::Seat(_) => legal.contains(&action),
            Turn::Over => false,
        };
        if !found {
            return Ok(Some(i));
        }
        state.apply(action)?;
    }
    Ok(None)
}
