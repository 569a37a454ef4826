"""OpenSpiel's games as Sylvan games, with chance or without.

    from_open_spiel("breakthrough(rows=6,columns=6)")

How OpenSpiel's terms become ours:

- Reward model TERMINAL: `returns` pays the utility at the end. REWARDS: `rewards` pays what a step
  adds to the utility so far, and `returns` is zero.
- `min_utility` and `max_utility` are the `value_range`. With rewards it also spans zero, since what
  is still to come may be nothing (where rewards have both signs, that is a guess).
- Chance outcomes are actions; `num_actions` covers them and the players' actions.
- `observation` is the `observation_tensor` of the seat to move; where a game has none, its
  `information_state_tensor`; where it has neither, the actions so far (each plus one, then zeros,
  shape `(max_length,)`).
- Where a game hides something, `observe(seat)` is a state drawn from those that the seat cannot
  tell from the true one, always the same one, so that nothing of the true one is left in it;
  `sample` draws another. Both are OpenSpiel's `resample_from_infostate`, which few games have.
  That of oh_hell ignores who has shown to be out of a suit.

Refused, with the reason: hidden information that OpenSpiel cannot draw, several players who move at
once (each hides a move from the others), mean-field games, chance that a game draws for itself,
more than eight players. A game for one player that only calls itself simultaneous is played in
turns.

Accepted but broken in OpenSpiel 2.0: quoridor with more than two players, which lists moves that it
then rejects.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Self

import numpy as np

from sylvan._native import Rng
from sylvan.errors import ConfigError, GameOver, IllegalAction, MissingExtra
from sylvan.games.game import MAX_SEATS, Game, Observation

__all__ = ["OpenSpielGame", "from_open_spiel"]


def from_open_spiel(game: Any) -> OpenSpielGame:
    """The first state of an OpenSpiel game.

    :param game: a name with parameters, as OpenSpiel writes it, or a `pyspiel.Game`.
    :raises MissingExtra: OpenSpiel is not installed.
    :raises ConfigError: OpenSpiel has no such game, or it is one of those refused.
    """
    pyspiel = _pyspiel()
    given = _load(pyspiel, game) if isinstance(game, str) else game
    spiel = _in_turns(pyspiel, given)
    traits, kind = pyspiel.GameType, spiel.get_type()
    pays_steps = kind.reward_model == traits.RewardModel.REWARDS
    if given.get_type().information == traits.Information.PERFECT_INFORMATION:
        return OpenSpielRewardGame(spiel) if pays_steps else OpenSpielGame(spiel)
    return _with_deals(HiddenSpielRewardGame if pays_steps else HiddenSpielGame, spiel)


class OpenSpielGame(Game):
    """A state of an OpenSpiel game; `spiel` is the `pyspiel.Game` that it belongs to."""

    def __init__(self, spiel: Any) -> None:
        two_zero_sum = spiel.num_players() == 2 and spiel.utility_sum() == 0.0
        self.spiel = spiel
        self.num_players = spiel.num_players()
        self.num_actions = max(spiel.num_distinct_actions(), spiel.max_chance_outcomes())
        self.zero_sum = two_zero_sum
        self.value_range = (spiel.min_utility(), spiel.max_utility())
        self.max_length = spiel.max_history_length()
        self._tensor, self._shape = _observer(spiel)
        self._state = spiel.new_initial_state()

    def legal_actions(self) -> Sequence[int]:
        """The legal actions, or nothing once the game is over."""
        actions: Sequence[int] = self._state.legal_actions()
        return actions

    def apply(self, action: int) -> None:
        """Take a legal action or a chance outcome.

        :raises IllegalAction: it is neither.
        :raises GameOver: the game has ended.
        """
        state = self._state
        if state.is_terminal():
            raise GameOver(f"{self.spiel} has ended: action {action} comes too late.")
        legal = state.legal_actions()
        if action not in legal:  # OpenSpiel itself may do anything then
            shown = ", ".join(map(str, legal[:20])) + (", ..." if len(legal) > 20 else "")
            raise IllegalAction(
                f"{self.spiel}: action {action} is not legal here; legal are {shown}."
            )
        state.apply_action(action)

    def clone(self) -> Self:
        """An independent copy."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._state = self._state.clone()
        return copy

    def to_play(self) -> int:
        """The seat to move."""
        seat: int = self._state.current_player()
        return seat

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        over: bool = self._state.is_terminal()
        return over

    def returns(self) -> Sequence[float]:
        """The utilities, shape `(num_players,)`."""
        utilities: Sequence[float] = self._state.returns()
        return utilities

    def observation(self) -> Observation:
        """OpenSpiel's tensor for the seat to move, float32."""
        if self._tensor is None:
            seen = np.zeros(self._shape, np.float32)
            history = self._state.history()
            seen[: len(history)] = history
            seen[: len(history)] += 1
            return seen
        tensor = getattr(self._state, self._tensor)(self._state.current_player())
        return np.asarray(tensor, np.float32).reshape(self._shape)

    def is_chance(self) -> bool:
        """Whether chance moves next."""
        chance: bool = self._state.is_chance_node()
        return chance

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        """Pairs of action and probability; outcomes that cannot happen are left out."""
        return [(action, chance) for action, chance in self._state.chance_outcomes() if chance > 0]

    def action_to_string(self, action: int) -> str:
        """OpenSpiel's name of an action that is legal here."""
        name: str = self._state.action_to_string(self._state.current_player(), action)
        return name

    def __str__(self) -> str:
        return str(self._state)

    def __repr__(self) -> str:
        return f"<{self.spiel} after {self._state.history()}>"


