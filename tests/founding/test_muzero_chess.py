"""The document `muzero-chess`: its ids, its mistakes, its examples from their text."""

import gc
import math
import re
import sys
import weakref
from collections import Counter
from dataclasses import fields

import chess
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sylvan.classic.muzero_chess import (
    MCTS,
    ChessEnvironment,
    MCTSConfig,
    MuZeroConfig,
    MuZeroNetwork,
    NetworkOutput,
    Node,
    RootNode,
    mask_policy,
    select_action,
)
from sylvan.errors import ConfigError, EvaluationError, GameOver, NetworkError, SearchStateError
from sylvan.games import TicTacToe
from sylvan.muzero.build import build_muzero
from sylvan.muzero.config import MuZeroConfig as RunSettings
from sylvan.muzero.losses import SequenceTargets, unrolled_losses
from sylvan.runs.config import TrainingConfig
from tests.founding.oracles import plain_muzero
from tests.founding.quotes import own_parameters, parameters, quote
from tests.games.chess_games import boards
from tests.games.chess_oracles import az73_code as code

DOCUMENT = "muzero-chess"
SEEN = np.zeros(1, np.float32)


class Table:
    """A network whose answers are random, but fixed by the hidden state: one of 60 numbers."""

    def __init__(self, seed=0, actions=5, paid=0.3):
        rng = np.random.default_rng(seed)
        self.following = rng.integers(0, 60, (60, actions))
        self.logits = rng.normal(size=(60, actions)).astype(np.float32)
        self.values = rng.uniform(-0.7, 0.7, 60).astype(np.float32)
        self.rewards = (paid * rng.uniform(-1, 1, (60, actions))).astype(np.float32)
        self.asked = []

    def initial_inference(self, observation):
        self.asked.append("initial")
        return 7, self.logits[7], self.values[7]

    def recurrent_inference(self, hidden, action):
        self.asked.append("recurrent")
        return int(self.following[hidden, action]), self.rewards[hidden, action]

    def prediction(self, hidden):
        self.asked.append("prediction")
        return self.logits[hidden], self.values[hidden]


class Tensors(Table):
    """The same of PyTorch."""

    def initial_inference(self, observation):
        hidden, policy, value = super().initial_inference(observation)
        return torch.tensor(hidden), torch.from_numpy(policy), torch.tensor(value)

    def recurrent_inference(self, hidden, action):
        hidden, reward = super().recurrent_inference(int(hidden), action)
        return torch.tensor(hidden), torch.tensor(reward, requires_grad=True)

    def prediction(self, hidden):
        policy, value = super().prediction(int(hidden))
        return torch.from_numpy(policy), torch.tensor(value)


class Four(Table):
    """The same with four answers, as published code gives them."""

    def initial_inference(self, observation):
        hidden, policy, value = super().initial_inference(observation)
        return NetworkOutput(value, 0.0, policy, hidden)

    def recurrent_inference(self, hidden, action):
        hidden, reward = super().recurrent_inference(hidden, action)
        return self.values[hidden], reward, self.logits[hidden], hidden

    prediction = None


class Fixed:
    """Fixed outputs by path of actions: `{path: (logits, value, reward)}`."""

    def __init__(self, actions, outputs=None, value=0.0):
        self.actions, self.outputs, self.value = actions, outputs or {}, value

    def said(self, path):
        return self.outputs.get(path, (np.zeros(self.actions, np.float32), self.value, 0.0))

    def initial_inference(self, observation):
        return (), *self.said(())[:2]

    def recurrent_inference(self, hidden, action):
        return (*hidden, action), self.said((*hidden, action))[2]

    def prediction(self, hidden):
        return self.said(hidden)[:2]


class PerfectTicTacToe:
    """The rules as a network: a hidden state is the game itself; after its end nothing pays."""

    def initial_inference(self, game):
        return game.clone(), *self.prediction(game)

    def recurrent_inference(self, game, action):
        after, mover = game.clone(), game.to_play()
        if game.is_terminal():
            return after, 0.0
        after.apply(action)
        return after, after.returns()[mover] if after.is_terminal() else 0.0

    def prediction(self, game):
        logits = np.zeros(9, np.float32)
        if not game.is_terminal():
            logits[:] = -np.inf
            logits[list(game.legal_actions())] = 0.0
        return logits, 0.0


def searched(network, legal=(0, 1, 2, 3, 4), config=None, **settings):
    """The root after a search, and the search."""
    mcts = MCTS(network, config or MCTSConfig(**settings))
    root = RootNode(0, None)
    mcts.run(root, SEEN, list(legal))
    return root, mcts


def visits(root):
    return {action: child.visit_count for action, child in root.children.items()}


def everywhere(node):
    """Visits and value sums of a tree, by path."""
    return {
        (action, *path): numbers
        for action, child in node.children.items()
        if child.visit_count
        for path, numbers in [
            ((), (child.visit_count, child.value_sum)),
            *everywhere(child).items(),
        ]
    }


def plain_everywhere(node):
    return {
        (action, *path): numbers
        for action, child in node.children.items()
        if child.visits
        for path, numbers in [((), (child.visits, child.total)), *plain_everywhere(child).items()]
    }


def assert_same_tree(ours, theirs):
    assert ours.keys() == theirs.keys()
    for path, (count, total) in ours.items():
        assert (count, total) == (
            theirs[path][0],
            pytest.approx(theirs[path][1], rel=1e-5, abs=1e-4),
        )


# --- what the document asks for -----------------------------------------------------------------


def their_classes():
    names = {"math": math, "np": np, "torch": torch}
    for heading in ("Node Structure", "Root Node", "MCTS Class", "Key Parameters"):
        exec(quote(DOCUMENT, heading), names)
    return names


def their_function():
    """`select_action` of the document, around our classes."""
    names = {"np": np, "torch": torch, "mask_policy": mask_policy}
    names |= {"MCTS": MCTS, "Node": Node, "RootNode": RootNode}
    exec(quote(DOCUMENT, "Action Selection"), names)
    return names


def test_s0_1_the_node_of_the_document():
    theirs, ours = their_classes()["Node"](0.25), Node(prior=0.25)
    for name, value in vars(theirs).items():
        assert getattr(ours, name) == value
    ours.children[3] = Node(0.5)
    ours.reward, ours.hidden_state = 1.0, "anything"
    assert ours.expanded() and ours.children[3].prior == 0.5
    assert own_parameters(Node) == {"prior": own_parameters(their_classes()["Node"])["prior"]}


