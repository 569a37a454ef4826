"""Every exception that Sylvan raises on purpose.

A message is one sentence that names the input, the rule it breaks and the fix; whatever raised it
has changed nothing. All are `SylvanError`; most are also the built-in exception that a caller
would expect, so `except ValueError` works without knowing this file.

>>> issubclass(IllegalAction, ValueError) and issubclass(MissingExtra, ImportError)
True
"""

__all__ = [
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
    """The root of all of them: catch it to catch whatever Sylvan itself reports.

    Its text is a whole sentence, also where it comes from Rust, whose errors are fragments.

    >>> print(GameOver("the game is over: no move can follow"))
    The game is over: no move can follow.
    """

    def __str__(self) -> str:
        text = super().__str__()
        if text.partition(" ")[0] in _OPENINGS:  # not the name or the value of an input
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
}
_OPENINGS |= {"the", "there"}


class IllegalPosition(SylvanError, ValueError):
    """A position that the rules do not allow: a FEN without a king, a floating stone."""


class IllegalAction(SylvanError, ValueError):
    """A move that is not legal where it was tried, or text that names no move."""


class IllegalBid(IllegalAction):
    """A bid that the round does not have, or that the hook forbids the dealer."""


class IllegalCard(IllegalAction):
    """A card that is not held, or that does not follow suit."""


class WrongPhase(IllegalAction):
    """A bid while cards are played, a card while bids are made, either before the deal."""


class WrongPlayer(IllegalAction):
    """A move of a seat whose turn it is not."""


class HiddenCards(SylvanError, ValueError):
    """A hand that cannot be seen was asked for, or a deal of a state in which nothing is hidden."""


class GameOver(SylvanError, ValueError):
    """A move, a search or an observation was asked of a game that has ended."""


class GameContractError(SylvanError):
    """A game breaks the contract of `sylvan.Game`; the message names its class and method.

    `actions` lead from the first state to the one where it shows, as far as they are known.
    """

    def __init__(self, message: str, actions: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.actions = actions


class ConfigError(SylvanError, ValueError):
    """A setting that does not exist, is out of range, or contradicts another."""


class EvaluationError(SylvanError, ValueError):
    """An evaluator's answer cannot be used: wrong shape, NaN, no finite logit.

    The message names the leaf (its row in the batch) and the output.
    """


class NetworkError(SylvanError, ValueError):
    """A network, or its file, that cannot be used: damaged, of another game, codec or shape."""


class EngineError(SylvanError, RuntimeError):
    """A chess program that we run does not start, breaks off, or answers with nonsense.

    `ending` is what a game that it loses by this counts as: `disconnect`, `stall`, `illegal move`.
    """

    def __init__(self, message: str, ending: str = "disconnect") -> None:
        super().__init__(message)
        self.ending = ending


class ReplayError(SylvanError, ValueError):
    """Stored games that cannot be read or written: damaged, of another game, a full disk."""


class RunError(SylvanError, ValueError):
    """A training run's folder that is not one, is damaged, or does not fit what is asked of it."""


class SearchStateError(SylvanError, RuntimeError):
    """A call that does not fit the state of the search: `update` without `select`."""


class SnapshotError(SylvanError, ValueError):
    """A file or a dictionary that is not a snapshot of a tree."""


class SolveTimeout(SylvanError, TimeoutError):
    """An exact solver did not know the score in the time that it was given."""


class TrainingError(SylvanError, RuntimeError):
    """Training cannot go on: a loss that is no number, examples that do not fit the network."""


class MissingExtra(SylvanError, ImportError):
    """An optional dependency is not installed; the message gives the `pip install` line."""


class MissingEntryPoint(SylvanError, LookupError):
    """The installation does not list a part of Sylvan: an older version made it."""


class MissingFolder(ConfigError, NetworkError, FileNotFoundError):
    """A file cannot be written, because its folder does not exist."""


class ProtocolError(SylvanError, ValueError):
    """A line of another program, UCI or JSON, that cannot be understood.

    `field` is what of it is at fault, where that has a name.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
