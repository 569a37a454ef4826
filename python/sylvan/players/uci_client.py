"""The other end of UCI: start a chess program and ask it for moves.

Written for an arbiter: it never waits longer than it was told to, every way in which a program can
fail has a name (`EngineError.ending`), and `ucinewgame` and `isready` are done with before a clock
starts.

The program gets a session of its own, so that Ctrl-C at the terminal reaches the arbiter alone.
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
"""Seconds that a program may take to say `uciok` or `readyok`."""

MARGIN = 5.0
"""Seconds beyond its own limit after which a program that is silent has stalled."""


class Answer(NamedTuple):
    """What a program said: its move in UCI, and its last score for the side to move."""

    move: str
    cp: int | None
    mate: int | None


def find_program(command: str) -> list[str]:
    """The words of a command, the first of which is a program that exists.

    :raises ConfigError: it does not, or the quotes of the command are not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"the command {command!r} cannot be read: {error}") from None
    if not words:
        raise ConfigError("uci: has no command: write it like uci:stockfish")
    if shutil.which(words[0]) is None:
        raise ConfigError(
            f"there is no program {words[0]!r} here: install it, or give the path to it"
        )
    return words


class UciClient:
    """A chess program that is running.

    :raises EngineError: it does not start, or is no UCI program.
    :raises ConfigError: it has no such option, or the option does not take that value.
    """

    def __init__(self, command: Sequence[str], options: Mapping[str, str] | None = None) -> None:
        """Start the program and set its options."""
        self.command = list(command)
        self.name = command[0]
        self.options: dict[str, str] = {}
        """What it calls its options, by their names in lower case."""
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
            self._greet()
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
        self._lines.put(None)  # the program has closed its end

    def _greet(self) -> None:
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
                    f"{self.name} has no option {name!r}, only {known}; arguments of a command "
                    "and options are kept apart by semicolons: 'uci:program argument; Option=value'"
                )
            self._send(f"setoption name {self.options[name.lower()]} value {value}")

    def wait_ready(self) -> None:
        """Wait until the program has done what it was told."""
        self._send("isready")
        for _ in self._until("readyok", START):
            pass

    def new_game(self) -> None:
        """Tell the program that another game begins."""
        self._send("ucinewgame")
        self.wait_ready()

    def go(self, position: str, limits: str, patience: float) -> Answer:
        """The program's move in a position (`startpos moves e2e4`) within limits (`nodes 100`)."""
        self._send(f"position {position}")
        self._send(f"go {limits}")
        cp = mate = None
        for line in self._until("bestmove", patience):
            words = line.split()
            if words[:1] == ["info"] and "score" in words:
                cp, mate = _score(words[words.index("score") + 1 :], (cp, mate))
        return Answer(self._move, cp, mate)

    def stop(self) -> None:
        """Ask the program to answer at once; may be called from any thread."""
        if self._process.poll() is None:
            self._send("stop")

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._gone() from None

    def _until(self, word: str, patience: float) -> list[str]:
        """The lines up to one that begins with `word`; what follows `bestmove` is kept."""
        end = monotonic() + patience
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - monotonic()))
            except queue.Empty:
                raise EngineError(
                    f"{self.name} did not say {word} within {patience:.3g} s: it does not speak "
                    "UCI, or has stalled",
                    ending="stall",
                ) from None
            if line is None:
                raise self._gone()
            words = line.split()
            if words[:1] == [word]:
                self._move = words[1] if len(words) > 1 else ""
                return lines
            lines.append(line)

    def _gone(self) -> EngineError:
        try:
            code: int | None = self._process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            code = None
        how = "closed its output" if code is None else f"ended with code {code}"
        return EngineError(f"{self.name} {how} while it was needed", ending="disconnect")

    def close(self) -> None:
        """Ask the program to quit; end it if it does not."""
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
                with suppress(OSError):  # what was still to be written has nobody to read it
                    stream.close()


def _score(
    words: list[str], before: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    """Centipawns and mate distance after `score`; as before where they cannot be read."""
    try:
        number = int(words[1])
    except (IndexError, ValueError):
        return before
    return (number, None) if words[0] == "cp" else (None, number) if words[0] == "mate" else before
