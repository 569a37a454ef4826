//! Forests of any game and any storage of values, behind one trait.

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_core::MoveError;
use sylvan_core::NodeKind;
use sylvan_core::NodeStats;
use sylvan_core::config::{Limits, Stop};
use sylvan_core::values::{Duel, Seats, Values};
use sylvan_core::{
    Action, Config, Forest, RestoreError, Rules, SavedNode, SearchError, Seat, Timing, VisitedNode,
};

use crate::bridge::{Bridge, ReusedArrays, unlocked};
use crate::evaluators::NativeEvaluator;
use crate::learned::{self, Answer};
use crate::policy::{Policy, tell};

pyo3::import_exception!(sylvan.errors, ConfigError);
pyo3::import_exception!(sylvan.errors, GameContractError);
pyo3::import_exception!(sylvan.errors, IllegalAction);
pyo3::import_exception!(sylvan.errors, SearchStateError);

/// A forest of any game.
pub trait AnyForest: Send {
    fn begin(&mut self, py: Python<'_>, quiet: bool, noise: Vec<Option<Vec<f64>>>);
    fn is_done(&self) -> bool;
    fn select(&mut self, py: Python<'_>, timing: &Timing) -> PyResult<()>;
    fn leaves(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    fn num_leaves(&self) -> usize;
    fn logit_indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>>;
    fn observations(&mut self, py: Python<'_>, reused: &mut ReusedArrays) -> PyResult<Py<PyAny>>;
    fn steps(&self, py: Python<'_>, stride: usize) -> PyResult<Py<PyAny>>;
    fn step(
        &mut self,
        py: Python<'_>,
        answer: Option<&Answer<'_>>,
        timing: &Timing,
    ) -> PyResult<()>;
    /// Writes the observations to the caller's array; returns false if it does not fit.
    fn observe(&mut self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<bool>;
    fn leaf_state<'py>(&self, i: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    fn update(&mut self, py: Python<'_>, policy: Policy<'_>, values: &[f32]) -> PyResult<()>;
    fn abandon(&mut self);
    /// Builds a native evaluator for this forest.
    fn evaluator(&self, name: &str, params: &Bound<'_, PyDict>) -> PyResult<NativeEvaluator>;
    /// Searches with an evaluator that `evaluator` built.
    fn run(&mut self, py: Python<'_>, evaluator: &NativeEvaluator, timing: &Timing)
    -> PyResult<()>;
    /// Evaluates the batch: logits of legal actions, values per seat.
    fn evaluate(&self, py: Python<'_>, evaluator: &NativeEvaluator) -> PyResult<Py<PyAny>>;
    fn advance(&mut self, tree: usize, action: Action) -> PyResult<()>;
    fn advance_to(
        &mut self,
        tree: usize,
        actions: &[Action],
        view: &Bound<'_, PyAny>,
    ) -> PyResult<()>;
    fn plant(&mut self, tree: usize, state: &Bound<'_, PyAny>) -> PyResult<()>;
    /// Replaces a tree by one with these nodes at the same root state.
    fn restore(&mut self, tree: usize, nodes: &[SavedNode]) -> PyResult<()>;
    fn replant(
        &mut self,
        py: Python<'_>,
        seats: &[i64],
        legal: Option<ArrayView2<'_, bool>>,
        seeds: &[u64],
    ) -> PyResult<()>;
    fn reseed(&mut self, seeds: &[u64]);
    fn rest(&mut self, first: usize);
    fn state<'py>(&self, tree: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    fn outcomes(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    fn play(&mut self, py: Python<'_>, actions: &[i64], keep: bool) -> PyResult<Py<PyAny>>;
    fn draw(&self, uniforms: &[f64]) -> PyResult<Vec<i64>>;
    fn outcome(&mut self, py: Python<'_>, tree: usize) -> PyResult<Py<PyAny>>;
    fn progress(&self, tree: usize) -> (u64, u64, u64, u32, Option<&'static str>);
    fn pick(&mut self, tree: usize) -> Action;
    /// The best action at a root, if it is a decision.
    fn best(&mut self, tree: usize) -> Option<Action>;
    fn node(&mut self, tree: usize, path: &[Action]) -> PyResult<Option<NodeStats>>;
    fn most_visited(
        &mut self,
        py: Python<'_>,
        tree: usize,
        seat: Seat,
        most: (usize, usize),
        wanted: &[Vec<Action>],
    ) -> PyResult<Py<PyAny>>;
    fn line(&mut self, tree: usize, path: &[Action]) -> Vec<Action>;
    fn flatten(&mut self, flat: bool);
    fn limits(&mut self) -> &mut Limits;
    fn end(&mut self, tree: usize);
    fn signature(&mut self, tree: usize) -> u64;
    fn bytes(&self) -> u64;
}

pub fn search_error<E: Into<PyErr>>(error: SearchError<E>) -> PyErr {
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

    /// The index of each legal action's logit in a policy row, leaf after leaf.
    fn logit_indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let indices = unlocked::<G, _>(py, || {
            self.of_leaves(|visit, indices| {
                for &action in &visit.actions {
                    indices.push(i64::from(
                        visit.state.logit_index(action).map_err(Into::into)?,
                    ));
                }
                Ok::<(), PyErr>(())
            })
        })?;
        Ok(PyArray1::from_vec(py, indices))
    }

    fn observe(&mut self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<bool> {
        G::observe_into(self, py, out)
    }

    fn observations(&mut self, py: Python<'_>, reused: &mut ReusedArrays) -> PyResult<Py<PyAny>> {
        G::observations(self, py, reused)
    }

    fn steps(&self, py: Python<'_>, stride: usize) -> PyResult<Py<PyAny>> {
        learned::steps(self, py, stride)
    }

    fn step(
        &mut self,
        py: Python<'_>,
        answer: Option<&Answer<'_>>,
        timing: &Timing,
    ) -> PyResult<()> {
        learned::step(self, py, answer, timing)
    }

    fn leaf_state<'py>(&self, i: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let leaf = Forest::leaves(self).nth(i);
        let (_, visit) = leaf
            .ok_or_else(|| SearchStateError::new_err(format!("There is no leaf {i} in flight.")))?;
        visit.state.to_python(like)
    }

    fn update(&mut self, py: Python<'_>, policy: Policy<'_>, values: &[f32]) -> PyResult<()> {
        tell(self, py, policy, values)
    }

    fn abandon(&mut self) {
        Forest::abandon(self);
    }

    fn evaluator(&self, name: &str, params: &Bound<'_, PyDict>) -> PyResult<NativeEvaluator> {
        let evaluator = G::evaluator(name, params, self.settings.config.discount)?;
        Ok(NativeEvaluator::new(evaluator))
    }

    fn run(
        &mut self,
        py: Python<'_>,
        evaluator: &NativeEvaluator,
        timing: &Timing,
    ) -> PyResult<()> {
        let evaluator = evaluator.of_game::<G>();
        unlocked::<G, _>(py, || Forest::run(self, evaluator, timing)).map_err(search_error)
    }

    /// The output of a native evaluator for the batch: logits of legal actions, values per seat.
    fn evaluate(&self, py: Python<'_>, evaluator: &NativeEvaluator) -> PyResult<Py<PyAny>> {
        let evaluator = evaluator.of_game::<G>();
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

    fn advance_to(
        &mut self,
        tree: usize,
        actions: &[Action],
        view: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let view = G::from_python(view)?;
        self.search(tree)
            .advance_to(actions, view)
            .map_err(Into::into)
    }

    fn plant(&mut self, tree: usize, state: &Bound<'_, PyAny>) -> PyResult<()> {
        Forest::plant(self, tree, G::from_python(state)?);
        Ok(())
    }

    fn restore(&mut self, tree: usize, nodes: &[SavedNode]) -> PyResult<()> {
        Forest::restore(self, tree, nodes).map_err(|error| match error {
            RestoreError::Game(error) => error.into(),
            RestoreError::Node(..) => SearchStateError::new_err(format!(
                "The tree cannot be restored: {error}. Save it again."
            )),
            RestoreError::Settings(reason) => {
                ConfigError::new_err(format!("A search cannot go on from this result: {reason}."))
            }
        })
    }

    fn replant(
        &mut self,
        py: Python<'_>,
        seats: &[i64],
        legal: Option<ArrayView2<'_, bool>>,
        seeds: &[u64],
    ) -> PyResult<()> {
        if !G::LEARNED {
            let message = "Only a forest of a learned model can be replanted: call plant().";
            return Err(SearchStateError::new_err(message));
        }
        unlocked::<G, _>(py, || {
            let root = |i: usize, old: &G| {
                let row = legal.as_ref().filter(|_| i < seats.len());
                let row = row.map(|legal| legal.row(i));
                let mask = row.as_ref().and_then(|row| row.as_slice());
                let seat = seats.get(i).map_or(0, |&seat| seat as Seat);
                old.another_root(seat, mask)
                    .expect("states of a learned model have others")
            };
            Forest::replant(self, root, seeds);
        });
        Ok(())
    }

    fn reseed(&mut self, seeds: &[u64]) {
        Forest::reseed(self, seeds);
    }

    fn rest(&mut self, first: usize) {
        Forest::rest(self, first);
    }

    /// The state at the root of a tree.
    fn state<'py>(&self, tree: usize, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(tree).state.to_python(like)
    }

    /// The results of all trees: offsets, actions, policy, visits, priors, best, seats, values,
    /// surprise, simulations.
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

    /// Makes a move in every tree; returns turns, returns and rewards.
    fn play(&mut self, py: Python<'_>, actions: &[i64], keep: bool) -> PyResult<Py<PyAny>> {
        let moved = unlocked::<G, _>(py, || Forest::play(self, actions, keep));
        let moves = moved.map_err(|error| match error {
            MoveError::Game(error) => error.into(),
            MoveError::Illegal { .. } => IllegalAction::new_err(error.to_string()),
        })?;
        (
            PyArray1::from_vec(py, moves.turns),
            PyArray1::from_vec(py, moves.returns),
            PyArray1::from_vec(py, moves.rewards),
        )
            .into_py_any(py)
    }

    fn draw(&self, uniforms: &[f64]) -> PyResult<Vec<i64>> {
        Forest::draw(self, uniforms).map_err(Into::into)
    }

    /// The root's actions, policy, best action, principal variation.
    fn outcome(&mut self, py: Python<'_>, tree: usize) -> PyResult<Py<PyAny>> {
        let Some(best) = self.best(tree) else {
            return Ok(py.None());
        };
        let search = self.search(tree);
        let actions: Vec<i64> = search
            .tree
            .edges
            .actions
            .iter()
            .map(|&a| i64::from(a))
            .collect();
        (
            PyArray1::from_vec(py, actions),
            PyArray1::from_vec(py, search.policy()),
            best,
            search.principal_variation(),
        )
            .into_py_any(py)
    }

    /// Simulations, nodes, bytes, depth, reason of the end.
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
        let index = search.pick();
        search.tree.edges.actions[index]
    }

    fn best(&mut self, tree: usize) -> Option<Action> {
        let search = self.search(tree);
        let decision = search.pool[search.tree.root].kind() == NodeKind::Decision;
        decision.then(|| search.tree.edges.actions[search.best()])
    }

    fn node(&mut self, tree: usize, path: &[Action]) -> PyResult<Option<NodeStats>> {
        self.search(tree).node_stats(path).map_err(Into::into)
    }

    /// Parents, actions, N, Q, P, values, whether they are proven, kinds, seats, missing children;
    /// `most` is that of nodes which are not wanted, and that of all.
    fn most_visited(
        &mut self,
        py: Python<'_>,
        tree: usize,
        seat: Seat,
        (most, limit): (usize, usize),
        wanted: &[Vec<Action>],
    ) -> PyResult<Py<PyAny>> {
        let nodes = unlocked::<G, _>(py, || {
            let search = self.search(tree);
            search.most_visited(seat, most, limit, wanted)
        })
        .map_err(Into::into)?;
        fn column<T: Element>(
            py: Python<'_>,
            nodes: &[VisitedNode],
            read: impl Fn(&VisitedNode) -> T,
        ) -> Py<PyArray1<T>> {
            PyArray1::from_iter(py, nodes.iter().map(read)).unbind()
        }
        (
            column(py, &nodes, |node| {
                node.parent.map_or(-1, |parent| parent as i64)
            }),
            column(py, &nodes, |node| i64::from(node.action)),
            column(py, &nodes, |node| i64::from(node.visits)),
            column(py, &nodes, |node| node.q),
            column(py, &nodes, |node| node.prior),
            column(py, &nodes, |node| node.value),
            column(py, &nodes, |node| node.proven),
            column(py, &nodes, |node| node.kind as u8),
            column(py, &nodes, |node| node.seat.map_or(-1, |seat| seat as i8)),
            column(py, &nodes, |node| i64::from(node.missing)),
        )
            .into_py_any(py)
    }

    /// The expected line after a path; empty if the tree does not have the path.
    fn line(&mut self, tree: usize, path: &[Action]) -> Vec<Action> {
        let search = self.search(tree);
        search
            .find(path)
            .map_or_else(Vec::new, |id| search.line(id))
    }

    fn flatten(&mut self, flat: bool) {
        self.settings.config.flat_priors = flat;
    }

    fn limits(&mut self) -> &mut Limits {
        &mut self.settings.config.limits
    }

    /// Starts no further simulation of a tree.
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

/// Builds something for one storage of values.
pub trait ForValues<G> {
    type Built;
    fn build<V: Values + 'static>(self) -> Self::Built;
}

/// Chooses the storage of values: one number if two seats play for -1, 0 or 1 without rewards.
pub fn with_values<G: Bridge, B: ForValues<G>>(
    rules: &Rules,
    discount: f64,
    builder: B,
) -> PyResult<B::Built> {
    let duel = rules.num_players == 2
        && rules.zero_sum
        && !rules.has_rewards
        && rules.value_range == (-1.0, 1.0)
        && discount == 1.0;
    Ok(match rules.num_players {
        2 if duel => builder.build::<Duel>(),
        1 if G::KEEP_STATES => builder.build::<Seats<1>>(),
        1..=2 => builder.build::<Seats<2>>(),
        3..=4 if G::KEEP_STATES || G::HIDDEN => builder.build::<Seats<4>>(),
        5..=8 if G::KEEP_STATES || G::HIDDEN => builder.build::<Seats<8>>(),
        n => {
            let message = format!("num_players is {n}: a game has 1 to 8 seats.");
            return Err(GameContractError::new_err(message));
        }
    })
}

/// The parts of a forest.
struct ForestOf<G> {
    states: Vec<G>,
    rules: Rules,
    config: Config,
}

impl<G: Bridge + 'static> ForValues<G> for ForestOf<G> {
    type Built = Box<dyn AnyForest>;

    fn build<V: Values + 'static>(self) -> Box<dyn AnyForest> {
        Box::new(Forest::<G, V>::new(self.states, self.rules, self.config))
    }
}

/// Builds a forest of the states' game.
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
    let (of, discount) = (rules.clone(), config.discount);
    with_values(
        &of,
        discount,
        ForestOf {
            states: games,
            rules,
            config,
        },
    )
}
