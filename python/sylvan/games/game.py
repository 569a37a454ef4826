"""What Sylvan asks of a game: subclass `Game` and fill in seven methods.

Players are seats `0 .. num_players - 1`. A state knows whose turn it is and which actions are
legal, takes an action in place, and at its end pays every seat. An action is an integer below
`num_actions` that means the same in all states; outcomes of chance are actions too.

An episode pays each seat

    sum over steps t of  discount**t * rewards_t   +   discount**T * returns_T

so what `rewards` paid on the way is not paid again by `returns`.

What is asked where:

    a seat moves    to_play, legal_actions, observation; then apply
    is_chance()     chance_outcomes; then apply; nobody is asked to move
    is_terminal()   returns; nothing is legal any more

`sylvan.testing.check_game` plays a game at random and finds where it breaks these rules.
"""

from __future__ import annotations

import difflib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from sylvan.errors import ConfigError, GameContractError, IllegalAction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from sylvan._native import Rng
    from sylvan.games.encoding import Encoding

__all__ = ["MAX_SEATS", "Game", "Observation", "Symmetry"]

MAX_SEATS = 8

Observation: TypeAlias = "NDArray[np.generic]"
"""What a seat sees: an array whose shape and dtype are the same in all states."""

Symmetry: TypeAlias = (
    "tuple[Callable[[Observation], Observation], Sequence[int] | NDArray[np.integer[Any]]]"
)
"""An observation map and an action permutation: action `a` becomes `permutation[a]`."""


class _ZeroSumByDefault:
    """`zero_sum` of a game that does not set it: true for two seats."""

    def __get__(self, game: Game | None, owner: type[Game]) -> bool:
        return getattr(owner if game is None else game, "num_players", None) == 2


