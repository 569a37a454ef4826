"""Every exception that Sylvan raises on purpose.

A message is one sentence that names the input, the rule it breaks and the fix. A call that raises
changes nothing. All are `SylvanError`; most also derive from the built-in exception that a caller
would expect, so `except ValueError` works without knowing this file.

>>> issubclass(IllegalAction, ValueError) and issubclass(MissingExtra, ImportError)
True
"""

__all__ = [
    "ClusterError",
    "ConfigError",
    "EngineError",
    "EvaluationError",
    "GameContractError",
    "GameOver",
    "HiddenCards",
    "IllegalAction",
    "IllegalBid",
    "IllegalCard",
    "IllegalPosition",
    "MissingEntryPoint",
    "MissingExtra",
    "MissingFolder",
    "NetworkError",
    "ProtocolError",
    "ReplayError",
    "RunError",
    "SearchStateError",
    "SnapshotError",
    "SolveTimeout",
    "SylvanError",
    "TrainingError",
    "WrongPhase",
    "WrongPlayer",
]


class SylvanError(Exception):
    """Base class: catch it to catch every error that Sylvan reports.

    `str` completes the fragments that come from Rust to a sentence.

    >>> print(GameOver("the game is over: no move can follow"))
    The game is over: no move can follow.
    """

    def __str__(self) -> str:
        text = super().__str__()
        if text.partition(" ")[0] in _OPENINGS:  # keep the case of an input's name or value
            text = text[0].upper() + text[1:]
        return text if text.endswith((".", "?")) else f"{text}."


_OPENINGS = {
    "a",
    "action",
    "all",
    "cannot",
    "cell",
    "column",
    "it",
    "move",
    "no",
    "not",
    "nothing",
    "seat",
    "the",
    "there",
}


class IllegalPosition(SylvanError, ValueError):
    """A position that the rules do not allow: a FEN without a king, a floating stone."""


class IllegalAction(SylvanError, ValueError):
    """A move that is not legal where it was tried, or text that names no move."""


class IllegalBid(IllegalAction):
    """A bid above the number of tricks, or one that the hook rule forbids the dealer."""


class IllegalCard(IllegalAction):
    """A card that is not in the hand, or does not follow suit."""


class WrongPhase(IllegalAction):
    """A bid during play, a card during the bidding, or either before the deal."""


class WrongPlayer(IllegalAction):
    """A move of a seat that is not to move."""


class HiddenCards(SylvanError, ValueError):
    """A request for a hidden hand, or for a deal from a state without hidden cards."""


class GameOver(SylvanError, ValueError):
    """A move, a search or an observation in a game that has ended."""


class GameContractError(SylvanError):
    """A game breaks the contract of `sylvan.Game`; the message names its class and method.

    `actions` lead from the first state to the one that shows it, if they are known.
    """

    def __init__(self, message: str, actions: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.actions = actions


class ConfigError(SylvanError, ValueError):
    """A setting that does not exist, is out of range, or contradicts another."""


class EvaluationError(SylvanError, ValueError):
    """An unusable answer of an evaluator: wrong shape, NaN, no finite logit.

    The message names the leaf (its row in the batch) and the output.
    """


class NetworkError(SylvanError, ValueError):
    """An unusable network or file: damaged, for another game, codec or shape."""


class EngineError(SylvanError, RuntimeError):
    """A chess engine that does not start, exits early, or gives an invalid answer.

    `ending` says how the game it loses ended: `disconnect`, `stall`, `illegal move`.
    """

    def __init__(self, message: str, ending: str = "disconnect") -> None:
        super().__init__(message)
        self.ending = ending


class ReplayError(SylvanError, ValueError):
    """Stored games that cannot be read or written: damaged, for another game, a full disk."""


class RunError(SylvanError, ValueError):
    """A run folder that is missing, damaged, or does not fit the request."""


class ClusterError(SylvanError, RuntimeError):
    """Machines that cannot work together: a refused worker, a damaged shard, no connection."""


class SearchStateError(SylvanError, RuntimeError):
    """A call in the wrong state of the search: `update` without `select`."""


class SnapshotError(SylvanError, ValueError):
    """A file or dictionary that is not a snapshot of a tree."""


class SolveTimeout(SylvanError, TimeoutError):
    """An exact solver did not finish within its timeout."""


class TrainingError(SylvanError, RuntimeError):
    """Training cannot continue: the loss is NaN, or examples do not fit the network."""


class MissingExtra(SylvanError, ImportError):
    """A missing optional dependency; the message gives the `pip install` line."""

    @classmethod
    def named(cls, what: str, extra: str) -> "MissingExtra":
        """The error for something that needs an extra of the package.

        :param what: what is missing, without a full stop.

        >>> print(MissingExtra.named("Plots need matplotlib", "train"))
        Plots need matplotlib: pip install 'sylvan[train]' (in a clone: pip install -e '.[train]').
        """
        how = f"pip install 'sylvan[{extra}]' (in a clone: pip install -e '.[{extra}]')"
        return cls(f"{what}: {how}.")


class MissingEntryPoint(SylvanError, LookupError):
    """The installation does not list a part of Sylvan: an older version made it."""


class MissingFolder(ConfigError, NetworkError, FileNotFoundError):
    """A file cannot be written, because its folder does not exist."""


class ProtocolError(SylvanError, ValueError):
    """An invalid line of UCI or JSON from another program.

    `field` names the offending part, if it has a name.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class MissingPage(SylvanError, FileNotFoundError):
    """The browser app's page is not built."""
