"""Players of Blob that search: a tree over bids and cards, over deals consistent with the view.

Without a network, the card counter plays leaves out and gives the priors of all seats, each from
its own hand. Deals are weighted by the likelihood of the other seats' bids and plays. `rivalry`
chooses the goal: own points, or points above the others' mean, which decide who wins. Bids on one
card are exact (`crates/sylvan-games/src/blob/bots/one_card.rs`) and need no search.

A network can be an *opinion* (`SearchPlayer(opinion=network.likes)`): once per decision its policy
is averaged with the card counter's priors of the root, so that visits begin at the network's
favourites and playouts still decide. It can also replace the card counter at every leaf:
`SearchPlayer(evaluate=network)`.
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
"""Name of a search -> its default effort: deals x simulations each, or simulations."""


@dataclass(frozen=True)
class SearchPlayer:
    """A player that starts a new search at every decision.

    >>> from sylvan import Rng
    >>> player = SearchPlayer(SearchConfig(simulations=400))
    >>> game = Blob(players=4, cards=3, seed=2)
    >>> game.action_to_string(player.choose(game.observe(game.to_play()), Rng(1)))
    'bid 1'
    """

    config: SearchConfig = field(default_factory=lambda: SearchConfig(simulations=4000))
    evaluate: EvaluatorLike = field(default_factory=CardCounter)
    """The evaluator of leaves: values and priors."""
    rivalry: float = 1.0
    """0: maximise own points; 1: own points above the others' mean."""
    candidates: int = 16
    """Deals drawn for each one used, picked by the likelihood of the others' bids and plays; 1:
    uniform deals."""
    bid_noise: float = 0.1
    """Assumed share of random bids, for the likelihood of deals."""
    play_noise: float = 1.0
    """Assumed share of random plays."""
    opinion: Callable[[Blob], Sequence[float]] | None = None
    """Maps a view to the probability of each legal action to be the best."""

    @property
    def name(self) -> str:
        """The name for `bot_named`."""
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
        """Return a legal action; it must be the observer's turn."""
        legal = view.legal_actions()
        if len(legal) == 1:
            return legal[0]
        if (exact := blob_one_card_bid(view)) is not None:
            return exact[0]
        return self.search(view, rng).best

    def search(self, view: Blob, rng: Rng) -> SearchResult:
        """Search the view."""
        evaluate = self.evaluate
        if isinstance(evaluate, CardCounter):
            evaluate = replace(evaluate, seat=view.to_play())
        root = view.with_rivalry(self.rivalry)
        root = root.with_belief(self.candidates, self.bid_noise, self.play_noise)
        config = self.config.replace(seed=rng.below(2**63))
        if self.opinion is None:
            return Search(evaluate, config).run(root)
        # The search mixes root noise into the priors; the opinion takes the place of the noise.
        config = config.replace(noise=True, dirichlet_fraction=0.5)
        return Search(evaluate, config).run(root, noise=self.opinion(view))

    def __str__(self) -> str:
        return self.name


def search_named(text: str) -> SearchPlayer:
    """Return the player of a name: a search and its effort, `information_set:4000` or
    `determinised:32x125`; with `:uniform` at the end, deals are drawn uniformly.

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
