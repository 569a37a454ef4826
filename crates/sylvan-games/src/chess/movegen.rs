//! Legal moves, straight as action codes.
//!
//! Checks and pins are found first, so that no move has to be made and taken back: in check only
//! the king's moves and those that land on the checker or between it and the king remain; a pinned
//! piece stays on the line through it and its king.
//!
//! **Order** (the same for equal positions, mirrored for mirrored ones; squares in ascending number
//! as the mover sees them): pawns' single steps, double steps, captures towards file a, captures
//! towards file h, by arrival, every promotion as queen, knight, bishop, rook; then pinned pawns
//! likewise, one by one; en passant by origin; then knights, diagonal moves of bishops and queens,
//! straight moves of rooks and queens, the king, each by origin, then arrival; castling, queen's
//! side first.

use super::codec::{CODES, FIRST_UNDERPROMOTION, PLANES};
use super::position::{Position, castled};
use super::view::{FILE_A, FILE_H, View};
use shakmaty::{Bitboard, Square, attacks};
use sylvan_core::Action;

const RANK_3: u64 = 0xff << 16;
const RANK_8: u64 = 0xff << 56;
/// Planes of a pawn's moves.
const NORTH_1: u32 = 0;
const NORTH_2: u32 = 1;
const NORTH_EAST: u32 = 7;
const NORTH_WEST: u32 = 49;

/// Replaces `actions` by the legal ones; says whether the mover is in check.
pub(super) fn legal_actions(position: &Position, actions: &mut Vec<Action>) -> bool {
    actions.clear();
    let view = View::of(position);
    let ties = Ties::of(&view);
    let generator = Generator {
        position,
        view,
        ties,
    };
    match ties.checkers.count_ones() {
        0 => generator.pieces(!0, actions),
        1 => {
            let checker = Bitboard(ties.checkers).first().unwrap_or(view.king);
            generator.pieces(
                attacks::between(view.king, checker).0 | ties.checkers,
                actions,
            );
        }
        _ => {}
    }
    generator.king(actions);
    ties.checkers != 0
}

/// What binds the mover to its king.
#[derive(Clone, Copy)]
struct Ties {
    /// Their pieces that give check.
    checkers: u64,
    /// Own pieces that may only move on the line through the king.
    pinned: u64,
}

impl Ties {
    fn of(view: &View) -> Ties {
        let (board, king) = (&view.board, view.king);
        let empty = Bitboard(0);
        let snipers = (attacks::bishop_attacks(king, empty).0 & board.diagonal()
            | attacks::rook_attacks(king, empty).0 & board.straight())
            & view.their;
        let steppers = (attacks::knight_attacks(king).0 & board.knights()
            | attacks::pawn_attacks(shakmaty::Color::White, king).0 & board.pawns())
            & view.their;
        let mut ties = Ties {
            checkers: steppers,
            pinned: 0,
        };
        for sniper in Bitboard(snipers) {
            let blockers = attacks::between(king, sniper).0 & view.occupied();
            if blockers == 0 {
                ties.checkers |= 1 << sniper.to_u32();
            } else if blockers & (blockers - 1) == 0 {
                ties.pinned |= blockers & view.own;
            }
        }
        ties
    }
}

struct Generator<'a> {
    position: &'a Position,
    view: View,
    ties: Ties,
}

