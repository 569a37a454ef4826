"""`python -m sylvan.muzero.game_worker`: a process that steps games for `game_processes.py`.

It reads requests from its standard input and writes answers to its standard output, both pickled by
the process that started it. What a game prints goes to standard error. It ends with its input.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import IO, Any

from sylvan.errors import SylvanError
from sylvan.muzero.game_keeper import GameKeeper

__all__ = ["Request", "main"]

Request = tuple[list[tuple[str, tuple[Any, ...]]], str, tuple[Any, ...]]
"""Calls without an answer, in order; then the name and the arguments of one with an answer."""


def main() -> None:
    """Answer requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which closes our input
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path[:] = pickle.load(requests)  # noqa: S301 (all comes from the run's own process)
    try:
        keeper: GameKeeper | Exception = GameKeeper(*pickle.load(requests))  # noqa: S301
    except Exception as error:
        keeper = error
    while (request := _read(requests)) is not None:
        pickle.dump(_answer(keeper, request), answers)
        answers.flush()


def _read(requests: IO[bytes]) -> Request | None:
    """The next request; None at the end."""
    try:
        found: Request = pickle.load(requests)  # noqa: S301
    except EOFError:
        return None
    return found


def _answer(keeper: GameKeeper | Exception, request: Request) -> tuple[bool, Any]:
    """Whether a request succeeded, and the result or the error."""
    before, name, arguments = request
    try:
        if isinstance(keeper, Exception):
            raise keeper
        for call, given in before:
            getattr(keeper, call)(*given)
        found = getattr(keeper, name)(*arguments)
        if isinstance(found, dict):
            found = {slot: _portable(each) for slot, each in found.items()}
    except Exception as error:
        return False, _portable(error)
    return True, found


def _portable(found: Any) -> Any:
    """A result; in place of an error whose class the run may not know, one that names it."""
    is_known = isinstance(found, SylvanError) or type(found).__module__ == "builtins"
    if not isinstance(found, Exception) or is_known:
        return found
    return RuntimeError(f"{type(found).__name__}: {found}")


if __name__ == "__main__":
    main()
