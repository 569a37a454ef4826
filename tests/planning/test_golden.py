"""Golden trees: searches written down once, which core and reference must both repeat to the bit.

Equality of the two says nothing if both change together; these files notice that. They are made by
the reference, which is the specification, and are only made anew when it changes on purpose:

    python -m tests.planning.test_golden --write

Then read the difference before it is committed. A file has the search's answers and the top of its
tree: `N`, `W` per seat and the proven result of each node to depth 2, and `N` and `P` of its edges
(below the root of the visited ones only).
"""

import json
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sylvan import Game, Search, SearchConfig, reference
from sylvan._native import mix
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning import random_games
from tests.planning.random_games import Shape, make

FOLDER = Path(__file__).parent / "golden"
DEPTH = 2


@dataclass(frozen=True)
class Golden:
    """One search, or several in a row on the same tree."""

    game: Callable[[], Any]
    config: SearchConfig
    moves: int = 0
    """How often the best action is played and the tree searched again."""


def settings(simulations: int, **others: Any) -> SearchConfig:
    return SearchConfig(simulations=simulations, seed=12, **others)


def rewarding(players: int, **shape: Any) -> Callable[[], Game]:
    return lambda: make(Shape(seed=13, num_players=players, depth=9, rewards=True, **shape))


SEARCHES = {
    "puct": Golden(lambda: ConnectFour("4453"), settings(300)),
    "puct_growing": Golden(
        lambda: TicTacToe([4]), settings(200, c_base=50.0, c_factor=2.0, fpu="parent", proofs=False)
    ),
    "uct": Golden(lambda: ConnectFour("445"), settings(200, selection="uct")),
    "gumbel": Golden(lambda: ConnectFour("4"), settings(100, selection="gumbel")),
    "in_flight": Golden(
        lambda: ConnectFour("44"), settings(300, leaves_in_flight=8, collisions=3, fpu="loss")
    ),
    "chance": Golden(
        lambda: make(Shape(seed=1, depth=10, chance=0.3)), settings(200, proofs=False)
    ),
    "rewards": Golden(
        rewarding(1, zero_sum=False), settings(150, discount=0.9, value_range="tree")
    ),
    "siblings": Golden(
        rewarding(2), settings(150, value_range="siblings", fpu="zero", prior_bits=32, c_base=19652)
    ),
    "three_seats": Golden(
        lambda: make(Shape(seed=13, num_players=3, zero_sum=False, graded=True, depth=9)),
        settings(150),
    ),
    "proofs": Golden(lambda: TicTacToe([0, 4, 8]), settings(3000)),
    "reuse": Golden(
        lambda: ConnectFour("3"), settings(120, noise=True, temperature=1.0, prior_bits=16), moves=3
    ),
    "gumbel_reuse": Golden(
        lambda: TicTacToe([0]), settings(40, selection="gumbel", leaves_in_flight=3), moves=2
    ),
    "chess": Golden(Chess, settings(120, leaves_in_flight=4)),
}


def evaluate(states: Sequence[Any]) -> list[tuple[list[float], list[float]]]:
    """Logits and values that depend on what the seat to move sees."""
    return [
        random_games.evaluate([state])[0]
        if isinstance(state, random_games.RandomGame)
        else by_observation(state)
        for state in states
    ]


def by_observation(state: Game) -> tuple[list[float], list[float]]:
    seen = zlib.crc32(np.ascontiguousarray(state.observation()).tobytes())
    logits = [mix(seen, action) % 9 / 3 for action in state.legal_actions()]
    value = mix(seen, 9999) % 41 / 20 - 1
    return logits, [value, -value] if state.to_play() == 0 else [-value, value]


def evaluate_leaves(leaves: Any) -> tuple[Any, Any]:
    answers = evaluate(leaves.states)
    logits = [x for row, _ in answers for x in row]
    return np.array(logits, np.float32), np.array([v for _, v in answers], np.float32)


def by_reference(golden: Golden) -> list[dict[str, Any]]:
    """The reference's results, search by search."""
    search = reference.Search(golden.game(), evaluate, golden.config)
    found = []
    for i in range(golden.moves + 1):
        if i:
            search.advance(found[-1]["best"])
        search.run()
        policy = zip(search.root.children, reference.policy(search), strict=True)
        found.append(
            {
                "best": reference.best(search),
                "action": reference.pick(search),
                "policy": {str(action): float(p) for action, p in policy if p},
                "simulations": search.started,
                "stopped_by": search.stopped_by,
                "nodes": search.nodes,
                "depth": search.depth,
                "tree": reference_tree(search.root),
            }
        )
    return found


def reference_tree(node: reference.Node, depth: int = DEPTH) -> dict[str, Any]:
    edges = {}
    for action, child in node.children.items():
        if not child.N and depth < DEPTH:
            continue
        edges[str(action)] = {"N": child.N, "P": float(child.prior)}
        if child.N and depth:
            edges[str(action)]["node"] = reference_tree(child, depth - 1)
    proven = None if node.proven is None else list(node.proven)
    return {"kind": node.kind, "N": node.N, "W": node.W, "proven": proven, "edges": edges}


def by_core(golden: Golden) -> list[dict[str, Any]]:
    """The core's results, search by search."""
    search = Search(evaluate_leaves, golden.config)
    found: list[dict[str, Any]] = []
    for i in range(golden.moves + 1):
        if i:
            search.advance(found[-1]["best"])
        result = search.run(None if i else golden.game())
        found.append(
            {
                "best": result.best,
                "action": result.action,
                "policy": {str(a): float(result.policy[a]) for a in result.policy.nonzero()[0]},
                "simulations": result.simulations,
                "stopped_by": result.stopped_by,
                "nodes": result.nodes,
                "depth": result.depth,
                "tree": core_tree(result.tree.root),
            }
        )
    return found


def core_tree(node: Any, depth: int = DEPTH) -> dict[str, Any]:
    edges = {}
    for edge in node.edges:
        if not edge.N and depth < DEPTH:
            continue
        edges[str(edge.action)] = {"N": edge.N, "P": edge.P}
        if edge.N and depth:
            edges[str(edge.action)]["node"] = core_tree(edge.child, depth - 1)
    proven = None if node.proven is None else list(node.proven)
    return {"kind": node.kind, "N": node.N, "W": list(node.W), "proven": proven, "edges": edges}


def test_every_search_has_a_file_and_every_file_a_search():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SEARCHES)


@pytest.mark.parametrize("engine", [by_reference, by_core])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_golden_tree_is_repeated_to_the_bit(name, engine):
    written = json.loads((FOLDER / f"{name}.json").read_text())
    assert engine(SEARCHES[name]) == written


def write() -> None:
    """Make all files anew."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, golden in SEARCHES.items():
        text = json.dumps(by_reference(golden), separators=(",", ":"), sort_keys=True)
        # a line per node, so that a difference can be read
        (FOLDER / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.planning.test_golden --write")
    write()
