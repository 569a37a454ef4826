"""`sylvan solve`: compute the exact value of a position and of each of its moves."""

from enum import StrEnum
from typing import Annotated

import typer

from sylvan.cli.terminal import Bar, print_json

__all__ = ["solve"]


class Solvable(StrEnum):
    """Games with an exact solver."""

    connect4 = "connect4"


def solve(
    game: Annotated[Solvable, typer.Argument(help="The game.")],
    moves: Annotated[
        list[str] | None, typer.Argument(help="Columns played, counted from 1: `4453`.")
    ] = None,
    columns: Annotated[int, typer.Option(min=1, help="Width of the board.")] = 7,
    rows: Annotated[int, typer.Option(min=1, help="Height of the board.")] = 6,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", "-t", min=0, help="Give up after this many seconds."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Solve a position: its score under perfect play, and the score of each move.

    A score is the number of stones that the winner has left, including the winning one: a higher
    score is a faster win. 0 is a draw; with a negative score the side to move loses. An empty 7 × 6
    board takes minutes; with 14 stones or more it takes milliseconds.

    Examples:

    - `sylvan solve connect4 44444432222` columns from 1, as played
    - `sylvan solve connect4 --columns 5 --rows 4` the empty board of another size
    - `sylvan solve connect4 1212121 --json` output for a program
    """
    from dataclasses import asdict

    from sylvan.games import ConnectFour

    assert game is Solvable.connect4
    position = ConnectFour(" ".join(moves or []), columns=columns, rows=rows)
    with Bar("solving"):
        solution = position.solve(seconds)
    if as_json:
        print_json({"position": position.to_rows(), **asdict(solution)})
    else:
        print(position, solution, sep="\n\n")
