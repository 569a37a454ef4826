//! The output of a learned model for a batch, from Python, and the next steps to evaluate.

use numpy::{PyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use sylvan_core::values::Values;
use sylvan_core::{Forest, Timing};
use sylvan_core::{ModelOutput, SeatArray, StepError};

use crate::any_forest::search_error;
use crate::bridge::{Bridge, unlocked};
use crate::policy::check_logits;

pyo3::import_exception!(sylvan.errors, EvaluationError);

/// Logits `[B, K]`, their actions `[B, K]` (`None` for all actions), values and rewards `[B]` or
/// `[B, S]`, and whether the latter start with the mover. The caller has checked the shapes.
#[derive(FromPyObject)]
pub struct Answer<'py>(
    PyReadonlyArray2<'py, f32>,
    Option<PyReadonlyArray2<'py, i64>>,
    PyReadonlyArrayDyn<'py, f32>,
    PyReadonlyArrayDyn<'py, f32>,
    bool,
);

impl Answer<'_> {
    /// The number of leaves.
    pub fn len(&self) -> usize {
        self.0.shape()[0]
    }
}

/// Applies a model's output, if there is one, and selects the next leaves.
pub fn step<G: Bridge, V: Values>(
    forest: &mut Forest<G, V>,
    py: Python<'_>,
    answer: Option<&Answer<'_>>,
    timing: &Timing,
) -> PyResult<()> {
    let output = match answer {
        None => None,
        Some(Answer(policy, actions, values, rewards, relative)) => Some(ModelOutput {
            policy: policy.as_slice()?,
            width: policy.shape()[1],
            actions: actions
                .as_ref()
                .map(|actions| actions.as_slice())
                .transpose()?,
            values: numbers(values, *relative)?,
            rewards: numbers(rewards, *relative)?,
        }),
    };
    let stepped = unlocked::<G, _>(py, || forest.step(output.as_ref(), timing));
    stepped.map_err(|error| match (error, output) {
        (StepError::Search(error), _) => search_error(error),
        (StepError::Policy { leaf, tree }, Some(output)) => {
            let row = leaf * output.width..(leaf + 1) * output.width;
            let names: Vec<u32> = match output.actions {
                Some(actions) => actions[row.clone()].iter().map(|&a| a as u32).collect(),
                None => (0..output.width as u32).collect(),
            };
            let wrong = check_logits(leaf, tree, &names, &output.policy[row]).err();
            wrong.unwrap_or_else(|| {
                EvaluationError::new_err(format!(
                    "The policy of leaf {leaf} (tree {tree}) has no finite logit among its legal \
                     actions: give at least one."
                ))
            })
        }
        (StepError::Number { leaf } | StepError::Policy { leaf, .. }, output) => {
            let found = output.and_then(|output| not_finite(&output, leaf));
            EvaluationError::new_err(format!(
                "The model gave {} for position {leaf} of its batch: give finite values and \
                 rewards.",
                found.unwrap_or(f32::NAN)
            ))
        }
    })
}

fn numbers<'a>(array: &'a PyReadonlyArrayDyn<'_, f32>, relative: bool) -> PyResult<SeatArray<'a>> {
    let numbers = array.as_slice()?;
    Ok(match (array.ndim(), relative) {
        (1, _) => SeatArray::Mover(numbers),
        (_, false) => SeatArray::Seats(numbers),
        (_, true) => SeatArray::FromMover(numbers),
    })
}

/// The first value or reward of a leaf that is not finite.
fn not_finite(output: &ModelOutput<'_>, leaf: usize) -> Option<f32> {
    let of = |numbers: SeatArray<'_>| {
        let (all, each) = match numbers {
            SeatArray::Mover(all) => (all, 1),
            SeatArray::Seats(all) | SeatArray::FromMover(all) => {
                (all, all.len() * output.width / output.policy.len().max(1))
            }
        };
        let mut found = all[leaf * each..][..each].iter().copied();
        found.find(|x| !x.is_finite())
    };
    of(output.values).or_else(|| of(output.rewards))
}

/// For each leaf: the row of its parent's hidden state, the action, and the row for its own state;
/// a tree has `stride` rows.
pub fn steps<G: Bridge, V: Values>(
    forest: &Forest<G, V>,
    py: Python<'_>,
    stride: usize,
) -> PyResult<Py<PyAny>> {
    let room = forest.num_leaves();
    let (mut parents, mut rows) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let mut actions = Vec::with_capacity(room);
    for (tree, visit) in forest.leaves() {
        let (parent, action, slot) = visit.state.last_step();
        let base = (tree * stride) as i64;
        parents.push(base + i64::from(parent));
        actions.push(i64::from(action));
        rows.push(base + i64::from(slot));
    }
    (
        PyArray1::from_vec(py, parents),
        PyArray1::from_vec(py, actions),
        PyArray1::from_vec(py, rows),
    )
        .into_py_any(py)
}
