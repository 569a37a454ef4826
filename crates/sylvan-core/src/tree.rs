//! A tree and the search that grows it.
//!
//! `Tree` is what belongs to one root: its state, its random stream, the progress of the search.
//! `Search` is a tree at work, together with the pool that holds its nodes and the settings it
//! follows; the steps of the algorithm are methods of it, one file each:
//! `descend.rs` walks to a leaf (`deals.rs` where something is hidden), `selection.rs` (`uct.rs`, `gumbel.rs`, `forced.rs`) picks the edges,
//! `expand.rs` takes in an evaluation, `backup.rs` carries it to the root, `proofs.rs` draws
//! conclusions, `root.rs` prepares the root, `budget.rs` drops what is least useful.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::backup::Level;
use crate::budget::Sweep;
use crate::config::{Config, Fpu, Selection, Stop, ValueRange};
use crate::deals::Opinion;
use crate::evaluator::Leaf;
use crate::family::{CLOSED, Child};
use crate::game::{Action, Game, Rules, Seat};
use crate::gumbel::Tried;
use crate::halving::GumbelRoot;
use crate::lanes;
use crate::node::{Node, NodeId};
use crate::numbers::ln;
use crate::pool::Pool;
use crate::rng::{Rng, finish, half_mix, mix};
use crate::root::RootEdges;
use crate::selection::Plain;
use crate::shortlist::Shortlist;
use crate::values::Values;
use crate::wide::{AMAF_BYTES, Amaf};

/// A configuration and a game's rules, made ready for use.
#[derive(Clone, Debug)]
pub struct Settings {
    pub config: Config,
    pub rules: Rules,
    /// The scale of scores, where the range of values is known.
    pub known: Option<Scale>,
    /// c(N), if it does not grow.
    constant: Option<f64>,
    /// `c(N) * sqrt(N)` for small N: roots take long, and logarithms longer.
    explore: Vec<f32>,
    /// Logarithms of small N, for UCT.
    logs: Vec<f64>,
    /// What the backup needs to choose, where the range is known and the rule is PUCT.
    pub plain: Option<Plain>,
    /// The first child of a node is the one with the highest prior, whose action its edges note.
    pub first_is_best: bool,
    /// The search that has begun explores without noise and forced playouts.
    pub quiet: bool,
    /// Every simulation has a deal of its own (`deals.rs`).
    pub deals: bool,
}

/// Of visits for which exploration is tabled: a large search needs many, a small one starts sooner.
const EXPLORE_TABLE: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 15;

impl Settings {
    pub fn new(config: Config, rules: Rules) -> Self {
        let known = match config.value_range {
            ValueRange::Known(low, high) => Some(Scale {
                shift: ((low + high) / 2.0) as f32,
                factor: (2.0 / (high - low)) as f32,
                lowest: -1.0,
            }),
            _ => None,
        };
        let mut settings = Self {
            plain: known.and_then(|scale| Plain::new(&config, scale)),
            first_is_best: !matches!(config.selection, Selection::Gumbel { .. }),
            quiet: false,
            deals: false,
            config,
            rules,
            known,
            constant: None,
            explore: Vec::new(),
            logs: Vec::new(),
        };
        let most = settings.config.limits.simulations.unwrap_or(u64::MAX);
        let tabled = most.clamp(*EXPLORE_TABLE.start(), *EXPLORE_TABLE.end()) as u32;
        if let Selection::Uct { .. } = settings.config.selection {
            settings.logs = (0..tabled).map(|n| ln(f64::from(n))).collect();
            return settings;
        }
        if let Selection::Puct { c_puct, c_base, .. } = settings.config.selection {
            settings.constant = c_base.is_none().then_some(c_puct);
        }
        settings.explore = (0..tabled).map(|n| settings.exploration(n)).collect();
        settings
    }

    /// The same for trees whose simulations have deals of their own: nothing can be proven, and no
    /// step be noted.
    pub fn with_deals(self) -> Self {
        Self {
            plain: None,
            deals: true,
            config: Config {
                proofs: false,
                ..self.config
            },
            ..self
        }
    }

