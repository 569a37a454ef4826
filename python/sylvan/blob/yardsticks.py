"""Bots as fixed opponents of Blob's training runs (`sylvan.ratings.yardsticks`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sylvan._native import Rng
from sylvan.blob.players import BOTS, bot_named
from sylvan.games import Blob, Game

__all__ = ["BlobYardsticks", "BotSide"]


class BotSide:
    """A built-in player of Blob."""

    def __init__(self, name: str) -> None:
        self.name, self.bot = name, bot_named(name)

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """Return the bot's action in each state."""
        pairs = zip(states, seeds, strict=True)
        return [self.bot.choose(cast(Blob, state), Rng(seed)) for state, seed in pairs]


class BlobYardsticks:
    """Registered in `sylvan.registry` as `blob`, in the group `yardsticks`."""

    defaults = ("random", "rule", "counter")

    @staticmethod
    def side(text: str) -> BotSide | None:
        """Return the bot of a name, or None."""
        return BotSide(text) if text.partition(":")[0] in BOTS else None
