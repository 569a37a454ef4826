//! Legal bids and cards, and their effects.
//!
//! `take` does not check the action, for searches; `act` checks it first and changes nothing on an
//! error. Both work on views too: there a seat with a hidden hand may play any card that it can
//! hold.

use sylvan_core::{Action, Rng, Seat};

use super::cards::{Card, Cards, NO_CARD, bit, each, of_suit, suit};
use super::error::BlobError;
use super::options::Hook;
use super::state::{Blob, NO_BID, Phase};
use crate::hash::mix;

/// Actions below this are cards, the others are bids.
pub const FIRST_BID: Action = 52;
/// Cards 0 to 51, bids 52 (0 tricks) to 65 (13 tricks).
pub const NUM_ACTIONS: usize = 66;

impl Blob {
    /// The bid forbidden to the dealer by the hook rule; `None` for other seats, or if none is
    /// forbidden.
    #[inline]
    pub fn forbidden_bid(&self) -> Option<u8> {
        if self.phase != Phase::Bidding || self.turn != self.dealer {
            return None;
        }
        let hooked = match self.options.hook {
            Hook::Dealer => true,
            Hook::Off => false,
            Hook::OffInLast => usize::from(self.round) + 1 != self.options.sequence.rounds().len(),
        };
        let made = self.bids[..self.num_players()]
            .iter()
            .filter(|&&bid| bid != NO_BID);
        let sum: u8 = made.sum();
        (hooked && sum <= self.cards).then(|| self.cards - sum)
    }

    /// The bit mask of legal bids.
    #[inline]
    pub fn bid_mask(&self) -> u32 {
        let all = (2 << self.cards) - 1;
        self.forbidden_bid().map_or(all, |bid| all & !(1 << bid))
    }

    /// The cards that the seat to move may play; with a hidden hand, the cards that it can hold.
    #[inline]
    pub fn playable(&self) -> Cards {
        if self.is_hidden(self.turn) {
            return self.may_play();
        }
        self.playable_from(self.hands[usize::from(self.turn)])
    }

    /// The cards of a hand that may be played now.
    #[inline]
    pub(super) fn playable_from(&self, hand: Cards) -> Cards {
        if self.in_trick > 0 {
            let follow = hand & of_suit(self.led);
            return if follow != 0 { follow } else { hand };
        }
        if self.options.break_trump && !self.broken {
            let side = hand & !of_suit(self.trump);
            return if side != 0 { side } else { hand };
        }
        hand
    }

    /// Calls `found` with every legal action, in rising order.
    #[inline]
    pub(super) fn for_each_legal(&self, mut found: impl FnMut(Action)) {
        match self.phase {
            Phase::Bidding => {
                let mut bids = self.bid_mask();
                while bids != 0 {
                    found(FIRST_BID + bids.trailing_zeros());
                    bids &= bids - 1;
                }
            }
            Phase::Playing => each(self.playable()).for_each(|card| found(Action::from(card))),
            Phase::Dealing | Phase::Over => {}
        }
    }

    /// A uniformly random legal action; one call of `rng.below`.
    #[inline]
    pub(super) fn at_random(&self, rng: &mut Rng) -> Action {
        let (first, mut left) = match self.phase {
            Phase::Bidding => (FIRST_BID, u64::from(self.bid_mask())),
            _ => (0, self.playable()),
        };
        for _ in 0..rng.below(left.count_ones() as usize) {
            left &= left - 1;
        }
        first + left.trailing_zeros()
    }

    /// Applies a legal action, or a card dealt by chance. An illegal one leads to an unreachable
    /// state, but not to a panic.
    #[inline]
    pub fn take(&mut self, action: Action) {
        self.paid = false;
        match self.phase {
            Phase::Playing if action < FIRST_BID => self.put(action as Card),
            Phase::Bidding if (FIRST_BID..NUM_ACTIONS as Action).contains(&action) => {
                self.set_bid((action - FIRST_BID) as u8);
            }
            Phase::Dealing if action < FIRST_BID => self.deal_card(action as Card),
            _ => {}
        }
    }

    fn set_bid(&mut self, bid: u8) {
        self.history = mix(self.history ^ u64::from(bid + FIRST_BID as u8));
        self.bids[usize::from(self.turn)] = bid;
        self.bids_made += 1;
        self.turn = self.after(self.turn);
        if self.bids_made == self.options.players {
            self.phase = Phase::Playing;
        }
    }

