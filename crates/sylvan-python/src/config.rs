//! Converts a `sylvan.SearchConfig` to the core's `Config`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_core::config::{Config, Dirichlet, Fpu, Limits, Selection, ValueRange};
use sylvan_core::numbers::PriorBits;

/// Reads the dictionary from `SearchConfig.native()`, which has every setting.
pub fn read(dict: &Bound<'_, PyDict>) -> PyResult<Config> {
    check_hidden(dict)?;
    Ok(Config {
        selection: selection(dict)?,
        c_deviation: get(dict, "c_deviation")?,
        usual_deviation: get(dict, "usual_deviation")?,
        fpu: fpu(dict, "fpu")?,
        fpu_root: fpu(dict, "fpu_root")?,
        value_range: value_range(dict)?,
        discount: get(dict, "discount")?,
        noise: get::<bool>(dict, "noise")?.then_some(Dirichlet {
            alpha: get(dict, "dirichlet_alpha")?,
            fraction: get(dict, "dirichlet_fraction")?,
        }),
        forced_playouts: get(dict, "forced_playouts")?,
        temperature: get(dict, "temperature")?,
        proofs: get(dict, "proofs")?,
        transpositions: get(dict, "transpositions")?,
        leaves_in_flight: get(dict, "leaves_in_flight")?,
        collisions: get(dict, "collisions")?,
        top_k: get::<Option<usize>>(dict, "top_k")?.unwrap_or(0),
        widening: get::<Option<f64>>(dict, "widening")?
            .map(|factor| Ok::<_, PyErr>((factor, get(dict, "widening_power")?)))
            .transpose()?,
        horizon: get(dict, "horizon")?,
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
        shortest_win: get(dict, "shortest_win")?,
        lcb: get(dict, "lcb")?,
        policy_temperature: get(dict, "policy_temperature")?,
        prior_floor: get(dict, "prior_floor")?,
        forcing_bonus: get(dict, "forcing_bonus")?,
        stop_early: get(dict, "stop_early")?,
    })
}

pub fn get<'py, T>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    dict.as_any().get_item(name)?.extract().map_err(Into::into)
}

/// The error for a setting with an unknown text.
fn unknown(name: &str, text: &str, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{name} is {text:?}: it must be {allowed}."))
}

/// Python decides how hidden information is treated (which states become roots); the search is the
/// same for all three, so the setting is only checked here.
fn check_hidden(dict: &Bound<'_, PyDict>) -> PyResult<()> {
    match get::<String>(dict, "hidden")?.as_str() {
        "information_set" | "determinised" | "cheating" => Ok(()),
        other => Err(unknown(
            "hidden",
            other,
            "'information_set', 'determinised' or 'cheating'",
        )),
    }
}

fn selection(dict: &Bound<'_, PyDict>) -> PyResult<Selection> {
    match get::<String>(dict, "selection")?.as_str() {
        "puct" => Ok(Selection::Puct {
            c_puct: get(dict, "c_puct")?,
            c_base: get(dict, "c_base")?,
            c_factor: get(dict, "c_factor")?,
        }),
        "uct" => Ok(Selection::Uct {
            c_uct: get(dict, "c_uct")?,
        }),
        "gumbel" => Ok(Selection::Gumbel {
            max_considered: get(dict, "max_considered")?,
            scale: get(dict, "gumbel_scale")?,
            c_visit: get(dict, "c_visit")?,
            c_scale: get(dict, "c_scale")?,
        }),
        other => Err(unknown("selection", other, "'puct', 'uct' or 'gumbel'")),
    }
}

/// First-play urgency: the rule under `name`, its number under `name` with `_number` appended.
fn fpu(dict: &Bound<'_, PyDict>, name: &str) -> PyResult<Fpu> {
    let number = get(dict, &format!("{name}_number"))?;
    match get::<String>(dict, name)?.as_str() {
        "parent" => Ok(Fpu::Parent),
        "reduction" => Ok(Fpu::Reduction(number)),
        "loss" => Ok(Fpu::Loss),
        "value" => Ok(Fpu::Value(number)),
        other => Err(unknown(
            name,
            other,
            "'parent', 'reduction', 'loss' or 'value'",
        )),
    }
}

fn value_range(dict: &Bound<'_, PyDict>) -> PyResult<ValueRange> {
    match get::<String>(dict, "value_range")?.as_str() {
        "tree" => Ok(ValueRange::Tree),
        "siblings" => Ok(ValueRange::Siblings),
        "known" => {
            let (low, high) = get(dict, "value_bounds")?;
            Ok(ValueRange::Known(low, high))
        }
        other => Err(unknown(
            "value_range",
            other,
            "'tree', 'siblings' or 'known'",
        )),
    }
}
