"""Options of priors: an evaluation's logits are changed before their softmax.

    logit'(a) = (logit(a) + b(a)) / policy_temperature,  at least  max logit' + ln(prior_floor)

b(a) is `forcing_bonus` for actions that the game calls forcing (`Game.is_forcing`), 0 for others.
All in single precision. A logit of -inf stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan._native import ln
from sylvan.reference.node import f32

if TYPE_CHECKING:
    from sylvan.games.game import Game
    from sylvan.planning.config import SearchConfig


def at_leaf(logits: Sequence[float], state: Game, config: SearchConfig) -> NDArray[np.float32]:
    """Return the logits of a leaf's legal actions with all options applied."""
    bonus, legal = f32(config.forcing_bonus), state.legal_actions()
    forcing = np.array([bool(bonus) and state.is_forcing(a) for a in legal], np.float32)
    own = np.array(logits, np.float32) + bonus * forcing
    return shaped(own, config.policy_temperature, config.prior_floor)


def shaped(logits: ArrayLike, temperature: float, floor: float) -> NDArray[np.float32]:
    """Divide logits by the temperature, and raise low ones to the floor."""
    found = np.array(logits, np.float32) / f32(temperature)
    least = found.max() + f32(ln(floor)) if floor else f32(-np.inf)
    return np.where((found < least) & (found > -np.inf), least, found)
