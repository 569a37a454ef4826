//! Games written in Python, as games of the core.
//!
//! Every call runs Python code, so the interpreter's lock is held while such a game is searched
//! and one thread searches it. Exceptions of the game come back unchanged.

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyList};
use std::sync::Arc;
use sylvan_core::values::Values;
use sylvan_core::{Action, Forest, Game, Rng as CoreRng, Rules, Seat, Turn};

use crate::bridge::{Bridge, ReusedArrays};
use crate::numbers::Rng;

pyo3::import_exception!(sylvan.errors, GameContractError);

/// Facts that are the same for all states of a game.
#[derive(Debug)]
struct Facts {
    rules: Rules,
    class: String,
    has_chance: bool,
    has_logits: bool,
    hides: bool,
    state_bytes: u64,
}

#[derive(Debug)]
pub struct PythonGame {
    /// The state, or the exception of its `clone`, returned by the next call.
    state: Result<Py<PyAny>, Arc<PyErr>>,
    facts: Arc<Facts>,
    /// The seat whose view this is.
    observer: Option<Seat>,
}

impl Clone for PythonGame {
    fn clone(&self) -> Self {
        let cloned = Python::attach(|py| {
            let copy = self.get(py)?.call_method0(intern!(py, "clone"))?;
            if copy.is_none() {
                let fault = "gave None: it must give a copy of the state.";
                return Err(self.broken("clone", fault.to_owned()));
            }
            Ok(copy.unbind())
        });
        Self {
            state: cloned.map_err(Arc::new),
            facts: Arc::clone(&self.facts),
            observer: self.observer,
        }
    }
}

impl PythonGame {
    /// Takes a copy of a state.
    pub fn new(game: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = game.py();
        let observer = observer(game)?;
        // The class of the full state defines the rules.
        let whole = match observer {
            Some(_) => game.call_method1("sample", (Rng(CoreRng::new(0, 0)),))?,
            None => game.clone(),
        };
        let class = whole.get_type();
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
            zero_sum: game
                .getattr("zero_sum")
                .and_then(|z| z.extract())
                .unwrap_or(false),
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
            class: game.get_type().name()?.to_string(),
            has_chance: overrides("is_chance")?,
            has_logits: overrides("logit_index")?,
            hides: overrides("observe")?,
            state_bytes: py
                .import("sylvan.games.game")?
                .getattr("state_bytes")?
                .call1((game,))?
                .extract()?,
        };
        let own = Self {
            state: Ok(game.clone().unbind()),
            facts: Arc::new(facts),
            observer,
        };
        let copy = Clone::clone(&own);
        copy.get(py)?;
        Ok(copy)
    }

    /// The Python state itself.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.state {
            Ok(state) => Ok(state.bind(py).clone()),
            Err(error) => Err(error.clone_ref(py)),
        }
    }

    /// The name of the game's Python class.
    pub fn class(&self) -> &str {
        &self.facts.class
    }

    fn broken(&self, method: &str, fault: String) -> PyErr {
        GameContractError::new_err(format!("{}.{method}() {fault}", self.facts.class))
    }

    /// Iterates over the return value of `method`.
    fn items<'py>(
        &self,
        method: &str,
        given: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyIterator>> {
        let fault = |_| self.broken(method, format!("gave {given:?}: it must give a list."));
        given.try_iter().map_err(fault)
    }

    /// Converts and checks an action returned by `method`.
    fn action(&self, method: &str, given: &Bound<'_, PyAny>) -> PyResult<Action> {
        let last = self.facts.rules.num_actions - 1;
        match given.extract::<Action>() {
            Ok(action) if action as usize <= last => Ok(action),
            _ => Err(self.broken(method, format!("gave {given:?}: actions are 0 to {last}."))),
        }
    }

    /// Converts and checks the numbers per seat returned by `method`.
    fn seats(&self, method: &str, given: &Bound<'_, PyAny>, out: &mut [f64]) -> PyResult<()> {
        let wrong = || {
            let fault = format!("gave {given:?}: it must give a number for each seat.");
            self.broken(method, fault)
        };
        let mut values = Vec::with_capacity(out.len());
        for x in given.try_iter().map_err(|_| wrong())? {
            values.push(x?.extract::<f64>().map_err(|_| wrong())?);
        }
        if values.len() != out.len() {
            let (n, seats) = (values.len(), out.len());
            let fault = format!("gave {n} numbers for {seats} seats: it must give one for each.");
            return Err(self.broken(method, fault));
        }
        if let Some(x) = values.iter().find(|x| !x.is_finite()) {
            return Err(self.broken(method, format!("gave {x}: it must give finite numbers.")));
        }
        out.copy_from_slice(&values);
        Ok(())
    }

    /// The observation of the seat to move, as bytes.
    fn observed(&self, state: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let py = state.py();
        let observation = state.call_method0(intern!(py, "observation"))?;
        let array = py
            .import("numpy")?
            .call_method1("asarray", (observation,))?;
        array.call_method0("tobytes")?.extract()
    }

    fn zero_sum(&self, method: &str, values: &[f64]) -> PyResult<()> {
        match values {
            [a, b] if self.facts.rules.zero_sum && (a + b).abs() > 1e-6 => {
                let fault =
                    format!("gave {a} and {b}, but zero_sum is True: make them add up to 0.");
                Err(self.broken(method, fault))
            }
            _ => Ok(()),
        }
    }
}