class Game(ABC):
    """A state of a game, in one object that `apply` moves forward.

    A game may set `num_players` and the other attributes on the class or, where they depend on
    its parameters, on the instance.

    >>> import numpy as np
    >>> class Nim(Game):
    ...     '''Take one to three stones; who takes the last one wins.'''
    ...     num_players, num_actions = 2, 3
    ...     def __init__(self, stones=10, seat=0): self.stones, self.seat = stones, seat
    ...     def legal_actions(self): return range(min(3, self.stones))
    ...     def apply(self, action): self.stones -= action + 1; self.seat = 1 - self.seat
    ...     def clone(self): return Nim(self.stones, self.seat)
    ...     def to_play(self): return self.seat
    ...     def is_terminal(self): return self.stones == 0
    ...     def returns(self): return (-1, 1) if self.seat == 0 else (1, -1)
    ...     def observation(self): return np.array([self.stones], np.float32)
    >>> nim = Nim(stones=4)
    >>> nim.apply(2)
    >>> nim.to_play(), list(nim.legal_actions()), nim.zero_sum
    (1, [0], True)
    >>> nim.apply(nim.string_to_action("0"))
    >>> nim.is_terminal(), nim.returns()
    (True, (-1, 1))
    """

    # So that a subclass may have `__slots__`, which makes states that are cloned often smaller.
    __slots__ = ()

    num_players: int
    """Seats, 1 to 8."""

    num_actions: int
    """Codes of actions and of chance outcomes are below this."""

    zero_sum: bool = cast(bool, _ZeroSumByDefault())
    """Two seats whose returns and rewards always add up to zero. Default: any two seats."""

    default_evaluator: str = "rollout"
    """The evaluator of a search that is given none, by its name."""

    native_views: bool = False
    """Whether the core itself moves what `observe` gives; else Python does, view by view."""

    value_range: tuple[float, float] = (-1.0, 1.0)
    """The least and the most that a state can still pay a seat.

    That is the range of `returns()` and, in a game with rewards, of the rewards to come plus the
    returns, undiscounted. An infinite end means that it is not known.
    """

    max_length: int | None = None
    """The most actions, those of chance included, that a play can take. None: no promise."""

    observer: int | None = None
    """Of a view, the seat whose knowledge it is. None: the whole state."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Attributes that are set per instance, or by a property, are left to `check_game`.
        seats, actions = cls.__dict__.get("num_players"), cls.__dict__.get("num_actions")
        if isinstance(seats, int) and not 1 <= seats <= MAX_SEATS:
            raise GameContractError(
                f"{cls.__name__}.num_players is {seats}, but a game has 1 to {MAX_SEATS} seats: "
                "set it to the number of players."
            )
        if isinstance(actions, int) and actions < 1:
            raise GameContractError(
                f"{cls.__name__}.num_actions is {actions}, but a game has at least one action: "
                "set it to one more than the largest action code."
            )

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        """A class that has all of a game's methods is a game, whether it says so or not."""
        if cls is Game and all(hasattr(other, name) for name in _METHODS):
            return True
        return NotImplemented

    @abstractmethod
    def legal_actions(self) -> Sequence[int]:
        """The actions of the seat to move: distinct, at least one, in the same order every time.

        Nothing once the game is over. Not asked while chance moves.
        """

    @abstractmethod
    def apply(self, action: int) -> None:
        """Take a legal action, or a chance outcome, in place.

        The same action in the same state always does the same: randomness belongs in
        `chance_outcomes`.
        """

    @abstractmethod
    def clone(self) -> Self:
        """An independent copy: nothing done to one is seen in the other."""

    @abstractmethod
    def to_play(self) -> int:
        """The seat to move. Not asked while chance moves or once the game is over."""

    @abstractmethod
    def is_terminal(self) -> bool:
        """Whether the game is over."""

    @abstractmethod
    def returns(self) -> Sequence[float]:
        """What the end pays, shape `(num_players,)`. Asked only once the game is over."""

    @abstractmethod
    def observation(self) -> Observation:
        """What the seat to move sees, as a new array; finite, always of one shape and dtype."""

    def rewards(self) -> Sequence[float]:
        """What the last step paid, shape `(num_players,)`. Default: zeros."""
        return (0.0,) * self.num_players

    def estimate(self) -> Sequence[float] | None:
        """What an unfinished game is about worth to each seat, shape `(num_players,)`, in the range
        of `returns`: the verdict on a game of self-play that is broken off. Default: None, a draw.
        """
        return None

    def auxiliary(self, end: Self) -> Mapping[str, ArrayLike]:  # noqa: ARG002
        """Further things that a network can learn to see here, by name, as the seat to move sees
        them: whose a field will be, what the score will be. Default: none.

        :param end: the state in which the game ended.
        """
        return {}

    def observe(self, seat: int) -> Game:  # noqa: ARG002
        """What a seat knows, and nothing else: a view, whose `observer` is that seat. Default: a
        copy, since nothing is hidden.

        A view is a game as well, though some questions have no answer there: it is asked whose turn
        it is, and if it is its observer's, for the legal actions and the observation.
        """
        return self.clone()

    def sample(self, rng: Rng) -> Game:  # noqa: ARG002
        """A whole state that the observer of this view cannot tell from the true one, each drawn as
        likely as it is to that seat, in a new object. Default: a copy, since nothing is open.

        All that is drawn is drawn from `rng` (`uniform`, `below`, `shuffled`, ...).
        """
        return self.clone()

    def set_root(self) -> None:
        """A search starts here. For games whose rules ask how a position came about: chess lets a
        position be searched in which a draw could be claimed.
        """

    def is_chance(self) -> bool:
        """Whether chance moves next. Default: never."""
        return False

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        """Pairs of action and probability; positive, adding up to one. Default: none."""
        return ()

    def key(self) -> bytes | None:
        """Bytes that stand for this state, for caches. Default: None, there is no key.

        Equal keys promise equal futures and equal observations; the path that led here, and
        what its last step paid, may differ.
        """
        return None

    def symmetries(self) -> Sequence[Symmetry]:
        """Pairs of observation map and action permutation. Default: none.

        Playing the permuted actions from the first state leads to the mapped observation, with
        the same seat to move and the same payments. The identity need not be listed.
        """
        return ()

    @property
    def encoding(self) -> Encoding | None:
        """How the game shows itself to a network. Default: None, there is one way only."""
        return None

    def encoded(self, encoding: Encoding | None) -> Self:
        """A copy that shows itself in another encoding.

        :raises ConfigError: the game has no encodings.
        """
        if encoding is not None:
            raise ConfigError(
                f"{type(self).__name__} has no encodings, but {encoding} was asked for: "
                "use an evaluator that was made for this game."
            )
        return self.clone()

    @property
    def num_logits(self) -> int:
        """Outputs of a network's policy. Default: one per action."""
        return self.num_actions

    @property
    def network_seats(self) -> int:
        """Seats that a network of this game has values for: those of the largest table, where one
        network serves tables of several sizes. Default: as many as there are.
        """
        return self.num_players

    @property
    def network_range(self) -> tuple[float, float]:
        """The least and the most that a network says of a seat. Default: `value_range`."""
        return self.value_range

    def seat_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """What a network says of each seat, `[B, num_players]`, as this game pays it. Default: the
        same.
        """
        return values

    def logit_index(self, action: int) -> int:
        """Where a policy output has the logit of an action. Default: at its code."""
        return action

    def action_to_string(self, action: int) -> str:
        """The name of an action that is legal here. Default: its code."""
        return str(action)

    def string_to_action(self, text: str) -> int:
        """The legal action that has this name here.

        :raises IllegalAction: nothing legal here is called that.
        """
        if self.is_chance():
            codes: Sequence[int] = [action for action, _ in self.chance_outcomes()]
        else:
            codes = self.legal_actions()
        names = {self.action_to_string(action): action for action in codes}
        if text not in names:
            close = difflib.get_close_matches(text, names, cutoff=0.0) or ["nothing"]
            raise IllegalAction(
                f"{type(self).__name__}: no legal action is called {text!r}; "
                f"the nearest are {', '.join(close)}."
            )
        return names[text]


# Only some games and uses have these: a class without them is a game all the same.
_OF_SOME = {"encoded", "logit_index", "estimate", "auxiliary", "observe", "sample"}
_METHODS = tuple(
    name
    for name, value in vars(Game).items()
    if callable(value) and name[0] != "_" and name not in _OF_SOME
)


def state_bytes(state: object) -> int:
    """About the bytes that one more copy of a state takes: what it owns, three levels deep.

    >>> state_bytes([0] * 1000) > 8000
    True
    """
    return _owned(state, 3)


def _owned(thing: object, depth: int) -> int:
    size = sys.getsizeof(thing)
    if depth == 0 or isinstance(thing, (type, str, bytes, int, float)):
        return size
    if isinstance(thing, dict):
        return size + sum(_owned(value, depth - 1) for value in thing.values())
    if isinstance(thing, (list, tuple, set, frozenset)):
        return size + sum(_owned(item, depth - 1) for item in thing)
    slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
    owned = [getattr(thing, name) for name in slots if hasattr(thing, name)]
    attributes = getattr(thing, "__dict__", None)
    return size + sum(_owned(part, depth - 1) for part in [*owned, attributes] if part is not None)
