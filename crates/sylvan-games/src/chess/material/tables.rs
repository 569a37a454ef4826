//! Piece values and piece-square tables, in centipawns, from the owner's side.
//!
//! Two scores per kind and square: one for the middle game, one for the endgame, interpolated by
//! the game phase. The formulas are simple: bonuses for knights and bishops in the centre, advanced
//! pawns, rooks on the seventh rank, and a king that is safe in the middle game and central in the
//! endgame.

use crate::chess::board::{BISHOP, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK};

/// A score for the middle game and one for the endgame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) middle: i32,
    pub(super) end: i32,
}

/// The value of a kind of piece in exchanges; the king's exceeds all others.
pub(super) const PIECE_VALUE: [i32; 8] = {
    let mut worth = [0; 8];
    worth[PAWN as usize] = 100;
    worth[KNIGHT as usize] = 310;
    worth[BISHOP as usize] = 330;
    worth[ROOK as usize] = 500;
    worth[QUEEN as usize] = 950;
    worth[KING as usize] = 20_000;
    worth
};

/// The weight of a kind in the game phase; the pieces of the start position sum to [`MIDDLE_GAME`].
pub(super) const PHASE: [i32; 8] = {
    let mut phase = [0; 8];
    phase[KNIGHT as usize] = 1;
    phase[BISHOP as usize] = 1;
    phase[ROOK as usize] = 2;
    phase[QUEEN as usize] = 4;
    phase
};
pub(super) const MIDDLE_GAME: i32 = 24;

/// Piece value plus square bonus, by kind and square from the owner's side. The king's value is
/// omitted: both sides have one.
pub(super) static SCORES: [[Score; 64]; 8] = {
    let mut table = [[Score { middle: 0, end: 0 }; 64]; 8];
    let mut kind = 0;
    while kind < 8 {
        let mut square = 0;
        while square < 64 {
            let value = if kind as Piece == KING {
                0
            } else {
                PIECE_VALUE[kind]
            };
            let (middle, end) = square_bonus(kind as Piece, square as i32);
            table[kind][square] = Score {
                middle: value + middle,
                end: value + end,
            };
            square += 1;
        }
        kind += 1;
    }
    table
};

/// The bonus of a square, in the middle game and the endgame.
const fn square_bonus(kind: Piece, square: i32) -> (i32, i32) {
    let (file, rank) = (square & 7, square >> 3);
    let from_edge = if file < 4 { file } else { 7 - file };
    // 0 in the corners, 6 on the four central squares.
    let centre = from_edge + if rank < 4 { rank } else { 7 - rank };
    match kind {
        PAWN => (
            pawn(from_edge, rank),
            [0, 0, 6, 14, 30, 60, 100, 0][rank as usize],
        ),
        KNIGHT => (
            10 * centre - 35 + if rank == 0 { -8 } else { 0 },
            8 * centre - 28,
        ),
        BISHOP => (
            4 * centre - 10 + if rank == 0 { -10 } else { 0 },
            4 * centre - 12,
        ),
        ROOK => (
            2 * from_edge + if rank == 6 { 20 } else { 0 },
            if rank == 6 { 12 } else { 0 },
        ),
        QUEEN => (2 * centre - 6, 5 * centre - 14),
        KING => (king(file, rank), 10 * centre - 25),
        _ => (0, 0),
    }
}

/// The middle-game bonus of a pawn: central pawns should advance first.
const fn pawn(from_edge: i32, rank: i32) -> i32 {
    let advance = [0, 0, 4, 10, 20, 40, 70, 0][rank as usize];
    match (from_edge, rank) {
        (3, 1) => -18,
        (3, 3) => 28,
        (3, 4) => 34,
        (2, 3) => 14,
        _ => advance,
    }
}

/// The middle-game bonus of a king: near a corner of its first rank.
const fn king(file: i32, rank: i32) -> i32 {
    if rank > 0 {
        return -25 - 15 * rank;
    }
    [22, 28, 16, -8, 0, -8, 30, 24][file as usize]
}