    /// The prior of each of `n` edges below the root, where they are equal.
    #[inline]
    pub fn flat_prior(&self, n: usize) -> f32 {
        self.config.prior_bits.quantise(1.0 / n as f32)
    }

    /// The rule of first-play urgency.
    #[inline]
    pub fn fpu(&self, at_root: bool) -> Fpu {
        if at_root {
            self.config.fpu_root
        } else {
            self.config.fpu
        }
    }

    /// `c(N) * sqrt(N)`, the factor of `P / (1 + n)` in PUCT.
    #[inline]
    pub fn explore(&self, n: u32) -> f32 {
        match (self.explore.get(n as usize), self.constant) {
            (Some(&explore), _) => explore,
            (None, Some(c)) => (c * f64::from(n).sqrt()) as f32,
            (None, None) => self.exploration(n),
        }
    }

    /// `ln N`.
    #[inline]
    pub fn log(&self, n: u32) -> f64 {
        match self.logs.get(n as usize) {
            Some(&log) => log,
            None => ln(f64::from(n)),
        }
    }

    #[cold]
    fn exploration(&self, n: u32) -> f32 {
        let Selection::Puct {
            c_puct,
            c_base,
            c_factor,
        } = self.config.selection
        else {
            return 0.0;
        };
        let n = f64::from(n);
        let growth = c_base.map_or(0.0, |base| c_factor * ln((1.0 + n + base) / base));
        ((c_puct + growth) * n.sqrt()) as f32
    }
}

/// The least and greatest Q that the search has seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub min: f32,
    pub max: f32,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
        }
    }
}

impl Seen {
    pub fn include(&mut self, q: f32) {
        self.min = self.min.min(q);
        self.max = self.max.max(q);
    }
}

/// How far the current search of a tree has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Simulations started and finished by this search.
    pub started: u64,
    pub finished: u64,
    /// Leaves that wait for an evaluation.
    pub waiting: usize,
    /// The greatest depth a simulation reached.
    pub depth: u32,
    /// Why no further simulation will start.
    pub stop: Option<Stop>,
    /// Noise handed in for this search, one number per legal action of the root.
    pub noise: Option<Vec<f64>>,
    pub gumbel: Option<GumbelRoot>,
    /// The action picked after so many finished simulations.
    pub picked: Option<(u64, usize)>,
}

/// Hashes the number of a node: nobody chooses those to collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeHasher(u64);

impl Hasher for NodeHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug)]
pub struct Tree<G> {
    /// The state at the root; all others are derived from it.
    pub state: G,
    pub root: NodeId,
    pub edges: RootEdges,
    /// States of expanded nodes, where the game wants them kept.
    pub kept: HashMap<NodeId, G, BuildHasherDefault<NodeHasher>>,
    /// What actions brought that were taken later, where the search asks (`wide.rs`).
    pub amaf: HashMap<NodeId, Amaf>,
    /// What an evaluator said of the seats' own views at the nodes of an information-set tree.
    pub opinions: HashMap<NodeId, HashMap<u64, Opinion>>,
    /// Views that wait for their evaluation there.
    pub asked: HashSet<(NodeId, u64)>,
    /// Walks that go on now that they have their priors.
    pub suspended: VecDeque<Box<Visit<G>>>,
    pub rng: Rng,
    pub seen: Seen,
    pub progress: Progress,
    /// Evaluations asked for since the tree was made.
    pub evaluations: u64,
    /// The same since it was planted.
    pub arrived: u64,
    pub nodes: u64,
    pub bytes: u64,
    pub sweep: Sweep,
    /// Its place among the trees of its shard.
    pub place: usize,
    /// `half_mix` of the number of its random stream.
    stream: u64,
}

