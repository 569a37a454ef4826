"""The document `blob-mcts-node`: its ids, its 25 tests, its mistakes, its example from its text."""

import inspect
import math
import re
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Search
from sylvan.classic.blob_mcts_node import MCTS, BlobGame, MCTSNode
from sylvan.errors import (
    ConfigError,
    EvaluationError,
    GameOver,
    HiddenCards,
    IllegalAction,
    IllegalBid,
    IllegalCard,
    SearchStateError,
    WrongPhase,
    WrongPlayer,
)
from tests.founding.quotes import DOCUMENTS, own_parameters, quote, without_imports

DOCUMENT = "blob-mcts-node"


def dealt(players=4, cards=5, seed=1, **options):
    game = BlobGame(num_players=players, **options)
    game.setup_round(cards_to_deal=cards, seed=seed)
    return game


def rooted(probs=None, **table):
    """A root with a child for each legal action."""
    game = dealt(**table)
    root = MCTSNode(game, game.current_player)
    root.expand(probs or {}, game.get_legal_actions())
    return root


def to_play(game):
    """The same round, after the bids."""
    while game.phase == "bidding":
        game.apply_action(game.get_legal_actions()[0], game.current_player)
    return game


# --- what the document asks for -----------------------------------------------------------------


def test_s4_1_the_node_and_its_attributes():
    game = dealt()
    root = MCTSNode(game, game.current_player)
    assert own_parameters(MCTSNode) == dict(
        zip(
            ("game_state", "player", "parent", "action_taken", "prior_prob"),
            (inspect.Parameter.empty, inspect.Parameter.empty, None, None, 0.0),
            strict=True,
        )
    )
    assert root.game_state.state.key() == game.state.key()
    assert (root.player, root.parent) == (game.current_player, None)
    assert (root.visit_count, root.total_value, root.mean_value) == (0, 0.0, 0.0)
    assert root.children == {} and not root.is_expanded


def test_s4_2_leaf_root_and_text():
    root = rooted()
    child = root.children[2]
    assert root.is_root() and not root.is_leaf() and child.is_leaf() and not child.is_root()
    assert "visits=0" in str(root) and "action 2" in repr(child)


def test_s4_3_selection_and_its_constant():
    assert own_parameters(MCTSNode.select_child)["c_puct"] == 1.5
    root = rooted({0: 0.1, 1: 0.6, 2: 0.3})
    assert root.select_child() is root.children[1]
    # A greater constant looks at more: the same values, another choice.
    root.children[1].backpropagate([0.0, 0.2, 0.0, 0.0])
    root.children[2].backpropagate([0.0, 0.6, 0.0, 0.0])
    assert root.select_child(c_puct=0.1) is root.children[2]
    assert root.select_child(c_puct=20.0) is root.children[1]


def test_s4_4_expansion_and_missing_priors():
    root = rooted({1: 0.7})
    priors = [child.prior_prob for child in root.children.values()]
    assert priors == pytest.approx([n / (5 / 6 + 0.7) for n in [1 / 6, 0.7] + [1 / 6] * 4])
    assert root.is_expanded
    with pytest.raises(EvaluationError, match="Action 0 has the prior nan"):
        MCTSNode(root.game_state, None).expand({0: math.nan}, [0])


def test_s4_5_an_action_is_simulated_on_a_copy():
    game = dealt()
    root = MCTSNode(game, game.current_player)
    after = root._simulate_action(3)
    assert after.players[1].bid == 3 and game.players[1].bid is None
    names = {"BlobGame": BlobGame}
    exec(quote(DOCUMENT, "Using `BlobGame.copy()`"), names)
    theirs = names["_simulate_action"](root, 3)  # the document's own words
    assert theirs.state.key() == after.state.key()
    assert theirs.players[1].bid == 3 and game.players[1].bid is None


def test_s4_6_the_next_player():
    root = rooted()
    for child in root.children.values():
        assert root._get_next_player(child.game_state).position == 2
    game = dealt(players=3, cards=1)
    while not game.is_over:
        game.apply_action(game.get_legal_actions()[0], game.current_player)
    assert root._get_next_player(game) is None


def test_s4_7_backpropagation_goes_to_the_root():
    root = rooted()
    child = root.children[1]
    child.expand({}, child.game_state.get_legal_actions())
    leaf = child.children[0]
    leaf.backpropagate([0.1, 0.2, 0.3, 0.4])
    assert [node.visit_count for node in (leaf, child, root)] == [1, 1, 1]
    for node in (leaf, child, root):
        assert node.W == [0.1, 0.2, 0.3, 0.4]
    assert (root.mean_value, child.mean_value, leaf.mean_value) == (0.2, 0.2, 0.3)


