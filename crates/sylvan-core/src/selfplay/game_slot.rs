//! One game in progress: its moves between two searches.
//!
//! After a search: add its outcome to the last ply, play a move, let chance move, and begin the next
//! search, unless the game is over. A slot has its tree in the actor's shard and its plies in columns;
//! all random choices draw from the streams of `seeds.rs`.
//!
//! *Hidden information.* The tree grows from what the seat to move knows, so the slot keeps the full
//! state itself, and every search starts a new tree. Where a seat has one legal action, the game
//! continues without a search.

use std::slice::from_ref;

use crate::contracts::game::{Action, Game, Seat, Turn};
use crate::contracts::prefetch::prefetch;
use crate::contracts::values::Values;
use crate::search::batch::Batch;
use crate::search::forest::Shard;
use crate::search::outcome::pick_at;
use crate::search::root::Transition;
use crate::selfplay::columns::{Columns, Ending, last, set};
use crate::selfplay::ending::{Resigning, judge};
use crate::selfplay::openings::{add_unsearched, drawn, set_rewards, start};
use crate::selfplay::play_config::Lease;
use crate::selfplay::seeds;
use crate::selfplay::setup::Setup;

/// One game in progress.
#[derive(Debug)]
pub(crate) struct GameSlot<G: Game> {
    /// The index of its tree in the actor's shard.
    tree: usize,
    /// Its leaves that wait for an evaluation.
    pub leaves: Batch<G>,
    pub number: u64,
    seed: u64,
    /// Whether the current search is a full one.
    pub full: bool,
    opening: usize,
    restarted: bool,
    resigning: Resigning,
    /// The full state, if seats do not see everything.
    whole: Option<G>,
    /// Whether it raised an error while its leaves were written; then their answers are ignored.
    pub failed: bool,
    /// Its plies so far.
    columns: Columns<G::Cell>,
}

/// The state of a game after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A search of the seat to move has begun.
    Search,
    Over,
}

impl<G: Game> GameSlot<G> {
    /// An empty slot.
    pub fn new(tree: usize) -> Self {
        Self {
            tree,
            leaves: Batch::default(),
            number: 0,
            seed: 0,
            full: true,
            opening: 0,
            restarted: false,
            resigning: Resigning::default(),
            whole: None,
            failed: false,
            columns: Columns::default(),
        }
    }

    /// Prefetches the fields that every turn reads.
    pub fn prefetch(&self) {
        prefetch(from_ref(&self.leaves));
        prefetch(from_ref(&self.full));
        prefetch(from_ref(&self.number));
    }

    /// Starts a game; adds it to `finished` if it is over at once.
    pub fn start<V: Values>(
        &mut self,
        number: u64,
        lease: &Lease,
        setup: &Setup<G>,
        shard: &mut Shard<G, V>,
        finished: &mut Columns<G::Cell>,
    ) -> Result<Next, G::Error> {
        self.leaves.forget(self.leaves.len());
        self.columns.clear();
        self.number = number;
        self.seed = seeds::of_game(setup.seed, number);
        self.resigning = Resigning::default();
        if let Some(rule) = &setup.config.resignation
            && rule.play_on > 0.0
        {
            self.resigning.played_on = seeds::play_on(self.seed).uniform() < rule.play_on;
        }
        let (rng, widths) = (seeds::start(self.seed), setup.widths());
        let (first, config) = (&setup.first, &setup.config);
        let start = start(
            first,
            config,
            &lease.positions,
            rng,
            &mut self.columns,
            widths,
        )?;
        self.restarted = start.restarted;
        self.opening = self.columns.actions.len();
        let turn = start.state.turn(&mut Vec::new())?;
        let (mut search, _) = shard.parts(self.tree, setup.settings(true), setup.budget);
        let transition = Transition::of(&setup.whole, &start.state, turn)?;
        if setup.hides {
            self.whole = Some(start.state);
        } else {
            search.plant(start.state, 0);
        }
        self.continue_from(transition, false, setup, shard, finished)
    }

    /// Ends a search: plays a move and begins the next search, or adds the game to `finished`.
    pub fn play<V: Values>(
        &mut self,
        setup: &Setup<G>,
        shard: &mut Shard<G, V>,
        finished: &mut Columns<G::Cell>,
    ) -> Result<Next, G::Error> {
        let widths = setup.widths();
        let (search, _) = shard.parts(self.tree, setup.settings(self.full), setup.budget);
        let ply = self.columns.actions.len();
        let (n, first) = (search.tree.edges.actions.len(), self.columns.policy.len());
        self.columns.policy.resize(first + n, 0.0);
        let policy = &mut self.columns.policy[first..];
        let (found, _) = search.root_outcome(policy);
        let config = &setup.config;
        let temperature = match ply < config.temperature_plies {
            true => config.temperature,
            false => config.final_temperature,
        };
        let index = if temperature == 0.0 {
            found.best
        } else {
            let mut rng = seeds::action(seeds::of_ply(self.seed, ply));
            pick_at(temperature, policy, &mut rng)
        };
        let action = search.tree.edges.actions[index];
        let columns = &mut self.columns;
        let actions = search.tree.edges.actions.iter();
        columns.policy_actions.extend(actions.map(|&a| a as i32));
        columns.add_ply(widths);
        set(&mut columns.actions, action as i32);
        set(&mut columns.seats, found.seat as i8);
        set(&mut columns.counts, n as i32);
        set(&mut columns.weights, f32::from(u8::from(self.full)));
        set(&mut columns.surprise, found.surprise);
        set(
            &mut columns.simulations,
            search.tree.progress.finished as i32,
        );
        last(&mut columns.values, widths.seats).copy_from_slice(&found.values[..widths.seats]);
        if widths.cells > 0 {
            let seen = last(&mut columns.observations, widths.cells);
            search.tree.state.observe(seen)?;
        }
        let resigns = config.resignation.is_some_and(|rule| {
            let value = found.values[usize::from(found.seat)];
            let range = setup.whole.value_range;
            self.resigning.resigns(&rule, range, found.seat, value)
        });
        let transition = self.apply(action, setup, shard)?;
        set_rewards(&mut self.columns, &transition.rewards, widths);
        self.continue_from(transition, resigns, setup, shard, finished)
    }

