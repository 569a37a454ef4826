//! The statistics of a node and of its edges, as Python objects with named fields.
//!
//! The fields have the papers' names: `N` visits, `W` sum of values, `P` prior. Values are copied
//! once from the tree; Python reads a field without building the others.

#![allow(non_snake_case)] // N, W and P

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sylvan_core::{
    Action, EdgeStats as CoreEdge, NodeKind, NodeStats as CoreNode, SavedNode, Seat,
};

/// An edge of a node.
#[pyclass(frozen, get_all, module = "sylvan._native")]
pub struct EdgeStats {
    action: Action,
    /// Visits.
    N: u64,
    /// Sum of values for the seat that chooses.
    W: f64,
    /// Prior, with the root's noise; at a chance node the probability.
    P: f64,
    /// Proven bounds of the value for the seat that chooses; infinite if nothing is proven.
    bounds: (f64, f64),
    /// Visits of the node at which the action was legal.
    available: u64,
}

#[pymethods]
impl EdgeStats {
    #[new]
    fn new(action: Action, N: u64, W: f64, P: f64, bounds: (f64, f64), available: u64) -> Self {
        Self {
            action,
            N,
            W,
            P,
            bounds,
            available,
        }
    }

    /// The arguments of `__new__`, for `pickle` and `copy`.
    fn __getnewargs__(&self) -> (Action, u64, f64, f64, (f64, f64), u64) {
        let Self {
            action, N, W, P, ..
        } = *self;
        (action, N, W, P, self.bounds, self.available)
    }
}

impl From<CoreEdge> for EdgeStats {
    fn from(edge: CoreEdge) -> Self {
        Self {
            action: edge.action,
            N: edge.visits.into(),
            W: edge.w,
            P: edge.prior.into(),
            bounds: edge.bounds,
            available: edge.available.into(),
        }
    }
}

/// A node of a tree.
#[pyclass(frozen, get_all, module = "sylvan._native")]
pub struct NodeStats {
    /// `leaf`, `decision`, `chance` or `terminal`.
    kind: &'static str,
    /// The seat to move, at a decision.
    seat: Seat,
    /// Visits.
    N: u64,
    /// Sum of values per seat.
    W: Vec<f64>,
    /// The exact value per seat, where it is proven.
    proven: Option<Vec<f64>>,
    /// `EdgeStats` of all actions, in the game's order.
    edges: Py<PyTuple>,
    /// The number of the position in its tree, if several edges lead to it.
    shared: Option<u32>,
}

#[pymethods]
impl NodeStats {
    #[new]
    #[pyo3(signature = (kind, seat, N, W, proven, edges, shared=None))]
    fn new(
        kind: &str,
        seat: Seat,
        N: u64,
        W: Vec<f64>,
        proven: Option<Vec<f64>>,
        edges: Py<PyTuple>,
        shared: Option<u32>,
    ) -> PyResult<Self> {
        Ok(Self {
            kind: known_kind(kind)?,
            seat,
            N,
            W,
            proven,
            edges,
            shared,
        })
    }

    /// The arguments of `__new__`, for `pickle` and `copy`.
    fn __getnewargs__(&self, py: Python<'_>) -> NewArguments {
        (
            self.kind,
            self.seat,
            self.N,
            self.W.clone(),
            self.proven.clone(),
            self.edges.clone_ref(py),
            self.shared,
        )
    }
}

type NewArguments = (
    &'static str,
    Seat,
    u64,
    Vec<f64>,
    Option<Vec<f64>>,
    Py<PyTuple>,
    Option<u32>,
);

impl NodeStats {
    pub fn of(py: Python<'_>, node: CoreNode) -> PyResult<Self> {
        let edges = node.edges.into_iter();
        let edges = edges
            .map(|edge| Py::new(py, EdgeStats::from(edge)))
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            kind: kind_name(node.kind),
            seat: node.seat,
            N: node.visits.into(),
            W: node.w,
            proven: node.proven,
            edges: PyTuple::new(py, edges)?.unbind(),
            shared: node.shared,
        })
    }
}

/// A node for `Forest.restore`: its parent's number, its action (of no meaning at the root), itself.
pub type Placed<'py> = (Option<usize>, Action, PyRef<'py, NodeStats>);

/// The node for the core.
pub fn saved(py: Python<'_>, (parent, action, node): &Placed<'_>) -> PyResult<SavedNode> {
    let visits = |n: u64| {
        u32::try_from(n).map_err(|_| PyValueError::new_err(format!("{n} visits are too many.")))
    };
    let edges = node.edges.bind(py).iter().map(|edge| {
        let edge = edge.cast_into::<EdgeStats>()?;
        let edge = edge.get();
        Ok(CoreEdge {
            action: edge.action,
            visits: visits(edge.N)?,
            w: edge.W,
            prior: edge.P as f32,
            bounds: edge.bounds,
            kind: NodeKind::Leaf,
            available: visits(edge.available)?,
        })
    });
    Ok(SavedNode {
        from: parent.map(|parent| (parent, *action)),
        stats: CoreNode {
            kind: kind_named(node.kind)?,
            seat: node.seat,
            visits: visits(node.N)?,
            w: node.W.clone(),
            proven: node.proven.clone(),
            edges: edges.collect::<PyResult<_>>()?,
            shared: None,
        },
    })
}

fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Leaf => "leaf",
        NodeKind::Decision => "decision",
        NodeKind::Chance => "chance",
        NodeKind::Terminal => "terminal",
    }
}

fn known_kind(name: &str) -> PyResult<&'static str> {
    kind_named(name).map(kind_name)
}

fn kind_named(name: &str) -> PyResult<NodeKind> {
    let kinds = [
        NodeKind::Leaf,
        NodeKind::Decision,
        NodeKind::Chance,
        NodeKind::Terminal,
    ];
    let mut kinds = kinds.into_iter();
    kinds.find(|&kind| kind_name(kind) == name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "kind is {name:?}: it must be 'leaf', 'decision', 'chance' or 'terminal'."
        ))
    })
}
