//! `sylvan._native.remake_positions`: rebuilds positions of stored games as arrays.

use std::convert::Infallible;

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sylvan_core::Game;
use sylvan_core::remake::{Arrays, Row, remake};
use sylvan_games::blob::Blob;
use sylvan_games::chess::Chess;
use sylvan_games::connect_four::ConnectFour;
use sylvan_games::tic_tac_toe::TicTacToe;

use crate::bridge::Bridge;

use super::blob::PyBlob;
use super::chess::PyChess;
use super::connect_four::PyConnectFour;

pyo3::import_exception!(sylvan.errors, IllegalAction);

/// Observations, policies and masks.
type Made<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The arrays of a batch from Python; n rows.
struct Given<'py> {
    /// `[n]` the index of each row's start state.
    origin: PyReadonlyArray1<'py, i64>,
    actions: Ragged<'py, u16>,
    target: Ragged<'py, u16>,
    policy: PyReadonlyArray1<'py, u16>,
}

/// Parts of one flat array, one per row: `begin[i]..end[i]`.
struct Ragged<'py, T: Element> {
    flat: PyReadonlyArray1<'py, T>,
    begin: PyReadonlyArray1<'py, i64>,
    end: PyReadonlyArray1<'py, i64>,
}

/// Rebuilds positions from start states and actions, as a batch.
///
/// Row i starts from `starts[origin[i]]` and plays `actions[begin[i]:end[i]]`; its policy target is
/// proportional to `policy[target_begin[i]:target_end[i]]`, for the same part of `target`. Returns
/// observations `[n, ...]`, policies and masks of legal actions, both `[n, num_logits]`.
#[pyfunction]
#[pyo3(signature = (
    starts, origin, actions, begin, end, target, policy, target_begin, target_end, threads=1
))]
#[expect(clippy::too_many_arguments, reason = "they are the columns of a table")]
pub fn remake_positions<'py>(
    py: Python<'py>,
    starts: Vec<Bound<'py, PyAny>>,
    origin: PyReadonlyArray1<'py, i64>,
    actions: PyReadonlyArray1<'py, u16>,
    begin: PyReadonlyArray1<'py, i64>,
    end: PyReadonlyArray1<'py, i64>,
    target: PyReadonlyArray1<'py, u16>,
    policy: PyReadonlyArray1<'py, u16>,
    target_begin: PyReadonlyArray1<'py, i64>,
    target_end: PyReadonlyArray1<'py, i64>,
    threads: usize,
) -> PyResult<Made<'py>> {
    let given = Given {
        origin,
        actions: Ragged {
            flat: actions,
            begin,
            end,
        },
        target: Ragged {
            flat: target,
            begin: target_begin,
            end: target_end,
        },
        policy,
    };
    if starts.iter().all(|start| start.is_instance_of::<PyChess>()) {
        let logits = |state: &Chess| state.encoding().codec.num_logits();
        return made::<Chess>(py, &starts, &given, threads, logits, Chess::logit_index);
    }
    let width = |rules: sylvan_core::Rules| rules.num_actions;
    if starts
        .iter()
        .all(|start| start.is_instance_of::<PyConnectFour>())
    {
        let logits = |state: &ConnectFour| width(state.rules());
        return made::<ConnectFour>(py, &starts, &given, threads, logits, |_, action| action);
    }
    if starts.iter().all(|start| start.is_instance_of::<PyBlob>()) {
        let logits = |state: &Blob| width(state.rules());
        return made::<Blob>(py, &starts, &given, threads, logits, |_, action| action);
    }
    let logits = |state: &TicTacToe| width(state.rules());
    made::<TicTacToe>(py, &starts, &given, threads, logits, |_, action| action)
}

fn made<'py, G>(
    py: Python<'py>,
    starts: &[Bound<'py, PyAny>],
    given: &Given<'py>,
    threads: usize,
    num_logits: impl Fn(&G) -> usize,
    logit: impl Fn(&G, u32) -> u32 + Send + Sync,
) -> PyResult<Made<'py>>
where
    G: Bridge + Game<Error = Infallible, Cell: Element>,
{
    let starts = starts.iter().map(G::from_python);
    let starts = starts.collect::<PyResult<Vec<G>>>()?;
    let first = starts.first().ok_or_else(|| misfit("starts is empty"))?;
    let rows = given.rows(&starts)?;
    let (shape, logits) = (first.rules().observation_shape, num_logits(first));
    let cells: usize = shape.iter().product();
    let alike = |start: &G| start.rules().observation_shape == shape && num_logits(start) == logits;
    if !starts.iter().all(alike) {
        return Err(misfit(
            "starts must have equal observation shapes and numbers of logits",
        ));
    }
    let mut observations = vec![G::Cell::default(); rows.len() * cells];
    let mut policy = vec![0.0_f32; rows.len() * logits];
    let mut legal = vec![false; rows.len() * logits];
    let arrays = Arrays {
        observations: &mut observations,
        policy: &mut policy,
        legal: &mut legal,
    };
    let outcome = py.detach(|| remake(&rows, logit, arrays, threads));
    outcome.map_err(|misfit| {
        IllegalAction::new_err(format!(
            "action {} of the policy target in row {} is not legal after {} actions: these are \
             moves of another game",
            misfit.action,
            misfit.row,
            rows[misfit.row].actions.len(),
        ))
    })?;
    let count = rows.len();
    let shape: Vec<usize> = [count].into_iter().chain(shape).collect();
    Ok((
        PyArray1::from_vec(py, observations)
            .reshape(shape)?
            .into_any(),
        PyArray1::from_vec(py, policy)
            .reshape([count, logits])?
            .into_any(),
        PyArray1::from_vec(py, legal)
            .reshape([count, logits])?
            .into_any(),
    ))
}

impl Given<'_> {
    fn rows<'a, G>(&'a self, starts: &'a [G]) -> PyResult<Vec<Row<'a, G>>> {
        let (origin, policy) = (self.origin.as_slice()?, self.policy.as_slice()?);
        let actions = self.actions.parts(origin.len())?;
        let target = self.target.parts(origin.len())?;
        let policy = self.target.parts_of(policy, origin.len())?;
        let parts = origin.iter().zip(actions).zip(target).zip(policy);
        parts
            .map(|(((&origin, actions), target), policy)| {
                let start = usize::try_from(origin).ok().and_then(|i| starts.get(i));
                Ok(Row {
                    start: start.ok_or_else(|| misfit("an origin is not an index of starts"))?,
                    actions,
                    target,
                    policy,
                })
            })
            .collect()
    }
}

impl<T: Element> Ragged<'_, T> {
    fn parts(&self, count: usize) -> PyResult<Vec<&[T]>> {
        self.parts_of(self.flat.as_slice()?, count)
    }

    /// The same parts of another array.
    fn parts_of<'a, U>(&self, flat: &'a [U], count: usize) -> PyResult<Vec<&'a [U]>> {
        let (begin, end) = (self.begin.as_slice()?, self.end.as_slice()?);
        if begin.len() != count || end.len() != count {
            return Err(misfit("begin and end must have one entry per row"));
        }
        let part = |(&begin, &end): (&i64, &i64)| {
            let range = usize::try_from(begin).ok()?..usize::try_from(end).ok()?;
            flat.get(range)
        };
        let parts = begin.iter().zip(end).map(part).collect::<Option<Vec<_>>>();
        parts.ok_or_else(|| misfit("begin or end is outside its array"))
    }
}

fn misfit(what: &str) -> PyErr {
    PyValueError::new_err(format!("remake_positions: {what}."))
}
