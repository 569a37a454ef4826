"""`sylvan serve-analysis`: analysis for other programs, one JSON object per line."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any

import typer

from sylvan.cli.terminal import print_json

__all__ = ["serve_analysis"]


def serve_analysis(
    net: Annotated[
        str,
        typer.Option("--net", "-n", metavar="PATH", help="A network, or the name of an evaluator."),
    ] = "shipped",
    simulations: Annotated[
        int, typer.Option(min=0, help="Simulations per position, if a query gives none.")
    ] = 800,
    batch: Annotated[
        int, typer.Option(min=1, max=4096, help="Positions analysed in parallel.")
    ] = 64,
    memory: Annotated[
        int, typer.Option(min=4, metavar="MB", help="Memory limit of all trees in MB.")
    ] = 2048,
    cache: Annotated[
        int, typer.Option(min=0, metavar="MB", help="Size of the evaluation cache in MB.")
    ] = 64,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of the network; without one, of the search.")
    ] = None,
    backend: Annotated[
        str, typer.Option(help="Runtime of the network: auto, onnx or torch.")
    ] = "auto",
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of queries and answers.")
    ] = False,
) -> None:
    """Analyse positions for another program: JSON objects in, JSON objects out, one per line.

    Several positions are analysed in one batch; queries have priorities and can be cancelled. An
    invalid line is answered with an error in JSON that names the field. After the end of the input
    all remaining queries are answered.

    Examples:

    - `echo '{"id": 1, "moves": "e4 e5", "simulations": 500}' | sylvan serve-analysis`
    - `sylvan serve-analysis --net maia-1500.pb.gz < queries.jsonl > reports.jsonl`
    - `sylvan serve-analysis --schema` the JSON Schema of all fields
    """
    from sylvan.engines.analysis.schema import schema as fields

    if schema:
        print_json(fields())
        return
    from sylvan.engines.analysis.server import Server
    from sylvan.engines.lines import Output, lines_of
    from sylvan.engines.weights import evaluator_of

    evaluator = evaluator_of(net, backend=backend, threads=threads, cache_bytes=cache * 2**20)
    output = Output(sys.stdout)
    settings: dict[str, Any] = {
        "simulations": simulations,
        "bytes": memory * 2**20,
        "threads": threads or 1,
    }

    def say(line: str) -> None:
        output.say(line)
        if output.closed:  # the reader is gone: drop the remaining queries
            os._exit(0)

    server = Server(say, evaluator, slots=batch, **settings)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C exits at once
    for line in lines_of(sys.stdin.buffer):
        server.hear(line)
    server.close()
