"""The replay: `python -m benchmarks.replay [--quick] [--json] [NAME ...]`.

Speed of drawing batches from stored games (one thread, batches of 1024, each checked against the
rules), speed of adding games, and bytes per position on the disk and in memory. Policies are random
over all legal moves, more than a search visits: real games take less space.
"""

from __future__ import annotations

import sys
import tempfile
from functools import cache, partial

import numpy as np

from benchmarks.measure import Measurement, rate, repeat, run_named
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.replay.batches import Batch
from sylvan.replay.buffer import Replay, ReplayConfig
from sylvan.replay.record import GameRecord

BATCH = 1024
PLIES = 120


@cache
def games(name: str, count: int) -> tuple[GameRecord, ...]:
    """Games of random moves with random policy targets."""
    spec, rng = GameSpec(name), np.random.default_rng(0)
    return tuple(game(spec, rng) for _ in range(count))


def game(spec: GameSpec, rng: np.random.Generator) -> GameRecord:
    """One of them."""
    state = spec.first()
    actions: list[int] = []
    seats, legal, policy = [], [], []
    while not state.is_terminal() and len(actions) < PLIES:
        moves = list(state.legal_actions())
        seats.append(state.to_play())
        legal.append(moves)
        policy.append(rng.dirichlet(np.full(len(moves), 0.3)))
        actions.append(int(rng.choice(moves)))
        state.apply(actions[-1])
    plies = len(actions)
    q = rng.uniform(-1, 1, plies).astype(np.float32)
    return GameRecord(
        actions=np.array(actions, np.int32),
        seats=np.array(seats, np.int8),
        policy_offsets=np.cumsum([0, *map(len, legal)]).astype(np.int64),
        policy_actions=np.concatenate(legal).astype(np.int32),
        policy=np.concatenate(policy).astype(np.float32),
        values=np.stack([q, -q], axis=1),
        weights=np.ones(plies, np.float32),
        surprise=rng.exponential(size=plies).astype(np.float32),
        returns=np.array(state.returns() if state.is_terminal() else (0, 0), np.float32),
    )


def check(
    spec: GameSpec, batch: Batch, encoding: Encoding | None, records: tuple[GameRecord, ...]
) -> None:
    """Check some rows against the played positions; symmetries are off."""
    for row in range(0, BATCH, 101):
        number, ply = batch.positions[row].tolist()
        state = spec.first()
        for action in records[number].actions[:ply].tolist():
            state.apply(action)
        shown = state.encoded(encoding) if encoding else state
        assert np.array_equal(batch.observations[row], shown.observation())


def batches(
    label: str,
    spec: GameSpec,
    count: int,
    quick: bool,
    encoding: Encoding | None = None,
    **more: bool,
) -> Measurement:
    """Positions per second drawn from a replay."""
    records = games(spec.name, count)
    config = ReplayConfig(symmetries=False).replace(**more)
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(folder, spec, config, encoding=encoding)
        replay.append(records)
        rng = np.random.default_rng(1)
        if not config.symmetries:
            check(spec, replay.sample(BATCH, rng), encoding, records)
        rounds = 5 if quick else 20

        def work() -> float:
            return rate(rounds * BATCH, lambda: [replay.sample(BATCH, rng) for _ in range(rounds)])

        speed, spread = repeat(work, 3 if quick else 9)
    return Measurement(label, speed, "positions/s", spread)


def connect4_batches(quick: bool) -> list[Measurement]:
    """Uniform, with mirrored rows, and by priority."""
    spec, count = GameSpec("connect4"), 500 if quick else 4000
    return [
        batches("connect4", spec, count, quick),
        batches("connect4 with symmetries", spec, count, quick, symmetries=True),
        batches("connect4 prioritised", spec, count, quick, prioritised=True),
    ]


def chess_batches(quick: bool) -> list[Measurement]:
    """In the default and in a small encoding."""
    spec, count = GameSpec("chess"), 100 if quick else 1000
    small = Encoding("planes19", "lc0")
    return [
        batches("chess lc0_112 az73", spec, count, quick),
        batches("chess planes19 lc0", spec, count, quick, small),
    ]


def room(quick: bool) -> list[Measurement]:
    """Bytes per position on the disk and in memory, and games stored per second."""
    found = []
    for name, count in (("connect4", 500 if quick else 4000), ("chess", 50 if quick else 500)):
        records, spec = games(name, count), GameSpec(name)
        with tempfile.TemporaryDirectory() as folder:
            replay = Replay(folder, spec)
            speed = rate(count, partial(replay.append, records))
            assert replay.positions == sum(map(len, records))
            size = sum(path.stat().st_size for path in replay.folder.glob("*.shard"))
            found += [
                Measurement(f"{name} on the disk", size / replay.positions, "bytes/position", 0.0),
                Measurement(
                    f"{name} in memory", replay.nbytes / replay.positions, "bytes/position", 0.0
                ),
                Measurement(f"{name} stored", speed, "games/s", 0.0),
            ]
    return found


if __name__ == "__main__":
    run_named([connect4_batches, chess_batches, room], sys.argv[1:])