    /// Plays a card of the seat to move.
    #[inline]
    fn put(&mut self, card: Card) {
        let (seat, suit) = (self.turn, suit(card));
        let own = usize::from(seat);
        if self.in_trick == 0 {
            self.leaders[usize::from(self.tricks_done)] = seat;
            self.led = suit;
            self.best = card;
            self.winner = seat;
            if self.options.break_trump && suit == self.trump && !self.broken {
                self.voids[own] |= self.all_suits() & !(1 << suit); // it had only trumps
            }
        } else {
            if suit != self.led {
                self.voids[own] |= 1 << self.led;
            }
            if self.beats(card) {
                self.best = card;
                self.winner = seat;
            }
        }
        self.broken |= suit == self.trump;
        self.history = mix(self.history ^ u64::from(card));
        self.played[usize::from(self.count)] = card;
        self.count += 1;
        self.gone |= bit(card);
        self.hands[own] &= !bit(card);
        self.in_trick += 1;
        if self.in_trick == self.options.players {
            self.end_trick();
        } else {
            self.turn = self.after(seat);
        }
    }

    /// Whether a card beats the best card of the current trick.
    #[inline]
    pub fn beats(&self, card: Card) -> bool {
        let (suit, best) = (suit(card), suit(self.best));
        if suit == best {
            card > self.best
        } else {
            suit == self.trump
        }
    }

    #[inline]
    fn end_trick(&mut self) {
        self.tricks[usize::from(self.winner)] += 1;
        self.tricks_done += 1;
        self.in_trick = 0;
        self.turn = self.winner;
        if self.tricks_done == self.cards {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        let scoring = self.options.scoring;
        for seat in 0..self.num_players() {
            self.last[seat] = scoring.points(self.bids[seat], self.tricks[seat]);
            self.totals[seat] += self.last[seat];
        }
        if self.is_last_round() {
            self.phase = Phase::Over;
        } else {
            self.paid = true;
            self.begin_round(self.round + 1);
        }
    }

    /// Applies an action of the seat to move, with all checks.
    pub fn act(&mut self, action: i64) -> Result<(), BlobError> {
        match self.phase {
            Phase::Over => Err(BlobError::GameOver),
            Phase::Dealing => self.deal_checked(action),
            Phase::Bidding | Phase::Playing if action >= i64::from(FIRST_BID) => {
                self.bid(action - i64::from(FIRST_BID))
            }
            Phase::Bidding | Phase::Playing => self.play(action),
        }
    }

    /// The seat to move bids.
    pub fn bid(&mut self, bid: i64) -> Result<(), BlobError> {
        self.in_phase(Phase::Bidding, || format!("the bid {bid}"), "play a card")?;
        let (seat, cards) = (self.turn, self.cards);
        if !(0..=i64::from(cards)).contains(&bid) {
            return Err(BlobError::BidRange { seat, bid, cards });
        }
        if self
            .forbidden_bid()
            .is_some_and(|hooked| i64::from(hooked) == bid)
        {
            return Err(BlobError::Hook { seat, bid, cards });
        }
        self.take(FIRST_BID + bid as Action);
        Ok(())
    }

    /// The seat to move plays a card.
    pub fn play(&mut self, code: i64) -> Result<(), BlobError> {
        self.in_phase(Phase::Playing, || format!("the card {code}"), "make a bid")?;
        let card = Self::card(code)?;
        if self.is_hidden(self.turn) {
            return self.play_hidden(card);
        }
        let (seat, hand) = (self.turn, self.hands[usize::from(self.turn)]);
        if hand & bit(card) == 0 {
            return Err(BlobError::NotHeld { seat, card });
        }
        if self.playable_from(hand) & bit(card) == 0 {
            return Err(self.misplay(seat, card, hand));
        }
        self.take(Action::from(card));
        Ok(())
    }

    /// The error for an illegal card in the hand.
    fn misplay(&self, seat: Seat, card: Card, hand: Cards) -> BlobError {
        if self.in_trick == 0 {
            return BlobError::TrumpNotBroken { seat, card };
        }
        let follow = each(hand & of_suit(self.led)).next().unwrap_or(NO_CARD);
        BlobError::MustFollow {
            seat,
            card,
            led: self.led,
            follow,
        }
    }

    /// Returns an error unless it is this seat's turn.
    pub fn check_turn(&self, seat: i64) -> Result<(), BlobError> {
        let turn = self.turn;
        match self.phase {
            Phase::Over => Err(BlobError::GameOver),
            Phase::Dealing => self.in_phase(
                Phase::Bidding,
                || format!("a move of seat {seat}"),
                "deal the cards first",
            ),
            _ if self.seat(seat)? == turn => Ok(()),
            _ => Err(BlobError::WrongPlayer { seat, turn }),
        }
    }

    pub(super) fn in_phase(
        &self,
        phase: Phase,
        action: impl FnOnce() -> String,
        fix: &'static str,
    ) -> Result<(), BlobError> {
        if self.phase == phase {
            return Ok(());
        }
        if self.phase == Phase::Over {
            return Err(BlobError::GameOver);
        }
        let fix = match self.phase {
            Phase::Dealing => "deal the cards first",
            _ => fix,
        };
        Err(BlobError::WrongPhase {
            action: action(),
            phase: self.phase,
            fix,
        })
    }
}
