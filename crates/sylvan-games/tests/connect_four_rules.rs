//! Compares the bitboards with a simple, slow implementation.

use proptest::prelude::*;
use sylvan_core::{Game, Turn};
use sylvan_games::connect_four::{ConnectFour, ConnectFourError, Size};

/// `cells[column]`: the seats of the stones, from the bottom.
struct PlainBoard {
    rows: usize,
    cells: Vec<Vec<u8>>,
    next: u8,
}

impl PlainBoard {
    fn new(size: Size) -> Self {
        Self {
            rows: size.rows(),
            cells: vec![Vec::new(); size.columns()],
            next: 0,
        }
    }

    fn at(&self, column: i64, row: i64) -> Option<u8> {
        let column = self.cells.get(usize::try_from(column).ok()?)?;
        column.get(usize::try_from(row).ok()?).copied()
    }

    fn winner(&self) -> Option<u8> {
        let (columns, rows) = (self.cells.len() as i64, self.rows as i64);
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
            for (column, row) in (0..columns).flat_map(|c| (0..rows).map(move |r| (c, r))) {
                let line: Vec<_> = (0..4)
                    .map(|i| self.at(column + i * dx, row + i * dy))
                    .collect();
                if line[0].is_some() && line.iter().all(|stone| *stone == line[0]) {
                    return line[0];
                }
            }
        }
        None
    }

    fn open(&self) -> Vec<u32> {
        let over = self.winner().is_some();
        let columns = 0..self.cells.len();
        columns
            .filter(|&c| !over && self.cells[c].len() < self.rows)
            .map(|c| c as u32)
            .collect()
    }

    fn observation(&self) -> Vec<f32> {
        let mut planes = Vec::new();
        for seat in [self.next, 1 - self.next] {
            for row in (0..self.rows as i64).rev() {
                for column in 0..self.cells.len() as i64 {
                    let own = self.at(column, row) == Some(seat);
                    planes.push(if own { 1.0 } else { 0.0 });
                }
            }
        }
        planes
    }

    fn play(&mut self, column: usize) {
        self.cells[column].push(self.next);
        self.next = 1 - self.next;
    }
}

/// All valid sizes.
fn sizes() -> Vec<Size> {
    (1..=64)
        .flat_map(|columns| (1..=64).filter_map(move |rows| Size::new(columns, rows).ok()))
        .collect()
}

fn any_size() -> impl Strategy<Value = Size> {
    prop_oneof![
        2 => Just(Size::STANDARD),
        1 => proptest::sample::select(sizes()),
    ]
}

/// A size and columns to play.
fn any_game() -> impl Strategy<Value = (Size, Vec<usize>)> {
    (
        any_size(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..64),
    )
        .prop_map(|(size, picks)| {
            let columns = picks.iter().map(|pick| pick.index(size.columns()));
            (size, columns.collect())
        })
}

/// Plays `columns`, skipping illegal ones.
fn played(size: Size, columns: &[usize]) -> ConnectFour {
    let mut state = ConnectFour::empty(size);
    for &column in columns {
        let _ = state.play(column);
    }
    state
}

proptest! {
    #[test]
    fn bitboards_equal_the_simple_board((size, columns) in any_game()) {
        let mut state = ConnectFour::empty(size);
        let mut plain = PlainBoard::new(size);
        let (mut actions, mut returns) = (Vec::new(), [0.0; 2]);
        for column in columns {
            let open = plain.open();
            let turn = state.turn(&mut actions).unwrap();
            prop_assert_eq!(&actions, &open);
            prop_assert_eq!(turn, if open.is_empty() { Turn::Over } else { Turn::Seat(plain.next) });
            let mut observation = vec![0.5; state.rules().observation_len()];
            state.observe(&mut observation).unwrap();
            prop_assert_eq!(observation, plain.observation());
            if open.contains(&(column as u32)) {
                state.play(column).unwrap();
                plain.play(column);
            } else {
                let before = state;
                prop_assert!(state.play(column).is_err());
                prop_assert_eq!(state, before);
                if turn != Turn::Over {
                    state.apply(column as u32).unwrap(); // a full column
                    prop_assert_eq!(state, before);
                }
            }
            prop_assert_eq!(state.winner(), plain.winner());
            state.returns(&mut returns).unwrap();
            let expected = match plain.winner() {
                None => [0.0, 0.0],
                Some(0) => [1.0, -1.0],
                Some(_) => [-1.0, 1.0],
            };
            prop_assert_eq!(returns, expected);
        }
    }

    #[test]
    fn rows_round_trip((size, columns) in any_game()) {
        let state = played(size, &columns);
        prop_assert_eq!(ConnectFour::from_rows(&state.rows()), Ok(state));
        prop_assert_eq!(ConnectFour::from_rows(&state.to_string()), Ok(state));
    }

    #[test]
    fn move_strings_round_trip((size, columns) in any_game()) {
        let mut state = ConnectFour::empty(size);
        let legal: Vec<usize> = columns.into_iter().filter(|&c| state.play(c).is_ok()).collect();
        let words: Vec<String> = legal.iter().map(|c| (c + 1).to_string()).collect();
        prop_assert_eq!(ConnectFour::from_moves(&words.join(" "), size), Ok(state));
        if size.columns() <= 9 {
            prop_assert_eq!(ConnectFour::from_moves(&words.concat(), size), Ok(state));
        }
        prop_assert_eq!(ConnectFour::from_columns(legal, size), Ok(state));
    }

    #[test]
    fn the_mirror_commutes_with_play((size, columns) in any_game()) {
        let mirrored: Vec<usize> = columns.iter().map(|c| size.columns() - 1 - c).collect();
        prop_assert_eq!(played(size, &columns).mirrored(), played(size, &mirrored));
    }

    #[test]
    fn keys_are_equal_for_equal_positions_only(
        size in any_size(),
        picks in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..12),
    ) {
        let [a, b] = [0, 1].map(|i| {
            let columns: Vec<_> = picks.iter().map(|p| p[i].index(size.columns().min(3))).collect();
            played(size, &columns)
        });
        prop_assert_eq!(a == b, a.exact_key() == b.exact_key());
        prop_assert_eq!(a == b, a.key().unwrap() == b.key().unwrap());
    }
}

