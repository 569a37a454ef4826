//! Vector code shared by several rooms: compile a function for several instruction sets, round two
//! doubles at once, find the minimum and maximum of eight columns of numbers.
//!
//! `sse2` uses instructions that every x86-64 processor has; other processors run `plain`, with the
//! same results bit for bit. The tests compare the two.

/// Compiles a function also for AVX2 and AVX-512 and calls the widest version that the processor
/// supports. None fuses operations, so all round alike.
macro_rules! multiversioned {
    ($(#[$about:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block) => {
        $(#[$about])*
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn plain($($arg: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $type),*) $(-> $out)? {
                    plain($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
                fn widest($($arg: $type),*) $(-> $out)? {
                    plain($($arg),*)
                }
                use std::arch::is_x86_feature_detected as has;
                if has!("avx512f") && has!("avx512dq") && has!("avx512vl") {
                                        // SAFETY: the processor has these features.
                    return unsafe { widest($($arg),*) };
                }
                if has!("avx2") {
                    // SAFETY: as above.
                    return unsafe { wide($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    };
}
pub(crate) use multiversioned;

/// Rounds two numbers to single precision after XORing their bits with `flip`.
#[inline]
pub fn round_both(a: f64, b: f64, flip: u64) -> [f32; 2] {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { sse2::round_both(a, b, flip) };
    #[cfg(not(target_arch = "x86_64"))]
    return plain::round_both(a, b, flip);
}

/// The minimum and maximum of each column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns {
    pub high: [f32; COLUMNS],
    pub low: [f32; COLUMNS],
    /// All bits set, unless the column has a NaN or +inf.
    pub valid: [u32; COLUMNS],
}

pub const COLUMNS: usize = 8;

impl Columns {
    pub const EMPTY: Self = Self {
        high: [f32::NEG_INFINITY; COLUMNS],
        low: [f32::INFINITY; COLUMNS],
        valid: [u32::MAX; COLUMNS],
    };

    /// Adds one number to a column.
    pub fn include(&mut self, column: usize, x: f32) {
        let (high, low) = (&mut self.high[column], &mut self.low[column]);
        *high = if x > *high { x } else { *high };
        *low = if x < *low { x } else { *low };
        self.valid[column] &= u32::from(x < f32::INFINITY).wrapping_neg();
    }

    /// Adds rows.
    #[inline]
    pub fn with(self, rows: &[[f32; COLUMNS]]) -> Self {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE2 is part of x86-64.
        return unsafe { sse2::columns(self, rows) };
        #[cfg(not(target_arch = "x86_64"))]
        return plain::columns(self, rows);
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    use super::*;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn round_both(a: f64, b: f64, flip: u64) -> [f32; 2] {
        let flip = _mm_castsi128_pd(_mm_set1_epi64x(flip as i64));
        let both = _mm_cvtpd_ps(_mm_xor_pd(_mm_set_pd(b, a), flip));
        [
            _mm_cvtss_f32(both),
            _mm_cvtss_f32(_mm_shuffle_ps::<1>(both, both)),
        ]
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn columns(seen: Columns, rows: &[[f32; COLUMNS]]) -> Columns {
        let infinite = _mm_set1_ps(f32::INFINITY);
        let mut high: [__m128; 2] = bytemuck::cast(seen.high);
        let mut low: [__m128; 2] = bytemuck::cast(seen.low);
        let mut valid: [__m128; 2] = bytemuck::cast(seen.valid);
        for row in rows {
            let row: [__m128; 2] = bytemuck::cast(*row);
            for i in 0..2 {
                // min and max return their second argument if one is NaN.
                high[i] = _mm_max_ps(row[i], high[i]);
                low[i] = _mm_min_ps(row[i], low[i]);
                valid[i] = _mm_and_ps(valid[i], _mm_cmplt_ps(row[i], infinite));
            }
        }
        Columns {
            high: bytemuck::cast(high),
            low: bytemuck::cast(low),
            valid: bytemuck::cast(valid),
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod plain {
    use super::*;

    pub fn round_both(a: f64, b: f64, flip: u64) -> [f32; 2] {
        [a, b].map(|x| f64::from_bits(x.to_bits() ^ flip) as f32)
    }

    pub fn columns(mut seen: Columns, rows: &[[f32; COLUMNS]]) -> Columns {
        for row in rows {
            for (column, &x) in row.iter().enumerate() {
                seen.include(column, x);
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::rng::Rng;

    #[test]
    fn sse2_columns_equal_plain_columns() {
        let mut rng = Rng::new(3, 0);
        let odd = [
            f32::NAN,
            -f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.0,
            -0.0,
        ];
        for n in 0..20 {
            for odds in [0, 3, 40] {
                let mut number = || match rng.below(100) < odds {
                    true => odd[rng.below(odd.len())],
                    false => rng.uniform() as f32 - 0.5,
                };
                let rows: Vec<[f32; COLUMNS]> =
                    (0..n).map(|_| std::array::from_fn(|_| number())).collect();
                let (found, expected) = (
                    Columns::EMPTY.with(&rows),
                    plain::columns(Columns::EMPTY, &rows),
                );
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn sse2_rounding_equals_plain_rounding() {
        let mut rng = Rng::new(4, 0);
        for flip in [0, 1 << 63] {
            for _ in 0..1000 {
                let [a, b] = [0; 2].map(|_| rng.uniform() - 0.5);
                assert_eq!(round_both(a, b, flip), plain::round_both(a, b, flip));
            }
        }
    }
}
