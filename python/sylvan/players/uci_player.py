"""A player that runs a UCI chess program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sylvan.errors import EngineError, IllegalAction
from sylvan.players.batching import Thinking
from sylvan.players.player import Choice, Clocks, Player
from sylvan.players.score import q_of_centipawns
from sylvan.players.uci_client import MARGIN, Answer, UciClient, find_program

if TYPE_CHECKING:
    from sylvan.games import Chess, Game
    from sylvan.players.specs import Limits

__all__ = ["UciPlayer"]

TIMEOUT = 300.0
"""Seconds to wait for a move that is limited only by nodes or depth."""


class UciPlayer(Player):
    """A UCI program, which is restarted for the next game if it has exited.

    :raises ConfigError: there is no such program, or it has no such option.
    :raises EngineError: it does not start, exits early, stalls, or plays an illegal move.
    """

    def __init__(
        self, command: str, options: Mapping[str, str], limits: Limits, name: str | None = None
    ) -> None:
        """Start the program."""
        self._words = find_program(command)
        self._options = dict(options)
        self._limits = limits
        self._client: UciClient | None = UciClient(self._words, self._options)
        self.name = name or self._client.name

    def new_game(self, seed: int = 0) -> None:  # noqa: ARG002
        """Announce a new game; restart the program if it has exited."""
        if self._client is not None:
            try:
                self._client.new_game()
                return
            except EngineError:
                self.close()
        self._client = UciClient(self._words, self._options)
        self._client.new_game()

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:
        """Request a move from the program, and wait for it."""
        yield from ()
        assert self._client is not None, "call new_game first"
        words, patience = self._go(clocks, game.to_play())
        try:
            answer = self._client.go(_position(game), words, patience)  # type: ignore[arg-type]
        except EngineError:
            self.close()
            raise
        try:
            return Choice(game.string_to_action(answer.move), _value(answer))
        except IllegalAction:
            raise EngineError(
                f"{self.name} played {answer.move or 'nothing'}, which is not legal",
                ending="illegal move",
            ) from None

    def _go(self, clocks: Clocks | None, seat: int) -> tuple[str, float]:
        """The words after `go`, and the timeout of the answer in seconds."""
        limits = self._limits
        words = [f"nodes {limits.nodes}"] if limits.nodes is not None else []
        words += [f"depth {limits.depth}"] if limits.depth is not None else []
        patience = TIMEOUT
        if clocks is not None:
            (white, black), (winc, binc) = clocks.remaining, clocks.increment
            figures = zip(
                ("wtime", "btime", "winc", "binc"), (white, black, winc, binc), strict=True
            )
            words += [f"{name} {max(0, round(1000 * seconds))}" for name, seconds in figures]
            patience = clocks.remaining[seat] + MARGIN
        elif limits.seconds is not None:
            words += [f"movetime {round(1000 * limits.seconds)}"]
            patience = limits.seconds + MARGIN
        return " ".join(words), patience

    def stop(self) -> None:
        """Send `stop`, to get the move now."""
        if self._client is not None:
            self._client.stop()

    def close(self) -> None:
        """End the program."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _position(game: Chess) -> str:
    """The argument of UCI's `position` command."""
    from sylvan.games import Chess

    start = "startpos" if game.start_fen == Chess().fen() else f"fen {game.start_fen}"
    return f"{start} moves {' '.join(game.moves)}" if game.moves else start


def _value(answer: Answer) -> float | None:
    """The program's score as a value from -1 to 1."""
    if answer.mate is not None:
        return 1.0 if answer.mate > 0 else -1.0
    return None if answer.cp is None else q_of_centipawns(answer.cp)
