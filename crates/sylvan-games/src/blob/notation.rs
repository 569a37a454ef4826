//! Names of cards, suits and actions.
//!
//! A card is written rank first, `A♠`, `10♥`. The parser accepts either order, letters for suits,
//! `T` for ten, and upper or lower case: `as`, `SA`, `10h`, `th`.

use sylvan_core::Action;

use super::cards::{Card, card, rank, suit};
use super::error::BlobError;
use super::play::FIRST_BID;

const SUIT_SIGNS: [&str; 4] = ["♠", "♥", "♣", "♦"];
const SUIT_NAMES: [&str; 5] = ["spades", "hearts", "clubs", "diamonds", "no trump"];
const RANK_NAMES: [&str; 13] = [
    "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A",
];

pub fn card_name(code: Card) -> String {
    if code >= 52 {
        return "no card".into();
    }
    format!(
        "{}{}",
        RANK_NAMES[usize::from(rank(code))],
        SUIT_SIGNS[usize::from(suit(code))]
    )
}

pub const fn suit_name(suit: u8) -> &'static str {
    SUIT_NAMES[if suit < 4 { suit as usize } else { 4 }]
}

/// The name of an action: `7♥` or `bid 2`.
pub fn action_name(action: Action) -> String {
    if action < FIRST_BID {
        card_name(action as Card)
    } else {
        format!("bid {}", action - FIRST_BID)
    }
}

pub fn parse_suit(text: &str) -> Result<u8, BlobError> {
    let wanted = text.trim().to_lowercase();
    let found = (0..4).find(|&i| {
        let (sign, name) = (SUIT_SIGNS[i], SUIT_NAMES[i]);
        wanted == sign || wanted == name || wanted == name[..1] || wanted == name[..name.len() - 1]
    });
    found.map(|i| i as u8).ok_or_else(|| BlobError::Notation {
        text: text.into(),
        what: "suit",
        rule: "suits are spades, hearts, clubs and diamonds, or S, H, C and D".into(),
    })
}

pub fn parse_card(text: &str) -> Result<Card, BlobError> {
    let upper = text.trim().to_uppercase().replace('\u{fe0f}', "");
    let cut = |text: &str| {
        let (signs, letters) = (SUIT_SIGNS, ["S", "H", "C", "D"]);
        (0..4).find_map(|i| {
            let parts = [signs[i], letters[i]];
            let rest = parts
                .iter()
                .find_map(|&part| text.strip_suffix(part).or_else(|| text.strip_prefix(part)))?;
            let rest = if rest == "T" { "10" } else { rest };
            let rank = RANK_NAMES.iter().position(|&name| name == rest)?;
            Some(card(i as u8, rank as u8))
        })
    };
    cut(&upper).ok_or_else(|| BlobError::Notation {
        text: text.into(),
        what: "card",
        rule: "cards are a rank, 2 to 10, J, Q, K or A, and a suit, S, H, C or D: QH".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_names_round_trip() {
        for code in 0..52 {
            assert_eq!(parse_card(&card_name(code)), Ok(code));
        }
        for text in ["as", "SA", "A♠", "♠a", " As "] {
            assert_eq!(parse_card(text), Ok(12));
        }
        for text in ["10h", "TH", "ht", "♥10", "10♥\u{fe0f}"] {
            assert_eq!(parse_card(text), Ok(13 + 8));
        }
        for text in ["", "1h", "h", "AA", "11s", "as as", "sas"] {
            assert!(parse_card(text).is_err(), "{text}");
        }
        assert_eq!(parse_suit("Hearts"), Ok(1));
        assert_eq!(parse_suit("♦"), Ok(3));
        assert!(parse_suit("x").is_err());
    }
}
