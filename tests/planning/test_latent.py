"""Searches over a learned model: equal to the reference, and to searches over the rules.

A model that knows the rules of a game by heart must lead to the same tree as the rules themselves,
above the ends of games: there the model pays the result with the last step and nothing after it.
"""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import LatentSearch, Search, SearchConfig, reference
from sylvan.errors import ConfigError, EvaluationError
from sylvan.games import Game, TicTacToe
from sylvan.planning import LatentState, latent, model_arrays
from sylvan.reference.latent import LatentGame, evaluate

# --- models ------------------------------------------------------------------------------------


class TableModel:
    """A model whose every answer is a hash of the hidden state: 40 of them, `[B, 1]`."""

    def __init__(self, seed, actions, players, holes=False):
        rng = np.random.default_rng(seed)
        self.after = rng.integers(0, 40, (40, actions))
        self.logits = rng.normal(size=(40, actions)).astype(np.float32)
        if holes:
            self.logits[rng.random((40, actions)) < 0.3] = -np.inf
            self.logits[:, 0] = 1.0
        shape = (40,) if players <= 2 else (40, players)
        self.values = rng.normal(size=shape).astype(np.float32)
        self.rewards = rng.normal(size=(40, actions, *shape[1:])).astype(np.float32)

    def initial_inference(self, observations):
        states = np.asarray(observations, int)[:, 0]
        nothing = np.zeros_like(self.values[states])
        return self.values[states], nothing, self.logits[states], states[:, None]

    def recurrent_inference(self, hidden, actions):
        before = hidden[:, 0]
        states = self.after[before, actions]
        rewards = self.rewards[before, actions]
        return self.values[states], rewards, self.logits[states], states[:, None]


class PerfectModel:
    """The rules of a game as a model: a hidden state is the number of a position."""

    def __init__(self, first):
        self.positions = [first]

    def said(self, positions, rewards):
        hidden = np.arange(len(self.positions), len(self.positions) + len(positions))[:, None]
        self.positions += positions
        logits, values = zip(*(judged(position) for position in positions), strict=True)
        return np.array(values), np.array(rewards), np.array(logits, np.float32), hidden

    def initial_inference(self, observations):
        roots = [self.positions[0]] * len(observations)
        return self.said(roots, np.zeros((len(roots), roots[0].num_players)))

    def recurrent_inference(self, hidden, actions):
        positions, rewards = [], []
        for (number,), action in zip(hidden, actions, strict=True):
            position = self.positions[number].clone()
            paid = np.zeros(position.num_players)
            if not position.is_terminal():
                position.apply(int(action))
                paid += position.rewards()
                if position.is_terminal():
                    paid += position.returns()
            positions.append(position)
            rewards.append(paid)
        return self.said(positions, rewards)


def judged(position):
    """Logits of all actions and values per seat, hashed from what a position shows."""
    if position.is_terminal():
        return np.zeros(position.num_actions), np.zeros(position.num_players)
    rng = np.random.default_rng(zlib.crc32(position.observation().tobytes()))
    logits = np.full(position.num_actions, -np.inf, np.float32)
    legal = list(position.legal_actions())
    logits[legal] = rng.normal(size=len(legal)).astype(np.float32)
    values = rng.uniform(-1, 1, position.num_players).astype(np.float32)
    if position.zero_sum:
        values = np.array([values[0], -values[0]])
    return logits, values


def judged_leaves(leaves):
    logits, values = zip(*(judged(state) for state in leaves.states), strict=True)
    return np.array(logits, np.float32), np.array(values, np.float32)


class Counting(Game):
    """One seat counts down from 12 by 1 to 3; steps pay what is written on the cell they reach."""

    num_players, num_actions = 1, 3
    value_range = (-12.0, 12.0)

    def __init__(self, left=12, paid=0.0):
        self.left, self.paid = left, paid

    def legal_actions(self):
        return range(min(3, self.left))

    def apply(self, action):
        self.left -= action + 1
        self.paid = ((self.left * 7) % 5 - 2) / 2

    def clone(self):
        return Counting(self.left, self.paid)

    def to_play(self):
        return 0

    def is_terminal(self):
        return self.left == 0

    def returns(self):
        return (0.5,)

    def rewards(self):
        return (self.paid,)

    def observation(self):
        return np.array([self.left], np.float32)


