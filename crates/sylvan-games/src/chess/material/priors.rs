//! The logits of moves in the material evaluation.
//!
//! A sum in hundredths of a logit: the exchange on the target square, a check, a promotion, the
//! escape of an attacked piece, and the gain in the piece-square table. The softmax gives a good
//! capture a few times the prior of a quiet move.

use super::exchange::exchange;
use super::tables::{PIECE_VALUE, SCORES};
use crate::chess::az73;
use crate::chess::board::{BISHOP, BLACK, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK, role};
use crate::chess::movegen::is_mate;
use crate::chess::position::{Position, promoted};
use crate::chess::view::View;
use shakmaty::{Bitboard, Color, Role, Square, attacks};
use std::cell::OnceCell;
use sylvan_core::Action;

/// The gain of a mating move; no exchange wins as much.
pub(super) const MATE: i32 = 15_000;

/// Data shared by all moves of a position.
pub(super) struct MoveContext<'a> {
    position: &'a Position,
    view: &'a View,
    /// Squares attacked by their pieces, and by their pawns only.
    attacked: u64,
    pawn_attacked: u64,
    /// Squares from which a piece of this kind gives check.
    checking: [u64; 8],
    /// Own pieces that give a discovered check by moving.
    discovered_checkers: u64,
    their_king: Square,
    /// See [`View::covered`]; computed only if a check is possible.
    covered: OnceCell<u64>,
    /// The game phase: middle game (24) to endgame (0).
    phase: i32,
}

/// The scores of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MoveScore {
    /// The gain or loss of the exchange on the target square, in centipawns.
    pub(super) gain: i32,
    /// Hundredths of a logit.
    pub(super) logit: i32,
}

