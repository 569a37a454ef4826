//! Native evaluators by name.

use std::any::Any;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_core::playouts::{AtRandom, HashRandom, Rollout, Uniform};
use sylvan_core::{Evaluator, Game};

use crate::bridge::Bridge;

pyo3::import_exception!(sylvan.errors, ConfigError);

/// An evaluator of a forest's game `G`, without `G` in its type.
pub struct NativeEvaluator(Box<dyn Any + Send + Sync>);

impl NativeEvaluator {
    pub fn new<G: Game + 'static>(evaluator: Box<dyn Evaluator<G>>) -> Self {
        Self(Box::new(evaluator))
    }

    /// The evaluator, for the game that it was made for.
    pub fn of_game<G: Game + 'static>(&self) -> &dyn Evaluator<G> {
        let evaluator = self.0.downcast_ref::<Box<dyn Evaluator<G>>>();
        evaluator
            .expect("a forest runs evaluators that it built itself")
            .as_ref()
    }
}

/// The evaluators of every game.
pub fn common<G: Bridge>(
    name: &str,
    params: &Bound<'_, PyDict>,
    discount: f64,
) -> PyResult<Box<dyn Evaluator<G>>> {
    let number = |name: &str| params.as_any().get_item(name)?.extract::<u32>();
    match name {
        "uniform" => Ok(Box::new(Uniform)),
        "hash_random" => Ok(Box::new(HashRandom)),
        "rollout" => {
            let (playouts, max_length) = (number("playouts")?, number("max_length")?);
            let policy: String = params.as_any().get_item("policy")?.extract()?;
            if policy == "random" {
                return Ok(Box::new(Rollout {
                    playouts,
                    max_length,
                    discount,
                    policy: AtRandom,
                }));
            }
            let Some(policy) = G::playout(&policy) else {
                return Err(ConfigError::new_err(format!(
                    "There is no playout policy {policy:?} for this game: use \"random\", or a \
                     function of state and rng."
                )));
            };
            Ok(Box::new(Rollout {
                playouts,
                max_length,
                discount,
                policy,
            }))
        }
        _ => Err(ConfigError::new_err(format!(
            "There is no native evaluator {name:?} for this game: use uniform, rollout or hash_random."
        ))),
    }
}
