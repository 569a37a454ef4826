"""Leaves in flight: fields of a batch, forms of an answer, exact removal of virtual visits."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Forest, SearchConfig
from sylvan.errors import EvaluationError, GameContractError, SearchStateError
from sylvan.evaluators import HashRandom, Rollout
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning.broken_games import Fault, Faulty
from tests.planning.random_games import Shape, evaluate_leaves, make
from tests.planning.settings import configs
from tests.planning.twins import everything, finish, flat, found, numbers, skewed

few = settings(suppress_health_check=list(HealthCheck))
EXAMPLES = Path(__file__).parents[2] / "examples"
NATIVE = [TicTacToe(), ConnectFour("44"), Chess(moves="e4 c5")]
PYTHON = [make(Shape(seed=1)), make(Shape(seed=2, num_players=3, zero_sum=False, chance=0.3))]


def batches(state, count=25, **limits):
    """Some batches of two trees, each answered after it was looked at."""
    forest = Forest([state, state], simulations=60, **limits)
    for leaves in forest:
        yield forest, leaves
        count -= 1
        if count == 0:
            break
        forest.update(*flat(leaves))


# --- what a batch shows ----------------------------------------------------------------------


@pytest.mark.parametrize("state", NATIVE + PYTHON, ids=lambda state: type(state).__name__)
def test_a_batch_shows_its_states(state):
    for forest, leaves in batches(state, leaves_in_flight=3):
        size = len(leaves)
        assert 1 <= size <= 6
        assert leaves.observations.shape == (size, *state.observation().shape)
        assert leaves.observations.dtype == state.observation().dtype
        assert leaves.mask.shape == (size, state.num_actions)
        assert leaves.mask.sum() == len(leaves.actions) == leaves.offsets[-1]
        assert leaves.trees.tolist() == sorted(leaves.trees)
        for i, position in enumerate(leaves.states):
            assert type(position) is type(state)
            assert leaves.seats[i] == position.to_play()
            assert leaves.legal(i).tolist() == list(position.legal_actions())
            assert np.flatnonzero(leaves.mask[i]).tolist() == sorted(position.legal_actions())
            np.testing.assert_array_equal(leaves.observations[i], position.observation())
        assert forest.in_flight


@pytest.mark.parametrize("state", NATIVE + PYTHON, ids=lambda state: type(state).__name__)
def test_what_was_shown_is_not_overwritten(state):
    """Arrays live as long as somebody holds them; no later batch writes into them."""
    names = ["observations", "mask", "actions", "offsets", "seats", "trees", "tickets"]
    held, copies = [], []
    for _, leaves in batches(state, leaves_in_flight=2):
        held.append([getattr(leaves, name) for name in names])
        copies.append([array.copy() for array in held[-1]])
    assert len(held) > 5
    for arrays, then in zip(held, copies, strict=True):
        for array, copy in zip(arrays, then, strict=True):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("state", NATIVE, ids=lambda state: type(state).__name__)
def test_memory_that_nobody_holds_is_used_again(state):
    """Any view counts as holding: a slice, a row, another shape or type."""
    views = [
        lambda array: array,
        lambda array: array[:1],
        lambda array: array.reshape(-1)[3:].view(np.uint8)[::2],
        lambda array: memoryview(array[0]),
    ]

    def addresses(hold):
        forest = Forest([state.clone() for _ in range(3)], simulations=12)
        for leaves in forest:
            observations = leaves.observations
            held.append(hold(observations))
            yield observations.__array_interface__["data"][0]
            del observations
            forest.update(*skewed(leaves))
            del leaves

    for view in views:
        held = []
        used = list(addresses(view))
        assert len(used) > 5 and len(set(used)) == len(used)
    assert len(set(addresses(lambda _: None))) <= 2


def test_observations_are_written_once():
    for _, leaves in batches(ConnectFour()):
        assert leaves.observations is leaves.observations
        assert leaves.mask is leaves.mask


@pytest.mark.parametrize("state", [*NATIVE, PYTHON[0]], ids=lambda state: type(state).__name__)
def test_states_of_leaves_are_copies(state):
    for _, leaves in batches(state, count=4):
        before = leaves.observations.copy()
        for position in leaves.states:
            position.apply(position.legal_actions()[0])
        np.testing.assert_array_equal(leaves.states[0].observation(), before[0])


def test_tickets_are_fixed_by_seed_tree_and_order():
    def tickets(states, **config):
        forest = Forest(states, simulations=20, leaves_in_flight=2, **config)
        found = []
        for leaves in forest:
            found += zip(leaves.trees.tolist(), leaves.tickets.tolist(), strict=True)
            forest.update(*flat(leaves))
        return found

    pair = tickets([ConnectFour()] * 2)
    assert len({ticket for _, ticket in pair}) == len(pair), "two leaves share a seed"
    assert [(t, k) for t, k in pair if t == 0] == tickets([ConnectFour()])
    assert tickets([ConnectFour()] * 2, threads=2) == pair
    assert not {k for _, k in tickets([ConnectFour()], seed=1)} & {k for _, k in pair}


# --- the forms of an answer ------------------------------------------------------------------


def forms(logits, values):
    """The same answer in every form that `update` takes."""
    wide = np.asarray(logits, np.float64)
    yield "float32", logits, values
    yield "double", wide, values.astype(np.float64)
    yield "column", logits, values.reshape(-1, 1)
    yield "lists", logits.tolist(), values.tolist()
    yield "strided", np.repeat(logits, 2, axis=1)[:, ::2], np.repeat(values, 2)[::2]
    yield "fortran", np.asfortranarray(logits), values
    yield "read-only", np.broadcast_to(logits, logits.shape), values


def test_every_form_of_an_answer_counts_the_same():
    found = {}
    for index, form in enumerate(
        [
            "float32",
            "double",
            "column",
            "lists",
            "strided",
            "fortran",
            "read-only",
            "legal",
            "seats",
        ]
    ):
        forest = Forest([TicTacToe(), TicTacToe([4])], simulations=50)
        for leaves in forest:
            logits, values = skewed(leaves)
            if form == "legal":
                rows = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
                forest.update(logits[rows, leaves.actions], values)
            elif form == "seats":
                first = np.where(leaves.seats == 0, values, -values)
                forest.update(logits, np.stack([first, -first], axis=1))
            else:
                name, policy, value = list(forms(logits, values))[index]
                assert name == form
                forest.update(policy, value)
        found[form] = everything(forest)
    assert all(result == found["float32"] for result in found.values())


def test_illegal_actions_may_have_any_logit():
    forests = [Forest([TicTacToe([4])], simulations=30) for _ in range(2)]
    for forest, filler in zip(forests, (0.0, np.nan), strict=True):
        for leaves in forest:
            logits, values = skewed(leaves)
            forest.update(np.where(leaves.mask, logits, np.float32(filler)), values)
    assert everything(forests[0]) == everything(forests[1])


def test_minus_infinity_is_a_prior_of_nothing():
    forest = Forest([TicTacToe()], simulations=0)
    logits = np.full((1, 9), -np.inf, np.float32)
    logits[0, 4] = 1.0
    forest.select()
    forest.update(logits, [0.0])
    assert forest.select() is None
    policy = forest.result().policy
    assert policy[4] == pytest.approx(1.0) and policy.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_values_are_one_per_seat_where_one_does_not_say_all(players):
    state = make(Shape(seed=5, num_players=players, zero_sum=False))
    forest = Forest([state], simulations=20)
    leaves = forest.select()
    logits = np.zeros((1, state.num_actions), np.float32)
    if players > 1:
        with pytest.raises(EvaluationError, match=rf"\(1, {players}\)"):
            forest.update(logits, [0.0])
    values = np.linspace(-1, 1, players, dtype=np.float32)
    forest.update(logits, [values])
    assert leaves.seats[0] == state.to_play()
    assert forest.result().values == pytest.approx(values.tolist())


# --- virtual visits go exactly ----------------------------------------------------------------


def check_counts(node):
    """A node was evaluated once and then visited through its edges; nothing is left in flight."""
    visits = sum(edge.N for edge in node.edges)
    if node.kind == "decision":
        assert visits + 1 == node.N
    elif node.kind == "chance":
        assert visits == node.N
    for edge in node.edges:
        if edge.child is not None:
            assert edge.child.N == edge.N
            check_counts(edge.child)


@few
@given(
    seed=st.integers(0, 2**32),
    players=st.integers(1, 3),
    chance=st.sampled_from([0.0, 0.3]),
    config=configs(st.integers(0, 150)),
    in_flight=st.sampled_from([1, 2, 5, 64]),
)
def test_visits_add_up_whatever_was_in_flight(seed, players, chance, config, in_flight):
    state = make(Shape(seed=seed, num_players=players, zero_sum=players == 2, chance=chance))
    config = config.replace(leaves_in_flight=in_flight, proofs=False)
    forest = finish(Forest([state, state], config), evaluate_leaves)
    for result in forest.results():
        check_counts(result.tree.root)
        assert result.simulations + 1 == result.tree.root.N


@few
@given(
    seed=st.integers(0, 2**32),
    config=configs(st.integers(1, 100)),
    in_flight=st.sampled_from([1, 4]),
    at=st.integers(1, 30),
)
def test_abandoned_leaves_leave_the_statistics_alone(seed, config, in_flight, at):
    """Every number is as before. No walk comes to the game's end: a finished game would stay."""
    state = make(Shape(seed=seed, stop=0.0, depth=150, branching=7))
    forest = Forest([state], config.replace(leaves_in_flight=in_flight, proofs=False))
    while at > 0 and (leaves := forest.select()) is not None:
        forest.update(*evaluate_leaves(leaves))
        at -= 1
    before = numbers(forest.result().tree.root), forest.result().simulations
    if forest.select() is not None:
        forest.abandon()
    assert (numbers(forest.result().tree.root), forest.result().simulations) == before
    assert not forest.in_flight
    finish(forest, evaluate_leaves)
    check_counts(forest.result().tree.root)


