//! Compares the solver with minimax on small boards, and checks properties on large ones.

use std::collections::HashMap;
use std::ops::ControlFlow;

use proptest::prelude::*;
use sylvan_games::connect_four::solver::{Solution, Solver, Stopped};
use sylvan_games::connect_four::{ConnectFour, Size};

fn solve(solver: &mut Solver, state: &ConnectFour) -> Solution {
    let solution = solver.solve(state, &mut |_| ControlFlow::Continue(()));
    solution.expect("not stopped")
}

fn score(solver: &mut Solver, state: &ConnectFour) -> i32 {
    let score = solver.score(state, &mut |_| ControlFlow::Continue(()));
    score.expect("not stopped")
}

fn after(state: &ConnectFour, column: usize) -> ConnectFour {
    let mut child = *state;
    child.play(column).expect("an open column");
    child
}

/// The result of perfect play: 1, 0 or -1 for the seat to move, and the stones until the end. The
/// winner takes the shortest way, the loser the longest.
type Outcome = (i32, usize);

type Memory = HashMap<u64, (ConnectFour, Outcome)>;

fn minimax(state: &ConnectFour, memory: &mut Memory) -> Outcome {
    if let Some(&(_, result)) = memory.get(&state.exact_key()) {
        return result;
    }
    let children = state.open_columns().map(|column| {
        let (outcome, plies) = minimax(&after(state, column), memory);
        (-outcome, plies + 1)
    });
    let result = children
        .max_by_key(|&(outcome, plies)| (outcome, -outcome * plies as i32))
        .unwrap_or((if state.winner().is_some() { -1 } else { 0 }, 0));
    memory.insert(state.exact_key(), (*state, result));
    result
}

/// The stones that the winner has left, including the last one, with the sign of the mover's
/// result.
fn stones_left(state: &ConnectFour, (outcome, plies): Outcome) -> i32 {
    let end = state.stones() + plies; // seat 0 places stones 1, 3, 5, ...
    let winner_moved_first = end % 2 == 1;
    let share = |stones: usize| {
        if winner_moved_first {
            stones.div_ceil(2)
        } else {
            stones / 2
        }
    };
    outcome * (share(state.size().cells()) - share(end) + 1) as i32
}

fn agrees_with_minimax(columns: usize, rows: usize, every: u64) {
    let size = Size::new(columns, rows).unwrap();
    let mut memory = Memory::new();
    minimax(&ConnectFour::empty(size), &mut memory);
    let mut solver = Solver::default();
    for (state, result) in memory.values() {
        if !state.exact_key().is_multiple_of(every) {
            continue;
        }
        let solution = solve(&mut solver, state);
        assert_eq!((solution.outcome(), solution.plies), *result, "{state}");
        assert_eq!(solution.score, stones_left(state, *result), "{state}");
        for (column, found) in solution.moves.iter().enumerate() {
            let open = state.open_columns().any(|c| c == column);
            let expected = open.then(|| {
                let child = after(state, column);
                -stones_left(&child, memory[&child.exact_key()].1)
            });
            assert_eq!(*found, expected, "column {column} of\n{state}");
        }
    }
}

#[test]
fn small_boards_agree_with_minimax_everywhere() {
    for (columns, rows) in [
        (4, 4),
        (1, 9),
        (2, 5),
        (3, 5),
        (6, 2),
        (9, 1),
        (5, 3),
        (3, 4),
    ] {
        agrees_with_minimax(columns, rows, 1);
    }
}

#[test]
fn five_columns_of_four_agree_with_minimax() {
    agrees_with_minimax(5, 4, 41);
}

/// Several sizes whose empty board is solved quickly, with one solver.
#[test]
fn a_solver_may_change_boards() {
    let mut solver = Solver::new(1 << 16);
    for (columns, rows) in [(5, 4), (4, 5), (5, 4), (1, 63), (10, 1), (5, 5), (4, 4)] {
        let state = ConnectFour::empty(Size::new(columns, rows).unwrap());
        let fresh = score(&mut Solver::default(), &state);
        assert_eq!(score(&mut solver, &state), fresh, "{columns} x {rows}");
    }
}

