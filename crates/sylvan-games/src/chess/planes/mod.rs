//! Observations: bit planes of the board, in one of five layouts.
//!
//! A plane is a `u64`, bit `i` for square `i` (a1 = 0 … h8 = 63) *from the mover's side*: for
//! Black, ranks are flipped and colours exchanged, in all boards, action codes and policy outputs.
//! So a mirrored position differs only in the plane of the side to move, which every layout has.
//!
//! Some planes hold a number instead of a mask: the packed plane is that number, and [`expand`]
//! sets all its squares to the number times the scale below.
//!
//! | layout | planes | boards | numbers |
//! |--------|--------|--------|---------|
//! | [`lc0_112`]  | 112 | 8 | clock × 1 |
//! | [`az119`]    | 119 | 8 | move number / 100, clock / 100 |
//! | [`planes19`] | 19  | 1 | clock / 100 |
//! | [`planes18`] | 18  | 1 | |
//! | [`planes29`] | 29  | 1, and the squares of the last 8 half-moves | clock / 100, move number / 100 |

mod lc0_112; // lc0's input format 1
mod az119; // AlphaZero's planes
mod planes19; // one board, with the clock
mod planes18; // one board
mod planes29; // one board, and the last half-moves

use super::board::Board;
use super::encoding::{Encoder, Encoding};
use super::history::History;
use super::position::Position;

/// Planes of the largest layout.
pub const MAX_PLANES: usize = az119::NUM_PLANES;

impl Encoder {
    /// The number of planes of an observation.
    pub const fn num_planes(self) -> usize {
        match self {
            Encoder::Lc0 => lc0_112::NUM_PLANES,
            Encoder::Az119 => az119::NUM_PLANES,
            Encoder::Planes19 => planes19::NUM_PLANES,
            Encoder::Planes18 => planes18::NUM_PLANES,
            Encoder::Planes29 => planes29::NUM_PLANES,
        }
    }

    /// The planes that hold a number, each with its scale.
    const fn numbers(self) -> &'static [(usize, f32)] {
        match self {
            Encoder::Lc0 => &lc0_112::NUMBERS,
            Encoder::Az119 => &az119::NUMBERS,
            Encoder::Planes19 => &planes19::NUMBERS,
            Encoder::Planes18 => &[],
            Encoder::Planes29 => &planes29::NUMBERS,
        }
    }
}

/// Writes all planes; does nothing if `out` is too short.
pub(super) fn write(
    encoding: Encoding,
    position: &Position,
    history: &History,
    out: &mut [u64],
) -> Option<()> {
    let fill = encoding.history_fill;
    match encoding.encoder {
        Encoder::Lc0 => lc0_112::write(position, history, fill, out.first_chunk_mut()?),
        Encoder::Az119 => az119::write(position, history, fill, out.first_chunk_mut()?),
        Encoder::Planes19 => planes19::write(position, out.first_chunk_mut()?),
        Encoder::Planes18 => planes18::write(position, out.first_chunk_mut()?),
        Encoder::Planes29 => planes29::write(position, history, out.first_chunk_mut()?),
    }
    Some(())
}

/// A board from the side of the mover of `position`.
pub(super) fn mover_view(position: &Position, board: &Board) -> Board {
    if position.black_to_move {
        board.flipped()
    } else {
        *board
    }
}

/// Writes twelve planes: own pawns, knights, bishops, rooks, queens, king, then the opponent's.
fn write_pieces(board: &Board, planes: &mut [u64]) {
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
}

/// The castling rights as four masks: own O-O-O, own O-O, their O-O-O, their O-O.
pub(super) fn castling(position: &Position) -> [u64; 4] {
    let side = |rank: u32, black: bool| {
        let rights = position.castling >> rank & 0xff;
        let colour = if black {
            position.board.black()
        } else {
            !position.board.black()
        };
        let king = (position.board.kings() & colour) >> rank & 0xff;
        [
            mask(rights & king.wrapping_sub(1) != 0),
            mask(rights & !king.wrapping_sub(1) != 0),
        ]
    };
    let (white, black) = (side(0, false), side(56, true));
    let [[a, b], [c, d]] = if position.black_to_move {
        [black, white]
    } else {
        [white, black]
    };
    [a, b, c, d]
}

/// The en-passant square, from the mover's side.
pub(super) fn en_passant(position: &Position) -> u64 {
    if position.black_to_move {
        position.en_passant.swap_bytes()
    } else {
        position.en_passant
    }
}

fn mask(on: bool) -> u64 {
    if on { !0 } else { 0 }
}

/// Expands packed planes to floats: `packed` is `[n, planes]`, `out` is `[n, planes, 8, 8]`, row =
/// rank and column = file from the mover's side.
///
/// # Panics
///
/// If `out` does not have 64 cells per plane, or the length of `packed` is not a multiple of the
/// planes.
pub fn expand(encoder: Encoder, packed: &[u64], out: &mut [f32]) {
    let planes = encoder.num_planes();
    assert!(packed.len().is_multiple_of(planes) && out.len() == 64 * packed.len());
    for (observation, cells) in packed
        .chunks_exact(planes)
        .zip(out.chunks_exact_mut(64 * planes))
    {
        for (&plane, cells) in observation.iter().zip(cells.chunks_exact_mut(64)) {
            for (byte, row) in plane
                .to_le_bytes()
                .into_iter()
                .zip(cells.chunks_exact_mut(8))
            {
                row.copy_from_slice(&ROWS[usize::from(byte)]);
            }
        }
        for &(plane, scale) in encoder.numbers() {
            cells[64 * plane..64 * plane + 64].fill(observation[plane] as f32 * scale);
        }
    }
}

/// The eight cells of a rank, by its byte: a table of 8 KiB to expand one rank at a time.
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
    fn expansion_writes_bits_to_cells_and_numbers_to_whole_planes() {
        for encoder in [
            Encoder::Lc0,
            Encoder::Az119,
            Encoder::Planes19,
            Encoder::Planes18,
            Encoder::Planes29,
        ] {
            let planes = encoder.num_planes();
            let mut packed = vec![0; 2 * planes];
            packed[3] = 1 << 5 | 1 << 62;
            for &(plane, _) in encoder.numbers() {
                packed[planes + plane] = 50;
            }
            let mut cells = vec![-1.0; 64 * packed.len()];
            expand(encoder, &packed, &mut cells);
            let ones: Vec<usize> = (0..64 * planes).filter(|&i| cells[i] != 0.0).collect();
            assert_eq!(ones, [3 * 64 + 5, 3 * 64 + 62]);
            for &(plane, scale) in encoder.numbers() {
                let first = 64 * (planes + plane);
                let cells = &cells[first..first + 64];
                assert!(cells.iter().all(|&cell| cell == 50.0 * scale));
            }
            let numbers = 64 * encoder.numbers().len();
            let zeros = cells.iter().filter(|&&cell| cell == 0.0).count();
            assert_eq!(zeros, cells.len() - 2 - numbers);
        }
    }
}
