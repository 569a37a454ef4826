//! The seeded random number generator of the core and the Python reference.
//!
//! Every tree has its own stream, so its draws depend neither on other trees nor on the number of
//! threads. Order of draws in a search: the root's noise after its expansion, one number per deal,
//! one per chance node passed, one for an action picked at a temperature.

use rand::Rng as _;
use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::contracts::numbers::ln_all;

/// 2^-53, the distance between uniform doubles: a constant, because a platform's `exp2` need not be
/// exact.
const STEP: f64 = 1.0 / (1u64 << 53) as f64;

#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Stream `stream` of seed `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed, stream)))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Skips `n` draws.
    pub fn skip(&mut self, n: usize) {
        for _ in 0..n {
            self.next_u64();
        }
    }

    /// A new generator, seeded by one draw.
    pub fn split(&mut self) -> Self {
        Self::new(self.next_u64(), 0)
    }

    /// A double in `[0, 1)`, a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// An integer below `n`, without bias.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            // Lemire's rejection: only the first 2^64 mod n values of the low half are biased.
            // These are fewer than n, so the division is rarely needed.
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as usize;
            }
        }
    }

    /// Draws an index with probability `weights[index]`; the weights sum to about 1. One draw.
    pub fn pick(&mut self, weights: impl IntoIterator<Item = f64>) -> usize {
        let target = self.uniform();
        let mut sum = 0.0;
        let mut last = 0;
        for (i, weight) in weights.into_iter().enumerate() {
            sum += weight;
            if weight > 0.0 {
                last = i;
                if target < sum {
                    return i;
                }
            }
        }
        last
    }

    /// One sample of a symmetric Dirichlet distribution: `n` numbers that sum to 1.
    pub fn dirichlet(&mut self, alpha: f64, n: usize) -> Vec<f64> {
        let gamma = Gamma::new(alpha, 1.0).expect("alpha is checked to be positive");
        let mut draws: Vec<f64> = (0..n).map(|_| gamma.sample(&mut self.0)).collect();
        let sum: f64 = draws.iter().sum();
        for x in &mut draws {
            // With a tiny alpha every draw can underflow: use equal numbers then.
            *x = if sum > 0.0 { *x / sum } else { 1.0 / n as f64 };
        }
        draws
    }

    /// A double in the open interval (0, 1).
    pub fn open_uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) * STEP
    }

    /// `n` samples of the standard Gumbel distribution: `-ln(-ln u)` of uniform `u`.
    pub fn gumbel(&mut self, n: usize) -> Vec<f64> {
        let mut numbers: Vec<f64> = (0..n).map(|_| self.open_uniform()).collect();
        for _ in 0..2 {
            ln_all(&mut numbers);
            numbers.iter_mut().for_each(|x| *x = -*x);
        }
        numbers
    }
}

/// Hashes two numbers to 64 bits (two rounds of SplitMix64's finaliser).
pub fn mix(a: u64, b: u64) -> u64 {
    finish(half_mix(a).wrapping_add(b))
}

/// The part of `mix` that depends on its first number: `mix(a, b) = finish(half_mix(a) + b)`.
pub fn half_mix(a: u64) -> u64 {
    finish(a.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// SplitMix64's finaliser.
pub fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirichlet_has_its_mean_and_variance() {
        let mut rng = Rng::new(1, 0);
        let (alpha, n, draws) = (0.3, 20, 20_000);
        let (mut mean, mut square) = (0.0, 0.0);
        for _ in 0..draws {
            let x = rng.dirichlet(alpha, n);
            assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            mean += x[3];
            square += x[3] * x[3];
        }
        mean /= f64::from(draws);
        let variance = square / f64::from(draws) - mean * mean;
        let m = 1.0 / n as f64;
        assert!((mean - m).abs() < 0.003, "{mean}");
        let exact = m * (1.0 - m) / (alpha * n as f64 + 1.0);
        assert!((variance / exact - 1.0).abs() < 0.1, "{variance} {exact}");
    }

    #[test]
    fn gumbel_has_its_mean() {
        let x = Rng::new(2, 0).gumbel(100_000);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        assert!((mean - 0.577_215_66).abs() < 0.02, "{mean}");
    }

    #[test]
    fn streams_differ() {
        assert_ne!(Rng::new(7, 0).next_u64(), Rng::new(7, 1).next_u64());
        assert_ne!(Rng::new(7, 0).next_u64(), Rng::new(8, 0).next_u64());
    }

    #[test]
    fn below_is_even() {
        let mut rng = Rng::new(3, 0);
        let mut counts = [0; 7];
        (0..70_000).for_each(|_| counts[rng.below(7)] += 1);
        assert!(
            counts.iter().all(|c| (9_500..10_500).contains(c)),
            "{counts:?}"
        );
    }
}