def test_s4_8_probabilities_and_the_choice():
    root = rooted()
    assert MCTSNode(root.game_state, None).get_action_probabilities(1.0) == {}
    for action, visits in ((0, 1), (1, 3)):
        for _ in range(visits):
            root.children[action].backpropagate(0.5)
    probs = root.get_action_probabilities(temperature=1.0)
    assert probs == {0: 0.25, 1: 0.75, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}
    assert root.select_action(temperature=0) == 1
    for temperature in (1e-3, 1e-300):
        assert root.get_action_probabilities(temperature)[1] == pytest.approx(1)
    with pytest.raises(ConfigError, match="temperature is -1"):
        root.get_action_probabilities(-1)


def test_s4_9_codes_of_bids_and_cards():
    game = dealt(players=4, cards=13)
    assert game.get_legal_actions() == list(range(14))
    to_play(game)
    suits = {"♠": 0, "♥": 1, "♣": 2, "♦": 3}
    ranks = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"]
    from sylvan.games.blob import card_name

    cards = [card for player in game.players for card in player.hand]
    assert sorted(cards) == list(range(52))
    for code in range(52):
        name = card_name(code)
        assert code == suits[name[-1]] * 13 + ranks.index(name[:-1])
    assert set(game.get_legal_actions()) <= set(game.current_player.hand)


@pytest.mark.parametrize("players", range(3, 9))
def test_s4_10_bidding_and_play_with_legal_actions_only(players):
    game = dealt(players=players, cards=3, seed=players)
    phases = set()
    while not game.is_over:
        phases.add(game.phase)
        node = MCTSNode(game, game.current_player)
        legal = game.get_legal_actions()
        node.expand({}, legal)
        assert list(node.children) == legal
        for child in node.children.values():
            assert child.game_state.state.key() != game.state.key()  # every one can be played
        game = node.children[legal[-1]].game_state
    assert phases == {"bidding", "playing"}
    assert sum(player.tricks_won for player in game.players) == 3
    paid = [10 + p.bid if p.bid == p.tricks_won else 0 for p in game.players]
    assert game.scores == paid
    with pytest.raises(ConfigError, match="legal_actions are empty"):
        MCTSNode(game, None).expand({}, game.get_legal_actions())


# --- its 25 tests, by their numbers -------------------------------------------------------------


def test_s4_11_01_initialization_with_all_attributes():
    game = dealt()
    parent = MCTSNode(game, game.current_player)
    after = parent._simulate_action(2)
    node = MCTSNode(after, after.current_player, parent, action_taken=2, prior_prob=0.3)
    assert (node.game_state.state.key(), node.parent) == (after.state.key(), parent)
    assert node.action_taken == 2
    assert node.prior_prob == 0.3 and node.player.position == 2
    assert (node.visit_count, node.total_value, node.mean_value, node.children) == (0, 0, 0, {})


def test_s4_11_02_a_leaf_before_expansion():
    node = MCTSNode(dealt(), None)
    assert node.is_leaf()
    node.expand({}, [0, 1])
    assert not node.is_leaf()


def test_s4_11_03_a_root_has_no_parent():
    root = rooted()
    assert root.is_root() and not any(child.is_root() for child in root.children.values())


def test_s4_11_04_a_string_for_debugging():
    root = rooted({0: 0.25} | dict.fromkeys(range(1, 6), 0.15))
    root.children[0].backpropagate(0.5)
    assert (
        str(root.children[0]) == "<MCTSNode action 0 visits=1 value=0.500 prior=0.250 children=0>"
    )


def test_s4_11_05_expansion_creates_children_for_legal_actions():
    game = dealt()
    root = MCTSNode(game, game.current_player)
    root.expand({0: 0.2, 1: 0.3, 2: 0.5}, [0, 1, 2])
    assert list(root.children) == [0, 1, 2]
    for action, prior in ((0, 0.2), (1, 0.3), (2, 0.5)):
        child = root.children[action]
        assert (child.parent, child.action_taken, child.prior_prob) == (root, action, prior)


def test_s4_11_06_a_uniform_prior_where_one_is_missing():
    root = MCTSNode(dealt(), None)
    root.expand({}, [0, 1, 2, 3])
    assert [child.prior_prob for child in root.children.values()] == [0.25] * 4


def test_s4_11_07_an_error_on_empty_legal_actions():
    with pytest.raises(ValueError, match="legal_actions are empty"):
        MCTSNode(dealt(), None).expand({0: 1.0}, [])


def test_s4_11_08_a_simulated_action_leaves_the_original_alone():
    game = dealt()
    before = game.state.key()
    root = MCTSNode(game, game.current_player)
    after = root._simulate_action(1)
    after.apply_action(0, after.current_player)
    assert game.state.key() == before and after.state.key() != before


def test_s4_11_09_the_score_matches_the_formula():
    root = rooted()
    child = root.children[1]
    child.prior_prob = 0.5
    for value in (0.6, 0.2, 0.4):
        child.backpropagate(value)
    root.children[0].backpropagate(0.1)
    formula = quote(DOCUMENT, "UCB1 Formula").partition(" = ")[2].replace("×", "*")
    names = {"Q": 0.4, "c_puct": 2.0, "P": 0.5, "N_parent": 4, "N_child": 3, "sqrt": math.sqrt}
    exec(f"score = {formula}", names)
    assert root._ucb1_score(child, 2.0) == pytest.approx(names["score"], abs=1e-6)


