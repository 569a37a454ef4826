//! Chess and Chess960.
//!
//! | file | idea |
//! |------|------|
//! | `az73`     | action codes, 8×8×73 from the mover's side |
//! | `lc0`      | lc0's 1858 policy outputs |
//! | `encoding` | how a game shows itself to a network |
//! | `board`    | pieces in four bitboards |
//! | `zobrist`  | keys |
//! | `position` | making a move |
//! | `view`     | the board as the mover sees it |
//! | `movegen`  | legal moves and their order |
//! | `history`  | past boards and repetitions |
//! | `planes`   | observations, a file per layout |
//! | `notation` | FEN, UCI, SAN |
//! | `syzygy`   | endgame tables |
//! | `perft`    | counting move sequences |
//! | `game_file` | packed games, read into training columns |
//! | `material` | an evaluation without a network |
//! | `error`    | what can be wrong |
//!
//! shakmaty supplies attack tables, reads and writes text and judges positions; making and listing
//! moves is done here, several times faster, because a search does little else. Tests hold the two
//! against each other.
//!
//! **When a game ends.** Checkmate, stalemate and dead positions (insufficient material) end it,
//! always. The third occurrence of a position and 100 plies without capture or pawn move end it
//! too, with one exception: the root of a search ([`Game::set_root`]) is searched as long as it has
//! moves, since somebody asked. Occurrences are counted through the real game and the tree alike.
//! With [`Options::repetitions`] 2, the second occurrence inside the tree, its root included, is
//! already a draw; positions of the game before the root still need three. [`Options::tables`] end
//! lines inside the tree too, and never the game itself.

pub mod az73;
mod board;
mod encoding;
mod error;
mod game_file;
mod history;
mod lc0;
mod material;
mod movegen;
mod notation;
mod perft;
mod planes;
mod position;
mod syzygy;
mod view;
mod zobrist;

pub use encoding::{Codec, Encoder, Encoding};
pub use error::ChessError;
pub use game_file::{Columns, Fault, GameFile, UNKNOWN};
pub use history::HistoryFill;
pub use material::Material;
pub use planes::{MAX_PLANES, expand};
pub use syzygy::{Probe, Tables};

use crate::hash::mix;
use history::History;
use position::Position;
use shakmaty::Setup;
use std::convert::Infallible;
use std::fmt;
use sylvan_core::{Action, Game, Rules, Seat, Sure, Turn};

const WHITE: Seat = 0;
const BLACK: Seat = 1;

/// How a game is played and observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Castling is the king taking its own rook, from wherever they start.
    pub chess960: bool,
    /// Occurrences of a position that are a draw inside a search tree: 3, or 2 to notice sooner
    /// that a line goes round in circles.
    pub repetitions: u32,
    /// How it shows itself to a network.
    pub encoding: Encoding,
    /// Endgame tables that a search consults.
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

/// Why a game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Checkmate {
        winner: Seat,
    },
    Stalemate,
    InsufficientMaterial,
    Repetition,
    FiftyMoves,
    /// Inside a search only: endgame tables know the result.
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
            Outcome::InsufficientMaterial => "a draw for want of material",
            Outcome::Repetition => "a draw by repetition",
            Outcome::FiftyMoves => "a draw by fifty moves without capture or pawn move",
            Outcome::Tablebase { winner: None } => "a draw by the endgame tables",
            Outcome::Tablebase { .. } => "won by the endgame tables",
        })
    }
}

/// A game of chess: a position and what of its past still matters.
#[derive(Debug)]
pub struct Chess {
    position: Position,
    history: History,
    repetitions: u32,
    encoding: Encoding,
    tables: Option<&'static Tables>,
    /// If `narrowed`, the moves to choose from here: a bit for each place in the list of moves,
    /// whose length is at most 218.
    choice: [u64; 4],
    narrowed: bool,
    /// A search starts here and nothing was played since.
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

    /// How this game is played and observed.
    pub fn options(&self) -> Options {
        Options {
            chess960: self.position.chess960,
            repetitions: self.repetitions,
            encoding: self.encoding,
            tables: self.tables,
        }
    }

    /// The moves that the laws of chess allow here, whatever else may have ended the game.
    pub fn moves(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        movegen::legal_actions(&self.position, &mut actions);
        actions
    }

    /// The moves to choose from: those that the laws allow, fewer if restricted.
    pub fn choices(&self) -> Vec<Action> {
        let mut actions = self.moves();
        self.keep_chosen(&mut actions);
        actions
    }

    /// Takes away, from the list of all moves, those that are not to be chosen.
    fn keep_chosen(&self, actions: &mut Vec<Action>) {
        if self.narrowed {
            let mut place = 0..;
            actions.retain(|_| {
                let place: usize = place.next().unwrap_or_default();
                self.choice[place / 64 % 4] >> (place % 64) & 1 == 1
            });
        }
    }

