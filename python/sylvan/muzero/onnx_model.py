"""A learned model in ONNX files, as a model to plan with: on the processor, without PyTorch.

    plan = LatentSearch(OnnxModel("runs/name/networks/best"), simulations=50).run(observation)

The three files are those of `sylvan.networks.muzero_export`. Hidden states are NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import EvaluationError, NetworkError
from sylvan.evaluators.onnx import onnx_session, session_header
from sylvan.evaluators.shares import Shares, processors
from sylvan.networks.header import NetworkHeader
from sylvan.planning.latent import ModelOutput

__all__ = ["OnnxModel", "check_hidden", "observations_of"]

FILES = ("representation", "dynamics", "prediction")

PART = 32
"""States that one thread works on at once at most: more do not fit its cache."""

LEAST = {"muzero_mlp": 256, "muzero_tower": 4}
"""States below which a part is not worth waking another thread for."""


class OnnxModel:
    """A model from a folder with `representation.onnx`, `dynamics.onnx` and `prediction.onnx`.

    :param threads: that share a batch; by default one for each processor this program may use.
    :raises NetworkError: a file is missing, no model, or of another network than the others.
    """

    def __init__(self, folder: str | PathLike[str], *, threads: int | None = None) -> None:
        sessions = {}
        for part in FILES:
            path = Path(folder) / f"{part}.onnx"
            if not path.is_file():
                raise NetworkError(
                    f"{folder} has no {part}.onnx: give a folder that export_muzero wrote, with "
                    f"{', '.join(f'{each}.onnx' for each in FILES)}."
                )
            sessions[part] = onnx_session(path, str(path))
        headers = {part: session_header(session, part) for part, session in sessions.items()}
        first = headers["representation"]
        for part, header in headers.items():
            if header != first:
                raise NetworkError(
                    f"{folder} has a {part}.onnx of another network than its representation.onnx: "
                    "export all three together."
                )
        self._open(sessions, first, threads)

    def _open(
        self, sessions: Mapping[str, Any], header: NetworkHeader, threads: int | None
    ) -> None:
        """Take models by the name of what they are of; see `muzero_export.PARTS`."""
        self.header = header
        self._sessions = dict(sessions)
        step = sessions.get("recurrent") or sessions["dynamics"]
        self.hidden_shape: tuple[int, ...] = tuple(step.get_inputs()[0].shape[1:])
        least = LEAST.get(str(header.architecture.get("name")), 1)
        self._share = Shares(threads or processors(), max(PART, least), least)

    def initial_inference(self, observations: Any) -> ModelOutput:
        """What it makes of observations `[B, ...]` as the game gives them."""
        seen = observations_of(self.header, observations)
        return self._shared(len(seen), lambda rows: self._initial(seen[rows]))

    def recurrent_inference(self, hidden: Any, actions: Any) -> ModelOutput:
        """What it makes of the steps `actions` `[B]` from hidden states `[B, ...]`."""
        states = np.ascontiguousarray(hidden, np.float32)
        steps = np.ascontiguousarray(actions, np.int64)
        check_hidden(states.shape, steps.shape, self.hidden_shape)
        if len(steps) and not 0 <= steps.min() <= steps.max() < self.header.num_logits:
            raise EvaluationError(
                f"recurrent_inference() was given actions from {steps.min()} to {steps.max()}: "
                f"this model knows 0 to {self.header.num_logits - 1}."
            )
        return self._shared(len(steps), lambda rows: self._recurrent(states[rows], steps[rows]))

    def _initial(self, seen: NDArray[np.float32]) -> ModelOutput:
        if "initial" in self._sessions:
            value, policy, hidden = self._run("initial", observations=seen)
        else:
            (hidden,) = self._run("representation", observations=seen)
            policy, value = self._run("prediction", hidden=hidden)
        return ModelOutput(value, np.zeros_like(value), policy, hidden)

    def _recurrent(self, hidden: NDArray[np.float32], actions: NDArray[np.int64]) -> ModelOutput:
        if "recurrent" in self._sessions:
            return ModelOutput(*self._run("recurrent", hidden=hidden, actions=actions))
        following, reward = self._run("dynamics", hidden=hidden, actions=actions)
        policy, value = self._run("prediction", hidden=following)
        return ModelOutput(value, reward, policy, following)

    def _run(self, part: str, **inputs: NDArray[Any]) -> list[NDArray[np.float32]]:
        answers: list[NDArray[np.float32]] = self._sessions[part].run(None, inputs)
        return answers

    def _shared(self, count: int, answer: Callable[[slice], ModelOutput]) -> ModelOutput:
        """The answer to all rows; where there are many, threads give it part by part."""
        if count <= self._share.least or self._share.threads == 1:
            return answer(slice(None))
        parts: dict[int, ModelOutput] = {}

        def work(start: int, stop: int) -> None:
            parts[start] = answer(slice(start, stop))

        self._share(count, work)
        ordered = [parts[start] for start in sorted(parts)]
        return ModelOutput(*(np.concatenate(each) for each in zip(*ordered, strict=True)))


def observations_of(header: NetworkHeader, observations: Any) -> NDArray[np.float32]:
    """Observations `[B, *header.observation_shape]` in float32; packed planes are expanded.

    :raises EvaluationError: they have another shape.
    """
    array = np.asarray(observations)
    if header.encoding is not None and array.dtype == np.uint64:
        from sylvan.games.chess import expand_planes

        check_observations(header, (*array.shape, 8, 8))
        array = expand_planes(np.ascontiguousarray(array), header.encoding.encoder)
    check_observations(header, array.shape)
    return np.ascontiguousarray(array, np.float32)


def check_observations(header: NetworkHeader, shape: tuple[int, ...]) -> None:
    """Nothing, if a network can see a batch of this shape.

    :raises EvaluationError: it sees others.
    """
    if shape[1:] != header.observation_shape:
        raise EvaluationError(
            f"initial_inference() was given observations of shape {shape}: this model of "
            f"{header.game} sees batches {('B', *header.observation_shape)}.".replace("'", "")
        )


def check_hidden(
    hidden: tuple[int, ...], actions: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """Nothing, if these are the shapes of hidden states and of actions of a batch.

    :raises EvaluationError: they are not.
    """
    if hidden[1:] != expected or actions != hidden[:1]:
        raise EvaluationError(
            f"recurrent_inference() was given hidden states of shape {hidden} and actions of shape "
            f"{actions}: this model takes {('B', *expected)} and (B,).".replace("'", "")
        )
