//! The end of a game of chess, in play and inside a search, and errors for bad input.

use proptest::prelude::*;
use sylvan_core::{Game, Turn};
use sylvan_games::chess::{Chess, ChessError, Options, Outcome};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

fn game(fen: &str, repetitions: u32, moves: &str) -> Chess {
    let options = Options {
        repetitions,
        ..Options::default()
    };
    let mut game = Chess::from_fen(fen, options).unwrap();
    push(&mut game, moves);
    game
}

fn push(game: &mut Chess, moves: &str) {
    for text in moves.split_whitespace() {
        let action = game.parse(text).unwrap();
        game.play(action).unwrap();
    }
}

/// White's return if the game is over for the search.
fn end(game: &Chess) -> Option<f64> {
    let (mut actions, mut returns) = (Vec::new(), [9.0; 2]);
    let over = game.turn(&mut actions).unwrap() == Turn::Over;
    assert_eq!(over, actions.is_empty());
    assert_eq!(over, game.outcome().is_some());
    over.then(|| {
        game.returns(&mut returns).unwrap();
        assert_eq!(returns[0], -returns[1]);
        returns[0]
    })
}

const ROUND: &str = "Nf3 Nf6 Ng1 Ng8 ";

#[test]
fn the_third_occurrence_is_a_draw() {
    assert_eq!(end(&game(START, 3, "")), None);
    assert_eq!(end(&game(START, 3, ROUND)), None);
    let third = game(START, 3, &ROUND.repeat(2));
    assert_eq!(end(&third), Some(0.0));
    assert_eq!(third.outcome(), Some(Outcome::Repetition));
}

#[test]
fn a_root_is_searched_although_a_draw_could_be_claimed() {
    let mut root = game(START, 3, &ROUND.repeat(2));
    root.set_root();
    assert_eq!(end(&root), None);
    // Below the root, occurrences in game and tree are counted together: this is the third.
    push(&mut root, "Nf3");
    assert_eq!(end(&root), Some(0.0));
    // A second occurrence is not a draw by default.
    let mut fresh = game(START, 3, &ROUND.repeat(2));
    fresh.set_root();
    push(&mut fresh, "e4");
    assert_eq!(end(&fresh), None);

    let mut fifty = game("4k3/8/8/8/8/8/4R3/4K3 b - - 99 80", 3, "Kd8");
    assert_eq!(fifty.outcome(), Some(Outcome::FiftyMoves));
    fifty.set_root();
    assert_eq!(end(&fifty), None);
    push(&mut fifty, "Kf2");
    assert_eq!(end(&fifty), Some(0.0));
}

#[test]
fn twofold_counts_only_from_the_root() {
    for (repetitions, inside) in [(3, None), (2, Some(0.0))] {
        // The root itself counts.
        let mut at_root = game(START, repetitions, "");
        at_root.set_root();
        push(&mut at_root, ROUND);
        assert_eq!(end(&at_root), inside, "repetitions {repetitions}");

        // A position before the root still needs three occurrences.
        let mut before = game(START, repetitions, "Nf3 Nf6 Ng1");
        before.set_root();
        push(&mut before, "Ng8");
        assert_eq!(end(&before), None);
        push(&mut before, "Nf3 Nf6");
        assert_eq!(end(&before), None);
        push(&mut before, "Ng1");
        assert_eq!(end(&before), inside);

        // Irreversible moves inside the tree do not lose the root.
        let mut later = game(START, repetitions, "");
        later.set_root();
        push(&mut later, "e4 e5 Nf3 Nf6 Ng1 Ng8");
        assert_eq!(end(&later), inside);
    }
    // Outside a search twofold does not apply.
    assert_eq!(end(&game(START, 2, ROUND)), None);
}

#[test]
fn a_copy_counts_like_its_original() {
    let mut root = game(START, 2, "e4 e5 Nf3 Nf6");
    root.set_root();
    let mut copy = Chess::default();
    copy.clone_from(&root);
    for game in [&mut root, &mut copy] {
        push(game, "Ng1 Ng8 Nf3");
        assert_eq!(end(game), None);
        push(game, "Nf6");
        assert_eq!(end(game), Some(0.0));
    }
}

