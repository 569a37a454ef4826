"""`sylvan analyze`: search a position and rank its moves, or annotate the games of a PGN."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli import completion
from sylvan.cli.games import analyze_games
from sylvan.cli.positions import are_pgns, read_position
from sylvan.cli.searching import (
    EvaluatorOption,
    evaluator_of,
    has_limit,
    is_network,
    search_settings,
)
from sylvan.cli.terminal import Bar, check_folder, print_json
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.evaluators import EvaluatorLike
    from sylvan.games import Game
    from sylvan.planning import EdgeView, Search, SearchResult, Status
    from sylvan.planning.search import Progress

__all__ = ["analyze"]

OUTCOMES = 8
"""Most outcomes of chance that an error lists."""

# Default limit, about a second of chess on two cores, without a network and with one.
SIMULATIONS, NETWORK_SIMULATIONS = 200_000, 4_000

TREE_NODES = 1000
"""Most nodes of a tree file with `--tree-depth` or `--tree-width`."""
TREE_SUFFIXES = (".svg", ".dot", ".gv", ".json", ".sylvan")


def analyze(
    position: Annotated[
        list[str] | None,
        typer.Argument(
            help="A FEN, moves, a FEN and moves, .pgn files, `-` for a PGN, or a .sylvan file."
        ),
    ] = None,
    pgn: Annotated[
        Path | None, typer.Option(help="Annotate the games of this PGN file.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the annotated games to this PGN file.")
    ] = None,
    game: Annotated[
        str,
        typer.Option(
            "--game",
            "-g",
            help="The game: connect4, path.py:Class, open_spiel:name, a run's folder.",
            autocompletion=completion.games,
        ),
    ] = "chess",
    chess960: Annotated[bool, typer.Option("--chess960", help="Use Chess960 castling.")] = False,
    simulations: Annotated[
        int | None,
        typer.Option("--simulations", "-n", min=0, help="Stop after this many simulations."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", "-t", min=0, help="Stop after this many seconds.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", help="Memory limit of the tree: `500MB`, `4GB`.")
    ] = None,
    net: Annotated[
        Path | None, typer.Option(help="A network: .onnx, .safetensors, .pb or .pb.gz.")
    ] = None,
    evaluator: EvaluatorOption = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of random choices.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; results do not depend on them.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other field of `SearchConfig`."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "--multipv", "-k", min=1, help="Number of moves to show.")
    ] = 10,
    tree: Annotated[
        Path | None, typer.Option(help="Write the tree to this .svg, .dot, .json or .sylvan file.")
    ] = None,
    tree_depth: Annotated[
        int | None, typer.Option(min=1, help="Moves from the root that the tree file shows.")
    ] = None,
    tree_width: Annotated[
        int | None, typer.Option(min=1, help="Moves of a position that it shows, the best ones.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search a position and rank its moves, or annotate the games of a PGN.

    N is the number of visits of a move; Q its mean value for the side to move, from -1 (lost) to 1
    (won); P its prior probability from the evaluator. For a PGN, every position is searched, and
    mistakes are marked.

    Examples:

    - `sylvan analyze "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"` a position
    - `sylvan analyze 1. e4 e5 2. Nf3` moves from the start, SAN or UCI
    - `sylvan analyze e4 --seconds 5 --tree tree.svg` a time limit, and a picture of the tree
    - `sylvan analyze e4 --tree e4.sylvan`, then `sylvan analyze e4.sylvan` keep an analysis
    - `sylvan analyze e4.sylvan --seconds 60 --tree e4.sylvan` go on with it
    - `sylvan analyze --net maia-1500.pb.gz e4 e5 --multipv 3` with a network
    - `sylvan analyze first.pgn second.pgn --out annotated.pgn` annotate games
    - `sylvan analyze --game connect4 4453` another game
    - `sylvan analyze --game runs/first` the game of a training run, with its network
    - `sylvan analyze --set c_puct=2.5 --set fpu=parent --json` settings; output for a program
    """
    from sylvan.engines.match.match import check_evaluator
    from sylvan.evaluators.loading import is_run

    words = position or []
    check_folder(out)
    given = {
        "simulations": simulations,
        "seconds": seconds,
        "bytes": None if memory is None else _bytes(memory),
        "seed": seed,
        "threads": threads,
    }
    settings = search_settings(setting or [], given)
    if len(words) == 1 and words[0].endswith(".sylvan"):
        judge = None if net is None and evaluator is None else evaluator_of(net, evaluator)
        interrupted = _saved(Path(words[0]), game, settings, judge, top, tree, as_json=as_json)
        if interrupted:
            raise typer.Exit(130)
        return
    if pgn is not None or are_pgns(words):
        if tree is not None or game != "chess" or (pgn is not None and words):
            raise ConfigError("A PGN is analysed as a whole: omit --tree, --game and moves.")
        if chess960:
            raise ConfigError("A PGN states whether it is Chess960: omit --chess960.")
        sources = words if pgn is None else [str(pgn)]
        analyze_games(sources, evaluator_of(net, evaluator), settings, out, as_json)
        return
    if out is not None:
        raise ConfigError(f"--out {out} is for games: give a PGN, or --tree for the tree.")
    if chess960 and game != "chess":
        raise ConfigError(f"--chess960 is for chess, not {game}: omit it.")
    state = _view_of_mover(read_position(game, words, chess960=chess960))
    if tree is not None:
        _check_tree(tree)
    elif tree_depth is not None or tree_width is not None:
        raise ConfigError("--tree-depth and --tree-width are for --tree FILE: add it.")
    if net is None and evaluator is None and is_run(game):
        net = Path(game)
    judge = evaluator_of(net, evaluator)
    check_evaluator(state, judge)
    limit = NETWORK_SIMULATIONS if is_network(state, net, evaluator) else SIMULATIONS
    settings.setdefault("simulations", None if has_limit(settings) else limit)
    result, interrupted = _search(state, judge, settings)
    if as_json:
        print_json(_facts(result, top))
    else:
        _print(result, top)
    if tree is not None:
        result.save(tree, **_tree_bounds(tree_depth, tree_width))
        print(f"The tree is saved in {tree}.", file=sys.stderr if as_json else sys.stdout)
    if interrupted:
        raise typer.Exit(130)


