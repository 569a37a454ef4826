//! Checks the evaluations of a batch and applies them to the forest.

use std::borrow::Cow;

use numpy::ndarray::ArrayView2;
use pyo3::prelude::*;
use sylvan_core::Visit;
use sylvan_core::values::Values;
use sylvan_core::{Action, Forest};

use crate::bridge::{Bridge, unlocked};

pyo3::import_exception!(sylvan.errors, EvaluationError);
pyo3::import_exception!(sylvan.errors, GameContractError);

/// Logits of all policy outputs, or of the legal actions of all leaves.
pub enum Policy<'a> {
    All(ArrayView2<'a, f32>),
    Legal(&'a [f32]),
}

/// Applies the evaluations of the batch; `values` has one entry per leaf and seat.
pub fn tell<G: Bridge, V: Values>(
    forest: &mut Forest<G, V>,
    py: Python<'_>,
    policy: Policy<'_>,
    values: &[f32],
) -> PyResult<()> {
    let legal = match policy {
        Policy::All(rows) => Cow::Owned(gathered(forest, &rows)?),
        Policy::Legal(flat) => Cow::Borrowed(flat),
    };
    let mut offsets = vec![0];
    for (i, (tree, visit)) in forest.leaves().enumerate() {
        let (first, end) = (offsets[i], offsets[i] + visit.actions.len());
        check_logits(i, tree, &visit.actions, &legal[first..end])?;
        offsets.push(end);
    }
    let fill = |i: usize, _: &Visit<G>, out: &mut Vec<f32>| {
        out.extend_from_slice(&legal[offsets[i]..offsets[i + 1]]);
    };
    unlocked::<G, _>(py, || forest.update(&fill, values));
    Ok(())
}

/// The logits of legal actions, leaf after leaf, from rows of all outputs.
fn gathered<G: Bridge, V: Values>(
    forest: &Forest<G, V>,
    rows: &ArrayView2<'_, f32>,
) -> PyResult<Vec<f32>> {
    let mut legal = Vec::new();
    for (row, (_, visit)) in rows.rows().into_iter().zip(forest.leaves()) {
        for &action in &visit.actions {
            let index = visit.state.logit_index(action).map_err(Into::into)? as usize;
            let logit = row.get(index).ok_or_else(|| {
                GameContractError::new_err(format!(
                    "The logit of action {action} is at {index}, but num_logits is {}: make \
                     logit_index() and num_logits agree.",
                    row.len()
                ))
            })?;
            legal.push(*logit);
        }
    }
    Ok(legal)
}

pub fn check_logits(leaf: usize, tree: usize, actions: &[Action], logits: &[f32]) -> PyResult<()> {
    let mut finite = false;
    for (action, x) in actions.iter().zip(logits) {
        if x.is_nan() || *x == f32::INFINITY {
            return Err(EvaluationError::new_err(format!(
                "The policy of leaf {leaf} (tree {tree}) has {x} for action {action}: logits are finite or -inf."
            )));
        }
        finite |= x.is_finite();
    }
    if finite {
        return Ok(());
    }
    Err(EvaluationError::new_err(format!(
        "The policy of leaf {leaf} (tree {tree}) has no finite logit among its {} legal actions: give at least one.",
        actions.len()
    )))
}
