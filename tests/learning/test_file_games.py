"""Games of files beside self-play: their rows, how they are mixed, and runs with them."""

from __future__ import annotations

import json
import lzma
import random
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from sylvan.errors import ConfigError, RunError
from sylvan.games import Chess
from sylvan.games.naming import GameSpec
from sylvan.replay.targets import TargetConfig
from sylvan.runs.config import TrainingConfig
from tests.learning.packed_games import packed_game, packed_games, random_game
from tests.runs.killing import outcome_of

torch = pytest.importorskip("torch")

from sylvan.learning.centipawns import fit_outcomes  # noqa: E402
from sylvan.learning.file_games import FileGames, MixedExamples, _is_dead  # noqa: E402
from sylvan.learning.game_files import read_game_files  # noqa: E402
from sylvan.learning.group import parts_of  # noqa: E402
from sylvan.learning.losses import Targets, losses, losses_by_source  # noqa: E402
from sylvan.learning.position_batches import PositionBatches  # noqa: E402
from sylvan.networks.header import NetworkHeader  # noqa: E402
from sylvan.networks.output import NetworkOutput  # noqa: E402
from sylvan.networks.planes import PackedPlanes  # noqa: E402
from sylvan.runs.loop import train  # noqa: E402
from sylvan.runs.watcher import Watcher  # noqa: E402

SPEC = GameSpec("chess", {"encoder": "planes19"})
HEADER = NetworkHeader.for_game(Chess(encoder="planes19"), value="wdl", moves_left=True)

PGN = """\
[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1-0

[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1
"""


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)
    return path


def opened(*paths: Path, spec: GameSpec = SPEC, header: NetworkHeader = HEADER, mix: float = 0.5):
    return FileGames(paths, spec, header, TargetConfig(value_mix=mix))


def test_packed_games_give_the_rows_of_pretraining(tmp_path):
    plain = written(tmp_path, "a.bin", packed_games(30, seed=1, plies=40))
    rated = written(tmp_path, "b.bin.xz", packed_games(150, seed=2, plies=30, evaluated=True))
    games = opened(plain, rated)
    assert [note.rpartition(" of ")[2] for note in games.wait()] == [
        "30 games without evaluations.",
        "150 games with evaluations.",
    ]
    assert games.wait() == []
    table = read_game_files([plain, rated], torch.device("cpu"))
    rows = table.train_rows
    assert len(rows) < len(table), "no game is held out"
    curve = fit_outcomes(table.evaluations[rows].numpy(), table.results[rows].numpy())
    expected = PositionBatches(table, curve, 0.5).make(rows)
    window = games._read.result().window
    assert window.end == len(rows)
    every = np.arange(len(rows))
    batch = games.sample(len(rows), Counted())
    planes = PackedPlanes(HEADER.encoding)(torch.from_numpy(batch.observations.view(np.int64)))
    assert torch.equal(planes, expected.observations)
    code = expected.legal.gather(1, expected.played[:, None]).numpy()
    assert (batch.policy[every, code[:, 0]] == 1).all() and batch.policy.sum() == len(rows)
    assert (batch.legal.sum(axis=1) == expected.is_legal.sum(dim=1).numpy()).all()
    np.testing.assert_allclose(batch.value, expected.value.numpy(), atol=1e-6)
    np.testing.assert_array_equal(batch.moves_left[:, 0], expected.plies_left.numpy())
    assert batch.from_file.all() and (batch.positions == -1).all()
    assert (batch.weight == 1).all() and (batch.policy_weight == 1).all()


class Counted:
    """Draws every row once, in order."""

    def integers(self, first: int, end: int, count: int):
        return np.arange(first, end)[:count]


def test_a_pgn_gives_moves_and_results_in_any_encoding(tmp_path):
    path = written(tmp_path, "games.pgn", PGN.encode())
    spec = GameSpec("chess", {"encoder": "lc0_112"})
    header = NetworkHeader.for_game(spec.first(), value="scalar")
    games = opened(path, spec=spec, header=header)
    assert games.wait() == ["games.pgn: 10 positions of 2 games to learn from."]
    batch = games.sample(10, Counted())
    assert batch.observations.shape == (10, 112)
    state = spec.first()
    for row, move in enumerate(["e4", "e5", "Nf3", "Nc6", "Bb5", "a6"]):
        np.testing.assert_array_equal(batch.observations[row], state.observation())
        action = state.string_to_action(move)
        assert batch.policy[row, state.logit_index(action)] == 1
        assert batch.value[row] == (1 if row % 2 == 0 else -1)
        state.apply(action)
    assert batch.value[-1] == 1, "Black mates"


