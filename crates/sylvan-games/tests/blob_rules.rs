//! Blob: invariants of all games, and cases computed by hand.

use proptest::prelude::*;
use sylvan_core::{Action, Game, Rng, Turn};
use sylvan_games::blob::cards::Cards;
use sylvan_games::blob::{
    Blob, BlobError, FIRST_BID, Hook, Options, Phase, Scoring, Sequence, Trump, parse_card,
};

fn options() -> impl Strategy<Value = Options> {
    let sizes = (3..=8_u8).prop_flat_map(|players| (Just(players), 1..=(52 / players).min(13)));
    let trump = prop_oneof![
        Just(Trump::Rotation),
        Just(Trump::TurnedUp),
        (0..4_u8).prop_map(Trump::Fixed),
        Just(Trump::None),
    ];
    let hook = prop_oneof![Just(Hook::Dealer), Just(Hook::Off), Just(Hook::OffInLast)];
    let scoring = (0..5_usize).prop_map(|i| Scoring::NAMED[i].1);
    let names = prop_oneof![Just("down_up"), Just("single"), Just("up"), Just("up_down")];
    (sizes, trump, hook, scoring, names, any::<bool>(), 0..3_u8).prop_map(
        |((players, cards), trump, hook, scoring, name, break_trump, dealer)| Options {
            trump,
            hook,
            scoring,
            break_trump,
            first_dealer: dealer,
            rivalry: 0.5,
            ..Options::new(
                players,
                Sequence::named(name, cards, players, false).unwrap(),
            )
        },
    )
}

fn all_hands(state: &Blob) -> (Cards, u32) {
    let hands = (0..state.num_players() as u8).map(|seat| state.hand(seat).unwrap());
    hands.fold((0, 0), |(all, count), hand| {
        (all | hand, count + hand.count_ones())
    })
}