class OpenSpielRewardGame(OpenSpielGame):
    """A state of an OpenSpiel game that pays on the way."""

    def __init__(self, spiel: Any) -> None:
        super().__init__(spiel)
        low, high = self.value_range
        self.value_range = (min(low, 0.0), max(high, 0.0))
        self._utility: Sequence[float] = self._state.returns()
        self._utility_before = self._utility

    def apply(self, action: int) -> None:
        """As in any OpenSpiel game, and note what the utilities were."""
        super().apply(action)
        self._utility_before, self._utility = self._utility, self._state.returns()

    def rewards(self) -> Sequence[float]:
        """What the last step added to the utilities, shape `(num_players,)`."""
        pairs = zip(self._utility, self._utility_before, strict=True)
        return [now - before for now, before in pairs]

    def returns(self) -> Sequence[float]:
        """Zeros: all was paid on the way."""
        return (0.0,) * self.num_players


class _Hides:
    """What a game that hides something has beside the rest."""

    observer: int | None = None
    spiel: Any
    _state: Any

    def observe(self, seat: int) -> Any:
        """What a seat knows: a state that it cannot tell from this one, whatever this one is."""
        view = self._redrawn(seat, Rng(0))
        view.observer = seat
        return view

    def sample(self, rng: Rng) -> Any:
        """A state that the observer cannot tell from the true one."""
        deal = self._redrawn(0 if self.observer is None else self.observer, rng)
        deal.observer = None
        return deal

    def _redrawn(self, seat: int, rng: Rng) -> Any:
        copy = self.clone()  # type: ignore[attr-defined]
        copy._state = self._state.resample_from_infostate(seat, rng.uniform)
        return copy


class HiddenSpielGame(_Hides, OpenSpielGame):
    """A state of an OpenSpiel game that hides something, or what a seat knows of one."""


class HiddenSpielRewardGame(_Hides, OpenSpielRewardGame):
    """The same where steps pay."""


def _pyspiel() -> ModuleType:
    try:
        return importlib.import_module("pyspiel")
    except ImportError as error:
        raise MissingExtra(
            "OpenSpiel's games need OpenSpiel: pip install 'sylvan[openspiel]'."
        ) from error


def _load(pyspiel: ModuleType, text: str) -> Any:
    name, known = text.split("(")[0], pyspiel.registered_names()
    if name not in known:
        close = ", ".join(difflib.get_close_matches(name, known, cutoff=0.0))
        raise ConfigError(f"OpenSpiel has no game called {name!r}; the nearest are {close}.")
    try:
        return pyspiel.load_game(text)
    except Exception as error:  # a SpielError, or whatever reading its parameters raises
        raise ConfigError(f"OpenSpiel cannot make the game {text!r}: {error}") from error


def _in_turns(pyspiel: ModuleType, spiel: Any) -> Any:
    """The game, if it can be searched in turns; otherwise the reason why not."""
    kind, traits = spiel.get_type(), pyspiel.GameType
    alone = spiel.num_players() == 1
    if kind.dynamics == traits.Dynamics.MEAN_FIELD:
        reason = "is a mean-field game, whose payments depend on a whole population's policy"
    elif kind.chance_mode == traits.ChanceMode.SAMPLED_STOCHASTIC:
        reason = "draws its chance for itself, so that the same action leads to different states"
    elif kind.dynamics == traits.Dynamics.SIMULTANEOUS and not alone:
        reason = "lets its players move at once, so that each move is hidden from the others"
    elif spiel.num_players() > MAX_SEATS:
        reason = f"has {spiel.num_players()} players"
    elif kind.dynamics == traits.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(spiel)
    else:
        return spiel
    raise ConfigError(
        f"OpenSpiel's game {str(spiel)!r} {reason}: a Sylvan game has 1 to {MAX_SEATS} players, "
        "who move in turn."
    )


def _with_deals(kind: type[OpenSpielGame], spiel: Any) -> OpenSpielGame:
    """The first state of a game that hides something, if OpenSpiel can draw what a seat does not
    see.
    """
    try:
        game, rng = kind(spiel), Rng(0)
        state = game.clone()
        while state.is_chance():
            legal = state.legal_actions()
            state.apply(legal[rng.below(len(legal))])
        state.observe(state.to_play())
    except Exception as error:  # a SpielError
        raise ConfigError(
            f"OpenSpiel's game {str(spiel)!r} hides something from its players, and OpenSpiel "
            f"cannot draw what a player does not see ({error}): it cannot be searched."
        ) from error
    return game


def _observer(spiel: Any) -> tuple[str | None, tuple[int, ...]]:
    """The state's method that gives its tensor, and the tensor's shape."""
    kind = spiel.get_type()
    if kind.provides_observation_tensor:
        return "observation_tensor", tuple(spiel.observation_tensor_shape())
    if kind.provides_information_state_tensor:
        return "information_state_tensor", tuple(spiel.information_state_tensor_shape())
    return None, (spiel.max_history_length(),)
