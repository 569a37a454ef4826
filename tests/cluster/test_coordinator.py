"""The coordinator's rules, one by one, with a clock that the test moves."""

from __future__ import annotations

import math
import pickle
import random
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from sylvan.cluster.coordinator import Arrivals, Coordinator, Failed, Orders, Report, Rules
from sylvan.cluster.lease import Done, Lease
from sylvan.cluster.profile import WorkerFacts
from tests.cluster.simulation import PROBE, Fleet, simulate

RULES = Rules(silence=10.0, late_after=1.0)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def leases(count: int, step: int = 1) -> list[Lease]:
    return [Lease("run", step, 100 * step + 8 * i, 8, "network", "settings") for i in range(count)]


def done(lease: Lease, worker: str, checksum: str = "same") -> Done:
    return Done(lease.name, worker, checksum, 10, 1.0, 8, 80, 800)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def coordinator(clock):
    return started(clock)


def started(clock: Clock, rules: Rules = RULES, workers: Iterable[str] = "ab") -> Coordinator:
    coordinator = Coordinator(rules, clock)
    coordinator.submit([], 1, PROBE)
    for name in workers:
        join(coordinator, name)
    return coordinator


def join(coordinator: Coordinator, name: str) -> None:
    assert not coordinator.join(WorkerFacts(name, "node", 1, "1/1", {})).refused
    assert not coordinator.prove(name, b"answers").refused


def ask(coordinator: Coordinator, name: str, *held: Lease, free: int = 1) -> list[Lease]:
    report = Report(tuple(lease.name for lease in held), free)
    return list(coordinator.exchange(name, report).leases)


def finish(coordinator: Coordinator, name: str, lease: Lease, checksum: str = "same") -> None:
    coordinator.exchange(name, Report(finished=(done(lease, name, checksum),)))


def names(found: list[Lease]) -> list[str]:
    return [lease.name for lease in found]


def test_messages_of_workers_have_some_hundred_bytes():
    name, machine = "worker-001-12345-1", "10.0.0.1 abcdef12"
    (lease,) = leases(1)
    lease = replace(lease, network="n" * 32, settings="s" * 32, other="o" * 32, task="t" * 32)
    figures = {f"figure_{i}": 1234.567 for i in range(8)}
    over = Done(lease.name, name, "c" * 32, 10**6, 12.3, 64, 10**3, 10**5, figures, machine)
    assert len(pickle.dumps(Report((lease.name,) * 2, 0, (over,)))) < 1000
    assert len(pickle.dumps(Orders((lease,), (lease.name,)))) < 1000


def test_leases_go_out_in_order_and_bounded(coordinator):
    late, early = leases(2, step=2), leases(2, step=1)
    coordinator.submit([*late, *early], 1)
    assert ask(coordinator, "a", free=9) == early
    assert ask(coordinator, "a", *early, free=9) == []
    assert ask(coordinator, "b", free=1) == late[:1]


def test_a_lease_is_taken_once(coordinator):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    ask(coordinator, "a")
    finish(coordinator, "a", lease)
    finish(coordinator, "a", lease)  # the answer was lost, so it is reported again
    assert [each.name for each in coordinator.collect().done] == [lease.name]
    assert coordinator.counts["taken"] == 1 and coordinator.counts["duplicates"] == 1
    assert coordinator.totals["games"] == 8


def test_the_learner_hears_of_each_lease_once(coordinator):
    """Unless the answer is lost, or the coordinator is another one."""
    one, two, three = leases(3)
    coordinator.submit([one, two, three], 1)
    ask(coordinator, "a", free=2)
    finish(coordinator, "a", one)
    first = coordinator.collect()
    assert names(first.done) == [one.name]
    finish(coordinator, "a", two)
    lost = coordinator.collect(first.life, first.number)
    assert names(lost.done) == [two.name]
    again = coordinator.collect(first.life, first.number)
    assert again == lost
    coordinator.again(two.name, "The shard is damaged.")
    assert coordinator.collect(first.life, first.number).done == ()
    ask(coordinator, "b", free=2)
    finish(coordinator, "b", two)
    last = coordinator.collect(again.life, again.number)
    assert names(last.done) == [two.name]
    assert coordinator.collect(last.life, last.number).done == ()
    assert names(coordinator.collect("another life", last.number).done) == [one.name, two.name]


