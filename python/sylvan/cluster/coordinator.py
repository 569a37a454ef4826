"""The coordinator: hands out leases, and takes each of them once.

    learner   submit(leases) → … collect(news) → again(name), if its shard is damaged
    worker    join → prove → exchange(report) → orders, every second or when something is finished

It is a state machine without threads, files or network; time comes from `clock`, which runs only
here: the clocks of workers and of the learner may show anything. Every call costs O(log leases).

*Order.* Leases go out by step, then by game. A lease that takes longer than three times the
median goes out a second time, to another worker; the first answer is taken.

*Loss.* A report lists what the worker holds. What the coordinator gave it and it does not hold was
lost on the way, and is handed out again. What it holds and the coordinator does not know of (after
a restart) is noted as under way. A worker that is silent for too long is forgotten with its
leases; if it comes back, its answers count if nobody was faster.

*Faults.* A lease whose game failed on one worker goes to another, if there is one.

*Limits.* A worker has at most `per_worker` leases; leases more than `ahead` steps ahead of the
learner wait. A worker that fails gets no lease for a while, longer each time.
"""

from __future__ import annotations

import heapq
import secrets
from bisect import bisect_left, insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sylvan.cluster.lease import Done, Lease
from sylvan.cluster.profile import Probe, WorkerFacts

__all__ = [
    "Admission",
    "Arrivals",
    "Coordinator",
    "Failed",
    "Orders",
    "Report",
    "Rules",
]

NEVER = float("-inf")
"""A moment before all others; clocks may begin anywhere."""

REMEMBERED = 101
"""Minimum number of newest durations of leases, whose median says what is late."""

SPEED_SECONDS = 60.0
"""The speed is that of so many seconds."""

PROBLEMS = 20
"""Newest problems that the status shows."""


@dataclass(frozen=True)
class Rules:
    """Rules of the coordinator's decisions; seconds are of its own clock."""

    exact: bool = True
    """Answers of workers to fixed positions must be bit-equal to the learner's."""
    per_worker: int = 2
    """Leases under way of one worker: while one ends, the other fills the batches."""
    ahead: int = 100
    """Steps that games may run ahead of the learner."""
    late: float = 3.0
    """A lease is late after this multiple of the median duration ..."""
    late_again: float = 1.5
    """... and a lease that was handed out for being late, after this one ..."""
    late_after: float = 5.0
    """... but not before so many seconds."""
    holders: int = 4
    """Workers that play the same late lease at most: the second one may be slow too."""
    silence: float = 10.0
    """Seconds after which a silent worker is forgotten."""
    attempts: int = 4
    """Failures of one lease by its game after which the learner gets the error."""
    longest_pause: float = 30.0
    """Maximum seconds without a lease after a failure."""


@dataclass(frozen=True)
class Failed:
    """A lease that a worker hands back."""

    name: str
    reason: str
    by_game: bool = False
    """The game's own code failed, as it will on any worker."""
    by_fault: bool = True
    """Something went wrong; False: the worker is leaving."""


@dataclass(frozen=True)
class Report:
    """The regular report of a worker."""

    held: tuple[str, ...] = ()
    """Leases it is playing, or about to."""
    free: int = 0
    """Leases that it can take."""
    finished: tuple[Done, ...] = ()
    failed: tuple[Failed, ...] = ()
    positions: int = 0
    """Positions so far in the leases it holds."""
    leaving: bool = False


@dataclass(frozen=True)
class Orders:
    """The answer to a worker's report."""

    leases: tuple[Lease, ...] = ()
    drop: tuple[str, ...] = ()
    """Leases that it may stop playing."""
    pause: float = 0.1
    """Seconds until the next report, unless something is finished."""
    known: bool = True
    """False: join again."""


@dataclass(frozen=True)
class Admission:
    """The answer to a worker that wants to join."""

    refused: str = ""
    """Why not; empty: welcome."""
    known: bool = True
    """False: join first."""


