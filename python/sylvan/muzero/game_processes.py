"""Python games and environments that step in other processes, several at once.

Each process has a `GameKeeper` with a part of the slots. A process has at most one request under
way: a round asks all of them and then waits for all answers, so queues are bounded, and what is
played does not depend on the number of processes. An episode that was cut stays where it is, so the
next lease continues it in the same process.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sylvan.errors import GameContractError, SylvanError
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.muzero.game_keeper import Beginnings, Shown
from sylvan.muzero.starts import Order
from sylvan.selfplay.config import SelfPlayConfig

__all__ = ["GameProcesses"]

COMMAND = (sys.executable, "-m", "sylvan.muzero.game_worker")


@dataclass
class _Worker:
    """A process, and the calls that it gets with its next request."""

    process: subprocess.Popen[bytes]
    before: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


class GameProcesses:
    """Games by slot, as a `GameKeeper` has them, in `count` processes."""

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        encoding: Encoding | None = None,
        *,
        count: int,
    ) -> None:
        """Prepare; the processes start with the first game."""
        self._name, self._count = spec.short_name, count
        plain = GameSpec(spec.name, spec.params)  # without what it has loaded
        self._arguments = (plain, config, encoding)
        self._workers: list[_Worker] = []
        self._of_slot: dict[int, int] = {}
        self._of_episode: dict[int, int] = {}
        """Where episodes wait that were cut."""
        self._lock = Lock()
        """Two groups of games may step at once."""

    def ready(self) -> bool:
        """Whether other processes can make the game: not if only this one has registered it."""
        try:
            with self._lock:
                worker = self._started()[0]
                self._ask(worker, "ready")
                return bool(self._answered(worker))
        except SylvanError:
            self.stop()
            return False

    def begin_all(self, orders: Mapping[int, Order]) -> Beginnings:
        """Begin games, by slot."""
        with self._lock:
            for slot, order in orders.items():
                own = self._of_episode.pop(order.episode, slot % self._count)
                self._of_slot[slot] = own
            return self._shared("begin_all", orders)

    def play_all(self, actions: Mapping[int, int]) -> dict[int, Shown | Exception]:
        """Make moves, by slot."""
        with self._lock:
            return self._shared("play_all", actions)

    def verdict(self, slot: int) -> tuple[float, ...]:
        """The returns of a game at the move limit."""
        with self._lock:
            worker = self._started()[self._of_slot[slot]]
            self._ask(worker, "verdict", slot)
            found: tuple[float, ...] = self._answered(worker)
            return found

    def keep(self, slot: int, episode: int, plies: int) -> None:
        """Take a game out of its slot that another lease continues."""
        with self._lock:
            own = self._of_episode[episode] = self._of_slot.pop(slot)
            self._started()[own].before.append(("keep", (slot, episode, plies)))

    def end(self, slot: int, *, failed: bool = False) -> None:
        """Take a game out of its slot that is over, or that raised an error."""
        with self._lock:
            own = self._of_slot.pop(slot, None)
            if own is not None:
                self._started()[own].before.append(("discard" if failed else "end", (slot,)))

    def stop(self) -> None:
        """End the processes; the next game starts new ones."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            for pipe in (worker.process.stdin, worker.process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            worker.process.wait()
        self._workers, self._of_slot, self._of_episode = [], {}, {}

    def __del__(self) -> None:
        self.stop()

    def _started(self) -> list[_Worker]:
        """The processes."""
        while len(self._workers) < self._count:
            pipe = subprocess.PIPE
            worker = _Worker(subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe))
            self._workers.append(worker)
            self._send(worker, sys.path)
            self._send(worker, self._arguments)
        return self._workers

    def _shared(self, name: str, given: Mapping[int, Any]) -> dict[int, Any]:
        """Ask the processes of some slots, all before the first answer; join the answers."""
        parts: dict[int, dict[int, Any]] = {}
        for slot, each in given.items():
            parts.setdefault(self._of_slot[slot], {})[slot] = each
        workers = self._started()
        for own, part in parts.items():
            self._ask(workers[own], name, part)
        found: dict[int, Any] = {}
        for own in parts:
            found |= self._answered(workers[own])
        return {slot: found[slot] for slot in given}

    def _ask(self, worker: _Worker, name: str, *arguments: Any) -> None:
        self._send(worker, (worker.before, name, arguments))
        worker.before = []

    def _send(self, worker: _Worker, message: Any) -> None:
        assert worker.process.stdin is not None
        with suppress(BrokenPipeError):  # `_answered` reports it
            pickle.dump(message, worker.process.stdin)
            worker.process.stdin.flush()

    def _answered(self, worker: _Worker) -> Any:
        """The answer to the last request.

        :raises GameContractError: the process has ended.
        """
        assert worker.process.stdout is not None
        try:
            succeeded, found = pickle.load(worker.process.stdout)  # noqa: S301 (our own process)
        except (EOFError, pickle.UnpicklingError):  # it may have ended inside an answer
            raise GameContractError(
                f"A process that steps {self._name} has ended (exit status "
                f"{worker.process.wait()}): mend the environment, or set selfplay.processes=0 to "
                "see its error. The run goes on from its last step."
            ) from None
        if not succeeded:
            raise found
        return found