def test_what_never_arrived_is_handed_out_again(coordinator):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    assert ask(coordinator, "a") == [lease]
    assert ask(coordinator, "a") == [lease]  # it does not hold what it was given
    assert coordinator.counts["lost"] == 1


def test_a_silent_worker_is_forgotten(coordinator, clock):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    ask(coordinator, "a")
    clock.now += 9
    assert ask(coordinator, "b") == []
    clock.now += 5
    assert ask(coordinator, "b") == [lease]
    assert coordinator.counts["forgotten"] == 1
    assert not coordinator.exchange("a", Report()).known


def test_who_comes_back_with_the_games_is_heard(coordinator, clock):
    """A network split: the worker's lease is handed out again, and it finishes first."""
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    ask(coordinator, "a")
    clock.now += 9
    ask(coordinator, "b")
    clock.now += 5
    ask(coordinator, "b")
    finish(coordinator, "a", lease)
    assert coordinator.counts["taken"] == 1
    assert coordinator.exchange("b", Report((lease.name,), 1)).drop == (lease.name,)
    finish(coordinator, "b", lease)
    assert coordinator.counts["taken"] == 1 and coordinator.counts["duplicates"] == 1


def test_a_late_lease_goes_to_another_worker(coordinator, clock):
    *quick, slow = leases(5)
    coordinator.submit([slow], 1)
    assert ask(coordinator, "a") == [slow]
    coordinator.submit([slow, *quick], 1)
    for lease in quick:
        assert ask(coordinator, "b") == [lease]
        clock.now += 1.0
        finish(coordinator, "b", lease)
    clock.now += 3.5  # 7.5 s in all, but silent workers are forgotten: both still report
    assert ask(coordinator, "a", slow) == []  # not to the same one
    assert ask(coordinator, "b") == [slow]
    assert coordinator.counts["late"] == 1
    finish(coordinator, "b", slow)
    assert coordinator.exchange("a", Report((slow.name,), 0)).drop == (slow.name,)


def test_a_late_lease_whose_second_worker_dies_goes_to_a_third(clock):
    coordinator = started(clock, workers="abc")
    *quick, slow = leases(5)
    coordinator.submit([slow], 1)
    assert ask(coordinator, "a") == [slow]
    coordinator.submit([slow, *quick], 1)
    for lease in quick:
        assert ask(coordinator, "b") == [lease]
        clock.now += 1.0
        ask(coordinator, "c", free=0)
        finish(coordinator, "b", lease)
    clock.now += 3.5
    assert ask(coordinator, "a", slow) == []
    assert ask(coordinator, "b") == [slow]
    coordinator.forget("b")
    assert ask(coordinator, "c") == [slow]


def test_the_speed_is_that_of_the_last_minute(coordinator, clock):
    def played(count: int) -> None:
        for lease in leases(count, step=int(clock.now)):
            coordinator.submit([lease], 1)
            ask(coordinator, "a")
            finish(coordinator, "a", lease)

    assert coordinator.status()["per_second"] == {"games": 0.0, "positions": 0.0}
    played(2)
    clock.now += 10
    played(3)
    assert coordinator.status()["per_second"] == {"games": 4.0, "positions": 40.0}
    clock.now += 55
    assert coordinator.status()["per_second"]["games"] == 24 / 60
    clock.now += 100
    assert coordinator.status()["per_second"]["games"] == 0.0


