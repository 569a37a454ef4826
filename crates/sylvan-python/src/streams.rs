//! Random choices of many games at once, from the streams of `sylvan_core::seeds`: for games that
//! are not played by actors, because their moves are planned in a learned model.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sylvan_core::{pick_at, seeds};

pyo3::import_exception!(sylvan.errors, ConfigError);

/// The seed of each game's ply: `games` `[n]` are seeds of games, `plies` `[n]` count from their
/// first states.
#[pyfunction]
fn ply_seeds<'py>(
    py: Python<'py>,
    games: PyReadonlyArray1<'_, u64>,
    plies: PyReadonlyArray1<'_, i64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let (games, plies) = (games.as_slice()?, plies.as_slice()?);
    need_equal("games and plies", games.len(), plies.len())?;
    let each = games.iter().zip(plies);
    let found = each.map(|(&game, &ply)| seeds::of_ply(game, ply as usize));
    Ok(PyArray1::from_vec(py, found.collect()))
}

/// `[n]` whether the search of each ply is full, by the seeds of the plies and the share of full
/// searches.
#[pyfunction]
fn full_searches<'py>(
    py: Python<'py>,
    plies: PyReadonlyArray1<'_, u64>,
    share: f64,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let plies = plies.as_slice()?.iter();
    let found = plies.map(|&ply| share >= 1.0 || seeds::full(ply).uniform() < share);
    Ok(PyArray1::from_vec(py, found.collect()))
}

/// `[n]` the index of an edge of each ply, drawn from `policy` at a temperature; -1 where it is 0.
/// Ply i has the edges `offsets[i]..offsets[i + 1]`.
#[pyfunction]
fn drawn_edges<'py>(
    py: Python<'py>,
    offsets: PyReadonlyArray1<'_, i64>,
    policy: PyReadonlyArray1<'_, f32>,
    temperatures: PyReadonlyArray1<'_, f64>,
    plies: PyReadonlyArray1<'_, u64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (offsets, policy) = (offsets.as_slice()?, policy.as_slice()?);
    let (temperatures, plies) = (temperatures.as_slice()?, plies.as_slice()?);
    need_equal("temperatures and plies", temperatures.len(), plies.len())?;
    need_equal("offsets and plies", offsets.len(), plies.len() + 1)?;
    let mut found = Vec::with_capacity(plies.len());
    for (i, edges) in offsets.windows(2).enumerate() {
        let (first, end) = (edges[0] as usize, edges[1] as usize);
        found.push(match temperatures[i] > 0.0 && end > first {
            true => pick_at(
                temperatures[i],
                &policy[first..end],
                &mut seeds::action(plies[i]),
            ) as i64,
            false => -1,
        });
    }
    Ok(PyArray1::from_vec(py, found))
}

fn need_equal(names: &str, one: usize, other: usize) -> PyResult<()> {
    if one == other {
        return Ok(());
    }
    Err(ConfigError::new_err(format!(
        "{names} have {one} and {other} entries: give one per game."
    )))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ply_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(full_searches, module)?)?;
    module.add_function(wrap_pyfunction!(drawn_edges, module)?)
}
