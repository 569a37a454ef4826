"""A cluster of threads: the real coordinator, workers and learner, without Ray."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sylvan
from sylvan.cluster.coordinator import Admission, Arrivals, Coordinator, Orders, Report, Rules
from sylvan.cluster.lease import Lease
from sylvan.cluster.node_cache import NodeCache
from sylvan.cluster.player import ClusterPlayer
from sylvan.cluster.profile import Probe, WorkerFacts
from sylvan.cluster.storage import Storage
from sylvan.cluster.worker import Refused, Worker, WorkerOptions
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.replay.record import GameRecord
from sylvan.runs.config import TrainingConfig
from sylvan.runs.run import Run
from sylvan.selfplay.selfplay import SelfPlay

RULES = Rules(silence=3.0, late_after=1.0)


class Link:
    """The coordinator behind a lock; `cut` breaks the connection to some names."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.lock = threading.Lock()
        self.cut: set[str] = set()
        """Workers that cannot reach the coordinator."""

    def _reach(self, name: str) -> None:
        if name in self.cut:
            raise ConnectionError("the network is split")

    def probe(self) -> Probe | None:
        with self.lock:
            return self.coordinator.probe

    def join(self, facts: WorkerFacts) -> Admission:
        self._reach(facts.name)
        with self.lock:
            return self.coordinator.join(facts)

    def prove(self, name: str, answers: bytes) -> Admission:
        self._reach(name)
        with self.lock:
            return self.coordinator.prove(name, answers)

    def exchange(self, name: str, report: Report) -> Orders:
        self._reach(name)
        with self.lock:
            return self.coordinator.exchange(name, report)

    def submit(self, leases: Sequence[Lease], step: int, probe: Probe | None) -> None:
        with self.lock:
            self.coordinator.submit(leases, step, probe)

    def add(self, leases: Sequence[Lease]) -> None:
        with self.lock:
            self.coordinator.add(leases)

    def collect(self, life: str, number: int) -> Arrivals:
        with self.lock:
            return self.coordinator.collect(life, number)

    def again(self, name: str, reason: str) -> None:
        with self.lock:
            self.coordinator.again(name, reason)

    def forget_leases(self, names: Sequence[str]) -> None:
        with self.lock:
            self.coordinator.forget_leases(names)

    def news(self) -> list[str]:
        with self.lock:
            return self.coordinator.news()

    def status(self) -> dict[str, Any]:
        with self.lock:
            return self.coordinator.status()


class Games:
    """The games of some steps of tic-tac-toe with a shipped network: no learner, no PyTorch."""

    def __init__(self, folder: Path, **selfplay: Any) -> None:
        self.config = TrainingConfig(
            game={"name": "tictactoe"},
            run={"seed": 3},
            search={"simulations": 8},
            selfplay={"games": 12, "positions": 120, "temperature_plies": 4} | selfplay,
        )
        self.run = Run(folder, self.config)
        network = Path(sylvan.__file__).parent / "nets" / "tictactoe.onnx"
        self.evaluator = OnnxEvaluator(network.read_bytes(), threads=1)

    def play(self, steps: int, player: Any = None, begin: int = 1) -> list[list[bytes]]:
        """The games of each step, as bytes."""
        selfplay = self.selfplay(player)
        return [self.step(selfplay, step) for step in range(begin, begin + steps)]

    def selfplay(self, player: Any = None) -> SelfPlay:
        """Self-play before its first step."""
        config = self.config
        return SelfPlay(config.game.spec, config.selfplay, 3, None, config.search, player=player)

    def step(self, selfplay: SelfPlay, step: int) -> list[bytes]:
        """The games of a step, as bytes."""
        return [as_bytes(record) for record in selfplay.play(lambda _: self.evaluator, step)]


def as_bytes(record: GameRecord) -> bytes:
    """All arrays of a game."""
    arrays = (record.actions, record.policy, record.values, record.surprise, record.returns)
    return b"".join(array.tobytes() for array in arrays)


class Threads:
    """Workers in threads, and a player for `train(player=...)`."""

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        rules: Rules = RULES,
        storage: type[Storage] = Storage,
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.rules = rules
        self.storage = storage(folder / "storage")
        self.storage.make()
        self.link = Link(Coordinator(rules, time.monotonic))
        self.workers: list[Worker] = []
        self.refused: list[str] = []
        self._threads: list[threading.Thread] = []
        for number in range(workers):
            self.add(f"worker-{number}")

    def add(self, name: str, clock: Callable[[], float] = time.monotonic, **options: Any) -> Worker:
        """Start another worker."""
        cache = NodeCache(self.folder / "node")
        worker = Worker(self.link, self.storage, cache, WorkerOptions(name, **options), clock)
        thread = threading.Thread(target=self._run, args=(worker,), daemon=True)
        self.workers.append(worker)
        self._threads.append(thread)
        thread.start()
        return worker

    def _run(self, worker: Worker) -> None:
        try:
            worker.run()
        except Refused as error:
            self.refused.append(str(error))

    def player(self, run: Run) -> ClusterPlayer:
        """For `train(player=...)`."""
        return ClusterPlayer(run, self.link, self.storage, "test-run", workers=2)

    def fast_player(self, run: Run) -> ClusterPlayer:
        """The same in fast mode."""
        return ClusterPlayer(run, self.link, self.storage, "test-run", workers=2, exact=False)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()
        for thread in self._threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in self._threads)
