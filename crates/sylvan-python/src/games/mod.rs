//! The native games as Python classes, and the forests that are made of them.

use pyo3::prelude::*;
use sylvan_core::Config;

use crate::any_forest::{AnyForest, build_from};
use crate::python_game::PythonGame;

/// A forest of the game that these states belong to.
pub fn forest(states: &[Bound<'_, PyAny>], config: Config) -> PyResult<Box<dyn AnyForest>> {
    build_from::<PythonGame>(states, Config { threads: 1, ..config })
}

pub fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
