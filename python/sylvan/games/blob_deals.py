"""Deals of Blob weighted by what the others have done: a seat that bid three hardly holds nothing.

`Blob.sample` draws every deal that fits a view with the same probability. That is right until bids
and plays are read for what they mean: with a policy as the model of the other seats, a deal weighs
the chance that they would have done what they did,

    w(deal) = product over their moves of  (1 - noise) * policy(move)  +  noise / legal moves

The noise is a floor: a model that may be wrong rules no deal out. Candidates are drawn uniformly
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
"""From the view of the seat to move to the probabilities of its legal actions."""


def weighted_deals(
    view: Blob,
    count: int,
    policy: Policy,
    rng: _native.Rng,
    *,
    candidates: int = 8,
    noise: float = 0.1,
) -> list[Blob]:
    """`count` deals that fit a view, each about as often as its weight says.

    :param candidates: deals that are weighed for each one that is kept.
    :param noise: how often a seat does anything legal, whatever the policy says.
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
        return deals[:count]  # the model rules all of them out: it knows nothing
    offset, kept, place = rng.uniform(), [], 0
    for number in range(count):
        target = (number + offset) * sums[-1] / count
        while sums[place] <= target and place + 1 < len(deals):
            place += 1
        kept.append(deals[place])
    return kept


def weight(deal: Blob, viewer: int | None, policy: Policy, noise: float = 0.1) -> float:
    """The chance that the seats other than `viewer` would have done what they did in a deal."""
    product = 1.0
    for state, action in replay(deal):
        legal = state.legal_actions()
        if state.to_play() == viewer or len(legal) == 1 or noise == 1:
            continue
        chance = policy(state.observe(state.to_play())).get(action, 0.0)
        product *= (1 - noise) * chance + noise / len(legal)
    return product


def replay(deal: Blob) -> Iterator[tuple[Blob, int]]:
    """Every state of the round so far, from its deal on, with what was done there.

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
