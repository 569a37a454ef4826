//! Simulations per second of the bare search, with hash-random evaluations.
//!
//! `cargo run --release --example search_speed -- [chess|connect4|forest|threads] [simulations] [bytes]`

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sylvan_core::config::{Config, Limits};
use sylvan_core::playouts::HashRandom;
use sylvan_core::values::Duel;
use sylvan_core::{Forest, Game, Timing};
use sylvan_games::chess::Chess;
use sylvan_games::connect_four::ConnectFour;

/// The processor's time that this thread has had, which others on the machine do not change much;
/// Linux only, else 0.
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = times.split(' ').next().and_then(|ns| ns.parse().ok());
    first.unwrap_or(0.0) / 1e9
}

fn measure<G: Game>(
    name: &str,
    roots: Vec<G>,
    (simulations, bytes): (u64, Option<u64>),
    threads: usize,
) {
    let limits = Limits {
        simulations: Some(simulations),
        bytes,
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
    forest.begin(false, |_| None);
    let asked = AtomicBool::new(false);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    assert!(forest.run(&HashRandom, &timing).is_ok());
    let seconds = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    let finished: u64 = (0..trees as usize)
        .map(|i| forest.tree(i).progress.finished)
        .sum();
    let nodes: u64 = (0..trees as usize).map(|i| forest.tree(i).nodes).sum();
    let bytes: u64 = (0..trees as usize).map(|i| forest.tree(i).bytes).sum();
    let signature = forest.search(0).signature();
    println!(
        "{name}: {:.0}k simulations/s ({:.0}k by processor time), {finished} simulations, {:.1} bytes/node, depth {}, stop {:?}, {} bytes held, signature {signature}",
        finished as f64 / seconds / 1e3,
        finished as f64 / cpu / 1e3,
        bytes as f64 / nodes as f64,
        forest.tree(0).progress.depth,
        forest.tree(0).progress.stop,
        forest.bytes(),
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    let work = args.next().unwrap_or_else(|| "chess".to_owned());
    let mut number = || args.next().map(|n| n.parse::<u64>().expect("a number"));
    let (n, bytes) = (number().unwrap_or(600_000), number());
    let (one, each) = ((n, bytes), (n / 256, bytes));
    let games = || vec![Chess::default(); 256];
    match work.as_str() {
        "connect4" => measure("connect four", vec![ConnectFour::default()], one, 1),
        "forest" => measure("chess, 256 trees", games(), each, 1),
        "threads" => measure("chess, 256 trees", games(), each, 2),
        _ => measure("chess", vec![Chess::default()], one, 1),
    }
}