def test_s0_2_expanded_and_value():
    for node in (their_classes()["Node"](0.25), Node(0.25)):
        assert not node.expanded() and node.value() == 0
        node.visit_count, node.value_sum = 3, 1.0
        assert node.value() == 1 / 3
        node.children[0] = Node(1.0)
        assert node.expanded()


def test_s0_3_the_root_has_a_hidden_state_and_a_player_to_move():
    theirs, ours = their_classes()["RootNode"](0, "state"), RootNode(0, "state")
    assert isinstance(ours, Node) and own_parameters(RootNode) == own_parameters(type(theirs))
    assert ours.hidden_state == theirs.hidden_state == "state"
    assert ours.to_play is theirs.to_play is None
    root = RootNode(0, None)
    root.to_play = 1
    MCTS(Table(), MCTSConfig()).run(root, SEEN, [0, 1])
    assert root.to_play == 1 and root.hidden_state == 7


def test_s0_4_the_nodes_are_a_live_view_of_the_tree():
    theirs, counts = their_classes()["MCTS"], []

    class Watching(Table):
        def recurrent_inference(self, hidden, action):
            counts.append((len(mcts.nodes), mcts.root.visit_count, sum(visits(mcts.root).values())))
            return super().recurrent_inference(hidden, action)

    mcts = MCTS(Watching(), MCTSConfig(num_simulations=30))
    assert own_parameters(MCTS) == own_parameters(theirs)
    assert (len(mcts.nodes), list(mcts.nodes)) == (0, [])
    root = RootNode(0, None)
    mcts.run(root, SEEN, range(5))
    # During the search, and after it.
    assert counts == [(n + 1, n + 1, n) for n in range(30)]
    assert len(mcts.nodes) == 31 and set(mcts.nodes) == {(), *everywhere(root)}
    assert mcts.nodes[()] is root and mcts.nodes[(2,)] is root.children[2]
    for path, node in mcts.nodes.items():
        assert node.visit_count == 1 + sum(c.visit_count for c in node.children.values())
        assert node.to_play == len(path) % 2 and node.hidden_state is not None
    # Changes by hand show; nodes that no simulation reached are absent.
    untried = next((a, b) for a in range(5) for b in range(5) if (a, b) not in mcts.nodes)
    with pytest.raises(KeyError):
        mcts.nodes[untried]
    root.children[untried[0]].children[untried[1]].visit_count = 1
    assert untried in mcts.nodes and len(mcts.nodes) == 32


def test_s0_5_run_gives_actions_and_their_shares_of_the_visits():
    root = RootNode(0, None)
    actions, probabilities = MCTS(Table(), MCTSConfig(num_simulations=40)).run(
        root, SEEN, [4, 1, 2]
    )
    assert actions == (4, 1, 2) and sum(probabilities) == pytest.approx(1)
    assert probabilities == [root.children[a].visit_count / 40 for a in actions]
    header = re.search(r"def run\(.*?\)", quote(DOCUMENT, "MCTS Class"))[0]
    assert own_parameters(MCTS.run) == parameters(header)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("players", [1, 2])
@pytest.mark.parametrize("bounds", [None, (-1, 1)], ids=["learned", "known"])
def test_s0_5_the_same_tree_as_the_algorithm_in_the_fewest_words(seed, players, bounds):
    settings = {"num_simulations": 120, "num_players": players, "value_bounds": bounds}
    root, _ = searched(Table(seed), (0, 2, 4), **settings)
    plain = plain_muzero(
        Table(seed), SEEN, (0, 2, 4), 120, discount=0.997, players=players, bounds=bounds
    )
    assert root.value() == pytest.approx(plain.total / plain.visits, abs=1e-5)
    assert_same_tree(everywhere(root), plain_everywhere(plain))


def test_s0_6_noise_is_mixed_into_the_roots_priors_once():
    network = Fixed(4)
    np.random.seed(3)
    root, mcts = searched(network, range(4), num_simulations=20, add_noise=True)
    priors = np.array([child.prior for child in root.children.values()])
    eta = (priors - 0.75 / 4) / 0.25
    assert eta.min() > -1e-6 and eta.sum() == pytest.approx(1, abs=1e-5) and eta.std() > 0.01
    below = [c.prior for child in root.children.values() for c in child.children.values()]
    assert below == [0.25] * len(below)
    mcts.run(root, SEEN, range(4))
    assert [child.prior for child in root.children.values()] == priors.tolist()
    assert root.visit_count == 41
    silent, _ = searched(network, range(4), add_noise=True, root_exploration_fraction=0.0)
    assert [child.prior for child in silent.children.values()] == [0.25] * 4


def score(parent, child, *, base=19652, init=1.25, unvisited=0.0):
    """The formula in plain numbers, for two players and values in -1..1, brought to 0..1."""
    c = math.log((parent.visit_count + base + 1) / base) + init
    q = child.reward - 0.997 * child.value() if child.visit_count else unvisited
    bonus = c * child.prior * math.sqrt(parent.visit_count) / (1 + child.visit_count)
    return (q + 1) / 2 + bonus


@pytest.mark.parametrize("settings", [{}, {"init": 0.2}, {"init": 0.5, "base": 3}])
def test_s0_7_every_choice_of_a_search_has_the_highest_score(settings):
    """Also where exploration grows with the logarithm of visits, which a small base shows."""
    names = {"init": "pb_c_init", "base": "pb_c_base"}
    config = {names[name]: value for name, value in settings.items()}
    for n in range(1, 40, 3):
        old, new = (searched(Table(2), num_simulations=m, **config)[0] for m in (n, n + 1))
        (taken,) = (action for action, count in visits(new).items() if count > visits(old)[action])
        assert max(old.children, key=lambda a: score(old, old.children[a], **settings)) == taken


def test_s0_8_initial_inference_gives_hidden_state_policy_and_value():
    for network in (Table(), Four()):
        root, _ = searched(network, (1, 3), num_simulations=0)
        logits = network.logits[7]
        assert root.hidden_state == 7 and root.value() == network.values[7]
        assert root.children[1].prior == pytest.approx(1 / (1 + math.exp(logits[3] - logits[1])))
        assert network.asked.count("initial") == 1
    for answer, sentence in [
        ((1, 2), r"initial_inference\(\) gave 2: it must give 3 or 4 values"),
        ((1, np.zeros((2, 3)), 0.0), r"a policy of shape \(2, 3\)"),
        ((1, np.zeros(3), np.nan), "a value of nan: give one finite number"),
        ((1, np.array([0.0, np.nan]), 0.0), "a policy with NaN or without a finite logit"),
        ((1, np.full(3, -np.inf), 0.0), "a policy with NaN or without a finite logit"),
    ]:
        network = Table()
        network.initial_inference = lambda _, answer=answer: answer
        with pytest.raises(EvaluationError, match=sentence):
            searched(network, (0, 1))
    network = Table()
    network.recurrent_inference = lambda hidden, _: (hidden, np.nan)
    with pytest.raises(EvaluationError, match=r"recurrent_inference.*reward.*nan"):
        searched(network)
    with pytest.raises(ConfigError, match=r"int.*initial_inference"):
        searched(3)


