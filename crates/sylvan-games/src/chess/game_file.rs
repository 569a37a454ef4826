//! Packed game files: games in one or three bytes per move, read into training columns.
//!
//! A file is a sequence of games, all from the start position, little-endian:
//!
//! | bytes | meaning |
//! |-------|---------|
//! | u16     | number of plies n |
//! | u8      | result: 0 Black won, 1 draw, 2 White won |
//! | n × u8  | each move: its index among the legal moves sorted by their UCI text |
//! | n × i16 | only in files with evaluations: centipawns for White, or [`UNKNOWN`] |
//!
//! A file does not state whether it has evaluations. With the wrong layout hardly any game is
//! legal, so [`GameFile::open`] takes the layout that fits the first games better.
//!
//! An illegal game is skipped and reported by its number, from 0.

use super::Chess;
use super::az73;
use super::movegen;
use super::planes::{castling, en_passant, mover_view};
use super::position::Position;
use std::cmp::Reverse;
use std::ops::Range;
use sylvan_core::Action;
use thiserror::Error;

/// An unknown evaluation, for example of book moves.
pub const UNKNOWN: i16 = i16::MIN;

/// Games read to detect a file's layout.
const TRIED: usize = 64;

/// An error in a game.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("game {game} is cut short: the file ends inside it; copy the file again")]
    Cut { game: usize },
    #[error("game {game} has the result {result}: 0, 1 and 2 are results; it is left out")]
    Result { game: usize, result: u8 },
    #[error(
        "game {game} has an impossible move at ply {ply}: number {index} of {legal} legal moves; \
         it is left out"
    )]
    Move {
        game: usize,
        ply: usize,
        index: u8,
        legal: usize,
    },
}

/// Positions and the moves played, one row each; the mover is the side to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Four bitboards per position, from the mover's side: three bits of the piece's kind (1
    /// bishop, 2 rook, 3 queen, 4 pawn, 5 knight, 6 king), then the opponent's pieces.
    pub boards: Vec<u64>,
    /// Bits 0–3: the mover may castle on the king's, queen's side, then the opponent; 4: Black is
    /// to move; 5: an en-passant capture is legal, on the file in bits 6–8; 16–31: half-move clock.
    pub facts: Vec<u32>,
    /// The number of legal moves of each position.
    pub choices: Vec<u8>,
    /// The index of the played move among them.
    pub played: Vec<u8>,
    /// The codes of all legal moves, position after position.
    pub legal: Vec<u16>,
    /// 0 the mover lost, 1 draw, 2 the mover won.
    pub results: Vec<u8>,
    /// Centipawns for the mover, or [`UNKNOWN`].
    pub evaluations: Vec<i16>,
    /// Plies to the end of the game, including this one.
    pub plies_left: Vec<u16>,
    /// The number of the game in its file.
    pub games: Vec<u32>,
}

impl Columns {
    fn append(&mut self, mut other: Columns) {
        self.boards.append(&mut other.boards);
        self.facts.append(&mut other.facts);
        self.choices.append(&mut other.choices);
        self.played.append(&mut other.played);
        self.legal.append(&mut other.legal);
        self.results.append(&mut other.results);
        self.evaluations.append(&mut other.evaluations);
        self.plies_left.append(&mut other.plies_left);
        self.games.append(&mut other.games);
    }

    /// Removes the positions from `row`, and the legal moves from `legal`.
    fn truncate(&mut self, row: usize, legal: usize) {
        self.boards.truncate(4 * row);
        self.facts.truncate(row);
        self.choices.truncate(row);
        self.played.truncate(row);
        self.legal.truncate(legal);
        self.results.truncate(row);
        self.evaluations.truncate(row);
        self.plies_left.truncate(row);
        self.games.truncate(row);
    }
}

/// The bytes of a file and the offsets of its games.
pub struct GameFile {
    data: Vec<u8>,
    evaluated: bool,
    /// The offset of each complete game.
    starts: Vec<usize>,
    positions: usize,
    cut: Option<Fault>,
}

impl GameFile {
    /// Finds the games of a file, and detects whether it has evaluations.
    pub fn open(data: Vec<u8>) -> GameFile {
        let plain = GameFile::scan(data, false);
        let as_plain = plain.quality();
        let evaluated = GameFile::scan(plain.data, true);
        if evaluated.quality() > as_plain {
            return evaluated;
        }
        GameFile::scan(evaluated.data, false)
    }

    fn scan(data: Vec<u8>, evaluated: bool) -> GameFile {
        let (mut starts, mut positions, mut at) = (Vec::new(), 0, 0);
        let mut cut = None;
        while at < data.len() {
            let plies = data.get(at..at + 3).map(plies);
            let end = plies.map(|n| at + 3 + n * if evaluated { 3 } else { 1 });
            match (plies, end) {
                (Some(plies), Some(end)) if end <= data.len() => {
                    starts.push(at);
                    positions += plies;
                    at = end;
                }
                _ => {
                    cut = Some(Fault::Cut { game: starts.len() });
                    break;
                }
            }
        }
        GameFile {
            data,
            evaluated,
            starts,
            positions,
            cut,
        }
    }

    /// How well the layout fits the first games: the number of legal games, then the fewest
    /// illegal.
    fn quality(&self) -> (usize, Reverse<usize>) {
        let tried = self.starts.len().min(TRIED);
        let faults = self.read(0..tried, 1).1.len();
        let cut = usize::from(self.cut.is_some() && tried < TRIED);
        (tried - faults, Reverse(faults + cut))
    }

