//! The root: its priors as the evaluator gave them, its noise, and how it moves.
//!
//! Noise is drawn once per search, after the root's expansion, and mixed into the original priors:
//! P = (1 - fraction) * prior + fraction * noise with noise ~ Dirichlet(alpha), so that a second
//! search of the same root does not add noise to noise. Priors of the root are kept in full
//! precision; a node that becomes root starts from what the tree remembered of them.

use crate::config::Selection;
use crate::edges::NO_EDGE;
use crate::game::{Action, Game, MAX_SEATS, Turn};
use crate::halving::Noise;
use crate::node::{Kind, Node, NodeId};
use crate::numbers::{PriorBits, widened};
use crate::shortlist::places_of_greatest;
use crate::tree::{Progress, Search, Seen, Tree};
use crate::values::Values;

/// The root's edges, in the game's order of actions.
#[derive(Clone, Debug, Default)]
pub struct RootEdges {
    pub actions: Vec<Action>,
    /// As the evaluator gave them.
    pub priors: Vec<f32>,
    /// The evaluator's value for the seat to move, which the Gumbel rule mixes with Q.
    pub raw: f32,
    /// 32-bit codes of the priors in force (with noise), 0 where visited.
    codes: Vec<u32>,
    /// Places of the highest codes, in falling order; behind them are those of all others that are
    /// not visited.
    first: Vec<u16>,
}

/// Where a move led, by the rules of the game alone.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    pub turn: Turn,
    /// What the end pays each seat; zeros while the game goes on.
    pub returns: [f64; MAX_SEATS],
    /// What the move paid each seat.
    pub rewards: [f64; MAX_SEATS],
}

const EXACT: PriorBits = PriorBits::ThirtyTwo;
/// Edges of a root whose order is known: to look for the next one among thousands takes its time.
const RANKED: usize = 64;

impl RootEdges {
    pub fn new(actions: Vec<Action>, priors: Vec<f32>, raw: f32) -> Self {
        let codes = priors.iter().map(|&p| EXACT.encode(p)).collect();
        Self {
            actions,
            priors,
            raw,
            codes,
            first: Vec::new(),
        }
    }

    pub fn bytes(&self) -> u64 {
        (self.actions.len() * (size_of::<Action>() + size_of::<f32>() + size_of::<u32>())) as u64
    }

    /// Finds out which come first, once priors are in force: as many as can be tried, if those are
    /// few.
    fn rank(&mut self, most: usize) {
        let most = most.min(RANKED);
        let codes = &self.codes;
        self.first = places_of_greatest(bytemuck::cast_slice(codes), most); // EXACT codes are floats
        let code = |place: u16| codes[usize::from(place)];
        self.first
            .sort_by_key(|&place| std::cmp::Reverse(code(place)));
        self.first.truncate(most);
    }

    /// The place and prior of the best unvisited edge, or `NO_EDGE`.
    pub fn best(&self) -> (usize, f32) {
        let mut first = self.first.iter().map(|&place| usize::from(place));
        if let Some(place) = first.find(|&place| self.codes[place] != 0) {
            return (place, EXACT.decode(self.codes[place]));
        }
        let mut best = (0, 0);
        for (index, &code) in self.codes.iter().enumerate() {
            if code > best.1 {
                best = (index, code);
            }
        }
        if best.1 == 0 {
            NO_EDGE
        } else {
            (best.0, EXACT.decode(best.1))
        }
    }

    /// Priors in force; those of visited edges stand in the children.
    pub fn current(&self) -> Vec<f32> {
        self.codes.iter().map(|&code| EXACT.decode(code)).collect()
    }

    /// A prior as the tree keeps it.
    pub fn kept(&self, prior: f32) -> f32 {
        EXACT.quantise(prior)
    }

    /// The prior in force of an unvisited edge.
    pub fn in_force(&self, index: usize) -> f32 {
        EXACT.decode(self.codes[index])
    }

    /// Writes the priors in force of unvisited edges, times the first factor and divided by the
    /// second; zeros where edges are visited.
    pub fn write_untried(&self, factors: (f32, f32), out: &mut [f32]) {
        spread(&self.codes, factors.0, factors.1, out);
    }

    pub fn is_unvisited(&self, index: usize) -> bool {
        self.codes[index] != 0
    }

    pub fn mark_visited(&mut self, index: usize) {
        self.codes[index] = 0;
    }

    pub fn mark_unvisited(&mut self, index: usize, prior: f32) {
        self.codes[index] = EXACT.encode(prior);
        if !self.first.contains(&(index as u16)) {
            self.first.clear(); // it may come before them
        }
    }
}

widened! {
    fn spread(codes: &[u32], factor: f32, divisor: f32, out: &mut [f32]) {
        for (out, &code) in out.iter_mut().zip(codes) {
            *out = EXACT.decode(code) * factor / divisor;
        }
    }
}

