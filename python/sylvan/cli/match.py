"""`sylvan match`: let two players play and measure the difference in Elo."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sylvan.cli import completion
from sylvan.cli.positions import spec_of
from sylvan.cli.terminal import Bar, check_folder, json_text, print_json
from sylvan.errors import ConfigError, SylvanError

if TYPE_CHECKING:
    from sylvan.engines.match.ledger import Ledger
    from sylvan.engines.match.match import Match
    from sylvan.engines.match.report import Report
    from sylvan.games.naming import GameSpec
    from sylvan.players.elo import Sprt

__all__ = ["match"]


def match(
    a: Annotated[
        str, typer.Argument(metavar="A", help="First player; the result is from its view.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Second player.")],
    games: Annotated[int, typer.Option("--games", "-g", min=1, help="Number of games.")] = 100,
    game: Annotated[
        str | None,
        typer.Option(
            help="A game of two seats (default: that of the players' runs, else chess).",
            autocompletion=completion.games,
        ),
    ] = None,
    openings: Annotated[
        Path | None,
        typer.Option(help="Openings from a .pgn, .epd or .fen file (default: built in)."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Simulations per move for players without their own limit."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Seconds per move for those players.")
    ] = None,
    tc: Annotated[
        str | None, typer.Option(help="Clock for those players: seconds+increment.")
    ] = None,
    or_random: Annotated[
        bool,
        typer.Option("--or-random", help="Play random moves for a program that is not installed."),
    ] = False,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", min=1, help="Games played in parallel.")
    ] = None,
    sprt: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="ELO0 ELO1", help="Stop by SPRT between these two Elo differences."),
    ] = None,
    max_plies: Annotated[
        int | None,
        typer.Option(min=1, help="Adjudicate a draw this many half-moves after the opening."),
    ] = None,
    resign: Annotated[
        float | None,
        typer.Option(help="Adjudicate a win when both players expect this score, 0-1."),
    ] = None,
    draw: Annotated[
        float | None,
        typer.Option(help="Adjudicate a draw when both are within this of equal, 0-1."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random choices.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Store the games here; a rerun continues.")
    ] = None,
    pgn: Annotated[Path | None, typer.Option(help="Write the games to this PGN file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report to this JSON file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let two players play each other and measure the difference in Elo.

    A player is `random`; `material`, `rollout` or `uniform`; a network file or the folder of a
    training run; or `uci:` and the command of a chess program. Settings follow a colon:
    `material:simulations=800,c_puct=2`.
    Every opening is played twice, with seats swapped. Other games than chess have random openings.

    Examples:

    - `sylvan match material random --games 20`
    - `sylvan match maia-1900.pb.gz:nodes=800 maia-1900.pb.gz:nodes=1 --games 200`
    - `sylvan match material "uci:stockfish Skill Level=0" --tc 1+0.01 -c 2 --pgn games.pgn`
    - `sylvan match runs/new runs/old --sprt 0 10 --out match.jsonl` run it again to continue
    - `sylvan match rollout:simulations=400 uniform --game connect4` another game
    """
    from sylvan.engines.match.arbiter import Adjudication
    from sylvan.engines.match.ledger import Ledger
    from sylvan.engines.match.match import Match
    from sylvan.engines.match.openings import read_openings
    from sylvan.engines.match.report import as_pgn
    from sylvan.files import write_text
    from sylvan.players.elo import Sprt
    from sylvan.players.specs import Limits, TimeControl, player_spec

    for path in (out, pgn, report):
        check_folder(path)
    clock = None if tc is None else TimeControl.parse(tc)
    limits = Limits(nodes=nodes, seconds=seconds, tc=clock)
    if or_random:
        a, b = map(_installed, (a, b))
    pair = (player_spec(a).limited(limits), player_spec(b).limited(limits))
    spec = _game(game, [a, b])
    if spec.name != "chess" and (openings is not None or pgn is not None):
        raise ConfigError(f"--openings and --pgn are for chess, not {spec.name}: omit them.")
    lines = () if openings is None else tuple(read_openings(openings))
    rules = Adjudication(length=max_plies, resign=resign, draw=draw)
    plan = Match(pair, lines, rules, seed, spec)
    plan.check()
    test = None if sprt is None else Sprt(*sprt)
    if out is None:
        played, interrupted = _play(plan, games, concurrency, test, None)
    else:
        with Ledger(out, plan) as ledger:
            played, interrupted = _play(plan, games, concurrency, test, ledger)
    if pgn is not None:
        write_text(pgn, as_pgn(played))
    if report is not None:
        write_text(report, json_text(played.to_json()) + "\n")
    if as_json:
        print_json(played.to_json())
    else:
        print(played)
    if interrupted:
        raise typer.Exit(130)


def _installed(player: str) -> str:
    """Return a player's text, or `random` in place of a program that is not installed."""
    import sys

    from sylvan.players.specs import is_installed

    if is_installed(player):
        return player
    print(f"{player} is not installed: random moves take its place.", file=sys.stderr)
    return "random"


def _game(name: str | None, players: list[str]) -> GameSpec:
    """Return the named game, or that of the players' runs; chess without runs.

    :raises ConfigError: the runs are of different games, or not of the named one.
    """
    from sylvan.evaluators.loading import is_run
    from sylvan.games.naming import GameSpec
    from sylvan.players.specs import player_spec

    sources = [player_spec(text).source for text in players]
    games: dict[str, GameSpec] = {}
    for source in filter(is_run, sources):
        with suppress(SylvanError):  # a run without settings: its network says what it plays
            games[source] = spec_of(source)
    spec = spec_of(name) if name is not None else next(iter(games.values()), GameSpec("chess"))
    for source, other in games.items():
        if other != spec:
            raise ConfigError(f"{source} plays {other.name}, not {spec.name}: match its own game.")
    return spec


def _play(
    plan: Match, games: int, concurrency: int | None, test: Sprt | None, ledger: Ledger | None
) -> tuple[Report, bool]:
    """Return the match result, and whether Ctrl-C ended it."""
    from sylvan.engines.match.report import Report
    from sylvan.runs.interrupts import Interrupts

    done = [] if ledger is None else [game for game in ledger.games if game.number < games]
    report = Report(plan, done, test)
    if report.verdict is not None:
        return report, False
    known = {game.number for game in done}
    playing = plan.play((n for n in range(games) if n not in known), concurrency)
    with Bar("playing") as bar:
        bar.show(len(done), games)
        try:
            for game in playing:
                with Interrupts(asked=lambda: None) as interrupts:  # file and report agree
                    if ledger is not None:
                        ledger.add(game)
                    done.append(game)
                if interrupts.requested:
                    return report, True
                bar.show(len(done), games)
                if report.verdict is not None:
                    break
        except KeyboardInterrupt:
            return report, True
        finally:
            playing.close()  # type: ignore[attr-defined]
    return report, False
