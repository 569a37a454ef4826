//! `sylvan._native`: the Python bindings of the Rust crates; thin, without logic.

mod numbers; // the core's arithmetic and random numbers
mod config; // a search's settings from Python
mod bridge; // `Bridge`: converts states and observations
mod evaluators; // native evaluators by name
mod games; // the native games as Python classes
mod python_game; // games written in Python
mod policy; // evaluations from Python, checked
mod learned; // outputs of learned models from Python
mod records; // statistics of nodes and edges as Python objects
mod any_forest; // forests of any game behind one trait
mod forest; // the Python class `Forest`
mod any_actors; // actors of any game behind one trait
mod actors; // the Python class `Actors`
mod streams; // random choices of many games at once

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
    let (part, whole) = sylvan_core::TREE_SHARE;
    module.add("TREE_SHARE", part as f64 / whole as f64)?;
    module.add_class::<forest::Forest>()?;
    module.add_class::<records::NodeStats>()?;
    module.add_class::<records::EdgeStats>()?;
    module.add_class::<actors::PyBell>()?;
    module.add_class::<actors::Actors>()?;
    numbers::register(module)?;
    streams::register(module)?;
    games::register(module)
}
