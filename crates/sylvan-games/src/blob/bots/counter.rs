//! The card counter: chances from the cards that are out, and the bid or card most likely to pay.
//!
//! Every card of the hand has an *outlook*: `sure`, the chance that it takes a trick even if the seat
//! would rather lose it, and `possible ≥ sure`, the chance that it takes one if the seat tries.
//! With S sure tricks and F that can be taken or left, a seat that needs `d` more tricks makes it if
//! S ≤ d ≤ S + F. Cards taken as independent, that is
//!
//!     M(d) = P(S ≤ d) - P(S + F ≤ d - 1),
//!
//! from two sums of independent events. The bid maximises its points times M(b); the card played
//! maximises q · M₁(d - 1) + (1 - q) · M₀(d), where q is its chance to take this trick and M₁ and M₀
//! are about the other cards, on lead or not.
//!
//! A card loses to a seat that holds a higher one of its suit, or has none of it and a trump
//! (`odds.rs` counts). How far a seat uses that depends on whether it is *hungry*, short of its bid,
//! or *done*, and on how much choice it has: with one card left, none. Those weights are `Temper`'s;
//! they were tuned by play against the rule bot.

use sylvan_core::{Action, MAX_SEATS, Seat};

use super::odds::{Odds, power};
use crate::blob::cards::{Card, Cards, each, of_suit, suit};
use crate::blob::play::FIRST_BID;
use crate::blob::state::{Blob, NO_BID, Phase};

/// What the card counter takes the others to do; chances and factors, mostly 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temper {
    /// A seat that can take a later trick from a card that is meant to win does so, by a higher card
    /// and by a trump: if it is hungry, done, yet to bid.
    pub over: [f32; 3],
    pub ruff: [f32; 3],
    /// The same from a card that is meant to lose.
    pub save: [f32; 3],
    pub spare: [f32; 3],
    /// The same in the current trick: hungry, done.
    pub over_now: [f32; 2],
    pub ruff_now: [f32; 2],
    /// A trick comes in which a side card, a trump, can win, for each card of the hand.
    pub reach: [f32; 2],
    /// The seat uses the lead for a card.
    pub lead: f32,
    /// What each trick bid above the others' share leaves of `possible`, and of `sure`.
    pub crowd: [f32; 2],
    /// The worth of a trick that a hungry seat does not get, as a share of the own bid's.
    pub spoil: f32,
}

pub const TEMPER: Temper = Temper {
    over: [0.2, 0.0, 0.22],
    ruff: [0.78, 0.64, 0.47],
    save: [0.49, 0.66, 0.78],
    spare: [0.76, 0.42, 0.96],
    over_now: [1.0, 0.89],
    ruff_now: [0.21, 0.0],
    reach: [0.057, 1.0],
    lead: 0.05,
    crowd: [0.98, 0.4],
    spoil: 0.063,
};

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

/// The chance that a card takes a trick, whether wanted or not, and if wanted.
#[derive(Clone, Copy, Debug, Default)]
struct Outlook {
    sure: f32,
    possible: f32,
}

struct Counter<'a> {
    state: &'a Blob,
    temper: &'a Temper,
    odds: Odds,
    hand: Cards,
    /// By seat: 0 hungry, 1 done, 2 yet to bid.
    moods: [usize; MAX_SEATS],
    /// What is left of `possible` and `sure` after the others' bids.
    crowd: [f32; 2],
}

impl<'a> Counter<'a> {
    fn new(state: &'a Blob, temper: &'a Temper) -> Self {
        let hand = state.hands[usize::from(state.turn)];
        let moods = std::array::from_fn(|seat| match state.bids[seat] {
            NO_BID => 2,
            bid => usize::from(state.tricks[seat] >= bid),
        });
        let mut counter = Self {
            state,
            temper,
            odds: Odds::of(state),
            hand,
            moods,
            crowd: [1.0; 2],
        };
        if state.phase == Phase::Bidding {
            counter.crowd = counter.crowded();
        }
        counter
    }

    fn others(&self) -> impl Iterator<Item = Seat> {
        let own = self.state.turn;
        (0..self.state.options.players).filter(move |&seat| seat != own)
    }

