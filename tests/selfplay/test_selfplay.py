"""Self-play: games of every kind, reproducible bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from sylvan.errors import ConfigError, EvaluationError, GameContractError
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig
from tests.planning.twins import flat, skewed

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
    positions = 200 if spec == "chess" else 120
    play = self_play(
        spec, selection=selection, positions=positions, max_plies=20, opening_share=0.3
    )
    records = [record for step in range(3) for record in play.play(skewed_seats, step)]
    assert records
    for record in records:
        check(record, spec)
    assert play.statistics.positions >= positions
    assert play.statistics.simulations > 0 or spec == game("Forced")


def skewed_seats(leaves):
    """Logits and values that depend on the observation, for any number of seats."""
    if leaves.forest.one_value:
        observations = np.asarray(leaves.observations, np.float64).reshape(len(leaves), -1)
        seen = np.sin(np.arange(1, observations.shape[1] + 1)) * (observations % 97)
        seen = seen.sum(axis=1)
        logits = np.cos(np.repeat(seen, np.diff(leaves.offsets)) * (leaves.actions % 13))
        values = np.clip(np.tanh(np.sin(seen)), *leaves.forest.value_range)
        return logits.astype(np.float32), values.astype(np.float32)
    logits, values = flat(leaves)
    return logits, values + np.float32(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["connect4", NIM, PIG], ids=["connect4", "nim", "pig"])
@pytest.mark.parametrize("selection", ["puct", "gumbel"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_resumes_from_its_state_bit_for_bit(spec, selection, threads):
    settings = {
        "selection": selection,
        "full_share": 0.5,
        "fast_simulations": 4,
        "restart_share": 0.3,
        "opening_share": 0.3,
        "forced_playouts": 2.0,
        "resign_below": -0.2,
    }
    whole = self_play(spec, **settings)
    for step in range(2):
        whole.play(skewed, step)
    saved = {name: np.copy(value) for name, value in whole.state_dict().items()}
    expected = [fields(record) for step in (2, 3) for record in whole.play(skewed, step)]
    resumed = self_play(spec, threads=threads, **settings)
    resumed.load_state_dict(saved)
    found = [fields(record) for step in (2, 3) for record in resumed.play(skewed, step)]
    assert len(expected) > 5 and found == expected
    again, same = whole.state_dict(), resumed.state_dict()
    assert again.keys() == same.keys()
    for name, value in again.items():
        np.testing.assert_array_equal(value, same[name], err_msg=name)


def test_games_do_not_depend_on_timing():
    """The games are the same for any speed of the evaluator, in either half."""
    import time

    def slow(leaves):
        time.sleep(0.002 * (len(leaves.actions) % 3))
        return skewed(leaves)

    one, other = (self_play("tictactoe") for _ in range(2))
    fast, late = one.play(skewed, 0), other.play(slow, 0)
    assert [fields(record) for record in fast] == [fields(record) for record in late]


class Asynchronous:
    """An evaluator with `submit` and `collect`."""

    def __init__(self):
        self.most = self.waiting = 0

    def submit(self, leaves):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        return leaves

    def collect(self, leaves):
        self.waiting -= 1
        return skewed(leaves)


def test_an_asynchronous_evaluator():
    one, other = (self_play("tictactoe") for _ in range(2))
    beside = Asynchronous()
    found = one.play(beside, 0)
    assert [fields(record) for record in found] == [
        fields(record) for record in other.play(skewed, 0)
    ]
    assert beside.most == 2 and beside.waiting == 0


def test_other_steps_and_seeds_play_other_games():
    def actions(seed, step):
        return [r.actions.tolist() for r in self_play("connect4", seed).play(skewed, step)]

    assert actions(7, 0) == actions(7, 0)
    assert actions(7, 0) != actions(7, 1)
    assert actions(7, 0) != actions(8, 0)


@pytest.mark.parametrize("games", [1, 2, 7])
def test_any_number_of_games(games):
    play = self_play("tictactoe", games=games, positions=80)
    records = play.play(skewed, 0)
    assert 80 <= play.statistics.positions < 80 + games
    assert play.statistics.games == len(records) >= 2
    play = self_play("tictactoe", games=games + 2, positions=30)  # more than in the state
    play.load_state_dict(self_play_state(games))
    play.play(skewed, 1)
    assert len(play.state_dict()["numbers"]) == games + 2


def self_play_state(games):
    play = self_play("tictactoe", games=games, positions=30)
    play.play(skewed, 0)
    return play.state_dict()


def test_fewer_games_than_before():
    play = self_play("tictactoe", games=2, positions=30)
    play.load_state_dict(self_play_state(7))
    play.play(skewed, 1)
    assert play.state_dict()["numbers"].tolist()[:1] != [] and len(play.state_dict()["seeds"]) == 2


def test_few_positions_are_shared_by_both_halves():
    play = self_play("tictactoe", games=4, positions=2)
    for step in range(4):
        play.play(skewed, step)
        assert play.statistics.positions == 2
    assert play.state_dict()["lengths"].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("name", "fault"), [("Raises", "ZeroDivisionError"), ("Blind", "KeyError")]
)
def test_a_game_that_raises_is_named_and_nothing_is_lost(name, fault):
    play = self_play(game(name), positions=6)
    before = None
    fault = rf"{name} raised {fault}.*mend it"
    with pytest.raises(GameContractError, match=fault):  # noqa: PT012 -- some steps go well
        for step in range(9):
            before = play.state_dict()
            play.play(flat, step)
    after = play.state_dict()
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(value, after[key], err_msg=key)


def test_an_error_of_the_evaluator_is_not_reported_as_the_games():
    play = self_play("tictactoe")
    with pytest.raises(ZeroDivisionError):
        play.play(lambda leaves: 1 / 0, 0)
    with pytest.raises(EvaluationError, match="pair"):
        play.play(lambda leaves: 3, 0)
    with pytest.raises(EvaluationError, match="finite"):
        play.play(lambda leaves: (flat(leaves)[0], np.full(len(leaves), np.nan)), 0)
    assert play.play(skewed, 0)


def test_a_watcher_sees_progress_and_can_end_it(monkeypatch):
    monkeypatch.setattr("sylvan.selfplay.selfplay.WATCH_INTERVAL", 0.0)
    seen = []
    play = self_play("tictactoe")
    play.play(skewed, 0, seen.append)
    assert seen and seen[-1] is play.statistics
    before = play.state_dict()

    def enough(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        play.play(skewed, 1, enough)
    np.testing.assert_array_equal(before["lengths"], play.state_dict()["lengths"])


def test_another_games_state_is_refused():
    with pytest.raises(ConfigError, match=r"2 seats.*Four.*4"):
        self_play(game("Four")).load_state_dict(self_play_state(2))


def test_the_state_of_a_run_that_has_not_started():
    play, other = self_play("tictactoe"), self_play("tictactoe")
    other.load_state_dict(play.state_dict())
    assert [r.actions.tolist() for r in play.play(skewed, 0)] == [
        r.actions.tolist() for r in other.play(skewed, 0)
    ]


def test_statistics_add_up():
    play = self_play("tictactoe", positions=300)
    records = play.play(skewed, 0)
    numbers = play.statistics.numbers()
    assert numbers["games"] == len(records)
    assert numbers["mean_length"] == pytest.approx(np.mean([len(record) for record in records]))
    openings = {record.actions[:8].tobytes() for record in records}
    assert numbers["distinct_openings"] == len(openings)
    assert 0 < numbers["policy_entropy"] < np.log(9)
    assert numbers["first_seat_return"] == pytest.approx(
        np.mean([record.returns[0] for record in records])
    )
    assert 0 < numbers["network_seconds"] <= numbers["seconds"]
    assert 0 < numbers["search_seconds"] <= numbers["seconds"]
