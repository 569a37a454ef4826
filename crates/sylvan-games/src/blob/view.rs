//! Views: the information of one seat.
//!
//! `view(seat)` erases the other hands, the seed of the deals and later rounds; it keeps the seat's
//! hand and the public information: bids, cards in the order of play, trump, the card turned up,
//! and shown voids. `complete` (`deal.rs`) samples the hidden hands.
//!
//! A view accepts moves like any state, so that it can follow a real game: it checks the moves of
//! the other seats, and refuses one that is consistent with no deal.

use sylvan_core::{Action, Seat};

use super::cards::{Card, Cards, NO_CARD, bit, each, of_suits, suit};
use super::deal::Hidden;
use super::error::BlobError;
use super::notation::{card_name, suit_name};
use super::state::{Blob, NOBODY, Phase};

impl Blob {
    /// The view of a seat; the game ends with this round.
    pub fn view(&self, seat: Seat) -> Result<Self, BlobError> {
        self.seat(i64::from(seat))?;
        self.hand(seat)?;
        if self.phase == Phase::Dealing {
            self.in_phase(Phase::Bidding, || format!("a view of seat {seat}"), "")?;
        }
        let mut view = self.this_round();
        let own = self.hands[usize::from(seat)];
        view.hands = [0; 8];
        view.hands[usize::from(seat)] = own;
        view.viewer = seat;
        Ok(view)
    }

    /// The view of a seat in a real game, from its hand.
    pub fn enter(
        &self,
        seat: i64,
        hand: &[i64],
        turned_up: Option<i64>,
    ) -> Result<Self, BlobError> {
        self.in_phase(Phase::Dealing, || "a hand".into(), "it is dealt already")?;
        let seat = self.seat(seat)?;
        let mut view = self.this_round();
        view.hands = [0; 8];
        view.turned_up = NO_CARD;
        view.set_turned_up(turned_up)?;
        let own = view.hand_of(seat, hand)?;
        view.hands[usize::from(seat)] = own;
        view.viewer = seat;
        view.dealt = self.cards_to_deal();
        view.phase = Phase::Bidding;
        Ok(view)
    }

    /// The seat of a view; `None` for a full state.
    pub fn viewer(&self) -> Option<Seat> {
        (self.viewer != NOBODY).then_some(self.viewer)
    }

    #[inline]
    pub fn is_hidden(&self, seat: Seat) -> bool {
        self.viewer != NOBODY && self.viewer != seat
    }

    /// The cards that the seat to move, with a hidden hand, can play in some consistent deal.
    pub(super) fn may_play(&self) -> Cards {
        let cards = self.unseen() & !of_suits(self.voids[usize::from(self.turn)]);
        each(cards)
            .filter(|&card| self.after_hidden(card).has_deals())
            .fold(0, |all, card| all | bit(card))
    }

    fn after_hidden(&self, card: Card) -> Self {
        let mut after = *self;
        after.take(Action::from(card));
        after
    }

    /// Whether any deal is consistent with the view.
    pub fn has_deals(&self) -> bool {
        self.viewer == NOBODY || self.phase == Phase::Over || Hidden::of(self).count() > 0
    }

    /// The number of deals consistent with the view.
    pub fn num_deals(&self) -> u128 {
        if self.viewer == NOBODY || self.phase == Phase::Over {
            return 1;
        }
        Hidden::of(self).deals()
    }

    /// Plays a card of a seat with a hidden hand.
    pub(super) fn play_hidden(&mut self, card: Card) -> Result<(), BlobError> {
        self.may_hold(self.turn, card)?;
        let after = self.after_hidden(card);
        if !after.has_deals() {
            let reason = format!(
                "after {} of seat {} the unseen cards fit no hands of these sizes and voids",
                card_name(card),
                self.turn
            );
            let viewer = self.viewer;
            return Err(BlobError::NoDeal { viewer, reason });
        }
        *self = after;
        Ok(())
    }

    /// Returns an error if a seat with a hidden hand cannot hold a card.
    fn may_hold(&self, seat: Seat, card: Card) -> Result<(), BlobError> {
        let impossible = |reason: String| Err(BlobError::Impossible { seat, card, reason });
        if self.options.deck() & bit(card) == 0 {
            return impossible("the deck does not have it".into());
        }
        if self.gone & bit(card) != 0 {
            let (who, _) = self
                .plays()
                .find(|&(_, fallen)| fallen == card)
                .unwrap_or_default();
            return impossible(format!("seat {who} played it before"));
        }
        if self.turned_up == card {
            return impossible("it was turned up as trump".into());
        }
        let viewer = self.viewer;
        if self.hands[usize::from(viewer)] & bit(card) != 0 {
            return impossible(format!("seat {viewer} holds it"));
        }
        if self.voids[usize::from(seat)] >> suit(card) & 1 == 1 {
            let name = suit_name(suit(card));
            return impossible(format!("it did not follow {name} before, so it has none"));
        }
        Ok(())
    }

    /// A hand from card numbers; checks that the deck has them, each once, and their number.
    pub(super) fn hand_of(&self, seat: Seat, codes: &[i64]) -> Result<Cards, BlobError> {
        let mut hand = 0;
        for &code in codes {
            let card = Self::card(code)?;
            let impossible = |reason: String| Err(BlobError::Impossible { seat, card, reason });
            if self.options.deck() & bit(card) == 0 {
                return impossible("the deck does not have it".into());
            }
            if hand & bit(card) != 0 {
                return impossible("it is named twice".into());
            }
            if self.turned_up == card {
                return impossible("it was turned up as trump".into());
            }
            if let Some(other) = self.hands.iter().position(|held| held & bit(card) != 0) {
                return impossible(format!("seat {other} has it"));
            }
            hand |= bit(card);
        }
        if codes.len() != usize::from(self.cards) {
            let reason = format!(
                "seat {seat} has {} cards, but the round deals {}",
                codes.len(),
                self.cards
            );
            return Err(BlobError::Deal { reason });
        }
        Ok(hand)
    }

    /// Sets the card turned up; an error if the rules of the round need one and it is missing, or
    /// vice versa.
    pub(super) fn set_turned_up(&mut self, code: Option<i64>) -> Result<(), BlobError> {
        let wanted = self.options.trump_of(self.round).is_none();
        let reason = match (code, wanted) {
            (None, false) => return Ok(()),
            (Some(_), false) => "no card is turned up in this round",
            (None, true) => "a card must be turned up for trump: give it",
            (Some(code), true) => {
                let card = Self::card(code)?;
                if self.options.deck() & bit(card) != 0 {
                    self.turn_up(card);
                    return Ok(());
                }
                "the card turned up is not in the deck"
            }
        };
        Err(BlobError::Deal {
            reason: reason.into(),
        })
    }

    /// The cards that a seat can hold; its hand if it is visible.
    pub fn possible(&self, seat: Seat) -> Cards {
        if !self.is_hidden(seat) {
            return self.hands[usize::from(seat)];
        }
        if self.hand_size(seat) == 0 {
            return 0;
        }
        self.unseen() & !of_suits(self.voids[usize::from(seat)])
    }
}
