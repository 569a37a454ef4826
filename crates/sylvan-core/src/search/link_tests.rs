//! Every step cached by a backup equals the selection rule's choice, and every link leads to its
//! child, after any operation on the tree; also in a tree that was restored.

use std::sync::atomic::AtomicBool;

use crate::contracts::config::{Config, Limits};
use crate::contracts::game::{Action, Game, Rules, Seat, Sure, Turn};
use crate::contracts::rng::mix;
use crate::contracts::values::Duel;
use crate::memory::family::Link;
use crate::memory::node::NodeId;
use crate::search::forest::{Forest, Timing};
use crate::search::playouts::HashRandom;
use crate::search::restore::SavedNode;
use crate::search::selection::Choice;
use crate::search::tree::Search;

/// Nim with one heap: take one to seven; the seat that takes the last one wins.
#[derive(Clone, Debug)]
struct Nim {
    heap: u32,
    seat: Seat,
    history: u64,
}

impl Nim {
    fn new(heap: u32) -> Self {
        Self {
            heap,
            seat: 0,
            history: 0,
        }
    }
}

impl Game for Nim {
    type Error = std::convert::Infallible;
    type Cell = f32;

    fn rules(&self) -> Rules {
        Rules {
            num_players: 2,
            num_actions: 7,
            zero_sum: true,
            has_rewards: false,
            value_range: (-1.0, 1.0),
            observation_shape: vec![1],
        }
    }

    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        actions.clear();
        actions.extend(0..self.heap.min(7));
        Ok(match self.heap {
            0 => Turn::Over,
            _ => Turn::Seat(self.seat),
        })
    }

    fn apply(&mut self, action: Action) -> Sure {
        self.heap -= action + 1;
        self.seat = 1 - self.seat;
        self.history = mix(self.history, action.into());
        Ok(())
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        out[usize::from(self.seat)] = -1.0;
        out[usize::from(1 - self.seat)] = 1.0;
        Ok(())
    }

    fn observe(&self, out: &mut [f32]) -> Sure {
        out[0] = self.heap as f32;
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        Ok(self.history) // a hash of the path, so that equal heaps have different values
    }
}

/// Counts the cached steps below a node; panics at a wrong one.
fn check(search: &mut Search<Nim, Duel>, id: NodeId) -> u32 {
    let Some(family) = search.pool.family(id) else {
        return 0;
    };
    let is_cached = search.pool.front(family).next != Link::UNKNOWN;
    let choice = is_cached.then(|| search.choose(id));
    let (pool, node) = (&search.pool, &search.pool[id]);
    let front = pool.front(family);
    assert_eq!((front.node, front.action), (id, node.action));
    match choice {
        Some(Choice::New(..)) => assert_eq!(front.next, Link::NEW),
        Some(Choice::Visited(slot, _)) => {
            assert_eq!(front.slot, slot);
            assert_eq!(front.next, pool.link(family, slot));
        }
        None => {}
    }
    let mut cached = u32::from(is_cached);
    let children: Vec<NodeId> = pool.ids(id).collect();
    assert!(children.len() <= usize::from(node.num_edges));
    for (slot, &child) in children.iter().enumerate() {
        let pool = &search.pool;
        let link = pool.link(family, slot as u16);
        assert_eq!(link, pool.link_to(child));
        assert_eq!(pool.slot_of(id, pool[child].index), Some(slot as u16));
        cached += check(search, child);
    }
    cached
}

fn check_tree(forest: &mut Forest<Nim, Duel>) -> u32 {
    let mut search = forest.search(0);
    let root = search.tree.root;
    check(&mut search, root)
}

/// Miri runs a thousand times slower; a small search also has every kind of access.
const SIMULATIONS: u64 = if cfg!(miri) { 60 } else { 3000 };
const ABANDONED: usize = if cfg!(miri) { 2 } else { 20 };
const LEAST_CACHED: u32 = if cfg!(miri) { 5 } else { 50 };

#[test]
fn cached_steps_equal_the_selection_rule() {
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    let few = Some(if cfg!(miri) { 3000 } else { 100_000 });
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
            ..Config::default()
        };
        let game = Nim::new(60);
        let rules = game.rules();
        let mut forest = Forest::<_, Duel>::new(vec![game], rules, config);
        let mut cached = 0;
        for action in [3, 2, 3, 3] {
            forest.begin(false, |_| None);
            assert!(forest.run(&HashRandom, &timing).is_ok());
            cached += check_tree(&mut forest);
            for _ in 0..ABANDONED {
                // An abandoned batch leaves the tree unchanged.
                forest.begin(false, |_| None);
                assert!(forest.select(&timing).is_ok());
                forest.abandon();
                check_tree(&mut forest);
            }
            let Ok(()) = forest.advance(0, action);
            check_tree(&mut forest);
        }
        assert!(cached > LEAST_CACHED, "{cached} steps cached");
    }
}

/// All nodes of a tree, parents first.
fn saved(forest: &mut Forest<Nim, Duel>) -> Vec<SavedNode> {
    let mut nodes: Vec<SavedNode> = Vec::new();
    let mut waiting = vec![(None, Vec::<Action>::new())];
    while let Some((parent, path)) = waiting.pop() {
        let Ok(stats) = forest.search(0).node_stats(&path);
        let stats = stats.unwrap();
        for edge in stats.edges.iter().filter(|edge| edge.visits > 0) {
            let below = [&path[..], &[edge.action]].concat();
            waiting.push((Some(nodes.len()), below));
        }
        let from = parent.zip(path.last().copied());
        nodes.push(SavedNode { from, stats });
    }
    nodes
}

#[test]
fn a_restored_tree_has_right_links_and_goes_on_as_the_original() {
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    let limits = Limits {
        simulations: Some(SIMULATIONS),
        ..Limits::default()
    };
    let config = Config {
        limits,
        ..Config::default()
    };
    let forest =
        || Forest::<_, Duel>::new(vec![Nim::new(60)], Nim::new(60).rules(), config.clone());
    let (mut grown, mut restored) = (forest(), forest());
    assert!(grown.run(&HashRandom, &timing).is_ok());
    let nodes = saved(&mut grown);
    assert!(restored.restore(0, &nodes).is_ok());
    check_tree(&mut restored);
    assert_eq!(restored.tree(0).nodes, nodes.len() as u64);
    assert_eq!(restored.tree(0).bytes, grown.tree(0).bytes);
    for forest in [&mut grown, &mut restored] {
        forest.begin(false, |_| None);
        assert!(forest.run(&HashRandom, &timing).is_ok());
        assert!(check_tree(forest) > LEAST_CACHED);
    }
    assert_eq!(restored.search(0).signature(), grown.search(0).signature());
}