@pytest.mark.slow
def test_memory_is_flat_over_ten_thousand_leases(clock):
    coordinator, heard, size = started(clock), Arrivals(), 100
    kept: list[int] = []
    tracemalloc.start()
    for step in range(1, 101):
        wanted = leases(size, step=10 * step)
        coordinator.submit(wanted, 10 * step)
        held: dict[str, list[Lease]] = {"a": [], "b": []}
        while len(heard.done) < size:
            for name, mine in held.items():
                clock.now += 0.1
                finished = [done(lease, name) for lease in mine if step % 3 or name == "a"]
                failed = [Failed(lease.name, "it leaves", by_fault=False) for lease in mine]
                if finished or not failed:
                    report = Report((), 2, tuple(finished))
                else:
                    report = Report((), 0, (), tuple(failed))
                held[name] = list(coordinator.exchange(name, report).leases)
            found = coordinator.collect(heard.life, heard.number)
            heard = replace(found, done=heard.done + found.done)
        heard = replace(heard, done=())
        coordinator.forget_leases(names(wanted))
        del wanted, held, found, finished, failed, report
        if step in (20, 100):
            kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert coordinator.counts["taken"] == 10_000
    assert (kept[1] - kept[0]) / 8_000 < 60  # bytes per lease; the interpreter keeps some tuples


def test_the_first_to_finish_do_not_make_the_others_late(clock):
    """Hundreds begin at once, and the quickest finish long before most."""
    workers = [f"w{i}" for i in range(300)]
    coordinator = started(clock, replace(RULES, silence=1e6), workers=workers)
    wanted = leases(300)
    coordinator.submit(wanted, 1)
    given = {name: ask(coordinator, name)[0] for name in workers}
    for name in workers[:120]:
        clock.now += 0.02
        finish(coordinator, name, given[name])
    clock.now += 9.0  # ten seconds are three times what these took, and usual for the others
    ask(coordinator, "w299", given["w299"], free=0)
    assert coordinator.counts["late"] == 0
    for name in workers[120:299]:
        finish(coordinator, name, given[name])
    clock.now += 30.0
    ask(coordinator, "w0", free=0)
    assert coordinator.counts["late"] == 1  # only one is left


def test_the_last_to_finish_do_not_make_others_late_later(clock):
    """When no leases are left, the newest durations are those of the slowest workers."""
    workers = [f"w{i}" for i in range(400)]
    coordinator = started(clock, replace(RULES, silence=1e6), workers=workers)
    coordinator.submit(leases(400), 1)
    given = {name: ask(coordinator, name)[0] for name in workers}
    clock.now += 2.0
    for name in workers[:240]:
        finish(coordinator, name, given[name])
    clock.now += 3.0
    for name in workers[240:399]:
        finish(coordinator, name, given[name])
    clock.now += 2.0  # later than three times the median, but not than three times the newest
    ask(coordinator, "w0", free=0)
    assert coordinator.counts["late"] == 1


def test_kinds_of_leases_have_their_own_usual_time(coordinator, clock):
    """Games of a rating are short: those of self-play are not late by them."""
    ratings = [replace(lease, kind="rating") for lease in leases(4)]
    (game,) = leases(1, step=2)
    coordinator.submit([game], 1)
    assert ask(coordinator, "a") == [game]
    coordinator.submit([*ratings, game], 1)
    for lease in ratings:
        assert ask(coordinator, "b") == [lease]
        clock.now += 0.1
        finish(coordinator, "b", lease)
    clock.now += 9.0
    ask(coordinator, "a", game, free=0)
    assert ask(coordinator, "b") == []
    assert coordinator.counts["late"] == 0


def test_leases_of_other_settings_are_dropped(coordinator):
    """The learner was started again with other settings, or for another number of workers."""
    before = leases(3)
    after = [replace(lease, settings="others") for lease in before]
    coordinator.submit(before, 1)
    assert ask(coordinator, "a") == before[:1]
    coordinator.submit(after, 1)
    report = Report((before[0].name,), 1)
    orders = coordinator.exchange("a", report)
    assert orders.drop == (before[0].name,) and list(orders.leases) == after[:1]
    assert coordinator.leases == after
    finish(coordinator, "a", before[0])
    assert coordinator.collect().done == () and coordinator.counts["duplicates"] == 1


def test_another_recipe_must_be_proved_again(coordinator):
    (lease,) = leases(1)
    coordinator.submit([lease], 1, replace(PROBE, network="newer"))
    assert ask(coordinator, "a") == [lease]
    coordinator.submit([lease], 1, replace(PROBE, recipe="another"))
    assert not coordinator.exchange("a", Report((lease.name,), 1)).known
    join(coordinator, "a")
    assert coordinator.exchange("a", Report((lease.name,), 1)).known


