//! `sylvan._native.LatentState`: the root of a search over a learned model.

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sylvan_core::{Action, Seat};
use sylvan_core::{Latent, Model};

use crate::bridge::{Bridge, object_from};

/// A root: the seat to move and its legal actions.
#[pyclass(subclass, name = "LatentState", module = "sylvan._native")]
#[derive(Clone)]
pub struct PyLatent {
    state: Latent,
}

#[pymethods]
impl PyLatent {
    #[new]
    #[pyo3(signature = (num_players, num_actions, legal_actions, seat=0, *,
                        zero_sum=false, value_range=(f64::NEG_INFINITY, f64::INFINITY),
                        whole=false))]
    fn new(
        num_players: usize,
        num_actions: usize,
        legal_actions: Vec<Action>,
        seat: Seat,
        zero_sum: bool,
        value_range: (f64, f64),
        whole: bool,
    ) -> PyResult<Self> {
        let known = |&action: &Action| (action as usize) < num_actions;
        if legal_actions.is_empty() || !legal_actions.iter().all(known) {
            return Err(PyValueError::new_err(format!(
                "legal_actions must be some of 0 to {}.",
                num_actions.saturating_sub(1)
            )));
        }
        if !(1..=sylvan_core::MAX_SEATS).contains(&num_players) || usize::from(seat) >= num_players
        {
            return Err(PyValueError::new_err(format!(
                "seat {seat} of {num_players}: a model has 1 to 8 seats, counted from 0."
            )));
        }
        let model = Model {
            num_players,
            num_actions,
            zero_sum: zero_sum && num_players == 2,
            value_range,
            whole,
        };
        Ok(Self {
            state: Latent::new(model, seat, legal_actions.into()),
        })
    }

    #[getter]
    fn num_players(&self) -> usize {
        self.state.model().num_players
    }

    #[getter]
    fn num_actions(&self) -> usize {
        self.state.model().num_actions
    }

    #[getter]
    fn zero_sum(&self) -> bool {
        self.state.model().zero_sum
    }

    #[getter]
    fn value_range(&self) -> (f64, f64) {
        self.state.model().value_range
    }

    /// The legal actions of a root; below the root, all actions.
    fn legal_actions(&self) -> Vec<Action> {
        self.state.legal()
    }

    fn apply(&mut self, action: Action) {
        self.state.step(action);
    }

    fn clone<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        object(&slf.get_type(), slf.borrow().state.clone())
    }

    fn to_play(&self) -> Seat {
        self.state.seat()
    }

    /// Always False: a model does not predict the end of a game.
    fn is_terminal(&self) -> bool {
        false
    }

    fn returns(&self) -> Vec<f64> {
        vec![0.0; self.num_players()]
    }

    /// An empty array: the model stores the hidden states.
    fn observation<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_vec(py, Vec::new())
    }
}

/// A state as an object of `class`, created with minimal arguments.
fn object<'py>(class: &Bound<'py, PyType>, state: Latent) -> PyResult<Bound<'py, PyAny>> {
    object_from(class, (class, 1, 1, [0]), PyLatent { state })
}

impl Bridge for Latent {
    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(object.cast::<PyLatent>()?.borrow().state.clone())
    }

    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        object(&like.get_type(), self.clone())
    }

    fn another_root(&self, seat: Seat, legal: Option<&[bool]>) -> Option<Self> {
        Some(self.root(seat, legal))
    }

    fn last_step(&self) -> (u32, Action, u32) {
        (self.parent, self.action, self.slot)
    }
}