def _saved(
    path: Path,
    game: str,
    settings: dict[str, Any],
    judge: EvaluatorLike | None,
    top: int,
    tree: Path | None,
    *,
    as_json: bool,
) -> bool:
    """Show a saved analysis, with a limit go on with its search, and write its tree; returns
    whether Ctrl-C ended the search.
    """
    from sylvan.planning import SearchResult

    result = SearchResult.load(path, None if game == "chess" else game)
    if tree is not None:
        _check_tree(tree)
    interrupted = False
    if "simulations" in settings or has_limit(settings):
        result, interrupted = _resumed(result, settings, judge)
    elif settings or judge is not None:
        raise ConfigError(f"To go on with the search of {path}, add --simulations or --seconds.")
    if as_json:
        print_json(_facts(result, top))
    else:
        _print(result, top)
    if tree is not None:
        result.save(tree)
    return interrupted


def _resumed(
    result: SearchResult, settings: dict[str, Any], judge: EvaluatorLike | None
) -> tuple[SearchResult, bool]:
    """Go on with a saved search, with its settings but for those given.

    :raises ConfigError: the evaluator is not the one that it had.
    """
    from sylvan import Search
    from sylvan.evaluators import evaluator_for, evaluator_names
    from sylvan.evaluators.protocol import name_of

    if judge is None and result.evaluator in evaluator_names():
        judge = result.evaluator
    found = evaluator_for(result.game, judge)
    if name_of(found) != result.evaluator:
        raise ConfigError(
            f"The file was searched with {result.evaluator}, not with {name_of(found)}: name its "
            "network with --net, or its evaluator with --evaluator."
        )
    unlimited = {"simulations": None, "seconds": None, "nodes": None, "depth": None}
    config = result.config.replace(**unlimited | settings)
    search = Search(found, config)
    return _watched(search, lambda progress: search.resume(result, progress=progress))


def _tree_bounds(depth: int | None, width: int | None) -> dict[str, int | None]:
    """Return the bounds of the tree file; none: its default."""
    if depth is None and width is None:
        return {}
    return {"depth": depth, "width": width, "visits": 1, "nodes": TREE_NODES}


