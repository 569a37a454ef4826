"""Leases played with a model: reproducible bit for bit, by any number of slots and groups."""

from __future__ import annotations

import _thread
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sylvan._native import mix
from sylvan.errors import ConfigError, EvaluationError, GameContractError
from sylvan.games.naming import GameSpec
from sylvan.muzero import ModelPlayer
from sylvan.muzero.game_keeper import GameKeeper
from sylvan.muzero.game_processes import GameProcesses
from sylvan.muzero.search import latent_search
from sylvan.muzero.sequences import SequenceReplay
from sylvan.planning import SearchConfig
from sylvan.reference import Search
from sylvan.reference.latent import LatentGame, evaluate
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.selfplay import SelfPlay
from tests.muzero.toy_models import Hashed
from tests.selfplay.reference_games import ReferenceGame

pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")
pytest.importorskip("tests.muzero.environments")

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
NIM = f"{EXAMPLES / 'nim.py'}:Nim"
SEARCH = set(SearchConfig.model_fields)
CARTPOLE = "gym:CartPole-v1"
ELSEWHERE = "gym:tests.muzero.environments:test"
"""Environments that other processes find too."""


def player(name, seed=7, params=None, **settings):
    """Self-play with a model, with settings of search and self-play."""
    search = {name: settings.pop(name) for name in SEARCH & settings.keys() - {"temperature"}}
    search = SearchConfig(**{"simulations": 6, "noise": True, **search})
    usual = {"games": 6, "positions": 90, "temperature_plies": 4, "lag": 0, "processes": 0}
    config = {**usual, **settings}
    parts = (GameSpec(name, params or {}), SelfPlayConfig(**config), seed, None, search)
    return SelfPlay(*parts, player=ModelPlayer(*parts), learned=True)


def play(played, model, step):
    """The records of a step."""
    return played.play(lambda _: model, step)


def steps_of(played, model, steps):
    """The records of steps 1 to `steps`."""
    return [record for step in range(1, steps + 1) for record in play(played, model, step)]


def model_of(name, params=None):
    first = GameSpec(name, params or {}).first()
    return Hashed(first.num_actions, first.num_players)


def fields(record):
    """The fields of a record, for exact comparison."""
    return {
        name: (str(value.dtype), value.shape, value.tobytes())
        if isinstance(value, np.ndarray)
        else value
        for name, value in vars(record).items()
    }


def check(record, spec):
    """Check that a record is a game with its seed, and that its targets are consistent."""
    state = spec.episode(record.seed)
    for ply, (action, seat) in enumerate(zip(record.actions, record.seats, strict=True)):
        assert not state.is_terminal() and seat == state.to_play()
        legal, target = record.legal(ply), record.target(ply)
        if len(legal):
            assert sorted(legal.tolist()) == sorted(state.legal_actions())
            np.testing.assert_allclose(target.sum(), 1, atol=1e-6)
            assert target[legal.tolist().index(action)] > 0
            if record.observations is not None:
                np.testing.assert_array_equal(record.observations[ply], state.observation())
        state.apply(int(action))
        if record.rewards is not None:
            np.testing.assert_allclose(record.rewards[ply], state.rewards())
    if record.ending == "end":
        assert state.is_terminal() and not getattr(state, "truncated", False)
        np.testing.assert_allclose(record.returns, state.returns())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [CARTPOLE, "gym:LunarLander-v3", "gym:test/Masked-v0", "tictactoe", "connect4", NIM],
)
def test_records_are_plays_of_the_game(name):
    spec, played = GameSpec(name), player(name, positions=180, segment_plies=None)
    records = steps_of(played, model_of(name), 4)
    assert len(records) >= 4
    for record in records:
        check(record, spec)
        assert record.ending == "end"
    assert played.statistics.positions == sum(len(r.searched) for r in records if r.step == 4)


def test_records_contain_the_results_of_the_search():
    """Compare the policy target and the value of a ply with a search of that position."""
    played = player(CARTPOLE, noise=False, positions=200, temperature=0.0)
    for record in play(played, model_of(CARTPOLE), 1)[:3]:
        search = latent_search(model_of(CARTPOLE), GameSpec(CARTPOLE).first(), played.player.search)
        for ply in range(len(record)):
            found = search.run(record.observations[ply])
            assert found.best == record.actions[ply]
            np.testing.assert_allclose(found.policy, record.target(ply), atol=1e-6)
            np.testing.assert_allclose(found.value, record.values[ply, 0], atol=1e-6)