@pytest.mark.parametrize("selection", ["puct", "uct", "gumbel"])
@pytest.mark.parametrize("in_flight", [1, 8])
def test_a_batch_abandoned_at_the_limit_is_selected_again(selection, in_flight):
    config = SearchConfig(simulations=40, selection=selection, leaves_in_flight=in_flight)
    forest = Forest([ConnectFour("44")], config.replace(proofs=False))
    times = 0
    while (leaves := forest.select()) is not None:
        times += 1
        if times % 3:
            forest.update(*HashRandom()(leaves))
        else:
            forest.abandon()
    result = forest.result()
    assert (result.simulations, result.stopped_by) == (40, "simulations")
    assert sum(edge.N for edge in result.tree.root.edges) == 40


@pytest.mark.parametrize("evaluator", [HashRandom(), Rollout()], ids=["hash", "rollout"])
@pytest.mark.parametrize("selection", ["puct", "uct", "gumbel"])
def test_abandoned_leaves_leave_no_trace(selection, evaluator):
    """In a game without an end the search finds what it would have found without them."""
    config = SearchConfig(simulations=60, selection=selection, leaves_in_flight=4, proofs=False)
    for seed in range(6):
        state = make(Shape(seed=seed, stop=0.0, depth=40, branching=7))
        forests = [Forest([state], config) for _ in range(2)]
        times = 0
        while (leaves := forests[0].select()) is not None:
            times += 1
            if times % 3 == 0:
                forests[0].abandon()
            else:
                forests[0].update(*evaluator(leaves))
        assert everything(forests[0]) == everything(finish(forests[1], evaluator))


