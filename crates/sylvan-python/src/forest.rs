//! `sylvan._native.Forest`: a forest of any game, one Python class.
//!
//! A call locks the forest and releases the GIL while Rust works; meanwhile, calls from other
//! threads raise an error, except `stop`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_core::config::Limits;
use sylvan_core::{Action, Seat, Timing};

use crate::any_forest::AnyForest;
use crate::bridge::ReusedArrays;
use crate::learned::Answer;
use crate::policy::Policy;
use crate::records::{NodeStats, Placed, saved};
use crate::{config, games};

pyo3::import_exception!(sylvan.errors, SearchStateError);

/// The interval between returns to Python during a native evaluation, for signals and progress.
const SLICE: Duration = Duration::from_millis(40);

struct Inner {
    forest: Box<dyn AnyForest>,
    reused: ReusedArrays,
    seconds: Option<f64>,
    deadline: Option<Instant>,
}

#[pyclass(frozen, module = "sylvan._native")]
pub struct Forest {
    inner: Mutex<Inner>,
    asked: AtomicBool,
    num_trees: usize,
    /// A state of the Python class of the roots.
    like: Py<PyAny>,
}

impl Forest {
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        self.inner.try_lock().map_err(|_| {
            SearchStateError::new_err(
                "The forest is at work in another thread: wait for it, or call stop().",
            )
        })
    }

    fn check(&self, tree: usize) -> PyResult<()> {
        if tree < self.num_trees {
            return Ok(());
        }
        let message = format!("There is no tree {tree} in a forest of {}.", self.num_trees);
        Err(SearchStateError::new_err(message))
    }
}

impl Inner {
    fn timing<'a>(&self, asked: &'a AtomicBool, pause: Option<Instant>) -> Timing<'a> {
        Timing {
            deadline: self.deadline,
            pause,
            asked,
        }
    }

    fn need_idle(&self) -> PyResult<()> {
        match self.forest.num_leaves() {
            0 => Ok(()),
            n => Err(SearchStateError::new_err(format!(
                "{n} leaves wait for their evaluation: call update() or abandon() first."
            ))),
        }
    }
}

