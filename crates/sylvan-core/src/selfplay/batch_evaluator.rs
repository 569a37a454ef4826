//! Evaluators of whole batches in Rust. The actors call them, so that no other thread is needed.

use crate::contracts::rng::mix;

/// A batch to evaluate. B rows, L legal actions.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, C> {
    /// `[B, cells]`
    pub observations: &'a [C],
    /// `[B + 1]` row i has the legal actions `offsets[i]..offsets[i + 1]`.
    pub offsets: &'a [i64],
    /// `[L]` the index of each legal action's logit in a policy network's output.
    pub indices: &'a [i32],
    /// `[B]` the seat to move.
    pub seats: &'a [i64],
    pub cells: usize,
}

/// Evaluates whole batches; actors share it.
pub trait BatchEvaluator<C>: Send + Sync {
    /// Writes the logits of the legal actions, `[L]`, and the values per seat, `[B, S]`.
    fn evaluate(&self, rows: &Rows<'_, C>, logits: &mut [f32], values: &mut [f32]);
}

/// Pseudo-random logits in -2..2 and values in -1..1, determined by the observation: replaces a
/// network in benchmarks of everything else. It reads every cell and writes every logit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservationHash;

/// A large odd factor.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes the cells of an observation, in four lanes.
fn hash(cells: &[u8]) -> u64 {
    let (words, rest) = cells.as_chunks::<8>();
    let (fours, last) = words.as_chunks::<4>();
    let mut lanes = [1, 2, 3, 4];
    let step = |lane: u64, word: &[u8; 8]| {
        (lane ^ u64::from_le_bytes(*word))
            .wrapping_mul(FACTOR)
            .rotate_left(29)
    };
    for four in fours {
        for (lane, word) in lanes.iter_mut().zip(four) {
            *lane = step(*lane, word);
        }
    }
    for word in last {
        lanes[0] = step(lanes[0], word);
    }
    let mut padded = [0; 8];
    padded[..rest.len()].copy_from_slice(rest);
    lanes[1] = step(lanes[1], &padded);
    lanes.into_iter().fold(0, mix)
}

impl<C: bytemuck::NoUninit> BatchEvaluator<C> for ObservationHash {
    fn evaluate(&self, rows: &Rows<'_, C>, logits: &mut [f32], values: &mut [f32]) {
        // 16 bits of a multiplied key are random enough and cheap.
        let number = |x: u64, width: f32| (x >> 48) as i32 as f32 * (width / 65536.0) - width / 2.0;
        let seats = values.len() / rows.seats.len().max(1);
        for row in 0..rows.seats.len() {
            let cells = &rows.observations[row * rows.cells..][..rows.cells];
            let key = hash(bytemuck::cast_slice(cells));
            let legal = rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
            for (logit, &index) in logits[legal.clone()].iter_mut().zip(&rows.indices[legal]) {
                let mixed = (key ^ index as u64).wrapping_mul(FACTOR);
                *logit = number(mixed ^ (mixed << 29), 4.0);
            }
            let values = &mut values[row * seats..][..seats];
            for (seat, value) in values.iter_mut().enumerate() {
                *value = number(key.rotate_left(16 * seat as u32), 2.0);
            }
            if let [first, second] = values {
                *second = -*first;
            }
        }
    }
}
