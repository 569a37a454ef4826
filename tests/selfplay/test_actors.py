"""Actors: the games of the reference, whatever the number of actors, batches and rows."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sylvan import _native
from sylvan.errors import ConfigError, EvaluationError, SearchStateError
from sylvan.evaluators import Rollout
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.selfplay.actors import Actors, attend
from sylvan.selfplay.config import SelfPlayConfig
from tests.selfplay.reference_games import HiddenReferenceGame, ReferenceGame, evaluate_leaves

SEARCH = SearchConfig(simulations=12, noise=True, forced_playouts=2.0)
CONFIG = SelfPlayConfig(
    games=6,
    temperature_plies=5,
    full_share=0.6,
    fast_simulations=5,
    opening_share=0.3,
    opening_plies=3,
    restart_share=0.2,
    max_plies=24,
    resign_below=-0.2,
    resign_turns=1,
    resign_play_on=0.5,
)
POSITIONS = {"tictactoe": [[4], [0, 4]], "connect4": [[3, 3, 3]], "chess": []}
ENDINGS = {"tictactoe": {"end"}, "connect4": {"end", "resign"}, "chess": {"limit"}}
GAMES = 9
DRAWN = Path(__file__).parent / "selfplay_games.py"


def actors(spec, config=CONFIG, search=SEARCH, seed=5, encoding=None, batches=2, **ways):
    config = config.replace(batches=batches)
    return Actors(GameSpec(spec), config, seed, encoding, search, **ways)


def equal_columns(one, other):
    return one.columns.keys() == other.columns.keys() and all(
        np.array_equal(one[name], other[name]) for name in one.columns
    )


def check_equal(games, twins):
    """Compare columns with the games of the reference, to the bit."""
    assert len(games) == len(twins)
    for game, twin in enumerate(twins):
        record = games.record(game)
        assert record.seed == twin.seed
        assert record.actions.tolist() == [ply["action"] for ply in twin.plies]
        assert record.seats.tolist() == [ply["seat"] for ply in twin.plies]
        assert record.ending == twin.ending
        np.testing.assert_array_equal(record.returns, np.array(twin.returns, np.float32))
        assert games["openings"][game] == twin.opening
        assert (games["resigning"][game], games["played_on"][game]) == (twin.would, twin.play_on)
        for t, ply in enumerate(twin.plies):
            assert record.legal(t).tolist() == ply.get("policy_actions", [])
            if "rewards" in ply:
                assert record.rewards[t].tolist() == np.array(ply["rewards"], np.float32).tolist()
            if "policy" in ply:
                np.testing.assert_array_equal(record.target(t), ply["policy"])
                np.testing.assert_array_equal(record.values[t], ply["values"])
                assert record.weights[t] == ply["weight"]
            else:
                assert not record.values[t].any() and record.weights[t] == 0


@pytest.mark.parametrize("spec", ["tictactoe", "connect4", "chess"])
@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("threads", [2, 16])
def test_actors_play_the_games_of_the_reference(spec, reuse, threads):
    config, positions = CONFIG.replace(reuse=reuse, games=max(6, threads)), POSITIONS[spec]
    many = actors(spec, config, actors=threads, rows=3)
    games = many.play(evaluate_leaves, 3, GAMES, positions)
    twins = [
        ReferenceGame(GameSpec(spec).first(), config, SEARCH, 5, number, positions)
        for number in range(3, 3 + GAMES)
    ]
    check_equal(games, twins)
    # The settings are put to use.
    assert {ply.get("weight") for twin in twins for ply in twin.plies} == {None, 0.0, 1.0}
    assert {twin.opening > 0 for twin in twins} == {False, True}
    assert {twin.ending for twin in twins} >= ENDINGS[spec]


@pytest.mark.parametrize("kind", ["Drawn", "DrawnRewarding"])
@pytest.mark.parametrize(
    "shape",
    [
        {"depth": 9},
        {"depth": 8, "chance": 0.3},
        {"num_players": 3, "zero_sum": False, "alternate": True},
        {"num_players": 1, "zero_sum": False, "graded": True, "chance": 0.2},
    ],
    ids=["two seats", "chance", "three seats", "one seat"],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_actors_play_games_with_random_rules(kind, shape, seed):
    spec = GameSpec(f"{DRAWN}:{kind}", {"seed": seed, **shape})
    config = CONFIG.replace(max_plies=6, games=4)
    if "chance" in shape:
        config = config.replace(opening_share=0.0)
    if shape.get("num_players", 2) != 2:
        config = config.replace(resign_below=None)
    games = Actors(spec, config, 5, None, SEARCH, rows=3).play(evaluate_leaves, 0, GAMES)
    twins = [ReferenceGame(spec.first(), config, SEARCH, 5, number) for number in range(GAMES)]
    check_equal(games, twins)
    assert (games["seats"] == -1).any() == any(
        ply["seat"] == -1 for twin in twins for ply in twin.plies
    )


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(simulations=16, noise=True, leaves_in_flight=4),
        SearchConfig(simulations=16, selection="gumbel", max_considered=4),
        SearchConfig(simulations=16, selection="uct"),
        SearchConfig(simulations=16, proofs=False, fpu="loss"),
    ],
    ids=["leaves", "gumbel", "uct", "loss"],
)
def test_every_search_is_the_search_of_the_reference(search):
    config = CONFIG.replace(full_share=1.0)
    games = actors("connect4", config, search, actors=2, rows=7).play(evaluate_leaves, 0, GAMES)
    first = GameSpec("connect4").first()
    check_equal(games, [ReferenceGame(first, config, search, 5, n) for n in range(GAMES)])


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("sequence", [[3], [2, 1, 2]], ids=["round", "rounds"])
def test_hidden_information_is_searched_from_the_view_of_the_mover(stops, sequence):
    """A view is about one round: its values have another range than those of the whole game."""
    spec = GameSpec("blob", {"players": 3, "sequence": sequence})
    search = SearchConfig(simulations=12, noise=True, stop_at_new_views=stops)
    config = SelfPlayConfig(games=4, temperature_plies=5, full_share=0.6, fast_simulations=5)
    games = Actors(spec, config, 5, None, search, actors=2, rows=3).play(evaluate_leaves, 0, 6)
    twins = [HiddenReferenceGame(spec.first(), config, search, 5, n) for n in range(6)]
    check_equal(games, twins)
    assert (games["seats"] == -1).any()  # chance dealt cards
    assert (games["counts"] == 0).any() and not (games["counts"] == 1).any()


def test_an_encoding_changes_observations_and_logits_of_both():
    encoding = Encoding("planes19", "lc0")
    config = CONFIG.replace(max_plies=6)
    games = actors("chess", config, encoding=encoding, rows=2).play(evaluate_leaves, 0, 4)
    first = GameSpec("chess").first().encoded(encoding)
    check_equal(games, [ReferenceGame(first, config, SEARCH, 5, n) for n in range(4)])


@pytest.mark.parametrize(
    "spec", ["tictactoe", "connect4", pytest.param("chess", marks=pytest.mark.slow)]
)
def test_games_are_equal_for_any_number_of_actors_and_batches(spec):
    config = CONFIG.replace(games=16)  # one for each of sixteen actors

    def played_by(evaluator, **ways):
        return actors(spec, config, **ways).play(evaluator, 0, 20, POSITIONS[spec])

    expected = played_by(evaluate_leaves, actors=1, batches=1, rows=1)
    for ways in (
        {"actors": 4, "batches": 1, "rows": 5},
        {"actors": 1, "batches": 4, "rows": 2},
        {"actors": 4, "batches": 4, "rows": 3},
        {"actors": 4, "batches": 2, "rows": 64},
        {"actors": 16, "batches": 1, "rows": 1},
        {"actors": 16, "batches": 2, "rows": 5},
        {"actors": 16, "batches": 4, "rows": 2},
    ):
        assert equal_columns(expected, played_by(evaluate_leaves, **ways))
        assert equal_columns(expected, played_by(Submitted(), **ways))


class Submitted:
    """An evaluator with several batches under way."""

    def __init__(self):
        self.most = self.under_way = 0

    def submit(self, leaves):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        return evaluate_leaves(leaves)

    def collect(self, ticket):
        self.under_way -= 1
        return ticket


def test_several_batches_are_under_way():
    evaluator = Submitted()
    many = actors("connect4", CONFIG.replace(games=24), batches=3, rows=4)
    many.play(evaluator, 0, 24)
    assert evaluator.most == 3
    assert many.submitted > 0 and 1 <= many.queued / many.submitted <= 3
    assert many.handling > 0


class Device(Submitted):
    """An evaluator whose oldest batch is ready once `together` are under way, or after some looks
    at it.
    """

    def __init__(self, together=2):
        super().__init__()
        self.together, self.looks, self.joined = together, 0, 0

    def ready(self, ticket):
        self.looks += 1
        self.joined += self.under_way >= self.together
        return self.under_way >= self.together or self.looks > 20

    def collect(self, ticket):
        assert self.ready(ticket)
        self.looks = 0
        return super().collect(ticket)


@pytest.mark.parametrize("together", [2, 3])
def test_full_batches_are_submitted_while_an_earlier_one_is_not_ready(together):
    evaluator = Device(together)
    many = actors("connect4", CONFIG.replace(games=24), batches=together, rows=4)
    games = many.play(evaluator, 0, 24)
    assert evaluator.most == together and evaluator.joined and not evaluator.under_way
    assert equal_columns(games, actors("connect4").play(evaluate_leaves, 0, 24))


def test_two_leases_share_a_thread_that_waits_for_neither():
    """The second lease goes on while the first one's evaluation takes for ever."""

    class Stuck(Device):
        ended = False

        def ready(self, ticket):
            return self.ended

    bell, stuck = _native.Bell(), Stuck()
    one, other = (actors("connect4", bell=bell) for _ in range(2))
    one.begin(stuck, 0, GAMES)
    other.begin(Device(), 0, GAMES)
    while not other.is_over:
        attend([one, other])
    assert stuck.under_way and one.is_evaluating and not one.is_over
    stuck.ended = True
    while not one.is_over:
        attend([one, other])
    assert equal_columns(one.finish(), other.finish())


