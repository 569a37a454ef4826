//! Ends of games before the rules end them: by resignation, or at the limit of plies.

use crate::contracts::game::{Game, MAX_SEATS, Seat};
use crate::selfplay::play_config::{Resignation, Verdict};

/// The resignations of one game. In a game that is played on, a resignation is noted and the game
/// continues, so that wrong ones can be counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resigning {
    /// Consecutive turns of each seat below the threshold.
    low: [u32; MAX_SEATS],
    /// The seat that resigned, or would have if the game had ended then.
    pub seat: Option<Seat>,
    pub played_on: bool,
}

impl Resigning {
    /// Whether a seat resigns after a search at its turn that gave it a value.
    pub fn resigns(
        &mut self,
        rule: &Resignation,
        range: (f64, f64),
        seat: Seat,
        value: f32,
    ) -> bool {
        let (low, high) = range;
        let scaled = (f64::from(value) - (low + high) / 2.0) / ((high - low) / 2.0);
        let turns = &mut self.low[usize::from(seat)];
        *turns = if scaled < rule.below { *turns + 1 } else { 0 };
        if *turns < rule.turns || self.seat.is_some() {
            return false;
        }
        self.seat = Some(seat);
        !self.played_on
    }

    /// The returns of a game that a seat has resigned.
    pub fn returns(&self, range: (f64, f64), out: &mut [f64]) {
        out.fill(range.1);
        if let Some(seat) = self.seat {
            out[usize::from(seat)] = range.0;
        }
    }
}

/// Writes the returns of a game at the limit of plies.
pub(crate) fn judge<G: Game>(
    state: &G,
    rule: Verdict,
    range: (f64, f64),
    out: &mut [f64],
) -> Result<(), G::Error> {
    if rule == Verdict::Estimate && state.estimate(out)? {
        return Ok(());
    }
    let middle = (range.0 + range.1) / 2.0;
    out.fill(if middle.is_finite() { middle } else { 0.0 });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Resignation = Resignation {
        below: -0.9,
        turns: 2,
        play_on: 0.0,
    };

    #[test]
    fn a_seat_resigns_after_consecutive_turns_below_the_threshold() {
        let mut game = Resigning::default();
        let mut at = |seat, value| game.resigns(&RULE, (-1.0, 1.0), seat, value);
        assert!(!at(0, -0.95));
        assert!(!at(1, -0.95)); // the other seat counts for itself
        assert!(!at(0, 0.2)); // starts again
        assert!(!at(0, -0.95));
        assert!(at(0, -0.95));
        let mut returns = [0.0; 2];
        game.returns((-1.0, 1.0), &mut returns);
        assert_eq!(returns, [-1.0, 1.0]);
    }

    #[test]
    fn a_game_that_is_played_on_notes_the_first_resignation() {
        let mut game = Resigning {
            played_on: true,
            ..Resigning::default()
        };
        for (seat, value) in [(0, -0.95), (0, -0.95), (1, -1.0), (1, -1.0)] {
            assert!(!game.resigns(&RULE, (-1.0, 1.0), seat, value));
        }
        assert_eq!(game.seat, Some(0));
    }

    #[test]
    fn the_threshold_is_on_the_scale_of_the_value_range() {
        let mut game = Resigning::default();
        assert!(!game.resigns(&RULE, (0.0, 10.0), 0, 0.4)); // -0.92
        assert!(game.resigns(&RULE, (0.0, 10.0), 0, 0.4));
        let mut returns = [0.0; 2];
        game.returns((0.0, 10.0), &mut returns);
        assert_eq!(returns, [0.0, 10.0]);
    }
}