/// Checks the invariants of a state.
fn check(state: &Blob) {
    let (held, count) = all_hands(state);
    let fallen = state
        .fallen()
        .iter()
        .fold(0, |all, &card| all | 1_u64 << card);
    assert_eq!(held.count_ones(), count, "no card is in two hands");
    assert_eq!(held & fallen, 0, "no card is held and played");
    assert_eq!(
        fallen.count_ones() as usize,
        state.fallen().len(),
        "no card is played twice"
    );
    if state.phase() != Phase::Dealing {
        let dealt = u32::from(state.cards()) * state.num_players() as u32;
        assert_eq!(count + fallen.count_ones(), dealt, "cards are conserved");
        let tricks: usize = (0..state.num_players() as u8)
            .map(|s| state.tricks_of(s) as usize)
            .sum();
        assert_eq!(tricks, state.fallen().len() / state.num_players());
        for seat in 0..state.num_players() as u8 {
            assert_eq!(
                u32::from(state.hand_size(seat)),
                state.hand(seat).unwrap().count_ones()
            );
            let voids = state.voids_of(seat);
            for suit in (0..4).filter(|suit| voids >> suit & 1 == 1) {
                assert_eq!(
                    state.hand(seat).unwrap() & 0x1fff << (13 * suit),
                    0,
                    "no card of a void suit"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_game_ends_and_pays_within_its_range(options in options(), seed in any::<u64>(), chance in any::<bool>()) {
        let mut state = Blob::new(options, (!chance).then_some(seed)).unwrap();
        let mut rng = Rng::new(seed, 1);
        let (mut actions, mut outcomes) = (Vec::new(), Vec::new());
        let n = state.num_players();
        let (low, high) = state.value_range();
        let (mut paid, mut step) = (vec![0.0; n], vec![0.0; n]);
        let rounds = options.sequence.rounds().len();
        let mut finished = 0;
        loop {
            check(&state);
            let Ok(turn) = state.turn(&mut actions);
            let action = match turn {
                Turn::Over => break,
                Turn::Chance => {
                    let Ok(()) = state.chance_outcomes(&mut outcomes);
                    let sum: f64 = outcomes.iter().map(|outcome| outcome.1).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-12);
                    outcomes[rng.below(outcomes.len())].0
                }
                Turn::Seat(seat) => {
                    prop_assert_eq!(seat, state.to_play());
                    prop_assert!(!actions.is_empty());
                    prop_assert!(actions.is_sorted());
                    actions[rng.below(actions.len())]
                }
            };
            let before = state;
            let mut checked = state;
            prop_assert_eq!(checked.act(i64::from(action)), Ok(()));
            let Ok(()) = state.apply(action);
            prop_assert_eq!(checked, state);
            step.fill(0.0);
            let Ok(()) = state.rewards(&mut step);
            paid.iter_mut().zip(&step).for_each(|(sum, reward)| *sum += reward);
            let ended = state.is_terminal() || state.round() != before.round();
            if ended {
                finished += 1;
                let missed = (0..n).any(|s| state.last_points()[s] < 10);
                let hooked = options.hook == Hook::Dealer
                    || options.hook == Hook::OffInLast && usize::from(before.round()) + 1 < rounds;
                if hooked && options.scoring == Scoring::EXACT_10_PLUS_BID {
                    prop_assert!(missed, "at least one seat misses");
                }
            } else {
                prop_assert!(step.iter().all(|&reward| reward == 0.0));
            }
        }
        prop_assert_eq!(finished, rounds);
        step.fill(0.0);
        let Ok(()) = state.returns(&mut step);
        for (sum, last) in paid.iter().zip(&step) {
            prop_assert!((low - 1e-9..=high + 1e-9).contains(&(sum + last)));
        }
    }

    #[test]
    fn an_illegal_action_is_refused_and_changes_nothing(options in options(), seed in any::<u64>(), steps in 0..200_usize) {
        let mut state = Blob::new(options, Some(seed)).unwrap();
        let mut rng = Rng::new(seed, 2);
        let mut actions = Vec::new();
        for _ in 0..steps {
            let Ok(turn) = state.turn(&mut actions);
            if turn == Turn::Over {
                break;
            }
            let Ok(()) = state.apply(actions[rng.below(actions.len())]);
        }
        let Ok(_) = state.turn(&mut actions);
        for action in -1..70 {
            let mut tried = state;
            let legal = Action::try_from(action).is_ok_and(|action| actions.contains(&action));
            prop_assert_eq!(tried.act(action).is_ok(), legal);
            if !legal {
                prop_assert_eq!(tried, state);
            }
        }
    }

    #[test]
    fn all_ways_to_deal_are_equal(options in options(), seed in any::<u64>()) {
        let named = |cards: Cards| (0..52_i64).filter(|card| cards >> card & 1 == 1).collect();
        let mut by_chance = Blob::new(options, None).unwrap();
        let (mut by_hand, table) = (by_chance, by_chance);
        by_chance.shuffle(&mut Rng::new(seed, 4)).unwrap();
        let seats = 0..by_chance.num_players() as u8;
        let hands: Vec<Vec<i64>> = seats.map(|seat| named(by_chance.hand(seat).unwrap())).collect();
        let turned_up = by_chance.turned_up().map(i64::from);
        by_hand.deal(&hands, turned_up).unwrap();
        prop_assert_eq!(by_hand.exact_key(), by_chance.exact_key());
        let entered = table.enter(1, &hands[1], turned_up).unwrap();
        prop_assert_eq!(entered.exact_key(), by_chance.view(1).unwrap().exact_key());
    }

    #[test]
    fn a_view_does_not_contain_the_hidden_hands(options in options(), seed in any::<u64>(), steps in 0..60_usize) {
        let mut state = Blob::new(options, Some(seed)).unwrap();
        let mut rng = Rng::new(seed, 3);
        let mut actions = Vec::new();
        for _ in 0..steps {
            let Ok(turn) = state.turn(&mut actions);
            if turn == Turn::Over {
                break;
            }
            let Ok(()) = state.apply(actions[rng.below(actions.len())]);
        }
        for seat in 0..state.num_players() as u8 {
            let view = state.view(seat).unwrap();
            prop_assert!(view.num_deals() >= 1);
            // Every consistent deal gives the same view, and the true hands are possible.
            let mut deal = view;
            prop_assert_eq!(deal.complete(&mut rng), Ok(()));
            check(&deal);
            prop_assert_eq!(deal.view(seat).unwrap(), view);
            prop_assert_eq!(deal.view_key(seat), state.view_key(seat));
            for other in 0..state.num_players() as u8 {
                if !state.is_terminal() && other != seat {
                    prop_assert!(view.hand(other).is_err());
                    let held = state.hand(other).unwrap();
                    prop_assert_eq!(held & !view.possible(other), 0);
                }
            }
        }
    }
}

/// A round of the default rules with these hands.
fn dealt(trump: Trump, hands: &[&str]) -> Blob {
    let hands: Vec<Vec<i64>> = hands
        .iter()
        .map(|hand| {
            let cards = hand.split(' ').map(|card| parse_card(card).unwrap());
            cards.map(i64::from).collect()
        })
        .collect();
    let sequence = Sequence::list(&[hands[0].len() as u8]).unwrap();
    let options = Options {
        trump,
        ..Options::new(hands.len() as u8, sequence)
    };
    let mut state = Blob::new(options, None).unwrap();
    state.deal(&hands, None).unwrap();
    state
}

fn play(state: &mut Blob, cards: &str) -> Result<(), BlobError> {
    cards
        .split(' ')
        .try_for_each(|card| state.play(i64::from(parse_card(card).unwrap())))
}

#[test]
fn a_round_by_hand() {
    // Dealer seat 0, so seat 1 bids and leads. Hearts are trump.
    let mut state = dealt(Trump::Fixed(1), &["AS 2H 3D", "KS QS 4C", "2S AD 5C"]);
    assert_eq!(state.to_play(), 1);
    state.bid(1).unwrap();
    state.bid(1).unwrap();
    assert_eq!(state.forbidden_bid(), Some(1));
    let before = state;
    assert_eq!(
        state.bid(1),
        Err(BlobError::Hook {
            seat: 0,
            bid: 1,
            cards: 3
        })
    );
    assert!(matches!(state.bid(4), Err(BlobError::BidRange { .. })));
    assert!(matches!(state.play(12), Err(BlobError::WrongPhase { .. })));
    assert_eq!(state, before);
    state.bid(2).unwrap();
    // Seat 1 leads the king; seat 2 must follow with its two; seat 0 takes it with the ace.
    play(&mut state, "KS").unwrap();
    assert!(matches!(
        play(&mut state, "AD"),
        Err(BlobError::MustFollow { seat: 2, .. })
    ));
    assert!(matches!(
        play(&mut state, "AS"),
        Err(BlobError::NotHeld { seat: 2, .. })
    ));
    play(&mut state, "2S AS").unwrap();
    assert_eq!((state.to_play(), state.tricks_of(0)), (0, 1));
    // Seat 0 leads diamonds; seat 1 has none and discards a club; seat 2 takes it.
    play(&mut state, "3D 4C AD").unwrap();
    assert_eq!(
        (state.to_play(), state.tricks_of(2), state.voids_of(1)),
        (2, 1, 1 << 3)
    );
    // The last trick: the two of trumps beats the club that was led.
    play(&mut state, "5C 2H QS").unwrap();
    assert!(state.is_terminal());
    assert_eq!(state.last_points(), [12, 0, 11]);
    let mut returns = [0.0; 3];
    let Ok(()) = state.returns(&mut returns);
    assert_eq!(returns, [12.0 / 13.0, 0.0, 11.0 / 13.0]);
    assert_eq!(state.play(0), Err(BlobError::GameOver));
}

#[test]
fn the_rounds_of_the_default_game() {
    let rounds = |name, cards, players, extra| {
        Sequence::named(name, cards, players, extra)
            .unwrap()
            .rounds()
            .to_vec()
    };
    assert_eq!(rounds("down_up", 7, 5, false).len(), 17);
    assert_eq!(rounds("down_up", 8, 5, false).len(), 19);
    assert_eq!(rounds("down_up", 3, 3, false), [3, 2, 1, 1, 1, 2, 3]);
    assert_eq!(rounds("down_up", 3, 3, true), [3, 2, 1, 1, 1, 1, 2, 3]);
    assert_eq!(rounds("down_up", 1, 4, false), [1, 1, 1, 1]);
    assert_eq!(rounds("down_up_once", 3, 4, false), [3, 2, 1, 2, 3]);
    assert_eq!(rounds("up_down", 3, 4, false), [1, 2, 3, 2, 1]);
    assert_eq!(rounds("down", 3, 4, false), [3, 2, 1]);
    assert_eq!(rounds("up", 3, 4, false), [1, 2, 3]);
    let options = Options::new(3, Sequence::named("down_up", 3, 3, false).unwrap());
    let trumps: Vec<_> = (0..7).map(|round| options.trump_of(round)).collect();
    assert_eq!(trumps, [0, 1, 2, 3, 4, 0, 1].map(Some));
}

#[test]
fn one_card_rounds_have_no_choice_of_cards() {
    for seed in 0..50 {
        let options = Options::new(4, Sequence::list(&[1]).unwrap());
        let mut state = Blob::new(options, Some(seed)).unwrap();
        let mut actions = Vec::new();
        for _ in 0..4 {
            let Ok(_) = state.turn(&mut actions);
            let Ok(()) = state.apply(actions[0]);
        }
        while !state.is_terminal() {
            let Ok(_) = state.turn(&mut actions);
            assert_eq!(actions.len(), 1);
            let Ok(()) = state.apply(actions[0]);
        }
        assert_eq!(
            state.last_points().iter().filter(|&&p| p > 0).count() % 4,
            3
        );
    }
}

#[test]
fn trump_may_not_be_led_before_it_is_broken() {
    let mut state = dealt(Trump::Fixed(1), &["AS 2H", "KH QS", "2D AD"]);
    let options = Options {
        break_trump: true,
        ..*state.options()
    };
    let mut strict = Blob::new(options, None).unwrap();
    let hands: Vec<Vec<i64>> = (0..3)
        .map(|seat| {
            sylvan_games::blob::cards::each(state.hand(seat).unwrap())
                .map(i64::from)
                .collect()
        })
        .collect();
    strict.deal(&hands, None).unwrap();
    for state in [&mut state, &mut strict] {
        [0, 0, 0].iter().for_each(|&bid| state.bid(bid).unwrap());
    }
    assert_eq!(play(&mut state, "KH"), Ok(()));
    assert!(matches!(
        play(&mut strict, "KH"),
        Err(BlobError::TrumpNotBroken { seat: 1, .. })
    ));
}

#[test]
fn leading_an_unbroken_trump_shows_voids() {
    let mut state = dealt(Trump::Fixed(1), &["AS 2H", "KH QH", "2D AD"]);
    let options = Options {
        break_trump: true,
        ..*state.options()
    };
    let mut strict = Blob::new(options, None).unwrap();
    let hands: Vec<Vec<i64>> = (0..3)
        .map(|seat| {
            sylvan_games::blob::cards::each(state.hand(seat).unwrap())
                .map(i64::from)
                .collect()
        })
        .collect();
    strict.deal(&hands, None).unwrap();
    for state in [&mut state, &mut strict] {
        [0, 0, 0].iter().for_each(|&bid| state.bid(bid).unwrap());
        play(state, "KH").unwrap();
    }
    assert_eq!((state.voids_of(1), strict.voids_of(1)), (0, 0b1101));
}

#[test]
fn chance_deals_from_the_dealers_left() {
    let options = Options {
        trump: Trump::TurnedUp,
        ..Options::new(3, Sequence::list(&[2]).unwrap())
    };
    let mut state = Blob::new(options, None).unwrap();
    for card in [0, 1, 2, 3, 4, 5, 30] {
        assert!(state.act(i64::from(FIRST_BID)).is_err());
        state.act(card).unwrap();
    }
    // From the dealer's left: seats 1, 2, 0, then again.
    assert_eq!(state.hand(1), Ok(0b001001));
    assert_eq!(state.hand(0), Ok(0b100100));
    assert_eq!(
        (state.turned_up(), state.trump(), state.to_play()),
        (Some(30), 2, 1)
    );
    assert_eq!(state.phase(), Phase::Bidding);
}
