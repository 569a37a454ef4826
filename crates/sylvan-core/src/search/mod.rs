//! The search. The files are listed in the order in which a simulation uses them.

pub(crate) mod settings; // settings and rules, with precomputed tables
pub(crate) mod scale; // maps returns to the scale of scores
pub(crate) mod root_edges; // the edges of the root, with priors in full precision
pub(crate) mod visit; // one descent: its path and leaf
pub(crate) mod tree; // a tree, the progress of its search, and `Search`
pub(crate) mod batch; // descents that wait for evaluations
pub(crate) mod clock; // deadline, pause and stop requests
pub(crate) mod decided; // ends a search whose choice cannot change
pub(crate) mod fill; // the batch rule and the limits: starts descents
pub(crate) mod descend; // the descent from the root to a leaf
pub(crate) mod information_set; // the descent with hidden information: one deal per simulation
pub(crate) mod selection; // PUCT and first-play urgency
pub(crate) mod uct; // UCT
pub(crate) mod gumbel; // the Gumbel rule inside the tree and at the root
pub(crate) mod sequential_halving; // the schedule of visits at a Gumbel root
pub(crate) mod forced_playouts; // forced visits at a root with noise
pub(crate) mod deviation; // exploration by the deviation of values
pub(crate) mod widening; // progressive widening: limits the number of tried edges
pub(crate) mod rave; // RAVE: statistics of actions played later in a simulation
pub(crate) mod attach; // adds a new child
pub mod playouts; // built-in evaluators: uniform, hash-random, playouts
pub(crate) mod top_actions; // selects the most likely actions of a learned policy
pub(crate) mod priors; // options of priors: temperature, floor, bonus
pub(crate) mod expand; // applies an evaluation: the leaf gets edges
pub(crate) mod prepare; // expansion on several threads
pub(crate) mod backup; // adds values to every node of the path
pub(crate) mod graph; // transpositions: one node per position
pub(crate) mod proofs; // bounds and proven results
pub(crate) mod abandon; // undoes a descent that was not evaluated
pub(crate) mod root; // root noise, and advancing to a new root
pub(crate) mod statistics; // N, W, P of any node, for users
pub(crate) mod most_visited; // the most visited nodes, for views
pub(crate) mod restore; // a tree from the statistics of its nodes
pub(crate) mod endings; // the shortest win
pub(crate) mod lower_bound; // the choice by lower confidence bound
pub(crate) mod outcome; // the policy target and the action to take
pub(crate) mod principal_variation; // the expected line of play
pub(crate) mod workers; // the thread pool
pub(crate) mod forest; // many trees that fill one batch
pub(crate) mod model_step; // select and update for a learned model

#[cfg(test)]
mod link_tests; // cached steps and links stay correct after any operation
#[cfg(test)]
mod graph_tests; // shared positions stay counted, found and linked after any operation
