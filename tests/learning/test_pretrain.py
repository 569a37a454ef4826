"""Pretraining: reading examples, and training a network on them."""

import gzip
import io
import json
import math

import chess
import chess.pgn
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.errors import ConfigError
from sylvan.evaluators.loading import load_evaluator, network_file
from sylvan.games import Chess
from sylvan.games.naming import GameSpec
from sylvan.learning.examples import (
    ExamplesConfig,
    Skipped,
    labelled_records,
    pgn_records,
    read_examples,
)
from sylvan.learning.pgn_stream import pgn_games
from sylvan.learning.pretrain import (
    HELD_OUT,
    ExampleStream,
    PretrainConfig,
    PretrainSection,
    import_examples,
)
from sylvan.networks import build_network
from sylvan.networks.header import NetworkHeader
from sylvan.replay.shards import records_of
from sylvan.runs.warm_start import network_like, warm_start
from tests.games.real_games import REAL_GAMES

SPEC = GameSpec("chess")


def pgn(moves, result="1-0", **tags):
    """A game as PGN, with evaluations, variations and comments."""
    game = chess.pgn.Game()
    game.headers.update({"Result": result} | tags)
    node = game
    for number, move in enumerate(moves.split()):
        board = node.board()
        other = next(iter(board.legal_moves))
        if number % 5 == 3 and board.parse_san(move) != other:
            variation = node.add_variation(other, comment="(no, { [%eval 9.99]")
            variation.nags.add(4)
        node = node.add_main_variation(board.parse_san(move))
        node.comment = f"a comment; of two\nlines [%eval {(number - 20) / 10}] [%clk 0:01:00]"
    exporter = chess.pgn.StringExporter(columns=60)
    return game.accept(exporter) + "\n\n"


FILE = "".join(
    pgn(moves, result, WhiteElo="2500", BlackElo=str(2000 + 100 * number))
    for number, (moves, result) in enumerate(
        zip(REAL_GAMES.values(), ["1-0", "1-0", "0-1", "1-0"], strict=True)
    )
)


def test_moves_and_evaluations_match_python_chess():
    games, stream = list(pgn_games(FILE.splitlines())), io.StringIO(FILE)
    assert len(games) == 4
    for game in games:
        oracle = chess.pgn.read_game(stream)
        assert oracle is not None
        nodes = list(oracle.mainline())
        board, played = oracle.board(), []
        for move in game.moves:
            played.append(board.push_san(move))
        assert played == [node.move for node in nodes]
        scores = [node.eval() for node in nodes]
        assert game.evaluations == pytest.approx([s.white().score() for s in scores if s])
        assert game.tags == dict(oracle.headers)


@pytest.mark.parametrize(
    ("text", "moves", "result"),
    [
        ("1.e4 e5 2.Nf3 1/2-1/2", ["e4", "e5", "Nf3"], 0.0),
        (
            "1. e4! $1 e5?? 2 Nf3 (2. f4 exf4 (2... d5)) 2... Nc6 0-1",
            ["e4", "e5", "Nf3", "Nc6"],
            -1,
        ),
        ("1. e4 ; a remark (with brackets\n1... c5 *", ["e4", "c5"], None),
        ("1. e4 {a {nested brace} e5\n0-0 1-0", ["e4", "e5", "0-0"], 1.0),
        ('1. e4 {over\n\n[Event "no tag"]\ntwo lines} e5 1-0', ["e4", "e5"], 1.0),
        ("% an escape\n1. d4", ["d4"], None),
    ],
)
def test_pgn_by_hand(text, moves, result):
    (game,) = pgn_games(text.splitlines())
    assert game.moves == moves and game.result == result


@given(st.text(max_size=200))
def test_the_reader_accepts_any_text(text):
    list(pgn_games(text.splitlines()))


def test_a_games_result_and_evaluations_become_values():
    text = (
        '[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"]\n\n'
        "1... Kd7 {[%eval 0.8]} 2. e4 {[%eval #12]} Kd6 {[%eval -4.0]} 3. Kd2 1-0\n"
    )
    config = ExamplesConfig(skip_plies=1, max_centipawns=500)
    (record,) = read(text, config)
    assert record.start.startswith("4k3") and record.ending == "labelled"
    assert record.seats.tolist() == [1, 0, 1, 0] and record.returns.tolist() == [1, -1]
    # Ply 0 is skipped, ply 2 follows a mate: too far from 0.
    assert record.searched.tolist() == [1, 3]
    for ply, white in ((1, math.tanh(0.2)), (3, math.tanh(-1.0))):
        assert record.values[ply] == pytest.approx([white, -white])
        assert record.target(ply).tolist() == [1.0]
        assert record.legal(ply).tolist() == record.actions[ply : ply + 1].tolist()
    assert record.weights.tolist() == [0, 1, 0, 1]


