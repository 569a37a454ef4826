//! Rebuilds positions from a start state and the actions played: the learner's input from games
//! stored as moves.
//!
//! Each position is marked as a root, as in the search, so that it lists its legal actions even if
//! a draw could be claimed. Rows are divided among threads; each row depends only on itself.

use std::convert::Infallible;

use crate::contracts::game::{Action, Game};
use crate::search::workers::each;

/// One position and its policy target.
#[derive(Debug)]
pub struct Row<'a, G> {
    pub start: &'a G,
    /// The actions played from `start`.
    pub actions: &'a [u16],
    /// Legal actions of the policy target.
    pub target: &'a [u16],
    /// The weight of each action in `target`, proportional to its probability.
    pub policy: &'a [u16],
}

/// The output arrays of a batch of n rows; `policy` and `legal` must be zero at first.
#[derive(Debug)]
pub struct Arrays<'a, C> {
    /// `[n, cells]`
    pub observations: &'a mut [C],
    /// `[n, logits]` probabilities, at the logits' indices.
    pub policy: &'a mut [f32],
    /// `[n, logits]` mask of legal actions.
    pub legal: &'a mut [bool],
}

/// A policy target contains an illegal action: the actions do not belong to this game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalTarget {
    pub row: usize,
    pub action: u16,
}

/// Rebuilds every row's position; `logit` returns the policy index of a legal action.
pub fn remake<G: Game<Error = Infallible>>(
    rows: &[Row<'_, G>],
    logit: impl Fn(&G, Action) -> Action + Sync,
    arrays: Arrays<'_, G::Cell>,
    threads: usize,
) -> Result<(), IllegalTarget> {
    if rows.is_empty() {
        return Ok(());
    }
    let share = rows.len().div_ceil(threads.clamp(1, rows.len()));
    let (cells, logits) = (
        arrays.observations.len() / rows.len(),
        arrays.policy.len() / rows.len(),
    );
    let mut parts: Vec<_> = rows
        .chunks(share)
        .zip(arrays.observations.chunks_mut(share * cells.max(1)))
        .zip(arrays.policy.chunks_mut(share * logits))
        .zip(arrays.legal.chunks_mut(share * logits))
        .enumerate()
        .map(|(part, (((rows, observations), policy), legal))| {
            let arrays = Arrays {
                observations,
                policy,
                legal,
            };
            (part * share, rows, arrays)
        })
        .collect();
    each(&mut parts, |(first, rows, arrays)| {
        remake_rows(rows, &logit, arrays).map_err(|illegal| IllegalTarget {
            row: illegal.row + *first,
            ..illegal
        })
    })
}

/// The same for the rows of one thread.
fn remake_rows<G: Game<Error = Infallible>>(
    rows: &[Row<'_, G>],
    logit: &impl Fn(&G, Action) -> Action,
    arrays: &mut Arrays<'_, G::Cell>,
) -> Result<(), IllegalTarget> {
    let (cells, logits) = (
        arrays.observations.len() / rows.len(),
        arrays.policy.len() / rows.len(),
    );
    let mut legal = Vec::new();
    let Some(mut state) = rows.first().map(|row| row.start.clone()) else {
        return Ok(());
    };
    for (number, row) in rows.iter().enumerate() {
        state.clone_from(row.start);
        for &action in row.actions {
            let Ok(()) = state.apply(Action::from(action));
        }
        state.set_root();
        let Ok(_) = state.turn(&mut legal);
        let Ok(()) = state.observe(&mut arrays.observations[number * cells..][..cells]);
        let logit_range = number * logits..(number + 1) * logits;
        let (policy, mask) = (
            &mut arrays.policy[logit_range.clone()],
            &mut arrays.legal[logit_range],
        );
        for &action in &legal {
            mask[logit(&state, action) as usize] = true;
        }
        let total: u64 = row.policy.iter().copied().map(u64::from).sum();
        for (&action, &weight) in row.target.iter().zip(row.policy) {
            if !legal.contains(&Action::from(action)) {
                return Err(IllegalTarget {
                    row: number,
                    action,
                });
            }
            let probability = f64::from(weight) / total.max(1) as f64;
            policy[logit(&state, Action::from(action)) as usize] = probability as f32;
        }
    }
    Ok(())
}
