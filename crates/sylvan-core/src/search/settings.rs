//! The settings of a search and the rules of its game, with precomputed tables.

use crate::contracts::config::{Config, Fpu, Selection, ValueRange};
use crate::contracts::game::Rules;
use crate::contracts::numbers::ln;
use crate::search::priors::PriorShape;
use crate::search::scale::Scale;
use crate::search::selection::FastPuct;

/// The settings of a search and the rules of its game, with precomputed tables.
#[derive(Clone, Debug)]
pub struct Settings {
    pub config: Config,
    pub rules: Rules,
    /// The scale of scores, if the value range is known.
    pub known: Option<Scale>,
    /// c(N), if it is constant.
    constant: Option<f64>,
    /// `c(N) * sqrt(N)` for small N, because square roots and logarithms are slow.
    explore: Vec<f32>,
    /// Logarithms of small N, for UCT.
    logs: Vec<f64>,
    /// PUCT with a known value range: the backup selects the next steps.
    pub fast_puct: Option<FastPuct>,
    pub prior_shape: PriorShape,
    /// The first child of a node has the highest prior; its action is the note of the edges.
    pub first_is_best: bool,
    /// The current search uses no noise and no forced playouts.
    pub quiet: bool,
    /// Threads that share out a tree's leaves (`prepare.rs`).
    pub threads_per_tree: usize,
    /// Every simulation draws its own deal (`information_set.rs`).
    pub deals: bool,
}

/// Size of the precomputed exploration table: large for large searches, small for a quick start.
const EXPLORE_TABLE: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 15;

impl Settings {
    pub fn new(config: Config, rules: Rules) -> Self {
        let known = match config.value_range {
            ValueRange::Known(low, high) => Some(Scale {
                shift: ((low + high) / 2.0) as f32,
                factor: (2.0 / (high - low)) as f32,
                lowest: -1.0,
            }),
            _ => None,
        };
        let mut settings = Self {
            fast_puct: known.and_then(|scale| FastPuct::new(&config, scale)),
            prior_shape: PriorShape::new(&config),
            first_is_best: !matches!(config.selection, Selection::Gumbel { .. }),
            quiet: false,
            threads_per_tree: 1,
            deals: false,
            config,
            rules,
            known,
            constant: None,
            explore: Vec::new(),
            logs: Vec::new(),
        };
        let most = settings.config.limits.simulations.unwrap_or(u64::MAX);
        let tabled = most.clamp(*EXPLORE_TABLE.start(), *EXPLORE_TABLE.end()) as u32;
        if let Selection::Uct { .. } = settings.config.selection {
            settings.logs = (0..tabled).map(|n| ln(f64::from(n))).collect();
            return settings;
        }
        if let Selection::Puct { c_puct, c_base, .. } = settings.config.selection {
            settings.constant = c_base.is_none().then_some(c_puct);
        }
        settings.explore = (0..tabled).map(|n| settings.exploration(n)).collect();
        settings
    }

    /// The same for information-set trees: without proofs and cached steps, because deals differ.
    pub fn with_deals(self) -> Self {
        Self {
            fast_puct: None,
            deals: true,
            config: Config {
                proofs: false,
                stop_early: false,
                c_deviation: 0.0,
                ..self.config
            },
            ..self
        }
    }

    /// The prior of each of `n` edges below the root, with flat priors.
    #[inline]
    pub fn flat_prior(&self, n: usize) -> f32 {
        self.config.prior_bits.quantise(1.0 / n as f32)
    }

    /// The rule of first-play urgency.
    #[inline]
    pub fn fpu(&self, at_root: bool) -> Fpu {
        if at_root {
            self.config.fpu_root
        } else {
            self.config.fpu
        }
    }

    /// `c(N) * sqrt(N)`, the factor of `P / (1 + n)` in PUCT.
    #[inline]
    pub fn explore(&self, n: u32) -> f32 {
        match (self.explore.get(n as usize), self.constant) {
            (Some(&explore), _) => explore,
            (None, Some(c)) => (c * f64::from(n).sqrt()) as f32,
            (None, None) => self.exploration(n),
        }
    }

    /// `ln N`.
    #[inline]
    pub fn log(&self, n: u32) -> f64 {
        match self.logs.get(n as usize) {
            Some(&log) => log,
            None => ln(f64::from(n)),
        }
    }

    #[cold]
    fn exploration(&self, n: u32) -> f32 {
        let Selection::Puct {
            c_puct,
            c_base,
            c_factor,
        } = self.config.selection
        else {
            return 0.0;
        };
        let n = f64::from(n);
        let growth = c_base.map_or(0.0, |base| c_factor * ln((1.0 + n + base) / base));
        ((c_puct + growth) * n.sqrt()) as f32
    }
}
