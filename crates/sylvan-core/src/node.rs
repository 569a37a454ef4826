//! A node: the statistics of one position in one tree.
//!
//! A node is also the edge that leads to it: its action, prior, visits and value sum are the
//! N, P and W of that edge. What its parent needs while it chooses (Q and P / (1 + n) of every
//! visited child) stands again in the parent's block of children (`children.rs`), side by side.

use crate::game::{Action, Seat};
use crate::values::Values;

/// A place in the pool of nodes.
pub type NodeId = u32;

/// No node, or no block.
pub const NONE: u32 = u32::MAX;

/// What the tree knows of a node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not evaluated, or its subtree was dropped: a simulation ends here.
    Leaf,
    /// A seat chooses among `num_edges` actions.
    Decision,
    /// The rules draw one of `num_edges` outcomes.
    Chance,
    /// The game is over.
    Terminal,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Node<V: Values> {
    /// W: the sum of the values of all finished visits, per seat.
    pub w: V,
    pub extra: V::Extra,
    /// N: finished visits, the node's own evaluation included.
    pub visits: u32,
    /// Visits that wait for an evaluation.
    pub in_flight: u16,
    /// The place of `action` among the parent's legal actions.
    pub index: u16,
    pub action: Action,
    /// P, as the selection uses it: at the root's children with noise.
    pub prior: f32,
    /// The evaluator's value for the seat to move, which the Gumbel rule mixes with Q.
    pub raw: f32,
    /// The block of visited children, or `NONE`.
    pub children: u32,
    /// The block of unvisited priors, or `NONE`.
    pub edges: u32,
    pub num_edges: u16,
    flags: u16,
}

const KIND: u16 = 0b11;
const SEAT: u16 = 2;
const LOW: u16 = 5;
const HIGH: u16 = 7;
const EXACT: u16 = 1 << 9;
const PENDING: u16 = 1 << 10;

impl<V: Values> Node<V> {
    pub fn new(action: Action, index: u16, prior: f32) -> Self {
        Self {
            w: V::default(),
            extra: V::Extra::default(),
            visits: 0,
            in_flight: 0,
            index,
            action,
            prior,
            raw: 0.0,
            children: NONE,
            edges: NONE,
            num_edges: 0,
            flags: 2 << HIGH, // anything from -1 to 1
        }
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        match self.flags & KIND {
            0 => Kind::Leaf,
            1 => Kind::Decision,
            2 => Kind::Chance,
            _ => Kind::Terminal,
        }
    }

    pub fn set_kind(&mut self, kind: Kind) {
        self.flags = self.flags & !KIND | kind as u16;
    }

    /// The seat that chooses here; meaningful in decision nodes.
    #[inline]
    pub fn seat(&self) -> Seat {
        (self.flags >> SEAT & 7) as Seat
    }

    pub fn set_seat(&mut self, seat: Seat) {
        self.flags = self.flags & !(7 << SEAT) | u16::from(seat) << SEAT;
    }

    /// A leaf whose evaluation was asked for.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.flags & PENDING != 0
    }

    pub fn set_pending(&mut self, pending: bool) {
        self.flags = self.flags & !PENDING | if pending { PENDING } else { 0 };
    }

    /// Visits started: finished and in flight.
    #[inline]
    pub fn started(&self) -> u32 {
        self.visits + u32::from(self.in_flight)
    }

    /// Whether anything is known of the result beyond its statistics.
    #[inline]
    pub fn is_bounded(&self) -> bool {
        self.flags & (EXACT | 0b1111 << LOW) != 2 << HIGH
    }

    /// The bounds of seat 0's result, each -1, 0 or 1 (`Values::BOUNDS`).
    #[inline]
    pub fn bounds(&self) -> (i8, i8) {
        let code = |shift: u16| (self.flags >> shift & 3) as i8 - 1;
        (code(LOW), code(HIGH))
    }

    pub fn set_bounds(&mut self, low: i8, high: i8) {
        let code = ((low + 1) as u16) << LOW | ((high + 1) as u16) << HIGH;
        self.flags = self.flags & !(0b1111 << LOW) | code;
    }

    /// `V::exact` holds the proven result.
    pub fn is_exact(&self) -> bool {
        self.flags & EXACT != 0
    }

    pub fn set_exact(&mut self, exact: V) {
        V::set_exact(&mut self.extra, exact);
        self.flags |= EXACT;
    }

    /// The result is proven.
    #[inline]
    pub fn is_proven(&self) -> bool {
        if V::BOUNDS {
            let (low, high) = self.bounds();
            low == high
        } else {
            self.is_exact()
        }
    }

    /// The result of a proven node.
    pub fn proven(&self) -> V {
        if V::BOUNDS {
            let low = f64::from(self.bounds().0);
            V::from_seats(&[low, -low])
        } else {
            V::exact(&self.extra)
        }
    }

    /// The bounds of what the step into this node is worth to `seat`.
    pub fn step_bounds(&self, seat: Seat, discount: f64) -> (f64, f64) {
        if V::BOUNDS {
            let (low, high) = self.bounds();
            match seat {
                0 => (f64::from(low), f64::from(high)),
                _ => (-f64::from(high), -f64::from(low)),
            }
        } else if self.is_exact() {
            let value = V::exact(&self.extra)
                .through(&self.extra, discount)
                .seat(seat);
            (value, value)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        }
    }

    /// Q of the step into this node for `seat`: reward + discount * W / N, held inside its proven
    /// bounds. Only for nodes with a finished visit.
    #[inline]
    pub fn q(&self, seat: Seat, discount: f64) -> f32 {
        let mean = self.w.seat(seat) / f64::from(self.visits);
        if V::BOUNDS {
            let (low, high) = if self.is_bounded() {
                self.step_bounds(seat, discount)
            } else {
                (-1.0, 1.0)
            };
            let mean = if mean < low { low } else { mean };
            (if mean > high { high } else { mean }) as f32
        } else if self.is_exact() {
            self.step_bounds(seat, discount).0 as f32
        } else {
            (V::reward(&self.extra, seat) + discount * mean) as f32
        }
    }

    /// The mean value of this node itself for `seat`.
    #[inline]
    pub fn value(&self, seat: Seat) -> f32 {
        (self.w.seat(seat) / f64::from(self.visits)) as f32
    }
}