#[pymethods]
impl Forest {
    #[new]
    fn new(states: Vec<Bound<'_, PyAny>>, config: &Bound<'_, PyDict>) -> PyResult<Self> {
        let config = config::read(config)?;
        let Some(first) = states.first() else {
            return Err(PyValueError::new_err("A forest needs at least one state."));
        };
        Ok(Self {
            like: first.clone().unbind(),
            num_trees: states.len(),
            asked: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                seconds: config.limits.seconds,
                deadline: None,
                reused: ReusedArrays::default(),
                forest: games::forest(&states, config)?,
            }),
        })
    }

    /// Starts a new search of every tree; `noise[i]` is the noise of tree `i`, None to draw it.
    /// With `quiet`, the search uses no noise and no forced playouts.
    #[pyo3(signature = (noise=None, quiet=false))]
    fn begin(
        &self,
        py: Python<'_>,
        noise: Option<Vec<Option<Vec<f64>>>>,
        quiet: bool,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        self.asked.store(false, Ordering::Relaxed);
        inner.deadline = inner
            .seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .and_then(|seconds| Instant::now().checked_add(seconds));
        inner.forest.begin(py, quiet, noise.unwrap_or_default());
        Ok(())
    }

    /// Fills a batch; returns (trees, seats, offsets, actions, tickets), or None if there is
    /// nothing to evaluate now; `is_done` says whether there will be.
    fn select(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        let timing = inner.timing(&self.asked, None);
        inner.forest.select(py, &timing)?;
        match inner.forest.num_leaves() {
            0 => Ok(None),
            _ => inner.forest.leaves(py).map(Some),
        }
    }

    /// The index of each legal action's logit in a policy row, leaf after leaf.
    fn logit_indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.lock()?.forest.logit_indices(py)
    }

    fn observations(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let inner = &mut *self.lock()?;
        inner.forest.observations(py, &mut inner.reused)
    }

    /// Writes the observations to the caller's array; returns false if its type or shape does not
    /// fit.
    fn observe(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.lock()?.forest.observe(py, out)
    }

    /// The state of leaf `i` of the batch.
    fn leaf_state<'py>(&self, py: Python<'py>, i: usize) -> PyResult<Bound<'py, PyAny>> {
        self.lock()?.forest.leaf_state(i, self.like.bind(py))
    }

    /// Applies logits of all outputs, `[leaves, num_logits]`, and values, `[leaves * seats]`.
    fn update_all(
        &self,
        py: Python<'_>,
        policy: PyReadonlyArray2<'_, f32>,
        values: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<()> {
        let policy = Policy::All(policy.as_array());
        let values = values.as_slice()?;
        self.lock()?.forest.update(py, policy, values)
    }

    /// The same, with logits of the legal actions only, leaf after leaf.
    fn update_legal(
        &self,
        py: Python<'_>,
        policy: PyReadonlyArray1<'_, f32>,
        values: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<()> {
        let policy = Policy::Legal(policy.as_slice()?);
        let values = values.as_slice()?;
        self.lock()?.forest.update(py, policy, values)
    }

    /// Applies a learned model's output for the leaves in flight, if any, and selects the next
    /// leaves. Returns for each the row of its parent's hidden state, the action, and the row for
    /// its own state; a tree has `stride` rows. None at the end.
    #[pyo3(signature = (stride, answer=None))]
    fn step(
        &self,
        py: Python<'_>,
        stride: usize,
        answer: Option<Answer<'_>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let mut inner = self.lock()?;
        let timing = inner.timing(&self.asked, None);
        let leaves = inner.forest.num_leaves();
        match &answer {
            None => inner.need_idle()?,
            Some(answer) => need_one_each(answer.len(), leaves)?,
        }
        inner.forest.step(py, answer.as_ref(), &timing)?;
        match inner.forest.num_leaves() {
            0 => Ok(None),
            _ => inner.forest.steps(py, stride).map(Some),
        }
    }

    /// Abandons all leaves in flight.
    fn abandon(&self) -> PyResult<()> {
        self.lock()?.forest.abandon();
        Ok(())
    }

    /// Searches to the end with a native evaluator. Calls `watch()` about 25 times per second;
    /// an exception of `watch` ends the search and is raised here; the trees stay valid.
    #[pyo3(signature = (name, params, watch=None))]
    fn run(
        &self,
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
        watch: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let evaluator = self.lock()?.forest.evaluator(name, params)?;
        loop {
            {
                let mut inner = self.lock()?;
                inner.need_idle()?;
                let timing = inner.timing(&self.asked, Some(Instant::now() + SLICE));
                inner.forest.run(py, &evaluator, &timing)?;
                if inner.forest.is_done() {
                    return Ok(());
                }
            }
            py.check_signals()?;
            if let Some(watch) = &watch {
                watch.call0()?;
            }
        }
    }

    /// The output of a native evaluator for the batch: logits of legal actions, values per seat.
    fn evaluate(
        &self,
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<Py<PyAny>> {
        let inner = self.lock()?;
        let evaluator = inner.forest.evaluator(name, params)?;
        inner.forest.evaluate(py, &evaluator)
    }

    /// Requests the end of a running search; may be called from any thread.
    fn stop(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Ends the search of one tree; the others go on.
    fn end(&self, tree: usize) -> PyResult<()> {
        self.check(tree)?;
        self.lock()?.forest.end(tree);
        Ok(())
    }

    fn is_done(&self) -> PyResult<bool> {
        Ok(self.lock()?.forest.is_done())
    }

    fn advance(&self, tree: usize, action: Action) -> PyResult<()> {
        self.check(tree)?;
        let mut inner = self.lock()?;
        inner.need_idle()?;
        inner.forest.advance(tree, action)
    }

    /// Advances a root along actions to the given view; keeps the subtree there.
    fn advance_to(
        &self,
        tree: usize,
        actions: Vec<Action>,
        view: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.check(tree)?;
        let mut inner = self.lock()?;
        inner.need_idle()?;
        inner.forest.advance_to(tree, &actions, view)
    }

    /// Replaces a tree by a new one.
    fn plant(&self, tree: usize, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check(tree)?;
        let mut inner = self.lock()?;
        inner.need_idle()?;
        inner.forest.plant(tree, state)
    }

    /// Replaces a tree by one with these nodes, parents first: the number of a node's parent, None
    /// at the root; the action that leads to it; its statistics.
    fn restore(&self, py: Python<'_>, tree: usize, nodes: Vec<Placed<'_>>) -> PyResult<()> {
        self.check(tree)?;
        let nodes: Vec<_> = nodes
            .iter()
            .map(|node| saved(py, node))
            .collect::<PyResult<_>>()?;
        let mut inner = self.lock()?;
        inner.need_idle()?;
        inner.forest.restore(tree, &nodes)
    }

    /// Replaces every tree by a new one of a learned model: `seats[i]` is to move in tree `i`, row
    /// `i` of `legal` marks its legal actions, at least one; None allows all. Tree `i` draws from
    /// `seeds[i]`. There may be fewer rows than trees: `rest` leaves the others out.
    #[pyo3(signature = (seats, legal=None, seeds=None))]
    fn replant(
        &self,
        py: Python<'_>,
        seats: PyReadonlyArray1<'_, i64>,
        legal: Option<PyReadonlyArray2<'_, bool>>,
        seeds: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        let seats = seats.as_slice()?;
        if seats.len() > self.num_trees {
            need_one_each(seats.len(), self.num_trees)?;
        }
        let legal = legal.as_ref().map(|legal| legal.as_array());
        if let Some(legal) = &legal {
            need_one_each(legal.nrows(), seats.len())?;
        }
        let seeds = match &seeds {
            Some(seeds) => seeds.as_slice()?,
            None => &[],
        };
        if !seeds.is_empty() {
            need_one_each(seeds.len(), seats.len())?;
        }
        inner.forest.replant(py, seats, legal, seeds)
    }

    /// Lets tree `i`, which has not been searched yet, draw from `seeds[i]`.
    fn reseed(&self, seeds: PyReadonlyArray1<'_, u64>) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        let seeds = seeds.as_slice()?;
        need_one_each(seeds.len(), self.num_trees)?;
        inner.forest.reseed(seeds);
        Ok(())
    }

    /// Ends the search of trees `first` and later.
    fn rest(&self, first: usize) -> PyResult<()> {
        self.lock()?.forest.rest(first);
        Ok(())
    }

    /// The state at the root of a tree.
    fn state<'py>(&self, py: Python<'py>, tree: usize) -> PyResult<Bound<'py, PyAny>> {
        self.check(tree)?;
        self.lock()?.forest.state(tree, self.like.bind(py))
    }

    /// The results of all trees: offsets, actions, policy, visits, priors, best, seats, values,
    /// surprise, simulations.
    fn outcomes(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.lock()?.forest.outcomes(py)
    }

    /// Plays `actions[i]` in tree `i` unless it is negative; returns turns, returns, rewards.
    fn play(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, i64>,
        keep: bool,
    ) -> PyResult<Py<PyAny>> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        let actions = actions.as_slice()?;
        need_one_each(actions.len(), self.num_trees)?;
        inner.forest.play(py, actions, keep)
    }

    /// Draws an outcome at each chance node from a uniform number; -1 for negative numbers.
    fn draw<'py>(
        &self,
        py: Python<'py>,
        uniforms: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let uniforms = uniforms.as_slice()?;
        need_one_each(uniforms.len(), self.num_trees)?;
        let drawn = self.lock()?.forest.draw(uniforms)?;
        Ok(PyArray1::from_vec(py, drawn))
    }

    /// (actions, policy, best, principal variation) of a tree, None before its root is evaluated.
    fn outcome(&self, py: Python<'_>, tree: usize) -> PyResult<Py<PyAny>> {
        self.check(tree)?;
        self.lock()?.forest.outcome(py, tree)
    }

    /// (simulations, nodes, bytes, depth, reason of the end) of a tree.
    fn progress(&self, tree: usize) -> PyResult<(u64, u64, u64, u32, Option<&'static str>)> {
        self.check(tree)?;
        Ok(self.lock()?.forest.progress(tree))
    }

    /// The action picked at the search's temperature.
    fn pick(&self, tree: usize) -> PyResult<Action> {
        self.check(tree)?;
        Ok(self.lock()?.forest.pick(tree))
    }

    /// The statistics of the node after a path of actions; None if the tree does not have it.
    fn node(&self, py: Python<'_>, tree: usize, path: Vec<Action>) -> PyResult<Option<NodeStats>> {
        self.check(tree)?;
        let node = self.lock()?.forest.node(tree, &path)?;
        node.map(|node| NodeStats::of(py, node)).transpose()
    }

    /// The most visited nodes of a tree in columns, parents first, with values for `seat`: `most`
    /// besides those on the `wanted` paths and the children of the last node of each, at most
    /// `limit`. A parent of -1 is that of the root, a seat of -1 no decision.
    fn most_visited(
        &self,
        py: Python<'_>,
        tree: usize,
        seat: Seat,
        most: usize,
        limit: usize,
        wanted: Vec<Vec<Action>>,
    ) -> PyResult<Py<PyAny>> {
        self.check(tree)?;
        let mut inner = self.lock()?;
        inner
            .forest
            .most_visited(py, tree, seat, (most, limit), &wanted)
    }

    /// The best action of a tree, None before its root is evaluated.
    fn best(&self, tree: usize) -> PyResult<Option<Action>> {
        self.check(tree)?;
        Ok(self.lock()?.forest.best(tree))
    }

    /// The expected line after a path of actions.
    fn line(&self, tree: usize, path: Vec<Action>) -> PyResult<Vec<Action>> {
        self.check(tree)?;
        Ok(self.lock()?.forest.line(tree, &path))
    }

    /// Sets `flat_priors`, from the next `begin` on.
    fn flatten(&self, flat: bool) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        inner.forest.flatten(flat);
        Ok(())
    }

    /// Sets the limits, from the next `begin` on.
    #[pyo3(signature = (simulations, nodes, depth, seconds))]
    fn limit(
        &self,
        simulations: Option<u64>,
        nodes: Option<u64>,
        depth: Option<u32>,
        seconds: Option<f64>,
    ) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.need_idle()?;
        inner.seconds = seconds;
        let limits = inner.forest.limits();
        *limits = Limits {
            simulations,
            nodes,
            depth,
            seconds,
            bytes: limits.bytes,
        };
        Ok(())
    }

    /// A hash of the actions and visit counts of all nodes of a tree.
    fn signature(&self, tree: usize) -> PyResult<u64> {
        self.check(tree)?;
        Ok(self.lock()?.forest.signature(tree))
    }

    /// The bytes of all trees, including free memory.
    fn bytes(&self) -> PyResult<u64> {
        Ok(self.lock()?.forest.bytes())
    }
}

fn need_one_each(given: usize, trees: usize) -> PyResult<()> {
    if given == trees {
        return Ok(());
    }
    let message = format!("An array has {given} entries: give one for each of {trees} trees.");
    Err(SearchStateError::new_err(message))
}
