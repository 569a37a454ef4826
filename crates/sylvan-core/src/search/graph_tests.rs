//! Shared positions stay counted, found and linked after any operation on a search with
//! transpositions.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use crate::contracts::config::{Config, Limits};
use crate::contracts::game::{Action, Game, Rules, Seat, Sure, Turn};
use crate::contracts::values::Duel;
use crate::memory::family::Link;
use crate::memory::node::NodeId;
use crate::search::forest::{Forest, Timing};
use crate::search::playouts::HashRandom;
use crate::search::selection::Choice;
use crate::search::tree::Search;

/// Nim with three heaps: take one to three from one; the seat that takes the last one wins.
#[derive(Clone, Debug)]
struct Nim {
    heaps: [u32; 3],
    seat: Seat,
}

impl Game for Nim {
    type Error = std::convert::Infallible;
    type Cell = f32;

    fn rules(&self) -> Rules {
        Rules {
            num_players: 2,
            num_actions: 9,
            zero_sum: true,
            has_rewards: false,
            value_range: (-1.0, 1.0),
            observation_shape: vec![1],
        }
    }

    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        let is_legal = |&action: &Action| self.heaps[action as usize / 3] > action % 3;
        actions.clear();
        actions.extend((0..9).filter(is_legal));
        Ok(match actions.is_empty() {
            true => Turn::Over,
            false => Turn::Seat(self.seat),
        })
    }

    fn apply(&mut self, action: Action) -> Sure {
        self.heaps[action as usize / 3] -= action % 3 + 1;
        self.seat = 1 - self.seat;
        Ok(())
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        out[usize::from(self.seat)] = -1.0;
        out[usize::from(1 - self.seat)] = 1.0;
        Ok(())
    }

    fn observe(&self, out: &mut [f32]) -> Sure {
        out[0] = self.heaps[0] as f32;
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        let [a, b, c] = self.heaps.map(u64::from);
        Ok(a << 40 | b << 20 | c << 1 | u64::from(self.seat))
    }
}

/// Checks all positions that the root leads to; returns how many are shared.
fn check(search: &mut Search<Nim, Duel>) -> usize {
    let root = search.tree.root;
    let (mut edges, mut waiting) = (HashMap::from([(root, 0)]), vec![root]);
    while let Some(id) = waiting.pop() {
        check_cached_step(search, id);
        let pool = &search.pool;
        for (slot, child) in pool.ids(id).enumerate() {
            let position = pool.position(child);
            assert_eq!(pool.edge(id, slot as u16, position), child);
            assert_eq!(pool[position].is_shared(), child != position);
            assert!(child == position || pool[id].has_links());
            assert_eq!(pool.slot_of(id, pool[child].index), Some(slot as u16));
            assert_eq!(pool[child].in_flight, 0);
            let count = edges.entry(position).or_insert(0);
            *count += 1;
            if *count == 1 {
                waiting.push(position);
            }
        }
    }
    for (&id, &count) in &edges {
        let is_root = id == root;
        assert_eq!(count, if is_root { 0 } else { search.pool.edges_to(id) });
        let found = search.tree.positions.find(search.pool, search.pool.key(id));
        assert_eq!(found, (!is_root).then_some(id));
    }
    assert_eq!(search.tree.nodes, edges.len() as u64);
    edges.values().filter(|&&count| count > 1).count()
}

/// A cached step is the selection rule's choice.
fn check_cached_step(search: &mut Search<Nim, Duel>, id: NodeId) {
    let Some(family) = search.pool.family(id) else {
        return;
    };
    let front = search.pool.front(family);
    assert_eq!(front.node, id);
    if front.next == Link::UNKNOWN {
        return;
    }
    match search.choose(id) {
        Choice::New(..) => assert_eq!(front.next, Link::NEW),
        Choice::Visited(slot, _) => assert_eq!(front.next, search.pool.link(family, slot)),
    }
}

const SIMULATIONS: u64 = if cfg!(miri) { 60 } else { 3000 };

#[test]
fn shared_positions_are_counted_found_and_linked() {
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    let few = Some(if cfg!(miri) { 6000 } else { 200_000 });
    for (leaves_in_flight, bytes) in [(1, None), (1, few), (5, None), (5, few)] {
        let limits = Limits {
            simulations: Some(SIMULATIONS),
            bytes,
            ..Limits::default()
        };
        let config = Config {
            limits,
            leaves_in_flight,
            collisions: 3,
            transpositions: true,
            ..Config::default()
        };
        let game = Nim {
            heaps: [13, 14, 15],
            seat: 0,
        };
        let rules = game.rules();
        let mut forest = Forest::<_, Duel>::new(vec![game; 2], rules, config);
        let mut shared = 0;
        for action in [4, 2, 6, 1] {
            forest.begin(false, |_| None);
            assert!(forest.run(&HashRandom, &timing).is_ok());
            shared += check(&mut forest.search(0));
            forest.begin(false, |_| None);
            assert!(forest.select(&timing).is_ok());
            forest.abandon();
            check(&mut forest.search(0));
            let Ok(()) = forest.advance(0, action);
            check(&mut forest.search(0));
        }
        assert!(shared > 20, "{shared} positions are shared");
    }
}

#[test]
fn a_new_root_frees_every_position() {
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    let config = Config {
        limits: Limits {
            simulations: Some(SIMULATIONS),
            ..Limits::default()
        },
        transpositions: true,
        ..Config::default()
    };
    let game = Nim {
        heaps: [13, 14, 15],
        seat: 0,
    };
    let mut forest = Forest::<_, Duel>::new(vec![game.clone(); 2], game.rules(), config);
    let mut sizes = Vec::new();
    for _ in 0..4 {
        forest.begin(false, |_| None);
        assert!(forest.run(&HashRandom, &timing).is_ok());
        sizes.push(forest.bytes());
        forest.plant(0, game.clone()); // one by one, so that the arena is not cleared
        forest.plant(1, game.clone());
    }
    assert_eq!(sizes[1], sizes[3]);
}
