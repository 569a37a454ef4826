//! The card counter: estimates probabilities from the unseen cards, and takes the bid or card with
//! the highest expected value.
//!
//! Every card of the hand has an *outlook*: `sure`, the probability that it takes a trick even if
//! the seat wants to lose it, and `possible ≥ sure`, the probability that it takes one if the seat
//! tries. With S sure tricks and F optional ones, a seat that needs `d` more tricks makes its bid
//! if S ≤ d ≤ S + F. With independent cards, the probability is
//!
//! ```text
//! M(d) = P(S ≤ d) - P(S + F ≤ d - 1),
//! ```
//!
//! from two sums of independent events. The bid maximises its points times M(b); the card played
//! maximises q · M₁(d - 1) + (1 - q) · M₀(d), where q is its probability to take this trick and M₁
//! and M₀ are computed from the other cards, with and without the lead.
//!
//! A card loses to a seat that holds a higher card of its suit, or a trump and no card of its suit
//! (`odds.rs` has the probabilities). How often a seat uses such a card depends on whether it is
//! *hungry* (below its bid) or *done*, and on its choice: with one card left it has none. `Temper`
//! holds these weights; they were tuned by games against the rule bot.

use sylvan_core::{Action, MAX_SEATS};

use super::odds::{Lanes, Odds};
use crate::blob::cards::{Card, Cards, NO_TRUMP, each, of_suit, suit};
use crate::blob::play::FIRST_BID;
use crate::blob::state::{Blob, NO_BID, Phase};

/// The model of the other seats; probabilities and factors, mostly 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temper {
    /// The probability that a seat that can beat a card played to win does so in a later trick, by
    /// a higher card and by a trump: if it is hungry, done, or has not bid.
    pub over: [f32; 3],
    pub ruff: [f32; 3],
    /// The same for a card played to lose.
    pub save: [f32; 3],
    pub spare: [f32; 3],
    /// The same in the current trick: if it is hungry or done.
    pub over_now: [f32; 2],
    pub ruff_now: [f32; 2],
    /// The probability, per card of the hand, of a trick in which a side card, or a trump, can win.
    pub reach: [f32; 2],
    /// The probability that the seat uses the lead for a card.
    pub lead: f32,
    /// The factor of `possible`, and of `sure`, for each trick that the others bid above their
    /// share.
    pub crowd: [f32; 2],
    /// The value of a trick denied to a hungry seat, as a share of the value of the own bid.
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
    let mut best = (0, f32::MIN);
    judge(state, temper, |action, worth| {
        if worth > best.1 {
            best = (action, worth);
        }
    });
    best.0
}

/// Calls `found` with every legal action, in order, and its value: for a bid, its expected points
/// as a share of the highest possible; for a card, the probability that the bid is made.
pub fn judge(state: &Blob, temper: &Temper, found: impl FnMut(Action, f32)) {
    let counter = Counter::new(state, temper);
    match state.phase {
        Phase::Bidding => counter.bids(found),
        _ => counter.cards(found),
    }
}

/// The probability that a card takes a trick, even if unwanted (`sure`) and if wanted (`possible`).
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
    /// Per seat: 0 hungry, 1 done, 2 has not bid, 3 ignored (the own or an empty seat).
    moods: [usize; MAX_SEATS],
    /// The factors of `possible` and `sure` from the others' bids.
    crowd: [f32; 2],
}

/// The probability that each seat uses a higher card or a trump; 0 for seats that cannot.
#[derive(Default)]
struct Uses {
    over: Lanes,
    ruff: Lanes,
}

impl<'a> Counter<'a> {
    fn new(state: &'a Blob, temper: &'a Temper) -> Self {
        let moods = std::array::from_fn(|seat| match state.bids[seat] {
            _ if seat == usize::from(state.turn) || seat >= state.num_players() => 3,
            NO_BID => 2,
            bid => usize::from(state.tricks[seat] >= bid),
        });
        let mut counter = Self {
            state,
            temper,
            odds: Odds::of(state),
            hand: state.hands[usize::from(state.turn)],
            moods,
            crowd: [1.0; 2],
        };
        if state.phase == Phase::Bidding {
            counter.crowd = counter.crowded();
        }
        counter
    }

