//! The native games as Python classes, and the choice of a forest's game.

mod tic_tac_toe; // the class `TicTacToe`
mod connect_four; // the classes `ConnectFour` and `ConnectFourSolver`
mod chess; // the class `Chess`, and `expand_planes`
mod chess_files; // packed game files as columns
mod blob_errors; // errors of Blob as exceptions
mod blob_options; // options of Blob by name
mod blob; // the class `Blob`
mod blob_bots; // bots of Blob, and games between them
mod blob_lessons; // training rounds of Blob, and rounds played by a network
mod latent; // root states of learned models
mod remake; // positions of stored games

use pyo3::PyTypeInfo;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use sylvan_core::Config;
use sylvan_core::Latent;
use sylvan_games::blob::Blob;
use sylvan_games::chess::Chess;
use sylvan_games::connect_four::ConnectFour;
use sylvan_games::tic_tac_toe::TicTacToe;

use crate::any_actors::{AnyActors, Given, actors_of};
use crate::any_forest::{AnyForest, build_from};
use crate::python_game::PythonGame;

use self::blob::PyBlob;
use self::chess::PyChess;
use self::connect_four::{PyConnectFour, PySolver};
use self::latent::PyLatent;
use self::tic_tac_toe::PyTicTacToe;

pyo3::import_exception!(sylvan.errors, IllegalAction);

/// The error for an action that is not an integer.
fn not_a_code(action: &Bound<'_, PyAny>) -> PyErr {
    match action.repr() {
        Ok(given) => IllegalAction::new_err(format!(
            "{given} is not an action: give a whole number of legal_actions(), or the result of \
             string_to_action()"
        )),
        Err(error) => error,
    }
}

/// The items of a list argument.
fn listed<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyIterator>> {
    given.try_iter().map_err(|error| match given.repr() {
        Ok(text) if error.is_instance_of::<PyTypeError>(given.py()) => {
            IllegalAction::new_err(format!("{name} is {text}: give a list"))
        }
        _ => error,
    })
}

/// Builds a forest of the states' game.
pub fn forest(states: &[Bound<'_, PyAny>], config: Config) -> PyResult<Box<dyn AnyForest>> {
    if states.iter().all(keeps_rules::<PyChess>) {
        return build_from::<Chess>(states, config);
    }
    if states.iter().all(keeps_rules::<PyConnectFour>) {
        return build_from::<ConnectFour>(states, config);
    }
    if states.iter().all(keeps_rules::<PyTicTacToe>) {
        return build_from::<TicTacToe>(states, config);
    }
    if states.iter().all(keeps_rules::<PyBlob>) {
        return build_from::<Blob>(states, config);
    }
    if states.iter().all(keeps_rules::<PyLatent>) {
        return build_from::<Latent>(states, config);
    }
    build_from::<PythonGame>(
        states,
        Config {
            threads: 1,
            ..config
        },
    )
}

/// Builds the actors of a state's game.
pub fn actors(first: &Bound<'_, PyAny>, given: Given<'_, '_>) -> PyResult<Box<dyn AnyActors>> {
    if keeps_rules::<PyChess>(first) {
        return actors_of::<Chess>(first, given);
    }
    if keeps_rules::<PyConnectFour>(first) {
        return actors_of::<ConnectFour>(first, given);
    }
    if keeps_rules::<PyTicTacToe>(first) {
        return actors_of::<TicTacToe>(first, given);
    }
    if keeps_rules::<PyBlob>(first) {
        return actors_of::<Blob>(first, given);
    }
    actors_of::<PythonGame>(first, given)
}

/// Whether `state` is a native game whose Python class does not override the rules. A class that
/// overrides them is searched as a game written in Python.
fn keeps_rules<T: PyTypeInfo>(state: &Bound<'_, PyAny>) -> bool {
    let (class, native) = (state.get_type(), state.py().get_type::<T>());
    let same = |name: &str| match (class.getattr(name), native.getattr(name)) {
        (Ok(of_class), Ok(of_native)) => of_class.is(&of_native),
        _ => false,
    };
    state.is_instance_of::<T>() && RULES.iter().all(|name| same(name))
}

const RULES: [&str; 6] = [
    "legal_actions",
    "apply",
    "to_play",
    "is_terminal",
    "returns",
    "observation",
];

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBlob>()?;
    module.add_function(wrap_pyfunction!(blob::blob_card, module)?)?;
    module.add_class::<blob_bots::PyBlobBot>()?;
    module.add_function(wrap_pyfunction!(blob_bots::blob_games, module)?)?;
    module.add_function(wrap_pyfunction!(blob_bots::blob_one_card_bid, module)?)?;
    module.add_function(wrap_pyfunction!(blob_lessons::blob_rounds, module)?)?;
    module.add_function(wrap_pyfunction!(blob_lessons::blob_rows, module)?)?;
    module.add_class::<blob_lessons::PyBlobTables>()?;
    module.add_class::<PyChess>()?;
    module.add_class::<chess_files::PyGameFile>()?;
    module.add_function(wrap_pyfunction!(chess::expand_planes, module)?)?;
    module.add_class::<PyConnectFour>()?;
    module.add_class::<PySolver>()?;
    module.add_function(wrap_pyfunction!(remake::remake_positions, module)?)?;
    module.add_class::<PyLatent>()?;
    module.add_class::<PyTicTacToe>()
}
