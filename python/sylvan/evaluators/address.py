"""The address of a network server: a Unix socket, or a port of this machine."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sylvan.errors import ConfigError

__all__ = ["PREFIX", "Address", "without_delay"]

PREFIX = "socket:"
"""The prefix of a server's name."""

UNIX_PATH = 100
"""Most bytes in the path of a Unix socket, on all systems."""
LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Address:
    """Where a server listens: the path of a Unix socket, or a port of this machine.

    >>> print(Address.parse("socket:/tmp/net.sock"), Address.parse("127.0.0.1:7000"))
    socket:/tmp/net.sock socket:127.0.0.1:7000
    """

    path: str | None = None
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `PATH`, `127.0.0.1:PORT` or `localhost:PORT`, with or without `socket:`.

        :raises ConfigError: it is neither, or not on this machine.
        """
        address = text.removeprefix(PREFIX)
        host, colon, port = address.rpartition(":")
        if colon and "/" not in address:
            if host not in LOOPBACK:
                raise ConfigError(
                    f"The address {text!r} is not on this machine: a network server has no "
                    "passwords; give a path, or 127.0.0.1:PORT."
                )
            if not (port.isascii() and port.isdigit() and int(port) < 2**16):
                raise ConfigError(f"The port {port!r} in {text!r} is not a number below 65536.")
            return cls(port=int(port))
        if not address or len(address.encode()) > UNIX_PATH or "\0" in address:
            raise ConfigError(
                f"The path {address!r} cannot name a socket: give one of 1 to {UNIX_PATH} bytes."
            )
        return cls(path=address)

    def __str__(self) -> str:
        return PREFIX + (self.path or f"127.0.0.1:{self.port}")

    def open(self) -> socket.socket:
        """Return an unconnected socket of the address's kind."""
        if self.path is None:
            return socket.socket(socket.AF_INET)
        if not hasattr(socket, "AF_UNIX"):
            raise ConfigError("This system has no Unix sockets: give 127.0.0.1:PORT instead.")
        return socket.socket(socket.AF_UNIX)

    @property
    def target(self) -> str | tuple[str, int]:
        """The argument of `connect` and `bind`."""
        return self.path or ("127.0.0.1", self.port)

    def connect(self) -> socket.socket:
        """Connect to a server.

        :raises OSError: no server listens.
        """
        connection = self.open()
        try:
            connection.connect(self.target)
        except OSError:
            connection.close()
            raise
        without_delay(connection)
        return connection

    def listen(self) -> socket.socket:
        """Listen; replace a socket's file that a dead server left.

        :raises ConfigError: a server listens already, or the path cannot be used.
        """
        listener = self.open()
        try:
            if self.path is None:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            elif Path(self.path).is_socket():
                self._remove_if_dead()
            listener.bind(self.target)
            if self.path is not None:
                Path(self.path).chmod(0o600)  # only this user's processes
            listener.listen()
        except OSError as error:
            listener.close()
            raise ConfigError(f"{self} cannot be opened ({error.strerror}).") from None
        except BaseException:
            listener.close()
            raise
        return listener

    def _remove_if_dead(self) -> None:
        try:
            self.connect().close()
        except OSError:
            with suppress(FileNotFoundError):
                Path(self.path or "").unlink()
        else:
            raise ConfigError(f"A server is already listening on {self}: give another path.")


def without_delay(connection: socket.socket) -> None:
    """Send small messages at once over TCP; a Unix socket does anyway."""
    if connection.family == socket.AF_INET:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