impl<G: Game, V: Values> Search<'_, G, V> {
    /// Starts the tree, number `stream` of its forest, again from another state.
    pub fn plant(&mut self, state: G, stream: u64) {
        self.remove_subtree(self.tree.root);
        self.start(state, stream);
    }

    /// The same where the pool holds nothing of the tree any more.
    pub(crate) fn start(&mut self, state: G, stream: u64) {
        let seed = self.settings.config.seed;
        let old = std::mem::replace(self.tree, Tree::new(state, self.pool, seed, stream));
        self.tree.place = old.place;
        self.tree.rng = old.rng;
        self.tree.evaluations = old.evaluations;
        self.tree.kept = old.kept; // for its room
        self.tree.kept.clear();
    }

    /// Starts a new search of the tree as it stands.
    pub fn begin(&mut self, noise: Option<Vec<f64>>) {
        self.tree.progress = Progress {
            noise,
            ..Progress::default()
        };
        if self.pool[self.tree.root].kind() == Kind::Decision && !self.tree.edges.actions.is_empty()
        {
            self.prepare_root();
        }
    }

    /// Gives the root its noise, once it is expanded.
    pub fn prepare_root(&mut self) {
        let n = self.tree.edges.actions.len();
        let handed = self.tree.progress.noise.take();
        if let Selection::Gumbel { scale, .. } = self.settings.config.selection {
            let noise = handed.map_or_else(
                || {
                    let rng = self.tree.rng.clone();
                    self.tree.rng.skip(n);
                    Noise::Drawn(rng, if self.settings.quiet { 0.0 } else { scale })
                },
                Noise::Handed,
            );
            let priors = std::mem::take(&mut self.tree.edges.priors);
            self.set_priors(&priors);
            self.tree.edges.priors = priors;
            self.tree.progress.gumbel = Some(self.gumbel_root(noise));
            return;
        }
        let mut priors = self.tree.edges.priors.clone();
        if let Some(dirichlet) = self.settings.config.noise.filter(|_| !self.settings.quiet) {
            let noise = handed.unwrap_or_else(|| self.tree.rng.dirichlet(dirichlet.alpha, n));
            for (prior, noise) in priors.iter_mut().zip(noise) {
                let mixed = (1.0 - dirichlet.fraction) * f64::from(*prior);
                *prior = (mixed + dirichlet.fraction * noise) as f32;
            }
        }
        self.set_priors(&priors);
    }

    /// Puts these priors of the root in force, for visited and unvisited edges.
    fn set_priors(&mut self, priors: &[f32]) {
        let root = self.tree.root;
        let mut order = self.pool.ids(root).collect::<Vec<_>>();
        for (index, &prior) in priors.iter().enumerate() {
            self.tree.edges.codes[index] = EXACT.encode(prior);
        }
        for &child in &order {
            let index = usize::from(self.pool[child].index);
            self.pool[child].prior = EXACT.quantise(priors[index]);
            self.tree.edges.mark_visited(index);
        }
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.pool[a], &self.pool[b]);
            b.prior.total_cmp(&a.prior).then(a.index.cmp(&b.index))
        });
        let simulations = self.settings.config.limits.simulations.unwrap_or(u64::MAX);
        let tried = match self.settings.config.selection {
            Selection::Gumbel { max_considered, .. } => max_considered,
            _ => usize::try_from(simulations).unwrap_or(usize::MAX),
        };
        self.tree.edges.rank(tried.saturating_add(1)); // and the best that is left
        let best = self.tree.edges.best();
        self.pool.reorder(root, &order, best);
    }

    /// Makes the position after `action` the new root and frees the rest; with `keep`, its subtree
    /// stays. A position that the tree does not know starts a new tree, and so does one in which a
    /// root has other moves than a node inside: a drawn game that is searched all the same. Nothing
    /// may be in flight.
    pub fn advance(&mut self, action: Action, keep: bool) -> Result<Landing, G::Error> {
        let mut state = self.tree.state.clone();
        state.apply(action)?;
        let (mut inside, mut at_root) = (Vec::new(), Vec::new());
        let turn = state.turn(&mut inside)?;
        let landing = self.landing(&state, turn)?;
        state.set_root();
        let same = keep && state.turn(&mut at_root)? == turn && at_root == inside;
        self.reroot(action, same);
        self.tree.state = state;
        self.adopt_root()?;
        Ok(landing)
    }

    /// The same along some actions to a state that is given, because a view alone cannot tell what
    /// its seat sees next.
    pub fn advance_to(&mut self, actions: &[Action], mut state: G) -> Result<(), G::Error> {
        state.set_root();
        for &action in actions {
            self.reroot(action, true);
        }
        self.tree.state = state;
        self.adopt_root()
    }

    /// Makes the node behind `action` the root and frees the rest; a new one if it is not `same` as
    /// that in the tree.
    fn reroot(&mut self, action: Action, same: bool) {
        self.tree.sweep.reset();
        self.tree.seen = Seen::default();
        let old = self.tree.root;
        let others: Vec<NodeId> = self.pool.ids(old).collect();
        let mut kept = others.iter().copied();
        let kept = kept.find(|&child| {
            let child = &self.pool[child];
            // A proof whose edges were dropped has nothing to choose from.
            let bare = child.kind() == Kind::Leaf && child.is_proven();
            same && !bare && child.action == action
        });
        let root = kept.unwrap_or_else(|| {
            self.tree.nodes += 1;
            self.pool
                .add(Node::new(action, 0, 1.0), &mut self.tree.bytes)
        });
        for child in others.into_iter().filter(|&child| child != root) {
            self.remove_subtree(child);
        }
        self.tree.forget(old);
        self.pool.drop_family(old, &mut self.tree.bytes);
        self.pool.drop_edges(old, &mut self.tree.bytes);
        self.pool.remove(old, &mut self.tree.bytes);
        self.tree.nodes -= 1;
        self.tree.root = root;
    }

    fn landing(&self, state: &G, turn: Turn) -> Result<Landing, G::Error> {
        let rules = &self.settings.rules;
        let mut landing = Landing {
            turn,
            returns: [0.0; MAX_SEATS],
            rewards: [0.0; MAX_SEATS],
        };
        if turn == Turn::Over {
            state.returns(&mut landing.returns[..rules.num_players])?;
        }
        if rules.has_rewards {
            state.rewards(&mut landing.rewards[..rules.num_players])?;
        }
        Ok(landing)
    }

    /// Moves the edges of a node that became root out of the pool.
    fn adopt_root(&mut self) -> Result<(), G::Error> {
        let root = self.tree.root;
        if self.deals() {
            return self.adopt_view();
        }
        self.tree.forget_state(root);
        self.tree.edges = RootEdges::default();
        if self.pool[root].kind() != Kind::Decision {
            return Ok(());
        }
        let mut actions = Vec::new();
        self.tree.state.turn(&mut actions)?;
        let mut priors: Vec<f32> = (0..actions.len())
            .map(|i| self.pool.bits().decode(self.pool.code(root, i)))
            .collect();
        for child in self.pool.ids(root) {
            priors[usize::from(self.pool[child].index)] = self.pool[child].prior;
        }
        let raw = f32::from_bits(self.pool.note(root));
        self.tree.edges = RootEdges::new(actions, priors, raw);
        for child in self.pool.ids(root) {
            self.tree
                .edges
                .mark_visited(usize::from(self.pool[child].index));
        }
        self.pool.drop_edges(root, &mut self.tree.bytes);
        Ok(())
    }

    /// Makes a node of an information-set tree ready to be searched from, if its view's seat is to
    /// move there; until then it only leads on.
    fn adopt_view(&mut self) -> Result<(), G::Error> {
        self.tree.edges = RootEdges::default();
        let root = self.tree.root;
        let mut actions = Vec::new();
        let turn = self.tree.state.turn(&mut actions)?;
        if self.tree.state.observer().map(Turn::Seat) != Some(turn) {
            return Ok(());
        }
        if self.pool[root].num_edges == 0 {
            self.pool[root].set_kind(Kind::Leaf); // of an end in other deals, too
            return Ok(());
        }
        let n = actions.len();
        let opinion = self.tree.opinion(root, self.tree.state.own_key());
        let priors = match opinion {
            _ if self.settings.config.flat_priors => Some(vec![1.0 / n as f32; n]),
            Some(opinion) if opinion.priors.len() == n => Some(opinion.priors.to_vec()),
            _ => None,
        };
        let places: Vec<_> = self.pool.ids(root).map(|id| self.pool[id].action).collect();
        let places = places.iter().map(|a| actions.iter().position(|b| a == b));
        let places: Option<Vec<usize>> = places.collect();
        let (Some(priors), Some(places), Turn::Seat(seat)) = (priors, places, turn) else {
            return self.replant(); // it was never searched in this view
        };
        let children: Vec<NodeId> = self.pool.ids(root).collect();
        for (&child, &place) in children.iter().zip(&places) {
            self.pool[child].index = place as u16;
            self.pool[child].prior = priors[place];
        }
        self.tree.forget_opinions(root);
        self.pool.drop_edges(root, &mut self.tree.bytes);
        let raw = self.pool[root].value(seat);
        self.pool[root].num_edges = n as u16;
        self.pool[root].set_seat(seat);
        self.pool[root].set_kind(Kind::Decision);
        self.tree.edges = RootEdges::new(actions, priors, raw);
        for place in places {
            self.tree.edges.mark_visited(place);
        }
        Ok(())
    }

    /// Starts the tree anew from the state at its root.
    fn replant(&mut self) -> Result<(), G::Error> {
        let root = self.tree.root;
        self.remove_subtree(root);
        self.tree.nodes += 1;
        self.tree.root = self.pool.add(Node::new(0, 0, 1.0), &mut self.tree.bytes);
        Ok(())
    }
}
