"""`sylvan uci`: a UCI engine for chess GUIs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sylvan.errors import ConfigError

__all__ = ["uci"]


def uci(
    lines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LINE]...", help="UCI commands to run, one per argument, instead of stdin."
        ),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(
            "--net", "-n", metavar="PATH", help="A network; sets the option `WeightsFile`."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Set a UCI option at the start."),
    ] = None,
) -> None:
    """Play chess over UCI, the protocol of chess GUIs.

    A GUI needs the path of a program: give it `sylvan-uci`, which is this command without
    arguments. The GUI then sets the options that `uci` lists. By hand:

    - `sylvan uci` then `uci`, `position startpos moves e2e4`, `go movetime 1000`, `quit`
    - `sylvan uci "position startpos moves e2e4" "go nodes 20000"` the same in one line
    - `sylvan uci --net maia-1500.pb.gz -o MultiPV=3 "go nodes 500"` with a network and options
    """
    from sylvan.engines.lines import Output
    from sylvan.engines.uci.engine import main, run_lines
    from sylvan.engines.uci.options import Options, changed

    options = Options()
    for text in [*([f"WeightsFile={net}"] if net is not None else []), *(option or [])]:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--option {text} has no value: write --option Name=value.")
        options = changed(options, name, value)
    if lines:
        run_lines(lines, Output(sys.stdout), options)
    else:
        main(options)
