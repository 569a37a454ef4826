//! The arithmetic that the core and the Python reference share.
//!
//! Visit counts agree only if every rounding agrees, so nothing here depends on the platform's math
//! library, its vector width or fused operations: equal input bits give equal output bits on every
//! machine. `sylvan._native` exposes each function under its own name.

use crate::contracts::simd::multiversioned;

/// `exp(x)` for `x <= 0`, for the softmax; relative error below 3e-7, 0 for `x < -87`.
///
/// Cody-Waite reduction to `|r| <= ln 2 / 2`, then Taylor's polynomial of degree six.
#[inline(always)] // lets the compiler vectorise softmax loops
pub fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding and subtracting it rounds to an integer
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    let p = 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    // The low bits of `shifted` are n as an integer: 2^n without a conversion.
    let exponent = shifted
        .to_bits()
        .wrapping_sub(ROUND.to_bits())
        .wrapping_add(127);
    let power = f32::from_bits(exponent << 23);
    // A mask instead of a condition keeps the code free of branches.
    let keep = u32::from(x >= -87.0).wrapping_neg();
    f32::from_bits((p * power).to_bits() & keep)
}

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

multiversioned! {
        /// Replaces positive normal numbers by their natural logarithms, several at a time, bit for
        /// bit equal to `ln`.
    ///
    /// The number is `2^k * (1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`; with `s = f /
    /// (2 + f)`, `ln(1 + f) = f - f²/2 + s * (f²/2 + R(s²))`, where `R` is the polynomial of
    /// FreeBSD's `e_log.c`, which `libm` follows.
    pub fn ln_all(xs: &mut [f64]) {
        xs.iter_mut().for_each(|x| *x = ln_normal(*x));
    }
}

#[inline(always)] // lets the compiler vectorise loops over it
fn ln_normal(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const R1: f64 = 6.666_666_666_666_735e-1;
    const R2: f64 = 3.999_999_999_940_942e-1;
    const R3: f64 = 2.857_142_874_366_239e-1;
    const R4: f64 = 2.222_219_843_214_978_4e-1;
    const R5: f64 = 1.818_357_216_161_805e-1;
    const R6: f64 = 1.531_383_769_920_937_3e-1;
    const R7: f64 = 1.479_819_860_511_658_6e-1;
    /// The high word of sqrt(1/2), the lower end of the mantissas.
    const CUT: u64 = 0x3fe6_a09e << 32;
    /// 1.5 * 2^52: adding an integer to its bits adds the integer to its value.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let above = x.to_bits().wrapping_sub(CUT);
    let m = f64::from_bits((above & (u64::MAX >> 12)).wrapping_add(CUT));
    // AVX2 has no arithmetic 64-bit shift: shift logically, then subtract.
    let biased = above.wrapping_add(1 << 62) >> 52;
    let k = f64::from_bits(WHOLE.to_bits().wrapping_add(biased).wrapping_sub(1 << 10)) - WHOLE;
    let f = m - 1.0;
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (R2 + w * (R4 + w * R6));
    let odd = z * (R1 + w * (R3 + w * (R5 + w * R7)));
    let r = odd + even;
    s * (half + r) + k * LN2_LOW - half + f + k * LN2_HIGH
}

/// The exponential function in double precision.
pub fn exp_double(x: f64) -> f64 {
    libm::exp(x)
}

/// Numbers that a softmax processes at a time; it adds up this many partial sums.
const LANES: usize = 8;
/// Padded logits have a multiple of this length.
pub const PADDING: usize = 16;

/// Replaces logits by probabilities; `-inf` becomes 0. At least one must be finite; NaN and `+inf`
/// are not allowed.
pub fn softmax(logits: &mut Vec<f32>) {
    let n = pad(logits);
    softmax_padded(logits, n);
    logits.truncate(n);
}

/// Pads logits with `-inf` to a multiple of `PADDING`; returns the old length. Call it some time
/// before the softmax: wide loads right after narrow stores break store forwarding.
#[inline]
pub fn pad(logits: &mut Vec<f32>) -> usize {
    let n = logits.len();
    // Append a fixed number, then truncate: a branch on the remainder would be mispredicted.
    logits.extend_from_slice(&[f32::NEG_INFINITY; PADDING]);
    logits.truncate(n.next_multiple_of(PADDING));
    n
}

/// The softmax of `n` logits padded by `pad`: loops over whole chunks compile to vector code.
#[inline]
pub fn softmax_padded(logits: &mut [f32], n: usize) {
    if let [first, rest @ ..] = &logits[..n]
        && rest.first().is_none_or(|second| second == first)
        && rest.iter().filter(|&x| x != first).count() == 0
    {
        // All equal. The general code gives the same bits: exp(0) is 1, and the sum is exact.
        logits[..n].fill(1.0 / n as f32);
        logits[n..].fill(0.0);
        return;
    }
    let chunks = &mut logits.as_chunks_mut::<LANES>().0[..n.div_ceil(LANES)];
    let mut tops = [f32::NEG_INFINITY; LANES];
    for chunk in chunks.iter() {
        for (top, &x) in tops.iter_mut().zip(chunk) {
            *top = if x > *top { x } else { *top };
        }
    }
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    let half: [f32; LANES / 2] = std::array::from_fn(|i| greater(tops[i], tops[i + LANES / 2]));
    let max = greater(greater(half[0], half[1]), greater(half[2], half[3]));
    let mut sums = [0.0f32; LANES];
    for chunk in chunks.iter_mut() {
        for x in chunk.iter_mut() {
            *x = exp(*x - max);
        }
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += *x;
        }
    }
    let scale = 1.0 / sums.iter().fold(0.0, |a, b| a + b);
    for chunk in chunks {
        for x in chunk {
            *x *= scale;
        }
    }
}