def _view_of_mover(state: Game) -> Game:
    """Return what the seat to move sees of a position.

    :raises ConfigError: no seat is to move.
    """
    from sylvan.planning.roots import need_turn, seen_by_mover
    from sylvan.planning.tree import label

    if not state.is_chance():
        need_turn(state, "The position")
    if state.is_chance():
        labels = [label(state, action) for action, _ in state.chance_outcomes()]
        outcomes = " ".join([*labels[:OUTCOMES], "..."] if len(labels) > OUTCOMES else labels)
        raise ConfigError(f"Chance moves in this position: add one of its outcomes: {outcomes}")
    return seen_by_mover(state)


def _check_tree(path: Path) -> None:
    """Reject an unwritable path before a long search."""
    if path.suffix not in TREE_SUFFIXES:
        raise ConfigError(f"--tree {path} must end in one of {', '.join(TREE_SUFFIXES)}.")
    check_folder(path)


def _bytes(text: str) -> int:
    """Parse a size with its unit into bytes; a bare number is bytes.

    >>> _bytes("64MB"), _bytes("1.5 GiB"), _bytes("100000")
    (64000000, 1610612736, 100000)
    """
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    units |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[kmgt]i?)b?", text.strip().lower())
    if match is None:
        raise ConfigError(f"--memory {text} is not a size: write 500MB or 4GB.")
    return int(float(match[1]) * units[match[2]])


def _search(
    state: Game, evaluator: EvaluatorLike | None, settings: dict[str, Any]
) -> tuple[SearchResult, bool]:
    """Return the result, and whether Ctrl-C ended the search; a second Ctrl-C exits."""
    from sylvan import Search

    search = Search(evaluator, **settings)
    return _watched(search, lambda progress: search.run(state, progress=progress))


def _watched(search: Search, run: Callable[[Progress], SearchResult]) -> tuple[SearchResult, bool]:
    """Run a search under a progress bar."""
    with Bar("searching") as bar:

        def progress(status: Status) -> None:
            # Show the limit that is nearer.
            counts = (status.simulations, status.limit), (status.elapsed, status.seconds)
            shares = [done / limit for done, limit in counts if limit]
            bar.show(max(shares, default=0.0), 1.0 if shares else None)

        try:
            return run(progress), False
        except KeyboardInterrupt:
            return search.result, True


def _facts(result: SearchResult, top: int) -> dict[str, Any]:
    """Return the result as plain data; for chess with the score and line of every move."""
    facts = result.to_json(moves=top)
    if not _is_chess(result):
        return facts
    from sylvan.players.score import edge_score, result_score

    score = result_score(result)
    facts |= {"score": {"cp": score.cp, "mate": score.mate}, "fen": result.game.fen()}  # type: ignore[attr-defined]
    for move, edge in zip(facts["moves"], result.tree.root.edges, strict=False):
        score_of_move = edge_score(edge)
        known = score_of_move and {"cp": score_of_move.cp, "mate": score_of_move.mate}
        move |= {"score": known, "pv": line_labels(result, edge)}
    return facts


def _is_chess(result: SearchResult) -> bool:
    from sylvan.games import Chess

    return isinstance(result.game, Chess)


def line_labels(result: SearchResult, edge: EdgeView) -> list[str]:
    """Format a move and its expected continuation."""
    from sylvan.planning.roots import as_root
    from sylvan.planning.tree import label

    state, labels = as_root(result.game), []
    for action in edge.line:
        labels.append(label(state, action))
        state.apply(action)
    return labels


def _print(result: SearchResult, top: int) -> None:
    """Print the board, the ranked moves, the search's cost and the principal variation."""
    from rich.console import Console

    from sylvan.cli.board import plain
    from sylvan.views import table

    scores = None
    if _is_chess(result):
        from sylvan.players.score import edge_score

        found = {edge.action: edge_score(edge) for edge in result.tree.root.edges}
        scores = {action: str(score) for action, score in found.items() if score is not None}
    console = Console(highlight=False, markup=False)
    shown = str(result.game) if _is_chess(result) else plain(result.game, 0)
    console.print(shown, end="\n\n")
    console.print(table(result, rows=top, scores=scores))
    console.print(f"\nPrincipal variation: {' '.join(result.pv_labels) or 'none'}")
