//! `Mates`: short forced mates, found by trying moves.
//!
//! A network's priors can hide a mate. This evaluator looks for one and says nothing else: logit 1
//! for a move that mates by force and value 1 for the mover, otherwise zeros. A search adds it to a
//! network's answers (`sylvan.evaluators.mates`).
//!
//! ```text
//!     mate(1)    a move after which the opponent is mated
//!     mate(n)    a move after which every reply allows mate(n - 1)
//! ```
//!
//! Moves are tried for n = 1, 2, ..., so the mate found is the shortest of those looked for. For
//! n > 1 only checks are tried: there are few, and so are their replies. At the root of a search,
//! whose `root_budget` is larger, mate(2) tries quiet moves too.
//!
//! Limits: a budget of positions; without a proof inside it, nothing is claimed. Draws by repetition
//! are not seen, and no mate is claimed that would come after the fifty-move rule. The answer
//! depends on the position and on whether it is the root, on nothing else.

use super::Chess;
use super::movegen::{is_mate, legal_actions};
use super::position::Position;
use super::view::View;
use sylvan_core::{Action, Evaluator, Leaf, Sure};

/// The most moves of a mate.
const LONGEST: u32 = 4;

/// Looks for short forced mates.
#[derive(Clone, Copy, Debug)]
pub struct Mates {
    /// Positions that it may look at, for a leaf and for the root of a search.
    pub budget: u32,
    pub root_budget: u32,
}

impl Evaluator<Chess> for Mates {
    fn evaluate(&self, leaf: &Leaf<'_, Chess>, logits: &mut Vec<f32>, values: &mut [f32]) -> Sure {
        let found = self.find(leaf.state, leaf.actions);
        logits.clear();
        let is_found = |action: &Action| f32::from(u8::from(Some(*action) == found));
        logits.extend(leaf.actions.iter().map(is_found));
        let value = f32::from(u8::from(found.is_some()));
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

impl Mates {
    /// One of `actions` that mates by force, if the budget suffices to find one.
    pub fn find(&self, state: &Chess, actions: &[Action]) -> Option<Action> {
        let at_root = state.at_root;
        let mut search = MateSearch {
            left: if at_root {
                self.root_budget
            } else {
                self.budget
            },
            quiet: at_root,
        };
        let position = &state.position;
        // A mate in n ends with the mover's n-th move, 2n - 1 plies from here.
        let longest = LONGEST.min((101 - position.clock.min(100)) / 2);
        (1..=longest).find_map(|n| search.mate(position, actions, n))
    }
}

struct MateSearch {
    /// Positions that may still be looked at.
    left: u32,
    /// Whether mate(2) at the first move tries moves that give no check.
    quiet: bool,
}

impl MateSearch {
    /// The first of `actions` that mates in `n` moves.
    fn mate(&mut self, position: &Position, actions: &[Action], n: u32) -> Option<Action> {
        let quiet = n == 2 && std::mem::take(&mut self.quiet);
        let mut replies = Vec::new();
        for &action in actions {
            self.left = self.left.checked_sub(1)?;
            let mut after = *position;
            after.play(action);
            let check = View::of(&after).is_check();
            let mates = match (n, check) {
                (1, true) => is_mate(&after),
                (1, false) => false,
                (_, check) if check || quiet => {
                    legal_actions(&after, &mut replies);
                    !replies.is_empty() && self.all_allow(&after, &replies, n - 1)
                }
                _ => false,
            };
            if mates {
                return Some(action);
            }
        }
        None
    }

    /// Whether every reply allows a mate in `n` moves.
    fn all_allow(&mut self, position: &Position, replies: &[Action], n: u32) -> bool {
        let mut moves = Vec::new();
        replies.iter().all(|&reply| {
            let mut after = *position;
            after.play(reply);
            !after.is_dead() && {
                legal_actions(&after, &mut moves);
                (1..=n).any(|n| self.mate(&after, &moves, n).is_some())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Options;
    use sylvan_core::Game;

    fn find(fen: &str, budget: u32, at_root: bool) -> Option<String> {
        let mut chess = Chess::from_fen(fen, Options::default()).unwrap();
        if at_root {
            chess.set_root();
        }
        let mates = Mates {
            budget,
            root_budget: 100_000,
        };
        mates
            .find(&chess, &chess.moves())
            .and_then(|action| chess.uci(action))
    }

    #[test]
    fn finds_mates_by_checks() {
        let one = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";
        assert_eq!(find(one, 100, false).as_deref(), Some("a1a8"));
        // Réti - Tartakower 1910: a queen sacrifice and a double check.
        let three = "rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 9";
        assert_eq!(find(three, 1_000, false).as_deref(), Some("d3d8"));
        assert_eq!(find(three, 40, false), None);
    }

    #[test]
    fn finds_quiet_mates_in_two_at_the_root() {
        let quiet = "2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - 0 1";
        assert_eq!(find(quiet, 100_000, true).as_deref(), Some("g3g6"));
        assert_eq!(find(quiet, 100_000, false), None);
    }

    #[test]
    fn the_fifty_move_rule_comes_first() {
        // Mate in three at the earliest; after 95 plies only mates in up to three count.
        let fen =
            |clock| format!("rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - {clock} 60");
        assert!(find(&fen(95), 10_000, false).is_some());
        assert_eq!(find(&fen(97), 10_000, false), None);
    }

    #[test]
    fn a_quiet_position_has_none() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(find(start, 1_000, true), None);
        let stalemate_trick = "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"; // Qf7 would be stalemate
        assert_eq!(find(stalemate_trick, 1_000, false).as_deref(), Some("f1f8"));
    }
}