def test_waiting_for_an_evaluation_is_time_inside_the_evaluator():
    bell, evaluator = _native.Bell(), Device(together=9)
    one = actors("connect4", bell=bell, batches=1)
    one.begin(evaluator, 0, 1)
    while not one.is_evaluating:
        attend([one])
    before = one.seconds
    assert attend([one]) == 0.0 and one.seconds > before
    evaluator.looks = 99  # it is ready
    one.stop()
    assert not evaluator.under_way  # its memory may be used again


def test_two_leases_are_one():
    both = actors("connect4").play(evaluate_leaves, 0, 10)
    one = actors("connect4")
    parts = [one.play(evaluate_leaves, 0, 4), one.play(evaluate_leaves, 4, 6)]
    for name in both.columns:
        joined = np.concatenate([part[name] for part in parts])
        np.testing.assert_array_equal(both[name], joined)


def test_a_native_evaluator_gives_the_games_of_the_same_evaluator_in_batches():
    class InBatches:
        def __call__(self, leaves):
            values = np.zeros((len(leaves), 2), np.float32)
            return np.zeros(len(leaves.actions), np.float32), values

    native = actors("connect4", actors=3).play("uniform", 0, GAMES)
    assert equal_columns(native, actors("connect4").play(InBatches(), 0, GAMES))


