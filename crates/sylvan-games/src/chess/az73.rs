//! Action codes: the 8×8×73 encoding of AlphaZero (Silver et al. 2018, table S2), from the mover's
//! side.
//!
//! ```text
//! code = 73 · square + plane        0 ≤ code < 4672
//! ```
//!
//! `square` is the origin, a1 = 0, b1 = 1 … h8 = 63 from the mover's side: for Black the ranks are
//! flipped (e7 is Black's e2), files are not. `plane` is the kind of move:
//!
//! | planes | meaning |
//! |--------|---------|
//! | 0–55   | like a queen: `7 · direction + distance − 1`, directions N NE E SE S SW W NW, distance 1–7 |
//! | 56–63  | like a knight, (file, rank): (1,2) (2,1) (2,−1) (1,−2) (−1,−2) (−2,−1) (−2,1) (−1,2) |
//! | 64–72  | underpromotion: `64 + 3 · piece + (file step + 1)`, pieces knight, bishop, rook |
//!
//! A pawn that reaches the last rank on a queen plane becomes a queen. Castling is the king's move
//! of two files; in Chess960 it is the king taking its own rook, on the plane of that distance. En
//! passant is the pawn's diagonal step. Codes that lead off the board are invalid.

use shakmaty::Role;
use sylvan_core::Action;

/// The number of codes.
pub const NUM_ACTIONS: usize = 64 * PLANES as usize;
pub(super) const PLANES: u32 = 73;

const DIRECTIONS: [(i32, i32); 8] = [
    (0, 1),
    (1, 1),
    (1, 0),
    (1, -1),
    (0, -1),
    (-1, -1),
    (-1, 0),
    (-1, 1),
];
const JUMPS: [(i32, i32); 8] = [
    (1, 2),
    (2, 1),
    (2, -1),
    (1, -2),
    (-1, -2),
    (-2, -1),
    (-2, 1),
    (-1, 2),
];
const FIRST_JUMP: u32 = 56;
pub(super) const FIRST_UNDERPROMOTION: u32 = 64;

/// A move, from the mover's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The origin, 0–63.
    pub from: u32,
    /// The target, 0–63.
    pub to: u32,
    /// Knight, bishop or rook for such a promotion; `None` otherwise, also for a promotion to a
    /// queen.
    pub underpromotion: Option<Role>,
}

/// The code of a step, or `None` if it has none.
pub fn encode(step: Step) -> Option<Action> {
    let Step {
        from,
        to,
        underpromotion,
    } = step;
    if from > 63 || to > 63 {
        return None;
    }
    let Some(role) = underpromotion else {
        return Some(Action::from(CODES[from as usize][to as usize])).filter(|&c| c != OFF.into());
    };
    let piece = UNDERPROMOTIONS.iter().position(|&r| r == role)? as u32;
    let file_step = (to & 7) as i32 - (from & 7) as i32;
    let one_rank_up = from >> 3 == 6 && to >> 3 == 7;
    (one_rank_up && file_step.abs() <= 1)
        .then(|| from * PLANES + FIRST_UNDERPROMOTION + 3 * piece + (file_step + 1) as u32)
}

/// The step of a code, or `None` if it leads off the board or is not a code.
pub fn decode(action: Action) -> Option<Step> {
    let packed = unpack(action)?;
    Some(Step {
        from: packed.from(),
        to: packed.to(),
        underpromotion: packed
            .underpromotion()
            .checked_sub(1)
            .map(|i| UNDERPROMOTIONS[i as usize]),
    })
}

/// In the order of their planes.
const UNDERPROMOTIONS: [Role; 3] = [Role::Knight, Role::Bishop, Role::Rook];

/// A step in 16 bits: origin, target, and 1 + the index in [`UNDERPROMOTIONS`], or 0.
#[derive(Clone, Copy)]
pub(super) struct Packed(u16);

impl Packed {
    pub(super) fn from(self) -> u32 {
        u32::from(self.0 & 63)
    }

