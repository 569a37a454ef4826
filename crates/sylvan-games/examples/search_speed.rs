//! Simulations per second of the bare search, with hash-random evaluations.
//!
//! `cargo run --release --example search_speed -- [chess|connect4|forest|threads] [simulations]`

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sylvan_core::config::{Config, Limits};
use sylvan_core::playouts::HashRandom;
use sylvan_core::values::Duel;
use sylvan_core::{Forest, Game, Timing};
use sylvan_games::chess::Chess;
use sylvan_games::connect_four::ConnectFour;

fn measure<G: Game>(name: &str, roots: Vec<G>, simulations: u64, threads: usize) {
    let limits = Limits {
        simulations: Some(simulations),
        ..Limits::default()
    };
    let config = Config {
        limits,
        threads,
        ..Config::default()
    };
    let rules = roots[0].rules();
    let trees = roots.len() as u64;
    let mut forest = Forest::<G, Duel>::new(roots, rules, config);
    forest.begin(|_| None);
    let asked = AtomicBool::new(false);
    let start = Instant::now();
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    assert!(forest.run(&HashRandom, &timing).is_ok());
    let seconds = start.elapsed().as_secs_f64();
    let finished: u64 = (0..trees as usize)
        .map(|i| forest.tree(i).progress.finished)
        .sum();
    let nodes: u64 = (0..trees as usize).map(|i| forest.tree(i).nodes).sum();
    let bytes: u64 = (0..trees as usize).map(|i| forest.tree(i).bytes).sum();
    let signature = forest.search(0).signature();
    println!(
        "{name}: {:.0}k simulations/s, {finished} simulations, {:.1} bytes/node, depth {}, stop {:?}, signature {signature}",
        finished as f64 / seconds / 1e3,
        bytes as f64 / nodes as f64,
        forest.tree(0).progress.depth,
        forest.tree(0).progress.stop,
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    let work = args.next().unwrap_or_else(|| "chess".to_owned());
    let n: u64 = args
        .next()
        .map_or(600_000, |n| n.parse().expect("a number"));
    match work.as_str() {
        "connect4" => measure("connect four, one tree", vec![ConnectFour::default()], n, 1),
        "forest" => measure("chess, 256 trees", vec![Chess::default(); 256], n / 256, 1),
        "threads" => measure("chess, 256 trees", vec![Chess::default(); 256], n / 256, 2),
        _ => measure("chess, one tree", vec![Chess::default()], n, 1),
    }
}
