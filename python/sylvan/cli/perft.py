"""`sylvan perft`: count the leaf positions of a chess position, move by move."""

from typing import Annotated

import typer

from sylvan.cli.terminal import Bar, print_json
from sylvan.errors import ConfigError

__all__ = ["perft"]

MOST = 256
"""Most plies."""


def perft(
    fen: Annotated[str, typer.Argument(help="A position, or `startpos`.")],
    depth: Annotated[int, typer.Argument(min=0, help="Depth in plies.")],
    chess960: Annotated[bool, typer.Option("--chess960", help="Use Chess960 castling.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count the lines of play of a given length: the standard test of a move generator.

    Examples:

    - `sylvan perft startpos 5` counts 4,865,609
    - `sylvan perft "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1" 4`
    - `sylvan perft --chess960 "bqnbnrkr/pppppppp/8/8/8/8/PPPPPPPP/BQNBNRKR w HFhf - 0 1" 3`
    """
    from time import perf_counter

    from sylvan.games import Chess

    if depth > MOST:
        raise ConfigError(f"depth is {depth}: give 0 to {MOST} plies.")
    game = Chess(None if fen == "startpos" else fen, chess960=chess960)
    began = perf_counter()
    counts: dict[str, int] = {}
    # One root move at a time, to show progress.
    actions = game.legal_actions() if depth > 0 else []
    with Bar(f"perft {depth}") as bar:
        for done, action in enumerate(actions):
            bar.show(done, len(actions))
            child = game.clone()
            child.apply(action)
            counts[game.action_to_string(action)] = child.perft(depth - 1)
    total = sum(counts.values()) if depth > 0 else 1
    seconds = perf_counter() - began
    if as_json:
        print_json({"depth": depth, "nodes": total, "moves": counts, "seconds": seconds})
        return
    for move, count in sorted(counts.items()):
        print(f"{move:<6}{count:>16,}")
    print(f"{'total':<6}{total:>16,}   {seconds:.2f} s, {total / max(seconds, 1e-9) / 1e6:.1f} M/s")
