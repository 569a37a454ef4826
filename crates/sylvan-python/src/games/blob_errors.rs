//! Errors of Blob as Python exceptions, by kind.

use pyo3::prelude::*;
use sylvan_games::blob::BlobError;

pyo3::import_exception!(sylvan.errors, ConfigError);
pyo3::import_exception!(sylvan.errors, GameOver);
pyo3::import_exception!(sylvan.errors, HiddenCards);
pyo3::import_exception!(sylvan.errors, IllegalAction);
pyo3::import_exception!(sylvan.errors, IllegalBid);
pyo3::import_exception!(sylvan.errors, IllegalCard);
pyo3::import_exception!(sylvan.errors, IllegalPosition);
pyo3::import_exception!(sylvan.errors, WrongPhase);
pyo3::import_exception!(sylvan.errors, WrongPlayer);

pub fn raise(error: BlobError) -> PyErr {
    let message = error.to_string();
    match error {
        BlobError::Option { .. } => ConfigError::new_err(message),
        BlobError::BidRange { .. } | BlobError::Hook { .. } => IllegalBid::new_err(message),
        BlobError::NotHeld { .. }
        | BlobError::NoSuchCard { .. }
        | BlobError::MustFollow { .. }
        | BlobError::TrumpNotBroken { .. } => IllegalCard::new_err(message),
        BlobError::WrongPhase { .. } => WrongPhase::new_err(message),
        BlobError::WrongPlayer { .. } => WrongPlayer::new_err(message),
        BlobError::GameOver => GameOver::new_err(message),
        BlobError::Hidden { .. } => HiddenCards::new_err(message),
        BlobError::Impossible { .. } | BlobError::NoDeal { .. } | BlobError::Deal { .. } => {
            IllegalPosition::new_err(message)
        }
        BlobError::NoSuchSeat { .. } | BlobError::Notation { .. } => {
            IllegalAction::new_err(message)
        }
    }
}
