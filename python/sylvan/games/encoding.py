"""Encodings of chess: the layout of a network's inputs and policy outputs.

Three independent choices; `docs/chess-encodings.md` lists every plane and every output.

- the *encoder* builds the input planes from a position and its history;
- the *codec* maps a move to the index of its policy logit;
- the *history fill* replaces boards before the first known position.

Actions of a search are always `az73` codes, whatever the encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sylvan.errors import ConfigError

__all__ = ["CODECS", "ENCODERS", "HISTORY_FILLS", "Encoding"]

ENCODERS: Final = {
    "lc0_112": 112,
    "az119": 119,
    "planes19": 19,
    "planes18": 18,
    "planes29": 29,
}
"""Planes of each encoder."""

CODECS: Final = {"az73": 4672, "lc0": 1858}
"""Policy outputs of each codec."""

HISTORY_FILLS: Final = ("no", "fen_only", "always")


@dataclass(frozen=True)
class Encoding:
    """The input and output layout of a chess network.

    >>> maia = Encoding(encoder="lc0_112", codec="lc0")
    >>> maia.observation_shape, maia.num_logits
    ((112, 8, 8), 1858)
    """

    encoder: str = "lc0_112"
    codec: str = "az73"
    history_fill: str = "fen_only"

    def __post_init__(self) -> None:
        for name, known in (
            ("encoder", ENCODERS),
            ("codec", CODECS),
            ("history_fill", HISTORY_FILLS),
        ):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ConfigError(f"{name} is {value!r}, but must be one of {', '.join(known)}.")

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Planes, ranks and files of a network's input, after `expand_planes`."""
        return ENCODERS[self.encoder], 8, 8

    @property
    def num_logits(self) -> int:
        """Outputs of the policy."""
        return CODECS[self.codec]
