//! Training rounds played by bots, with policy targets.
//!
//! A *student* is a seat whose decisions become training examples. Without rollouts it plays like
//! the card counter, and the target is its choice. With rollouts every legal action is evaluated in
//! sampled deals of the seat's view (`rollouts.rs`); the target is their utilities, and the best
//! action is played. Sometimes a student plays a random legal action instead, so that positions
//! after mistakes are learned too. The other seats are card counters and rule bots.
//!
//! A round depends only on a seed and its number. It is stored as its deal and its actions, one
//! byte each; observations are rebuilt from them (`RoundSlices::lessons`).

use sylvan_core::{Action, Rng, Seat};

use super::rollouts::Rollouts;
use super::{Bot, counter};
use crate::blob::cards::{NO_CARD, NO_TRUMP, each};
use crate::blob::encoding::OBSERVATION_LEN;
use crate::blob::options::{MAX_CARDS, MAX_PLAYERS, MIN_PLAYERS, Options, Sequence, Trump};
use crate::blob::play::NUM_ACTIONS;
use crate::blob::state::{Blob, Phase};

/// Not a training example: a forced action, or not a student's.
const NOTHING: u8 = 0;
/// The target is the action played.
const CHOICE: u8 = 1;
/// The target is the utilities of all legal actions.
const VERDICTS: u8 = 2;
/// The stored number of a utility of 1.
const ONE: f64 = 127.0;

/// The distribution of training rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Study {
    /// Deals per decision of a student; 0: students are card counters.
    pub deals: u32,
    /// The probability that a student plays a random legal action.
    pub explore: f64,
    /// The share of rounds like those of the rating games: five players, up to seven cards.
    pub usual: f64,
    /// The most cards of a round.
    pub most_cards: u8,
}

/// A stored round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Players, cards, dealer, trump, the card turned up (or `NO_CARD`).
    pub table: [u8; 5],
    /// The cards of all seats, one hand after another.
    pub hands: Vec<u8>,
    pub actions: Vec<u8>,
    /// The kind of target of each action.
    pub marks: Vec<u8>,
    /// The utilities of the legal actions in rising order, for each ply with `VERDICTS`.
    pub verdicts: Vec<i8>,
}

/// One training example.
#[derive(Debug)]
pub struct Lesson<'a> {
    pub state: &'a Blob,
    pub seat: Seat,
    /// The policy target over all actions.
    pub policy: [f32; NUM_ACTIONS],
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Student,
    Counter,
    Rule,
}

impl Study {
    /// Plays the round with this number.
    pub fn play(&self, seed: u64, number: u64) -> Round {
        let mut rng = Rng::new(seed, number);
        let mut state = self.dealt(&mut rng);
        let roles = self.roles(&mut rng);
        let players = state.num_players();
        let mut round = Round {
            table: [
                state.options.players,
                state.cards,
                state.dealer,
                state.trump,
                state.turned_up,
            ],
            hands: state.hands[..players]
                .iter()
                .flat_map(|&hand| each(hand))
                .collect(),
            ..Round::default()
        };
        while state.phase() != Phase::Over {
            let action = match roles[usize::from(state.turn)] {
                Role::Student => self.decide(&state, &mut round, &mut rng),
                Role::Counter => unlearned(&Bot::COUNTER, &state, &mut round, &mut rng),
                Role::Rule => unlearned(&Bot::Rule, &state, &mut round, &mut rng),
            };
            round.actions.push(action as u8);
            state.take(action);
        }
        round
    }

    /// A random table, dealt, whose game ends with the round.
    fn dealt(&self, rng: &mut Rng) -> Blob {
        let usual = rng.uniform() < self.usual;
        let (players, most) = if usual {
            (5, 7)
        } else {
            let players = MIN_PLAYERS + rng.below(usize::from(MAX_PLAYERS - MIN_PLAYERS) + 1) as u8;
            (players, MAX_CARDS.min(52 / players))
        };
        let cards = 1 + rng.below(usize::from(most.min(self.most_cards))) as u8;
        let trump = match rng.below(11) {
            10 => Trump::TurnedUp,
            number if number % 5 == 4 => Trump::None,
            number => Trump::Fixed((number % 5) as u8),
        };
        let sequence = Sequence::list(&[cards]).expect("one round is a sequence");
        let options = Options {
            trump,
            first_dealer: rng.below(usize::from(players)) as u8,
            ..Options::new(players, sequence)
        };
        let mut state = Blob::new(options, None).expect("valid options");
        state.shuffle(rng).expect("an undealt round");
        state.this_round()
    }