    /// The factors of `possible` and `sure`: below 1 if the others bid more than their share.
    fn crowded(&self) -> [f32; 2] {
        let (mut bid, mut seats) = (0.0, 0.0);
        for seat in (0..MAX_SEATS).filter(|&seat| self.moods[seat] < 2) {
            bid += f32::from(self.state.bids[seat]);
            seats += 1.0;
        }
        let share = seats * f32::from(self.state.cards) / f32::from(self.state.options.players);
        let above = (bid - share).clamp(-3.0, 3.0);
        self.temper.crowd.map(|crowd| crowd.powf(above))
    }

    /// The probabilities per seat by its mood, with `left` cards in hand: with one card it has no
    /// choice.
    fn uses(&self, over: &[f32], ruff: &[f32], left: u32) -> Uses {
        let choice = 1.0 - 1.0 / left as f32;
        let used = |weight: f32| 1.0 - (1.0 - weight) * choice;
        let mut uses = Uses::default();
        for seat in 0..MAX_SEATS {
            if let (Some(&over), Some(&ruff)) =
                (over.get(self.moods[seat]), ruff.get(self.moods[seat]))
            {
                uses.over[seat] = used(over);
                uses.ruff[seat] = used(ruff);
            }
        }
        uses
    }

    /// The number of unseen higher cards of a card's suit.
    fn higher(&self, card: Card) -> u32 {
        let above = (u64::MAX << card) << 1;
        (self.odds.unseen & of_suit(suit(card)) & above).count_ones()
    }

    /// The probability that no seat beats a card in a trick of its suit.
    #[inline]
    fn stands(&self, card: Card, uses: &Uses) -> f32 {
        let (suit, trump) = (suit(card), self.state.trump);
        let none = self.odds.none_of(suit, self.higher(card));
        if trump == NO_TRUMP || suit == trump {
            return product(|seat| 1.0 - uses.over[seat] * (1.0 - none[seat]));
        }
        let (lacks, trumps) = (self.odds.lacks(suit), self.odds.lacks(trump));
        product(|seat| {
            let ruff = lacks[seat] * (1.0 - trumps[seat]);
            1.0 - uses.over[seat] * (1.0 - none[seat]) - uses.ruff[seat] * ruff
        })
    }

    /// The outlook of a card among `left` in the hand, with and without the lead; `wins` and
    /// `loses` describe how the others react to a card played to win and to lose.
    fn outlook(&self, card: Card, left: u32, wins: &Uses, loses: &Uses) -> [Outlook; 2] {
        let possible = self.stands(card, wins) * self.crowd[0];
        let sure = self.stands(card, loses) * self.crowd[1];
        let trump = suit(card) == self.state.trump;
        let miss = match (left, trump) {
            // The last card can win if it is led, is a trump, or is of the suit led.
            (1, true) => 0.0,
            (1, false) => 0.75,
            _ => power(1.0 - self.temper.reach[usize::from(trump)], left),
        };
        let lead = if left == 1 { 1.0 } else { self.temper.lead };
        [miss * (1.0 - lead), miss].map(|miss| {
            let possible = (possible * (1.0 - miss)).clamp(0.0, 1.0);
            Outlook {
                sure: (sure * (1.0 - miss)).clamp(0.0, possible),
                possible,
            }
        })
    }

    fn bids(&self, mut found: impl FnMut(Action, f32)) {
        let (t, left) = (self.temper, self.hand.count_ones());
        let (wins, loses) = (
            self.uses(&t.over, &t.ruff, left),
            self.uses(&t.save, &t.spare, left),
        );
        let leads = usize::from(self.state.after(self.state.dealer) != self.state.turn);
        let mut chances = Chances::default();
        for card in each(self.hand) {
            chances.add(self.outlook(card, left, &wins, &loses)[leads]);
        }
        let chances = chances.summed();
        let mask = self.state.bid_mask();
        let scoring = self.state.options.scoring;
        let most = scoring.most(self.state.cards) as f32;
        for bid in (0..=self.state.cards).filter(|&bid| mask >> bid & 1 == 1) {
            let worth = f32::from(scoring.points(bid, bid)) * chances.make(i32::from(bid));
            found(FIRST_BID + Action::from(bid), worth / most);
        }
    }

