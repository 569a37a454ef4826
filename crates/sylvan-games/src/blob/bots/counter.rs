//! The card counter: chances from the cards that are out, and the bid or card most likely to pay.
//!
//! Every card of the hand has an *outlook*: `sure`, the chance that it takes a trick even if the seat
//! would rather lose it, and `possible ≥ sure`, the chance that it takes one if the seat tries.
//! With S sure tricks and F that can be taken or left, a seat that needs `d` more tricks makes it if
//! S ≤ d ≤ S + F. Cards taken as independent, that is
//!
//!     M(d) = P(S ≤ d) - P(S + F ≤ d - 1),
//!
//! from two sums of independent events. The bid maximises (10 + b) · M(b); the card played
//! maximises q · M'(d - 1) + (1 - q) · M'(d), q its chance to take this trick and M' without it.
//!
//! A card loses to a seat that holds a higher one of its suit, or has none of it and a trump
//! (`odds.rs` counts). How far a seat uses that depends on whether it is *hungry*, short of its bid,
//! or *done*: the weights of `Temper`, which were tuned by play against the rule bot.

use sylvan_core::{Action, MAX_SEATS, Seat};

use super::odds::Odds;
use crate::blob::cards::{Card, Cards, each, of_suit, suit};
use crate::blob::play::FIRST_BID;
use crate::blob::state::{Blob, NO_BID, Phase};

/// How likely a seat that can take a trick from a card does so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temper {
    /// By a higher card of the suit, and by a trump: of a seat that is hungry, done, or yet to bid.
    pub over: [f32; 3],
    pub ruff: [f32; 3],
    /// The same for a card that would rather lose.
    pub save: [f32; 3],
    pub spare: [f32; 3],
    /// In the current trick: seats that have yet to play.
    pub over_now: [f32; 2],
    pub ruff_now: [f32; 2],
    /// What is left of `sure` of a card for each side suit that the hand lacks, to throw it on.
    pub discard: f32,
    /// What is left of `possible` for each trick that others have bid above their share.
    pub crowd: f32,
}

pub const TEMPER: Temper = Temper {
    over: [0.75, 0.35, 0.6],
    ruff: [0.6, 0.2, 0.45],
    save: [0.95, 0.75, 0.9],
    spare: [0.7, 0.3, 0.5],
    over_now: [0.85, 0.3],
    ruff_now: [0.85, 0.2],
    discard: 0.85,
    crowd: 1.0,
};

/// The outlook of one card.
#[derive(Clone, Copy, Debug, Default)]
struct Outlook {
    sure: f32,
    possible: f32,
}

/// The action of the seat to move.
pub fn choose(state: &Blob, temper: &Temper) -> Action {
    let hand = state.hands[usize::from(state.turn)];
    if state.phase == Phase::Playing {
        let legal = state.playable_from(hand);
        if legal & (legal - 1) == 0 {
            return Action::from(legal.trailing_zeros() as Card);
        }
    }
    let counter = Counter::new(state, temper);
    match state.phase {
        Phase::Bidding => counter.bid(),
        _ => Action::from(counter.play()),
    }
}

struct Counter<'a> {
    state: &'a Blob,
    temper: &'a Temper,
    odds: Odds,
    /// By seat: 0 hungry, 1 done, 2 yet to bid.
    moods: [usize; MAX_SEATS],
    hand: Cards,
}

impl<'a> Counter<'a> {
    fn new(state: &'a Blob, temper: &'a Temper) -> Self {
        let moods = std::array::from_fn(|seat| match state.bids[seat] {
            NO_BID => 2,
            bid => usize::from(state.tricks[seat] >= bid),
        });
        Self {
            state,
            temper,
            odds: Odds::of(state),
            moods,
            hand: state.hands[usize::from(state.turn)],
        }
    }

    fn others(&self) -> impl Iterator<Item = Seat> {
        let own = self.state.turn;
        (0..self.state.options.players).filter(move |&seat| seat != own)
    }

    /// Unseen cards of its suit that are higher than a card.
    fn higher(&self, card: Card) -> u32 {
        let above = (u64::MAX << card) << 1;
        (self.odds.unseen & of_suit(suit(card)) & above).count_ones()
    }

    /// The chances that a seat can beat a card in its suit, and by a trump.
    #[inline]
    fn threats(&self, seat: Seat, card: Card, higher: u32) -> (f32, f32) {
        let (colour, trump) = (suit(card), self.state.trump);
        let over = self.odds.any_of(seat, colour, higher);
        if trump >= 4 || colour == trump {
            return (over, 0.0);
        }
        let lacks = &self.odds.lacks[usize::from(seat)];
        let ruff = lacks[usize::from(colour)] * (1.0 - lacks[usize::from(trump)]);
        (over, ruff)
    }

