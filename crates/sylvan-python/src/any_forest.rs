//! Forests of all games, and of all ways to store values, behind one trait.

use std::borrow::Cow;

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice};
use sylvan_core::bulk::MoveError;
use sylvan_core::config::{Limits, Stop};
use sylvan_core::node::Kind;
use sylvan_core::outcome::NodeStats;
use sylvan_core::values::{Duel, Seats, Values};
use sylvan_core::{Action, Config, Evaluator, Forest, Game, Rules, SearchError, Timing};

use crate::python_game::PythonGame;

pyo3::import_exception!(sylvan.errors, EvaluationError);
pyo3::import_exception!(sylvan.errors, GameContractError);
pyo3::import_exception!(sylvan.errors, IllegalAction);
pyo3::import_exception!(sylvan.errors, SearchStateError);

/// A game whose states come from and go to Python.
pub trait Bridge: Game<Error: Into<PyErr>> {
    /// Python code runs inside the game: keep the lock.
    const NEEDS_LOCK: bool = false;

    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self>;
    /// A Python object of the class of `like` in this state.
    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    /// The evaluator of this name, with its parameters.
    fn evaluator(
        name: &str,
        params: &Bound<'_, PyDict>,
        discount: f64,
    ) -> PyResult<Box<dyn Evaluator<Self>>> {
        crate::evaluators::common(name, params, discount)
    }
    fn observations<V: Values>(
        forest: &mut Forest<Self, V>,
        py: Python<'_>,
        spare: &mut Spare,
    ) -> PyResult<Py<PyAny>>;
    /// Writes the same into an array; false if that is not made for them.
    fn observe_into<V: Values>(
        _forest: &mut Forest<Self, V>,
        _py: Python<'_>,
        _out: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        Ok(false)
    }
    /// Where a policy output has the logit of an action that is legal here.
    fn logit_index(&self, action: Action) -> PyResult<Action> {
        Ok(action)
    }
    /// Of a learned model's state: the slot that its last step started from, that step's action, and
    /// its own slot.
    fn last_step(&self) -> (u32, Action, u32) {
        (0, 0, 0)
    }
}

/// Arrays of observations that were handed out before, flat: memory that is warm once nobody else
/// holds it. Two, for callers who keep one batch while they fill the next.
#[derive(Default)]
pub struct Spare([Option<Py<PyAny>>; 2]);

impl Spare {
    /// A flat array of at least `len` cells that nobody else holds, not even through a view.
    fn take<'py, T: Element + Copy + Default>(
        &mut self,
        py: Python<'py>,
        len: usize,
    ) -> Bound<'py, PyArray1<T>> {
        for place in &mut self.0 {
            // SAFETY: the array is alive, and the lock is held.
            let holders = |array: &Py<PyAny>| unsafe { pyo3::ffi::Py_REFCNT(array.as_ptr()) };
            if place.as_ref().is_none_or(|array| holders(array) > 1) {
                continue;
            }
            let array = place.take().map(|array| array.into_bound(py));
            if let Some(Ok(array)) = array.map(Bound::cast_into::<PyArray1<T>>)
                && (len..=4 * len).contains(&array.len())
            {
                return array;
            }
        }
        PyArray1::from_vec(py, vec![T::default(); len])
    }

    /// Remembers an array that is about to be handed out.
    fn keep<T: Element>(&mut self, array: &Bound<'_, PyArray1<T>>) {
        self.0.swap(0, 1);
        self.0[0] = Some(array.clone().into_any().unbind());
    }
}