def test_games_do_not_run_ahead(clock):
    coordinator = started(clock, replace(RULES, ahead=1))
    near, far = leases(1, step=2)[0], leases(1, step=3)[0]
    coordinator.submit([near, far], 1)
    assert ask(coordinator, "a", free=2) == [near]
    assert ask(coordinator, "b", free=2) == []
    coordinator.submit([near, far], 2)
    assert ask(coordinator, "b", free=2) == [far]


def test_a_dead_worker_hands_over_at_once(coordinator):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    ask(coordinator, "a")
    coordinator.forget("a")
    assert ask(coordinator, "b") == [lease]


def test_a_damaged_shard_is_played_again(coordinator):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    ask(coordinator, "a")
    finish(coordinator, "a", lease)
    coordinator.again(lease.name, "The shard is damaged.")
    assert coordinator.collect().done == ()
    assert coordinator.news() == ["The shard is damaged."] and coordinator.news() == []
    assert ask(coordinator, "b") == [lease]


def test_a_failing_worker_waits_longer_each_time(coordinator, clock):
    coordinator.submit(leases(9), 1)
    pauses = []
    for _ in range(8):
        (lease,) = ask(coordinator, "a")
        coordinator.exchange("a", Report(failed=(Failed(lease.name, "the disk is full"),)))
        begin = clock.now
        while not (given := ask(coordinator, "a")):
            clock.now += 0.5
            ask(coordinator, "b", free=0)
        coordinator.exchange(
            "a", Report(failed=tuple(Failed(each.name, "leaves", by_fault=False) for each in given))
        )
        pauses.append(clock.now - begin)
    assert pauses == sorted(pauses) and pauses[-1] == RULES.longest_pause > pauses[0]
    assert "the disk is full" in coordinator.news()[-1]


def test_a_lease_that_no_worker_can_play_is_an_error(coordinator, clock):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    for _ in range(RULES.attempts):
        while not ask(coordinator, "a"):
            clock.now += 1
        coordinator.exchange("a", Report(failed=(Failed(lease.name, "KeyError", by_game=True),)))
    assert coordinator.collect().broken == ((lease.name, "KeyError"),)


def test_a_lease_that_failed_goes_to_another_worker(coordinator, clock):
    """A worker that fails all leases at once does not end the run while others can play."""
    one, two = leases(2)
    coordinator.submit([one, two], 1)

    def fail(name: str, lease: Lease) -> None:
        coordinator.exchange(name, Report(failed=(Failed(lease.name, "KeyError", by_game=True),)))

    assert ask(coordinator, "a") == [one]
    fail("a", one)
    clock.now += 5
    assert ask(coordinator, "a") == [two]
    fail("a", two)
    clock.now += 5
    assert ask(coordinator, "a") == []
    assert ask(coordinator, "b") == [one]
    fail("b", one)
    clock.now += 2
    assert ask(coordinator, "b", free=2) == [one, two]  # all have failed with the first
    finish(coordinator, "b", two)
    assert coordinator.collect().broken == ()


def test_a_restarted_coordinator_learns_what_is_under_way(coordinator, clock):
    one, two = leases(2)
    coordinator.submit([one, two], 1)
    ask(coordinator, "a")
    again = started(clock)
    again.submit([one, two], 1)
    assert not again.exchange("c", Report((one.name,), 1)).known
    orders = again.exchange("a", Report((one.name, "of another life"), 1))
    assert orders.drop == ("of another life",)
    assert names(list(orders.leases)) == [two.name]
    assert ask(again, "b") == []


def test_what_has_a_shard_is_not_played_again(clock):
    old, new = leases(2)
    coordinator = Coordinator(RULES, clock, lambda it: done(it, "earlier") if it is old else None)
    coordinator.submit([old, new], 1, PROBE)
    join(coordinator, "a")
    assert ask(coordinator, "a", free=2) == [new]
    assert names(coordinator.collect().done) == [old.name]


