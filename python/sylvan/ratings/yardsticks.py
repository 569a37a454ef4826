"""Yardsticks: fixed opponents that make the ratings of one or several runs comparable.

    random                                a random legal move
    rollout:simulations=100               search with random rollouts instead of a network
    rollout:simulations=100,selection=uct the same with UCT
    material:simulations=100              chess: material and piece squares
    counter, rollouts:32                  Blob: a bot (`sylvan.blob.players`)
    solver                                Connect Four and tic-tac-toe: perfect play
    uci:stockfish Skill Level=0 nodes=50  chess: another program
    runs/first:simulations=100            the best network of a run, or a network's file

They are the players of `sylvan match` (`sylvan.players.specs`), here for any game and for hundreds
of games in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sylvan import registry
from sylvan._native import Rng
from sylvan.errors import ConfigError
from sylvan.evaluators import Evaluator, evaluator_for
from sylvan.games import Chess, ConnectFour, Game, TicTacToe
from sylvan.games.connect_four import Solver
from sylvan.games.naming import GameSpec
from sylvan.games.tic_tac_toe_states import tic_tac_toe_moves
from sylvan.planning import Forest, SearchConfig
from sylvan.planning.roots import seen_by_mover, shown_to
from sylvan.players.player import Player
from sylvan.players.specs import player_spec
from sylvan.ratings.duel import Side

__all__ = [
    "NetworkSide",
    "PlayerSide",
    "SearchSide",
    "SolverSide",
    "Yardsticks",
    "default_yardsticks",
    "is_portable",
    "yardstick",
]


class SearchSide:
    """Searches all positions in one forest.

    :param evaluator: an evaluator, or None for the game's default.
    :param config: of each search; each state has its own seed.
    """

    def __init__(self, name: str, evaluator: Evaluator | None, config: SearchConfig) -> None:
        self.name = name
        self.evaluator = evaluator
        self.config = config

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """The best action of each search, or one sampled with the settings' temperature."""
        evaluator = evaluator_for(states[0], self.evaluator)
        shown = [shown_to(seen_by_mover(state), evaluator) for state in states]
        forest = Forest(shown, self.config)
        forest.reseed(seeds)
        forest.run(evaluator)
        return [forest.result(tree).action for tree in range(len(forest))]


class NetworkSide:
    """Takes the network's most likely action, without a search."""

    def __init__(self, name: str, evaluator: Evaluator) -> None:
        self.name = name
        self.evaluator = evaluator

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:  # noqa: ARG002
        """The legal action with the highest logit."""
        from sylvan.ratings.mistakes import network_choices

        return [int(action) for action in network_choices(self.evaluator, states)]


class PlayerSide:
    """A player of single games: it plays one position after another, each as a new game."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self.player = player

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """The player's actions; it is reset before each position."""
        actions = []
        for state, seed in zip(states, seeds, strict=True):
            self.player.new_game(seed)
            actions.append(self.player.play(state))
        return actions

    def close(self) -> None:
        """Release the player's resources, such as a chess program."""
        self.player.close()


class SolverSide:
    """Perfect play of Connect Four and tic-tac-toe; a random one of equally good moves.

    Positions of Connect Four with more than `FREE` free cells take seconds to minutes to solve;
    there a search with rollouts plays instead.
    """

    FREE = 30
    name = "solver"

    def __init__(self) -> None:
        self._solver = Solver()
        self._opening = SearchSide("rollout", None, SearchConfig(simulations=1000))

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """A move that wins soonest, draws, or loses latest."""
        pairs = list(zip(states, seeds, strict=True))
        return [self._move(state, seed) for state, seed in pairs]

    def _move(self, state: Game, seed: int) -> int:
        if isinstance(state, TicTacToe):
            best, _ = tic_tac_toe_moves(state)
        elif isinstance(state, ConnectFour):
            if state.columns * state.rows - state.stones > self.FREE:
                return self._opening.choose([state], [seed])[0]
            best = list(self._solver.solve(state).best)
        else:
            raise ConfigError(
                f"There is no solver of {type(state).__name__}: only ConnectFour and TicTacToe "
                "have one."
            )
        return best[Rng(seed).below(len(best))]


class Yardsticks(Protocol):
    """Opponents of one game, registered under its name (`sylvan.registry`)."""

    defaults: Sequence[str]
    """The opponents of a run unless its settings give others."""

    def side(self, text: str) -> Side | None:
        """Create an opponent from its text; None if the text is not one of these."""


def default_yardsticks(spec: GameSpec, simulations: int) -> tuple[str, ...]:
    """The default opponents of a game; chess uses material, because its rollouts are too long."""
    registered: Yardsticks | None = registry.find("yardsticks", spec.name)
    if registered is not None:
        return tuple(registered.defaults)
    name = "material" if isinstance(spec.first(), Chess) else "rollout"
    return "random", f"{name}:simulations={simulations}"


def is_portable(text: str, spec: GameSpec) -> bool:
    """Whether a yardstick plays alike on any machine: it needs no file, program or clock."""
    registered: Yardsticks | None = registry.find("yardsticks", spec.name)
    if text == "solver" or (registered is not None and registered.side(text) is not None):
        return True
    player = player_spec(text)
    return not (player.is_network or player.blocks)


def yardstick(text: str, spec: GameSpec) -> Side:
    """Create an opponent from its text.

    :raises ConfigError: the text is no opponent, or one for another game.
    """
    if text == "solver":
        if spec.name not in ("connect4", "tictactoe"):
            raise ConfigError(
                f"The yardstick 'solver' plays connect4 and tictactoe, not {spec.name}: remove it."
            )
        return SolverSide()
    registered: Yardsticks | None = registry.find("yardsticks", spec.name)
    side = None if registered is None else registered.side(text)
    if side is not None:
        return side
    player = player_spec(text)
    if player.kind == "uci" and spec.name != "chess":
        raise ConfigError(f"The yardstick {text!r} plays chess, not {spec.name}: remove it.")
    if player.kind == "search" and not player.is_learned:
        evaluator = evaluator_for(spec.first(), player.evaluator())
        return SearchSide(player.name, evaluator, player.config())
    return PlayerSide(player.open())