def test_dead_positions_are_left_out(tmp_path):
    rng, dead, rows = random.Random(3), 0, 0
    data = b""
    while dead < 3:
        moves = random_game(rng, 700)
        board, found = chess.Board(), 0
        for move in moves:
            found += board.is_insufficient_material()
            board.push(move)
        if found:
            data += packed_game(moves, 1)
            dead, rows = dead + found, rows + len(moves)
    path = written(tmp_path, "long.bin", data)
    games = opened(path)
    games.wait()
    count = games._read.result().window.end
    held = rows - len(read_game_files([path], torch.device("cpu")).train_rows)
    assert held == 0 and count == rows - dead
    games.sample(count, Counted())


@pytest.mark.parametrize(
    ("pieces", "dead"),
    [("", 1), ("n", 1), ("B", 1), ("Nn", 0), ("Bn", 0), ("p", 0), ("R", 0), ("q", 0)],
)
def test_a_dead_position_has_too_few_pieces(pieces, dead):
    kinds = {"b": 1, "r": 2, "q": 3, "p": 4, "n": 5}
    boards = np.zeros((1, 4), np.uint64)
    for square, kind in [
        (4, 6),
        (60, 6),
        *((18 + 9 * i, kinds[p.lower()]) for i, p in enumerate(pieces)),
    ]:
        for bit in range(3):
            boards[0, bit] |= np.uint64((kind >> bit & 1) << square)
    assert _is_dead(boards).tolist() == [bool(dead)]


def test_bishops_of_one_colour_are_dead():
    def boards(*squares):
        low = sum(1 << square for square in squares)
        return np.array([[low, 1 << 4 | 1 << 60, 1 << 4 | 1 << 60, 0]], np.uint64)

    assert _is_dead(boards(0, 9, 18)).tolist() == [True]
    assert _is_dead(boards(0, 8)).tolist() == [False]


class Replay:
    """A replay of one kind of row."""

    config = None

    def __init__(self, games: FileGames) -> None:
        self.games, self.updated = games, []

    def sample(self, count, rng):
        batch = self.games.sample(count, rng)
        positions = np.stack([np.arange(count), np.arange(count)], axis=1)
        return replace(batch, positions=positions, from_file=None)

    def update_priorities(self, positions, priorities):
        self.updated.append((positions.tolist(), priorities.tolist()))


def test_a_batch_has_its_share_of_games_at_the_end(tmp_path):
    games = opened(written(tmp_path, "a.bin", packed_games(3, seed=1, plies=20)))
    replay = Replay(games)
    mixed = MixedExamples(replay, games, 0.25)
    batch = mixed.sample(10, np.random.default_rng(0))
    assert batch.from_file.tolist() == [False] * 8 + [True] * 2
    assert len(batch.observations) == len(batch.policy) == len(batch.value) == 10
    mixed.update_priorities(batch.positions, np.arange(10.0))
    assert replay.updated == [([[i, i] for i in range(8)], list(np.arange(8.0)))]
    parts = parts_of(batch, 3)
    assert [len(part.from_file) for part in parts] == [3, 3, 4]


def test_losses_by_source_are_those_of_their_rows():
    rng = torch.Generator().manual_seed(0)
    count = 7
    policy = torch.rand(count, HEADER.num_logits, generator=rng).softmax(dim=1)
    targets = Targets(
        policy=policy,
        legal=torch.ones_like(policy, dtype=torch.bool),
        policy_weight=torch.ones(count),
        value=torch.rand(count, 3, generator=rng).softmax(dim=1),
        weight=torch.ones(count),
    )
    output = NetworkOutput(
        torch.randn(policy.shape, generator=rng), torch.randn(count, 3, generator=rng)
    )
    assert losses_by_source(output, targets, HEADER) == {}
    chosen = torch.arange(count) >= 5
    found = losses_by_source(output, replace(targets, from_file=chosen), HEADER)
    for source, rows in (("selfplay", slice(0, 5)), ("games", slice(5, 7))):
        part = Targets(
            **{name: value[rows] for name, value in vars(targets).items() if torch.is_tensor(value)}
        )
        alone = losses(NetworkOutput(output.policy[rows], output.value[rows]), part, HEADER)
        for name in ("policy", "value"):
            assert found[f"{source}.{name}"] == pytest.approx(float(alone[name]), rel=1e-5)


