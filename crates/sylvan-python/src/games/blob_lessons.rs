//! `sylvan._native.blob_rounds`, `blob_rows` and `BlobTables`: training rounds of Blob, as rows of
//! a batch, and rounds played by a network.

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use sylvan_core::{Action, Game};
use sylvan_games::blob::bots::{Round, RoundSlices, Rows, Study, Table, advance};
use sylvan_games::blob::{HANDS_LEN, NUM_ACTIONS, OBSERVATION_LEN};

use super::blob::PyBlob;
use super::blob_bots::PyBlobBot;
use crate::numbers::Rng;

pyo3::import_exception!(sylvan.errors, ReplayError);

/// Tables `[n, 5]`; hands, actions, marks and verdicts, each flat; the number of verdicts per round
/// `[n]`.
type Played<'py> = (
    Bound<'py, PyArray2<u8>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i8>>,
    Bound<'py, PyArray1<u16>>,
);

/// Plays the rounds with the numbers from `first`; they depend only on `seed`, not on the threads.
#[pyfunction]
#[pyo3(signature = (seed, first, count, *, deals, explore, usual, most_cards, threads=1))]
#[expect(clippy::too_many_arguments, reason = "they are settings by name")]
pub fn blob_rounds<'py>(
    py: Python<'py>,
    seed: u64,
    first: u64,
    count: usize,
    deals: u32,
    explore: f64,
    usual: f64,
    most_cards: u8,
    threads: usize,
) -> PyResult<Played<'py>> {
    let study = Study {
        deals,
        explore,
        usual,
        most_cards,
    };
    let rounds = py.detach(|| played(&study, seed, first, count, threads));
    let flat = |of: fn(&Round) -> &[u8]| {
        let bytes: Vec<u8> = rounds.iter().flat_map(|round| of(round).to_vec()).collect();
        PyArray1::from_vec(py, bytes)
    };
    let verdicts: Vec<i8> = rounds.iter().flat_map(|r| r.verdicts.clone()).collect();
    let counts = rounds.iter().map(|r| r.verdicts.len() as u16).collect();
    Ok((
        flat(|round| &round.table).reshape([count, 5])?,
        flat(|round| &round.hands),
        flat(|round| &round.actions),
        flat(|round| &round.marks),
        PyArray1::from_vec(py, verdicts),
        PyArray1::from_vec(py, counts),
    ))
}

/// Plays rounds in threads; each takes the next round when it is done, because their times differ.
fn played(study: &Study, seed: u64, first: u64, count: usize, threads: usize) -> Vec<Round> {
    let next = AtomicU64::new(0);
    let some = || {
        let mut own = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count as u64 {
                return own;
            }
            own.push((index, study.play(seed, first + index)));
        }
    };
    let mut all: Vec<(u64, Round)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(some)).collect();
        let joined = threads.into_iter().flat_map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    all.sort_unstable_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, round)| round).collect()
}

/// Observations, policies, masks and values.
type Batch<'py> = (
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<bool>>,
    Bound<'py, PyArray2<f32>>,
);

