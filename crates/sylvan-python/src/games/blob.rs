//! `sylvan._native.Blob`.

use numpy::PyArray1;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use sylvan_core::playouts::Playout;
use sylvan_core::{Action, Evaluator, Game, Seat};
use sylvan_games::blob::bots::{self, Bot};
use sylvan_games::blob::cards::{Cards, each};
use sylvan_games::blob::{
    Blob, BlobError, NUM_ACTIONS, OBSERVATION_LEN, Options, Phase, action_name, parse_card,
};

use super::blob_bots::belief;
use super::blob_errors::raise;
use super::blob_options::{
    RuleNames, hook_of, rule_names, scoring_of, sequence_of, small, trump_of,
};
use crate::bridge::{Bridge, object_of};
use crate::numbers::Rng;

pyo3::import_exception!(sylvan.errors, HiddenCards);
pyo3::import_exception!(sylvan.errors, IllegalAction);

#[pyclass(subclass, name = "Blob", module = "sylvan._native")]
#[derive(Clone)]
pub struct PyBlob {
    pub state: Blob,
}

impl PyBlob {
    fn seat(&self, seat: i64) -> PyResult<Seat> {
        let last = self.state.num_players() as u8 - 1;
        match u8::try_from(seat) {
            Ok(found) if found <= last => Ok(found),
            _ => Err(raise(BlobError::NoSuchSeat { seat, last })),
        }
    }

    fn by_seat<T>(&self, of: impl Fn(Seat) -> T) -> Vec<T> {
        (0..self.state.num_players() as Seat).map(of).collect()
    }
}

