//! Games of actors are equal for any number of actors, batches and rows.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use sylvan_core::config::{Config, Dirichlet, Limits};
use sylvan_core::playouts::{HashRandom, Uniform};
use sylvan_core::values::{Duel, Seats, Values};
use sylvan_core::{
    Actors, BadAnswer, BatchMemory, Bell, Columns, Ending, Evaluate, Game, Lease, LeaseError,
    ObservationHash, PlayConfig, Played, Resignation, Setup, Taken, Verdict, shape_of,
};
use sylvan_games::blob::{Blob, Options};
use sylvan_games::chess::Chess;
use sylvan_games::connect_four::ConnectFour;
use sylvan_games::tic_tac_toe::TicTacToe;

fn search(simulations: u64) -> Config {
    Config {
        noise: Some(Dirichlet {
            alpha: 0.5,
            fraction: 0.25,
        }),
        forced_playouts: 2.0,
        limits: Limits {
            simulations: Some(simulations),
            ..Limits::default()
        },
        ..Config::default()
    }
}

fn play(games: usize) -> PlayConfig {
    PlayConfig {
        games,
        temperature_plies: 6,
        full_share: 0.5,
        fast_simulations: 4,
        opening_share: 0.3,
        opening_plies: 3,
        restart_share: 0.2,
        max_plies: Some(30),
        resignation: Some(Resignation {
            below: -0.4,
            turns: 2,
            play_on: 0.5,
        }),
        ..PlayConfig::default()
    }
}

/// How the same games are played.
#[derive(Clone, Copy, Debug)]
struct Way {
    actors: usize,
    batches: usize,
    rows: usize,
}

fn actors<G: Game + 'static, V: Values + 'static>(
    first: &G,
    search: Config,
    play: PlayConfig,
    way: Way,
) -> Actors<G, V> {
    with_bell(first, search, play, way, &Arc::default())
}

fn with_bell<G: Game + 'static, V: Values + 'static>(
    first: &G,
    search: Config,
    play: PlayConfig,
    way: Way,
    bell: &Arc<Bell>,
) -> Actors<G, V> {
    let Ok(setup) = Setup::new(first.clone(), search, play, 7) else {
        panic!("these games do not fail");
    };
    let shape = shape_of(&setup, way.rows);
    let memory = (0..=way.batches).map(|_| BatchMemory::new(shape)).collect();
    Actors::new(setup, way.actors, shape, memory, Arc::clone(bell))
}

fn lease(first: u64, count: u64) -> Lease {
    Lease {
        first,
        count,
        positions: Vec::new(),
    }
}

fn natively<G: Game>() -> Evaluate<G> {
    Evaluate::Natively(Box::new(ObservationHash))
}

fn finished<G: Game<Error = Infallible> + 'static, V: Values + 'static>(
    actors: &mut Actors<G, V>,
    lease: Lease,
    evaluate: Evaluate<G>,
) -> Played<G> {
    actors.begin(lease, evaluate).expect("a lease");
    let played = actors.finish().expect("games");
    assert!(played.failures.is_empty());
    played
}

/// Checks that the columns are games of this game, from the first state to an end.
fn check_rules<G: Game<Error = Infallible>>(first: &G, columns: &Columns<G::Cell>, max: usize) {
    let (mut ply, mut edge, mut legal) = (0, 0, Vec::new());
    for (game, &length) in columns.lengths.iter().enumerate() {
        let mut state = first.clone();
        for _ in 0..length {
            let Ok(_) = state.turn(&mut legal);
            let count = columns.counts[ply] as usize;
            let targets: Vec<u32> = columns.policy_actions[edge..edge + count]
                .iter()
                .map(|&a| a as u32)
                .collect();
            let action = columns.actions[ply] as u32;
            if count > 0 {
                assert_eq!(targets, legal);
                let sum: f32 = columns.policy[edge..edge + count].iter().sum();
                assert!((sum - 1.0).abs() < 1e-5);
                assert!(legal.contains(&action));
            }
            let Ok(()) = state.apply(action);
            (ply, edge) = (ply + 1, edge + count);
        }
        let over = state.turn(&mut legal) == Ok(sylvan_core::Turn::Over);
        match columns.endings[game] {
            x if x == Ending::Rules as i8 => assert!(over),
            x if x == Ending::Limit as i8 => assert!(length as usize >= max),
            _ => assert!(columns.resigning[game] >= 0 && columns.played_on[game] == 0),
        }
    }
    assert_eq!((ply, edge), (columns.actions.len(), columns.policy.len()));
}

