"""`ChessNN` of the document `mcts-specification`: a residual tower on PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.classic.chess_game import PLANES, POLICY_SIZE
from sylvan.classic.progress import progress_bar
from sylvan.errors import EvaluationError, NetworkError
from sylvan.games.chess import Chess

if TYPE_CHECKING:
    import torch

    from sylvan.networks.network import Network

__all__ = ["ChessNN"]


class ChessNN:
    """A residual network: a policy over 4672 moves and a value.

    Needs PyTorch: `pip install sylvan[torch]`. Files are `.safetensors`.
    """

    def __init__(
        self, num_blocks: int = 10, num_filters: int = 128, learning_rate: float = 1e-3
    ) -> None:
        """Store the settings; `build_model` or `load_model` creates the network."""
        self.num_blocks = num_blocks
        self.num_filters = num_filters
        self.learning_rate = learning_rate
        self.model: Network | None = None
        self._optimizer: torch.optim.Optimizer | None = None

    def build_model(self) -> None:
        """Create the network with random weights."""
        from sylvan.networks import build_network

        size = f"{self.num_blocks}x{self.num_filters}"
        game = Chess(encoder=PLANES.encoder)
        self._take(build_network(size, game=game, value="scalar", squeeze=0))

    def predict(self, boards: ArrayLike) -> tuple[NDArray[np.float32], float | NDArray[np.float32]]:
        """Predict the probabilities of all moves, and the value for the side to move, from -1 to 1.

        One board `[8, 8, 18]` gives `[4672]` and a number; a batch `[n, 8, 8, 18]` gives
        `[n, 4672]` and `[n]`.
        """
        model = self._built()
        import torch

        inputs, single = self._inputs(boards)
        model.eval()
        with torch.inference_mode():
            output = model(inputs)
            policies = torch.softmax(output.policy, dim=1).numpy()
            values = output.value[:, 0].numpy()
        return (policies[0], float(values[0])) if single else (policies, values)

    def train(
        self,
        boards: ArrayLike,
        policies: ArrayLike,
        values: ArrayLike,
        epochs: int = 1,
        batch_size: int = 256,
    ) -> dict[str, list[float]]:
        """Fit the network to targets; return the mean losses of every epoch.

        The loss is the cross-entropy of the policy plus the squared error of the value.

        Args:
            boards: `[n, 8, 8, 18]`
            policies: `[n, 4672]`, each with sum 1
            values: `[n]`, for the side to move
            epochs: passes over the data, each in a new order
            batch_size: positions per step
        """
        self._built()
        import torch

        inputs, single = self._inputs(boards)
        targets = torch.from_numpy(np.array(policies, np.float32))
        results = torch.from_numpy(np.array(values, np.float32))
        n = len(inputs)
        if single or targets.shape != (n, POLICY_SIZE) or results.shape != (n,) or n == 0:
            raise EvaluationError(
                f"boards, policies and values have shapes {np.shape(boards)}, "
                f"{tuple(targets.shape)} and {tuple(results.shape)}: give (n, 8, 8, 18), "
                f"(n, {POLICY_SIZE}) and (n,)."
            )
        history: dict[str, list[float]] = {"loss": [], "policy_loss": [], "value_loss": []}
        with progress_bar("positions", epochs * n) as show:
            for epoch in range(epochs):
                sums, done = np.zeros(2), 0
                for batch in torch.split(torch.randperm(n), batch_size):
                    sums += len(batch) * self._step(inputs[batch], targets[batch], results[batch])
                    done += len(batch)
                    show(epoch * n + done)
                for name, loss in zip(history, (sums.sum(), *sums), strict=True):
                    history[name].append(float(loss) / n)
        return history

    def _step(
        self, inputs: torch.Tensor, targets: torch.Tensor, results: torch.Tensor
    ) -> NDArray[np.float64]:
        """Update the weights once; return the losses of policy and value before the update."""
        from torch.nn import functional

        output, optimizer = self._built().train()(inputs), self._optimizer
        assert optimizer is not None  # made together with the network
        policy_loss = functional.cross_entropy(output.policy, targets)
        value_loss = functional.mse_loss(output.value[:, 0], results)
        optimizer.zero_grad()
        (policy_loss + value_loss).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return np.array([policy_loss.item(), value_loss.item()])

    def save_model(self, path: str) -> None:
        """Write architecture and weights to a `.safetensors` file."""
        from sylvan.networks import save_network

        _need_safetensors(path)
        save_network(self._built(), path)

    def load_model(self, path: str) -> None:
        """Read a network of any size that `save_model` wrote.

        :raises NetworkError: the file has another format, or holds another kind of network.
        """
        from sylvan.networks import load_network
        from sylvan.networks.network import Network

        _need_safetensors(path)
        model = load_network(path)
        model.header.check(Chess(encoder=PLANES.encoder))
        if not isinstance(model, Network):
            raise NetworkError(f"{path} holds a learned model: give a file of save_model.")
        if model.header.value != "scalar":
            raise NetworkError(f"{path} has a value of kind {model.header.value!r}, not 'scalar'.")
        self._take(model)

    def save_weights(self, path: str) -> None:
        """Write the same file as `save_model`."""
        self.save_model(path)

    def load_weights(self, path: str) -> None:
        """Read weights of the same architecture into the network."""
        from sylvan.networks import load_network

        _need_safetensors(path)
        model, own = load_network(path), self._built()
        if model.header.architecture != own.header.architecture:
            raise NetworkError(
                f"{path} holds weights of {model.header.architecture}, but the network is "
                f"{own.header.architecture}: use load_model, which takes the file's."
            )
        own.load_state_dict(model.state_dict())

    def _take(self, model: Network) -> None:
        import torch

        self.model = model
        self._optimizer = torch.optim.AdamW(
            model.parameters(), lr=self.learning_rate, weight_decay=1e-4
        )

    def _built(self) -> Network:
        if self.model is None:
            raise NetworkError("The network is not built: call build_model or load_model first.")
        return self.model

    def _inputs(self, boards: ArrayLike) -> tuple[torch.Tensor, bool]:
        """Boards as input of the module, `[n, 18, 8, 8]`, and whether a single one was given."""
        import torch

        array = np.asarray(boards, np.float32)
        single = array.ndim == 3
        batch = array[None] if single else array
        if batch.ndim != 4 or batch.shape[1:] != (8, 8, 18):
            raise EvaluationError(
                f"boards have shape {array.shape}: give (8, 8, 18) or (n, 8, 8, 18), as "
                "get_canonical_board does."
            )
        return torch.from_numpy(np.ascontiguousarray(batch.transpose(0, 3, 1, 2))), single


def _need_safetensors(path: str) -> None:
    """Refuse the name of another file format."""
    suffix = Path(path).suffix
    if suffix != ".safetensors":
        known = f"{suffix} is Keras's" if suffix in (".keras", ".h5") else f"it ends in {suffix!r}"
        raise NetworkError(
            f"{path} is not a file of ChessNN ({known}): it reads and writes .safetensors; "
            "save the network under such a name."
        )
