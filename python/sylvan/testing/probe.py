"""A game's state with the actions that led to it, so that every complaint can name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sylvan.errors import GameContractError
from sylvan.games.game import Game

# Actions that a message lists; the exception has all of them.
SHOWN = 100


class Probe:
    """Asks a state its methods; what goes wrong there is reported in the method's name."""

    def __init__(self, state: Game, path: tuple[int, ...] = ()) -> None:
        self.state = state
        self.path = path

    def ask(self, method: str, *args: Any) -> Any:
        """The answer of `state.method(*args)`."""
        shown = ", ".join(map(repr, args))
        return self.call(f"{method}({shown})", getattr(self.state, method), *args)

    def call(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """The answer of the game's own code; its exception comes back with its traceback."""
        try:
            return function(*args)
        except Exception as error:
            raise GameContractError(
                f"{type(self.state).__name__}.{name} raised "
                f"{type(error).__name__}: {error} ({self.place()}).",
                self.path,
            ) from error

    def fail(self, method: str, problem: str, fix: str) -> NoReturn:
        """Report that `method` breaks a rule here, and what to do about it."""
        name = f"{type(self.state).__name__}.{method}"
        raise GameContractError(f"{name} {problem}: {fix} ({self.place()}).", self.path)

    def place(self) -> str:
        """Where this state is found; of a long path only the end is told."""
        if not self.path:
            return "in the first state"
        if len(self.path) > SHOWN:
            return f"after {len(self.path)} actions, the last are {list(self.path[-5:])}"
        return f"after the actions {list(self.path)}"

    def clone(self) -> Probe:
        """A probe of the state's copy."""
        copy = self.ask("clone")
        if copy is self.state:
            self.fail("clone()", "returns the state itself", "return a new, independent copy")
        if type(copy) is not type(self.state):
            self.fail(
                "clone()", f"returns a {type(copy).__name__}", "return a copy of the same class"
            )
        return Probe(copy, self.path)

    def apply(self, action: int) -> None:
        """Move the state forward."""
        answer = self.ask("apply", action)
        if answer is not None:
            self.fail(
                f"apply({action})",
                f"returns a {type(answer).__name__}",
                "change the state in place and return None",
            )
        self.path = (*self.path, action)