impl<G: Game> Tree<G> {
    pub fn new<V: Values>(state: G, pool: &mut Pool<V>, seed: u64, stream: u64) -> Self {
        let mut bytes = 0;
        let root = pool.add(Node::new(0, 0, 1.0), &mut bytes);
        let mut tree = Self {
            state,
            root,
            edges: RootEdges::default(),
            kept: HashMap::default(),
            amaf: HashMap::new(),
            opinions: HashMap::new(),
            asked: HashSet::new(),
            suspended: VecDeque::new(),
            rng: Rng::new(seed, stream),
            seen: Seen::default(),
            progress: Progress::default(),
            evaluations: 0,
            arrived: 0,
            nodes: 1,
            bytes,
            sweep: Sweep::default(),
            place: 0,
            stream: half_mix(mix(seed, stream)),
        };
        tree.state.set_root();
        tree
    }

    /// A number that names the next evaluation (`Leaf::ticket`).
    pub fn next_ticket(&mut self) -> u64 {
        self.evaluations += 1;
        finish(self.stream.wrapping_add(self.evaluations))
    }

    /// How many evaluations were asked for before this one.
    pub fn arrive(&mut self) -> u64 {
        self.arrived += 1;
        self.arrived - 1
    }

    /// Keeps the state of a node that was expanded, if the game wants that.
    pub fn keep(&mut self, id: NodeId, state: &G) {
        if G::KEEP_STATES && id != self.root {
            self.bytes += state.bytes();
            self.kept.insert(id, state.share());
        }
    }

    /// What an evaluator said of a seat's own view at a node.
    #[inline]
    pub fn opinion(&self, id: NodeId, own: u64) -> Option<&Opinion> {
        self.opinions.get(&id)?.get(&own)
    }

    /// Forgets all that is kept beside a node: it goes, or what is below it.
    pub fn forget(&mut self, id: NodeId) {
        self.forget_state(id);
        self.forget_opinions(id);
        if !self.amaf.is_empty()
            && let Some(amaf) = self.amaf.remove(&id)
        {
            self.bytes -= amaf.len() as u64 * AMAF_BYTES;
        }
    }

    /// Forgets the state of a node.
    pub fn forget_state(&mut self, id: NodeId) {
        if G::KEEP_STATES
            && let Some(state) = self.kept.remove(&id)
        {
            self.bytes -= state.bytes();
        }
    }

    /// Forgets what was said of views at a node.
    pub fn forget_opinions(&mut self, id: NodeId) {
        if G::HIDDEN
            && let Some(opinions) = self.opinions.remove(&id)
        {
            self.bytes -= opinions.values().map(Opinion::bytes).sum::<u64>();
        }
    }

    /// No simulation will start and none is under way.
    pub fn is_done(&self) -> bool {
        self.progress.stop.is_some() && self.progress.waiting == 0
    }
}

/// One step of a walk from the root.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub node: NodeId,
    /// The node's slot in its parent's block; 0 at the root.
    pub slot: u16,
}

/// A walk from the root, and where it led.
#[derive(Clone, Debug)]
pub struct Visit<G> {
    /// The state after the first `synced` steps of the path; in games whose states are not kept,
    /// always that at its end.
    pub state: G,
    pub synced: usize,
    pub path: Vec<Step>,
    pub seat: Seat,
    /// The legal actions at the leaf.
    pub actions: Vec<Action>,
    pub ticket: u64,
    /// The tree, counted within its shard.
    pub tree: usize,
    /// Nodes passed in this deal, and the places of what was legal there.
    pub passed: Vec<(NodeId, u32)>,
    /// `Game::own_key` at the leaf.
    pub own: u64,
    /// The walk goes on from the leaf once it has priors.
    pub walks_on: bool,
    /// It counts as a simulation that has started.
    pub counted: bool,
}

impl<G: Game> Visit<G> {
    pub fn new(state: &G) -> Self {
        Self {
            state: state.clone(),
            synced: 0,
            path: Vec::new(),
            seat: 0,
            actions: Vec::new(),
            ticket: 0,
            tree: 0,
            passed: Vec::new(),
            own: 0,
            walks_on: false,
            counted: false,
        }
    }

    /// The node that the walk has come to.
    pub fn end(&self) -> NodeId {
        self.path[self.path.len() - 1].node
    }

    /// The position as an evaluator sees it.
    pub fn leaf(&self) -> Leaf<'_, G> {
        Leaf {
            state: &self.state,
            seat: self.seat,
            actions: &self.actions,
            ticket: self.ticket,
        }
    }
}