    /// Random roles; half of all tables have only students.
    fn roles(&self, rng: &mut Rng) -> [Role; 8] {
        let mut roles = [Role::Student; 8];
        if rng.below(2) == 0 {
            return roles;
        }
        for role in &mut roles {
            *role = match rng.below(8) {
                0..4 => Role::Student,
                4..7 => Role::Counter,
                _ => Role::Rule,
            };
        }
        roles
    }

    fn decide(&self, state: &Blob, round: &mut Round, rng: &mut Rng) -> Action {
        let own = counter::choose(state, &counter::TEMPER);
        let mut legal = Vec::with_capacity(16);
        state.for_each_legal(|action| legal.push(action));
        if legal.len() == 1 {
            round.marks.push(NOTHING);
            return own;
        }
        let explored = (rng.uniform() < self.explore).then(|| legal[rng.below(legal.len())]);
        if self.deals == 0 {
            // A random action is not a target.
            round
                .marks
                .push(if explored.is_some() { NOTHING } else { CHOICE });
            return explored.unwrap_or(own);
        }
        let rollouts = Rollouts {
            deals: self.deals,
            ..Rollouts::default()
        };
        let verdicts = rollouts.judge(state, rng);
        round.marks.push(VERDICTS);
        let whole = |utility: f64| (utility * ONE).round().clamp(-ONE, ONE) as i8;
        let bytes = verdicts.iter().map(|verdict| whole(verdict.utility));
        round.verdicts.extend(bytes);
        let best = verdicts.iter().max_by(|a, b| {
            let order = a.utility.total_cmp(&b.utility);
            order.then_with(|| (a.action == own).cmp(&(b.action == own)))
        });
        explored.unwrap_or(best.map_or(own, |verdict| verdict.action))
    }
}

fn unlearned(bot: &Bot, state: &Blob, round: &mut Round, rng: &mut Rng) -> Action {
    round.marks.push(NOTHING);
    bot.choose(state, rng)
}

/// A stored round, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct RoundSlices<'a> {
    pub table: &'a [u8],
    pub hands: &'a [u8],
    pub actions: &'a [u8],
    pub marks: &'a [u8],
    pub verdicts: &'a [i8],
}

impl Round {
    pub fn slices(&self) -> RoundSlices<'_> {
        RoundSlices {
            table: &self.table,
            hands: &self.hands,
            actions: &self.actions,
            marks: &self.marks,
            verdicts: &self.verdicts,
        }
    }
}

