//! A chess board in four bitboards.
//!
//! Every square has four bits, one in each bitboard: three for the kind of piece, one for Black.
//! The kinds are numbered so that move generation gets its piece sets with one or two operations:
//!
//! | kind   | code | |
//! |--------|------|-|
//! | none   | 000  | |
//! | bishop | 001  | bit 0 without bit 2: slides on diagonals |
//! | rook   | 010  | bit 1 without bit 2: slides on ranks and files |
//! | queen  | 011  | both |
//! | pawn   | 100  | |
//! | knight | 101  | |
//! | king   | 110  | |
//!
//! A board takes 32 bytes, so the eight boards of the history take 256, and copying a state is
//! cheap. Squares are numbered a1 = 0, b1 = 1 … h8 = 63.

use shakmaty::{Bitboard, Color, Role};

/// A square's four bits: the kind, plus [`BLACK`]. Zero is an empty square.
pub(super) type Piece = u8;

pub(super) const EMPTY: Piece = 0;
pub(super) const BISHOP: Piece = 1;
pub(super) const ROOK: Piece = 2;
pub(super) const QUEEN: Piece = 3;
pub(super) const PAWN: Piece = 4;
pub(super) const KNIGHT: Piece = 5;
pub(super) const KING: Piece = 6;
/// Added to the kind of a black piece.
pub(super) const BLACK: Piece = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Board {
    bits: [u64; 4],
}

impl Board {
    pub(super) const EMPTY: Board = Board { bits: [0; 4] };

    /// The four bitboards: the three bits of the kind, lowest first, then Black's pieces.
    pub(super) fn bits(&self) -> [u64; 4] {
        self.bits
    }

    /// The squares on which two boards differ.
    pub(super) fn changed(&self, other: &Board) -> u64 {
        let differ = |number: usize| self.bits[number] ^ other.bits[number];
        differ(0) | differ(1) | differ(2) | differ(3)
    }

    pub(super) fn occupied(&self) -> u64 {
        self.bits[0] | self.bits[1] | self.bits[2]
    }

    pub(super) fn black(&self) -> u64 {
        self.bits[3]
    }

    /// Bishops and queens.
    pub(super) fn diagonal(&self) -> u64 {
        self.bits[0] & !self.bits[2]
    }

    /// Rooks and queens.
    pub(super) fn straight(&self) -> u64 {
        self.bits[1] & !self.bits[2]
    }

    pub(super) fn pawns(&self) -> u64 {
        self.bits[2] & !self.bits[1] & !self.bits[0]
    }

    pub(super) fn knights(&self) -> u64 {
        self.bits[2] & self.bits[0]
    }

    pub(super) fn bishops(&self) -> u64 {
        self.diagonal() & !self.bits[1]
    }

    pub(super) fn rooks(&self) -> u64 {
        self.straight() & !self.bits[0]
    }

    pub(super) fn queens(&self) -> u64 {
        self.bits[0] & self.bits[1]
    }

    pub(super) fn kings(&self) -> u64 {
        self.bits[2] & self.bits[1]
    }

    /// White's material minus Black's: pawns 1, minor pieces 3, rooks 5, queens 9.
    pub(super) fn material(&self) -> i32 {
        let worth = [
            (self.pawns(), 1),
            (self.knights() | self.bishops(), 3),
            (self.rooks(), 5),
            (self.queens(), 9),
        ];
        let ahead = |pieces: u64| {
            let black = (pieces & self.black()).count_ones() as i32;
            pieces.count_ones() as i32 - 2 * black
        };
        worth
            .map(|(pieces, worth)| worth * ahead(pieces))
            .iter()
            .sum()
    }

    /// The piece on a square.
    pub(super) fn piece(&self, square: u32) -> Piece {
        let bit = |plane: u64, number: u32| ((plane >> square) as u8 & 1) << number;
        bit(self.bits[0], 0) | bit(self.bits[1], 1) | bit(self.bits[2], 2) | bit(self.bits[3], 3)
    }

    /// The pieces on all squares.
    pub(super) fn squares(&self) -> [Piece; 64] {
        std::array::from_fn(|square| self.piece(square as u32))
    }

    /// Adds a piece to empty squares, or removes it from its squares.
    pub(super) fn toggle(&mut self, piece: Piece, squares: u64) {
        let masks = &PIECE_MASKS[usize::from(piece & 15)];
        for (plane, mask) in self.bits.iter_mut().zip(masks) {
            *plane ^= mask & squares;
        }
    }

    /// Puts a piece on an empty square.
    pub(super) fn put(&mut self, piece: Piece, square: u32) {
        self.toggle(piece, 1 << square);
    }

    /// The board from the other side: ranks flipped and colours exchanged.
    pub(super) fn flipped(&self) -> Board {
        let [low, middle, high, black] = self.bits.map(u64::swap_bytes);
        Board {
            bits: [low, middle, high, black ^ (low | middle | high)],
        }
    }
}

/// The four bits of each piece, as masks of all squares.
static PIECE_MASKS: [[u64; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut piece = 0;
    while piece < 16 {
        let mut bit = 0;
        while bit < 4 {
            table[piece][bit] = if piece >> bit & 1 == 1 { !0 } else { 0 };
            bit += 1;
        }
        piece += 1;
    }
    table
};

impl From<&shakmaty::Board> for Board {
    fn from(source: &shakmaty::Board) -> Board {
        let mut board = Board::default();
        for (square, piece) in source.iter() {
            let colour = if piece.color == Color::Black {
                BLACK
            } else {
                0
            };
            board.put(kind(piece.role) | colour, square.to_u32());
        }
        board
    }
}

impl From<&Board> for shakmaty::Board {
    fn from(source: &Board) -> shakmaty::Board {
        let mut board = shakmaty::Board::empty();
        for square in Bitboard(source.occupied()) {
            let piece = source.piece(square.to_u32());
            if let Some(role) = role(piece) {
                let color = Color::from_white(piece & BLACK == 0);
                board.set_piece_at(square, role.of(color));
            }
        }
        board
    }
}

/// The code of a kind of piece.
pub(super) const fn kind(role: Role) -> Piece {
    match role {
        Role::Pawn => PAWN,
        Role::Knight => KNIGHT,
        Role::Bishop => BISHOP,
        Role::Rook => ROOK,
        Role::Queen => QUEEN,
        Role::King => KING,
    }
}

/// The kind of a piece code, for either colour.
pub(super) const fn role(piece: Piece) -> Option<Role> {
    match piece & !BLACK {
        PAWN => Some(Role::Pawn),
        KNIGHT => Some(Role::Knight),
        BISHOP => Some(Role::Bishop),
        ROOK => Some(Role::Rook),
        QUEEN => Some(Role::Queen),
        KING => Some(Role::King),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_round_trip_through_shakmaty() {
        let start = shakmaty::Board::new();
        let board = Board::from(&start);
        assert_eq!(shakmaty::Board::from(&board), start);
        assert_eq!(board.pawns(), 0x00ff_0000_0000_ff00);
        assert_eq!(board.kings(), 0x1000_0000_0000_0010);
        assert_eq!(board.straight(), 0x8900_0000_0000_0089);
        assert_eq!(board.diagonal(), 0x2c00_0000_0000_002c);
        assert_eq!(board.black(), 0xffff_0000_0000_0000);
    }

    #[test]
    fn the_flipped_start_position_is_unchanged() {
        let board = Board::from(&shakmaty::Board::new());
        assert_eq!(board.flipped(), board);
    }
}
