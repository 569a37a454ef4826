//! Errors of options, moves, deals and observed plays; after an error the state is unchanged.

use thiserror::Error;

use super::cards::Card;
use super::notation::{card_name, suit_name};
use super::state::Phase;

#[derive(Clone, Debug, PartialEq, Error)]
pub enum BlobError {
    #[error("{option} is {value}: {rule}")]
    Option {
        option: &'static str,
        value: String,
        rule: String,
    },
    #[error("seat {seat} cannot bid {bid}: a bid in a round of {cards} is 0 to {cards}")]
    BidRange { seat: u8, bid: i64, cards: u8 },
    #[error(
        "seat {seat} cannot bid {bid}: it deals, and the bids must not add up to the {cards} tricks \
         of the round"
    )]
    Hook { seat: u8, bid: i64, cards: u8 },
    #[error("there is no card {code}: codes are suit * 13 + rank, 0 to 51")]
    NoSuchCard { code: i64 },
    #[error("seat {seat} cannot play {}: it does not hold it", card_name(*.card))]
    NotHeld { seat: u8, card: Card },
    #[error(
        "seat {seat} cannot play {}: {} was led and it holds {}, so it must follow suit",
        card_name(*.card), suit_name(*.led), card_name(*.follow)
    )]
    MustFollow {
        seat: u8,
        card: Card,
        led: u8,
        follow: Card,
    },
    #[error(
        "seat {seat} cannot lead {}: no trump has been played yet and it holds other suits",
        card_name(*.card)
    )]
    TrumpNotBroken { seat: u8, card: Card },
    #[error("{action} does not fit the phase {phase}: {fix}")]
    WrongPhase {
        action: String,
        phase: Phase,
        fix: &'static str,
    },
    #[error("it is seat {turn}'s turn, not seat {seat}'s")]
    WrongPlayer { seat: i64, turn: u8 },
    #[error("the game is over: no move can follow")]
    GameOver,
    #[error("there is no seat {seat}: seats are 0 to {last}")]
    NoSuchSeat { seat: i64, last: u8 },
    #[error("seat {seat} cannot have {}: {reason}", card_name(*.card))]
    Impossible {
        seat: u8,
        card: Card,
        reason: String,
    },
    #[error("no deal fits what seat {viewer} has seen: {reason}")]
    NoDeal { viewer: u8, reason: String },
    #[error("the hand of seat {seat} is hidden from seat {viewer}: sample a deal first")]
    Hidden { seat: u8, viewer: u8 },
    #[error("not a deal: {reason}")]
    Deal { reason: String },
    #[error("{text:?} is not a {what}: {rule}")]
    Notation {
        text: String,
        what: &'static str,
        rule: String,
    },
}

impl BlobError {
    pub(super) fn option(
        option: &'static str,
        value: impl ToString,
        rule: impl Into<String>,
    ) -> Self {
        Self::Option {
            option,
            value: value.to_string(),
            rule: rule.into(),
        }
    }
}
