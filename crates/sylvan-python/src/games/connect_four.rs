//! `sylvan._native.ConnectFour` and its solver.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyType};
use sylvan_core::Game;
use sylvan_games::connect_four::solver::{Solution, Solver, Stopped};
use sylvan_games::connect_four::{ConnectFour, ConnectFourError, Size, parse_column};

use super::{listed, not_a_code};
use crate::bridge::{Bridge, object_of};

pyo3::import_exception!(sylvan.errors, ConfigError);
pyo3::import_exception!(sylvan.errors, GameOver);
pyo3::import_exception!(sylvan.errors, IllegalAction);
pyo3::import_exception!(sylvan.errors, IllegalPosition);
pyo3::import_exception!(sylvan.errors, SearchStateError);
pyo3::import_exception!(sylvan.errors, SolveTimeout);

#[pyclass(subclass, name = "ConnectFour", module = "sylvan._native")]
#[derive(Clone)]
pub struct PyConnectFour {
    pub state: ConnectFour,
}

impl PyConnectFour {
    /// A column from Python; it may not exist.
    fn column(&self, action: &Bound<'_, PyAny>) -> PyResult<usize> {
        action.extract().map_err(|error: PyErr| {
            if !error.is_instance_of::<PyOverflowError>(action.py()) {
                return not_a_code(action);
            }
            let last = self.columns() - 1;
            IllegalAction::new_err(format!(
                "there is no column {action}: the actions of this board are 0 to {last}"
            ))
        })
    }

    /// Returns an error for written columns unless `column` can be played.
    fn check(&self, column: usize) -> PyResult<()> {
        let played = self.state.clone().play(column);
        played.map_err(|error| raise(error.as_written()))
    }
}

#[pymethods]
impl PyConnectFour {
    #[new]
    #[pyo3(signature = (moves=None, *, columns=7, rows=6))]
    fn new(moves: Option<&Bound<'_, PyAny>>, columns: i64, rows: i64) -> PyResult<Self> {
        let size = size(columns, rows)?;
        let empty = Self {
            state: ConnectFour::empty(size),
        };
        let Some(moves) = moves else {
            return Ok(empty);
        };
        let state = match moves.cast::<PyString>() {
            Ok(text) => ConnectFour::from_moves(&text.to_cow()?, size),
            Err(_) => {
                let columns = listed(moves, "moves")?.map(|action| empty.column(&action?));
                ConnectFour::from_columns(columns.collect::<PyResult<Vec<usize>>>()?, size)
            }
        };
        Ok(Self {
            state: state.map_err(raise)?,
        })
    }

    /// Parses the board from its rows, the top one first: x, o and dots, with / between rows.
    #[classmethod]
    fn from_rows<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let state = ConnectFour::from_rows(text).map_err(raise)?;
        object_of(class, Self { state })
    }

    fn to_rows(&self) -> String {
        self.state.rows()
    }

    #[getter]
    fn columns(&self) -> usize {
        self.state.size().columns()
    }

    #[getter]
    fn rows(&self) -> usize {
        self.state.size().rows()
    }

    /// The number of stones on the board, equal to the number of moves played.
    #[getter]
    fn stones(&self) -> usize {
        self.state.stones()
    }

    #[getter]
    fn num_actions(&self) -> usize {
        self.columns()
    }

    #[getter]
    fn max_length(&self) -> usize {
        self.state.size().cells()
    }

    fn legal_actions(&self) -> Vec<usize> {
        self.state.open_columns().collect()
    }

    fn apply(&mut self, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let column = self.column(action)?;
        self.state.play(column).map_err(raise)
    }

    fn clone<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        object_of(&slf.get_type(), Clone::clone(&*slf.borrow()))
    }

    fn to_play(&self) -> u8 {
        self.state.to_play()
    }

    fn is_terminal(&self) -> bool {
        self.state.is_terminal()
    }

    fn returns(&self) -> (f64, f64) {
        let mut out = [0.0; 2];
        let Ok(()) = self.state.returns(&mut out);
        out.into()
    }

    fn observation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let mut planes = vec![0.0; 2 * self.state.size().cells()];
        let Ok(()) = self.state.observe(&mut planes);
        PyArray1::from_vec(py, planes).reshape([2, self.rows(), self.columns()])
    }

    /// Columns, rows and the exact key of the position, 10 bytes.
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut key = [0; 10];
        key[0] = self.columns() as u8;
        key[1] = self.rows() as u8;
        key[2..].copy_from_slice(&self.state.exact_key().to_le_bytes());
        PyBytes::new(py, &key)
    }

    fn action_to_string(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let (column, columns) = (self.column(action)?, self.columns());
        if column >= columns {
            return Err(raise(ConnectFourError::NoSuchColumn { column, columns }));
        }
        Ok((column + 1).to_string())
    }

    fn string_to_action(&self, text: &str) -> PyResult<usize> {
        let column = parse_column(text, self.state.size()).map_err(raise)?;
        self.check(column)?;
        Ok(column)
    }

    /// The seat whose stone is in a column and row, both from 0, the row from the bottom; or None.
    fn stone(&self, column: usize, row: usize) -> Option<u8> {
        self.state.stone(column, row)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.borrow().state == self.state)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::clone(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::clone(slf)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((
            slf.get_type().getattr("from_rows")?,
            (slf.borrow().to_rows(),),
        ))
    }
}

