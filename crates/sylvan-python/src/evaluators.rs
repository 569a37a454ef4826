//! Native evaluators by name.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_core::playouts::{HashRandom, Rollout, Uniform};
use sylvan_core::{Evaluator, Game};

pyo3::import_exception!(sylvan.errors, ConfigError);

/// The evaluators that fit every game.
pub fn common<G: Game>(
    name: &str,
    params: &Bound<'_, PyDict>,
    discount: f64,
) -> PyResult<Box<dyn Evaluator<G>>> {
    let number = |name: &str| params.as_any().get_item(name)?.extract::<u32>();
    match name {
        "uniform" => Ok(Box::new(Uniform)),
        "hash_random" => Ok(Box::new(HashRandom)),
        "rollout" => Ok(Box::new(Rollout {
            playouts: number("playouts")?,
            max_length: number("max_length")?,
            discount,
        })),
        _ => Err(ConfigError::new_err(format!(
            "There is no native evaluator {name:?} for this game: use uniform, rollout or hash_random."
        ))),
    }
}
