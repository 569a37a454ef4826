//! Legal moves, generated directly as action codes.
//!
//! Checks and pins are found first, so that no move must be made and undone: in check only the
//! king's moves and moves to the checker or between it and the king are legal; a pinned piece stays
//! on the line through it and its king.
//!
//! **Order** (the same for equal positions, mirrored for mirrored ones; squares in ascending number
//! from the mover's side): pawns' single steps, double steps, captures towards file a, captures
//! towards file h, by target, every promotion as queen, knight, bishop, rook; then pinned pawns in
//! the same way, one by one; en passant by origin; then knights, diagonal moves of bishops and
//! queens, straight moves of rooks and queens, the king, each by origin, then target; castling,
//! queen's side first.

use super::az73::{CODES, FIRST_UNDERPROMOTION, PLANES};
use super::position::{Position, castled};
use super::view::{FILE_A, FILE_H, View};
use shakmaty::{Bitboard, Color, Square, attacks};
use std::hint::select_unpredictable;
use sylvan_core::Action;

const RANK_1: u64 = 0xff;
const RANK_3: u64 = 0xff << 16;
const RANK_8: u64 = 0xff << 56;
/// Planes of a pawn's moves.
const NORTH_1: u32 = 0;
const NORTH_2: u32 = 1;
const NORTH_EAST: u32 = 7;
const NORTH_WEST: u32 = 49;

/// Replaces `actions` by the legal ones; returns whether the mover is in check.
pub(super) fn legal_actions(position: &Position, actions: &mut Vec<Action>) -> bool {
    let mut list = List::new();
    let check = generate(position, &mut list);
    list.copy_to(actions);
    check
}

/// The legal action at an index of that list, without generating much more of the list.
pub(super) fn action_at(position: &Position, index: usize) -> Action {
    let mut list = List::new();
    list.enough = index.min(254) as u8;
    generate(position, &mut list);
    Action::from(list.codes[index.min(255)])
}

/// Whether the mover is mated.
pub(super) fn is_mate(position: &Position) -> bool {
    let mut list = List::new();
    generate(position, &mut list) && list.len == 0
}

/// Adds all legal moves to `list`; returns whether the mover is in check.
fn generate(position: &Position, list: &mut List) -> bool {
    let view = View::of(position);
    let checks = ChecksAndPins::of(&view);
    let mut generator = Generator {
        position,
        view,
        checks,
        list,
    };
    if checks.checkers == 0 {
        generator.pieces(!0);
        generator.king();
        generator.castling();
    } else {
        if checks.checkers & (checks.checkers - 1) == 0 {
            let checker = Square::new(checks.checkers.trailing_zeros() & 63);
            generator.pieces(attacks::between(view.king, checker).0 | checks.checkers);
        }
        generator.king();
    }
    checks.checkers != 0
}

/// The pieces that give check or are pinned.
#[derive(Clone, Copy)]
struct ChecksAndPins {
    /// Their pieces that give check.
    checkers: u64,
    /// Own pieces that may only move on the line through the king.
    pinned: u64,
}

impl ChecksAndPins {
    fn of(view: &View) -> ChecksAndPins {
        let (board, king) = (&view.board, view.king);
        let empty = Bitboard(0);
        let snipers = (attacks::bishop_attacks(king, empty).0 & board.diagonal()
            | attacks::rook_attacks(king, empty).0 & board.straight())
            & view.their;
        let steppers = (attacks::knight_attacks(king).0 & board.knights()
            | attacks::pawn_attacks(Color::White, king).0 & board.pawns())
            & view.their;
        let mut checks = ChecksAndPins {
            checkers: steppers,
            pinned: 0,
        };
        for sniper in Bitboard(snipers) {
            let blockers = attacks::between(king, sniper).0 & view.occupied();
            checks.checkers |= u64::from(blockers == 0) << sniper.to_u32();
            let alone = blockers & blockers.wrapping_sub(1) == 0;
            checks.pinned |= select_unpredictable(alone, blockers & view.own, 0);
        }
        checks
    }
}

