"""Fixed opponents, by which the networks of a run, and of different runs, are measured.

    random                                any legal move
    rollout:simulations=100               search with random games in place of a network
    rollout:simulations=100,selection=uct the same with UCT
    material:simulations=100              chess: material and piece squares
    counter, rollouts:32                  Blob: a bot (`sylvan.engines.blob_players`)
    solver                                Connect Four and tic-tac-toe: perfect play
    uci:stockfish Skill Level=0 nodes=50  chess: another program
    runs/first:simulations=100            the best network of a run, or a network's file

They are the players of `sylvan match` (`sylvan.engines.specs`), which play any game here, and
hundreds of games at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sylvan._native import Rng
from sylvan.engines.blob_players import BOTS, bot_named
from sylvan.engines.players import Player
from sylvan.engines.specs import player_spec
from sylvan.errors import ConfigError
from sylvan.evaluators import evaluator_for
from sylvan.games import Blob, ConnectFour, Game, TicTacToe
from sylvan.games.connect_four import Solver
from sylvan.games.naming import GameSpec
from sylvan.planning import Forest, SearchConfig
from sylvan.planning.roots import seen_by_mover, shown_to
from sylvan.training.duel import Side
from sylvan.training.tic_tac_toe_states import tic_tac_toe_moves

__all__ = ["BotSide", "NetworkSide", "PlayerSide", "SearchSide", "SolverSide", "yardstick"]


class SearchSide:
    """Searches all positions in one forest.

    :param evaluator: an evaluator, or None for the game's default.
    :param config: of each search; its seed is replaced.
    """

    def __init__(self, name: str, evaluator: Any, config: SearchConfig) -> None:
        self.name = name
        self.evaluator = evaluator
        self.config = config

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """The best action of each search, or one picked at the settings' temperature."""
        evaluator = evaluator_for(states[0], self.evaluator)
        shown = [shown_to(seen_by_mover(state), evaluator) for state in states]
        forest = Forest(shown, self.config.replace(seed=seeds[0]))
        forest.run(evaluator)
        return [forest.result(tree).action for tree in range(len(forest))]


class NetworkSide:
    """Takes the network's likeliest action, without a search."""

    def __init__(self, name: str, evaluator: Any) -> None:
        self.name = name
        self.evaluator = evaluator

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:  # noqa: ARG002
        """The legal action with the highest logit."""
        from sylvan.training.mistakes import network_choices

        return [int(action) for action in network_choices(self.evaluator, states)]


class PlayerSide:
    """A player of single games, one position after another, each as if it were a new game."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self.player = player

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """What the player plays; it remembers nothing of other positions."""
        actions = []
        for state, seed in zip(states, seeds, strict=True):
            self.player.new_game(seed)
            actions.append(self.player.play(state))
        return actions

    def close(self) -> None:
        """Give back what the player holds, such as another program."""
        self.player.close()


class BotSide:
    """A player of Blob that is built in."""

    def __init__(self, name: str) -> None:
        self.name, self.bot = name, bot_named(name)

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> list[int]:
        """What the bot does with each hand."""
        pairs = zip(states, seeds, strict=True)
        return [self.bot.choose(cast(Blob, state), Rng(seed)) for state, seed in pairs]


class SolverSide:
    """Perfect play of Connect Four and tic-tac-toe; among equally good moves any.

    Positions of Connect Four with more than `FREE` free cells take seconds to minutes to solve;
    there a search of random games plays.
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
                f"There is no solver of {type(state).__name__}: there are those of ConnectFour and "
                "TicTacToe."
            )
        return best[Rng(seed).below(len(best))]


def yardstick(text: str, spec: GameSpec) -> Side:
    """The opponent that a text names.

    :raises ConfigError: it names none, or none that plays this game.
    """
    if text == "solver":
        if spec.name not in ("connect4", "tictactoe"):
            raise ConfigError(
                f"The yardstick 'solver' plays connect4 and tictactoe, not {spec.name}: leave it "
                "out."
            )
        return SolverSide()
    if spec.name == "blob" and text.partition(":")[0] in BOTS:
        return BotSide(text)
    player = player_spec(text)
    if player.kind == "uci" and spec.name != "chess":
        raise ConfigError(f"The yardstick {text!r} plays chess, not {spec.name}: leave it out.")
    if player.kind == "search" and not player.is_learned:
        evaluator = evaluator_for(spec.first(), player.evaluator())
        return SearchSide(player.name, evaluator, player.config())
    return PlayerSide(player.open())