    pub(super) fn to(self) -> u32 {
        u32::from(self.0 >> 6 & 63)
    }

    pub(super) fn underpromotion(self) -> u32 {
        u32::from(self.0 >> 12)
    }
}

/// Like [`decode`], but packed.
pub(super) fn unpack(action: Action) -> Option<Packed> {
    STEPS
        .get(action as usize)
        .filter(|&&step| step != OFF)
        .map(|&step| Packed(step))
}

/// Marks an invalid code or step.
pub(super) const OFF: u16 = u16::MAX;

/// The code of a step without underpromotion, by origin and target.
pub(super) static CODES: [[u16; 64]; 64] = codes();

/// The step of every code, packed.
static STEPS: [u16; NUM_ACTIONS] = steps();

const fn steps() -> [u16; NUM_ACTIONS] {
    let mut table = [OFF; NUM_ACTIONS];
    let mut code = 0;
    while code < NUM_ACTIONS as u32 {
        let (from, plane) = (code / PLANES, code % PLANES);
        let (files, ranks, piece) = delta(plane);
        let (file, rank) = ((from & 7) as i32 + files, (from >> 3) as i32 + ranks);
        let on_board = 0 <= file && file < 8 && 0 <= rank && rank < 8;
        if on_board && (piece == 0 || from >> 3 == 6) {
            let to = (8 * rank + file) as u32;
            table[code as usize] = (from | to << 6 | piece << 12) as u16;
        }
        code += 1;
    }
    table
}

/// Files, ranks and 1 + underpromotion (0: none) of a plane.
const fn delta(plane: u32) -> (i32, i32, u32) {
    if plane < FIRST_JUMP {
        let (files, ranks) = DIRECTIONS[plane as usize / 7];
        let distance = (plane % 7) as i32 + 1;
        (files * distance, ranks * distance, 0)
    } else if plane < FIRST_UNDERPROMOTION {
        let (files, ranks) = JUMPS[(plane - FIRST_JUMP) as usize];
        (files, ranks, 0)
    } else {
        let number = plane - FIRST_UNDERPROMOTION;
        ((number % 3) as i32 - 1, 1, number / 3 + 1)
    }
}

const fn codes() -> [[u16; 64]; 64] {
    let mut table = [[OFF; 64]; 64];
    let steps = steps();
    let mut code = 0;
    while code < NUM_ACTIONS {
        let step = steps[code];
        if step != OFF && step >> 12 == 0 {
            table[(step & 63) as usize][(step >> 6 & 63) as usize] = code as u16;
        }
        code += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_codes_round_trip() {
        let meaningful: Vec<Action> = (0..NUM_ACTIONS as Action)
            .filter(|&code| decode(code).is_some())
            .collect();
        for &code in &meaningful {
            assert_eq!(encode(decode(code).unwrap()), Some(code));
        }
        // 1456 queen steps, 336 knight jumps, 3 · 22 underpromotions.
        assert_eq!(meaningful.len(), 1456 + 336 + 66);
        assert_eq!(decode(NUM_ACTIONS as Action), None);
        assert_eq!(decode(Action::MAX), None);
    }

    #[test]
    fn codes_of_known_moves() {
        let plain = |from, to| {
            encode(Step {
                from,
                to,
                underpromotion: None,
            })
        };
        assert_eq!(plain(12, 28), Some(12 * 73 + 1)); // e2e4: north, two squares
        assert_eq!(plain(6, 21), Some(6 * 73 + 63)); // g1f3: (-1, +2)
        assert_eq!(plain(4, 6), Some(4 * 73 + 15)); // e1g1: east, two squares
        let to_rook = Step {
            from: 48,
            to: 57,
            underpromotion: Some(Role::Rook),
        };
        assert_eq!(encode(to_rook), Some(48 * 73 + 72)); // a7xb8=R
        assert_eq!(plain(0, 12), None); // neither a line nor a jump
        let too_early = Step {
            from: 8,
            to: 16,
            underpromotion: Some(Role::Knight),
        };
        assert_eq!(encode(too_early), None);
    }
}
