"""`check_game`: check that a game keeps the contract of `sylvan.Game`.

Plays the game at random. It checks

- in every state: the form, range and sum of the answers, and that a second call gives the same;
- along every play: copies are independent, the same actions lead to the same states, observations
  are not shared, action names can be parsed back, payments stay in range, games end;
- if the game has them: keys, symmetries, and the views of the seats.

It cannot find rules that are wrong but consistent: compare with known results.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sylvan.errors import GameContractError
from sylvan.games.game import Game
from sylvan.testing.facts import check_facts
from sylvan.testing.hidden import check_other_deals
from sylvan.testing.keys import SeenStates
from sylvan.testing.play import Play, random_play
from sylvan.testing.probe import Probe
from sylvan.testing.symmetry import check_symmetry, is_own_image, read_symmetries


@dataclass(frozen=True)
class GameReport:
    """Statistics of a game that passed `check_game`."""

    name: str
    num_players: int
    num_actions: int
    games: int
    """Random plays."""
    finished: int
    """Plays that reached the end of the game; the others were cut off at `max_plies`."""
    states: int
    """States visited by the plays."""
    mean_length: float
    """Actions per play, chance included."""
    branching: float
    """Legal actions per state in which a seat moves."""
    chance_states: int
    """States in which chance moves."""
    key_pairs: int
    """Pairs of states with equal keys whose futures were compared."""
    symmetries: int
    """Symmetries that were compared with permuted plays."""

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.num_players} seat(s), {self.num_actions} action codes, no mistake",
            f"  plays        {self.games} ({self.finished} to the end)",
            f"  states       {self.states} ({self.chance_states} of chance)",
            f"  mean length  {self.mean_length:.1f} actions",
            f"  branching    {self.branching:.1f} legal actions",
        ]
        if self.key_pairs:
            lines.append(f"  equal keys   {self.key_pairs} pairs")
        if self.symmetries:
            lines.append(f"  symmetries   {self.symmetries}")
        return "\n".join(lines)


def check_game(
    game: Game | Callable[[], Game], *, games: int = 20, seed: int = 0, max_plies: int = 2000
) -> GameReport:
    """Find the mistakes of a game.

    >>> from sylvan.games import TicTacToe
    >>> report = check_game(TicTacToe, games=5)
    >>> report.finished, report.symmetries
    (5, 8)

    :param game: a class or function that makes a new game, or a state to start from.
    :param games: random plays.
    :param seed: of the random choices; the same seed makes the same plays.
    :param max_plies: limit of a play: a longer one is an error, or is cut off if the game has a
        `max_length`.
    :raises GameContractError: names the class, the method, the rule, the actions that show the
        mistake, and the fix.
    """
    make = (lambda: game) if isinstance(game, Game) else game
    rng = random.Random(seed)
    keys = SeenStates(rng)
    plays: list[Play] = []
    symmetries = 0
    for _ in range(max(1, games)):
        start = Probe(_made(make))
        check_facts(start)
        play = random_play(start, rng, max_plies)
        keys.add(play)
        symmetries = _check_symmetries(play, of_new_game=isinstance(game, type))
        plays.append(play)
    drawn, true = sum(play.deals for play in plays), sum(play.true_deals for play in plays)
    check_other_deals(plays[0].start, drawn, true)
    return _report(plays, keys, symmetries)


def _made(make: Callable[[], Any]) -> Game:
    """Make a new game; raise if `make` makes something else."""
    name = getattr(make, "__name__", str(make))
    missing = ", ".join(f"{m}()" for m in sorted(getattr(make, "__abstractmethods__", ())))
    if missing:
        raise GameContractError(f"{name} lacks {missing}: a game needs to define it.")
    try:
        state = make()
    except Exception as error:
        raise GameContractError(
            f"{name}() raised {type(error).__name__}: {error}, but check_game makes new games: "
            "give it a class or function that takes no arguments, or a game to start from."
        ) from error
    if not isinstance(state, Game):
        lacking = [m for m in Game.__abstractmethods__ if not hasattr(state, m)]
        raise GameContractError(
            f"{name} makes a {type(state).__name__}, which is not a game"
            + (f" (it lacks {', '.join(sorted(lacking))})" if lacking else "")
            + ": derive it from sylvan.Game."
        )
    return state


def _check_symmetries(play: Play, *, of_new_game: bool) -> int:
    """Compare the play with its images; return the number of symmetries compared."""
    compared = 0
    for index, symmetry in enumerate(read_symmetries(play.start)):
        if is_own_image(play.start, symmetry, index):
            check_symmetry(play, symmetry, index)
            compared += 1
        elif of_new_game:
            play.start.fail(
                "symmetries()",
                f"entry {index} changes the observation of the first state",
                "list only maps that leave a new game as it is",
            )
    return compared


def _report(plays: list[Play], keys: SeenStates, symmetries: int) -> GameReport:
    views = [view for play in plays for view in play.views]
    choices = [len(view.legal_actions) for view in views if view.to_play is not None]
    state = plays[0].start.state
    return GameReport(
        name=type(state).__name__,
        num_players=state.num_players,
        num_actions=state.num_actions,
        games=len(plays),
        finished=sum(play.ended for play in plays),
        states=len(views),
        mean_length=sum(len(play.actions) for play in plays) / len(plays),
        branching=sum(choices) / max(1, len(choices)),
        chance_states=sum(view.is_chance for view in views),
        key_pairs=keys.pairs,
        symmetries=symmetries,
    )
