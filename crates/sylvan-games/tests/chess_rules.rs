//! Compares chess with shakmaty: move counts, legal moves, keys and codes over random games.

use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, EnPassantMode, Position, Setup, san::SanPlus};
use std::collections::{BTreeSet, HashMap};
use sylvan_core::{Action, Game, Turn};
use sylvan_games::chess::{Chess, Options, az73};

/// Positions with published counts (chessprogramming.org, "Perft Results"; the last three with
/// Chess960 castling, counted by python-chess), at a depth that takes little time.
const PERFT: [(&str, bool, u8, u64); 10] = [
    (
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        false,
        5,
        4_865_609,
    ),
    (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        false,
        4,
        4_085_603,
    ),
    (
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        false,
        5,
        674_624,
    ),
    (
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        false,
        4,
        422_333,
    ),
    (
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        false,
        4,
        2_103_487,
    ),
    (
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        false,
        4,
        3_894_594,
    ),
    (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        true,
        4,
        4_085_603,
    ),
    (
        "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
        true,
        4,
        326_672,
    ),
    (
        "1rqbkrbn/1ppppp1p/1n6/p1N3p1/8/2P4P/PP1PPPP1/1RQBKRBN w FBfb - 0 9",
        true,
        4,
        287_739,
    ),
    (
        "rkb2bnr/pp2pppp/2p1n3/3p4/q2P4/5NP1/PPP1PP1P/RKBNQBR1 w Aha - 0 9",
        true,
        4,
        763_454,
    ),
];

#[test]
fn perft_gives_the_published_numbers() {
    for (fen, chess960, depth, expected) in PERFT {
        let game = Chess::from_fen(
            fen,
            Options {
                chess960,
                ..Options::default()
            },
        )
        .unwrap();
        assert_eq!(game.perft(depth), expected, "{fen}");
        let divided: u64 = game.divide(depth).into_iter().map(|(_, count)| count).sum();
        assert_eq!(divided, expected, "{fen}");
    }
}

/// A game of random moves, in our and in shakmaty's implementation.
struct Pair {
    ours: Chess,
    theirs: shakmaty::Chess,
}

impl Pair {
    /// `start` is a Chess960 start position in Scharnagl's numbering, or `None` for chess.
    fn new(start: Option<u32>) -> Pair {
        let mode = CastlingMode::from_chess960(start.is_some());
        let mut setup = Setup::initial();
        if let Some(number) = start {
            setup.board = shakmaty::Board::chess960(number);
            setup.castling_rights = setup.board.rooks();
        }
        let theirs: shakmaty::Chess = setup.position(mode).unwrap();
        let options = Options {
            chess960: start.is_some(),
            ..Options::default()
        };
        Pair {
            ours: Chess::from_fen(&fen(&theirs), options).unwrap(),
            theirs,
        }
    }

    /// Plays legal move number `choice` modulo their number; returns `false` if there is none.
    fn step(&mut self, choice: u16) -> bool {
        let moves = self.ours.moves();
        let Some(&action) = moves.get(usize::from(choice) % moves.len().max(1)) else {
            return false;
        };
        let uci: UciMove = self.ours.uci(action).unwrap().parse().unwrap();
        let legal = uci.to_move(&self.theirs).unwrap();
        self.theirs.play_unchecked(legal);
        self.ours.apply(action).unwrap();
        true
    }

    fn mode(&self) -> CastlingMode {
        self.theirs.castles().mode()
    }
}

fn fen(position: &shakmaty::Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

fn starts() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![Just(None), (0..960u32).prop_map(Some)]
}

