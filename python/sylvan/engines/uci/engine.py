"""UCI, the protocol between a chess GUI and an engine: lines in, lines out.

Two threads. The reading thread never waits for a search, so that `stop`, `isready` and `quit` work
at once. The search thread loads weights and searches; its work comes from a queue. Output lines are
written atomically and flushed.

An invalid line is answered with `info string ...` and changes nothing. The end of the input counts
as `quit`, so that the engine ends with its GUI.

The protocol: Stefan Meyer-Kahlen, Rudolf Huber: "Description of the universal chess interface",
April 2006.
"""

from __future__ import annotations

import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from sylvan._native import __version__
from sylvan.engines.lines import Output, lines_of
from sylvan.engines.uci.commands import Position, read_go, read_option, read_position
from sylvan.engines.uci.deliberation import Deliberation
from sylvan.engines.uci.options import Options, announcements, changed
from sylvan.engines.uci.thinker import Thinker
from sylvan.errors import ProtocolError, SylvanError
from sylvan.games import Chess

__all__ = ["Engine", "main", "run", "run_lines"]


START = Position(None, ())
"""The start of chess."""


class Engine:
    """The engine: handles lines, sends answers."""

    def __init__(self, output: Output, options: Options | None = None) -> None:
        """Start the search thread."""
        self.say = output.say
        self.options = options or Options()
        self.position = START
        self.game = _chess_game(self.position, self.options)
        self.thinker = Thinker(output.say)
        self._current: Deliberation | None = None
        """The `go` without an answer yet."""
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._worker = threading.Thread(target=self._think, name="thinking", daemon=True)
        self._worker.start()

    # --- the reading thread -----------------------------------------------------------------------

    def hear(self, line: str) -> bool:
        """Execute one line; return False for `quit`."""
        command, rest = (*line.split(maxsplit=1), "", "")[:2]
        try:
            if command == "quit":
                return False
            if command in _COMMANDS:
                _COMMANDS[command](self, rest.strip())
            elif command:
                raise ProtocolError(
                    f"There is no command {command[:40]!r}: the commands are {', '.join(_COMMANDS)}"
                    " and quit."
                )
        except (SylvanError, OSError) as error:
            self.say(f"info string {' '.join(str(error).split())} The line is ignored.")
        except (RecursionError, MemoryError):  # no line may end the engine
            self.say("info string The line needs too much memory. The line is ignored.")
        return True

    def leave(self) -> None:
        """Stop the search, let it send its move, and end its thread."""
        self._stop()
        self._work.put(None)
        self._worker.join(timeout=10)

    def wait(self) -> None:
        """Wait for all queued work, except a search that only `stop` ends."""
        if self._current is not None and self._current.open_ended:
            return
        done = threading.Event()
        self._work.put(done.set)
        done.wait()

    def _uci(self, _: str = "") -> None:
        self.say(f"id name Sylvan {__version__}")
        self.say("id author the Sylvan authors")
        for line in announcements():
            self.say(line)
        self.say("uciok")

    def _isready(self, _: str) -> None:
        if self._current is not None:
            self.say("readyok")
            return
        options = self.options
        self._work.put(lambda: self.thinker.prepare(options))
        self._work.put(lambda: self.say("readyok"))

    def _setoption(self, rest: str) -> None:
        options = changed(self.options, *read_option(rest))
        rules = (options.chess960, options.syzygy_path)
        if rules != (self.options.chess960, self.options.syzygy_path):
            start = _chess_game(START, options)  # raises if the tables cannot be opened
            try:
                self.game = _chess_game(self.position, options)
            except SylvanError:  # its moves are in the notation of the old rules
                self.game, self.position = start, START
        self.options = options

    def _position(self, rest: str) -> None:
        position = read_position(rest.split())
        self.game, self.position = _chess_game(position, self.options), position

    def _go(self, rest: str) -> None:
        go = read_go(rest.split())
        if self._current is not None:
            raise ProtocolError("A search is running: send 'stop' and wait for 'bestmove' first.")
        for word in go.unknown:
            self.say(f"info string go has no option {word[:40]!r}: it is ignored.")
        if go.perft is not None:
            self._perft(go.perft)
            return
        for move in go.searchmoves:
            self.game.string_to_action(move)  # raises before the search starts
        deliberation = self._current = Deliberation(self.game, go, self.options, self.say)
        self._work.put(lambda: self._answer(deliberation))

    def _perft(self, depth: int) -> None:
        """Print the counts per move and the sum, in the format of other engines."""
        if depth > 7:
            raise ProtocolError(f"go perft {depth} takes hours: give a depth of at most 7.")
        counts = self.game.divide(max(1, depth))
        for move, count in counts.items():
            self.say(f"{move}: {count}")
        self.say(f"Nodes searched: {sum(counts.values())}")

    def _stop(self, _: str = "") -> None:
        if self._current is not None:
            self._current.stop()
            self.thinker.stop()

    def _ponderhit(self, _: str) -> None:
        if self._current is not None and self._current.ponderhit():
            self.thinker.stop()

    def _ucinewgame(self, _: str) -> None:
        self._work.put(self.thinker.new_game)

    def _show(self, _: str) -> None:
        for line in [*str(self.game).splitlines(), f"FEN: {self.game.fen()}"]:
            self.say(line)

    def _ignore(self, _: str) -> None:
        """Accept a command without effect."""

    # --- the search thread ------------------------------------------------------------------------

    def _think(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _answer(self, deliberation: Deliberation) -> None:
        try:
            answer = self.thinker.think(deliberation)
        except Exception as error:  # unexpected, but the GUI waits for a move
            self.say(f"info string {type(error).__name__}: {' '.join(str(error).split())}")
            answer = f"bestmove {next(iter(deliberation.game.divide(1)), '(none)')}"
        self._current = None  # before the answer: the next `go` may follow at once
        self.say(answer)


def _chess_game(position: Position, options: Options) -> Chess:
    extra: dict[str, Any] = {"syzygy": options.syzygy_path} if options.syzygy_path else {}
    return Chess(position.fen, position.moves, chess960=options.chess960, **extra)


_COMMANDS: dict[str, Callable[[Engine, str], None]] = {
    "uci": Engine._uci,
    "isready": Engine._isready,
    "setoption": Engine._setoption,
    "ucinewgame": Engine._ucinewgame,
    "position": Engine._position,
    "go": Engine._go,
    "stop": Engine._stop,
    "ponderhit": Engine._ponderhit,
    "debug": Engine._ignore,
    "register": Engine._ignore,
    "d": Engine._show,
}


def run(lines: Iterable[str], output: Output, options: Options | None = None) -> None:
    """Execute lines until `quit` or their end."""
    engine = Engine(output, options)
    for line in lines:
        if output.closed or not engine.hear(line):
            break
    engine.leave()


def run_lines(lines: Iterable[str], output: Output, options: Options | None = None) -> None:
    """Execute lines one after the other; each waits for the work of the previous ones."""
    engine = Engine(output, options)
    for line in lines:
        running = engine.hear(line)
        engine.wait()
        if not running:
            break
    engine.leave()


def main(options: Options | None = None) -> None:
    """`sylvan-uci`: run the engine on stdin and stdout."""
    # Ctrl-C ends the program at once: KeyboardInterrupt may not interrupt a blocking read.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    output = Output(sys.stdout)
    run(lines_of(sys.stdin.buffer), output, options)
    output.leave()
