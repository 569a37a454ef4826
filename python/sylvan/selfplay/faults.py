"""Games whose own code fails: errors that name the game, and games that are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sylvan.errors import GameContractError, SylvanError
from sylvan.games.naming import GameSpec

__all__ = ["as_game_errors", "dropped_note", "is_out_of_memory"]


@contextmanager
def as_game_errors(spec: GameSpec) -> Iterator[None]:
    """Report exceptions of a game's own code as the game's errors."""
    try:
        yield
    except SylvanError:
        raise
    except Exception as error:
        raise _game_error(spec, error) from error


def is_out_of_memory(error: Exception) -> bool:
    """Whether a device has not enough memory, as PyTorch or a library of CUDA says."""
    text = str(error) if isinstance(error, RuntimeError) else ""
    return (
        type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in text
        or "_STATUS_ALLOC_FAILED" in text
    )


def dropped_note(spec: GameSpec, dropped: Sequence[tuple[int, Exception]], played: int) -> str:
    """A sentence for the user about games that were dropped.

    :param dropped: number and error of each.
    :param played: games that ended without an error.
    :raises GameContractError: no game ended without an error.
    """
    error = dropped[0][1]
    if not played:
        if isinstance(error, SylvanError):
            raise error
        raise _game_error(spec, error) from error
    return (
        f"{len(dropped)} of {len(dropped) + played} games of {spec.short_name} raised an error and "
        f"were dropped; the first: {type(error).__name__} ({error})."
    )


def _game_error(spec: GameSpec, error: Exception) -> GameContractError:
    return GameContractError(
        f"The game {spec.short_name} raised {type(error).__name__} ({error}) in self-play: fix "
        "the game; sylvan.testing.check_game helps to find such faults. The run resumes from its "
        "last step."
    )
