"""An evaluator whose network is held by a server on this machine (`serving`).

    search = sylvan.Search("socket:/tmp/network.sock")

Several processes share one network, its memory and its batches. A process that is forked, or gets
the evaluator pickled, opens a connection of its own. After an error the next call connects again.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import EvaluationError, NetworkError, ProtocolError
from sylvan.evaluators.address import Address
from sylvan.evaluators.network import Floats, Inference, NetworkEvaluator
from sylvan.evaluators.protocol import Leaves
from sylvan.evaluators.wire import Kind, Message, Rows, Welcome, receive, send
from sylvan.networks.header import NetworkHeader

__all__ = ["RemoteEvaluator"]

TIMEOUT = 300.0
"""Seconds after which an answer is no longer waited for."""
WELCOME_TIMEOUT = 10.0
"""The same for the first message: something else may listen there."""


class RemoteEvaluator(NetworkEvaluator):
    """A client of a network server.

    :param address: `socket:PATH`, or `socket:127.0.0.1:PORT`.
    :param timeout: seconds to wait for an answer.
    :raises NetworkError: no server listens there.
    """

    def __init__(
        self,
        address: str,
        *,
        name: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.address = Address.parse(str(address))
        self.timeout = timeout
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._process = 0
        self._given_name = name
        self.welcome = self._connect()
        super().__init__(self.welcome.header, name=name or self.welcome.name)
        self._rows = Rows(self.header)

    @property
    def preferred_batch(self) -> int:
        """Leaves in flight that suit the server's evaluator."""
        return self.welcome.preferred_batch

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions `[len(leaves.actions)]`, values `[B]` or `[B, S]`."""
        self.need_same_outputs(leaves)
        observations, packed = self._sendable(leaves.observations)
        counts = np.diff(leaves.offsets).astype(np.uint32)
        indices = leaves.logit_indices.astype(np.uint32)
        logits = np.empty(len(indices), np.float32)
        value = np.empty((len(leaves), self._rows.value_columns), np.float32)
        with self._lock:
            for first in range(0, len(leaves), self._rows.most):
                part = slice(first, min(first + self._rows.most, len(leaves)))
                legal = slice(int(leaves.offsets[part.start]), int(leaves.offsets[part.stop]))
                question = [observations[part], counts[part], indices[legal]]
                size = len(counts[part]), legal.stop - legal.start
                answer = self._ask(Kind.EVALUATE, question, *size, packed=packed)
                layouts = (np.float32, (size[1],)), (np.float32, (size[0], value.shape[1]))
                logits[legal], value[part] = answer.arrays(*layouts)
        if self.header.value == "seats":
            return logits, self.values(value, leaves.seats, leaves.forest)
        return logits, value[:, 0]

    def infer(self, observations: NDArray[Any]) -> Inference:
        """Run the network on observations as the game gives them, one per row."""
        rows, packed = self._sendable(observations)
        found: list[Floats] = [np.empty(*layout[::-1]) for layout in self._rows.outputs(len(rows))]
        with self._lock:
            for first in range(0, len(rows), self._rows.most):
                part = rows[first : first + self._rows.most]
                answer = self._ask(Kind.INFER, [part], len(part), packed=packed)
                parts = answer.arrays(*self._rows.outputs(len(part)))
                for whole, each in zip(found, parts, strict=True):
                    whole[first : first + len(part)] = each
        return Inference(found[0], found[1], found[2] if self.header.moves_left else None)

    def forward(self, observations: Floats) -> Inference:
        """Run the network on `[B, *header.observation_shape]`."""
        return self.infer(observations)

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def __del__(self) -> None:
        if hasattr(self, "_socket"):  # not if the address was refused
            self.close()

    def _sendable(self, observations: NDArray[Any]) -> tuple[NDArray[Any], bool]:
        """Observations as they are sent, and whether they are packed."""
        packed = observations.dtype == np.uint64 and self.encoding is not None
        kind, shape = self._rows.observations(len(observations), packed=packed)
        if observations.shape != shape:
            raise EvaluationError(
                f"The observations have shape {observations.shape}: the network {self.name} takes "
                f"{shape}."
            )
        return np.ascontiguousarray(observations, kind), packed

    def _ask(
        self, kind: Kind, parts: list[NDArray[Any]], rows: int, actions: int = 0, *, packed: bool
    ) -> Message:
        """Send a question and wait for its answer.

        :raises EvaluationError: the server refuses it, or is gone.
        """
        if self._socket is None or self._process != os.getpid():
            self._reconnect()
        assert self._socket is not None
        try:
            send(self._socket, kind, parts, rows=rows, actions=actions, packed=packed)
            return self._answer(self._socket, Kind(kind + 1))
        except TimeoutError:
            self.close()
            raise EvaluationError(
                f"The network server at {self.address} has not answered for {self.timeout:g} s: "
                "start it again."
            ) from None
        except OSError:
            self.close()
            raise EvaluationError(
                f"The network server at {self.address} has ended: start it again with `sylvan "
                "serve-network`."
            ) from None
        except BaseException:  # half an answer may be left in the connection
            self.close()
            raise

    def _answer(self, connection: socket.socket, expected: Kind) -> Message:
        try:
            message = receive(connection, (expected, Kind.REFUSED))
        except ProtocolError as error:
            raise EvaluationError(f"{self.address} is not a network server: {error}") from None
        if message is None:
            raise ConnectionResetError
        if message.kind == Kind.REFUSED:
            raise EvaluationError(bytes(message.contents).decode(errors="replace"))
        return message

    def _reconnect(self) -> None:
        welcome = self._connect()
        if welcome.header != self.header or welcome.fingerprint != self.welcome.fingerprint:
            self.close()
            raise EvaluationError(
                f"The server at {self.address} has another network now, {welcome.name}: make a new "
                "evaluator."
            )

    def _connect(self) -> Welcome:
        """Connect and read the welcome.

        :raises NetworkError: no server listens, or it is something else.
        """
        try:
            connection = self.address.connect()
        except OSError as error:
            raise NetworkError(
                f"There is no network server at {self.address} ({error.strerror}): start one with "
                f"`sylvan serve-network`."
            ) from None
        connection.settimeout(min(self.timeout, WELCOME_TIMEOUT))
        try:
            message = self._answer(connection, Kind.WELCOME)
            welcome = _welcome(bytes(message.contents))
        except (OSError, EvaluationError) as error:
            connection.close()
            reason = str(error) or "it closed the connection"
            raise NetworkError(f"{self.address} does not serve a network: {reason}") from None
        connection.settimeout(self.timeout)
        self._socket, self._process = connection, os.getpid()
        return welcome

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (str(self.address), self._given_name, self.timeout)

    def __repr__(self) -> str:
        return f"RemoteEvaluator({str(self.address)!r})"


def _opened(address: str, name: str | None, timeout: float) -> RemoteEvaluator:
    return RemoteEvaluator(address, name=name, timeout=timeout)


def _welcome(text: bytes) -> Welcome:
    """Read what `serving` writes.

    :raises EvaluationError: it is not a welcome.
    """
    try:
        facts = json.loads(text)
        return Welcome(
            NetworkHeader.from_json(json.dumps(facts["header"])),
            str(facts["name"]),
            int(facts["preferred_batch"]),
            str(facts["fingerprint"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EvaluationError(f"Its welcome cannot be read: {error}.") from None
