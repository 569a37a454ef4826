//! `sylvan._native.TicTacToe`.

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use sylvan_core::Game;
use sylvan_games::tic_tac_toe::{TicTacToe, TicTacToeError, parse_cell};

use super::{listed, not_a_code};
use crate::bridge::{Bridge, object_of};

pyo3::import_exception!(sylvan.errors, GameOver);
pyo3::import_exception!(sylvan.errors, IllegalAction);

#[pyclass(subclass, name = "TicTacToe", module = "sylvan._native")]
#[derive(Clone)]
pub struct PyTicTacToe {
    pub state: TicTacToe,
}

/// A cell from Python; it may not exist.
fn cell(action: &Bound<'_, PyAny>) -> PyResult<usize> {
    action.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(action.py()) {
            return not_a_code(action);
        }
        IllegalAction::new_err(format!(
            "there is no cell {action}: the cells are 0 to 8, row by row from the top left"
        ))
    })
}

#[pymethods]
impl PyTicTacToe {
    #[new]
    #[pyo3(signature = (moves=None))]
    fn new(moves: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(moves) = moves else {
            return Ok(Self {
                state: TicTacToe::default(),
            });
        };
        let cells = listed(moves, "moves")?.map(|action| cell(&action?));
        let state = TicTacToe::from_cells(cells.collect::<PyResult<Vec<usize>>>()?);
        Ok(Self {
            state: state.map_err(raise)?,
        })
    }

    fn legal_actions(&self) -> Vec<usize> {
        self.state.free_cells().collect()
    }

    fn apply(&mut self, action: &Bound<'_, PyAny>) -> PyResult<()> {
        self.state.play(cell(action)?).map_err(raise)
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
        let mut planes = vec![0.0; 18];
        let Ok(()) = self.state.observe(&mut planes);
        PyArray1::from_vec(py, planes).reshape([2, 3, 3])
    }

    /// The exact key of the position, 4 bytes.
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state.exact_key().to_le_bytes())
    }

    fn action_to_string(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        match cell(action)? {
            cell @ 0..9 => Ok(cell.to_string()),
            cell => Err(raise(TicTacToeError::NoSuchCell { cell })),
        }
    }

    fn string_to_action(&self, text: &str) -> PyResult<usize> {
        let cell = parse_cell(text).map_err(raise)?;
        self.state.clone().play(cell).map_err(raise)?;
        Ok(cell)
    }

    /// The seat whose mark is in a cell, or None.
    fn mark(&self, cell: usize) -> Option<u8> {
        self.state.mark(cell)
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

    /// The moves of one possible game that leads to this position.
    fn moves(&self) -> Vec<usize> {
        self.state.any_move_order()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Vec<usize>,)) {
        (slf.get_type(), (slf.borrow().moves(),))
    }
}

fn raise(error: TicTacToeError) -> PyErr {
    let message = error.to_string();
    let mut cause = &error;
    while let TicTacToeError::Moves { reason, .. } = cause {
        cause = reason;
    }
    match cause {
        TicTacToeError::GameOver => GameOver::new_err(message),
        _ => IllegalAction::new_err(message),
    }
}

impl Bridge for TicTacToe {
    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(object.cast::<PyTicTacToe>()?.borrow().state)
    }

    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        object_of(&like.get_type(), PyTicTacToe { state: *self })
    }
}
