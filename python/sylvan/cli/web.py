"""`sylvan web`: the browser app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sylvan.errors import ConfigError, MissingExtra

__all__ = ["web"]

PORT = 8710

RUNS = Path("runs")


def web(
    game: Annotated[
        str, typer.Argument(help="The game to open first: a name, or `my_game.py:MyGame`.")
    ] = "chess",
    port: Annotated[
        int | None,
        typer.Option(
            "--port", "-p", min=0, max=65535, help=f"Default: {PORT}, or any free port if taken."
        ),
    ] = None,
    net: Annotated[
        list[str] | None,
        typer.Option("--net", "-n", metavar="PATH", help="A network to search with; repeatable."),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            "-r",
            metavar="FOLDER",
            help="A run to watch, or a folder of runs; repeatable. Default: runs.",
        ),
    ] = None,
    train: Annotated[
        bool | None,
        typer.Option(
            "--train/--no-train",
            help="Let pages start, pause and resume runs; only on this machine's own address.",
            show_default="on this machine's own address",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but this machine's needs a token.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Another host name of this machine; repeatable."),
    ] = None,
    memory: Annotated[
        int, typer.Option(min=16, metavar="MB", help="Memory of one page's tree in MB.")
    ] = 256,
) -> None:
    """Analyse in the browser: touch the position and the tree while the search runs.

    Examples:

    - `sylvan web` opens chess
    - `sylvan web connect4` opens Connect Four
    - `sylvan web my_game.py:MyGame` opens a game of your own
    - `sylvan web --run elsewhere` watches the runs in another folder learn, and trains there
    - `sylvan web --net runs/chess` searches with the best network of a run
    """
    from sylvan.cli.positions import spec_of

    spec = spec_of(game)
    spec.first()  # a wrong name is said now
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError:
        raise MissingExtra.named("The browser app needs Starlette and uvicorn", "web") from None
    from sylvan.runs.overview import find_runs
    from sylvan.web.desk import Desk
    from sylvan.web.security import Policy, is_loopback
    from sylvan.web.server import serve

    networks = {Path(path).name: Path(path) for path in net or ()}
    if len(networks) < len(net or ()):
        raise ConfigError("Two networks have the same file name: rename one of them.")
    if train and not is_loopback(host):
        raise ConfigError(f"--train is for this machine only: omit --host {host}.")
    for folder in run or ():
        find_runs(folder)  # a wrong folder is said now
    desk = Desk(
        start=spec.name,
        networks=networks,
        runs=tuple(run or [RUNS]),  # this one may appear later
        trains=is_loopback(host) if train is None else train,
        memory=memory * 2**20,
    )
    desk.first_networks()
    policy = Policy.of(host, tuple(name or ()))
    wanted = PORT if port is None else port
    serve(desk, policy, wanted, _tell, fallback=port is None)


def _tell(address: str) -> None:
    print(f"Sylvan is at {address} (Ctrl-C ends it)", flush=True)
