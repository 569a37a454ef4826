"""Parts of a worker for learned models: files of networks, answers, slots."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sylvan.cluster.network_files import model_of, models_packed, onnx_model, torch_model
from sylvan.cluster.recipe import Recipe, recipe_of
from sylvan.cluster.slots import ModelSlot
from sylvan.errors import ClusterError
from sylvan.games.naming import GameSpec
from sylvan.muzero.build import build_muzero
from sylvan.muzero.model import EagerModel, TorchModel
from sylvan.muzero.model_answers import depends_on_batch, fixed_observations
from sylvan.muzero.model_player import ModelPlayer
from sylvan.networks.checkpoint import save_network
from sylvan.planning import SearchConfig
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.leases import Lease
from tests.muzero.made_up import Counter
from tests.runs.killing import tiny_learned

SPEC = GameSpec("tictactoe")


@pytest.fixture(scope="module")
def model() -> TorchModel:
    return TorchModel(build_muzero("mlp1x16", game=SPEC.first(), seed=1), device="cpu", threads=1)


@pytest.fixture(scope="module")
def recipe(model) -> Recipe:
    return recipe_of(tiny_learned(1, "tictactoe"), model)


def test_a_model_travels_as_its_onnx_models(model, recipe):
    file = model_of(model)
    assert file is not None and recipe.learned and recipe.runtime == "onnx"
    assert recipe.answers(onnx_model(file, 1), 3) == recipe.answers(model, 3)
    assert recipe.answers(onnx_model(file, 1), 3) != recipe.answers(model, 4)
    assert {"device", "machine", "onnxruntime", "numpy"} <= set(recipe.profile)


def test_a_model_that_runs_in_pytorch_travels_as_a_checkpoint(recipe, tmp_path):
    network = build_muzero("mlp1x16", game=SPEC.first(), seed=1)
    model = TorchModel(network, device="cpu")
    model.inner = EagerModel(network)  # it could not be exported
    assert model_of(model) is None
    save_network(network, tmp_path / "network.safetensors")
    there = torch_model((tmp_path / "network.safetensors").read_bytes(), "cpu", 1)
    there.inner = EagerModel(network)
    assert recipe.answers(there, 3) == recipe.answers(model, 3)


def test_a_model_of_ones_own_is_refused():
    class Own:
        def recurrent_inference(self, hidden, actions): ...

    with pytest.raises(ClusterError, match="Own"):
        model_of(Own())


def test_environments_are_tried_with_random_numbers():
    """They may not repeat themselves, and cannot be copied."""
    spec = GameSpec("gym:CartPole-v1")
    seen = fixed_observations(spec, Counter(shape=(4,)), 5, seed=1)
    assert seen.shape == (5, 4) and len(np.unique(seen)) == 20
    assert (seen == fixed_observations(spec, Counter(shape=(4,)), 5, seed=1)).all()
    image = fixed_observations(spec, Counter(shape=(2, 3), dtype=np.uint8), 5, seed=1)
    assert image.dtype == np.uint8 and image.max() > 6


class Neighbours:
    """A model whose values depend on the rest of the batch."""

    def initial_inference(self, observations):
        count = len(observations)
        values = observations.reshape(count, -1).sum(axis=1) + 1e-3 * observations[0].sum()
        return values, np.zeros(count), np.zeros((count, 9)), np.zeros((count, 1))

    def recurrent_inference(self, hidden, actions):
        count = len(actions)
        return np.zeros(count), np.zeros(count), np.zeros((count, 9)), hidden


def test_a_model_whose_answers_depend_on_the_batch_is_found(model, recipe):
    seen = fixed_observations(SPEC, SPEC.first(), 16, seed=1)
    assert depends_on_batch(Neighbours(), seen, 9)
    assert not depends_on_batch(model, seen, 9)
    assert not recipe.one_actor


def test_one_worker_plays_a_step_if_answers_depend_on_the_batch(model, monkeypatch):
    monkeypatch.setattr("sylvan.cluster.recipe.depends_on_batch", lambda *_: True)
    config = tiny_learned(1, "tictactoe")
    recipe = recipe_of(config, model)
    assert recipe.one_actor and recipe.split == 1
    assert recipe.selfplay["games"] == config.selfplay.games
    file = model_of(model)
    assert file is not None and recipe.evaluator(file, 4, 0).threads == 1
    assert not recipe_of(config, model, exact=False).one_actor


class Slow:
    """A uniform policy, a little slowly."""

    def initial_inference(self, observations):
        count = len(observations)
        return np.zeros(count), np.zeros(count), np.zeros((count, 9)), np.zeros((count, 1))

    def recurrent_inference(self, hidden, actions):
        time.sleep(0.005)
        count = len(actions)
        return np.zeros(count), np.zeros(count), np.zeros((count, 9)), hidden


def until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_lease_that_is_given_up_ends_soon_and_can_be_played_again():
    search = SearchConfig(simulations=20, noise=True)
    slot = ModelSlot(ModelPlayer(SPEC, SelfPlayConfig(games=2), 1, search=search))
    lease = Lease(1, 0, first=0, count=2000)
    slot.begin(Slow(), lease)
    until(lambda: slot.positions > 0)
    assert not slot.is_free
    slot.stop()
    until(lambda: slot.is_free)
    slot.begin(Slow(), Lease(1, 0, first=0, count=4))
    until(lambda: slot.is_over)
    played = slot.finish()
    assert slot.is_free and played.statistics.games == 4
    assert played.statistics.positions == (played.games["counts"] > 0).sum()


def test_an_error_of_a_lease_is_raised_at_its_end():
    class Broken(Slow):
        def recurrent_inference(self, hidden, actions):
            raise ValueError("no")

    slot = ModelSlot(ModelPlayer(SPEC, SelfPlayConfig(games=2), 1))
    slot.begin(Broken(), Lease(1, 0, first=0, count=2))
    until(lambda: slot.is_over)
    with pytest.raises(ValueError, match="no"):
        slot.finish()
    slot.stop()
    assert slot.is_free


def test_models_are_packed_by_name():
    assert models_packed({"a": b"1", "b": b"2"}) != models_packed({"a": b"2", "b": b"1"})
