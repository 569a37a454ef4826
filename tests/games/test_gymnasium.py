"""Gymnasium's environments as games of one seat: supported spaces, errors, rewards."""

from __future__ import annotations

import math
import re
import sys

import numpy as np
import pytest

import sylvan
from sylvan.errors import ConfigError, GameContractError, GameOver, IllegalAction, MissingExtra
from sylvan.games import GymnasiumGame, from_gymnasium
from sylvan.games.gymnasium import repeats
from sylvan.games.naming import GameSpec
from sylvan.testing import check_game

gym = pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")


class Walk(gym.Env):
    """Counts its steps: pays `pays`, ends after `length`."""

    action_space = gym.spaces.Discrete(3, start=5)
    observation_space = gym.spaces.Box(0, 99, (2,), np.float64)

    def __init__(self, pays=(1.0,), length=10, shown=None, space=None):
        self.pays, self.length, self.shown = pays, length, shown
        if space is not None:
            self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.last = 0, 0
        return self._seen(), {}

    def step(self, action):
        self.last = action
        reward = self.pays[self.steps % len(self.pays)]
        self.steps += 1
        return self._seen(), reward, self.steps >= self.length, False, {}

    def _seen(self):
        return np.array([self.steps, self.last]) if self.shown is None else self.shown


def test_an_episode_is_what_the_environment_does():
    game = GameSpec("gym:CartPole-v1").episode(7)
    env = gym.make("CartPole-v1")
    seen, _ = env.reset(seed=7)
    total, over = 0.0, False
    while not over:
        np.testing.assert_array_equal(game.observation(), seen)
        action = total % 2
        seen, reward, terminated, truncated, _ = env.step(int(action))
        game.apply(int(action))
        total, over = total + reward, terminated or truncated
        assert game.rewards() == (reward,) and game.score == total
        assert game.is_terminal() == over
    assert not game.truncated and game.returns() == (0.0,) and game.legal_actions() == ()


def test_a_time_limit_cuts_off_and_does_not_end():
    spec = GameSpec("gym:CartPole-v1", {"max_episode_steps": 3})
    game = spec.first()
    assert game.max_length == 3
    for action in (0, 1, 0):
        assert not game.is_terminal()
        game.apply(action)
    assert game.is_terminal() and game.truncated
    with pytest.raises(GameOver, match="ended"):
        game.apply(0)


def test_ending_at_the_limit_is_an_end():
    game = from_gymnasium(gym.wrappers.TimeLimit(Walk(length=2), 2))
    game.apply(0)
    game.apply(0)
    assert game.is_terminal() and not game.truncated


def test_the_seed_says_which_episode():
    spec = GameSpec("gym:LunarLander-v3")
    one, same, other = spec.episode(5), spec.episode(5), spec.episode(6)
    for _ in range(20):
        np.testing.assert_array_equal(one.observation(), same.observation())
        assert (one.observation() != other.observation()).any()
        for game in (one, same, other):
            game.apply(2)
    again = spec.episode(6, one)
    assert again is one and again.score == 0
    np.testing.assert_array_equal(again.observation(), spec.episode(6).observation())


def test_an_environment_that_does_not_repeat_itself_is_found_out():
    class Moody(Walk):
        """Shows the number of resets of all instances."""

        resets = 0

        def reset(self, *, seed=None, options=None):
            Moody.resets += 1
            return super().reset(seed=seed)

        def _seen(self):
            return np.array([self.steps, Moody.resets])

    assert repeats(from_gymnasium(Walk()), from_gymnasium(Walk()))
    assert not repeats(from_gymnasium(Walk(pays=(1,))), from_gymnasium(Walk(pays=(2,))))
    assert not repeats(from_gymnasium(Walk(length=3)), from_gymnasium(Walk(length=4)))
    one = from_gymnasium(Moody())
    one.apply(0)
    other = from_gymnasium(Moody())
    other.apply(0)
    assert not repeats(one, other)


