//! The cost of chess in a search, in nanoseconds.
//!
//! `cargo run --release -p sylvan-games --example chess_speed`
//!
//! A simulation is one `clone_from` of the root, nine `apply`, `turn` at the last node and `turn`
//! at the new leaf. Paths are random lines from the root. Each number is from the fastest of many
//! short rounds.

use std::hint::black_box;
use std::time::Instant;
use sylvan_core::{Action, Evaluator, Game, Leaf, Turn};
use sylvan_games::chess::{Chess, Encoder, Material, Options, expand};

const PLIES: usize = 9;
const PATHS: usize = 1024;
const ROUNDS: usize = 201;
const NUM_PLANES: usize = Encoder::Lc0.num_planes();

const ROOTS: [(&str, &str); 3] = [
    (
        "start",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ),
    (
        "middle",
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    ),
    ("ending", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"),
];

fn main() {
    println!(
        "{:<8}{:>12}{:>8}{:>8}{:>8}{:>8}{:>10}{:>10}",
        "root", "simulation", "clone", "apply", "turn", "planes", "expand", "material"
    );
    for (name, fen) in ROOTS {
        let root = Chess::from_fen(fen, Options::default()).expect("the FEN is legal");
        let paths = random_paths(&root);
        let leaves: Vec<Chess> = paths.iter().map(|path| replay(&root, path)).collect();
        let (mut state, mut actions) = (root.clone(), Vec::new());
        let simulation = fastest(PATHS, || {
            for path in &paths {
                state.clone_from(&root);
                for &action in &path[..PLIES - 1] {
                    let Ok(()) = state.apply(action);
                }
                let Ok(_) = state.turn(&mut actions);
                let Ok(()) = state.apply(path[PLIES - 1]);
                let Ok(turn) = state.turn(&mut actions);
                black_box((turn, actions.len()));
            }
        });
        let clone = fastest(PATHS, || {
            for _ in &paths {
                state.clone_from(black_box(&root));
                black_box(&mut state);
            }
        });
        let replays = fastest(PATHS, || {
            for path in &paths {
                state.clone_from(&root);
                for &action in path {
                    let Ok(()) = state.apply(action);
                }
                black_box(&mut state);
            }
        });
        let turn = fastest(PATHS, || {
            for leaf in &leaves {
                let Ok(turn) = leaf.turn(&mut actions);
                black_box((turn, actions.len()));
            }
        });
        let mut packed = [0; NUM_PLANES];
        let planes = fastest(PATHS, || {
            for leaf in &leaves {
                let Ok(()) = leaf.observe(&mut packed);
                black_box(&mut packed);
            }
        });
        let mut cells = vec![0.0; 64 * NUM_PLANES];
        let expansion = fastest(PATHS, || {
            for _ in &leaves {
                expand(Encoder::Lc0, black_box(&packed), &mut cells);
                black_box(&mut cells);
            }
        });
        let material = evaluation(&leaves);
        println!(
            "{name:<8}{simulation:>12.1}{clone:>8.1}{:>8.1}{turn:>8.1}{planes:>8.1}{expansion:>10.1}{material:>10.1}",
            (replays - clone) / PLIES as f64,
        );
    }
}

fn evaluation(leaves: &[Chess]) -> f64 {
    let mut open: Vec<(&Chess, u8, Vec<Action>)> = Vec::new();
    for leaf in leaves {
        let mut actions = Vec::new();
        if let Ok(Turn::Seat(seat)) = leaf.turn(&mut actions) {
            open.push((leaf, seat, actions));
        }
    }
    let (mut logits, mut values) = (Vec::new(), [0.0; 2]);
    fastest(open.len(), || {
        for (state, seat, actions) in &open {
            let leaf = Leaf {
                state: *state,
                seat: *seat,
                actions,
                ticket: 0,
            };
            let Ok(()) = Material.evaluate(&leaf, &mut logits, &mut values);
            black_box((&logits, &values));
        }
    })
}

/// Nanoseconds per item in the fastest round: other processes can only add time.
fn fastest(work: usize, mut round: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let begin = Instant::now();
        round();
        begin.elapsed().as_nanos() as f64 / work as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn replay(root: &Chess, path: &[Action]) -> Chess {
    let mut state = root.clone();
    for &action in path {
        let Ok(()) = state.apply(action);
    }
    state
}

/// Lines of random moves; the game may end only at the last.
fn random_paths(root: &Chess) -> Vec<[Action; PLIES]> {
    let mut random = 1u64;
    let (mut paths, mut actions) = (Vec::new(), Vec::new());
    'path: while paths.len() < PATHS {
        let (mut state, mut path) = (root.clone(), [0; PLIES]);
        for action in &mut path {
            let Ok(turn) = state.turn(&mut actions);
            if turn == Turn::Over {
                continue 'path;
            }
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            *action = actions[(random >> 33) as usize % actions.len()];
            let Ok(()) = state.apply(*action);
        }
        paths.push(path);
    }
    paths
}
