//! A `sylvan.SearchConfig` as the core wants it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_core::config::{Config, Dirichlet, Fpu, Limits, Selection, ValueRange};
use sylvan_core::numbers::PriorBits;

/// Reads the dictionary that `SearchConfig.native()` makes, in which everything is present.
pub fn read(dict: &Bound<'_, PyDict>) -> PyResult<Config> {
    Ok(Config {
        selection: selection(dict)?,
        fpu: fpu(&get::<String>(dict, "fpu")?, get(dict, "fpu_number")?),
        fpu_root: fpu(
            &get::<String>(dict, "fpu_root")?,
            get(dict, "fpu_root_number")?,
        ),
        value_range: value_range(dict)?,
        discount: get(dict, "discount")?,
        noise: get::<bool>(dict, "noise")?.then_some(Dirichlet {
            alpha: get(dict, "dirichlet_alpha")?,
            fraction: get(dict, "dirichlet_fraction")?,
        }),
        forced_playouts: get(dict, "forced_playouts")?,
        temperature: get(dict, "temperature")?,
        proofs: get(dict, "proofs")?,
        leaves_in_flight: get(dict, "leaves_in_flight")?,
        collisions: get(dict, "collisions")?,
        top_k: get::<Option<usize>>(dict, "top_k")?.unwrap_or(0),
        widening: get::<Option<f64>>(dict, "widening")?
            .map(|factor| Ok::<_, PyErr>((factor, get(dict, "widening_power")?)))
            .transpose()?,
        rave: get(dict, "rave")?,
        flat_priors: get(dict, "flat_priors")?,
        stop_at_new_views: get(dict, "stop_at_new_views")?,
        prior_bits: PriorBits::new(get(dict, "prior_bits")?)
            .ok_or_else(|| PyValueError::new_err("prior_bits must be 8, 16 or 32."))?,
        seed: get(dict, "seed")?,
        threads: get(dict, "threads")?,
        limits: Limits {
            simulations: get(dict, "simulations")?,
            nodes: get(dict, "nodes")?,
            depth: get(dict, "depth")?,
            seconds: get(dict, "seconds")?,
            bytes: get(dict, "bytes")?,
        },
    })
}

fn get<'py, T>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    dict.as_any().get_item(name)?.extract().map_err(Into::into)
}

fn selection(dict: &Bound<'_, PyDict>) -> PyResult<Selection> {
    Ok(match get::<String>(dict, "selection")?.as_str() {
        "uct" => Selection::Uct {
            c_uct: get(dict, "c_uct")?,
        },
        "gumbel" => Selection::Gumbel {
            max_considered: get(dict, "max_considered")?,
            scale: get(dict, "gumbel_scale")?,
            c_visit: get(dict, "c_visit")?,
            c_scale: get(dict, "c_scale")?,
        },
        _ => Selection::Puct {
            c_puct: get(dict, "c_puct")?,
            c_base: get(dict, "c_base")?,
            c_factor: get(dict, "c_factor")?,
        },
    })
}

fn fpu(rule: &str, number: f32) -> Fpu {
    match rule {
        "parent" => Fpu::Parent,
        "reduction" => Fpu::Reduction(number),
        "loss" => Fpu::Loss,
        _ => Fpu::Value(number),
    }
}

fn value_range(dict: &Bound<'_, PyDict>) -> PyResult<ValueRange> {
    Ok(match get::<String>(dict, "value_range")?.as_str() {
        "tree" => ValueRange::Tree,
        "siblings" => ValueRange::Siblings,
        _ => {
            let (low, high) = get(dict, "value_bounds")?;
            ValueRange::Known(low, high)
        }
    })
}
