"""`sylvan serve-network`: one network for several processes on this machine."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from sylvan.errors import ConfigError

__all__ = ["serve_network"]


def serve_network(
    network: Annotated[
        str,
        typer.Argument(
            help="A network: .onnx, .safetensors, .pb, .pb.gz, a run's folder; or shipped, the "
            "chess network that comes with Sylvan."
        ),
    ],
    socket: Annotated[
        Path, typer.Option(metavar="PATH", help="Listen on this Unix socket.")
    ] = Path("network.sock"),
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Listen on this port of 127.0.0.1 (0: a free one)."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Most positions evaluated at once.")] = 1024,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of the network.")] = None,
    backend: Annotated[
        str, typer.Option(help="Runtime of the network: auto, onnx or torch.")
    ] = "auto",
    device: Annotated[
        str | None, typer.Option(help="With PyTorch: cpu, cuda or cuda:1 (default: a GPU, if any).")
    ] = None,
) -> None:
    """Hold a network for several processes of this machine, which share its batches.

    Give `socket:PATH`, as it prints it, wherever an evaluator, a network or a player is named. It
    serves until Ctrl-C. Another user cannot open the Unix socket; a port has no such protection.

    Examples:

    - `sylvan serve-network shipped` on network.sock in this folder
    - `sylvan serve-network net.onnx --socket /tmp/net.sock --threads 4`
    - `sylvan match socket:/tmp/net.sock:nodes=800 material` a client
    - `sylvan serve-network net.safetensors --port 7000 --device cuda` for `socket:127.0.0.1:7000`
    """
    from sylvan.engines.weights import evaluator_of
    from sylvan.evaluators.loading import is_learned
    from sylvan.evaluators.protocol import name_of
    from sylvan.evaluators.serving import NetworkServer

    if is_learned(network):
        raise ConfigError(f"{network} has a learned model: only networks of rules can be served.")
    if device is not None and backend == "auto":
        backend = "torch"
    options: dict[str, Any] = {} if device is None else {"device": device}
    evaluator = evaluator_of(network, backend=backend, threads=threads, mates=False, **options)
    address = f"socket:127.0.0.1:{port}" if port is not None else f"socket:{socket}"
    with NetworkServer(
        evaluator, address, batch=batch, fingerprint=_fingerprint(network, backend)
    ) as server:
        stop = threading.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: stop.set())
        print(f"{name_of(evaluator)} is at {server.address}", flush=True)
        stop.wait()
    counts = server.counts
    mean = counts.positions / max(1, counts.batches)
    print(
        f"{counts.clients} clients, {counts.positions:,} positions in {counts.batches:,} batches "
        f"({mean:.1f} each), {counts.refused} questions refused",
        file=sys.stderr,
    )


def _fingerprint(network: str, backend: str) -> str:
    """That of the network's file; empty for an evaluator without one."""
    from sylvan.engines.weights import BUILT_IN
    from sylvan.evaluators import shipped_network
    from sylvan.evaluators.loading import fingerprint, network_file
    from sylvan.games import Chess

    if network in BUILT_IN:
        return ""
    file = shipped_network(Chess()) if network == "shipped" else network_file(network, backend)
    return "" if file is None else fingerprint(file)