/// The seat whose view a state is.
fn observer(state: &Bound<'_, PyAny>) -> PyResult<Option<Seat>> {
    match state.getattr_opt("observer")? {
        Some(seat) => seat.extract(),
        None => Ok(None),
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

/// An observation as an array of 32-bit floats, in C order.
fn given_as_floats<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let numpy = given.py().import("numpy")?;
    let array = numpy.call_method1("ascontiguousarray", (given, "float32"))?;
    Ok(array.cast_into()?)
}

fn hashed(bytes: &[u8]) -> u64 {
    let mix = |hash, &byte: &u8| sylvan_core::rng::mix(hash, u64::from(byte));
    bytes.iter().fold(0, mix)
}

impl Game for PythonGame {
    type Error = PyErr;
    type Cell = f32;
    const KEEP_STATES: bool = true;
    const HIDDEN: bool = true;

    fn rules(&self) -> Rules {
        self.facts.rules.clone()
    }

    /// Calls inside need not wait for the interpreter's lock.
    fn together<T>(work: impl FnOnce() -> T) -> T {
        Python::attach(|_| work())
    }

    fn share(&self) -> Self {
        let shared = Python::attach(|py| self.get(py).map(Bound::unbind));
        Self {
            state: shared.map_err(Arc::new),
            facts: Arc::clone(&self.facts),
            observer: self.observer,
        }
    }

    fn bytes(&self) -> u64 {
        self.facts.state_bytes
    }

    fn set_root(&mut self) {
        let done = Python::attach(|py| {
            let state = self.get(py)?;
            if state.hasattr(intern!(py, "set_root"))? {
                state.call_method0(intern!(py, "set_root"))?;
            }
            Ok(())
        });
        if let Err(error) = done {
            self.state = Err(Arc::new(error));
        }
    }

    fn observer(&self) -> Option<Seat> {
        self.observer
    }

    fn hides(&self) -> bool {
        self.facts.hides
    }

    fn view(&self, seat: Seat) -> PyResult<Self> {
        let view = Python::attach(|py| -> PyResult<Py<PyAny>> {
            Ok(self.get(py)?.call_method1("observe", (seat,))?.unbind())
        })?;
        Ok(Self {
            state: Ok(view),
            facts: Arc::clone(&self.facts),
            observer: Some(seat),
        })
    }

    fn sample(&mut self, rng: &mut CoreRng) -> PyResult<()> {
        let deal = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let view = self.get(py)?;
            let rng = Rng(rng.clone());
            let deal = view.call_method1(intern!(py, "sample"), (rng,))?;
            if deal.is(&view) || observer(&deal)?.is_some() {
                let fault = "gave a view: it must give a whole state, in a new object.";
                return Err(self.broken("sample", fault.to_owned()));
            }
            Ok(deal.unbind())
        })?;
        self.state = Ok(deal);
        self.observer = None;
        Ok(())
    }

    /// A hash of the observation of the seat to move.
    fn own_key(&self) -> PyResult<u64> {
        Python::attach(|py| Ok(hashed(&self.observed(&self.get(py)?)?)))
    }

    fn turn(&self, actions: &mut Vec<Action>) -> PyResult<Turn> {
        Python::attach(|py| {
            let state = self.get(py)?;
            actions.clear();
            if state
                .call_method0(intern!(py, "is_terminal"))?
                .is_truthy()?
            {
                return Ok(Turn::Over);
            }
            if self.facts.has_chance && state.call_method0(intern!(py, "is_chance"))?.is_truthy()? {
                return Ok(Turn::Chance);
            }
            let given = state.call_method0(intern!(py, "to_play"))?;
            let last = self.facts.rules.num_players - 1;
            let seat = match given.extract::<Seat>() {
                Ok(seat) if usize::from(seat) <= last => seat,
                _ => {
                    let fault = format!("gave {given:?}: seats are 0 to {last}.");
                    return Err(self.broken("to_play", fault));
                }
            };
            if self.observer.is_some_and(|observer| observer != seat) {
                return Ok(Turn::Seat(seat)); // a view does not know the actions of another seat
            }
            let given = state.call_method0(intern!(py, "legal_actions"))?;
            for action in self.items("legal_actions", &given)? {
                actions.push(self.action("legal_actions", &action?)?);
            }
            if actions.is_empty() {
                let fault = "gave nothing in a state that is not terminal: a seat needs a move.";
                return Err(self.broken("legal_actions", fault.to_owned()));
            }
            Ok(Turn::Seat(seat))
        })
    }

    fn chance_outcomes(&self, outcomes: &mut Vec<(Action, f64)>) -> PyResult<()> {
        Python::attach(|py| {
            outcomes.clear();
            let state = self.get(py)?;
            let method = "chance_outcomes";
            let given = state.call_method0(intern!(py, "chance_outcomes"))?;
            for pair in self.items(method, &given)? {
                let pair = pair?;
                let Ok((action, p)) = pair.extract::<(Bound<'_, PyAny>, f64)>() else {
                    let fault =
                        format!("gave {pair:?}: it must give pairs of action and probability.");
                    return Err(self.broken(method, fault));
                };
                if !(p > 0.0 && p <= 1.0 + 1e-6) {
                    let fault = format!("gave the probability {p}: it must be above 0, at most 1.");
                    return Err(self.broken(method, fault));
                }
                outcomes.push((self.action(method, &action)?, p));
            }
            let sum = outcomes.iter().fold(0.0, |sum, outcome| sum + outcome.1);
            if (sum - 1.0_f64).abs() > 1e-6 {
                let fault =
                    format!("gave probabilities that add up to {sum}: they must add up to 1.");
                return Err(self.broken(method, fault));
            }
            Ok(())
        })
    }

    fn apply(&mut self, action: Action) -> PyResult<()> {
        Python::attach(|py| {
            self.get(py)?
                .call_method1(intern!(py, "apply"), (action,))?;
            Ok(())
        })
    }

    fn returns(&self, out: &mut [f64]) -> PyResult<()> {
        Python::attach(|py| {
            let values = self.get(py)?.call_method0(intern!(py, "returns"))?;
            self.seats("returns", &values, out)?;
            let (low, high) = self.facts.rules.value_range;
            if let Some(x) = out.iter().find(|&&x| x < low || x > high) {
                let fault =
                    format!("gave {x}, outside value_range ({low}, {high}): change one of them.");
                return Err(self.broken("returns", fault));
            }
            self.zero_sum("returns", out)
        })
    }

    fn rewards(&self, out: &mut [f64]) -> PyResult<()> {
        Python::attach(|py| {
            let values = self.get(py)?.call_method0(intern!(py, "rewards"))?;
            self.seats("rewards", &values, out)?;
            self.zero_sum("rewards", out)
        })
    }

    fn estimate(&self, out: &mut [f64]) -> PyResult<bool> {
        Python::attach(|py| {
            let values = self.get(py)?.call_method0(intern!(py, "estimate"))?;
            if values.is_none() {
                return Ok(false);
            }
            self.seats("estimate", &values, out)?;
            Ok(true)
        })
    }

    fn num_logits(&self) -> usize {
        let given = Python::attach(|py| -> PyResult<usize> {
            self.get(py)?.getattr("num_logits")?.extract()
        });
        given.unwrap_or(self.facts.rules.num_actions)
    }

    /// The action, unless the game overrides it.
    fn logit_index(&self, action: Action) -> PyResult<u32> {
        if !self.facts.has_logits {
            return Ok(action);
        }
        Python::attach(|py| {
            let given = self.get(py)?.call_method1("logit_index", (action,))?;
            let wrong = |_| self.broken("logit_index", format!("gave {given:?}: give an index."));
            given.extract().map_err(wrong)
        })
    }

    /// Numbers in the batches of actors are of 32 bits, whatever the game gives.
    fn observe(&self, out: &mut [f32]) -> PyResult<()> {
        Python::attach(|py| {
            let given = self.get(py)?.call_method0(intern!(py, "observation"))?;
            let array = given_as_floats(&given)?;
            if array.shape() != self.facts.rules.observation_shape {
                let shape = array.shape();
                let fault = format!("gave an array of shape {shape:?}: always give the same one.");
                return Err(self.broken("observation", fault));
            }
            out.copy_from_slice(array.try_readonly()?.as_slice()?);
            Ok(())
        })
    }

    /// A hash of the game's `key()`; of its observation if that is None.
    fn key(&self) -> PyResult<u64> {
        Python::attach(|py| {
            let state = self.get(py)?;
            let key = state.call_method0(intern!(py, "key"))?;
            if key.is_none() {
                return Ok(hashed(&self.observed(&state)?));
            }
            let wrong = |_| self.broken("key", format!("gave {key:?}: it must give bytes."));
            Ok(hashed(&key.extract::<Vec<u8>>().map_err(wrong)?))
        })
    }

    /// A hash of the game's `position_key(ply)`, unless that is None.
    fn position_key(&self, ply: u64) -> PyResult<Option<u64>> {
        Python::attach(|py| {
            let state = self.get(py)?;
            let key = state.call_method1(intern!(py, "position_key"), (ply,))?;
            let fault = || format!("gave {key:?}: it must give bytes or None.");
            let bytes: Option<Vec<u8>> = key
                .extract()
                .map_err(|_: PyErr| self.broken("position_key", fault()))?;
            Ok(bytes.map(|bytes| hashed(&bytes)))
        })
    }
}