@pytest.mark.parametrize("method", ["apply", "legal_actions", "is_terminal", "to_play"])
@pytest.mark.parametrize("in_flight", [1, 8])
def test_an_error_amid_a_batch_gives_all_of_it_back(method, in_flight):
    """Leaves already selected are abandoned; every finished visit is still there."""
    fault = Fault(method, calls=10**9, error=ZeroDivisionError())
    config = SearchConfig(simulations=80, leaves_in_flight=in_flight, proofs=False)
    forest = Forest([Faulty(fault), Faulty(fault)], config)
    leaves = forest.select()
    for _ in range(6):
        forest.update(*flat(leaves))
        leaves = forest.select()
    forest.update(*flat(leaves))
    before = [numbers(result.tree.root) for result in forest.results()]
    for calls in range(5, 30):  # later and later within the batch
        fault.calls = calls
        try:
            if forest.select() is not None:
                forest.abandon()
        except ZeroDivisionError:
            assert not forest.in_flight
        fault.calls = 10**9
        after = [numbers(result.tree.root) for result in forest.results()]
        finished = [result.simulations for result in forest.results()]
        if after != before:  # a game that ended on the way was backed up, and counts
            assert all(check_counts(result.tree.root) is None for result in forest.results())
            before = after
    finish(forest, flat)
    for result, least in zip(forest.results(), finished, strict=True):
        check_counts(result.tree.root)
        assert result.simulations >= least and result.stopped_by == "simulations"


def test_a_batch_is_closed_by_collisions():
    """A single line of play has one leaf at a time, however many may be in flight."""
    state = make(Shape(seed=3, branching=1, depth=30, stop=0.0))
    for collisions in (0, 1, 20):
        config = SearchConfig(simulations=25, leaves_in_flight=16, collisions=collisions)
        forest = Forest([state], config.replace(proofs=False))
        sizes = []
        for leaves in forest:
            sizes.append(len(leaves))
            forest.update(*evaluate_leaves(leaves))
        assert set(sizes) == {1} and found(forest.result())[3][0] == 25


def test_the_most_leaves_and_collisions_fit():
    """Visits in flight are counted in 16 bits; the settings keep them below."""
    config = SearchConfig(simulations=20_000, leaves_in_flight=4096, collisions=32_768)
    forest = Forest([TicTacToe()], config.replace(proofs=False))
    forest.run("hash_random")
    check_counts(forest.result().tree.root)
    assert forest.result().simulations == 20_000


