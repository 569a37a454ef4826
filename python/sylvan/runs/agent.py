"""Act with a trained MuZero model: `agent = sylvan.load("runs/cartpole")`.

    observation, _ = environment.reset()
    agent.reset()
    while not over:
        observation, reward, terminated, truncated, _ = environment.step(agent.act(observation))

An agent plans each action with the run's learned model. It does not need the game's rules, nor
PyTorch if the networks were exported to ONNX.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.errors import ConfigError, GameContractError, MissingExtra, NetworkError
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.planning import LatentSearch, SearchConfig, SearchResult, SearchSettings

if TYPE_CHECKING:
    from sylvan.planning import LatentModel

__all__ = ["Agent", "load", "load_model"]


class Agent:
    """Acts by searching over a learned model.

    :param search: plans each action.
    :param see: converts an environment's observation to the model's input; default: `np.asarray`.
    :param frames: number of last observations that the model takes as one input.
    :param first_action: the environment's number of the model's action 0.
    :param num_actions: how many actions there are; None: only the model knows.
    """

    def __init__(
        self,
        search: LatentSearch,
        see: Callable[[Any], NDArray[Any]] = np.asarray,
        frames: int = 1,
        first_action: int = 0,
        num_actions: int | None = None,
    ) -> None:
        self.search = search
        self.first_action = first_action
        self.num_actions = num_actions
        self._see = see
        self._frames: deque[NDArray[Any]] = deque(maxlen=frames)

    def reset(self) -> None:
        """Start a new episode: forget the earlier observations."""
        self._frames.clear()

    def act(
        self,
        observation: object,
        legal_actions: Sequence[int] | None = None,
        *,
        seat: int = 0,
        action_mask: ArrayLike | None = None,
    ) -> int:
        """Choose an action: the environment's own number of it, or the game's code.

        :param observation: the environment's observation, or a state of a `Game`.
        :param legal_actions: the actions to choose from, numbered as the environment or the game
            does; default: all, or the game's legal ones.
        :param seat: the seat to move, in a game with several seats.
        :param action_mask: instead of `legal_actions`, an entry per action, true for those to
            choose from: an environment's `info["action_mask"]`.
        """
        code = self.plan(observation, legal_actions, seat=seat, action_mask=action_mask).best
        return code if isinstance(observation, Game) else code + self.first_action

    def plan(
        self,
        observation: object,
        legal_actions: Sequence[int] | None = None,
        *,
        seat: int = 0,
        action_mask: ArrayLike | None = None,
    ) -> SearchResult:
        """Search, and return the full result: values, visits, the principal variation.

        Its actions are the model's, which start at 0: the environment's minus `first_action`.
        """
        is_state = isinstance(observation, Game)
        codes = self._codes(legal_actions, action_mask, 0 if is_state else self.first_action)
        if isinstance(observation, Game):
            legal = list(observation.legal_actions()) if codes is None else codes
            seen = np.asarray(observation.observation())
            return self.search.run(seen, legal, seat=observation.to_play())
        frame = self._see(observation)
        missing = (self._frames.maxlen or 1) - len(self._frames)
        self._frames.extend([frame] * max(1, missing))
        stacked = frame if self._frames.maxlen == 1 else np.concatenate(list(self._frames))
        return self.search.run(stacked, codes, seat=seat)

    def _codes(
        self, legal_actions: Sequence[int] | None, action_mask: ArrayLike | None, first: int
    ) -> list[int] | None:
        """The model's codes of the actions to choose from; None: all.

        :param first: the caller's number of code 0.
        """
        count = self.num_actions
        if action_mask is not None:
            if legal_actions is not None:
                raise ConfigError("legal_actions and action_mask are the same: give one of them.")
            mask = np.asarray(action_mask)
            if mask.ndim != 1 or count not in (None, len(mask)):
                raise ConfigError(
                    f"action_mask has the shape {mask.shape}: give one entry for each of the "
                    f"{'' if count is None else f'{count} '}actions."
                )
            return [int(code) for code in np.flatnonzero(mask)]
        if legal_actions is None:
            return None
        for action in legal_actions:
            if count is not None and not 0 <= int(action) - first < count:
                raise ConfigError(
                    f"legal_actions has {action}: the actions are {first} to {first + count - 1}."
                )
        return [int(action) - first for action in legal_actions]


def load(
    run: str | PathLike[str],
    *,
    which: str = "best",
    device: str = "cpu",
    **settings: Unpack[SearchSettings],
) -> Agent:
    """Load the agent that a run with `algorithm = muzero` has trained.

    :param run: the run's folder.
    :param which: the `best` or the `last` network.
    :param device: `cuda` to plan on a GPU.
    :param settings: settings of the search; those left out, and `simulations=None`, are as in
        training.
    :raises RunError: the folder is not a run.
    :raises ConfigError: the run uses the game's rules, so it has no learned model.
    :raises NetworkError: the run has no network yet.
    """
    from sylvan.muzero.search import greedy, latent_search
    from sylvan.networks.checkpoint import read_header
    from sylvan.runs.run import Run

    opened = Run.open(run)
    if settings.get("simulations") is None:
        settings.pop("simulations", None)
    config: SearchConfig = greedy(opened.config.search).replace(**settings)
    model = load_model(run, which=which, device=device)
    spec = opened.config.game.spec
    if not spec.is_gymnasium:
        first = spec.first()
        return Agent(latent_search(model, first, config), num_actions=first.num_actions)
    frames = int(spec.params.get("frame_stack", 1))
    header = read_header(opened.network(which))
    stacked, *rest = header.observation_shape
    see, first_action = _conversions(spec, (stacked // frames, *rest), header.first_action)
    search = LatentSearch(model, config, relative=True)
    return Agent(search, see, frames, first_action, header.num_logits)


def load_model(
    run: str | PathLike[str], *, which: str = "best", device: str = "cpu"
) -> LatentModel:
    """Load a run's learned model for `LatentSearch`: on ONNX Runtime, or PyTorch on a GPU.

    :raises ConfigError: the run uses the game's rules, so it has no learned model.
    :raises NetworkError: the run has no network yet.
    """
    from sylvan.runs.run import Run

    if which not in ("best", "last"):
        raise ConfigError(f"which is {which!r}: it must be 'best' or 'last'.")
    opened = Run.open(run)
    if opened.config.run.algorithm != "muzero":
        raise ConfigError(
            f"{run} was trained with the rules of {opened.config.game.name}, so it has no learned "
            "model: use sylvan.Search(sylvan.evaluators.load_evaluator(run)) instead."
        )
    file = opened.network(which)
    if not file.is_file():
        raise NetworkError(
            f"The run {run} has no network yet: continue it until its first rating, or its end."
        )
    folder = opened.networks / which
    if device == "cpu" and folder.is_dir():
        from sylvan.muzero.onnx_model import OnnxModel

        return OnnxModel(folder)
    from sylvan.muzero.model import TorchModel
    from sylvan.networks.checkpoint import load_network

    return TorchModel(load_network(file), device=device)


def _conversions(
    spec: GameSpec, shape: tuple[int, ...], first_action: int
) -> tuple[Callable[[Any], NDArray[Any]], int]:
    """The function that converts an environment's observation to the model's input, and the
    environment's number of action 0.

    If the environment cannot be created here, accept arrays that already have the right shape.

    :param shape: of one observation, as the model takes it.
    :param first_action: as the network file says.
    """
    try:
        game: Any = spec.first()
    except (ConfigError, GameContractError, MissingExtra) as error:
        failure = error
    else:
        see: Callable[[Any], NDArray[Any]] = game.see
        return see, game.first_action

    def checked_array(observation: object) -> NDArray[np.float32]:
        array = np.array(observation, np.float32, ndmin=1)
        if array.shape != shape:
            raise ConfigError(
                f"The observation has shape {array.shape}, but the model takes {shape}; only the "
                f"environment can convert it, and it cannot be created: {failure}"
            ) from failure
        return array

    return checked_array, first_action
