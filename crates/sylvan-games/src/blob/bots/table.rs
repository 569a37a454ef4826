//! Whole games between bots, and their statistics.

use sylvan_core::{Rng, Seat};

use super::Bot;
use crate::blob::options::Options;
use crate::blob::state::{Blob, Phase};
use crate::blob::{BlobError, MAX_CARDS};

/// The statistics of one seat in a game.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub points: i32,
    /// Rounds played and bids made, indexed by the cards of the round.
    pub rounds: [u32; MAX_CARDS as usize + 1],
    pub made: [u32; MAX_CARDS as usize + 1],
    /// Bids of 0.
    pub zero_bids: u32,
    /// Rounds by tricks minus bid, from -13 to 13.
    pub off: [u32; 27],
}

impl Tally {
    fn add(&mut self, state: &Blob, seat: usize) {
        let (bid, tricks) = (state.bids[seat], state.tricks[seat]);
        let cards = usize::from(state.cards);
        self.rounds[cards] += 1;
        self.made[cards] += u32::from(bid == tricks);
        self.zero_bids += u32::from(bid == 0);
        self.off[usize::from(13 + tricks - bid)] += 1;
    }
}

/// Plays the game of a seed, with a bot in every seat; returns a tally per seat.
///
/// A bot's random numbers depend only on the seed, its seat and the round.
pub fn play_game(options: Options, seed: u64, bots: &[Bot]) -> Result<Vec<Tally>, BlobError> {
    let mut state = Blob::new(options, Some(seed))?;
    let mut tallies = vec![Tally::default(); state.num_players()];
    for round in 0..options.sequence.rounds().len() {
        let mut rngs: Vec<Rng> = (0..bots.len())
            .map(|seat| Rng::new(seed, 1000 + 16 * round as u64 + seat as u64))
            .collect();
        let mut table = state.this_round();
        while table.phase() != Phase::Over {
            let seat = usize::from(table.to_play());
            let action = bots[seat].choose(&table, &mut rngs[seat]);
            table.take(action);
        }
        for (seat, tally) in tallies.iter_mut().enumerate() {
            tally.add(&table, seat);
            tally.points += i32::from(table.last_points()[seat]);
        }
        if round + 1 < options.sequence.rounds().len() {
            state.begin_round(round as Seat + 1);
        }
    }
    Ok(tallies)
}