#[test]
fn castling_rights_and_legal_en_passant_distinguish_positions() {
    // The king's moves lose the castling rights: the first occurrence was another position.
    let walk = "e4 e5 Ke2 Ke7 Ke1 Ke8 Ke2 Ke7 Ke1 Ke8 ";
    assert_eq!(end(&game(START, 3, walk)), None);
    assert_eq!(
        end(&game(START, 3, &(walk.to_owned() + "Ke2 Ke7"))),
        Some(0.0)
    );
    // No pawn can take on e3, so the square does not count.
    let none = "e4 Nf6 Nf3 Ng8 Ng1 Nf6 Nf3 Ng8 Ng1";
    assert_eq!(end(&game(START, 3, none)), Some(0.0));
    // Here a pawn can take.
    let some = "e4 Nc6 e5 d5 Nf3 Nb8 Ng1 Nc6 Nf3 Nb8 Ng1 Nc6";
    assert_eq!(end(&game(START, 3, some)), None);
}

#[test]
fn mate_precedes_the_fifty_move_rule() {
    let mated = game("7k/8/6K1/8/8/8/8/R7 w - - 99 80", 3, "Ra8#");
    assert_eq!(mated.clock(), 100);
    assert_eq!(mated.outcome(), Some(Outcome::Checkmate { winner: 0 }));
    assert_eq!(end(&mated), Some(1.0));
    let not_mated = game("7k/8/6K1/8/8/8/8/R7 w - - 99 80", 3, "Ra2");
    assert_eq!(not_mated.outcome(), Some(Outcome::FiftyMoves));
    assert_eq!(
        end(&game("7k/8/6K1/8/8/8/8/R7 w - - 98 80", 3, "Ra2")),
        None
    );
}

#[test]
fn a_mate_is_a_win_for_the_mating_side() {
    assert_eq!(end(&game(START, 3, "f3 e5 g4 Qh4#")), Some(-1.0));
    assert_eq!(
        end(&game(START, 3, "e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7#")),
        Some(1.0)
    );
    // A stalemate is a draw for both sides.
    assert_eq!(
        end(&game("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", 3, "")),
        Some(0.0)
    );
    assert_eq!(
        end(&game("7K/5q2/6k1/8/8/8/8/8 w - - 0 1", 3, "")),
        Some(0.0)
    );
}

#[test]
fn dead_positions_are_drawn_even_at_a_root() {
    for (fen, dead) in [
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", true),
        ("4k3/8/8/8/8/8/8/4KN2 w - - 0 1", true),
        ("4k3/8/8/8/8/8/8/4KB2 b - - 0 1", true),
        ("4kb2/8/8/8/8/8/8/2B1K3 w - - 0 1", true), // f8 and c1 are both dark
        ("2b1k3/8/8/8/8/8/8/2B1K3 w - - 0 1", false),
        ("4k3/8/8/8/8/8/8/3NKN2 w - - 0 1", false),
        ("4kn2/8/8/8/8/8/8/4KN2 w - - 0 1", false),
        ("4kn2/8/8/8/8/8/8/4KB2 w - - 0 1", false),
        ("4k3/8/8/8/8/8/P7/4K3 w - - 0 1", false),
        ("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", false),
    ] {
        let mut root = game(fen, 3, "");
        root.set_root();
        assert_eq!(end(&root), dead.then_some(0.0), "{fen}");
    }
}

#[test]
fn a_finished_game_takes_no_move_and_keeps_its_state() {
    let mut mated = game(START, 3, "f3 e5 g4 Qh4#");
    let (fen, key) = (mated.fen(), mated.full_key());
    assert!(matches!(mated.play(0), Err(ChessError::Over { .. })));
    assert!(matches!(mated.parse("e2e4"), Err(ChessError::Over { .. })));
    assert_eq!((mated.fen(), mated.full_key()), (fen, key));
    // Moves are possible after a draw that was not claimed.
    let mut drawn = game(START, 3, &ROUND.repeat(2));
    push(&mut drawn, "e4");
}

