//! A node: the statistics of one position in one tree.
//!
//! A node also stores the edge that leads to it: its action, prior, visits and value sum are the
//! action, P, N and W of that edge. The parent's family (`family.rs`) stores copies of Q and
//! `P / (1 + n)` of every visited child side by side, for selection.
//!
//! In two-player games of win, draw and loss a node takes 32 bytes.

use bytemuck::{Pod, Zeroable};

use crate::contracts::game::{Action, Seat};
use crate::contracts::values::Values;

/// The number of a node's first unit in the arena.
pub type NodeId = u32;

/// No node, or no chunk.
pub const NONE: u32 = u32::MAX;

/// The kind of a node's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Not evaluated, or its subtree was dropped; a simulation ends here.
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
    /// W: the value sum of all finished visits, per seat.
    pub w: V,
    pub extra: V::Extra,
    /// N: finished visits, the node's own evaluation included.
    pub visits: u32,
    /// P as used by selection; includes noise at the root's children.
    pub prior: f32,
    pub action: Action,
    /// The chunk owned by the node: its family if it has children, otherwise its edges or `NONE`.
    pub(crate) owned: u32,
    /// Visits waiting for an evaluation.
    pub in_flight: u16,
    /// The index of `action` among the parent's legal actions.
    pub index: u16,
    pub num_edges: u16,
    flags: u16,
}

// SAFETY: every field accepts any bits, and there is no padding: `HAS_NO_PADDING` checks it at
// compile time for every `V` for which a node is created.
unsafe impl<V: Values> Zeroable for Node<V> {}
// SAFETY: as above.
unsafe impl<V: Values> Pod for Node<V> {}

const KIND: u16 = 0b11;
const SEAT: u16 = 2;
const LOW: u16 = 5;
const HIGH: u16 = 7;
const BOUNDS: u16 = 0b1111 << LOW;
/// Bounds -1 and 1: nothing is proven.
const UNBOUNDED: u16 = 2 << HIGH;
const EXACT: u16 = 1 << 9;
const PENDING: u16 = 1 << 10;
const PROVEN: u16 = 1 << 11;
const FAMILY: u16 = 1 << 12;
/// With transpositions (`positions.rs`).
const SHARED: u16 = 1 << 13;
const EDGE: u16 = 1 << 14;
const LINKS: u16 = 1 << 15;

/// The bounds of seat 0's result, indexed by their bits in the flags.
static LIMITS: [(f64, f64); 16] = {
    let mut limits = [(0.0, 0.0); 16];
    let mut code = 0;
    while code < 16 {
        limits[code] = ((code & 3) as f64 - 1.0, (code >> 2) as f64 - 1.0);
        code += 1;
    }
    limits
};

impl<V: Values> Node<V> {
    /// Fails to compile for values that would leave padding in a node: see `Pod`.
    const HAS_NO_PADDING: () = {
        let fields =
            size_of::<V>() + size_of::<V::Extra>() + 4 * size_of::<u32>() + 4 * size_of::<u16>();
        assert!(size_of::<Self>() == fields, "a node must have no padding");
    };

    #[inline(always)]
    pub fn new(action: Action, index: u16, prior: f32) -> Self {
        const { Self::HAS_NO_PADDING };
        Self {
            w: V::default(),
            extra: V::Extra::default(),
            visits: 0,
            prior,
            action,
            owned: NONE,
            in_flight: 0,
            index,
            num_edges: 0,
            flags: UNBOUNDED,
        }
    }

    #[inline]
    pub fn kind(&self) -> NodeKind {
        match self.flags & KIND {
            0 => NodeKind::Leaf,
            1 => NodeKind::Decision,
            2 => NodeKind::Chance,
            _ => NodeKind::Terminal,
        }
    }

    pub fn set_kind(&mut self, kind: NodeKind) {
        self.flags = self.flags & !KIND | kind as u16;
    }