@pytest.mark.parametrize(
    ("form", "scale", "paid"),
    [("raw", 1.0, [5, -0.5, 0]), ("clip", 2.0, [2, -1, 0]), ("sign", 0.5, [0.5, -0.5, 0])],
)
def test_rewards_are_transformed_and_the_score_is_not(form, scale, paid):
    game = from_gymnasium(Walk(pays=(5.0, -0.5, 0.0)), reward=form, reward_scale=scale)
    found = []
    for _ in range(3):
        game.apply(1)
        found += game.rewards()
    assert found == paid and game.score == 4.5


def test_actions_count_from_zero_whatever_the_environment_calls_them():
    game = from_gymnasium(Walk())
    assert list(game.legal_actions()) == [0, 1, 2]
    game.apply(2)
    np.testing.assert_array_equal(game.observation(), np.array([1, 7], np.float32))
    with pytest.raises(IllegalAction, match="0 to 2"):
        game.apply(3)


def test_frames_are_stacked_the_oldest_first():
    game = from_gymnasium(Walk(), frame_stack=3)
    np.testing.assert_array_equal(game.observation(), [0, 0] * 3)
    game.apply(0)
    game.apply(1)
    np.testing.assert_array_equal(game.observation(), [0, 0, 1, 5, 2, 6])
    game.restart(0)
    np.testing.assert_array_equal(game.observation(), [0, 0] * 3)


def test_images_become_planes():
    image = np.arange(6 * 4 * 3, dtype=np.uint8).reshape(6, 4, 3)
    space = gym.spaces.Box(0, 255, (6, 4, 3), np.uint8)
    seen = from_gymnasium(Walk(shown=image, space=space)).observation()
    assert seen.dtype == np.uint8
    np.testing.assert_array_equal(seen, image.transpose(2, 0, 1))
    small = from_gymnasium(Walk(shown=image, space=space), shrink=2, gray=True, frame_stack=2)
    gray = image @ np.array([0.299, 0.587, 0.114])
    expected = gray.reshape(3, 2, 2, 2).mean(axis=(1, 3))
    assert small.observation().shape == (2, 3, 2)
    np.testing.assert_allclose(small.observation()[1], expected, atol=1.01)


@pytest.mark.parametrize(
    ("space", "shown", "expected"),
    [
        (gym.spaces.Discrete(4, start=1), 3, [0, 0, 1, 0]),
        (gym.spaces.MultiDiscrete([2, 3]), np.array([1, 2]), [0, 1, 0, 0, 1]),
        (gym.spaces.MultiBinary(3), np.array([1, 0, 1]), [1, 0, 1]),
    ],
)
def test_whole_numbers_become_ones(space, shown, expected):
    seen = from_gymnasium(Walk(shown=shown, space=space)).observation()
    assert seen.dtype == np.float32
    np.testing.assert_array_equal(seen, expected)


def test_it_keeps_the_contract():
    class Poles(GymnasiumGame):
        """CartPole without arguments, as `check_game` makes it."""

        def __init__(self):
            self.__dict__.update(vars(from_gymnasium("CartPole-v1", 3)))

    check_game(Poles)


def test_planning_on_copies_holds_the_pole_up():
    game = GameSpec("gym:CartPole-v1").episode(1)
    search = sylvan.Search("rollout", simulations=20, discount=0.95)
    for _ in range(30):
        game.apply(search.run(game).best)
    assert not game.is_terminal()


def test_a_copy_that_shares_its_world_is_refused():
    class Shared(Walk):
        """Steps are counted in the class, over all copies."""

        count = 0

        def step(self, action):
            Shared.count += 1
            return np.array([Shared.count, 0]), 0.0, False, False, {}

        def __deepcopy__(self, memo):
            return self

    with pytest.raises(GameContractError, match="Two copies"):
        from_gymnasium(Shared()).clone()
    with pytest.raises(GameContractError, match="cop"):
        GameSpec("gym:LunarLander-v3").first().clone()


OWN = """
import gymnasium, numpy as np
class Lamps(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    def __init__(self, bright=1.0): self.bright = bright
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.lamp = int(self.np_random.integers(2))
        return self.light(), {}
    def light(self): return self.bright * np.eye(2, dtype=np.float32)[self.lamp]
    def step(self, action): return self.light(), float(action == self.lamp), False, False, {}
def dim(): return Lamps(0.25)
nothing = 3
def wrong(): return nothing
"""


