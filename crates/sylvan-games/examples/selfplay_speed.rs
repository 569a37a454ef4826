//! Simulations per second of actors with an evaluator that answers at once, and of the bare search
//! of the same trees.
//!
//! `cargo run --release --example selfplay_speed -- [chess|connect4] [threads] [games] [rows] [batches] [simulations]`
//!
//! The evaluator reads every observation and writes every legal logit. The bare search is a forest
//! of the same number of trees, searched tree by tree with hash-random evaluations.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sylvan_core::config::{Config, Dirichlet, Limits};
use sylvan_core::playouts::HashRandom;
use sylvan_core::values::Duel;
use sylvan_core::{
    Actors, BatchMemory, Evaluate, Evaluator, Forest, Game, Lease, ObservationHash, PlayConfig,
    Setup, Timing, Turn, Visit, shape_of,
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

/// Thousands of simulations, and what they took.
#[derive(Default)]
struct Speed {
    simulations: f64,
    seconds: f64,
    cpu_seconds: f64,
}

impl Speed {
    /// Adds work that returns its number of simulations.
    fn add(&mut self, work: impl FnOnce() -> u64) {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        self.simulations += work() as f64 / 1e3;
        self.seconds += start.elapsed().as_secs_f64();
        self.cpu_seconds += cpu_seconds() - cpu;
    }

    fn of(work: impl FnOnce() -> u64) -> Self {
        let mut speed = Self::default();
        speed.add(work);
        speed
    }

    fn wall(&self) -> f64 {
        self.simulations / self.seconds
    }

    fn cpu(&self) -> f64 {
        self.simulations / self.cpu_seconds.max(0.01)
    }
}

/// The speed of the bare search of trees that follow games: each keeps the subtree of its best move.
/// Tree by tree with `Forest::run`, or all trees in turn with `select` and `update`. Only searches
/// are timed.
fn bare<G: Game>(roots: &[G], work: Work, in_turn: bool) -> Speed {
    let rules = roots[0].rules();
    let mut forest = Forest::<G, Duel>::new(roots.to_vec(), rules, config(work));
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    let mut total = Speed::default();
    for _ in 0..12 {
        total.add(|| {
            forest.begin(false, |_| None);
            if in_turn {
                search_in_turn(&mut forest, &timing);
            } else {
                assert!(forest.run(&HashRandom, &timing).is_ok());
            }
            let finished = |i| forest.tree(i).progress.finished;
            (0..forest.num_trees()).map(finished).sum()
        });
        for (i, root) in roots.iter().enumerate() {
            let mut legal = Vec::new();
            let search = forest.search(i);
            let best = search.tree.edges.actions[search.best()];
            assert!(forest.advance(i, best).is_ok());
            let over = forest.tree(i).state.turn(&mut legal);
            if over.is_ok_and(|turn| turn == Turn::Over) {
                forest.plant(i, root.clone());
            }
        }
    }
    total
}

/// Searches all trees in turn, leaf by leaf.
fn search_in_turn<G: Game>(forest: &mut Forest<G, Duel>, timing: &Timing) {
    let mut values = Vec::new();
    loop {
        assert!(forest.select(timing).is_ok());
        if forest.num_leaves() == 0 {
            if forest.is_done() {
                return;
            }
            continue;
        }
        values.resize(2 * forest.num_leaves(), 0.0);
        let logits = |_: usize, visit: &Visit<G>, out: &mut Vec<f32>| {
            let evaluator: &dyn Evaluator<G> = &HashRandom;
            let _ = evaluator.evaluate(&visit.leaf(), out, &mut [0.0; 2]);
        };
        forest.update(&logits, &values);
    }
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
    let setup = Setup::new(first.clone(), config(work), play, 1).expect("a sound game");
    let shape = shape_of(&setup, work.rows);
    let memory = (0..=work.batches).map(|_| BatchMemory::new(shape));
    let mut all =
        Actors::<G, Duel>::new(setup, work.threads, shape, memory.collect(), Arc::default());
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
        .map(|seed| random_state(first, seed))
        .collect();
    let count = 4 * work.games as u64;
    if let Ok(mode) = std::env::var("MODE") {
        for _ in 0..4 {
            let speed = actors(first, work, count, mode == "leaf");
            println!("{name} {mode}: {:.0}k ({:.0}k)", speed.wall(), speed.cpu());
        }
        return;
    }
    for _ in 0..3 {
        let speeds = [
            ("bare, tree by tree", bare(&roots, work, false)),
            ("bare, in turn", bare(&roots, work, true)),
            ("actors leaf by leaf", actors(first, work, count, true)),
            ("actors in batches", actors(first, work, count, false)),
        ];
        let [first, ..] = &speeds;
        for (what, speed) in &speeds {
            println!(
                "{name}, {what}: {:.0}k, {:.2}; by processor time {:.0}k, {:.2}",
                speed.wall(),
                speed.wall() / first.1.wall(),
                speed.cpu(),
                speed.cpu() / first.1.cpu(),
            );
        }
    }
}

fn random_state<G: Game>(first: &G, seed: u64) -> G {
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
