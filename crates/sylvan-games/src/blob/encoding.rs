//! The observation of the seat to move.
//!
//! A flat array, the same for 3 to 8 players and 1 to 13 cards. Seats are numbered from the seat to
//! move; the blocks of empty seats are zero. All cells are 0 or 1.
//!
//! | cells | contents |
//! |---|---|
//! | 52 | own hand |
//! | 52 | unseen cards |
//! | 52 | the card turned up |
//! | 5 | trump: ♠ ♥ ♣ ♦ none |
//! | 4 | suit led in the trick |
//! | 2 | bidding, playing |
//! | 14 | cards dealt to each seat |
//! | 14 | cards left in the own hand |
//! | 14 | bid forbidden by the hook rule |
//! | 9 | players |
//! | 8 × 140 | per seat: cards played in finished tricks (52), card in the trick (52), bid (14), tricks won (14), voids (4), present, dealer, leads the trick, winning it |

use super::cards::{Cards, NO_CARD, bit};
use super::state::{Blob, Phase};

const BLOCK: usize = 52 + 52 + 14 + 14 + 4 + 4;
const HEAD: usize = 3 * 52 + 5 + 4 + 2 + 3 * 14 + 9;
/// Cells of an observation.
pub const OBSERVATION_LEN: usize = HEAD + 8 * BLOCK;
/// Cells of all hands.
pub const HANDS_LEN: usize = 8 * 52;

/// Fills an array from left to right.
struct Writer<'a> {
    cells: &'a mut [f32],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn set(&mut self, mut cards: Cards, width: usize) {
        while cards != 0 {
            self.cells[self.at + cards.trailing_zeros() as usize] = 1.0;
            cards &= cards - 1;
        }
        self.at += width;
    }

    /// Writes a one-hot vector of length `width`; all zeros if `index` is beyond it.
    #[inline]
    fn one_hot(&mut self, index: u8, width: usize) {
        if usize::from(index) < width {
            self.cells[self.at + usize::from(index)] = 1.0;
        }
        self.at += width;
    }
}

impl Blob {
    /// Writes the observation of the seat to move to `OBSERVATION_LEN` cells.
    pub fn encode(&self, cells: &mut [f32]) {
        cells.fill(0.0);
        let mut out = Writer { cells, at: 0 };
        let own = self.hands[usize::from(self.turn)];
        let up = if self.turned_up == NO_CARD {
            0
        } else {
            bit(self.turned_up)
        };
        out.set(own, 52);
        out.set(self.options.deck() & !(own | self.gone | up), 52);
        out.set(up, 52);
        out.one_hot(self.trump, 5);
        out.one_hot(if self.in_trick > 0 { self.led } else { NO_CARD }, 4);
        out.one_hot(u8::from(self.phase != Phase::Bidding), 2);
        out.one_hot(self.cards, 14);
        out.one_hot(own.count_ones() as u8, 14);
        out.one_hot(self.forbidden_bid().unwrap_or(NO_CARD), 14);
        out.one_hot(self.options.players, 9);
        self.encode_seats(&mut out);
    }

    /// Writes all hands, 52 cells each, starting with the seat to move, to `HANDS_LEN` cells; zeros
    /// for empty seats. Contains hidden information.
    pub fn encode_hands(&self, cells: &mut [u8]) {
        cells.fill(0);
        let mut seat = self.turn;
        for own in cells.chunks_exact_mut(52).take(self.num_players()) {
            let mut hand = self.hands[usize::from(seat)];
            while hand != 0 {
                own[hand.trailing_zeros() as usize] = 1;
                hand &= hand - 1;
            }
            seat = self.after(seat);
        }
    }

    fn encode_seats(&self, out: &mut Writer<'_>) {
        let n = self.options.players;
        let (mut before, mut now) = ([0; 8], [0; 8]);
        for (seat, card) in self.plays() {
            before[usize::from(seat)] |= bit(card);
        }
        for (seat, card) in self.trick() {
            before[usize::from(seat)] &= !bit(card);
            now[usize::from(seat)] = bit(card);
        }
        let leader = match self.in_trick {
            0 => self.turn,
            _ => self.leaders[usize::from(self.tricks_done)],
        };
        let leads = self.phase == Phase::Playing;
        let mut seat = self.turn;
        for _ in 0..n {
            let i = usize::from(seat);
            out.set(before[i], 52);
            out.set(now[i], 52);
            out.one_hot(self.bids[i], 14);
            out.one_hot(self.tricks[i], 14);
            out.set(u64::from(self.voids[i]), 4);
            let flags = [
                true,
                seat == self.dealer,
                leads && seat == leader,
                self.in_trick > 0 && seat == self.winner,
            ];
            let flags = flags.iter().enumerate();
            out.set(
                flags.fold(0, |all, (i, &flag)| all | u64::from(flag) << i),
                4,
            );
            seat = self.after(seat);
        }
    }
}
