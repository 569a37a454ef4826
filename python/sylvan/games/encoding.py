"""How a game shows itself to a network: input encoder, move codec, missing history.

Actions in a search are always those of the game; a codec only says where a network's policy
output has the logit of an action.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Encoding"]


@dataclass(frozen=True)
class Encoding:
    """The encoder of observations, the codec of policy outputs, and how history is filled.

    >>> Encoding(codec="lc0")
    Encoding(encoder='lc0_112', codec='lc0', history_fill='fen_only')
    """

    encoder: str = "lc0_112"
    """`lc0_112`, `az119`, `planes19` or `planes18`: which planes an observation has."""
    codec: str = "az73"
    """`az73` (4672 logits) or `lc0` (1858)."""
    history_fill: str = "fen_only"
    """`no`, `fen_only` or `always`: what stands in place of boards before the first."""
