"""Self-play: games of every kind, reproducible bit for bit."""

import copy
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sylvan._native import mix
from sylvan.errors import ConfigError, EvaluationError, GameContractError
from sylvan.evaluators.lanes import KERNELS
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.runs.play_figures import play_figures
from sylvan.selfplay.restarts import Restarts
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig
from tests.planning.twins import flat
from tests.selfplay.reference_games import evaluate_leaves

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
NIM, PIG = f"{EXAMPLES / 'nim.py'}:Nim", f"{EXAMPLES / 'pig.py'}:Pig"
SEARCH = set(SearchConfig.model_fields)


def game(name):
    return f"{HERE / 'selfplay_games.py'}:{name}"


def self_play(spec, seed=7, **settings):
    """Self-play with settings of search and self-play."""
    search = {name: settings.pop(name) for name in SEARCH & settings.keys() - {"temperature"}}
    search = SearchConfig(**{"simulations": 12, "noise": True, **search})
    config = SelfPlayConfig(**{"games": 6, "positions": 60, "temperature_plies": 4, **settings})
    return SelfPlay(GameSpec(spec), config, seed, search=search)


def played(play, evaluator=evaluate_leaves, first=1, steps=1):
    """The games of some steps, all by one evaluator."""
    numbers = range(first, first + steps)
    return [record for step in numbers for record in play.play(lambda _: evaluator, step)]


def fields(record):
    """The fields of a record, for exact comparison."""
    return {name: raw(value) for name, value in vars(record).items()}


