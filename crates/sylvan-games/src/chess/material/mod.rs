//! `Material`: a hand-written evaluation that plays reasonable chess without a network.
//!
//! The value is a sum in centipawns for the mover: material and piece-square tables (tapered from
//! middle game to endgame), pawn structure, the bishop pair, a tempo bonus, the mover's best
//! capture, and minus the loss of its second hanging piece (one can be saved). `s / √(s² + 400²)`
//! maps it to (−1, 1): a pawn is worth 0.24, a rook 0.78. The code uses only integers, one square
//! root and one division, so every machine gets the same value.
//!
//! Priors: see `priors`. Limits: no search beyond the exchange on one square and mate in one. Takes
//! about one microsecond per position.

mod tables; // piece values and piece-square tables
mod exchange; // static exchange evaluation
mod mop_up; // the score of pieces against a bare king
mod priors; // the logits of moves

use super::Chess;
use super::board::{BISHOP, BLACK, KING, KNIGHT, PAWN, QUEEN, ROOK};
use super::view::{FILE_A, FILE_H, View};
use exchange::exchange;
use mop_up::{mop_up, progress};
use priors::{MATE, MoveContext};
use shakmaty::{Bitboard, attacks};
use sylvan_core::{Evaluator, Leaf, Sure};
use tables::{MIDDLE_GAME, PHASE, PIECE_VALUE, SCORES, Score};

/// The score with value √½.
const SCALE: f32 = 400.0;
/// The bonus of the side to move.
const TEMPO: i32 = 12;
const BISHOP_PAIR: i32 = 30;
const DOUBLED: i32 = -10;
const ISOLATED: i32 = -12;
/// The bonus of a passed pawn, by its rank.
const PASSED: [i32; 8] = [0, 5, 10, 20, 40, 70, 110, 0];
/// The bonus of an own pawn beside the king, in the middle game.
const SHIELD: i32 = 9;

/// Evaluates positions by material, piece squares and exchanges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Material;

impl Evaluator<Chess> for Material {
    fn evaluate(&self, leaf: &Leaf<'_, Chess>, logits: &mut Vec<f32>, values: &mut [f32]) -> Sure {
        let position = &leaf.state.position;
        let view = View::of(position);
        let phase = phase(&view);
        let context = MoveContext::new(position, &view, phase);
        let mop_up = mop_up(&view);
        logits.clear();
        let mut best = 0;
        for &action in leaf.actions {
            let score = context.score(action);
            best = best.max(score.gain);
            let logit = match mop_up {
                Some(now) if score.gain < MATE => progress(position, action, now),
                _ => score.logit,
            };
            logits.push(logit as f32 / 100.0);
        }
        let static_score = mop_up.unwrap_or_else(|| static_score(&view, phase));
        let quiet = static_score - second_loss(&view);
        let value = squash(fade(quiet + best, position.clock));
        for (seat, entry) in values.iter_mut().enumerate() {
            *entry = if seat == usize::from(leaf.seat) {
                value
            } else {
                -value
            };
        }
        Ok(())
    }
}

/// The game phase: middle game (24) to endgame (0).
fn phase(view: &View) -> i32 {
    let board = &view.board;
    let count = |set: u64, kind| set.count_ones() as i32 * PHASE[usize::from(kind)];
    let pieces = count(board.knights(), KNIGHT)
        + count(board.bishops(), BISHOP)
        + count(board.rooks(), ROOK)
        + count(board.queens(), QUEEN);
    pieces.min(MIDDLE_GAME)
}

fn blend(middle: i32, end: i32, phase: i32) -> i32 {
    (middle * phase + end * (MIDDLE_GAME - phase)) / MIDDLE_GAME
}

/// The static score of the position, without captures.
fn static_score(view: &View, phase: i32) -> i32 {
    let mut score = Score::default();
    let board = &view.board;
    let kinds = [
        (board.pawns(), PAWN),
        (board.knights(), KNIGHT),
        (board.bishops(), BISHOP),
        (board.rooks(), ROOK),
        (board.queens(), QUEEN),
        (board.kings(), KING),
    ];
    for (pieces, kind) in kinds {
        let scores = &SCORES[usize::from(kind)];
        for square in Bitboard(pieces & view.own) {
            let bonus = scores[square.to_usize()];
            score.middle += bonus.middle;
            score.end += bonus.end;
        }
        for square in Bitboard(pieces & view.their) {
            let bonus = scores[square.to_usize() ^ 56];
            score.middle -= bonus.middle;
            score.end -= bonus.end;
        }
    }
    score.middle += shield(view);
    let pairs = i32::from(has_pair(board.bishops() & view.own))
        - i32::from(has_pair(board.bishops() & view.their));
    let pawns = board.pawns();
    let structure = pawns_of(pawns & view.own, pawns & view.their)
        - pawns_of(
            (pawns & view.their).swap_bytes(),
            (pawns & view.own).swap_bytes(),
        );
    blend(score.middle, score.end, phase) + BISHOP_PAIR * pairs + structure + TEMPO
}

fn has_pair(bishops: u64) -> bool {
    bishops.count_ones() >= 2
}

/// Doubled, isolated and passed pawns of a side whose pawns move up.
fn pawns_of(own: u64, their: u64) -> i32 {
    let beside = |set: u64| (set & !FILE_A) >> 1 | (set & !FILE_H) << 1;
    let doubled = own & up(own << 8);
    let isolated = own & !beside(up(own) | down(own));
    let guarded = down(their >> 8);
    let passed = own & !(guarded | beside(guarded)) & !down(own >> 8);
    let bonus: i32 = Bitboard(passed)
        .into_iter()
        .map(|square| PASSED[square.to_usize() >> 3])
        .sum();
    doubled.count_ones() as i32 * DOUBLED + isolated.count_ones() as i32 * ISOLATED + bonus
}

/// All squares on or above a set.
fn up(mut set: u64) -> u64 {
    set |= set << 8;
    set |= set << 16;
    set | set << 32
}

/// All squares on or below a set.
fn down(mut set: u64) -> u64 {
    set |= set >> 8;
    set |= set >> 16;
    set | set >> 32
}

/// The bonus of own pawns around the own king, minus theirs.
fn shield(view: &View) -> i32 {
    let beside = |side: u64| {
        let king = Bitboard(view.board.kings() & side).first();
        king.map_or(0, |king| {
            (attacks::king_attacks(king).0 & view.board.pawns() & side).count_ones() as i32
        })
    };
    SHIELD * (beside(view.own) - beside(view.their))
}

/// The second largest loss among the own hanging pieces: the mover can save only one.
fn second_loss(view: &View) -> i32 {
    let (board, attacked) = (&view.board, view.attacked());
    let (mut first, mut second) = (0, 0);
    for square in Bitboard(view.own & attacked & !board.kings()) {
        let kind = board.piece(square.to_u32()) & !BLACK;
        let gain = PIECE_VALUE[usize::from(kind)];
        if gain <= second {
            continue;
        }
        let Some((taker, taking)) =
            exchange::cheapest(view, view.attackers(square, view.occupied()))
        else {
            continue;
        };
        let loss = exchange(view, taker.trailing_zeros(), square, taking, gain, false);
        (first, second) = (first.max(loss), second.max(loss.min(first)));
    }
    second
}

/// Scales the score towards a draw as the half-move clock grows.
fn fade(score: i32, clock: u32) -> i32 {
    let left = 200 - clock.min(100) as i32;
    score * left / 200
}

/// Maps centipawns to (−1, 1).
fn squash(score: i32) -> f32 {
    let score = score as f32;
    score / (score * score + SCALE * SCALE).sqrt()
}