def read(text, config=None, skipped=None):
    settings = config or ExamplesConfig()
    return list(pgn_records(text.splitlines(), SPEC, settings, skipped or Skipped()))


def test_a_position_without_evaluation_has_the_result_as_its_value():
    (record,) = read("1. e4 e5 0-1")
    assert record.values.tolist() == [[-1, 1], [-1, 1]]


def test_skipped_games_are_counted_with_reasons():
    skipped = Skipped()
    text = (
        "1. e4 *\n\n1. e4 e4 1-0\n\n"
        + FILE
        + pgn("e4 e5", Variant="Antichess")
        + '[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n\n1. e4 1-0\n'
    )
    records = read(text, ExamplesConfig(min_elo=2150), skipped)
    assert len(records) == 2 and skipped.count == 6
    assert "game 1 has no result" in skipped.first[0]
    assert "game 2 has a player rated below 2150" in skipped.first[1]
    everything = Skipped()
    assert len(read(text, skipped=everything)) == 4
    assert "game 2: " in everything.first[1] and "e4" in everything.first[1]


def test_games_continue_after_claimable_draws_and_end_in_dead_positions(tmp_path):
    shuffle = "Nf3 Nf6 Ng1 Ng8 " * 5 + "e4 e5"
    (record,) = read(pgn(shuffle, "1/2-1/2"))
    assert len(record) == 22
    bare = '[FEN "8/8/3k4/8/4p3/4K3/8/8 w - - 0 1"]\n\n1. Kxe4 Ke6 2. Ke3 Kd6 1/2-1/2\n'
    (ended,) = read(bare)
    assert len(ended) == 1 and ended.ending == "end"
    path = tmp_path / "games.pgn"
    path.write_text(pgn(shuffle, "1/2-1/2") + bare)
    _, stream = stream_of(path, tmp_path / "out")
    batch = stream.sample(100, np.random.default_rng(0))
    assert (batch.policy.max(axis=1) == 1).all() and batch.legal.sum(axis=1).min() >= 1


LABELS = [
    {"fen": chess.STARTING_FEN, "move": "e2e4", "value": 0.25},
    {"fen": chess.STARTING_FEN, "policy": {"e4": 3, "d4": 1}, "cp": 40},
    {"fen": "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1", "move": "Kd7", "mate": -20},
]


def test_labels_are_for_the_side_to_move():
    records = list(labelled_records(enumerate(LABELS, 1), SPEC, ExamplesConfig(), Skipped()))
    start = Chess()
    e4, d4 = (start.string_to_action(move) for move in ("e4", "d4"))
    first, second, third = records
    assert first.actions.tolist() == first.legal(0).tolist() == [e4]
    assert first.values[0] == pytest.approx([0.25, -0.25])
    assert dict(zip(second.legal(0).tolist(), second.target(0).tolist(), strict=True)) == {
        e4: 0.75,
        d4: 0.25,
    }
    assert second.returns == pytest.approx([math.tanh(0.1), -math.tanh(0.1)])
    assert third.seats.tolist() == [1] and third.returns.tolist() == [1, -1]