def test_s4_11_10_the_child_of_the_highest_score_is_selected():
    root = rooted({0: 0.2, 1: 0.3, 2: 0.5})
    for _ in range(30):
        child = root.select_child()
        scores = {a: root._ucb1_score(c, 1.5) for a, c in root.children.items()}
        assert scores[child.action_taken] == max(scores.values())
        child.backpropagate([0.0, 0.1 * child.action_taken, 0.0, 0.0])


def test_s4_11_11_an_error_without_children():
    with pytest.raises(SearchStateError, match="expand"):
        MCTSNode(dealt(), None).select_child()


def test_s4_11_12_the_bonus_falls_with_visits():
    root = rooted({0: 0.5})
    child, bonuses = root.children[0], []
    for _ in range(5):
        child.backpropagate(0.0)
        for _ in range(20 - root.visit_count):  # so that the parent has as many each time
            root.children[1].backpropagate(0.0)
        bonuses.append(root._ucb1_score(child, 1.5) / math.sqrt(root.visit_count))
    assert all(a > b for a, b in pairwise(bonuses))


def test_s4_11_13_backpropagation_updates_statistics():
    node = MCTSNode(dealt(), None)
    node.backpropagate(0.8)
    node.backpropagate(0.4)
    assert (node.visit_count, node.total_value) == (2, pytest.approx(1.2))
    assert node.mean_value == pytest.approx(0.6)


def test_s4_11_14_backpropagation_reaches_the_root():
    root = rooted()
    root.children[3].backpropagate(0.6)
    assert (root.visit_count, root.total_value, root.children[3].mean_value) == (1, 0.6, 0.6)


def test_s4_11_15_branches_add_up():
    root = rooted()
    root.children[0].backpropagate(0.5)
    root.children[1].backpropagate(0.9)
    root.children[1].backpropagate(0.7)
    assert (root.visit_count, root.mean_value) == (3, pytest.approx(0.7))
    assert [root.children[a].visit_count for a in (0, 1, 2)] == [1, 2, 0]
    assert root.children[1].mean_value == pytest.approx(0.8)


def test_s4_11_16_probabilities_in_proportion_to_visits():
    root = rooted()
    for action, visits in ((0, 10), (1, 20), (2, 70)):
        for _ in range(visits):
            root.children[action].backpropagate(0.5)
    probs = root.get_action_probabilities(temperature=1.0)
    assert [probs[a] for a in (0, 1, 2)] == pytest.approx([0.1, 0.2, 0.7])


def test_s4_11_17_temperature_0_takes_the_most_visited():
    root = rooted()
    for action, visits in ((0, 2), (1, 5), (2, 3)):
        for _ in range(visits):
            root.children[action].backpropagate(0.5)
    assert root.get_action_probabilities(0) == {a: float(a == 1) for a in root.children}


def test_s4_11_18_a_high_temperature_is_almost_uniform():
    root = rooted()
    for action in root.children:
        for _ in range(1 + 9 * (action == 2)):
            root.children[action].backpropagate(0.5)
    probs = root.get_action_probabilities(temperature=1000.0)
    assert max(probs.values()) - min(probs.values()) < 0.01


def test_s4_11_19_no_children_is_an_empty_dictionary():
    assert MCTSNode(dealt(), None).get_action_probabilities() == {}


def test_s4_11_20_the_selected_action_is_one_of_the_children():
    root = rooted()
    for action in (1, 3):
        root.children[action].backpropagate(0.5)
    assert {root.select_action(1.0) for _ in range(50)} == {1, 3}


def test_s4_11_21_no_children_is_an_error_of_the_choice():
    with pytest.raises(SearchStateError, match="expand"):
        MCTSNode(dealt(), None).select_action()


def test_s4_11_22_greedy_always_takes_the_best():
    root = rooted()
    for action in (0, 2, 2, 1):
        root.children[action].backpropagate(0.5)
    assert {root.select_action(temperature=0) for _ in range(20)} == {2}


def test_s4_11_23_expansion_during_bidding():
    root = rooted(cards=3)
    assert root.game_state.phase == "bidding" and list(root.children) == [0, 1, 2, 3]
    assert [c.game_state.players[1].bid for c in root.children.values()] == [0, 1, 2, 3]


def test_s4_11_24_a_tree_of_several_levels():
    node = rooted(players=3, cards=2)
    depth = 0
    while not node.game_state.is_over:
        if node.is_leaf():
            node.expand({}, node.game_state.get_legal_actions())
        node = node.select_child()
        depth += 1
    assert depth == 3 + 6  # bids and cards
    assert node.player is None and node.game_state.phase == "over"


