"""Progressive widening opens the edges of a node by falling prior, with RAVE and without it."""

import pytest

from sylvan import Search, SearchConfig
from sylvan.games import ConnectFour


@pytest.mark.parametrize("rave", [0.0, 10.0, 300.0, 3000.0])
@pytest.mark.parametrize("selection", ["puct", "uct"])
def test_the_root_tries_its_actions_in_the_order_of_their_priors(selection, rave):
    options = {"selection": selection, "rave": rave, "widening": 1.5, "widening_power": 0.43}
    order = []
    for simulations in range(1, 80):
        search = Search("hash_random", simulations=simulations, proofs=False, **options)
        edges = search.run(ConnectFour("44")).tree.root.edges
        order += [edge.action for edge in edges if edge.N and edge.action not in order]
    likeliest = sorted(edges, key=lambda edge: -edge.P)
    assert order == [edge.action for edge in likeliest[: len(order)]]
    assert len(order) >= 5


def check_order(node):
    """No untried edge of a decision is likelier than a tried one."""
    if node.kind == "decision":
        tried = [edge.P for edge in node.edges if edge.child is not None]
        untried = [edge.P for edge in node.edges if edge.child is None]
        assert not tried or not untried or min(tried) >= max(untried)
    for edge in node.edges:
        if edge.child is not None:
            check_order(edge.child)


@pytest.mark.parametrize("rave", [0.0, 500.0])
def test_every_node_tries_its_likeliest_actions(rave):
    config = SearchConfig(simulations=3000, widening=1.0, rave=rave, prior_bits=32, proofs=False)
    check_order(Search("hash_random", config).run(ConnectFour("44")).tree.root)