    /// Lets chance move, and seats without a choice if they do not see everything; then begins a
    /// search or ends the game.
    fn continue_from<V: Values>(
        &mut self,
        mut transition: Transition,
        resigns: bool,
        setup: &Setup<G>,
        shard: &mut Shard<G, V>,
        finished: &mut Columns<G::Cell>,
    ) -> Result<Next, G::Error> {
        let widths = setup.widths();
        while let Some(action) = self.unsearched(transition.turn, setup, shard)? {
            let turn = transition.turn;
            transition = self.apply(action, setup, shard)?;
            add_unsearched(&mut self.columns, turn, action, &transition.rewards, widths);
        }
        let plies = self.columns.actions.len();
        let limited = setup.config.max_plies.is_some_and(|most| plies >= most);
        match transition.turn {
            Turn::Over => self.end(Ending::Rules, &transition, setup, shard, finished)?,
            _ if resigns => self.end(Ending::Resignation, &transition, setup, shard, finished)?,
            _ if limited => self.end(Ending::Limit, &transition, setup, shard, finished)?,
            Turn::Seat(seat) => {
                self.begin_search(seat, setup, shard)?;
                return Ok(Next::Search);
            }
            Turn::Chance => unreachable!("chance has moved"),
        }
        Ok(Next::Over)
    }

    /// An action that needs no search: an outcome of chance, or the only legal action of a seat that
    /// does not see everything.
    fn unsearched<V: Values>(
        &self,
        turn: Turn,
        setup: &Setup<G>,
        shard: &Shard<G, V>,
    ) -> Result<Option<Action>, G::Error> {
        let state = self.state(shard);
        match turn {
            Turn::Chance => {
                let ply = seeds::of_ply(self.seed, self.columns.actions.len());
                drawn(state, &mut seeds::chance(ply)).map(Some)
            }
            Turn::Seat(_) if setup.hides => {
                let mut legal = Vec::new();
                state.turn(&mut legal)?;
                Ok((legal.len() == 1).then(|| legal[0]))
            }
            _ => Ok(None),
        }
    }

    /// Applies an action to the game and to its tree.
    fn apply<V: Values>(
        &mut self,
        action: Action,
        setup: &Setup<G>,
        shard: &mut Shard<G, V>,
    ) -> Result<Transition, G::Error> {
        let (mut search, _) = shard.parts(self.tree, setup.settings(self.full), setup.budget);
        let Some(whole) = &mut self.whole else {
            return search.advance(action, setup.config.reuse);
        };
        whole.apply(action)?;
        let turn = whole.turn(&mut Vec::new())?;
        Transition::of(&setup.whole, whole, turn)
    }

    /// Begins a search of the seat to move.
    fn begin_search<V: Values>(
        &mut self,
        seat: Seat,
        setup: &Setup<G>,
        shard: &mut Shard<G, V>,
    ) -> Result<(), G::Error> {
        let ply = seeds::of_ply(self.seed, self.columns.actions.len());
        let share = setup.config.full_share;
        self.full = share >= 1.0 || seeds::full(ply).uniform() < share;
        let (mut search, _) = shard.parts(self.tree, setup.settings(self.full), setup.budget);
        if let Some(whole) = &self.whole {
            search.plant(whole.view(seat)?, 0);
        }
        search.tree.reseed(ply, seeds::SEARCH);
        search.begin(None);
        Ok(())
    }

    /// Adds the game to `finished`.
    fn end<V: Values>(
        &mut self,
        ending: Ending,
        transition: &Transition,
        setup: &Setup<G>,
        shard: &Shard<G, V>,
        finished: &mut Columns<G::Cell>,
    ) -> Result<(), G::Error> {
        let (widths, range) = (setup.widths(), setup.whole.value_range);
        let mut returns = transition.returns;
        let returns = &mut returns[..widths.seats];
        match ending {
            Ending::Rules => {}
            Ending::Resignation => self.resigning.returns(range, returns),
            Ending::Limit => judge(self.state(shard), setup.config.verdict, range, returns)?,
        }
        let columns = &mut self.columns;
        columns.add_game(widths);
        set(&mut columns.numbers, self.number as i64);
        set(&mut columns.seeds, self.seed);
        set(&mut columns.lengths, columns.actions.len() as i32);
        set(&mut columns.openings, self.opening as i32);
        set(&mut columns.restarted, i8::from(self.restarted));
        set(&mut columns.endings, ending as i8);
        set(
            &mut columns.resigning,
            self.resigning.seat.map_or(-1, |seat| seat as i8),
        );
        set(&mut columns.played_on, i8::from(self.resigning.played_on));
        let out = last(&mut columns.returns, widths.seats);
        out.iter_mut()
            .zip(&*returns)
            .for_each(|(out, &x)| *out = x as f32);
        finished.append(columns);
        Ok(())
    }

    /// The full state.
    fn state<'a, V: Values>(&'a self, shard: &'a Shard<G, V>) -> &'a G {
        self.whole.as_ref().unwrap_or(&shard.trees[self.tree].state)
    }
}