def test_s4_11_25_a_full_cycle_of_simulations():
    """Select, expand, evaluate, back up: one-card rounds are solved exactly."""
    root = rooted(players=3, cards=1, seed=5)
    for _ in range(300):
        node = root
        while not node.is_leaf():
            node = node.select_child()
        if not node.game_state.is_over:
            node.expand({}, node.game_state.get_legal_actions())
            node = node.select_child()
        end = node.game_state.copy()
        while not end.is_over:
            end.apply_action(end.get_legal_actions()[0], end.current_player)
        node.backpropagate(end.returns())
    assert root.visit_count == 300

    def best(game):
        """Max^n over what is left, every hand open."""
        if game.is_over:
            return game.returns()
        after = []
        for action in game.get_legal_actions():
            then = game.copy()
            then.apply_action(action, then.current_player)
            after.append(best(then))
        return max(after, key=lambda pay: pay[game.current_player.position])

    worth = {}
    for action in root.children:
        worth[action] = best(root.children[action].game_state)[root.player.position]
    chosen = root.select_action(temperature=0)
    assert worth[chosen] == max(worth.values())


def test_s4_11_every_test_of_the_document_has_its_counterpart():
    listed = re.findall(r"^(\d+)\. ", (DOCUMENTS / f"{DOCUMENT}.md").read_text(), re.MULTILINE)
    ours = {int(m[1]) for name in globals() if (m := re.match(r"test_s4_11_(\d\d)_", name))}
    assert ours == set(map(int, listed)) == set(range(1, 26))


# --- speed and memory -----------------------------------------------------------------------------


def seconds(work, times):
    """The best of five measurements, per call."""
    found = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(times):
            work()
        found.append((time.perf_counter() - start) / times)
    return min(found)


@pytest.mark.alone
def test_s4_12_the_documents_times_are_kept():
    game = dealt(players=4, cards=5)
    legal = game.get_legal_actions()
    root = rooted(players=4, cards=5)
    child = root.children[2]
    deep = [root]
    for _ in range(20):
        if deep[-1].is_leaf():
            deep[-1].expand({}, deep[-1].game_state.get_legal_actions())
        deep.append(deep[-1].select_child())

    def expanded():
        node = MCTSNode(game, None)
        node.expand({}, legal)
        return [child.game_state for child in node.children.values()]

    assert len(legal) == 6
    assert seconds(lambda: MCTSNode(game, None), 200) < 1e-3
    assert seconds(lambda: root._ucb1_score(child, 1.5), 1000) < 1e-5
    assert seconds(expanded, 50) < 10e-3  # with the states, which would be made later
    assert seconds(lambda: deep[-1].backpropagate([0.1, 0.2, 0.3, 0.4]), 200) < 1e-4


def test_s4_12_memory_of_a_thousand_nodes():
    roots = [rooted(players=4, cards=5, seed=n) for n in range(3)]
    tracemalloc.start()
    made, waiting = 0, list(roots)
    for root in roots:
        waiting += root.children.values()
    waiting = waiting[3:]
    while made < 1000:
        node = waiting.pop(0)
        legal = node.game_state.get_legal_actions()
        node.expand({}, legal)
        node.backpropagate([0.1, 0.2, 0.3, 0.4])
        node._game = None  # without states; it is made again when needed
        waiting += node.children.values()
        made += len(legal)
    per_node = tracemalloc.get_traced_memory()[0] / made
    tracemalloc.stop()
    assert per_node < 200  # the document: 1000 nodes are about 200 KB


# --- what it left for later -----------------------------------------------------------------------


def even(leaves):
    """A network that knows nothing: no preference, the same for everybody."""
    return np.zeros(len(leaves.actions), np.float32), np.zeros((len(leaves), 3), np.float32)


def test_s4_13_a_search_with_a_network_knows_where_a_round_ends():
    game = dealt(players=3, cards=1, seed=5)
    result = Search(even, simulations=400, proofs=False, hidden="cheating").run(game.state)
    node = result.tree.root
    while node.kind == "decision":
        node = node.edges[0].child
    assert node.kind == "terminal"
    assert node.values == pytest.approx(node.state.returns())


def test_s4_13_virtual_losses_are_gone_when_the_search_is_over():
    state = dealt(players=3, cards=4).state
    view = state.observe(state.to_play())
    for in_flight in (1, 8):
        search = Search(even, simulations=200, leaves_in_flight=in_flight, proofs=False)
        root = search.run(view).tree.root
        assert sum(edge.N for edge in root.edges) == 200 and root.N == 201


def test_s4_13_the_tree_goes_along_after_an_opponents_move():
    state = dealt(players=3, cards=4).state
    search = Search(even, simulations=300, proofs=False, hidden="cheating")
    first = search.run(state)
    reply = max(first.tree.root.edges[0].child.edges, key=lambda edge: edge.N)
    kept = reply.N
    search.advance(first.best, reply.action)
    again = search.run()
    assert kept > 5 and again.tree.root.N == kept + 300