def test_different_games_of_one_lease_are_seen(coordinator, clock):
    (lease,) = leases(1)
    coordinator.submit([lease], 1)
    ask(coordinator, "a")
    finish(coordinator, "a", lease)
    finish(coordinator, "b", lease, "others")
    assert coordinator.counts["conflicts"] == 1 and "b" in coordinator.refused
    assert not coordinator.exchange("b", Report()).known


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"version": "0.9/1"}, "Sylvan 0.9/1"),
        ({"protocol": 99}, "protocol 99"),
        ({"profile": {"device": "another card"}}, "another card"),
    ],
)
def test_other_versions_are_refused(coordinator, facts, reason):
    honest = WorkerFacts("c", "node", 1, "1/1", {})
    found = coordinator.join(replace(honest, **facts))
    assert reason in found.refused and reason in coordinator.refused["c"]
    assert not coordinator.prove("c", b"answers").known
    assert not coordinator.exchange("c", Report(free=1)).known


@pytest.mark.parametrize(
    ("shift", "exact", "fast"),
    [
        (0.0, True, True),
        (1e-6, False, True),
        (0.01, False, True),
        (0.5, False, False),
        (math.nan, False, False),
        (math.inf, False, False),
    ],
)
def test_answers_may_differ_a_little_in_fast_mode(shift, exact, fast, clock):
    mine = np.arange(6, dtype=np.float32)
    other = mine.copy()
    other[3] += np.float32(shift)
    probe = replace(PROBE, answers=mine.tobytes())
    for mode, accepted in ((True, exact), (False, fast)):
        coordinator = Coordinator(replace(RULES, exact=mode), clock)
        coordinator.submit([], 1, probe)
        coordinator.join(WorkerFacts("c", "node", 1, "1/1", {}))
        refused = coordinator.prove("c", other.tobytes()).refused
        assert bool(refused) == (not accepted), refused


def test_who_lies_about_its_version_is_found_out(coordinator):
    coordinator.join(WorkerFacts("c", "node", 1, "1/1", {}))
    assert "positions" in coordinator.prove("c", b"no answer").refused
    assert not coordinator.exchange("c", Report(free=1)).known


@pytest.mark.slow
def test_every_lease_of_a_large_fleet_is_taken_once_and_in_order():
    """Crashes, stragglers and lost messages change nothing but time."""
    fleet = Fleet(workers=60, parts=60, lag=3, crashes=1 / 200, lost=0.05, stragglers=0.05)
    outcome = simulate(fleet, steps=12)
    assert outcome.taken == sorted(set(outcome.taken)) and outcome.leases == 12 * 60
    assert outcome.crashes > 20
    counts = outcome.counts
    assert min(counts["late"], counts["lost"], counts["forgotten"], counts["duplicates"]) > 0
    assert counts["taken"] == outcome.leases and counts["conflicts"] == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_random_order_of_calls_loses_nothing(clock, seed):
    """Workers do arbitrary things; in the end every lease was taken once."""
    rng = random.Random(seed)
    coordinator = started(clock, workers="abcd")
    wanted = [lease for step in (1, 2, 3) for lease in leases(10, step)]
    coordinator.submit(wanted, 1)
    held: dict[str, list[Lease]] = {name: [] for name in "abcd"}
    while len(coordinator.collect().done) < len(wanted):
        clock.now += rng.choice([0.0, 0.1, 1.0, 4.0])
        name = rng.choice("abcd")
        mine, finished, failed = held[name], [], []
        if mine and rng.random() < 0.4:
            finished.append(done(mine.pop(), name))
        if mine and rng.random() < 0.2:
            failed.append(Failed(mine.pop().name, "fault", by_fault=rng.random() < 0.5))
        if mine and rng.random() < 0.1:
            mine.clear()  # it crashed, and was so quick that nobody noticed
        report = Report(tuple(names(mine)), 2, tuple(finished), tuple(failed))
        orders = coordinator.exchange(name, report)
        if not orders.known:
            join(coordinator, name)
        mine[:] = [lease for lease in mine if lease.name not in orders.drop]
        if rng.random() < 0.9:  # else the answer is lost
            mine += orders.leases
        assert len(mine) <= 2
    assert coordinator.counts["taken"] == len(wanted)