def test_labels_in_json_and_csv_are_the_same(tmp_path):
    lines, table = tmp_path / "labels.jsonl", tmp_path / "labels.csv.gz"
    lines.write_text("\n".join(json.dumps(row) for row in LABELS) + "\nnonsense\n[1]\n\n")
    cells = ["fen,move,policy,value,cp,mate"]
    for row in LABELS:
        policy = json.dumps(row["policy"]).replace('"', '""') if "policy" in row else ""
        more = [str(row.get(name, "")) for name in ("value", "cp", "mate")]
        cells.append(",".join([row["fen"], row.get("move", ""), f'"{policy}"', *more]))
    with gzip.open(table, "wt") as file:
        file.write("\n".join(cells))
    skipped = Skipped()
    one = list(read_examples(lines, SPEC, ExamplesConfig(), skipped))
    two = list(read_examples(table, SPEC, ExamplesConfig(), Skipped()))
    assert len(one) == len(two) == 3 and skipped.count == 2
    for a, b in zip(one, two, strict=True):
        assert a.start == b.start and a.returns.tolist() == b.returns.tolist()
        assert a.policy_actions.tolist() == b.policy_actions.tolist()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"move": "e4", "value": 0}, "has no 'start'"),
        ({"fen": chess.STARTING_FEN, "value": 0}, "has no 'move'"),
        ({"fen": chess.STARTING_FEN, "move": "e5", "value": 0}, "e5"),
        ({"fen": "nonsense", "move": "e5", "value": 0}, "nonsense"),
        ({"fen": chess.STARTING_FEN, "move": "e4"}, "no value, cp or mate"),
        ({"fen": chess.STARTING_FEN, "move": "e4", "value": 2}, "not between -1 and 1"),
        ({"fen": chess.STARTING_FEN, "move": "e4", "value": "much"}, "much"),
        ({"fen": chess.STARTING_FEN, "policy": {"e4": 0}, "value": 0}, "sums to 0"),
    ],
)
def test_a_skipped_label_has_a_reason(row, reason):
    skipped = Skipped()
    assert list(labelled_records([(7, row)], SPEC, ExamplesConfig(), skipped)) == []
    assert skipped.count == 1 and reason in skipped.first[0] and "line 7" in skipped.first[0]


def test_labels_of_another_game():
    rows = [{"start": "4453", "move": "4", "value": 1}]
    (record,) = labelled_records(
        enumerate(rows, 1), GameSpec("connect4"), ExamplesConfig(), Skipped()
    )
    assert record.actions.tolist() == [3] and record.start == "4453"


# --- shards -----------------------------------------------------------------------------------


def stream_of(path, out, window=1_000_000, **settings):
    config = PretrainConfig(pretrain=PretrainSection(window=window, **settings))
    imported = import_examples([path], out, config.pretrain.spec, config.examples)
    header = NetworkHeader.for_game(config.pretrain.spec.first())
    positions = imported.positions - imported.held_out
    return imported, ExampleStream(out, positions, config, header)


def labels_file(tmp_path, count):
    """Positions of random games, all different."""
    rng = np.random.default_rng(0)
    rows: dict[str, dict[str, object]] = {}
    while len(rows) < count:
        game = Chess()
        for _ in range(60):
            if game.is_terminal():
                break
            move = int(rng.choice(game.legal_actions()))
            value = round(float(rng.uniform(-1, 1)), 4)
            row = {"fen": game.fen(), "move": game.action_to_string(move), "value": value}
            rows[game.fen()] = row
            game.apply(move)
    path = tmp_path / "labels.jsonl"
    shuffled = [list(rows.values())[i] for i in rng.permutation(len(rows))[:count]]
    path.write_text("\n".join(map(json.dumps, shuffled)))
    return path, [row["fen"] for row in shuffled]


def test_every_position_is_drawn_except_held_out_ones(tmp_path):
    path, fens = labels_file(tmp_path, 300)
    imported, stream = stream_of(path, tmp_path / "out")
    assert imported.records == imported.positions == 300 and imported.held_out == 300 // HELD_OUT
    rng = np.random.default_rng(1)
    drawn = {planes.tobytes() for _ in range(12) for planes in stream.sample(250, rng).observations}
    expected = {Chess(fen).observation().tobytes() for n, fen in enumerate(fens) if (n + 1) % 50}
    assert drawn == expected
    test = stream.held_out()
    assert test is not None and len(test) == 6
    kept = {Chess(fen).observation().tobytes() for n, fen in enumerate(fens) if (n + 1) % 50 == 0}
    assert {planes.tobytes() for planes in test.observations} == kept


def test_a_small_window_moves_through_all_examples(tmp_path):
    path, _ = labels_file(tmp_path, 600)
    _, stream = stream_of(path, tmp_path / "out", window=100)
    rng, seen = np.random.default_rng(2), set()
    for _ in range(24):
        batch = stream.sample(50, rng)
        assert 100 <= stream._window.end - stream._window.begin < 100 + 256
        seen |= {planes.tobytes() for planes in batch.observations}
    assert len(seen) > 420, "two passes with a window of a sixth"


