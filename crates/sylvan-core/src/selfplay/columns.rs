//! Games as columns: one array per quantity.
//!
//! A game is recorded once, ply by ply, in the form in which the learner reads it. The columns of a
//! game in progress hold its plies so far; when it ends, they move to the end of the columns of
//! finished games, and `in_order` puts the games of all actors in order of their numbers.
//!
//! A new quantity is one line of the list below: its name, its unit (an entry per game, ply, …) and
//! its type. Storage, joining, sorting and export are made from that line. The policy has one entry per legal
//! action; `counts` says how many belong to each ply.

use std::ops::Range;

/// The unit of a column: it has one entry for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Game,
    /// Every seat of a game.
    GameSeat,
    Ply,
    /// Every seat at a ply.
    PlySeat,
    /// Every legal action at a searched ply.
    Edge,
    /// Every cell of a ply's observation.
    Cell,
}

impl Per {
    /// Entries of one ply.
    fn width_of_ply(self, widths: Widths) -> usize {
        match self {
            Self::Ply => 1,
            Self::PlySeat => widths.seats,
            Self::Cell => widths.cells,
            Self::Game | Self::GameSeat | Self::Edge => 0,
        }
    }

    /// Entries of one game, without its plies.
    fn width_of_game(self, widths: Widths) -> usize {
        match self {
            Self::Game => 1,
            Self::GameSeat => widths.seats,
            Self::Ply | Self::PlySeat | Self::Edge | Self::Cell => 0,
        }
    }
}

/// The end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Ending {
    /// By the rules.
    Rules = 0,
    /// At the limit of plies.
    Limit = 1,
    Resignation = 2,
}

/// The entries of one column, for export.
#[derive(Clone, Debug, PartialEq)]
pub enum Entries<C> {
    I8(Vec<i8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    Cells(Vec<C>),
}

/// The numbers of entries that differ from game to game.
#[derive(Clone, Copy, Debug, Default)]
pub struct Widths {
    pub seats: usize,
    /// Cells of a stored observation; 0 if none is stored.
    pub cells: usize,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $per:ident $kind:ident($type:ty),)*) => {
        /// Games, one after another.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Columns<C> {
            $($(#[$doc])* pub $name: Vec<$type>,)*
        }

        impl<C> Default for Columns<C> {
            fn default() -> Self {
                Self { $($name: Vec::new(),)* }
            }
        }

        impl<C: Copy + Default> Columns<C> {
            /// Moves all entries of `other` to the end.
            pub fn append(&mut self, other: &mut Self) {
                $(self.$name.append(&mut other.$name);)*
            }

            /// Removes all entries.
            pub fn clear(&mut self) {
                $(self.$name.clear();)*
            }

            /// Adds a ply of zeros; its edges are added separately.
            pub(crate) fn add_ply(&mut self, widths: Widths) {
                $(let length = self.$name.len() + Per::$per.width_of_ply(widths);
                self.$name.resize(length, <$type>::default());)*
            }

            /// Adds a game of zeros, whose plies are the last ones.
            pub(crate) fn add_game(&mut self, widths: Widths) {
                $(let length = self.$name.len() + Per::$per.width_of_game(widths);
                self.$name.resize(length, <$type>::default());)*
            }

            /// Copies one game to the end.
            fn copy(&mut self, from: &Self, game: &Extent, widths: Widths) {
                $(self.$name.extend_from_slice(&from.$name[game.range(Per::$per, widths)]);)*
            }

            /// Bytes of all entries.
            pub fn bytes(&self) -> u64 {
                let mut bytes = 0;
                $(bytes += size_of_val(&self.$name[..]);)*
                bytes as u64
            }

            /// Name, kind and entries of every column.
            pub fn into_entries(self) -> Vec<(&'static str, Per, Entries<C>)> {
                vec![$((stringify!($name), Per::$per, Entries::$kind(self.$name)),)*]
            }
        }
    };
}