/// Random positions with few stones left, so that each case is fast even without optimisation.
fn late_position() -> impl Strategy<Value = ConnectFour> {
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 18..36);
    picks.prop_map(|picks| {
        let mut state = ConnectFour::default();
        for pick in picks {
            let quiet: Vec<usize> = state
                .open_columns()
                .filter(|&c| !after(&state, c).is_terminal())
                .collect();
            if quiet.is_empty() {
                break;
            }
            state = after(&state, quiet[pick.index(quiet.len())]);
        }
        state
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_score_is_the_best_of_its_moves(state in late_position()) {
        let mut solver = Solver::default();
        let whole = score(&mut solver, &state);
        let solution = solve(&mut Solver::default(), &state);
        prop_assert_eq!(solution.score, whole);
        for column in state.open_columns() {
            let child = after(&state, column);
            let of_child = score(&mut Solver::default(), &child);
            prop_assert_eq!(solution.moves[column], Some(-of_child));
        }
        prop_assert!(solution.best().all(|c| solution.moves[c] == Some(whole)));
        prop_assert!(solution.best().next().is_some());
    }

    #[test]
    fn the_mirror_has_the_mirrored_scores(state in late_position()) {
        let solution = solve(&mut Solver::default(), &state);
        let mut mirror = solve(&mut Solver::default(), &state.mirrored());
        mirror.moves.reverse();
        prop_assert_eq!(solution, mirror);
    }

    /// Perfect play ends after the predicted number of plies, with the predicted result.
    #[test]
    fn perfect_play_matches_its_prediction(state in late_position(), picks: [prop::sample::Index; 32]) {
        let mut solver = Solver::new(1 << 12); // small, so that entries are often replaced
        let (mut state, mut picks) = (state, picks.iter());
        let mut last: Option<Solution> = None;
        while !state.is_terminal() {
            let solution = solve(&mut solver, &state);
            if let Some(last) = last {
                prop_assert_eq!(solution.score, -last.score);
                prop_assert_eq!(solution.plies, last.plies - 1);
            }
            let best: Vec<usize> = solution.best().collect();
            state = after(&state, best[picks.next().unwrap().index(best.len())]);
            last = Some(solution);
        }
        if let Some(last) = last {
            prop_assert_eq!(last.plies, 1);
            prop_assert_eq!(last.outcome(), i32::from(state.winner().is_some()));
        }
    }
}

#[test]
fn finished_games_have_a_score_and_no_moves() {
    let won = ConnectFour::from_moves("1212121", Size::STANDARD).unwrap();
    let solution = solve(&mut Solver::default(), &won);
    assert_eq!((solution.score, solution.plies), (-18, 0)); // seat 0 has 17 of 21 stones left, plus the last
    assert_eq!(solution.moves, [None; 7]);
    let drawn = ConnectFour::from_rows("xoxo/xoxo/oxox").unwrap();
    assert_eq!(solve(&mut Solver::default(), &drawn).score, 0);
}

#[test]
fn a_stopped_solver_can_be_used_again() {
    let mut solver = Solver::default();
    let empty = ConnectFour::default();
    let mut calls = 0;
    let stopped = solver.solve(&empty, &mut |_| {
        calls += 1;
        if calls < 5 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    assert_eq!((stopped, calls), (Err(Stopped), 5));
    let state = ConnectFour::from_moves("44444432222223", Size::STANDARD).unwrap();
    assert_eq!(
        solve(&mut solver, &state),
        solve(&mut Solver::default(), &state)
    );
}

/// Published results of smaller boards: J. Tromp's table of sizes up to width + height 15
/// (outcomes) and C. Steininger's (stones), both found by independent solvers.
#[test]
fn small_boards_have_the_published_results() {
    let mut solver = Solver::default();
    for (columns, rows, result) in [
        (4, 4, (0, 16)),
        (5, 4, (0, 20)),
        (6, 4, (-1, 24)),
        (4, 5, (0, 20)),
        (5, 5, (0, 25)),
        (4, 6, (0, 24)),
    ] {
        let state = ConnectFour::empty(Size::new(columns, rows).unwrap());
        let solution = solve(&mut solver, &state);
        assert_eq!(
            (solution.outcome(), solution.plies),
            result,
            "{columns} x {rows}"
        );
    }
}

/// Allis 1988: the centre wins with stone 41, the two columns beside it draw, the others lose.
#[test]
#[ignore = "takes minutes"]
fn the_first_player_wins_in_the_centre() {
    let solution = solve(&mut Solver::new(1 << 30), &ConnectFour::default());
    assert_eq!((solution.score, solution.plies), (1, 41));
    assert_eq!(solution.moves, [-2, -1, 0, 1, 0, -1, -2].map(Some));
}