def test_an_environment_in_a_file_of_ones_own(tmp_path):
    path = tmp_path / "lamps.py"
    path.write_text(OWN)
    spec = GameSpec(f"gym:{path}:Lamps", {"bright": 0.5, "max_episode_steps": 3, "reward_scale": 2})
    game = spec.episode(4)
    assert game.observation().max() == 0.5 and spec.short_name == "Lamps"
    lamp = int(game.observation().argmax())
    for _ in range(3):
        game.apply(lamp)
    assert game.truncated and game.score == 3 and game.rewards() == (2.0,)
    np.testing.assert_array_equal(spec.episode(4).observation(), spec.episode(4).observation())
    assert GameSpec(f"gym:{path}:dim").first().observation().max() == 0.25
    for name, params, sentence in (
        ("Lamps", {"colour": 1}, "does not take {'colour': 1}"),
        ("Lamp", {}, "has no 'Lamp': give path.py:Name of the environment's class"),
        ("nothing", {}, "The environment is 3: give"),
        ("wrong", {}, "makes a int, which is not a gymnasium.Env"),
    ):
        with pytest.raises(ConfigError, match=re.escape(sentence)):
            GameSpec(f"gym:{path}:{name}", params).first()


def test_a_run_stores_the_whole_path_of_an_environments_file(tmp_path, monkeypatch):
    """A relative path works in the run's settings, and from another folder later."""
    from sylvan.runs.config import TrainingConfig

    (tmp_path / "lamps.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    config = TrainingConfig(game={"name": "gym:lamps.py:Lamps"}, network={"size": "mlp1x8"})
    name = config.resolved().game.name
    monkeypatch.chdir("/")
    assert GameSpec(name).first().num_actions == 2 and name.startswith("gym:/")


def test_a_module_in_the_current_folder_counts(tmp_path, monkeypatch):
    register = "gymnasium.register('Lamps-v0', Lamps)\n"
    (tmp_path / "lamps_here.py").write_text(OWN + register)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert GameSpec("gym:lamps_here:Lamps-v0").first().num_actions == 2


def test_a_class_of_a_module_is_named_by_its_file(tmp_path, monkeypatch):
    (tmp_path / "lamps_unregistered.py").write_text(OWN.replace("Lamps", "Unlit"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"does not register: name its file, gym:path\.py:Unlit"):
        GameSpec("gym:lamps_unregistered:Unlit").first()


REFUSED = {
    "continuous": ("Pendulum-v1", {}, "continuous actions.*discrete actions"),
    "wrapper": ("CartPole-v1", {"wrappers": ["Slow"]}, "'Slow' has no module"),
    "no such wrapper": ("CartPole-v1", {"wrappers": ["math:Slow"]}, "math:Slow cannot be loaded"),
    "its arguments": ("CartPole-v1", {"wrappers": ["math:sqrt(2)"]}, r"'math:sqrt\(2\)'.*by name"),
    "no wrapper": ("CartPole-v1", {"wrappers": ["math:sqrt"]}, "math:sqrt.*CartPole-v1.*TypeError"),
    "one text": ("CartPole-v1", {"wrappers": "math:sqrt"}, "'math:sqrt'.*list"),
    "unknown": ("CartPol-v1", {}, "did you mean 'CartPole-v1'"),
    "module": ("no.such.module:CartPole-v1", {}, "cannot be loaded.*gym:path.py:Class"),
    "atari": ("ALE/Pong-v5", {}, "its module, ale_py, in front, gym:ale_py:ALE/Pong-v5"),
    "namespace": ("Foo/Bar-v1", {}, "the module that registers it.*gym:module:Foo/Bar-v1"),
    "setting": ("CartPole-v1", {"wheels": 3}, "cannot be made with"),
    "reward": ("CartPole-v1", {"reward": "square"}, "raw, clip, sign"),
    "stack": ("CartPole-v1", {"frame_stack": 0}, "whole number"),
    "scale": ("CartPole-v1", {"reward_scale": math.inf}, "positive number"),
    "gray": ("CartPole-v1", {"gray": True}, "for images"),
    "shrink": ("CarRacing-v3", {"continuous": False, "shrink": 1000}, "shrink is 1000"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_played_is_one_sentence(case):
    name, params, sentence = REFUSED[case]
    with pytest.raises(ConfigError, match=sentence):
        GameSpec(f"gym:{name}", params).first()


def test_other_beginnings_are_refused():
    with pytest.raises(ConfigError, match="initial position"):
        GameSpec("gym:CartPole-v1").first("upside down")


def test_numbers_that_are_none_are_a_fault_of_the_environment():
    with pytest.raises(GameContractError, match="nan"):
        from_gymnasium(Walk(pays=(math.nan,))).apply(0)
    with pytest.raises(GameContractError, match="finite"):
        from_gymnasium(Walk(shown=np.array([math.inf, 0])))
    with pytest.raises(GameContractError, match=r"\(3,\).*\(2,\)"):
        from_gymnasium(Walk(shown=np.zeros(3)))


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"'sylvan\[gym\]'"):
        from_gymnasium("CartPole-v1")


# --- masks ---------------------------------------------------------------------------------------


class Ladder(Walk):
    """Allows action `steps % 3` and the one after it; refuses others."""

    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        seen, _ = super().reset(seed=seed)
        return seen, {"action_mask": self.mask()}

    def step(self, action):
        if not self.mask()[action]:
            raise ValueError(f"action {action} is masked")
        seen, reward, ended, cut, _ = super().step(action)
        return seen, reward, ended, cut, {"action_mask": self.mask()}

    def mask(self):
        allowed = np.zeros(3, np.int8)
        allowed[[self.steps % 3, (self.steps + 1) % 3]] = 1
        return allowed


class Method(Ladder):
    """Tells its mask by a method, as sb3-contrib expects."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], {}

    def step(self, action):
        return *super().step(action)[:4], {}

    def action_masks(self):
        return self.mask().astype(bool)


@pytest.mark.parametrize("make", [Ladder, Method, lambda: gym.wrappers.TimeLimit(Method(), 99)])
def test_masked_actions_are_illegal(make):
    game = from_gymnasium(make())
    for steps in range(9):
        allowed = sorted((steps % 3, (steps + 1) % 3))
        assert list(game.legal_actions()) == allowed
        masked = 3 - sum(allowed)
        with pytest.raises(IllegalAction, match=f"action {masked} "):
            game.apply(masked)
        game.apply(allowed[0])
    game.apply(next(iter(game.legal_actions())))
    assert game.is_terminal() and game.legal_actions() == ()
    game.restart(1)
    assert list(game.legal_actions()) == [0, 1]


def test_masks_count_from_the_first_action():
    class Shifted(Ladder):
        action_space = gym.spaces.Discrete(3, start=5)

        def step(self, action):
            return super().step(action - 5)

    game = from_gymnasium(Shifted())
    game.apply(1)
    assert list(game.legal_actions()) == [1, 2] and game.action_to_string(2) == "7"


def test_planning_with_copies_respects_masks():
    game = from_gymnasium(Ladder())
    result = sylvan.search(game, simulations=60, evaluator="rollout", seed=3)
    assert {edge.action for edge in result.tree.root.edges} == {0, 1}
    assert repeats(from_gymnasium(Ladder()), from_gymnasium(Ladder()))
    assert not repeats(from_gymnasium(Ladder()), from_gymnasium(Walk()))


@pytest.mark.parametrize("mask", [[1, 0], [0, 0, 0], [[1, 0, 1]]])
def test_a_mask_that_does_not_fit_is_the_environments_fault(mask):
    class Wrong(Ladder):
        def mask(self):
            return np.array(mask)

    with pytest.raises(GameContractError, match=re.escape(str(mask))):
        from_gymnasium(Wrong())


# --- observations in parts, vector environments, wrappers ----------------------------------------

PARTS = gym.spaces.Dict(
    place=gym.spaces.Box(-1, 1, (2, 2), np.float64),
    level=gym.spaces.Discrete(3, start=4),
    more=gym.spaces.Tuple([gym.spaces.MultiBinary(2), gym.spaces.MultiDiscrete([2, 3])]),
)


def test_parts_are_joined_to_one_vector():
    """In the space's order: four numbers, level 5 of 4 to 6, two bits, and (1, 2) one-hot."""
    seen = {
        "place": np.array([[0.5, -1], [0, 1]]),
        "level": 5,
        "more": (np.array([1, 0], np.int8), np.array([1, 2])),
    }
    game = from_gymnasium(Walk(shown=seen, space=PARTS))
    expected = [0.5, -1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1]
    assert game.observation().dtype == np.float32
    assert game.observation().tolist() == expected
    stacked = from_gymnasium(Walk(shown=seen, space=PARTS), frame_stack=2)
    assert stacked.observation().tolist() == 2 * expected
    assert from_gymnasium("Blackjack-v1").observation().shape == (32 + 11 + 2,)


def test_parts_that_do_not_fit_their_space_are_one_sentence():
    with pytest.raises(GameContractError, match="observation_space"):
        from_gymnasium(Walk(shown={"place": np.zeros((2, 2))}, space=PARTS))
    graph = gym.spaces.Dict(graph=gym.spaces.Graph(gym.spaces.Discrete(2), None))
    with pytest.raises(ConfigError, match="no fixed size"):
        from_gymnasium(Walk(shown={}, space=graph))


def test_a_vector_environment_of_one_is_an_environment():
    one = from_gymnasium(gym.make_vec("CartPole-v1", num_envs=1, vectorization_mode="sync"), 7)
    plain = from_gymnasium("CartPole-v1", 7)
    for step in range(30):
        np.testing.assert_array_equal(one.observation(), plain.observation())
        assert one.rewards() == plain.rewards() and one.is_terminal() == plain.is_terminal()
        if plain.is_terminal():
            break
        for game in (one, plain):
            game.apply(step // 3 % 2)
    assert plain.is_terminal()
    for game in (one, plain):
        game.restart(3)
    np.testing.assert_array_equal(one.observation(), plain.observation())
    with pytest.raises(ConfigError, match=r"3 copies.*num_envs=1"):
        from_gymnasium(gym.make_vec("CartPole-v1", num_envs=3))


def test_vector_environments_by_class_and_by_name():
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    assert from_gymnasium(CartPoleVectorEnv).observation().shape == (4,)
    gym.register("test/OnlyVector-v0", vector_entry_point=CartPoleVectorEnv)
    game = from_gymnasium("test/OnlyVector-v0")
    game.apply(1)
    assert game.num_actions == 2 and game.score == 1


def test_parts_and_masks_of_a_vector_environment():
    shown = {
        "place": np.zeros((2, 2)),
        "level": 6,
        "more": (np.array([1, 0], np.int8), np.array([1, 2])),
    }
    vector = gym.vector.SyncVectorEnv([lambda: Ladder(shown=shown, space=PARTS)])
    game = from_gymnasium(vector)
    game.apply(1)
    assert list(game.legal_actions()) == [1, 2]
    assert game.observation().tolist()[4:7] == [0, 0, 1]


WRAPPER = """
import gymnasium

class Twice(gymnasium.Wrapper):
    def __init__(self, env, times=2):
        super().__init__(env)
        self.times = times

    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, self.times * reward, *rest
"""


def test_wrappers_are_put_around_the_innermost_first(tmp_path, monkeypatch):
    (tmp_path / "wrappers.py").write_text(WRAPPER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    names = ["wrappers.py:Twice(times=3)", "gymnasium.wrappers:ClipReward(max_reward=2)"]
    for order, score in ((names, 2), (names[::-1], 3), (["wrappers:Twice"], 2)):
        game = GameSpec("gym:CartPole-v1", {"wrappers": order}).first()
        game.apply(0)
        assert game.score == score
    resize = "gymnasium.wrappers:FlattenObservation"
    assert from_gymnasium("Blackjack-v1", wrappers=[resize]).observation().shape == (45,)