def test_s4_13_determinised_trees_go_along_too():
    """A search of what one player knows is kept over the moves of both others, in new deals."""
    state = dealt(players=3, cards=4).state
    seat = state.to_play()
    search = Search(even, simulations=3000)
    first = search.run(state.observe(seat))
    line = first.pv[:3]
    kept = first.tree.root.edge(line[0]).child.edge(line[1]).child.edge(line[2]).N
    search.advance(*line)
    again = search.run()
    assert again.game.to_play() == seat and kept > 5 and again.tree.root.N == kept + 3000


@pytest.mark.parametrize("options", [{"widening": 0.5}, {"rave": 100.0}])
def test_s4_13_progressive_widening_and_rave_are_options(options):
    state = dealt(players=3, cards=6).state
    view = state.observe(state.to_play())
    result, plain = (Search(even, simulations=60, **o).run(view) for o in (options, {}))
    assert sum(edge.N for edge in result.tree.root.edges) == 60
    tried, all_tried = (sum(e.N > 0 for e in r.tree.root.edges) for r in (result, plain))
    assert tried <= all_tried and (tried < all_tried or "rave" in options)


# --- its mistakes -------------------------------------------------------------------------------


def test_m26_every_player_has_a_value_and_looks_at_its_own():
    root = rooted(players=3, cards=1)
    for child in root.children.values():
        child.expand({}, child.game_state.get_legal_actions())
    first, second = root.children[0], root.children[1]
    # After bid 0 the next player likes its action 0, after bid 1 the first player gains.
    first.children[0].backpropagate([0.0, 0.1, 0.9])
    first.children[1].backpropagate([0.9, 0.9, 0.0])
    second.children[0].backpropagate([0.0, 0.4, 0.0])
    assert root.player.position == 1 and first.player.position == 2
    # Seat 2 chooses after bid 0: for itself, not for who bid before.
    assert first.select_child(c_puct=0.0) is first.children[0]
    assert first.mean_value == pytest.approx((0.1 + 0.9) / 2)
    assert second.mean_value == pytest.approx(0.4)
    assert root.W == pytest.approx([0.9, 1.4, 0.9])


def test_m26_a_single_number_is_that_of_the_player_who_chose():
    root = rooted()
    child = root.children[1]
    child.expand({}, child.game_state.get_legal_actions())
    grandchild = child.children[0]
    grandchild.backpropagate(0.7)  # seat 2's
    assert grandchild.mean_value == 0.7 and grandchild.W == [0, 0, 0.7, 0]
    assert child.mean_value == root.mean_value == 0.0  # seat 1 was told nothing
    child.backpropagate(0.3)
    assert child.mean_value == root.mean_value == 0.3  # and nothing moves its mean
    assert child.visit_count == root.visit_count == 2
    with pytest.raises(EvaluationError, match=r"2 values.*4 players"):
        child.backpropagate([0.1, 0.2])
    with pytest.raises(EvaluationError, match="not finite"):
        child.backpropagate(math.inf)
    assert child.visit_count == 2


def test_m27_a_count_that_is_set_by_hand_is_ignored():
    root = rooted()
    with pytest.warns(UserWarning, match=r"visit_count.* 1 .*backpropagate"):
        root.visit_count = 1
    assert root.visit_count == 0
    root.children[2].backpropagate(0.8)
    assert (root.visit_count, root.mean_value) == (1, 0.8)
    tree = (DOCUMENTS / f"{DOCUMENT}.md").read_text()
    assert "root (visits=2, value=0.4)" in tree  # of a single value of 0.8


def test_m28_the_player_comes_from_the_game():
    game = dealt()
    assert game.dealer_position == 0 and game.current_player.position == 1
    with pytest.warns(UserWarning, match=r"Player 0.*Player 1"):
        root = MCTSNode(game, game.players[0])
    assert root.player.position == 1
    with pytest.raises(WrongPlayer):
        game.apply_action(0, game.players[0])
    for _ in range(4):
        game.apply_action(0 if game.current_player.position else 1, game.current_player)
    with pytest.warns(UserWarning, match=r"Player 2.*Player 1"):
        MCTSNode(game, game.players[2])


def test_m29_turns_are_the_games_to_know():
    """Also in play, where who took a trick leads to the next: no rule of the node's own."""
    game, leaders = to_play(dealt(players=5, cards=6, seed=3)), []
    while not game.is_over:
        node = MCTSNode(game, game.current_player)
        assert node.player == game.current_player
        node.expand({}, game.get_legal_actions())
        child = node.children[game.get_legal_actions()[0]]
        assert child.player == child.game_state.current_player
        game = child.game_state
        if not game.state.trick:
            leaders.append(game.state.to_play() if not game.is_over else None)
    assert len(leaders) == 6 and len(set(leaders)) > 1


