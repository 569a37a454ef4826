//! Converts the options of Blob from and to their Python names.

use pyo3::prelude::*;
use pyo3::types::PyString;
use sylvan_games::blob::{Hook, Options, Scoring, Sequence, Trump, parse_suit, suit_name};

use super::blob_errors::raise;

pyo3::import_exception!(sylvan.errors, ConfigError);

/// Trump, hook, scoring, first dealer, whether trump must be broken, rivalry.
pub type RuleNames = (String, &'static str, &'static str, u8, bool, f64);

/// The names and values of the rules.
pub fn rule_names(options: &Options) -> RuleNames {
    let scoring = Scoring::NAMED.iter().find(|(_, it)| *it == options.scoring);
    let trump = match options.trump {
        Trump::Rotation => "rotation".into(),
        Trump::TurnedUp => "turned_up".into(),
        Trump::None => "none".into(),
        Trump::Fixed(suit) => suit_name(suit).into(),
    };
    let hook = match options.hook {
        Hook::Dealer => "dealer",
        Hook::Off => "off",
        Hook::OffInLast => "off_in_last",
    };
    (
        trump,
        hook,
        scoring.map_or("", |(name, _)| name),
        options.first_dealer,
        options.break_trump,
        options.rivalry,
    )
}

pub fn small(option: &str, value: i64) -> PyResult<u8> {
    u8::try_from(value).map_err(|_| {
        ConfigError::new_err(format!("{option} is {value}: it must be between 0 and 255"))
    })
}

pub fn sequence_of(
    given: Option<&Bound<'_, PyAny>>,
    cards: u8,
    players: u8,
    extra: bool,
) -> PyResult<Sequence> {
    let Some(given) = given else {
        return Sequence::named("down_up", cards, players, extra).map_err(raise);
    };
    match given.cast::<PyString>() {
        Ok(name) => Sequence::named(&name.to_cow()?, cards, players, extra),
        Err(_) => {
            let rounds: Vec<i64> = given.extract()?;
            let rounds = rounds.into_iter().map(|cards| small("cards", cards));
            Sequence::list(&rounds.collect::<PyResult<Vec<u8>>>()?)
        }
    }
    .map_err(raise)
}

pub fn trump_of(name: &str) -> PyResult<Trump> {
    match name {
        "rotation" => Ok(Trump::Rotation),
        "turned_up" => Ok(Trump::TurnedUp),
        "none" => Ok(Trump::None),
        _ => parse_suit(name).map(Trump::Fixed).map_err(|_| {
            ConfigError::new_err(format!(
                "trump is {name:?}: it must be rotation, turned_up, none, spades, hearts, clubs or diamonds"
            ))
        }),
    }
}

pub fn hook_of(name: &str) -> PyResult<Hook> {
    match name {
        "dealer" => Ok(Hook::Dealer),
        "off" => Ok(Hook::Off),
        "off_in_last" => Ok(Hook::OffInLast),
        _ => Err(ConfigError::new_err(format!(
            "hook is {name:?}: it must be dealer, off or off_in_last"
        ))),
    }
}

pub fn scoring_of(name: &str) -> PyResult<Scoring> {
    let found = Scoring::NAMED.iter().find(|(known, _)| *known == name);
    found.map(|(_, scoring)| *scoring).ok_or_else(|| {
        let known = Scoring::NAMED.map(|(name, _)| name).join(", ");
        ConfigError::new_err(format!("scoring is {name:?}: it must be one of {known}"))
    })
}
