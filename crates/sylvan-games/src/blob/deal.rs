//! Dealing: the cards of a new round, and uniform samples of the deals consistent with a view.
//!
//! A view does not show who holds which unseen card. Every hidden seat holds a known number of
//! them, none of a suit in which it has shown a void, and the undealt stock holds the rest. All
//! consistent deals are equally likely, apart from the evidence of bids and plays, and `complete`
//! draws each with exactly the same probability, by counting:
//!
//! Hidden seats with the same voids form a *group*; seats without voids, and the stock, are free.
//! Suits missing in the same groups form a *class*. The groups 1 … G get their cards in turn. If
//! `r` cards of the classes are left for group g, the number of ways to deal to it and the groups
//! after it is
//!
//! ```text
//! W(g, r) = Σ_k  Π_c C(r_c, k_c) · W(g + 1, r - k),     W(G + 1, r) = 1,
//! ```
//!
//! over all `k` with k_c = 0 for the classes that the group lacks and Σ_c k_c its number of cards.
//! For each group, draw `k` with probability proportional to its term, then random cards of each
//! class, and divide them at random among its seats; the free seats divide the rest. All numbers
//! are integers below 2^128 (at most 3·10^36, for eight players with six cards each), so nothing is
//! rounded.
//!
//! Each thread computes `W` on first use and caches it until a view of another shape needs it: the
//! simulations of a search all start from one view and share it.

use std::cell::RefCell;

use sylvan_core::{MAX_SEATS, Rng, Seat};

use super::bots::TEMPER;
use super::cards::{Card, Cards, bit, each, of_suit, suit};
use super::error::BlobError;
use super::state::{Blob, NOBODY, Phase};
use crate::hash::mix;

impl Blob {
    /// Deals a round at random.
    pub fn shuffle(&mut self, rng: &mut Rng) -> Result<(), BlobError> {
        self.in_phase(Phase::Dealing, || "a deal".into(), "it is dealt already")?;
        while self.phase == Phase::Dealing {
            let left = self.undealt();
            let index = rng.below(left.count_ones() as usize);
            let card = each(left)
                .nth(index)
                .expect("an index below the number of cards");
            self.deal_card(card);
        }
        Ok(())
    }

    pub(super) fn deal_from_seed(&mut self) {
        let mut rng = Rng::new(self.seed, u64::from(self.round));
        let dealt = self.shuffle(&mut rng);
        debug_assert_eq!(dealt, Ok(()));
    }

    /// Deals given hands, one per seat, and the card turned up, if the rules need one.
    pub fn deal(&mut self, hands: &[Vec<i64>], turned_up: Option<i64>) -> Result<(), BlobError> {
        self.in_phase(Phase::Dealing, || "a deal".into(), "it is dealt already")?;
        if hands.len() != self.num_players() {
            let reason = format!("{} hands for {} seats", hands.len(), self.num_players());
            return Err(BlobError::Deal { reason });
        }
        let mut dealt = *self;
        dealt.hands = [0; MAX_SEATS];
        dealt.set_turned_up(turned_up)?;
        for (seat, hand) in hands.iter().enumerate() {
            dealt.hands[seat] = dealt.hand_of(seat as Seat, hand)?;
        }
        dealt.dealt = self.cards_to_deal();
        dealt.phase = Phase::Bidding;
        dealt.paid = false;
        *self = dealt;
        Ok(())
    }

    /// Deals one card: one to each seat in turn from the dealer's left, then the card turned up.
    pub(super) fn deal_card(&mut self, card: Card) {
        let (n, all) = (self.options.players, self.options.players * self.cards);
        if self.dealt < all {
            let seat = (self.dealer + 1 + self.dealt % n) % n;
            self.hands[usize::from(seat)] |= bit(card);
        } else {
            self.turn_up(card);
        }
        self.dealt += 1;
        if self.dealt == self.cards_to_deal() {
            self.phase = Phase::Bidding;
        }
    }

    /// The number of cards dealt before the first bid, including the card turned up.
    pub(super) fn cards_to_deal(&self) -> u8 {
        let turns_up = u8::from(self.options.trump_of(self.round).is_none());
        self.options.players * self.cards + turns_up
    }

    pub(super) fn turn_up(&mut self, card: Card) {
        self.turned_up = card;
        self.trump = suit(card);
        self.history = mix(self.history ^ u64::from(card));
    }