#[test]
fn unreachable_positions_are_refused() {
    for (rows, reason) in [
        ("x./.o", "nothing under it"),
        ("../oo", "x begins"),
        ("../xx", "x begins"),
        ("oooo/xxxx", "already has four"),
        // Two disjoint rows of four x: no single last stone can complete both.
        ("....ooo/xxxxoox/xxxxooo", "over before its last stone"),
        ("..../xxz.", "is not 'x'"),
        ("..../...", "not 4 cells wide"),
        ("", "does not fit"),
    ] {
        let error = ConnectFour::from_rows(rows).unwrap_err().to_string();
        assert!(error.contains(reason), "{rows}: {error}");
    }
}

#[test]
fn errors_name_the_move_and_change_nothing() {
    let full = ConnectFour::from_moves("444444", Size::STANDARD).unwrap();
    let mut state = full;
    assert_eq!(
        state.play(3).unwrap_err().to_string(),
        "column 3 is full: choose one of the columns [0, 1, 2, 4, 5, 6] (actions count from 0)"
    );
    assert_eq!(
        state.play(7).unwrap_err().to_string(),
        "there is no column 7: the actions of this board are 0 to 6"
    );
    assert_eq!(state, full);
    assert_eq!(
        ConnectFour::from_moves("4a", Size::STANDARD),
        Err(ConnectFourError::Notation {
            text: "a".into(),
            columns: 7
        })
    );
    assert_eq!(
        ConnectFour::from_moves("12121212", Size::STANDARD)
            .unwrap_err()
            .to_string(),
        "move 8 of the list cannot be played: the game is over: no move can follow"
    );
    for (columns, rows) in [
        (0, 6),
        (7, 0),
        (8, 8),
        (65, 1),
        (1, 64),
        (usize::MAX, usize::MAX),
    ] {
        assert_eq!(
            Size::new(columns, rows),
            Err(ConnectFourError::Size { columns, rows })
        );
    }
}

/// Positions after 0, 1, 2, ... plies of 7 × 6, the sequence A212693 of the OEIS.
#[test]
fn the_number_of_positions_matches_the_oeis() {
    let mut level = std::collections::HashMap::from([(0, ConnectFour::default())]);
    for expected in [1usize, 7, 49, 238, 1_120, 4_263, 16_422, 54_859] {
        assert_eq!(level.len(), expected);
        let mut next = std::collections::HashMap::new();
        for state in level.values() {
            for column in state.open_columns() {
                let mut child = *state;
                child.play(column).unwrap();
                next.insert(child.exact_key(), child);
            }
        }
        level = next;
    }
}

/// One column of 64 bits: the step to its right neighbour would shift all bits out.
#[test]
fn the_tallest_board_is_observed() {
    let size = Size::new(1, 63).unwrap();
    let mut state = ConnectFour::empty(size);
    state.play(0).unwrap();
    let mut observation = vec![0.5; state.rules().observation_len()];
    state.observe(&mut observation).unwrap();
    let stones: Vec<_> = (0..observation.len())
        .filter(|&cell| observation[cell] != 0.0)
        .collect();
    // The opponent's plane comes second, and the lowest row last.
    assert_eq!(stones, [2 * 63 - 1]);
}
