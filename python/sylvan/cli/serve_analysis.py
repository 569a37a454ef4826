"""`sylvan serve-analysis`: analysis for programs, one JSON object per line."""

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
    ] = "material",
    simulations: Annotated[
        int, typer.Option(min=0, help="Per position, where a query does not say.")
    ] = 800,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Positions analysed at once.")] = 64,
    memory: Annotated[
        int, typer.Option(min=4, metavar="MB", help="Of all trees, in megabytes.")
    ] = 2048,
    cache: Annotated[
        int, typer.Option(min=0, metavar="MB", help="Of a network's evaluations, in megabytes.")
    ] = 64,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of the network, or over positions without one.")
    ] = None,
    backend: Annotated[
        str, typer.Option(help="What computes a network: auto, onnx, torch.")
    ] = "auto",
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of queries and answers.")
    ] = False,
) -> None:
    """Analyse positions for another program: JSON objects in, JSON objects out, one per line.

    Several positions are analysed in one batch; queries have priorities and can be cancelled; what
    is wrong with a line is answered in JSON, with the field at fault. At the end of the input
    everything is still answered.

    Examples:

    - `echo '{"id": 1, "moves": "e4 e5", "simulations": 500}' | sylvan serve-analysis`
    - `sylvan serve-analysis --net maia-1500.pb.gz < queries.jsonl > reports.jsonl`
    - `sylvan serve-analysis --schema` every field, for programs
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
        if output.closed:  # nobody reads any more: what is still asked does not matter
            os._exit(0)

    server = Server(say, evaluator, slots=batch, **settings)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once
    for line in lines_of(sys.stdin.buffer):
        server.hear(line)
    server.close()
