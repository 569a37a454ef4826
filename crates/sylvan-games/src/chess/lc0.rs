//! lc0's policy: 1858 outputs, one for each move from a square to another, from the mover's side
//! (`src/neural/encoder.cc` of lc0).
//!
//! | index | meaning |
//! |-------|---------|
//! | 0–1791    | from a1 … h8, then to a1 … h8, all pairs of a queen's or a knight's move |
//! | 1792–1857 | promotions: from file a … h, to file −1, 0, +1, then queen, rook, bishop |
//!
//! A promotion to a knight has the plain index of its step. Castling is the king taking its own
//! rook, even where [`az73`](super::az73) uses the king's move of two files.
//!
//! The index depends on the piece: a7a8 is a plain step for a rook and a promotion for a pawn.

use super::az73::{self, CODES, OFF};
use super::board::{BLACK, KING, PAWN};
use super::position::Position;
use sylvan_core::Action;

/// Outputs of the policy.
pub const NUM_LOGITS: usize = 1858;
const FIRST_PROMOTION: u32 = 1792;

/// The output of a legal action; 0 for codes that lead off the board.
pub(super) fn index(position: &Position, action: Action) -> u32 {
    let Some(step) = az73::unpack(action) else {
        return 0;
    };
    let (flip, from, to) = (position.flip(), step.from(), step.to());
    let piece = position.squares[(from ^ flip) as usize];
    match piece & !BLACK {
        PAWN if to >= 56 => promotion(from, to, step.underpromotion()),
        KING => {
            let (king, arrival) = (from ^ flip, to ^ flip);
            let taken = position.squares[arrival as usize];
            if position.is_castling(king, arrival, piece, taken) {
                plain(from, position.castling_rook(king, arrival) ^ flip)
            } else {
                plain(from, to)
            }
        }
        _ => plain(from, to),
    }
}

fn plain(from: u32, to: u32) -> u32 {
    u32::from(PLAIN[(from & 63) as usize][(to & 63) as usize])
}

/// `piece` is as in az73: 0 queen, 1 knight, 2 bishop, 3 rook.
fn promotion(from: u32, to: u32, piece: u32) -> u32 {
    let offset = match piece {
        0 => 0,
        3 => 1,
        2 => 2,
        _ => return plain(from, to),
    };
    // Files a to h have 2, 3, 3 … 3, 2 promotion moves, so there are 3f − 1 before file f (f > 0).
    let ways = 2 * (from & 7) + (to & 7);
    FIRST_PROMOTION + 3 * ways + offset
}

/// The plain outputs, by origin and target: consecutive numbers of the pairs in az73.
static PLAIN: [[u16; 64]; 64] = {
    let mut table = [[0; 64]; 64];
    let (mut next, mut from) = (0, 0);
    while from < 64 {
        let mut to = 0;
        while to < 64 {
            if CODES[from][to] != OFF {
                table[from][to] = next;
                next += 1;
            }
            to += 1;
        }
        from += 1;
    }
    assert!(next as u32 == FIRST_PROMOTION);
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_known_moves() {
        assert_eq!(plain(12, 28), 322); // e2e4
        assert_eq!(plain(11, 27), 293); // d2d4
        assert_eq!(plain(6, 21), 159); // g1f3
        assert_eq!(plain(22, 36), 617); // g3e5
        assert_eq!(plain(63, 62), 1791); // h8g8
        assert_eq!(promotion(48, 56, 0), 1792); // a7a8q
        assert_eq!(promotion(55, 63, 2), 1857); // h7h8b
        assert_eq!(promotion(49, 56, 3), 1799); // b7a8r
    }
}
