"""OpenSpiel games as Sylvan games, with chance and hidden information.

    from_open_spiel("breakthrough(rows=6,columns=6)")

How OpenSpiel's terms become ours:

- Reward model TERMINAL: `returns` pays the utility at the end. REWARDS: `rewards` pays the change
  of the utility, and `returns` is zero.
- `min_utility` and `max_utility` are the `value_range`. With rewards it also includes zero, since
  the rewards to come may be zero (with rewards of both signs, this is a guess).
- Chance outcomes are actions; `num_actions` covers them and the players' actions.
- `observation` is the `observation_tensor` of the seat to move; where a game has none, its
  `information_state_tensor`; where it has neither, the actions so far (each plus one, then zeros,
  shape `(max_length,)`).
- In games with hidden information, `observe(seat)` is a state drawn with a fixed seed from the
  seat's information set, so it holds nothing of the true state; `sample` draws another. Both use
  OpenSpiel's `resample_from_infostate`, which few games have. That of oh_hell ignores known voids.

Refused with a reason: hidden information that OpenSpiel cannot resample, simultaneous moves of
several players, mean-field games, games that sample their own chance, more than eight players. A
simultaneous game with one player is played in turns.

Accepted but broken in OpenSpiel 2.0: quoridor with more than two players lists moves that it
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
    """Return the first state of an OpenSpiel game.

    :param game: a name with parameters in OpenSpiel's notation, or a `pyspiel.Game`.
    :raises MissingExtra: OpenSpiel is not installed.
    :raises ConfigError: OpenSpiel has no such game, or it is not supported.
    """
    pyspiel = _pyspiel()
    if not isinstance(game, str | pyspiel.Game):
        raise ConfigError(f"The game is {game!r}: give a name of OpenSpiel, or a pyspiel.Game.")
    given = _load(pyspiel, game) if isinstance(game, str) else game
    spiel = _in_turns(pyspiel, given)
    traits, kind = pyspiel.GameType, spiel.get_type()
    pays_steps = kind.reward_model == traits.RewardModel.REWARDS
    if given.get_type().information == traits.Information.PERFECT_INFORMATION:
        return OpenSpielRewardGame(spiel) if pays_steps else OpenSpielGame(spiel)
    return _with_deals(HiddenSpielRewardGame if pays_steps else HiddenSpielGame, spiel)


class OpenSpielGame(Game):
    """A state of an OpenSpiel game; `spiel` is its `pyspiel.Game`."""

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
        """Return the legal actions, or nothing once the game is over."""
        actions: Sequence[int] = self._state.legal_actions()
        return actions

    def apply(self, action: int) -> None:
        """Apply a legal action or a chance outcome.

        :raises IllegalAction: it is neither.
        :raises GameOver: the game has ended.
        """
        state = self._state
        if state.is_terminal():
            raise GameOver(f"{self.spiel} has ended: action {action} comes too late.")
        legal = state.legal_actions()
        if action not in legal:  # undefined behaviour in OpenSpiel
            shown = ", ".join(map(str, legal[:20])) + (", ..." if len(legal) > 20 else "")
            raise IllegalAction(
                f"{self.spiel}: action {action} is not legal here; legal are {shown}."
            )
        state.apply_action(action)

    def clone(self) -> Self:
        """Return an independent copy."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._state = self._state.clone()
        return copy

    def to_play(self) -> int:
        """Return the seat to move."""
        seat: int = self._state.current_player()
        return seat

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        over: bool = self._state.is_terminal()
        return over

    def returns(self) -> Sequence[float]:
        """Return the utilities, shape `(num_players,)`."""
        utilities: Sequence[float] = self._state.returns()
        return utilities

    def observation(self) -> Observation:
        """Return OpenSpiel's tensor for the seat to move, float32."""
        if self._tensor is None:
            seen = np.zeros(self._shape, np.float32)
            history = self._state.history()
            seen[: len(history)] = history
            seen[: len(history)] += 1
            return seen
        tensor = getattr(self._state, self._tensor)(self._state.current_player())
        return np.asarray(tensor, np.float32).reshape(self._shape)

    def is_chance(self) -> bool:
        """Return whether chance moves next."""
        chance: bool = self._state.is_chance_node()
        return chance

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        """Return pairs of action and probability, without outcomes of probability zero."""
        return [(action, chance) for action, chance in self._state.chance_outcomes() if chance > 0]

    def action_to_string(self, action: int) -> str:
        """Return OpenSpiel's name of a legal action."""
        name: str = self._state.action_to_string(self._state.current_player(), action)
        return name

    def __str__(self) -> str:
        return str(self._state)

    def __repr__(self) -> str:
        return f"<{self.spiel} after {self._state.history()}>"


