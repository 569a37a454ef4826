//! Tic-tac-toe by full enumeration: the known counts, and minimax.

use std::collections::HashMap;

use sylvan_core::{Game, Turn};
use sylvan_games::tic_tac_toe::{TicTacToe, TicTacToeError, parse_cell};

/// Visits every game from `state`, checks its states, and counts games by result for seat 0: lost,
/// drawn, won.
fn count_games(state: &TicTacToe, counts: &mut [u32; 3]) {
    assert_eq!(TicTacToe::from_cells(state.any_move_order()), Ok(*state));
    let (mut actions, mut returns) = (Vec::new(), [0.0; 2]);
    if state.turn(&mut actions).unwrap() == Turn::Over {
        state.returns(&mut returns).unwrap();
        assert_eq!(returns[0] + returns[1], 0.0);
        counts[(returns[0] + 1.0) as usize] += 1;
        return;
    }
    for action in actions {
        let mut child = *state;
        child.apply(action).unwrap();
        count_games(&child, counts);
    }
}

/// The value of `state` for the seat to move; stores the values of all states after it.
fn minimax(state: &TicTacToe, values: &mut HashMap<u64, i32>) -> i32 {
    if let Some(&value) = values.get(&state.key().unwrap()) {
        return value;
    }
    let value = if state.is_terminal() {
        if state.winner().is_some() { -1 } else { 0 }
    } else {
        let after = |cell| {
            let mut child = *state;
            child.play(cell).unwrap();
            child
        };
        state
            .free_cells()
            .map(|cell| -minimax(&after(cell), values))
            .max()
            .unwrap()
    };
    values.insert(state.key().unwrap(), value);
    value
}

#[test]
fn there_are_255168_games() {
    let mut counts = [0; 3];
    count_games(&TicTacToe::default(), &mut counts);
    assert_eq!(counts, [77_904, 46_080, 131_184]);
}

#[test]
fn there_are_5478_positions_and_the_first_is_a_draw() {
    let mut values = HashMap::new();
    assert_eq!(minimax(&TicTacToe::default(), &mut values), 0);
    assert_eq!(values.len(), 5_478);
}

#[test]
fn observations_show_the_movers_marks_first() {
    let state = TicTacToe::from_cells([4, 0, 8]).unwrap(); // seat 0: 4 and 8; seat 1, to move: 0
    let mut seen = [0.5; 18];
    state.observe(&mut seen).unwrap();
    let marks: Vec<usize> = (0..18).filter(|&i| seen[i] == 1.0).collect();
    assert_eq!(marks, [0, 9 + 4, 9 + 8]);
    assert_eq!(seen.iter().sum::<f32>(), 3.0);
    assert_eq!(state.to_string(), "o..\n.x.\n..x");
}

#[test]
fn errors_name_the_move_and_change_nothing() {
    let mut state = TicTacToe::from_cells([4]).unwrap();
    let before = state;
    assert_eq!(
        state.play(4).unwrap_err().to_string(),
        "cell 4 is taken: choose one of the cells [0, 1, 2, 3, 5, 6, 7, 8]"
    );
    assert_eq!(
        state.play(9).unwrap_err(),
        TicTacToeError::NoSuchCell { cell: 9 }
    );
    assert_eq!(state, before);
    let error = TicTacToe::from_cells([0, 3, 1, 4, 2, 5]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "move 6 of the list cannot be played: the game is over: no move can follow"
    );
    for text in ["", "9", "00", "a", "-1", "½"] {
        assert!(parse_cell(text).is_err(), "{text}");
    }
    assert_eq!(parse_cell("8"), Ok(8));
}
