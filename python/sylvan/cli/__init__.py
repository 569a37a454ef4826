"""The `sylvan` command: one file per subcommand, and their shared helpers.

| file | contents |
|---|---|
| `terminal` | one-line errors, a progress bar, JSON |
| `completion` | what the shell completes: games, evaluators, loggers, runs |
| `searching` | options of the commands that search |
| `positions` | parse positions from the command line |
| `games` | annotate the games of a PGN |
| `board` | boards as text |
| `analyze` | rank the moves of a position |
| `conversation` | a session in the terminal |
| `opinion` | exact values during a game |
| `rules` | the rules of a game |
| `play_game` | a game in the terminal, of every game but Blob |
| `blob_screen` | Blob as text |
| `play_blob` | play Blob against bots |
| `play` | play against the search |
| `advise` | advice at a real table of Blob |
| `match` | play two players and measure the difference in Elo |
| `uci` | the engine for chess GUIs |
| `serve_analysis` | analysis for other programs |
| `serve_network` | a network for several processes |
| `convert` | convert a network to another file format |
| `train` | train a network by self-play |
| `cluster` | look at a run on several machines |
| `examples` | rounds played by bots, as training data |
| `pretrain` | train a network on existing games |
| `practise` | train a Blob network by policy gradient |
| `watch` | watch a run's network act |
| `web` | the browser app |
| `runs` | list, show, compare, plot and export runs |
| `solve` | the exact value of a position |
| `benchmark` | measure the speed of the search, and its signature |
| `bench` | the command that prints them |
| `perft` | count lines of play |
| `diagnosis` | examine the installation |
| `doctor` | the command that prints it |

Invalid input prints one line on stderr, `error: ...`, with exit code 2; a bug in Sylvan prints a
traceback. Tables on stdout are for people; `--json` prints the same facts for programs. Progress
goes to stderr, and only to a terminal.

Commands import slow modules themselves, to keep `sylvan --version` fast.
"""

from typing import Annotated

import typer

from sylvan.cli.advise import advise
from sylvan.cli.analyze import analyze
from sylvan.cli.bench import bench
from sylvan.cli.cluster import cluster
from sylvan.cli.convert import convert
from sylvan.cli.doctor import doctor
from sylvan.cli.examples import examples
from sylvan.cli.match import match
from sylvan.cli.perft import perft
from sylvan.cli.play import play
from sylvan.cli.practise import practise
from sylvan.cli.pretrain import pretrain
from sylvan.cli.runs import runs
from sylvan.cli.serve_analysis import serve_analysis
from sylvan.cli.serve_network import serve_network
from sylvan.cli.solve import solve
from sylvan.cli.terminal import OneLineErrors
from sylvan.cli.train import train
from sylvan.cli.uci import uci
from sylvan.cli.watch import watch
from sylvan.cli.web import web

__all__ = ["app"]

app = typer.Typer(
    cls=OneLineErrors,
    name="sylvan",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Plan by tree search: analyse positions, solve them, measure the search.

    Examples:

    - `sylvan analyze` analyses the start position of chess
    - `sylvan analyze --help` shows how to give another position
    - `sylvan doctor` shows what is installed and works
    """
    if version:
        from importlib import metadata

        print(f"sylvan {metadata.version('sylvan')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


COMMANDS = (
    analyze,
    web,
    play,
    advise,
    match,
    uci,
    serve_analysis,
    serve_network,
    convert,
    train,
    examples,
    pretrain,
    practise,
    watch,
    solve,
    bench,
    perft,
    doctor,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(runs)
app.add_typer(cluster)