def test_a_native_evaluator_plays_with_the_discount_of_the_search():
    """The first results of rollouts are at least four plies away, so they count 1/16 at most."""
    search = SearchConfig(simulations=1, discount=0.5)
    config = SelfPlayConfig(games=6, reuse=False)
    games = actors("tictactoe", config, search).play("rollout", 0, GAMES)
    first = games["values"][games.plies[:-1]]
    assert 0 < np.abs(first).max() <= 1 / 16


def test_leaves_have_no_positions():
    def evaluate_positions(leaves):
        return leaves.states

    for evaluate in (evaluate_positions, lambda leaves: Rollout()(leaves)):
        with pytest.raises(SearchStateError, match="native evaluator"):
            actors("connect4").play(evaluate, 0, GAMES)


def test_actors_evaluate_batches_natively():
    from benchmarks.actors import ObservationHash

    one = actors("connect4", actors=1, rows=1).play(ObservationHash(), 0, GAMES)
    many = actors("connect4", actors=4, rows=3)
    assert equal_columns(one, many.play(ObservationHash(), 0, GAMES))
    batches, rows = many.evaluated
    assert rows / 3 <= batches <= rows


def test_logits_may_be_given_for_all_outputs_and_values_for_the_mover():
    def whole(leaves):
        logits, values = evaluate_leaves(leaves)
        rows = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
        policy = np.full((len(leaves), leaves.num_logits), np.nan, np.float32)
        policy[rows, leaves.logit_indices] = logits
        return policy, values[np.arange(len(leaves)), leaves.seats]

    expected = actors("connect4").play(evaluate_leaves, 0, GAMES)
    assert equal_columns(expected, actors("connect4").play(whole, 0, GAMES))


def test_an_exception_of_the_evaluator_ends_the_lease_and_the_next_one_is_played():
    calls = []

    def failing(leaves):
        calls.append(len(leaves))
        if len(calls) == 5:
            raise ZeroDivisionError("the fifth batch")
        return evaluate_leaves(leaves)

    many = actors("connect4", actors=3, rows=2)
    with pytest.raises(ZeroDivisionError, match="fifth"):
        many.play(failing, 0, GAMES)
    expected = actors("connect4").play(evaluate_leaves, 0, GAMES)
    assert equal_columns(expected, many.play(evaluate_leaves, 0, GAMES))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda logits, values: (logits * np.nan, values), "has NaN for action"),
        (lambda logits, values: (logits - np.inf, values), "no finite logit"),
        (lambda logits, values: (logits, values * np.nan), "give finite values"),
        (lambda logits, values: (logits, values + 2), "the game's value_range"),
        (lambda logits, values: (logits[1:], values), "The policy has shape"),
        (lambda logits, values: logits, "must return a pair"),
    ],
)
def test_a_bad_answer_is_refused_in_a_sentence(spoil, sentence):
    with pytest.raises(EvaluationError, match=sentence):
        actors("connect4", actors=2).play(lambda x: spoil(*evaluate_leaves(x)), 0, GAMES)


