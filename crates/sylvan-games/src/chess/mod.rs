//! Chess and Chess960.
//!
//! shakmaty supplies attack tables, parses and writes text and validates positions. Making and
//! generating moves is implemented here, several times faster, because a search spends most of its
//! time on it. Tests compare the two.
//!
//! **End of a game.** Checkmate, stalemate and dead positions (insufficient material) always end a
//! game. The third occurrence of a position and 100 plies without capture or pawn move end it too,
//! except at the root of a search ([`Game::set_root`]), which is searched as long as it has legal
//! moves. Occurrences are counted over the real game and the tree together. With
//! [`Options::repetitions`] 2, the second occurrence inside the tree, including its root, is
//! already a draw; positions of the game before the root still need three. [`Options::tables`] also
//! end lines inside the tree, but never the game itself.

pub mod az73; // action codes, 8×8×73 from the mover's side
mod board; // the pieces in four bitboards
mod zobrist; // Zobrist keys
mod view; // the board from the mover's side
mod position; // a position, and making a move
mod movegen; // legal moves and their order
mod history; // past boards and repetitions
mod error; // errors of positions and moves
mod notation; // FEN, UCI, SAN
mod syzygy; // endgame tables
mod lc0; // lc0's 1858 policy outputs
mod encoding; // input planes and policy outputs of networks
mod planes; // observations, one file per layout
mod material; // an evaluation without a network
mod mates; // short forced mates
mod perft; // counts move sequences
mod game_file; // packed games, read into training columns

pub use encoding::{Codec, Encoder, Encoding};
pub use error::ChessError;
pub use game_file::{Columns, Fault, GameFile, UNKNOWN};
pub use history::HistoryFill;
pub use material::Material;
pub use mates::Mates;
pub use planes::{MAX_PLANES, expand};
pub use syzygy::{Probe, Tables};

use crate::hash::mix;
use board::Board;
use history::History;
use position::Position;
use shakmaty::Setup;
use std::convert::Infallible;
use std::fmt;
use sylvan_core::{Action, Game, Rules, Seat, Sure, Turn};
use view::View;

const WHITE: Seat = 0;
const BLACK: Seat = 1;

/// The rules and the encoding of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Chess960: castling is the king taking its own rook.
    pub chess960: bool,
    /// Occurrences of a position that are a draw inside a search tree: 3, or 2 to detect
    /// repetitions earlier.
    pub repetitions: u32,
    /// The encoding for networks.
    pub encoding: Encoding,
    /// Endgame tables for searches.
    pub tables: Option<&'static Tables>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            chess960: false,
            repetitions: 3,
            encoding: Encoding::default(),
            tables: None,
        }
    }
}

/// The reason why a game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Checkmate {
        winner: Seat,
    },
    Stalemate,
    InsufficientMaterial,
    Repetition,
    FiftyMoves,
    /// A result from endgame tables, only inside a search.
    Tablebase {
        winner: Option<Seat>,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Checkmate { winner: WHITE } => "White has mated",
            Outcome::Checkmate { .. } => "Black has mated",
            Outcome::Stalemate => "a draw by stalemate",
            Outcome::InsufficientMaterial => "a draw by insufficient material",
            Outcome::Repetition => "a draw by repetition",
            Outcome::FiftyMoves => "a draw by fifty moves without capture or pawn move",
            Outcome::Tablebase { winner: None } => "a draw by the endgame tables",
            Outcome::Tablebase { .. } => "won by the endgame tables",
        })
    }
}

/// A game of chess: a position and the relevant part of its history.
#[derive(Debug)]
pub struct Chess {
    position: Position,
    history: History,
    repetitions: u32,
    encoding: Encoding,
    tables: Option<&'static Tables>,
    /// If `is_restricted`, a bit mask over the list of legal moves (at most 218).
    choice: [u64; 4],
    is_restricted: bool,
    /// The position is the root of a search.
    at_root: bool,
}

impl Chess {
    /// The start position.
    pub fn new(options: Options) -> Result<Chess, ChessError> {
        let fen = shakmaty::fen::Fen::try_from_setup(Setup::initial());
        Chess::from_fen(
            &fen.unwrap_or_else(|lossy| lossy.ignore()).to_string(),
            options,
        )
    }

    /// The rules and the encoding of this game.
    pub fn options(&self) -> Options {
        Options {
            chess960: self.position.chess960,
            repetitions: self.repetitions,
            encoding: self.encoding,
            tables: self.tables,
        }
    }

    /// All legal moves, even if the game is drawn by repetition or the fifty-move rule.
    pub fn moves(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        movegen::legal_actions(&self.position, &mut actions);
        actions
    }

    /// The moves to choose from: the legal moves, or a subset if restricted.
    pub fn choices(&self) -> Vec<Action> {
        let mut actions = self.moves();
        self.retain_choices(&mut actions);
        actions
    }

