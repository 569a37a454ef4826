//! The search, in the order in which a simulation passes through the files.

pub(crate) mod settings; // a configuration and the rules, made ready for use
pub(crate) mod scale; // maps returns to the scale of scores
pub(crate) mod root_edges; // the edges of the root, with priors in full precision
pub(crate) mod visit; // one walk from the root and where it led
pub(crate) mod tree; // a tree, its progress, and a tree at work
pub(crate) mod batch; // walks that wait for evaluations
pub(crate) mod clock; // deadline, pause and request to stop
pub(crate) mod fill; // the batch rule and the limits: which walks start
pub(crate) mod descend; // the walk from the root to a leaf
pub(crate) mod information_set; // the same walk where cards are hidden: a deal per simulation
pub(crate) mod selection; // PUCT and first-play urgency: the edge a walk takes
pub(crate) mod uct; // UCT
pub(crate) mod gumbel; // the Gumbel rule inside the tree and at the root
pub(crate) mod sequential_halving; // which edges of a Gumbel root are considered, and when
pub(crate) mod forced_playouts; // visits that edges of a noisy root get whatever their value
pub(crate) mod widening; // progressive widening: limits the edges that may be tried
pub(crate) mod rave; // RAVE: what an action was worth later in the walk
pub(crate) mod attach; // adds a new child
pub mod playouts; // built-in evaluators: uniform, hash-random, playouts
pub(crate) mod top_actions; // the most likely actions of a learned policy
pub(crate) mod expand; // takes in an evaluation: the leaf gets edges
pub(crate) mod backup; // adds values to every node of the path
pub(crate) mod proofs; // bounds and proven results
pub(crate) mod abandon; // undoes a walk that was not evaluated
pub(crate) mod root; // noise, and the move from root to root
pub(crate) mod statistics; // N, W, P of any node, for users
pub(crate) mod outcome; // the policy target and the action to take
pub(crate) mod principal_variation; // the expected line of play
pub(crate) mod workers; // threads that wait for work
pub(crate) mod forest; // many trees that fill one batch
pub(crate) mod model_step; // ask and tell where the model is learned

#[cfg(test)]
mod link_tests; // cached steps and links stay right, whatever is done to a tree