def config(*games: Path, steps: int = 2, **learner) -> TrainingConfig:
    return TrainingConfig(
        run={"steps": steps, "seed": 5, "threads": 1, "device": "cpu"},
        game={"name": "chess", "params": {"encoder": "planes19"}},
        network={"size": "mlp1x8"},
        search={"simulations": 4},
        selfplay={"games": 4, "positions": 40, "max_plies": 12},
        learner={"batch": 16, "samples_per_position": 2.0, "games": [str(path) for path in games]}
        | learner,
        arena={"every": 0},
    )


class StopsAt(Watcher):
    """Interrupts a run in a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def step_begin(self, step, progress):
        if step == self.step:
            raise KeyboardInterrupt


def test_a_resumed_run_with_games_ends_with_the_same_bits(tmp_path):
    games = [
        written(tmp_path, "games.pgn", PGN.encode()),
        written(tmp_path, "games.bin", packed_games(5, seed=4, plies=30, evaluated=True)),
    ]
    train(config(*games), tmp_path / "whole")
    assert train(config(*games), tmp_path / "parts", watch=StopsAt(2)).reason == "interrupted"
    train(config(*games), tmp_path / "parts")
    whole, parts = (outcome_of(tmp_path / name, 2) for name in ("whole", "parts"))
    differing = [name for name in whole if whole[name] != parts[name]]
    assert differing == []
    lines = (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()
    metrics = json.loads(lines[-1])
    for name in ("policy", "value"):
        joint = metrics[f"loss.{name}"]
        mean = 0.75 * metrics[f"loss.selfplay.{name}"] + 0.25 * metrics[f"loss.games.{name}"]
        assert joint == pytest.approx(mean, rel=1e-4)
    train(config(), tmp_path / "without")
    assert outcome_of(tmp_path / "without", 2) != whole, "the games have no effect"


def test_a_changed_or_moved_file_is_refused(tmp_path):
    path = written(tmp_path, "games.pgn", PGN.encode())
    train(config(path, steps=1), tmp_path / "run")
    path.write_text(PGN.replace("1-0", "0-1"))
    with pytest.raises(RunError, match=r"games\.pgn has changed"):
        train(config(path), tmp_path / "run")
    path.rename(tmp_path / "moved.pgn")
    with pytest.raises(ConfigError, match=r"games\.pgn of learner\.games cannot be opened"):
        train(config(path), tmp_path / "run")
    (tmp_path / "moved.pgn").write_text(PGN)
    assert train(config(tmp_path / "moved.pgn"), tmp_path / "run").step == 2


def test_files_that_do_not_fit_are_refused(tmp_path):
    empty = written(tmp_path, "empty.pgn", b"")
    with pytest.raises(ConfigError, match=r"No game in .*empty\.pgn is usable"):
        train(config(empty), tmp_path / "run")
    packed = written(tmp_path, "games.bin", packed_games(1, seed=1))
    with pytest.raises(ConfigError, match="packed games of chess, but the run is of connect4"):
        opened(packed, spec=GameSpec("connect4"))
    with pytest.raises(ConfigError, match="not a zero-sum game of two seats"):
        opened(empty, spec=GameSpec("blob"))
    with pytest.raises(ConfigError, match=r"learner\.games .* learned model"):
        TrainingConfig(
            run={"algorithm": "muzero"}, game={"name": "chess"}, learner={"games": ["a.pgn"]}
        )
    with pytest.raises(ConfigError, match=r"learner\.games_share is 1"):
        TrainingConfig(game={"name": "chess"}, learner={"games_share": 1.0})


def test_one_file_may_be_given_without_a_list():
    learner = TrainingConfig(game={"name": "chess"}, learner={"games": "a.pgn"}).resolved().learner
    assert learner.games == (str(Path("a.pgn").resolve()),) and learner.games_share == 0.25
