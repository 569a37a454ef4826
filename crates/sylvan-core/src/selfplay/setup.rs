//! What all games of self-play share: the first state, and the settings of full and fast searches.

use crate::contracts::config::Config;
use crate::contracts::game::{Game, Rules};
use crate::search::settings::Settings;
use crate::selfplay::columns::Widths;
use crate::selfplay::play_config::PlayConfig;

/// The most bytes of the trees of one actor: its 16-byte units have 31-bit numbers.
const ACTOR_MOST: u64 = 30_000_000_000;

/// What all games share.
#[derive(Debug)]
pub struct Setup<G> {
    pub first: G,
    pub config: PlayConfig,
    /// The seed of the run.
    pub seed: u64,
    full: Settings,
    fast: Settings,
    /// The byte budget of each tree.
    pub(crate) budget: u64,
    /// Seats do not see everything: what is searched is the view of the seat to move.
    pub(crate) hides: bool,
}

impl<G: Game> Setup<G> {
    /// The settings of searches are for trees of a forest; their seed and threads are not used.
    pub fn new(first: G, search: Config, config: PlayConfig, seed: u64) -> Self {
        let (rules, hides) = (first.rules(), first.hides());
        let bytes = search.limits.bytes.unwrap_or(u64::MAX);
        let games = config.games.max(1) as u64;
        // As in `Forest::budget`. All games share the most bytes of one actor, so that a tree's
        // budget does not depend on the number of actors.
        let budget = (bytes / games / 6 * 5).min(ACTOR_MOST / games);
        let settings = |search: Config, quiet: bool| {
            let mut settings = Settings::new(search, rules.clone());
            settings.quiet = quiet;
            if hides {
                settings.with_deals()
            } else {
                settings
            }
        };
        let mut fewer = search.clone();
        fewer.limits.simulations = Some(config.fast_simulations);
        Self {
            full: settings(search, false),
            fast: settings(fewer, true),
            first,
            config,
            seed,
            budget,
            hides,
        }
    }

    pub(crate) fn settings(&self, full: bool) -> &Settings {
        if full { &self.full } else { &self.fast }
    }

    pub fn rules(&self) -> &Rules {
        &self.full.rules
    }

    pub fn discount(&self) -> f64 {
        self.full.config.discount
    }

    pub fn leaves_in_flight(&self) -> usize {
        self.full.config.leaves_in_flight
    }

    pub fn widths(&self) -> Widths {
        let rules = self.rules();
        Widths {
            seats: rules.num_players,
            cells: match self.config.observations {
                true => rules.observation_len(),
                false => 0,
            },
        }
    }
}
