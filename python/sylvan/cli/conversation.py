"""A read-eval-print loop for the terminal, shared by `sylvan play` and `sylvan advise`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import typer

from sylvan.errors import SylvanError

__all__ = ["Conversation"]


class Conversation:
    """Reads and executes lines; reports an error and continues."""

    commands: Mapping[str, Callable[[Any, str], object]] = {}
    """Commands by name, called with the rest of the line; `quit` leaves."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console: Console = Console(highlight=False, markup=False)

    def run(self) -> None:
        """Run until the session is over or the person leaves."""
        with suppress(ImportError):  # without readline, lines cannot be edited
            import readline  # noqa: F401
        try:
            self.begin()
            while not self.is_over:
                prompt = self.prompt()
                if prompt is not None and not self.execute(_read_line(prompt)):
                    break
        except EOFError:
            self.say("")
        except KeyboardInterrupt:
            self.end()
            raise typer.Exit(130) from None
        self.end()

    def execute(self, line: str) -> bool:
        """Execute a line; return False if the person leaves."""
        word, _, rest = line.partition(" ")
        try:
            if word == "quit":
                return False
            if word in self.commands:
                self.commands[word](self, rest.strip())
            elif line:
                self.handle(line)
        except (SylvanError, OSError) as error:
            self.say(str(error))
        return True

    def say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    @property
    def is_over(self) -> bool:
        """Return whether the session is over."""
        raise NotImplementedError

    def prompt(self) -> str | None:
        """Return the prompt; None if it was the opponent's turn, which is now over."""
        raise NotImplementedError

    def handle(self, line: str) -> None:
        """Handle a line that is not a command."""
        raise NotImplementedError

    def begin(self) -> None:
        """Print the opening text."""

    def end(self) -> None:
        """Print the closing text."""


def _read_line(prompt: str) -> str:
    """Prompt and read a line; echo it if stdin is not a terminal."""
    line = input(prompt).strip()
    if not sys.stdin.isatty():
        print(line)
    return line
