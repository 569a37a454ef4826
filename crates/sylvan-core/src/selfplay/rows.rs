//! The rows of batches: leaves are written into them, evaluated natively, and their answers checked.

use crate::contracts::game::{Action, Game};
use crate::selfplay::batch_evaluator::{BatchEvaluator, Rows};
use crate::selfplay::batches::{Batches, Reservation};
use crate::selfplay::game_slot::GameSlot;

/// An answer that is not an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadAnswer {
    #[error(
        "The policy of a position of game {game} has {logit} for action {action}: logits are \
         finite or -inf."
    )]
    Logit {
        game: u64,
        action: Action,
        logit: f32,
    },
    #[error(
        "The policy of a position of game {game} has no finite logit among its {actions} legal \
         actions: give at least one."
    )]
    NoLogit { game: u64, actions: usize },
    #[error(
        "The value of a position of game {game} is {value} for seat {seat}: give finite values."
    )]
    Value { game: u64, seat: usize, value: f32 },
}

/// Writes the leaves of some games into their rows; returns the games that raised an error.
pub(crate) fn write<G: Game>(
    slots: &[GameSlot<G>],
    games: &[usize],
    rows: &Reservation,
    batches: &Batches<G::Cell>,
) -> Vec<(usize, G::Error)> {
    let (memory, cells) = (batches.memory(rows.batch), batches.shape().cells);
    let (mut row, mut legal, mut errors) = (rows.row, rows.legal, Vec::new());
    for &game in games {
        for visit in slots[game].leaves.visits() {
            let n = visit.actions.len();
            // SAFETY: these rows and legal actions are reserved for this actor, and the batch goes to
            // the evaluator only after `Batches::written`. Entry `row + 1` of the offsets belongs to
            // row `row`; entry 0 is never written and stays 0.
            let (seen, actions, indices, offset, seat, ticket) = unsafe {
                (
                    memory.observations.part_mut(row * cells, cells),
                    memory.actions.part_mut(legal, n),
                    memory.indices.part_mut(legal, n),
                    memory.offsets.part_mut(row + 1, 1),
                    memory.seats.part_mut(row, 1),
                    memory.tickets.part_mut(row, 1),
                )
            };
            (row, legal) = (row + 1, legal + n);
            (offset[0], seat[0], ticket[0]) = (legal as i64, visit.seat.into(), visit.ticket);
            let mut show = || -> Result<(), G::Error> {
                visit.state.observe(seen)?;
                for (index, &action) in indices.iter_mut().zip(&visit.actions) {
                    *index = visit.state.logit_index(action)? as i32;
                }
                Ok(())
            };
            if let Err(error) = show() {
                errors.push((game, error));
            }
            for (out, &action) in actions.iter_mut().zip(&visit.actions) {
                *out = action as i32;
            }
        }
    }
    errors
}

/// Evaluates a batch if one is full.
pub(crate) fn evaluate_batch<C: Copy + Default + Send + Sync + 'static>(
    evaluator: &dyn BatchEvaluator<C>,
    batches: &Batches<C>,
) -> bool {
    let Some(batch) = batches.take_natively() else {
        return false;
    };
    let ((rows, legal), memory) = (batches.sizes(batch), batches.memory(batch));
    let shape = batches.shape();
    // SAFETY: until `answer`, only the thread that took the batch uses it.
    unsafe {
        let given = Rows {
            observations: memory.observations.part(0, rows * shape.cells),
            offsets: memory.offsets.part(0, rows + 1),
            indices: memory.indices.part(0, legal),
            seats: memory.seats.part(0, rows),
            cells: shape.cells,
        };
        let logits = memory.logits.part_mut(0, legal);
        let values = memory.values.part_mut(0, rows * shape.seats);
        evaluator.evaluate(&given, logits, values);
    }
    batches.answer(batch);
    true
}

/// Checks the answer to one leaf.
pub(crate) fn check(
    game: u64,
    actions: &[Action],
    logits: &[f32],
    values: &[f32],
) -> Result<(), BadAnswer> {
    // Count instead of stopping at the first: then the compiler uses vector instructions.
    let sound: usize = logits.iter().map(|&x| usize::from(x < f32::INFINITY)).sum();
    let finite: usize = logits
        .iter()
        .map(|&x| usize::from(x > f32::NEG_INFINITY))
        .sum();
    if sound < logits.len() || finite == 0 {
        let mut each = actions.iter().zip(logits);
        return Err(
            match each.find(|&(_, &x)| x.is_nan() || x == f32::INFINITY) {
                Some((&action, &logit)) => BadAnswer::Logit {
                    game,
                    action,
                    logit,
                },
                None => BadAnswer::NoLogit {
                    game,
                    actions: actions.len(),
                },
            },
        );
    }
    match values.iter().position(|x| !x.is_finite()) {
        Some(seat) => Err(BadAnswer::Value {
            game,
            seat,
            value: values[seat],
        }),
        None => Ok(()),
    }
}