#[pymethods]
impl PyBlob {
    #[new]
    #[pyo3(signature = (
        players=5, cards=7, *, sequence=None, trump="rotation", hook="dealer",
        scoring="exact_10_plus_bid", suits=4, ranks=13, dealer=0, break_trump=false, rivalry=0.0,
        legacy_extra_one_card_round=false, seed=Some(0)
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the options of the game"
    )]
    fn new(
        players: i64,
        cards: i64,
        sequence: Option<&Bound<'_, PyAny>>,
        trump: &str,
        hook: &str,
        scoring: &str,
        suits: i64,
        ranks: i64,
        dealer: i64,
        break_trump: bool,
        rivalry: f64,
        legacy_extra_one_card_round: bool,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let extra = legacy_extra_one_card_round;
        let players = small("players", players)?;
        let sequence = sequence_of(sequence, small("cards", cards)?, players, extra)?;
        let options = Options {
            trump: trump_of(trump)?,
            hook: hook_of(hook)?,
            scoring: scoring_of(scoring)?,
            suits: small("suits", suits)?,
            ranks: small("ranks", ranks)?,
            first_dealer: small("dealer", dealer)?,
            break_trump,
            rivalry,
            ..Options::new(players, sequence)
        };
        let state = Blob::new(options, seed).map_err(raise)?;
        Ok(Self { state })
    }

    /// The game at the beginning of a round, before the deal, with the points so far.
    fn at_round<'py>(
        slf: &Bound<'py, Self>,
        number: i64,
        totals: Vec<i16>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = *slf.borrow().state.options();
        let state = Blob::at_round(options, small("round", number)?, &totals).map_err(raise)?;
        object_of(&slf.get_type(), Self { state })
    }

    // --- the table --------------------------------------------------------------------------

    #[getter]
    fn num_players(&self) -> usize {
        self.state.num_players()
    }

    /// Cards per seat of all rounds.
    #[getter]
    fn sequence(&self) -> Vec<u32> {
        let rounds = self.state.options().sequence.rounds();
        rounds.iter().map(|&cards| cards.into()).collect()
    }

    #[getter]
    fn suits(&self) -> u8 {
        self.state.options().suits
    }

    #[getter]
    fn ranks(&self) -> u8 {
        self.state.options().ranks
    }

    fn rule_names(&self) -> RuleNames {
        rule_names(self.state.options())
    }

    #[getter]
    fn value_range(&self) -> (f64, f64) {
        self.state.value_range()
    }

    /// The most actions of a game: deals, bids and cards of its rounds.
    #[getter]
    fn max_length(&self) -> usize {
        let rounds = self.state.options().sequence.rounds();
        let alone = [self.state.cards()];
        let rounds = if self.state.is_alone() {
            &alone
        } else {
            rounds
        };
        let steps = |&cards: &u8| self.state.num_players() * (2 * usize::from(cards) + 1) + 1;
        rounds.iter().map(steps).sum()
    }

    #[getter]
    fn seed(&self) -> Option<u64> {
        self.state.seed()
    }

    #[getter]
    fn has_rewards(&self) -> bool {
        self.state.rules().has_rewards
    }

    #[getter]
    fn phase(&self) -> String {
        self.state.phase().to_string()
    }

    #[getter]
    fn round(&self) -> u8 {
        self.state.round()
    }

    #[getter]
    fn cards(&self) -> u8 {
        self.state.cards()
    }

    /// The highest possible points of the round; utilities are shares of it.
    #[getter]
    fn most_points(&self) -> f64 {
        self.state.options().scoring.most(self.state.cards())
    }

    #[getter]
    fn dealer(&self) -> u8 {
        self.state.dealer()
    }

    #[getter]
    fn trump(&self) -> Option<u8> {
        Some(self.state.trump()).filter(|&suit| suit < 4)
    }

    #[getter]
    fn turned_up(&self) -> Option<u8> {
        self.state.turned_up()
    }

    #[getter]
    fn bids(&self) -> Vec<Option<u8>> {
        self.by_seat(|seat| self.state.bid_of(seat))
    }

    #[getter]
    fn tricks(&self) -> Vec<u32> {
        self.by_seat(|seat| self.state.tricks_of(seat).into())
    }

    #[getter]
    fn hand_sizes(&self) -> Vec<u32> {
        self.by_seat(|seat| self.state.hand_size(seat).into())
    }

    #[getter]
    fn voids(&self) -> Vec<Vec<u32>> {
        self.by_seat(|seat| {
            let voids = self.state.voids_of(seat);
            (0..4).filter(|suit| voids >> suit & 1 == 1).collect()
        })
    }

    #[getter]
    fn points(&self) -> Vec<i16> {
        self.state.totals().to_vec()
    }

    #[getter]
    fn last_points(&self) -> Vec<i16> {
        self.state.last_points().to_vec()
    }

    #[getter]
    fn forbidden_bid(&self) -> Option<u8> {
        self.state.forbidden_bid()
    }

    #[getter]
    fn plays(&self) -> Vec<(u8, u8)> {
        self.state.plays().collect()
    }

    #[getter]
    fn trick(&self) -> Vec<(u8, u8)> {
        self.state.trick().collect()
    }

    #[getter]
    fn winning(&self) -> Option<(u8, u8)> {
        self.state.best()
    }

    #[getter]
    fn viewer(&self) -> Option<u8> {
        self.state.viewer()
    }

    #[getter]
    fn ends_with_round(&self) -> bool {
        self.state.is_alone()
    }

    fn hand(&self, seat: i64) -> PyResult<Vec<u32>> {
        let hand = self.state.hand(self.seat(seat)?).map_err(raise)?;
        Ok(listed(hand))
    }

    /// The cards that a seat can hold.
    fn possible(&self, seat: i64) -> PyResult<Vec<u32>> {
        Ok(listed(self.state.possible(self.seat(seat)?)))
    }

    fn unseen(&self) -> Vec<u32> {
        listed(self.state.unseen())
    }

    // --- moves ------------------------------------------------------------------------------

    fn legal_actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        let Ok(_) = self.state.turn(&mut actions);
        actions
    }

    fn apply(&mut self, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let code = code(action)?;
        self.state.act(code).map_err(raise)
    }

    /// Applies an action of a seat, which must be to move.
    fn act(&mut self, seat: i64, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let code = code(action)?;
        self.state.check_turn(seat).map_err(raise)?;
        self.state.act(code).map_err(raise)
    }

    /// Makes a bid of a seat, which must be to move.
    fn bid(&mut self, seat: i64, tricks: i64) -> PyResult<()> {
        self.state.check_turn(seat).map_err(raise)?;
        self.state.bid(tricks).map_err(raise)
    }

    /// Plays a card of a seat, which must be to move.
    fn play(&mut self, seat: i64, card: &Bound<'_, PyAny>) -> PyResult<()> {
        let card = card_code(card)?;
        self.state.check_turn(seat).map_err(raise)?;
        self.state.play(card).map_err(raise)
    }

    fn deal_hands(&mut self, hands: Vec<Vec<i64>>, turned_up: Option<i64>) -> PyResult<()> {
        self.state.deal(&hands, turned_up).map_err(raise)
    }

    fn shuffle(&mut self, rng: &mut Rng) -> PyResult<()> {
        self.state.shuffle(&mut rng.0).map_err(raise)
    }

    fn set_root(&mut self) {
        self.state.set_root();
    }

    fn clone<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        object_of(&slf.get_type(), Clone::clone(&*slf.borrow()))
    }

    fn to_play(&self) -> u8 {
        self.state.to_play()
    }

    fn is_terminal(&self) -> bool {
        self.state.is_terminal()
    }

    fn is_chance(&self) -> bool {
        self.state.phase() == Phase::Dealing
    }

    fn chance_outcomes(&self) -> Vec<(Action, f64)> {
        let mut outcomes = Vec::new();
        let Ok(()) = self.state.chance_outcomes(&mut outcomes);
        outcomes
    }

    fn returns(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.num_players()];
        let Ok(()) = self.state.returns(&mut out);
        out
    }

    fn rewards(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.num_players()];
        let Ok(()) = self.state.rewards(&mut out);
        out
    }

    fn observation<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        let mut cells = vec![0.0; OBSERVATION_LEN];
        self.state.encode(&mut cells);
        PyArray1::from_vec(py, cells)
    }

    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.state.exact_key())
    }

    /// A hash of a seat's information: the public history of the round, and its hand.
    fn view_key(&self, seat: i64) -> PyResult<u64> {
        let seat = self.seat(seat)?;
        self.state.hand(seat).map_err(raise)?;
        Ok(self.state.view_key(seat))
    }

    fn action_to_string(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        match code(action)? {
            action @ 0..66 => Ok(action_name(action as Action)),
            action => Err(IllegalAction::new_err(format!(
                "there is no action {action}: cards are 0 to 51, bids 52 to 65"
            ))),
        }
    }

    // --- views ------------------------------------------------------------------------------

    fn observe<'py>(slf: &Bound<'py, Self>, seat: i64) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.borrow();
        let state = this.state.view(this.seat(seat)?).map_err(raise)?;
        drop(this);
        object_of(&slf.get_type(), Self { state })
    }

    /// The view of a seat in a real game, from its hand.
    fn enter_hand<'py>(
        slf: &Bound<'py, Self>,
        seat: i64,
        hand: Vec<i64>,
        turned_up: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let state = slf
            .borrow()
            .state
            .enter(seat, &hand, turned_up)
            .map_err(raise)?;
        object_of(&slf.get_type(), Self { state })
    }

    /// A full state sampled from those consistent with this view, uniformly or by its belief.
    fn sample_from<'py>(slf: &Bound<'py, Self>, rng: &mut Rng) -> PyResult<Bound<'py, PyAny>> {
        let mut state = slf.borrow().state;
        if state.viewer().is_none() {
            return Err(HiddenCards::new_err(
                "nothing is hidden in this state, so there is nothing to sample: call observe(seat) first",
            ));
        }
        state.complete(&mut rng.0).map_err(raise)?;
        object_of(&slf.get_type(), Self { state })
    }

    /// Samples `count` deals and discards them, for benchmarks.
    fn sample_many(&self, py: Python<'_>, count: u64, rng: &mut Rng) -> PyResult<u64> {
        let (view, rng) = (self.state, &mut rng.0);
        let drawn = py.detach(|| {
            let mut hash = 0;
            for _ in 0..count {
                let mut state = view;
                state.complete(rng)?;
                let Ok(key) = state.key();
                hash ^= key;
            }
            Ok(hash)
        });
        drawn.map_err(raise)
    }

    /// The number of deals consistent with this view.
    fn num_deals(&self) -> u128 {
        self.state.num_deals()
    }

    /// The same state, but the game ends with this round.
    fn this_round<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let state = slf.borrow().state.this_round();
        object_of(&slf.get_type(), Self { state })
    }

    /// The same game from its beginning, dealt from another seed.
    fn dealt_anew<'py>(slf: &Bound<'py, Self>, seed: Option<u64>) -> PyResult<Bound<'py, PyAny>> {
        let options = *slf.borrow().state.options();
        let state = Blob::new(options, seed).map_err(raise)?;
        object_of(&slf.get_type(), Self { state })
    }

    /// The same state, with later rounds dealt from this seed, or by chance.
    fn seeded<'py>(slf: &Bound<'py, Self>, seed: Option<u64>) -> PyResult<Bound<'py, PyAny>> {
        let state = slf.borrow().state.seeded(seed);
        object_of(&slf.get_type(), Self { state })
    }

    /// The same state with another utility.
    fn with_rivalry<'py>(slf: &Bound<'py, Self>, rivalry: f64) -> PyResult<Bound<'py, PyAny>> {
        let state = slf.borrow().state.with_rivalry(rivalry).map_err(raise)?;
        object_of(&slf.get_type(), Self { state })
    }

    /// The same state; its views sample deals by this belief.
    fn with_belief<'py>(
        slf: &Bound<'py, Self>,
        candidates: u32,
        bid_noise: f64,
        play_noise: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let belief = belief(candidates, bid_noise, play_noise)?;
        let state = slf.borrow().state.with_belief(belief);
        object_of(&slf.get_type(), Self { state })
    }

    /// Candidates, noise of bids and of plays.
    #[getter]
    fn belief(&self) -> (u32, f64, f64) {
        let belief = self.state.belief();
        let (bids, plays) = (belief.bid_noise, belief.play_noise);
        (belief.candidates, bids.into(), plays.into())
    }

    /// Equal rules, hands, history of the round and points; the last step's rewards may differ.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let (a, b) = (self.state, other.borrow().state);
            a.totals() == b.totals() && a.exact_key() == b.exact_key()
        })
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::clone(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::clone(slf)
    }
}

