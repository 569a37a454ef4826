"""UCI, the protocol between a chess GUI and an engine: lines in, lines out.

Two threads. This one reads lines and never waits for a search, so that `stop`, `isready` and `quit`
are heard at once; the other thinks. Whatever needs the thinking thread (loading weights, a search)
is put in its queue. A line goes out as a whole, and at once.

A line that cannot be understood is answered with `info string ...` and changes nothing. The end of
the input is a `quit`: a GUI that dies takes the engine with it.

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

__all__ = ["Engine", "converse", "main", "obey"]


START = Position(None, ())
"""The start of chess."""


class Engine:
    """What the GUI talks to."""

    def __init__(self, output: Output, options: Options | None = None) -> None:
        """Start the thinking thread."""
        self.say = output.say
        self.options = options or Options()
        self.position = START
        self.game = _placed(self.position, self.options)
        self.thinker = Thinker(output.say)
        self._thought: Deliberation | None = None
        """The `go` that has not been answered yet."""
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._worker = threading.Thread(target=self._think, name="thinking", daemon=True)
        self._worker.start()

    # --- the reading thread -----------------------------------------------------------------------

    def hear(self, line: str) -> bool:
        """Obey one line; whether to go on."""
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
        except (RecursionError, MemoryError):  # nothing that a line can ask for may end the engine
            self.say("info string That is too much to take in. The line is ignored.")
        return True

    def leave(self) -> None:
        """End the search, let it say its move, and the thread with it."""
        self._stop()
        self._work.put(None)
        self._worker.join(timeout=10)

    def wait(self) -> None:
        """Until everything that was asked is done; not for a search that only `stop` ends."""
        if self._thought is not None and self._thought.open_ended:
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
        if self._thought is not None:
            self.say("readyok")
            return
        options = self.options
        self._work.put(lambda: self.thinker.prepare(options))
        self._work.put(lambda: self.say("readyok"))

    def _setoption(self, rest: str) -> None:
        options = changed(self.options, *read_option(rest))
        rules = (options.chess960, options.syzygy_path)
        if rules != (self.options.chess960, self.options.syzygy_path):
            start = _placed(START, options)  # refuses tables that cannot be opened
            try:
                self.game = _placed(self.position, options)
            except SylvanError:  # its moves were written by the other rules
                self.game, self.position = start, START
        self.options = options

    def _position(self, rest: str) -> None:
        position = read_position(rest.split())
        self.game, self.position = _placed(position, self.options), position

    def _go(self, rest: str) -> None:
        go = read_go(rest.split())
        if self._thought is not None:
            raise ProtocolError("A search is under way: send 'stop' and wait for 'bestmove' first.")
        for word in go.unknown:
            self.say(f"info string go does not know {word[:40]!r}, and leaves it out.")
        if go.perft is not None:
            self._perft(go.perft)
            return
        for move in go.searchmoves:
            self.game.string_to_action(move)  # refused here, before anything begins
        thought = self._thought = Deliberation(self.game, go, self.options, self.say)
        self._work.put(lambda: self._answer(thought))

    def _perft(self, depth: int) -> None:
        """Counts per move and in all, as other engines print them."""
        if depth > 7:
            raise ProtocolError(f"go perft {depth} takes hours: give a depth of at most 7.")
        counts = self.game.divide(max(1, depth))
        for move, count in counts.items():
            self.say(f"{move}: {count}")
        self.say(f"Nodes searched: {sum(counts.values())}")

    def _stop(self, _: str = "") -> None:
        if self._thought is not None:
            self._thought.stop()
            self.thinker.stop()

    def _ponderhit(self, _: str) -> None:
        if self._thought is not None and self._thought.ponderhit():
            self.thinker.stop()

    def _ucinewgame(self, _: str) -> None:
        self._work.put(self.thinker.new_game)

    def _show(self, _: str) -> None:
        for line in [*str(self.game).splitlines(), f"FEN: {self.game.fen()}"]:
            self.say(line)

    def _nothing(self, _: str) -> None:
        """Commands that this engine has no use for."""

    # --- the thinking thread ----------------------------------------------------------------------

    def _think(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _answer(self, thought: Deliberation) -> None:
        try:
            answer = self.thinker.think(thought)
        except Exception as error:  # not foreseen: still, the GUI waits for a move
            self.say(f"info string {type(error).__name__}: {' '.join(str(error).split())}")
            answer = f"bestmove {next(iter(thought.game.divide(1)), '(none)')}"
        self._thought = None  # before the answer: what follows it is a new search
        self.say(answer)


def _placed(position: Position, options: Options) -> Chess:
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
    "debug": Engine._nothing,
    "register": Engine._nothing,
    "d": Engine._show,
}


def converse(lines: Iterable[str], output: Output, options: Options | None = None) -> None:
    """Obey lines until `quit` or their end."""
    engine = Engine(output, options)
    for line in lines:
        if output.closed or not engine.hear(line):
            break
    engine.leave()


def obey(lines: Iterable[str], output: Output, options: Options | None = None) -> None:
    """Obey some lines one after the other, each when what came before is done."""
    engine = Engine(output, options)
    for line in lines:
        going = engine.hear(line)
        engine.wait()
        if not going:
            break
    engine.leave()


def main(options: Options | None = None) -> None:
    """`sylvan-uci`: talk UCI on stdin and stdout."""
    # Ctrl-C ends the program at once. As an exception it could come too late to interrupt a read.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    output = Output(sys.stdout)
    converse(lines_of(sys.stdin.buffer), output, options)
    output.leave()