def test_s0_9_two_answers_and_a_prediction_or_four_of_pytorch_or_numpy():
    trees = []
    for network in (Table(), Four(), Tensors()):
        root, _ = searched(network)
        trees.append(everywhere(root))
        assert network.asked.count("recurrent") == 50
        assert network.asked.count("prediction") == (0 if type(network) is Four else 50)
        child = root.children[max(visits(root), key=visits(root).get)]
        assert (
            int(child.hidden_state) == network.following[7, max(visits(root), key=visits(root).get)]
        )
        assert child.reward == pytest.approx(
            network.rewards[7, list(root.children.values()).index(child)]
        )
    assert trees[0] == trees[1] == trees[2]


def test_s0_9_a_network_that_fails_in_the_middle_leaves_what_was_found():
    class Failing(Table):
        def prediction(self, hidden):
            if len(self.asked) > 20:
                raise RuntimeError("out of memory")
            return super().prediction(hidden)

    mcts, root = MCTS(Failing(), MCTSConfig()), RootNode(0, None)
    with pytest.raises(RuntimeError, match="out of memory"):
        mcts.run(root, SEEN, range(5))
    found, _ = searched(Table(), num_simulations=root.visit_count - 1)
    assert root.visit_count > 5 and everywhere(root) == everywhere(found)


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_s0_10_expansion_masks_the_logits_and_takes_their_softmax(kind):
    logits = kind([1.0, 5.0, 2.0, -1.0])
    masked = mask_policy(logits, [0, 2])
    assert masked.tolist() == [1.0, -math.inf, 2.0, -math.inf] and type(masked) is type(logits)
    assert logits.tolist() == [1.0, 5.0, 2.0, -1.0]
    root, _ = searched(Fixed(4, {(): (logits, 0.0, 0.0)}), [2, 0], num_simulations=0)
    assert set(root.children) == {0, 2} and root.expanded()
    assert root.children[2].prior == pytest.approx(1 / (1 + math.exp(-1)))
    assert sum(child.prior for child in root.children.values()) == pytest.approx(1)


def test_s0_11_backup_with_rewards_and_discount():
    # One action, so one path; the network's value is 1 at its end and 0 before.
    outputs = {(0,) * n: (np.zeros(1), float(n == 3), (0, 0.1, 0.2, 0.4)[n]) for n in range(1, 4)}
    sums = []
    for n in (2, 3):
        _, mcts = searched(Fixed(1, outputs), [0], num_simulations=n, num_players=1, discount=0.5)
        sums.append([mcts.nodes[(0,) * depth].value_sum for depth in range(n + 1)] + [0] * (3 - n))
        assert [node.visit_count for node in mcts.nodes.values()] == list(range(n + 1, 0, -1))
    # The third simulation adds 0.1 + 0.65/2, 0.2 + 0.9/2, 0.4 + 1/2 and 1.
    added = [after - before for before, after in zip(*sums, strict=True)]
    assert added == pytest.approx([0.425, 0.65, 0.9, 1.0])


def test_s0_12_temperature():
    network, legal = Table(4), [0, 1, 2, 3, 4]
    header = quote(DOCUMENT, "Action Selection").partition(":\n")[0]
    assert own_parameters(select_action) == parameters(header)
    root, _ = searched(network)
    share = {action: count / 50 for action, count in visits(root).items()}
    best = max(share, key=share.get)
    config = MCTSConfig()
    assert select_action(network, config, SEEN, legal, temperature=0) == best
    np.random.seed(5)
    for temperature in (1.0, 2.0, 1e3):
        drawn = [select_action(network, config, SEEN, legal, temperature) for _ in range(100)]
        weights = {action: p ** (1 / temperature) for action, p in share.items() if p}
        for action, weight in weights.items():
            expected = weight / sum(weights.values())
            error = math.sqrt(expected * (1 - expected) / 100)
            assert abs(drawn.count(action) / 100 - expected) <= 4 * error
    for wrong in (-1, "1", None, math.nan):
        with pytest.raises(ConfigError, match=f"temperature is {wrong!r}"):
            select_action(network, config, SEEN, legal, temperature=wrong)


def test_s0_12_the_documents_function_runs_from_its_text():
    """Its own classes of settings, its own expansion of the root, our search."""
    names = their_function()
    exec(quote(DOCUMENT, "Key Parameters"), names)
    theirs = names["select_action"]
    for seed in range(5):
        network, config = Tensors(seed), names["MCTSConfig"]()
        same = select_action(Table(seed), MCTSConfig(), SEEN, [0, 1, 3], temperature=0)
        assert theirs(network, config, SEEN, [0, 1, 3], 0) == same
        assert theirs(network, config, SEEN, [0, 1, 3], 1.0) in (0, 1, 3)
        assert network.asked.count("initial") == 2 and network.asked.count("recurrent") == 100


def test_s0_13_the_six_defaults_and_what_can_be_changed():
    theirs = vars(their_classes()["MCTSConfig"]())
    ours = MCTSConfig()
    assert len(theirs) == 6 and {name: getattr(ours, name) for name in theirs} == theirs
    ours.num_simulations = 12
    mcts = MCTS(Table(), ours)
    ours.num_simulations = 15  # what it is when a search begins counts
    root = RootNode(0, None)
    mcts.run(root, SEEN, range(5))
    assert sum(visits(root).values()) == 15
    for wrong, sentence in [
        ({"num_simulations": -1}, "num_simulations is -1"),
        ({"pb_c_init": -2.0}, r"pb_c_init is -2\.0"),
        ({"discount": 1.5}, r"discount is 1\.5"),
        ({"num_players": 3}, r"num_players is 3.*LatentSearch"),
        ({"value_bounds": (1, 1)}, r"\(1\.0, 1\.0\)"),
    ]:
        with pytest.raises(ConfigError, match=sentence):
            MCTS(Table(), MCTSConfig(**wrong))
    with pytest.raises(ConfigError, match=r"'num_simulation'.*'num_simulations'"):
        MCTSConfig(num_simulation=3)
    with pytest.raises(ConfigError, match=r"'foo'.*num_simulations"):
        MuZeroConfig.control(foo=1)
    with pytest.raises(ConfigError, match=r"config.*dict.*MCTSConfig"):
        MCTS(Table(), {})


