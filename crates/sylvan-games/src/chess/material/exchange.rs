//! Static exchange: what a series of captures on one square is worth to the side that begins.
//!
//! Each side always takes with its least valuable piece and may stop when going on would cost it.
//! Sliders behind the takers join in. Pins and the rest of the board are not seen.

use super::tables::WORTH;
use crate::chess::board::{BISHOP, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK};
use crate::chess::view::View;
use shakmaty::{Bitboard, Square, attacks};

/// The worth of a move of `piece` from `from` to `to`, where it takes something worth `gain` (0 for
/// a quiet move), to the side that moves, replies on `to` included.
///
/// `own_moves` says whose piece stands on `from`: the mover's of this view or the other side's.
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
    let mut standing = WORTH[usize::from(piece)];
    while let Some((taker, kind)) = cheapest(view, attackers & side) {
        // A king takes only what nothing defends.
        if kind == KING && attackers & other != 0 {
            break;
        }
        depth += 1;
        gains[depth] = standing - gains[depth - 1];
        if depth == gains.len() - 1 {
            break;
        }
        standing = WORTH[usize::from(kind)];
        occupied &= !taker;
        attackers = (attackers | uncovered(view, to, occupied, kind)) & occupied;
        std::mem::swap(&mut side, &mut other);
    }
    for ply in (1..=depth).rev() {
        gains[ply - 1] = -gains[ply].max(-gains[ply - 1]);
    }
    gains[0]
}

/// Sliders that see `to` once a piece of this kind has left their line.
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
