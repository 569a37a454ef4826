//! The state of a game: plain data, so that a copy is a `memcpy`.
//!
//! It holds the current round (hands, bids, cards in the order of play) and the totals of earlier
//! rounds. A *view* has the same type, without the information that one seat cannot see; `view.rs`
//! removes it and `deal.rs` samples it.

use std::fmt;

use sylvan_core::{MAX_SEATS, Seat};

use super::bots::Belief;
use super::cards::{self, Card, Cards, NO_CARD, NO_TRUMP, bit};
use super::error::BlobError;
use super::options::{MAX_CARDS, Options};
use crate::hash::mix;

/// Marks a missing bid.
pub(super) const NO_BID: u8 = 255;
/// The viewer of a full state.
pub(super) const NOBODY: Seat = 255;

/// The phase of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Chance deals the next card.
    Dealing,
    Bidding,
    Playing,
    /// The last round has been scored.
    Over,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dealing => "dealing",
            Self::Bidding => "bidding",
            Self::Playing => "playing",
            Self::Over => "over",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blob {
    pub(super) options: Options,
    /// The distribution of deals sampled from a view.
    pub(super) belief: Belief,
    /// The hand of each seat; in a view, empty for the other seats.
    pub(super) hands: [Cards; MAX_SEATS],
    /// All cards played in this round.
    pub(super) gone: Cards,
    /// A hash of the public history of this round.
    pub(super) history: u64,
    /// The seed of all deals, if `seeded`; otherwise chance deals.
    pub(super) seed: u64,
    /// The cards of this round in the order of play.
    pub(super) played: [Card; 52],
    /// The seat that led each trick of this round.
    pub(super) leaders: [Seat; MAX_CARDS as usize],
    /// Points of all finished rounds, and of the last one.
    pub(super) totals: [i16; MAX_SEATS],
    pub(super) last: [i16; MAX_SEATS],
    pub(super) bids: [u8; MAX_SEATS],
    pub(super) tricks: [u8; MAX_SEATS],
    /// Bit masks of the suits in which a seat has shown a void.
    pub(super) voids: [u8; MAX_SEATS],
    pub(super) seeded: bool,
    /// The game ends with this round.
    pub(super) alone: bool,
    /// The last step ended a round, and another round follows.
    pub(super) paid: bool,
    /// A trump has been played in this round.
    pub(super) broken: bool,
    pub(super) phase: Phase,
    /// The seat of a view, or `NOBODY`.
    pub(super) viewer: Seat,
    pub(super) round: u8,
    pub(super) cards: u8,
    pub(super) dealer: Seat,
    pub(super) trump: u8,
    pub(super) turned_up: Card,
    pub(super) turn: Seat,
    pub(super) dealt: u8,
    pub(super) bids_made: u8,
    /// Cards played in this round.
    pub(super) count: u8,
    pub(super) tricks_done: u8,
    /// The number of cards in the current trick, the suit led, the best card and its seat.
    pub(super) in_trick: u8,
    pub(super) led: u8,
    pub(super) best: Card,
    pub(super) winner: Seat,
}

impl Blob {
    /// Starts a game.
    ///
    /// With a seed every round is dealt when it begins; without, chance deals card by card, or the
    /// caller deals (`deal`, `shuffle`, `enter`).
    pub fn new(options: Options, seed: Option<u64>) -> Result<Self, BlobError> {
        let mut state = Self {
            options: options.checked()?,
            belief: Belief::UNIFORM,
            hands: [0; MAX_SEATS],
            gone: 0,
            history: 0,
            seed: seed.unwrap_or_default(),
            played: [NO_CARD; 52],
            leaders: [0; MAX_CARDS as usize],
            totals: [0; MAX_SEATS],
            last: [0; MAX_SEATS],
            bids: [NO_BID; MAX_SEATS],
            tricks: [0; MAX_SEATS],
            voids: [0; MAX_SEATS],
            seeded: seed.is_some(),
            alone: false,
            paid: false,
            broken: false,
            phase: Phase::Dealing,
            viewer: NOBODY,
            round: 0,
            cards: 0,
            dealer: 0,
            trump: NO_TRUMP,
            turned_up: NO_CARD,
            turn: 0,
            dealt: 0,
            bids_made: 0,
            count: 0,
            tricks_done: 0,
            in_trick: 0,
            led: NO_TRUMP,
            best: NO_CARD,
            winner: 0,
        };
        state.begin_round(0);
        Ok(state)
    }

