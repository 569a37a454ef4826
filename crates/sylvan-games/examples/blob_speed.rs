//! Speed of Blob: `cargo run --release -p sylvan-games --example blob_speed`.
//!
//! Nanoseconds per copy of a state, list of legal actions, move, encoding, sampled deal and
//! decision of a bot; five players with seven cards, in the middle of a round.

use std::hint::black_box;
use std::time::Instant;

use sylvan_core::{Game, Rng};
use sylvan_games::blob::bots::{Bot, Rollouts};
use sylvan_games::blob::{Blob, OBSERVATION_LEN, Options, Phase, Sequence};

/// States in the middle of a round, with a seat to move.
fn middles(count: u64) -> Vec<Blob> {
    let sequence = Sequence::list(&[7]).expect("a round of seven");
    let options = Options::new(5, sequence);
    let of = |seed: u64| {
        let mut state = Blob::new(options, Some(seed)).expect("valid options");
        let mut rng = Rng::new(seed, 1);
        for _ in 0..5 + 5 + seed % 15 {
            let action = Bot::Rule.choose(&state, &mut rng);
            state.take(action);
        }
        state
    };
    (0..count).map(of).collect()
}

fn measure(name: &str, states: &[Blob], mut work: impl FnMut(&Blob)) {
    let mut best = f64::MAX;
    for _ in 0..15 {
        let began = Instant::now();
        for _ in 0..20 {
            states.iter().for_each(|state| work(black_box(state)));
        }
        let each = began.elapsed().as_secs_f64() / (20 * states.len()) as f64;
        best = best.min(each);
    }
    println!("{name:<28} {:>9.1} ns", best * 1e9);
}

fn main() {
    let states = middles(500);
    let views: Vec<Blob> = states
        .iter()
        .map(|state| state.view(state.to_play()).expect("a seat"))
        .collect();
    println!("{} bytes a state", size_of::<Blob>());
    let mut copy = states[0];
    measure("copy", &states, |state| {
        copy.clone_from(state);
        black_box(&copy);
    });
    let mut actions = Vec::new();
    measure("legal actions", &states, |state| {
        black_box(state.turn(&mut actions)).ok();
    });
    measure("copy and move", &states, |state| {
        let mut next = *state;
        next.take(state.playable().trailing_zeros());
        black_box(&next);
    });
    let mut cells = vec![0.0; OBSERVATION_LEN];
    measure("encoding", &states, |state| {
        state.encode(&mut cells);
        black_box(&cells);
    });
    let mut rng = Rng::new(1, 0);
    measure("deal, another view each", &views, |view| {
        let mut deal = *view;
        deal.complete(&mut rng).expect("a consistent deal");
        black_box(&deal);
    });
    let (mut worst, mut mean) = (0.0_f64, 0.0);
    for view in &views {
        let mut best = f64::MAX;
        for _ in 0..10 {
            let began = Instant::now();
            for _ in 0..100 {
                let mut deal = *view;
                deal.complete(&mut rng).expect("a consistent deal");
                black_box(&deal);
            }
            best = best.min(began.elapsed().as_secs_f64() / 100.0);
        }
        worst = worst.max(best);
        mean += best / views.len() as f64;
    }
    let (mean, worst) = (mean * 1e9, worst * 1e9);
    println!(
        "{:<28} {mean:>9.1} ns, slowest view {worst:.1} ns",
        "deal, same view"
    );
    for (name, bot) in [("rule bot", Bot::Rule), ("card counter", Bot::COUNTER)] {
        measure(name, &states, |state| {
            black_box(bot.choose(state, &mut rng));
        });
    }
    measure("playout, card counter", &states, |state| {
        let mut state = *state;
        while state.phase() != Phase::Over {
            let action = Bot::COUNTER.choose(&state, &mut rng);
            state.take(action);
        }
        black_box(&state);
    });
    let bot = Bot::Rollouts(Rollouts::default());
    measure("128 rollouts", &states[..3], |state| {
        black_box(bot.choose(state, &mut rng));
    });
}
