//! `sylvan._native.Actors`: games of self-play by actors in Rust, one Python class for all games.
//!
//! Python starts a lease, takes batches and answers them, and gets the games as columns. While it
//! waits for the bell that says that a batch is full, the interpreter's lock is free.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sylvan_core::{Action, Bell, Lease, PlayConfig, Resignation, Taken, Verdict};

use crate::any_actors::{AnyActors, AnyBatches, Given};
use crate::{config, games};

pyo3::import_exception!(sylvan.errors, SearchStateError);

/// Wakes the caller when a batch is full or a lease is over.
#[pyclass(frozen, name = "Bell", module = "sylvan._native")]
pub struct PyBell(Arc<Bell>);

#[pymethods]
impl PyBell {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// How often it has rung.
    fn rings(&self) -> u64 {
        self.0.rings()
    }

    /// Waits until it has rung more often than `seen`, at most for `patience` seconds.
    fn wait(&self, py: Python<'_>, seen: u64, patience: f64) {
        let patience = Duration::try_from_secs_f64(patience).unwrap_or_default();
        py.detach(|| self.0.wait(seen, patience));
    }
}

#[pyclass(frozen, module = "sylvan._native")]
pub struct Actors {
    inner: Mutex<Box<dyn AnyActors>>,
    batches: Arc<dyn AnyBatches>,
}

impl Drop for Actors {
    /// Actors of games in Python need the interpreter's lock to end.
    fn drop(&mut self) {
        self.batches.stop();
        let inner = self.inner.get_mut();
        let actors = inner.unwrap_or_else(std::sync::PoisonError::into_inner);
        Python::attach(|py| py.detach(|| actors.join()));
    }
}

impl Actors {
    fn lock(&self) -> PyResult<MutexGuard<'_, Box<dyn AnyActors>>> {
        self.inner.try_lock().map_err(|_| {
            SearchStateError::new_err("The actors are in use by another thread: wait for it.")
        })
    }
}

#[pymethods]
impl Actors {
    /// `room(shape, dtype)` gives arrays for the batches.
    #[new]
    #[pyo3(signature = (first, search, play, *, seed, actors, rows, batches, room, bell))]
    #[expect(clippy::too_many_arguments, reason = "they have names")]
    fn new(
        first: &Bound<'_, PyAny>,
        search: &Bound<'_, PyDict>,
        play: &Bound<'_, PyDict>,
        seed: u64,
        actors: usize,
        rows: usize,
        batches: usize,
        room: &Bound<'_, PyAny>,
        bell: &PyBell,
    ) -> PyResult<Self> {
        let given = Given {
            search: config::read(search)?,
            play: play_config(play)?,
            seed,
            actors: actors.max(1),
            rows: rows.max(1),
            batches: batches.max(1),
            room,
            bell: Arc::clone(&bell.0),
        };
        let actors = games::actors(first, given)?;
        Ok(Self {
            batches: actors.batches(),
            inner: Mutex::new(actors),
        })
    }

    /// Starts to play games `first..first + count`; `positions` are actions that lead to positions
    /// to start from. `evaluator` is the name of a native one, with its parameters; without one,
    /// the caller takes batches and answers them.
    #[pyo3(signature = (first, count, positions, evaluator=None))]
    fn begin(
        &self,
        py: Python<'_>,
        first: u64,
        count: u64,
        positions: Vec<Vec<Action>>,
        evaluator: Option<(String, Bound<'_, PyDict>)>,
    ) -> PyResult<()> {
        let lease = Lease {
            first,
            count,
            positions,
        };
        let named = evaluator.as_ref();
        let named = named.map(|(name, params)| (name.as_str(), params));
        self.lock()?.begin(py, lease, named)
    }

    /// The next full batch: its number, rows and legal actions. None if there is none yet, or none
    /// any more (`is_over`).
    fn take(&self) -> Option<(usize, usize, usize)> {
        match self.batches.take() {
            Taken::Batch(batch) => {
                let (rows, legal) = self.batches.sizes(batch);
                Some((batch, rows, legal))
            }
            Taken::Nothing | Taken::Over => None,
        }
    }

    /// Hands back a batch: its logits and values are written.
    fn answer(&self, py: Python<'_>, batch: usize) -> PyResult<()> {
        if py.detach(|| self.batches.answer(batch)) {
            return Ok(());
        }
        let message = format!("Batch {batch} is not taken: answer each batch from take() once.");
        Err(SearchStateError::new_err(message))
    }

    /// Whether all games are over or given up.
    fn is_over(&self) -> bool {
        self.batches.is_over()
    }

    /// Makes the actors give up their games; from any thread.
    fn stop(&self) {
        self.batches.stop();
    }

    /// Waits until the actors have ended: columns by name, and pairs of the number of a game that
    /// was dropped and its error.
    fn finish(&self, py: Python<'_>) -> PyResult<(Py<PyDict>, Py<PyList>)> {
        self.lock()?.finish(py)
    }

    /// Of the lease so far: games started, games over, positions and simulations.
    fn progress(&self) -> PyResult<(u64, u64, u64, u64)> {
        let now = self.lock()?.progress();
        Ok((now.started, now.games, now.positions, now.simulations))
    }

    /// Batches evaluated in the lease, and rows in them.
    fn evaluated(&self) -> (u64, u64) {
        self.batches.evaluated()
    }

    /// The arrays of every batch, by name.
    fn arrays(&self, py: Python<'_>) -> PyResult<Vec<Py<PyDict>>> {
        Ok(self.lock()?.arrays(py))
    }
}

/// Reads the settings of self-play, in which everything is present.
fn play_config(dict: &Bound<'_, PyDict>) -> PyResult<PlayConfig> {
    Ok(PlayConfig {
        games: config::get(dict, "games")?,
        reuse: config::get(dict, "reuse")?,
        temperature: config::get(dict, "temperature")?,
        temperature_plies: config::get(dict, "temperature_plies")?,
        final_temperature: config::get(dict, "final_temperature")?,
        full_share: config::get(dict, "full_share")?,
        fast_simulations: config::get(dict, "fast_simulations")?,
        opening_share: config::get(dict, "opening_share")?,
        opening_plies: config::get(dict, "opening_plies")?,
        restart_share: config::get(dict, "restart_share")?,
        max_plies: config::get(dict, "max_plies")?,
        verdict: match config::get::<String>(dict, "verdict")?.as_str() {
            "estimate" => Verdict::Estimate,
            _ => Verdict::Draw,
        },
        resignation: match config::get::<Option<f64>>(dict, "resign_below")? {
            None => None,
            Some(below) => Some(Resignation {
                below,
                turns: config::get(dict, "resign_turns")?,
                play_on: config::get(dict, "resign_play_on")?,
            }),
        },
        observations: config::get(dict, "observations")?,
    })
}