def test_watch_sees_progress_and_its_exception_ends_the_lease():
    seen = []

    def watch(*progress):
        seen.append(progress)
        if progress[0] >= 2:
            raise KeyboardInterrupt

    many = actors("connect4")
    with pytest.raises(KeyboardInterrupt):
        many.play(evaluate_leaves, 0, 10_000, watch=watch)
    assert seen == sorted(seen)
    assert len(many.play(evaluate_leaves, 0, 2)) == 2


def test_a_lease_can_be_stopped_from_another_thread():
    many = actors("chess", search=SearchConfig(simulations=200))
    threading.Timer(0.2, many._native.stop).start()
    began = time.perf_counter()
    with pytest.raises(SearchStateError, match="stopped"):
        many.play("uniform", 0, 1_000_000)
    assert time.perf_counter() - began < 30  # a million games take hours


@pytest.mark.alone
@pytest.mark.parametrize("evaluator", ["uniform", evaluate_leaves], ids=["native", "batches"])
def test_ctrl_c_ends_a_lease_within_200_ms(evaluator):
    """On a busy machine it may take longer now and then: the best of some tries counts."""
    many = actors("chess", search=SearchConfig(simulations=50), actors=2)
    late = []
    for _ in range(5):
        sent = []

        def send(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.1, send)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            many.play(evaluator, 0, 1_000_000)
        late.append(time.perf_counter() - sent[0])
        timer.join()
        if late[-1] < 0.2:
            break
    assert min(late) < 0.2
    twin = actors("chess", search=SearchConfig(simulations=50))
    assert equal_columns(many.play(evaluator, 0, 2), twin.play(evaluator, 0, 2))


def test_an_illegal_position_is_named():
    with pytest.raises(ConfigError, match=r"Action 1 of positions\[1\]"):
        actors("connect4").play(evaluate_leaves, 0, 2, positions=[[3], [3, 9]])


def test_a_batch_that_is_not_taken_cannot_be_answered():
    with pytest.raises(SearchStateError, match="not taken"):
        actors("connect4")._native.answer(0)


def test_a_clock_is_refused():
    with pytest.raises(ConfigError, match="not reproducible"):
        actors("connect4", search=SearchConfig(seconds=1.0))


# --- games written in Python ----------------------------------------------------------------------

PYTHON = {
    "nim": "examples/nim.py:Nim",
    "pig": "examples/pig.py:Pig",
    "dealt": "tests/selfplay/selfplay_games.py:Dealt",
    "four": "tests/selfplay/selfplay_games.py:Four",
    "alone": "tests/selfplay/selfplay_games.py:Alone",
}


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize("reuse", [True, False])
def test_actors_play_games_in_python(name, reuse):
    config = CONFIG.replace(reuse=reuse, resign_below=None, opening_share=0.0)
    games = actors(PYTHON[name], config, rows=3).play(evaluate_leaves, 3, GAMES)
    first = GameSpec(PYTHON[name]).first()
    twins = [ReferenceGame(first, config, SEARCH, 5, number) for number in range(3, 3 + GAMES)]
    check_equal(games, twins)
    for game, twin in enumerate(twins):
        state = first.clone()
        for ply, seen in zip(twin.plies, games.record(game).observations, strict=True):
            if ply["seat"] >= 0 and "policy" in ply:
                np.testing.assert_array_equal(seen, state.observation())
                assert seen.dtype == np.asarray(state.observation()).dtype
            state.apply(ply["action"])


def test_a_game_in_python_has_one_actor_and_leaves_the_lock_to_others():
    """Another thread gets the interpreter's lock while games in Python are played."""
    many = actors(PYTHON["nim"], CONFIG.replace(resign_below=None), actors=4)
    counted, over = [0], threading.Event()

    def count():
        while not over.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    many.play("uniform", 0, 60)
    over.set()
    thread.join()
    assert counted[0] > 100


def test_dropped_actors_of_a_game_in_python_end_their_threads():
    """Otherwise a thread would wait for the interpreter's lock that the other one holds."""
    many = actors(PYTHON["nim"], CONFIG.replace(resign_below=None))
    many.begin(evaluate_leaves, 0, 1000)
    many.submit()
    del many


def test_observations_of_another_shape_are_the_games_fault():
    from sylvan.errors import GameContractError

    many = actors("tests/selfplay/selfplay_games.py:Growing", CONFIG.replace(resign_below=None))
    games = many.play(evaluate_leaves, 0, 3)
    assert not len(games) and len(many.dropped) == 3
    for _, error in many.dropped:
        assert isinstance(error, GameContractError) and "[3]" in str(error)
