//! `sylvan._native`: the Python face of the Rust crates. Thin; no logic lives here.

use pyo3::prelude::*;

#[pymodule]
fn _native(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
