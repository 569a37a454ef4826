"""Players of Blob.

A player gets `game.observe(seat)` of the seat to move and returns an action. The built-in bots run
in Rust and are yardsticks:

| name | plays |
|---|---|
| `random` | any legal action |
| `win_every_trick` | bids as `rule`, then takes every trick it can |
| `rule` | bids by the value of single cards, plays by strength |
| `counter` | counts cards: the bid and the card with the best expected payment |
| `rollouts` | tries every action in deals that fit the others' bids, played out by `counter` |

`crates/sylvan-games/src/blob/bots` has their rules. Players that search are in `search.py`; the
network that comes with Sylvan is in `network_player.py`: alone (`network`), or with a search
(`network_search`). `bot_named` finds them all.
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
"""Names of the built-in bots, from the weakest to the strongest."""

BOTS = ("random", "win_every_trick", "rule", "counter", "rollouts")
NETWORKS = ("network", "network_search")
"""Names of players with a network: alone, and in a search."""


class BlobPlayer(Protocol):
    """A player: chooses an action for the seat to move."""

    @property
    def name(self) -> str:
        """Name for display."""

    def choose(self, view: Blob, rng: _native.Rng) -> int:
        """Return a legal action of the view's observer, who is to move."""


@dataclass(frozen=True)
class Verdict:
    """The expected result of an action for its seat."""

    action: int
    utility: float
    """Mean utility, with the player's own `rivalry`."""
    points: float
    """Mean points of the round."""
    made: float
    """Share of deals in which the bid is made."""
    visits: int = 0
    """Deals in which the action was tried."""


@dataclass(frozen=True)
class Bot:
    """A built-in player.

    :raises ConfigError: no player has this name.

    >>> bot = Bot("counter")
    >>> game = Blob(players=4, cards=3, seed=2)
    >>> game.action_to_string(bot.choose(game.observe(game.to_play()), _native.Rng(1)))
    'bid 1'
    """

    name: str
    deals: int = 128
    """Sampled deals per decision; only for `rollouts`."""
    rivalry: float = 1.0
    """Utility of `rollouts`: 0 for its own points, 1 for its points above the others' mean."""
    candidates: int = 16
    """Deals that `rollouts` weights by the others' bids, per deal it uses; 1: uniform deals."""
    bid_noise: float = 0.1
    """Probability of a random bid in the model of the other seats, for the weights."""
    play_noise: float = 1.0
    """Probability of a random play in this model."""

    def __post_init__(self) -> None:
        _ = self.native

    @cached_property
    def native(self) -> _native.BlobBot:
        """The player in Rust."""
        settings = asdict(self)
        return _native.BlobBot(settings.pop("name"), **settings)

    def choose(self, view: Blob, rng: _native.Rng) -> int:
        """Return a legal action of the seat to move."""
        return self.native.choose(view, rng)

    def judge(self, view: Blob, rng: _native.Rng) -> list[Verdict]:
        """Return the expected results of all legal actions; only for `rollouts`."""
        return [Verdict(*row, self.deals) for row in self.native.judge(view, rng)]

    def __str__(self) -> str:
        if self.name != "rollouts":
            return self.name
        return f"rollouts ({self.deals} {'uniform ' if self.candidates == 1 else ''}deals)"


def bot_named(text: str) -> BlobPlayer:
    """Make a player by name:

    - a bot: `counter`, `rollouts`, `rollouts:32` (deals), `rollouts:32:uniform` (deals not weighted
      by the others' bids);
    - a search: `information_set:4000` (simulations), `determinised:32x125` (deals x simulations);
    - the network that comes with Sylvan: `network`, `network_search:1000` (simulations).

    :raises ConfigError: no player has this name.

    >>> bot_named("rollouts:32")
    Bot(name='rollouts', deals=32, rivalry=1.0, candidates=16, bid_noise=0.1, play_noise=1.0)
    >>> bot_named("determinised").name
    'determinised:32x125'
    """
    name, *rest = text.split(":")
    if name not in (*BOTS, *SEARCHES, *NETWORKS):
        names = ", ".join((*BOTS, *SEARCHES, *NETWORKS))
        raise ConfigError(f"There is no player {name!r} of Blob: use {names}.")
    if name in SEARCHES:
        return search_named(text)
    if name in NETWORKS:
        # Imported late: it loads ONNX Runtime.
        from sylvan.blob.network_player import network_named

        return network_named(text)
    uniform = rest[1:] == ["uniform"]
    if rest and not (rest[0].isdecimal() and (uniform or len(rest) == 1)):
        raise ConfigError(
            f"{text!r} is not a player of Blob: give a name, rollouts:32 or rollouts:32:uniform."
        )
    deals = int(rest[0]) if rest else Bot.deals
    return Bot(name, deals, candidates=1) if uniform else Bot(name, deals)