def test_s0_14_no_question_is_asked_twice():
    network = Table()
    searched(network, num_simulations=60)
    assert network.asked == ["initial"] + ["recurrent", "prediction"] * 60


def test_s0_14_nodes_are_made_when_they_are_looked_at_and_go_with_their_root():
    root, mcts = searched(Fixed(500), range(20), num_simulations=100)
    gc.collect()
    made = sum(type(thing) is Node for thing in gc.get_objects())
    assert len(mcts.nodes) == 101
    gc.collect()
    assert sum(type(thing) is Node for thing in gc.get_objects()) < made + 200
    assert len(root.children[0].children) == 500
    tree = weakref.ref(root.tree)
    root = mcts = None
    assert tree() is None  # without a collection: nothing refers to itself


def test_s0_14_scores_stay_numbers():
    logits = np.array([1e30, -1e30, 0.0, -np.inf], np.float32)
    root, mcts = searched(Fixed(4, {(): (logits, 0.0, 0.0)}), range(4), num_simulations=20)
    assert all(0 <= child.prior <= 1 for child in root.children.values())
    numbers = [(node.value_sum, node.prior) for node in mcts.nodes.values()]
    assert np.isfinite(numbers).all() and sum(visits(root).values()) == 20
    assert visits(root)[0] == 20  # the one with a prior, and no score was NaN


@pytest.mark.parametrize("simulations", [0, 1, 2, 50, 3000])
def test_s0_14_any_number_of_simulations(simulations):
    root, mcts = RootNode(0, None), MCTS(Table(1), MCTSConfig(num_simulations=simulations))
    _, probabilities = mcts.run(root, SEEN, range(5))
    assert (root.visit_count, sum(visits(root).values())) == (simulations + 1, simulations)
    assert sum(probabilities) == pytest.approx(1)
    if simulations == 0:
        assert probabilities == pytest.approx([child.prior for child in root.children.values()])


@given(
    seed=st.integers(0, 2**32),
    players=st.sampled_from([1, 2]),
    bounds=st.sampled_from([None, (-1, 1), (-3, 2)]),
    top_k=st.none() | st.integers(1, 5),
    stop=st.integers(0, 40),
)
def test_s0_14_a_root_is_searched_on_as_if_it_were_one_search(seed, players, bounds, top_k, stop):
    options = {"num_players": players, "value_bounds": bounds, "top_k": top_k}
    whole, _ = searched(Table(seed), num_simulations=60, **options)
    network = Table(seed)
    root, mcts = searched(network, num_simulations=stop, **options)
    mcts.config.num_simulations = 60 - stop
    mcts.run(root, SEEN, range(5))
    assert root.visit_count == len(mcts.nodes) == 61
    assert everywhere(root) == everywhere(whole)
    assert network.asked == ["initial"] + ["recurrent", "prediction"] * 60


@pytest.mark.parametrize("before", [100, 400])
def test_s0_14_a_searched_root_is_searched_on_by_the_core(monkeypatch, before):
    """It was once searched on by a loop in Python, 25 times slower than a new root. Only the root
    and its children are read, however large the tree is and however long the search.
    """
    root, mcts = searched(Fixed(200), range(20), num_simulations=before)
    mcts.config.num_simulations = 300
    read, core_visits = Counter(), Node.core_visits

    def counted(node):
        read[node.path] += 1
        return core_visits(node)

    monkeypatch.setattr(Node, "core_visits", counted)
    mcts.run(root, SEEN, range(20))
    monkeypatch.undo()
    assert set(read) <= {(), *((action,) for action in range(20))}
    assert max(read.values()) <= 2
    assert root.visit_count == len(mcts.nodes) == before + 301


def test_s0_14_visits_that_no_search_made_are_refused():
    counted = RootNode(0, None)
    counted.visit_count = 1
    with pytest.raises(SearchStateError, match="visit_count 1"):
        MCTS(Table(), MCTSConfig()).run(counted, SEEN, range(5))
    assert counted.visit_count == 1 and not counted.expanded()
    root, mcts = searched(Table())
    with pytest.raises(SearchStateError, match="1 steps inside"):
        mcts.run(root.children[0], SEEN, range(5))
    for other in (MCTS(Table(), mcts.config), MCTS(mcts.network, MCTSConfig(discount=0.5))):
        with pytest.raises(SearchStateError, match="settings"):
            other.run(root, SEEN, range(5))
    root.children[0].visit_count = 7
    with pytest.raises(SearchStateError, match="changed by hand"):
        mcts.run(root, SEEN, range(5))
    assert root.visit_count == 51 and root.children[0].visit_count == 7


@pytest.mark.parametrize(
    ("moves", "best"),
    [((0, 3, 1, 4), 2), ((0, 3, 1, 4, 8), 5), ((0, 4, 1), 2), ((4, 0, 2), 6)],
    ids=["X wins", "O wins", "O must block", "O must block a diagonal"],
)
def test_s0_14_simple_scenarios_with_a_perfect_model(moves, best):
    game = TicTacToe()
    for move in moves:
        game.apply(move)
    config = MCTSConfig.board_game(num_simulations=400)
    legal = list(game.legal_actions())
    assert select_action(PerfectTicTacToe(), config, game, legal, temperature=0) == best


def test_s0_20_an_environment_of_chess():
    environment = ChessEnvironment()
    observation = environment.reset()
    assert observation.shape == (8, 8, 19) and environment.action_space_size == 4672 == 8 * 8 * 73
    assert len(environment.get_legal_actions()) == 20
    for san, colour in [("f3", chess.WHITE), ("e5", chess.BLACK), ("g4", chess.WHITE)]:
        board = chess.Board(environment.state.fen())
        action = code(board.parse_san(san), colour)
        observation, reward, done, info = environment.step(action)
        assert (reward, done, info["outcome"]) == (0.0, False, None)
    observation, reward, done, info = environment.step(
        code(chess.Move.from_uci("d8h4"), chess.BLACK)
    )
    assert (reward, done, info["outcome"], info["move"]) == (1.0, True, "checkmate", "d8h4")
    assert environment.get_legal_actions() == []
    with pytest.raises(GameOver, match=r"checkmate.*reset"):
        environment.step(0)
    assert np.array_equal(environment.reset(), ChessEnvironment().observation())