struct Generator<'a> {
    position: &'a Position,
    view: View,
    checks: ChecksAndPins,
    list: &'a mut List,
}

impl Generator<'_> {
    /// Moves of all pieces except the king, to squares of `mask`.
    fn pieces(&mut self, mask: u64) {
        let (view, pinned) = (self.view, self.checks.pinned);
        let (board, occupied) = (&view.board, Bitboard(view.occupied()));
        let pawns = board.pawns() & view.own;
        self.pawns(pawns & !pinned, mask);
        for pawn in Bitboard(pawns & pinned) {
            self.pawns(1 << pawn.to_u32(), mask & attacks::ray(view.king, pawn).0);
        }
        self.en_passant();
        if self.list.len > self.list.enough {
            return;
        }
        let targets = mask & !view.own;
        for from in Bitboard(board.knights() & view.own & !pinned) {
            self.list
                .push(from, attacks::knight_attacks(from).0 & targets);
        }
        if self.list.len > self.list.enough {
            return;
        }
        for from in Bitboard(board.diagonal() & view.own) {
            let free = self.free(from, targets);
            self.list
                .push(from, attacks::bishop_attacks(from, occupied).0 & free);
        }
        if self.list.len > self.list.enough {
            return;
        }
        for from in Bitboard(board.straight() & view.own) {
            let free = self.free(from, targets);
            self.list
                .push(from, attacks::rook_attacks(from, occupied).0 & free);
        }
    }

    /// The targets that a pin allows.
    fn free(&self, from: Square, targets: u64) -> u64 {
        if self.checks.pinned >> from.to_u32() & 1 == 0 {
            targets
        } else {
            targets & attacks::ray(self.view.king, from).0
        }
    }

    fn pawns(&mut self, pawns: u64, mask: u64) {
        let (view, empty) = (&self.view, !self.view.occupied());
        let single = pawns << 8 & empty;
        let double = (single & RANK_3) << 8 & empty & mask;
        let single = single & mask;
        let their = view.their & mask;
        let west = (pawns & !FILE_A) << 7 & their;
        let east = (pawns & !FILE_H) << 9 & their;
        self.list.push_pawns(single & !RANK_8, 8, NORTH_1);
        self.list.push_pawns(double, 16, NORTH_2);
        self.list.push_pawns(west & !RANK_8, 7, NORTH_WEST);
        self.list.push_pawns(east & !RANK_8, 9, NORTH_EAST);
        if (single | west | east) & RANK_8 != 0 {
            self.list.push_promotions(single & RANK_8, 8, NORTH_1);
            self.list.push_promotions(west & RANK_8, 7, NORTH_WEST);
            self.list.push_promotions(east & RANK_8, 9, NORTH_EAST);
        }
    }

    fn en_passant(&mut self) {
        let square = self.position.en_passant;
        if square == 0 {
            return;
        }
        let to = square.trailing_zeros() ^ self.position.flip();
        for from in Bitboard(self.view.en_passant_capturers(to)) {
            self.list.push(from, 1 << to);
        }
    }

    /// Steps to squares that are not attacked after the king has left its square.
    fn king(&mut self) {
        let (view, king) = (&self.view, self.view.king);
        let near = attacks::king_attacks(king).0 & !view.own;
        if near == 0 {
            return;
        }
        let near = near & !view.step_attacked();
        let occupied = view.occupied() & !(1 << king.to_u32());
        let safe = Bitboard(near)
            .into_iter()
            .filter(|&to| view.sliding_attackers(to, occupied) == 0)
            .fold(0, |safe, to| safe | 1 << to.to_u32());
        self.list.push(king, safe);
    }

    fn castling(&mut self) {
        let castling = self.position.castling;
        let castling = if self.position.black_to_move {
            castling.swap_bytes()
        } else {
            castling
        };
        for rook in Bitboard(castling & RANK_1) {
            self.castle(rook);
        }
    }

    /// Castling: the paths of king and rook must be empty, and the king's path not attacked.
    fn castle(&mut self, rook: Square) {
        let (view, king) = (&self.view, self.view.king);
        let (king_to, rook_to) = castled(king.to_u32(), rook > king);
        let (king_to, rook_to) = (Square::new(king_to & 63), Square::new(rook_to & 63));
        let king_path = attacks::between(king, king_to).0 | 1 << king_to.to_u32();
        let rook_path = attacks::between(rook, rook_to).0 | 1 << rook_to.to_u32();
        let others = view.occupied() & !(1 << king.to_u32() | 1 << rook.to_u32());
        if (king_path | rook_path) & others != 0 || king_path & view.step_attacked() != 0 {
            return;
        }
        // After castling, the rook may no longer shield the king.
        let arrived = others | 1 << rook_to.to_u32();
        let passes = |square| view.sliding_attackers(square, others | 1 << rook.to_u32()) == 0;
        if Bitboard(king_path).into_iter().all(passes)
            && view.sliding_attackers(king_to, arrived) == 0
        {
            let to = if self.position.chess960 {
                rook
            } else {
                king_to
            };
            self.list.push(king, 1 << to.to_u32());
        }
    }
}

