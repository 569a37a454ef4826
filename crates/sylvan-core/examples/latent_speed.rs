//! Simulations per second over a trivial learned model: `python -m benchmarks.latent` without
//! Python.
//!
//! `cargo run --release -p sylvan-core --example latent_speed -- [gumbel|puct] [actions] [threads] [searches] [µs]`
//!
//! 256 roots, 32 simulations. The last argument is the model's time per batch; threads wait
//! meanwhile. Prints the median and the best speed, also by processor time of the calling thread.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sylvan_core::config::{Config, Fpu, Limits, Selection, ValueRange};
use sylvan_core::values::Seats;
use sylvan_core::{Forest, Game, Rng, Timing};
use sylvan_core::{Latent, Model};
use sylvan_core::{ModelOutput, SeatArray};

const ROOTS: usize = 256;
const SIMULATIONS: usize = 32;
const STATES: usize = 64;

/// A model whose output for a state is a row of its tables.
struct Table {
    actions: usize,
    logits: Vec<f32>,
    numbers: Vec<f32>,
    pause: Duration,
}

/// The output for a batch.
#[derive(Default)]
struct Output {
    logits: Vec<f32>,
    values: Vec<f32>,
    rewards: Vec<f32>,
}

impl Table {
    fn new(actions: usize, pause: Duration) -> Self {
        let mut rng = Rng::new(actions as u64, 0);
        let mut normal = |n: usize| -> Vec<f32> {
            let sum = |rng: &mut Rng| (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
            (0..n).map(|_| sum(&mut rng) as f32).collect()
        };
        Self {
            actions,
            logits: normal(STATES * actions),
            numbers: normal(2 * STATES),
            pause,
        }
    }

    fn evaluate(&self, states: impl Iterator<Item = usize>, output: &mut Output) {
        let began = Instant::now();
        output.logits.clear();
        output.values.clear();
        output.rewards.clear();
        for state in states {
            let row = &self.logits[state * self.actions..][..self.actions];
            output.logits.extend_from_slice(row);
            output.values.push(self.numbers[state]);
            output.rewards.push(self.numbers[STATES + state]);
        }
        while began.elapsed() < self.pause {
            std::hint::spin_loop();
        }
    }
}

fn config(rule: &str, threads: usize) -> Config {
    let puct = Selection::Puct {
        c_puct: 1.25,
        c_base: Some(19652.0),
        c_factor: 1.0,
    };
    let gumbel = Selection::Gumbel {
        max_considered: 16,
        scale: 1.0,
        c_visit: 50.0,
        c_scale: 0.1,
    };
    Config {
        selection: if rule == "puct" { puct } else { gumbel },
        value_range: ValueRange::Siblings,
        fpu: Fpu::Value(0.0),
        fpu_root: Fpu::Value(0.0),
        discount: 0.99,
        threads,
        limits: Limits {
            simulations: Some(SIMULATIONS as u64),
            ..Limits::default()
        },
        ..Config::default()
    }
}

/// Searches all roots and computes the policy targets; returns the sum of the best actions.
fn search(forest: &mut Forest<Latent, Seats<1>>, table: &Table, hidden: &mut [usize]) -> i64 {
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    let mut output = Output::default();
    forest.replant(|_, old| old.root(0, None), &[]);
    forest.begin(false, |_| None);
    assert!(forest.step(None, &timing).is_ok());
    table.evaluate((0..ROOTS).map(|i| i % STATES), &mut output);
    while forest.num_leaves() > 0 {
        for (tree, visit) in forest.leaves() {
            let (state, row) = (&visit.state, tree * (SIMULATIONS + 1));
            let before = hidden[row + state.parent as usize];
            let next = (7 * before + state.action as usize + 1) % STATES;
            hidden[row + state.slot as usize] = if state.slot == 0 { tree % STATES } else { next };
        }
        let rows = forest.leaves();
        let states =
            rows.map(|(tree, visit)| hidden[tree * (SIMULATIONS + 1) + visit.state.slot as usize]);
        table.evaluate(states, &mut output);
        let model_output = ModelOutput {
            policy: &output.logits,
            width: table.actions,
            actions: None,
            values: SeatArray::Mover(&output.values),
            rewards: SeatArray::Mover(&output.rewards),
        };
        assert!(forest.step(Some(&model_output), &timing).is_ok());
    }
    let outcomes = forest.outcomes();
    assert!(
        outcomes
            .simulations
            .iter()
            .all(|&n| n == SIMULATIONS as u32)
    );
    outcomes.best.iter().map(|&best| i64::from(best)).sum()
}

/// The processor time of this thread; 0 unless on Linux.
fn cpu_seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = times.split(' ').next().and_then(|ns| ns.parse().ok());
    first.unwrap_or(0.0) / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| {
        args.get(i)
            .map_or(default, |n| n.parse().expect("a number"))
    };
    let (rule, actions, threads) = (
        args.first().map_or("gumbel", |a| a),
        number(1, 9),
        number(2, 1),
    );
    let (searches, pause) = (number(3, 100), Duration::from_micros(number(4, 0) as u64));
    let table = Table::new(actions, pause);
    let model = Model {
        num_players: 1,
        num_actions: actions,
        zero_sum: false,
        value_range: (f64::NEG_INFINITY, f64::INFINITY),
        whole: false,
    };
    let root = Latent::new(model, 0, (0..actions as u32).collect());
    let (rules, config) = (root.rules(), config(rule, threads));
    let mut forest = Forest::new(vec![root; ROOTS], rules, config);
    let mut hidden = vec![0; ROOTS * (SIMULATIONS + 1)];
    let (mut walls, mut cpus, mut best) = (Vec::new(), Vec::new(), 0);
    for _ in 0..searches {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        best += search(&mut forest, &table, &mut hidden);
        walls.push(start.elapsed().as_secs_f64());
        cpus.push(cpu_seconds() - cpu);
    }
    let signature = (0..ROOTS).fold(0u64, |sum, i| {
        sum.wrapping_add(forest.search(i).signature())
    });
    let speeds = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let speed = |time: f64| (ROOTS * SIMULATIONS) as f64 / time / 1e3;
        format!(
            "{:.0}k median, {:.0}k best",
            speed(times[times.len() / 2]),
            speed(times[0])
        )
    };
    println!(
        "{rule}_{actions}, {threads} threads: {}; by processor time {}; best actions {best}, signature {signature}",
        speeds(&mut walls),
        speeds(&mut cpus),
    );
}
