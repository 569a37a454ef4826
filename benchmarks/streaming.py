"""The cost of a page to its search: `python -m benchmarks.streaming [--quick] [--json] [NAME ...]`.

Simulations/s of a search whose page reads every message, ÷ those of the same search without a page.
The server is a process, the page another one, which asks for 5,000 nodes and answers every message;
each pair of searches runs one after the other, each the second of its process. At most 3 % may be
lost.

| name | search |
|---|---|
| `chess_network` | chess with the network that comes with Sylvan |
| `chess_material` | chess with `material`, hundreds of times faster |
| `connect4_rollouts` | Connect Four with random games |
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.measure import Benchmark, Measurement, run_named

NODES = 5000


def streaming(name: str, game: str, evaluator: str) -> Benchmark:
    """The benchmark of this game and evaluator."""

    def measure(quick: bool) -> list[Measurement]:
        seconds, pairs = (0.5, 1) if quick else (8.0, 5)
        with server(game) as address:
            found = [
                (with_page(address, game, evaluator, seconds), alone(game, evaluator, seconds))
                for _ in range(pairs)
            ]
        ratios = sorted(page / bare for page, bare in found)
        low, high = (ratios[0], ratios[-1]) if pairs < 4 else (ratios[1], ratios[-2])
        median, bare = statistics.median(ratios), statistics.median(bare for _, bare in found)
        speed = statistics.median(page for page, _ in found)
        return [
            Measurement(f"{name}_share", median, "of a search without a page", (high - low) / 2),
            Measurement(name, speed, "simulations/s", 0.0, "without a page", bare),
        ]

    measure.__name__ = name
    return measure


@contextmanager
def server(game: str) -> Iterator[str]:
    """The address of a server, a process of its own."""
    command = [sys.executable, "-c", "from sylvan.cli import app; app()", "web", game, "-p", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://" in line)
        yield line.split("http://")[1].split("/")[0].split()[0]
    finally:
        process.kill()
        process.wait()


def with_page(address: str, game: str, evaluator: str, seconds: float) -> float:
    """Simulations/s of the second search of a page, from its first message to its last."""
    from websockets.sync.client import connect
    from websockets.typing import Origin

    origin = Origin(f"http://{address}")
    with connect(f"ws://{address}/socket", origin=origin, max_size=None) as socket:

        def ask(**request: Any) -> None:
            socket.send(json.dumps(request))

        def heard() -> dict[str, Any]:
            """The next message about the search."""
            while True:
                message: dict[str, Any] = json.loads(socket.recv())
                if message["type"] == "problem":
                    raise SystemExit(f"error: {message['sentence']}")
                if message["type"] == "search":
                    ask(type="ack", serial=message["serial"])
                    return message

        def watched() -> float:
            """Simulations/s of a search."""
            first: tuple[float, int] | None = None
            messages = nodes = 0
            while True:
                message = heard()
                done, now, messages = message["simulations"], time.perf_counter(), messages + 1
                nodes += len(message["nodes_new"])
                if done:
                    first = first or (now, done)
                    if now - first[0] >= seconds:
                        assert messages > seconds, "hardly any message came"
                        assert nodes >= min(1000, done // 20), "hardly any node came"
                        return float((done - first[1]) / (now - first[0]))

        ask(type="open", game=game)
        if evaluator != "default":
            ask(type="configure", evaluator=evaluator, settings={})
        ask(type="show", nodes=NODES)
        ask(type="run")
        watched()
        ask(type="stop")
        while heard()["running"]:
            pass
        ask(type="restart")
        while heard()["simulations"]:
            pass
        ask(type="run")
        return watched()


ALONE = """
import sys
from sylvan import Search
from sylvan.games.naming import GameSpec
game, evaluator, seconds = sys.argv[1:]
chosen = None if evaluator == "default" else evaluator
search = Search(chosen, simulations=None, seconds=float(seconds), bytes=256 * 2**20)
search.run(GameSpec(game).first())
result = search.run(GameSpec(game).first())
print(result.simulations / result.seconds)
"""


def alone(game: str, evaluator: str, seconds: float) -> float:
    """Simulations/s of the second such search in a process of its own."""
    command = [sys.executable, "-c", ALONE, game, evaluator, str(seconds)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


BENCHMARKS = [
    streaming("chess_network", "chess", "default"),
    streaming("chess_material", "chess", "material"),
    streaming("connect4_rollouts", "connect4", "rollout"),
]

if __name__ == "__main__":
    run_named(BENCHMARKS, sys.argv[1:])