    /// Narrows the choice to some of the moves.
    fn choose(&mut self, among: &[Action]) {
        self.choice = [0; 4];
        for (place, action) in self.moves().iter().enumerate() {
            self.choice[place / 64 % 4] |= u64::from(among.contains(action)) << (place % 64);
        }
        self.narrowed = true;
    }

    /// The same game in which only some moves can be chosen from here, until one is played; `None`
    /// lifts that. Fails at a move that is not legal.
    pub fn restricted(mut self, moves: Option<&[Action]>) -> Result<Chess, ChessError> {
        let legal = self.moves();
        if let Some(&action) = moves
            .unwrap_or_default()
            .iter()
            .find(|&action| !legal.contains(action))
        {
            return Err(self.refusal(action));
        }
        self.narrowed = false;
        if let Some(moves) = moves {
            self.choose(moves);
        }
        Ok(self)
    }

    /// A search starts here; tables are not asked.
    pub fn mark_root(&mut self) {
        self.at_root = true;
        self.history.set_root();
    }

    /// Plays a move if the laws of chess allow it, also in a game that was drawn by repetition or
    /// by counting; leaves the game as it is otherwise.
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

    /// What is wrong with a code that is no legal move here, and which codes near it are.
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

    /// Why the game is over, or `None` while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome_by_board()
            .or_else(|| self.outcome_by_past())
            .or_else(|| self.outcome_by_tables())
    }

    /// Ends that the position alone shows; in all but dead positions no move is left.
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

    /// Ends that only the past shows.
    fn outcome_by_past(&self) -> Option<Outcome> {
        if self.at_root {
            None
        } else if self.is_repetition() {
            Some(Outcome::Repetition)
        } else {
            (self.position.clock >= 100).then_some(Outcome::FiftyMoves)
        }
    }

    /// What endgame tables tell inside a search.
    fn outcome_by_tables(&self) -> Option<Outcome> {
        let value = self.table_value()?;
        let winner = match value {
            1.0 => Some(self.seat()),
            -1.0 => Some(1 - self.seat()),
            _ => None,
        };
        Some(Outcome::Tablebase { winner })
    }

    fn is_repetition(&self) -> bool {
        self.history.earlier >= 2 || self.repetitions == 2 && self.history.in_tree
    }

    /// Whose turn it is by the rules alone, and all moves.
    #[inline]
    fn wide_turn(&self, actions: &mut Vec<Action>) -> Turn {
        if !self.at_root && self.is_repetition() || self.position.is_dead() {
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

    /// The same where some moves are not to be chosen, or tables may end the line.
    #[cold]
    fn narrow_turn(&self, actions: &mut Vec<Action>) -> Turn {
        let turn = self.wide_turn(actions);
        self.keep_chosen(actions);
        if !actions.is_empty() && self.table_value().is_none() {
            return turn;
        }
        if !actions.is_empty() {
            self.count_table_hit();
        }
        actions.clear();
        Turn::Over
    }

    /// The seat to move, whether or not the game is over: White 0, Black 1.
    pub fn seat(&self) -> Seat {
        if self.position.black_to_move {
            BLACK
        } else {
            WHITE
        }
    }

    /// The mover is in check.
    pub fn is_check(&self) -> bool {
        let view = view::View::of(&self.position);
        view.attackers(view.king, view.occupied()) != 0
    }

    /// Plies since the last capture or pawn move.
    pub fn clock(&self) -> u32 {
        self.position.clock
    }

    /// A key of position *and* past: equal ones mean equal observations and equal futures, which
    /// [`Game::key`] does not promise where repetitions, counters or history planes matter.
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
        let choice = self.choice.iter().filter(|_| self.narrowed);
        past.chain(choice)
            .fold(u64::from(self.history.root_place()), |digest, &part| {
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
        self.narrowed = source.narrowed;
        if source.narrowed {
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
        Ok(if self.narrowed || self.tables.is_some() {
            self.narrow_turn(actions)
        } else {
            self.wide_turn(actions)
        })
    }

    fn action_at(&self, place: usize, _: &mut Vec<Action>) -> Sure<Action> {
        Ok(if self.narrowed {
            self.choices()[place]
        } else {
            movegen::action_at(&self.position, place)
        })
    }

    fn apply(&mut self, action: Action) -> Sure {
        self.history.keep(&self.position.board);
        let irreversible = self.position.play(action);
        self.history.push(self.position.key, irreversible);
        self.at_root = false;
        self.narrowed = false;
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

    fn observe(&self, out: &mut [u64]) -> Sure {
        planes::write(self.encoding, &self.position, &self.history, out);
        Ok(())
    }

    fn key(&self) -> u64 {
        self.position.key
    }
}