impl Bridge for PythonGame {
    const NEEDS_LOCK: bool = true;

    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::new(object)
    }

    /// Chance takes its first outcome until a seat moves and can be shown the game.
    fn first_of_actors(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut own = Self::new(object)?;
        let (mut seen, mut outcomes) = (own.clone(), Vec::new());
        while seen.turn(&mut Vec::new())? == Turn::Chance {
            seen.chance_outcomes(&mut outcomes)?;
            seen.apply(outcomes[0].0)?;
        }
        let given = seen.get(object.py())?.call_method0("observation")?;
        let shape = given_as_floats(&given)?.shape().to_vec();
        drop(seen); // so that nobody shares the facts
        if let Some(facts) = Arc::get_mut(&mut own.facts) {
            facts.rules.observation_shape = shape;
        }
        Ok(own)
    }

    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.get(like.py())?.call_method0("clone")
    }

    /// Never writes in place: Python returns arrays of its own.
    fn observe_into<V: Values>(
        _: &mut Forest<Self, V>,
        _: Python<'_>,
        _: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        Ok(false)
    }

    fn observations<V: Values>(
        forest: &mut Forest<Self, V>,
        py: Python<'_>,
        _: &mut ReusedArrays,
    ) -> PyResult<Py<PyAny>> {
        let arrays = PyList::empty(py);
        for (_, visit) in forest.leaves() {
            // Copy, because a game may return the same array every time.
            let observation = visit.state.get(py)?.call_method0("observation")?;
            arrays.append(py.import("numpy")?.call_method1("array", (observation,))?)?;
        }
        let stacked = py.import("numpy")?.call_method1("stack", (arrays,));
        let stacked = stacked.map_err(|error| {
            if !error.is_instance_of::<PyValueError>(py) {
                return error;
            }
            let class = forest.leaves().next().map(|(_, visit)| visit.state.class());
            GameContractError::new_err(format!(
                "{}.observation() gave arrays of different shapes: always give the same one.",
                class.unwrap_or_default()
            ))
        })?;
        stacked.into_py_any(py)
    }
}