impl<'a> MoveContext<'a> {
    pub(super) fn new(position: &'a Position, view: &'a View, phase: i32) -> MoveContext<'a> {
        let (board, occupied) = (&view.board, Bitboard(view.occupied()));
        let their_king = Bitboard(board.kings() & view.their)
            .first()
            .unwrap_or(Square::H8);
        let diagonal = attacks::bishop_attacks(their_king, occupied).0;
        let straight = attacks::rook_attacks(their_king, occupied).0;
        let mut checking = [0; 8];
        checking[usize::from(PAWN)] = attacks::pawn_attacks(Color::Black, their_king).0;
        checking[usize::from(KNIGHT)] = attacks::knight_attacks(their_king).0;
        checking[usize::from(BISHOP)] = diagonal;
        checking[usize::from(ROOK)] = straight;
        checking[usize::from(QUEEN)] = diagonal | straight;
        MoveContext {
            position,
            view,
            attacked: view.attacked(),
            pawn_attacked: view.pawn_attacked(),
            checking,
            discovered_checkers: discovered_checkers(
                view,
                their_king,
                (diagonal | straight) & view.own,
            ),
            their_king,
            covered: OnceCell::new(),
            phase,
        }
    }

    pub(super) fn score(&self, action: Action) -> MoveScore {
        let Some(step) = az73::unpack(action) else {
            return MoveScore::default();
        };
        let (from, to) = (step.from(), Square::new(step.to()));
        let kind = self.view.board.piece(from) & !BLACK;
        let taken = self.taken(from, to, kind);
        if kind == KING && (from.abs_diff(to.to_u32()) == 2 || self.view.own & bit(to) != 0) {
            return MoveScore { gain: 0, logit: 60 };
        }
        let promotes = kind == PAWN && to.to_u32() >= 56;
        let placed = if promotes {
            promoted(step.underpromotion())
        } else {
            kind
        };
        let won = PIECE_VALUE[usize::from(taken)] + PIECE_VALUE[usize::from(placed)]
            - PIECE_VALUE[usize::from(kind)];
        let contested = self.attacked & bit(to) != 0 && kind != KING;
        let gain = if contested {
            exchange(self.view, from, to, placed, won, true)
        } else {
            won
        };
        let mut logit = (gain / 3).clamp(-200, 250) + self.better_square(from, to, kind);
        if won > 0 && gain >= 0 {
            logit += 60;
        }
        if self.checks(from, to, placed) || promotes && self.checks_behind(from, to, placed) {
            if self.mates(action, from, to, placed) {
                return MoveScore {
                    gain: MATE,
                    logit: 600,
                };
            }
            // A check gets a high logit even if it loses material: the reply is often forced.
            logit = logit.max(0) + 130;
        }
        logit += self.escape(from, kind);
        if placed != QUEEN && promotes {
            logit -= 250;
        }
        MoveScore { gain, logit }
    }

    /// The captured piece, including en passant.
    fn taken(&self, from: u32, to: Square, kind: Piece) -> Piece {
        let passing = kind == PAWN
            && self.position.en_passant == 1 << (to.to_u32() ^ self.position.flip())
            && from & 7 != to.to_u32() & 7;
        if passing {
            PAWN
        } else {
            self.view.board.piece(to.to_u32()) & !BLACK
        }
    }

    /// Whether the move gives check, directly or discovered.
    fn checks(&self, from: u32, to: Square, placed: Piece) -> bool {
        self.checking[usize::from(placed)] & bit(to) != 0
            || self.discovered_checkers >> from & 1 == 1
                && attacks::ray(self.their_king, Square::new(from & 63)).0 & bit(to) == 0
    }

    /// Whether a promoted piece gives check along the line that its pawn blocked.
    fn checks_behind(&self, from: u32, to: Square, placed: Piece) -> bool {
        let occupied = Bitboard(self.view.occupied() & !(1 << from));
        let role = role(placed).unwrap_or(Role::Queen);
        attacks::attacks(to, role.of(Color::White), occupied).contains(self.their_king)
    }

    /// Whether a check is mate. First looks for a free square of the king, because most checks are
    /// not mate.
    fn mates(&self, action: Action, from: u32, to: Square, placed: Piece) -> bool {
        let near = attacks::king_attacks(self.their_king).0 & !self.view.their;
        let occupied = self.view.occupied() & !(1 << from | bit(self.their_king)) | bit(to);
        let role = role(placed).unwrap_or(Role::Queen);
        let hit = attacks::attacks(to, role.of(Color::White), Bitboard(occupied)).0;
        let covered = *self.covered.get_or_init(|| self.view.covered());
        // Moving the piece may open lines to squares that were not covered before.
        let escapes = |square: Square| {
            self.view.all_sliding_attackers(square, occupied) & self.view.own & !(1 << from) == 0
        };
        if Bitboard(near & !(covered | hit | bit(to)))
            .into_iter()
            .any(escapes)
        {
            return false;
        }
        let mut after = *self.position;
        after.play(action);
        is_mate(&after)
    }

    /// The bonus for moving an attacked piece.
    fn escape(&self, from: u32, kind: Piece) -> i32 {
        let square = 1u64 << from;
        if kind == PAWN || kind == KING || self.attacked & square == 0 {
            0
        } else if self.pawn_attacked & square != 0 {
            (PIECE_VALUE[usize::from(kind)] - PIECE_VALUE[usize::from(PAWN)]) / 6
        } else {
            20
        }
    }

    fn better_square(&self, from: u32, to: Square, kind: Piece) -> i32 {
        let scores = &SCORES[usize::from(kind)];
        let (old, new) = (scores[from as usize & 63], scores[to.to_usize()]);
        let (middle, end) = (new.middle - old.middle, new.end - old.end);
        super::blend(middle, end, self.phase)
    }
}

/// Own pieces of `near` that are the only piece between their king and an own slider.
fn discovered_checkers(view: &View, their_king: Square, near: u64) -> u64 {
    let occupied = Bitboard(view.occupied() & !near);
    let board = &view.board;
    let sliders = (attacks::bishop_attacks(their_king, occupied).0 & board.diagonal()
        | attacks::rook_attacks(their_king, occupied).0 & board.straight())
        & view.own
        & !near;
    Bitboard(sliders).into_iter().fold(0, |covering, slider| {
        covering | attacks::between(their_king, slider).0 & near
    })
}

fn bit(square: Square) -> u64 {
    1 << square.to_u32()
}
