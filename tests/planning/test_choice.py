"""The action that a search chooses: counted as it was planned, and drawn once."""

from hypothesis import given
from hypothesis import strategies as st

from sylvan import Forest, Search
from sylvan.evaluators import HashRandom
from sylvan.games import ConnectFour


@given(seed=st.integers(0, 1000))
def test_gumbel_on_a_reused_tree_chooses_among_those_with_most_new_visits(seed):
    search = Search("hash_random", selection="gumbel", simulations=64, seed=seed, proofs=False)
    first = search.run(ConnectFour())
    before = {edge.action: edge.N for edge in first.tree.root.edge(first.best).child.edges}
    search.advance(first.best)
    second = search.run()
    new = {edge.action: edge.N - before[edge.action] for edge in second.tree.root.edges}
    assert sum(new.values()) == 64
    assert new[second.best] == max(new.values())


def test_an_action_picked_at_a_temperature_is_drawn_once_per_search():
    forest = Forest([ConnectFour()], simulations=50, temperature=2.0, seed=3)
    actions = set()
    for _ in range(30):
        forest.begin()
        forest.run(HashRandom())
        picked = {forest.result().action for _ in range(5)}
        assert len(picked) == 1, "reading a result twice must not draw again"
        actions |= picked
    assert len(actions) > 1, "a temperature must make a difference"