    /// Starts a game at a later round, with the points so far; the round is not dealt.
    pub fn at_round(options: Options, round: u8, totals: &[i16]) -> Result<Self, BlobError> {
        let mut state = Self::new(options, None)?;
        let rounds = options.sequence.rounds().len();
        if usize::from(round) >= rounds {
            let rule = format!("the game has the rounds 0 to {}", rounds - 1);
            return Err(BlobError::option("round", round, rule));
        }
        if totals.len() != state.num_players() {
            let rule = format!("there are {} seats", options.players);
            return Err(BlobError::option("totals", format!("{totals:?}"), rule));
        }
        state.totals[..totals.len()].copy_from_slice(totals);
        state.begin_round(round);
        Ok(state)
    }

    /// Begins a round; deals it if the game has a seed.
    pub(super) fn begin_round(&mut self, round: u8) {
        let players = self.options.players;
        self.hands = [0; MAX_SEATS];
        self.gone = 0;
        self.bids = [NO_BID; MAX_SEATS];
        self.tricks = [0; MAX_SEATS];
        self.voids = [0; MAX_SEATS];
        self.broken = false;
        self.phase = Phase::Dealing;
        self.round = round;
        self.cards = self.options.sequence.rounds()[usize::from(round)];
        self.dealer = (self.options.first_dealer + round) % players;
        self.trump = self.options.trump_of(round).unwrap_or(NO_TRUMP);
        self.turned_up = NO_CARD;
        self.turn = self.after(self.dealer);
        self.dealt = 0;
        self.bids_made = 0;
        self.count = 0;
        self.tricks_done = 0;
        self.in_trick = 0;
        self.led = NO_TRUMP;
        self.best = NO_CARD;
        self.winner = self.turn;
        self.played = [NO_CARD; 52];
        self.leaders = [0; MAX_CARDS as usize];
        let table = [round, players, self.cards, self.dealer, self.trump, 0, 0, 0];
        self.history = mix(u64::from_le_bytes(table));
        if self.seeded {
            self.deal_from_seed();
        }
    }

    /// The seat to the left.
    #[inline]
    pub(super) const fn after(&self, seat: Seat) -> Seat {
        if seat + 1 == self.options.players {
            0
        } else {
            seat + 1
        }
    }

    pub const fn options(&self) -> &Options {
        &self.options
    }

    pub const fn num_players(&self) -> usize {
        self.options.players as usize
    }

    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The seat to move.
    pub const fn to_play(&self) -> Seat {
        self.turn
    }