def test_examples_take_few_bytes(tmp_path):
    """Five million positions in less than 400 MB: 80 bytes each."""
    path, _ = labels_file(tmp_path, 1000)
    imported, _ = stream_of(path, tmp_path / "out")
    assert imported.bytes / imported.positions < 60


def test_examples_are_imported_once(tmp_path):
    path, _ = labels_file(tmp_path, 60)
    out = tmp_path / "out"
    once, _ = stream_of(path, out)
    shard = out / "000000.shard"
    before = shard.stat().st_mtime_ns
    assert stream_of(path, out)[0] == once and shard.stat().st_mtime_ns == before
    (out / "imported.json").unlink()  # as after a crash
    assert stream_of(path, out)[0] == once and shard.stat().st_mtime_ns > before
    assert len(list(records_of(shard))) == 60


def test_files_without_usable_examples_are_refused(tmp_path):
    path = tmp_path / "games.pgn"
    path.write_text("1. e4 *\n")
    with pytest.raises(ConfigError, match=r"games\.pgn.*game 1"):
        stream_of(path, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"\.pgn"):
        stream_of(tmp_path / "games.txt", tmp_path / "out")
    with pytest.raises(ConfigError, match="no such file"):
        stream_of(tmp_path / "nowhere.pgn", tmp_path / "out")
    with pytest.raises(ConfigError, match="ThreeSeats"):
        stream_of(path, tmp_path / "out", game="examples/three_seats.py:ThreeSeats")


# --- training ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_trains_a_network_on_the_games(tmp_path):
    """Four games repeated: the network memorises them, and held-out copies test it."""
    path = tmp_path / "games.pgn"
    path.write_text(FILE * 13)
    out = tmp_path / "warm"
    options = ["--network", "mlp1x48", "--epochs", "8", "--threads", "1", "--device", "cpu"]
    options += ["--set", "learner.batch=128", "--set", "learner.average=0.9"]
    options += ["--set", "learner.learning_rate=0.01"]
    options += ["--set", 'pretrain.params={"encoder": "planes19", "codec": "lc0"}']
    done = CliRunner().invoke(app, ["pretrain", str(path), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    assert "The network is in" in done.output
    last = [line for line in done.stderr.splitlines() if "held out" in line][-1]
    found = float(last.split("best move ")[1].split(" %")[0])
    assert found > 80, last
    evaluator = load_evaluator(out)
    assert evaluator.header.encoding.encoder == "planes19"
    assert network_file(out, "torch") == out / "networks" / "best.safetensors"
    # A run of self-play can begin with it.
    like = network_like(out)
    spec = GameSpec("chess", {"encoder": "planes19", "codec": "lc0"})
    network = build_network(
        like["size"], game=spec.first(), value=like["value"], **like["settings"]
    )
    warm_start(network, out)
    answer = network(torch.zeros(1, 19, 8, 8)).policy.detach().numpy()
    (kept,) = evaluator.infer(np.zeros((1, 19, 8, 8), np.float32)).policy
    np.testing.assert_allclose(answer[0], kept, atol=1e-4)


def test_settings_that_do_not_exist_are_refused(tmp_path):
    path = tmp_path / "games.pgn"
    path.write_text(FILE)
    for setting, message in [
        ("learner.bach=1", "did you mean 'batch'"),
        ("nothing.at=1", "section of pretrain, examples"),
        ("pretrain.epochs=0", "pretrain.epochs is 0"),
    ]:
        command = ["pretrain", str(path), "--out", str(tmp_path / "out"), "--set", setting]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 2 and message in done.output
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.toml").write_text("")
    done = CliRunner().invoke(app, ["pretrain", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "self-play" in done.output


@given(st.integers(0, 2**32))
def test_random_games_are_read_back_unchanged(seed):
    rng = np.random.default_rng(seed)
    game = Chess()
    while not game.is_terminal() and len(game.moves) < 40:
        game.apply(int(rng.choice(game.legal_actions())))
    sans = [game.board().root().variation_san([chess.Move.from_uci(m) for m in game.moves])]
    (record,) = read(f"{sans[0]} 1-0")
    walk = Chess()
    for action in record.actions.tolist():
        walk.apply(action)
    assert walk.moves == game.moves