    /// Less is possible where the others have bid for more than their share.
    fn crowded(&self) -> [f32; 2] {
        let (mut bid, mut seats) = (0.0, 0.0);
        for made in self.others().filter_map(|seat| self.state.bid_of(seat)) {
            bid += f32::from(made);
            seats += 1.0;
        }
        let share = seats * f32::from(self.state.cards) / f32::from(self.state.options.players);
        let above = (bid - share).clamp(-3.0, 3.0);
        self.temper.crowd.map(|crowd| crowd.powf(above))
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

    /// The outlook of a card among `left` that the seat will then hold, on lead and not.
    fn outlook(&self, card: Card, left: u32) -> [Outlook; 2] {
        let (t, higher) = (self.temper, self.higher(card));
        let choice = 1.0 - 1.0 / left as f32;
        let used = |weight: f32| 1.0 - (1.0 - weight) * choice;
        let (mut sure, mut possible) = (1.0, 1.0);
        for seat in self.others() {
            let (over, ruff) = self.threats(seat, card, higher);
            let mood = self.moods[usize::from(seat)];
            possible *= 1.0 - used(t.over[mood]) * over - used(t.ruff[mood]) * ruff;
            sure *= 1.0 - used(t.save[mood]) * over - used(t.spare[mood]) * ruff;
        }
        sure *= self.crowd[1];
        possible *= self.crowd[0];
        let trump = suit(card) == self.state.trump;
        let miss = if left == 1 {
            // The last card wins if it is led, is a trump, or is of the suit that comes.
            f32::from(u8::from(!trump)) * 0.75
        } else {
            power(1.0 - t.reach[usize::from(trump)], left)
        };
        let lead = if left == 1 { 1.0 } else { t.lead };
        [miss * (1.0 - lead), miss].map(|miss| {
            let possible = (possible * (1.0 - miss)).clamp(0.0, 1.0);
            Outlook {
                sure: (sure * (1.0 - miss)).clamp(0.0, possible),
                possible,
            }
        })
    }

    fn bid(&self) -> Action {
        let left = self.hand.count_ones();
        let leads = usize::from(self.state.after(self.state.dealer) != self.state.turn);
        let chances = Chances::of(each(self.hand).map(|card| self.outlook(card, left)[leads]));
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
        let left = self.hand.count_ones() - 1;
        let mut outlooks = [[Outlook::default(); 2]; 52];
        for card in each(self.hand) {
            outlooks[usize::from(card)] = self.outlook(card, left);
        }
        let spoil = self.temper.spoil * self.appetite();
        let mut best = (f32::MIN, 0);
        for card in each(self.state.playable_from(self.hand)) {
            let take = self.takes(card);
            let make = |place: usize, need: i32| {
                let rest = each(self.hand & !(1 << card));
                Chances::of(rest.map(|other| outlooks[usize::from(other)][place])).make(need)
            };
            let mut worth = take * spoil;
            if take > 0.0 {
                worth += take * make(0, need - 1);
            }
            if take < 1.0 {
                worth += (1.0 - take) * make(1, need);
            }
            if worth > best.0 {
                best = (worth, card);
            }
        }
        best.1
    }

    /// The share of the others that is hungry, less the share that is done.
    fn appetite(&self) -> f32 {
        let signs = self
            .others()
            .map(|seat| match self.moods[usize::from(seat)] {
                0 => 1.0,
                _ => -1.0,
            });
        signs.sum::<f32>() / (f32::from(self.state.options.players) - 1.0)
    }

    /// The chance that a card takes the current trick.
    fn takes(&self, card: Card) -> f32 {
        let (state, t) = (self.state, self.temper);
        if state.in_trick > 0 && !state.beats(card) {
            return 0.0;
        }
        let higher = self.higher(card);
        let choice = 1.0 - 1.0 / f32::from(state.cards - state.tricks_done);
        let used = |weight: f32| 1.0 - (1.0 - weight) * choice;
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
            chance *= 1.0 - used(t.over_now[mood]) * over - used(t.ruff_now[mood]) * ruff;
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