    fn cards(&self, mut found: impl FnMut(Action, f32)) {
        let (t, own) = (self.temper, usize::from(self.state.turn));
        let need = i32::from(self.state.bids[own]) - i32::from(self.state.tricks[own]);
        let left = self.hand.count_ones() - 1;
        let (wins, loses) = (
            self.uses(&t.over, &t.ruff, left),
            self.uses(&t.save, &t.spare, left),
        );
        let now = self.uses_now();
        let mut outlooks = [[Outlook::default(); 2]; 13];
        let mut chances = [Chances::default(), Chances::default()];
        for (index, card) in each(self.hand).enumerate() {
            outlooks[index] = self.outlook(card, left, &wins, &loses);
            chances[0].add(outlooks[index][0]);
            chances[1].add(outlooks[index][1]);
        }
        let chances = chances.map(Chances::summed);
        let spoil = t.spoil * self.appetite();
        let legal = self.state.playable_from(self.hand);
        for (index, card) in each(self.hand).enumerate() {
            if legal >> card & 1 == 0 {
                continue;
            }
            let take = self.takes(card, &now);
            let mut worth = take * spoil;
            if take > 0.0 {
                worth += take * chances[0].make_without(outlooks[index][0], need - 1);
            }
            if take < 1.0 {
                worth += (1.0 - take) * chances[1].make_without(outlooks[index][1], need);
            }
            found(Action::from(card), worth);
        }
    }

    /// The share of hungry seats minus the share of other seats.
    fn appetite(&self) -> f32 {
        let sign = |&mood: &usize| [1.0, -1.0, -1.0, 0.0][mood];
        let sum: f32 = self.moods.iter().map(sign).sum();
        sum / (f32::from(self.state.options.players) - 1.0)
    }

    /// The probabilities of the seats that have not played to this trick.
    fn uses_now(&self) -> Uses {
        let (state, t) = (self.state, self.temper);
        let left = state.cards - state.tricks_done;
        let mut uses = self.uses(&t.over_now, &t.ruff_now, u32::from(left));
        if state.in_trick > 0 {
            let mut seat = state.leaders[usize::from(state.tricks_done)];
            for _ in 0..state.in_trick {
                uses.over[usize::from(seat)] = 0.0;
                uses.ruff[usize::from(seat)] = 0.0;
                seat = state.after(seat);
            }
        }
        uses
    }

    /// The probability that a card takes the current trick.
    fn takes(&self, card: Card, now: &Uses) -> f32 {
        let state = self.state;
        if state.in_trick > 0 && !state.beats(card) {
            return 0.0;
        }
        let chance = if state.in_trick > 0 && suit(card) != state.led {
            // A trump on another suit: only a seat void in that suit can beat it.
            let lacks = self.odds.lacks(state.led);
            let none = self.odds.none_of(suit(card), self.higher(card));
            product(|seat| 1.0 - now.ruff[seat] * lacks[seat] * (1.0 - none[seat]))
        } else {
            self.stands(card, now)
        };
        chance.clamp(0.0, 1.0)
    }
}

#[inline]
fn product(of: impl Fn(usize) -> f32) -> f32 {
    let factors: Lanes = std::array::from_fn(of);
    let pairs: [f32; 4] = std::array::from_fn(|i| factors[i] * factors[i + 4]);
    (pairs[0] * pairs[2]) * (pairs[1] * pairs[3])
}

#[inline]
fn power(base: f32, exponent: u32) -> f32 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// The distributions of S and of S + F over a number of cards.
#[derive(Clone, Copy)]
struct Chances {
    sure: [f32; 14],
    most: [f32; 14],
    len: usize,
}