/// Observations of a native game: one array of the game's cells.
pub fn cells<G: Game<Error: Into<PyErr>>, V: Values>(
    forest: &mut Forest<G, V>,
    py: Python<'_>,
    spare: &mut Spare,
) -> PyResult<Py<PyAny>>
where
    G::Cell: Element,
{
    let rules = &forest.settings.rules;
    let mut shape = vec![forest.num_leaves()];
    shape.extend(&rules.observation_shape);
    let len = forest.num_leaves() * rules.observation_len();
    let array = spare.take::<G::Cell>(py, len);
    let mut cells = array.try_readwrite()?;
    let out = &mut cells.as_slice_mut()?[..len];
    py.detach(|| forest.observe(out)).map_err(Into::into)?;
    drop(cells);
    let filled = array.get_item(PySlice::new(py, 0, len as isize, 1))?;
    spare.keep(&array);
    drop(array);
    filled.call_method1("reshape", (shape,))?.into_py_any(py)
}

/// Writes the same cells into an array of the caller's; false if it is not made for them.
pub fn cells_into<G: Game<Error: Into<PyErr>>, V: Values>(
    forest: &mut Forest<G, V>,
    py: Python<'_>,
    out: &Bound<'_, PyAny>,
) -> PyResult<bool>
where
    G::Cell: Element,
{
    let Ok(array) = out.cast::<PyArrayDyn<G::Cell>>() else {
        return Ok(false);
    };
    let leaf_shape = &forest.settings.rules.observation_shape;
    let Some((&rows, shape)) = array.shape().split_first() else {
        return Ok(false);
    };
    if rows != forest.num_leaves() || shape != leaf_shape || !array.is_c_contiguous() {
        return Ok(false);
    }
    let mut cells = array.try_readwrite()?;
    let out = cells.as_slice_mut()?;
    py.detach(|| forest.observe(out)).map_err(Into::into)?;
    Ok(true)
}

