"""A server that holds a network for several processes on this machine.

    with NetworkServer(load_evaluator("net.onnx"), "socket:/tmp/network.sock"):
        ...  # other processes: sylvan.Search("socket:/tmp/network.sock")

Every client has a thread that reads its questions, checks them and sends the answers. One thread
evaluates: it takes all waiting questions, of all clients, as one batch; more questions arrive while
it works. A question that is malformed, or that the network refuses, is answered with a sentence.
Other clients are not affected by that, nor by a client that disappears, stops in the middle of a
message, or does not read its answers.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, ProtocolError, SylvanError
from sylvan.evaluators.address import PREFIX, Address, without_delay
from sylvan.evaluators.network import NetworkEvaluator
from sylvan.evaluators.protocol import preferred_batch_of
from sylvan.evaluators.wire import Kind, Message, Rows, receive, send

__all__ = ["NetworkServer", "ServedCounts"]

BATCH = 1024
"""Most positions of a batch."""
CLIENTS = 64
"""Most clients at a time."""


@dataclass
class ServedCounts:
    """Statistics of a server."""

    clients: int = 0
    """Connections so far."""
    questions: int = 0
    positions: int = 0
    batches: int = 0
    refused: int = 0
    """Questions that were answered with a sentence."""


@dataclass(eq=False)
class _Question:
    """A question of a client, and later its answer."""

    kind: Kind
    observations: NDArray[Any]
    counts: NDArray[np.uint32]
    """Legal actions of each row."""
    indices: NDArray[np.uint32]
    """Logit indices of all rows."""
    answer: list[NDArray[np.float32]] | Exception | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def __len__(self) -> int:
        return len(self.observations)

    def close(self, answer: list[NDArray[np.float32]] | Exception) -> None:
        self.answer = answer
        self.done.set()


class NetworkServer:
    """A network at an address, until `close`.

    :param evaluator: runs the network.
    :param address: `socket:PATH`, or `socket:127.0.0.1:PORT`; port 0 takes a free one.
    :param batch: most positions of a batch.
    :param fingerprint: tells networks apart, such as a hash of the file.
    :raises ConfigError: the address cannot be used, or the evaluator does not run a network.
    """

    def __init__(
        self,
        evaluator: object,
        address: str,
        *,
        batch: int = BATCH,
        fingerprint: str = "",
    ) -> None:
        """Listen, and serve in threads of this process."""
        if not isinstance(evaluator, NetworkEvaluator):
            raise ConfigError(f"A server holds a network, not {evaluator!r}: load a file.")
        if batch < 1:
            raise ConfigError(f"batch is {batch}: it must be at least 1.")
        self.evaluator = evaluator
        self.batch = batch
        self.counts = ServedCounts()
        self._rows = Rows(evaluator.header)
        self._welcome = _welcome(evaluator, fingerprint)
        self._listener = Address.parse(address).listen()
        self.address = _bound(self._listener)
        self._change = threading.Condition()
        self._waiting: list[_Question] = []
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._closed = False
        self._threads = [self._thread(self._accept, "accept"), self._thread(self._work, "network")]

    def _thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"sylvan-{name}", daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Stop; clients that wait for an answer get an error."""
        with self._change:
            if self._closed:
                return
            self._closed = True
            for question in self._waiting:
                question.close(ConfigError("The network server is ending."))
            self._waiting.clear()
            self._change.notify_all()
            clients = dict(self._clients)
        for each in (self._listener, *clients):
            with suppress(OSError):  # wakes the thread that waits for it
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self.address.path is not None:
            Path(self.address.path).unlink(missing_ok=True)
        for thread in (*self._threads, *clients.values()):
            thread.join(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- clients --------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # no more files may be opened, or the client is gone already
                continue
            with self._change:
                if self._closed:
                    connection.close()
                    return
                full = len(self._clients) >= CLIENTS
                if not full:
                    self.counts.clients += 1
                    thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                    self._clients[connection] = thread
            if full:
                _refuse(connection, f"The server has {CLIENTS} clients already.")
                connection.close()
            else:
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer a client's questions until it leaves."""
        try:
            without_delay(connection)
            send(connection, Kind.WELCOME, [self._welcome])
            while (message := receive(connection, (Kind.EVALUATE, Kind.INFER))) is not None:
                self._answer(connection, message)
        except ProtocolError as error:
            self.counts.refused += 1
            _refuse(connection, str(error))
        except OSError:
            pass  # the client is gone
        finally:
            with self._change:
                self._clients.pop(connection, None)
            connection.close()

    def _answer(self, connection: socket.socket, message: Message) -> None:
        question = _Question(message.kind, *self._rows.question(message))
        with self._change:
            if self._closed:
                return
            self._waiting.append(question)
            self._change.notify_all()
        question.done.wait()
        self.counts.questions += 1
        if isinstance(question.answer, Exception):
            raise ProtocolError(str(question.answer)) from None
        assert question.answer is not None
        kind = Kind(message.kind + 1)
        send(connection, kind, question.answer, rows=message.rows, actions=message.actions)

    # --- the network ----------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                questions = self._taken()
            self._evaluate(questions)

    def _taken(self) -> list[_Question]:
        """Take the questions of the next batch, in the order of arrival."""
        rows = count = 0
        for question in self._waiting:
            rows += len(question)
            if count and (rows > self.batch or question.kind == Kind.INFER):
                break
            count += 1
            if question.kind == Kind.INFER:
                break
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    def _evaluate(self, questions: Sequence[_Question]) -> None:
        """Answer questions as one batch; if the batch fails, one by one."""
        try:
            answers = self._answers(questions)
        except Exception as error:  # whatever the network raises is the answer
            if len(questions) > 1:
                for question in questions:
                    self._evaluate([question])
            else:
                reason = str(error) if isinstance(error, SylvanError) else repr(error)
                questions[0].close(ConfigError(f"The network failed: {reason}"))
            return
        self.counts.batches += 1
        self.counts.positions += sum(map(len, questions))
        for question, answer in zip(questions, answers, strict=True):
            question.close(answer)

    def _answers(self, questions: Sequence[_Question]) -> list[list[NDArray[np.float32]]]:
        if questions[0].kind == Kind.INFER:
            outputs = self.evaluator.infer(questions[0].observations)
            return [[output for output in outputs if output is not None]]
        leaves = _Merged(questions, self.evaluator.header.num_logits, self._rows.value_columns)
        policy, value = self.evaluator(leaves)  # type: ignore[arg-type]  # what networks read
        logits, values = np.asarray(policy, np.float32), np.asarray(value, np.float32)
        values = values.reshape(len(leaves), -1)
        rows = np.cumsum([0, *map(len, questions)])
        return [
            [logits[leaves.offsets[first] : leaves.offsets[last]], values[first:last]]
            for first, last in pairwise(rows)
        ]


class _Merged:
    """Questions of several clients, as far as network evaluators read leaves.

    Values stay in the network's order, with the seat to move first: the client knows the seats.
    """

    seat_values = None

    def __init__(self, questions: Sequence[_Question], num_logits: int, seats: int) -> None:
        rows = [question.observations for question in questions]
        self.observations = rows[0] if len(rows) == 1 else np.concatenate(rows)
        self.logit_indices = np.concatenate([each.indices for each in questions]).astype(np.int64)
        counts = np.concatenate([each.counts for each in questions])
        self.offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.actions = self.logit_indices
        self.seats = np.zeros(len(self.observations), np.int64)
        self.num_logits, self.num_players = num_logits, seats
        self.forest = self

    def __len__(self) -> int:
        return len(self.observations)

    def observe(self, out: NDArray[Any]) -> None:
        out[...] = self.observations


def _welcome(evaluator: NetworkEvaluator, fingerprint: str) -> bytes:
    facts = {
        "header": json.loads(evaluator.header.to_json()),
        "name": evaluator.name,
        "preferred_batch": preferred_batch_of(evaluator) or 1,
        "fingerprint": fingerprint,
    }
    return json.dumps(facts).encode()


def _bound(listener: socket.socket) -> Address:
    """The address of a listener; a port is known now if it was 0."""
    name = listener.getsockname()
    return Address.parse(name if isinstance(name, str) else f"{PREFIX}127.0.0.1:{name[1]}")


def _refuse(connection: socket.socket, sentence: str) -> None:
    with suppress(OSError):
        send(connection, Kind.REFUSED, [sentence.encode()[:4096]])
