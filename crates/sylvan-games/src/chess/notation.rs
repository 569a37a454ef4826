//! Positions and moves as text: FEN, UCI and SAN, parsed and written by shakmaty.

use super::az73::{self, Step};
use super::board::{BLACK, Board, PAWN};
use super::error::ChessError;
use super::history::History;
use super::position::{Position, castled};
use super::{Chess, Options};
use shakmaty::fen::Fen;
use shakmaty::san::{San, SanError, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{
    Bitboard, CastlingMode, Color, Move, Position as _, PositionError, Role, Setup, Square,
};
use std::num::NonZeroU32;
use sylvan_core::Action;

impl Chess {
    /// Parses a FEN. Missing fields are filled with `w - - 0 1`.
    pub fn from_fen(fen: &str, options: Options) -> Result<Chess, ChessError> {
        let parsed = Fen::from_ascii(fen.trim().as_bytes()).map_err(|part| ChessError::Fen {
            fen: fen.into(),
            part,
        })?;
        Chess::from_setup(parsed.into_setup(), options).map_err(|broken| match broken {
            SetupError::Position(broken) => ChessError::Position {
                fen: fen.into(),
                broken,
            },
            SetupError::Options(error) => error,
        })
    }

    fn from_setup(setup: Setup, options: Options) -> Result<Chess, SetupError> {
        if !matches!(options.repetitions, 2 | 3) {
            return Err(SetupError::Options(ChessError::Repetitions(
                options.repetitions,
            )));
        }
        let mode = CastlingMode::from_chess960(options.chess960);
        let written = setup.ep_square.map(Square::to_u32);
        let legal: shakmaty::Chess = setup
            .position(mode)
            .map_err(|error| SetupError::Position(error.kinds()))?;
        let board = Board::from(legal.board());
        let mut position = Position {
            board,
            squares: board.squares(),
            castling: legal.castles().castling_rights().0,
            key: 0,
            clock: legal.halfmoves(),
            move_number: legal.fullmoves().get(),
            en_passant: 0,
            black_to_move: legal.turn() == Color::Black,
            chess960: options.chess960,
        };
        if let Some(square) = written {
            position.set_en_passant(square);
        }
        position.key = position.computed_key();
        let history = History::new(&position, written);
        Ok(Chess {
            position,
            history,
            repetitions: options.repetitions,
            encoding: options.encoding,
            tables: options.tables,
            choice: [0; 4],
            is_restricted: false,
            at_root: false,
        })
    }

    /// The position as a FEN; with an en-passant square only if a capture there is legal.
    pub fn fen(&self) -> String {
        let fen = Fen::try_from_setup(self.position.setup());
        fen.unwrap_or_else(|lossy| lossy.ignore()).to_string()
    }

    /// Parses a legal move in UCI or SAN. Castling may be written as the king's move of two files,
    /// or as the king taking its rook.
    pub fn parse(&self, text: &str) -> Result<Action, ChessError> {
        let position = self.position.to_shakmaty();
        let ascii = text.trim().as_bytes();
        if let Ok(uci) = UciMove::from_ascii(ascii) {
            return match uci.to_move(&position) {
                Ok(legal) => Ok(self.position.code(legal)),
                Err(_) => Err(self.illegal(text, |action| self.uci(action))),
            };
        }
        let Ok(SanPlus { san, .. }) = SanPlus::from_ascii(ascii) else {
            let nearest = nearest(text, self.legal_texts(|action| self.uci(action)));
            return Err(ChessError::Unreadable {
                text: text.into(),
                nearest,
            });
        };
        match san.to_move(&position) {
            Ok(legal) => Ok(self.position.code(legal)),
            Err(SanError::AmbiguousSan) => Err(self.ambiguous(text, san)),
            Err(SanError::IllegalSan) => Err(self.illegal(text, |action| self.san(action))),
        }
    }

    /// A move in UCI: `e2e4`, `e7e8q`, castling `e1g1` (in Chess960 `e1h1`). `None` if the mover
    /// has no piece for this code.
    pub fn uci(&self, action: Action) -> Option<String> {
        let mode = CastlingMode::from_chess960(self.position.chess960);
        Some(self.position.to_move(action)?.to_uci(mode).to_string())
    }

    /// A legal move in SAN: `e4`, `Nbd7`, `exd6`, `e8=Q+`, `O-O-O#`. `None` if it is not legal.
    pub fn san(&self, action: Action) -> Option<String> {
        let position = self.position.to_shakmaty();
        let legal = self
            .position
            .to_move(action)
            .filter(|&m| position.is_legal(m))?;
        Some(SanPlus::from_move(position, legal).to_string())
    }

    fn illegal(&self, text: &str, write: impl Fn(Action) -> Option<String>) -> ChessError {
        match self.outcome_by_board() {
            Some(outcome) => ChessError::Over {
                outcome,
                fen: self.fen(),
            },
            None => ChessError::Illegal {
                text: text.into(),
                fen: self.fen(),
                nearest: nearest(text, self.legal_texts(write)),
            },
        }
    }

    fn ambiguous(&self, text: &str, san: San) -> ChessError {
        let candidates = self.legal_texts(|action| {
            san.matches(self.position.to_move(action)?)
                .then(|| self.san(action))?
        });
        ChessError::Ambiguous {
            text: text.into(),
            fen: self.fen(),
            nearest: candidates,
        }
    }

    fn legal_texts(&self, write: impl Fn(Action) -> Option<String>) -> Vec<String> {
        self.moves().into_iter().filter_map(write).collect()
    }
}

enum SetupError {
    Position(shakmaty::PositionErrorKinds),
    Options(ChessError),
}

impl Position {
    fn setup(&self) -> Setup {
        Setup {
            board: shakmaty::Board::from(&self.board),
            promoted: Bitboard::EMPTY,
            pockets: None,
            turn: Color::from_black(self.black_to_move),
            castling_rights: Bitboard(self.castling),
            ep_square: Bitboard(self.en_passant).first(),
            remaining_checks: None,
            halfmoves: self.clock,
            fullmoves: NonZeroU32::new(self.move_number).unwrap_or(NonZeroU32::MIN),
        }
    }

    /// The same position in shakmaty, to parse and write moves. A position reached by illegal codes
    /// becomes the default game.
    pub(super) fn to_shakmaty(self) -> shakmaty::Chess {
        self.setup()
            .position(CastlingMode::from_chess960(self.chess960))
            .or_else(PositionError::ignore_impossible_check)
            .unwrap_or_default()
    }

    /// The code of a move.
    fn code(&self, legal: Move) -> Action {
        let from = legal.from().unwrap_or(legal.to());
        let to = match legal {
            Move::Castle { king, rook } if !self.chess960 => {
                Square::new(castled(king.to_u32(), rook > king).0)
            }
            _ => legal.to(),
        };
        let underpromotion = legal.promotion().filter(|&role| role != Role::Queen);
        let (from, to) = (from.to_u32() ^ self.flip(), to.to_u32() ^ self.flip());
        az73::encode(Step {
            from,
            to,
            underpromotion,
        })
        .unwrap_or(Action::MAX)
    }

    /// The move of a code; it need not be legal.
    fn to_move(self, action: Action) -> Option<Move> {
        let step = az73::decode(action)?;
        let (from, to) = (step.from ^ self.flip(), step.to ^ self.flip());
        let (piece, taken) = (self.board.piece(from), self.board.piece(to));
        let role = super::board::role(piece)?;
        if (piece & BLACK != 0) != self.black_to_move {
            return None;
        }
        let (origin, arrival) = (Square::new(from), Square::new(to));
        if self.is_castling(from, to, piece, taken) {
            let rook = self.castling_rook(from, to);
            return Some(Move::Castle {
                king: origin,
                rook: Square::new(rook),
            });
        }
        if piece & !BLACK == PAWN && self.en_passant == 1 << to && origin.file() != arrival.file() {
            return Some(Move::EnPassant {
                from: origin,
                to: arrival,
            });
        }
        let last_rank = role == Role::Pawn && matches!(to >> 3, 0 | 7);
        let promotion = last_rank.then(|| step.underpromotion.unwrap_or(Role::Queen));
        let capture = super::board::role(taken);
        Some(Move::Normal {
            role,
            from: origin,
            capture,
            to: arrival,
            promotion,
        })
    }
}

/// Up to three of `texts` with the fewest edits from `text`.
fn nearest(text: &str, mut texts: Vec<String>) -> Vec<String> {
    texts.sort_by_cached_key(|candidate| edits(text.as_bytes(), candidate.as_bytes()));
    texts.truncate(3);
    texts
}

/// The Levenshtein distance; uses at most 16 bytes of `a`.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let a = &a[..a.len().min(16)];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
