//! Simulations per second of the search with hash-random evaluations; for Blob, of a view with
//! random playouts.
//!
//! `cargo run --release --example search_speed -- [chess|graph|pawns|pawns-graph|connect4|uniform|forest|threads|blob] [simulations] [bytes, or 0] [searches]`
//!
//! Prints the speed of the first search, which needs new memory from the operating system, the
//! median and the best of all searches in the process. On a busy machine, compare builds by their
//! best.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sylvan_core::config::{Config, Limits, Selection};
use sylvan_core::playouts::{AtRandom, HashRandom, Rollout, Uniform};
use sylvan_core::values::{Duel, Seats, Values};
use sylvan_core::{Evaluator, Forest, Game, Timing};
use sylvan_games::blob::{Blob, Options};
use sylvan_games::chess::{Chess, Material, Options as Rules};
use sylvan_games::connect_four::ConnectFour;

/// The processor time of this thread, which other processes hardly affect; 0 unless on Linux.
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = times.split(' ').next().and_then(|ns| ns.parse().ok());
    first.unwrap_or(0.0) / 1e9
}

/// The settings from the command line.
#[derive(Clone, Copy)]
struct Work {
    simulations: u64,
    bytes: Option<u64>,
    searches: u64,
    transpositions: bool,
}

fn measure<G: Game>(
    name: &str,
    roots: Vec<G>,
    work: Work,
    threads: usize,
    evaluator: &dyn Evaluator<G>,
) {
    let config = Config {
        threads,
        transpositions: work.transpositions,
        ..limited(work.simulations, work.bytes)
    };
    repeat::<G, Duel>(name, roots, config, evaluator, work.searches);
}

fn limited(simulations: u64, bytes: Option<u64>) -> Config {
    let limits = Limits {
        simulations: Some(simulations),
        bytes,
        ..Limits::default()
    };
    Config {
        limits,
        ..Config::default()
    }
}

/// Searches repeatedly; prints the details of the last search and the speeds.
fn repeat<G: Game, V: Values>(
    name: &str,
    roots: Vec<G>,
    config: Config,
    evaluator: &dyn Evaluator<G>,
    searches: u64,
) {
    let (mut speeds, mut sentence) = (Vec::new(), String::new());
    for _ in 0..searches.max(1) {
        let (speed, found) = search::<G, V>(roots.clone(), config.clone(), evaluator);
        speeds.push(speed);
        sentence = found;
    }
    let (first, n) = (speeds[0], speeds.len());
    speeds.sort_by(f64::total_cmp);
    let (median, best) = (speeds[n / 2], speeds[n - 1]);
    println!("{name}: {sentence}");
    println!("{name}: {first:.0}k at first, {median:.0}k the median, {best:.0}k the best of {n}");
}

/// Thousands of simulations per second, and a description of the search.
fn search<G: Game, V: Values>(
    roots: Vec<G>,
    config: Config,
    evaluator: &dyn Evaluator<G>,
) -> (f64, String) {
    let rules = roots[0].rules();
    let trees = roots.len() as u64;
    let mut forest = Forest::<G, V>::new(roots, rules, config);
    forest.begin(false, |_| None);
    let asked = AtomicBool::new(false);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    assert!(forest.run(evaluator, &timing).is_ok());
    let seconds = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    let finished: u64 = (0..trees as usize)
        .map(|i| forest.tree(i).progress.finished)
        .sum();
    let nodes: u64 = (0..trees as usize).map(|i| forest.tree(i).nodes).sum();
    let bytes: u64 = (0..trees as usize).map(|i| forest.tree(i).bytes).sum();
    let signature = forest.search(0).signature();
    let speed = finished as f64 / seconds / 1e3;
    let sentence = format!(
        "{speed:.0}k simulations/s ({:.0}k by processor time), {finished} simulations, {:.1} bytes/node, depth {}, stop {:?}, {} bytes held, signature {signature}",
        finished as f64 / cpu / 1e3,
        bytes as f64 / nodes as f64,
        forest.tree(0).progress.depth,
        forest.tree(0).progress.stop,
        forest.bytes(),
    );
    (speed, sentence)
}

/// Information-set search by UCT, as in `python -m benchmarks.blob_speed`.
fn measure_blob(work: Work) {
    let game = Blob::new(Options::open_spiel(5, 7, 0).expect("rules"), Some(1)).expect("a round");
    let view = game.view(game.to_play()).expect("a seat");
    let config = Config {
        selection: Selection::Uct { c_uct: 1.4 },
        flat_priors: true,
        ..limited(work.simulations, work.bytes)
    };
    let playouts = Rollout {
        playouts: 1,
        max_length: 1000,
        discount: 1.0,
        policy: AtRandom,
    };
    repeat::<Blob, Seats<8>>("blob", vec![view], config, &playouts, work.searches);
}

/// Kings and locked pawns: many lines reach the same positions.
const FINE_70: &str = "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1";

fn main() {
    let mut args = std::env::args().skip(1);
    let work = args.next().unwrap_or_else(|| "chess".to_owned());
    let mut number = || args.next().map(|n| n.parse::<u64>().expect("a number"));
    let one = Work {
        simulations: number().unwrap_or(600_000),
        bytes: number().filter(|&bytes| bytes > 0),
        searches: number().unwrap_or(1),
        transpositions: work.ends_with("graph"),
    };
    let each = Work {
        simulations: one.simulations / 256,
        ..one
    };
    let games = || vec![Chess::default(); 256];
    let chess = || vec![Chess::default()];
    let pawns = || vec![Chess::from_fen(FINE_70, Rules::default()).expect("a position")];
    let four = || vec![ConnectFour::default()];
    match work.as_str() {
        "graph" => measure("chess, a graph", chess(), one, 1, &HashRandom),
        "pawns" => measure("Fine 70", pawns(), one, 1, &Material),
        "pawns-graph" => measure("Fine 70, a graph", pawns(), one, 1, &Material),
        "connect4" => measure("connect four", four(), one, 1, &HashRandom),
        "uniform" => measure("chess, uniform", chess(), one, 1, &Uniform),
        "forest" => measure("chess, 256 trees", games(), each, 1, &HashRandom),
        "threads" => measure("chess, 256 trees", games(), each, 2, &HashRandom),
        "blob" => measure_blob(one),
        _ => measure("chess", chess(), one, 1, &HashRandom),
    }
}
