"""Start the server and say where it is."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from sylvan.errors import ConfigError
from sylvan.web.app import make_app
from sylvan.web.desk import Desk
from sylvan.web.protocol import MOST_BYTES
from sylvan.web.security import Policy

__all__ = ["serve"]


def serve(
    desk: Desk,
    policy: Policy,
    port: int,
    on_ready: Callable[[str], None],
    *,
    fallback: bool = False,
) -> None:
    """Serve until Ctrl-C. `on_ready` is called with the address once pages can be opened.

    :param port: 0: any free one.
    :param fallback: take any free port if `port` is taken.
    :raises ConfigError: the port is taken.
    :raises MissingPage: the page is not built.
    """
    app = make_app(desk, policy)
    listening = _bound(policy.host, port, fallback=fallback)
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config, lambda: on_ready(_address(policy, listening.getsockname()[1])))
    with listening:
        server.run([listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _bound(host: str, port: int, *, fallback: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        try:
            listening.bind((host, port))
        except OSError:
            if not fallback:
                raise
            listening.bind((host, 0))
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            f"{host}:{port} cannot be used ({reason}): give another --port or --host."
        ) from None
    return listening


def _address(policy: Policy, port: int) -> str:
    """The address to open, with the token if one is needed."""
    host = "127.0.0.1" if policy.host in ("0.0.0.0", "::") else policy.host
    name = f"[{host}]" if ":" in host else host
    query = "" if policy.token is None else f"?token={policy.token}"
    return f"http://{name}:{port}/{query}"
