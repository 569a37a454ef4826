//! The settings of a search: selection rule, limits, noise. `sylvan.SearchConfig` validates them;
//! the core does not check them again.

use crate::contracts::numbers::PriorBits;

/// The rule that selects an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// `selection.rs`: exploration `c(N) = c_puct + c_factor * ln((1 + N + c_base) / c_base)`;
    /// without `c_base` there is no logarithm.
    Puct {
        c_puct: f64,
        c_base: Option<f64>,
        c_factor: f64,
    },
    /// `uct.rs`
    Uct { c_uct: f64 },
    /// `gumbel.rs`
    Gumbel {
        max_considered: usize,
        scale: f64,
        c_visit: f64,
        c_scale: f64,
    },
}

/// First-play urgency: the Q of an edge without a finished visit, on the scale of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fpu {
    /// The mean value of the node itself.
    Parent,
    /// `Parent` minus this times the square root of the visited prior mass.
    Reduction(f32),
    /// The lowest value of the scale.
    Loss,
    Value(f32),
}

/// Maps a seat's return to the scale of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRange {
    /// Known bounds, mapped to -1..1.
    Known(f64, f64),
    /// The least and greatest Q seen in the tree, mapped to 0..1 (MuZero).
    Tree,
    /// The least and greatest of the node's value and its visited edges' Q, mapped to 0..1 (mctx).
    Siblings,
}

/// Dirichlet noise on the root's priors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dirichlet {
    pub alpha: f64,
    pub fraction: f64,
}

/// The search stops at the first limit reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// New simulations per tree.
    pub simulations: Option<u64>,
    /// Nodes alive in a tree.
    pub nodes: Option<u64>,
    /// Plies from the root to the deepest node.
    pub depth: Option<u32>,
    pub seconds: Option<f64>,
    /// Bytes of all trees together, divided evenly; full trees drop subtrees (`budget.rs`).
    pub bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub selection: Selection,
    /// `deviation.rs`: the share of exploration in proportion to the deviation of values, and the
    /// deviation at which it is `c(N)`.
    pub c_deviation: f64,
    pub usual_deviation: f64,
    pub fpu: Fpu,
    pub fpu_root: Fpu,
    pub value_range: ValueRange,
    pub discount: f64,
    pub noise: Option<Dirichlet>,
    /// `forced_playouts.rs`: k; 0 disables them.
    pub forced_playouts: f64,
    pub temperature: f64,
    /// Prove results and use them in selection (`proofs.rs`).
    pub proofs: bool,
    /// One node for a position that several lines reach (`graph.rs`).
    pub transpositions: bool,
    /// The most leaves of one tree that wait for evaluation at a time.
    pub leaves_in_flight: usize,
    /// The most descents of one batch that may end at a leaf already waiting.
    pub collisions: usize,
    /// With a learned model, nodes below the root keep this many actions with the highest priors; 0
    /// keeps all.
    pub top_k: usize,
    /// `widening.rs`: factor and power of the number of edges that may be tried.
    pub widening: Option<(f64, f64)>,
    /// A position this many plies below the root is evaluated at each visit, and not expanded.
    pub horizon: Option<u32>,
    /// `rave.rs`: visits at which Q and AMAF have equal weight; 0 disables RAVE.
    pub rave: f64,
    /// All priors below the root are equal; the evaluator's logits are not used.
    pub flat_priors: bool,
    /// In an information-set search, a simulation ends at a node where the mover's view is new.
    pub stop_at_new_views: bool,
    /// Bits of stored priors below the root; the root's priors have full precision.
    pub prior_bits: PriorBits,
    pub seed: u64,
    pub threads: usize,
    pub limits: Limits,
    /// A proven win is won as soon as the proof can (`endings.rs`).
    pub shortest_win: bool,
    /// `lower_bound.rs`: standard deviations below Q; 0 chooses by visits.
    pub lcb: f64,
    /// Divides logits, so that above 1 priors are closer to equal.
    pub policy_temperature: f32,
    /// The least prior, as a share of the highest (`priors.rs`).
    pub prior_floor: f64,
    /// Added to the logits of forcing actions (`Game::is_forcing`).
    pub forcing_bonus: f32,
    /// End a search whose choice cannot change any more (`decided.rs`).
    pub stop_early: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            selection: Selection::Puct {
                c_puct: 1.5,
                c_base: None,
                c_factor: 1.0,
            },
            c_deviation: 0.0,
            usual_deviation: 0.4,
            fpu: Fpu::Reduction(0.3),
            fpu_root: Fpu::Reduction(0.3),
            value_range: ValueRange::Known(-1.0, 1.0),
            discount: 1.0,
            noise: None,
            forced_playouts: 0.0,
            temperature: 0.0,
            proofs: true,
            transpositions: false,
            leaves_in_flight: 1,
            collisions: 1,
            top_k: 0,
            widening: None,
            horizon: None,
            rave: 0.0,
            flat_priors: false,
            stop_at_new_views: false,
            prior_bits: PriorBits::Eight,
            seed: 0,
            threads: 1,
            limits: Limits::default(),
            shortest_win: false,
            lcb: 0.0,
            policy_temperature: 1.0,
            prior_floor: 0.0,
            forcing_bonus: 0.0,
            stop_early: false,
        }
    }
}

/// The reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Simulations,
    Nodes,
    Depth,
    Seconds,
    /// The byte budget is exceeded, and no more subtrees can be dropped.
    Bytes,
    /// The root's value is proven.
    Proven,
    /// No other action can overtake the most visited one (`decided.rs`).
    Decided,
    /// The caller asked to stop.
    External,
}

impl Stop {
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulations => "simulations",
            Self::Nodes => "nodes",
            Self::Depth => "depth",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Proven => "proven",
            Self::Decided => "decided",
            Self::External => "stop",
        }
    }
}