columns! {
    /// The game's number in the run.
    numbers: Game I64(i64),
    /// The seed of its random choices.
    seeds: Game U64(u64),
    /// Its plies.
    lengths: Game I32(i32),
    /// Plies before its first search.
    openings: Game I32(i32),
    /// 1 if it started from a given position.
    restarted: Game I8(i8),
    /// An `Ending`.
    endings: Game I8(i8),
    /// The seat that resigned, or would have if the game had not been played on; -1: none.
    resigning: Game I8(i8),
    /// 1 if it was played on in spite of a resignation.
    played_on: Game I8(i8),
    /// The final return of each seat.
    returns: GameSeat F32(f32),
    /// The action taken, or the outcome of chance.
    actions: Ply I32(i32),
    /// The seat that chose; -1: chance.
    seats: Ply I8(i8),
    /// Legal actions with a policy target; 0 if the ply was not searched.
    counts: Ply I32(i32),
    /// The weight of the policy target: 1 after a full search, else 0.
    weights: Ply F32(f32),
    /// KL(policy target || the evaluator's priors) in nats.
    surprise: Ply F32(f32),
    /// Simulations of its search.
    simulations: Ply I32(i32),
    /// The root's value for each seat; zeros if not searched.
    values: PlySeat F32(f32),
    /// The reward of the ply for each seat.
    rewards: PlySeat F32(f32),
    /// The legal actions of searched plies.
    policy_actions: Edge I32(i32),
    /// The policy target of each.
    policy: Edge F32(f32),
    /// Observations of the seat to move, if observations are kept; zeros where chance moved.
    observations: Cell Cells(C),
}

/// The ranges of one game in some columns.
#[derive(Clone, Debug)]
struct Extent {
    game: usize,
    plies: Range<usize>,
    edges: Range<usize>,
}

impl Extent {
    fn range(&self, per: Per, widths: Widths) -> Range<usize> {
        let times = |range: &Range<usize>, width: usize| range.start * width..range.end * width;
        let game = self.game..self.game + 1;
        match per {
            Per::Game => game,
            Per::GameSeat => times(&game, widths.seats),
            Per::Ply => self.plies.clone(),
            Per::PlySeat => times(&self.plies, widths.seats),
            Per::Edge => self.edges.clone(),
            Per::Cell => times(&self.plies, widths.cells),
        }
    }
}

impl<C: Copy + Default> Columns<C> {
    /// All games of some columns, in order of their numbers.
    pub fn in_order(parts: &[Self], widths: Widths) -> Self {
        let mut games: Vec<(usize, Extent)> = Vec::new();
        for (part, columns) in parts.iter().enumerate() {
            games.extend(columns.extents().into_iter().map(|game| (part, game)));
        }
        games.sort_by_key(|(part, game)| parts[*part].numbers[game.game]);
        let mut ordered = Self::default();
        for (part, game) in &games {
            ordered.copy(&parts[*part], game, widths);
        }
        ordered
    }

    fn extents(&self) -> Vec<Extent> {
        let (mut ply, mut edge) = (0, 0);
        let extent = |(game, &length): (usize, &i32)| {
            let plies = ply..ply + length as usize;
            let counts = self.counts[plies.clone()].iter();
            let edges = edge..edge + counts.map(|&n| n as usize).sum::<usize>();
            (ply, edge) = (plies.end, edges.end);
            Extent { game, plies, edges }
        };
        self.lengths.iter().enumerate().map(extent).collect()
    }
}

/// Sets the last entry of a column.
pub(crate) fn set<T>(column: &mut [T], entry: T) {
    if let Some(last) = column.last_mut() {
        *last = entry;
    }
}

/// The last `n` entries of a column.
pub(crate) fn last<T>(column: &mut [T], n: usize) -> &mut [T] {
    let first = column.len() - n;
    &mut column[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: Widths = Widths { seats: 2, cells: 3 };

    /// A game of two seats whose entries name their game.
    fn game(number: i64, counts: &[i32]) -> Columns<f32> {
        let mut columns = Columns::<f32>::default();
        for (ply, &count) in counts.iter().enumerate() {
            columns.add_ply(WIDTHS);
            set(&mut columns.actions, 100 * number as i32 + ply as i32);
            set(&mut columns.counts, count);
            last(&mut columns.values, 2).copy_from_slice(&[number as f32, ply as f32]);
            last(&mut columns.observations, 3).fill(number as f32);
            columns.policy_actions.extend(0..count);
            columns.policy.extend((0..count).map(|_| number as f32));
        }
        columns.add_game(WIDTHS);
        set(&mut columns.numbers, number);
        set(&mut columns.lengths, counts.len() as i32);
        last(&mut columns.returns, 2).fill(number as f32);
        columns
    }

    #[test]
    fn games_of_all_parts_come_in_order_of_their_numbers() {
        let games = [
            game(0, &[2, 0, 3]),
            game(1, &[]),
            game(2, &[1]),
            game(3, &[4, 4]),
        ];
        let mut parts = [Columns::default(), Columns::default()];
        for (part, number) in [(0, 2), (1, 3), (1, 0), (0, 1)] {
            parts[part].append(&mut games[number].clone());
        }
        let mut expected = Columns::default();
        games
            .iter()
            .for_each(|game| expected.append(&mut game.clone()));
        assert_eq!(Columns::in_order(&parts, WIDTHS), expected);
    }
}
