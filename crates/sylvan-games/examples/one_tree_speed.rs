//! One chess tree on several threads: simulations per second by ask and tell, with free
//! evaluations, and with a built-in evaluator.
//!
//! `cargo run --release --example one_tree_speed -- [threads] [leaves] [simulations] [searches]`
//!
//! Prints the best of all searches, and for ask and tell the time of the three calls. On a busy
//! machine the times of two threads mean little.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sylvan_core::config::{Config, Limits};
use sylvan_core::playouts::{AtRandom, Rollout};
use sylvan_core::values::Duel;
use sylvan_core::{Evaluator, Forest, Game, Timing, Visit};
use sylvan_games::chess::{Chess, Material};

const TIMING: fn(&AtomicBool) -> Timing<'_> = |asked| Timing {
    deadline: None,
    pause: None,
    asked,
};

fn forest(config: &Config) -> Forest<Chess, Duel> {
    let root = Chess::default();
    let mut forest = Forest::new(vec![root.clone()], root.rules(), config.clone());
    forest.begin(false, |_| None);
    forest
}

/// Searches by ask and tell; returns the seconds of select, observe and update, and the tree's signature.
fn ask_and_tell(config: &Config) -> ([f64; 3], u64) {
    let (mut forest, asked) = (forest(config), AtomicBool::new(false));
    let (mut times, mut planes, mut values) = ([0.0; 3], Vec::new(), Vec::new());
    let logits = |_: usize, visit: &Visit<Chess>, out: &mut Vec<f32>| {
        let logit = |&action: &u32| (action.wrapping_mul(2_654_435_761) >> 28) as f32 / 4.0;
        out.extend(visit.actions.iter().map(logit));
    };
    while !forest.is_done() {
        let began = Instant::now();
        let Ok(()) = forest.select(&TIMING(&asked)) else {
            unreachable!()
        };
        let selected = Instant::now();
        let leaves = forest.num_leaves();
        planes.resize(leaves * forest.settings.rules.observation_len(), 0);
        let Ok(()) = forest.observe(&mut planes);
        values.clear();
        for (_, visit) in forest.leaves() {
            let value = (visit.ticket % 2001) as f32 / 1000.0 - 1.0;
            values.extend([value, -value]);
        }
        let observed = Instant::now();
        forest.update(&logits, &values);
        times[0] += (selected - began).as_secs_f64();
        times[1] += (observed - selected).as_secs_f64();
        times[2] += observed.elapsed().as_secs_f64();
    }
    (times, forest.search(0).signature())
}

fn native(config: &Config, evaluator: &dyn Evaluator<Chess>) -> (f64, u64) {
    let (mut forest, asked) = (forest(config), AtomicBool::new(false));
    let began = Instant::now();
    let Ok(()) = forest.run(evaluator, &TIMING(&asked)) else {
        unreachable!()
    };
    (began.elapsed().as_secs_f64(), forest.search(0).signature())
}

fn main() {
    let given: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"))
        .collect();
    let or = |i: usize, default: usize| given.get(i).copied().unwrap_or(default);
    let (most, leaves, simulations, searches) = (or(0, 2), or(1, 256), or(2, 200_000), or(3, 5));
    let mut same: Vec<Option<u64>> = vec![None; 3];
    for threads in 1..=most {
        let config = Config {
            threads,
            leaves_in_flight: leaves,
            collisions: leaves,
            limits: Limits {
                simulations: Some(simulations as u64),
                ..Limits::default()
            },
            ..Config::default()
        };
        let mut check = |i: usize, found: u64| match same[i] {
            Some(before) => assert_eq!(before, found, "threads change the result"),
            None => same[i] = Some(found),
        };
        let mut best = [f64::INFINITY; 3];
        for _ in 0..searches {
            let (times, found) = ask_and_tell(&config);
            check(0, found);
            if times.iter().sum::<f64>() < best.iter().sum() {
                best = times;
            }
        }
        let each = best.map(|seconds| seconds / simulations as f64 * 1e9);
        println!(
            "{threads} threads, ask and tell: {:.0} simulations/s; select {:.0} ns, observe {:.0}, update {:.0}",
            simulations as f64 / best.iter().sum::<f64>(),
            each[0],
            each[1],
            each[2]
        );
        let rollout = Rollout {
            playouts: 1,
            max_length: 1000,
            discount: 1.0,
            policy: AtRandom,
        };
        let evaluators: [(&str, &dyn Evaluator<Chess>, usize); 2] =
            [("material", &Material, 1), ("rollout", &rollout, 50)];
        for (i, (name, evaluator, fewer)) in evaluators.into_iter().enumerate() {
            let mut config = config.clone();
            let simulations = simulations / fewer;
            config.limits.simulations = Some(simulations as u64);
            let mut best = f64::INFINITY;
            for _ in 0..searches {
                let (seconds, found) = native(&config, evaluator);
                check(i + 1, found);
                best = best.min(seconds);
            }
            println!(
                "{threads} threads, {name}: {:.0} simulations/s",
                simulations as f64 / best
            );
        }
    }
}
