"""Random and damaged messages: the server goes on, and the searches of others too."""

import json
import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from sylvan.runs.config import TrainingConfig
from sylvan.runs.run import Run
from sylvan.web.desk import Desk
from sylvan.web.protocol import MOST_BYTES
from tests.web.serving import served
from tests.web.test_protocol import REQUESTS

WORDS = [
    "chess",
    "tictactoe",
    "connect4",
    "e4",
    "4",
    "uniform",
    "material",
    "",
    "\0",
    "é",
    "a" * 99,
]
NUMBERS = [0, 1, -1, 3, 8, 100, 877, 2**31, 2**32, 2**63, 10**30, 0.5, -0.0, 1e308]


def value(rng, depth=0):
    kind = rng.randrange(7 if depth < 3 else 5)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(WORDS)
    if kind in (2, 3):
        return rng.choice([None, True, False])
    if kind == 4:
        return rng.randrange(12)
    if kind == 5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {rng.choice(WORDS): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def message(rng):
    """A request with random fields, or a damaged one."""
    base = dict(rng.choice(REQUESTS))
    if base["type"] in ("run", "sweep"):
        base["simulations"] = rng.randrange(1, 30)
    for _ in range(rng.randrange(3)):
        base[rng.choice([*base, "type", "more", "settings"])] = value(rng)
    if base.get("type") == "run" and not isinstance(base.get("simulations"), int):
        base["simulations"] = 5  # an endless search is no fault
    text = json.dumps(base)
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = (
            text[:at] + rng.choice(["", "}", "[", '"', "\0", "é"]) + text[at + rng.randrange(4) :]
        )
    return text if rng.random() < 0.9 else text.encode()


def talk(address, rng, count):
    """Send messages, reading what comes; a closed connection is opened again."""
    sent = 0
    while sent < count:
        options = {"max_size": None, "max_queue": None, "close_timeout": 1}
        with connect(f"ws://{address}/socket", origin=f"http://{address}", **options) as socket:
            try:
                while sent < count:
                    socket.send(message(rng))
                    sent += 1
                    if sent % 20 == 0:
                        drain(socket)
            except ConnectionClosed:
                sent += 1


def drain(socket):
    try:
        while True:
            read = json.loads(socket.recv(timeout=0))
            if read["type"] == "search":
                socket.send(json.dumps({"type": "ack", "serial": read["serial"]}))
    except TimeoutError:
        return


@pytest.mark.parametrize(
    "count", [pytest.param(400, id="few"), pytest.param(100_000, id="many", marks=pytest.mark.soak)]
)
@pytest.mark.usefixtures("built")
def test_random_messages_disturb_nobody(tmp_path, count):
    """Another page searches meanwhile; afterwards its threads are the only ones."""
    Run.create(tmp_path / "first", TrainingConfig(game={"name": "tictactoe"}))
    desk = Desk(runs=(tmp_path,), memory=32 * 2**20)
    with (
        served(desk) as address,
        connect(f"ws://{address}/socket", origin=f"http://{address}") as other,
    ):
        other.send('{"type":"open","game":"connect4"}')
        other.send('{"type":"configure","evaluator":"uniform","settings":{"leaves_in_flight":1}}')
        other.send('{"type":"run"}')
        heard(other, lambda search: search["simulations"] > 0)
        own, before = workers(), resident()
        talk(address, random.Random(count), count)
        other.send('{"type":"stop"}')
        assert heard(other, lambda search: not search["running"])["simulations"] > 1000
        other.send('{"type":"restart"}')
        other.send('{"type":"run","simulations":321}')
        heard(other, lambda search: search["simulations"] == 321)
        until = time.monotonic() + 20
        while workers() > own:
            assert time.monotonic() < until, workers() - own
            time.sleep(0.05)
        assert resident() < before + 300 * 2**20


def heard(socket, when):
    """The first message about a search of which `when` is true."""
    while True:
        read = json.loads(socket.recv(timeout=30))
        assert read["type"] != "problem", read
        if read["type"] == "search":
            socket.send(json.dumps({"type": "ack", "serial": read["serial"]}))
            if when(read):
                return read


def workers():
    """How many threads work for pages, by kind."""
    names = ("Analysis", "Play", "Advising", "Learn")
    return Counter(each.name for each in threading.enumerate() if each.name in names)


def resident():
    """Bytes of memory that this process has."""
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def test_a_message_that_is_too_long_closes_only_its_own_page(address):
    with connect(f"ws://{address}/socket", origin=f"http://{address}") as socket:
        socket.recv(timeout=10)
        socket.send("x" * (MOST_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            all(iter(lambda: socket.recv(timeout=10), None))
    with connect(f"ws://{address}/socket", origin=f"http://{address}") as socket:
        assert json.loads(socket.recv(timeout=10))["type"] == "hello"
