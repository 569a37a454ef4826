"""The contract of a game: subclass `Game` and implement seven methods.

Players are seats `0 .. num_players - 1`. A state knows the seat to move and the legal
actions, applies an action in place, and pays every seat at the end. An action is an integer below
`num_actions` with the same meaning in all states; chance outcomes are actions too.

An episode pays each seat

    sum over steps t of  discount**t * rewards_t   +   discount**T * returns_T

so `returns` must not repeat amounts that `rewards` has paid.

Methods that the search calls in each kind of state:

    a seat moves    to_play, legal_actions, observation; then apply
    is_chance()     chance_outcomes; then apply
    is_terminal()   returns; legal_actions is empty

`sylvan.testing.check_game` plays a game at random and reports where it breaks these rules.
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
"""An array of what a seat sees; its shape and dtype are the same in all states."""

Symmetry: TypeAlias = (
    "tuple[Callable[[Observation], Observation], Sequence[int] | NDArray[np.integer[Any]]]"
)
"""An observation map and an action permutation: action `a` becomes `permutation[a]`."""


class _ZeroSumByDefault:
    """Default of `zero_sum`: true for two seats."""

    def __get__(self, game: Game | None, owner: type[Game]) -> bool:
        return getattr(owner if game is None else game, "num_players", None) == 2


class Game(ABC):
    """A state of a game; `apply` moves it forward in place.

    Set `num_players` and the other attributes on the class or, if they depend on
    parameters, on the instance.

    >>> import numpy as np
    >>> class Nim(Game):
    ...     '''Take one to three stones; the player of the last one wins.'''
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

    # Lets a subclass define `__slots__`, which makes states smaller and cloning cheaper.
    __slots__ = ()

    num_players: int
    """Seats, 1 to 8."""

    num_actions: int
    """All codes of actions and chance outcomes are below this."""

    zero_sum: bool = cast(bool, _ZeroSumByDefault())
    """Whether the payments of two seats always add up to zero. Default: true for two seats."""

    default_evaluator: str = "rollout"
    """The name of a search's default evaluator; `shipped`: the network that comes with Sylvan, if
    there is one for this board."""

    fallback_evaluator: str = "rollout"
    """The name of the evaluator to use if the default is a network that cannot be used."""

    native_views: bool = False
    """Whether the core applies moves to the views of `observe`; if not, Python does, one by one."""

    value_range: tuple[float, float] = (-1.0, 1.0)
    """Lowest and highest amount that a state can still pay a seat.

    It bounds `returns()` and, in a game with rewards, the sum of the rewards to come and the
    returns, undiscounted. Use infinity for an unknown bound.
    """

    max_length: int | None = None
    """Upper bound on the actions of a game, chance included. None: no bound."""

    observer: int | None = None
    """The seat whose view this is. None: the full state."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # `check_game` checks attributes set per instance or by a property.
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
        """Accept any class that has all of a game's methods, derived from `Game` or not."""
        if cls is Game and all(hasattr(other, name) for name in _METHODS):
            return True
        return NotImplemented

    @abstractmethod
    def legal_actions(self) -> Sequence[int]:
        """Return the actions of the seat to move: distinct, at least one, always in the same order.

        Empty once the game is over. Not called at chance nodes.
        """

    @abstractmethod
    def apply(self, action: int) -> None:
        """Apply a legal action or a chance outcome, in place.

        It must be deterministic: randomness belongs in `chance_outcomes`.
        """

    @abstractmethod
    def clone(self) -> Self:
        """Return an independent copy: changing one does not change the other."""

    @abstractmethod
    def to_play(self) -> int:
        """Return the seat to move. Not called at chance nodes or once the game is over."""

    @abstractmethod
    def is_terminal(self) -> bool:
        """Return whether the game is over."""

    @abstractmethod
    def returns(self) -> Sequence[float]:
        """Return the payment at the end, shape `(num_players,)`. Called only once the game is
        over.
        """

    @abstractmethod
    def observation(self) -> Observation:
        """Return the observation of the seat to move, as a new array: finite, with the same shape
        and dtype in all states.
        """

    def rewards(self) -> Sequence[float]:
        """Return the payment of the last step, shape `(num_players,)`. Default: zeros."""
        return (0.0,) * self.num_players

    def estimate(self) -> Sequence[float] | None:
        """Estimate each seat's return in an unfinished game, shape `(num_players,)`, in the range
        of `returns`. It scores self-play games that are cut off. Default: None, a draw.
        """
        return None

    def auxiliary(self, end: Self) -> Mapping[str, ArrayLike]:  # noqa: ARG002
        """Return auxiliary training targets by name, from the view of the seat to move: the final
        owner of a point, the final score. Default: none.

        :param end: the final state of the game.
        """
        return {}

    def observe(self, seat: int) -> Game:  # noqa: ARG002
        """Return a view: a copy that holds only what `seat` knows, with `observer` set to it.
        Default: a copy of the state, since nothing is hidden.

        A view need not implement every method: the search reads only `to_play` and, if the
        observer is to move, the legal actions and the observation.
        """
        return self.clone()

    def sample(self, rng: Rng) -> Game:  # noqa: ARG002
        """Draw a full state that is consistent with this view, with its probability given what the
        observer knows, as a new object. Default: a copy, since nothing is hidden.

        Draw all random numbers from `rng` (`uniform`, `below`, `shuffled`, ...).
        """
        return self.clone()

    def set_root(self) -> None:
        """Mark this state as the root of a search. For games whose rules depend on the history:
        chess searches a root in which a draw could be claimed. Default: do nothing.
        """

    def is_chance(self) -> bool:
        """Return whether chance moves next. Default: never."""
        return False

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        """Return pairs of action and probability: positive, with sum one. Default: none."""
        return ()

    def key(self) -> bytes | None:
        """Return bytes that identify this state, for caches. Default: None, no key.

        Equal keys promise equal futures and equal observations; the path to the state and
        the rewards of its last step may differ.
        """
        return None

    def position_key(self, ply: int) -> bytes | None:
        """Return the key by which a search with `transpositions=True` shares this state's node.
        Default: `key()` and `ply`, the plies since the search began, so that no
        node follows itself.

        Override it to share more: leave out `ply` if no state can recur in one game.
        """
        key = self.key()
        return None if key is None else key + ply.to_bytes(8, "little")

    def is_repetition(self) -> bool:
        """Return whether the game is a draw here because this line of a search repeats one of its
        positions, which `position_key` does not say. Only native games are asked. Default: no.
        """
        return False

    def is_forcing(self, action: int) -> bool:  # noqa: ARG002
        """Return whether a legal action forces matters, as a check or a capture does:
        `forcing_bonus` raises its prior. Only native games are asked. Default: no.
        """
        return False

    def symmetries(self) -> Sequence[Symmetry]:
        """Return pairs of observation map and action permutation. Default: none.

        Playing the permuted actions from the first state leads to the mapped observation, with
        the same seat to move and the same payments. The identity need not be listed.
        """
        return ()

    @property
    def encoding(self) -> Encoding | None:
        """The layout of observations and policy outputs. Default: None, there is only one."""
        return None

    def encoded(self, encoding: Encoding | None) -> Self:
        """Return a copy that uses another encoding.

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
        """Seats in the value output of this game's network: the largest number of players that
        one network serves. Default: `num_players`.
        """
        return self.num_players

    @property
    def network_range(self) -> tuple[float, float]:
        """Lowest and highest value that a network predicts for a seat. Default: `value_range`."""
        return self.value_range

    def seat_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Convert a network's values, `[B, num_players]`, to this game's payments. Default:
        unchanged.
        """
        return values

    def logit_index(self, action: int) -> int:
        """Return the index of an action's logit in the policy output. Default: its code."""
        return action

    def seat_name(self, seat: int) -> str:
        """Return what people call a seat: White in chess. Default: its number."""
        return f"seat {seat}"

    def action_to_string(self, action: int) -> str:
        """Return the name of an action that is legal here. Default: its code."""
        return str(action)

    def string_to_action(self, text: str) -> int:
        """Return the legal action with this name.

        :raises IllegalAction: no legal action has this name.
        """
        if self.is_chance():
            codes: Sequence[int] = [action for action, _ in self.chance_outcomes()]
        else:
            codes = self.legal_actions()
        names = {self.action_to_string(action): action for action in codes}
        if text not in names:
            close = difflib.get_close_matches(text, names, cutoff=0.0) or ["nothing"]
            raise IllegalAction(
                f"No legal action is called {text!r}: the nearest are {', '.join(close)}."
            )
        return names[text]


# Optional methods: a class without them is still a game.
_OPTIONAL = {"encoded", "logit_index", "estimate", "auxiliary", "observe", "sample"}
_METHODS = tuple(
    name
    for name, value in vars(Game).items()
    if callable(value) and name[0] != "_" and name not in _OPTIONAL
)


def state_bytes(state: object) -> int:
    """Estimate the bytes of one copy of a state: the objects it owns, three levels deep.

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