fn equal_in_every_way<G, V>(first: &G, simulations: u64, leaves: usize)
where
    G: Game<Error = Infallible> + 'static,
    G::Cell: PartialEq + std::fmt::Debug,
    V: Values + 'static,
{
    let config = Config {
        leaves_in_flight: leaves,
        ..search(simulations)
    };
    let mut expected: Option<Columns<G::Cell>> = None;
    for (actors_, batches, rows) in [
        (1, 1, 1),
        (1, 3, 8),
        (4, 1, 16),
        (4, 2, 3),
        (4, 4, 5),
        (3, 4, 64),
    ] {
        let way = Way {
            actors: actors_,
            batches,
            rows,
        };
        let mut all = actors::<G, V>(first, config.clone(), play(10), way);
        let mut asked = lease(5, 24);
        asked.positions = positions(first);
        let played = finished(&mut all, asked, natively());
        assert_eq!(played.columns.numbers, (5..29).collect::<Vec<_>>());
        assert!(played.rows >= played.batches);
        let wanted = expected.get_or_insert_with(|| played.columns.clone());
        assert!(*wanted == played.columns, "{way:?}");
        check_rules(first, &played.columns, 30);
    }
}

/// Two positions a few moves into the game.
fn positions<G: Game<Error = Infallible>>(first: &G) -> Vec<Vec<u32>> {
    let walk = |plies: usize| {
        let (mut state, mut legal, mut actions) = (first.clone(), Vec::new(), Vec::new());
        for _ in 0..plies {
            let Ok(_) = state.turn(&mut legal);
            let action = legal[legal.len() / 2];
            let Ok(()) = state.apply(action);
            actions.push(action);
        }
        actions
    };
    vec![walk(1), walk(2)]
}

#[test]
fn tic_tac_toe_is_equal_in_every_way() {
    equal_in_every_way::<_, Duel>(&TicTacToe::default(), 24, 1);
}

#[test]
fn connect_four_is_equal_in_every_way() {
    equal_in_every_way::<_, Duel>(&ConnectFour::default(), 16, 1);
}

#[test]
fn several_leaves_in_flight_are_equal_in_every_way() {
    equal_in_every_way::<_, Duel>(&ConnectFour::default(), 24, 4);
}

#[test]
fn chess_is_equal_in_every_way() {
    equal_in_every_way::<_, Duel>(&Chess::default(), 12, 1);
}

#[test]
fn values_per_seat_are_equal_in_every_way() {
    equal_in_every_way::<_, Seats<2>>(&ConnectFour::default(), 16, 1);
}

#[test]
fn blob_is_equal_in_every_way_and_searches_views() {
    let first = Blob::new(Options::open_spiel(3, 4, 0).expect("rules"), Some(1)).expect("a round");
    let settings = PlayConfig {
        resignation: None,
        restart_share: 0.0,
        opening_share: 0.0,
        ..play(6)
    };
    let quiet = Config {
        noise: None,
        forced_playouts: 0.0,
        value_range: sylvan_core::config::ValueRange::Tree,
        ..search(12)
    };
    let mut expected: Option<Columns<f32>> = None;
    for (actors_, batches, rows) in [(1, 1, 4), (4, 2, 3), (2, 3, 32)] {
        let way = Way {
            actors: actors_,
            batches,
            rows,
        };
        let mut all = actors::<Blob, Seats<4>>(&first, quiet.clone(), settings.clone(), way);
        let played = finished(&mut all, lease(0, 12), natively());
        let wanted = expected.get_or_insert_with(|| played.columns.clone());
        assert!(*wanted == played.columns, "{way:?}");
        // A seat without a choice is not searched.
        assert!(played.columns.counts.iter().all(|&count| count != 1));
        assert!(played.columns.counts.iter().any(|&count| count > 1));
    }
}