class LearnedReferenceGame(ReferenceGame):
    """A game whose moves `sylvan.reference` plans in a model."""

    def __init__(self, model, *arguments):
        self.model = model
        super().__init__(*arguments)

    def _search(self, settings):
        state = self.state
        root = LatentGame(
            self.model,
            state.observation(),
            list(state.legal_actions()),
            num_actions=state.num_actions,
            num_players=state.num_players,
            seat=state.to_play(),
            relative=True,
            value_range=state.value_range,
        )
        self.search = Search(root, evaluate, settings)
        return self.search

    def _continue(self, action):
        """Every search starts a new tree."""


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("tictactoe", {"simulations": 24, "opening_share": 0.5}),
        ("tictactoe", {"selection": "gumbel", "noise": False, "temperature": 0.5}),
        ("connect4", {"full_share": 0.5, "fast_simulations": 3}),
        ("connect4", {"resign_below": -0.05, "resign_turns": 1, "resign_play_on": 0.5}),
        ("connect4", {"max_plies": 9, "restart_share": 0.6}),
        (NIM, {"opening_share": 0.3}),
    ],
    ids=str,
)
def test_games_equal_those_played_move_by_move_with_the_reference(name, settings):
    """Each game again, from nothing but its number and the seed."""
    played, model = player(name, positions=70, **settings), model_of(name)
    first = GameSpec(name).first()
    for step in (1, 2):
        played.leases.plan(step, step - 1)
        lease = played.leases.planned[0]
        records = play(played, model, step)
        assert len(records) == lease.count
        for number, record in enumerate(records, lease.first):
            parts = (first, played.config, played.player.search, mix(7, 0), number, lease.positions)
            expected = LearnedReferenceGame(model, *parts)
            assert record.actions.tolist() == [ply["action"] for ply in expected.plies]
            assert record.seats.tolist() == [ply["seat"] for ply in expected.plies]
            assert record.ending == expected.ending
            assert record.returns.tolist() == list(expected.returns)
            for ply, wanted in enumerate(expected.plies):
                if "policy" in wanted:
                    np.testing.assert_array_equal(record.target(ply), wanted["policy"])
                    np.testing.assert_array_equal(record.values[ply], wanted["values"])
                    assert record.weights[ply] == wanted["weight"]
                else:
                    assert not len(record.target(ply))


# --- reproducibility -----------------------------------------------------------------------------

ALL = [CARTPOLE, "tictactoe", "chess", "gym:test/Walk-v0", "gym:test/Masked-v0", NIM]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_games_do_not_depend_on_the_number_of_slots(name):
    settings = {"positions": 250, "max_plies": 40} if name == "chess" else {"segment_plies": 7}
    model = model_of(name)
    one, some, many = (
        [fields(r) for r in steps_of(player(name, games=games, **settings), model, 3)]
        for games in (1, 5, 100)
    )
    assert one == some == many and one


class Concurrent(Hashed):
    """Asks to be called by two groups at once; a call blocks its thread, like a device."""

    concurrent = True

    def recurrent_inference(self, hidden, actions):
        time.sleep(0.0005)
        return super().recurrent_inference(hidden, actions)


@pytest.mark.parametrize("name", ["connect4", CARTPOLE])
def test_games_do_not_depend_on_the_number_of_groups(name, monkeypatch):
    monkeypatch.setattr("sylvan.muzero.model_player.LEAST_GROUP", 1)
    first = GameSpec(name).first()
    found = []
    for kind in (Hashed, Concurrent):
        model = kind(first.num_actions, first.num_players)
        found.append([fields(record) for record in steps_of(player(name), model, 2)])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [CARTPOLE, NIM, f"{ELSEWHERE}/Fickle-v0"])
def test_games_do_not_depend_on_the_number_of_processes(name):
    model, settings = model_of(name), {"segment_plies": 7, "positions": 150}
    found = []
    for processes in (0, 1, 2):
        played = player(name, processes=processes, **settings)
        found.append([fields(record) for record in steps_of(played, model, 3)])
        assert "Fickle" not in name or "were dropped" in played.notes[-1]
        played.stop()
    assert found[0] == found[1] == found[2]


def test_a_run_in_processes_resumes_bit_for_bit():
    settings = {"segment_plies": 7, "processes": 2}
    whole, model = player(CARTPOLE, **settings), model_of(CARTPOLE)
    expected = [fields(record) for record in steps_of(whole, model, 3)]
    state, found = None, []
    for step in range(1, 4):
        fresh = player(CARTPOLE, **settings)
        if state is not None:
            fresh.load_state_dict(state)
        found += [fields(record) for record in play(fresh, model, step)]
        state = fresh.state_dict()
        fresh.stop()
    whole.stop()
    assert found == expected


