//! Values per seat, and their storage in a tree.
//!
//! No code flips a sign by depth: selection maximises the value of the seat to move at the node.
//! `Duel` stores two-seat zero-sum values as one number, seat 0's; seat 1's is its negation, which
//! is exact. `Seats<N>` stores one number per seat, and per node the rewards of the step into it
//! and its proven result.
//!
//! Sums are doubles: a sum of ten million single-precision values in -1..1 has a relative error of
//! about 1e-9, while a single-precision sum would have stopped growing.

use std::fmt::Debug;

use bytemuck::{Pod, Zeroable};

use crate::contracts::game::Seat;
use crate::contracts::simd;

/// One value per seat, and the extra data of a node. Both are plain data (`Pod`) made of doubles,
/// because nodes are stored in an arena of plain memory.
pub trait Values: Pod + Default + Debug + Send + Sync {
    /// Extra data of every node: rewards and proven results, where the flags have no room for them.
    type Extra: Pod + Default + Debug + Send + Sync;

    /// From one number per seat.
    fn from_seats<T: Copy + Into<f64>>(values: &[T]) -> Self;
    fn seat(&self, seat: Seat) -> f64;
    fn add(&mut self, other: &Self);
    fn minus(self, other: Self) -> Self;
    fn times(self, n: f64) -> Self;
    /// Divides a sum by the number of its terms.
    fn over(self, n: f64) -> Self;

    /// Rounds two values of a seat to single precision.
    #[inline]
    fn round_both(a: Self, b: Self, seat: Seat) -> [f32; 2] {
        [a.seat(seat) as f32, b.seat(seat) as f32]
    }

    /// The rewards of the step into a node.
    fn set_reward(extra: &mut Self::Extra, rewards: &Self);
    fn reward(extra: &Self::Extra, seat: Seat) -> f64;
    /// The value of the step into a node, from the node's value: reward + discount * value.
    fn step_value(self, extra: &Self::Extra, discount: f64) -> Self;

    /// The result of a proven node.
    fn set_exact(extra: &mut Self::Extra, exact: Self);
    fn exact(extra: &Self::Extra) -> Self;

    /// Proven results are stored as win, draw and loss bounds in the node's flags, not in `Extra`.
    const BOUNDS: bool;
}

/// Two seats, zero-sum, returns in -1..1, no rewards, no discount.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Duel(f64);

// SAFETY: `repr(transparent)` over a double.
unsafe impl Zeroable for Duel {}
// SAFETY: as above.
unsafe impl Pod for Duel {}

impl Values for Duel {
    type Extra = ();
    const BOUNDS: bool = true;

    #[inline]
    fn from_seats<T: Copy + Into<f64>>(values: &[T]) -> Self {
        Self(values[0].into())
    }

    #[inline]
    fn seat(&self, seat: Seat) -> f64 {
        // Flip the sign bit for seat 1: a branch would be mispredicted at every other ply.
        f64::from_bits(self.0.to_bits() ^ u64::from(seat) << 63)
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        self.0 += other.0;
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    fn times(self, n: f64) -> Self {
        Self(self.0 * n)
    }

    #[inline]
    fn over(self, n: f64) -> Self {
        Self(self.0 / n)
    }

    #[inline]
    fn round_both(a: Self, b: Self, seat: Seat) -> [f32; 2] {
        simd::round_both(a.0, b.0, u64::from(seat) << 63)
    }

    fn set_reward(_: &mut (), _: &Self) {}

    fn reward(_: &(), _: Seat) -> f64 {
        0.0
    }

    fn step_value(self, _: &(), _: f64) -> Self {
        self
    }

    fn set_exact(_: &mut (), _: Self) {}

    fn exact(_: &()) -> Self {
        Self::default()
    }
}

/// Up to `N` seats, any returns, rewards and a discount.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Seats<const N: usize>([f64; N]);

// SAFETY: `repr(transparent)` over an array of doubles.
unsafe impl<const N: usize> Zeroable for Seats<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Pod for Seats<N> {}

impl<const N: usize> Default for Seats<N> {
    fn default() -> Self {
        Self([0.0; N])
    }
}

/// The rewards of the step into a node, and its proven result.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NodeExtra<const N: usize> {
    reward: Seats<N>,
    exact: Seats<N>,
}

impl<const N: usize> NodeExtra<N> {
    /// Fails to compile if there is padding: see `Pod`.
    const HAS_NO_PADDING: () = assert!(
        size_of::<Self>() == 2 * size_of::<Seats<N>>(),
        "an extra must have no padding"
    );
}

impl<const N: usize> Default for NodeExtra<N> {
    fn default() -> Self {
        const { Self::HAS_NO_PADDING };
        Self {
            reward: Seats::default(),
            exact: Seats::default(),
        }
    }
}

// SAFETY: `repr(C)` of two arrays of doubles: no padding (`HAS_NO_PADDING`).
unsafe impl<const N: usize> Zeroable for NodeExtra<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Pod for NodeExtra<N> {}

impl<const N: usize> Values for Seats<N> {
    type Extra = NodeExtra<N>;
    const BOUNDS: bool = false;

    fn from_seats<T: Copy + Into<f64>>(values: &[T]) -> Self {
        let mut seats = [0.0; N];
        for (seat, &value) in seats.iter_mut().zip(values) {
            *seat = value.into();
        }
        Self(seats)
    }

    fn seat(&self, seat: Seat) -> f64 {
        self.0[usize::from(seat)]
    }

    fn add(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }

    fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|seat| self.0[seat] - other.0[seat]))
    }

    fn times(self, n: f64) -> Self {
        Self(self.0.map(|x| x * n))
    }

    fn over(self, n: f64) -> Self {
        Self(self.0.map(|sum| sum / n))
    }

    fn set_reward(extra: &mut NodeExtra<N>, rewards: &Self) {
        extra.reward = *rewards;
    }

    fn reward(extra: &NodeExtra<N>, seat: Seat) -> f64 {
        extra.reward.seat(seat)
    }

    fn step_value(mut self, extra: &NodeExtra<N>, discount: f64) -> Self {
        for (value, reward) in self.0.iter_mut().zip(extra.reward.0) {
            *value = reward + discount * *value;
        }
        self
    }

    fn set_exact(extra: &mut NodeExtra<N>, exact: Self) {
        extra.exact = exact;
    }

    fn exact(extra: &NodeExtra<N>) -> Self {
        extra.exact
    }
}