@pytest.mark.parametrize("in_flight", [1, 8])
def test_giving_up_amid_a_full_tree(in_flight):
    """Nodes come and go for two reasons at once: no room, and no evaluation."""
    state = make(Shape(seed=6, stop=0.02, depth=40, branching=7, chance=0.3))
    config = SearchConfig(simulations=2500, leaves_in_flight=in_flight, bytes=65536, proofs=False)
    forest = Forest([state], config)
    times = 0
    while (leaves := forest.select()) is not None:
        times += 1
        if times % 4 == 0:
            forest.abandon()
        else:
            forest.update(*evaluate_leaves(leaves))
    result = forest.result()
    root = result.tree.root
    assert (result.simulations, result.stopped_by) == (2500, "simulations")
    assert sum(edge.N for edge in root.edges) == root.N - 1 == 2500
    assert result.bytes <= 65536 * 1.1


@pytest.mark.parametrize("game", NATIVE, ids=lambda game: type(game).__name__)
@pytest.mark.parametrize("threads", [1, 3])
def test_observations_into_an_array(game, threads):
    """The same as those read, whether the array is made for them or not."""
    wanted = Forest([game] * 7, simulations=1, threads=threads).select().observations
    leaves = Forest([game] * 7, simulations=1, threads=threads).select()
    made_for_them = np.ones_like(wanted)
    leaves.observe(made_for_them)
    np.testing.assert_array_equal(made_for_them, wanted)
    assert "observations" not in vars(leaves), "written without an array between"
    for other in (np.ones(wanted.shape, np.float64), np.ones_like(wanted)[::-1]):
        leaves.observe(other)
        np.testing.assert_array_equal(other, wanted)
    with pytest.raises(EvaluationError, match=r"\(7, .*\(6, "):
        leaves.observe(made_for_them[1:])


def test_observations_into_an_array_in_time():
    """Not those of leaves that are gone."""
    forest = Forest([ConnectFour()], simulations=2)
    leaves = forest.select()
    forest.update(np.zeros((1, 7)), np.zeros(1))
    with pytest.raises(SearchStateError, match="already"):
        leaves.observe(np.zeros((1, 2, 6, 7), np.float32))


def test_a_logit_that_no_policy_has():
    """Whether all logits are given or only the legal ones are asked for, the game is to blame."""

    class Beyond(runpy.run_path(str(EXAMPLES / "nim.py"))["Nim"]):
        def clone(self):
            return Beyond(self.stones, self.seat)

        def logit_index(self, action):
            return action + 1

    state, last = Beyond(), Beyond.num_actions
    message = rf"The logit of action {last - 1} is at {last}, but num_logits is {last}: make"
    forest = Forest([state], simulations=1)
    leaves = forest.select()
    with pytest.raises(GameContractError, match=message):
        _ = leaves.logit_indices
    with pytest.raises(GameContractError, match=message):
        forest.update(np.zeros((1, last)), np.zeros(1))


# --- values out of range -------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["mover", "seats"])
@pytest.mark.parametrize("value", [5.0, -1.2, 1e30])
def test_a_value_outside_the_games_range_is_refused(value, form):
    forest = Forest([TicTacToe(), TicTacToe([0])], simulations=10)
    leaves = forest.select()
    values = np.zeros(2 if form == "mover" else (2, 2), np.float32)
    values[(1,) if form == "mover" else (1, 1)] = value
    where = r"leaf 1 \(tree 1\) is " + f"{np.float32(value)}".replace("+", r"\+")
    with pytest.raises(EvaluationError, match=where + ".* from -1 to 1"):
        forest.update(np.zeros((2, 9)), values)
    forest.update(np.zeros((2, 9)), np.clip(values, -1, 1))
    assert leaves is not None and not forest.in_flight


def test_values_may_round_beyond_the_range_or_lie_in_the_range_of_the_settings():
    for value, change in ((1.001, {}), (-3.0, {"value_range": (-3.0, 5.0)})):
        forest = Forest([TicTacToe()], simulations=10, **change)
        forest.select()
        forest.update(np.zeros((1, 9)), [value])


def test_a_game_without_bounds_takes_any_finite_value():
    game = make(Shape(seed=1, num_players=1, zero_sum=False, rewards=True))
    type(game).value_range, bounds = (-np.inf, np.inf), type(game).value_range
    try:
        forest = Forest([game], simulations=10)
        leaves = forest.select()
        forest.update(np.zeros(len(leaves.actions)), [1e30])
    finally:
        type(game).value_range = bounds