@pytest.mark.parametrize(
    ("name", "nap", "kind"),
    [
        (CARTPOLE, None, GameKeeper),
        (f"{ELSEWHERE}/Walk-v0", 0.05, GameProcesses),
        ("gym:test/Walk-v0", 0.05, GameKeeper),  # only this process has registered it
    ],
)
def test_slow_environments_step_in_processes(name, nap, kind, monkeypatch):
    monkeypatch.setattr("sylvan.muzero.model_player.SLOW", 0.02)
    params = {} if nap is None else {"nap": nap}
    played = player(name, params=params, processes=None)
    assert type(played.player._keeper) is kind
    played.stop()


@pytest.mark.alone
def test_ctrl_c_does_not_wait_for_slow_environments(monkeypatch):
    """A step takes up to 20 seconds; the same step can then be played again."""
    monkeypatch.setattr("sylvan.muzero.model_player.repeats", lambda *_: True)
    played = player(f"{ELSEWHERE}/Walk-v0", params={"nap": 10.0}, processes=2)
    timer = threading.Timer(3.0, _thread.interrupt_main)
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        play(played, Hashed(2), 1)
    assert time.monotonic() - began < 5
    assert played.leases.planned[0].number == 1
    played.stop()


@pytest.mark.parametrize("how", ["killed", "exits"])
def test_a_process_that_ends_is_reported_and_the_step_can_be_played_again(how):
    name = f"{ELSEWHERE}/{'Walk' if how == 'killed' else 'Exiting'}-v0"
    played, model = player(name, processes=1), Hashed(2)
    if how == "killed":

        def kill(_):
            for worker in played.player._keeper._workers:
                worker.process.kill()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sylvan.muzero.model_player.WATCH_INTERVAL", 0.0)
            with pytest.raises(GameContractError, match=r"exit status -9.*processes=0"):
                played.play(lambda _: model, 1, None, kill)
        expected = play(player(name), model, 1)
        assert list(map(fields, play(played, model, 1))) == list(map(fields, expected))
    else:
        with pytest.raises(GameContractError, match=r"exit status 3.*processes=0"):
            play(played, model, 1)
    played.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_an_interrupted_run_resumes_bit_for_bit(name):
    settings = {"positions": 250, "max_plies": 40} if name == "chess" else {"segment_plies": 7}
    model = model_of(name)
    expected = [fields(record) for record in steps_of(player(name, **settings), model, 5)]
    state, found = None, []
    for step in range(1, 6):
        fresh = player(name, **settings)
        if state is not None:
            fresh.load_state_dict(state)
        found += [fields(record) for record in play(fresh, model, step)]
        state = fresh.state_dict()
        assert not fresh.notes and not fresh.statistics.dropped
    assert found == expected


@pytest.mark.parametrize("lag", [0, 2])
def test_which_network_plays_follows_from_the_step(lag):
    played = player(CARTPOLE, lag=lag, segment_plies=7, noise=False)
    models = [Hashed(2, seed=seed) for seed in range(6)]
    for step in range(1, 6):
        record = played.play(lambda lease: models[lease.network], step)[-1]
        model = models[max(0, step - 1 - lag)]
        search = latent_search(model, played.first, played.player.search)
        for ply, seen in enumerate(record.observations):
            np.testing.assert_allclose(search.run(seen).value, record.values[ply, 0], atol=1e-6)


def test_games_do_not_depend_on_timing():
    quick, slow = (
        [fields(record) for record in play(player("gym:test/Walk-v0", params=params), Hashed(2), 1)]
        for params in ({}, {"nap": 0.001})
    )
    assert quick == slow


def test_a_step_that_fails_leaves_the_games_unchanged(monkeypatch):
    played, same, model = player(CARTPOLE), player(CARTPOLE), model_of(CARTPOLE)
    for each in (played, same):
        play(each, model, 1)

    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sylvan.muzero.model_player.WATCH_INTERVAL", 0.0)
    with pytest.raises(KeyboardInterrupt):
        played.play(lambda _: model, 2, None, stop)
    again, expected = play(played, model, 2), play(same, model, 2)
    assert list(map(fields, again)) == list(map(fields, expected))


def test_another_seed_plays_other_games():
    one, two = (play(player(CARTPOLE, seed=seed), model_of(CARTPOLE), 1) for seed in (1, 2))
    assert list(map(fields, one)) != list(map(fields, two))


