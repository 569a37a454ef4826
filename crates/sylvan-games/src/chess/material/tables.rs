//! What a piece is worth where, in hundredths of a pawn, as the mover's own piece.
//!
//! Two scores per kind and square: one for the middle game, one for the endgame, blended by the
//! pieces left. The formulas are plain: knights and bishops like the centre, pawns like to advance,
//! rooks the seventh rank, the king hides until queens are gone and then joins in.

use crate::chess::board::{BISHOP, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK};

/// A score for the middle game and one for the endgame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) middle: i32,
    pub(super) end: i32,
}

/// What a kind of piece is worth when pieces are exchanged; the king is worth all.
pub(super) const WORTH: [i32; 8] = {
    let mut worth = [0; 8];
    worth[PAWN as usize] = 100;
    worth[KNIGHT as usize] = 310;
    worth[BISHOP as usize] = 330;
    worth[ROOK as usize] = 500;
    worth[QUEEN as usize] = 950;
    worth[KING as usize] = 20_000;
    worth
};

/// How much of the middle game a kind stands for; all pieces of the start make [`MIDDLE_GAME`].
pub(super) const PHASE: [i32; 8] = {
    let mut phase = [0; 8];
    phase[KNIGHT as usize] = 1;
    phase[BISHOP as usize] = 1;
    phase[ROOK as usize] = 2;
    phase[QUEEN as usize] = 4;
    phase
};
pub(super) const MIDDLE_GAME: i32 = 24;

/// Worth and place together, by kind and square in the owner's view. The king's worth is left out:
/// both sides have one.
pub(super) static SCORES: [[Score; 64]; 8] = {
    let mut table = [[Score { middle: 0, end: 0 }; 64]; 8];
    let mut kind = 0;
    while kind < 8 {
        let mut square = 0;
        while square < 64 {
            let worth = if kind as Piece == KING {
                0
            } else {
                WORTH[kind]
            };
            let (middle, end) = place(kind as Piece, square as i32);
            table[kind][square] = Score {
                middle: worth + middle,
                end: worth + end,
            };
            square += 1;
        }
        kind += 1;
    }
    table
};

/// What the square adds.
const fn place(kind: Piece, square: i32) -> (i32, i32) {
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

/// Central pawns should leave home; wing pawns need not hurry.
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

/// The middle game's king belongs in a corner of its own first rank.
const fn king(file: i32, rank: i32) -> i32 {
    if rank > 0 {
        return -25 - 15 * rank;
    }
    [22, 28, 16, -8, 0, -8, 30, 24][file as usize]
}