impl Default for Chances {
    fn default() -> Self {
        let mut none = [0.0; 14];
        none[0] = 1.0;
        Self {
            sure: none,
            most: none,
            len: 0,
        }
    }
}

impl Chances {
    fn add(&mut self, card: Outlook) {
        add(&mut self.sure, self.len, card.sure);
        add(&mut self.most, self.len, card.possible);
        self.len += 1;
    }

    /// Turns both into cumulative distributions.
    fn summed(mut self) -> Self {
        for count in 0..self.len {
            self.sure[count + 1] += self.sure[count];
            self.most[count + 1] += self.most[count];
        }
        self
    }

    /// M(need), from cumulative distributions.
    fn make(&self, need: i32) -> f32 {
        if need < 0 || need > self.len as i32 {
            return 0.0;
        }
        let need = need as usize;
        let short = if need > 0 { self.most[need - 1] } else { 0.0 };
        (self.sure[need] - short).max(0.0)
    }

    /// M(need), from cumulative distributions, without one of the cards.
    fn make_without(&self, card: Outlook, need: i32) -> f32 {
        if need < 0 || need >= self.len as i32 {
            return 0.0;
        }
        let sure = at_most(&self.sure, self.len, card.sure, need);
        let short = at_most(&self.most, self.len, card.possible, need - 1);
        (sure - short).max(0.0)
    }
}

/// The probability of at most `n` events without one of probability p; `sums` is the cumulative
/// distribution with it:
///
/// ```text
/// sums(n) = (1 - p) · F(n) + p · F(n - 1)
/// ```
///
/// Solved from the end where rounding errors do not grow.
#[inline]
fn at_most(sums: &[f32; 14], len: usize, chance: f32, n: i32) -> f32 {
    if n < 0 {
        return 0.0;
    }
    let n = n as usize;
    if n + 1 >= len {
        return 1.0;
    }
    if chance <= 0.5 {
        let scale = 1.0 / (1.0 - chance);
        let below = |below: f32, &sum: &f32| (sum - chance * below) * scale;
        sums[..=n].iter().fold(0.0, below)
    } else {
        let scale = 1.0 / chance;
        let above = |above: f32, &sum: &f32| (1.0 - sum - (1.0 - chance) * above) * scale;
        1.0 - sums[n + 1..len].iter().rev().fold(0.0, above)
    }
}

/// Adds one independent event to a distribution over 0..=len.
#[inline]
fn add(distribution: &mut [f32; 14], len: usize, chance: f32) {
    for count in (0..=len).rev() {
        let moved = distribution[count] * chance;
        distribution[count] -= moved;
        distribution[count + 1] += moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_without_equals_make_of_the_other_cards() {
        let cards = [
            (0.0, 0.1),
            (0.1, 0.6),
            (0.5, 0.5),
            (0.7, 1.0),
            (1.0, 1.0),
            (0.4, 0.99),
        ];
        let cards = cards.map(|(sure, possible)| Outlook { sure, possible });
        let of = |without: Option<usize>| {
            let mut chances = Chances::default();
            for (index, &card) in cards.iter().enumerate() {
                if without != Some(index) {
                    chances.add(card);
                }
            }
            chances.summed()
        };
        for (index, &card) in cards.iter().enumerate() {
            for need in -1..8 {
                let expected = of(Some(index)).make(need);
                let found = of(None).make_without(card, need);
                assert!((found - expected).abs() < 1e-5, "{card:?} {need}");
            }
        }
    }

    #[test]
    fn making_a_bid_by_hand() {
        let mut chances = Chances::default();
        let card = |sure, possible| Outlook { sure, possible };
        chances.add(card(1.0, 1.0)); // always takes a trick
        chances.add(card(0.0, 1.0)); // takes a trick if wanted
        chances.add(card(0.0, 0.5)); // takes a trick if wanted, with probability 0.5
        let chances = chances.summed();
        let makes: Vec<f32> = (-1..5).map(|need| chances.make(need)).collect();
        assert_eq!(makes, [0.0, 0.0, 1.0, 1.0, 0.5, 0.0]);
    }
}
