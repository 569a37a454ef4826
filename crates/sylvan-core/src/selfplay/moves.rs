//! A move in every tree of a forest.

use crate::contracts::game::{Action, Game, Turn};
use crate::contracts::values::Values;
use crate::memory::node::NodeKind;
use crate::search::forest::Forest;
use crate::search::root::Transition;
use crate::search::workers::each;

/// The results of moves. N trees, S seats.
#[derive(Clone, Debug, Default)]
pub struct Transitions {
    /// `[N]` whose turn it is: a seat, `CHANCE`, `OVER`, or `UNMOVED` if no action was taken.
    pub turns: Vec<i8>,
    /// `[N, S]` returns; zeros while a game continues.
    pub returns: Vec<f32>,
    /// `[N, S]` rewards of the moves.
    pub rewards: Vec<f32>,
}

pub const CHANCE: i8 = -1;
pub const OVER: i8 = -2;
pub const UNMOVED: i8 = -3;

impl Transitions {
    fn add(&mut self, transition: Option<Transition>, seats: usize) {
        let unmoved = Transition::to(Turn::Over);
        self.turns
            .push(match transition.map(|transition| transition.turn) {
                Some(Turn::Seat(seat)) => seat as i8,
                Some(Turn::Chance) => CHANCE,
                Some(Turn::Over) => OVER,
                None => UNMOVED,
            });
        let transition = transition.unwrap_or(unmoved);
        let returns = transition.returns[..seats].iter();
        self.returns.extend(returns.map(|&x| x as f32));
        let rewards = transition.rewards[..seats].iter();
        self.rewards.extend(rewards.map(|&x| x as f32));
    }

    fn append(&mut self, other: Self) {
        self.turns.extend(other.turns);
        self.returns.extend(other.returns);
        self.rewards.extend(other.rewards);
    }
}

/// An error of a move in some tree.
#[derive(Debug, thiserror::Error)]
pub enum MoveError<E> {
    #[error("the game failed")]
    Game(E),
    #[error("action {action} is not legal at the root of tree {tree}")]
    Illegal { tree: usize, action: i64 },
}

impl<G: Game, V: Values> Forest<G, V> {
    /// Takes `actions[i]` in tree i, unless it is negative; nothing may be in flight. With `keep`
    /// the subtrees of these actions stay. If one is illegal, none is taken; after an error of the
    /// game, some may have been taken.
    pub fn play(
        &mut self,
        actions: &[i64],
        keep: bool,
    ) -> Result<Transitions, MoveError<G::Error>> {
        self.check_legal(actions)?;
        let (budget, settings) = (self.budget(), &self.settings);
        let seats = settings.rules.num_players;
        let mut rest = actions;
        let mut jobs = Vec::with_capacity(self.shards.len());
        for shard in &mut self.shards {
            let (part, tail) = rest.split_at(shard.trees.len());
            jobs.push((shard, part, Transitions::default()));
            rest = tail;
        }
        each(&mut jobs, |(shard, actions, transitions)| {
            for (tree, &action) in actions.iter().enumerate() {
                let mut search = shard.parts(tree, settings, budget).0;
                let transition = match Action::try_from(action) {
                    Ok(action) => Some(search.advance(action, keep)?),
                    Err(_) => None,
                };
                transitions.add(transition, seats);
            }
            Ok(())
        })
        .map_err(MoveError::Game)?;
        let mut all = Transitions::default();
        jobs.into_iter().for_each(|(_, _, each)| all.append(each));
        Ok(all)
    }

    /// Fails at the first illegal action.
    fn check_legal(&self, actions: &[i64]) -> Result<(), MoveError<G::Error>> {
        let (mut legal, mut outcomes) = (Vec::new(), Vec::new());
        for (i, &action) in actions
            .iter()
            .enumerate()
            .filter(|&(_, &action)| action >= 0)
        {
            let tree = self.tree(i);
            let is_legal = |other: &Action| i64::from(*other) == action;
            let known = self.pool_of(i)[tree.root].kind() == NodeKind::Decision;
            let found = if known {
                tree.edges.actions.iter().any(is_legal)
            } else if tree.state.turn(&mut legal).map_err(MoveError::Game)? == Turn::Chance {
                let drawn = tree.state.chance_outcomes(&mut outcomes);
                drawn.map_err(MoveError::Game)?;
                outcomes.iter().any(|(outcome, _)| is_legal(outcome))
            } else {
                legal.iter().any(is_legal)
            };
            if !found {
                return Err(MoveError::Illegal { tree: i, action });
            }
        }
        Ok(())
    }

    /// Draws a chance outcome for each tree where `uniforms[i]`, in 0..1, is not negative: the
    /// first outcome whose cumulative probability exceeds it; -1 for the other trees.
    pub fn draw(&self, uniforms: &[f64]) -> Result<Vec<i64>, G::Error> {
        let mut outcomes = Vec::new();
        let mut drawn = vec![-1; uniforms.len()];
        for (i, &uniform) in uniforms.iter().enumerate().filter(|(_, u)| **u >= 0.0) {
            self.tree(i).state.chance_outcomes(&mut outcomes)?;
            let mut sum = 0.0;
            for &(action, probability) in &outcomes {
                drawn[i] = i64::from(action); // the last one if the sum is below 1 by rounding
                sum += probability;
                if sum > uniform {
                    break;
                }
            }
        }
        Ok(drawn)
    }
}