impl Bridge for PythonGame {
    const NEEDS_LOCK: bool = true;

    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::new(object)
    }

    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.get(like.py())?.call_method0("clone")
    }

    fn logit_index(&self, action: Action) -> PyResult<Action> {
        self.logit_index(action)
    }

    fn observations<V: Values>(
        forest: &mut Forest<Self, V>,
        py: Python<'_>,
        _: &mut Spare,
    ) -> PyResult<Py<PyAny>> {
        let arrays = PyList::empty(py);
        for (_, visit) in forest.leaves() {
            // A copy, since a game may fill and return the same array again and again.
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

/// A forest of some game, whose values are stored in some way.
pub trait AnyForest: Send {
    fn begin(&mut self, py: Python<'_>, quiet: bool, noise: Vec<Option<Vec<f64>>>);
    fn is_done(&self) -> bool;
    fn select(&mut self, py: Python<'_>, timing: &Timing) -> PyResult<()>;
    fn leaves(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    fn num_leaves(&self) -> usize;
    fn logit_indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>>;
    fn observations(&mut self, py: Python<'_>, spare: &mut Spare) -> PyResult<Py<PyAny>>;
    fn steps(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    /// Writes observations into an array of the game's cells, if that fits.
    fn observe(&mut self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<bool>;
    fn leaf_state<'py>(&self, i: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    fn update(
        &mut self,
        py: Python<'_>,
        policy: Policy<'_>,
        values: &[f32],
        rewards: Option<&[f32]>,
    ) -> PyResult<()>;
    fn abandon(&mut self);
    fn run(
        &mut self,
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
        timing: &Timing,
    ) -> PyResult<()>;
    fn evaluate(
        &self,
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<Py<PyAny>>;
    fn advance(&mut self, tree: usize, action: Action) -> PyResult<()>;
    fn plant(&mut self, tree: usize, state: &Bound<'_, PyAny>) -> PyResult<()>;
    fn state<'py>(&self, tree: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    fn outcomes(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    fn play(&mut self, py: Python<'_>, actions: &[i64], keep: bool) -> PyResult<Py<PyAny>>;
    fn draw(&self, uniforms: &[f64]) -> PyResult<Vec<i64>>;
    fn outcome(&mut self, py: Python<'_>, tree: usize) -> PyResult<Py<PyAny>>;
    fn progress(&self, tree: usize) -> (u64, u64, u64, u32, Option<&'static str>);
    fn pick(&mut self, tree: usize) -> Action;
    fn node(&mut self, tree: usize, path: &[Action]) -> PyResult<Option<NodeStats>>;
    fn line(&mut self, tree: usize, path: &[Action]) -> Vec<Action>;
    fn limits(&mut self) -> &mut Limits;
    fn end(&mut self, tree: usize);
    fn signature(&mut self, tree: usize) -> u64;
    fn bytes(&self) -> u64;
}

/// Logits as they came: over all policy outputs, or over the legal ones of all leaves.
pub enum Policy<'a> {
    All(numpy::ndarray::ArrayView2<'a, f32>),
    Legal(&'a [f32]),
}

fn search_error<E: Into<PyErr>>(error: SearchError<E>) -> PyErr {
    match error {
        SearchError::Game(error) => error.into(),
        other => GameContractError::new_err(format!("{}.", capitalised(&other.to_string()))),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// Runs Rust code with the lock released, unless the game needs it.
fn unlocked<G: Bridge, T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    if G::NEEDS_LOCK {
        work()
    } else {
        py.detach(work)
    }
}

impl<G: Bridge, V: Values> AnyForest for Forest<G, V> {
    fn begin(&mut self, py: Python<'_>, quiet: bool, noise: Vec<Option<Vec<f64>>>) {
        unlocked::<G, _>(py, || {
            Forest::begin(self, quiet, |i| noise.get(i).cloned().flatten());
        });
    }

    fn is_done(&self) -> bool {
        Forest::is_done(self)
    }

    fn select(&mut self, py: Python<'_>, timing: &Timing) -> PyResult<()> {
        unlocked::<G, _>(py, || Forest::select(self, timing)).map_err(search_error)
    }

    fn num_leaves(&self) -> usize {
        Forest::num_leaves(self)
    }

    /// Trees, seats, offsets into actions, actions, tickets.
    fn leaves(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let room = Forest::num_leaves(self);
        let (mut trees, mut seats) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let (mut actions, mut tickets) = (Vec::with_capacity(8 * room), Vec::with_capacity(room));
        let mut offsets = Vec::with_capacity(room + 1);
        offsets.push(0i64);
        for (tree, visit) in Forest::leaves(self) {
            trees.push(tree as i64);
            seats.push(i64::from(visit.seat));
            actions.extend(visit.actions.iter().map(|&a| i64::from(a)));
            offsets.push(actions.len() as i64);
            tickets.push(visit.ticket);
        }
        (
            PyArray1::from_vec(py, trees),
            PyArray1::from_vec(py, seats),
            PyArray1::from_vec(py, offsets),
            PyArray1::from_vec(py, actions),
            PyArray1::from_vec(py, tickets),
        )
            .into_py_any(py)
    }

    /// Where the policy has the logits of the legal actions, leaf after leaf.
    fn logit_indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let indices = unlocked::<G, _>(py, || {
            self.of_leaves(|visit, indices| {
                for &action in &visit.actions {
                    indices.push(i64::from(visit.state.logit_index(action)?));
                }
                Ok::<(), PyErr>(())
            })
        })?;
        Ok(PyArray1::from_vec(py, indices))
    }

    fn observe(&mut self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<bool> {
        G::observe_into(self, py, out)
    }

    fn observations(&mut self, py: Python<'_>, spare: &mut Spare) -> PyResult<Py<PyAny>> {
        G::observations(self, py, spare)
    }

    /// Of each leaf the slot that its last step started from, that step's action, its own slot.
    fn steps(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (mut parents, mut actions, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for (_, visit) in Forest::leaves(self) {
            let (parent, action, slot) = visit.state.last_step();
            parents.push(i64::from(parent));
            actions.push(i64::from(action));
            slots.push(i64::from(slot));
        }
        (
            PyArray1::from_vec(py, parents),
            PyArray1::from_vec(py, actions),
            PyArray1::from_vec(py, slots),
        )
            .into_py_any(py)
    }

    fn leaf_state<'py>(&self, i: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let leaf = Forest::leaves(self).nth(i);
        let (_, visit) = leaf
            .ok_or_else(|| SearchStateError::new_err(format!("There is no leaf {i} in flight.")))?;
        visit.state.to_python(like)
    }

    fn update(
        &mut self,
        py: Python<'_>,
        policy: Policy<'_>,
        values: &[f32],
        rewards: Option<&[f32]>,
    ) -> PyResult<()> {
        if G::LEARNED
            && let Policy::All(rows) = &policy
        {
            return update_learned(self, py, rows, values, rewards);
        }
        let legal = match policy {
            Policy::All(rows) => Cow::Owned(gathered(self, &rows)?),
            Policy::Legal(flat) => Cow::Borrowed(flat),
        };
        let mut offsets = vec![0];
        for (i, (tree, visit)) in Forest::leaves(self).enumerate() {
            let (first, end) = (offsets[i], offsets[i] + visit.actions.len());
            check_logits(i, tree, &visit.actions, &legal[first..end])?;
            offsets.push(end);
        }
        let fill = |i: usize, _: &sylvan_core::tree::Visit<G>, out: &mut Vec<f32>| {
            out.extend_from_slice(&legal[offsets[i]..offsets[i + 1]]);
        };
        unlocked::<G, _>(py, || Forest::update(self, &fill, values, rewards));
        Ok(())
    }

    fn abandon(&mut self) {
        Forest::abandon(self);
    }

    fn run(
        &mut self,
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
        timing: &Timing,
    ) -> PyResult<()> {
        let evaluator = G::evaluator(name, params, self.settings.config.discount)?;
        unlocked::<G, _>(py, || Forest::run(self, evaluator.as_ref(), timing)).map_err(search_error)
    }

    /// What a native evaluator says of the batch: logits of legal actions, values per seat.
    fn evaluate(
        &self,
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<Py<PyAny>> {
        let evaluator = G::evaluator(name, params, self.settings.config.discount)?;
        let (mut logits, mut values) = (Vec::new(), Vec::new());
        let mut one = Vec::new();
        let mut seats = vec![0.0; self.settings.rules.num_players];
        for (_, visit) in Forest::leaves(self) {
            evaluator
                .evaluate(&visit.leaf(), &mut one, &mut seats)
                .map_err(Into::into)?;
            logits.extend_from_slice(&one);
            values.extend_from_slice(&seats);
        }
        (
            PyArray1::from_vec(py, logits),
            PyArray1::from_vec(py, values),
        )
            .into_py_any(py)
    }

    fn advance(&mut self, tree: usize, action: Action) -> PyResult<()> {
        Forest::advance(self, tree, action).map_err(Into::into)
    }

    fn plant(&mut self, tree: usize, state: &Bound<'_, PyAny>) -> PyResult<()> {
        Forest::plant(self, tree, G::from_python(state)?);
        Ok(())
    }

    /// The state at the root of a tree.
    fn state<'py>(&self, tree: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(tree).state.to_python(like)
    }

    /// Of all trees: offsets, actions, policy, visits, priors, best, seats, values, surprise,
    /// simulations.
    fn outcomes(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let found = unlocked::<G, _>(py, || Forest::outcomes(self));
        (
            PyArray1::from_vec(py, found.offsets),
            PyArray1::from_vec(py, found.actions),
            PyArray1::from_vec(py, found.policy),
            PyArray1::from_vec(py, found.visits),
            PyArray1::from_vec(py, found.priors),
            PyArray1::from_vec(py, found.best),
            PyArray1::from_vec(py, found.seats),
            PyArray1::from_vec(py, found.values),
            PyArray1::from_vec(py, found.surprise),
            PyArray1::from_vec(py, found.simulations),
        )
            .into_py_any(py)
    }

    /// Turns, returns and rewards after a move in every tree.
    fn play(&mut self, py: Python<'_>, actions: &[i64], keep: bool) -> PyResult<Py<PyAny>> {
        let moved = unlocked::<G, _>(py, || Forest::play(self, actions, keep));
        let landings = moved.map_err(|error| match error {
            MoveError::Game(error) => error.into(),
            MoveError::Illegal { .. } => IllegalAction::new_err(error.to_string()),
        })?;
        (
            PyArray1::from_vec(py, landings.turns),
            PyArray1::from_vec(py, landings.returns),
            PyArray1::from_vec(py, landings.rewards),
        )
            .into_py_any(py)
    }

    fn draw(&self, uniforms: &[f64]) -> PyResult<Vec<i64>> {
        Forest::draw(self, uniforms).map_err(Into::into)
    }

    /// The root's actions, policy, best action, principal variation.
    fn outcome(&mut self, py: Python<'_>, tree: usize) -> PyResult<Py<PyAny>> {
        let search = self.search(tree);
        if search.pool[search.tree.root].kind() != Kind::Decision {
            return Ok(py.None());
        }
        let actions: Vec<i64> = search
            .tree
            .edges
            .actions
            .iter()
            .map(|&a| i64::from(a))
            .collect();
        let best = search.tree.edges.actions[search.best()];
        (
            PyArray1::from_vec(py, actions),
            PyArray1::from_vec(py, search.policy()),
            best,
            search.principal_variation(),
        )
            .into_py_any(py)
    }

    /// Simulations, nodes, bytes, depth, what ended the search.
    fn progress(&self, tree: usize) -> (u64, u64, u64, u32, Option<&'static str>) {
        let tree = self.tree(tree);
        let progress = &tree.progress;
        let stop = progress.stop.map(|stop| stop.name());
        (
            progress.finished,
            tree.nodes,
            tree.bytes,
            progress.depth,
            stop,
        )
    }

    fn pick(&mut self, tree: usize) -> Action {
        let mut search = self.search(tree);
        let place = search.pick();
        search.tree.edges.actions[place]
    }

    fn node(&mut self, tree: usize, path: &[Action]) -> PyResult<Option<NodeStats>> {
        self.search(tree).node_stats(path).map_err(Into::into)
    }

    /// What is expected after a path; nothing where the tree does not have it.
    fn line(&mut self, tree: usize, path: &[Action]) -> Vec<Action> {
        let search = self.search(tree);
        search
            .find(path)
            .map_or_else(Vec::new, |id| search.line(id))
    }

    fn limits(&mut self) -> &mut Limits {
        &mut self.settings.config.limits
    }

    /// No further simulation of one tree starts.
    fn end(&mut self, tree: usize) {
        let search = self.search(tree);
        search.tree.progress.stop.get_or_insert(Stop::External);
    }

    fn signature(&mut self, tree: usize) -> u64 {
        self.search(tree).signature()
    }

    fn bytes(&self) -> u64 {
        Forest::bytes(self)
    }
}

/// Takes in what a learned model says: rows of logits of all actions, in which a root's illegal ones
/// do not count.
fn update_learned<G: Bridge, V: Values>(
    forest: &mut Forest<G, V>,
    py: Python<'_>,
    rows: &numpy::ndarray::ArrayView2<'_, f32>,
    values: &[f32],
    rewards: Option<&[f32]>,
) -> PyResult<()> {
    let finite = |row: &[f32]| row.iter().fold(true, |all, x| all & x.is_finite());
    let mut all: Vec<Action> = Vec::new();
    for (i, (row, (tree, visit))) in rows.rows().into_iter().zip(forest.leaves()).enumerate() {
        let row = row.as_slice().expect("rows are contiguous");
        if !finite(row) {
            all.resize(row.len(), 0);
            (0..).zip(&mut all).for_each(|(i, action)| *action = i);
            check_logits(i, tree, &all, row)?;
            let legal: Vec<f32> = visit.actions.iter().map(|&a| row[a as usize]).collect();
            if !legal.is_empty() {
                check_logits(i, tree, &visit.actions, &legal)?;
            }
        }
    }
    let fill = |i: usize, visit: &sylvan_core::tree::Visit<G>, out: &mut Vec<f32>| {
        let row = rows.row(i);
        match &visit.actions[..] {
            [] => out.extend_from_slice(row.as_slice().expect("rows are contiguous")),
            legal => out.extend(legal.iter().map(|&action| row[action as usize])),
        }
    };
    unlocked::<G, _>(py, || forest.update(&fill, values, rewards));
    Ok(())
}

/// The logits of legal actions, leaf after leaf, out of rows of all outputs.
fn gathered<G: Bridge, V: Values>(
    forest: &Forest<G, V>,
    rows: &numpy::ndarray::ArrayView2<'_, f32>,
) -> PyResult<Vec<f32>> {
    let mut legal = Vec::new();
    for (row, (_, visit)) in rows.rows().into_iter().zip(forest.leaves()) {
        for &action in &visit.actions {
            let index = visit.state.logit_index(action)? as usize;
            let logit = row.get(index).ok_or_else(|| {
                GameContractError::new_err(format!(
                    "The logit of action {action} is at {index}, but num_logits is {}: make \
                     logit_index() and num_logits agree.",
                    row.len()
                ))
            })?;
            legal.push(*logit);
        }
    }
    Ok(legal)
}

fn check_logits(leaf: usize, tree: usize, actions: &[Action], logits: &[f32]) -> PyResult<()> {
    let mut finite = false;
    for (action, x) in actions.iter().zip(logits) {
        if x.is_nan() || *x == f32::INFINITY {
            return Err(EvaluationError::new_err(format!(
                "The policy of leaf {leaf} (tree {tree}) has {x} for action {action}: logits are finite or -inf."
            )));
        }
        finite |= x.is_finite();
    }
    if finite {
        return Ok(());
    }
    Err(EvaluationError::new_err(format!(
        "The policy of leaf {leaf} (tree {tree}) has no finite logit among its {} legal actions: give at least one.",
        actions.len()
    )))
}

/// Picks the way to store values: one number where two seats play for -1, 0 or 1 alone.
fn build<G: Bridge + 'static>(
    states: Vec<G>,
    rules: Rules,
    config: Config,
) -> PyResult<Box<dyn AnyForest>> {
    let duel = rules.num_players == 2
        && rules.zero_sum
        && !rules.has_rewards
        && rules.value_range == (-1.0, 1.0)
        && config.discount == 1.0;
    Ok(match rules.num_players {
        2 if duel => Box::new(Forest::<G, Duel>::new(states, rules, config)),
        1 if G::KEEP_STATES => Box::new(Forest::<G, Seats<1>>::new(states, rules, config)),
        1..=2 => Box::new(Forest::<G, Seats<2>>::new(states, rules, config)),
        3..=4 if G::KEEP_STATES => Box::new(Forest::<G, Seats<4>>::new(states, rules, config)),
        5..=8 if G::KEEP_STATES => Box::new(Forest::<G, Seats<8>>::new(states, rules, config)),
        n => {
            let message = format!("num_players is {n}: a game has 1 to 8 seats.");
            return Err(GameContractError::new_err(message));
        }
    })
}

/// A forest of the game that these Python states belong to.
pub fn build_from<G: Bridge + 'static>(
    states: &[Bound<'_, PyAny>],
    config: Config,
) -> PyResult<Box<dyn AnyForest>> {
    let games = states
        .iter()
        .map(G::from_python)
        .collect::<PyResult<Vec<G>>>()?;
    let rules = games[0].rules();
    if let Some(i) = games.iter().position(|game| game.rules() != rules) {
        return Err(GameContractError::new_err(format!(
            "State {i} of the forest follows other rules than state 0: search them in two forests."
        )));
    }
    build(games, rules, config)
}