def test_s0_20_draws_pay_nothing_and_what_is_illegal_loses():
    stale = ChessEnvironment("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1")
    _, reward, done, info = stale.step(stale.state.string_to_action("Qf7"))
    assert (reward, done, info["outcome"]) == (0.0, True, "stalemate")
    environment = ChessEnvironment()
    before = environment.state.fen()
    for illegal in (0, 4671, 10**6, -1):
        environment.reset()
        assert illegal not in environment.get_legal_actions()
        _, reward, done, info = environment.step(illegal)
        assert (reward, done, info["outcome"], info["fen"]) == (-1.0, True, "illegal_move", before)
    short = ChessEnvironment(max_moves=2)
    short.step(short.get_legal_actions()[0])
    _, reward, done, info = short.step(short.get_legal_actions()[0])
    assert (reward, done, info["outcome"]) == (0.0, True, "move_limit")
    with pytest.raises(ConfigError, match="max_moves is 0"):
        ChessEnvironment(max_moves=0)


def test_s0_20_a_search_plays_on_it():
    environment = ChessEnvironment(max_moves=6)
    observation, done, moves = environment.reset(), False, 0
    while not done:
        legal = environment.get_legal_actions()
        config = MCTSConfig(num_simulations=10, top_k=32)
        action = select_action(Fixed(4672), config, observation, legal)
        observation, _, done, info = environment.step(action)
        moves += 1
    assert moves == 6 and info["outcome"] == "move_limit"


@pytest.fixture(scope="module")
def network():
    return MuZeroNetwork(num_blocks=1, num_channels=16, seed=3)


def residual_blocks(module):
    return [part for part in module.modules() if type(part).__name__ == "ResidualBlock"]


def test_s0_21_three_networks_of_sixteen_blocks_and_256_channels():
    model = MuZeroNetwork().model
    for part in (model.representation, model.dynamics):
        assert len(residual_blocks(part)) == 16
        assert {
            m.out_channels for m in residual_blocks(part)[0].modules() if hasattr(m, "kernel_size")
        } == {256}
    assert model.hidden_shape == (256, 8, 8)


def test_s0_21_inference_gives_what_the_document_asks_for(network):
    environment = ChessEnvironment()
    hidden, policy, value = network.initial_inference(environment.reset())
    assert hidden.shape == (16, 8, 8) and policy.shape == (4672,) and value.shape == ()
    assert -1 <= value <= 1  # a tanh
    value, reward, policy, following = network.recurrent_inference(hidden, 877)
    assert (value.shape, reward.shape, policy.shape) == ((), (), (4672,))
    assert following.shape == hidden.shape and not torch.equal(following, hidden)
    again = network.prediction(following)
    assert torch.equal(again[0], policy) and torch.equal(again[1], value)
    action = select_action(
        network, MCTSConfig(), environment.reset(), environment.get_legal_actions()
    )
    assert action in environment.get_legal_actions()
    for wrong in (
        lambda: network.representation(np.zeros((19, 8, 8))),
        lambda: network.prediction(torch.zeros(8, 8)),
        lambda: network.dynamics(hidden, [1, 2]),
        lambda: network.dynamics(hidden, 4672),
    ):
        with pytest.raises(EvaluationError, match="give"):
            wrong()


def test_s0_21_the_documents_function_searches_with_it(network):
    environment = ChessEnvironment()
    observation, legal = environment.reset(), environment.get_legal_actions()
    chosen = their_function()["select_action"](network, MCTSConfig(), observation, legal, 0)
    actions, shares = MCTS(network, MCTSConfig()).run(RootNode(0, None), observation, legal)
    most = {action for action, share in zip(actions, shares, strict=True) if share == max(shares)}
    assert chosen in most  # the first of them; ours is the one with the highest prior
    assert select_action(network, MCTSConfig(), observation, legal, 0) in most


def test_s0_21_it_is_saved_and_read_again(network, tmp_path):
    network.save(tmp_path / "net.safetensors")
    again = MuZeroNetwork.load(tmp_path / "net.safetensors")
    seen = ChessEnvironment().reset()
    for one, other in zip(
        network.initial_inference(seen), again.initial_inference(seen), strict=True
    ):
        assert torch.equal(one, other)
    from sylvan.games import Chess
    from sylvan.networks import build_network, save_network

    save_network(
        build_network("1x8", game=Chess(encoder="planes19")), tmp_path / "plain.safetensors"
    )
    with pytest.raises(NetworkError, match=r"Network.*learned model"):
        MuZeroNetwork.load(tmp_path / "plain.safetensors")


def test_s0_22_the_settings_of_learning_and_two_sets_of_published_ones():
    ours = MuZeroConfig()
    assert (ours.num_unroll_steps, ours.td_steps, ours.replay_buffer_size) == (5, 10, 100_000)
    assert (ours.batch_size, ours.learning_rate, ours.momentum) == (1024, 0.05, 0.9)
    assert ours.weight_decay == 1e-4 and (ours.num_blocks, ours.num_channels) == (16, 256)
    board, control = MuZeroConfig.board_game(), MuZeroConfig.control()
    assert (board.td_steps, board.discount, board.num_simulations) == (None, 1.0, 800)
    assert (board.batch_size, board.learning_rate, board.max_moves) == (2048, 0.1, 512)
    assert (control.td_steps, control.discount, control.num_players) == (10, 0.997, 1)
    assert (control.root_dirichlet_alpha, control.max_moves) == (0.25, 27_000)
    assert MuZeroConfig.control(td_steps=5).td_steps == 5
    # They are settings of a run, under their names there.
    run = TrainingConfig(**board.sections("chess", encoder="planes19"))
    assert (run.run.algorithm, run.network.size, run.muzero.unroll) == ("muzero", "16x256", 5)
    assert (run.targets.td_steps, run.targets.discount) == (None, 1.0)
    assert (run.learner.optimizer, run.learner.batch, run.learner.momentum) == ("sgd", 2048, 0.9)
    assert (run.learner.learning_rate, run.learner.weight_decay) == (0.1, 1e-4)
    assert (run.replay.window_max, run.search.simulations) == (1_000_000, 800)
    assert (run.selfplay.max_plies, run.selfplay.temperature_plies) == (512, 30)
    assert run.search.noise and run.search.c_base == 19652
    TrainingConfig(**control.sections("gym:CartPole-v1"))
    # It is an MCTSConfig, too, and where each number comes from stands in its table.
    assert sum(visits(searched(Table(), config=ours)[0]).values()) == 50
    table = sys.modules["sylvan.classic.muzero_settings"].__doc__
    for name in {field.name for field in fields(MuZeroConfig)} - {
        "add_noise",
        "num_players",
        "top_k",
    }:
        assert f"`{name}`" in table


