"""The driver: starts the processes of a run on a Ray cluster, and watches them.

    coordinator, learner, workers ← Ray restarts each on some node when it dies
    driver: a dead worker's leases are handed out at once; events of the learner are shown here

The driver holds no state. When it dies, Ray ends the other processes, and the same command goes on
from the run's folder.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sylvan.cluster.address import ClusterOptions
from sylvan.cluster.coordinator import Rules
from sylvan.cluster.placement import place
from sylvan.cluster.relay import replay_events
from sylvan.cluster.run_files import ClusterFiles
from sylvan.cluster.worker import Refused, WorkerOptions
from sylvan.errors import ClusterError, MissingExtra, SylvanError
from sylvan.runs.config import TrainingConfig
from sylvan.runs.interrupts import Interrupts
from sylvan.runs.loop import Outcome
from sylvan.runs.run import LOCK, Run
from sylvan.runs.watcher import Watcher

if TYPE_CHECKING:
    from sylvan.runs.fit import Fit

__all__ = ["train_on_cluster"]

log = logging.getLogger(__name__)

OBJECT_STORE = 80 * 2**20
"""Bytes of Ray's object store on this machine: little more than Ray's minimum, as it holds only
messages."""

INTERVAL = 0.2
"""Seconds between two looks at the processes."""

RESTART_PAUSE = 0.5
"""Seconds before a dead worker is called again; calls fail at once while Ray restarts it."""

STARTS = 4
"""Failed starts of each worker, in a row, after which the run ends with the error."""

REFUSED_PAUSE = 60.0
"""Seconds before a refused worker tries again: the longest pause."""

REACHABLE_WITHIN = 10.0
"""Seconds to connect to a cluster."""

RESTARTS = 20
"""Restarts of the learner in a row, without a finished step between them."""


def train_on_cluster(
    config: TrainingConfig,
    folder: str | PathLike[str],
    options: ClusterOptions,
    *,
    watch: Watcher | None = None,
    start: str | PathLike[str] | None = None,
    fitted: Fit | None = None,
) -> Outcome:
    """Start or resume a run on a cluster; the arguments are those of `sylvan.runs.loop.train`.

    :raises ClusterError: the cluster cannot be reached, or another coordinator trains the run.
    """
    path = Path(folder).resolve()
    watch = watch or Watcher()
    # The learner's machine decides on the device: this one may have another.
    run = config.resolved().run.replace(device=config.run.device)
    config = config.resolved().replace(run=run)
    arguments: dict[str, Any] = {"config": config, "fitted": fitted}
    if start is not None:
        arguments["start"] = Path(start).resolve()
    with connected(options) as (ray, dashboard):
        processes = _Processes(ray, path, options, config, watch, dashboard)
        try:
            step, reason = processes.train(arguments)
        finally:
            processes.close()
    return Outcome(Run.open(path), step, reason)


@contextmanager
def connected(options: ClusterOptions) -> Iterator[tuple[Any, str]]:
    """Connect to the cluster; a local one is started, and listens on this machine only.

    Yield Ray, and the address of its dashboard; empty: it has none.
    """
    _need_reachable(options.address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if options.is_local:
        # Ray's name for it; it decides the address of all sockets when Ray is imported.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        # Ray's own 15 would leave workers no room to give way to the learner.
        os.environ.setdefault("RAY_worker_niceness", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtra.named("--cluster needs Ray", "cluster") from None
    settings: dict[str, Any] = {
        "namespace": "sylvan",
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    if options.is_local:
        workers = options.workers or 1
        settings |= {
            "address": "local",
            "num_cpus": workers * options.worker_threads + options.learners,
            "object_store_memory": OBJECT_STORE,
            "include_dashboard": False,
        }
    else:
        settings["address"] = options.address
    try:
        context = ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _no_cluster(options.address, error) from None
    try:
        if options.is_local and str(ray.util.get_node_ip_address()) != "127.0.0.1":  # type: ignore[no-untyped-call]
            raise ClusterError(
                "Ray was imported before and listens on all addresses: run `sylvan train "
                "--cluster local:2` in a process of its own."
            )
        yield ray, getattr(context, "dashboard_url", None) or ""
    finally:
        ray.shutdown()


def _need_reachable(address: str) -> None:
    """Try to reach the cluster: Ray itself would try for minutes.

    :raises ClusterError: nothing listens there.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), REACHABLE_WITHIN).close()
    except OSError as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: Exception) -> ClusterError:
    reason = str(error).partition("\n")[0].rstrip(".")
    return ClusterError(
        f"No Ray cluster was found at {address!r} ({reason}): start one with `ray start --head`, "
        "or use --cluster local:2."
    )


