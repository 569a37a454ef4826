"""The processes of a cluster, as Ray starts them: coordinator, workers, learner.

Each is thin: it connects a part that knows nothing of Ray to the others by messages of a few
hundred bytes. Games and weights go through the storage, never through Ray's object store. Every
caller waits for its call, so nothing piles up.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError

from sylvan.cluster.coordinator import Admission, Arrivals, Coordinator, Orders, Report, Rules
from sylvan.cluster.lease import Lease
from sylvan.cluster.node_cache import NodeCache
from sylvan.cluster.placement import Placement
from sylvan.cluster.profile import Probe, WorkerFacts
from sylvan.cluster.relay import Event, Relay
from sylvan.cluster.run_files import ClusterFiles, finished_in
from sylvan.cluster.worker import Worker, WorkerOptions
from sylvan.errors import ClusterError

if TYPE_CHECKING:
    from sylvan.learning.group import Group

__all__ = ["CoordinatorProcess", "HelperProcess", "LearnerProcess", "WorkerProcess"]

log = logging.getLogger(__name__)

STATUS_INTERVAL = 0.5
"""Seconds between two writes of the status."""

DYING = 20.0
"""Seconds in which a coordinator waits for the end of the last one."""

WORKER_PATIENCE = 10.0
"""Seconds in which the coordinator must answer a worker."""

LEARNER_PATIENCE = 720.0
"""Seconds in which the learner waits for a coordinator that is being restarted."""

FOLDER_PATIENCE = 600.0
"""Seconds in which a coordinator that is restarted waits for the run's folder."""

SLOW_START = 10.0
"""Seconds after which the user is told that the learners are not all there."""

RETRY = 0.5
"""Seconds between two looks for it."""


class CoordinatorProcess:
    """The coordinator of a run."""

    def __init__(self, run: Path, storage: str | None, rules: Rules) -> None:
        self.files = ClusterFiles(run)
        self._lock = ExitStack()
        self._store = self.files.storage(storage)
        self._coordinator = Coordinator(rules, time.monotonic, partial(finished_in, self._store))
        self._written = float("-inf")
        self._has_plan = True
        """Whether the plan is on the disk."""
        if _was_restarted():
            self._begin(FOLDER_PATIENCE)

    def begin(self) -> None:
        """Begin a session of the run; no worker may have been started.

        It is no part of the constructor, whose errors Ray does not hand on.

        :raises ClusterError: the run has a coordinator already.
        """
        self._begin(0.0)
        self.files.tidy()
        self._store.sweep()

    def _begin(self, patience: float) -> None:
        """Lock the run, and go on with its plan.

        :param patience: seconds to wait for a folder that has disappeared.
        """
        end = time.monotonic() + patience
        while True:
            try:
                self.files.make()
                self._lock.enter_context(self.files.coordinating(DYING))
                _write_log(self.files, "coordinator")
                self.files.load_plan(self._coordinator)
                self._facts = self.files.facts() | {"coordinator": os.getpid()}
                return
            except OSError:
                self._lock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(RETRY)

    def _current(self) -> Coordinator:
        """The coordinator; its status and a plan that is not saved yet are written now and then."""
        now = time.monotonic()
        if now - self._written > STATUS_INTERVAL:
            self._written = now
            facts = self._facts | {"time": time.time()}
            try:
                self.files.save_status(facts | self._coordinator.status())
                if not self._has_plan:
                    self._save_plan()
            except OSError as error:  # nobody waits for it
                log.warning("the status cannot be written: %s", error)
        return self._coordinator

    def _save_plan(self) -> None:
        self._has_plan = False
        self.files.save_plan(self._coordinator)
        self._has_plan = True

    def note(self, **facts: Any) -> None:
        """Facts for the status: the learner's process, the dashboard."""
        self._facts |= facts

    def submit(self, leases: Sequence[Lease], step: int, probe: Probe | None) -> None:
        """As `Coordinator.submit`.

        The plan is on the disk afterwards, or later: without it the learner submits again.
        """
        self._current().submit(leases, step, probe)
        try:
            self._save_plan()
        except OSError as error:
            self._coordinator.problem(f"The run's folder cannot be written ({error}).")

    def add(self, leases: Sequence[Lease]) -> None:
        """As `Coordinator.add`; the learner adds them again to a coordinator that is restarted."""
        self._current().add(leases)

    def collect(self, life: str, number: int) -> tuple[Arrivals, list[str]]:
        """As `Coordinator.collect`, with the news for the user."""
        return self._current().collect(life, number), self._coordinator.news()

    def again(self, name: str, reason: str) -> None:
        """As `Coordinator.again`."""
        self._current().again(name, reason)

    def forget_leases(self, names: Sequence[str]) -> None:
        """As `Coordinator.forget_leases`."""
        self._current().forget_leases(names)

    def forget(self, worker: str, reason: str = "") -> None:
        """As `Coordinator.forget`.

        :param reason: why it ended, for the status.
        """
        if reason:
            self._coordinator.problems.append(reason)
        self._current().forget(worker)

    def probe(self) -> Probe | None:
        """The positions that a worker has to evaluate."""
        return self._current().probe

    def join(self, facts: WorkerFacts) -> Admission:
        """As `Coordinator.join`."""
        return self._current().join(facts)

    def prove(self, name: str, answers: bytes) -> Admission:
        """As `Coordinator.prove`."""
        return self._current().prove(name, answers)

    def exchange(self, name: str, report: Report) -> Orders:
        """As `Coordinator.exchange`."""
        return self._current().exchange(name, report)

    def status(self) -> dict[str, Any]:
        """As `Coordinator.status`; it is on the disk afterwards."""
        self._written = float("-inf")
        return self._facts | self._current().status()