impl RoundSlices<'_> {
    /// Calls `found` with every training example; returns the final state, or `None` if the bytes
    /// are not a round of Blob.
    ///
    /// Utilities become probabilities proportional to exp(utility / temperature).
    pub fn lessons(&self, temperature: f32, mut found: impl FnMut(&Lesson<'_>)) -> Option<Blob> {
        let mut state = self.first()?;
        let mut verdicts = self.verdicts;
        let mut legal = Vec::with_capacity(16);
        if self.actions.len() != self.marks.len() {
            return None;
        }
        for (&action, &mark) in self.actions.iter().zip(self.marks) {
            legal.clear();
            state.for_each_legal(|action| legal.push(action));
            let played = Action::from(action);
            if state.phase() == Phase::Over || !legal.contains(&played) {
                return None;
            }
            if mark != NOTHING {
                let mut policy = [0.0; NUM_ACTIONS];
                if mark == VERDICTS {
                    let (own, rest) = verdicts.split_at_checked(legal.len())?;
                    verdicts = rest;
                    softmax(&legal, own, temperature, &mut policy);
                } else {
                    policy[action as usize] = 1.0;
                }
                let seat = state.turn;
                found(&Lesson {
                    state: &state,
                    seat,
                    policy,
                });
            }
            state.take(played);
        }
        (state.phase() == Phase::Over && verdicts.is_empty()).then_some(state)
    }

    /// The number of training examples.
    pub fn len(&self) -> usize {
        self.marks.iter().filter(|&&mark| mark != NOTHING).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dealt table; `None` if it is invalid.
    fn first(&self) -> Option<Blob> {
        let &[players, cards, dealer, trump, turned_up] = self.table else {
            return None;
        };
        let trump = match (turned_up, trump) {
            (NO_CARD, NO_TRUMP) => Trump::None,
            (NO_CARD, suit) => Trump::Fixed(suit),
            _ => Trump::TurnedUp,
        };
        let options = Options {
            trump,
            first_dealer: dealer,
            ..Options::new(players, Sequence::list(&[cards]).ok()?)
        };
        let mut state = Blob::new(options, None).ok()?;
        if self.hands.len() != usize::from(players) * usize::from(cards) {
            return None;
        }
        let code = |&card: &u8| i64::from(card);
        let hands = self.hands.chunks(usize::from(cards));
        let hands: Vec<Vec<i64>> = hands.map(|hand| hand.iter().map(code).collect()).collect();
        let up = (turned_up != NO_CARD).then_some(i64::from(turned_up));
        state.deal(&hands, up).ok()?;
        Some(state.this_round())
    }
}

fn softmax(legal: &[Action], utilities: &[i8], temperature: f32, policy: &mut [f32]) {
    let most = utilities.iter().copied().max().unwrap_or_default();
    let mut sum = 0.0;
    for (&action, &utility) in legal.iter().zip(utilities) {
        let below = (f32::from(utility) - f32::from(most)) / ONE as f32;
        let weight = (below / temperature).exp();
        policy[action as usize] = weight;
        sum += weight;
    }
    policy.iter_mut().for_each(|weight| *weight /= sum);
}

/// Rows of a batch, one per training example.
#[derive(Debug, Default)]
pub struct Rows {
    /// `[n, OBSERVATION_LEN]`
    pub observations: Vec<f32>,
    /// `[n, NUM_ACTIONS]`
    pub policy: Vec<f32>,
    pub legal: Vec<bool>,
    /// `[n, 8]` points of each seat as a share of the highest possible, starting with the seat to
    /// move; NaN marks empty seats.
    pub values: Vec<f32>,
}

impl Rows {
    /// Adds the training examples of a round; returns false if it is invalid.
    pub fn add(&mut self, round: &RoundSlices<'_>, temperature: f32) -> bool {
        let mut seats = Vec::with_capacity(round.len());
        let over = round.lessons(temperature, |lesson| {
            let at = self.observations.len();
            self.observations.resize(at + OBSERVATION_LEN, 0.0);
            lesson.state.encode(&mut self.observations[at..]);
            let at = self.legal.len();
            self.legal.resize(at + NUM_ACTIONS, false);
            lesson
                .state
                .for_each_legal(|action| self.legal[at + action as usize] = true);
            self.policy.extend(lesson.policy);
            seats.push(lesson.seat);
        });
        let Some(over) = over else {
            return false;
        };
        let (n, most) = (over.num_players(), over.options.scoring.most(over.cards));
        for seat in seats {
            for offset in 0..8 {
                let share = || f64::from(over.last[(usize::from(seat) + offset) % n]) / most;
                let value = if offset < n { share() as f32 } else { f32::NAN };
                self.values.push(value);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::cards::bit;

    const STUDY: Study = Study {
        deals: 4,
        explore: 0.1,
        usual: 0.5,
        most_cards: 13,
    };

    #[test]
    fn stored_rounds_replay_exactly() {
        for number in 0..60 {
            let study = Study {
                deals: (number % 3) as u32,
                ..STUDY
            };
            let round = study.play(5, number);
            let slices = round.slices();
            let mut verdicts = round.verdicts.clone().into_iter();
            let mut count = 0;
            let over = slices.lessons(0.1, |lesson| {
                count += 1;
                assert_eq!(lesson.state.to_play(), lesson.seat);
                assert!((lesson.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                if study.deals > 0 {
                    let mut own = Vec::new();
                    lesson
                        .state
                        .for_each_legal(|action| own.push((verdicts.next().unwrap(), action)));
                    let best = own.iter().map(|pair| pair.0).max().unwrap();
                    let most = lesson.policy.iter().copied().fold(0.0, f32::max);
                    for (verdict, action) in own {
                        assert_eq!(verdict == best, lesson.policy[action as usize] == most);
                    }
                }
            });
            let over = over.expect("a round");
            assert_eq!(count, slices.len());
            let hands: u64 = round.hands.iter().fold(0, |all, &card| all | bit(card));
            assert_eq!(hands, over.gone);
            let mut rows = Rows::default();
            assert!(rows.add(&slices, 0.1));
            assert_eq!(rows.values.len(), 8 * count);
            assert_eq!(study.play(5, number), round);
        }
    }

    #[test]
    fn invalid_bytes_are_refused() {
        let round = STUDY.play(1, 1);
        let mut rows = Rows::default();
        for spoil in [
            |round: &mut Round| round.table[0] = 9,
            |round: &mut Round| round.hands[0] = round.hands[1],
            |round: &mut Round| round.actions[0] = 51,
            |round: &mut Round| round.actions.truncate(3),
            |round: &mut Round| round.verdicts.push(0),
        ] {
            let mut spoilt = round.clone();
            spoil(&mut spoilt);
            assert!(!rows.add(&spoilt.slices(), 0.1));
        }
    }
}