    pub(super) fn deal_checked(&mut self, code: i64) -> Result<(), BlobError> {
        let card = Self::card(code)?;
        if self.undealt() & bit(card) == 0 {
            let seat = self.hands.iter().position(|hand| hand & bit(card) != 0);
            let reason = match seat {
                Some(seat) => format!("seat {seat} has it"),
                None => "the deck does not have it".into(),
            };
            let seat = (self.dealer + 1 + self.dealt) % self.options.players;
            return Err(BlobError::Impossible { seat, card, reason });
        }
        self.paid = false;
        self.deal_card(card);
        Ok(())
    }

    /// The cards that chance may deal next.
    pub(super) fn undealt(&self) -> Cards {
        self.hands
            .iter()
            .fold(self.options.deck(), |left, hand| left & !hand)
    }

    /// Fills the hidden hands of a view with a consistent deal, drawn uniformly or by the view's
    /// belief. Does nothing to a full state.
    pub fn complete(&mut self, rng: &mut Rng) -> Result<(), BlobError> {
        let belief = self.belief;
        if self.viewer != NOBODY && belief.weighs(self) {
            return belief.pick(self, &TEMPER, rng);
        }
        self.complete_uniformly(rng)
    }

    /// The same, always uniformly.
    pub fn complete_uniformly(&mut self, rng: &mut Rng) -> Result<(), BlobError> {
        if self.viewer == NOBODY {
            return Ok(());
        }
        let hidden = Hidden::of(self);
        let filled = TABLE.with_borrow_mut(|table| hidden.fill(table, &mut self.hands, rng));
        if !filled {
            let reason = "the unseen cards fit no hands of these sizes and voids".into();
            let viewer = self.viewer;
            return Err(BlobError::NoDeal { viewer, reason });
        }
        self.viewer = NOBODY;
        Ok(())
    }
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

/// The hidden part of a view.
pub(super) struct Hidden {
    unseen: Cards,
    /// Hidden seats with cards: seat, number of cards, voids.
    seats: [(Seat, u8, u8); MAX_SEATS],
    len: usize,
}

/// The part of `Hidden` that determines the number of deals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape {
    /// Unseen cards of each class.
    classes: [u8; 4],
    num_classes: u8,
    num_groups: u8,
    /// The number of cards of each group, and the bit mask of classes that it may hold.
    groups: [(u8, u8); MAX_SEATS],
}

/// A shape with the unseen cards of each class and the voids of each group.
struct Groups {
    shape: Shape,
    class_suits: [Cards; 4],
    voids: [u8; MAX_SEATS],
}

impl Hidden {
    pub(super) fn of(state: &Blob) -> Self {
        let unseen = state.unseen();
        // Ignore voids in suits without unseen cards.
        let left = (0..4).fold(0, |left, s| left | u8::from(unseen & of_suit(s) != 0) << s);
        let mut hidden = Self {
            unseen,
            seats: [(0, 0, 0); MAX_SEATS],
            len: 0,
        };
        for seat in 0..state.options.players {
            let size = state.hand_size(seat);
            if seat != state.viewer && size > 0 {
                hidden.seats[hidden.len] = (seat, size, state.voids[usize::from(seat)] & left);
                hidden.len += 1;
            }
        }
        hidden
    }

    fn seats(&self) -> &[(Seat, u8, u8)] {
        &self.seats[..self.len]
    }

    fn groups(&self) -> Groups {
        let mut found = Groups {
            shape: Shape::default(),
            class_suits: [0; 4],
            voids: [0; MAX_SEATS],
        };
        let shape = &mut found.shape;
        for &(_, size, voids) in self.seats().iter().filter(|seat| seat.2 != 0) {
            let known = &found.voids[..usize::from(shape.num_groups)];
            let group = known
                .iter()
                .position(|&other| other == voids)
                .unwrap_or_else(|| {
                    shape.num_groups += 1;
                    usize::from(shape.num_groups) - 1
                });
            found.voids[group] = voids;
            shape.groups[group].0 += size;
        }
        let mut lacking = [0_u8; 4];
        for suit in 0..4 {
            let cards = self.unseen & of_suit(suit);
            if cards == 0 {
                continue;
            }
            let voids = &found.voids[..usize::from(shape.num_groups)];
            let lacks = (voids.iter().enumerate())
                .fold(0, |all, (group, voids)| all | (voids >> suit & 1) << group);
            let known = &lacking[..usize::from(shape.num_classes)];
            let class = known
                .iter()
                .position(|&other| other == lacks)
                .unwrap_or_else(|| {
                    shape.num_classes += 1;
                    usize::from(shape.num_classes) - 1
                });
            lacking[class] = lacks;
            found.class_suits[class] |= cards;
            shape.classes[class] += cards.count_ones() as u8;
        }
        for (group, entry) in shape.groups.iter_mut().enumerate() {
            for (class, lacks) in lacking.iter().enumerate() {
                entry.1 |= (!lacks >> group & 1) << class;
            }
        }
        found
    }

