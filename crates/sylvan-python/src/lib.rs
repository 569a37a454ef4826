//! `sylvan._native`: the Python face of the Rust crates. Thin; no logic lives here.

mod any_forest;
mod bridge;
mod config;
mod evaluators;
mod forest;
mod games;
mod learned;
mod numbers;
mod policy;
mod python_game;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    module.add("BUILD_PROFILE", profile)?;
    module.add_class::<forest::Forest>()?;
    numbers::register(module)?;
    games::register(module)
}
