"""`sylvan analyze`: search a position, rank its moves and say what is expected to follow."""

from __future__ import annotations

import json
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli.positions import read_position
from sylvan.cli.terminal import Bar, print_json
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning import SearchResult, Status

__all__ = ["analyze"]

# Searched when no limit is given: about a second of chess.
DEFAULT_SIMULATIONS = 200_000

TREE_SUFFIXES = (".svg", ".dot", ".gv", ".json")


class GameName(StrEnum):
    chess = "chess"
    connect4 = "connect4"
    tictactoe = "tictactoe"


class EvaluatorName(StrEnum):
    material = "material"
    rollout = "rollout"
    uniform = "uniform"


def analyze(
    position: Annotated[
        list[str] | None, typer.Argument(help="A FEN, moves, or a FEN and moves.")
    ] = None,
    game: Annotated[GameName, typer.Option("--game", "-g", help="The game.")] = GameName.chess,
    simulations: Annotated[
        int | None,
        typer.Option("--simulations", "-n", min=0, help="Stop after so many simulations."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", "-t", min=0, help="Stop after so many seconds.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", help="Keep the tree within this: `500MB`, `4GB`.")
    ] = None,
    evaluator: Annotated[EvaluatorName | None, typer.Option(help="What judges a position.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of all that is random.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="They change no result.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other field of `SearchConfig`."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "--multipv", "-k", min=1, help="How many moves to show.")
    ] = 10,
    tree: Annotated[
        Path | None, typer.Option(help="Draw the tree: a path that ends in svg, dot or json.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
) -> None:
    """Search a position and rank its moves.

    N counts how often the search took a move; Q is what it then expects for the side to move, from
    -1 (lost) to 1 (won); P is how likely the evaluator held it before the search.

    Examples:

    - `sylvan analyze "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"` a position
    - `sylvan analyze e4 e5 Nf3` moves from the start, SAN or UCI
    - `sylvan analyze e4 --seconds 5 --tree tree.svg` a clock, and a picture of the tree
    - `sylvan analyze --game connect4 4453` another game
    - `sylvan analyze --set c_puct=2.5 --set fpu=parent --json` settings; output for a program
    """
    state = read_position(game.value, position or [])
    if tree is not None:
        _check_tree(tree)
    given = {
        "simulations": simulations,
        "seconds": seconds,
        "bytes": None if memory is None else _bytes(memory),
        "seed": seed,
        "threads": threads,
    }
    settings = _settings(setting or [], {name: v for name, v in given.items() if v is not None})
    result, interrupted = _search(state, evaluator and evaluator.value, settings)
    if as_json:
        print_json(result.to_json(moves=top))
    else:
        _print(result, top)
    if tree is not None:
        result.save(tree)
        print(f"The tree is drawn in {tree}.", file=sys.stderr if as_json else sys.stdout)
    if interrupted:
        raise typer.Exit(130)


def _check_tree(path: Path) -> None:
    """Refuse a path now that could not be written after a long search."""
    if path.suffix not in TREE_SUFFIXES:
        raise ConfigError(f"--tree {path} must end in one of {', '.join(TREE_SUFFIXES)}.")
    if not path.parent.is_dir():
        raise ConfigError(f"--tree {path}: there is no folder {path.parent}; make it first.")


def _settings(texts: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """`given`, the `name=value` of `texts`, and a limit if they have none.

    Numbers, lists, true, false and null are read as in JSON, anything else is text.

    >>> _settings(["fpu=parent", "proofs=false"], {"seconds": 1.5})
    {'seconds': 1.5, 'fpu': 'parent', 'proofs': False, 'simulations': None}
    """
    from sylvan.planning.config import ALIASES

    settings = dict(given)
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {text} has no value: write it as --set name=value.")
        own = ALIASES.get(name, name)
        if own in settings:
            raise ConfigError(f"{own} is given twice: leave out --set {text} or the other one.")
        try:
            settings[own] = json.loads(value)
        except json.JSONDecodeError:
            settings[own] = value
    has_limit = not {"seconds", "nodes", "depth"}.isdisjoint(settings)
    settings.setdefault("simulations", None if has_limit else DEFAULT_SIMULATIONS)
    return settings


def _bytes(text: str) -> int:
    """A size with its unit in bytes; a bare number is bytes already.

    >>> _bytes("64MB"), _bytes("1.5 GiB"), _bytes("100000")
    (64000000, 1610612736, 100000)
    """
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    units |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[kmgt]i?)b?", text.strip().lower())
    if match is None:
        raise ConfigError(f"--memory {text} is not a size: write it like 500MB or 4GB.")
    return int(float(match[1]) * units[match[2]])


def _search(
    state: Game, evaluator: str | None, settings: dict[str, Any]
) -> tuple[SearchResult, bool]:
    """What the search found, and whether Ctrl-C ended it; a second Ctrl-C ends everything."""
    from sylvan import Search

    search = Search(evaluator, **settings)
    with Bar("searching") as bar:

        def progress(status: Status) -> None:
            # Of the limits that are set, the one that is nearer.
            counts = (status.simulations, status.limit), (status.elapsed, status.seconds)
            shares = [done / limit for done, limit in counts if limit]
            bar.show(max(shares, default=0.0), 1.0 if shares else None)

        try:
            return search.run(state, progress=progress), False
        except KeyboardInterrupt:
            return search.result, True


def _print(result: SearchResult, top: int) -> None:
    """The board, the ranked moves, what the search took, and the principal variation."""
    from rich.console import Console

    from sylvan.views import table

    console = Console(highlight=False, markup=False)
    console.print(str(result.game), end="\n\n")
    console.print(table(result, rows=top))
    console.print(f"\nPrincipal variation: {' '.join(result.pv_labels) or 'none'}")
