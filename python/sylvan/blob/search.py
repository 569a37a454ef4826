"""Players of Blob that search: a tree over bids and cards, in deals that fit what the seat sees.

Without a network, leaves are played out by the card counter, which also says what the other seats
are likely to do, each by its own hand. Deals are drawn as the others' bids make them likely. What
the search works for is `rivalry`: points above the others' mean, which decides who wins, or own
points. Bids on one card are exact (`crates/sylvan-games/src/blob/bots/one_card.rs`): there nothing
is left to search.

A network helps as an *opinion*: what it likes is mixed, half and half, into what the card counter
says of the seat's own options, once per decision (`SearchPlayer(opinion=network.likes)`), so that
visits begin where a network sees the best chances and playouts still decide. An evaluator of a
network can also take the card counter's place, leaf by leaf: `SearchPlayer(evaluate=network)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sylvan._native import blob_one_card_bid
from sylvan.blob.card_counter import CardCounter
from sylvan.errors import ConfigError
from sylvan.games.blob import Blob
from sylvan.planning import Search, SearchConfig

if TYPE_CHECKING:
    from sylvan._native import Rng
    from sylvan.evaluators import EvaluatorLike
    from sylvan.planning import SearchResult

__all__ = ["SEARCHES", "SearchPlayer", "search_named"]

SEARCHES = {"determinised": "32x125", "information_set": "4000"}
"""Names of searches with what they are given unless told: deals x simulations each, or
simulations."""


@dataclass(frozen=True)
class SearchPlayer:
    """A player that searches its view anew at every decision.

    >>> from sylvan import Rng
    >>> player = SearchPlayer(SearchConfig(simulations=400))
    >>> game = Blob(players=4, cards=3, seed=2)
    >>> game.action_to_string(player.choose(game.observe(game.to_play()), Rng(1)))
    'bid 1'
    """

    config: SearchConfig = field(default_factory=lambda: SearchConfig(simulations=4000))
    evaluate: EvaluatorLike = field(default_factory=CardCounter)
    """What values leaves and gives priors."""
    rivalry: float = 1.0
    """0: its own points, 1: its points above the others' mean."""
    candidates: int = 16
    """Deals that are weighed by the others' bids and plays for each one that is used; 1 draws them
    uniformly."""
    bid_noise: float = 0.1
    """How often it takes the others to bid as if at random, where it weighs."""
    play_noise: float = 1.0
    """The same of plays."""
    opinion: Callable[[Blob], Sequence[float]] | None = None
    """Of a view: how likely each legal action is to be the best."""

    @property
    def name(self) -> str:
        """As `bot_named` knows it."""
        count = self.config.simulations or 0
        deals = self.config.deals
        effort = f"{deals}x{count // deals}" if self._determinises else str(count)
        uniform = ":uniform" if self.candidates == 1 else ""
        if self.opinion is not None or not isinstance(self.evaluate, CardCounter):
            return f"network_search:{effort}"
        return f"{self.config.hidden}:{effort}{uniform}"

    @property
    def _determinises(self) -> bool:
        return self.config.hidden == "determinised"

    def choose(self, view: Blob, rng: Rng) -> int:
        """A legal action of the seat that looks, whose turn it is."""
        legal = view.legal_actions()
        if len(legal) == 1:
            return legal[0]
        if (exact := blob_one_card_bid(view)) is not None:
            return exact[0]
        return self.search(view, rng).best

    def search(self, view: Blob, rng: Rng) -> SearchResult:
        """What a search of the view finds."""
        evaluate = self.evaluate
        if isinstance(evaluate, CardCounter):
            evaluate = replace(evaluate, seat=view.to_play())
        root = view.with_rivalry(self.rivalry)
        root = root.with_belief(self.candidates, self.bid_noise, self.play_noise)
        config = self.config.replace(seed=rng.below(2**63))
        if self.opinion is None:
            return Search(evaluate, config).run(root)
        # What is mixed into the root's priors is handed in: an opinion in the place of noise.
        config = config.replace(noise=True, dirichlet_fraction=0.5)
        return Search(evaluate, config).run(root, noise=self.opinion(view))

    def __str__(self) -> str:
        return self.name


def search_named(text: str) -> SearchPlayer:
    """A player by the name of its search and what it is given: `information_set:4000`,
    `determinised:32x125`, with deals that are drawn uniformly `information_set:4000:uniform`.

    :raises ConfigError: there is no such search.

    >>> search_named("determinised:8x50").config.simulations
    400
    """
    name, *rest = text.split(":")
    uniform = rest[-1:] == ["uniform"]
    effort = (rest[: len(rest) - uniform] or [SEARCHES.get(name, "")])[0]
    numbers = effort.split("x")
    fits = len(rest) <= 1 + uniform and len(numbers) == (2 if name == "determinised" else 1)
    if name not in SEARCHES or not fits or not all(_is_count(number) for number in numbers):
        raise ConfigError(
            f"{text!r} is no search of Blob: write information_set:4000, determinised:32x125, or "
            "either with :uniform at its end."
        )
    *deals, each = map(int, numbers)
    given: dict[str, Any] = {"hidden": name, "simulations": each}
    if deals:
        given |= {"deals": deals[0], "simulations": deals[0] * each}
    config = SearchConfig(**given)
    return SearchPlayer(config, candidates=1) if uniform else SearchPlayer(config)


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) < 8 and int(text) > 0
