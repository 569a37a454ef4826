"""Networks on PyTorch: on the processor, or on a GPU in half precision.

*What crosses the bus.* To a GPU go packed planes (896 bytes for a chess position instead of 28 kB)
and the places of legal logits; back come the logits of legal actions (about 35 of 4672) and the
value. Bits are expanded and logits gathered over there; batches are on their way while others are
computed.

*Batch shapes.* A GPU is asked for a few batch sizes only, powers of two up to `batch`; the rest of
a batch is padding. Kernels are chosen once per size; with `compile=True` they are compiled for it,
so there the sizes are powers of four.

*Equal answers.* Batch norm is folded, so no position sees another; but sums may be added up in
another order in another batch size, which changes the last digits (about 1e-6 in fp32, 1e-2 in
half precision). With `deterministic=True` every position is a batch of its own, in fp32, with
algorithms that repeat: what is said of a position then depends on nothing but the position, the
machine and its number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.network import Floats, Inference, NetworkEvaluator
from sylvan.networks import load_network, torch_missing
from sylvan.networks.header import NetworkHeader

try:
    import torch

    from sylvan.networks.export import folded
except ModuleNotFoundError:
    raise torch_missing() from None

if TYPE_CHECKING:
    from sylvan.planning.leaves import Leaves

__all__ = ["TorchEvaluator"]

Precision = Literal["auto", "float32", "float16", "bfloat16"]


class TorchEvaluator(NetworkEvaluator):
    """An evaluator from a PyTorch module, or from a `.safetensors` file.

    The module is copied, folded and converted: training the original further changes nothing here
    until `refresh`.

    :param network: a module with the signature of `NetworkOutput`, or a file.
    :param device: `auto` is a GPU where there is one, else `cpu`.
    :param dtype: of the weights; `auto` is float16 on a GPU, else float32.
    :param compile: compile the network, which takes a minute per batch size and pays in long runs.
    :param batch: positions that are evaluated at once at most.
    :param deterministic: evaluate every position alone and repeatably; slow on a GPU.
    :param header: of a module that has none.
    :raises NetworkError: the file is damaged, or the module has no header.
    :raises ConfigError: there is no such device, or no such precision on it.
    """

    def __init__(
        self,
        network: torch.nn.Module | str | PathLike[str],
        *,
        device: str = "auto",
        dtype: Precision = "auto",
        compile: bool = False,  # noqa: A002 (as PyTorch calls it)
        batch: int = 1024,
        deterministic: bool = False,
        policy_temperature: float = 1.0,
        header: NetworkHeader | None = None,
        name: str | None = None,
    ) -> None:
        if batch < 1:
            raise ConfigError(f"batch is {batch}: it must be at least 1.")
        if isinstance(network, str | PathLike):
            name = name or Path(network).name
            module = load_network(network)
        else:
            module = network
        header = header or getattr(module, "header", None)
        if not isinstance(header, NetworkHeader):
            raise NetworkError(
                f"{type(module).__name__} has no header: give header=NetworkHeader.for_game(game)."
            )
        name = name or type(module).__name__
        super().__init__(header, name=name, policy_temperature=policy_temperature)
        self.device = _device(device)
        self.dtype = _dtype(dtype, self.device, deterministic)
        self.deterministic = deterministic
        self.batch = 1 if deterministic else batch
        self._compile = compile
        self._on_gpu = self.device.type == "cuda"
        self._number_planes = self._numbers()
        self._network: Any = None
        self.refresh(module)

    def refresh(self, network: torch.nn.Module) -> None:
        """Take over the numbers that a module has now."""
        module = folded(network).to(self.device, self.dtype)
        if self._network is not None:  # in its place, where compiled code knows it
            self._network.load_state_dict(module.state_dict())
            return
        if self._on_gpu:
            module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        for parameter in module.parameters():
            parameter.requires_grad_(False)
        self._network = module
        self._answer: Any = self._outputs
        if self._compile:
            self._answer = torch.compile(self._outputs, dynamic=False)

    @property
    def preferred_batch(self) -> int:
        """Leaves of one tree that keep the device busy; more in flight would mislead the search."""
        return min(self.batch, 256 if self._on_gpu else 32)

    def forward(self, observations: Floats) -> Inference:
        """The network's answer to `[B, *header.observation_shape]`."""
        return self.infer(observations)

    def infer(self, observations: NDArray[Any]) -> Inference:
        """The network's answer to observations as the game gives them, one per row."""
        policy, value, moves_left = zip(*self._parts(observations), strict=True)
        return Inference(
            _host(policy), _host(value), _host(moves_left) if self.header.moves_left else None
        )

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Logits of the legal actions `[len(leaves.actions)]` and values `[B]` or `[B, seats]`."""
        self.need_same_outputs(leaves)
        rows = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
        places = rows % self.batch * self.header.num_logits + leaves.logit_indices
        gathered, values = [], []
        start = 0
        for number, (policy, value, _) in enumerate(self._parts(leaves.observations)):
            last = min((number + 1) * self.batch, len(leaves))
            end = int(leaves.offsets[last])
            chosen = self._sent(places[start:end])
            gathered.append(policy.flatten().index_select(0, chosen).to(torch.float32))
            values.append(value)
            start = end
        logits = _host(gathered)
        if self.policy_temperature != 1.0:
            logits /= np.float32(self.policy_temperature)
        return logits, self.values(_host(values), leaves.seats)

    def _parts(
        self, observations: NDArray[Any]
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor, Any]]:
        """The answer, in parts of at most `batch`: policy, value and moves left on the device."""
        packed = observations.dtype == np.uint64 and self.encoding is not None
        if packed:
            observations = np.ascontiguousarray(observations).view(np.int64)
            # Signed, because PyTorch shifts no unsigned numbers.
        else:
            observations = self.expanded(observations)
        for start in range(0, len(observations), self.batch):
            part = observations[start : start + self.batch]
            with torch.inference_mode(), self._repeatable():
                sent = self._sent(part, self._padded_size(len(part)))
                outputs = self._answer(sent, packed)
            policy, value, moves_left = outputs
            kept = None if moves_left is None else moves_left[: len(part)]
            yield policy[: len(part)], value[: len(part)], kept

    def _outputs(self, observations: torch.Tensor, packed: bool) -> tuple[Any, Any, Any]:
        """Policy, value as fp32 (win, draw and loss as probabilities) and moves left."""
        planes = self._expanded(observations) if packed else observations.to(self.dtype)
        if self._on_gpu and planes.dim() == 4:
            planes = planes.contiguous(memory_format=torch.channels_last)
        policy, value, moves_left = self._network(planes)
        value = value.float()
        if self.header.value == "wdl":
            value = torch.softmax(value, dim=1)
        return policy, value, None if moves_left is None else moves_left.float()

    def _expanded(self, packed: torch.Tensor) -> torch.Tensor:
        """Planes `[B, planes, 8, 8]` from bits `[B, planes]`, as `expand_planes` makes them."""
        squares = torch.arange(64, device=packed.device)
        planes = ((packed.unsqueeze(2) >> squares) & 1).to(self.dtype)
        for plane, scale in self._number_planes:
            planes[:, plane] = (packed[:, plane] * scale).to(self.dtype).unsqueeze(1)
        return planes.view(len(packed), -1, 8, 8)

    def _numbers(self) -> list[tuple[int, float]]:
        """The planes that hold a number instead of bits, and what it is multiplied by."""
        if self.encoding is None:
            return []
        from sylvan.games.chess import expand_planes

        # The second bit alone: it says nothing of the last square, which a number fills.
        twos = np.full((1, self.header.observation_shape[0]), 2, np.uint64)
        last = expand_planes(twos, self.encoding.encoder)[0, :, 7, 7]
        return [(int(plane), float(last[plane]) / 2) for plane in np.flatnonzero(last)]

    def _padded_size(self, count: int) -> int:
        """The batch size that is computed for `count` positions."""
        if not (self._on_gpu or self._compile):
            return count
        # Powers of two; of four where each is compiled, which PyTorch gives up after eight.
        power = (count - 1).bit_length()
        return min(self.batch, 1 << (power + power % 2 if self._compile else power))

    def _sent(self, array: NDArray[Any], rows: int | None = None) -> torch.Tensor:
        """An array on the device, filled up to `rows`; from pinned memory if that is a GPU."""
        rows = len(array) if rows is None else rows
        if not self._on_gpu and rows == len(array):
            return torch.from_numpy(np.require(array, requirements=["W"]))
        pinned = torch.empty((rows, *array.shape[1:]), dtype=_kind(array), pin_memory=self._on_gpu)
        pinned.numpy()[: len(array)] = array
        pinned.numpy()[len(array) :] = 0
        return pinned.to(self.device, non_blocking=True)

    @contextmanager
    def _repeatable(self) -> Iterator[None]:
        """Algorithms that give the same bits again, where that was asked for."""
        if not (self.deterministic and self._on_gpu):
            yield
            return
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        ):
            yield


def _kind(array: NDArray[Any]) -> torch.dtype:
    return torch.from_numpy(np.empty(0, array.dtype)).dtype


def _host(parts: Sequence[torch.Tensor]) -> Floats:
    """Parts as one array in memory."""
    whole: Floats = torch.cat([part.float() for part in parts]).cpu().numpy()
    return whole


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device: torch.device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ConfigError(
            f"device is {name!r}, which PyTorch cannot use here ({reason}): use 'auto' or 'cpu'."
        ) from None
    return device


def _dtype(name: str, device: torch.device, deterministic: bool) -> torch.dtype:
    if name == "auto":
        name = "float16" if device.type == "cuda" and not deterministic else "float32"
    if name not in ("float32", "float16", "bfloat16"):
        raise ConfigError(f"dtype is {name!r}: use 'auto', 'float32', 'float16' or 'bfloat16'.")
    if name != "float32" and (device.type == "cpu" or deterministic):
        raise ConfigError(
            f"dtype is {name!r}, which is for a GPU and without deterministic=True: use 'float32'."
        )
    kind: torch.dtype = getattr(torch, name)
    return kind
