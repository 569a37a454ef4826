"""The actor: games planned with a model, reproducible bit for bit."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sylvan.errors import ConfigError, EvaluationError, GameContractError
from sylvan.games import GymnasiumGame
from sylvan.games.naming import GameSpec
from sylvan.muzero import Actor
from sylvan.muzero.search import latent_search
from sylvan.muzero.sequences import SequenceReplay
from sylvan.planning import SearchConfig
from sylvan.selfplay.config import SelfPlayConfig
from tests.muzero.toy_models import Hashed

pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")
pytest.importorskip("tests.muzero.environments")

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
NIM = f"{EXAMPLES / 'nim.py'}:Nim"
SEARCH = set(SearchConfig.model_fields)
CARTPOLE = "gym:CartPole-v1"


@pytest.fixture(params=[2], autouse=True)
def halves(request, monkeypatch):
    """Two halves that alternate; `@both` also plans all games together."""
    monkeypatch.setattr("sylvan.muzero.actor.LEAST_HALF", 1000 if request.param == 1 else 1)
    return request.param


both = pytest.mark.parametrize("halves", [1, 2], indirect=True)


def actor(name, seed=7, params=None, **settings):
    """An actor with settings of search and self-play."""
    search = {name: settings.pop(name) for name in SEARCH & settings.keys() - {"temperature"}}
    search = SearchConfig(**{"simulations": 6, "noise": True, **search})
    config = SelfPlayConfig(**{"games": 6, "positions": 90, "temperature_plies": 4, **settings})
    return Actor(GameSpec(name, params or {}), config, seed, search)


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
    spec, played = GameSpec(name), actor(name, positions=180)
    records = [record for step in range(4) for record in played.play(model_of(name), step)]
    assert len(records) >= 4
    for record in records:
        check(record, spec)
        assert record.ending == "end"
    assert played.statistics.positions == 180


def test_records_contain_the_results_of_the_search():
    """Compare the policy target and the value of a ply with a search of that position."""
    played = actor(CARTPOLE, noise=False, positions=200, temperature=0.0)
    for record in played.play(model_of(CARTPOLE), 0)[:3]:
        search = latent_search(model_of(CARTPOLE), GameSpec(CARTPOLE).first(), played.search)
        for ply in range(len(record)):
            found = search.run(record.observations[ply])
            assert found.best == record.actions[ply]
            np.testing.assert_allclose(found.policy, record.target(ply), atol=1e-6)
            np.testing.assert_allclose(found.value, record.values[ply, 0], atol=1e-6)


# --- reproducibility -----------------------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    "name", [CARTPOLE, "tictactoe", "chess", "gym:test/Walk-v0", "gym:test/Masked-v0", NIM]
)
def test_an_interrupted_run_resumes_bit_for_bit(name):
    settings = {"positions": 250, "max_plies": 180} if name == "chess" else {"positions": 50}
    whole, model = actor(name, **settings), model_of(name)
    expected = [[fields(r) for r in whole.play(model, step)] for step in range(5)]
    state, found = None, []
    for step in range(5):
        fresh = actor(name, **settings)
        if state is not None:
            fresh.load_state_dict(state)
        found.append([fields(record) for record in fresh.play(model, step)])
        state = fresh.state_dict()
        assert not fresh.notes and not fresh.statistics.dropped
    assert found == expected and sum(map(len, expected)) > (2 if name == "chess" else 5)


def test_games_do_not_depend_on_timing():
    quick, slow = (
        [fields(record) for record in actor("gym:test/Walk-v0", params=params).play(model, 3)]
        for params, model in (({}, Hashed(2)), ({"nap": 0.001}, Hashed(2)))
    )
    assert quick == slow


@both
def test_a_step_that_fails_leaves_the_games_unchanged():
    played, same, model = actor(CARTPOLE), actor(CARTPOLE), model_of(CARTPOLE)
    for each in (played, same):
        each.play(model, 0)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        actor_watched_at_once(played, model, stop)
    again, expected = played.play(model, 1), same.play(model, 1)
    assert list(map(fields, again)) == list(map(fields, expected))


def actor_watched_at_once(played, model, watch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sylvan.muzero.actor.WATCH_INTERVAL", 0.0)
        played.play(model, 1, watch)


def test_another_seed_plays_other_games():
    one, two = (actor(CARTPOLE, seed=seed).play(model_of(CARTPOLE), 0) for seed in (1, 2))
    assert list(map(fields, one)) != list(map(fields, two))


@pytest.mark.parametrize("number", [1, 2])
def test_how_many_halves_there_are_can_be_set(number, monkeypatch):
    monkeypatch.setattr("sylvan.muzero.actor.LEAST_HALF", 1000)
    played = actor("connect4", halves=number)
    played.play(Hashed(7, 2), 0)
    assert played.statistics.batches == 15 * number  # 90 positions, 6 games


def test_one_half_is_planned_while_the_moves_of_the_other_are_made():
    """A model that waits for an environment's step does not deadlock."""
    stepped = threading.Event()

    class Waiting(Hashed):
        """From the second search on, waits for a step."""

        def initial_inference(self, observations):
            assert not self.calls or stepped.wait(5)
            return super().initial_inference(observations)

    played = actor("gym:test/Walk-v0")
    with pytest.MonkeyPatch.context() as patch:
        step = GymnasiumGame.apply
        patch.setattr(GymnasiumGame, "apply", lambda *given: (step(*given), stepped.set()))
        assert played.play(Waiting(2), 0)