#[test]
fn counters_stop_at_their_limit() {
    let fen = "4k3/8/8/8/8/8/4R3/3K4 b - - 4294967295 4294967295";
    let mut game = game(fen, 3, "Kd8 Rf2");
    assert_eq!(game.clock(), u32::MAX);
    assert!(game.fen().ends_with("- - 4294967295 4294967295"));
    push(&mut game, "Kc7");
    assert_eq!(end(&game), Some(0.0));
}

/// One position per rule, and a part of its error.
#[test]
fn every_broken_rule_is_named() {
    for (fen, word) in [
        ("8/8/8/8/8/8/8/8 w - - 0 1", "empty"),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "king is missing"),
        ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "more than one king"),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "ranks 2 to 7"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "castling right"),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "en-passant square"),
        ("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1", "not to move is in check"),
        ("3RkR2/8/4R3/8/8/8/8/4K3 b - - 0 1", "all these checks"),
        ("4k3/8/8/8/8/8/PPPPPPPP/QQRRKRRQ w - - 0 1", "more pieces"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "'w' or 'b'"),
        ("4k3/8/8/8/8/8/8/4K3 w z - 0 1", "castling rights must be"),
        (
            "4k3/8/8/8/8/8/8/4K3 w - e9 0 1",
            "en-passant square must be",
        ),
        ("4k3/8/8/8/8/8/8/4K3 w - - x 1", "half-move clock"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 x", "move number"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1 1 1", "too many fields"),
        ("4k3/8/8/8/8/8/8 w - - 0 1", "8 ranks"),
        ("4k3/8/8/8/8/8/8/4K4 w - - 0 1", "8 ranks"),
    ] {
        let error = Chess::from_fen(fen, Options::default()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(error.to_string().contains(fen), "{error}");
    }
}

#[test]
fn errors_of_moves_name_the_nearest_legal_ones() {
    let game = game(START, 3, "");
    let sentence = |text: &str| game.parse(text).unwrap_err().to_string();
    assert!(sentence("e2e5").contains("e2e4"), "{}", sentence("e2e5"));
    assert!(sentence("Nf4").contains("Nf3"), "{}", sentence("Nf4"));
    assert!(sentence("pawn to king four").contains("UCI"));
    assert!(sentence("").contains("UCI"));
    let two = Chess::from_fen("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", Options::default()).unwrap();
    let ambiguous = two.parse("Rd9").unwrap_err();
    assert!(
        matches!(ambiguous, ChessError::Unreadable { .. }),
        "{ambiguous}"
    );
    let knights = Chess::from_fen("4k3/8/8/8/8/8/8/1N2KN2 w - - 0 1", Options::default()).unwrap();
    match knights.parse("Nd2").unwrap_err() {
        ChessError::Ambiguous { nearest, .. } => assert_eq!(nearest, ["Nbd2", "Nfd2"]),
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Compares the count of earlier occurrences with a simple count over a list.
    #[test]
    fn repetitions_equal_a_simple_count(choices in prop::collection::vec(0..3u8, 0..120)) {
        let mut game = Chess::from_fen("4k2r/8/8/8/8/8/8/R3K3 w Qk - 0 1", Options::default()).unwrap();
        let mut past = vec![game.key().unwrap()];
        for choice in choices {
            // The last moves of the list are the king's, so positions recur often.
            let moves = game.moves();
            let Some(&action) = moves.iter().rev().nth(usize::from(choice)) else { break };
            game.apply(action).unwrap();
            let key = game.key().unwrap();
            past.push(key);
            let occurrences = past.iter().filter(|&&other| other == key).count();
            let dead = game.outcome() == Some(Outcome::InsufficientMaterial);
            let drawn = game.outcome() == Some(Outcome::Repetition);
            prop_assert_eq!(drawn, occurrences >= 3 && !dead);
        }
    }
}