def test_s0_23_the_loss_is_cross_entropy_and_squared_errors_over_the_unrolled_steps():
    examples, steps = 6, 3
    config = RunSettings(value_kind="scalar", reward_kind="scalar", consistency=0.0)
    model = build_muzero("mlp1x16", game=TicTacToe(), config=config, seed=2)
    draw = torch.Generator().manual_seed(1)
    seen = torch.rand(examples, 2, 3, 3, generator=draw)
    actions = torch.randint(9, (examples, steps), generator=draw)
    policy = torch.softmax(torch.randn(examples, steps + 1, 9, generator=draw), dim=2)
    value, reward = (torch.rand(examples, steps + 1, 1, generator=draw) for _ in "vr")
    ones = torch.ones(examples, steps + 1)
    targets = SequenceTargets(
        actions, value, reward, policy, ones, ones, ones, torch.ones(examples)
    )
    parts, _ = unrolled_losses(model, seen, targets)
    # Once more in the words of the document, one state after another.
    expected = dict.fromkeys(("policy", "value", "reward"), 0.0)
    said = model.initial_inference(seen)
    for step in range(steps + 1):
        if step:
            said = model.recurrent_inference(said.hidden, actions[:, step - 1])
            expected["reward"] += ((said.reward - reward[:, step, 0]) ** 2).mean() / steps
        share = 1 / steps if step else 1.0  # as published: what is foreseen counts as one state
        entropy = -(policy[:, step] * torch.log_softmax(said.policy, dim=1)).sum(dim=1)
        expected["policy"] += share * entropy.mean()
        expected["value"] += share * ((said.value - value[:, step, 0]) ** 2).mean()
    for part, loss in expected.items():
        assert parts[part].item() == pytest.approx(loss.item(), rel=1e-5)
    sum(parts.values()).backward()  # and a gradient reaches all three networks
    for name, weights in model.named_parameters():
        assert weights.grad is not None and weights.grad.abs().sum() > 0, name


TINY = [
    "--game=tictactoe",
    "--no-visualization",
    "--device=cpu",
    "--set=run.threads=1",
    "--set=network.size=mlp1x16",
    "--set=search.simulations=4",
    "--set=selfplay.positions=64",
    "--set=learner.batch=16",
    "--set=arena.every=1",
    "--set=arena.games=2",
    "--set=arena.simulations=2",
    "--set=arena.positions=0",
]


@pytest.mark.slow
def test_s0_29_the_command_trains_goes_on_and_evaluates(tmp_path, capsys):
    from sylvan.classic.muzero_command import main
    from sylvan.runs.run import Run

    folder = tmp_path / "run"
    assert main(["--train", "--epochs", "1", "--games", "4", "--model", str(folder), *TINY]) == 0
    config = Run.open(folder).config
    assert (config.run.algorithm, config.run.steps, config.selfplay.games) == ("muzero", 1, 4)
    both = ["--train", "--evaluate", "--epochs", "2", "--games", "6", "--model", str(folder)]
    assert main([*both, *TINY]) == 0
    said = capsys.readouterr().out
    assert "1 epochs are done" in said and "2 epochs are done" in said
    won, drawn, lost = map(int, re.search(r"(\d+) won, (\d+) drawn, (\d+) lost", said).groups())
    assert won + drawn + lost == 6


def test_s0_29_what_it_cannot_do_is_a_sentence(tmp_path, capsys):
    from sylvan.classic.muzero_command import main

    for arguments, sentence in [
        ([], "error: There is nothing to do: give --train, --evaluate or both."),
        (["--train", "--epochs", "0"], "error: epochs is 0: give at least 1."),
        (["--evaluate", "--model", str(tmp_path / "none")], "error: "),
    ]:
        assert main(arguments) == 2
        assert capsys.readouterr().err.startswith(sentence)


# --- mistakes in it -----------------------------------------------------------------------------


def test_m1_each_node_has_the_value_of_its_own_player_to_move():
    outputs = {(0,): (np.zeros(1), 0.0, 0.5), (0, 0): (np.zeros(1), 1.0, 0.25)}
    config = MCTSConfig(discount=0.5, num_simulations=2)
    _, mcts = searched(Fixed(1, outputs), [0], config=config)
    # 1 for the player at the end; 0.25 - 1/2 for the other; for the first again 0.5 + 0.25/2, and
    # 0.5 of the simulation before.
    sums = [mcts.nodes[(0,) * depth].value_sum for depth in range(3)]
    assert sums == [0.5 + 0.25 / 2 + 0.5, 0.25 - 0.5, 1.0]
    names = their_classes()
    theirs = [names["Node"](1.0) for _ in range(3)]
    names["MCTS"](None, MCTSConfig(discount=0.5))._backup(theirs, 1.0)
    assert [node.value_sum for node in theirs] == [0.25, 0.5, 1.0]  # good for everybody
    # A search: what is good for the player to move after action 0 is bad for who chooses.
    root, _ = searched(Fixed(2, {(0,): (np.zeros(2), 0.8, 0.0)}), [0, 1], num_simulations=1)
    tried = root.children[0]
    assert tried.value() == pytest.approx(0.8) and root.value_sum == pytest.approx(-0.997 * 0.8)


@pytest.mark.parametrize("seat", [0, 1])
def test_m2_a_child_that_is_good_for_the_opponent_is_avoided(seat):
    outputs = {(0,): (np.zeros(2), 0.9, 0.0), (1,): (np.zeros(2), -0.9, 0.0)}

    class Held(Fixed):
        """Every position has the value of the first step, for its own player to move."""

        def said(self, path):
            if not path:
                return np.zeros(2, np.float32), 0.0, 0.0
            value = outputs[path[:1]][1]
            return np.zeros(2, np.float32), value if len(path) % 2 else -value, 0.0

    root = RootNode(0, None)
    root.to_play = seat
    mcts = MCTS(Held(2), MCTSConfig())
    mcts.run(root, SEEN, [0, 1])
    assert visits(root)[1] > 40 > visits(root)[0]
    assert score(root, root.children[1]) > score(root, root.children[0])
    theirs = their_classes()["MCTS"](None, MCTSConfig())
    liked = [theirs._ucb_score(root, root.children[a]) for a in (0, 1)]
    assert liked[0] > liked[1]  # the document's prefers what the opponent would


