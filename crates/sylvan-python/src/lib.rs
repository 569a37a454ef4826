//! `sylvan._native`: the Python bindings of the Rust crates; thin, without logic.

mod numbers; // the core's arithmetic and random numbers
mod config; // a search's settings from Python
mod bridge; // `Bridge`: converts states and observations
mod evaluators; // native evaluators by name
mod games; // the native games as Python classes
mod python_game; // games written in Python
mod policy; // evaluations from Python, checked
mod learned; // outputs of learned models from Python
mod any_forest; // forests of any game behind one trait
mod forest; // the Python class `Forest`
mod any_actors; // actors of any game behind one trait
mod actors; // the Python class `Actors`

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
    module.add_class::<actors::Actors>()?;
    numbers::register(module)?;
    games::register(module)
}
