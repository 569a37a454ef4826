"""Faults of machines: the games are the same afterwards, and the reason is reported."""

from __future__ import annotations

import errno
import json
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.numpy import load, save

import sylvan.cluster.node_cache as node_cache
import sylvan.cluster.worker as worker_module
from sylvan.cluster.address import ClusterOptions
from sylvan.cluster.coordinator import Coordinator, Orders, Rules
from sylvan.cluster.driver import connected
from sylvan.cluster.node_cache import NodeCache
from sylvan.cluster.recipe import Recipe
from sylvan.cluster.run_files import ClusterFiles, finished_in
from sylvan.cluster.storage import DamagedShard, Storage
from sylvan.errors import ClusterError
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from tests.cluster.threads import RULES, Games, Threads
from tests.runs.killing import tiny

STEPS = 3


@pytest.fixture
def games(tmp_path):
    return Games(tmp_path / "run")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The games of one machine."""
    return Games(tmp_path_factory.mktemp("alone")).play(STEPS)


class Full(Storage):
    """A disk that is full for the first writes of games."""

    failures = 3
    error = OSError(errno.ENOSPC, "No space left on device")

    def write_shard(self, *arguments):
        if self.failures > 0:
            self.failures -= 1
            raise self.error
        return super().write_shard(*arguments)


class ReadOnly(Full):
    failures = 4
    error = OSError(errno.EROFS, "Read-only file system")


class Slow(Storage):
    def write_shard(self, *arguments):
        time.sleep(0.3)
        return super().write_shard(*arguments)

    def blob(self, name):
        time.sleep(0.3)
        return super().blob(name)


class Overwriting(Storage):
    """Another worker, which computes wrongly, replaces the first shards by other valid ones."""

    replaced = 2

    def write_shard(self, lease, facts, payload):
        size = super().write_shard(lease, facts, payload)
        if self.replaced > 0:
            self.replaced -= 1
            columns = load(payload)
            columns["values"] = columns["values"] + 1
            self.remove_shard(lease.name)
            super().write_shard(lease, facts, save(columns))
        return size


class Damaging(Storage):
    """A disk that changes a byte of the first shards."""

    damages = 2

    def write_shard(self, lease, *arguments):
        size = super().write_shard(lease, *arguments)
        if self.damages > 0:
            self.damages -= 1
            path = Path(self.address) / "leases" / f"{lease.name}.shard"
            data = bytearray(path.read_bytes())
            data[-10] ^= 1
            path.write_bytes(data)
        return size


@pytest.mark.parametrize(
    "storage", [Full, ReadOnly, Slow, Damaging, Overwriting], ids=lambda kind: kind.__name__
)
def test_bad_storage_costs_time_only(storage, games, expected, tmp_path):
    with Threads(tmp_path, storage=storage) as cluster:
        player = cluster.player(games.run)
        assert games.play(STEPS, player) == expected
        counts, problems = cluster.link.status()["counts"], cluster.link.status()["problems"]
    words = {Damaging: "damaged", Overwriting: "other games"}
    if storage in words:
        assert counts["lost"] >= 2 and any(words[storage] in each for each in problems)
    elif storage is not Slow:
        assert counts["failed"] >= 3 and any(storage.error.strerror in each for each in problems)


class InMemory(Storage):
    """An object store, as fsspec has it in memory."""

    def __init__(self, address):
        super().__init__(f"memory://{address}")


def test_a_run_over_an_object_store(games, expected, tmp_path):
    with Threads(tmp_path, storage=InMemory) as cluster:
        assert games.play(STEPS, cluster.player(games.run)) == expected
        assert not (tmp_path / "storage").exists()


class OutOfMemoryError(RuntimeError):
    """As `torch.cuda.OutOfMemoryError`."""


class Lacking:
    """An evaluator on a device without memory for whole batches, which rounds smaller ones in its
    own way.
    """

    def __init__(self, inner, error):
        self.inner, self.error, self.rows = inner, error, 0
        self.header = inner.header

    def __call__(self, leaves):
        if not self.rows and len(leaves) < 64:  # not the positions that prove its answers
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        logits, values = self.inner(leaves)
        return logits, values + (self.error if self.rows else 0)

    def resize(self, rows):
        self.rows = rows


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_a_worker_without_memory_halves_its_batches(error, games, expected, tmp_path, monkeypatch):
    """Then it proves its answers again."""
    make, found = Recipe.evaluator, []

    def lacking(*arguments):
        evaluator = make(*arguments)
        if arguments[-1]:  # the worker with a cache has memory
            return evaluator
        found.append(Lacking(evaluator, error))
        return found[-1]

    monkeypatch.setattr(Recipe, "evaluator", lacking)
    with Threads(tmp_path, workers=0, rules=replace(RULES, longest_pause=0.1)) as cluster:
        cluster.add("lacking", cache_bytes=0)
        if error:
            refuse = cluster.link.coordinator._refuse

            def refuse_and_replace(*arguments):
                cluster.add("another")
                return refuse(*arguments)

            cluster.link.coordinator._refuse = refuse_and_replace
        assert games.play(STEPS, cluster.player(games.run)) == expected
        status = cluster.link.status()
    assert any("not enough memory" in each for each in status["problems"])
    assert all(each.rows for each in found)
    names = [each["name"] for each in status["workers"]]
    assert names == (["another"] if error else ["lacking"])
    reasons = list(status["refused"].values())
    assert len(reasons) == bool(error) and all("fixed positions" in each for each in reasons)


def test_a_game_that_fails_is_an_error_of_one_sentence(tmp_path):
    """It fails in the games of workers only."""
    path, flag = tmp_path / "broken.py", tmp_path / "flag"
    begin = "    def apply(self, action: int) -> None:\n"
    fault = "        import pathlib, threading\n"
    fault += "        if threading.current_thread() is not threading.main_thread():\n"
    fault += f"            if pathlib.Path({str(flag)!r}).exists():\n"
    fault += "                raise ValueError('the pile is gone')\n"
    source = (Path(__file__).parents[2] / "examples" / "nim.py").read_text()
    assert begin in source
    path.write_text(source.replace(begin, begin + fault))
    sections = tiny(1).model_dump(exclude_unset=True)
    sections |= {"game": {"name": f"{path}:Nim"}, "arena": {"every": 0}}
    rules = replace(RULES, longest_pause=0.1, silence=1e6)
    with Threads(tmp_path / "cluster", rules=rules) as cluster:
        exchange = cluster.link.exchange

        def exchange_and_fail(*arguments):
            workers = list(cluster.link.coordinator._workers.values())
            if sum(worker.proved for worker in workers) < 2:  # they try the game when they join
                return Orders(pause=0.01)
            flag.touch()
            return exchange(*arguments)

        cluster.link.exchange = exchange_and_fail
        with pytest.raises(ClusterError) as raised:
            train(TrainingConfig(**sections), tmp_path / "run", player=cluster.player)
    assert "the pile is gone" in str(raised.value) and "\n" not in str(raised.value)


def test_storage_that_disappears_and_comes_back(games, expected, tmp_path):
    with Threads(tmp_path) as cluster:
        player = cluster.player(games.run)
        first = games.play(1, player)
        folder = Path(cluster.storage.address)

        def vanish() -> None:
            folder.rename(folder.with_name("away"))
            time.sleep(1.0)
            folder.with_name("away").rename(folder)

        submit = cluster.link.submit

        def submit_and_vanish(*arguments):
            submit(*arguments)
            threading.Thread(target=vanish).start()
            cluster.link.submit = submit

        cluster.link.submit = submit_and_vanish
        player = cluster.player(games.run)
        assert first + games.play(STEPS, player)[1:] == expected


def test_the_learner_waits_for_its_storage(games, expected, tmp_path):
    """Nothing can be written while the leases of a step are prepared."""
    with Threads(tmp_path) as cluster:
        player = cluster.player(games.run)
        put, failures = cluster.storage.put_blob, iter(range(2))

        def failing(data):
            if next(failures, None) is not None:
                raise OSError(errno.EIO, "Input/output error")
            return put(data)

        cluster.storage.put_blob = failing
        assert games.play(2, player) == expected[:2]


def test_a_network_split_heals(games, expected, tmp_path):
    """A worker that nobody hears is forgotten; later it joins again."""
    rules = Rules(silence=0.6, late_after=0.5)
    with Threads(tmp_path, rules=rules) as cluster:
        begun = threading.Event()
        exchange = cluster.link.exchange

        def split_when_busy(name, report):
            if name == "worker-0" and report.held and not begun.is_set():
                begun.set()
                cluster.link.cut.add("worker-0")
                threading.Timer(1.5, cluster.link.cut.discard, ["worker-0"]).start()
            return exchange(name, report)

        cluster.link.exchange = split_when_busy
        assert games.play(STEPS, cluster.player(games.run)) == expected
        assert begun.is_set()
        deadline = time.monotonic() + 10
        while "worker-0" not in {each["name"] for each in cluster.link.status()["workers"]}:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert cluster.link.status()["counts"]["forgotten"] >= 1


def test_clocks_may_show_anything(games, expected, tmp_path):
    """No moment of one machine is compared with a moment of another."""
    with Threads(tmp_path, workers=0) as cluster:
        cluster.link.coordinator._clock = lambda: time.monotonic() - 1e9
        for number, shift in enumerate((1e6, -1e6)):
            cluster.add(f"shifted-{number}", lambda shift=shift: time.monotonic() + shift)
        assert games.play(STEPS, cluster.player(games.run)) == expected
        assert cluster.link.status()["counts"]["late"] == 0


def test_a_worker_of_another_version_is_refused(games, expected, tmp_path, monkeypatch):
    with Threads(tmp_path, workers=1) as cluster:
        player = cluster.player(games.run)
        first = games.play(1, player)
        monkeypatch.setattr(worker_module, "version", lambda: "0.0.1/0.0.1")
        cluster.add("old")
        deadline = time.monotonic() + 10
        while not cluster.refused:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert "Sylvan 0.0.1" in cluster.refused[0]
    assert first == expected[:1]


def test_a_worker_that_computes_otherwise_is_refused(games, tmp_path, monkeypatch):
    """It says the right version, but its answers differ in the last bit."""
    honest = Recipe.answers

    def wrong(*arguments):
        found = bytearray(honest(*arguments))
        found[0] ^= 1
        return bytes(found)

    with Threads(tmp_path, workers=1) as cluster:
        games.play(1, cluster.player(games.run))
        monkeypatch.setattr(Recipe, "answers", wrong)
        cluster.add("liar")
        deadline = time.monotonic() + 10
        while not cluster.refused:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert "64 fixed positions" in cluster.refused[0]
        assert cluster.link.status()["refused"]["liar"]


def files_of(run: Path) -> ClusterFiles:
    run.mkdir()
    files = ClusterFiles(run)
    files.make()
    return files


def test_a_second_coordinator_is_refused(tmp_path):
    files = ClusterFiles(tmp_path)
    files.make()
    refused = pytest.raises(ClusterError, match="coordinator already")
    with files.coordinating(), refused, files.coordinating(0.2):
        pass
    with files.coordinating():
        pass


def test_a_restarted_coordinator_goes_on(games, expected, tmp_path):
    """The plan is on the disk; what is done follows from the shards."""
    files = files_of(tmp_path / "run")
    with Threads(tmp_path) as cluster:
        player = cluster.player(games.run)
        first = games.play(2, player)
        files.save_plan(cluster.link.coordinator)
        before = cluster.link.coordinator

        def finished(lease):
            return finished_in(cluster.storage, lease)

        again = Coordinator(RULES, time.monotonic, finished)
        files.load_plan(again)
        assert {lease.name for lease in again.leases} == {lease.name for lease in before.leases}
        assert again.probe == before.probe
        with cluster.link.lock:
            cluster.link.coordinator = again
        assert first == expected[:2]
        player = cluster.player(games.run)
        assert games.play(STEPS, player)[2] == expected[2]


def test_a_learner_that_was_killed_finds_its_games(games, expected, tmp_path, monkeypatch):
    """It submits the same leases, of which some are done, or under way."""
    written: list[str] = []
    write = Storage.write_shard

    def noting(self, lease, *arguments):
        written.append(lease.name)
        return write(self, lease, *arguments)

    monkeypatch.setattr(Storage, "write_shard", noting)
    with Threads(tmp_path) as cluster:
        killed = games.selfplay(cluster.player(games.run))
        first = games.step(killed, 1)
        checkpoint = killed.state_dict()
        games.step(killed, 2)
        resumed = games.selfplay(cluster.player(games.run))
        resumed.load_state_dict(checkpoint)
        assert [first, games.step(resumed, 2), games.step(resumed, 3)] == expected
    assert len(written) == len(set(written))


def test_a_worker_that_must_leave_hands_its_leases_back(games, expected, tmp_path):
    with Threads(tmp_path, workers=2) as cluster:
        leaving = cluster.workers[0]
        exchange = cluster.link.exchange
        asked = threading.Event()

        def stop_when_busy(name, report):
            if name == "worker-0" and report.held and not asked.is_set():
                asked.set()
                leaving._stop_at = leaving._clock()  # no grace
                leaving.stop()
            return exchange(name, report)

        cluster.link.exchange = stop_when_busy
        assert games.play(STEPS, cluster.player(games.run)) == expected
        assert asked.is_set()
        counts = cluster.link.status()["counts"]
        assert counts["forgotten"] == 0 and counts["failed"] == 0
        assert [each["name"] for each in cluster.link.status()["workers"]] == ["worker-1"]


def test_a_worker_plays_while_it_fetches(games, expected, tmp_path, monkeypatch):
    """The inputs of the second lease arrive only after the first one is reported."""
    fetch, begun, reported, waited = worker_module.Worker._fetch, [], threading.Event(), []

    def slow(self, lease):
        begun.append(lease.name)
        if len(begun) == 2:
            waited.append(reported.wait(30))
        return fetch(self, lease)

    monkeypatch.setattr(worker_module.Worker, "_fetch", slow)
    with Threads(tmp_path, workers=1) as cluster:
        exchange = cluster.link.exchange

        def exchange_and_see(name, report):
            if report.finished:
                reported.set()
            return exchange(name, report)

        cluster.link.exchange = exchange_and_see
        assert games.play(1, cluster.player(games.run)) == expected[:1]
    assert waited == [True]


def test_a_network_is_fetched_once_per_machine(games, tmp_path, monkeypatch):
    fetched: list[str] = []
    blob = Storage.blob

    def counting(self, name):
        fetched.append(name)
        return blob(self, name)

    monkeypatch.setattr(Storage, "blob", counting)
    with Threads(tmp_path, workers=3) as cluster:
        games.play(2, cluster.player(games.run))
    assert len(fetched) == len(set(fetched)) > 0


def test_a_damaged_copy_is_fetched_again(tmp_path):
    cache = NodeCache(tmp_path)
    storage = Storage("memory://copies")
    name = storage.put_blob(b"weights")
    assert cache.blob(name, storage.blob) == b"weights"
    (tmp_path / name).write_bytes(b"wrong")
    assert cache.blob(name, storage.blob) == b"weights"
    storage._write(f"blobs/{name}", b"wrong")
    (tmp_path / name).unlink()
    with pytest.raises(DamagedShard, match="damaged"):
        cache.blob(name, storage.blob)


def test_copies_may_vanish_while_a_machine_cleans(tmp_path, monkeypatch):
    """Workers of several runs clean the same folder."""
    cache = NodeCache(tmp_path)
    listed = Path.iterdir
    monkeypatch.setattr(node_cache, "KEPT", 2)
    monkeypatch.setattr(Path, "iterdir", lambda self: [self / "gone", *listed(self)])
    storage = Storage("memory://many")
    for data in (b"a", b"b", b"c"):
        name = storage.put_blob(data)
        assert cache.blob(name, storage.blob) == data
    assert sum(not path.name.startswith(".") for path in listed(tmp_path)) == 2


def test_no_cluster_is_one_sentence(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(ClusterError, match=address), connected(ClusterOptions(f"ray://{address}")):
        pass
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ClusterError, match=address), connected(ClusterOptions("auto")):
        pass


def test_the_plan_has_no_secrets_and_is_json(games, tmp_path):
    files = files_of(tmp_path / "run")
    with Threads(tmp_path) as cluster:
        games.play(1, cluster.player(games.run))
        files.save_plan(cluster.link.coordinator)
    plan = json.loads((files.folder / "plan.json").read_text())
    assert plan["leases"] and set(plan) == {"protocol", "step", "leases", "probe"}