    pub fn has_evaluations(&self) -> bool {
        self.evaluated
    }

    /// The number of complete games.
    pub fn num_games(&self) -> usize {
        self.starts.len()
    }

    /// The number of positions in complete games, including illegal ones.
    pub fn num_positions(&self) -> usize {
        self.positions
    }

    /// The incomplete game at the end of the file, if there is one.
    pub fn cut(&self) -> Option<&Fault> {
        self.cut.as_ref()
    }

    /// The positions of some games, and the errors of skipped games, in the file's order.
    pub fn read(&self, games: Range<usize>, threads: usize) -> (Columns, Vec<Fault>) {
        let games = games.start.min(self.starts.len())..games.end.min(self.starts.len());
        let share = games.len().div_ceil(threads.max(1)).max(1);
        let parts = std::thread::scope(|scope| {
            let workers: Vec<_> = games
                .clone()
                .step_by(share)
                .map(|first| {
                    let part = first..(first + share).min(games.end);
                    scope.spawn(move || self.read_part(part))
                })
                .collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            workers.into_iter().map(join).collect::<Vec<_>>()
        });
        let (mut columns, mut faults) = (Columns::default(), Vec::new());
        for (part, wrong) in parts {
            columns.append(part);
            faults.extend(wrong);
        }
        (columns, faults)
    }

    fn read_part(&self, games: Range<usize>) -> (Columns, Vec<Fault>) {
        let (mut columns, mut faults) = (Columns::default(), Vec::new());
        let start = Chess::default().position;
        for game in games {
            let (row, legal) = (columns.facts.len(), columns.legal.len());
            if let Err(fault) = self.read_game(game, start, &mut columns) {
                columns.truncate(row, legal);
                faults.push(fault);
            }
        }
        (columns, faults)
    }

    fn read_game(
        &self,
        game: usize,
        mut position: Position,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let bytes = &self.data[self.starts[game]..];
        let (count, result) = (plies(bytes), bytes[2]);
        if result > 2 {
            return Err(Fault::Result { game, result });
        }
        let moves = &bytes[3..3 + count];
        let evaluations = if self.evaluated {
            &bytes[3 + count..3 + 3 * count]
        } else {
            &[]
        };
        let mut actions = Vec::new();
        for (ply, &index) in moves.iter().enumerate() {
            movegen::legal_actions(&position, &mut actions);
            let Some(chosen) = index_by_text(&position, &actions, usize::from(index)) else {
                return Err(Fault::Move {
                    game,
                    ply,
                    index,
                    legal: actions.len(),
                });
            };
            let black = position.black_to_move;
            let white_centipawns = evaluations
                .get(2 * ply..2 * ply + 2)
                .map_or(UNKNOWN, |pair| i16::from_le_bytes([pair[0], pair[1]]));
            columns.push_position(&position, &actions, chosen);
            columns
                .results
                .push(if black { 2 - result } else { result });
            columns.evaluations.push(match white_centipawns {
                UNKNOWN => UNKNOWN,
                known if black => -known,
                known => known,
            });
            columns.plies_left.push((count - ply) as u16);
            columns.games.push(game as u32);
            position.play(actions[chosen]);
        }
        Ok(())
    }
}

impl Columns {
    fn push_position(&mut self, position: &Position, actions: &[Action], chosen: usize) {
        self.boards
            .extend(mover_view(position, &position.board).bits());
        self.facts.push(facts(position));
        self.choices.push(actions.len() as u8);
        self.played.push(chosen as u8);
        self.legal.extend(actions.iter().map(|&code| code as u16));
    }
}

/// The number of plies, from the header of a game.
fn plies(bytes: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// See [`Columns::facts`].
fn facts(position: &Position) -> u32 {
    let [own_long, own_short, their_long, their_short] =
        castling(position).map(|mask| (mask & 1) as u32);
    let rights = own_short | own_long << 1 | their_short << 2 | their_long << 3;
    let passing = en_passant(position);
    let file = if passing == 0 {
        0
    } else {
        1 << 5 | (passing.trailing_zeros() & 7) << 6
    };
    let clock = position.clock.min(u32::from(u16::MAX)) << 16;
    rights | u32::from(position.black_to_move) << 4 | file | clock
}

/// The index in `actions` of the move that is number `index` in the order of UCI texts.
fn index_by_text(position: &Position, actions: &[Action], index: usize) -> Option<usize> {
    let flip = position.flip();
    let mut keys = [0u32; 256];
    let keys = keys.get_mut(..actions.len())?;
    for (number, (key, &action)) in keys.iter_mut().zip(actions).enumerate() {
        *key = text_order(action, flip)? << 8 | number as u32;
    }
    if index >= keys.len() {
        return None;
    }
    let (_, &mut key, _) = keys.select_nth_unstable(index);
    Some(key as usize & 255)
}

/// A key that orders the moves of one position like their UCI texts: file before rank, then the
/// promotion's letter (b, n, q, r). A move without promotion never has the same squares as one with
/// promotion, so it may count as a queen.
fn text_order(action: Action, flip: u32) -> Option<u32> {
    const LETTERS: [u32; 4] = [2, 1, 0, 3];
    let step = az73::unpack(action)?;
    let square = |square: u32| (square & 7) << 3 | (square ^ flip) >> 3;
    let letter = LETTERS[step.underpromotion() as usize & 3];
    Some(square(step.from()) << 8 | square(step.to()) << 2 | letter)
}
