"""Run networks in ONNX Runtime: fp32 and int8 models, on the CPU, without PyTorch.

*Threads.* A batch is split into parts, at least one per thread; a thread runs its part from the
first layer to the last. No thread waits for another inside the network, so none has to spin: all
cores are free while the search selects leaves, and if another process takes a core, the others
still run at full speed. ONNX Runtime's own thread pool, which splits every layer, is slower on an
idle machine and several times slower on a busy one.

*Reproducibility.* An evaluation does not depend on the number of threads. In all our tests it did
not depend on the rest of its batch either, to the last bit; but ONNX Runtime does not promise that.
With `deterministic=True` every position is a batch of its own, so that it cannot.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.network import Floats, Inference, NetworkEvaluator, legal_logits
from sylvan.evaluators.splitting import BatchSplitter, processors

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves
    from sylvan.networks.header import NetworkHeader

__all__ = ["OnnxEvaluator", "OnnxSession", "onnx_session", "session_header"]


class OnnxEvaluator(NetworkEvaluator):
    """An evaluator from an `.onnx` file or its bytes.

    The model has the input `observations`, the outputs `policy`, `value` and optionally
    `moves_left`, and a header in its metadata.

    :param threads: threads that share a batch. Default: one per CPU that the process may use.
    :param batch: maximum positions that a thread evaluates at once; more exceed its CPU cache.
    :param deterministic: evaluate every position alone, so that its evaluation depends on nothing
        else; slower.
    :param header: for a model without a header in its metadata.
    :raises NetworkError: the model is damaged, or has other inputs, outputs or no header.
    """

    preferred_batch = 16
    """Leaves in flight: enough for 98 % of full speed on two CPUs and 95 % on four. The same on all
    machines, so that searches are too."""

    def __init__(
        self,
        model: str | PathLike[str] | bytes,
        *,
        threads: int | None = None,
        batch: int = 32,
        deterministic: bool = False,
        header: NetworkHeader | None = None,
        name: str | None = None,
    ) -> None:
        for setting, number in (("threads", threads), ("batch", batch)):
            if number is not None and number < 1:
                raise ConfigError(f"{setting} is {number}: it must be at least 1.")
        named = name or ("network" if isinstance(model, bytes) else Path(model).name)
        self.running = model if isinstance(model, bytes) else None
        """The model that runs, if it was given as bytes."""
        self._session = onnx_session(model, named)
        header = header or session_header(self._session, named)
        super().__init__(header, name=named)
        self.threads = threads or processors()
        self.batch = 1 if deterministic else batch
        self.deterministic = deterministic
        self._outputs, self._fixed = _checked(self._session, header, named)
        self._split = BatchSplitter(self.threads, self.batch)

    def reload(self, model: bytes) -> None:
        """Replace the model by one with the same header: the same network with other weights.

        :raises NetworkError: it does not fit the header; the old model stays.
        """
        session = onnx_session(model, self.name)
        outputs, fixed = _checked(session, self.header, self.name)
        self._session, self._outputs, self._fixed = session, outputs, fixed
        self.running = model

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions `[len(leaves.actions)]`, values `[B]` or `[B, S]`."""
        self.need_same_outputs(leaves)
        observations, indices, offsets = leaves.observations, leaves.logit_indices, leaves.offsets
        logits = np.empty(len(indices), np.float32)
        value = np.empty((len(leaves), self.header.value_outputs), np.float32)

        def work(start: int, stop: int) -> None:
            part = self.forward(self.expanded(observations[start:stop]))
            legal = slice(offsets[start], offsets[stop])
            logits[legal] = legal_logits(part.policy, indices[legal], offsets[start : stop + 1])
            value[start:stop] = part.value

        self._split(len(leaves), work)
        return logits, self.values(value, leaves.seats, leaves.forest)

    def infer(self, observations: NDArray[Any]) -> Inference:
        """Run the network on observations as the game gives them, one per row."""
        answer = self._empty(len(observations))

        def work(start: int, stop: int) -> None:
            part = self.forward(self.expanded(observations[start:stop]))
            for target, values in zip(answer, part, strict=True):
                if target is not None:
                    target[start:stop] = values

        self._split(len(observations), work)
        return answer

    def _empty(self, count: int) -> Inference:
        header = self.header
        return Inference(
            np.empty((count, header.num_logits), np.float32),
            np.empty((count, header.value_outputs), np.float32),
            np.empty((count, 1), np.float32) if header.moves_left else None,
        )

    def forward(self, observations: Floats) -> Inference:
        """Run the network on `[B, *header.observation_shape]`, in this thread."""
        if self._fixed is None:
            return self._run(observations)
        answer = self._empty(len(observations))
        for start in range(0, len(observations), self._fixed):
            rows = slice(start, start + self._fixed)
            part = self._run(_padded(observations[rows], self._fixed))
            for target, values in zip(answer, part, strict=True):
                if target is not None and values is not None:
                    target[rows] = values[: len(target[rows])]
        return answer

    def _run(self, observations: Floats) -> Inference:
        outputs = self._session.run(self._outputs, {"observations": observations})
        return Inference(outputs[0], outputs[1], outputs[2] if len(outputs) > 2 else None)


