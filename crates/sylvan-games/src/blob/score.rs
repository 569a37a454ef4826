//! The points of a round, and the utility that searches and networks maximise.
//!
//! Points, for a bid `b` and `t` tricks, with the error `d = |b - t|`:
//!
//! ```text
//! exact (b = t):   exact + per_bid · b + square · b² + trick · t
//! missed:          trick · t - miss · d          (growing: miss · (1 + 2 + … + d))
//! ```
//!
//! Utility of seat s, exact at the end of a round and never clipped:
//!
//! ```text
//! u_s = p_s - λ · mean of the others' p,    p = points / highest possible points of the round
//! ```
//!
//! λ = 0 gives a seat's own points, λ = 1 its points above the others' mean, which sum to zero.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scoring {
    pub exact: i16,
    pub per_bid: i16,
    pub square: i16,
    pub trick: i16,
    pub miss: i16,
    pub growing: bool,
}

const NOTHING: Scoring = Scoring {
    exact: 0,
    per_bid: 0,
    square: 0,
    trick: 0,
    miss: 0,
    growing: false,
};

impl Scoring {
    /// 10 + bid, or 0.
    pub const EXACT_10_PLUS_BID: Self = Self {
        exact: 10,
        per_bid: 1,
        ..NOTHING
    };
    /// 1 point per trick, and 10 for an exact bid.
    pub const TRICKS_PLUS_10: Self = Self {
        exact: 10,
        trick: 1,
        ..NOTHING
    };
    /// 1 point per trick, and 5 for an exact bid.
    pub const TRICKS_PLUS_5: Self = Self {
        exact: 5,
        trick: 1,
        ..NOTHING
    };
    /// 10 + bid², or -5, -15, -30, … for an error of one, two, three tricks.
    pub const SQUARE: Self = Self {
        exact: 10,
        square: 1,
        miss: 5,
        growing: true,
        ..NOTHING
    };
    /// 10 + bid, or -1 per trick of error.
    pub const MINUS_MISSED: Self = Self {
        exact: 10,
        per_bid: 1,
        miss: 1,
        ..NOTHING
    };
    /// All of them by name.
    pub const NAMED: [(&str, Self); 5] = [
        ("exact_10_plus_bid", Self::EXACT_10_PLUS_BID),
        ("tricks_plus_10", Self::TRICKS_PLUS_10),
        ("tricks_plus_5", Self::TRICKS_PLUS_5),
        ("square", Self::SQUARE),
        ("minus_missed", Self::MINUS_MISSED),
    ];

    #[inline]
    pub const fn points(&self, bid: u8, tricks: u8) -> i16 {
        let (b, t) = (bid as i16, tricks as i16);
        let kept = self.trick * t;
        if b == t {
            return self.exact + self.per_bid * b + self.square * b * b + kept;
        }
        kept - self.lost((b - t).abs())
    }

    const fn lost(&self, off: i16) -> i16 {
        if self.growing {
            self.miss * off * (off + 1) / 2
        } else {
            self.miss * off
        }
    }

    /// The highest possible points of a round with this many cards.
    #[inline]
    pub const fn most(&self, cards: u8) -> f64 {
        self.points(cards, cards) as f64
    }

    /// The range of `p`, the share of the highest possible points.
    pub fn share_range(&self, cards: u8) -> (f64, f64) {
        (
            -f64::from(self.lost(i16::from(cards))) / self.most(cards),
            1.0,
        )
    }
}

/// The range of utilities for a range of shares.
pub fn utility_range(shares: (f64, f64), rivalry: f64) -> (f64, f64) {
    (shares.0 - rivalry * shares.1, shares.1 - rivalry * shares.0)
}

/// The utilities of all seats from their points.
#[inline]
pub fn utilities(points: &[i16], most: f64, rivalry: f64, out: &mut [f64]) {
    let sum: f64 = points.iter().map(|&p| f64::from(p)).sum();
    let others = points.len() as f64 - 1.0;
    for (u, &p) in out.iter_mut().zip(points) {
        let own = f64::from(p);
        *u = (own - rivalry * ((sum - own) / others)) / most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_by_hand() {
        let of =
            |scoring: Scoring| [(0, 0), (3, 3), (3, 1), (1, 3)].map(|(b, t)| scoring.points(b, t));
        assert_eq!(of(Scoring::EXACT_10_PLUS_BID), [10, 13, 0, 0]);
        assert_eq!(of(Scoring::TRICKS_PLUS_10), [10, 13, 1, 3]);
        assert_eq!(of(Scoring::TRICKS_PLUS_5), [5, 8, 1, 3]);
        assert_eq!(of(Scoring::SQUARE), [10, 19, -15, -15]);
        assert_eq!(of(Scoring::MINUS_MISSED), [10, 13, -2, -2]);
    }

    #[test]
    fn utilities_by_hand() {
        let mut out = [0.0; 3];
        utilities(&[12, 0, 10], 12.0, 0.0, &mut out);
        assert_eq!(out, [1.0, 0.0, 10.0 / 12.0]);
        utilities(&[12, 0, 10], 12.0, 1.0, &mut out);
        assert_eq!(out, [7.0 / 12.0, -11.0 / 12.0, 4.0 / 12.0]);
        assert!(out.iter().sum::<f64>().abs() < 1e-15);
    }

    #[test]
    fn points_stay_in_their_range() {
        for (name, scoring) in Scoring::NAMED {
            for cards in 1..=13 {
                let (low, high) = scoring.share_range(cards);
                for (bid, tricks) in (0..=cards).flat_map(|b| (0..=cards).map(move |t| (b, t))) {
                    let share = f64::from(scoring.points(bid, tricks)) / scoring.most(cards);
                    assert!((low..=high).contains(&share), "{name} {bid} {tricks}");
                }
            }
        }
    }
}