def _write_log(files: ClusterFiles, name: str) -> None:
    """Log to the run's folder; a process of Ray also writes its standard error there."""
    files.log_to_file(name)
    if ray.is_initialized():
        files.stderr_to_file(name)


def _was_restarted() -> bool:
    """Whether Ray has restarted this process after a death."""
    context = ray.get_runtime_context() if ray.is_initialized() else None
    return context is not None and bool(context.was_current_actor_reconstructed)


class _WorkerLink:
    """The coordinator, as a worker calls it."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            reference = getattr(self._coordinator, method).remote(*arguments)
            return ray.get(reference, timeout=WORKER_PATIENCE)
        except (RayActorError, GetTimeoutError) as error:
            raise ConnectionError(type(error).__name__) from None

    def probe(self) -> Probe | None:
        found: Probe | None = self._call("probe")
        return found

    def join(self, facts: WorkerFacts) -> Admission:
        answer: Admission = self._call("join", facts)
        return answer

    def prove(self, name: str, answers: bytes) -> Admission:
        answer: Admission = self._call("prove", name, answers)
        return answer

    def exchange(self, name: str, report: Report) -> Orders:
        answer: Orders = self._call("exchange", name, report)
        return answer


NICENESS = 10
"""The least niceness of a worker; in local mode that of the learner is 0. On shared cores each of
the learner's threads would wait, spinning, for those that a worker keeps from running."""


class WorkerProcess:
    """A worker on some node."""

    def __init__(self, run: Path, storage: str | None, coordinator: str) -> None:
        self._run, self._storage, self._coordinator = run, storage, coordinator

    def run(self, options: WorkerOptions, log_name: str) -> str:
        """Work until SIGTERM; return why this ended."""
        files = ClusterFiles(self._run)
        _write_log(files, log_name)
        log.info("niceness %d", os.nice(max(0, NICENESS - os.nice(0))))
        address = str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]
        node = f"{address} {ray.get_runtime_context().get_node_id()[:8]}"
        options = WorkerOptions(**vars(options) | {"node": node, "pid": os.getpid()})
        link = _WorkerLink(ray.get_actor(self._coordinator))
        worker = Worker(link, files.storage(self._storage), NodeCache(), options)
        before = signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        try:
            worker.run()
        finally:
            signal.signal(signal.SIGTERM, before)
        return "stopped"