multiversioned! {
        /// The factor of `exp(logit - max)` in a softmax of finite logits with maximum `max`.
    pub fn softmax_scale(logits: &[f32], max: f32) -> f32 {
                // Long blocks: the compiler would unroll a short loop instead of vectorising it.
        const BLOCK: usize = 8 * LANES;
        let mut sums = [0.0f32; LANES];
        let mut terms = [0.0f32; BLOCK];
        for block in logits.chunks(BLOCK) {
            for (term, &x) in terms.iter_mut().zip(block) {
                *term = exp(x - max);
            }
            terms[block.len()..].fill(0.0); // adds nothing
            for chunk in terms.as_chunks::<LANES>().0 {
                for i in 0..LANES {
                    sums[i] += chunk[i];
                }
            }
        }
        1.0 / sums.iter().fold(0.0, |a, b| a + b)
    }
}

/// The format of a stored prior: the highest bits of the float, in 8, 16 or 32 bits.
///
/// Codes grow with the prior, so the best unvisited edge has the largest code; 0 marks a visited
/// edge. 8 bits have a mantissa of 4 bits and reach down to 2^-16 (error at most 3.2 %), 16 bits
/// one of 11 and 2^-32 (at most 0.03 %), 32 bits are the float itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorBits {
    Eight,
    Sixteen,
    ThirtyTwo,
}

impl PriorBits {
    pub fn new(bits: u32) -> Option<Self> {
        match bits {
            8 => Some(Self::Eight),
            16 => Some(Self::Sixteen),
            32 => Some(Self::ThirtyTwo),
            _ => None,
        }
    }

    /// The number of dropped bits of the float, the code of the least exponent, the greatest code.
    pub(crate) const fn format(self) -> (u32, u32, u32) {
        match self {
            Self::Eight => (19, 111 << 4, 0xff),
            Self::Sixteen => (12, 95 << 11, 0xffff),
            Self::ThirtyTwo => (0, 0, u32::MAX),
        }
    }

    /// The code of a prior in `0..=1`.
    #[inline(always)] // with a constant `self`, a loop over priors compiles to vector code
    pub fn encode(self, prior: f32) -> u32 {
        let (dropped, least, greatest) = self.format();
        let bits = if prior > f32::MIN_POSITIVE {
            prior
        } else {
            f32::MIN_POSITIVE
        }
        .to_bits();
        let half = if dropped > 0 { 1 << (dropped - 1) } else { 0 };
        let code = ((bits + half) >> dropped).saturating_sub(least);
        code.clamp(1, greatest)
    }

    /// The prior of a code.
    #[inline]
    pub fn decode(self, code: u32) -> f32 {
        let (dropped, least, _) = self.format();
        f32::from_bits((code + least) << dropped)
    }

    /// The prior after rounding to its stored format.
    pub fn quantise(self, prior: f32) -> f32 {
        self.decode(self.encode(prior))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_standard_library() {
        for i in 0..870_000 {
            let x = -(i as f32) * 1e-4;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= 3e-7 * exact, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn ln_all_equals_ln_bit_for_bit() {
        let mut rng = crate::contracts::rng::Rng::new(4, 0);
        let mut xs: Vec<f64> = (0..300_000)
            .map(|i| match i % 3 {
                0 => rng.uniform().max(f64::MIN_POSITIVE),
                1 => f64::from((rng.uniform() as f32).max(f32::MIN_POSITIVE)),
                _ => (600.0 * rng.uniform() - 300.0).exp2(),
            })
            .collect();
        xs.extend([
            1.0,
            0.5,
            2.0,
            f64::MIN_POSITIVE,
            f64::from(f32::MIN_POSITIVE),
        ]);
        let expected: Vec<f64> = xs.iter().map(|&x| ln(x)).collect();
        ln_all(&mut xs);
        for (x, expected) in xs.iter().zip(expected) {
            assert_eq!(x.to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn equal_logits_give_the_bits_of_the_general_code() {
        assert_eq!(exp(0.0), 1.0);
        for n in 1..300 {
            let mut equal = vec![0.7; n];
            softmax(&mut equal);
            // Append -inf, so that not all are equal.
            let mut general = vec![0.7; n];
            general.push(f32::NEG_INFINITY);
            softmax(&mut general);
            assert_eq!(general.pop(), Some(0.0));
            assert_eq!(equal, general);
        }
    }

    #[test]
    fn softmax_sums_to_one_and_keeps_minus_infinity_at_zero() {
        let mut p: Vec<f32> = (0..37).map(|i| (i * 7 % 11) as f32).collect();
        p[5] = f32::NEG_INFINITY;
        softmax(&mut p);
        assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(p[5], 0.0);
    }

    #[test]
    fn codes_are_monotone_and_close() {
        for (bits, error) in [
            (PriorBits::Eight, 0.032),
            (PriorBits::Sixteen, 3e-4),
            (PriorBits::ThirtyTwo, 0.0),
        ] {
            let mut last = 0;
            for i in 0..100_000 {
                let prior = 2.0f32.powf(-15.0 + 15.0 * i as f32 / 99_999.0).min(1.0);
                let code = bits.encode(prior);
                assert!(code >= last && code > 0);
                last = code;
                assert!(
                    (bits.decode(code) / prior - 1.0).abs() <= error,
                    "{bits:?} {prior}"
                );
            }
            assert!(bits.encode(0.0) > 0);
        }
        assert_eq!(PriorBits::ThirtyTwo.quantise(1.0), 1.0);
    }
}