fn size(columns: i64, rows: i64) -> PyResult<Size> {
    match (usize::try_from(columns), usize::try_from(rows)) {
        (Ok(columns), Ok(rows)) => Size::new(columns, rows).map_err(raise),
        _ => Err(ConfigError::new_err(format!(
            "columns is {columns} and rows is {rows}: both must be at least 1"
        ))),
    }
}

fn raise(error: ConnectFourError) -> PyErr {
    let message = error.to_string();
    let mut cause = &error;
    while let ConnectFourError::Moves { reason, .. } = cause {
        cause = reason;
    }
    match cause {
        ConnectFourError::Size { .. } => ConfigError::new_err(message),
        ConnectFourError::GameOver => GameOver::new_err(message),
        ConnectFourError::Position { .. } => IllegalPosition::new_err(message),
        _ => IllegalAction::new_err(message),
    }
}

impl Bridge for ConnectFour {
    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(object.cast::<PyConnectFour>()?.borrow().state)
    }

    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        object_of(&like.get_type(), PyConnectFour { state: *self })
    }
}

/// The interval between checks for signals.
const SLICE: Duration = Duration::from_millis(20);

#[pyclass(frozen, name = "ConnectFourSolver", module = "sylvan._native")]
pub struct PySolver {
    solver: Mutex<Solver>,
}

#[pymethods]
impl PySolver {
    #[new]
    fn new(megabytes: i64) -> PyResult<Self> {
        if !(1..=1 << 20).contains(&megabytes) {
            return Err(ConfigError::new_err(format!(
                "megabytes is {megabytes}: give 1 to 1048576"
            )));
        }
        Ok(Self {
            solver: Mutex::new(Solver::new((megabytes as usize) << 20)),
        })
    }

    /// (score, outcome, plies, best columns, score or None per column, positions searched).
    #[pyo3(signature = (game, timeout=None))]
    #[allow(clippy::type_complexity)]
    fn solve(
        &self,
        py: Python<'_>,
        game: &Bound<'_, PyConnectFour>,
        timeout: Option<f64>,
    ) -> PyResult<(i32, i32, usize, Vec<usize>, Vec<Option<i32>>, u64)> {
        let mut solver = self.solver.try_lock().map_err(|_| {
            SearchStateError::new_err("the solver is in use by another thread: use one per thread")
        })?;
        let (state, deadline) = (game.borrow().state, deadline(timeout)?);
        let before = solver.nodes();
        let solver = &mut *solver;
        let solution = py.detach(|| watched(solver, &state, deadline))?;
        let best = solution.best().collect();
        let nodes = solver.nodes() - before;
        Ok((
            solution.score,
            solution.outcome(),
            solution.plies,
            best,
            solution.moves,
            nodes,
        ))
    }
}

/// The deadline of a timeout, if any.
fn deadline(timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = timeout else {
        return Ok(None);
    };
    if seconds.is_nan() || seconds < 0.0 {
        let message = format!("timeout is {seconds}: give seconds, at least 0, or None");
        return Err(ConfigError::new_err(message));
    }
    let limit = Duration::try_from_secs_f64(seconds).ok();
    Ok(limit.and_then(|limit| Instant::now().checked_add(limit)))
}

/// Solves with the GIL released; takes it regularly to check for Ctrl-C.
fn watched(
    solver: &mut Solver,
    state: &ConnectFour,
    deadline: Option<Instant>,
) -> PyResult<Solution> {
    let mut end = SolveTimeout::new_err("the time ran out before the score was found: give more");
    let mut slice = Instant::now() + SLICE;
    let solution = solver.solve(state, &mut |_| {
        let now = Instant::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return ControlFlow::Break(());
        }
        if now >= slice {
            if let Err(signal) = Python::attach(|py| py.check_signals()) {
                end = signal;
                return ControlFlow::Break(());
            }
            slice = Instant::now() + SLICE;
        }
        ControlFlow::Continue(())
    });
    solution.map_err(|Stopped| end)
}
