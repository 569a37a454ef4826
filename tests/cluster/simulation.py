"""A discrete-event simulation of a fleet of workers around the real coordinator.

The workers are fake: each has a speed, plays leases in simulated time, reports, and sometimes
crashes, hangs or loses a message. The learner is fake too: it takes the leases of a step in order
and learns for a while. Only the coordinator is real, and its clock is the simulation's, so hours of
a thousand workers take seconds, nearly all of them in the coordinator.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from sylvan.cluster.coordinator import Arrivals, Coordinator, Orders, Report, Rules
from sylvan.cluster.lease import Done, Lease, content_hash
from sylvan.cluster.profile import Probe, WorkerFacts

PROBE = Probe("recipe", "network", ["onnxruntime"], "cpu", 0, b"answers", "1/1", {})


@dataclass(frozen=True)
class Fleet:
    """The fake machines; times in seconds."""

    workers: int = 1000
    seconds: float = 20.0
    """Median time from one lease of a worker to the next."""
    spread: float = 0.3
    """Standard deviation of its logarithm, between workers and between leases."""
    stragglers: float = 0.01
    """Share of leases that take twenty times as long."""
    crashes: float = 1 / 3600
    """Crashes of a worker per second."""
    restart: float = 15.0
    lost: float = 0.001
    """Share of answers that never arrive."""
    learning: float = 35.0
    """Seconds that a step of the learner takes; the mean of a lease is 26 s, with stragglers."""
    parts: int = 500
    """Leases of a step."""
    lag: int = 8
    """Steps whose leases are planned ahead."""
    seed: int = 0


@dataclass
class Outcome:
    """Counts of a simulated run."""

    seconds: float = 0.0
    """Simulated."""
    steps: int = 0
    leases: int = 0
    exchanges: int = 0
    crashes: int = 0
    starved: float = 0.0
    """Seconds that the learner waited, after its first steps."""
    taken: list[str] = field(default_factory=list, repr=False)
    """The names of leases in the order in which the learner took them."""
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class _Machine:
    name: str
    speed: float
    alive: int = 1
    """Changes when it crashes, which outdates its events."""
    queue: list[Lease] = field(default_factory=list)
    finished: list[Done] = field(default_factory=list)
    playing: Lease | None = None


def simulate(fleet: Fleet, steps: int, rules: Rules | None = None) -> Outcome:
    """Let a fleet play the leases of some steps."""
    return _Simulation(fleet, rules or Rules(silence=10.0, late_after=30.0)).run(steps)


class _Simulation:
    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self.fleet = fleet
        self.now = 0.0
        self.rng = random.Random(fleet.seed)
        self.coordinator = Coordinator(rules, lambda: self.now)
        self.outcome = Outcome()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._first = 0
        self._incarnations = count()
        self._wanted: dict[int, list[Lease]] = {}
        self._heard = Arrivals()
        self._over: set[str] = set()
        """Leases that are over and not taken yet."""
        self._missing: set[str] = set()
        """Leases that the step waits for."""

    def at(self, moment: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._order), event))

    def run(self, steps: int) -> Outcome:
        self.steps = steps
        self._begin_step(1)
        for _ in range(self.fleet.workers):
            machine = _Machine("", self.rng.lognormvariate(0.0, self.fleet.spread))
            self.at(self.rng.uniform(0, 2), partial(self._start, machine))
        while self.outcome.steps < steps:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.outcome.seconds = self.now
        self.outcome.counts = dict(self.coordinator.counts)
        return self.outcome

    # --- the learner --------------------------------------------------------------------------

    def _begin_step(self, step: int) -> None:
        for number in range(step, min(step + self.fleet.lag, self.steps) + 1):
            if number not in self._wanted:
                self._wanted[number] = [self._lease(number) for _ in range(self.fleet.parts)]
        leases = [lease for number in sorted(self._wanted) for lease in self._wanted[number]]
        self.coordinator.submit(leases, step, PROBE)
        self._wait_for(step, self.now)

    def _lease(self, step: int) -> Lease:
        self._first += 8
        return Lease("run", step, self._first - 8, 8, "network", "settings")

    def _wait_for(self, step: int, since: float) -> None:
        names = [lease.name for lease in self._wanted[step]]
        self._heard = self.coordinator.collect(self._heard.life, self._heard.number)
        self._over.update(done.name for done in self._heard.done)
        self._missing = {name for name in self._missing or names if name not in self._over}
        if self._missing:
            self.at(self.now + 0.1, lambda: self._wait_for(step, since))
            return
        if step > self.fleet.lag:
            self.outcome.starved += self.now - since
        self.outcome.taken += names
        self.outcome.leases += len(names)
        self.coordinator.forget_leases(names)
        self._over.difference_update(names)
        del self._wanted[step]
        self.at(self.now + self.fleet.learning, lambda: self._learned(step))

    def _learned(self, step: int) -> None:
        self.outcome.steps = step
        if step < self.steps:
            self._begin_step(step + 1)

    # --- the workers --------------------------------------------------------------------------

    def _start(self, machine: _Machine) -> None:
        machine.name = f"worker-{next(self._incarnations)}"
        machine.queue, machine.finished, machine.playing = [], [], None
        facts = WorkerFacts(machine.name, "node", 0, "1/1", {})
        self.coordinator.join(facts)
        self.coordinator.prove(machine.name, b"answers")
        if self.fleet.crashes:
            life = self.rng.expovariate(self.fleet.crashes)
            alive = machine.alive
            self.at(self.now + life, lambda: self._crash(machine, alive))
        self._exchange(machine, machine.alive)

    def _crash(self, machine: _Machine, alive: int) -> None:
        if machine.alive == alive:
            machine.alive += 1
            self.outcome.crashes += 1
            self.at(self.now + self.fleet.restart, lambda: self._start(machine))

    def _exchange(self, machine: _Machine, alive: int) -> None:
        if machine.alive != alive:
            return
        self.outcome.exchanges += 1
        held = tuple(lease.name for lease in machine.queue)
        finished = tuple(machine.finished)
        report = Report(held, 2 - len(held), finished)
        orders = self.coordinator.exchange(machine.name, report)
        if self.rng.random() < self.fleet.lost:
            orders = Orders()  # the answer is lost; the report is repeated
        else:
            machine.finished = machine.finished[len(finished) :]
        if not orders.known:
            self._start(machine)
            return
        machine.queue = [lease for lease in machine.queue if lease.name not in orders.drop]
        machine.queue += orders.leases
        self._play_next(machine)
        self.at(self.now + orders.pause, lambda: self._exchange(machine, alive))

    def _play_next(self, machine: _Machine) -> None:
        """Play the first lease of the queue, unless it is being played."""
        if machine.playing in machine.queue or not machine.queue:
            return
        lease, alive = machine.queue[0], machine.alive
        machine.playing = lease
        seconds = self.fleet.seconds * machine.speed
        seconds *= self.rng.lognormvariate(0.0, self.fleet.spread)
        if self.rng.random() < self.fleet.stragglers:
            seconds *= 20
        self.at(self.now + seconds, lambda: self._played(machine, lease, alive, seconds))

    def _played(self, machine: _Machine, lease: Lease, alive: int, seconds: float) -> None:
        if machine.alive != alive or machine.playing is not lease or lease not in machine.queue:
            return
        machine.queue.remove(lease)
        checksum = content_hash(lease.name.encode())
        machine.finished.append(Done(lease.name, machine.name, checksum, 100, seconds, 8, 80, 800))
        self._play_next(machine)
