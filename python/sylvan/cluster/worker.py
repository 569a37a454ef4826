"""A worker: plays leases, and writes their games to the run's storage.

    join → evaluate the probe → exchange reports for leases → play → shard → report

It plays two leases at once, so that batches stay full while one ends. Another thread talks to the
coordinator and fetches networks meanwhile: games never wait for the network, the storage's reads or
a coordinator that is being restarted. What happens to a worker changes no game: a lease is played
again from its record.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sylvan import _native
from sylvan.cluster.coordinator import Admission, Failed, Orders, Report
from sylvan.cluster.lease import Done, Lease, content_hash
from sylvan.cluster.node_cache import NodeCache
from sylvan.cluster.profile import Probe, WorkerFacts, answers, evaluation_profile, version
from sylvan.cluster.recipe import Recipe, device_name, positions_of
from sylvan.cluster.shard_games import ShardGames
from sylvan.cluster.storage import DamagedShard, Storage
from sylvan.errors import ClusterError, GameContractError
from sylvan.evaluators import Evaluator
from sylvan.selfplay.actors import Actors, attend

__all__ = ["Refused", "Worker", "WorkerLink", "WorkerOptions"]

log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

NETWORKS = 3
"""Networks that a worker keeps ready: those of two leases, and the next one."""

GOODBYE = 5.0
"""Seconds after the grace time in which a worker tries to say goodbye."""

PATIENCE = 0.2
"""Seconds between two attempts while there is nothing to play."""


class WorkerLink(Protocol):
    """The coordinator, as a worker reaches it; every call may raise `ConnectionError`."""

    def probe(self) -> Probe | None:
        """What to evaluate before playing; None: there is no network yet, ask again."""

    def join(self, facts: WorkerFacts) -> Admission:
        """As `Coordinator.join`."""

    def prove(self, name: str, answers: bytes) -> Admission:
        """As `Coordinator.prove`."""

    def exchange(self, name: str, report: Report) -> Orders:
        """As `Coordinator.exchange`."""


@dataclass(frozen=True)
class WorkerOptions:
    """What a worker may use of its machine."""

    name: str
    node: str = "here"
    pid: int = 0
    threads: int = 1
    leases: int = 2
    """Leases at once."""
    cache_bytes: int = 64 * 2**20
    grace: float = 20.0
    """Seconds to finish leases after a request to stop; what is left is handed back."""


class Refused(ClusterError):
    """The coordinator does not let a worker play; the message says why."""


@dataclass
class _Slot:
    """Actors that play one lease at a time."""

    actors: Actors
    lease: Lease | None = None
    began: float = 0.0
    network: float = 0.0
    """Seconds in its evaluators when the lease began."""


class Worker:
    """Plays leases until it is stopped.

    :param clock: measures durations; no other clock is compared with it.
    """

    def __init__(
        self,
        link: WorkerLink,
        storage: Storage,
        cache: NodeCache,
        options: WorkerOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.link, self.storage, self.cache = link, storage, cache
        self.options, self._clock = options, clock
        self._stopping = threading.Event()
        self._stop_at = float("inf")
        self._fetcher = ThreadPoolExecutor(1, "fetch")
        self._talker = ThreadPoolExecutor(1, "report")
        self._evaluators: dict[str, Evaluator] = {}
        self._ready: dict[str, Future[tuple[Recipe, bytes, list[list[int]]]]] = {}
        """What leases need, by their names; fetched by another thread."""
        self._waiting: dict[str, Lease] = {}
        """Leases that are not begun."""
        self._slots: list[_Slot] = []
        self._settings = ""
        """The recipe of the actors."""
        self._attended: float | None = None
        """When the last batch was done; None while nothing is played."""
        self._played = self._waited = 0.0
        """Since the last finished lease: seconds in which something was played, and in which the
        network waited for the games."""
        self._finished: list[Done] = []
        self._failed: list[Failed] = []

    def stop(self) -> None:
        """Finish what can be finished within the grace time, then end; from any thread."""
        self._stop_at = min(self._stop_at, self._clock() + self.options.grace)
        self._stopping.set()

    def run(self) -> None:
        """Work until `stop`.

        :raises Refused: the coordinator refuses this worker.
        """
        try:
            while not self._stopping.is_set():
                if self._join():
                    self._work()
        finally:
            for slot in self._slots:
                slot.actors.stop()
            self._fetcher.shutdown(wait=False, cancel_futures=True)
            self._talker.shutdown(wait=False, cancel_futures=True)

    # --- joining ------------------------------------------------------------------------------

    def _join(self) -> bool:
        """Introduce this worker and evaluate the probe; False: try again."""
        try:
            probe = self.link.probe()
            if probe is not None:
                self._need(self.link.join(self._facts(probe)))
                recipe = self._recipe(probe.recipe)
                network = self.cache.blob(probe.network, self.storage.blob)
                evaluator = self._evaluator(probe.network, recipe, network)
                found = answers(evaluator, recipe.first, probe.seed)
                return self._need(self.link.prove(self.options.name, found))
        except (OSError, DamagedShard) as error:
            log.warning("cannot join yet: %s", error)
        self._stopping.wait(PATIENCE)
        return False

    def _need(self, admission: Admission) -> bool:
        """Whether this worker is known to the coordinator.

        :raises Refused: it does not want this worker.
        """
        if admission.refused:
            raise Refused(f"Worker {self.options.name} is refused: {admission.refused}")
        return admission.known

    def _facts(self, probe: Probe) -> WorkerFacts:
        options = self.options
        profile = evaluation_profile(probe.runtime, device_name(probe.device))
        return WorkerFacts(options.name, options.node, options.pid, version(), profile)

    def _recipe(self, name: str) -> Recipe:
        return Recipe.from_bytes(self.cache.blob(name, self.storage.blob))

    # --- working ------------------------------------------------------------------------------

    def _work(self) -> None:
        """Play and report until this worker is stopped, or unknown to the coordinator."""
        talk: Future[Orders] | None = None
        sent: Report | None = None
        next_report, known = 0.0, True
        while True:
            now = self._clock()
            if talk is not None and talk.done():
                orders = self._heard(talk, sent)
                talk, next_report = None, now + (PATIENCE if orders is None else orders.pause)
                known = orders is None or orders.known
                if sent is not None and sent.leaving and orders is not None:
                    return
            leaving = self._is_leaving(now)
            news = bool(self._finished or self._failed)
            if talk is None and (not known or (leaving and now > self._stop_at + GOODBYE)):
                return
            if talk is None and (news or leaving or now >= next_report):
                sent = self._report(leaving)
                talk = self._talker.submit(self.link.exchange, self.options.name, sent)
            self._begin()
            if not self._attend():
                time.sleep(0.005)

    def _is_leaving(self, now: float) -> bool:
        """Whether to say goodbye: nothing is left to play, or the grace time is over."""
        if not self._stopping.is_set():
            return False
        for name in list(self._waiting):
            self._hand_back(name)
        playing = [slot for slot in self._slots if slot.lease is not None]
        if playing and now < self._stop_at:
            return False
        for slot in playing:
            slot.actors.stop()
            assert slot.lease is not None
            self._hand_back(slot.lease.name)
            slot.lease = None
        return True

    def _hand_back(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._failed.append(Failed(name, "the worker is leaving", by_fault=False))

    def _report(self, leaving: bool) -> Report:
        playing = [slot for slot in self._slots if slot.lease is not None]
        held = [slot.lease.name for slot in playing if slot.lease] + list(self._waiting)
        finished, self._finished = tuple(self._finished), []
        failed, self._failed = tuple(self._failed), []
        positions = sum(slot.actors.progress[1] for slot in playing)
        free = 0 if self._stopping.is_set() else self.options.leases - len(held)
        return Report(tuple(held), free, finished, failed, positions, leaving)

    def _heard(self, talk: Future[Orders], sent: Report | None) -> Orders | None:
        """Take in the coordinator's answer; None: it did not answer, so say all of it again."""
        try:
            orders = talk.result()
        except ConnectionError as error:
            log.warning("the coordinator does not answer: %s", error)
            assert sent is not None
            self._finished[:0] = sent.finished
            self._failed[:0] = sent.failed
            return None
        for lease in orders.leases:
            self._waiting[lease.name] = lease
            self._ready[lease.name] = self._fetcher.submit(self._fetch, lease)
        for name in orders.drop:
            self._waiting.pop(name, None)
            self._ready.pop(name, None)
            for slot in self._slots:
                if slot.lease is not None and slot.lease.name == name:
                    slot.actors.stop()
                    slot.lease = None
        return orders

    def _fetch(self, lease: Lease) -> tuple[Recipe, bytes, list[list[int]]]:
        """What a lease needs."""
        network = self.cache.blob(lease.network, self.storage.blob)
        positions = self.cache.blob(lease.positions, self.storage.blob) if lease.positions else b""
        return self._recipe(lease.settings), network, positions_of(positions) if positions else []

    # --- playing ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin the leases that wait, where there is room."""
        for name, lease in sorted(self._waiting.items()):
            ready = self._ready.get(name)
            if ready is None or not ready.done():
                continue
            try:
                recipe, network, positions = ready.result()
                slot = self._free_slot(lease, recipe)
                if slot is None:
                    return
                evaluator = self._evaluator(lease.network, recipe, network)
                slot.actors.begin(evaluator, lease.first, lease.count, positions)
                slot.lease, slot.began = lease, self._clock()
                slot.network = slot.actors.seconds
            except Exception as error:  # this lease is handed back; the worker goes on
                self._fail(lease, error)
            self._waiting.pop(name)
            self._ready.pop(name, None)

    def _free_slot(self, lease: Lease, recipe: Recipe) -> _Slot | None:
        if lease.settings != self._settings:
            if any(slot.lease is not None for slot in self._slots):
                return None
            bell = _native.Bell()
            self._slots = [
                _Slot(recipe.actors(self.options.threads, bell)) for _ in range(self.options.leases)
            ]
            self._settings = lease.settings
        return next((slot for slot in self._slots if slot.lease is None), None)

    def _evaluator(self, name: str, recipe: Recipe, network: bytes) -> Evaluator:
        """The evaluator of a network; leases of the same network share it."""
        found = self._evaluators.pop(name, None)
        if found is None:
            cache = self.options.cache_bytes // NETWORKS
            found = recipe.evaluator(network, self.options.threads, cache)
        self._evaluators[name] = found  # the newest is the last
        while len(self._evaluators) > NETWORKS:
            del self._evaluators[next(iter(self._evaluators))]
        return found

    def _attend(self) -> bool:
        """Evaluate a batch; finish the leases that are over. False: nothing is being played."""
        playing = sorted(
            (slot for slot in self._slots if slot.lease is not None),
            key=lambda slot: slot.began,
        )
        if not playing:
            self._attended = None
            return False
        try:
            self._waited += attend([slot.actors for slot in playing])
        except Exception as error:  # of the evaluator
            for slot in playing:
                self._give_up(slot, error)
            return True
        now = self._clock()
        self._played += 0.0 if self._attended is None else now - self._attended
        self._attended = now
        for slot in playing:
            if slot.actors.is_over:
                self._finish(slot)
        return True

    def _finish(self, slot: _Slot) -> None:
        """Write the games of a lease that is over."""
        lease = slot.lease
        assert lease is not None
        seconds = self._clock() - slot.began
        over, positions, simulations = slot.actors.progress
        try:
            games = slot.actors.finish()
            slot.lease = None
            dropped = [(n, type(error).__name__, str(error)) for n, error in slot.actors.dropped]
            if not len(games) and dropped:
                raise GameContractError(
                    f"all games of a lease raised an error, the first {dropped[0][1]} "
                    f"({dropped[0][2]}): mend the game"
                )
            facts, payload = ShardGames(games, dropped).to_bytes()
            size = self.storage.write_shard(lease, facts, payload)
        except Exception as error:
            self._give_up(slot, error, lease)
            return
        batches, rows = slot.actors.evaluated
        lookups, hits = slot.actors.cache
        figures: dict[str, float] = {
            "batches": batches,
            "rows": rows,
            "capacity": batches * slot.actors.rows,
        }
        figures |= {"cache_lookups": lookups, "cache_hits": hits}
        figures |= {"seconds": self._played, "network": slot.actors.seconds - slot.network}
        figures |= {"waited": self._waited}
        self._played = self._waited = 0.0
        self._finished.append(
            Done(
                lease.name,
                self.options.name,
                content_hash(payload),
                size,
                seconds,
                over,
                positions,
                simulations,
                figures,
                self.options.node,
            )
        )

    def _give_up(self, slot: _Slot, error: Exception, lease: Lease | None = None) -> None:
        lease = lease or slot.lease
        if slot.lease is not None:
            slot.actors.stop()
            slot.lease = None
        if lease is not None:
            self._fail(lease, error)

    def _fail(self, lease: Lease, error: Exception) -> None:
        log.warning("lease %s failed: %s: %s", lease.name, type(error).__name__, error)
        by_game = not isinstance(error, OSError | ClusterError)  # those are the storage's
        reason = str(error).partition("\n")[0] or type(error).__name__
        self._failed.append(Failed(lease.name, reason, by_game))