class Ring(Game):
    """Three seats in turn take one or two of eleven; whoever takes the last is paid most."""

    num_players, num_actions = 3, 2

    def __init__(self, left=11, seat=0):
        self.left, self.seat = left, seat

    def legal_actions(self):
        return range(min(2, self.left))

    def apply(self, action):
        self.left -= action + 1
        self.seat = (self.seat + 1) % 3

    def clone(self):
        return Ring(self.left, self.seat)

    def to_play(self):
        return self.seat

    def is_terminal(self):
        return self.left == 0

    def returns(self):
        return tuple((1.0, 0.0, -1.0)[(seat - self.seat + 1) % 3] for seat in range(3))

    def observation(self):
        return np.array([self.left, self.seat], np.float32)


# --- equal trees ---------------------------------------------------------------------------------

RULES = st.sampled_from(["puct", "gumbel", "uct"])


def visits(node, is_end=lambda path: False, path=()):
    """Visits by path, of the whole tree above ends."""
    counts = {path: node.N}
    if not is_end(path):
        for edge in node.edges:
            if edge.N:
                child = edge.child
                counts |= visits(child, is_end, (*path, edge.action))
    return counts


def reference_visits(node, path=()):
    counts = {path: node.N}
    for action, child in node.children.items():
        if child.N:
            counts |= reference_visits(child, (*path, action))
    return counts


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    actions=st.integers(1, 6),
    players=st.integers(1, 3),
    holes=st.booleans(),
    top_k=st.none() | st.integers(1, 5),
    temperature=st.sampled_from([1.0, 0.7, 3.0]),
    floor=st.sampled_from([0.0, 0.3]),
    horizon=st.none() | st.integers(1, 4),
    rule=RULES,
    in_flight=st.sampled_from([1, 3]),
    discount=st.sampled_from([1.0, 0.9]),
    scale=st.sampled_from(["tree", "siblings", (-20.0, 20.0)]),
)
def test_equals_the_reference(
    seed,
    actions,
    players,
    holes,
    top_k,
    temperature,
    floor,
    horizon,
    rule,
    in_flight,
    discount,
    scale,
):
    model = TableModel(seed, actions, players, holes)
    config = SearchConfig(
        simulations=40,
        selection=rule,
        noise=rule == "puct",
        discount=discount,
        value_range=scale,
        leaves_in_flight=in_flight,
        top_k=top_k,
        policy_temperature=temperature,
        prior_floor=floor,
        horizon=horizon,
        seed=seed,
    )
    first, legal = np.array([3]), list(range(actions))[: max(1, actions - 1)]
    plan = LatentSearch(model, config, num_players=players).run(first, legal, seat=players - 1)
    game = LatentGame(
        model,
        first,
        legal,
        num_actions=actions,
        num_players=players,
        seat=players - 1,
        top_k=top_k,
        policy_temperature=temperature,
        prior_floor=floor,
    )
    specification = reference.Search(game, evaluate, config)
    root = specification.run()
    assert visits(plan.tree.root) == reference_visits(root)
    assert plan.best == reference.best(specification)