def test_m30_a_node_over_a_view_cannot_see_other_hands():
    game = to_play(dealt(players=4, cards=5, seed=2))
    player = game.current_player
    view = game.observe(player)
    assert game.sees_all and not view.sees_all
    node = MCTSNode(view, view.current_player)
    node.expand({}, view.get_legal_actions())
    assert view.get_legal_actions() == game.get_legal_actions()
    for other in view.players:
        if other.position != player.position:
            with pytest.raises(HiddenCards):
                _ = other.hand
    assert view.players[player.position].hand == player.hand
    # Other hands behind the same view: nothing here changes.
    for seed in range(5):
        full = view.state.sample(seed)
        again = BlobGame.__new__(BlobGame)
        again.__dict__.update(game.__dict__)
        again._state = full
        other = again.observe(player)
        assert other.state.key() == view.state.key()
        assert other.get_legal_actions() == view.get_legal_actions()


def test_m31_states_are_made_when_they_are_asked_for():
    root = rooted(players=4, cards=13)
    assert len(root.children) == 14
    assert all(child._game is None for child in root.children.values())
    child = root.select_child()
    assert child.game_state.players[1].bid == child.action_taken
    assert sum(c._game is not None for c in root.children.values()) == 1
    with pytest.raises(ConfigError, match=r"game_state is a NoneType.*BlobGame"):
        MCTSNode(None, None)


def test_m32_an_untried_child_is_worth_what_its_parent_is():
    """With values of 0..1 an untried child of value 0 would count as a missed bid: the worst."""
    root = rooted({0: 0.3, 1: 0.2, 2: 0.2, 3: 0.1, 4: 0.1, 5: 0.1})
    tried = set()
    for _ in range(12):
        child = root.select_child(c_puct=0.3)
        tried.add(child.action_taken)
        child.backpropagate([0.0, 0.4, 0.0, 0.0])
    assert len(tried) > 3
    root = rooted({0: 0.3, 1: 0.2, 2: 0.2, 3: 0.1, 4: 0.1, 5: 0.1})
    root.children[0].backpropagate(0.4)
    assert root._ucb1_score(root.children[1], 0.0) == pytest.approx(0.4)  # 0 in the document


def test_m33_bids_and_cards_share_codes_in_a_phase_and_nowhere_else():
    game = dealt(players=4, cards=5)
    bids = {action: game.to_code(action) for action in game.get_legal_actions()}
    assert bids == {bid: 52 + bid for bid in range(6)}
    assert list(bids.values()) == game.state.legal_actions()
    to_play(game)
    cards = {action: game.to_code(action) for action in game.get_legal_actions()}
    assert all(card == code < 52 for card, code in cards.items())
    assert [game.from_code(code) for code in (0, 51, 52, 65)] == [0, 51, 0, 13]


# --- what users met ------------------------------------------------------------------------------


def test_s4_1_a_node_owns_its_state():
    """States of children were once made from the caller's game, with later moves in them."""
    game = dealt()
    root = MCTSNode(game, game.current_player)
    before = root.game_state.state.key()
    root.expand({}, game.get_legal_actions())
    game.apply_action(5, game.current_player)
    root.game_state.apply_action(4, root.player)  # a copy, too
    assert root.game_state.state.key() == before
    after = root.children[5].game_state
    assert after.players[1].bid == 5 and after.current_player.position == 2
    assert after.state.key() == game.state.key()


def test_s4_4_a_second_expansion_is_refused_and_changes_nothing():
    root = rooted()
    root.children[2].backpropagate(0.5)
    with pytest.raises(SearchStateError, match="expanded already"):
        root.expand({}, [0, 1])
    assert len(root.children) == 6 and root.children[2].visit_count == 1
    unexpanded = MCTSNode(dealt(), None)
    with pytest.raises(EvaluationError, match="Action 1 has the prior -1"):
        unexpanded.expand({1: -1.0}, [0, 1])
    assert unexpanded.is_leaf()


@pytest.mark.parametrize(
    ("probs", "priors"),
    [
        ({0: 0.2, 1: 0.2, 9: 0.6}, [0.5, 0.5]),
        ({0: 0.0, 1: 0.0}, [0.5, 0.5]),
        ({0: 3}, [6 / 7, 1 / 7]),
    ],
    ids=["illegal mass", "no mass", "one missing"],
)
def test_m16_priors_add_up_to_one_over_the_legal_actions(probs, priors):
    root = MCTSNode(dealt(), None)
    root.expand(probs, [0, 1])
    assert [child.prior_prob for child in root.children.values()] == pytest.approx(priors)


def test_s4_3_a_prior_that_is_set_counts_in_the_score():
    root = rooted()
    before = root._ucb1_score(root.children[3])
    root.children[3].prior_prob = 0.9
    assert root._ucb1_score(root.children[3]) > before
    assert root.select_child() is root.children[3]
    for prior in (math.nan, math.inf, -0.1):
        with pytest.raises(EvaluationError, match=f"Action 3 has the prior {prior}"):
            root.children[3].prior_prob = prior
        with pytest.raises(EvaluationError, match=f"Action 3 has the prior {prior}"):
            MCTSNode(dealt(), None, root, action_taken=3, prior_prob=prior)
    assert root.children[3].prior_prob == 0.9


