"""`sylvan analyze game.pgn`: annotate all games of a PGN."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sylvan.cli.searching import has_limit
from sylvan.cli.terminal import Bar, print_json

if TYPE_CHECKING:
    import chess.pgn

    from sylvan.engines.analysis.annotate import Annotation
    from sylvan.evaluators import EvaluatorLike
    from sylvan.planning import Search

__all__ = ["analyze_games"]

# Default limits per position, a fifth of a second, without a network and with one.
SIMULATIONS, NETWORK_SIMULATIONS = 20_000, 400


def analyze_games(
    sources: list[str],
    evaluator: EvaluatorLike | None,
    settings: dict[str, Any],
    out: Path | None,
    as_json: bool,
) -> None:
    """Annotate the games of some files (`-`: stdin), print a summary, write them to `out`."""
    from sylvan.files import write_text
    from sylvan.games.pgn import game_text
    from sylvan.planning import Search

    games = [game for source in sources for game in _read(source)]
    is_fast = isinstance(evaluator, str) and evaluator != "shipped"
    limit = SIMULATIONS if is_fast else NETWORK_SIMULATIONS
    settings.setdefault("simulations", None if has_limit(settings) else limit)
    search = Search(evaluator, **settings)
    with Bar("annotating the games") as bar:
        done = _annotated(games, search, bar)
    if out is not None:
        write_text(out, "".join(game_text(game.game) for game in done))
    if as_json:
        print_json({"games": [game.to_json() for game in done]})
    else:
        print("\n\n".join(map(_report, done)))
        if out is not None:
            print(f"\nThe games are in {out}.")
    if done[-1].interrupted:
        raise typer.Exit(130)


def _read(source: str) -> list[chess.pgn.Game]:
    """Read the games of a file, or of stdin."""
    from sylvan.games.pgn import read_games, read_text

    text = sys.stdin.read() if source == "-" else read_text(Path(source))
    return list(read_games(text, "the input" if source == "-" else source))


def _annotated(games: list[chess.pgn.Game], search: Search, bar: Bar) -> list[Annotation]:
    """Annotate games one after another; Ctrl-C returns the finished ones."""
    from sylvan.engines.analysis.annotate import annotate

    done: list[Annotation] = []
    searched, total = 0, sum(1 + sum(1 for _ in game.mainline()) for game in games)
    for game in games:
        done.append(annotate(game, search, partial(_show, bar, searched, total)))
        searched += len(done[-1].moves) + 1
        if done[-1].interrupted:
            break
    return done


def _show(bar: Bar, before: int, total: int, done: int, _: int) -> None:
    bar.show(before + done, total)


def _report(annotation: Annotation) -> str:
    """Format a game's summary and its marked moves."""
    headers = annotation.game.headers
    lines = [f"{headers.get('White', '?')} - {headers.get('Black', '?')}  {headers['Result']}"]
    lines.append("          moves  average loss  centipawns   ?!    ?   ??  as the search")
    for side, player in zip(("White", "Black"), annotation.players, strict=True):
        loss, agreement = 100 * player.average_loss, 100 * player.agreement
        pawns = player.average_centipawn_loss
        marks = (player.inaccuracies, player.mistakes, player.blunders)
        lines.append(
            f"{side}     {player.moves:>5}  {loss:>10.1f} %  {pawns:>10.0f} "
            f"{' '.join(f'{count:>4}' for count in marks)}  {agreement:>11.0f} %"
        )
    for move in annotation.moves:
        if move.mark:
            number = f"{(move.ply + 1) // 2}{'.' if move.seat == 0 else '...'}"
            lines.append(
                f"{number:>6} {move.move + move.mark:<10} {move.score or 'end':>7}  lost "
                f"{100 * move.loss:.0f} %, better {' '.join(move.line)}"
            )
    if annotation.interrupted:
        lines.append("interrupted: later moves are not annotated")
    return "\n".join(lines)
