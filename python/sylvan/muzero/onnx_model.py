"""A learned model from ONNX files, on the CPU and without PyTorch.

    plan = LatentSearch(OnnxModel("runs/name/networks/best"), simulations=50).run(observation)

`sylvan.networks.muzero_export` writes the three files. Hidden states are NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import EvaluationError, NetworkError
from sylvan.evaluators.onnx import OnnxSession, onnx_session, session_header
from sylvan.evaluators.splitting import BatchSplitter, processors
from sylvan.networks.header import NetworkHeader
from sylvan.planning.latent import ModelOutput
from sylvan.planning.model_arrays import Array

__all__ = ["OnnxModel", "check_hidden", "observations_of"]

FILES = ("representation", "dynamics", "prediction")

PART = 32
"""Maximum number of states per call of a thread: more do not fit its cache."""

LEAST = {"muzero_mlp": 256, "muzero_tower": 4}
"""Minimum number of states that are worth another thread."""


class OnnxModel:
    """A model from a folder with `representation.onnx`, `dynamics.onnx` and `prediction.onnx`.

    :param threads: threads that share a batch; default: one per available CPU core.
    :raises NetworkError: a file is missing or invalid, or the files are of different networks.
    """

    def __init__(self, folder: str | PathLike[str], *, threads: int | None = None) -> None:
        sessions = {}
        for part in FILES:
            path = Path(folder) / f"{part}.onnx"
            if not path.is_file():
                raise NetworkError(
                    f"{folder} has no {part}.onnx: give a folder written by export_muzero, with "
                    f"{', '.join(f'{each}.onnx' for each in FILES)}."
                )
            sessions[part] = onnx_session(path, str(path))
        headers = {part: session_header(session, part) for part, session in sessions.items()}
        first = headers["representation"]
        for part, header in headers.items():
            if header != first:
                raise NetworkError(
                    f"{part}.onnx and representation.onnx in {folder} are of different networks: "
                    "export all three together."
                )
        self._open(sessions, first, threads)

    @classmethod
    def from_parts(cls, parts: Mapping[str, bytes], *, threads: int | None = None) -> OnnxModel:
        """A model from the ONNX models of its parts (`muzero_export.PARTS`), as bytes."""
        sessions = {part: onnx_session(data, part) for part, data in parts.items()}
        part, session = next(iter(sessions.items()))
        model = cls.__new__(cls)
        model._open(sessions, session_header(session, part), threads)
        return model

    def _open(
        self, sessions: Mapping[str, OnnxSession], header: NetworkHeader, threads: int | None
    ) -> None:
        """Set the ONNX sessions by the names of their parts; see `muzero_export.PARTS`."""
        self.header = header
        self._sessions = dict(sessions)
        step = sessions.get("recurrent") or sessions["dynamics"]
        self.hidden_shape: tuple[int, ...] = tuple(
            size for size in step.get_inputs()[0].shape[1:] if isinstance(size, int)
        )
        least = LEAST.get(str(header.architecture.get("name")), 1)
        self.threads = threads or processors()
        """Threads that share a batch."""
        self._split = BatchSplitter(self.threads, max(PART, least), least)

    def initial_inference(self, observations: Array) -> ModelOutput:
        """Evaluate observations `[B, ...]` as the game gives them."""
        planes = observations_of(self.header, observations)
        return self._shared(len(planes), lambda rows: self._initial(planes[rows]))

    def recurrent_inference(self, hidden: Array, actions: Array) -> ModelOutput:
        """Evaluate the steps `actions` `[B]` from hidden states `[B, ...]`."""
        states = np.ascontiguousarray(hidden, np.float32)
        steps = np.ascontiguousarray(actions, np.int64)
        check_hidden(states.shape, steps.shape, self.hidden_shape)
        if len(steps) and not 0 <= steps.min() <= steps.max() < self.header.num_logits:
            raise EvaluationError(
                f"recurrent_inference() was given actions from {steps.min()} to {steps.max()}: "
                f"this model takes 0 to {self.header.num_logits - 1}."
            )
        return self._shared(len(steps), lambda rows: self._recurrent(states[rows], steps[rows]))

    def _initial(self, planes: NDArray[np.float32]) -> ModelOutput:
        if "initial" in self._sessions:
            value, policy, hidden = self._run("initial", observations=planes)
        else:
            (hidden,) = self._run("representation", observations=planes)
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
        """Evaluate all rows; several threads share a large batch."""
        if count <= self._split.least or self.threads == 1:
            return answer(slice(None))
        parts: dict[int, ModelOutput] = {}

        def work(start: int, stop: int) -> None:
            parts[start] = answer(slice(start, stop))

        self._split(count, work)
        ordered = [parts[start] for start in sorted(parts)]
        return ModelOutput(*(np.concatenate(each) for each in zip(*ordered, strict=True)))


def observations_of(header: NetworkHeader, observations: Array) -> NDArray[np.float32]:
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
    """Check the shape of a batch of observations.

    :raises EvaluationError: the network takes another shape.
    """
    if shape[1:] != header.observation_shape:
        raise EvaluationError(
            f"initial_inference() was given observations of shape {shape}: this model of "
            f"{header.game} takes {('B', *header.observation_shape)}.".replace("'", "")
        )


def check_hidden(
    hidden: tuple[int, ...], actions: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """Check the shapes of a batch's hidden states and actions.

    :raises EvaluationError: one is wrong.
    """
    if hidden[1:] != expected or actions != hidden[:1]:
        raise EvaluationError(
            f"recurrent_inference() was given hidden states of shape {hidden} and actions of shape "
            f"{actions}: this model takes {('B', *expected)} and (B,).".replace("'", "")
        )
