//! `sylvan._native.BlobBot` and `blob_games`: players of Blob without search, and games between
//! them.

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use sylvan_core::Action;
use sylvan_games::blob::Phase;
use sylvan_games::blob::bots::{Belief, Bot, Rollouts, Tally, one_card, play_game};

use super::blob::PyBlob;
use super::blob_errors::raise;
use crate::numbers::Rng;

pyo3::import_exception!(sylvan.errors, ConfigError);
pyo3::import_exception!(sylvan.errors, WrongPhase);

#[pyclass(frozen, name = "BlobBot", module = "sylvan._native")]
pub struct PyBlobBot {
    pub bot: Bot,
    #[pyo3(get)]
    name: String,
}

#[pymethods]
impl PyBlobBot {
    #[new]
    #[pyo3(signature = (name, *, deals=128, rivalry=1.0, candidates=1, bid_noise=1.0, play_noise=1.0))]
    fn new(
        name: &str,
        deals: u32,
        rivalry: f64,
        candidates: u32,
        bid_noise: f64,
        play_noise: f64,
    ) -> PyResult<Self> {
        let bot = match name {
            "random" => Bot::Random,
            "win_every_trick" => Bot::WinEveryTrick,
            "rule" => Bot::Rule,
            "counter" => Bot::COUNTER,
            "rollouts" => Bot::Rollouts(Rollouts {
                deals: positive("deals", deals)?,
                rivalry: share("rivalry", rivalry)?,
                belief: belief(candidates, bid_noise, play_noise)?,
                ..Rollouts::default()
            }),
            _ => {
                return Err(ConfigError::new_err(format!(
                    "there is no player {name:?} of Blob: use random, win_every_trick, rule, counter or rollouts"
                )));
            }
        };
        Ok(Self {
            bot,
            name: name.into(),
        })
    }

    /// The action of the seat to move; `game` may be a full state or that seat's view.
    fn choose(&self, py: Python<'_>, game: &Bound<'_, PyBlob>, rng: &mut Rng) -> PyResult<Action> {
        let state = to_move(game)?;
        let (bot, rng) = (&self.bot, &mut rng.0);
        Ok(py.detach(|| bot.choose(&state, rng)))
    }

    /// Every legal action with its mean utility, mean points and share of bids made over the
    /// sampled deals; only for `rollouts`.
    fn judge(
        &self,
        py: Python<'_>,
        game: &Bound<'_, PyBlob>,
        rng: &mut Rng,
    ) -> PyResult<Vec<(Action, f64, f64, f64)>> {
        let state = to_move(game)?;
        let Bot::Rollouts(rollouts) = &self.bot else {
            return Err(ConfigError::new_err(format!(
                "the player {} does not evaluate actions: use rollouts",
                self.name
            )));
        };
        let rng = &mut rng.0;
        let verdicts = py.detach(|| rollouts.judge(&state, rng));
        let row = |v: sylvan_games::blob::bots::Verdict| (v.action, v.utility, v.points, v.made);
        Ok(verdicts.into_iter().map(row).collect())
    }
}

pub fn belief(candidates: u32, bid_noise: f64, play_noise: f64) -> PyResult<Belief> {
    Ok(Belief {
        candidates: positive("candidates", candidates)?,
        bid_noise: share("bid_noise", bid_noise)? as f32,
        play_noise: share("play_noise", play_noise)? as f32,
    })
}

fn positive(name: &str, value: u32) -> PyResult<u32> {
    if (1..=1 << 20).contains(&value) {
        return Ok(value);
    }
    let message = format!("{name} is {value}: it must be 1 to 1048576");
    Err(ConfigError::new_err(message))
}

fn share(name: &str, value: f64) -> PyResult<f64> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    let message = format!("{name} is {value}: it must be 0 to 1");
    Err(ConfigError::new_err(message))
}

/// The state, if the hand of the seat to move is visible.
fn to_move(game: &Bound<'_, PyBlob>) -> PyResult<sylvan_games::blob::Blob> {
    let state = game.borrow().state;
    if !matches!(state.phase(), Phase::Bidding | Phase::Playing) {
        return Err(WrongPhase::new_err(
            "no seat is to move here: deal a round first",
        ));
    }
    state.hand(state.to_play()).map_err(raise)?;
    Ok(state)
}

/// Points and counts of games between bots, one in each seat.
type Counted<'py> = (
    Bound<'py, PyArray2<i32>>,
    Bound<'py, PyArray3<u32>>,
    Bound<'py, PyArray3<u32>>,
    Bound<'py, PyArray2<u32>>,
    Bound<'py, PyArray3<u32>>,
);

/// The exact bid of the seat to move in a round of one card, and the probability that its card
/// wins; None in other states.
#[pyfunction]
pub fn blob_one_card_bid(game: &Bound<'_, PyBlob>) -> Option<(Action, f64)> {
    one_card::bid(&game.borrow().state)
}

/// Plays games with the rules of `game`, one per seed, with a bot in every seat; returns points
/// `[n, seats]`, rounds and bids made by cards `[n, seats, 14]`, bids of 0 `[n, seats]`, rounds by
/// tricks minus bid plus 13 `[n, seats, 27]`.
#[pyfunction]
pub fn blob_games<'py>(
    py: Python<'py>,
    game: &Bound<'py, PyBlob>,
    bots: Vec<PyRef<'py, PyBlobBot>>,
    seeds: Vec<u64>,
) -> PyResult<Counted<'py>> {
    let options = *game.borrow().state.options();
    let bots: Vec<Bot> = bots.iter().map(|bot| bot.bot).collect();
    let seats = usize::from(options.players);
    if bots.len() != seats {
        return Err(ConfigError::new_err(format!(
            "{} players for {seats} seats: give one for each",
            bots.len()
        )));
    }
    let mut tallies: Vec<Tally> = Vec::with_capacity(seeds.len() * seats);
    for &seed in &seeds {
        py.check_signals()?;
        tallies.extend(
            py.detach(|| play_game(options, seed, &bots))
                .map_err(raise)?,
        );
    }
    let n = seeds.len();
    let flat = |of: fn(&Tally) -> &[u32], width: usize| {
        let cells: Vec<u32> = tallies
            .iter()
            .flat_map(|tally| of(tally).to_vec())
            .collect();
        PyArray1::from_vec(py, cells).reshape([n, seats, width])
    };
    let points = tallies.iter().map(|tally| tally.points).collect();
    let zeros = tallies.iter().map(|tally| tally.zero_bids).collect();
    Ok((
        PyArray1::from_vec(py, points).reshape([n, seats])?,
        flat(|tally| &tally.rounds, 14)?,
        flat(|tally| &tally.made, 14)?,
        PyArray1::from_vec(py, zeros).reshape([n, seats])?,
        flat(|tally| &tally.off, 27)?,
    ))
}