def test_images_are_planned_from_and_kept_as_bytes(tmp_path):
    spec = GameSpec("gym:test/Picture-v0", {"frame_stack": 2})
    played = Actor(spec, SelfPlayConfig(games=4, positions=80), 1, SearchConfig(simulations=3))
    records = played.play(Hashed(2), 0)
    replay = SequenceReplay(tmp_path, spec, unroll=2, following=True)
    replay.append(records)
    batch = replay.sample(16, np.random.default_rng(0))
    assert batch.observations.dtype == batch.following.dtype == np.uint8
    assert batch.following.shape == (16, 2, 2, 4, 5)
    seen = {record.observations[ply].tobytes() for record in records for ply in range(len(record))}
    assert all(each.tobytes() in seen for each in batch.observations)


def test_two_halves_may_be_planned_at_once():
    class Patient(Hashed):
        """Blocks a thread, like a device."""

        concurrent = True

        def recurrent_inference(self, hidden, actions):
            time.sleep(0.001)
            return super().recurrent_inference(hidden, actions)

    one = [fields(record) for record in actor("connect4").play(Hashed(7, 2), 0)]
    two = [fields(record) for record in actor("connect4").play(Patient(7, 2), 0)]
    assert one == two


@both
def test_the_halves_alternate_in_being_first(halves):
    """With positions for only one half per step, the games of both halves advance."""
    played = actor("connect4", positions=3)
    records = [record for step in range(60) for record in played.play(Hashed(7, 2), step)]
    assert len(records) >= 4 and played.statistics.positions == (3 if halves == 2 else 6)
    assert len({record.seed for record in records}) == len(records)


