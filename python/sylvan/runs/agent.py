"""A trained model to act with, anywhere: `agent = sylvan.load("runs/cartpole")`.

    observation, _ = environment.reset()
    agent.reset()
    while not over:
        observation, reward, terminated, truncated, _ = environment.step(agent.act(observation))

An agent plans each action with the run's learned model; it needs neither the rules nor, where the
networks were exported, PyTorch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError, MissingExtra, NetworkError
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.planning import LatentSearch, SearchConfig, SearchResult

__all__ = ["Agent", "load", "load_model"]


class Agent:
    """Acts by searching over a learned model.

    :param search: the search of each action.
    :param see: turns what an environment shows into what its model was shown; default: an array.
    :param frames: observations, the last ones, that the model sees together.
    """

    def __init__(
        self,
        search: LatentSearch,
        see: Callable[[Any], NDArray[Any]] = np.asarray,
        frames: int = 1,
    ) -> None:
        self.search = search
        self._see = see
        self._frames: deque[NDArray[Any]] = deque(maxlen=frames)

    def reset(self) -> None:
        """A new episode begins: what was seen before is forgotten."""
        self._frames.clear()

    def act(
        self, observation: Any, legal_actions: Sequence[int] | None = None, *, seat: int = 0
    ) -> int:
        """The action to take.

        :param observation: what the environment shows, or a state of a `Game`.
        :param legal_actions: those to choose from; default: all, or the game's.
        :param seat: who is to move, in a game of several.
        """
        return self.plan(observation, legal_actions, seat=seat).best

    def plan(
        self, observation: Any, legal_actions: Sequence[int] | None = None, *, seat: int = 0
    ) -> SearchResult:
        """The whole search behind an action: values, visits, the expected line."""
        if isinstance(observation, Game):
            game = observation
            legal = list(game.legal_actions()) if legal_actions is None else legal_actions
            return self.search.run(np.asarray(game.observation()), legal, seat=game.to_play())
        frame = self._see(observation)
        missing = (self._frames.maxlen or 1) - len(self._frames)
        self._frames.extend([frame] * max(1, missing))
        seen = frame if self._frames.maxlen == 1 else np.concatenate(list(self._frames))
        return self.search.run(seen, legal_actions, seat=seat)


def load(
    run: str | PathLike[str],
    *,
    which: str = "best",
    simulations: int | None = None,
    device: str = "cpu",
    **settings: Any,
) -> Agent:
    """The agent that a run with `algorithm = muzero` has trained.

    :param run: its folder.
    :param which: its `best` network or its `last`.
    :param simulations: of each search; default: as many as it was trained with.
    :param device: `cuda` to plan on a GPU.
    :param settings: others of the search, by name.
    :raises RunError: the folder is no run.
    :raises ConfigError: the run has the rules of its game, and so no model.
    :raises NetworkError: it has no network yet.
    """
    from sylvan.muzero.search import greedy, latent_search
    from sylvan.networks.checkpoint import read_header
    from sylvan.runs.run import Run

    opened = Run.open(run)
    config: SearchConfig = greedy(opened.config.search).replace(**settings)
    if simulations is not None:
        config = config.replace(simulations=simulations)
    model = load_model(run, which=which, device=device)
    spec = opened.config.game.spec
    if not spec.is_gymnasium:
        return Agent(latent_search(model, spec.first(), config))
    frames = int(spec.params.get("frame_stack", 1))
    stacked, *rest = read_header(opened.network(which)).observation_shape
    see = _eyes(spec, (stacked // frames, *rest))
    return Agent(LatentSearch(model, config, relative=True), see, frames)


def load_model(run: str | PathLike[str], *, which: str = "best", device: str = "cpu") -> Any:
    """A run's learned model, as `LatentSearch` takes it: on ONNX Runtime, or PyTorch on a GPU.

    :raises ConfigError: the run has the rules of its game, and so no model.
    :raises NetworkError: it has no network yet.
    """
    from sylvan.runs.run import Run

    if which not in ("best", "last"):
        raise ConfigError(f"which is {which!r}: a run has a 'best' network and a 'last'.")
    opened = Run.open(run)
    if opened.config.run.algorithm != "muzero":
        raise ConfigError(
            f"{run} learns with the rules of {opened.config.game.name}, so it has no model to act "
            "with: search with its network, sylvan.Search(sylvan.evaluators.load_evaluator(run))."
        )
    file = opened.network(which)
    if not file.is_file():
        raise NetworkError(
            f"The run {run} has no network yet: let it go on until its first rating, or its end."
        )
    folder = opened.networks / which
    if device == "cpu" and folder.is_dir():
        from sylvan.muzero.onnx_model import OnnxModel

        return OnnxModel(folder)
    from sylvan.muzero.model import TorchModel
    from sylvan.networks.checkpoint import load_network

    return TorchModel(load_network(file), device=device)


def _eyes(spec: GameSpec, shape: tuple[int, ...]) -> Callable[[Any], NDArray[Any]]:
    """What turns an environment's observations into those that its model was shown.

    Where the environment cannot be made any more, vectors need nothing of it.

    :param shape: of one observation, as the model takes it.
    """
    try:
        game: Any = spec.first()
    except (ConfigError, GameContractError, MissingExtra) as error:
        fault = error
    else:
        see: Callable[[Any], NDArray[Any]] = game.see
        return see

    def plain(seen: Any) -> NDArray[np.float32]:
        array = np.array(seen, np.float32, ndmin=1)
        if array.shape != shape:
            raise ConfigError(
                f"The observation has shape {array.shape}, but the model was shown {shape}; what "
                f"turns one into the other is in the environment: {fault}"
            ) from fault
        return array

    return plain
