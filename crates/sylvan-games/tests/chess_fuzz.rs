//! No input makes chess panic: it returns a result or an error.
//!
//! Runs for `SYLVAN_FUZZ_SECONDS` (2 by default), divided among the tests below.

use std::time::{Duration, Instant};
use sylvan_core::{Action, Evaluator, Game, Leaf, Turn};
use sylvan_games::chess::{
    Chess, Codec, Encoder, Encoding, HistoryFill, MAX_PLANES, Material, Options, az73, expand,
};

const FENS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "8/P1k5/8/8/8/8/5p1K/8 b - - 99 120",
    "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
];
const MOVES: [&str; 10] = [
    "e2e4", "e7e8q", "O-O-O", "Nbd7+", "exd6", "a8=N#", "0000", "Q@f7", "e1h1", "R1a3",
];
const LETTERS: &[u8] = b"pnbrqkPNBRQK12345678/wb-KQkqAHah e3x=+#O0@\0\xff\xc3\xa4_";

/// A small seeded generator (Marsaglia's xorshift), so that failures are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A text with a few bytes changed, added, removed or exchanged, or only random bytes.
    fn corrupt(&mut self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        if self.below(20) == 0 {
            bytes = (0..self.below(80)).map(|_| self.below(256) as u8).collect();
        }
        for _ in 0..self.below(4) {
            let index = self.below(bytes.len() + 1);
            match self.below(4) {
                0 => bytes.insert(index, self.pick(LETTERS)),
                1 if index < bytes.len() => drop(bytes.remove(index)),
                2 if index < bytes.len() => bytes[index] = self.pick(LETTERS),
                _ if !bytes.is_empty() => {
                    let other = self.below(bytes.len());
                    bytes.swap(index.min(other), other);
                }
                _ => {}
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn deadline(share: u32) -> Instant {
    let seconds = std::env::var("SYLVAN_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(2.0)) / share
}

fn options(random: &mut Random) -> Options {
    Options {
        chess960: random.below(2) == 1,
        ..Options::default()
    }
}

#[test]
fn any_text_is_a_position_or_an_error() {
    let (mut random, end) = (Random(0x1234_5678_9abc_def1), deadline(3));
    let (mut accepted, mut refused) = (0, 0);
    while Instant::now() < end {
        let text = {
            let fen = random.pick(&FENS);
            random.corrupt(fen)
        };
        let options = options(&mut random);
        match Chess::from_fen(&text, options) {
            Ok(game) => {
                accepted += 1;
                let again = Chess::from_fen(&game.fen(), options).unwrap();
                assert_eq!(again.key().unwrap(), game.key().unwrap(), "{text:?}");
                use_all(&game, true);
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("FEN"), "{error}");
            }
        }
    }
    assert!(accepted > 0 && refused > 0);
}

#[test]
fn any_text_is_a_legal_move_or_an_error() {
    let (mut random, end) = (Random(0x2545_f491_4f6c_dd1d), deadline(3));
    let mut read = 0;
    while Instant::now() < end {
        let fen = random.pick(&FENS);
        let Ok(mut game) = Chess::from_fen(fen, options(&mut random)) else {
            continue;
        };
        let text = {
            let text = random.pick(&MOVES);
            random.corrupt(text)
        };
        let before = game.full_key();
        match game.parse(&text) {
            Ok(action) => {
                read += 1;
                game.play(action).unwrap();
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(game.full_key(), before);
            }
        }
    }
    assert!(read > 0);
}

/// Mostly legal actions, and some arbitrary numbers: `play` refuses those, and after unchecked
/// `apply` every method still works.
#[test]
fn every_method_works_after_any_actions() {
    let (mut random, end) = (Random(0x9e37_79b9_7f4a_7c15), deadline(3));
    while Instant::now() < end {
        let fen = random.pick(&FENS);
        let Ok(mut game) = Chess::from_fen(fen, options(&mut random)) else {
            continue;
        };
        let unchecked = random.below(4) == 0;
        for _ in 0..random.below(60) {
            let moves = game.moves();
            let arbitrary = random.below(10) == 0 || moves.is_empty();
            let action = if arbitrary {
                random.below(az73::NUM_ACTIONS + 100) as Action
            } else {
                random.pick(&moves)
            };
            let before = game.full_key();
            if unchecked {
                let Ok(()) = game.apply(action);
            } else {
                assert_eq!(game.play(action).is_ok(), moves.contains(&action));
                assert!(moves.contains(&action) || game.full_key() == before);
            }
            use_all(&game, !unchecked);
        }
    }
}

/// Writes and expands every layout, and checks that no two legal moves share a policy output.
fn show(game: &Chess, actions: &[Action], legal: bool) {
    let layouts = [
        (Encoder::Lc0, Codec::Az73, HistoryFill::FenOnly),
        (Encoder::Az119, Codec::Lc0, HistoryFill::No),
        (Encoder::Planes19, Codec::Az73, HistoryFill::Always),
        (Encoder::Planes18, Codec::Lc0, HistoryFill::FenOnly),
        (Encoder::Planes29, Codec::Az73, HistoryFill::No),
    ];
    for (encoder, codec, history_fill) in layouts {
        let game = game.clone().encoded(Encoding {
            encoder,
            codec,
            history_fill,
        });
        let (planes, mut packed) = (encoder.num_planes(), [0; MAX_PLANES]);
        let Ok(()) = game.observe(&mut packed[..planes]);
        let mut cells = vec![-1.0; 64 * planes];
        expand(encoder, &packed[..planes], &mut cells);
        assert!(cells.iter().all(|&cell| cell >= 0.0));
        let mut indices: Vec<u32> = actions.iter().map(|&a| game.logit_index(a)).collect();
        assert!(
            indices
                .iter()
                .all(|&index| (index as usize) < codec.num_logits())
        );
        indices.sort_unstable();
        indices.dedup();
        assert!(!legal || indices.len() == actions.len());
    }
}

/// A game restricted to some moves lists them in order, until one is played.
fn choose(game: &Chess, actions: &[Action]) {
    for step in 1..4 {
        let some: Vec<Action> = actions.iter().copied().step_by(step).collect();
        let mut restricted = game.clone().restricted(Some(&some)).expect("legal moves");
        let mut found = Vec::new();
        let Ok(_) = restricted.turn(&mut found);
        assert_eq!(found, some);
        for (index, &action) in some.iter().enumerate() {
            assert_eq!(restricted.action_at(index, &mut found), Ok(action));
        }
        assert_ne!(restricted.full_key(), game.full_key());
        let unrestricted = restricted.clone().restricted(None).expect("no restriction");
        assert_eq!(unrestricted.full_key(), game.full_key());
        let Ok(()) = restricted.apply(some[0]);
        let mut after = game.clone();
        let Ok(()) = after.apply(some[0]);
        assert_eq!(restricted.full_key(), after.full_key());
    }
}

fn use_all(game: &Chess, legal: bool) {
    let (mut actions, mut returns) = (Vec::new(), [0.0; 2]);
    let Ok(turn) = game.turn(&mut actions);
    let Ok(()) = game.returns(&mut returns);
    show(game, &actions, legal);
    if legal && !actions.is_empty() {
        choose(game, &actions);
    }
    let is_valid = |&action: &Action| az73::decode(action).is_some();
    assert!(!legal || actions.iter().all(is_valid));
    let (fen, _, _) = (game.fen(), game.outcome(), game.is_check());
    assert!(!fen.is_empty());
    if let Some(&action) = actions.first() {
        let _ = (game.uci(action), game.san(action));
    }
    if let Turn::Seat(seat) = turn {
        let (mut logits, mut values) = (Vec::new(), [9.0; 2]);
        let leaf = Leaf {
            state: game,
            seat,
            actions: &actions,
            ticket: 0,
        };
        let Ok(()) = Material.evaluate(&leaf, &mut logits, &mut values);
        assert_eq!(logits.len(), actions.len());
        assert!(
            logits
                .iter()
                .chain(&values)
                .all(|number| number.is_finite())
        );
    }
}
