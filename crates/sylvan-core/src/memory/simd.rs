//! Vectorised scans of edges and families: the scores of four children or the codes of sixteen
//! priors at a time.
//!
//! `sse2` uses instructions that every x86-64 processor has, because compilers turn plain loops
//! into several times as many instructions; other processors run `plain`, with the same results bit
//! for bit. The tests compare the two.

use crate::contracts::numbers::PriorBits;
use crate::memory::arena::Unit;
use crate::memory::family::{CLOSED, GROUP, LANES};

/// The slot and score of the child with the highest `q + explore * u`, the first on ties, in the
/// groups of a family.
#[inline]
pub fn best_score(groups: &[[Unit; GROUP]], explore: f32) -> (usize, f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { sse2::best_score(groups, explore) };
    #[cfg(not(target_arch = "x86_64"))]
    return plain::best_score(groups, explore);
}

/// The slot and score of the child with the highest `(q - shift) * factor + explore * u`, the first
/// on ties; for value ranges learned during the search.
pub fn best_scaled(
    groups: &[[Unit; GROUP]],
    shift: f32,
    factor: f32,
    explore: f32,
) -> (usize, f32) {
    let mut best = (0, f32::NEG_INFINITY);
    for (number, &[q, u, _]) in groups.iter().enumerate() {
        let (q, u): ([f32; LANES], [f32; LANES]) = (bytemuck::cast(q), bytemuck::cast(u));
        for lane in 0..LANES {
            let score = (q[lane] - shift) * factor + explore * u[lane];
            if score > best.1 {
                best = (LANES * number + lane, score);
            }
        }
    }
    best
}

/// Extends the range `min..max` by the Q of all open edges.
pub fn range(groups: &[[Unit; GROUP]], (mut min, mut max): (f32, f32)) -> (f32, f32) {
    for &[q, ..] in groups {
        for q in bytemuck::cast::<_, [f32; LANES]>(q) {
            if q > CLOSED {
                (min, max) = (min.min(q), max.max(q));
            }
        }
    }
    (min, max)
}

/// The codes of sixteen priors.
#[inline]
pub fn encode(priors: &[f32; 16]) -> Unit {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { sse2::encode(priors) };
    #[cfg(not(target_arch = "x86_64"))]
    return plain::encode(priors);
}

/// Sixteen 0xff bytes between zeros: every window of 16 bytes is a mask.
static WINDOW: [u8; 48] = {
    let mut bytes = [0; 48];
    let mut i = 16;
    while i < 32 {
        bytes[i] = 0xff;
        i += 1;
    }
    bytes
};

/// The mask of the first `byte` bytes of a unit.
#[inline]
fn before(byte: usize) -> Unit {
    let start = 16 + (16 - byte % 17);
    bytemuck::pod_read_unaligned(&WINDOW[start..start + 16])
}

/// Keeps the first bytes of a unit and sets the others to 0. Stores at full width, as all functions
/// here do: narrower stores break store forwarding.
#[inline]
pub fn keep_first(unit: &mut Unit, bytes: usize) {
    and(unit, before(bytes));
}

/// Sets `bytes` bytes of a unit to 0, from `start`.
#[inline]
pub fn clear(unit: &mut Unit, start: usize, bytes: usize) {
    and(unit, before(start) | !before(start + bytes));
}

/// `unit &= mask`, as one vector.
#[inline]
fn and(unit: &mut Unit, mask: Unit) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        sse2::and(unit, mask);
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        *unit &= mask;
    }
}