/// The code of a card, from a number or a name.
#[pyfunction]
pub fn blob_card(card: &Bound<'_, PyAny>) -> PyResult<i64> {
    card_code(card)
}

fn card_code(card: &Bound<'_, PyAny>) -> PyResult<i64> {
    match card.cast::<PyString>() {
        Ok(text) => parse_card(&text.to_cow()?).map(i64::from).map_err(raise),
        Err(_) => code(card),
    }
}

/// An action from Python; it may not exist.
fn code(action: &Bound<'_, PyAny>) -> PyResult<i64> {
    action.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(action.py()) {
            return error;
        }
        IllegalAction::new_err(format!(
            "there is no action {action}: cards are 0 to 51, bids 52 to 65"
        ))
    })
}

fn listed(cards: Cards) -> Vec<u32> {
    each(cards).map(u32::from).collect()
}

impl Bridge for Blob {
    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(object.cast::<PyBlob>()?.borrow().state)
    }

    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        object_of(&like.get_type(), PyBlob { state: *self })
    }

    fn evaluator(
        name: &str,
        params: &Bound<'_, PyDict>,
        discount: f64,
    ) -> PyResult<Box<dyn Evaluator<Self>>> {
        match name {
            "card_counter" => {
                let given = params.as_any();
                let lean = given.get_item("lean")?.extract()?;
                let seat: Option<Seat> = given.get_item("seat")?.extract()?;
                let own = given.get_item("own_lean")?.extract()?;
                let own = seat.map(|seat| (seat, own));
                Ok(Box::new(bots::Playout { lean, own }))
            }
            _ => crate::evaluators::common(name, params, discount),
        }
    }

    fn playout(name: &str) -> Option<Box<dyn Playout<Self>>> {
        let bot = match name {
            "rule" => Bot::Rule,
            "counter" => Bot::COUNTER,
            _ => return None,
        };
        Some(Box::new(bot))
    }
}

const _: () = assert!(NUM_ACTIONS == 66);
