//! Static exchange evaluation (SEE): the value of a series of captures on one square.
//!
//! Each side always captures with its least valuable piece and stops if another capture would lose
//! material. Sliders behind capturing pieces take part. Pins and the rest of the board are ignored.

use super::tables::PIECE_VALUE;
use crate::chess::board::{BISHOP, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK};
use crate::chess::view::View;
use shakmaty::{Bitboard, Square, attacks};

/// The value of a move of `piece` from `from` to `to` for the side that moves, including replies on
/// `to`; `gain` is the value of the captured piece, 0 for a quiet move.
///
/// `own_moves`: the piece on `from` belongs to the mover of this view, not to the other side.
pub(super) fn exchange(
    view: &View,
    from: u32,
    to: Square,
    piece: Piece,
    gain: i32,
    own_moves: bool,
) -> i32 {
    let (mut side, mut other) = if own_moves {
        (view.their, view.own)
    } else {
        (view.own, view.their)
    };
    let mut occupied = view.occupied() & !(1 << from);
    let mut attackers = view.all_attackers(to, occupied) & occupied;
    let (mut gains, mut depth) = ([gain; 32], 0);
    let mut on_square = PIECE_VALUE[usize::from(piece)];
    while let Some((taker, kind)) = cheapest(view, attackers & side) {
        // A king may only capture an undefended piece.
        if kind == KING && attackers & other != 0 {
            break;
        }
        depth += 1;
        gains[depth] = on_square - gains[depth - 1];
        if depth == gains.len() - 1 {
            break;
        }
        on_square = PIECE_VALUE[usize::from(kind)];
        occupied &= !taker;
        attackers = (attackers | uncovered(view, to, occupied, kind)) & occupied;
        std::mem::swap(&mut side, &mut other);
    }
    for ply in (1..=depth).rev() {
        gains[ply - 1] = -gains[ply].max(-gains[ply - 1]);
    }
    gains[0]
}

/// Sliders that attack `to` after a piece of this kind has left their line.
fn uncovered(view: &View, to: Square, occupied: u64, kind: Piece) -> u64 {
    let mut sliders = 0;
    if matches!(kind, PAWN | BISHOP | QUEEN) {
        sliders |= attacks::bishop_attacks(to, Bitboard(occupied)).0 & view.board.diagonal();
    }
    if matches!(kind, ROOK | QUEEN) {
        sliders |= attacks::rook_attacks(to, Bitboard(occupied)).0 & view.board.straight();
    }
    sliders
}

/// The least valuable of some pieces: its bit and its kind.
pub(super) fn cheapest(view: &View, pieces: u64) -> Option<(u64, Piece)> {
    if pieces == 0 {
        return None;
    }
    let board = &view.board;
    let kinds = [
        (board.pawns(), PAWN),
        (board.knights(), KNIGHT),
        (board.bishops(), BISHOP),
        (board.rooks(), ROOK),
        (board.queens(), QUEEN),
        (board.kings(), KING),
    ];
    let (found, kind) = kinds.into_iter().find(|(set, _)| set & pieces != 0)?;
    let set = found & pieces;
    Some((set & set.wrapping_neg(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::{Chess, Options};

    /// The value of a capture, or of a quiet move to an attacked square, in UCI.
    fn worth(fen: &str, uci: &str) -> i32 {
        let game = Chess::from_fen(fen, Options::default()).unwrap();
        let view = View::of(&game.position);
        let from: Square = uci[..2].parse().unwrap();
        let to: Square = uci[2..].parse().unwrap();
        let piece = view.board.piece(from.to_u32());
        let gain = PIECE_VALUE[usize::from(view.board.piece(to.to_u32()) & 7)];
        exchange(&view, from.to_u32(), to, piece, gain, true)
    }

    #[test]
    fn exchanges_by_hand() {
        for (fen, uci, expected) in [
            // Undefended: the piece is won.
            ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5", 950),
            // Defended by a pawn: the rook takes a pawn and is taken.
            ("4k3/8/2p5/3p4/8/8/8/3RK3 w - - 0 1", "d1d5", 100 - 500),
            // Two rooks in a row against pawn and rook: one exchange too many, so white stops.
            ("3rk3/8/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100),
            ("3rk3/3r4/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100 - 500),
            // The queen behind the bishop takes part.
            (
                "4k3/8/2p5/3p4/4B3/5Q2/8/4K3 w - - 0 1",
                "e4d5",
                100 - 330 + 100,
            ),
            // A king may only capture an undefended piece.
            ("8/8/8/3k4/4p3/5P2/8/4K3 w - - 0 1", "f3e4", 0),
            ("8/8/8/3k4/4p3/5P2/4K3/6B1 w - - 0 1", "f3e4", 0),
            ("8/8/8/3k4/4p3/3P1P2/4K3/8 w - - 0 1", "f3e4", 100),
            // A quiet move to a square attacked by a pawn loses the piece, or wins only the pawn
            // for it.
            ("4k3/8/8/2p5/8/8/8/1N2K3 w - - 0 1", "b1a3", 0),
            ("4k3/8/8/2p5/8/1N6/8/4K3 w - - 0 1", "b3d4", -310),
            ("4k3/8/8/2p5/8/1N2P3/8/4K3 w - - 0 1", "b3d4", -310 + 100),
        ] {
            assert_eq!(worth(fen, uci), expected, "{uci} in {fen}");
        }
    }
}
