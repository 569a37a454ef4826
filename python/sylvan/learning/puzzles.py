"""Puzzles as examples: a position, its solution, and what the solution is worth.

A row has the `moves` of a solution. With `fen` they begin with the solver's move; the files of
Lichess have `FEN` and `Moves`, which begin with the opponent's last move. EPD lines have the
operations `bm` (best moves) or `pv` (a line), and `dm` (moves to mate) or `ce` (centipawns).

A solution is one record. The policy learns the solver's moves, not the forced answers; where
several moves mate at once, each is as good. The value is that of the solver in all positions of the
line: a win if the line ends in mate, otherwise what the row says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sylvan.games.naming import GameSpec
from sylvan.replay.record import GameRecord

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.learning.examples import Skipped

__all__ = ["epd_rows", "is_puzzle", "puzzle_record"]


def is_puzzle(row: Mapping[str, Any]) -> bool:
    """Whether a row has a solution rather than one labelled move."""
    return bool(row.get("moves") or row.get("Moves"))


def puzzle_record(row: Mapping[str, Any], spec: GameSpec, value: float | None) -> GameRecord:
    """Make a record of a solution.

    :param value: of the first position to solve, for the solver; None: the line must end in mate.
    :raises SylvanError: the position or a move is impossible.
    :raises ValueError: the line does not win by itself, and `value` is None.
    """
    start, moves, solver_first = _solution(row)
    state = spec.first(start)
    actions, seats, policies, seen = [], [], [], []
    for ply, move in enumerate(moves):
        state.set_root()
        action = state.string_to_action(move)
        seats.append(state.to_play())
        if not spec.is_native:
            seen.append(state.observation())
        solves = (ply % 2 == 0) == solver_first
        last = ply == len(moves) - 1
        policies.append(_good(state, action, last) if solves else [])
        actions.append(action)
        state.apply(action)
    seat = next((seat for seat, good in zip(seats, policies, strict=True) if good), None)
    if seat is None:
        raise ValueError("it has no move of the solver")
    if state.is_terminal():
        value = float(state.returns()[seat])
    elif value is None:
        raise ValueError("its line does not end in mate: give a value, cp or mate")
    learned = np.array([bool(good) for good in policies])
    values = np.zeros((len(moves), 2), np.float32)
    values[learned, seat], values[learned, 1 - seat] = value, -value
    sizes = [len(good) for good in policies]
    return GameRecord(
        actions=np.array(actions, np.int32),
        seats=np.array(seats, np.int8),
        policy_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        policy_actions=np.array([action for good in policies for action in good], np.int32),
        policy=np.array([1 / size for size in sizes for _ in range(size)], np.float32),
        values=values,
        weights=learned.astype(np.float32),
        surprise=np.zeros(len(moves), np.float32),
        returns=np.array([value if side == seat else -value for side in (0, 1)], np.float32),
        observations=np.stack(seen) if seen else None,
        start=start,
        ending="end" if state.is_terminal() else "labelled",
    )


def _solution(row: Mapping[str, Any]) -> tuple[str, list[str], bool]:
    """The first position, the moves, and whether the first one is the solver's."""
    moves = row.get("moves")
    if moves:
        start = row["fen"] if row.get("fen") else row["start"]
        listed = moves.split() if isinstance(moves, str) else [str(move) for move in moves]
        return str(start), listed, True
    return str(row["FEN"]), str(row["Moves"]).split(), False


def _good(state: Game, action: int, last: bool) -> list[int]:
    """The solver's move; at the end of a line every move that wins at once, if this one does."""
    if not last or not _wins(state, action):
        return [action]
    return sorted(each for each in state.legal_actions() if _wins(state, each))


def _wins(state: Game, action: int) -> bool:
    seat, after = state.to_play(), state.clone()
    after.apply(action)
    return after.is_terminal() and after.returns()[seat] > 0


def epd_rows(lines: Iterable[str], skipped: Skipped) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the lines of an EPD file as rows, with the numbers of the lines."""
    import chess

    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            board, operations = chess.Board.from_epd(line.strip())
        except ValueError as error:
            skipped.note(f"line {number}: {error}")
            continue
        row: dict[str, Any] = {"fen": board.fen(en_passant="fen")}
        best, line_of_play = operations.get("bm"), operations.get("pv")
        if isinstance(line_of_play, list) and line_of_play:
            row["moves"] = [move.uci() for move in line_of_play]
        elif isinstance(best, list):
            row["policy"] = {move.uci(): 1 for move in best}
        for ours, theirs in (("mate", "dm"), ("cp", "ce")):
            if operations.get(theirs) is not None:
                row[ours] = operations[theirs]
        yield number, row
