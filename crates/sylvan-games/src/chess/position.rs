//! A position, and making a move.
//!
//! The position holds everything except the history: pieces, side to move, castling rights, en
//! passant and two counters. [`Position::play`] takes the code of a legal move and updates the
//! Zobrist key.
//!
//! Castling rights are the squares of the rooks that may still castle, which also covers Chess960:
//! any move from or to such a square ends the right, any king move ends both rights of its side. An
//! en-passant square is stored only if a capture on it is legal, so that equal positions have equal
//! keys.

use super::az73;
use super::board::{BLACK, Board, EMPTY, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK};
use super::view::{FILE_A, FILE_H, View};
use super::zobrist;
use std::hint::select_unpredictable;
use sylvan_core::Action;

const FIRST_RANK: u64 = 0xff;
const LAST_RANKS: u64 = 0xff | 0xff << 56;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) board: Board,
    /// The same pieces by square, for fast lookup.
    pub(super) squares: [Piece; 64],
    /// Rooks that may castle.
    pub(super) castling: u64,
    /// See [`zobrist`].
    pub(super) key: u64,
    /// Plies since the last capture or pawn move.
    pub(super) clock: u32,
    /// The full-move number, from 1; increases after Black's moves.
    pub(super) move_number: u32,
    /// The en-passant square as a bit, if a capture there is legal; otherwise 0.
    pub(super) en_passant: u64,
    pub(super) black_to_move: bool,
    /// Castling is written as the king taking its rook.
    pub(super) chess960: bool,
}

impl Position {
    /// XOR a square with this to get it from the mover's side.
    pub(super) fn flip(&self) -> u32 {
        if self.black_to_move { 56 } else { 0 }
    }

    /// The key, computed from scratch.
    pub(super) fn computed_key(&self) -> u64 {
        zobrist::board(&self.board)
            ^ zobrist::castling(self.castling)
            ^ zobrist::en_passant(self.en_passant)
            ^ if self.black_to_move { zobrist::SIDE } else { 0 }
    }

    /// Makes a legal move; returns whether it was irreversible (a capture or a pawn move). A code
    /// that leads off the board changes nothing.
    ///
    /// Castling and special pawn moves are detected by one test each, with bit operations, so that
    /// two rarely taken branches replace many unpredictable ones.
    pub(super) fn play(&mut self, action: Action) -> bool {
        let Some(step) = az73::unpack(action) else {
            return false;
        };
        let flip = self.flip();
        let (from, to) = (step.from() ^ flip, step.to() ^ flip);
        let (piece, taken) = (self.squares[from as usize], self.squares[to as usize]);
        let passed = std::mem::take(&mut self.en_passant);
        self.key ^= zobrist::en_passant(passed) ^ zobrist::SIDE;
        self.move_number = self
            .move_number
            .saturating_add(u32::from(self.black_to_move));
        self.black_to_move = !self.black_to_move;
        self.clock = self.clock.saturating_add(1);

        if self.is_castling(from, to, piece, taken) {
            self.castle(from, to, piece & BLACK);
            return false;
        }
        self.board.toggle(taken, 1 << to);
        self.board.toggle(piece, 1 << from | 1 << to);
        self.key ^=
            zobrist::piece(taken, to) ^ zobrist::piece(piece, from) ^ zobrist::piece(piece, to);
        self.squares[from as usize] = EMPTY;
        self.squares[to as usize] = piece;
        self.end_castling(from, to, piece);
        let two_steps = select_unpredictable(from ^ to == 16, beside(to), 0);
        let special = 1 << to & (LAST_RANKS | passed) | two_steps & self.enemy_pawns(piece);
        if ONLY_PAWNS[usize::from(piece)] & special != 0 {
            self.finish_pawn_move(from, to, passed, step.underpromotion());
        }
        let irreversible = (piece & !BLACK == PAWN) | (taken != EMPTY);
        self.clock = select_unpredictable(irreversible, 0, self.clock);
        irreversible
    }

    /// The pawns of the other side than a piece's.
    fn enemy_pawns(&self, piece: Piece) -> u64 {
        let belongs_to_black = 0u64.wrapping_sub(u64::from(piece / BLACK));
        self.board.pawns() & (self.board.black() ^ belongs_to_black)
    }

