//! Many rounds at once, with some seats played from outside, by a network that evaluates batches.
//!
//! `advance` plays every round until a seat without a bot is to move. Rounds do not depend on each
//! other or on the threads.

use sylvan_core::{Action, Rng};

use super::Bot;
use crate::blob::state::{Blob, Phase};

/// A round in play.
#[derive(Clone, Debug)]
pub struct Table {
    pub state: Blob,
    /// The bot of each seat; `None` is played from outside.
    pub cast: Vec<Option<Bot>>,
    /// The random number generator of each seat.
    pub rngs: Vec<Rng>,
}

impl Table {
    /// Plays while a bot is to move, or a seat from outside has only one legal action.
    pub fn advance(&mut self) {
        while self.state.phase() != Phase::Over {
            let seat = usize::from(self.state.to_play());
            let action = match (&self.cast[seat], self.only()) {
                (Some(bot), _) => bot.choose(&self.state, &mut self.rngs[seat]),
                (None, Some(action)) => action,
                (None, None) => return,
            };
            self.state.take(action);
        }
    }

    /// The legal action, if there is only one.
    fn only(&self) -> Option<Action> {
        let (mut count, mut only) = (0, 0);
        self.state.for_each_legal(|action| {
            count += 1;
            only = action;
        });
        (count == 1).then_some(only)
    }

    pub fn is_over(&self) -> bool {
        self.state.phase() == Phase::Over
    }
}

/// Advances all rounds.
pub fn advance(tables: &mut [Table], threads: usize) {
    let share = tables.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        for part in tables.chunks_mut(share) {
            scope.spawn(move || part.iter_mut().for_each(Table::advance));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::options::{Options, Sequence};

    /// A bot that is played from outside gives the same round.
    #[test]
    fn a_bot_played_from_outside_gives_the_same_round() {
        let options = Options::new(4, Sequence::list(&[5]).unwrap());
        for seed in 0..20 {
            let state = Blob::new(options, Some(seed)).unwrap().this_round();
            let table = |outside: usize| Table {
                state,
                cast: (0..4)
                    .map(|seat| (seat != outside).then_some(Bot::COUNTER))
                    .collect(),
                rngs: (0..4).map(|seat| Rng::new(seed, seat)).collect(),
            };
            let mut tables = [table(9), table(2)];
            advance(&mut tables, 2);
            assert!(tables[0].is_over());
            while !tables[1].is_over() {
                assert_eq!(tables[1].state.to_play(), 2);
                let action = Bot::COUNTER.choose(&tables[1].state, &mut Rng::new(0, 0));
                tables[1].state.take(action);
                advance(&mut tables, 1);
            }
            assert_eq!(tables[0].state, tables[1].state);
        }
    }
}