    fn outlook(&self, card: Card) -> Outlook {
        let (t, higher) = (self.temper, self.higher(card));
        let (mut sure, mut possible) = (1.0, 1.0);
        for seat in self.others() {
            let (over, ruff) = self.threats(seat, card, higher);
            let mood = self.moods[usize::from(seat)];
            possible *= 1.0 - t.over[mood] * over - t.ruff[mood] * ruff;
            sure *= 1.0 - t.save[mood] * over - t.spare[mood] * ruff;
        }
        let suits = self.state.all_suits();
        let lacked = (0..4)
            .filter(|&s| {
                suits >> s & 1 == 1 && s != self.state.trump && self.hand & of_suit(s) == 0
            })
            .count();
        for _ in 0..lacked {
            sure *= t.discard;
        }
        let possible = possible * self.crowd();
        Outlook {
            sure: sure.clamp(0.0, possible.clamp(0.0, 1.0)),
            possible: possible.clamp(0.0, 1.0),
        }
    }

    /// Less is possible where the others have bid for more than their share.
    fn crowd(&self) -> f32 {
        if self.temper.crowd == 1.0 {
            return 1.0;
        }
        let (mut bid, mut seats) = (0.0, 0.0);
        for seat in self.others() {
            if let Some(made) = self.state.bid_of(seat) {
                bid += f32::from(made);
                seats += 1.0;
            }
        }
        let share = seats * f32::from(self.state.cards) / f32::from(self.state.options.players);
        self.temper.crowd.powf((bid - share).clamp(-2.0, 3.0))
    }

    fn bid(&self) -> Action {
        let chances = Chances::of(each(self.hand).map(|card| self.outlook(card)));
        let mask = self.state.bid_mask();
        let scoring = self.state.options.scoring;
        let bids = (0..=self.state.cards).filter(|&bid| mask >> bid & 1 == 1);
        let worth = |bid: u8| f32::from(scoring.points(bid, bid)) * chances.make(i32::from(bid));
        let best = bids.max_by(|&a, &b| worth(a).total_cmp(&worth(b)).then(b.cmp(&a)));
        FIRST_BID + Action::from(best.unwrap_or_default())
    }

    fn play(&self) -> Card {
        let own = usize::from(self.state.turn);
        let need = i32::from(self.state.bids[own]) - i32::from(self.state.tricks[own]);
        let mut outlooks = [Outlook::default(); 52];
        for card in each(self.hand) {
            outlooks[usize::from(card)] = self.outlook(card);
        }
        let mut best = (f32::MIN, 0);
        for card in each(self.state.playable_from(self.hand)) {
            let rest = each(self.hand & !(1 << card));
            let chances = Chances::of(rest.map(|other| outlooks[usize::from(other)]));
            let take = self.takes(card);
            let make = take * chances.make(need - 1) + (1.0 - take) * chances.make(need);
            // Where the bid is lost anyway, a trick is one that a hungry seat does not get.
            let worth = make + 1e-4 * take * self.appetite();
            if worth > best.0 {
                best = (worth, card);
            }
        }
        best.1
    }

    /// Hungry seats less those that are done.
    fn appetite(&self) -> f32 {
        self.others()
            .map(|seat| {
                if self.moods[usize::from(seat)] == 0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .sum()
    }

    /// The chance that a card takes the current trick.
    fn takes(&self, card: Card) -> f32 {
        let state = self.state;
        if state.in_trick > 0 && !state.beats(card) {
            return 0.0;
        }
        let higher = self.higher(card);
        let mut chance = 1.0;
        for seat in self.others().filter(|&seat| !state.has_played(seat)) {
            let mood = self.moods[usize::from(seat)];
            let (over, ruff) = if state.in_trick > 0 && suit(card) != state.led {
                // A trump on another suit: only who lacks that suit can go over it.
                let lacks = self.odds.lacks[usize::from(seat)][usize::from(state.led)];
                (0.0, lacks * self.odds.any_of(seat, suit(card), higher))
            } else {
                self.threats(seat, card, higher)
            };
            chance *= 1.0 - self.temper.over_now[mood] * over - self.temper.ruff_now[mood] * ruff;
        }
        chance.clamp(0.0, 1.0)
    }
}

/// The distributions of S and of S + F.
struct Chances {
    sure: [f32; 14],
    most: [f32; 14],
    len: usize,
}

impl Chances {
    fn of(cards: impl Iterator<Item = Outlook>) -> Self {
        let mut chances = Self {
            sure: [0.0; 14],
            most: [0.0; 14],
            len: 0,
        };
        chances.sure[0] = 1.0;
        chances.most[0] = 1.0;
        for outlook in cards {
            add(&mut chances.sure, chances.len, outlook.sure);
            add(&mut chances.most, chances.len, outlook.possible);
            chances.len += 1;
        }
        chances
    }

    /// M(need).
    fn make(&self, need: i32) -> f32 {
        if need < 0 || need > self.len as i32 {
            return 0.0;
        }
        let need = need as usize;
        let sure: f32 = self.sure[..=need].iter().sum();
        let short: f32 = self.most[..need].iter().sum();
        (sure - short).max(0.0)
    }
}

/// One more independent event to a distribution over 0..=len.
#[inline]
fn add(distribution: &mut [f32; 14], len: usize, chance: f32) {
    for count in (0..=len).rev() {
        let moved = distribution[count] * chance;
        distribution[count] -= moved;
        distribution[count + 1] += moved;
    }
}
