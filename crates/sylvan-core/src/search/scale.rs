//! The scale of scores: maps Q to it, by a known or a learned value range.

use crate::contracts::config::ValueRange;
use crate::contracts::game::Game;
use crate::contracts::values::Values;
use crate::memory::family::{CLOSED, Child};
use crate::memory::node::NodeId;
use crate::memory::simd;
use crate::search::tree::Search;

/// The least and greatest Q seen by the search.
#[derive(Clone, Copy, Debug)]
pub struct MinMaxStats {
    pub min: f32,
    pub max: f32,
}

impl Default for MinMaxStats {
    fn default() -> Self {
        Self {
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
        }
    }
}

impl MinMaxStats {
    pub fn include(&mut self, q: f32) {
        self.min = self.min.min(q);
        self.max = self.max.max(q);
    }
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

    /// Maps the Q of a node's children to the scale of scores; `None` if the value range is known,
    /// because families then store Q on that scale.
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

    /// The learned scale of scores; `siblings` returns the least and greatest Q of a node.
    pub(crate) fn scale_of(&self, siblings: impl FnOnce() -> (f32, f32)) -> Scale {
        let (min, max) = match self.settings.config.value_range {
            ValueRange::Siblings => siblings(),
            _ => (self.tree.q_range.min, self.tree.q_range.max),
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
            return simd::range(self.pool.groups(self.pool[id].owned), (value, value));
        }
        for Child { id: child, q, .. } in self.pool.children(id) {
            if self.pool[child].visits > 0 && q > CLOSED {
                min = min.min(q);
                max = max.max(q);
            }
        }
        (min, max)
    }
}