/// The training examples of some stored rounds, one row each: observations `[n, 1338]`, policies
/// and masks `[n, 66]`, values `[n, 8]` as shares of the highest possible points, starting with the
/// seat to move; NaN marks empty seats. `hand_at`, `ply_at` and `verdict_at` are the offsets of
/// each round's parts; `numbers` are the indices of the rounds.
#[pyfunction]
#[pyo3(signature = (
    tables, hands, actions, marks, verdicts, hand_at, ply_at, verdict_at, numbers, *,
    temperature, threads=1
))]
#[expect(clippy::too_many_arguments, reason = "they are the columns of a table")]
pub fn blob_rows<'py>(
    py: Python<'py>,
    tables: PyReadonlyArray2<'py, u8>,
    hands: PyReadonlyArray1<'py, u8>,
    actions: PyReadonlyArray1<'py, u8>,
    marks: PyReadonlyArray1<'py, u8>,
    verdicts: PyReadonlyArray1<'py, i8>,
    hand_at: PyReadonlyArray1<'py, i64>,
    ply_at: PyReadonlyArray1<'py, i64>,
    verdict_at: PyReadonlyArray1<'py, i64>,
    numbers: PyReadonlyArray1<'py, i64>,
    temperature: f32,
    threads: usize,
) -> PyResult<Batch<'py>> {
    let (tables, hands) = (tables.as_slice()?, hands.as_slice()?);
    let (actions, marks, verdicts) = (actions.as_slice()?, marks.as_slice()?, verdicts.as_slice()?);
    let hand_at = hand_at.as_slice()?;
    let (ply_at, verdict_at) = (ply_at.as_slice()?, verdict_at.as_slice()?);
    let slices = |&index: &i64| -> Option<RoundSlices<'_>> {
        let index = usize::try_from(index).ok()?;
        Some(RoundSlices {
            table: tables.get(index * 5..index * 5 + 5)?,
            hands: part(hands, hand_at, index)?,
            actions: part(actions, ply_at, index)?,
            marks: part(marks, ply_at, index)?,
            verdicts: part(verdicts, verdict_at, index)?,
        })
    };
    let rounds: Option<Vec<RoundSlices<'_>>> = numbers.as_slice()?.iter().map(slices).collect();
    let rounds = rounds.ok_or_else(|| damaged("an offset is outside its array"))?;
    let parts = py.detach(|| in_threads(&rounds, temperature, threads));
    let mut rows = Rows::default();
    for part in parts {
        let part = part.ok_or_else(|| damaged("a round breaks the rules"))?;
        rows.observations.extend(part.observations);
        rows.policy.extend(part.policy);
        rows.legal.extend(part.legal);
        rows.values.extend(part.values);
    }
    let count = rows.values.len() / 8;
    Ok((
        PyArray1::from_vec(py, rows.observations).reshape([count, OBSERVATION_LEN])?,
        PyArray1::from_vec(py, rows.policy).reshape([count, NUM_ACTIONS])?,
        PyArray1::from_vec(py, rows.legal).reshape([count, NUM_ACTIONS])?,
        PyArray1::from_vec(py, rows.values).reshape([count, 8])?,
    ))
}

fn part<'a, T>(flat: &'a [T], offsets: &[i64], index: usize) -> Option<&'a [T]> {
    let begin = usize::try_from(*offsets.get(index)?).ok()?;
    let end = usize::try_from(*offsets.get(index + 1)?).ok()?;
    flat.get(begin..end)
}

fn damaged(what: &str) -> PyErr {
    ReplayError::new_err(format!(
        "These are not rounds of Blob ({what}): make them again."
    ))
}

/// The rows of the rounds, one part per thread; `None` for a part with an invalid round.
fn in_threads(rounds: &[RoundSlices<'_>], temperature: f32, threads: usize) -> Vec<Option<Rows>> {
    let rows = |part: &[RoundSlices<'_>]| {
        let mut rows = Rows::default();
        let sound = part.iter().all(|round| rows.add(round, temperature));
        sound.then_some(rows)
    };
    if threads <= 1 {
        return vec![rows(rounds)];
    }
    let share = rounds.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts = rounds.chunks(share);
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || rows(part))).collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    })
}

/// Many rounds at once, with some seats played from outside.
#[pyclass(name = "BlobTables", module = "sylvan._native")]
pub struct PyBlobTables {
    tables: Vec<Table>,
    waiting: Vec<usize>,
    threads: usize,
}

/// The waiting tables, the seats to move, their observations and masks of legal actions.
type Asked<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<bool>>,
);

#[pymethods]
impl PyBlobTables {
    /// `games` are dealt and end with their round; `casts` has a bot per seat, or None if it is
    /// played from outside; `rngs` has a generator per seat.
    #[new]
    #[pyo3(signature = (games, casts, rngs, threads=1))]
    fn new(
        games: Vec<PyRef<'_, PyBlob>>,
        casts: Vec<Vec<Option<PyRef<'_, PyBlobBot>>>>,
        rngs: Vec<Vec<PyRef<'_, Rng>>>,
        threads: usize,
    ) -> PyResult<Self> {
        let mut tables = Vec::with_capacity(games.len());
        if casts.len() != games.len() || rngs.len() != games.len() {
            return Err(PyValueError::new_err(
                "BlobTables: give as many casts and rngs as games.",
            ));
        }
        for ((game, cast), rngs) in games.iter().zip(casts).zip(rngs) {
            let seats = game.state.num_players();
            let sits = cast.len() == seats && rngs.len() == seats;
            if !sits || game.state.observer().is_some() || !game.state.is_alone() {
                return Err(PyValueError::new_err(
                    "BlobTables: give rounds, not views, with a bot or None and a generator per seat.",
                ));
            }
            tables.push(Table {
                state: game.state,
                cast: cast.iter().map(|bot| bot.as_ref().map(|b| b.bot)).collect(),
                rngs: rngs.iter().map(|rng| rng.0.clone()).collect(),
            });
        }
        Ok(Self {
            tables,
            waiting: Vec::new(),
            threads,
        })
    }

