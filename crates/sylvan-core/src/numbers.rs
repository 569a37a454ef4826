//! The arithmetic that the core and the Python reference share.
//!
//! Visit counts can only agree if every rounding agrees, so nothing here depends on the platform's
//! mathematics library, on the width of its vectors or on fused operations: the same bits in give
//! the same bits out on every machine. `sylvan._native` exposes each function under its own name.

/// `exp(x)` for `x <= 0`, as a softmax needs it; relative error below 3e-7, 0 under -87.
///
/// Cody-Waite reduction to `|r| <= ln 2 / 2`, then Taylor's polynomial of degree six.
#[inline(always)] // or a softmax is not compiled to vector code
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

/// The exponential function in double precision.
pub fn exp_double(x: f64) -> f64 {
    libm::exp(x)
}

/// Replaces logits by probabilities; `-inf` becomes 0. At least one must be finite, none NaN or `+inf`.
pub fn softmax(logits: &mut [f32]) {
    // Whole chunks of fixed length, the last one filled up with -inf, compile to vector code.
    const LANES: usize = 8;
    let max = logits
        .iter()
        .fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    let mut sums = [0.0f32; LANES];
    let mut add = |chunk: &mut [f32; LANES]| {
        for i in 0..LANES {
            chunk[i] = exp(chunk[i] - max);
        }
        for i in 0..LANES {
            sums[i] += chunk[i];
        }
    };
    let (chunks, rest) = logits.as_chunks_mut::<LANES>();
    chunks.iter_mut().for_each(&mut add);
    if !rest.is_empty() {
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        add(&mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
    let scale = 1.0 / sums.iter().fold(0.0, |a, b| a + b);
    for x in logits.iter_mut() {
        *x *= scale;
    }
}

/// A prior as the tree stores it, in 8, 16 or 32 bits.
///
/// Codes grow with the prior, so the best unvisited edge is the largest code; 0 is no prior but
/// marks an edge that is unvisited no more. 8 bits are logarithmic, sixteen steps an octave from
/// 2^-15.9 to 1 (within 2.4 %); 16 bits have an 11-bit mantissa and reach down to 2^-32; 32 bits are
/// the float itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorBits {
    Eight,
    Sixteen,
    ThirtyTwo,
}

const SIXTEEN_BIAS: u32 = 95 << 11;

impl PriorBits {
    pub fn new(bits: u32) -> Option<Self> {
        match bits {
            8 => Some(Self::Eight),
            16 => Some(Self::Sixteen),
            32 => Some(Self::ThirtyTwo),
            _ => None,
        }
    }

    /// The code of a prior in `0..=1`.
    pub fn encode(self, prior: f32) -> u32 {
        let bits = prior.max(f32::MIN_POSITIVE).to_bits();
        match self {
            Self::Eight => {
                let octave = (bits >> 23) as i32 - 127;
                let step = i32::from(STEPS[(bits >> 15) as usize & 0xff]);
                (255 + 16 * octave + step).clamp(1, 255) as u32
            }
            Self::Sixteen => ((bits + 0x800) >> 12)
                .saturating_sub(SIXTEEN_BIAS)
                .clamp(1, 0xffff),
            Self::ThirtyTwo => bits,
        }
    }

    /// The prior of a code.
    pub fn decode(self, code: u32) -> f32 {
        match self {
            Self::Eight => EIGHT[code as usize & 0xff],
            Self::Sixteen => f32::from_bits((code + SIXTEEN_BIAS) << 12),
            Self::ThirtyTwo => f32::from_bits(code),
        }
    }

    /// What the tree will remember of a prior.
    pub fn quantise(self, prior: f32) -> f32 {
        self.decode(self.encode(prior))
    }
}

/// `round(16 * log2(1 + m / 256))` at the middle of each of 256 mantissas.
static STEPS: [u8; 256] = steps();

/// `2^((code - 255) / 16)`.
static EIGHT: [f32; 256] = eight();

/// `2^(k / 16)`, correctly rounded to double precision.
const SIXTEENTHS: [f64; 16] = [
    1.0,
    1.044_273_782_427_413_8,
    1.090_507_732_665_257_7,
    1.138_788_634_756_691_6,
    1.189_207_115_002_721,
    1.241_857_812_073_484,
    1.296_839_554_651_009_6,
    1.354_255_546_936_892_7,
    1.414_213_562_373_095_1,
    1.476_826_145_939_499_3,
    1.542_210_825_407_940_7,
    1.610_490_331_949_254_3,
    1.681_792_830_507_429,
    1.756_252_160_373_299_5,
    1.834_008_086_409_342_4,
    1.915_206_561_397_147_3,
];

const fn eight() -> [f32; 256] {
    let mut table = [0.0; 256];
    let mut code = 1usize;
    while code < 256 {
        let below = 255 - code; // sixteenths of an octave below 1
        let octaves = below.div_ceil(16);
        let mut value = SIXTEENTHS[16 * octaves - below];
        let mut i = 0;
        while i < octaves {
            value /= 2.0;
            i += 1;
        }
        table[code] = value as f32;
        code += 1;
    }
    table
}

const fn steps() -> [u8; 256] {
    // A mantissa rounds up to step k when it is past the geometric middle of steps k - 1 and k,
    // that is when its square is past the product of the two.
    let mut table = [0; 256];
    let mut m = 0;
    while m < 256 {
        let x = 1.0 + (m as f64 + 0.5) / 256.0;
        let mut step = 0;
        while step < 16 {
            let next = if step == 15 {
                2.0
            } else {
                SIXTEENTHS[step + 1]
            };
            if x * x < SIXTEENTHS[step] * next {
                break;
            }
            step += 1;
        }
        table[m] = step as u8;
        m += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_platform_s() {
        for i in 0..870_000 {
            let x = -(i as f32) * 1e-4;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) - exact).abs() <= 3e-7 * exact, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
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
            (PriorBits::Eight, 0.024),
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
        assert_eq!(PriorBits::Eight.quantise(1.0), 1.0);
    }
}
