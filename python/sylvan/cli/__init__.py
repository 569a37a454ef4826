"""The `sylvan` command: a subcommand per job, a file per subcommand.

What is wrong with the input is one line on stderr, `error: ...`, and exit code 2; what is wrong
with Sylvan keeps its traceback. Tables on stdout are for people; `--json` prints the same facts for
programs. Progress goes to stderr, and only to a terminal.

Whatever is dear to import is imported by the command that needs it, so `sylvan --version` is quick.
"""

from typing import Annotated

import typer

from sylvan.cli.advise import advise
from sylvan.cli.analyze import analyze
from sylvan.cli.bench import bench
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
from sylvan.cli.solve import solve
from sylvan.cli.terminal import OneLineErrors
from sylvan.cli.train import train
from sylvan.cli.uci import uci
from sylvan.cli.watch import watch

__all__ = ["app"]

app = typer.Typer(
    cls=OneLineErrors,
    name="sylvan",
    add_completion=False,
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

    - `sylvan analyze` looks at the start of a game of chess
    - `sylvan analyze --help` shows how to give it a position
    - `sylvan doctor` says what is installed here and works
    """
    if version:
        from importlib import metadata

        print(f"sylvan {metadata.version('sylvan')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


COMMANDS = (
    analyze,
    play,
    advise,
    match,
    uci,
    serve_analysis,
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