def test_m3_the_reward_of_a_step_counts_in_the_choice():
    outputs = {(1,): (np.zeros(2), 0.0, 0.6)}
    root, _ = searched(Fixed(2, outputs), [0, 1])
    assert visits(root)[1] > 35
    child = root.children[1]
    assert child.reward == pytest.approx(0.6) and child.reward - child.value() > 0.5 > child.value()
    one, _ = searched(Fixed(2, outputs), [0, 1], config=MCTSConfig.control())
    assert visits(one)[1] > visits(one)[0]


def test_m4_values_are_brought_to_one_range_whatever_their_size():
    counts = []
    for scale in (1.0, 1000.0):
        network = Table(3)
        network.values, network.rewards = network.values * scale, network.rewards * scale
        counts.append(visits(searched(network, config=MCTSConfig.control())[0]))
        bounded = MCTSConfig(num_players=1, value_bounds=(-3 * scale, 3 * scale))
        counts.append(visits(searched(network, config=bounded)[0]))
    assert counts[0] == counts[2] and counts[1] == counts[3]
    # Known bounds -1 and 1 are the default, for a game that is won or lost.
    assert MCTSConfig().value_bounds == MCTSConfig.board_game().value_bounds == (-1, 1)


def test_m5_the_documents_numbers_are_ataris_and_those_of_chess_have_a_name():
    ours, board, control = MCTSConfig(), MCTSConfig.board_game(), MCTSConfig.control()
    assert (ours.discount, ours.num_simulations) == (0.997, 50)
    assert (board.discount, board.num_simulations, board.num_players) == (1.0, 800, 2)
    assert (control.discount, control.num_simulations, control.num_players) == (0.997, 50, 1)
    # Undiscounted, a win is a win however far away.
    outputs = {(0, 0, 0): (np.zeros(1), 0.0, 1.0)}
    for config, expected in ((ours, 0.997**2), (MCTSConfig(discount=1.0), 1.0)):
        config.num_simulations = 3
        root, _ = searched(Fixed(1, outputs), [0], config=config)
        assert root.value_sum == pytest.approx(expected)


def test_m6_below_the_root_the_whole_action_space_is_open():
    root, mcts = searched(Fixed(9), [2, 5], num_simulations=30)
    assert set(root.children) == {2, 5}
    for path, node in mcts.nodes.items():
        assert set(node.children) == (set(range(9)) if path else {2, 5})
    # The best of them as an option, never the root's list.
    network = Fixed(9)
    network.outputs = {(2,): (np.arange(9, dtype=np.float32), 0.0, 0.0)}
    root, _ = searched(network, [2, 5], num_simulations=30, top_k=3)
    assert set(root.children) == {2, 5} and set(root.children[2].children) == {6, 7, 8}


def test_m7_noise_is_for_self_play():
    assert not MCTSConfig().add_noise and not MCTSConfig.board_game().add_noise
    chosen = {select_action(Table(4), MCTSConfig(), SEEN, range(5), 0) for _ in range(10)}
    assert len(chosen) == 1
    trees = [visits(searched(Table(4), add_noise=True)[0]) for _ in range(10)]
    assert any(tree != trees[0] for tree in trees)
    quiet = [visits(searched(Table(4))[0]) for _ in range(3)]
    assert quiet[0] == quiet[1] == quiet[2]


def test_m8_an_unexpanded_root_is_expanded_and_no_legal_action_is_an_error():
    given = RootNode(0, 7)  # a hidden state, but no children
    mcts = MCTS(Table(), MCTSConfig())
    mcts.run(given, SEEN, [0, 1])
    fresh, _ = searched(Table(), [0, 1])
    assert visits(given) == visits(fresh)
    root = RootNode(0, None)
    with pytest.raises(GameOver, match="legal action"):
        mcts.run(root, SEEN, [])
    with pytest.raises(ValueError, match="legal action"):
        select_action(Table(), MCTSConfig(), SEEN, [])
    with pytest.raises(ConfigError, match=r"Action 5 .*0 to 4"):
        mcts.run(root, SEEN, [0, 5])
    with pytest.raises(ConfigError, match=r"legal_actions.*\[1, 1\]"):
        mcts.run(root, SEEN, [1, 1])
    for wrong in (None, [0.5], [True, False], 3, ["a"], np.array([True, False])):
        with pytest.raises(ConfigError, match="legal_actions is"):
            mcts.run(root, SEEN, wrong)
        with pytest.raises(ConfigError, match="legal_actions is"):
            select_action(Table(), MCTSConfig(), SEEN, wrong)
    for same in (iter([0, 1]), np.array([0, 1]), torch.tensor([0, 1])):
        found = RootNode(0, None)
        mcts.run(found, SEEN, same)
        assert visits(found) == visits(fresh)
    with pytest.raises(ConfigError, match=r"\[0, 1\].*legal_actions.*\[0, 2\]"):
        mcts.run(given, SEEN, [0, 2])
    expanded = RootNode(0, None)  # children, but no hidden state: that of the observation
    for action in (0, 1):
        expanded.children[action] = Node(0.5)
    mcts.run(expanded, SEEN, [0, 1])
    assert expanded.hidden_state == 7 and expanded.visit_count == 51
    beyond = RootNode(0, 7)
    beyond.children[9] = Node(1.0)
    with pytest.raises(ConfigError, match=r"Action 9 .*5"):
        mcts.run(beyond, SEEN, [9])
    with pytest.raises(ConfigError, match=r"root is a str.*RootNode"):
        mcts.run("e4", SEEN, [0, 1])
    root.to_play = 2
    with pytest.raises(ConfigError, match=r"to_play is 2.*0 to 1"):
        mcts.run(root, SEEN, [0, 1])
    assert root.visit_count == 0 and not root.expanded()


def test_m9_nothing_is_declared_and_never_used():
    root, mcts = searched(Table(), num_simulations=30)
    assert {(node.to_play, len(path) % 2) for path, node in mcts.nodes.items()} == {(0, 0), (1, 1)}
    second = RootNode(0, None)
    second.to_play = 1
    mcts.run(second, SEEN, range(5))
    assert {node.to_play for path, node in mcts.nodes.items() if len(path) == 1} == {0}
    assert everywhere(second) == everywhere(root)  # whoever moves first, seats are only names
    assert len(mcts.nodes) == 31 and mcts.root is second
    assert NetworkOutput._fields == ("value", "reward", "policy_logits", "hidden_state")