@pytest.mark.parametrize("game", [TicTacToe(), Counting(), Ring()], ids=lambda g: type(g).__name__)
@pytest.mark.parametrize("rule", ["puct", "gumbel", "uct"])
@pytest.mark.parametrize("simulations", [60, 500])
def test_equals_the_search_over_the_rules(game, rule, simulations):
    config = SearchConfig(simulations=simulations, selection=rule, proofs=False, noise=True, seed=5)
    by_rules = Search(judged_leaves, config).run(game)
    search = LatentSearch(
        PerfectModel(game), config, num_players=game.num_players, value_bounds=game.value_range
    )
    by_model = search.run(np.zeros(1), list(game.legal_actions()))

    def is_end(path):
        position = game.clone()
        for action in path:
            position.apply(action)
        return position.is_terminal()

    assert visits(by_model.tree.root, is_end) == visits(by_rules.tree.root)
    assert by_model.best == by_rules.best
    assert by_model.value == pytest.approx(by_rules.value, abs=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_roots_are_searched_as_one_by_one(threads):
    model = TableModel(7, 5, 2)
    config = SearchConfig(simulations=30, noise=False, threads=threads)
    search = LatentSearch(model, config, num_players=2)
    observations = np.arange(12)[:, None]
    legal = [[a for a in range(5) if a != i % 5] for i in range(12)]
    seats = [i % 2 for i in range(12)]
    for _ in range(2):  # the second time in the rows and trees of the first
        together = search.run_many(observations, legal, seats=seats)
        for i, plan in enumerate(together):
            alone = LatentSearch(model, config, num_players=2)
            expected = alone.run(observations[i], legal[i], seat=seats[i])
            assert visits(plan.tree.root) == visits(expected.tree.root)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_mask_and_an_array_of_seats_are_lists_of_roots(threads):
    rng = np.random.default_rng(3)
    config = SearchConfig(simulations=20, noise=True, threads=threads, seed=4)
    mask = rng.random((9, 5)) < 0.5
    mask[:, 2] |= ~mask.any(axis=1)
    seats = rng.integers(0, 3, 9)
    observations = np.arange(9)[:, None]
    lists = [np.flatnonzero(row).tolist() for row in mask]
    model = TableModel(7, 5, 3)
    searches = [LatentSearch(model, config, num_players=3) for _ in range(2)]
    for _ in range(2):
        by_mask = searches[0].run_many(observations, mask, seats=seats)
        by_list = searches[1].run_many(observations, lists, seats=seats.tolist())
        for ours, theirs in zip(by_mask, by_list, strict=True):
            assert visits(ours.tree.root) == visits(theirs.tree.root)
            assert ours.tree.root.seat == theirs.tree.root.seat


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), players=st.integers(2, 4), rule=RULES)
def test_relative_values_begin_with_whoever_moves(seed, players, rule):
    """A model in seat order knows whose turn it is: here it is in the hidden state."""
    rng = np.random.default_rng(seed)
    table = TableModel(seed, 4, 5)
    values, rewards = table.values[:, :players], table.rewards[..., :players]

    class InTurn:
        def __init__(self, relative):
            self.relative = relative

        def seen(self, numbers, seats):
            if self.relative:
                return numbers
            return np.array([np.roll(row, s) for row, s in zip(numbers, seats, strict=True)])

        def initial_inference(self, observations):
            states, seats = observations.T
            hidden = np.stack([states, seats], axis=1)
            value = self.seen(values[states], seats)
            return value, np.zeros_like(value), table.logits[states], hidden

        def recurrent_inference(self, hidden, actions):
            before, seats = hidden.T
            states, following = table.after[before, actions], (seats + 1) % players
            return (
                self.seen(values[states], following),
                self.seen(rewards[before, actions], seats),
                table.logits[states],
                np.stack([states, following], axis=1),
            )

    seats = rng.integers(0, players, 6)
    observations = np.stack([rng.integers(0, 40, 6), seats], axis=1)
    config = SearchConfig(simulations=30, selection=rule, discount=0.9, noise=False)
    plans = [
        LatentSearch(InTurn(r), config, num_players=players, zero_sum=False, relative=r)
        for r in (False, True)
    ]
    absolute, relative = (plan.run_many(observations, seats=seats) for plan in plans)
    for ours, theirs in zip(absolute, relative, strict=True):
        assert visits(ours.tree.root) == visits(theirs.tree.root)
        np.testing.assert_array_equal(ours.values, theirs.values)
    game = LatentGame(
        InTurn(True),
        observations[0],
        range(4),
        num_actions=4,
        num_players=players,
        seat=int(seats[0]),
        relative=True,
    )
    game.zero_sum = False
    root = reference.Search(game, evaluate, config).run()
    assert visits(relative[0].tree.root) == reference_visits(root)


def test_what_was_found_comes_as_arrays():
    model, count = TableModel(5, 6, 2), 30
    search = LatentSearch(model, simulations=25, num_players=2, noise=False)
    mask = np.random.default_rng(1).random((count, 6)) < 0.6
    mask[:, 0] = True
    forest = search.search(np.arange(count)[:, None], mask, seats=np.arange(count) % 2)
    found = forest.outcomes()
    policy = found.dense(6)
    assert policy.shape == (count, 6) and found.values.shape == (count, 2)
    assert not policy[~mask].any()
    for tree, result in enumerate(forest.results()):
        np.testing.assert_array_equal(policy[tree], result.policy)
        np.testing.assert_allclose(found.values[tree], result.values, rtol=1e-6)
        assert found.best[tree] == result.best


