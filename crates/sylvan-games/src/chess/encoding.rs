//! The encoding of a game for a network: input planes, policy outputs, missing history.
//!
//! The encoding does not change the rules or the actions of a search, which are always codes of
//! [`az73`]; a game can be converted to another encoding at any time ([`Chess::encoded`]).
//!
//! [`az73`]: super::az73

use super::history::HistoryFill;
use super::{Chess, az73, lc0};
use sylvan_core::Action;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    pub encoder: Encoder,
    pub codec: Codec,
    /// The boards of an observation before the first known position.
    pub history_fill: HistoryFill,
}

/// A layout of input planes; each has a file in `planes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoder {
    /// lc0's input format 1.
    #[default]
    Lc0,
    /// AlphaZero's planes.
    Az119,
    /// One board, rights, en passant, side and clock.
    Planes19,
    /// One board, rights, en passant and side.
    Planes18,
    /// One board, rights, en passant, side, both counters, and the last half-moves.
    Planes29,
}

/// The layout of policy outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// The action codes themselves, 4672.
    #[default]
    Az73,
    /// lc0's 1858.
    Lc0,
}

impl Codec {
    /// Outputs of a policy.
    pub const fn num_logits(self) -> usize {
        match self {
            Codec::Az73 => az73::NUM_ACTIONS,
            Codec::Lc0 => lc0::NUM_LOGITS,
        }
    }
}

impl Chess {
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The same game with another encoding.
    #[must_use]
    pub fn encoded(mut self, encoding: Encoding) -> Chess {
        self.encoding = encoding;
        self
    }

    /// The index of a legal action's logit in a policy output.
    pub fn logit_index(&self, action: Action) -> u32 {
        match self.encoding.codec {
            Codec::Az73 => action,
            Codec::Lc0 => lc0::index(&self.position, action),
        }
    }

    /// The legal action with the logit at an index, if there is one.
    pub fn action_at_logit(&self, index: u32) -> Option<Action> {
        let mut moves = self.moves().into_iter();
        moves.find(|&action| self.logit_index(action) == index)
    }
}
