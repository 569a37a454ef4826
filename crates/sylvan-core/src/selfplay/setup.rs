//! The first state and the settings that all games of self-play share.

use crate::contracts::config::Config;
use crate::contracts::game::{Game, Rules, Turn};
use crate::search::settings::Settings;
use crate::selfplay::columns::Widths;
use crate::selfplay::play_config::PlayConfig;

/// The most bytes of the trees of one actor: its 16-byte units have 31-bit numbers.
const ACTOR_MOST: u64 = 30_000_000_000;

/// The first state and the settings of all games.
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
    /// Whether seats do not see everything; then searches are of the view of the seat to move.
    pub(crate) hides: bool,
    /// The rules of whole games; a view may end before the game does.
    pub(crate) whole: Rules,
}

impl<G: Game> Setup<G> {
    /// Prepares the settings of searches; their seed and number of threads are not used.
    pub fn new(first: G, search: Config, config: PlayConfig, seed: u64) -> Result<Self, G::Error> {
        let hides = first.hides();
        let rules = match hides {
            true => first_view(&first)?.rules(),
            false => first.rules(),
        };
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
        Ok(Self {
            full: settings(search, false),
            fast: settings(fewer, true),
            whole: first.rules(),
            first,
            config,
            seed,
            budget,
            hides,
        })
    }

    pub(crate) fn settings(&self, full: bool) -> &Settings {
        if full { &self.full } else { &self.fast }
    }

    /// The rules of the searched states: of the game or of a view.
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

/// The view of the first seat to move, after the first outcome of each chance node.
fn first_view<G: Game>(first: &G) -> Result<G, G::Error> {
    let (mut state, mut outcomes) = (first.clone(), Vec::new());
    loop {
        match state.turn(&mut Vec::new())? {
            Turn::Seat(seat) => return state.view(seat),
            Turn::Over => return Ok(state),
            Turn::Chance => {
                state.chance_outcomes(&mut outcomes)?;
                state.apply(outcomes[0].0)?;
            }
        }
    }
}
