"""A worker: plays leases, and writes their games to the run's storage.

    join → evaluate the probe → exchange reports for leases → play → shard → report

It holds two leases at a time, and plays both at once where that fills batches (`slots`). Another
thread talks to the coordinator and fetches networks meanwhile: games never wait for the network,
the storage's reads or a coordinator that is being restarted. What happens to a worker changes no
game: a lease is played again from its record.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sylvan.cluster.coordinator import Admission, Failed, Orders, Report
from sylvan.cluster.lease import Done, Lease, content_hash
from sylvan.cluster.node_cache import NodeCache
from sylvan.cluster.profile import Probe, WorkerFacts, version
from sylvan.cluster.ratings import RatingSlot, pairing_packed
from sylvan.cluster.reanalysis import ReanalysisSlot, columns_packed
from sylvan.cluster.recipe import Recipe, episodes_of, positions_of
from sylvan.cluster.shard_games import ShardGames
from sylvan.cluster.slots import LeaseSlot, PlayingSlot, attend_slots
from sylvan.cluster.storage import DamagedShard, Storage
from sylvan.errors import ClusterError, GameContractError
from sylvan.evaluators.profile import evaluation_profile
from sylvan.evaluators.protocol import resize
from sylvan.ratings.pairings import PlayedPairing
from sylvan.selfplay.faults import is_out_of_memory
from sylvan.selfplay.lease_player import PlayedLease
from sylvan.selfplay.leases import Lease as StepLease
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = ["Refused", "Worker", "WorkerLink", "WorkerOptions"]

log = logging.getLogger(__name__)

NETWORKS = 3
"""Networks that a worker keeps ready: those of two leases, and the next one."""

GOODBYE = 5.0
"""Seconds after the grace time in which a worker tries to say goodbye."""

PATIENCE = 0.2
"""Seconds between two attempts while there is nothing to play."""


FIGURES = ("batches", "rows", "capacity", "cache_lookups", "cache_hits")
"""Sums that a report has, of `SelfPlayStatistics`."""


class WorkerLink(Protocol):
    """The coordinator, as a worker reaches it; every call may raise `ConnectionError`."""

    def probe(self) -> Probe | None:
        """The positions to evaluate before playing; None: there is no network yet, ask again."""

    def join(self, facts: WorkerFacts) -> Admission:
        """As `Coordinator.join`."""

    def prove(self, name: str, answers: bytes) -> Admission:
        """As `Coordinator.prove`."""

    def exchange(self, name: str, report: Report) -> Orders:
        """As `Coordinator.exchange`."""


@dataclass(frozen=True)
class WorkerOptions:
    """Resources of its machine that a worker may use."""

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


SlotT_co = TypeVar("SlotT_co", bound=PlayingSlot, covariant=True)


@dataclass
class _Slot(Generic[SlotT_co]):
    """Plays one lease at a time."""

    player: SlotT_co
    lease: Lease | None = None
    began: float = 0.0

    def stop(self) -> None:
        self.player.stop()
        self.lease = None


class _Needed(NamedTuple):
    """The inputs of a lease, from the storage."""

    recipe: Recipe
    network: bytes
    games: StepLease
    other: bytes = b""
    """The opponent's network of a rating."""
    task: bytes = b""
    """The pairing of a rating, or the positions of a reanalysis."""


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
        self._evaluators: dict[str, Any] = {}
        self._ready: dict[str, Future[_Needed]] = {}
        """Inputs of leases, by their names; fetched by another thread."""
        self._waiting: dict[str, Lease] = {}
        """Leases that are not begun."""
        self._slots: list[_Slot[LeaseSlot]] = []
        self._settings = ""
        """The recipe of the slots."""
        self._tasks: list[_Slot[RatingSlot | ReanalysisSlot]] = []
        """Slots for parts of ratings and for reanalysis; each is used once."""
        self._rows = 0
        """Rows of a batch after it was halved for lack of memory; 0: those of the recipe."""
        self._must_prove = False
        """Whether batches were halved since this worker proved its answers."""
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
            for slot in self._playing:
                slot.stop()
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
                found = recipe.answers(evaluator, probe.seed)
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
        profile = evaluation_profile(probe.libraries, probe.device)
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
            if talk is None and self._must_prove and not self._failed:
                self._must_prove = False
                return
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
        playing = self._playing
        if playing and now < self._stop_at:
            return False
        for slot in playing:
            assert slot.lease is not None
            self._hand_back(slot.lease.name)
            slot.stop()
        return True

    def _hand_back(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._failed.append(Failed(name, "the worker is leaving", by_fault=False))

    def _report(self, leaving: bool) -> Report:
        playing = self._playing
        held = [slot.lease.name for slot in playing if slot.lease] + list(self._waiting)
        finished, self._finished = tuple(self._finished), []
        failed, self._failed = tuple(self._failed), []
        positions = sum(slot.player.positions for slot in playing)
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
            for slot in self._playing:
                if slot.lease is not None and slot.lease.name == name:
                    slot.stop()
        return orders

    def _fetch(self, lease: Lease) -> _Needed:
        """The inputs of a lease: recipe, network, start positions."""
        positions = positions_of(self._blob(lease.positions))
        episodes = episodes_of(self._own_blob(lease.unfinished))
        games = StepLease(lease.step, 0, lease.first, lease.count, positions, episodes)
        recipe, network = self._recipe(lease.settings), self._blob(lease.network)
        return _Needed(recipe, network, games, self._blob(lease.other), self._own_blob(lease.task))

    def _blob(self, name: str) -> bytes:
        return self.cache.blob(name, self.storage.blob) if name else b""

    def _own_blob(self, name: str) -> bytes:
        """A blob that no other lease needs: the machine keeps no copy."""
        return self.storage.blob(name) if name else b""

    # --- playing ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin the leases that wait, where there is room."""
        for name, lease in sorted(self._waiting.items()):
            ready = self._ready.get(name)
            if ready is None or not ready.done():
                continue
            try:
                if not self._begin_lease(lease, ready.result()):
                    return
            except Exception as error:  # this lease is handed back; the worker goes on
                self._fail(lease, error)
            self._waiting.pop(name)
            self._ready.pop(name, None)

    def _begin_lease(self, lease: Lease, needed: _Needed) -> bool:
        """Begin a lease; False: there is no room for it."""
        options = self.options
        if lease.kind != "selfplay":
            new_slot = RatingSlot if lease.kind == "rating" else ReanalysisSlot
            cache = options.cache_bytes // NETWORKS
            slot = new_slot(needed.recipe, needed.task, options.threads, cache)
            slot.begin(needed.network, needed.other, lease)
            self._tasks.append(_Slot(slot, lease, self._clock()))
            return True
        free = self._free_slot(lease, needed.recipe)
        if free is None:
            return False
        evaluator = self._evaluator(lease.network, needed.recipe, needed.network)
        free.player.begin(evaluator, needed.games)
        free.lease, free.began = lease, self._clock()
        return True

    def _free_slot(self, lease: Lease, recipe: Recipe) -> _Slot[LeaseSlot] | None:
        if lease.settings != self._settings:
            if any(slot.lease is not None or not slot.player.is_free for slot in self._slots):
                return None
            players = recipe.slots(self.options.threads, self.options.leases)
            self._slots, self._rows = [_Slot(player) for player in players], 0
            self._settings = lease.settings
        return next(
            (slot for slot in self._slots if slot.lease is None and slot.player.is_free), None
        )

    def _evaluator(self, name: str, recipe: Recipe, network: bytes) -> Any:
        """The evaluator of a network; leases of the same network share it."""
        found = self._evaluators.pop(name, None)
        if found is None:
            cache = self.options.cache_bytes // NETWORKS
            found = recipe.evaluator(network, self.options.threads, cache)
            if self._rows:
                resize(found, self._rows)
        self._evaluators[name] = found  # the newest is the last
        while len(self._evaluators) > NETWORKS:
            del self._evaluators[next(iter(self._evaluators))]
        return found

    @property
    def _playing(self) -> list[_Slot[PlayingSlot]]:
        """The slots that play a lease."""
        self._tasks = [slot for slot in self._tasks if slot.lease is not None]
        return [*(slot for slot in self._slots if slot.lease is not None), *self._tasks]

    def _attend(self) -> bool:
        """Evaluate a batch; finish the leases that are over. False: nothing is being played."""
        playing = sorted(self._playing, key=lambda slot: slot.began)
        if not playing:
            self._attended = None
            return False
        lacking = False
        try:
            self._waited += attend_slots([slot.player for slot in playing])
        except Exception as error:  # of the evaluator
            lacking = is_out_of_memory(error)
            for evaluated in self._slots:
                self._give_up(evaluated, error)
        if lacking and not self._rows:  # here, because the error held memory
            self._halve()
        now = self._clock()
        self._played += 0.0 if self._attended is None else now - self._attended
        self._attended = now
        for slot in playing:
            if slot.lease is not None and slot.player.is_over:
                self._finish(slot)
        return True

    def _halve(self) -> None:
        """Halve the rows of all batches, once; then prove the answers again, which may differ."""
        rows = [slot.player.halve() for slot in self._slots]
        if not any(rows):
            return
        self._rows, self._must_prove = rows[0], True
        for evaluator in self._evaluators.values():
            resize(evaluator, self._rows)
        reason = (
            f"Its device has not enough memory: its batches have {self._rows} positions from now "
            "on. To keep their size, halve selfplay.games."
        )
        log.warning("%s", reason)
        self._failed.append(Failed("", reason))

    def _finish(self, slot: _Slot[PlayingSlot]) -> None:
        """Write the games of a lease that is over."""
        lease = slot.lease
        assert lease is not None
        seconds = self._clock() - slot.began
        try:
            played = slot.player.finish()
            slot.lease = None
            if isinstance(played, PlayedPairing):
                (facts, payload), found = pairing_packed(played), SelfPlayStatistics()
            elif isinstance(played, dict):
                (facts, payload), found = columns_packed(played), SelfPlayStatistics()
            else:
                (facts, payload), found = _packed(played), played.statistics
            size = self.storage.write_shard(lease, facts, payload)
        except Exception as error:
            self._give_up(slot, error, lease)
            return
        figures: dict[str, float] = {name: getattr(found, name) for name in FIGURES}
        figures |= {"seconds": self._played, "network": found.network_seconds}
        figures |= {"waited": self._waited + found.search_seconds}
        self._played = self._waited = 0.0
        self._finished.append(
            Done(
                lease.name,
                self.options.name,
                content_hash(payload),
                size,
                seconds,
                found.games,
                found.positions,
                found.simulations,
                figures,
                self.options.node,
            )
        )

    def _give_up(
        self, slot: _Slot[PlayingSlot], error: Exception, lease: Lease | None = None
    ) -> None:
        lease = lease or slot.lease
        if slot.lease is not None:
            slot.stop()
        if lease is not None:
            self._fail(lease, error)

    def _fail(self, lease: Lease, error: Exception) -> None:
        log.warning("lease %s failed: %s: %s", lease.name, type(error).__name__, error)
        by_game = not isinstance(error, OSError | ClusterError)  # those are the storage's
        by_game = by_game and not is_out_of_memory(error)
        reason = str(error).partition("\n")[0] or type(error).__name__
        self._failed.append(Failed(lease.name, reason, by_game))


def _packed(played: PlayedLease) -> tuple[dict[str, Any], bytes]:
    """Facts and payload of a shard with games of self-play."""
    games = played.games
    dropped = [(n, type(error).__name__, str(error)) for n, error in played.dropped]
    if not len(games) and dropped:
        raise GameContractError(
            f"all games of a lease raised an error, the first {dropped[0][1]} ({dropped[0][2]}): "
            "mend the game"
        )
    return ShardGames(games, dropped).to_bytes()