class _LearnerLink:
    """The coordinator, as the learner calls it; waits for one that is being restarted."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._news: list[str] = []

    def _call(self, method: str, *arguments: Any, **facts: Any) -> Any:
        end = time.monotonic() + LEARNER_PATIENCE
        while True:
            try:
                reference = getattr(self._coordinator, method).remote(*arguments, **facts)
                return ray.get(reference, timeout=WORKER_PATIENCE)
            except (RayActorError, GetTimeoutError) as error:
                if time.monotonic() > end:
                    raise ClusterError(
                        f"The coordinator does not answer ({type(error).__name__}): see the logs "
                        "in the run's folder cluster/logs, and run the same command again."
                    ) from None
                log.warning("the coordinator does not answer: %s", type(error).__name__)
                time.sleep(0.2)

    def submit(self, leases: Sequence[Lease], step: int, probe: Probe | None) -> None:
        self._call("submit", leases, step, probe)

    def add(self, leases: Sequence[Lease]) -> None:
        self._call("add", leases)

    def collect(self, life: str, number: int) -> Arrivals:
        found: Arrivals
        found, news = self._call("collect", life, number)
        self._news += news
        return found

    def again(self, name: str, reason: str) -> None:
        self._call("again", name, reason)

    def forget_leases(self, names: Sequence[str]) -> None:
        self._call("forget_leases", names)

    def note(self, **facts: Any) -> None:
        self._call("note", **facts)

    def news(self) -> list[str]:
        news, self._news = self._news, []
        return news


class HelperProcess:
    """A learner that helps the first one, on some node."""

    def __init__(self, run: Path, omp: str | None) -> None:
        _set_threads(omp)
        self._run = run

    def run(self, meeting: Path, rank: int, size: int, threads: int | None) -> None:
        """Help until the first learner is done."""
        from sylvan.learning.base_learner import help_learning
        from sylvan.learning.group import Group

        _write_log(ClusterFiles(self._run), f"learner-{rank}")
        _stay_local()
        help_learning(Group(meeting, rank, size), threads)


def _set_threads(omp: str | None) -> None:
    os.environ.pop("OMP_NUM_THREADS", None)
    if omp is not None:
        os.environ["OMP_NUM_THREADS"] = omp


def _stay_local() -> None:
    """Let the learners of a local cluster listen on this machine only."""
    if str(ray.util.get_node_ip_address()) == "127.0.0.1":  # type: ignore[no-untyped-call]
        loopback = "lo0" if sys.platform == "darwin" else "lo"
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)


def _end_with(running: Sequence[Any], over: threading.Event) -> None:
    """End this process when another learner has ended too early."""
    (ended, *_), _ = ray.wait(list(running), num_returns=1)
    try:
        ray.get(ended)
    except Exception as error:
        if not over.is_set():
            log.error("another learner has ended: %s", str(error).rpartition("\n")[2])
            os._exit(1)


class LearnerProcess:
    """The learner: the training loop of the run.

    :param omp: OMP_NUM_THREADS of the driver. Ray sets it for its processes, but the number of
        threads decides the order of sums, so the learner has that of a run without a cluster.
    """

    def __init__(
        self,
        run: Path,
        storage: str | None,
        coordinator: str,
        placement: Placement,
        omp: str | None,
    ) -> None:
        _set_threads(omp)
        self._omp, self._placement = omp, placement
        self._run, self._storage, self._coordinator = run, storage, coordinator
        self._relay = Relay()

    def train(
        self, arguments: dict[str, Any], workers: int, exact: bool, stale: int, learners: int
    ) -> tuple[int, str]:
        """Train; return the number of finished steps and why it ended.

        :param learners: processes that share each batch, this one included.
        """
        from sylvan.cluster.player import ClusterPlayer
        from sylvan.runs.loop import train
        from sylvan.runs.run import Run

        files = ClusterFiles(self._run)
        link = _LearnerLink(ray.get_actor(self._coordinator))

        def player(run: Run) -> ClusterPlayer:
            _write_log(files, "learner")
            storage = files.storage(self._storage)
            storage.make()
            link.note(learner=os.getpid())
            common = (run, link, storage, files.identity(), workers, exact, stale)
            return ClusterPlayer(*common, tell=self._relay.message, check=self._relay.check)

        with ExitStack() as stack:
            group = None
            if learners > 1:
                threads = arguments["config"].run.threads
                group = stack.enter_context(self._helped(files, learners, threads))
            outcome = train(
                folder=self._run, watch=self._relay, player=player, group=group, **arguments
            )
        return outcome.step, outcome.reason

    @contextmanager
    def _helped(self, files: ClusterFiles, learners: int, threads: int | None) -> Iterator[Group]:
        """Start the other learners. If one dies, this process ends too, and Ray restarts it."""
        from sylvan.learning.group import Group, LearnerLost

        files.make()
        _write_log(files, "learner")
        meeting = files.folder / f".learners-{uuid.uuid4().hex}"
        wanted = {"num_cpus": self._placement.learner_cpus, "num_gpus": self._placement.gpus}
        helpers: list[Any] = [
            ray.remote(HelperProcess).options(**wanted).remote(self._run, self._omp)
            for _ in range(1, learners)
        ]
        running = [
            helper.run.remote(meeting, rank, learners, threads)
            for rank, helper in enumerate(helpers, 1)
        ]
        over = threading.Event()
        threading.Thread(target=_end_with, args=(running, over), daemon=True).start()
        _stay_local()
        room = f"Waiting until the cluster has room for {learners} learners."
        slow = threading.Timer(SLOW_START, self._relay.message, (room,))
        slow.start()
        group = Group(meeting, 0, learners)
        slow.cancel()
        try:
            yield group
        except LearnerLost as error:
            log.error("%s", error)
            os._exit(1)
        finally:
            over.set()
            for helper in helpers:
                ray.kill(helper)
            group.close()
            meeting.unlink(missing_ok=True)

    def events(self) -> list[Event]:
        """The events of the run since the last call."""
        return self._relay.take()

    def stop(self) -> None:
        """Once: end the run at the end of its step. Twice: now."""
        self._relay.stop()
