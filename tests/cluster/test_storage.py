"""Blobs and shards, on a disk and in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sylvan.cluster.lease import Lease, cut
from sylvan.cluster.storage import DamagedShard, Storage

LEASE = Lease("run", 3, 40, 8, "network", "settings")


@pytest.fixture(params=["disk", "memory"])
def storage(request, tmp_path):
    address = tmp_path if request.param == "disk" else f"memory://{tmp_path.name}"
    storage = Storage(address)
    storage.make()
    return storage


def test_a_shard_comes_back(storage):
    storage.write_shard(LEASE, {"dropped": []}, b"games")
    assert storage.read_shard(LEASE) == ({"dropped": []}, b"games")
    assert storage.shards() == {LEASE.name} and storage.has_shard(LEASE)
    storage.remove_shard(LEASE.name)
    storage.remove_shard(LEASE.name)
    assert storage.shards() == set()
    with pytest.raises(DamagedShard, match="missing"):
        storage.read_shard(LEASE)


def test_every_damaged_byte_is_seen(storage):
    storage.write_shard(LEASE, {"dropped": []}, b"some games")
    name = f"leases/{LEASE.name}.shard"
    whole = storage._read(name)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        storage._write(name, bytes(damaged))
        try:
            found = storage.read_shard(LEASE)
        except DamagedShard:
            continue
        assert found == ({"dropped": []}, b"some games"), f"byte {place}"
    storage._write(name, whole[:-3])
    with pytest.raises(DamagedShard, match="damaged"):
        storage.read_shard(LEASE)


def test_a_shard_never_changes_unless_it_is_damaged(storage):
    storage.write_shard(LEASE, {}, b"games")
    storage.write_shard(LEASE, {}, b"other games")
    assert storage.read_shard(LEASE) == ({}, b"games")
    storage._write(f"leases/{LEASE.name}.shard", b"damaged")
    storage.write_shard(LEASE, {}, b"other games")
    assert storage.read_shard(LEASE) == ({}, b"other games")


def test_a_shard_of_another_lease_is_refused(storage):
    other = replace(LEASE, network="another")
    assert other.name != LEASE.name
    storage.write_shard(LEASE, {}, b"games")
    storage._write(f"leases/{other.name}.shard", storage._read(f"leases/{LEASE.name}.shard"))
    with pytest.raises(DamagedShard, match="damaged"):
        storage.read_shard(other)


def test_blobs_are_named_by_their_contents(storage):
    one, two = storage.put_blob(b"one"), storage.put_blob(b"two")
    assert storage.put_blob(b"one") == one and storage.blob(two) == b"two"
    storage.keep_blobs([one])
    assert storage.has_blob(one) and not storage.has_blob(two)
    with pytest.raises(FileNotFoundError):
        storage.blob(two)


def test_leftovers_of_killed_workers_are_no_shards(tmp_path):
    storage = Storage(tmp_path)
    storage.write_shard(LEASE, {}, b"games")
    leftover = tmp_path / "leases" / f".{LEASE.name}.shard.123.tmp"
    leftover.write_bytes(b"half")
    assert storage.shards() == {LEASE.name}
    storage.sweep()
    assert not leftover.exists()


@pytest.mark.parametrize(("count", "size"), [(1, 1), (10, 4), (7, 100), (64, 8), (65, 8)])
def test_parts_cover_a_lease(count, size):
    parts = list(cut(100, count, size))
    games = [game for first, games in parts for game in range(first, first + games)]
    assert games == list(range(100, 100 + count))
    lengths = [games for _, games in parts]
    assert max(lengths) <= size and max(lengths) - min(lengths) <= 1


def test_leases_sort_as_they_are_taken():
    leases = [replace(LEASE, step=step, first=first) for step in (1, 2, 10) for first in (8, 64)]
    assert sorted(lease.name for lease in leases) == [lease.name for lease in leases]
