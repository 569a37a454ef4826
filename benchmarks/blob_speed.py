"""Speed of information-set search on cards: `python -m benchmarks.blob_speed [--quick] [--json]`.

Simulations per second on one core, each with a random playout, on the same positions, ÷ OpenSpiel's
IS-MCTS in C++ (`ISMCTSBot`, `RandomRolloutEvaluator`). The game is OpenSpiel's
`oh_hell`, here `Blob.oh_hell()`: five players, seven cards, at the first bid, at the first card and
in the middle; and its default of three players with five cards. Both use UCT, both deal anew for
each simulation (OpenSpiel's deals may break the voids that were shown, which is quicker).
"""

from __future__ import annotations

import random
import sys
from typing import Any

from benchmarks.measure import Measurement, rate, repeat, run_named
from sylvan import Search
from sylvan.games import Blob
from sylvan.games.blob import FIRST_BID


def theirs(action: int) -> int:
    """An action in OpenSpiel's codes: cards by rank, then ♣ ♦ ♠ ♥."""
    if action >= FIRST_BID:
        return action
    suit, rank = divmod(action, 13)
    return rank * 4 + (2, 3, 0, 1)[suit]


def position(players: int, cards: int, steps: int) -> tuple[Blob, Any]:
    """A round after so many random moves, in both libraries."""
    import pyspiel

    game = Blob.oh_hell(players, cards, seed=1)
    state = pyspiel.load_game(f"oh_hell(players={players})").new_initial_state()
    state.apply_action(cards)
    state.apply_action(game.dealer)
    for place in range(cards):
        for seat in range(players):
            state.apply_action(theirs(game.hand(seat)[place]))
    assert game.turned_up is not None
    state.apply_action(theirs(game.turned_up))
    rng = random.Random(2)
    for _ in range(steps):
        action = rng.choice(game.legal_actions())
        game.apply(action)
        state.apply_action(theirs(action))
    assert sorted(map(theirs, game.legal_actions())) == state.legal_actions()
    return game, state


def simulations(game: Blob, count: int) -> float:
    """Ours, a second."""
    view = game.observe(game.to_play())
    search = Search("rollout", simulations=count, selection="uct")
    found = []
    speed = rate(count, lambda: found.append(search.run(view)))
    assert found[0].simulations == count
    return speed


def of_open_spiel(state: Any, count: int) -> float:
    """Theirs, a second."""
    import pyspiel

    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    bot = pyspiel.ISMCTSBot(1, evaluator, 1.4, count, allow_inconsistent_action_sets=True)
    return rate(count, lambda: bot.step(state))


def compared(name: str, players: int, cards: int, steps: int, quick: bool) -> list[Measurement]:
    """A position in both libraries, in turn; the median of the ratios has its own row."""
    game, state = position(players, cards, steps)
    count, repeats = (2_000, 3) if quick else (20_000, 9)
    pairs = [(simulations(game, count), of_open_spiel(state, count)) for _ in range(repeats)]
    speed, spread = repeat(iter([one for one, _ in pairs]).__next__, repeats)
    peer, _ = repeat(iter([two for _, two in pairs]).__next__, repeats)
    ratio, half = repeat(iter([one / two for one, two in pairs]).__next__, repeats)
    return [
        Measurement(name, speed, "simulations/s", spread, "OpenSpiel's IS-MCTS", peer),
        Measurement(f"{name}_ratio", ratio, "ratio", half),
    ]


def first_bid(quick: bool) -> list[Measurement]:
    """Five players, seven cards, nobody has bid."""
    return compared("first_bid", 5, 7, 0, quick)


def first_card(quick: bool) -> list[Measurement]:
    """Five players, seven cards, all have bid."""
    return compared("first_card", 5, 7, 5, quick)


def fourth_trick(quick: bool) -> list[Measurement]:
    """Five players, seven cards, three tricks are over."""
    return compared("fourth_trick", 5, 7, 5 + 15, quick)


def three_players(quick: bool) -> list[Measurement]:
    """Three players, five cards, nobody has bid."""
    return compared("three_players", 3, 5, 0, quick)


if __name__ == "__main__":
    run_named([first_bid, first_card, fourth_trick, three_players], sys.argv[1:])
