//! Syzygy endgame tables: the results of perfect play in positions with few pieces.
//!
//! **Inside a tree** a position in the tables is terminal with its exact value, if its half-move
//! clock is zero and neither side can castle: the tables are exact under these conditions. Wins
//! prevented by the fifty-move rule (cursed wins, blessed losses) are draws. Positions with another
//! clock are searched until a capture or a pawn move.
//!
//! **At the root** the tables restrict the moves of a search to those with the best result under
//! the fifty-move rule and the current clock, and among wins (losses) to those with the shortest
//! (longest) way to the next capture, pawn move or mate. So a won game is won with any search
//! depth.
//!
//! Tables are opened once per path and never closed, so a state holds a plain reference and stays
//! cheap to copy.

use super::position::Position;
use super::{Chess, ChessError, Outcome};
use shakmaty_syzygy::{AmbiguousWdl, Dtz, MaybeRounded, Tablebase, Wdl};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use sylvan_core::{Action, Game};

pub struct Tables {
    path: String,
    base: Tablebase<shakmaty::Chess>,
    /// The number of positions found.
    hits: AtomicU64,
}

/// The table entry of a position, for the mover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Win 2, cursed win 1, draw 0, blessed loss −1, loss −2, for a half-move clock of zero.
    pub wdl: i8,
    /// Plies to the next capture, pawn move or mate, with the sign of `wdl`; 0 for draws. `None`
    /// without DTZ tables. May be one too small, because the tables are rounded.
    pub dtz: Option<i32>,
}

/// The open tables.
static OPEN: Mutex<Vec<&'static Tables>> = Mutex::new(Vec::new());

impl Tables {
    /// Opens the tables in one or more folders, separated as in the variable PATH.
    pub fn open(path: &str) -> Result<&'static Tables, ChessError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tables) = open.iter().find(|tables| tables.path == path) {
            return Ok(tables);
        }
        let mut base = Tablebase::new();
        for folder in std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()) {
            add(&mut base, path, &folder)?;
        }
        if base.max_pieces() == 0 {
            return Err(ChessError::Tables {
                path: path.into(),
                reason: "it has no tables, files like KQvK.rtbw and KQvK.rtbz".into(),
            });
        }
        let tables: &'static Tables = Box::leak(Box::new(Tables {
            path: path.into(),
            base,
            hits: AtomicU64::new(0),
        }));
        open.push(tables);
        Ok(tables)
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// The most pieces of a position in the tables.
    pub fn max_pieces(&self) -> usize {
        self.base.max_pieces()
    }

    /// Positions found so far, by all games and threads.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Whether a position may be in the tables.
    fn covers(&self, position: &Position) -> bool {
        position.castling == 0
            && position.board.occupied().count_ones() as usize <= self.base.max_pieces()
    }

    /// The table entry, regardless of the clock.
    fn probe(&self, position: &Position) -> Option<Probe> {
        if !self.covers(position) {
            return None;
        }
        let position = position.to_shakmaty();
        let wdl = self.base.probe_wdl_after_zeroing(&position).ok()?;
        let dtz = self.base.probe_dtz(&position).ok();
        Some(Probe {
            wdl: wdl.into(),
            dtz: dtz.map(|dtz| dtz.ignore_rounding().0),
        })
    }

    /// The exact result for the mover, 1, 0 or −1, of a position whose clock is zero.
    fn value(&self, position: &Position) -> Option<f64> {
        if position.clock != 0 || !self.covers(position) {
            return None;
        }
        let wdl = self.base.probe_wdl_after_zeroing(&position.to_shakmaty());
        Some(match wdl.ok()? {
            Wdl::Win => 1.0,
            Wdl::Loss => -1.0,
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => 0.0,
        })
    }

    fn count(&self, hits: usize) {
        self.hits.fetch_add(hits as u64, Ordering::Relaxed);
    }

    /// The rank of a move to a position: higher is better.
    fn rank(&self, after: &Position) -> Option<i32> {
        let (position, clock) = (after.to_shakmaty(), after.clock);
        let dtz = match self.base.probe_dtz(&position) {
            Ok(dtz) => dtz,
            // Without DTZ tables: use the result for a clock of zero, without distances.
            Err(_) => {
                let wdl = self.base.probe_wdl_after_zeroing(&position).ok()?;
                MaybeRounded::Precise(Dtz::before_zeroing(wdl))
            }
        };
        let plies = if clock == 0 && dtz.is_negative() {
            0 // won by a capture or a pawn move, which resets the clock
        } else {
            dtz.ignore_rounding().0.abs()
        };
        Some(match -AmbiguousWdl::from_dtz_and_halfmoves(dtz, clock) {
            AmbiguousWdl::Win => 20_000 - plies,
            AmbiguousWdl::MaybeWin => 10_000 - plies,
            AmbiguousWdl::CursedWin => 5_000 - plies,
            AmbiguousWdl::Draw => 0,
            AmbiguousWdl::BlessedLoss => plies - 5_000,
            AmbiguousWdl::MaybeLoss => plies - 10_000,
            AmbiguousWdl::Loss => plies - 20_000,
        })
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tables({:?})", self.path)
    }
}

impl PartialEq for Tables {
    fn eq(&self, other: &Tables) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Tables {}

fn add(base: &mut Tablebase<shakmaty::Chess>, path: &str, folder: &Path) -> Result<(), ChessError> {
    let wrong = |reason: String| ChessError::Tables {
        path: path.into(),
        reason,
    };
    if !folder.is_dir() {
        return Err(wrong(format!("there is no folder {folder:?}")));
    }
    let added = base.add_directory(folder);
    added.map_err(|error| wrong(format!("a table in {folder:?} cannot be read ({error})")))?;
    Ok(())
}

impl Chess {
    /// The table entry of the position.
    pub fn probe(&self) -> Option<Probe> {
        let tables = self.tables?;
        let found = tables.probe(&self.position);
        tables.count(usize::from(found.is_some()));
        found
    }

    /// The result for the mover, if the tables end a line of a search here.
    pub(super) fn table_value(&self) -> Option<f64> {
        let inside = !self.at_root && self.history.in_search();
        self.tables
            .filter(|_| inside)
            .and_then(|tables| tables.value(&self.position))
    }

    /// Restricts the moves to the best by the tables, if all moves are in the tables.
    pub(super) fn choose_by_tables(&mut self) {
        let Some(tables) = self.tables.filter(|tables| tables.covers(&self.position)) else {
            return;
        };
        let candidates = self.choices();
        let ranks: Option<Vec<i32>> = candidates
            .iter()
            .map(|&action| self.rank(tables, action))
            .collect();
        let Some(ranks) = ranks else { return };
        tables.count(ranks.len());
        let best = ranks.iter().copied().max();
        let ranked = candidates.iter().zip(&ranks);
        let kept: Vec<Action> = ranked
            .filter(|&(_, &rank)| Some(rank) == best)
            .map(|(&action, _)| action)
            .collect();
        if kept.len() < candidates.len() {
            self.choose(&kept);
        }
    }

    fn rank(&self, tables: &Tables, action: Action) -> Option<i32> {
        let mut after = self.clone();
        let Ok(()) = after.apply(action);
        match after.outcome() {
            Some(Outcome::Checkmate { .. }) => Some(30_000),
            Some(Outcome::Tablebase { .. }) | None => tables.rank(&after.position),
            Some(_) => Some(0),
        }
    }

    /// Counts a line of a search ended by the tables.
    pub(super) fn count_table_hit(&self) {
        if let Some(tables) = self.tables {
            tables.count(1);
        }
    }
}