def test_s4_7_totals_and_means_can_be_set():
    root = rooted()
    child = root.children[1]
    for _ in range(4):
        child.backpropagate([0.1, 0.2, 0.3, 0.4])
    child.total_value = 2.0
    assert (child.total_value, child.mean_value, child.visit_count) == (2.0, 0.5, 4)
    child.mean_value = 0.25
    assert (child.total_value, child.mean_value) == (1.0, 0.25)
    assert child.W == pytest.approx([0.4, 1.0, 1.2, 1.6])  # the others' stay
    assert root._ucb1_score(child, 0.0) == pytest.approx(0.25)
    with pytest.raises(EvaluationError, match="not finite"):
        child.mean_value = math.nan
    for name in ("total_value", "mean_value"):
        with pytest.raises(SearchStateError, match="backpropagate"):
            setattr(root.children[0], name, 1.0)


# --- the search that it announces ---------------------------------------------------------------


def unequal(leaves):
    """A network with preferences, for three players."""
    logits = np.sin(leaves.actions * 1.7).astype(np.float32)
    return logits, np.full((len(leaves), 3), 0.25, np.float32)


def test_s4_13_mcts_gives_the_visits_of_a_fair_search_in_the_documents_codes():
    game = dealt(players=3, cards=4)
    before = game.state.key()
    shares = MCTS(unequal, num_simulations=300).search(game, game.current_player)
    view = game.state.observe(game.state.to_play())
    result = Search(unequal, simulations=300, proofs=False).run(view)
    assert shares == pytest.approx(
        {edge.action - 52: edge.N / 300 for edge in result.tree.root.edges}
    )
    assert list(shares) == game.get_legal_actions() and game.state.key() == before
    to_play(game)
    assert set(MCTS(unequal).search(game)) == set(game.get_legal_actions())  # cards


def test_s4_13_mcts_cannot_see_other_hands():
    """Another deal behind the same view: the same result."""
    game = to_play(dealt(players=4, cards=5, seed=2))
    view = game.observe(game.current_player)
    shares = MCTS("rollout", num_simulations=60).search(game)
    for seed in range(3):
        other = game.copy()
        other._state = view.state.sample(seed)
        assert MCTS("rollout", num_simulations=60).search(other) == shares
    assert MCTS("rollout", num_simulations=60).search(view, view.current_player) == shares


def test_s4_13_mcts_keeps_its_tree_over_the_moves_of_others():
    game, mcts = dealt(players=3, cards=4), MCTS(even, num_simulations=3000)
    mcts.search(game)
    root = mcts.result.tree.root
    line = mcts.result.pv[:3]
    kept = root.edge(line[0]).child.edge(line[1]).child.edge(line[2]).N
    for code in line:
        game.apply_action(game.from_code(code), game.current_player)
    assert game.current_player.position == 1 and kept > 5
    mcts.search(game)
    assert mcts.result.tree.root.N == kept + 3000


def test_s4_13_mcts_plays_a_round_to_its_end():
    game, mcts = dealt(players=3, cards=3, seed=3), MCTS(num_simulations=50)
    while not game.is_over:
        player = game.current_player
        game.apply_action(mcts.select_action(game, player, temperature=1.0), player)
    assert sum(player.tricks_won for player in game.players) == 3
    with pytest.raises(GameOver, match="The round is over"):
        mcts.search(game)


def test_s4_13_mcts_starts_a_new_tree_where_the_position_does_not_follow():
    mcts = MCTS("uniform", num_simulations=50)
    for seed in (1, 2, 1):
        game = dealt(players=3, cards=3, seed=seed)
        fresh = MCTS("uniform", num_simulations=50).search(game)
        assert mcts.search(game) == fresh  # another deal, or a bid taken back
        game.apply_action(0, game.current_player)
        mcts.search(game)


def test_s4_13_mcts_bids_one_on_a_card_that_always_wins():
    """One card each: the first to bid holds the ace of trumps, which always wins."""
    high = BlobGame(num_players=3)
    for seed in range(200):
        high = dealt(players=3, cards=1, seed=seed)
        if high.players[1].hand == [12]:
            break
    assert high.players[1].hand == [12]
    assert MCTS(num_simulations=300).select_action(high, high.current_player) == 1


@pytest.mark.parametrize(
    "options",
    [{"widening": 0.5}, {"rave": 100.0}, {"leaves_in_flight": 8}, {"noise": True}],
    ids=str,
)
def test_s4_13_mcts_takes_the_documents_later_steps_as_settings(options):
    game = dealt(players=3, cards=6)
    mcts = MCTS(even, num_simulations=60, c_puct=2.0, **options)
    shares = mcts.search(game)
    root = mcts.result.tree.root
    assert sum(edge.N for edge in root.edges) == 60 and root.N == 61
    assert sum(shares.values()) == pytest.approx(1)
    assert (sum(share > 0 for share in shares.values()) < 7) == ("widening" in options)


