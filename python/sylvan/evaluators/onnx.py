"""Networks on ONNX Runtime: fp32 and int8 models, on the processor, without PyTorch.

*Threads.* A batch is cut into parts, one or more per thread, and each part runs on one thread from
its first layer to its last. Nobody waits for another inside the network, so nobody has to spin:
while the search selects leaves all cores are free, and where a core is taken away the others go on
at full speed. ONNX Runtime's own thread pool, which shares out every layer, is slower even on a
machine without other work, and several times slower on one with it.

*Equal answers.* What is said of a position does not depend on the number of threads. Nor did it, to
the last bit, depend on what else was in its batch wherever we tried; but ONNX Runtime does not
promise that. With `deterministic=True` every position is a batch of its own, so that it cannot.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.network import Floats, Inference, NetworkEvaluator, legal_logits
from sylvan.evaluators.shares import Shares, processors

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves
    from sylvan.networks.header import NetworkHeader

__all__ = ["OnnxEvaluator", "onnx_session", "session_header"]


class OnnxEvaluator(NetworkEvaluator):
    """An evaluator from an `.onnx` file, or from the bytes of one.

    The model has the input `observations` and the outputs `policy`, `value` and perhaps
    `moves_left`; its metadata has a header, unless one is given.

    :param threads: that share a batch; by default one for each processor this program may use.
    :param batch: positions that one thread evaluates at once at most: more do not fit its cache.
    :param deterministic: evaluate every position alone, which is slower, so that an answer depends
        on nothing but the position.
    :param header: for a model whose metadata has none.
    :raises NetworkError: it is no model, or not one as described.
    """

    preferred_batch = 16
    """Leaves in flight that keep two processors at 98 % of their best speed and four at 95 %. One
    number for all machines, so that a search finds the same on each."""

    def __init__(
        self,
        model: str | PathLike[str] | bytes,
        *,
        threads: int | None = None,
        batch: int = 32,
        deterministic: bool = False,
        policy_temperature: float = 1.0,
        header: NetworkHeader | None = None,
        name: str | None = None,
    ) -> None:
        for setting, number in (("threads", threads), ("batch", batch)):
            if number is not None and number < 1:
                raise ConfigError(f"{setting} is {number}: it must be at least 1.")
        named = name or ("network" if isinstance(model, bytes) else Path(model).name)
        self._session = onnx_session(model, named)
        header = header or session_header(self._session, named)
        super().__init__(header, name=named, policy_temperature=policy_temperature)
        self.threads = threads or processors()
        self.batch = 1 if deterministic else batch
        self.deterministic = deterministic
        self._outputs, self._fixed = _checked(self._session, header, named)
        self._share = Shares(self.threads, self.batch)

    def reload(self, model: bytes) -> None:
        """Go on with another model of the same header: the same network with other numbers.

        :raises NetworkError: it does not fit; the old one stays.
        """
        session = onnx_session(model, self.name)
        outputs, fixed = _checked(session, self.header, self.name)
        self._session, self._outputs, self._fixed = session, outputs, fixed

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Logits of the legal actions `[len(leaves.actions)]` and values `[B]` or `[B, seats]`."""
        self.need_same_outputs(leaves)
        observations, indices, offsets = leaves.observations, leaves.logit_indices, leaves.offsets
        logits = np.empty(len(indices), np.float32)
        value = np.empty((len(leaves), self.header.value_outputs), np.float32)

        def work(start: int, stop: int) -> None:
            part = self.forward(self.expanded(observations[start:stop]))
            legal = slice(offsets[start], offsets[stop])
            logits[legal] = legal_logits(part.policy, indices[legal], offsets[start : stop + 1])
            value[start:stop] = part.value

        self._share(len(leaves), work)
        return self.tempered(logits), self.values(value, leaves.seats, leaves.forest)

    def infer(self, observations: NDArray[Any]) -> Inference:
        """The network's answer to observations as the game gives them, one per row."""
        answer = self._empty(len(observations))

        def work(start: int, stop: int) -> None:
            part = self.forward(self.expanded(observations[start:stop]))
            for target, values in zip(answer, part, strict=True):
                if target is not None:
                    target[start:stop] = values

        self._share(len(observations), work)
        return answer

    def _empty(self, count: int) -> Inference:
        header = self.header
        return Inference(
            np.empty((count, header.num_logits), np.float32),
            np.empty((count, header.value_outputs), np.float32),
            np.empty((count, 1), np.float32) if header.moves_left else None,
        )

    def forward(self, observations: Floats) -> Inference:
        """The network's answer to `[B, *header.observation_shape]`, on this thread."""
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


def onnx_session(model: str | PathLike[str] | bytes, name: str) -> Any:
    """A model ready to run, on the thread that runs it.

    :raises NetworkError: it is none.
    """
    import onnxruntime

    from sylvan.networks.onnx_file import read_model, verified_model

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors, which are raised anyway
    data = verified_model(model, name) if isinstance(model, bytes) else read_model(model)
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own kinds have no common base
        reason = str(error).partition("\n")[0].removeprefix("[ONNXRuntimeError] : ")
        raise NetworkError(
            f"{name} is not a model that ONNX Runtime can run ({reason}): give a whole .onnx file."
        ) from None


def session_header(session: Any, name: str) -> NetworkHeader:
    """What a model's metadata says about it.

    :raises NetworkError: it says nothing.
    """
    from sylvan.networks.header import HEADER_KEY, NetworkHeader

    text = session.get_modelmeta().custom_metadata_map.get(HEADER_KEY)
    if text is None:
        raise NetworkError(
            f"{name} does not say which game it plays: export it with Sylvan, or give its header."
        )
    return NetworkHeader.from_json(text, name)


def _checked(session: Any, header: NetworkHeader, name: str) -> tuple[list[str], int | None]:
    """The outputs to ask for, and the batch if the model has only one."""
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
                f"{name} has no {value!r} among {', '.join(given)}: give its inputs and outputs "
                "the names of docs/write-an-evaluator.md."
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
    """As many rows as a model with one batch size takes; the new ones are empty."""
    missing = size - len(observations)
    return np.pad(observations, [(0, missing)] + [(0, 0)] * (observations.ndim - 1))
