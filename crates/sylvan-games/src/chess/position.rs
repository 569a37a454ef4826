//! A position and how a move changes it.
//!
//! The position is everything the laws of chess need except the past: pieces, side to move,
//! castling rights, en passant and two counters. [`Position::play`] takes the code of a legal move
//! and updates the Zobrist key as it goes.
//!
//! Castling rights are the squares of the rooks that may still castle, so Chess960 needs nothing
//! more: any move from or to such a square ends the right, any king move ends both of its side.
//! An en-passant square is kept only while a capture on it is legal, which makes equal positions
//! equal and the key exact.

use super::board::{BLACK, Board, EMPTY, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK};
use super::codec;
use super::view::View;
use super::zobrist;
use sylvan_core::Action;

const FIRST_RANK: u64 = 0xff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) board: Board,
    /// Rooks that may castle.
    pub(super) castling: u64,
    /// See [`zobrist`].
    pub(super) key: u64,
    /// Plies since the last capture or pawn move.
    pub(super) clock: u32,
    /// Counts Black's moves, from 1.
    pub(super) move_number: u32,
    /// The square behind a pawn that can be taken in passing.
    pub(super) en_passant: Option<u32>,
    pub(super) black_to_move: bool,
    /// Castling is written as the king taking its rook.
    pub(super) chess960: bool,
}

impl Position {
    /// What to exclude-or a square with to see it as the mover does.
    pub(super) fn flip(&self) -> u32 {
        if self.black_to_move { 56 } else { 0 }
    }

    /// The key computed afresh.
    pub(super) fn computed_key(&self) -> u64 {
        zobrist::board(&self.board)
            ^ zobrist::castling(self.castling)
            ^ zobrist::en_passant(self.en_passant)
            ^ if self.black_to_move { zobrist::SIDE } else { 0 }
    }

    /// Makes a legal move; says whether it was a capture or a pawn move, after which no earlier
    /// position can come back. A code that leads off the board changes nothing.
    pub(super) fn play(&mut self, action: Action) -> bool {
        let Some(step) = codec::unpack(action) else {
            return false;
        };
        let flip = self.flip();
        let (from, to) = (step.from() ^ flip, step.to() ^ flip);
        let piece = self.board.piece(from);
        let taken = self.board.piece(to);
        let passed = self.en_passant.take();
        self.key ^= zobrist::en_passant(passed) ^ zobrist::SIDE;
        self.move_number += u32::from(self.black_to_move);
        self.clock = self.clock.saturating_add(1);

        let kind = piece & !BLACK;
        if kind == KING && self.is_castling(from, to, taken) {
            self.castle(from, to);
            self.black_to_move = !self.black_to_move;
            return false;
        }
        let placed = if kind == PAWN && matches!(to >> 3, 0 | 7) {
            promoted(step.underpromotion()) | piece & BLACK
        } else {
            piece
        };
        self.board.clear(1 << from | 1 << to);
        self.board.put(placed, to);
        self.key ^=
            zobrist::piece(piece, from) ^ zobrist::piece(placed, to) ^ zobrist::piece(taken, to);
        self.end_castling(from, to, kind);
        if kind == PAWN && passed == Some(to) {
            let square = to ^ 8;
            self.key ^= zobrist::piece(self.board.piece(square), square);
            self.board.clear(1 << square);
        }
        self.black_to_move = !self.black_to_move;
        if kind == PAWN && from ^ to == 16 {
            self.offer_en_passant(from.midpoint(to));
        }
        let irreversible = kind == PAWN || taken != EMPTY;
        if irreversible {
            self.clock = 0;
        }
        irreversible
    }

    /// A king's move is castling if it takes its own rook (Chess960) or goes two files.
    pub(super) fn is_castling(&self, from: u32, to: u32, taken: Piece) -> bool {
        if self.chess960 {
            taken != EMPTY
                && self.castling >> to & 1 == 1
                && (taken & BLACK != 0) == self.black_to_move
        } else {
            from.abs_diff(to) == 2
        }
    }

    /// Moves king and rook; `to` is on the side of the rook.
    fn castle(&mut self, from: u32, to: u32) {
        let (king_to, rook_to) = castled(from, to > from);
        let back_rank = FIRST_RANK << (from & 56);
        let rights = self.castling & back_rank;
        let rook_from = self.castling_rook(from, to);
        let colour = if self.black_to_move { BLACK } else { 0 };
        self.board.clear(1 << from | 1 << rook_from);
        self.board.put(KING | colour, king_to);
        self.board.put(ROOK | colour, rook_to);
        self.key ^= zobrist::piece(KING | colour, from)
            ^ zobrist::piece(KING | colour, king_to)
            ^ zobrist::piece(ROOK | colour, rook_from)
            ^ zobrist::piece(ROOK | colour, rook_to)
            ^ zobrist::castling(rights);
        self.castling &= !back_rank;
    }

    /// The rook that castles when the king on `from` goes towards `to`.
    pub(super) fn castling_rook(&self, from: u32, to: u32) -> u32 {
        let rights = self.castling & FIRST_RANK << (from & 56);
        if to > from {
            63 - (rights | 1).leading_zeros()
        } else {
            rights.trailing_zeros() & 63
        }
    }

    /// Drops the rights that a move from one square to another ends.
    fn end_castling(&mut self, from: u32, to: u32, kind: Piece) {
        let mut touched = 1 << from | 1 << to;
        if kind == KING {
            touched |= FIRST_RANK << (from & 56);
        }
        let ended = self.castling & touched;
        if ended != 0 {
            self.key ^= zobrist::castling(ended);
            self.castling ^= ended;
        }
    }

    /// Keeps the square behind a pawn that has just made two steps, if a capture there is legal.
    pub(super) fn offer_en_passant(&mut self, square: u32) {
        let view = View::of(self);
        if view.en_passant_capturers(square ^ self.flip()) != 0 {
            self.en_passant = Some(square);
            self.key ^= zobrist::en_passant(self.en_passant);
        }
    }

    /// Neither side can ever mate: bare kings, one knight, or bishops of one colour of square.
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

/// Where king and rook stand after castling with a king on this rank.
pub(super) const fn castled(king: u32, king_side: bool) -> (u32, u32) {
    let rank = king & 56;
    if king_side {
        (rank | 6, rank | 5)
    } else {
        (rank | 2, rank | 3)
    }
}

/// What a pawn becomes, by its packed step.
const fn promoted(underpromotion: u32) -> Piece {
    match underpromotion {
        1 => KNIGHT,
        2 => super::board::BISHOP,
        3 => ROOK,
        _ => QUEEN,
    }
}