/// The generated codes. No position has more than 218 legal moves (Petrović 1964), so 256 entries
/// are enough, including the few written beyond the last.
struct List {
    codes: [u16; 256],
    len: u8,
    /// Generation may stop once the list is longer.
    enough: u8,
}

impl List {
    fn new() -> List {
        List {
            codes: [0; 256],
            len: 0,
            enough: u8::MAX,
        }
    }

    /// Codes copied at a time.
    const BLOCK: usize = 16;

    /// Copies whole blocks, then truncates, so that the loop has no remainder.
    fn copy_to(&self, actions: &mut Vec<Action>) {
        let len = usize::from(self.len);
        actions.clear();
        for block in self
            .codes
            .chunks_exact(List::BLOCK)
            .take(len.div_ceil(List::BLOCK))
        {
            actions.extend(block.iter().map(|&code| Action::from(code)));
        }
        actions.truncate(len);
    }

    /// Appends a code if `keep`. Always writes it and advances conditionally: a branch would be
    /// mispredicted.
    fn write(&mut self, code: u16, keep: bool) {
        self.codes[usize::from(self.len)] = code;
        self.len = self.len.wrapping_add(u8::from(keep));
    }

    /// Steps of the piece on `from` to each of `targets`, four at a time: most pieces have no more,
    /// so one predictable branch replaces several unpredictable ones.
    fn push(&mut self, from: Square, mut targets: u64) {
        let codes = &CODES[from.to_usize()];
        while targets != 0 {
            for _ in 0..4 {
                self.write(codes[targets.trailing_zeros() as usize & 63], targets != 0);
                targets &= targets.wrapping_sub(1);
            }
        }
    }

    /// Pawn moves to `targets` from `back` squares below, on one plane.
    fn push_pawns(&mut self, mut targets: u64, back: u32, plane: u32) {
        while targets != 0 {
            for _ in 0..4 {
                let from = targets.trailing_zeros().wrapping_sub(back);
                self.write(
                    (from.wrapping_mul(PLANES).wrapping_add(plane)) as u16,
                    targets != 0,
                );
                targets &= targets.wrapping_sub(1);
            }
        }
    }

    /// The same on the last rank.
    fn push_promotions(&mut self, targets: u64, back: u32, plane: u32) {
        for to in Bitboard(targets) {
            let first = (to.to_u32() - back) * PLANES;
            // North-west is file step −1, north 0, north-east +1: the middle plane is back = 8.
            let underpromotion = first + FIRST_UNDERPROMOTION + (back - 7);
            for code in [
                first + plane,
                underpromotion,
                underpromotion + 3,
                underpromotion + 6,
            ] {
                self.write(code as u16, true);
            }
        }
    }
}
