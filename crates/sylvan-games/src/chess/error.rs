//! Errors of positions and moves: one sentence each, with the rule and the fix.

use super::Outcome;
use shakmaty::PositionErrorKinds;
use shakmaty::fen::ParseFenError;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChessError {
    /// The text is not a FEN.
    #[error("the FEN {fen:?} cannot be read: {}", fen_rule(.fen, .part))]
    Fen { fen: String, part: ParseFenError },
    /// The FEN describes an illegal position.
    #[error("the FEN {fen:?} is not a legal position: {}", position_rules(*.broken))]
    Position {
        fen: String,
        broken: PositionErrorKinds,
    },
    /// The text is neither UCI nor SAN.
    #[error(
        "{text:?} is not a move: write UCI (e2e4, e7e8q) or SAN (Nf3, O-O, exd5, e8=Q){}",
        suggestions(.nearest)
    )]
    Unreadable { text: String, nearest: Vec<String> },
    /// A move that fits several pieces.
    #[error("{text:?} could be more than one move in {fen:?}: write {}", nearest.join(" or "))]
    Ambiguous {
        text: String,
        fen: String,
        nearest: Vec<String>,
    },
    /// An illegal move.
    #[error("{text} is not legal in {fen:?}{}", suggestions(.nearest))]
    Illegal {
        text: String,
        fen: String,
        nearest: Vec<String>,
    },
    /// An action code that is not a legal move.
    #[error(
        "action {action} ({}) is not legal in {fen:?}{}",
        uci.as_deref().unwrap_or("no move has this code"),
        nearest_actions(.nearest)
    )]
    IllegalAction {
        action: u32,
        uci: Option<String>,
        fen: String,
        /// Legal actions, as code and UCI.
        nearest: Vec<(u32, String)>,
    },
    /// The game is over.
    #[error("the game is over in {fen:?}, {outcome}: no move can follow")]
    Over { outcome: Outcome, fen: String },
    /// An invalid number of occurrences for a draw inside the tree.
    #[error("repetitions is {0}, but must be 3 (threefold) or 2 (twofold inside the tree)")]
    Repetitions(u32),
    /// The endgame tables cannot be opened.
    #[error(
        "the endgame tables at {path:?} cannot be opened: {reason}; give a folder with Syzygy tables"
    )]
    Tables { path: String, reason: String },
}

fn suggestions(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; the nearest legal moves are {}", nearest.join(", "))
    }
}

fn nearest_actions(nearest: &[(u32, String)]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let named = nearest.iter().map(|(code, uci)| format!("{code} ({uci})"));
    let named: Vec<String> = named.collect();
    format!("; the nearest legal actions are {}", named.join(", "))
}

fn fen_rule(fen: &str, part: &ParseFenError) -> &'static str {
    if fen.trim().is_empty() {
        return "it is empty; give the fields of a position, or no FEN for the start of chess";
    }
    match part {
        ParseFenError::InvalidFen => {
            "it has too many fields; a FEN is board, side, castling, en passant, half-moves, moves"
        }
        ParseFenError::InvalidBoard => {
            "its board must be 8 ranks separated by '/', each 8 squares of pieces (PNBRQK, pnbrqk) \
             and numbers of empty squares"
        }
        ParseFenError::InvalidPocket => "it has a pocket, which only Crazyhouse has; remove it",
        ParseFenError::InvalidTurn => "its side to move must be 'w' or 'b'",
        ParseFenError::InvalidCastling => {
            "its castling rights must be '-' or letters of KQkq (files A-H, a-h in Chess960)"
        }
        ParseFenError::InvalidEpSquare => "its en-passant square must be '-' or a square like e3",
        ParseFenError::InvalidRemainingChecks => {
            "it counts checks, which only Three-Check does; remove them"
        }
        ParseFenError::InvalidHalfmoveClock => "its half-move clock must be a number from 0",
        ParseFenError::InvalidFullmoves => "its move number must be a number from 1",
    }
}

fn position_rules(broken: PositionErrorKinds) -> String {
    const RULES: [(PositionErrorKinds, &str); 10] = [
        (
            PositionErrorKinds::EMPTY_BOARD,
            "the board is empty; put both kings on it",
        ),
        (
            PositionErrorKinds::MISSING_KING,
            "a king is missing; each side needs one",
        ),
        (
            PositionErrorKinds::TOO_MANY_KINGS,
            "a side has more than one king; leave it one",
        ),
        (
            PositionErrorKinds::PAWNS_ON_BACKRANK,
            "a pawn is on the first or last rank; pawns can only be on ranks 2 to 7",
        ),
        (
            PositionErrorKinds::INVALID_CASTLING_RIGHTS,
            "it gives a castling right without king and rook on their squares; remove the right, or \
             use Chess960 if they start elsewhere",
        ),
        (
            PositionErrorKinds::INVALID_EP_SQUARE,
            "its en-passant square is not directly behind a pawn that has just made two steps; write \
             '-'",
        ),
        (
            PositionErrorKinds::OPPOSITE_CHECK,
            "the side that is not to move is in check; the other side must be to move",
        ),
        (
            PositionErrorKinds::IMPOSSIBLE_CHECK,
            "no last move could have given all these checks at once; remove a checking piece",
        ),
        (
            PositionErrorKinds::TOO_MUCH_MATERIAL,
            "a side has more pieces than 8 pawns and their promotions allow; remove some",
        ),
        (
            PositionErrorKinds::VARIANT,
            "it breaks a rule of a variant; only standard chess is supported",
        ),
    ];
    let sentences: Vec<&str> = RULES
        .into_iter()
        .filter(|(kind, _)| broken.contains(*kind))
        .map(|(_, rule)| rule)
        .collect();
    sentences.join("; and ")
}