#[test]
fn a_lease_is_a_part_of_a_longer_one() {
    let way = Way {
        actors: 2,
        batches: 2,
        rows: 8,
    };
    let mut all = actors::<ConnectFour, Duel>(&ConnectFour::default(), search(16), play(6), way);
    let whole = finished(&mut all, lease(0, 20), natively()).columns;
    let mut parts = finished(&mut all, lease(0, 7), natively()).columns;
    let mut rest = finished(&mut all, lease(7, 13), natively()).columns;
    parts.append(&mut rest);
    assert!(whole == parts);
}

#[test]
fn leaves_evaluated_one_by_one_give_equal_games_for_any_number_of_actors() {
    let mut expected: Option<Columns<u64>> = None;
    for actors_ in [1, 3] {
        let way = Way {
            actors: actors_,
            batches: 1,
            rows: 4,
        };
        let mut all = actors::<Chess, Duel>(&Chess::default(), search(12), play(9), way);
        let leaves = Evaluate::Leaves(Box::new(HashRandom));
        let played = finished(&mut all, lease(0, 9), leaves);
        let wanted = expected.get_or_insert_with(|| played.columns.clone());
        assert!(*wanted == played.columns);
    }
}

#[test]
fn batches_are_full_while_there_are_games_enough() {
    let way = Way {
        actors: 2,
        batches: 2,
        rows: 16,
    };
    let settings = PlayConfig {
        games: 64,
        ..PlayConfig::default()
    };
    let bell = Arc::new(Bell::default());
    let first = ConnectFour::default();
    let mut all = with_bell::<ConnectFour, Duel>(&first, search(16), settings, way, &bell);
    all.begin(lease(0, 64), Evaluate::Batches).expect("a lease");
    let batches = Arc::clone(all.batches());
    let mut sizes = Vec::new();
    while sizes.len() < 100 {
        let seen = bell.rings();
        match batches.take() {
            Taken::Batch(batch) => {
                sizes.push(batches.sizes(batch).0);
                answer(&batches, batch);
            }
            Taken::Nothing => bell.wait(seen, Duration::from_secs(9)),
            Taken::Over => break,
        }
    }
    assert_eq!(sizes, [16; 100]);
    batches.stop();
    assert!(matches!(all.finish(), Err(LeaseError::Stopped)));
    // The actors are ready for another lease.
    assert_eq!(
        finished(&mut all, lease(0, 3), natively())
            .columns
            .numbers
            .len(),
        3
    );
}

#[test]
fn batches_go_round_without_a_deadlock() {
    // As many games as rows in all batches: a batch often becomes free while another thread still
    // holds its number as the open one.
    let settings = |games| PlayConfig {
        games,
        ..PlayConfig::default()
    };
    for batches in 1..4 {
        for rows in [1, 2, 5] {
            let way = Way {
                actors: 4,
                batches,
                rows,
            };
            let games = settings((batches + 1) * rows);
            let mut all = actors::<TicTacToe, Duel>(&TicTacToe::default(), search(4), games, way);
            for first in 0..20 {
                let played = finished(&mut all, lease(20 * first, 20), natively());
                assert_eq!(played.columns.numbers.len(), 20);
            }
        }
    }
}