    /// Removes the moves that may not be chosen from the list of all moves.
    fn retain_choices(&self, actions: &mut Vec<Action>) {
        if self.is_restricted {
            let mut index = 0..;
            actions.retain(|_| {
                let index: usize = index.next().unwrap_or_default();
                self.choice[index / 64 % 4] >> (index % 64) & 1 == 1
            });
        }
    }

    /// Restricts the choice to some of the moves.
    fn choose(&mut self, among: &[Action]) {
        self.choice = [0; 4];
        for (index, action) in self.moves().iter().enumerate() {
            self.choice[index / 64 % 4] |= u64::from(among.contains(action)) << (index % 64);
        }
        self.is_restricted = true;
    }

    /// The same game, restricted to some moves until one is played; `None` removes the restriction.
    /// Fails if a move is illegal.
    pub fn restricted(mut self, moves: Option<&[Action]>) -> Result<Chess, ChessError> {
        let legal = self.moves();
        if let Some(&action) = moves
            .unwrap_or_default()
            .iter()
            .find(|&action| !legal.contains(action))
        {
            return Err(self.refusal(action));
        }
        self.is_restricted = false;
        if let Some(moves) = moves {
            self.choose(moves);
        }
        Ok(self)
    }

    /// Marks the root of a search, without using endgame tables.
    pub fn mark_root(&mut self) {
        self.at_root = true;
        self.history.set_root();
    }

    /// Plays a legal move, also in a game drawn by repetition or the fifty-move rule; on an error
    /// nothing changes.
    pub fn play(&mut self, action: Action) -> Result<(), ChessError> {
        if self.moves().contains(&action) {
            let Ok(()) = self.apply(action);
            return Ok(());
        }
        Err(self.refusal(action))
    }

    fn refusal(&self, action: Action) -> ChessError {
        let fen = self.fen();
        match self.outcome_by_board() {
            Some(outcome) => ChessError::Over { outcome, fen },
            None => self.illegal_action(action),
        }
    }

    /// The error for an illegal action code, with the nearest legal codes.
    pub fn illegal_action(&self, action: Action) -> ChessError {
        let mut legal = self.moves().to_vec();
        legal.sort_by_key(|&code| code.abs_diff(action));
        let named = legal.iter().take(3);
        ChessError::IllegalAction {
            action,
            uci: self.uci(action),
            fen: self.fen(),
            nearest: named
                .filter_map(|&code| Some((code, self.uci(code)?)))
                .collect(),
        }
    }

    /// The reason why the game is over, or `None`.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome_by_board()
            .or_else(|| self.outcome_by_past())
            .or_else(|| self.outcome_by_tables())
    }

    /// Outcomes that depend only on the position.
    fn outcome_by_board(&self) -> Option<Outcome> {
        if self.position.is_dead() {
            return Some(Outcome::InsufficientMaterial);
        }
        let mut actions = Vec::new();
        let check = movegen::legal_actions(&self.position, &mut actions);
        match (actions.is_empty(), check) {
            (false, _) => None,
            (true, true) => Some(Outcome::Checkmate {
                winner: 1 - self.seat(),
            }),
            (true, false) => Some(Outcome::Stalemate),
        }
    }

    /// Outcomes that depend on the history.
    fn outcome_by_past(&self) -> Option<Outcome> {
        if self.at_root {
            None
        } else if self.is_repeated() {
            Some(Outcome::Repetition)
        } else {
            (self.position.clock >= 100).then_some(Outcome::FiftyMoves)
        }
    }

    /// Outcomes from endgame tables, inside a search.
    fn outcome_by_tables(&self) -> Option<Outcome> {
        let value = self.table_value()?;
        let winner = match value {
            1.0 => Some(self.seat()),
            -1.0 => Some(1 - self.seat()),
            _ => None,
        };
        Some(Outcome::Tablebase { winner })
    }

    fn is_repeated(&self) -> bool {
        self.history.earlier >= 2 || self.repetitions == 2 && self.history.in_tree
    }

    /// The side to move, without restrictions and tables, and all moves.
    #[inline]
    fn turn_by_rules(&self, actions: &mut Vec<Action>) -> Turn {
        if !self.at_root && self.is_repeated() || self.position.is_dead() {
            actions.clear();
            return Turn::Over;
        }
        movegen::legal_actions(&self.position, actions);
        if !self.at_root && self.position.clock >= 100 {
            actions.clear();
        }
        if actions.is_empty() {
            Turn::Over
        } else {
            Turn::Seat(self.seat())
        }
    }

    /// The same with restrictions and tables.
    #[cold]
    fn restricted_turn(&self, actions: &mut Vec<Action>) -> Turn {
        let turn = self.turn_by_rules(actions);
        self.retain_choices(actions);
        if !actions.is_empty() && self.table_value().is_none() {
            return turn;
        }
        if !actions.is_empty() {
            self.count_table_hit();
        }
        actions.clear();
        Turn::Over
    }

    /// The side to move, also in a finished game: White 0, Black 1.
    pub fn seat(&self) -> Seat {
        if self.position.black_to_move {
            BLACK
        } else {
            WHITE
        }
    }

    /// Whether the mover is in check.
    pub fn is_check(&self) -> bool {
        View::of(&self.position).is_check()
    }

    /// Plies since the last capture or pawn move.
    pub fn clock(&self) -> u32 {
        self.position.clock
    }

    /// A key of position *and* history: equal keys mean equal observations and equal continuations.
    /// [`Game::key`] ignores repetitions, counters and history planes.
    pub fn full_key(&self) -> u64 {
        let mut planes = [0; MAX_PLANES];
        planes::write(self.encoding, &self.position, &self.history, &mut planes);
        let Encoding { encoder, codec, .. } = self.encoding;
        let rules = [
            u64::from(self.repetitions),
            u64::from(self.at_root),
            u64::from(self.position.clock),
            encoder as u64,
            codec as u64,
            self.position.key,
        ];
        let past = self.history.keys().iter().chain(&planes).chain(&rules);
        let choice = self.choice.iter().filter(|_| self.is_restricted);
        past.chain(choice)
            .fold(u64::from(self.history.root_index()), |digest, &part| {
                mix(digest ^ part)
            })
    }
}

