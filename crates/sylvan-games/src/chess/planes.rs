//! Observations: the 112 bit planes of lc0's input format 1 (classical).
//!
//! A plane is a `u64`, bit `i` the square `i` (a1 = 0 … h8 = 63) *as the mover sees it*: for Black
//! ranks are turned over and colours exchanged, in all eight boards alike.
//!
//! | plane | meaning |
//! |-------|---------|
//! | 13h + 0–5  | board `h` plies ago: own pawns, knights, bishops, rooks, queens, king |
//! | 13h + 6–11 | the same of the opponent |
//! | 13h + 12   | all ones if that position had occurred before |
//! | 104, 105   | all ones if the mover may castle on the queen's, king's side |
//! | 106, 107   | the same of the opponent |
//! | 108        | all ones if Black is to move |
//! | 109        | plies since the last capture or pawn move: the number itself, not a mask |
//! | 110        | zero |
//! | 111        | all ones |
//!
//! Boards before the first known position: see [`HistoryFill`](super::HistoryFill).

use super::board::Board;
use super::history::{BOARDS, History};
use super::position::Position;

/// Planes of an observation.
pub const NUM_PLANES: usize = 112;
/// The plane that holds a number instead of a mask.
const CLOCK: usize = 109;
const PER_BOARD: usize = 13;
const AUXILIARY: usize = BOARDS * PER_BOARD;

/// Writes all planes.
pub(super) fn write(position: &Position, history: &History, out: &mut [u64; NUM_PLANES]) {
    let (past, auxiliary) = out.split_at_mut(AUXILIARY);
    let boards = std::iter::once(&position.board).chain(history.boards());
    for (plies, (planes, board)) in past.chunks_exact_mut(PER_BOARD).zip(boards).enumerate() {
        let board = if position.black_to_move {
            board.flipped()
        } else {
            *board
        };
        write_board(&board, history.repeated() >> plies & 1 == 1, planes);
    }
    let [mine, theirs] = castling(position);
    auxiliary.copy_from_slice(&[
        mask(mine.0),
        mask(mine.1),
        mask(theirs.0),
        mask(theirs.1),
        mask(position.black_to_move),
        u64::from(position.clock),
        0,
        !0,
    ]);
}

fn write_board(board: &Board, repeated: bool, planes: &mut [u64]) {
    let (their, kinds) = (
        board.black(),
        [
            board.pawns(),
            board.knights(),
            board.bishops(),
            board.rooks(),
            board.queens(),
            board.kings(),
        ],
    );
    for (kind, pieces) in kinds.into_iter().enumerate() {
        planes[kind] = pieces & !their;
        planes[kind + 6] = pieces & their;
    }
    planes[12] = mask(repeated);
}

/// Whether the mover and the opponent may castle, each on the queen's and the king's side.
fn castling(position: &Position) -> [(bool, bool); 2] {
    let side = |rank: u32, black: bool| {
        let rights = position.castling >> rank & 0xff;
        let colour = if black {
            position.board.black()
        } else {
            !position.board.black()
        };
        let king = (position.board.kings() & colour) >> rank & 0xff;
        (
            rights & king.wrapping_sub(1) != 0,
            rights & !king.wrapping_sub(1) != 0,
        )
    };
    let (white, black) = (side(0, false), side(56, true));
    if position.black_to_move {
        [black, white]
    } else {
        [white, black]
    }
}

fn mask(on: bool) -> u64 {
    if on { !0 } else { 0 }
}

/// Expands packed planes to numbers: `packed` is `[n, 112]`, `out` `[n, 112, 8, 8]`, row = rank and
/// column = file as the mover sees them.
///
/// # Panics
///
/// If `out` has not exactly 64 cells per plane or `packed` is no multiple of 112.
pub fn expand(packed: &[u64], out: &mut [f32]) {
    assert!(packed.len().is_multiple_of(NUM_PLANES) && out.len() == 64 * packed.len());
    for (observation, cells) in packed
        .chunks_exact(NUM_PLANES)
        .zip(out.chunks_exact_mut(64 * NUM_PLANES))
    {
        for (index, (&plane, cells)) in observation
            .iter()
            .zip(cells.chunks_exact_mut(64))
            .enumerate()
        {
            if index == CLOCK {
                cells.fill(plane as f32);
            } else {
                for (byte, row) in plane
                    .to_le_bytes()
                    .into_iter()
                    .zip(cells.chunks_exact_mut(8))
                {
                    row.copy_from_slice(&ROWS[usize::from(byte)]);
                }
            }
        }
    }
}

/// The eight squares of a rank, by its byte: 8 KiB that turn bits to numbers a rank at a time.
static ROWS: [[f32; 8]; 256] = {
    let mut rows = [[0.0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut file = 0;
        while file < 8 {
            rows[byte][file] = (byte >> file & 1) as f32;
            file += 1;
        }
        byte += 1;
    }
    rows
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansion_puts_every_bit_in_its_cell() {
        let mut packed = [0; 2 * NUM_PLANES];
        packed[3] = 1 << 5 | 1 << 62;
        packed[NUM_PLANES + CLOCK] = 99;
        let mut cells = vec![-1.0; 64 * packed.len()];
        expand(&packed, &mut cells);
        let ones: Vec<usize> = (0..64 * NUM_PLANES).filter(|&i| cells[i] != 0.0).collect();
        assert_eq!(ones, [3 * 64 + 5, 3 * 64 + 62]);
        let clock = 64 * (NUM_PLANES + CLOCK);
        assert!(cells[clock..clock + 64].iter().all(|&cell| cell == 99.0));
        assert_eq!(
            cells.iter().filter(|&&cell| cell == 0.0).count(),
            cells.len() - 66
        );
    }
}
