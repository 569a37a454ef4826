//! The steps that backups note for the next walk are those that the rule of the search would take,
//! and every link of the tree leads to the child it belongs to, whatever was done to the tree.

use std::sync::atomic::AtomicBool;

use sylvan_core::config::{Config, Limits};
use sylvan_core::family::Link;
use sylvan_core::node::NodeId;
use sylvan_core::playouts::HashRandom;
use sylvan_core::selection::Choice;
use sylvan_core::tree::Search;
use sylvan_core::values::Duel;
use sylvan_core::{Forest, Timing};
use sylvan_games::connect_four::ConnectFour;

/// How many steps below a node are noted; panics at one that is wrong.
fn check(search: &mut Search<ConnectFour, Duel>, id: NodeId) -> u32 {
    let Some(family) = search.pool.family(id) else {
        return 0;
    };
    let is_noted = search.pool.front(family).next != Link::UNKNOWN;
    let choice = is_noted.then(|| search.choose(id));
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
    let mut noted = u32::from(is_noted);
    let children: Vec<NodeId> = pool.ids(id).collect();
    assert!(children.len() <= usize::from(node.num_edges));
    for (slot, &child) in children.iter().enumerate() {
        let pool = &search.pool;
        let link = pool.link(family, slot as u16);
        assert_eq!(link, pool.link_to(child));
        assert_eq!(pool.slot_of(id, pool[child].index), Some(slot as u16));
        noted += check(search, child);
    }
    noted
}

fn check_tree(forest: &mut Forest<ConnectFour, Duel>) -> u32 {
    let mut search = forest.search(0);
    let root = search.tree.root;
    check(&mut search, root)
}

#[test]
fn noted_steps_are_those_that_would_be_taken() {
    let asked = AtomicBool::new(false);
    let timing = Timing {
        deadline: None,
        pause: None,
        asked: &asked,
    };
    for (leaves_in_flight, bytes) in [(1, None), (1, Some(100_000)), (5, None), (5, Some(100_000))]
    {
        let limits = Limits {
            simulations: Some(3000),
            bytes,
            ..Limits::default()
        };
        let config = Config {
            limits,
            leaves_in_flight,
            collisions: 3,
            ..Config::default()
        };
        let game = ConnectFour::default();
        let rules = sylvan_core::Game::rules(&game);
        let mut forest = Forest::<_, Duel>::new(vec![game], rules, config);
        let mut noted = 0;
        for action in [3, 2, 3, 3] {
            forest.begin(false, |_| None);
            assert!(forest.run(&HashRandom, &timing).is_ok());
            noted += check_tree(&mut forest);
            for _ in 0..20 {
                // A batch that nobody evaluates leaves the tree as it was.
                forest.begin(false, |_| None);
                assert!(forest.select(&timing).is_ok());
                forest.abandon();
                check_tree(&mut forest);
            }
            let Ok(()) = forest.advance(0, action);
            check_tree(&mut forest);
        }
        assert!(noted > 100, "{noted} steps noted");
    }
}
