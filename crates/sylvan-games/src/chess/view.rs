//! The board from the mover's side: its own pieces at the bottom, its pawns moving up.
//!
//! Flipping the board once (four byte swaps) allows move generation, action codes and evaluation to
//! be written for one colour: they use "own" and "their" instead of White and Black.

use super::board::Board;
use super::position::Position;
use shakmaty::{Bitboard, Color, Square, attacks};

pub(super) const FILE_A: u64 = 0x0101_0101_0101_0101;
pub(super) const FILE_H: u64 = FILE_A << 7;

/// Piece sets from the mover's side, and its king.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) board: Board,
    pub(super) own: u64,
    pub(super) their: u64,
    /// The mover's king; a1 if there is none, which only happens after an illegal code.
    pub(super) king: Square,
}

impl View {
    pub(super) fn of(position: &Position) -> View {
        let board = if position.black_to_move {
            position.board.flipped()
        } else {
            position.board
        };
        let their = board.black();
        let own = board.occupied() ^ their;
        let king = Bitboard(board.kings() & own).first().unwrap_or(Square::A1);
        View {
            board,
            own,
            their,
            king,
        }
    }

    pub(super) fn occupied(&self) -> u64 {
        self.own | self.their
    }

    /// Whether the mover is in check.
    pub(super) fn is_check(&self) -> bool {
        self.attackers(self.king, self.occupied()) != 0
    }

    /// Their pieces that attack a square, with `occupied` blocking sliders.
    pub(super) fn attackers(&self, square: Square, occupied: u64) -> u64 {
        self.all_attackers(square, occupied) & self.their
    }

    /// Pieces of both sides that attack a square, with `occupied` blocking sliders.
    pub(super) fn all_attackers(&self, square: Square, occupied: u64) -> u64 {
        let (board, pawns) = (&self.board, self.board.pawns());
        self.all_sliding_attackers(square, occupied)
            | attacks::knight_attacks(square).0 & board.knights()
            | attacks::king_attacks(square).0 & board.kings()
            | attacks::pawn_attacks(Color::White, square).0 & pawns & self.their
            | attacks::pawn_attacks(Color::Black, square).0 & pawns & self.own
    }

    /// Their sliders that attack a square, with `occupied` blocking them.
    pub(super) fn sliding_attackers(&self, square: Square, occupied: u64) -> u64 {
        self.all_sliding_attackers(square, occupied) & self.their
    }

    /// Sliders of both sides that attack a square, with `occupied` blocking them.
    pub(super) fn all_sliding_attackers(&self, square: Square, occupied: u64) -> u64 {
        attacks::bishop_attacks(square, Bitboard(occupied)).0 & self.board.diagonal()
            | attacks::rook_attacks(square, Bitboard(occupied)).0 & self.board.straight()
    }

    /// Squares attacked by their pawns.
    pub(super) fn pawn_attacked(&self) -> u64 {
        let pawns = self.board.pawns() & self.their;
        (pawns & !FILE_A) >> 9 | (pawns & !FILE_H) >> 7
    }

    /// Squares attacked by their pawns, knights and king.
    pub(super) fn step_attacked(&self) -> u64 {
        self.pawn_attacked() | self.stepped(self.their)
    }

    /// Squares attacked by their pieces.
    pub(super) fn attacked(&self) -> u64 {
        self.step_attacked() | self.slid(self.their, self.occupied())
    }

    /// Squares forbidden to the own king: attacked by their pieces, also through the king.
    pub(super) fn forbidden(&self) -> u64 {
        self.step_attacked() | self.slid(self.their, self.occupied() & !(1 << self.king.to_u32()))
    }

    /// Squares forbidden to their king: attacked by own pieces, also through the king.
    pub(super) fn covered(&self) -> u64 {
        let pawns = self.board.pawns() & self.own;
        let pawns = (pawns & !FILE_A) << 7 | (pawns & !FILE_H) << 9;
        let occupied = self.occupied() & !(self.board.kings() & self.their);
        pawns | self.stepped(self.own) | self.slid(self.own, occupied)
    }

    /// Squares attacked by a side's knights and king.
    fn stepped(&self, side: u64) -> u64 {
        let mut attacked = 0;
        for square in Bitboard(self.board.knights() & side) {
            attacked |= attacks::knight_attacks(square).0;
        }
        for square in Bitboard(self.board.kings() & side) {
            attacked |= attacks::king_attacks(square).0;
        }
        attacked
    }

    /// Squares attacked by a side's bishops, rooks and queens, with `occupied` blocking them.
    fn slid(&self, side: u64, occupied: u64) -> u64 {
        let mut attacked = 0;
        for square in Bitboard(self.board.diagonal() & side) {
            attacked |= attacks::bishop_attacks(square, Bitboard(occupied)).0;
        }
        for square in Bitboard(self.board.straight() & side) {
            attacked |= attacks::rook_attacks(square, Bitboard(occupied)).0;
        }
        attacked
    }

    /// Own pawns with a legal en-passant capture on a square.
    pub(super) fn en_passant_capturers(&self, square: u32) -> u64 {
        let square = Square::new(square & 63);
        let pawns = attacks::pawn_attacks(Color::Black, square).0 & self.board.pawns() & self.own;
        let passed = 1u64 << ((square.to_u32() ^ 8) & 63);
        let arrival = 1u64 << square.to_u32();
        Bitboard(pawns)
            .into_iter()
            .map(|pawn| 1u64 << pawn.to_u32())
            .filter(|pawn| {
                let occupied = (self.occupied() ^ pawn ^ passed) | arrival;
                self.attackers(self.king, occupied) & !passed == 0
            })
            .fold(0, |capturers, pawn| capturers | pawn)
    }
}