# --- when games end -------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("how", ["time limit", "move limit"])
def test_a_truncated_episode_bootstraps_from_a_search(how):
    name = "gym:test/Endless-v0"
    params = {"max_episode_steps": 6} if how == "time limit" else {}
    limit = None if how == "time limit" else 6
    spec, model = GameSpec(name, params), Hashed(2)
    played = actor(name, params=params, max_plies=limit, noise=False)
    records = [record for step in range(3) for record in played.play(model, step)]
    assert len(records) > 10
    for record in records:
        assert record.ending == "limit" and len(record) == 6
        assert record.rewards[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
        state = spec.episode(record.seed)
        for action in record.actions.tolist():
            state.apply(action)
        search = latent_search(model, state, played.search)
        np.testing.assert_allclose(record.returns, search.run(state.observation()).value, atol=1e-6)
    assert played.statistics.mean_score == 21 and played.statistics.limits


@both
def test_an_episode_that_waits_for_its_last_search_survives_a_restart():
    name, params, model = "gym:test/Endless-v0", {"max_episode_steps": 4}, Hashed(2)
    settings = {"params": params, "positions": 6}  # one ply of all games per step
    whole = actor(name, **settings)
    expected = [[fields(r) for r in whole.play(model, step)] for step in range(12)]
    state, found = actor(name, **settings).state_dict(), []
    for step in range(12):
        fresh = actor(name, **settings)
        fresh.load_state_dict(state)
        found.append([fields(r) for r in fresh.play(model, step)])
        state = fresh.state_dict()
    assert found == expected and any(expected)


def test_games_of_two_seats_are_adjudicated_at_the_move_limit():
    records = actor("connect4", max_plies=5).play(Hashed(7, 2), 0)
    assert records and {record.ending for record in records} == {"limit"}
    assert all(record.returns.tolist() == [0, 0] for record in records)
    assert all(len(record) == 5 for record in records)


def test_a_losing_seat_resigns():
    played = actor("connect4", resign_below=-0.05, resign_turns=1, resign_play_on=0.0)
    records = [record for step in range(3) for record in played.play(Hashed(7, 2), step)]
    given_up = [record for record in records if record.ending == "resign"]
    assert given_up
    for record in given_up:
        loser = record.seats[-1]
        assert record.returns[loser] == -1 and record.returns[1 - loser] == 1


def test_the_score_adds_rewards_and_return():
    name = f"{HERE / 'games.py'}:Ring"
    played = actor(name, params={"seats": 1, "length": 5})
    records = played.play(Hashed(4, 1), 0)
    score = sum(float(record.rewards.sum() + record.returns[0]) for record in records)
    assert played.statistics.score == pytest.approx(score) and score


# --- how games start ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["connect4", "gym:test/Walk-v0"])
def test_openings_are_random_and_not_learned_from(name):
    played = actor(name, opening_share=1.0, opening_plies=2)
    records = [record for step in range(3) for record in played.play(model_of(name), step)]
    assert records
    for record in records:
        check(record, GameSpec(name))
        assert 1 <= record.searched[0] <= 2
        assert record.searched.tolist() == list(range(record.searched[0], len(record)))


def test_policies_of_fast_searches_are_not_learned():
    played = actor("connect4", full_share=0.5, fast_simulations=2, positions=400)
    weights = np.concatenate([record.weights for record in played.play(Hashed(7, 2), 0)])
    assert set(weights.tolist()) == {0.0, 1.0}
    statistics = played.statistics
    assert 0 < statistics.full < statistics.positions
    full = statistics.full * 6 + (statistics.positions - statistics.full) * 2
    assert statistics.simulations == full


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize("name", ["Fickle", "Unready"])
def test_an_episode_that_fails_is_dropped_and_the_others_continue(name):
    name = f"gym:test/{name}-v0"
    played, state = actor(name, positions=60), None
    dropped, records, again = 0, [], []
    for step in range(4):
        records += played.play(Hashed(2), step)
        dropped += played.statistics.dropped
        fresh = actor(name, positions=60)  # the same after a restart
        if state is not None:
            fresh.load_state_dict(state)
        again += fresh.play(Hashed(2), step)
        state = fresh.state_dict()
    assert dropped > 3 and len(records) > 10
    for record in records:
        check(record, GameSpec(name))
    assert list(map(fields, again)) == list(map(fields, records))


@pytest.mark.parametrize("seed", range(8))
def test_an_environment_that_does_not_start_with_some_seed_is_tried_with_another(seed):
    played = actor("gym:test/Unready-v0", seed=seed, positions=60)
    assert not played.notes and played.play(Hashed(2), 0)


def test_an_environment_that_never_starts_raises_one_sentence():
    with pytest.raises(GameContractError, match=r"OSError.*\(no coin\)"):
        actor("gym:test/Dead-v0")


def test_if_every_episode_fails_one_error_is_raised():
    played = actor("gym:test/Broken-v0")
    with pytest.raises(GameContractError, match=r"RuntimeError.*\(the wheel came off\)"):
        played.play(Hashed(2), 0)


def test_a_nondeterministic_environment_loses_episodes_in_progress():
    name = "gym:test/Moody-v0"
    played = actor(name, positions=40)
    assert "is not deterministic" in played.notes[0]
    played.play(Hashed(2), 0)
    played.play(Hashed(2), 1)  # without a restart no episode is lost
    assert not played.statistics.dropped and len(played.notes) == 1
    fresh = actor(name, positions=40)
    fresh.load_state_dict(played.state_dict())
    fresh.play(Hashed(2), 2)
    assert fresh.statistics.dropped and "episodes in progress were dropped" in fresh.notes[1]


@pytest.mark.parametrize(
    ("game", "sentence"),
    [("Dice", "--algorithm alphazero"), ("Twice", "seat")],
)
def test_games_with_chance_or_irregular_turns_are_refused(game, sentence):
    name = f"{HERE / 'games.py'}:{game}"
    with pytest.raises(ConfigError, match=sentence):
        actor(name, params={"seats": 2})
    with pytest.MonkeyPatch.context() as patch:  # also if it is detected late
        patch.setattr("sylvan.muzero.game_slots.PROBE_MOVES", 0)
        played = actor(name, params={"seats": 2})
    with pytest.raises(ConfigError, match=sentence):
        played.play(Hashed(4, 2), 0)


def test_invalid_settings_are_refused():
    with pytest.raises(ConfigError, match=r"search\.seconds"):
        actor(CARTPOLE, seconds=1.0)
    with pytest.raises(ConfigError, match=r"restart_share"):
        actor(CARTPOLE, restart_share=0.5)
    with pytest.raises(ConfigError, match="continuous"):
        actor("gym:Pendulum-v1")
    played = actor(CARTPOLE)
    played.play(Hashed(2), 0)
    with pytest.raises(ConfigError, match="1 seats"):
        actor("tictactoe").load_state_dict(played.state_dict())


def test_a_model_that_returns_nan_raises_and_loses_no_games():
    class Nan(Hashed):
        """Returns NaN."""

        def recurrent_inference(self, hidden, actions):
            value, *rest = super().recurrent_inference(hidden, actions)
            return value * np.nan, *rest

    played, same = actor(CARTPOLE), actor(CARTPOLE)
    with pytest.raises(EvaluationError, match="finite"):
        played.play(Nan(2), 0)
    found, expected = (each.play(Hashed(2), 0) for each in (played, same))
    assert list(map(fields, found)) == list(map(fields, expected))
