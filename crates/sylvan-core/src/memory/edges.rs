//! The edges of a decision node: the codes of its unvisited priors, stored in an arena.
//!
//! ```text
//!     one code (`PriorBits`) per legal action in the game's order, 0 once visited
//!     zeros up to the last word of a unit
//!     the note, in that word: a hint for the next simulation through this node
//!     the actions, one word each, if `n < kept_below`
//! ```
//!
//! The note is the action with the highest prior, so the first child needs no list of legal
//! actions. Gumbel tries edges in another order; there the note is the evaluator's value.

use crate::contracts::game::Action;
use crate::contracts::numbers::PriorBits;
use crate::memory::arena::Unit;
use crate::memory::infoset_edges::CHUNK;
use crate::memory::simd;

/// The storage format of a pool's edges.
#[derive(Clone, Copy, Debug)]
pub struct Edges {
    pub bits: PriorBits,
    /// Nodes with fewer edges than this store their actions; for others the game lists them again.
    pub kept_below: usize,
    /// Edges are growing lists of actions (`infoset_edges.rs`).
    pub listed: bool,
}

/// The index and prior of the best unvisited edge if none is left; its score is never the best.
pub const NO_EDGE: (usize, f32) = (0, f32::NEG_INFINITY);

const UNIT: usize = size_of::<Unit>();
const WORD: usize = 4;

impl Edges {
    /// Units of the codes of `n` edges and the note.
    #[inline]
    fn code_units(self, n: usize) -> usize {
        (self.code_bytes() * n + WORD).div_ceil(UNIT)
    }

    #[inline]
    fn code_bytes(self) -> usize {
        1 << self.bits as usize
    }

    /// Units for `n` edges.
    #[inline]
    pub fn units(self, n: usize) -> u32 {
        if self.listed {
            return n.next_multiple_of(CHUNK) as u32;
        }
        let actions = if n < self.kept_below {
            n.div_ceil(UNIT / WORD)
        } else {
            0
        };
        (self.code_units(n) + actions) as u32
    }

    /// Writes the edges, with the action of the highest prior as note; `priors` are padded to a
    /// multiple of `numbers::PADDING`.
    #[inline(always)]
    pub fn write(self, units: &mut [Unit], priors: &[f32], actions: &[Action]) {
        let n = actions.len();
        let (codes, kept) = units.split_at_mut(self.code_units(n));
        match self.bits {
            PriorBits::Eight => write_codes(codes, priors, n, simd::encode),
            PriorBits::Sixteen => write_codes::<8>(codes, priors, n, |priors| {
                bytemuck::cast(priors.map(|prior| PriorBits::Sixteen.encode(prior) as u16))
            }),
            PriorBits::ThirtyTwo => write_codes::<4>(codes, priors, n, |priors| {
                bytemuck::cast(priors.map(|prior| PriorBits::ThirtyTwo.encode(prior)))
            }),
        }
        if n < self.kept_below {
            bytemuck::cast_slice_mut(kept)[..n].copy_from_slice(actions);
        }
        let best = self.best(codes, n).0;
        set_note(codes, actions[best]);
    }

    #[inline]
    pub fn note(self, units: &[Unit], n: usize) -> u32 {
        let words: &[u32] = bytemuck::cast_slice(units);
        words[UNIT / WORD * self.code_units(n) - 1]
    }

    pub fn set_note(self, units: &mut [Unit], n: usize, note: u32) {
        set_note(&mut units[..self.code_units(n)], note);
    }

    pub fn code(self, units: &[Unit], index: usize) -> u32 {
        match self.bits {
            PriorBits::Eight => bytemuck::cast_slice::<_, u8>(units)[index].into(),
            PriorBits::Sixteen => bytemuck::cast_slice::<_, u16>(units)[index].into(),
            PriorBits::ThirtyTwo => bytemuck::cast_slice::<_, u32>(units)[index],
        }
    }

    #[inline]
    pub fn set_code(self, units: &mut [Unit], index: usize, code: u32) {
        match self.bits {
            PriorBits::Eight => bytemuck::cast_slice_mut::<_, u8>(units)[index] = code as u8,
            PriorBits::Sixteen => bytemuck::cast_slice_mut::<_, u16>(units)[index] = code as u16,
            PriorBits::ThirtyTwo => bytemuck::cast_slice_mut::<_, u32>(units)[index] = code,
        }
    }

    /// Sets a code to 0.
    #[inline]
    pub fn clear_code(self, units: &mut [Unit], index: usize) {
        let bytes = self.code_bytes();
        simd::clear(
            &mut units[bytes * index / UNIT],
            bytes * index % UNIT,
            bytes,
        );
    }

