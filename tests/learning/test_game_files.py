"""Packed game files, compared with python-chess."""

from __future__ import annotations

import lzma
import random
import struct
from pathlib import Path

import chess
import numpy as np
import pytest

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.games import Chess
from tests.learning.packed_games import UNKNOWN, packed_game, packed_games, random_game

torch = pytest.importorskip("torch")

from sylvan.learning.game_files import is_held_out, read_game_files  # noqa: E402
from sylvan.learning.position_batches import packed_planes  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("evaluated", [False, True])
def test_positions_moves_and_results_match_python_chess(evaluated: bool) -> None:
    rng = random.Random(5)
    games, data = [], b""
    for _ in range(12):
        moves, result = random_game(rng, 150), rng.randrange(3)
        values = [rng.choice([UNKNOWN, rng.randint(-20000, 20000)]) for _ in moves]
        games.append((moves, result, values))
        data += packed_game(moves, result, values if evaluated else None)
    file = _native.ChessGameFile(data)
    assert (file.num_games, file.has_evaluations, file.cut) == (12, evaluated, None)
    columns, faults = file.read(0, 12, 3)
    assert faults == []
    boards = torch.from_numpy(columns["boards"].view(np.int64))
    planes = packed_planes(boards, torch.from_numpy(columns["facts"].view(np.int32))).numpy()
    begins = np.concatenate([[0], np.cumsum(columns["choices"], dtype=np.int64)])
    row = 0
    for number, (moves, result, values) in enumerate(games):
        state, board = Chess(encoder="planes19"), chess.Board()
        for ply, move in enumerate(moves):
            assert state.fen().split()[:4] == board.fen(en_passant="legal").split()[:4]
            np.testing.assert_array_equal(planes[row].view(np.uint64), state.observation())
            legal = columns["legal"][begins[row] : begins[row + 1]].tolist()
            if not state.is_terminal():
                assert legal == state.legal_actions()
            assert sorted(map(state.action_to_string, legal)) == sorted(
                each.uci() for each in board.legal_moves
            )
            assert state.action_to_string(legal[columns["played"][row]]) == move.uci()
            black = ply % 2 == 1
            assert columns["results"][row] == (2 - result if black else result)
            value = values[ply] if evaluated else UNKNOWN
            expected = value if value == UNKNOWN or not black else -value
            assert columns["evaluations"][row] == expected
            assert columns["plies_left"][row] == len(moves) - ply
            assert columns["games"][row] == number
            state.push(move.uci())
            board.push(move)
            row += 1
    assert row == len(columns["facts"]) == file.num_positions


def test_an_illegal_move_skips_only_its_game() -> None:
    data = bytearray(packed_games(3, seed=1, plies=20))
    second = 3 + 20
    data[second + 3 + 4] = 250
    file = _native.ChessGameFile(bytes(data))
    columns, faults = file.read(0, 3)
    assert faults[0].startswith("game 1 has an impossible move at ply 4: number 250 of ")
    assert len(faults) == 1
    assert sorted(set(columns["games"].tolist())) == [0, 2]
    assert len(columns["legal"]) == columns["choices"].sum()


def test_a_truncated_file_gives_its_complete_games() -> None:
    data = packed_games(3, seed=1, plies=20)
    file = _native.ChessGameFile(data[:-5])
    assert file.num_games == 2
    assert file.cut == ("game 2 is cut short: the file ends inside it; copy the file again")
    assert len(file.read(0, 9)[0]["facts"]) == 40


def test_an_invalid_result_is_reported() -> None:
    data = bytearray(packed_games(2, seed=1, plies=20))
    data[2] = 7
    columns, faults = _native.ChessGameFile(bytes(data)).read(0, 2)
    assert faults == ["game 0 has the result 7: 0, 1 and 2 are results; it is left out"]
    assert len(columns["facts"]) == 20


def test_the_number_of_threads_does_not_change_the_columns() -> None:
    file = _native.ChessGameFile(packed_games(9, seed=3, evaluated=True))
    one, many = file.read(0, 9, 1)[0], file.read(0, 9, 4)[0]
    for name, column in one.items():
        np.testing.assert_array_equal(column, many[name])


def test_files_become_one_table_and_whole_games_are_held_out(tmp_path: Path) -> None:
    plain, evaluated = tmp_path / "a.bin", tmp_path / "b.bin.xz"
    plain.write_bytes(packed_games(250, seed=3, plies=4))
    evaluated.write_bytes(lzma.compress(packed_games(3, seed=4, evaluated=True, plies=30)))
    messages: list[str] = []
    table = read_game_files([plain, evaluated], torch.device("cpu"), tell=messages.append)
    assert messages == [
        "a.bin: 1,000 positions of 250 games without evaluations.",
        "b.bin.xz: 90 positions of 3 games with evaluations.",
    ]
    assert len(table) == 1090 and table.games == 253
    held = np.flatnonzero(is_held_out(np.arange(250, dtype=np.uint32)))
    assert 0 < len(held) < 10
    rows = [4 * game + ply for game in held for ply in range(4)]
    assert table.test_rows["a.bin"].tolist() == rows
    everything = [table.train_rows, *table.test_rows.values()]
    assert sorted(torch.cat(everything).tolist()) == list(range(1090))
    assert table.legal_begin[-1] + table.choices[-1] == len(table.legal)


def test_most_choices_is_the_maximum_over_all_files_and_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sylvan.learning.game_files.GAMES_AT_ONCE", 2)
    wide, narrow = tmp_path / "wide.bin", tmp_path / "narrow.bin"
    wide.write_bytes(packed_games(2, seed=3, plies=60) + packed_games(2, seed=3, plies=1))
    narrow.write_bytes(packed_games(3, seed=4, plies=1))  # 20 legal moves at the start
    table = read_game_files([wide, narrow], torch.device("cpu"))
    assert table.most_choices == int(table.choices.max()) > 20


def test_one_game_in_a_hundred_is_held_out() -> None:
    assert is_held_out(np.arange(400_000, dtype=np.uint32)).mean() == pytest.approx(0.01, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none.bin", None, "cannot be opened: no such file"),
        ("bad.bin.xz", b"no xz", "not a complete .xz file"),
        ("empty.bin", b"", "usable"),
        ("noise.bin", struct.pack("<HB", 1, 0) + b"\xff", "usable"),
    ],
)
def test_the_error_names_an_unusable_file(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigError, match=message) as found:
        read_game_files([path], torch.device("cpu"))
    assert name in str(found.value)