impl Generator<'_> {
    /// Moves of all but the king, arriving on `mask`.
    fn pieces(&self, mask: u64, actions: &mut Vec<Action>) {
        let (view, board, pinned) = (&self.view, &self.view.board, self.ties.pinned);
        let pawns = board.pawns() & view.own;
        self.pawns(pawns & !pinned, mask, actions);
        for pawn in Bitboard(pawns & pinned) {
            self.pawns(
                1 << pawn.to_u32(),
                mask & attacks::ray(view.king, pawn).0,
                actions,
            );
        }
        self.en_passant(actions);
        let targets = mask & !view.own;
        for from in Bitboard(board.knights() & view.own & !pinned) {
            push(from, attacks::knight_attacks(from).0 & targets, actions);
        }
        let occupied = Bitboard(view.occupied());
        for from in Bitboard(board.diagonal() & view.own) {
            push(
                from,
                attacks::bishop_attacks(from, occupied).0 & self.free(from, targets),
                actions,
            );
        }
        for from in Bitboard(board.straight() & view.own) {
            push(
                from,
                attacks::rook_attacks(from, occupied).0 & self.free(from, targets),
                actions,
            );
        }
    }

    /// The targets that a pin leaves.
    fn free(&self, from: Square, targets: u64) -> u64 {
        if self.ties.pinned >> from.to_u32() & 1 == 0 {
            targets
        } else {
            targets & attacks::ray(self.view.king, from).0
        }
    }

    fn pawns(&self, pawns: u64, mask: u64, actions: &mut Vec<Action>) {
        let (view, empty) = (&self.view, !self.view.occupied());
        let single = pawns << 8 & empty;
        let double = (single & RANK_3) << 8 & empty & mask;
        let their = view.their & mask;
        let west = (pawns & !FILE_A) << 7 & their;
        let east = (pawns & !FILE_H) << 9 & their;
        let single = single & mask;
        push_pawns(single, 8, NORTH_1, actions);
        push_pawns(double, 16, NORTH_2, actions);
        push_pawns(west, 7, NORTH_WEST, actions);
        push_pawns(east, 9, NORTH_EAST, actions);
    }

    fn en_passant(&self, actions: &mut Vec<Action>) {
        let Some(square) = self.position.en_passant else {
            return;
        };
        let to = square ^ self.position.flip();
        for from in Bitboard(self.view.en_passant_capturers(to)) {
            push(from, 1 << to, actions);
        }
    }

    fn king(&self, actions: &mut Vec<Action>) {
        let (view, king) = (&self.view, self.view.king);
        let targets = attacks::king_attacks(king).0 & !view.own;
        let rights = if self.position.black_to_move {
            self.position.castling.swap_bytes()
        } else {
            self.position.castling
        } & 0xff;
        let castling = rights != 0 && self.ties.checkers == 0;
        if targets == 0 && !castling {
            return;
        }
        let attacked = view.attacked(view.occupied() & !(1 << king.to_u32()));
        push(king, targets & !attacked, actions);
        if castling {
            for rook in Bitboard(rights) {
                self.castle(rook, attacked, actions);
            }
        }
    }

    /// King and rook pass over empty squares, the king over none that is attacked.
    fn castle(&self, rook: Square, attacked: u64, actions: &mut Vec<Action>) {
        let king = self.view.king;
        let (king_to, rook_to) = castled(king.to_u32(), rook > king);
        let (king_to, rook_to) = (Square::new(king_to & 63), Square::new(rook_to & 63));
        let king_path = attacks::between(king, king_to).0 | 1 << king_to.to_u32();
        let rook_path = attacks::between(rook, rook_to).0 | 1 << rook_to.to_u32();
        let others = self.view.occupied() & !(1 << king.to_u32() | 1 << rook.to_u32());
        if (king_path | rook_path) & others != 0 || king_path & attacked != 0 {
            return;
        }
        if !self.position.chess960 {
            push(king, 1 << king_to.to_u32(), actions);
        } else if self.view.attackers(king_to, others | 1 << rook_to.to_u32()) == 0 {
            // The rook may have shielded the king's new square.
            push(king, 1 << rook.to_u32(), actions);
        }
    }
}

fn push(from: Square, targets: u64, actions: &mut Vec<Action>) {
    let codes = &CODES[from.to_usize()];
    for to in Bitboard(targets) {
        actions.push(Action::from(codes[to.to_usize()]));
    }
}

/// Pawns that arrive on `targets` from `back` squares below, on one plane.
fn push_pawns(targets: u64, back: u32, plane: u32, actions: &mut Vec<Action>) {
    for to in Bitboard(targets & !RANK_8) {
        actions.push((to.to_u32() - back) * PLANES + plane);
    }
    for to in Bitboard(targets & RANK_8) {
        let first = (to.to_u32() - back) * PLANES;
        // North-west is file step −1, north 0, north-east +1: the middle plane is back = 8.
        let underpromotion = first + FIRST_UNDERPROMOTION + (back - 7);
        actions.extend([
            first + plane,
            underpromotion,
            underpromotion + 3,
            underpromotion + 6,
        ]);
    }
}