/// Buffers that a walk needs, kept between walks.
#[derive(Debug, Default)]
pub struct Scratch {
    pub actions: Vec<Action>,
    pub shortlist: Shortlist,
    pub(crate) tried: Vec<Tried>,
    pub outcomes: Vec<(Action, f64)>,
    pub seats: Vec<f64>,
    pub levels: Vec<Level>,
    /// Of the actions legal in a deal: where the node has them, and their priors.
    pub places: Vec<u32>,
    pub priors: Vec<f32>,
}

/// A tree at work.
pub struct Search<'a, G: Game, V: Values> {
    pub pool: &'a mut Pool<V>,
    pub tree: &'a mut Tree<G>,
    pub settings: &'a Settings,
    pub scratch: &'a mut Scratch,
    /// Bytes that this tree may take.
    pub budget: u64,
}

/// An affine map from Q to the scale of scores.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub shift: f32,
    pub factor: f32,
    /// The least value of the scale.
    pub lowest: f32,
}

impl Scale {
    #[inline]
    pub fn apply(self, q: f32) -> f32 {
        (q - self.shift) * self.factor
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// The scale of scores at a node.
    #[inline]
    pub fn scale(&self, id: NodeId) -> Scale {
        match self.settings.known {
            Some(scale) => scale,
            None => self.learn_scale(id),
        }
    }

    /// What maps the Q of a node's children to the scale of scores; where the range of values is
    /// known, families have it on that scale already.
    #[inline]
    pub fn learned_scale(&self, id: NodeId) -> Option<Scale> {
        match self.settings.known {
            Some(_) => None,
            None => Some(self.learn_scale(id)),
        }
    }

    #[cold]
    fn learn_scale(&self, id: NodeId) -> Scale {
        self.scale_of(|| self.sibling_range(id))
    }

    /// The scale of scores where it is learned; `siblings` gives the least and greatest Q of a node.
    pub(crate) fn scale_of(&self, siblings: impl FnOnce() -> (f32, f32)) -> Scale {
        let (min, max) = match self.settings.config.value_range {
            ValueRange::Siblings => siblings(),
            _ => (self.tree.seen.min, self.tree.seen.max),
        };
        if self.settings.config.value_range == ValueRange::Tree && max <= min {
            return Scale {
                shift: 0.0,
                factor: 1.0,
                lowest: 0.0,
            };
        }
        Scale {
            shift: min,
            factor: 1.0 / (max - min).max(1e-8),
            lowest: 0.0,
        }
    }

    /// The least and greatest of a node's value and its open edges' Q.
    fn sibling_range(&self, id: NodeId) -> (f32, f32) {
        let value = self.pool[id].value(self.pool[id].seat());
        let (mut min, mut max) = (value, value);
        if let Some(head) = self.pool.head(&self.pool[id])
            && head.unfinished == 0
        {
            return lanes::range(self.pool.groups(self.pool[id].owned), (value, value));
        }
        for Child { id: child, q, .. } in self.pool.children(id) {
            if self.pool[child].visits > 0 && q > CLOSED {
                min = min.min(q);
                max = max.max(q);
            }
        }
        (min, max)
    }

    /// The place and prior of the best unvisited edge, or `NO_EDGE`.
    #[inline]
    pub fn best_unvisited(&self, id: NodeId) -> (usize, f32) {
        if id == self.tree.root {
            return self.tree.edges.best();
        }
        self.pool.best_edge(id)
    }

    /// The prior of every edge of a decision node, in the game's order.
    pub fn priors(&self, id: NodeId) -> Vec<f32> {
        let mut priors: Vec<f32> = if id == self.tree.root {
            self.tree.edges.current()
        } else {
            let n = usize::from(self.pool[id].num_edges);
            (0..n)
                .map(|i| self.pool.bits().decode(self.pool.code(id, i)))
                .collect()
        };
        for child in self.pool.ids(id) {
            let node = &self.pool[child];
            priors[usize::from(node.index)] = node.prior;
        }
        priors
    }
}