    pub const fn is_terminal(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// The number of the round, from 0.
    pub const fn round(&self) -> u8 {
        self.round
    }

    /// Cards dealt to each seat in this round.
    pub const fn cards(&self) -> u8 {
        self.cards
    }

    pub const fn dealer(&self) -> Seat {
        self.dealer
    }

    /// The trump suit, or `NO_TRUMP`.
    pub const fn trump(&self) -> u8 {
        self.trump
    }

    pub fn turned_up(&self) -> Option<Card> {
        (self.turned_up != NO_CARD).then_some(self.turned_up)
    }

    /// The hand of a seat; an error if it is hidden.
    pub fn hand(&self, seat: Seat) -> Result<Cards, BlobError> {
        if self.is_hidden(seat) {
            let viewer = self.viewer;
            return Err(BlobError::Hidden { seat, viewer });
        }
        Ok(self.hands[usize::from(seat)])
    }

    /// The number of cards in a seat's hand, visible or hidden.
    #[inline]
    pub fn hand_size(&self, seat: Seat) -> u8 {
        if self.phase == Phase::Dealing {
            return self.hands[usize::from(seat)].count_ones() as u8;
        }
        self.cards - self.tricks_done - u8::from(self.has_played(seat))
    }

    /// Whether a seat has a card in the current trick.
    #[inline]
    pub const fn has_played(&self, seat: Seat) -> bool {
        if self.in_trick == 0 {
            return false;
        }
        let (n, leader) = (
            self.options.players,
            self.leaders[self.tricks_done as usize],
        );
        (seat + n - leader) % n < self.in_trick
    }

    pub fn bid_of(&self, seat: Seat) -> Option<u8> {
        let bid = self.bids[usize::from(seat)];
        (bid != NO_BID).then_some(bid)
    }

    pub fn tricks_of(&self, seat: Seat) -> u8 {
        self.tricks[usize::from(seat)]
    }

    /// The bit mask of the suits in which a seat has shown a void.
    pub fn voids_of(&self, seat: Seat) -> u8 {
        self.voids[usize::from(seat)]
    }

    /// Points of the finished rounds, one per seat.
    pub fn totals(&self) -> &[i16] {
        &self.totals[..self.num_players()]
    }

    /// Points of the last finished round, one per seat.
    pub fn last_points(&self) -> &[i16] {
        &self.last[..self.num_players()]
    }

    /// The cards played in this round, in order.
    pub fn fallen(&self) -> &[Card] {
        &self.played[..usize::from(self.count)]
    }

    /// The seats and cards played in this round, in order.
    pub fn plays(&self) -> impl Iterator<Item = (Seat, Card)> {
        let n = self.num_players();
        self.fallen().iter().enumerate().map(move |(i, &card)| {
            let seat = usize::from(self.leaders[i / n]) + i % n;
            ((seat % n) as Seat, card)
        })
    }

    /// The seats and cards of the current trick, the leader first.
    pub fn trick(&self) -> impl Iterator<Item = (Seat, Card)> {
        self.plays().skip(usize::from(self.count - self.in_trick))
    }

    /// The seat and card that currently win the trick, if a card was led.
    pub fn best(&self) -> Option<(Seat, Card)> {
        (self.in_trick > 0).then_some((self.winner, self.best))
    }

    /// The suit led in the current trick.
    pub fn led(&self) -> Option<u8> {
        (self.in_trick > 0).then_some(self.led)
    }

    /// The cards of the deck that are not in a visible hand, played or turned up.
    pub fn unseen(&self) -> Cards {
        let held = self.hands.iter().fold(0, |all, hand| all | hand);
        let up = self.turned_up().map_or(0, bit);
        self.options.deck() & !(held | self.gone | up)
    }

    /// The same state, but the game ends with this round.
    #[must_use]
    pub const fn this_round(mut self) -> Self {
        self.alone = true;
        self.seeded = false;
        self.seed = 0;
        self
    }

    /// The seed of all deals, if there is one.
    pub fn seed(&self) -> Option<u64> {
        self.seeded.then_some(self.seed)
    }

    /// The same state, with later rounds dealt from this seed, or by chance.
    #[must_use]
    pub fn seeded(mut self, seed: Option<u64>) -> Self {
        self.seeded = seed.is_some();
        self.seed = seed.unwrap_or_default();
        self
    }

    /// The same state with another utility (`score.rs`).
    pub fn with_rivalry(mut self, rivalry: f64) -> Result<Self, BlobError> {
        self.options = Options {
            rivalry,
            ..self.options
        }
        .checked()?;
        Ok(self)
    }

    /// The same state; its views sample deals by this belief.
    #[must_use]
    pub const fn with_belief(mut self, belief: Belief) -> Self {
        self.belief = belief;
        self
    }

    pub const fn belief(&self) -> Belief {
        self.belief
    }

    /// Whether the game ends with this round, regardless of the sequence.
    pub const fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether this is the last round to be played.
    pub(super) fn is_last_round(&self) -> bool {
        self.alone || usize::from(self.round) + 1 == self.options.sequence.rounds().len()
    }

    /// A hash of a seat's information: the public history and its hand.
    #[inline]
    pub fn view_key(&self, seat: Seat) -> u64 {
        mix(self.history ^ mix(self.hands[usize::from(seat)] ^ (u64::from(seat) << 56)))
    }

    /// A collision-free key: options, round, hands and public history.
    pub fn exact_key(&self) -> Vec<u8> {
        let mut key = format!("{:?}", self.options).into_bytes();
        if self.seeded {
            key.extend(self.seed.to_le_bytes());
        }
        let facts = [
            u8::from(self.seeded),
            u8::from(self.alone),
            self.phase as u8,
            self.viewer,
            self.round,
            self.turned_up,
            self.dealt,
            self.count,
        ];
        key.extend(facts);
        key.extend(self.hands.iter().flat_map(|hand| hand.to_le_bytes()));
        key.extend(self.bids);
        key.extend(self.fallen());
        key
    }

    /// The bit mask of the deck's suits.
    pub(super) const fn all_suits(&self) -> u8 {
        (1 << self.options.suits) - 1
    }

    pub(super) fn seat(&self, seat: i64) -> Result<Seat, BlobError> {
        let last = self.options.players - 1;
        match u8::try_from(seat) {
            Ok(found) if found <= last => Ok(found),
            _ => Err(BlobError::NoSuchSeat { seat, last }),
        }
    }

    pub(super) fn card(code: i64) -> Result<Card, BlobError> {
        match u8::try_from(code) {
            Ok(card) if card < cards::RANKS * cards::SUITS => Ok(card),
            _ => Err(BlobError::NoSuchCard { code }),
        }
    }
}