class Restarts:
    """When a worker that ended is started again: each time later, unless it has worked for long."""

    def __init__(self) -> None:
        self.began = 0.0
        self.fault = ""
        """Why the last start failed; empty: it did not, or the process died."""
        self._failures = 0

    def pause(self, now: float) -> float:
        """Seconds until the next start of a worker that ends now."""
        if now - self.began > REFUSED_PAUSE:
            self._failures = 0
        self._failures += 1
        return min(REFUSED_PAUSE, RESTART_PAUSE * 2.0 ** min(self._failures - 1, 10))

    @property
    def is_hopeless(self) -> bool:
        """Whether it has failed again and again."""
        return bool(self.fault) and self._failures >= STARTS


class _Processes:
    """The processes of a run."""

    def __init__(
        self,
        ray: Any,
        run: Path,
        options: ClusterOptions,
        config: TrainingConfig,
        watch: Watcher,
        dashboard: str,
    ) -> None:
        from sylvan.cluster.ray_actors import CoordinatorProcess, LearnerProcess, WorkerProcess

        self._ray, self._options, self._watch = ray, options, watch
        self._exact, self._dashboard = options.mode == "exact", dashboard
        placement = self._placement = place(
            [node["Resources"] for node in ray.nodes() if node["Alive"]],
            options,
            gpu=_wants_gpu(ray, config),
            threads=config.run.threads or 1,
        )
        self.workers = placement.workers
        if placement.gpus and not ray.cluster_resources().get("GPU"):
            watch.message("The cluster has no GPU now: the run waits until one joins.")
        storage = options.storage
        lasting = {"max_restarts": -1, "max_task_retries": 0}
        self._run = run
        self._made = [path for path in (run, *run.parents) if not path.exists()]
        run.mkdir(parents=True, exist_ok=True)
        name = f"coordinator of {run}"
        try:
            self.coordinator = (
                ray.remote(CoordinatorProcess)
                .options(num_cpus=0, name=name, **lasting)
                .remote(run, storage, Rules(exact=self._exact, ahead=options.ahead))
            )
            self._result(self.coordinator.begin.remote())
        except ValueError:  # the name is taken
            raise ClusterError(
                f"{run} has a coordinator already: another `sylvan train --cluster` is training "
                "this run; stop it, or give another folder with --run."
            ) from None
        self.learner = (
            ray.remote(LearnerProcess)
            .options(
                num_cpus=placement.learner_cpus,
                num_gpus=placement.gpus,
                max_concurrency=4,
                **lasting,
            )
            .remote(run, storage, name, placement, os.environ.get("OMP_NUM_THREADS"))
        )
        self._actors = [
            ray.remote(WorkerProcess)
            .options(
                num_cpus=placement.worker_cpus,
                num_gpus=placement.gpus,
                scheduling_strategy="SPREAD",
                **lasting,
            )
            .remote(run, storage, name)
            for _ in range(self.workers)
        ]
        self._starts = [0] * self.workers
        self._restarts = [Restarts() for _ in range(self.workers)]
        self._said: set[str] = set()
        self._running: dict[Any, int] = {}
        """The calls of workers that are under way, and their numbers."""
        self._paused: dict[int, float] = {}
        """When a worker that ended is started again."""
        for number in range(self.workers):
            self._start_worker(number)

    def train(self, arguments: dict[str, Any]) -> tuple[int, str]:
        """Train the run to its end, or until the user stops it."""
        self._ray.get(self.coordinator.note.remote(**self._facts()))
        training = self._train(arguments)
        failures = 0
        with Interrupts(self._asked) as interrupts:
            asked = False
            while True:
                if interrupts.requested and not asked:
                    asked = True
                    self.learner.stop.remote()
                try:
                    done, _ = self._ray.wait([training, *self._running], timeout=INTERVAL)
                except KeyboardInterrupt:
                    self.learner.stop.remote()
                    continue
                progressed = self._show_events()
                failures = 0 if progressed else failures
                for each in done:
                    if each in self._running:
                        self._worker_ended(each)
                self._resume_paused()
                if training not in done:
                    continue
                try:
                    step, reason = self._result(training)
                except self._ray.exceptions.RayActorError:
                    failures += 1
                    if failures > RESTARTS:
                        raise
                    log.warning("the learner died: it is restarted")
                    time.sleep(RESTART_PAUSE)
                    training = self._train(arguments)
                    continue
                self._show_events()
                return step, reason

    def _train(self, arguments: dict[str, Any]) -> Any:
        """Start the learner's training."""
        options = self._options
        return self.learner.train.remote(
            arguments, self.workers, self._exact, options.stale, options.learners
        )

    def close(self) -> None:
        """Write the last status and end all processes."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(self.coordinator.status.remote(), timeout=5.0)
        for actor in (*self._actors, self.learner, self.coordinator):
            self._ray.kill(actor)
        if not Run.exists(self._run):  # the run could not be set up: leave the folder as it was
            shutil.rmtree(ClusterFiles(self._run).folder, ignore_errors=True)
            (self._run / LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                for folder in self._made:
                    folder.rmdir()

    def _asked(self) -> None:
        self._watch.message(
            "Stopping at the end of this step; Ctrl-C again stops immediately, and the run repeats "
            "that step when it is resumed."
        )

    def _result(self, reference: Any) -> Any:
        """The result of a call; errors of ours are raised as themselves."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            raise error.cause from None
        except exceptions.ActorDiedError as error:
            cause = getattr(error, "cause", None) or getattr(error, "__cause__", None)
            if isinstance(cause, SylvanError):
                raise cause from None
            raise

    def _show_events(self) -> bool:
        """Show the learner's events; return whether a step ended."""
        try:
            events = self._ray.get(self.learner.events.remote(), timeout=5.0)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.GetTimeoutError):
            return False
        replay_events(events, self._watch)
        return any(name == "step_end" for name, _ in events)

    def _facts(self) -> dict[str, Any]:
        """For the status."""
        return {
            "driver": os.getpid(),
            "dashboard": f"http://{self._dashboard}" if self._dashboard else None,
            "cluster": self._options.address,
            "mode": self._options.mode,
            "expected": self.workers,
        }

    # --- workers ------------------------------------------------------------------------------

    def _name(self, number: int) -> str:
        """Another one at each start, so that a dead worker is not mistaken for its successor."""
        return f"worker-{number:03d}-{os.getpid()}-{self._starts[number]}"

    def _start_worker(self, number: int) -> None:
        self._starts[number] += 1
        options = WorkerOptions(self._name(number), threads=self._placement.worker_threads)
        log_name = f"worker-{number:03d}"
        self._running[self._actors[number].run.remote(options, log_name)] = number
        self._restarts[number].began = time.monotonic()

    def _worker_ended(self, reference: Any) -> None:
        number, reason = self._running.pop(reference), ""
        self._restarts[number].fault = ""
        pause = self._restarts[number].pause(time.monotonic())
        try:
            self._result(reference)
            self._ray.kill(self._actors[number], no_restart=False)
        except Refused as error:
            self._say(str(error), str(error).partition(":")[2])
            pause = REFUSED_PAUSE
        except self._ray.exceptions.RayActorError:
            log.warning("worker %d died: it is restarted", number)
            reason = f"Worker {number} died: it is started again."
        except Exception as error:
            fault = str(error).partition("\n")[0] or type(error).__name__
            reason = f"Worker {number} failed ({fault}): it is started again, later each time."
            self._say(reason, fault)
            self._restarts[number].fault = fault
            if all(each.is_hopeless for each in self._restarts):
                raise ClusterError(f"No worker can start: {fault.rstrip('.')}.") from None
        self.coordinator.forget.remote(self._name(number), reason)
        self._paused[number] = time.monotonic() + pause

    def _say(self, text: str, fault: str) -> None:
        """Show a sentence, unless another worker had the same fault."""
        if fault not in self._said:
            self._said.add(fault)
            self._watch.message(text)

    def _resume_paused(self) -> None:
        for number, moment in list(self._paused.items()):
            if time.monotonic() >= moment:
                del self._paused[number]
                self._start_worker(number)


def _wants_gpu(ray: Any, config: TrainingConfig) -> bool:
    """Whether learner and workers evaluate on GPUs."""
    device = config.run.device
    if device != "auto":
        return device.startswith("cuda")
    import torch

    built = bool(torch.backends.cuda.is_built())  # type: ignore[no-untyped-call]
    return built and bool(ray.cluster_resources().get("GPU"))