def raw(value):
    if isinstance(value, dict):
        return {name: raw(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    return value


def check(record, spec):
    """Check that a record is a game from its first state, and that its targets are consistent."""
    state = GameSpec(spec).first()
    assert record.policy_offsets[0] == 0 and record.policy_offsets[-1] == len(record.policy)
    total = np.zeros(state.num_players)
    for ply, (action, seat) in enumerate(zip(record.actions, record.seats, strict=True)):
        assert not state.is_terminal()
        legal, target = record.legal(ply), record.target(ply)
        if state.is_chance():
            assert seat == -1 and not len(legal) and not record.values[ply].any()
            assert action in [outcome for outcome, _ in state.chance_outcomes()]
        else:
            assert seat == state.to_play()
            assert action in state.legal_actions()
        if len(legal):
            assert legal.tolist() == list(state.legal_actions())
            np.testing.assert_allclose(target.sum(), 1, atol=1e-6)
            assert target[legal.tolist().index(action)] > 0  # the played move was visited
            assert record.surprise[ply] >= 0
            if record.observations is not None:
                np.testing.assert_array_equal(record.observations[ply], state.observation())
        state.apply(int(action))
        if record.rewards is not None:
            np.testing.assert_allclose(record.rewards[ply], state.rewards())
            total += record.rewards[ply]
    if record.ending == "end":
        assert state.is_terminal()
        np.testing.assert_allclose(record.returns, state.returns())


GAMES = {
    "connect4": "connect4",
    "tictactoe": "tictactoe",
    "chess": "chess",
    "nim": NIM,
    "pig": PIG,
    "alone": game("Alone"),
    "four": game("Four"),
    "forced": game("Forced"),
    "dealt": game("Dealt"),
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("selection", ["puct", "gumbel"])
def test_records_are_plays_of_the_game(spec, selection):
    play = self_play(spec, selection=selection, max_plies=20, opening_share=0.3)
    records = played(play, steps=3)
    assert records
    for record in records:
        check(record, spec)
    assert play.statistics.simulations > 0 or spec == game("Forced")


def equal_states(one, other):
    """Whether two states are equal to the bit."""
    return one.keys() == other.keys() and all(
        np.array_equal(value, other[name]) for name, value in one.items()
    )


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["connect4", NIM, PIG], ids=["connect4", "nim", "pig"])
@pytest.mark.parametrize(("threads", "lag"), [(1, 0), (1, 1), (2, 1), (2, 3)])
def test_a_run_resumes_from_its_state_bit_for_bit(spec, threads, lag):
    settings = {
        "full_share": 0.5,
        "fast_simulations": 4,
        "restart_share": 0.3,
        "opening_share": 0.3,
        "forced_playouts": 2.0,
        "resign_below": -0.2,
        "lag": lag,
    }
    whole = self_play(spec, **settings)
    played(whole, steps=2)
    saved = {name: copy.deepcopy(value) for name, value in whole.state_dict().items()}
    expected = list(map(fields, played(whole, first=3, steps=2)))
    resumed = self_play(spec, threads=threads, **settings)
    resumed.load_state_dict(saved)
    assert list(map(fields, played(resumed, first=3, steps=2))) == expected
    assert len(expected) > 5
    assert equal_states(whole.state_dict(), resumed.state_dict())


def slow(leaves):
    """An evaluator of uneven speed."""
    time.sleep(0.002 * (len(leaves.actions) % 3))
    return evaluate_leaves(leaves)


class Asynchronous:
    """An evaluator with `submit` and `collect`."""

    def submit(self, leaves):
        return leaves

    def collect(self, leaves):
        return evaluate_leaves(leaves)


def test_games_do_not_depend_on_timing():
    expected = list(map(fields, played(self_play("tictactoe"), steps=2)))
    for evaluator in (slow, Asynchronous()):
        assert list(map(fields, played(self_play("tictactoe"), evaluator, steps=2))) == expected
    # Nor on whether the next lease has begun.
    alone = self_play("tictactoe")
    found = [alone.play(lambda _: evaluate_leaves, step, last=True) for step in (1, 2)]
    assert [fields(record) for records in found for record in records] == expected


def test_other_seeds_and_steps_play_other_games():
    def actions(seed):
        play = self_play("connect4", seed)
        return [[r.actions.tolist() for r in played(play, first=step)] for step in (1, 2)]

    one, two = actions(7)
    assert [one, two] == actions(7) and one != two
    assert one not in actions(8)


# --- leases --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_lease_is_played_by_the_network_of_its_step(lag):
    play, loaded = self_play("tictactoe", lag=lag), []

    def load(lease):
        loaded.append((lease.number, lease.network))
        return evaluate_leaves

    numbers = []
    for step in range(1, 6):
        records = play.play(load, step)
        assert {record.step for record in records} == {step}
        numbers += play.statistics.games * [step]
    networks = dict(loaded)
    assert len(networks) == len(loaded)  # each lease began once
    assert [networks[step] for step in range(1, 6)] == [max(0, n - 1 - lag) for n in range(1, 6)]
    assert len(numbers) == play.leases.planned[0].first if lag else True


def test_a_step_has_as_many_games_as_have_its_positions():
    play = self_play("connect4", games=20, positions=400)
    found = []
    for step in range(1, 6):
        played(play, first=step)
        found.append(play.statistics.positions)
    assert all(200 < positions < 800 for positions in found)  # from a guess
    assert all(280 < positions < 520 for positions in found[2:])  # from the last games


def test_the_next_lease_begins_while_the_last_games_end():
    for settings, begun in (({"lag": 1}, [1, 2, 3]), ({"lag": 0}, [1, 2])):
        play, loaded = self_play("tictactoe", **settings), []

        def load(lease, loaded=loaded):
            loaded.append(lease.number)
            return evaluate_leaves

        play.play(load, 1)
        play.play(load, 2)
        assert loaded == begun
    play.play(load, 3, last=True)
    assert loaded[-1] == 3


def test_the_next_network_is_loaded_while_the_games_go_on():
    loading, went_on = threading.Event(), threading.Event()

    def evaluator(leaves):
        assert loading.wait(60)
        went_on.set()
        return evaluate_leaves(leaves)

    def load(lease):
        if lease.number == 2:
            loading.set()
            assert went_on.wait(60)
        return evaluator

    play = self_play("tictactoe")
    games = list(map(fields, play.play(load, 1)))
    assert games == list(map(fields, played(self_play("tictactoe"))))


def test_a_network_of_a_lease_that_is_given_up_is_loaded_again():
    play, loaded = self_play("tictactoe"), []

    def load(lease):
        loaded.append(lease.number)
        return evaluate_leaves

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sylvan.selfplay.lease_player.WATCH_INTERVAL", 0.0)
        with pytest.raises(KeyboardInterrupt):
            play.play(load, 1, watch=interrupt)
    play.play(load, 1)
    assert loaded == [1, 2, 1, 2]


def test_a_gate_keeps_the_network():
    play, networks = self_play("tictactoe", lag=1), []

    def load(lease):
        networks.append(lease.network)
        return evaluate_leaves

    for step, newest in ((1, 0), (2, 1), (3, 1), (4, 1), (5, 4)):
        play.play(load, step, newest)
    assert networks[:5] == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("lags", [(2, 0), (0, 2)])
def test_the_lag_may_change(lags):
    before, after = (self_play("tictactoe", lag=lag) for lag in lags)
    played(before, steps=2)
    after.load_state_dict(before.state_dict())
    firsts = {record.seed for record in played(before, first=3)}
    assert {record.seed for record in played(after, first=3)} <= firsts or lags[0] == 0
    assert played(after, first=4, steps=3)
    assert len(after.leases.planned) == lags[1]


def test_one_actor_plays_if_answers_depend_on_the_batch():
    def by_row(leaves):
        logits, values = evaluate_leaves(leaves)
        return logits, values * np.linspace(0, 1, len(leaves), dtype=np.float32)[:, None]

    play = self_play("connect4", threads=3, games=24)
    found = list(map(fields, played(play, by_row)))
    (note,) = play.notes
    assert "one thread" in note
    alone = self_play("connect4", threads=1, games=24)
    assert found == list(map(fields, played(alone, by_row)))
    assert alone.notes == []
    sound = self_play("connect4", threads=3, games=24)
    played(sound)
    assert sound.notes == []
    fast = self_play("connect4", threads=3, games=24, mode="fast")
    played(fast, by_row)
    assert fast.notes == []


class Kernels:
    """An evaluator on a device; its answers depend on the batch unless its kernels are `sound`."""

    def __init__(self, sound):
        self.kernels, self.sound = "benchmark", sound

    @property
    def other_kernels(self):
        return [each for each in KERNELS if each != self.kernels]

    def use_kernels(self, kernels):
        self.kernels = kernels

    def __call__(self, leaves):
        logits, values = evaluate_leaves(leaves)
        if self.kernels != self.sound:
            values = values * np.linspace(0, 1, len(leaves), dtype=np.float32)[:, None]
        return logits, values


@pytest.mark.parametrize("sound", KERNELS)
def test_other_kernels_are_tried(sound):
    play, evaluators = self_play("connect4", threads=3, games=24, lag=1), [Kernels(sound), None]
    evaluators[1] = Kernels(sound)
    found = [fields(x) for x in play.play(lambda lease: evaluators[lease.number % 2], 1, 0)]
    assert [each.kernels for each in evaluators] == [sound] * 2
    assert [repr(sound) in note for note in play.notes] == [True] * (sound != "benchmark")
    usual = self_play("connect4", threads=3, games=24, lag=1)
    assert found == [fields(x) for x in usual.play(lambda _: evaluate_leaves, 1, 0)]


def test_the_usual_kernels_stay_if_none_is_sound():
    play, evaluator = self_play("connect4", threads=3, games=24), Kernels("none")
    played(play, evaluator)
    assert evaluator.kernels == "benchmark"
    (note,) = play.notes
    assert "one thread" in note


def test_speed_counts_what_was_played_in_the_time_of_the_step():
    play, work = self_play("tictactoe", lag=1), 0
    for step in (1, 2, 3):
        play.play(lambda _: evaluate_leaves, step, last=step == 3)
        work += play.statistics.played_positions
    twin = self_play("tictactoe", lag=1)
    stored = sum(len(record.searched) for record in played(twin, steps=3))
    assert work == stored


# --- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fault"), [("Raises", "ZeroDivisionError"), ("Blind", "KeyError")]
)
def test_a_game_that_always_raises_is_named_and_nothing_is_lost(name, fault):
    play = self_play(game(name), positions=12)
    for _ in range(2):
        with pytest.raises(GameContractError, match=rf"{name} raised {fault}"):
            play.play(lambda _: flat, 1)
    assert [lease.number for lease in play.leases.planned] == [1, 2]


def test_a_game_that_raises_is_dropped_and_the_others_go_on():
    play, sound = self_play(game("Sometimes")), self_play(game("Dealt"))
    for each in (play, sound):
        each.leases._length = 5.0  # the same number of games
    records, twins = played(play), played(sound)
    assert len(records) + play.statistics.dropped == len(twins) == 12
    assert 0 < play.statistics.dropped < 12
    kept = [fields(record) for record in twins if record.actions[0] == 2]
    assert [fields(record) for record in records] == kept
    (note,) = play.notes
    assert f"{play.statistics.dropped} of 12" in note and "OverflowError (dealt a 4)" in note


def test_an_error_of_the_evaluator_is_not_reported_as_the_games():
    play = self_play("tictactoe")
    with pytest.raises(ZeroDivisionError):
        played(play, lambda leaves: 1 / 0)
    with pytest.raises(EvaluationError, match="pair"):
        played(play, lambda leaves: 3)
    with pytest.raises(EvaluationError, match="finite"):
        played(play, lambda leaves: (flat(leaves)[0], np.full(len(leaves), np.nan)))
    found = list(map(fields, played(play)))
    assert found == list(map(fields, played(self_play("tictactoe"))))


def test_a_network_that_cannot_be_loaded_ends_the_step():
    def load(lease):
        if lease.number == 2:
            raise OSError("no such file")
        return evaluate_leaves

    play = self_play("tictactoe")
    games = list(map(fields, play.play(load, 1)))
    with pytest.raises(OSError, match="no such file"):
        play.play(load, 2)
    twin = played(self_play("tictactoe"), steps=2)
    assert games + list(map(fields, played(play, first=2))) == list(map(fields, twin))


class OutOfMemoryError(RuntimeError):
    """As `torch.cuda.OutOfMemoryError`."""


class Hungry:
    """An evaluator that has memory for batches of `most` positions."""

    def __init__(self, batch, most):
        self.batch, self.most = batch, most

    def resize(self, batch):
        self.batch = min(self.batch, batch)

    def __call__(self, leaves):
        assert len(leaves) <= self.batch
        if self.batch > self.most:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return evaluate_leaves(leaves)


def test_batches_are_halved_once_if_memory_is_short():
    play = self_play("tictactoe", games=24)
    evaluators = [Hungry(8, 4), Hungry(8, 4)]
    records = [
        record
        for step in (1, 2, 3)
        for record in play.play(lambda lease: evaluators[lease.number % 2], step)
    ]
    (note,) = play.notes
    assert "batches of 8 positions: they have 4" in note
    assert [each.batch for each in evaluators] == [4, 4]
    twin = played(self_play("tictactoe", games=24), steps=3)
    assert list(map(fields, records)) == list(map(fields, twin))
    with pytest.raises(OutOfMemoryError):  # only once
        played(play, Hungry(4, 2), first=4)


def test_another_error_is_not_taken_for_a_lack_of_memory():
    play = self_play("tictactoe", games=24)
    with pytest.raises(RuntimeError, match="another"):
        played(play, lambda leaves: (_ for _ in ()).throw(RuntimeError("another")))
    assert not play.notes


def test_a_watcher_sees_progress_and_can_end_it(monkeypatch):
    monkeypatch.setattr("sylvan.selfplay.lease_player.WATCH_INTERVAL", 0.0)
    seen = []
    play = self_play("tictactoe")
    records = play.play(
        lambda _: evaluate_leaves, 1, watch=lambda found: seen.append(found.positions)
    )
    assert len(seen) > 2 and seen == sorted(seen)
    assert play.statistics.positions == sum(len(record.searched) for record in records)

    def enough(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play.play(lambda _: evaluate_leaves, 2, watch=enough)
    twin = self_play("tictactoe")
    played(twin)
    assert list(map(fields, played(play, first=2))) == list(map(fields, played(twin, first=2)))


# --- state ---------------------------------------------------------------------------------------


def test_another_games_state_is_refused():
    with pytest.raises(ConfigError, match=r"2 seats.*Four.*4"):
        self_play(game("Four")).load_state_dict(self_play("tictactoe").state_dict())


def test_the_state_of_a_run_that_has_not_started():
    play, other = self_play("tictactoe"), self_play("tictactoe")
    other.load_state_dict(play.state_dict())
    assert list(map(fields, played(play))) == list(map(fields, played(other)))


def test_games_in_progress_of_version_0_1_are_dropped_and_said():
    play = self_play("tictactoe")
    old = {"numbers": np.arange(6), "low_turns": np.zeros((6, 2)), "games_started": 31}
    empty = Restarts(1).state_dict()
    play.load_state_dict(old | empty)
    (note,) = play.notes
    assert "6 games" in note and "0.1" in note
    assert played(play, first=9)[0].seed == mix(mix(7, 0), 31)
    with pytest.raises(ConfigError, match=r"2 seats.*Four.*4"):
        self_play(game("Four")).load_state_dict(old | empty)


def test_statistics_add_up():
    play = self_play("tictactoe", positions=300)
    records = played(play, slow)
    numbers = play.statistics.numbers()
    assert numbers["games"] == len(records)
    assert numbers["positions"] == sum(len(record.searched) for record in records)
    assert numbers["mean_length"] == pytest.approx(np.mean([len(record) for record in records]))
    openings = {record.actions[:8].tobytes() for record in records}
    assert numbers["distinct_openings"] == len(openings)
    full = [play_figures([record])["selfplay.entropy"] * len(record.searched) for record in records]
    assert numbers["policy_entropy"] == pytest.approx(sum(full) / numbers["positions"])
    assert numbers["first_seat_return"] == pytest.approx(
        np.mean([record.returns[0] for record in records])
    )
    assert 0 < numbers["network_seconds"] <= numbers["seconds"]
    assert 0 <= numbers["search_seconds"] <= numbers["seconds"]
    assert 0 < numbers["batch_fill"] <= 1