def test_hidden_states_may_be_tensors():
    torch = pytest.importorskip("torch")
    arrays = TableModel(3, 4, 1)

    class Tensors:
        def initial_inference(self, observations):
            answer = arrays.initial_inference(observations)
            return (*answer[:3], torch.from_numpy(answer[3]))

        def recurrent_inference(self, hidden, actions):
            assert isinstance(hidden, torch.Tensor) and isinstance(actions, torch.Tensor)
            answer = arrays.recurrent_inference(hidden.numpy(), actions.numpy())
            return tuple(map(torch.from_numpy, answer))

    plans = [LatentSearch(m, simulations=25).run(np.array([1])) for m in (arrays, Tensors())]
    assert visits(plans[0].tree.root) == visits(plans[1].tree.root)


def test_the_highest_logits_are_found_where_they_are(monkeypatch):
    """As if tensors were on a device: of a row only `top_k` logits and actions are fetched."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for _ in range(40):
        logits = rng.integers(-3, 3, (4, 30)).astype(np.float32)  # many ties
        logits[rng.random((4, 30)) < 0.2] = -np.inf
        logits[logits == 0] = rng.choice([0.0, -0.0])
        k = int(rng.integers(1, 30))
        values, codes = model_arrays.highest(torch.from_numpy(logits), k)
        order = np.argsort(-logits, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(codes, np.sort(order, axis=1))
        np.testing.assert_array_equal(values, np.take_along_axis(logits, codes.numpy(), axis=1))

    table, fetched = TableModel(3, 12, 1, holes=True), []

    class Device(TableModel):
        def recurrent_inference(self, hidden, actions):
            answer = table.recurrent_inference(hidden, actions)
            return (*answer[:2], torch.from_numpy(answer[2]), answer[3])

    def numbers(array, name, method):
        fetched.append((name, np.shape(array)))
        return own(array, name, method)

    own = latent.to_numpy
    monkeypatch.setattr(latent, "is_on_device", model_arrays.is_tensor)
    monkeypatch.setattr(latent, "to_numpy", numbers)
    observations = np.arange(5)[:, None]
    config = SearchConfig(simulations=20, top_k=4, noise=False)
    far = LatentSearch(Device(3, 12, 1, holes=True), config).run_many(observations)
    assert ("policy", (5, 4)) in fetched
    near = LatentSearch(table, config).run_many(observations)
    for ours, theirs in zip(far, near, strict=True):
        assert visits(ours.tree.root) == visits(theirs.tree.root)

    class Broken(Device):
        def recurrent_inference(self, hidden, actions):
            answer = super().recurrent_inference(hidden, actions)
            answer[2][:, 7] = -torch.nan
            return answer

    with pytest.raises(EvaluationError, match=r"NaN.*action 7"):
        LatentSearch(Broken(3, 12, 1), config).run_many(observations)


def test_memory_does_not_grow_with_searches():
    search = LatentSearch(TableModel(1, 6, 1), simulations=20)
    search.run(np.array([1]))
    after_one = search.bytes
    for state in range(50):
        search.run(np.array([state % 40]))
    assert search.bytes <= after_one * 1.5


def test_its_tree_is_shown_like_any_other(tmp_path):
    plan = LatentSearch(TableModel(1, 3, 1), simulations=20).run(np.array([1]))
    plan.save(tmp_path / "tree.svg")
    assert "<svg" in (tmp_path / "tree.svg").read_text()
    assert "simulations" in str(plan)


# --- bad input ------------------------------------------------------------------------------------


class Broken(TableModel):
    def __init__(self, **answers):
        super().__init__(0, 3, 1)
        self.answers = answers

    def recurrent_inference(self, hidden, actions):
        names = ("value", "reward", "policy", "hidden")
        answer = dict(
            zip(names, super().recurrent_inference(hidden, actions), strict=True), **self.answers
        )
        return tuple(answer.values())


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (
            {"value": np.array([np.nan])},
            r"recurrent_inference.*value.*nan",
        ),
        (
            {"reward": np.array([np.inf])},
            r"recurrent_inference.*reward.*inf",
        ),
        ({"policy": np.zeros((1, 4))}, r"\(1, 4\)"),
        ({"policy": np.array([[np.nan, 0, 0]])}, r"NaN.*action 0"),
        ({"policy": np.full((1, 3), -np.inf)}, "finite"),
        ({"hidden": np.zeros((1, 2))}, r"\(2,\).*\(1,\)"),
        ({"hidden": np.zeros((1, 1))}, r"float64.*int64"),
        ({"hidden": None}, "NoneType"),
        ({"hidden": [[1], [2, 3]]}, r"hidden state.*list"),
        ({"value": np.zeros((1, 2))}, r"\(1, 2\)"),
    ],
)
def test_a_model_that_answers_wrongly(answers, sentence):
    search = LatentSearch(Broken(**answers), simulations=5)
    with pytest.raises(EvaluationError, match=sentence):
        search.run(np.array([1]))
    search.model = TableModel(0, 3, 1)
    assert search.run(np.array([1])).simulations == 5  # usable again


@pytest.mark.parametrize(
    ("legal", "sentence"),
    [
        ([], "Root 0"),
        ([3], "3 to 3"),
        ([-1, 1], "-1 to 1"),
        ([1, 1], "1 more than once"),
        ([True, False, True], "3 booleans"),
        ([1.5], r"root 0.*\[1\.5\]"),
        (["e4"], "action"),
        ([[0], [1, 2]], "action"),
        (7, r"root 0.*7"),
        ("01", "action"),
        (np.array([True, False]), r"root 0.*\(2,\)"),
        (np.zeros(3, bool), "Root 0"),
    ],
)
def test_legal_actions_must_exist(legal, sentence):
    with pytest.raises(ConfigError, match=sentence):
        LatentSearch(TableModel(0, 3, 1), simulations=5).run(np.array([1]), legal)


@pytest.mark.parametrize(
    ("roots", "sentence"),
    [
        ({"legal_actions": np.zeros((2, 3), bool)}, "Root 0"),
        ({"legal_actions": np.ones((2, 4), bool)}, r"\(2, 4\)"),
        ({"legal_actions": [[0]]}, "1 lists"),
        ({"legal_actions": {0, 1}}, "action"),
        ({"legal_actions": [0, 1]}, r"root 0.*0"),
        ({"legal_actions": np.array([[0, 1], [2, 2]])}, r"root 1.*name 2"),
        ({"seats": [0]}, r"\(1,\)"),
        ({"seats": np.array([0, 2])}, r"Root 1.*seat 2"),
        ({"seats": [0.5, 0.5]}, "per root"),
    ],
)
def test_roots_must_fit_the_model(roots, sentence):
    search = LatentSearch(TableModel(0, 3, 2), simulations=5, num_players=2)
    with pytest.raises(ConfigError, match=sentence):
        search.search(np.array([[1], [2]]), **roots)


def test_legal_actions_may_be_a_mask_of_one_root_or_codes_in_an_array():
    search = LatentSearch(TableModel(3, 4, 1), simulations=25)
    by_list = visits(search.run(np.array([1]), [0, 3]).tree.root)
    assert visits(search.run(np.array([1]), np.array([1, 0, 0, 1], bool)).tree.root) == by_list
    assert visits(search.run(np.array([1]), np.array([0, 3])).tree.root) == by_list
    (many,) = search.run_many(np.array([[1]]), np.array([[0, 3]]))
    assert visits(many.tree.root) == by_list
    (many,) = search.run_many(np.array([[1]]), [np.array([1, 0, 0, 1], bool)])
    assert visits(many.tree.root) == by_list


def test_observations_and_hidden_states_may_be_lists():
    class Lists(TableModel):
        def initial_inference(self, observations):
            value, reward, policy, hidden = super().initial_inference(observations)
            return value, reward, policy, hidden.tolist()

    found = LatentSearch(Lists(3, 4, 1), simulations=25).run([1])
    expected = LatentSearch(TableModel(3, 4, 1), simulations=25).run(np.array([1]))
    assert visits(found.tree.root) == visits(expected.tree.root)
    for wrong in ({"seen": 1}, [[1], [2, 3]], None):
        with pytest.raises(ConfigError, match="array"):
            LatentSearch(TableModel(3, 4, 1), simulations=25).run(wrong)


@pytest.mark.parametrize("observations", [np.zeros((2, 1)), [[0], [1]]])
def test_a_model_answers_for_the_positions_that_it_was_asked_about(observations):
    class Talkative(TableModel):
        def initial_inference(self, observations):
            return super().initial_inference(np.zeros((3, 1)))

    with pytest.raises(EvaluationError, match=r"2 positions.*3"):
        LatentSearch(Talkative(3, 4, 1), simulations=5).run_many(observations)


def test_a_model_knows_at_least_one_action():
    class Nothing(TableModel):
        def initial_inference(self, observations):
            value, reward, _, hidden = super().initial_inference(observations)
            return value, reward, np.zeros((len(value), 0)), hidden

    with pytest.raises(EvaluationError, match=r"\(1, 0\)"):
        LatentSearch(Nothing(3, 4, 1), simulations=5).run(np.array([1]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_players": "2"}, r"num_players.*'2'"),
        ({"num_players": 1.5}, r"num_players.*1\.5"),
        ({"num_players": 0}, r"num_players.*0"),
        ({"value_bounds": (1,)}, r"value_bounds.*\(1,\)"),
        ({"value_bounds": (1, -1)}, r"least.*most"),
        ({"value_bounds": None}, r"value_bounds.*None"),
    ],
)
def test_settings_of_a_model_that_are_none(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        LatentSearch(TableModel(0, 3, 1), simulations=5, **settings)


def test_a_model_whose_states_change_their_size_between_searches_is_searched_anew():
    class Growing(TableModel):
        width, kind = 1, int

        def said(self, answer):
            value, reward, policy, hidden = answer
            return value, reward, policy, np.repeat(hidden, self.width, axis=1).astype(self.kind)

        def initial_inference(self, observations):
            return self.said(super().initial_inference(observations))

        def recurrent_inference(self, hidden, actions):
            return self.said(super().recurrent_inference(hidden[:, :1].astype(int), actions))

    search = LatentSearch(Growing(3, 4, 1), simulations=25)
    expected = visits(search.run(np.array([1])).tree.root)
    for search.model.width, search.model.kind in ((3, int), (3, np.float32), (1, int)):
        assert visits(search.run(np.array([1])).tree.root) == expected


def test_a_search_keeps_nothing_for_a_gradient():
    """A module that is not told otherwise remembers how each number was made."""
    torch = pytest.importorskip("torch")

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.step, self.policy = torch.nn.Linear(4, 4), torch.nn.Linear(4, 3)

        def initial_inference(self, observations):
            return self.said(torch.as_tensor(observations))

        def recurrent_inference(self, hidden, actions):
            assert not hidden.requires_grad
            return self.said(hidden + actions[:, None])

        def said(self, hidden):
            after = torch.tanh(self.step(hidden))
            return after[:, 0], after[:, 1], self.policy(after), after

    search = LatentSearch(Module(), simulations=8)
    for _ in range(2):
        search.run(np.ones(4, np.float32))
        assert search._hidden.grad_fn is None and not search._hidden.requires_grad


def test_half_precision_is_read():
    torch = pytest.importorskip("torch")
    table = TableModel(3, 4, 1)

    class Half(TableModel):
        def initial_inference(self, observations):
            *said, hidden = table.initial_inference(observations)
            return *(torch.from_numpy(x).bfloat16() for x in said), torch.from_numpy(hidden)

        def recurrent_inference(self, hidden, actions):
            *said, hidden = table.recurrent_inference(hidden.numpy(), actions.numpy())
            return *(torch.from_numpy(x).bfloat16() for x in said), torch.from_numpy(hidden)

    assert LatentSearch(Half(3, 4, 1), simulations=25).run(np.array([1])).simulations == 25


def test_a_model_must_have_both_methods():
    with pytest.raises(ConfigError, match="initial_inference"):
        LatentSearch(object(), simulations=5)
    with pytest.raises(ConfigError, match="simulations"):
        LatentSearch(TableModel(0, 3, 1), simulations=None, seconds=1)
    with pytest.raises(ValueError, match="seat 2 of 2"):
        LatentState(2, 3, [0], 2)