    /// A seat chooses here, and the result is not proven.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.flags & (KIND | PROVEN) == NodeKind::Decision as u16
    }

    /// The seat that chooses here; meaningful in decision nodes.
    #[inline]
    pub fn seat(&self) -> Seat {
        (self.flags >> SEAT & 7) as Seat
    }

    pub fn set_seat(&mut self, seat: Seat) {
        self.flags = self.flags & !(7 << SEAT) | u16::from(seat) << SEAT;
    }

    /// A leaf that waits for its evaluation.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.flags & PENDING != 0
    }

    pub fn set_pending(&mut self, pending: bool) {
        self.flags = self.flags & !PENDING | if pending { PENDING } else { 0 };
    }

    /// The node has children, and `owned` is its family.
    #[inline]
    pub fn has_family(&self) -> bool {
        self.flags & FAMILY != 0
    }

    pub(crate) fn set_family(&mut self, family: bool) {
        self.flags = self.flags & !FAMILY | if family { FAMILY } else { 0 };
    }

    /// A position with edges apart: its N, W and visits in flight are those of all edges to it.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    pub(crate) fn set_shared(&mut self, shared: bool) {
        self.flags = self.flags & !SHARED | if shared { SHARED } else { 0 };
    }

    /// An edge to a shared position, with no other use.
    #[inline]
    pub fn is_edge(&self) -> bool {
        self.flags & EDGE != 0
    }

    /// Some child is an edge to a shared position.
    #[inline]
    pub fn has_links(&self) -> bool {
        self.flags & LINKS != 0
    }

    pub(crate) fn set_links(&mut self, links: bool) {
        self.flags = self.flags & !LINKS | if links { LINKS } else { 0 };
    }

    /// The edge to this node, apart from its position.
    pub(crate) fn edge(&self) -> Self {
        Self {
            owned: NONE,
            num_edges: 0,
            flags: self.flags & (EXACT | BOUNDS | PROVEN) | EDGE,
            ..*self
        }
    }

    /// Takes over the proven bounds of the position that this edge leads to; returns whether they
    /// changed.
    pub(crate) fn copy_proof(&mut self, position: &Self) -> bool {
        const PROOF: u16 = EXACT | BOUNDS | PROVEN;
        let old = self.flags;
        self.flags = old & !PROOF | position.flags & PROOF;
        if position.is_exact() {
            V::set_exact(&mut self.extra, V::exact(&position.extra));
        }
        self.flags != old
    }

    /// The best estimate of the node's value: its mean, within its proven bounds.
    pub(crate) fn estimate(&self) -> V {
        if V::BOUNDS {
            let (low, high) = LIMITS[usize::from(self.flags >> LOW & 15)];
            let mean = self.mean().seat(0);
            let mean = if mean < low { low } else { mean };
            let mean = if mean > high { high } else { mean };
            V::from_seats(&[mean, -mean])
        } else if self.is_exact() {
            V::exact(&self.extra)
        } else {
            self.mean()
        }
    }

    /// Visits started: finished and in flight.
    #[inline]
    pub fn started(&self) -> u32 {
        self.visits + u32::from(self.in_flight)
    }

    /// Whether a bound of the result is proven.
    #[inline]
    pub fn is_bounded(&self) -> bool {
        self.flags & (EXACT | BOUNDS) != UNBOUNDED
    }

    /// The bounds of seat 0's result, each -1, 0 or 1 (`Values::BOUNDS`).
    #[inline]
    pub fn bounds(&self) -> (i8, i8) {
        let code = |shift: u16| (self.flags >> shift & 3) as i8 - 1;
        (code(LOW), code(HIGH))
    }

    pub fn set_bounds(&mut self, low: i8, high: i8) {
        let code = ((low + 1) as u16) << LOW | ((high + 1) as u16) << HIGH;
        let proven = if low == high { PROVEN } else { 0 };
        self.flags = self.flags & !(BOUNDS | PROVEN) | code | proven;
    }

    /// `V::exact` holds the proven result.
    pub fn is_exact(&self) -> bool {
        self.flags & EXACT != 0
    }

    pub fn set_exact(&mut self, exact: V) {
        V::set_exact(&mut self.extra, exact);
        self.flags |= EXACT | PROVEN;
    }

    /// The result is proven.
    #[inline]
    pub fn is_proven(&self) -> bool {
        self.flags & PROVEN != 0
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

    /// The bounds of the value of the step into this node, for `seat`.
    #[inline]
    pub fn step_bounds(&self, seat: Seat, discount: f64) -> (f64, f64) {
        if V::BOUNDS {
            let (low, high) = LIMITS[usize::from(self.flags >> LOW & 15)];
            match seat {
                0 => (low, high),
                _ => (-high, -low),
            }
        } else if self.is_exact() {
            let value = V::exact(&self.extra)
                .step_value(&self.extra, discount)
                .seat(seat);
            (value, value)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        }
    }

    /// W / N; requires a finished visit.
    #[inline]
    pub fn mean(&self) -> V {
        self.w.over(f64::from(self.visits))
    }

    /// Q of the step into this node for `seat`: reward + discount * `mean`, clamped to its proven
    /// bounds.
    #[inline]
    pub fn q(&self, mean: V, seat: Seat, discount: f64) -> f32 {
        let mean = mean.seat(seat);
        if V::BOUNDS {
            let (low, high) = if self.flags & BOUNDS == UNBOUNDED {
                (-1.0, 1.0)
            } else {
                self.step_bounds(seat, discount)
            };
            let mean = if mean < low { low } else { mean };
            (if mean > high { high } else { mean }) as f32
        } else if self.is_exact() {
            self.step_bounds(seat, discount).0 as f32
        } else {
            (V::reward(&self.extra, seat) + discount * mean) as f32
        }
    }

    /// `q`, and the mean value of the parent for `seat`, the seat to move there.
    #[inline]
    pub fn q_with_parent(&self, mean: V, parent: V, seat: Seat, discount: f64) -> [f32; 2] {
        if !V::BOUNDS {
            return [self.q(mean, seat, discount), parent.seat(seat) as f32];
        }
        // Rounding before clamping gives the same result: the bounds are integers.
        let [q, value] = V::round_both(mean, parent, seat);
        let (low, high) = if self.flags & BOUNDS == UNBOUNDED {
            (-1.0, 1.0)
        } else {
            let (low, high) = self.step_bounds(seat, discount);
            (low as f32, high as f32)
        };
        let q = if q < low { low } else { q };
        [if q > high { high } else { q }, value]
    }

    /// The mean value of this node itself for `seat`.
    #[inline]
    pub fn value(&self, seat: Seat) -> f32 {
        self.mean().seat(seat) as f32
    }
}
