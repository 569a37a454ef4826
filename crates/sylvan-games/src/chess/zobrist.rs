//! Zobrist keys (Zobrist 1970): a position's key is the XOR of one number per feature, so a move
//! updates it by the features that it changes.
//!
//! Features: every piece on its square, the side to move, every rook that may still castle, and the
//! square of a *legal* en-passant capture. Two positions have the same features exactly if they are
//! the same under FIDE 9.2.3.

use super::board::{Board, Piece};
use crate::hash::mix;
use shakmaty::Bitboard;

/// Black is to move.
pub(super) const SIDE: u64 = mix(0);
/// A piece on a square, by its code; 0 for [`EMPTY`](super::board::EMPTY).
static PIECES: [[u64; 64]; 16] = pieces();
/// A rook on this square may castle.
static CASTLING: [u64; 64] = series(1 << 16);
/// A legal en-passant capture on this square.
static EN_PASSANT: [u64; 64] = series(2 << 16);

pub(super) fn piece(piece: Piece, square: u32) -> u64 {
    PIECES[usize::from(piece & 15)][square as usize & 63]
}

/// The key of the squares of rooks that may castle.
pub(super) fn castling(rooks: u64) -> u64 {
    Bitboard(rooks)
        .into_iter()
        .fold(0, |key, square| key ^ CASTLING[square.to_usize()])
}

/// The key of an en-passant square, given as a bit; 0 for none.
pub(super) fn en_passant(square: u64) -> u64 {
    if square == 0 {
        0
    } else {
        EN_PASSANT[square.trailing_zeros() as usize & 63]
    }
}

/// The key of all pieces on a board.
pub(super) fn board(board: &Board) -> u64 {
    Bitboard(board.occupied())
        .into_iter()
        .map(|square| piece(board.piece(square.to_u32()), square.to_u32()))
        .fold(0, |key, feature| key ^ feature)
}

const fn pieces() -> [[u64; 64]; 16] {
    let mut table = [[0; 64]; 16];
    let mut piece = 1;
    while piece < 16 {
        table[piece] = series((3 << 16) + 64 * piece as u64);
        piece += 1;
    }
    table
}

const fn series(first: u64) -> [u64; 64] {
    let mut numbers = [0; 64];
    let mut i = 0;
    while i < 64 {
        numbers[i] = mix(first + i as u64);
        i += 1;
    }
    numbers
}