impl Default for Chess {
    fn default() -> Chess {
        Chess::new(Options::default()).expect("the start position is legal")
    }
}

impl Clone for Chess {
    fn clone(&self) -> Chess {
        Chess {
            history: self.history.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, source: &Chess) {
        self.position = source.position;
        self.history.clone_from(&source.history);
        self.repetitions = source.repetitions;
        self.encoding = source.encoding;
        self.tables = source.tables;
        self.is_restricted = source.is_restricted;
        if source.is_restricted {
            self.choice = source.choice;
        }
        self.at_root = source.at_root;
    }
}

impl Game for Chess {
    type Error = Infallible;
    type Cell = u64;

    fn value_range(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }

    fn rules(&self) -> Rules {
        Rules {
            num_players: 2,
            num_actions: az73::NUM_ACTIONS,
            zero_sum: true,
            has_rewards: false,
            value_range: self.value_range(),
            observation_shape: vec![self.encoding.encoder.num_planes()],
        }
    }

    fn set_root(&mut self) {
        self.mark_root();
        self.choose_by_tables();
    }

    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        Ok(if self.is_restricted || self.tables.is_some() {
            self.restricted_turn(actions)
        } else {
            self.turn_by_rules(actions)
        })
    }

    fn action_at(&self, index: usize, _: &mut Vec<Action>) -> Sure<Action> {
        Ok(if self.is_restricted {
            self.choices()[index]
        } else {
            movegen::action_at(&self.position, index)
        })
    }

    fn apply(&mut self, action: Action) -> Sure {
        self.history.keep(&self.position.board);
        let irreversible = self.position.play(action);
        self.history.push(self.position.key, irreversible);
        self.at_root = false;
        self.is_restricted = false;
        Ok(())
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        out.fill(0.0);
        let winner = match self.outcome_by_board() {
            Some(Outcome::Checkmate { winner }) => Some(winner),
            None => match self.outcome_by_tables() {
                Some(Outcome::Tablebase { winner }) => winner,
                _ => None,
            },
            _ => None,
        };
        if let Some(winner) = winner {
            out[usize::from(winner)] = 1.0;
            out[usize::from(1 - winner)] = -1.0;
        }
        Ok(())
    }

    /// A quarter of a win for the side with more material: pawns 1, minor pieces 3, rooks 5,
    /// queens 9.
    fn estimate(&self, out: &mut [f64]) -> Sure<bool> {
        let ahead = 0.25 * f64::from(self.position.board.material().signum());
        out.copy_from_slice(&[ahead, -ahead]);
        Ok(true)
    }

    fn num_logits(&self) -> usize {
        self.encoding.codec.num_logits()
    }

    fn logit_index(&self, action: Action) -> Sure<u32> {
        Ok(Chess::logit_index(self, action))
    }

    fn observe(&self, out: &mut [u64]) -> Sure {
        planes::write(self.encoding, &self.position, &self.history, out);
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        Ok(self.position.key)
    }

    /// The position and the plies since the last capture or pawn move, which rise until the next
    /// one: so no key recurs on a line. Repetitions are reported by `is_repetition`, also of positions
    /// before the root: while a tree is kept, the moves that are played become such positions.
    /// Networks that see earlier boards see those of the line that came first.
    fn position_key(&self, _ply: u64) -> Sure<Option<u64>> {
        Ok(Some(mix(
            self.position.key ^ mix(self.position.clock.into())
        )))
    }

    fn is_repetition(&self) -> bool {
        !self.at_root && self.is_repeated()
    }

    /// Captures, promotions and checks.
    fn is_forcing(&self, action: Action) -> bool {
        let mut after = self.position;
        after.play(action);
        let count = |board: &Board| {
            let [pieces, pawns] = [board.occupied(), board.pawns()];
            [pieces.count_ones(), pawns.count_ones()]
        };
        count(&after.board) != count(&self.position.board) || View::of(&after).is_check()
    }
}