/// Answers a batch with zeros.
fn answer<C: Copy + Default + Send + Sync + 'static>(
    batches: &sylvan_core::Batches<C>,
    batch: usize,
) {
    let ((rows, legal), memory) = (batches.sizes(batch), batches.memory(batch));
    let seats = batches.shape().seats;
    // SAFETY: a taken batch belongs to this thread.
    unsafe {
        std::slice::from_raw_parts_mut(memory.logits.as_ptr(), legal).fill(0.0);
        std::slice::from_raw_parts_mut(memory.values.as_ptr(), rows * seats).fill(0.0);
    }
    batches.answer(batch);
}

struct NotANumber;

impl<C> sylvan_core::BatchEvaluator<C> for NotANumber {
    fn evaluate(&self, _: &sylvan_core::Rows<'_, C>, logits: &mut [f32], values: &mut [f32]) {
        logits.fill(0.0);
        logits[0] = f32::NAN;
        values.fill(0.0);
    }
}

#[test]
fn a_logit_that_is_no_number_stops_all_actors_and_names_the_action() {
    let way = Way {
        actors: 2,
        batches: 2,
        rows: 4,
    };
    let mut all = actors::<ConnectFour, Duel>(&ConnectFour::default(), search(16), play(9), way);
    let evaluate = Evaluate::Natively(Box::new(NotANumber));
    all.begin(lease(0, 9), evaluate).expect("a lease");
    match all.finish() {
        Err(LeaseError::BadAnswer(BadAnswer::Logit { logit, .. })) => assert!(logit.is_nan()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_illegal_position_is_refused_with_its_ply() {
    let way = Way {
        actors: 1,
        batches: 1,
        rows: 4,
    };
    let mut all = actors::<ConnectFour, Duel>(&ConnectFour::default(), search(16), play(9), way);
    let positions = vec![vec![3], vec![0, 0, 0, 0, 0, 0, 0]];
    let bad = Lease {
        positions,
        ..lease(0, 9)
    };
    match all.begin(bad, natively()) {
        Err(LeaseError::IllegalPosition { position, ply }) => assert_eq!((position, ply), (1, 6)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn observations_are_kept_where_they_are_asked_for() {
    let way = Way {
        actors: 2,
        batches: 1,
        rows: 4,
    };
    let settings = PlayConfig {
        observations: true,
        ..play(4)
    };
    let first = ConnectFour::default();
    let mut all = actors::<ConnectFour, Duel>(&first, search(8), settings, way);
    let columns = finished(&mut all, lease(0, 5), natively()).columns;
    let (mut ply, mut seen) = (0, vec![0.0; 84]);
    for &length in &columns.lengths {
        let mut state = first;
        for _ in 0..length {
            let Ok(()) = state.observe(&mut seen);
            let stored = &columns.observations[84 * ply..84 * (ply + 1)];
            match columns.counts[ply] {
                0 => assert!(stored.iter().all(|&cell| cell == 0.0)),
                _ => assert_eq!(stored, seen),
            }
            let Ok(()) = state.apply(columns.actions[ply] as u32);
            ply += 1;
        }
    }
}

#[test]
fn a_game_at_the_limit_is_judged_by_its_material() {
    let way = Way {
        actors: 1,
        batches: 1,
        rows: 4,
    };
    let settings = PlayConfig {
        max_plies: Some(1),
        verdict: Verdict::Estimate,
        temperature_plies: 0,
        ..PlayConfig::default()
    };
    let first = Chess::from_fen("4k3/8/8/8/8/8/8/R3K3 b - - 0 1", Default::default()).unwrap();
    let mut all = actors::<Chess, Duel>(&first, search(8), settings, way);
    let uniform = Evaluate::Leaves(Box::new(Uniform));
    let columns = finished(&mut all, lease(0, 2), uniform).columns;
    assert_eq!(columns.endings, [Ending::Limit as i8; 2]);
    assert_eq!(columns.returns, [0.25, -0.25, 0.25, -0.25]);
}