    /// Special pawn moves: promotion, en-passant capture, and double step.
    fn finish_pawn_move(&mut self, from: u32, to: u32, passed: u64, underpromotion: u32) {
        let pawn = self.squares[to as usize];
        if 1 << to & LAST_RANKS != 0 {
            self.replace(to, promoted(underpromotion) | pawn & BLACK);
        } else if 1 << to & passed != 0 {
            self.replace(to ^ 8, EMPTY);
        } else {
            self.set_en_passant(from.midpoint(to));
        }
    }

    /// Replaces the piece on a square; either may be `EMPTY`.
    fn replace(&mut self, square: u32, piece: Piece) {
        let old = std::mem::replace(&mut self.squares[square as usize], piece);
        self.toggle(old, square);
        self.toggle(piece, square);
    }

    /// Adds a piece to the bitboards and the key, or removes it.
    fn toggle(&mut self, piece: Piece, square: u32) {
        self.board.toggle(piece, 1 << square);
        self.key ^= zobrist::piece(piece, square);
    }

    /// Whether a move is castling: the king moves two files, or in Chess960 onto its own rook.
    pub(super) fn is_castling(&self, from: u32, to: u32, piece: Piece, taken: Piece) -> bool {
        let not_king = u32::from(piece & !BLACK ^ KING);
        if self.chess960 {
            not_king | u32::from(piece & BLACK ^ taken ^ ROOK) == 0
        } else {
            not_king | (from.abs_diff(to) ^ 2) == 0
        }
    }

    /// Moves king and rook of a colour; `to` is on the side of the rook.
    fn castle(&mut self, from: u32, to: u32, colour: Piece) {
        let (king_to, rook_to) = castled(from, to > from);
        let rook_from = self.castling_rook(from, to);
        self.replace(from, EMPTY);
        self.replace(rook_from, EMPTY);
        self.replace(king_to, KING | colour);
        self.replace(rook_to, ROOK | colour);
        self.end_castling(from, from, KING);
    }

    /// The rook that castles when the king on `from` moves towards `to`.
    pub(super) fn castling_rook(&self, from: u32, to: u32) -> u32 {
        let rights = self.castling & FIRST_RANK << (from & 56);
        if to > from {
            63 - (rights | 1).leading_zeros()
        } else {
            rights.trailing_zeros() & 63
        }
    }

    /// Removes the castling rights that a move ends.
    fn end_castling(&mut self, from: u32, to: u32, piece: Piece) {
        let is_king = piece & !BLACK == KING;
        let rank = select_unpredictable(is_king, FIRST_RANK << (from & 56), 0);
        let ended = self.castling & (1 << from | 1 << to | rank);
        if ended != 0 {
            self.key ^= zobrist::castling(ended);
            self.castling ^= ended;
        }
    }

    /// Stores the square behind a pawn that has just made two steps, if a capture there is legal.
    pub(super) fn set_en_passant(&mut self, square: u32) {
        if View::of(self).en_passant_capturers(square ^ self.flip()) != 0 {
            self.en_passant = 1 << square;
            self.key ^= zobrist::en_passant(self.en_passant);
        }
    }

    /// Whether neither side can mate: bare kings, one knight, or bishops on squares of one colour.
    pub(super) fn is_dead(&self) -> bool {
        let board = &self.board;
        if board.pawns() | board.straight() != 0 {
            return false;
        }
        let (knights, bishops) = (board.knights(), board.bishops());
        if knights != 0 {
            return knights.count_ones() == 1 && bishops == 0;
        }
        const DARK_SQUARES: u64 = 0xaa55_aa55_aa55_aa55;
        bishops & DARK_SQUARES == 0 || bishops & !DARK_SQUARES == 0
    }
}

/// All squares for a pawn, none for any other piece.
static ONLY_PAWNS: [u64; 16] = {
    let mut table = [0; 16];
    table[PAWN as usize] = !0;
    table[(PAWN | BLACK) as usize] = !0;
    table
};

/// The squares to the left and right of a square.
const fn beside(square: u32) -> u64 {
    let bit = 1u64 << square;
    (bit & !FILE_A) >> 1 | (bit & !FILE_H) << 1
}

/// The squares of king and rook after castling on the king's rank.
pub(super) const fn castled(king: u32, king_side: bool) -> (u32, u32) {
    let rank = king & 56;
    if king_side {
        (rank | 6, rank | 5)
    } else {
        (rank | 2, rank | 3)
    }
}

/// The piece of a promotion, from its packed step.
pub(super) const fn promoted(underpromotion: u32) -> Piece {
    match underpromotion {
        1 => KNIGHT,
        2 => super::board::BISHOP,
        3 => ROOK,
        _ => QUEEN,
    }
}
