//! Blob, also known as Oh Hell: bids, tricks and hidden hands.
//!
//! Three to eight seats. In every round each seat gets some cards, bids a number of tricks, and
//! scores only if it takes exactly that many. The dealer bids last and must not make the bids add
//! up to the number of tricks, so at least one seat misses. Players must follow suit; the highest
//! trump, or the highest card of the suit led, takes the trick and leads the next. A game is a
//! sequence of rounds; `options.rs` has the variants.
//!
//! *Actions* are cards 0 to 51 (`suit · 13 + rank`) and bids 52 to 65 (52 is a bid of 0). *Chance*
//! deals card by card, from the dealer's left. A *round* pays each seat its utility (`score.rs`):
//! as a reward if another round follows, as the return if the game ends with it. A search covers
//! one round: a view ends with its round, so a search never sees later deals.

pub mod cards; // cards and sets of cards
mod notation; // names of cards, suits and actions
mod error; // errors of options, moves and deals
mod score; // points and utilities of a round
mod options; // the variants of the rules
mod state; // the state of a game
mod deal; // deals, new or consistent with a view
mod play; // legal actions, bids and tricks
mod view; // the information of one seat
mod encoding; // the observation of the seat to move
pub mod bots; // players without search, and beliefs about hidden hands

use sylvan_core::{Action, Game, Rng, Rules, Seat, Sure, Turn};

pub use encoding::{HANDS_LEN, OBSERVATION_LEN};
pub use error::BlobError;
pub use notation::{action_name, card_name, parse_card, parse_suit, suit_name};
pub use options::{
    Hook, MAX_CARDS, MAX_PLAYERS, MAX_ROUNDS, MIN_PLAYERS, Options, Sequence, Trump,
};
pub use play::{FIRST_BID, NUM_ACTIONS};
pub use score::{Scoring, utilities};
pub use state::{Blob, Phase};

use crate::hash::mix;

impl Blob {
    #[inline]
    fn current_turn(&self) -> Turn {
        match self.phase {
            Phase::Dealing => Turn::Chance,
            Phase::Over => Turn::Over,
            Phase::Bidding | Phase::Playing => Turn::Seat(self.turn),
        }
    }

    /// Writes the utility of each seat for the last finished round.
    fn pay(&self, cards: u8, out: &mut [f64]) {
        let most = self.options.scoring.most(cards);
        utilities(self.last_points(), most, self.options.rivalry, out);
    }

    /// The range of a seat's total utility.
    fn pay_range(&self) -> (f64, f64) {
        let range = |cards| {
            let shares = self.options.scoring.share_range(cards);
            score::utility_range(shares, self.options.rivalry)
        };
        if self.alone {
            return range(self.cards);
        }
        let rounds = self
            .options
            .sequence
            .rounds()
            .iter()
            .map(|&cards| range(cards));
        rounds.fold((0.0, 0.0), |sum, range| (sum.0 + range.0, sum.1 + range.1))
    }
}

impl Game for Blob {
    type Error = std::convert::Infallible;
    type Cell = f32;
    const HIDDEN: bool = true;

    fn value_range(&self) -> (f64, f64) {
        self.pay_range()
    }

    fn rules(&self) -> Rules {
        Rules {
            num_players: self.num_players(),
            num_actions: NUM_ACTIONS,
            zero_sum: false,
            has_rewards: !self.alone && self.options.sequence.rounds().len() > 1,
            value_range: self.pay_range(),
            observation_shape: vec![OBSERVATION_LEN],
        }
    }

    /// Removes the seed, so that a search cannot read later deals: chance deals them.
    fn set_root(&mut self) {
        self.seeded = false;
        self.seed = 0;
    }

    fn observer(&self) -> Option<Seat> {
        self.viewer()
    }

    fn hides(&self) -> bool {
        true
    }

    /// Panics if the cards are not dealt or there is no such seat.
    fn view(&self, seat: Seat) -> Sure<Self> {
        Ok(Self::view(self, seat).expect("a seat that was dealt its cards"))
    }

    /// Panics if no deal fits the view; every view has one.
    fn sample(&mut self, rng: &mut Rng) -> Sure {
        self.complete(rng).expect("a view has a consistent deal");
        Ok(())
    }

    #[inline]
    fn own_key(&self) -> Sure<u64> {
        Ok(mix(self.hands[usize::from(self.turn)]))
    }

    #[inline]
    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        actions.clear();
        self.for_each_legal(|action| actions.push(action));
        Ok(self.current_turn())
    }

    #[inline]
    fn step_at_random(&mut self, _: &mut Vec<Action>, rng: &mut Rng) -> Sure<Turn> {
        self.take(self.at_random(rng));
        Ok(self.current_turn())
    }

    fn chance_outcomes(&self, outcomes: &mut Vec<(Action, f64)>) -> Sure {
        outcomes.clear();
        if self.phase == Phase::Dealing {
            let left = self.undealt();
            let probability = 1.0 / f64::from(left.count_ones());
            outcomes.extend(cards::each(left).map(|card| (Action::from(card), probability)));
        }
        Ok(())
    }

    #[inline]
    fn apply(&mut self, action: Action) -> Sure {
        self.take(action);
        Ok(())
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        self.pay(self.cards, out);
        Ok(())
    }

    fn rewards(&self, out: &mut [f64]) -> Sure {
        if self.paid {
            let rounds = self.options.sequence.rounds();
            self.pay(rounds[usize::from(self.round) - 1], out);
        }
        Ok(())
    }

    fn observe(&self, out: &mut [f32]) -> Sure {
        self.encode(out);
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        let hands = self.hands[..self.num_players()].iter();
        Ok(hands.fold(self.history, |key, &hand| mix(key ^ hand)))
    }
}
