//! The material evaluation: symmetric in colours, within its range, and sensible.

use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::{EnPassantMode, Position};
use sylvan_core::{Evaluator, Game, Leaf, Turn};
use sylvan_games::chess::{Chess, Material, Options};

/// The mover's value and every legal move with its logit; `None` once the game is over.
fn judge(game: &Chess) -> Option<(f32, Vec<(String, f32)>)> {
    let (mut actions, mut logits, mut values) = (Vec::new(), vec![f32::NAN], [f32::NAN; 2]);
    let Ok(Turn::Seat(seat)) = game.turn(&mut actions) else {
        return None;
    };
    let leaf = Leaf {
        state: game,
        seat,
        actions: &actions,
        ticket: 0,
    };
    Material.evaluate(&leaf, &mut logits, &mut values).unwrap();
    assert_eq!(logits.len(), actions.len());
    assert_eq!(values[0], -values[1]);
    let texts = actions.iter().map(|&action| game.san(action).unwrap());
    Some((values[usize::from(seat)], texts.zip(logits).collect()))
}

fn of(fen: &str) -> (f32, Vec<(String, f32)>) {
    judge(&Chess::from_fen(fen, Options::default()).unwrap()).unwrap()
}

fn best(fen: &str) -> String {
    let (_, moves) = of(fen);
    moves
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap()
        .0
}

fn logit(fen: &str, san: &str) -> f32 {
    of(fen)
        .1
        .into_iter()
        .find(|(text, _)| text == san)
        .unwrap()
        .1
}

#[test]
fn material_has_the_documented_values() {
    let (level, _) = of("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    assert!((0.0..0.1).contains(&level), "{level}");
    let (pawn, _) = of("rnbqkbnr/ppppppp1/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    let (rook, _) = of("rnbqkbn1/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQq - 0 1");
    let (queen, _) = of("rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    assert!(level < pawn && pawn < rook && rook < queen && queen < 1.0);
    assert!((0.15..0.45).contains(&pawn), "{pawn}");
    assert!((0.70..0.90).contains(&rook), "{rook}");
}

#[test]
fn hanging_pieces_count_for_the_side_to_move() {
    let (takes, _) = of("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1");
    let (flees, _) = of("4k3/8/8/3q4/4P3/8/8/4K3 b - - 0 1");
    assert!(takes > 0.0, "{takes}"); // the queen can be taken
    assert!(flees > 0.8, "{flees}"); // the only attacked piece can be saved
    let (one, _) = of("4k3/8/8/3r4/4P3/8/r7/4K3 b - - 0 1");
    let (two, _) = of("4k3/8/8/3r4/4P1r1/5P2/8/4K3 b - - 0 1");
    assert!(two < one, "{two} {one}"); // one of two attacked pieces is lost
}

#[test]
fn priors_prefer_captures_mates_and_promotions() {
    assert_eq!(best("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1"), "exd5");
    assert_eq!(best("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"), "Rd8#");
    assert_eq!(best("3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"), "Rd1#");
    assert_eq!(best("4k3/P7/8/8/8/8/8/4K3 w - - 0 1"), "a8=Q+");
    // The bishop behind the knight mates after every knight move.
    let (_, moves) = of("6bk/7p/8/4N3/8/8/1B6/4K3 w - - 0 1");
    let jumps: Vec<f32> = moves
        .iter()
        .filter(|(san, _)| san.starts_with('N'))
        .map(|(_, logit)| *logit)
        .collect();
    assert_eq!(jumps, [6.0; 8]);
    let attacked = "4k3/2p5/8/1p6/8/2N5/8/4K3 w - - 0 1";
    assert!(logit(attacked, "Nxb5") > logit(attacked, "Ne4"));
    assert!(logit(attacked, "Nd5") > logit(attacked, "Na4"));
    let underpromotes = "8/P3k3/8/8/8/8/8/4K3 w - - 0 1";
    assert!(logit(underpromotes, "a8=Q") > logit(underpromotes, "a8=B") + 2.0);
}

#[test]
fn mop_up_prefers_a_confined_king() {
    let value = |fen| of(fen).0;
    let centre = value("8/8/8/3k4/8/8/1Q6/K7 w - - 0 1");
    let confined = value("k7/8/8/2K5/8/1Q6/8/8 w - - 0 1");
    assert!(
        0.3 < centre && centre + 0.05 < confined && confined < 1.0,
        "{centre} {confined}"
    );
    // The side with the bare king has the opposite sign.
    assert!(value("k7/8/8/2K5/8/1Q6/8/8 b - - 0 1") < -0.8);
}

#[test]
fn a_lead_decreases_with_the_half_move_clock() {
    let value = |clock| of(&format!("4k3/8/8/8/8/8/PPP5/R3K3 w - - {clock} 80")).0;
    assert!(value(0) > value(50) && value(50) > value(99) && value(99) > 0.3);
}

#[test]
fn a_promotion_can_mate_along_its_pawns_file() {
    let moves = of("8/3P1N1p/7R/Pp1kN3/3P1p1r/P2K4/1R2r3/8 w - - 5 51").1;
    let logit = |san: &str| moves.iter().find(|(name, _)| name == san).unwrap().1;
    assert_eq!(logit("d8=Q#"), 6.0);
}

fn random_game(choices: Vec<u16>) -> shakmaty::Chess {
    let mut position = shakmaty::Chess::default();
    for choice in choices {
        let moves = position.legal_moves();
        let Some(&m) = moves.get(usize::from(choice) % moves.len().max(1)) else {
            break;
        };
        position.play_unchecked(m);
    }
    position
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn both_colours_have_equal_evaluations(choices in prop::collection::vec(any::<u16>(), 0..150)) {
        let position = random_game(choices);
        let setup = position.to_setup(EnPassantMode::Legal);
        let mirrored = setup.clone().into_mirrored();
        let read = |setup| {
            let fen = Fen::try_from_setup(setup).unwrap().to_string();
            Chess::from_fen(&fen, Options::default()).unwrap()
        };
        let (ours, theirs) = (judge(&read(setup)), judge(&read(mirrored)));
        prop_assert_eq!(ours.is_some(), theirs.is_some());
        if let (Some((value, moves)), Some((other, mirrored_moves))) = (ours, theirs) {
            prop_assert_eq!(value, other);
            prop_assert!(value.abs() < 1.0);
            for ((_, logit), (_, mirrored)) in moves.iter().zip(&mirrored_moves) {
                prop_assert!(logit.is_finite());
                prop_assert_eq!(logit, mirrored);
            }
        }
    }

    /// Exactly the mating moves have the logit of a mate (except castling and en passant).
    #[test]
    fn all_mates_in_one_are_found(choices in prop::collection::vec(any::<u16>(), 0..200)) {
        let position = random_game(choices);
        let fen = Fen::from_position(&position, EnPassantMode::Legal).to_string();
        let game = Chess::from_fen(&fen, Options::default()).unwrap();
        let en_passant = position.ep_square(EnPassantMode::Legal).is_some();
        let Some((value, moves)) = judge(&game).filter(|_| !en_passant) else { return Ok(()) };
        for (san, logit) in moves.iter().filter(|(san, _)| !san.starts_with('O')) {
            prop_assert_eq!(san.ends_with('#'), *logit == 6.0, "{} in {}", san, fen);
            prop_assert!(value > 0.99 || !san.ends_with('#'));
        }
    }
}
