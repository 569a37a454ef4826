"""Players of Blob: what takes a seat at the table.

A player sees `game.observe(seat)` of the seat to move, and names an action. Those built in run in
Rust and are yardsticks:

| name | plays |
|---|---|
| `random` | any legal action |
| `win_every_trick` | bids as `rule`, then takes every trick it can |
| `rule` | a bid from the worth of single cards, play by strength |
| `counter` | counts cards: the bid and the card most likely to pay |
| `rollouts` | every action in deals that fit the others' bids, played out by `counter` |

`crates/sylvan-games/src/blob/bots` has their rules in full. Those that search are in
`search.py`, the network that comes with Sylvan in `network_player.py`: alone it is `network`,
with a search `network_search`. `bot_named` knows them all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Protocol

from sylvan import _native
from sylvan.blob.search import SEARCHES, search_named
from sylvan.errors import ConfigError
from sylvan.games.blob import Blob

__all__ = ["BOTS", "NETWORKS", "BlobPlayer", "Bot", "Verdict", "bot_named"]

BOTS = ("random", "win_every_trick", "rule", "counter", "rollouts")
"""Names of the players that are built in, from the weakest to the strongest; those that search
come after them."""

NETWORKS = ("network", "network_search")
"""Names of players that ask a network, alone and in a search."""


class BlobPlayer(Protocol):
    """Whoever can choose an action for the seat to move."""

    @property
    def name(self) -> str:
        """What it is called at the table."""

    def choose(self, view: Blob, rng: _native.Rng) -> int:
        """A legal action of the seat that looks, whose turn it is."""


@dataclass(frozen=True)
class Verdict:
    """What an action is worth to who does it."""

    action: int
    utility: float
    """Mean, by the player's own `rivalry`."""
    points: float
    """Mean points of the round."""
    made: float
    """Share of the deals in which the bid is made."""
    visits: int = 0
    """Deals in which it was tried."""


@dataclass(frozen=True)
class Bot:
    """A player that is built in.

    :raises ConfigError: there is no such player.

    >>> bot = Bot("counter")
    >>> game = Blob(players=4, cards=3, seed=2)
    >>> game.action_to_string(bot.choose(game.observe(game.to_play()), _native.Rng(1)))
    'bid 1'
    """

    name: str
    deals: int = 128
    """Sampled deals per decision; of `rollouts` alone."""
    rivalry: float = 1.0
    """What `rollouts` works for: 0 its own points, 1 its points above the others' mean."""
    candidates: int = 16
    """Deals that `rollouts` weighs by the others' bids and plays for each one it keeps; 1 draws
    them uniformly."""
    bid_noise: float = 0.1
    """How often it takes the others to bid as if at random, where it weighs."""
    play_noise: float = 1.0
    """The same of plays."""

    def __post_init__(self) -> None:
        _ = self.native

    @cached_property
    def native(self) -> _native.BlobBot:
        """The player inside Rust."""
        settings = asdict(self)
        return _native.BlobBot(settings.pop("name"), **settings)

    def choose(self, view: Blob, rng: _native.Rng) -> int:
        """A legal action of the seat to move."""
        return self.native.choose(view, rng)

    def judge(self, view: Blob, rng: _native.Rng) -> list[Verdict]:
        """All legal actions with what comes of them; of `rollouts` alone."""
        return [Verdict(*row, self.deals) for row in self.native.judge(view, rng)]

    def __str__(self) -> str:
        if self.name != "rollouts":
            return self.name
        return f"rollouts ({self.deals} {'uniform ' if self.candidates == 1 else ''}deals)"


def bot_named(text: str) -> BlobPlayer:
    """A player by its name, `counter`, with its deals, `rollouts:32`, and with deals that are drawn
    uniformly, whatever the others have bid, `rollouts:32:uniform`; or by that of its search,
    `information_set:4000`, `determinised:32x125`; or the network that comes with Sylvan, `network`,
    with a search of so many simulations, `network_search:1000`.

    :raises ConfigError: there is no such player.

    >>> bot_named("rollouts:32")
    Bot(name='rollouts', deals=32, rivalry=1.0, candidates=16, bid_noise=0.1, play_noise=1.0)
    >>> bot_named("determinised").name
    'determinised:32x125'
    """
    name, *rest = text.split(":")
    if name in SEARCHES:
        return search_named(text)
    if name in NETWORKS:
        from sylvan.blob.network_player import network_named  # loads what others do not need

        return network_named(text)
    uniform = rest[1:] == ["uniform"]
    if rest and not (rest[0].isdecimal() and (uniform or len(rest) == 1)):
        raise ConfigError(
            f"{text!r} is no player of Blob: give a name, rollouts:32 or rollouts:32:uniform."
        )
    deals = int(rest[0]) if rest else Bot.deals
    return Bot(name, deals, candidates=1) if uniform else Bot(name, deals)
