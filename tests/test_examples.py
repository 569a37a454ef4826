"""The examples run, keep the contract of a game, stay short, and find the right move."""

from __future__ import annotations

import random
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sylvan.testing import check_game

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
GAMES = {
    "nim": "Nim",
    "triangle": "Triangle",
    "three_seats": "ThreeSeats",
    "pig": "Pig",
    "breakthrough": "Breakthrough",
    "hex": "Hex",
}
EXTRAS = {"cartpole": "gymnasium"}
"""Optional packages that an example needs."""


def load(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES[0].with_name(f"{name}.py")))


def best_lines(name: str, capsys: Any) -> list[str]:
    """The choices that the example prints."""
    load(name)["main"]()
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("best: ")]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_as_a_script_and_is_short(path: Path, capsys: Any) -> None:
    if path.stem in EXTRAS:
        pytest.importorskip(EXTRAS[path.stem])
    runpy.run_path(str(path), run_name="__main__")
    assert "best: " in capsys.readouterr().out
    assert len(path.read_text().splitlines()) < 100


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_keeps_the_contract(name: str) -> None:
    check_game(load(name)[GAMES[name]], games=50)


def test_nim_leaves_a_multiple_of_four(capsys: Any) -> None:
    assert best_lines("nim", capsys) == ["best: take 2 of 10 stones"]


def test_triangle_finds_the_richest_way(capsys: Any) -> None:
    example = load("triangle")
    rows, game = example["ROWS"], example["Triangle"]()

    @cache
    def richest(row: int, place: int) -> tuple[int, tuple[str, ...]]:
        if row == len(rows) - 1:
            return rows[row][place], ()
        ways = []
        for action in (0, 1):
            total, way = richest(row + 1, place + action)
            ways.append((total + rows[row][place], (game.action_to_string(action), *way)))
        return max(ways)

    total, way = richest(0, 0)
    assert best_lines("triangle", capsys) == [f"best: {' '.join(way)}, which pays {total}"]
    assert rows[1][0] > rows[1][1] and way[0] == "right", "the first step should tempt"


def test_hex_finds_the_only_winning_move(capsys: Any) -> None:
    def wins(state: Any) -> list[str]:
        """The moves after which the other seat has no winning move."""
        found = []
        for action in state.legal_actions():
            after = state.clone()
            after.apply(action)
            if after.is_terminal() or not wins(after):
                found.append(state.action_to_string(action))
        return found

    game = load("hex")["Hex"](3)
    for name in ("a1", "a2", "b1", "c3"):
        game.apply(game.string_to_action(name))
    assert best_lines("hex", capsys) == [f"best: {move}" for move in wins(game)]


def test_hex_has_no_draws() -> None:
    """On a full board exactly one seat joins its sides, found here by flooding from one side."""
    hexagon = load("hex")["Hex"]
    for seed in range(50):
        game, rng = hexagon(4), random.Random(seed)
        while not game.is_terminal():
            game.apply(rng.choice(game.legal_actions()))
        joined = [_floods(game.board, game.size, seat) for seat in (0, 1)]
        assert joined == [pay > 0 for pay in game.returns()]


def _floods(board: list[int], size: int, seat: int) -> bool:
    cells = [[board[r * size + c] for c in range(size)] for r in range(size)]
    if seat:
        cells = [list(column) for column in zip(*cells, strict=True)]
    wet = {(0, c) for c in range(size) if cells[0][c] == seat}
    while True:
        near = {
            (r + down, c + right)
            for r, c in wet
            for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
            if 0 <= r + down < size and 0 <= c + right < size
        }
        more = {(r, c) for r, c in near if cells[r][c] == seat} | wet
        if more == wet:
            return any(r == size - 1 for r, _ in wet)
        wet = more


def test_three_seats_finds_the_winning_move(capsys: Any) -> None:
    game = load("three_seats")["ThreeSeats"]()

    def pays(state: Any) -> set[tuple[float, ...]]:
        """All results of max^n play, for any choice between equal actions."""
        if state.is_terminal():
            return {tuple(state.returns())}
        moves = [pays(child) for child in children(state)]
        worst = [min(pay[state.to_play()] for pay in move) for move in moves]
        best = [max(pay[state.to_play()] for pay in move) for move in moves]
        return set().union(*(m for m, high in zip(moves, best, strict=True) if high >= max(worst)))

    def children(state: Any) -> list[Any]:
        after = [state.clone() for _ in state.legal_actions()]
        for action, child in zip(state.legal_actions(), after, strict=True):
            child.apply(action)
        return after

    wins = [all(pay[0] == 1.0 for pay in pays(child)) for child in children(game)]
    assert wins == [False, True, False]
    assert best_lines("three_seats", capsys) == ["best: take 2 of 9 stones"]


