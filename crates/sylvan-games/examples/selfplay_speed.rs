//! Simulations per second of actors with an evaluator that answers at once, and of the bare search
//! of the same trees.
//!
//! `cargo run --release --example selfplay_speed -- [chess|connect4] [threads] [games] [rows] [batches] [simulations]`
//!
//! The evaluator reads every observation and writes every legal logit. The bare search is a forest
//! of the same number of trees, searched tree by tree with hash-random evaluations.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sylvan_core::config::{Config, Dirichlet, Limits};
use sylvan_core::playouts::HashRandom;
use sylvan_core::values::Duel;
use sylvan_core::{
    Actors, BatchMemory, Evaluate, Forest, Game, Lease, ObservationHash, PlayConfig, Setup, Timing,
    shape_of,
};
use sylvan_games::chess::Chess;
use sylvan_games::connect_four::ConnectFour;

#[derive(Clone, Copy)]
struct Work {
    threads: usize,
    games: usize,
    rows: usize,
    batches: usize,
    simulations: u64,
}

fn config(work: Work) -> Config {
    Config {
        threads: work.threads,
        noise: Some(Dirichlet {
            alpha: 0.3,
            fraction: 0.25,
        }),
        limits: Limits {
            simulations: Some(work.simulations),
            ..Limits::default()
        },
        ..Config::default()
    }
}

/// The processor time of this process, which other processes hardly affect; 0 unless on Linux.
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = times.rsplit(')').next().unwrap_or("").split(' ').collect();
    let ticks = |i: usize| fields.get(i).and_then(|n| n.parse::<f64>().ok());
    (ticks(12).unwrap_or(0.0) + ticks(13).unwrap_or(0.0)) / 100.0
}

/// Thousands of simulations per second, by the clock and per second of processor time.
struct Speed {
    wall: f64,
    cpu: f64,
}

impl Speed {
    /// Of work that returns its number of simulations.
    fn of(work: impl FnOnce() -> u64) -> Self {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let simulations = work() as f64 / 1e3;
        Self {
            wall: simulations / start.elapsed().as_secs_f64(),
            cpu: simulations / (cpu_seconds() - cpu).max(0.01),
        }
    }
}

/// The speed of the bare search.
fn bare<G: Game>(roots: Vec<G>, work: Work) -> Speed {
    let rules = roots[0].rules();
    let mut forest = Forest::<G, Duel>::new(roots.clone(), rules, config(work));
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    Speed::of(|| {
        let mut sum = 0;
        for _ in 0..8 {
            forest.begin(false, |_| None);
            assert!(forest.run(&HashRandom, &timing).is_ok());
            let finished = |i| forest.tree(i).progress.finished;
            sum += (0..forest.num_trees()).map(finished).sum::<u64>();
            forest.replant(|i, _| roots[i].clone());
        }
        sum
    })
}

/// The same of games played by actors.
fn actors<G: Game + 'static>(first: &G, work: Work, count: u64, leaves: bool) -> Speed
where
    G::Error: std::fmt::Debug,
{
    let play = PlayConfig {
        games: work.games,
        opening_share: 1.0,
        opening_plies: 20,
        max_plies: Some(40),
        ..PlayConfig::default()
    };
    let setup = Setup::new(first.clone(), config(work), play, 1);
    let shape = shape_of(&setup, work.rows);
    let memory = (0..=work.batches).map(|_| BatchMemory::new(shape));
    let mut all = Actors::<G, Duel>::new(setup, work.threads, shape, memory.collect());
    let lease = Lease {
        count,
        ..Lease::default()
    };
    let evaluate = if leaves {
        Evaluate::Leaves(Box::new(HashRandom))
    } else {
        Evaluate::Natively(Box::new(ObservationHash))
    };
    Speed::of(|| {
        all.begin(lease, evaluate).expect("a lease");
        let played = all.finish().expect("games");
        let simulations = played.columns.simulations.iter();
        let full = played.rows as f64 / played.batches.max(1) as f64;
        eprintln!(
            "  {} games, {full:.1} rows per batch",
            played.columns.numbers.len()
        );
        simulations.map(|&n| n as u64).sum()
    })
}

fn measure<G: Game + 'static>(name: &str, first: &G, work: Work)
where
    G::Error: std::fmt::Debug,
{
    // Roots as they stand in the games: some random moves from the first state.
    let roots: Vec<G> = (0..work.games as u64)
        .map(|seed| wandered(first, seed))
        .collect();
    let count = 4 * work.games as u64;
    for _ in 0..3 {
        let bare = bare(roots.clone(), work);
        let alone = actors(first, work, count, true);
        let host = actors(first, work, count, false);
        println!(
            "{name}: bare {:.0}k ({:.0}k), leaf by leaf {:.0}k ({:.0}k), in batches {:.0}k ({:.0}k), \
             ratio {:.2} ({:.2} by processor time)",
            bare.wall,
            bare.cpu,
            alone.wall,
            alone.cpu,
            host.wall,
            host.cpu,
            host.wall / bare.wall,
            host.cpu / bare.cpu,
        );
    }
}

fn wandered<G: Game>(first: &G, seed: u64) -> G {
    let mut rng = sylvan_core::Rng::new(seed, 9);
    let (mut state, mut legal) = (first.clone(), Vec::new());
    for _ in 0..rng.below(20) {
        let mut next = state.clone();
        let Ok(_) = next.turn(&mut legal) else { break };
        if legal.is_empty() {
            break;
        }
        let action = legal[rng.below(legal.len())];
        let Ok(()) = next.apply(action) else { break };
        let Ok(_) = next.turn(&mut legal) else { break };
        if legal.is_empty() {
            break;
        }
        state = next;
    }
    state
}

fn main() {
    let mut args = std::env::args().skip(1);
    let game = args.next().unwrap_or_else(|| "chess".to_owned());
    let mut number = |default: usize| {
        args.next()
            .map_or(default, |n| n.parse().expect("a number"))
    };
    let work = Work {
        threads: number(2),
        games: number(1024),
        rows: number(256),
        batches: number(3),
        simulations: number(32) as u64,
    };
    match game.as_str() {
        "connect4" => measure("connect four", &ConnectFour::default(), work),
        _ => measure("chess", &Chess::default(), work),
    }
}