/// The index and value of the largest byte, the first on ties; `mask` selects the bytes of the last
/// unit.
#[inline]
pub fn first_max(units: &[Unit], mask: Unit) -> (usize, u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { sse2::first_max(units, mask) };
    #[cfg(not(target_arch = "x86_64"))]
    return plain::first_max(units, mask);
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    use super::*;

    static CLOSED_GROUP: [Unit; GROUP] = {
        let closed = CLOSED.to_bits() as Unit;
        [closed | closed << 32 | closed << 64 | closed << 96, 0, 0]
    };

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn best_score(groups: &[[Unit; GROUP]], explore: f32) -> (usize, f32) {
        let explore = _mm_set1_ps(explore);
        let scores = |[q, u, _]: &[Unit; GROUP]| {
            let (q, u): (__m128, __m128) = (bytemuck::cast(*q), bytemuck::cast(*u));
            _mm_add_ps(q, _mm_mul_ps(explore, u))
        };
        let equal_lanes =
            |scores: __m128, top: __m128| _mm_movemask_ps(_mm_cmpeq_ps(scores, top)) as u32;
        let [first, others @ ..] = groups else {
            return (0, f32::NEG_INFINITY);
        };
        // No branches: the number of groups and the better group are unpredictable.
        let second = others.first().unwrap_or(&CLOSED_GROUP);
        let (first, second) = (scores(first), scores(second));
        let mut top = _mm_max_ps(first, second);
        if groups.len() <= 2 {
            top = spread_max(top);
            let equal = equal_lanes(first, top) | equal_lanes(second, top) << LANES;
            return (first_lane(equal), _mm_cvtss_f32(top));
        }
        let others = &others[1..];
        for group in others {
            top = _mm_max_ps(top, scores(group));
        }
        top = spread_max(top);
        let mut equal = equal_lanes(first, top) | equal_lanes(second, top) << LANES;
        let mut slot = 0;
        for group in others {
            if equal != 0 {
                break;
            }
            slot += LANES;
            equal = equal_lanes(scores(group), top) << LANES;
        }
        (slot + first_lane(equal), _mm_cvtss_f32(top))
    }

    /// The first lane set in the bits of two groups.
    #[inline]
    fn first_lane(equal: u32) -> usize {
        (equal | 1 << (2 * LANES)).trailing_zeros() as usize % (2 * LANES)
    }

    /// The maximum of four numbers, in all four lanes.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn spread_max(lanes: __m128) -> __m128 {
        let pairs = _mm_max_ps(lanes, _mm_shuffle_ps::<0b01_00_11_10>(lanes, lanes));
        _mm_max_ps(pairs, _mm_shuffle_ps::<0b10_11_00_01>(pairs, pairs))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn and(unit: &mut Unit, mask: Unit) {
        let (lanes, mask): (__m128i, __m128i) = (bytemuck::cast(*unit), bytemuck::cast(mask));
        *unit = bytemuck::cast(_mm_and_si128(lanes, mask));
    }

    /// `PriorBits::encode`; the narrowing instructions clamp to 1..=255.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn encode(priors: &[f32; 16]) -> Unit {
        const DROPPED: i32 = PriorBits::Eight.format().0 as i32;
        let half = _mm_set1_epi32(1 << (DROPPED - 1));
        let least = _mm_set1_epi32(PriorBits::Eight.format().1 as i32);
        let bits: [__m128i; 4] = bytemuck::cast(*priors);
        let codes = |i: usize| {
            _mm_sub_epi32(
                _mm_srai_epi32::<DROPPED>(_mm_add_epi32(bits[i], half)),
                least,
            )
        };
        let low = _mm_packs_epi32(codes(0), codes(1));
        let high = _mm_packs_epi32(codes(2), codes(3));
        let bytes = _mm_packus_epi16(low, high);
        bytemuck::cast(_mm_max_epu8(bytes, _mm_set1_epi8(1)))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn first_max(units: &[Unit], mask: Unit) -> (usize, u32) {
        let lanes = |unit: Unit| -> __m128i { bytemuck::cast(unit) };
        let Some((&last, rest)) = units.split_last() else {
            return (0, 0);
        };
        let last = lanes(last & mask);
        let mut top = last;
        for &unit in rest {
            top = _mm_max_epu8(top, lanes(unit));
        }
        top = _mm_max_epu8(top, _mm_srli_si128::<8>(top));
        top = _mm_max_epu8(top, _mm_srli_si128::<4>(top));
        top = _mm_max_epu8(top, _mm_srli_si128::<2>(top));
        top = _mm_max_epu8(top, _mm_srli_si128::<1>(top));
        let max = _mm_cvtsi128_si32(top) as u8;
        let all = _mm_set1_epi8(max as i8);
        for (i, &unit) in rest.iter().enumerate() {
            let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(lanes(unit), all));
            if equal != 0 {
                return (16 * i + equal.trailing_zeros() as usize, max.into());
            }
        }
        let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(last, all));
        (
            16 * rest.len() + equal.trailing_zeros() as usize,
            max.into(),
        )
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod plain {
    use super::*;

    pub fn best_score(groups: &[[Unit; GROUP]], explore: f32) -> (usize, f32) {
        let mut best = (0, f32::NEG_INFINITY);
        for (i, [q, u, _]) in groups.iter().enumerate() {
            let (q, u): ([u32; LANES], [u32; LANES]) = (bytemuck::cast(*q), bytemuck::cast(*u));
            for lane in 0..LANES {
                let score = f32::from_bits(q[lane]) + explore * f32::from_bits(u[lane]);
                if score > best.1 {
                    best = (LANES * i + lane, score);
                }
            }
        }
        best
    }

    pub fn encode(priors: &[f32; 16]) -> Unit {
        bytemuck::cast(priors.map(|prior| PriorBits::Eight.encode(prior) as u8))
    }

    pub fn first_max(units: &[Unit], mask: Unit) -> (usize, u32) {
        let (bytes, mask): (&[u8], [u8; 16]) = (bytemuck::cast_slice(units), bytemuck::cast(mask));
        let mut best = (0, 0);
        for (i, &byte) in bytes.iter().enumerate() {
            let last = i + 16 >= bytes.len();
            let byte = if last { byte & mask[i % 16] } else { byte };
            if byte > best.1 {
                best = (i, byte);
            }
        }
        (best.0, best.1.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::rng::Rng;

    #[test]
    fn best_score_returns_the_first_of_the_highest() {
        let mut rng = Rng::new(2, 0);
        for n in 0..6 {
            for range in [1, 2, 7, 1000] {
                for _ in 0..200 {
                    let mut number = || rng.below(range) as f32 / 7.0;
                    let mut unit = || [0; LANES].map(|_| number().to_bits());
                    let mut groups: Vec<_> = (0..n).map(|_| [0; GROUP].map(|_| unit())).collect();
                    for [q, ..] in &mut groups {
                        q[rng.below(LANES)] = f32::NEG_INFINITY.to_bits();
                    }
                    let groups: Vec<[Unit; GROUP]> =
                        groups.into_iter().map(bytemuck::cast).collect();
                    let (plain, vector) = (plain::best_score, best_score);
                    assert_eq!(vector(&groups, 1.5), plain(&groups, 1.5));
                }
            }
        }
    }

    #[test]
    fn bytes_are_kept_and_cleared() {
        let ones: Vec<u8> = (1..=16).collect();
        let unit: Unit = bytemuck::pod_read_unaligned(&ones);
        for n in 0..=16 {
            let mut kept = unit;
            keep_first(&mut kept, n);
            let expected: Vec<u8> = (1..=16).map(|i| if i <= n { i as u8 } else { 0 }).collect();
            assert_eq!(bytemuck::bytes_of(&kept), expected);
        }
        for (len, start) in [1, 2, 4]
            .map(|len| (0..16).step_by(len).map(move |i| (len, i)))
            .into_iter()
            .flatten()
        {
            let mut cleared = unit;
            clear(&mut cleared, start, len);
            let mut expected = ones.clone();
            expected[start..start + len].fill(0);
            assert_eq!(bytemuck::bytes_of(&cleared), expected);
        }
    }

    #[test]
    fn sse2_codes_equal_prior_bits() {
        let mut rng = Rng::new(0, 0);
        for _ in 0..10_000 {
            let priors: [f32; 16] = std::array::from_fn(|i| match i {
                0 => 0.0,
                1 => 1.0,
                2 => f32::MIN_POSITIVE / 8.0,
                _ => (rng.uniform() * (-30.0 * rng.uniform()).exp2()) as f32,
            });
            assert_eq!(encode(&priors), plain::encode(&priors), "{priors:?}");
        }
    }

    #[test]
    fn first_max_returns_the_first_of_the_largest() {
        let mut rng = Rng::new(1, 0);
        for n in 1..6 {
            for range in [1, 2, 5, 256] {
                for _ in 0..200 {
                    let bytes: Vec<u8> = (0..16 * n).map(|_| rng.below(range) as u8).collect();
                    let units = bytes.as_chunks::<16>().0.iter();
                    let units: Vec<Unit> = units.map(|&b| bytemuck::cast(b)).collect();
                    for mask in [!0, !0 >> 32] {
                        assert_eq!(first_max(&units, mask), plain::first_max(&units, mask));
                    }
                }
            }
        }
    }
}
