//! The rules as options: players, rounds, trump, forbidden bids, scoring.
//!
//! The default is Blob with `10 + bid` points for an exact bid and 0 otherwise; the other values
//! are common variants of Oh Hell. `Options::open_spiel` is OpenSpiel's game `oh_hell`.

use super::cards::{self, Cards};
use super::error::BlobError;
use super::score::Scoring;

pub const MIN_PLAYERS: u8 = 3;
pub const MAX_PLAYERS: u8 = 8;
pub const MAX_CARDS: u8 = 13;
/// The longest sequence of rounds: from 13 cards down and up again, with a one-card round for each
/// of eight players and the extra one of the legacy sequence.
pub const MAX_ROUNDS: usize = 36;

/// The rule that determines the trump suit of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trump {
    /// By the round's number: ♠, ♥, ♣, ♦, none, then repeating.
    Rotation,
    /// The suit of the card turned up after the deal; none if the whole deck was dealt.
    TurnedUp,
    /// This suit in all rounds.
    Fixed(u8),
    /// No trump.
    None,
}

/// Whether the dealer, who bids last, may make the bids add up to the number of tricks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// No.
    Dealer,
    /// Yes.
    Off,
    /// Only in the last round.
    OffInLast,
}

/// Cards per seat in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    cards: [u8; MAX_ROUNDS],
    len: u8,
}

impl Sequence {
    /// Any rounds; `Options::checked` validates them.
    pub fn list(cards: &[u8]) -> Result<Self, BlobError> {
        if cards.is_empty() || cards.len() > MAX_ROUNDS {
            return Err(BlobError::option(
                "sequence",
                format!("{} rounds", cards.len()),
                format!("a game has 1 to {MAX_ROUNDS} rounds"),
            ));
        }
        let mut list = [0; MAX_ROUNDS];
        list[..cards.len()].copy_from_slice(cards);
        Ok(Self {
            cards: list,
            len: cards.len() as u8,
        })
    }

    /// A named sequence, with at most `most` cards; `extra` adds one more one-card round.
    pub fn named(name: &str, most: u8, players: u8, extra: bool) -> Result<Self, BlobError> {
        within("players", players, MIN_PLAYERS, MAX_PLAYERS)?;
        if most == 0 || most > MAX_CARDS {
            let rule = format!("it must be 1 to {MAX_CARDS}");
            return Err(BlobError::option("cards", most, rule));
        }
        let (down, up) = ((2..=most).rev(), 2..=most);
        let ones = |count: u8| std::iter::repeat_n(1, usize::from(count));
        let rounds: Vec<u8> = match name {
            "down_up" => {
                let ones = ones(players + u8::from(extra));
                down.chain(ones).chain(up).collect()
            }
            "down_up_once" => down.chain(ones(1)).chain(up).collect(),
            "up_down" => {
                let back = (1..most).rev();
                (1..=most).chain(back).collect()
            }
            "down" => (1..=most).rev().collect(),
            "up" => (1..=most).collect(),
            "single" => vec![most],
            _ => {
                return Err(BlobError::option(
                    "sequence",
                    format!("{name:?}"),
                    "it must be down_up, down_up_once, up_down, down, up, single or a list of cards \
                     per round",
                ));
            }
        };
        Self::list(&rounds)
    }

    pub fn rounds(&self) -> &[u8] {
        &self.cards[..usize::from(self.len)]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub players: u8,
    pub sequence: Sequence,
    pub trump: Trump,
    pub hook: Hook,
    pub scoring: Scoring,
    /// The number of suits and ranks in the deck, from the lowest.
    pub suits: u8,
    pub ranks: u8,
    /// The seat that deals the first round.
    pub first_dealer: u8,
    /// Trump may be led only after one has been played, or from a hand of trumps only.
    pub break_trump: bool,
    /// λ of `score.rs`: the weight of the others' mean, subtracted from a seat's own points.
    pub rivalry: f64,
}

impl Options {
    /// The default rules with these players and rounds.
    pub const fn new(players: u8, sequence: Sequence) -> Self {
        Self {
            players,
            sequence,
            trump: Trump::Rotation,
            hook: Hook::Dealer,
            scoring: Scoring::EXACT_10_PLUS_BID,
            suits: cards::SUITS,
            ranks: cards::RANKS,
            first_dealer: 0,
            break_trump: false,
            rivalry: 0.0,
        }
    }

    /// OpenSpiel's `oh_hell`: one round, trump turned up, 1 point per trick and 10 for an exact
    /// bid.
    pub fn open_spiel(players: u8, tricks: u8, dealer: u8) -> Result<Self, BlobError> {
        let options = Self {
            trump: Trump::TurnedUp,
            scoring: Scoring::TRICKS_PLUS_10,
            first_dealer: dealer,
            ..Self::new(players, Sequence::list(&[tricks])?)
        };
        if options.deck_size() <= u32::from(players) * u32::from(tricks) {
            let rule = "OpenSpiel turns up a card, so one must be left after the deal";
            return Err(BlobError::option("cards", tricks, rule));
        }
        options.checked()
    }

    /// Validates the options and returns them.
    pub fn checked(self) -> Result<Self, BlobError> {
        within("players", self.players, MIN_PLAYERS, MAX_PLAYERS)?;
        within("suits", self.suits, 1, cards::SUITS)?;
        within("ranks", self.ranks, 1, cards::RANKS)?;
        within("dealer", self.first_dealer, 0, self.players - 1)?;
        if let Trump::Fixed(suit) = self.trump {
            within("trump", suit, 0, self.suits - 1)?;
        }
        if !(0.0..=1.0).contains(&self.rivalry) {
            let rule = "it must be 0 (own points) to 1 (points above the others' mean)";
            return Err(BlobError::option("rivalry", self.rivalry, rule));
        }
        for &cards in self.sequence.rounds() {
            within("cards", cards, 1, MAX_CARDS)?;
            let (dealt, deck) = (u32::from(self.players) * u32::from(cards), self.deck_size());
            if dealt > deck {
                let rule = format!(
                    "{} players would need {dealt} cards, but the deck has {deck}",
                    self.players
                );
                return Err(BlobError::option("cards", cards, rule));
            }
        }
        Ok(self)
    }

    pub const fn deck_size(&self) -> u32 {
        self.suits as u32 * self.ranks as u32
    }

    /// All cards of the deck.
    pub fn deck(&self) -> Cards {
        let suit = (1 << self.ranks) - 1;
        (0..self.suits).fold(0, |deck, i| deck | suit << (i * cards::RANKS))
    }

    /// The trump suit of a round; `None` if a card must be turned up.
    pub fn trump_of(&self, round: u8) -> Option<u8> {
        let cards = self.sequence.rounds()[usize::from(round)];
        match self.trump {
            Trump::Rotation => {
                let suit = round % (self.suits + 1);
                Some(if suit == self.suits {
                    cards::NO_TRUMP
                } else {
                    suit
                })
            }
            Trump::Fixed(suit) => Some(suit),
            Trump::None => Some(cards::NO_TRUMP),
            Trump::TurnedUp => {
                let all = u32::from(self.players) * u32::from(cards) == self.deck_size();
                all.then_some(cards::NO_TRUMP)
            }
        }
    }
}

/// Refuses an option outside `low..=high`.
fn within(option: &'static str, value: u8, low: u8, high: u8) -> Result<(), BlobError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let rule = format!("it must be {low} to {high}");
    Err(BlobError::option(option, value, rule))
}
