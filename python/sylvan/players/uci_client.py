"""A UCI client: start a chess program and request moves from it.

It serves an arbiter: every wait has a timeout, every failure of a program has a name
(`EngineError.ending`), and `ucinewgame` and `isready` are answered before a clock starts.

The program runs in its own session, so that Ctrl-C in the terminal reaches only the arbiter.
"""

from __future__ import annotations

import queue
import shlex
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import NamedTuple

from sylvan.errors import ConfigError, EngineError

__all__ = ["Answer", "UciClient", "find_program"]

START = 20.0
"""Timeout for `uciok` and `readyok` in seconds."""

MARGIN = 5.0
"""Seconds to wait beyond a program's own limit before it counts as stalled."""


class Answer(NamedTuple):
    """A program's move in UCI notation, and its last score for the side to move."""

    move: str
    cp: int | None
    mate: int | None


def find_program(command: str) -> list[str]:
    """Split a command into words, and check that its program exists.

    :raises ConfigError: there is no such program, or a quote is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"the command {command!r} cannot be parsed: {error}") from None
    if not words:
        raise ConfigError("uci: has no command: write one, such as uci:stockfish")
    if shutil.which(words[0]) is None:
        raise ConfigError(f"the program {words[0]!r} was not found: install it, or give its path")
    return words


class UciClient:
    """A running chess program.

    :raises EngineError: the program does not start, or does not speak UCI.
    :raises ConfigError: the program has no such option.
    """

    def __init__(self, command: Sequence[str], options: Mapping[str, str] | None = None) -> None:
        """Start the program and set its options."""
        self.command = list(command)
        self.name = command[0]
        self.options: dict[str, str] = {}
        """Names of the program's options, by their lower-case form."""
        self._lines: queue.Queue[str | None] = queue.Queue()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(f"{self.name} does not start: {error.strerror}") from None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self._handshake()
            self._configure(options or {})
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        for line in stdout:
            self._lines.put(line.strip())
        self._lines.put(None)  # end of output

    def _handshake(self) -> None:
        self._send("uci")
        for line in self._until("uciok", START):
            words = line.split()
            if words[:2] == ["id", "name"]:
                self.name = " ".join(words[2:])
            elif words[:2] == ["option", "name"] and "type" in words:
                name = " ".join(words[2 : words.index("type")])
                self.options[name.lower()] = name

    def _configure(self, options: Mapping[str, str]) -> None:
        for name, value in options.items():
            if name.lower() not in self.options:
                known = ", ".join(self.options.values()) or "none"
                raise ConfigError(
                    f"{self.name} has no option {name!r}, only {known}; separate arguments and "
                    "options by a semicolon: 'uci:program argument; Option=value'"
                )
            self._send(f"setoption name {self.options[name.lower()]} value {value}")

    def wait_ready(self) -> None:
        """Wait until the program has processed all commands."""
        self._send("isready")
        for _ in self._until("readyok", START):
            pass

    def new_game(self) -> None:
        """Announce a new game to the program."""
        self._send("ucinewgame")
        self.wait_ready()

    def go(self, position: str, limits: str, patience: float) -> Answer:
        """Request a move in a position (`startpos moves e2e4`) within limits (`nodes 100`).

        :param patience: timeout in seconds.
        """
        self._send(f"position {position}")
        self._send(f"go {limits}")
        cp = mate = None
        for line in self._until("bestmove", patience):
            words = line.split()
            if words[:1] == ["info"] and "score" in words:
                cp, mate = _score(words[words.index("score") + 1 :], (cp, mate))
        return Answer(self._move, cp, mate)

    def stop(self) -> None:
        """Send `stop`, to get the move now; may be called from any thread."""
        if self._process.poll() is None:
            self._send("stop")

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._disconnected() from None

    def _until(self, word: str, patience: float) -> list[str]:
        """Read lines up to one that starts with `word`; store the move after `bestmove`."""
        end = monotonic() + patience
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - monotonic()))
            except queue.Empty:
                raise EngineError(
                    f"{self.name} did not send {word} within {patience:.3g} s: it does not speak "
                    "UCI, or has stalled",
                    ending="stall",
                ) from None
            if line is None:
                raise self._disconnected()
            words = line.split()
            if words[:1] == [word]:
                self._move = words[1] if len(words) > 1 else ""
                return lines
            lines.append(line)

    def _disconnected(self) -> EngineError:
        try:
            code: int | None = self._process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            code = None
        how = "closed its output" if code is None else f"ended with code {code}"
        return EngineError(f"{self.name} {how} unexpectedly", ending="disconnect")

    def close(self) -> None:
        """Send `quit`; kill the program if it does not exit."""
        if self._process.poll() is None:
            try:
                self._send("quit")
                self._process.wait(timeout=1.0)
            except (EngineError, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
        self._reader.join(timeout=1.0)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # flushing to a closed pipe fails
                    stream.close()


def _score(
    words: list[str], before: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    """Parse centipawns and mate distance after `score`; `before` if they are invalid."""
    try:
        number = int(words[1])
    except (IndexError, ValueError):
        return before
    return (number, None) if words[0] == "cp" else (None, number) if words[0] == "mate" else before