@dataclass(frozen=True)
class Arrivals:
    """News for the learner."""

    life: str = ""
    """Another one after each start of the coordinator, which then tells everything again."""
    number: int = 0
    """Of the newest arrival; the learner says it in its next call."""
    done: tuple[Done, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()
    """Leases that no worker can play, and why."""


@dataclass
class _Entry:
    lease: Lease
    holders: dict[str, float] = field(default_factory=dict)
    """Workers that play it, and since when."""
    done: Done | None = None
    failures: int = 0
    """Failures by its game."""
    failed_on: set[str] = field(default_factory=set)
    """The workers on which its game failed."""
    broken: str = ""
    """Why no worker can play it."""
    queued: bool = False
    """Whether it is in the queue."""
    late: bool = False
    """Whether a worker took so long that another one got it too."""


@dataclass
class _Worker:
    facts: WorkerFacts
    seen: float
    proved: bool = False
    held: set[str] = field(default_factory=set)
    failures: int = 0
    paused_until: float = NEVER
    leases: int = 0
    positions: int = 0
    begun: float = 0.0
    playing: int = 0
    """Positions so far in the leases it holds."""


class _Durations:
    """The median of the newest durations, per game.

    They are at least as many as leases were ever under way. Fewer would be those of the quickest
    workers when thousands begin at once, and of the slowest ones when no leases are left.
    """

    def __init__(self) -> None:
        self.under_way = 0
        """Leases under way, when they were last counted."""
        self._kept = REMEMBERED
        self._newest: deque[float] = deque()
        self._sorted: list[float] = []

    def add(self, seconds: float) -> None:
        self._kept = max(self._kept, self.under_way)
        self._newest.append(seconds)
        insort(self._sorted, seconds)
        while len(self._newest) > self._kept:
            del self._sorted[bisect_left(self._sorted, self._newest.popleft())]

    @property
    def median(self) -> float:
        """Infinite before three leases are known, and as many as are under way."""
        known = self._sorted
        enough = len(known) >= max(3, self.under_way)
        return known[len(known) // 2] if enough else float("inf")


class _Speed:
    """Arrivals of the last minute, per second."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[float, int, int]] = deque()
        """Begin of a second, games and positions that were taken in it."""
        self._first = NEVER

    def add(self, now: float, games: int, positions: int) -> None:
        if self._first == NEVER:
            self._first = now
        if self._seconds and now < self._seconds[-1][0] + 1:
            begin, one, two = self._seconds.pop()
            self._seconds.append((begin, one + games, two + positions))
        else:
            self._seconds.append((now, games, positions))
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._seconds and self._seconds[0][0] < now - SPEED_SECONDS:
            self._seconds.popleft()

    def per_second(self, now: float) -> dict[str, float]:
        self._forget(now)
        seconds = max(1.0, min(SPEED_SECONDS, now - self._first))
        return {
            "games": sum(games for _, games, _ in self._seconds) / seconds,
            "positions": sum(positions for _, _, positions in self._seconds) / seconds,
        }


class Coordinator:
    """The leases of one run, and the workers that play them.

    :param clock: seconds that never go back.
    :param finished: gives what is known of a lease that has a shard already, else None.
    """

    def __init__(
        self,
        rules: Rules,
        clock: Callable[[], float],
        finished: Callable[[Lease], Done | None] = lambda _: None,
    ) -> None:
        self.rules, self._clock, self._finished = rules, clock, finished
        self.step = 0
        """The learner's step."""
        self.probe: Probe | None = None
        self.counts = dict.fromkeys(
            ("taken", "duplicates", "conflicts", "failed", "late", "lost", "forgotten", "refused"),
            0,
        )
        self.totals = {"games": 0, "positions": 0, "simulations": 0}
        """All that was taken."""
        self.problems: deque[str] = deque(maxlen=PROBLEMS)
        self._unread: deque[str] = deque(maxlen=PROBLEMS)
        self.refused: dict[str, str] = {}
        """Why workers were refused, the newest of them."""
        self.life = secrets.token_hex(8)
        self._arrived = 0
        self._arrivals: deque[tuple[int, str]] = deque()
        """Number and lease of what the learner may not have heard, the oldest first."""
        self._entries: dict[str, _Entry] = {}
        self._queue: list[tuple[int, int, str]] = []
        """Step, first game and name of the leases to hand out."""
        self._under_way: dict[tuple[str, bool], deque[tuple[float, str, str]]] = defaultdict(deque)
        """By the kind of lease and whether it was late: since when, worker and lease, the oldest
        first; some are outdated."""
        self._workers: dict[str, _Worker] = {}
        self._durations: dict[str, _Durations] = defaultdict(_Durations)
        """By the kind of lease."""
        self._speed = _Speed()
        self._next_check = NEVER

    # --- the learner --------------------------------------------------------------------------

    def submit(self, leases: Sequence[Lease], step: int, probe: Probe | None = None) -> None:
        """Replace the leases to hand out; those that are known stay as they are.

        :param leases: all that the learner needs. Others are dropped: those of a session with other
            settings, or another number of workers.
        :param step: the learner's.
        """
        self.step = step
        if probe is not None:
            if self.probe is not None and probe.recipe != self.probe.recipe:
                for worker in self._workers.values():
                    worker.proved = False
            self.probe = probe
        self.forget_leases(self._entries.keys() - {lease.name for lease in leases})
        self.add(leases)

    def add(self, leases: Sequence[Lease]) -> None:
        """Add leases to hand out; those that are known stay as they are."""
        for lease in leases:
            if lease.name not in self._entries:
                entry = self._entries[lease.name] = _Entry(lease)
                entry.done = self._finished(lease)
                if entry.done is None:
                    self._enqueue(entry)
                else:
                    self._arrive(lease.name)

    def collect(self, life: str = "", number: int = 0) -> Arrivals:
        """The leases that are over since the learner's last call.

        :param life: of the last answer; if it is another one, the answer has all leases.
        :param number: of the last answer.
        """
        names: Iterable[str] = self._entries
        if life == self.life:
            while self._arrivals and self._arrivals[0][0] <= number:
                self._arrivals.popleft()
            names = dict.fromkeys(name for _, name in self._arrivals)
        entries = [self._entries[name] for name in names if name in self._entries]
        return Arrivals(
            self.life,
            self._arrived,
            tuple(entry.done for entry in entries if entry.done is not None),
            tuple((entry.lease.name, entry.broken) for entry in entries if entry.broken),
        )

    def _arrive(self, name: str) -> None:
        self._arrived += 1
        self._arrivals.append((self._arrived, name))

    def again(self, name: str, reason: str) -> None:
        """Hand out a lease once more: its shard is damaged."""
        entry = self._entries.get(name)
        if entry is not None and entry.done is not None:
            self.problem(reason)
            entry.done = None
            self.counts["lost"] += 1
            self._enqueue(entry)

    def forget_leases(self, names: Iterable[str]) -> None:
        """The learner has the games of these leases, or does not want them any more."""
        for name in names:
            entry = self._entries.pop(name, None)
            if entry is not None:
                for holder in entry.holders:
                    if holder in self._workers:
                        self._workers[holder].held.discard(name)

    def news(self) -> list[str]:
        """The problems since the last call."""
        news = list(self._unread)
        self._unread.clear()
        return news

    def problem(self, text: str) -> None:
        """Show a sentence in the status, and to the user."""
        self.problems.append(text)
        self._unread.append(text)

    @property
    def leases(self) -> list[Lease]:
        """All leases that the learner has not forgotten."""
        return [entry.lease for entry in self._entries.values()]

    # --- workers ------------------------------------------------------------------------------

    def join(self, facts: WorkerFacts) -> Admission:
        """A worker introduces itself."""
        if self.probe is None:
            return Admission(known=False)
        reason = self.probe.refusal(facts, exact=self.rules.exact)
        if reason:
            return self._refuse(facts.name, reason)
        now = self._clock()
        self._workers[facts.name] = _Worker(facts, now, begun=now)
        return Admission()

    def prove(self, name: str, answers: bytes) -> Admission:
        """A worker's answers to the fixed positions."""
        worker = self._workers.get(name)
        if worker is None or self.probe is None:
            return Admission(known=False)
        reason = self.probe.difference(answers, exact=self.rules.exact)
        if reason:
            self.forget(name)
            return self._refuse(name, reason)
        worker.proved, worker.seen = True, self._clock()
        return Admission()

    def exchange(self, name: str, report: Report) -> Orders:
        """Take in a worker's report, and give it leases."""
        now = self._clock()
        self._check(now)
        worker = self._workers.get(name)
        for done in report.finished:
            self._take(done, worker)
        if worker is None or not worker.proved:
            return Orders(known=False)
        worker.seen, worker.playing = now, report.positions
        for failed in report.failed:
            self._failed(name, worker, failed, now)
        drop = self._reconcile(name, worker, report, now)
        if report.leaving:
            self.forget(name, silent=False)
            return Orders(drop=drop)
        leases = self._leases_for(name, worker, report.free, now)
        return Orders(leases, drop, self._pause())

    def forget(self, name: str, *, silent: bool = True) -> None:
        """A worker is gone: its leases are handed out again."""
        worker = self._workers.pop(name, None)
        if worker is None:
            return
        self.counts["forgotten"] += silent
        for held in worker.held:
            entry = self._entries.get(held)
            if entry is not None:
                entry.holders.pop(name, None)
                self._enqueue_if_needed(entry)

    # --- status -------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """All that `sylvan cluster status` shows, as JSON values."""
        now = self._clock()
        entries = self._entries.values()
        under_way = sum(bool(entry.holders) and entry.done is None for entry in entries)
        done = sum(entry.done is not None for entry in entries)
        return {
            "step": self.step,
            "leases": {"waiting": len(entries) - under_way - done, "under_way": under_way}
            | {"done": done},
            "counts": dict(self.counts),
            "totals": dict(self.totals),
            "per_second": self._speed.per_second(now),
            "problems": list(self.problems),
            "refused": dict(self.refused),
            "workers": [
                {
                    **worker.facts.to_dict(),
                    "silent": round(now - worker.seen, 3),
                    "held": sorted(worker.held),
                    "leases": worker.leases,
                    "positions": worker.positions,
                    "playing": worker.playing,
                    "positions_per_second": worker.positions / max(1e-9, now - worker.begun),
                    "paused": max(0.0, worker.paused_until - now),
                }
                for worker in self._workers.values()
            ],
        }

    # --- handing out --------------------------------------------------------------------------

    def _leases_for(self, name: str, worker: _Worker, free: int, now: float) -> tuple[Lease, ...]:
        if now < worker.paused_until:
            return ()
        free = min(free, self.rules.per_worker - len(worker.held))
        given: list[Lease] = []
        skipped: list[tuple[int, int, str]] = []
        while len(given) < free and self._queue:
            step, _, lease = self._queue[0]
            entry = self._entries.get(lease)
            if entry is None or entry.done is not None or not entry.queued:
                heapq.heappop(self._queue)
                continue
            if step > self.step + self.rules.ahead:
                break
            key = heapq.heappop(self._queue)
            if name in entry.holders or self._has_better(name, entry):
                skipped.append(key)
                continue
            entry.queued = False
            self._hold(name, worker, entry, now)
            given.append(entry.lease)
        for key in skipped:
            heapq.heappush(self._queue, key)
        return tuple(given)

    def _has_better(self, name: str, entry: _Entry) -> bool:
        """Whether a lease failed on this worker, and not on all others."""
        return name in entry.failed_on and any(
            worker.proved and other not in entry.failed_on
            for other, worker in self._workers.items()
        )

    def _hold(self, name: str, worker: _Worker, entry: _Entry, now: float) -> None:
        entry.holders[name] = now
        worker.held.add(entry.lease.name)
        self._under_way[entry.lease.kind, entry.late].append((now, name, entry.lease.name))

    def _enqueue(self, entry: _Entry) -> None:
        entry.queued = True
        lease = entry.lease
        heapq.heappush(self._queue, (lease.step, lease.first, lease.name))

    def _enqueue_if_needed(self, entry: _Entry) -> None:
        """Hand a lease out again that has lost a worker: its last, or one that was to help."""
        needed = not entry.holders or entry.late
        if entry.done is None and needed and not entry.queued and not entry.broken:
            self._enqueue(entry)

    def _reconcile(self, name: str, worker: _Worker, report: Report, now: float) -> tuple[str, ...]:
        """Make `held` what the worker says; return what it may drop."""
        held = set(report.held)
        drop = []
        for each in held - worker.held:
            entry = self._entries.get(each)
            if entry is None or entry.done is not None:
                drop.append(each)
            else:
                entry.queued = False  # it may be in the queue since a restart
                self._hold(name, worker, entry, now)
        for each in worker.held - held:
            worker.held.discard(each)
            entry = self._entries.get(each)
            if entry is not None and entry.done is None and name in entry.holders:
                del entry.holders[name]
                self.counts["lost"] += 1
                self._enqueue_if_needed(entry)
        for each in held & worker.held:
            entry = self._entries.get(each)
            if entry is None or entry.done is not None:
                drop.append(each)
                worker.held.discard(each)
        return tuple(drop)

    def _check(self, now: float) -> None:
        """Once a second: silent workers and late leases."""
        if now < self._next_check:
            return
        self._next_check = now + min(1.0, self.rules.silence / 4)
        silent = now - self.rules.silence
        for name in [name for name, worker in self._workers.items() if worker.seen < silent]:
            self.problem(f"Worker {name} is silent: its leases are handed out again.")
            self.forget(name)
        held = (name for worker in self._workers.values() for name in worker.held)
        kinds = Counter[str](
            self._entries[name].lease.kind for name in held if name in self._entries
        )
        for kind in kinds.keys() | self._durations.keys():
            self._durations[kind].under_way = kinds[kind]
        for (kind, again), under_way in self._under_way.items():
            multiple = self.rules.late_again if again else self.rules.late
            self._check_late(under_way, multiple * self._durations[kind].median, now)

    def _check_late(
        self, under_way: deque[tuple[float, str, str]], usual: float, now: float
    ) -> None:
        """Hand leases out again that take longer than `usual` seconds per game."""
        while under_way:
            since, name, lease = under_way[0]
            entry = self._entries.get(lease)
            if entry is not None and entry.done is None and entry.holders.get(name) == since:
                if now - since < max(self.rules.late_after, usual * entry.lease.count):
                    break
                if len(entry.holders) < self.rules.holders and not entry.queued:
                    self.counts["late"] += 1
                    entry.late = True
                    self._enqueue(entry)
            under_way.popleft()

    def _pause(self) -> float:
        """Seconds between reports: many workers report more rarely."""
        return min(2.0, max(0.05, len(self._workers) / 500))

    # --- taking in ----------------------------------------------------------------------------

    def _take(self, done: Done, worker: _Worker | None) -> None:
        entry = self._entries.get(done.name)
        if worker is not None:
            worker.held.discard(done.name)
        if entry is None:
            self.counts["duplicates"] += 1
            return
        since = entry.holders.pop(done.worker, None)
        if entry.done is not None:
            self.counts["duplicates"] += 1
            if entry.done.checksum != done.checksum and self.rules.exact:
                self._conflict(entry.done, done)
            return
        entry.done, entry.queued = done, False
        self._arrive(done.name)
        self.counts["taken"] += 1
        self.totals["games"] += done.games
        self.totals["positions"] += done.positions
        self.totals["simulations"] += done.simulations
        self._speed.add(self._clock(), done.games, done.positions)
        if since is not None:
            seconds = (self._clock() - since) / max(1, entry.lease.count)
            self._durations[entry.lease.kind].add(seconds)
        if worker is not None:
            worker.leases, worker.positions = worker.leases + 1, worker.positions + done.positions
            worker.failures = 0

    def _conflict(self, taken: Done, late: Done) -> None:
        """Two workers played one lease differently: one of them is broken."""
        self.counts["conflicts"] += 1
        reason = (
            f"Workers {taken.worker} and {late.worker} played other games in lease {late.name}, "
            f"which follow from it alone: one of the machines computes wrongly. {late.worker} is "
            "refused; compare both machines."
        )
        self.problem(reason)
        self.forget(late.worker)
        self._refuse(late.worker, reason)

    def _failed(self, name: str, worker: _Worker, failed: Failed, now: float) -> None:
        worker.held.discard(failed.name)
        entry = self._entries.get(failed.name)
        if failed.by_fault:
            self.counts["failed"] += 1
            self.problem(f"Worker {name}: {failed.reason}")
            by_another = entry is not None and bool(entry.failed_on - {name})
            worker.failures += not (failed.by_game and by_another)  # else it is the game's fault
            pause = min(self.rules.longest_pause, 0.5 * 2.0 ** min(worker.failures, 10))
            worker.paused_until = now + pause
        if entry is None or entry.done is not None:
            return
        entry.holders.pop(name, None)
        if failed.by_game:
            entry.failures += 1
            entry.failed_on.add(name)
        if entry.failures >= self.rules.attempts:
            entry.broken = failed.reason
            self._arrive(failed.name)
        self._enqueue_if_needed(entry)

    def _refuse(self, name: str, reason: str) -> Admission:
        self.counts["refused"] += 1
        self.problem(f"Worker {name} is refused: {reason}")
        self.refused[name] = reason
        while len(self.refused) > PROBLEMS:
            del self.refused[next(iter(self.refused))]
        return Admission(refused=reason)