    /// The index and value of the largest code, the first on ties; code 0 if all are visited.
    #[inline(always)]
    pub fn best(self, units: &[Unit], n: usize) -> (usize, u32) {
        match self.bits {
            PriorBits::Eight => simd::first_max(&units[..self.code_units(n)], !NOTE),
            PriorBits::Sixteen => first_max(&bytemuck::cast_slice::<_, u16>(units)[..n]),
            PriorBits::ThirtyTwo => first_max(&bytemuck::cast_slice::<_, u32>(units)[..n]),
        }
    }

    /// Decodes the prior at an index; returns `NO_EDGE` for code 0.
    #[inline]
    pub fn decoded(self, (index, code): (usize, u32)) -> (usize, f32) {
        match code {
            0 => NO_EDGE,
            _ => (index, self.bits.decode(code)),
        }
    }

    /// The actions of `n` edges, if they are stored.
    pub fn actions(self, units: &[Unit], n: usize) -> Option<&[Action]> {
        if n >= self.kept_below || units.is_empty() {
            return None;
        }
        let kept = &units[self.code_units(n)..];
        Some(&bytemuck::cast_slice(kept)[..n])
    }
}

/// The last word of a unit.
const NOTE: Unit = !0 << (128 - 32);

#[inline]
fn set_note(codes: &mut [Unit], note: u32) {
    if let Some(last) = bytemuck::cast_slice_mut(codes).last_mut() {
        *last = note;
    }
}

/// Writes the codes of `n` priors, then zeros.
#[inline]
fn write_codes<const LANES: usize>(
    units: &mut [Unit],
    priors: &[f32],
    n: usize,
    encode: impl Fn(&[f32; LANES]) -> Unit,
) {
    let chunks = priors.as_chunks::<LANES>().0;
    for (unit, priors) in units.iter_mut().zip(chunks) {
        *unit = encode(priors);
    }
    let whole = n / LANES;
    if let Some((last, behind)) = units[whole..].split_first_mut() {
        simd::keep_first(last, UNIT / LANES * (n % LANES));
        if let Some(next) = behind.first_mut() {
            *next = 0; // a unit that holds only the note
        }
    }
}

/// The index and value of the largest code, the first on ties.
fn first_max<T: Copy + Ord + Default + Into<u32>>(codes: &[T]) -> (usize, u32) {
    let mut best = (0, T::default());
    for (i, &code) in codes.iter().enumerate() {
        if code > best.1 {
            best = (i, code);
        }
    }
    (best.0, best.1.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::numbers::PADDING;

    #[test]
    fn edges_round_trip_and_best_is_the_first_largest_code() {
        for bits in [PriorBits::Eight, PriorBits::Sixteen, PriorBits::ThirtyTwo] {
            for kept_below in [0, 20, usize::MAX] {
                for n in 1..70 {
                    let listed = false;
                    check(
                        Edges {
                            bits,
                            kept_below,
                            listed,
                        },
                        n,
                    );
                }
            }
        }
    }

    fn check(edges: Edges, n: usize) {
        let mut priors: Vec<f32> = (0..n).map(|i| (1 + i * 7 % 5) as f32 / 64.0).collect();
        let actions: Vec<Action> = (0..n as u32).map(|i| 3 * i).collect();
        let mut units = vec![!0; edges.units(n) as usize];
        let mut codes: Vec<u32> = priors.iter().map(|&p| edges.bits.encode(p)).collect();
        priors.resize(n.next_multiple_of(PADDING), f32::NEG_INFINITY);
        edges.write(&mut units, &priors, &actions);
        assert_eq!(edges.note(&units, n), actions[edges.best(&units, n).0]);
        edges.set_note(&mut units, n, u32::MAX);
        for _ in 0..=n {
            let stored: Vec<u32> = (0..n).map(|i| edges.code(&units, i)).collect();
            assert_eq!(stored, codes);
            let max = codes.iter().copied().max().unwrap();
            let (index, code) = edges.best(&units, n);
            assert_eq!(code, max);
            if max > 0 {
                assert_eq!(index, codes.iter().position(|&c| c == max).unwrap());
            }
            codes[index] = 0;
            edges.clear_code(&mut units, index);
        }
        let kept = edges.actions(&units, n);
        assert_eq!(kept, (n < edges.kept_below).then_some(&actions[..]));
        assert_eq!(edges.note(&units, n), u32::MAX);
    }
}