    /// Plays until all tables wait or are over; returns the waiting tables and the seats to move,
    /// both `[n]`, observations `[n, 1338]` and masks of the legal actions `[n, 66]`.
    fn ask<'py>(&mut self, py: Python<'py>) -> PyResult<Asked<'py>> {
        let (tables, threads) = (&mut self.tables, self.threads);
        py.detach(|| advance(tables, threads));
        let waits = |index: &usize| !self.tables[*index].is_over();
        self.waiting = (0..self.tables.len()).filter(waits).collect();
        let n = self.waiting.len();
        let mut observations = vec![0.0; n * OBSERVATION_LEN];
        let mut legal = vec![false; n * NUM_ACTIONS];
        let mut actions: Vec<Action> = Vec::new();
        for (row, &table) in self.waiting.iter().enumerate() {
            let state = &self.tables[table].state;
            state.encode(&mut observations[row * OBSERVATION_LEN..][..OBSERVATION_LEN]);
            let Ok(_) = state.turn(&mut actions);
            for &action in &actions {
                legal[row * NUM_ACTIONS + action as usize] = true;
            }
        }
        let waiting = self.waiting.iter().map(|&table| table as i64).collect();
        let seat = |&table: &usize| i64::from(self.tables[table].state.to_play());
        let seats = self.waiting.iter().map(seat).collect();
        Ok((
            PyArray1::from_vec(py, waiting),
            PyArray1::from_vec(py, seats),
            PyArray1::from_vec(py, observations).reshape([n, OBSERVATION_LEN])?,
            PyArray1::from_vec(py, legal).reshape([n, NUM_ACTIONS])?,
        ))
    }

    /// The hands at the waiting tables, `[n, 8, 52]`, starting with the seat to move: hidden
    /// information.
    fn hands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let n = self.waiting.len();
        let mut cells = vec![0; n * HANDS_LEN];
        for (&table, own) in self.waiting.iter().zip(cells.chunks_exact_mut(HANDS_LEN)) {
            self.tables[table].state.encode_hands(own);
        }
        PyArray1::from_vec(py, cells).reshape([n, 8, 52])
    }

    /// Applies the actions `[n]` of the waiting seats.
    fn tell(&mut self, actions: Vec<Action>) -> PyResult<()> {
        let mut legal = Vec::new();
        if actions.len() != self.waiting.len() {
            return Err(PyValueError::new_err(format!(
                "BlobTables: {} actions for {} waiting tables.",
                actions.len(),
                self.waiting.len()
            )));
        }
        for (&table, &action) in self.waiting.iter().zip(&actions) {
            let Ok(_) = self.tables[table].state.turn(&mut legal);
            if !legal.contains(&action) {
                return Err(PyValueError::new_err(format!(
                    "BlobTables: action {action} is not legal at table {table}."
                )));
            }
        }
        for (&table, &action) in self.waiting.iter().zip(&actions) {
            self.tables[table].state.take(action);
        }
        self.waiting.clear();
        Ok(())
    }

    /// The points of a table's round, by seat.
    fn points(&self, table: usize) -> Vec<i16> {
        self.tables[table].state.last_points().to_vec()
    }

    /// Bids and tricks of a table, by seat.
    fn bids_and_tricks(&self, table: usize) -> (Vec<u8>, Vec<u8>) {
        let state = &self.tables[table].state;
        let seats = 0..state.num_players() as u8;
        (
            seats
                .clone()
                .map(|seat| state.bid_of(seat).unwrap_or_default())
                .collect(),
            seats.map(|seat| state.tricks_of(seat)).collect(),
        )
    }

    fn __len__(&self) -> usize {
        self.tables.len()
    }
}
