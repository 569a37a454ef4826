"""A game's state with the actions that led to it, so that every error can list them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sylvan.errors import GameContractError
from sylvan.games.game import Game

# Longest path that a message lists; the exception has all actions.
SHOWN = 100


class Probe:
    """Calls a state's methods; an exception there is reported with the method's name."""

    def __init__(self, state: Game, path: tuple[int, ...] = ()) -> None:
        self.state = state
        self.path = path

    def call(self, method: str, *args: Any) -> Any:
        """Return `state.method(*args)`."""
        shown = ", ".join(map(repr, args))
        return self.run(f"{method}({shown})", getattr(self.state, method), *args)

    def run(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Run the game's code; chain its exceptions to a `GameContractError`."""
        try:
            return function(*args)
        except Exception as error:
            raise GameContractError(
                f"{type(self.state).__name__}.{name} raised "
                f"{type(error).__name__}: {error} ({self.location()}).",
                self.path,
            ) from error

    def fail(self, method: str, problem: str, fix: str) -> NoReturn:
        """Raise an error: `method` breaks a rule in this state."""
        name = f"{type(self.state).__name__}.{method}"
        raise GameContractError(f"{name} {problem}: {fix} ({self.location()}).", self.path)

    def location(self) -> str:
        """Describe the path to this state; of a long path only the end."""
        if not self.path:
            return "in the first state"
        if len(self.path) > SHOWN:
            return f"after {len(self.path)} actions, the last are {list(self.path[-5:])}"
        return f"after the actions {list(self.path)}"

    def clone(self) -> Probe:
        """Return a probe of a copy of the state."""
        copy = self.call("clone")
        if copy is self.state:
            self.fail("clone()", "returns the state itself", "return a new, independent copy")
        if type(copy) is not type(self.state):
            self.fail(
                "clone()", f"returns a {type(copy).__name__}", "return a copy of the same class"
            )
        return Probe(copy, self.path)

    def apply(self, action: int) -> None:
        """Apply an action in place."""
        answer = self.call("apply", action)
        if answer is not None:
            self.fail(
                f"apply({action})",
                f"returns a {type(answer).__name__}",
                "change the state in place and return None",
            )
        self.path = (*self.path, action)