class _Value(Protocol):
    """Name and shape of an input or output."""

    name: str
    shape: list[int | str | None]


class _Metadata(Protocol):
    """The metadata of a model."""

    custom_metadata_map: dict[str, str]


class OnnxSession(Protocol):
    """The methods that we use of `onnxruntime.InferenceSession`, which has no type information."""

    def run(
        self, outputs: list[str] | None, inputs: dict[str, NDArray[Any]], /
    ) -> list[NDArray[np.float32]]: ...

    def get_inputs(self) -> list[_Value]: ...

    def get_outputs(self) -> list[_Value]: ...

    def get_modelmeta(self) -> _Metadata: ...


def onnx_session(model: str | PathLike[str] | bytes, name: str) -> OnnxSession:
    """Load a model. It runs in the thread that calls it.

    :raises NetworkError: ONNX Runtime cannot load it.
    """
    import onnxruntime

    from sylvan.networks.onnx_file import read_model, verified_model

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only, which are raised anyway
    data = verified_model(model, name) if isinstance(model, bytes) else read_model(model)
    try:
        session: OnnxSession = onnxruntime.InferenceSession(
            data, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # its exception classes have no common base
        reason = str(error).partition("\n")[0].removeprefix("[ONNXRuntimeError] : ")
        raise NetworkError(
            f"{name} is not a model that ONNX Runtime can run ({reason}): give a whole .onnx file."
        ) from None
    return session


def session_header(session: OnnxSession, name: str) -> NetworkHeader:
    """Read the header from a model's metadata.

    :raises NetworkError: it has none.
    """
    from sylvan.networks.header import HEADER_KEY, NetworkHeader

    text = session.get_modelmeta().custom_metadata_map.get(HEADER_KEY)
    if text is None:
        raise NetworkError(
            f"{name} has no header in its metadata: export it with Sylvan, or give its header."
        )
    return NetworkHeader.from_json(text, name)


def _checked(
    session: OnnxSession, header: NetworkHeader, name: str
) -> tuple[list[str], int | None]:
    """The outputs to compute, and the batch size if it is fixed.

    :raises NetworkError: an input or output is missing or has another shape.
    """
    given = {each.name: each.shape for each in (*session.get_inputs(), *session.get_outputs())}
    wanted: dict[str, tuple[int, ...]] = {
        "observations": header.observation_shape,
        "policy": (header.num_logits,),
        "value": (header.value_outputs,),
    }
    if header.moves_left:
        wanted["moves_left"] = (1,)
    for value, shape in wanted.items():
        if value not in given:
            raise NetworkError(
                f"{name} has no {value!r} among {', '.join(given)}: name its inputs and outputs as "
                "in docs/write-an-evaluator.md."
            )
        free = [size for size in given[value][1:] if not isinstance(size, int)]
        if not free and tuple(given[value][1:]) != shape:
            raise NetworkError(
                f"{name} has {value!r} of shape {tuple(given[value][1:])}, but its header says "
                f"{shape}: export it again."
            )
    batch = given["observations"][0]
    return list(wanted)[1:], batch if isinstance(batch, int) else None


def _padded(observations: Floats, size: int) -> Floats:
    """Add rows of zeros up to a fixed batch size."""
    missing = size - len(observations)
    return np.pad(observations, [(0, missing)] + [(0, 0)] * (observations.ndim - 1))