def test_m16_what_is_illegal_has_no_share_in_any_precision():
    for dtype in (torch.float16, torch.float32, torch.float64):
        logits = torch.tensor([1.0, 2.0, 3.0], dtype=dtype)
        masked = mask_policy(logits, [0, 1])
        assert masked.dtype == dtype and masked[2] == -math.inf
        shares = torch.softmax(masked.float(), dim=0)
        assert shares[2] == 0 and float(shares.sum()) == pytest.approx(1)
    with pytest.raises(RuntimeError):
        their_classes()["MCTS"](None, None)._mask_policy(logits.half(), [0, 1])
    # Logits that are all far below what the document masks with are still logits.
    root, _ = searched(Fixed(3, {(): (np.full(3, -1e35, np.float32), 0.0, 0.0)}), [0, 1])
    assert [child.prior for child in root.children.values()] == [0.5, 0.5]
    # Nothing left: equal shares.
    root, _ = searched(Fixed(3, {(): (np.array([-np.inf, -np.inf, 0]), 0.0, 0.0)}), [0, 1])
    assert [child.prior for child in root.children.values()] == [0.5, 0.5]


def test_m20_the_first_choice_follows_the_priors():
    logits = np.array([0.0, 0.0, 2.0, 0.0], np.float32)
    root, _ = searched(Fixed(4, {(): (logits, 0.0, 0.0)}), range(4), num_simulations=1)
    assert visits(root) == {0: 0, 1: 0, 2: 1, 3: 0}
    names = their_classes()
    theirs, empty = names["MCTS"](None, MCTSConfig()), names["Node"](1.0)
    assert {theirs._ucb_score(empty, names["Node"](p)) for p in (0.1, 0.9)} == {0.0}


def test_m22_small_temperatures_do_not_underflow():
    network, legal = Table(4), range(5)
    best = select_action(network, MCTSConfig(), SEEN, legal, temperature=0)
    for temperature in (1e-3, 1e-6, 1e-300):
        assert select_action(network, MCTSConfig(), SEEN, legal, temperature) == best
    shares = [0.4, 0.35, 0.25]
    assert sum(p ** (1 / 1e-3) for p in shares) == 0  # the document divides by this


def test_m23_what_an_untried_action_is_worth_is_said_and_where():
    # A draw by default, in the middle of 0..1, where pb_c_init was set; a loss as published.
    assert (MCTSConfig().unvisited, MCTSConfig.board_game().unvisited) == (0.0, -1.0)
    for n in range(1, 12):
        for worth in (-1.0, 0.0, 0.5):
            config = {"unvisited": worth, "pb_c_init": 0.4}
            old, new = (searched(Table(2), num_simulations=m, **config)[0] for m in (n, n + 1))
            taken = next(a for a, count in visits(new).items() if count > visits(old)[a])
            scores = {
                a: score(old, child, init=0.4, unvisited=worth) for a, child in old.children.items()
            }
            assert max(scores, key=scores.get) == taken
    # With a loss the first good move is held on to for longer.
    network = Fixed(4, value=-0.5)
    tried = [
        sum(
            n > 0
            for n in visits(searched(network, range(4), num_simulations=3, unvisited=u)[0]).values()
        )
        for u in (-1.0, 0.0, 1.0)
    ]
    assert tried[0] <= tried[1] <= tried[2] == 3


# --- mistakes around it -------------------------------------------------------------------------


def test_each_player_has_a_stream_of_rewards_of_its_own():
    """One stream, discounted for both without changing sign, credits a player with the other's."""
    rewards = [0.5, 0.25, 0.125]
    outputs = {(0,) * (n + 1): (np.zeros(1), 0.0, reward) for n, reward in enumerate(rewards)}
    config = MCTSConfig(num_simulations=3, discount=0.5)
    root, mcts = searched(Fixed(1, outputs), [0], config=config)
    first = [0.5, 0.5 - 0.25 / 2, 0.5 - 0.25 / 2 + 0.125 / 4]  # simulation by simulation
    second = [0.25, 0.25 - 0.125 / 2]
    assert root.value_sum == pytest.approx(sum(first))
    assert mcts.nodes[(0,)].value_sum == pytest.approx(sum(second))
    one_stream = 0.5 + 0.25 / 2 + 0.125 / 4
    assert first[-1] != one_stream


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_step_of_a_batch_stays_a_batch_of_that_size(network, count):
    """An embedding of 256 numbers, reshaped to (-1, 1, 8, 8), would be four boards per action."""
    environment = ChessEnvironment()
    legal = environment.get_legal_actions()[:count]
    hidden = network.representation(np.stack([environment.reset()] * count))
    following, rewards = network.dynamics(hidden, legal)
    policies, values = network.prediction(following)
    assert len(following) == len(rewards) == len(policies) == len(values) == count
    for row, action in enumerate(legal):  # and no example sees another
        alone, reward = network.dynamics(hidden[row], action)
        assert torch.allclose(alone, following[row], atol=1e-5)
        assert torch.allclose(reward, rewards[row], atol=1e-5)
    if count > 1:
        assert not torch.allclose(following[0], following[1])


@given(board=boards().filter(lambda board: not board.chess960))
def test_every_legal_move_goes_to_its_action_and_back(board):
    """Promotions, to a queen and to less, castling and en passant, for either side."""
    environment = ChessEnvironment(board.fen())
    legal = environment.get_legal_actions()
    if environment.done:
        return
    moves = {environment.state.action_to_string(action): action for action in legal}
    assert len(moves) == len(legal)
    assert moves == {move.uci(): code(move, board.turn) for move in board.legal_moves}
    # Row and column of an action are those of the observation: its square holds a piece of ours.
    seen = environment.observation()
    for action in legal:
        rank, file = divmod(action // 73, 8)
        assert seen[rank, file, :6].sum() == 1


def test_nineteen_planes_are_nineteen_and_none_is_the_number_of_the_move():
    fen = "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 {} {}"
    seen = ChessEnvironment(fen.format(7, 20)).observation()
    assert seen.shape[-1] == 12 + 1 + 4 + 1 + 1 == 19
    assert np.array_equal(seen, ChessEnvironment(fen.format(7, 90)).observation())
    assert (seen[:, :, 18] == np.float32(0.07)).all() and seen[:, :, 17].sum() == 1
    assert seen[5, 3, 17] == 1  # d6, from White's side
    assert seen[:, :, 13:17].all() and not seen[:, :, 12].any()
    turned = chess.Board(fen.format(7, 20)).mirror().fen()
    mirrored = ChessEnvironment(turned).observation()
    assert mirrored[:, :, 12].all() and np.array_equal(
        np.delete(mirrored, 12, 2), np.delete(seen, 12, 2)
    )
