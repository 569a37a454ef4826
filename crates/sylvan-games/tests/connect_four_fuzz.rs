//! Random bytes as text and as moves, for `SYLVAN_FUZZ_SECONDS` (2 by default): nothing panics,
//! errors change nothing, and no stone is lost.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sylvan_core::{Game, Turn};
use sylvan_games::connect_four::{ConnectFour, Size, parse_column};

/// Half of the total time.
fn budget() -> Duration {
    let seconds = std::env::var("SYLVAN_FUZZ_SECONDS").ok();
    let seconds = seconds.map_or(2.0, |text| {
        text.parse().expect("SYLVAN_FUZZ_SECONDS in seconds")
    });
    Duration::from_secs_f64(seconds / 2.0)
}

/// Calls `check` with new inputs until the time is up; shrinks and prints a failing one.
fn fuzz<S: Strategy>(inputs: S, check: impl Fn(S::Value)) {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (mut runner, end) = (TestRunner::new(config), Instant::now() + budget());
    while Instant::now() < end {
        let found = runner.run(&inputs, |input| {
            check(input);
            Ok(())
        });
        if let Err(failure) = found {
            panic!("{failure}");
        }
    }
}

fn size() -> impl Strategy<Value = Size> {
    (1usize..12, 1usize..12)
        .prop_filter_map("fits", |(columns, rows)| Size::new(columns, rows).ok())
}

/// Checks the number of stones of both seats, and that no stone floats.
fn check_stones(state: &ConnectFour, moves: usize) {
    let (columns, rows) = (state.size().columns(), state.size().rows());
    let cells = (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row)));
    let mut counts = [0; 2];
    for (column, row) in cells {
        if let Some(seat) = state.stone(column, row) {
            counts[usize::from(seat)] += 1;
            assert!(row == 0 || state.stone(column, row - 1).is_some());
        }
    }
    assert_eq!(counts, [moves.div_ceil(2), moves / 2]);
    assert_eq!(state.stones(), moves);
}

#[test]
fn any_text_is_a_position_or_an_error() {
    let digits = "[0-9 ,]{0,50}";
    let rows = "[xo./\n]{0,70}";
    let texts = prop_oneof![".{0,40}", digits, rows];
    fuzz((texts, size()), |(text, size)| {
        if let Ok(state) = ConnectFour::from_moves(&text, size) {
            check_stones(&state, state.stones());
            assert_eq!(ConnectFour::from_rows(&state.rows()), Ok(state));
        }
        if let Ok(state) = ConnectFour::from_rows(&text) {
            check_stones(&state, text.matches(['x', 'o']).count());
        }
        if let Ok(column) = parse_column(&text, size) {
            assert!(column < size.columns());
        }
    });
}

#[test]
fn any_actions_play_a_game() {
    let actions = prop::collection::vec(prop_oneof![4 => 0..8u32, 1 => any::<u32>()], 0..80);
    fuzz((actions, size()), |(actions, size)| {
        let mut state = ConnectFour::empty(size);
        let (mut moves, mut legal) = (0, Vec::new());
        for action in actions {
            let turn = state.turn(&mut legal).unwrap();
            assert_eq!(turn == Turn::Over, legal.is_empty());
            let (before, mut applied) = (state, state);
            let played = state.play(action as usize);
            applied.apply(action).unwrap();
            // After the end `play` refuses moves; `apply` does not, because a search makes none.
            assert!(applied == state || turn == Turn::Over);
            assert_eq!(played.is_ok(), legal.contains(&action));
            match played {
                Ok(()) => moves += 1,
                Err(error) => {
                    assert_eq!(state, before);
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        check_stones(&state, moves);
        let mut returns = [9.0; 2];
        state.returns(&mut returns).unwrap();
        assert_eq!(returns[0] + returns[1], 0.0);
    });
}