def test_pig_weighs_what_is_at_stake(capsys: Any) -> None:
    """Against the exact odds of the race, by value iteration."""
    goal, stake = load("pig")["Pig"].goal, 16
    odds = {
        (mine, theirs, turn): 0.5
        for mine in range(goal)
        for theirs in range(goal)
        for turn in range(goal - mine)
    }

    def hold(mine: int, theirs: int, turn: int) -> float:
        return 1.0 - odds[theirs, mine + turn, 0] if turn else 0.0

    def roll(mine: int, theirs: int, turn: int) -> float:
        lucky = sum(odds.get((mine, theirs, turn + face), 1.0) for face in (4, 5, 6))
        return (3 * (1.0 - odds[theirs, mine, 0]) + lucky) / 6

    change = 1.0
    while change > 1e-9:
        better = {state: max(hold(*state), roll(*state)) for state in odds}
        change = max(abs(better[state] - odds[state]) for state in odds)
        odds.update(better)
    right = ["hold" if hold(0, b, stake) > roll(0, b, stake) else "roll" for b in (1, 16)]
    assert right == ["hold", "roll"]
    expected = [f"best: {right[0]} at (0, 1) with 16 at stake"]
    expected += [f"best: {right[1]} at (0, 16) with 16 at stake"]
    assert best_lines("pig", capsys) == expected


def test_cartpole_stands_on_copies_of_its_environment(capsys: Any) -> None:
    pytest.importorskip("gymnasium")
    assert best_lines("cartpole", capsys) == ["best: planned, it stands after 200"]
    assert load("cartpole")["at_random"](3) < 50


def test_a_model_by_hand_finds_the_shortest_way(capsys: Any) -> None:
    """Compared with a breadth-first search, which also finds the dead end near the goal."""
    example = load("model_by_hand")
    maze, steps = example["MAZE"], [tuple(step) for step in example["STEPS"]]
    ways = {(0, 0): 0}
    waiting = [(0, 0)]
    for row, column in waiting:  # grows during the loop
        for down, right in steps:
            there = (row + down, column + right)
            if there in ways or min(there) < 0 or max(there) >= len(maze):
                continue
            if maze[there[0]][there[1]] != "#":
                ways[there] = ways[row, column] + 1
                waiting.append(there)
    (line,) = best_lines("model_by_hand", capsys)
    walk = line.removeprefix("best: ").split()
    place = (0, 0)
    for way in walk:
        down, right = steps[example["WAYS"].index(way)]
        place = (place[0] + down, place[1] + right)
        assert place in ways
    assert place == (4, 4) and len(walk) == ways[4, 4] == 8
    assert ways[4, 2] == 6, "as near by its distance as the right way is after six steps"


def test_breakthrough_has_the_known_rules() -> None:
    """Move by move against OpenSpiel's, where the first seat starts at the top."""
    pyspiel = pytest.importorskip("pyspiel")
    example = load("breakthrough")
    size, ours = example["SIZE"], example["Breakthrough"]

    def name(action: int, seat: int) -> str:
        (row, file), way = divmod(action // 3, size), action % 3
        cells = [(row, file), (row + 1, file + way - 1)]
        if seat == 0:
            cells = [(size - 1 - row, size - 1 - file) for row, file in cells]
        return "".join(f"{chr(97 + file)}{row + 1}" for row, file in cells)

    theirs = pyspiel.load_game(f"breakthrough(rows={size},columns={size})")
    rng = random.Random(1)
    for _ in range(60):
        state, twin = ours(), theirs.new_initial_state()
        while not state.is_terminal():
            assert state.to_play() == twin.current_player()
            named = {name(action, state.to_play()): action for action in state.legal_actions()}
            strings = {
                twin.action_to_string(code).rstrip("*"): code for code in twin.legal_actions()
            }
            assert named.keys() == strings.keys()
            choice = rng.choice(sorted(named))
            state.apply(named[choice])
            twin.apply_action(strings[choice])
        assert twin.is_terminal() and list(state.returns()) == twin.returns()


def test_breakthrough_is_the_game_of_its_page() -> None:
    """The file on the page is the one that the benchmark trains on."""
    code = EXAMPLES[0].with_name("breakthrough.py").read_text()
    game = code[code.index("from collections") : code.index("\n\n\nif __name__")]
    page = Path(__file__).parents[1] / "docs" / "train-your-own-game.md"
    assert f"```python\n{game}\n```" in page.read_text()
