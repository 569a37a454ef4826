//! Actors of all games, and of all ways to store values, behind one trait.

use std::sync::Arc;

use numpy::{Element, IntoPyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use sylvan_core::values::Values;
use sylvan_core::{
    Actors, BatchMemory, Batches, Bell, Config, Entries, Evaluate, Lease, LeaseError,
    ObservationHash, PlayConfig, Progress, Region, Setup, Shape, Taken, shape_of,
};

use crate::any_forest::{ForValues, search_error, with_values};
use crate::bridge::Bridge;

pyo3::import_exception!(sylvan.errors, ConfigError);
pyo3::import_exception!(sylvan.errors, EvaluationError);
pyo3::import_exception!(sylvan.errors, SearchStateError);

/// Arguments of the actors of any game.
pub struct Given<'a, 'py> {
    pub search: Config,
    pub play: PlayConfig,
    pub seed: u64,
    pub actors: usize,
    /// Rows of a batch.
    pub rows: usize,
    /// Batches that may be under way.
    pub batches: usize,
    /// `room(shape, dtype)` gives the memory of batches: an array.
    pub room: &'a Bound<'py, PyAny>,
    pub bell: Arc<Bell>,
}

/// Actors of some game.
pub trait AnyActors: Send {
    fn begin(
        &mut self,
        py: Python<'_>,
        lease: Lease,
        evaluator: Option<(&str, &Bound<'_, PyDict>)>,
    ) -> PyResult<()>;
    /// Waits for the actors; the columns by name, and the games that failed with their errors.
    fn finish(&mut self, py: Python<'_>) -> PyResult<(Py<PyDict>, Py<PyList>)>;
    /// Waits until the threads of a lease that was stopped have ended.
    fn join(&mut self);
    fn progress(&self) -> Progress;
    fn batches(&self) -> Arc<dyn AnyBatches>;
    /// The arrays of each batch, by name.
    fn arrays(&self, py: Python<'_>) -> Vec<Py<PyDict>>;
}

/// The batches of some game.
pub trait AnyBatches: Send + Sync {
    fn take(&self) -> Taken;
    fn sizes(&self, batch: usize) -> (usize, usize);
    fn answer(&self, batch: usize) -> bool;
    fn evaluated(&self) -> (u64, u64);
    fn stop(&self);
    fn is_over(&self) -> bool;
}

impl<C: Copy + Default + Send + Sync + 'static> AnyBatches for Batches<C> {
    fn take(&self) -> Taken {
        Batches::take(self)
    }

    fn sizes(&self, batch: usize) -> (usize, usize) {
        Batches::sizes(self, batch)
    }

    fn answer(&self, batch: usize) -> bool {
        Batches::answer(self, batch)
    }

    fn evaluated(&self) -> (u64, u64) {
        Batches::evaluated(self)
    }

    fn stop(&self) {
        Batches::stop(self);
    }

    fn is_over(&self) -> bool {
        Batches::is_over(self)
    }
}

/// Actors of one game, and the arrays of their batches.
struct ActorsOf<G: Bridge, V: Values> {
    actors: Actors<G, V>,
    arrays: Vec<Py<PyDict>>,
}

impl<G: Bridge, V: Values + 'static> AnyActors for ActorsOf<G, V> {
    fn begin(
        &mut self,
        py: Python<'_>,
        lease: Lease,
        evaluator: Option<(&str, &Bound<'_, PyDict>)>,
    ) -> PyResult<()> {
        let evaluate = match evaluator {
            None => Evaluate::Batches,
            Some(("observation_hash", _)) => Evaluate::Natively(Box::new(ObservationHash)),
            Some((name, params)) => {
                let discount = self.actors.setup().discount();
                Evaluate::Leaves(G::evaluator(name, params, discount)?)
            }
        };
        py.detach(|| self.actors.begin(lease, evaluate))
            .map_err(lease_error)
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<(Py<PyDict>, Py<PyList>)> {
        let played = py.detach(|| self.actors.finish()).map_err(lease_error)?;
        let columns = PyDict::new(py);
        for (name, _, entries) in played.columns.into_entries() {
            let array = match entries {
                Entries::I8(entries) => entries.into_pyarray(py).into_any(),
                Entries::I32(entries) => entries.into_pyarray(py).into_any(),
                Entries::I64(entries) => entries.into_pyarray(py).into_any(),
                Entries::U64(entries) => entries.into_pyarray(py).into_any(),
                Entries::F32(entries) => entries.into_pyarray(py).into_any(),
                Entries::Cells(entries) => entries.into_pyarray(py).into_any(),
            };
            columns.set_item(name, array)?;
        }
        let failures = PyList::empty(py);
        for failure in played.failures {
            let error: PyErr = search_error(failure.error);
            failures.append((failure.number, error))?;
        }
        Ok((columns.unbind(), failures.unbind()))
    }

    fn join(&mut self) {
        self.actors.stop_and_join();
    }

    fn progress(&self) -> Progress {
        self.actors.progress()
    }

    fn batches(&self) -> Arc<dyn AnyBatches> {
        let batches: Arc<Batches<G::Cell>> = Arc::clone(self.actors.batches());
        batches
    }

    fn arrays(&self, py: Python<'_>) -> Vec<Py<PyDict>> {
        self.arrays.iter().map(|dict| dict.clone_ref(py)).collect()
    }
}

fn lease_error<E: Into<PyErr>>(error: LeaseError<E>) -> PyErr {
    match error {
        LeaseError::Game(error) => error.into(),
        LeaseError::BadAnswer(bad) => EvaluationError::new_err(bad.to_string()),
        LeaseError::IllegalPosition { position, ply } => ConfigError::new_err(format!(
            "Action {ply} of positions[{position}] is not legal: give actions that lead from the \
             first state to a position."
        )),
        LeaseError::Busy => SearchStateError::new_err("A lease is being played: finish it first."),
        LeaseError::Idle => SearchStateError::new_err("No lease is being played: begin one first."),
        LeaseError::Stopped => SearchStateError::new_err("The lease was stopped: play it again."),
        LeaseError::NoThread(error) => error.into(),
    }
}

/// Actors whose way to store values is chosen.
struct Parts<G: Bridge> {
    setup: Setup<G>,
    actors: usize,
    shape: Shape,
    memory: Vec<BatchMemory<G::Cell>>,
    arrays: Vec<Py<PyDict>>,
    bell: Arc<Bell>,
}

impl<G: Bridge> ForValues<G> for Parts<G> {
    type Built = Box<dyn AnyActors>;

    fn build<V: Values + 'static>(self) -> Box<dyn AnyActors> {
        Box::new(ActorsOf {
            actors: Actors::<G, V>::new(
                self.setup,
                self.actors,
                self.shape,
                self.memory,
                self.bell,
            ),
            arrays: self.arrays,
        })
    }
}

/// Actors of the game that a Python state belongs to.
pub fn actors_of<G: Bridge>(
    first: &Bound<'_, PyAny>,
    given: Given<'_, '_>,
) -> PyResult<Box<dyn AnyActors>> {
    let discount = given.search.discount;
    let game = G::first_of_actors(first)?;
    let setup = Setup::new(game, given.search, given.play, given.seed).map_err(Into::into)?;
    let shape = shape_of(&setup, given.rows);
    let (mut memory, mut arrays) = (Vec::new(), Vec::new());
    for _ in 0..=given.batches {
        let dict = PyDict::new(first.py());
        let cells = &setup.rules().observation_shape;
        memory.push(batch_memory::<G>(shape, cells, given.room, &dict)?);
        arrays.push(dict.unbind());
    }
    let rules = setup.rules().clone();
    let parts = Parts {
        setup,
        // One thread holds the lock of such a game at a time.
        actors: if G::NEEDS_LOCK { 1 } else { given.actors },
        shape,
        memory,
        arrays,
        bell: given.bell,
    };
    with_values(&rules, discount, parts)
}

/// The memory of a batch in arrays of the caller, which go into `arrays` by name.
fn batch_memory<G: Bridge>(
    shape: Shape,
    cells: &[usize],
    room: &Bound<'_, PyAny>,
    arrays: &Bound<'_, PyDict>,
) -> PyResult<BatchMemory<G::Cell>> {
    let seen: Vec<usize> = [shape.rows]
        .into_iter()
        .chain(cells.iter().copied())
        .collect();
    let (rows, legal) = (shape.rows, shape.legal);
    Ok(BatchMemory {
        observations: region(room, arrays, "observations", &seen)?,
        offsets: region(room, arrays, "offsets", &[rows + 1])?,
        actions: region(room, arrays, "actions", &[legal])?,
        indices: region(room, arrays, "indices", &[legal])?,
        seats: region(room, arrays, "seats", &[rows])?,
        tickets: region(room, arrays, "tickets", &[rows])?,
        logits: region(room, arrays, "logits", &[legal])?,
        values: region(room, arrays, "values", &[rows, shape.seats])?,
    })
}

/// One array from `room`, filled with zeros.
fn region<T: Element + Copy + Default + Send + Sync + 'static>(
    room: &Bound<'_, PyAny>,
    arrays: &Bound<'_, PyDict>,
    name: &str,
    shape: &[usize],
) -> PyResult<Region<T>> {
    let py = room.py();
    let kind = T::get_dtype(py);
    let given = room.call1((PyTuple::new(py, shape)?, kind))?;
    let refused = || PyValueError::new_err(format!("room() must give an array for {name}."));
    let array = given.cast::<PyArrayDyn<T>>().map_err(|_| refused())?;
    if array.shape() != shape || !array.is_c_contiguous() {
        return Err(refused());
    }
    array.try_readwrite()?.as_slice_mut()?.fill(T::default());
    arrays.set_item(name, array)?;
    let (first, len) = (array.data(), array.len());
    let owner: Py<PyAny> = given.clone().unbind();
    // SAFETY: the array has `len` entries of this type, written above. It lives as long as its
    // owner, a reference to it, and NumPy does not move the entries of an array that is referenced.
    // Python sees the arrays of a batch only between `take` and `answer`.
    Ok(unsafe { Region::of(first, len, Box::new(owner)) })
}