    /// The number of ways to deal to the groups; 0 if no deal is consistent.
    pub(super) fn count(&self) -> u128 {
        let needed: u32 = self.seats().iter().map(|seat| u32::from(seat.1)).sum();
        if needed > self.unseen.count_ones() {
            return 0;
        }
        let groups = self.groups();
        TABLE.with_borrow_mut(|table| table.ways_of(&groups.shape))
    }

    /// The number of deals: `count` times the ways to divide the cards within groups and free
    /// seats.
    pub(super) fn deals(&self) -> u128 {
        let groups = self.groups();
        let mut deals = self.count();
        let mut left = [0_u8; MAX_SEATS];
        for (left, group) in left.iter_mut().zip(groups.shape.groups) {
            *left = group.0;
        }
        let mut free = self.unseen.count_ones() as u8 - left.iter().sum::<u8>();
        for &(_, size, voids) in self.seats() {
            let pool = match groups
                .voids
                .iter()
                .position(|&other| voids != 0 && other == voids)
            {
                Some(group) => &mut left[group],
                None => &mut free,
            };
            deals *= u128::from(choose(*pool, size));
            *pool -= size;
        }
        deals
    }

    /// Writes a random deal to the hands of the hidden seats; returns false if there is none.
    fn fill(&self, table: &mut Table, hands: &mut [Cards; MAX_SEATS], rng: &mut Rng) -> bool {
        let mut free = Pool::default();
        if self.seats().iter().all(|seat| seat.2 == 0) {
            if self.len == 0 {
                return true;
            }
            free.add(self.unseen);
            let needed: usize = self.seats().iter().map(|seat| usize::from(seat.1)).sum();
            if needed > free.len {
                return false;
            }
        } else {
            let groups = self.groups();
            if table.ways_of(&groups.shape) == 0 {
                return false;
            }
            let mut classes = [Pool::default(); 4];
            for (pool, &cards) in classes.iter_mut().zip(&groups.class_suits) {
                pool.add(cards);
            }
            let mut left = groups.shape.classes;
            for group in 0..usize::from(groups.shape.num_groups) {
                let counts = table.draw(group, &left, rng);
                let mut pool = Pool::default();
                for class in 0..4 {
                    left[class] -= counts[class];
                    pool.move_random(&mut classes[class], counts[class], rng);
                }
                let voids = groups.voids[group];
                self.share(&mut pool, voids, hands, rng);
            }
            for pool in &classes {
                free.extend(pool);
            }
        }
        self.share(&mut free, 0, hands, rng);
        true
    }

    /// Deals random cards from a pool to the seats with these voids.
    fn share(&self, pool: &mut Pool, voids: u8, hands: &mut [Cards; MAX_SEATS], rng: &mut Rng) {
        for &(seat, size, _) in self.seats().iter().filter(|seat| seat.2 == voids) {
            hands[usize::from(seat)] = pool.take_random(size, rng);
        }
    }
}

/// A list of cards to draw from.
#[derive(Clone, Copy)]
struct Pool {
    cards: [Card; 52],
    len: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            cards: [0; 52],
            len: 0,
        }
    }
}

impl Pool {
    #[inline]
    fn add(&mut self, mut cards: Cards) {
        while cards != 0 {
            self.push(cards.trailing_zeros() as Card);
            cards &= cards - 1;
        }
    }

    #[inline]
    fn push(&mut self, card: Card) {
        self.cards[self.len] = card;
        self.len += 1;
    }

    fn extend(&mut self, other: &Self) {
        self.cards[self.len..self.len + other.len].copy_from_slice(&other.cards[..other.len]);
        self.len += other.len;
    }

    #[inline]
    fn draw(&mut self, rng: &mut Rng) -> Card {
        let index = rng.below(self.len);
        self.len -= 1;
        let card = self.cards[index];
        self.cards[index] = self.cards[self.len];
        card
    }

    fn move_random(&mut self, from: &mut Self, count: u8, rng: &mut Rng) {
        for _ in 0..count {
            self.push(from.draw(rng));
        }
    }

    #[inline]
    fn take_random(&mut self, count: u8, rng: &mut Rng) -> Cards {
        if self.len == usize::from(count) {
            let all = self.cards[..self.len]
                .iter()
                .fold(0, |all, &card| all | bit(card));
            self.len = 0;
            return all;
        }
        (0..count).fold(0, |hand, _| hand | bit(self.draw(rng)))
    }
}

