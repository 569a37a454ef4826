//! A game written in Python, as the core sees it.
//!
//! Every call runs Python code, so the interpreter's lock is held while such a game is searched
//! and one thread searches it. Whatever the game raises comes back unchanged.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;
use sylvan_core::{Action, Game, Rules, Turn};

pyo3::import_exception!(sylvan.errors, GameContractError);

/// What does not change from state to state.
#[derive(Debug)]
struct Facts {
    rules: Rules,
    class: String,
    has_chance: bool,
}

#[derive(Debug)]
pub struct PythonGame {
    /// The state, or what its `clone` raised: told at the next question.
    state: Result<Py<PyAny>, Arc<PyErr>>,
    facts: Arc<Facts>,
}

impl Clone for PythonGame {
    fn clone(&self) -> Self {
        let cloned = Python::attach(|py| self.get(py)?.call_method0(intern!(py, "clone")).map(Bound::unbind));
        Self {
            state: cloned.map_err(Arc::new),
            facts: Arc::clone(&self.facts),
        }
    }
}

impl PythonGame {
    /// Takes a copy of a state.
    pub fn new(game: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = game.py();
        let class = game.get_type();
        let base = game_class(py)?;
        let overrides = |name: &str| -> PyResult<bool> {
            if !class.hasattr(name)? {
                return Ok(false);
            }
            Ok(!class.getattr(name)?.is(&base.getattr(name)?))
        };
        let number = |name: &str| -> PyResult<usize> { game.getattr(name)?.extract() };
        let mut rules = Rules {
            num_players: number("num_players")?,
            num_actions: number("num_actions")?,
            zero_sum: game.getattr("zero_sum").and_then(|z| z.extract()).unwrap_or(false),
            has_rewards: overrides("rewards")?,
            value_range: match game.getattr("value_range") {
                Ok(range) => range.extract()?,
                Err(_) => (-1.0, 1.0),
            },
            observation_shape: Vec::new(),
        };
        rules.zero_sum &= rules.num_players == 2;
        let facts = Facts {
            rules,
            class: class.name()?.to_string(),
            has_chance: overrides("is_chance")?,
        };
        Ok(Self {
            state: Ok(game.call_method0("clone")?.unbind()),
            facts: Arc::new(facts),
        })
    }

    /// The Python state itself.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.state {
            Ok(state) => Ok(state.bind(py).clone()),
            Err(error) => Err(error.clone_ref(py)),
        }
    }

    fn broken(&self, method: &str, fault: String) -> PyErr {
        GameContractError::new_err(format!("{}.{method}() {fault}", self.facts.class))
    }

    fn seats(&self, method: &str, values: Vec<f64>, out: &mut [f64]) -> PyResult<()> {
        if values.len() != out.len() {
            let fault = format!("gave {} numbers for {} seats.", values.len(), out.len());
            return Err(self.broken(method, fault));
        }
        if let Some(x) = values.iter().find(|x| !x.is_finite()) {
            return Err(self.broken(method, format!("gave {x}: it must give finite numbers.")));
        }
        out.copy_from_slice(&values);
        Ok(())
    }
}

/// `sylvan.games.game.Game`, whose methods are the defaults.
fn game_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let module = py.import("sylvan.games.game")?;
        module.getattr("Game").map(Bound::unbind)
    })?;
    Ok(class.bind(py))
}

impl Game for PythonGame {
    type Error = PyErr;
    type Cell = f32;
    const KEEP_ACTIONS: bool = true;

    fn rules(&self) -> Rules {
        self.facts.rules.clone()
    }

    fn turn(&self, actions: &mut Vec<Action>) -> PyResult<Turn> {
        Python::attach(|py| {
            let state = self.get(py)?;
            actions.clear();
            if state.call_method0(intern!(py, "is_terminal"))?.is_truthy()? {
                return Ok(Turn::Over);
            }
            if self.facts.has_chance && state.call_method0(intern!(py, "is_chance"))?.is_truthy()? {
                return Ok(Turn::Chance);
            }
            let seat: i64 = state.call_method0(intern!(py, "to_play"))?.extract()?;
            let rules = &self.facts.rules;
            if !(0..rules.num_players as i64).contains(&seat) {
                let fault = format!("gave {seat}: seats are 0 to {}.", rules.num_players - 1);
                return Err(self.broken("to_play", fault));
            }
            for action in state.call_method0(intern!(py, "legal_actions"))?.try_iter()? {
                let action: i64 = action?.extract()?;
                if !(0..rules.num_actions as i64).contains(&action) {
                    let fault = format!("gave {action}: actions are 0 to {}.", rules.num_actions - 1);
                    return Err(self.broken("legal_actions", fault));
                }
                actions.push(action as Action);
            }
            if actions.is_empty() {
                let fault = "is empty in a state that is not terminal.".to_owned();
                return Err(self.broken("legal_actions", fault));
            }
            Ok(Turn::Seat(seat as u8))
        })
    }

    fn chance_outcomes(&self, outcomes: &mut Vec<(Action, f64)>) -> PyResult<()> {
        Python::attach(|py| {
            outcomes.clear();
            let state = self.get(py)?;
            for pair in state.call_method0(intern!(py, "chance_outcomes"))?.try_iter()? {
                outcomes.push(pair?.extract()?);
            }
            let sum: f64 = outcomes.iter().map(|outcome| outcome.1).sum();
            if (sum - 1.0).abs() > 1e-6 {
                let fault = format!("gave probabilities that add up to {sum}, not to 1.");
                return Err(self.broken("chance_outcomes", fault));
            }
            Ok(())
        })
    }

    fn apply(&mut self, action: Action) -> PyResult<()> {
        Python::attach(|py| {
            self.get(py)?.call_method1(intern!(py, "apply"), (action,))?;
            Ok(())
        })
    }

    fn returns(&self, out: &mut [f64]) -> PyResult<()> {
        Python::attach(|py| {
            let values = self.get(py)?.call_method0(intern!(py, "returns"))?;
            self.seats("returns", numbers(&values)?, out)?;
            let (low, high) = self.facts.rules.value_range;
            if let Some(x) = out.iter().find(|&&x| x < low || x > high) {
                let fault = format!("gave {x}, outside value_range ({low}, {high}).");
                return Err(self.broken("returns", fault));
            }
            if self.facts.rules.zero_sum && out[0] != -out[1] {
                let fault = format!("gave {} and {}, but zero_sum is true: they must add up to 0.", out[0], out[1]);
                return Err(self.broken("returns", fault));
            }
            Ok(())
        })
    }

    fn rewards(&self, out: &mut [f64]) -> PyResult<()> {
        Python::attach(|py| {
            let values = self.get(py)?.call_method0(intern!(py, "rewards"))?;
            self.seats("rewards", numbers(&values)?, out)
        })
    }

    fn observe(&self, _out: &mut [f32]) -> PyResult<()> {
        Err(PyValueError::new_err("Python games are observed in Python."))
    }

    fn key(&self) -> u64 {
        let key = Python::attach(|py| -> PyResult<u64> {
            let bytes: Vec<u8> = self.get(py)?.call_method0(intern!(py, "key"))?.extract()?;
            let mix = |hash, &byte: &u8| sylvan_core::rng::mix(hash, u64::from(byte));
            Ok(bytes.iter().fold(0, mix))
        });
        key.unwrap_or(0)
    }
}

fn numbers(values: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    values.try_iter()?.map(|x| x?.extract()).collect()
}