fn choices(length: usize) -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..length)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn legal_moves_texts_and_codes_equal_shakmatys(start in starts(), choices in choices(160)) {
        let mut pair = Pair::new(start);
        for choice in choices {
            let actions = pair.ours.moves();
            let codes: BTreeSet<Action> = actions.iter().copied().collect();
            prop_assert_eq!(codes.len(), actions.len(), "codes collide in {}", pair.ours.fen());
            let ours: BTreeSet<String> =
                actions.iter().map(|&action| pair.ours.uci(action).unwrap()).collect();
            let theirs: BTreeSet<String> =
                pair.theirs.legal_moves().iter().map(|m| m.to_uci(pair.mode()).to_string()).collect();
            prop_assert_eq!(ours, theirs);
            if let Some(&action) = actions.get(usize::from(choice) % actions.len().max(1)) {
                let uci = pair.ours.uci(action).unwrap();
                prop_assert_eq!(pair.ours.parse(&uci).unwrap(), action);
                let legal = uci.parse::<UciMove>().unwrap().to_move(&pair.theirs).unwrap();
                let san = SanPlus::from_move(pair.theirs.clone(), legal).to_string();
                prop_assert_eq!(pair.ours.san(action).unwrap(), san.clone());
                prop_assert_eq!(pair.ours.parse(&san).unwrap(), action);
                let step = az73::decode(action).unwrap();
                prop_assert_eq!(az73::encode(step), Some(action));
            }
            if !pair.step(choice) { break }
            prop_assert_eq!(pair.ours.fen(), fen(&pair.theirs));
            prop_assert_eq!(pair.ours.is_check(), pair.theirs.is_check());
        }
    }

    #[test]
    fn keys_are_equal_only_for_equal_positions(start in starts(), choices in choices(200)) {
        let mut pair = Pair::new(start);
        let options = Options { chess960: start.is_some(), ..Options::default() };
        let mut seen: HashMap<u64, shakmaty::Chess> = HashMap::new();
        for choice in choices {
            let fresh = Chess::from_fen(&pair.ours.fen(), options).unwrap();
            prop_assert_eq!(pair.ours.key().unwrap(), fresh.key().unwrap());
            let first = seen.entry(pair.ours.key().unwrap()).or_insert_with(|| pair.theirs.clone());
            prop_assert_eq!(&*first, &pair.theirs);
            if !pair.step(choice) { break }
        }
    }

    #[test]
    fn a_mirrored_position_has_the_same_codes_in_the_same_order(
        start in starts(), choices in choices(120),
    ) {
        let mut pair = Pair::new(start);
        let options = Options { chess960: start.is_some(), ..Options::default() };
        for choice in choices {
            if !pair.step(choice) { break }
            let mirrored = pair.theirs.to_setup(EnPassantMode::Legal).into_mirrored();
            let mirrored = Fen::try_from_setup(mirrored).unwrap().to_string();
            let mirrored = Chess::from_fen(&mirrored, options).unwrap();
            prop_assert_eq!(mirrored.moves(), pair.ours.moves());
            prop_assert_ne!(mirrored.key().unwrap(), pair.ours.key().unwrap());
        }
    }

    #[test]
    fn clone_from_replaces_the_whole_state(
        start in starts(), one in choices(80), two in choices(80), next in choices(30),
    ) {
        let (mut source, mut target) = (Pair::new(start), Pair::new(None));
        for choice in one { source.step(choice); }
        for choice in two { target.step(choice); }
        target.ours.clone_from(&source.ours);
        for choice in next {
            prop_assert_eq!(target.ours.full_key(), source.ours.full_key());
            prop_assert_eq!(target.ours.outcome(), source.ours.outcome());
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            prop_assert_eq!(target.ours.turn(&mut ours).unwrap(), source.ours.turn(&mut theirs).unwrap());
            prop_assert_eq!(&ours, &theirs);
            let moves = source.ours.moves();
            let Some(&action) = moves.get(usize::from(choice) % moves.len().max(1)) else { break };
            source.ours.apply(action).unwrap();
            target.ours.apply(action).unwrap();
        }
    }

    #[test]
    fn turn_and_outcome_agree(start in starts(), choices in choices(200)) {
        let mut pair = Pair::new(start);
        let mut actions = Vec::new();
        for choice in choices {
            let turn = pair.ours.turn(&mut actions).unwrap();
            prop_assert_eq!(turn == Turn::Over, pair.ours.outcome().is_some());
            prop_assert_eq!(turn == Turn::Over, actions.is_empty());
            if turn != Turn::Over {
                prop_assert_eq!(turn, Turn::Seat(u8::from(pair.theirs.turn().is_black())));
                prop_assert_eq!(&actions, &pair.ours.moves());
            }
            prop_assert_eq!(
                pair.theirs.is_insufficient_material() && !pair.theirs.legal_moves().is_empty(),
                pair.ours.outcome() == Some(sylvan_games::chess::Outcome::InsufficientMaterial)
            );
            if !pair.step(choice) { break }
        }
    }
}

proptest! {
    /// A search looks up single actions of a list that it has seen once.
    #[test]
    fn action_at_equals_the_list_of_actions(seed in 0u64.., plies in 0usize..120) {
        let mut state = Chess::default();
        let (mut actions, mut buffer) = (Vec::new(), Vec::new());
        let mut random = seed;
        for _ in 0..plies {
            let Ok(turn) = state.turn(&mut actions);
            if turn == Turn::Over {
                break;
            }
            for (index, &action) in actions.iter().enumerate() {
                prop_assert_eq!(state.action_at(index, &mut buffer), Ok(action));
            }
            random = sylvan_core::rng::mix(random, 1);
            let Ok(()) = state.apply(actions[random as usize % actions.len()]);
        }
    }
}