/// A table of `W` (see the head of this file) for one shape.
#[derive(Default)]
struct Table {
    shape: Shape,
    total: u128,
    /// Indexed by group and the cards left of all classes except the last, which follows from the
    /// sum.
    ways: Vec<u128>,
    strides: [usize; 3],
    size: usize,
}

const UNKNOWN: u128 = u128::MAX;

impl Table {
    /// `W` of all groups; rebuilds the table if it is for another shape.
    fn ways_of(&mut self, shape: &Shape) -> u128 {
        if self.shape == *shape && self.size > 0 {
            return self.total;
        }
        self.shape = *shape;
        let mut size = 1;
        for class in 0..usize::from(shape.num_classes.max(1)) - 1 {
            self.strides[class] = size;
            size *= usize::from(shape.classes[class]) + 1;
        }
        self.size = size;
        self.ways.clear();
        self.ways
            .resize(size * usize::from(shape.num_groups), UNKNOWN);
        let classes = shape.classes;
        self.total = self.ways(0, &classes);
        self.total
    }

    /// `W(group, left)`.
    fn ways(&mut self, group: usize, left: &[u8; 4]) -> u128 {
        if group == usize::from(self.shape.num_groups) {
            return 1;
        }
        let index = self.index(group, left);
        if self.ways[index] == UNKNOWN {
            let (mut ways, shape) = (0, self.shape);
            for_each_split(&shape, group, left, |counts, weight| {
                ways += weight * self.ways(group + 1, &less(left, counts));
                true
            });
            self.ways[index] = ways;
        }
        self.ways[index]
    }

    fn index(&self, group: usize, left: &[u8; 4]) -> usize {
        let classes = usize::from(self.shape.num_classes) - 1;
        let strides = self.strides[..classes].iter().zip(left);
        group * self.size + strides.map(|(s, &l)| s * usize::from(l)).sum::<usize>()
    }

    /// Draws the number of cards of each class for a group.
    fn draw(&mut self, group: usize, left: &[u8; 4], rng: &mut Rng) -> [u8; 4] {
        let mut ticket = below(rng, self.ways(group, left));
        let mut drawn = [0; 4];
        let shape = self.shape;
        for_each_split(&shape, group, left, |counts, weight| {
            let ways = weight * self.ways(group + 1, &less(left, counts));
            if ticket < ways {
                drawn = *counts;
                return false;
            }
            ticket -= ways;
            true
        });
        drawn
    }
}

fn less(left: &[u8; 4], counts: &[u8; 4]) -> [u8; 4] {
    std::array::from_fn(|class| left[class] - counts[class])
}

/// Calls `found` with every split of a group's cards over the classes and `Π C(left, count)`, until
/// it returns false.
fn for_each_split(
    shape: &Shape,
    group: usize,
    left: &[u8; 4],
    mut found: impl FnMut(&[u8; 4], u128) -> bool,
) {
    let (need, allowed) = shape.groups[group];
    let room = |class: usize| {
        if allowed >> class & 1 == 1 {
            left[class]
        } else {
            0
        }
    };
    let rooms = [room(0), room(1), room(2), room(3)];
    for first in 0..=rooms[0].min(need) {
        let a = u128::from(choose(rooms[0], first));
        for second in 0..=rooms[1].min(need - first) {
            let b = a * u128::from(choose(rooms[1], second));
            let need = need - first - second;
            // The last class provides the rest, up to its number of cards.
            for third in need.saturating_sub(rooms[3])..=rooms[2].min(need) {
                let counts = [first, second, third, need - third];
                let c = choose(rooms[2], third) * choose(rooms[3], need - third);
                if !found(&counts, b * u128::from(c)) {
                    return;
                }
            }
        }
    }
}

/// `n` choose `k`, for n up to 52.
#[inline]
fn choose(n: u8, k: u8) -> u64 {
    BINOMIALS[usize::from(n)][usize::from(k)]
}

static BINOMIALS: [[u64; 53]; 53] = {
    let mut table = [[0; 53]; 53];
    let mut n = 0;
    while n < 53 {
        table[n][0] = 1;
        let mut k = 1;
        while k <= n {
            table[n][k] = table[n - 1][k - 1] + table[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    table
};

/// An integer below `n`, without bias.
fn below(rng: &mut Rng, n: u128) -> u128 {
    if let Ok(n) = usize::try_from(n) {
        return rng.below(n) as u128;
    }
    let bits = u128::MAX >> n.leading_zeros();
    loop {
        let draw = (u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())) & bits;
        if draw < n {
            return draw;
        }
    }
}