def test_images_are_planned_from_and_kept_as_bytes(tmp_path):
    name, params = "gym:test/Picture-v0", {"frame_stack": 2}
    records = play(player(name, params=params, positions=80, opening_share=0.5), Hashed(2), 1)
    replay = SequenceReplay(tmp_path, GameSpec(name, params), unroll=2, following=True)
    replay.append(records)
    batch = replay.sample(16, np.random.default_rng(0))
    assert batch.observations.dtype == batch.following.dtype == np.uint8
    assert batch.following.shape == (16, 2, 2, 4, 5)
    seen = {record.observations[ply].tobytes() for record in records for ply in range(len(record))}
    assert all(each.tobytes() in seen for each in batch.observations)


# --- when games end -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["time limit", "move limit", "segment"])
def test_a_truncated_episode_bootstraps_from_a_search(how):
    name, segment = "gym:test/Endless-v0", None
    params = {"max_episode_steps": 6} if how == "time limit" else {}
    limit = 6 if how == "move limit" else None
    segment = 6 if how == "segment" else None
    spec, model = GameSpec(name, params), Hashed(2)
    settings = {"max_plies": limit, "segment_plies": segment, "positions": 400}
    played = player(name, params=params, noise=False, **settings)
    records = play(played, model, 1)
    assert len(records) > 10
    for record in records:
        assert record.ending == "limit" and len(record) == 6
        assert record.rewards[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
        state = spec.episode(record.seed)
        for action in record.actions.tolist():
            state.apply(action)
        search = latent_search(model, state, played.player.search)
        np.testing.assert_allclose(record.returns, search.run(state.observation()).value, atol=1e-6)
    found = played.statistics
    if how == "segment":
        assert found.games == found.limits == 0
    else:
        assert found.mean_score == 21 and found.limits == found.games == len(records)


@pytest.mark.parametrize("fresh", [False, True], ids=["kept", "replayed"])
def test_parts_of_an_episode_join_to_the_whole(fresh):
    """Steps continue what earlier ones cut: nothing is left out, nothing is played twice."""
    spec = GameSpec("gym:test/Walk-v0")
    settings = {"segment_plies": 3, "positions": 30}
    played, model = player(spec.name, **settings), Hashed(2)
    parts, scores, state = {}, [], None
    for step in range(1, 13):
        if fresh and state is not None:
            played = player(spec.name, **settings)
            played.load_state_dict(state)
        for record in play(played, model, step):
            parts.setdefault(record.seed, []).append(record)
        if played.statistics.games:
            scores += [played.statistics.mean_length, played.statistics.mean_score]
        state = played.state_dict()
    whole = [each for each in parts.values() if each[-1].ending == "end"]
    assert max(map(len, whole)) > 3
    for records in whole:
        assert all(len(record) == 3 and record.ending == "limit" for record in records[:-1])
        state = spec.episode(records[0].seed)
        for record in records:
            for ply, action in enumerate(record.actions.tolist()):
                np.testing.assert_array_equal(record.observations[ply], state.observation())
                state.apply(action)
                np.testing.assert_allclose(record.rewards[ply], state.rewards())
        assert state.is_terminal()
    assert np.mean(scores[::2]) > 3  # lengths of whole episodes, not of parts


def test_games_of_two_seats_are_adjudicated_at_the_move_limit():
    records = play(player("connect4", max_plies=5), Hashed(7, 2), 1)
    assert records and {record.ending for record in records} == {"limit"}
    assert all(record.returns.tolist() == [0, 0] for record in records)
    assert all(len(record) == 5 for record in records)


def test_the_score_adds_rewards_and_return():
    played = player(f"{HERE / 'games.py'}:Ring", params={"seats": 1, "length": 5})
    records = play(played, Hashed(4, 1), 1)
    score = sum(float(record.rewards.sum() + record.returns[0]) for record in records)
    assert played.statistics.score == pytest.approx(score) and score


# --- how games start ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["connect4", "gym:test/Walk-v0"])
def test_openings_are_random_and_not_learned_from(name):
    played = player(name, opening_share=1.0, opening_plies=2, segment_plies=None)
    records = steps_of(played, model_of(name), 3)
    assert records
    for record in records:
        check(record, GameSpec(name))
        assert 1 <= record.searched[0] <= 2
        assert record.searched.tolist() == list(range(record.searched[0], len(record)))


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Fickle", "Unready"])
@pytest.mark.parametrize("games", [1, 6])
def test_an_episode_that_fails_is_dropped_and_the_others_continue(name, games):
    name = f"gym:test/{name}-v0"
    settings = {"positions": 60, "games": games, "segment_plies": 4}
    played, state = player(name, **settings), None
    dropped, records, again = 0, [], []
    for step in range(1, 5):
        records += play(played, Hashed(2), step)
        dropped += played.statistics.dropped
        fresh = player(name, **settings)  # the same after a restart
        if state is not None:
            fresh.load_state_dict(state)
        again += play(fresh, Hashed(2), step)
        state = fresh.state_dict()
    assert dropped > 3 and len(records) > 10
    assert "were dropped; the first" in played.notes[-1]
    assert list(map(fields, again)) == list(map(fields, records))


@pytest.mark.parametrize("seed", range(8))
def test_an_environment_that_does_not_start_with_some_seed_is_tried_with_another(seed):
    played = player("gym:test/Unready-v0", seed=seed, positions=60)
    assert not played.notes and play(played, Hashed(2), 1)


def test_an_environment_that_never_starts_raises_one_sentence():
    with pytest.raises(GameContractError, match=r"OSError.*\(no coin\)"):
        player("gym:test/Dead-v0")


def test_if_every_episode_fails_one_error_is_raised():
    played = player("gym:test/Broken-v0")
    with pytest.raises(GameContractError, match=r"RuntimeError.*\(the wheel came off\)"):
        play(played, Hashed(2), 1)


def test_a_nondeterministic_environment_loses_long_episodes_in_progress():
    settings = {"positions": 40, "segment_plies": 3}
    played = player("gym:test/Moody-v0", **settings)
    assert "is not deterministic" in played.player.notes[0]
    play(played, Hashed(2), 1)
    play(played, Hashed(2), 2)  # without a restart no episode is lost
    assert not played.statistics.dropped and len(played.notes) == 1
    fresh = player("gym:test/Moody-v0", **settings)
    fresh.load_state_dict(played.state_dict())
    play(fresh, Hashed(2), 3)
    assert fresh.statistics.dropped and "shows other observations" in fresh.notes[1]


class Failing(Hashed):
    """Raises an error, or gives NaN, in one call."""

    def __init__(self, *arguments, error=None, at=20):
        super().__init__(*arguments)
        self.error, self.at = error, at

    def _outputs(self, hidden):
        value, reward, policy, hidden = super()._outputs(hidden)
        if self.calls == self.at:
            if self.error is not None:
                raise self.error
            value[-1] = np.nan
        return value, reward, policy, hidden


class OutOfMemoryError(RuntimeError):
    """As PyTorch's."""


@pytest.mark.parametrize("name", ["connect4", CARTPOLE])
@pytest.mark.parametrize("error", [None, OSError("the cable came off")])
def test_a_step_can_be_played_again_after_a_model_failed(name, error):
    played, model = player(name), model_of(name)
    failing = Failing(model.num_actions, model.seats, error=error)
    with pytest.raises(EvaluationError if error is None else OSError, match=r"nan|cable"):
        play(played, failing, 1)
    expected = play(player(name), model, 1)
    assert list(map(fields, play(played, model, 1))) == list(map(fields, expected))


def test_a_lease_is_played_with_fewer_games_if_the_device_has_no_memory():
    played, model = player("connect4", games=8), Hashed(7, 2)
    failing = Failing(7, 2, error=OutOfMemoryError("CUDA out of memory"))
    records = play(played, failing, 1)
    assert played.notes == [
        "The device has not enough memory for 8 games at once: 4 are played at once from now on. "
        "To keep it, set selfplay.games=4."
    ]
    expected = play(player("connect4", games=8), model, 1)
    assert list(map(fields, records)) == list(map(fields, expected))
    with pytest.raises(OutOfMemoryError):  # only once
        play(played, Failing(7, 2, error=OutOfMemoryError("CUDA out of memory")), 2)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "sentence"),
    [("Dice", "--algorithm alphazero"), ("Twice", "seat")],
)
def test_games_with_chance_or_irregular_turns_are_refused(game, sentence):
    name = f"{HERE / 'games.py'}:{game}"
    with pytest.raises(ConfigError, match=sentence):
        player(name, params={"seats": 2})
    with pytest.MonkeyPatch.context() as patch:  # also if it is detected late
        patch.setattr("sylvan.muzero.turns.PROBE_MOVES", 0)
        played = player(name, params={"seats": 2})
    with pytest.raises(ConfigError, match=sentence):
        play(played, Hashed(4, 2), 1)


def test_invalid_settings_are_refused():
    with pytest.raises(ConfigError, match=r"search\.seconds"):
        player(CARTPOLE, seconds=1.0)
    with pytest.raises(ConfigError, match=r"restart_share"):
        player(CARTPOLE, restart_share=0.5)
    with pytest.raises(ConfigError, match="continuous"):
        player("gym:Pendulum-v1")
    played = player(CARTPOLE)
    play(played, Hashed(2), 1)
    with pytest.raises(ConfigError, match="1 seats"):
        player("tictactoe").load_state_dict(played.state_dict())
