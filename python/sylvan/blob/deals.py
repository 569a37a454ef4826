"""Deals of Blob weighted by bids and plays: a seat that bid three probably holds high cards.

`Blob.sample` draws all deals that fit a view with equal probability. Bids and plays carry more
information. With a policy as the model of the other seats, the weight of a deal is the probability
of their moves in it:

    w(deal) = product over their moves of  (1 - noise) * policy(move)  +  noise / legal moves

The noise is a floor: an imperfect model must not exclude any deal. Candidates are drawn uniformly
and kept by systematic resampling: one random offset, then equal steps through the sum of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.games.blob import FIRST_BID, Blob

__all__ = ["Policy", "replay", "weight", "weighted_deals"]

Policy = Callable[[Blob], Mapping[int, float]]
"""Maps the view of the seat to move to the probabilities of its legal actions."""


def weighted_deals(
    view: Blob,
    count: int,
    policy: Policy,
    rng: _native.Rng,
    *,
    candidates: int = 8,
    noise: float = 0.1,
) -> list[Blob]:
    """Draw `count` deals that fit a view, each in proportion to its weight.

    :param candidates: deals drawn and weighted per deal that is returned.
    :param noise: probability that a seat makes a uniformly random legal move instead of the
        policy's.
    :raises ConfigError: a number is out of range.
    """
    if count < 1 or candidates < 1 or not 0 <= noise <= 1:
        raise ConfigError(
            f"count is {count}, candidates {candidates} and noise {noise}: the first two must be "
            "at least 1, noise 0 to 1."
        )
    deals = [view.sample(rng) for _ in range(count * candidates)]
    sums = list(accumulate(weight(deal, view.viewer, policy, noise) for deal in deals))
    if not sums[-1] > 0:
        return deals[:count]  # all weights are 0: the model gives no information
    offset, kept, index = rng.uniform(), [], 0
    for number in range(count):
        target = (number + offset) * sums[-1] / count
        while sums[index] <= target and index + 1 < len(deals):
            index += 1
        kept.append(deals[index])
    return kept


def weight(deal: Blob, viewer: int | None, policy: Policy, noise: float = 0.1) -> float:
    """Return the probability of the moves that the seats other than `viewer` made in a deal."""
    product = 1.0
    for state, action in replay(deal):
        legal = state.legal_actions()
        if state.to_play() == viewer or len(legal) == 1 or noise == 1:
            continue
        chance = policy(state.observe(state.to_play())).get(action, 0.0)
        product *= (1 - noise) * chance + noise / len(legal)
    return product


def replay(deal: Blob) -> Iterator[tuple[Blob, int]]:
    """Iterate over the states of the current round with the action taken in each.

    >>> game = Blob(players=3, cards=1, seed=5)
    >>> for action in (53, 52): game.apply(action)
    >>> [(state.to_play(), action) for state, action in replay(game)]
    [(1, 53), (2, 52)]
    """
    document = deal.to_json()
    state = type(deal).from_json(document | {"bids": [], "plays": []})
    for action in [*(FIRST_BID + bid for bid in document["bids"]), *document["plays"]]:
        yield state.clone(), action
        state.apply(action)