class OpenSpielRewardGame(OpenSpielGame):
    """A state of an OpenSpiel game with the reward model REWARDS."""

    def __init__(self, spiel: Any) -> None:
        super().__init__(spiel)
        low, high = self.value_range
        self.value_range = (min(low, 0.0), max(high, 0.0))
        self._utility: Sequence[float] = self._state.returns()
        self._utility_before = self._utility

    def apply(self, action: int) -> None:
        """Apply an action and store the utilities before it."""
        super().apply(action)
        self._utility_before, self._utility = self._utility, self._state.returns()

    def rewards(self) -> Sequence[float]:
        """Return the change of the utilities by the last step, shape `(num_players,)`."""
        pairs = zip(self._utility, self._utility_before, strict=True)
        return [now - before for now, before in pairs]

    def returns(self) -> Sequence[float]:
        """Return zeros: rewards pay everything."""
        return (0.0,) * self.num_players


class _HiddenInformation:
    """Mixin for games with hidden information: `observe` and `sample`."""

    observer: int | None = None
    num_players: int
    spiel: Any
    _state: Any

    def observe(self, seat: int) -> Any:
        """Return a seat's view: a state drawn from its information set with a fixed seed."""
        if not 0 <= seat < self.num_players:
            raise IllegalAction(f"There is no seat {seat}: seats are 0 to {self.num_players - 1}.")
        view = self._resampled(seat, Rng(0))
        view.observer = seat
        return view

    def __str__(self) -> str:
        """Return what the observer of a view knows: the cards of its state are drawn, not true."""
        if (
            self.observer is None
            or not self._state.get_game().get_type().provides_information_state_string
        ):
            return str(self._state)
        known: str = self._state.information_state_string(self.observer)
        return f"seat {self.observer} knows: {known}"

    def sample(self, rng: Rng) -> Any:
        """Draw a state from the observer's information set."""
        deal = self._resampled(0 if self.observer is None else self.observer, rng)
        deal.observer = None
        return deal

    def _resampled(self, seat: int, rng: Rng) -> Any:
        copy = self.clone()  # type: ignore[attr-defined]
        copy._state = self._state.resample_from_infostate(seat, rng.uniform)
        return copy


class HiddenSpielGame(_HiddenInformation, OpenSpielGame):
    """A state, or a seat's view, of an OpenSpiel game with hidden information."""


class HiddenSpielRewardGame(_HiddenInformation, OpenSpielRewardGame):
    """The same with the reward model REWARDS."""


def _pyspiel() -> ModuleType:
    try:
        return importlib.import_module("pyspiel")
    except ImportError as error:
        raise MissingExtra.named("OpenSpiel's games need OpenSpiel", "openspiel") from error


def _load(pyspiel: ModuleType, text: str) -> Any:
    name, known = text.split("(")[0], pyspiel.registered_names()
    if name not in known:
        close = ", ".join(difflib.get_close_matches(name, known, cutoff=0.0))
        raise ConfigError(f"OpenSpiel has no game called {name!r}; the nearest are {close}.")
    try:
        return pyspiel.load_game(text)
    except Exception as error:  # a SpielError, or an error in reading its parameters
        raise ConfigError(f"OpenSpiel cannot make the game {text!r}: {error}") from error


def _in_turns(pyspiel: ModuleType, spiel: Any) -> Any:
    """Return the game, turn-based; raise a `ConfigError` if it cannot be searched."""
    kind, traits = spiel.get_type(), pyspiel.GameType
    alone = spiel.num_players() == 1
    if kind.dynamics == traits.Dynamics.MEAN_FIELD:
        reason = "is a mean-field game, whose payments depend on a population's policy"
    elif kind.chance_mode == traits.ChanceMode.SAMPLED_STOCHASTIC:
        reason = "samples its own chance, so the same action leads to different states"
    elif kind.dynamics == traits.Dynamics.SIMULTANEOUS and not alone:
        reason = "has simultaneous moves, so each move is hidden from the others"
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
    """Return the first state of a game with hidden information, if OpenSpiel can resample it."""
    try:
        game, rng = kind(spiel), Rng(0)
        state = game.clone()
        while state.is_chance():
            legal = state.legal_actions()
            state.apply(legal[rng.below(len(legal))])
        state.observe(state.to_play())
    except Exception as error:  # a SpielError
        raise ConfigError(
            f"OpenSpiel's game {str(spiel)!r} has hidden information that OpenSpiel "
            f"cannot resample ({error}): it cannot be searched; choose another game."
        ) from error
    return game


def _observer(spiel: Any) -> tuple[str | None, tuple[int, ...]]:
    """Return the name of the state's tensor method, and the tensor's shape."""
    kind = spiel.get_type()
    if kind.provides_observation_tensor:
        return "observation_tensor", tuple(spiel.observation_tensor_shape())
    if kind.provides_information_state_tensor:
        return "information_state_tensor", tuple(spiel.information_state_tensor_shape())
    return None, (spiel.max_history_length(),)
