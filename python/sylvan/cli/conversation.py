"""A talk at the terminal, line by line: what `sylvan play` and `sylvan advise` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import typer

from sylvan.errors import SylvanError

__all__ = ["Conversation"]


class Conversation:
    """Reads lines, does what they say, and goes on after whatever is wrong with one of them."""

    commands: ClassVar[Mapping[str, Callable[[Any, str], object]]] = {}
    """What a first word means, given the rest of its line; `quit` leaves."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console: Console = Console(highlight=False, markup=False)

    def talk(self) -> None:
        """Until there is nothing left to do, or the person leaves."""
        with suppress(ImportError):  # where there is none, lines are not edited
            import readline  # noqa: F401
        try:
            self.begin()
            while not self.is_over:
                prompt = self.prompt()
                if prompt is not None and not self.obey(_asked(prompt)):
                    break
        except EOFError:
            self.say("")
        except KeyboardInterrupt:
            self.end()
            raise typer.Exit(130) from None
        self.end()

    def obey(self, line: str) -> bool:
        """Do what a line says; False if the person leaves."""
        word, _, rest = line.partition(" ")
        try:
            if word == "quit":
                return False
            if word in self.commands:
                self.commands[word](self, rest.strip())
            elif line:
                self.hear(line)
        except (SylvanError, OSError) as error:
            self.say(str(error))
        return True

    def say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to say."""
        raise NotImplementedError

    def prompt(self) -> str | None:
        """What the person is asked; None if nothing, because it was not the person's turn."""
        raise NotImplementedError

    def hear(self, line: str) -> None:
        """Do what a line says that is no command."""
        raise NotImplementedError

    def begin(self) -> None:
        """Said first."""

    def end(self) -> None:
        """Said last."""


def _asked(prompt: str) -> str:
    """The line that answers a question; shown behind it, where no terminal has done so."""
    line = input(prompt).strip()
    if not sys.stdin.isatty():
        print(line)
    return line