def test_s4_13_mcts_temperature_and_bad_input():
    game = dealt(players=3, cards=4)
    mcts = MCTS(even, num_simulations=50)
    greedy = mcts.search(game, temperature=0)
    assert sorted(greedy.values()) == [0, 0, 0, 0, 1]
    assert mcts.search(game, temperature=1e6) == pytest.approx(
        dict.fromkeys(range(5), 0.2), abs=1e-3
    )
    with pytest.raises(ConfigError, match="temperature is -1"):
        mcts.search(game, temperature=-1)
    with pytest.raises(WrongPlayer, match=r"Player 0.*Player 1"):
        mcts.search(game, game.players[0])
    with pytest.raises(ConfigError, match=r"game_state is a Blob:.*BlobGame"):
        mcts.search(game.state)
    with pytest.raises(ConfigError, match="num_simulations is -1"):
        MCTS(num_simulations=-1)


def test_s4_13_mcts_goes_on_after_a_network_that_fails():
    def failing(leaves):
        raise ConnectionError("the server is gone")

    game, mcts = dealt(players=3, cards=3), MCTS(even, num_simulations=50)
    mcts.search(game)
    mcts._search.evaluate, works = failing, mcts._search.evaluate
    game.apply_action(1, game.current_player)
    with pytest.raises(ConnectionError):
        mcts.search(game)
    mcts._search.evaluate = works
    assert sum(mcts.search(game).values()) == pytest.approx(1)


# --- the example, and bad input -----------------------------------------------------------------


def test_the_example_runs_from_its_text_and_does_the_right_thing():
    names = {"MCTSNode": MCTSNode, "BlobGame": BlobGame}
    np.random.seed(2)
    with pytest.warns(UserWarning, match=r"Player 0|visit_count") as warned:
        exec(without_imports(quote(DOCUMENT, "Basic Node Operations")), names)
    first, second = (str(each.message) for each in warned)
    assert "Player 0" in first and "visit_count" in second
    assert names["probs"] == {0: 0.0, 1: 0.0, 2: 1.0} and names["action"] == 2
    assert names["child"].action_taken == 2 and names["child"].mean_value == 0.8
    assert (names["root"].visit_count, names["root"].mean_value) == (1, 0.8)


def test_bad_input_is_a_sentence_and_changes_nothing():
    game = BlobGame(num_players=3)
    with pytest.raises(WrongPhase, match="setup_round"):
        game.get_legal_actions()
    with pytest.raises(ConfigError):
        game.setup_round(cards_to_deal=18)
    assert game.phase == "dealing" and game.round == -1
    game.setup_round(cards_to_deal=2, seed=4)
    with pytest.raises(WrongPhase, match="under way"):
        game.setup_round(cards_to_deal=2)
    with pytest.raises(IllegalBid):
        game.apply_action(3, game.current_player)
    to_play(game)
    missing = next(card for card in range(52) if card not in game.current_player.hand)
    before = game.state.key()
    with pytest.raises(IllegalCard):
        game.apply_action(missing, game.current_player)
    with pytest.raises(IllegalAction, match=f"Action {missing} "):
        MCTSNode(game, None).expand({}, [missing])
    assert game.state.key() == before
    with pytest.raises(ConfigError):
        BlobGame(num_players=2)


def test_rounds_follow_one_another():
    game = BlobGame(num_players=3)
    total = [0, 0, 0]
    for number in range(6):
        game.setup_round(cards_to_deal=2, seed=number)
        assert game.dealer_position == number % 3 and game.round == number
        assert game.state.trump == (None if number % 5 == 4 else number % 5)
        assert game.scores == total
        to_play(game)
        while not game.is_over:
            game.apply_action(game.get_legal_actions()[0], game.current_player)
        total = [a + b for a, b in zip(total, game.state.last_points, strict=True)]
        assert game.scores == total == [player.total_score for player in game.players]


@given(
    players=st.integers(3, 8),
    seed=st.integers(0, 2**32),
    walks=st.lists(st.lists(st.floats(-1, 1), min_size=8, max_size=8), min_size=1, max_size=25),
)
def test_a_tree_of_any_players_adds_up(players, seed, walks):
    root = rooted(players=players, cards=2, seed=seed)
    total = np.zeros(players)
    for values in walks:
        node = root
        while not node.is_leaf() and node.children:
            node = node.select_child()
        if not node.game_state.is_over:
            node.expand({}, node.game_state.get_legal_actions())
        node.backpropagate(values[:players])
        total += values[:players]
    assert root.visit_count == len(walks) and root.W == pytest.approx(total.tolist())
    waiting = [root]
    while waiting:
        node = waiting.pop()
        below = list(node.children.values())
        assert sum(child.visit_count for child in below) <= node.visit_count
        assert node.credits == [node.visit_count] * players
        if node.visit_count:
            assert node.mean_value == node.W[node.chooser] / node.visit_count
        waiting += below
