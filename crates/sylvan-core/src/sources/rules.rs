//! States from rules: the tree derives a state by applying the actions of its path to the root's
//! state.
//!
//! For games where that is too slow (`Game::KEEP_STATES`: games written in Python, learned models),
//! the tree stores the states of expanded nodes here, by node number. Its byte budget includes
//! them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::contracts::game::Game;
use crate::memory::node::NodeId;

/// A fast hash for node numbers; they are not chosen by an attacker.
#[derive(Clone, Copy, Debug, Default)]
struct NodeHasher(u64);

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

/// The states of expanded nodes.
#[derive(Debug)]
pub struct KeptStates<G>(HashMap<NodeId, G, BuildHasherDefault<NodeHasher>>);

impl<G> Default for KeptStates<G> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<G: Game> KeptStates<G> {
    #[inline]
    pub fn get(&self, id: NodeId) -> Option<&G> {
        self.0.get(&id)
    }

    /// Stores a state; returns its size in bytes.
    pub fn insert(&mut self, id: NodeId, state: &G) -> u64 {
        self.0.insert(id, state.share());
        state.bytes()
    }

    /// Drops the state of a node; returns the freed bytes.
    pub fn remove(&mut self, id: NodeId) -> u64 {
        self.0.remove(&id).map_or(0, |state| state.bytes())
    }

    /// Drops all states and keeps the table's memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
