"""Independent twins of the classic interfaces: python-chess, doubles and dictionaries, no core.

The search is the documents' algorithm, with their mistakes corrected, in the fewest words.
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import chess
import numpy as np

from tests.games.chess_oracles import az73_code as code

# Three moves for White (Ka2, Kb1, Kb2), three for Black in the mirror image; nobody can win soon.
THREE_MOVES = "k7/8/p7/P7/p7/P7/8/K7 w - - 0 1"


def planes18(board: chess.Board) -> np.ndarray:
    """`[8, 8, 18]` from the mover's side, square by square."""
    seen = board if board.turn == chess.WHITE else board.mirror()
    planes = np.zeros((8, 8, 18), np.float32)
    for square, piece in seen.piece_map().items():
        plane = piece.piece_type - 1 + (0 if piece.color == chess.WHITE else 6)
        planes[square // 8, square % 8, plane] = 1
    for plane, (colour, side) in enumerate(
        [
            (chess.WHITE, "king"),
            (chess.WHITE, "queen"),
            (chess.BLACK, "king"),
            (chess.BLACK, "queen"),
        ]
    ):
        if getattr(seen, f"has_{side}side_castling_rights")(colour):
            planes[:, :, 12 + plane] = 1
    if seen.has_legal_en_passant():
        planes[seen.ep_square // 8, seen.ep_square % 8, 16] = 1
    planes[:, :, 17] = board.turn == chess.BLACK
    return planes


def hashed(planes: np.ndarray) -> tuple[np.ndarray, float]:
    """Probabilities over 4672 moves and a value, random but fixed by what is seen."""
    return _hashed(zlib.crc32(np.ascontiguousarray(planes).tobytes()))


@cache
def _hashed(seed: int) -> tuple[np.ndarray, float]:
    rng = np.random.default_rng(seed)
    policy = rng.random(4672) ** 3
    return (policy / policy.sum()).astype(np.float32), float(np.float32(rng.uniform(-1, 1)))


class HashNetwork:
    """Predicts `hashed` for boards `[n, 8, 8, 18]`, and counts."""

    def __init__(self):
        self.calls, self.boards = 0, 0

    def predict(self, boards):
        self.calls += 1
        self.boards += len(boards)
        policies, values = zip(*map(hashed, boards), strict=True)
        return np.stack(policies), np.array(values)


@dataclass
class PlainNode:
    prior: float
    visits: int = 0
    total: float = 0.0  # for the player to move here
    children: dict[chess.Move, "PlainNode"] = field(default_factory=dict)


def over(board: chess.Board) -> bool:
    """Finished, draws counting when they could be claimed for the position on the board."""
    drawn = board.is_repetition(3) or board.halfmove_clock >= 100
    return board.is_game_over() or drawn


def plain_search(
    board: chess.Board, predict: Callable[[np.ndarray], tuple[np.ndarray, float]], n: int, c: float
) -> PlainNode:
    """Run n simulations, the first of which evaluates the root."""
    root = PlainNode(1.0)
    for _ in range(n):
        node, path, here = root, [root], board.copy()
        while node.children:
            move, node = max(node.children.items(), key=lambda item: score(path[-1], item[1], c))
            here.push(move)
            path.append(node)
        value = -1.0 if here.is_checkmate() else 0.0
        if len(path) == 1 or not over(here):
            policy, value = predict(planes18(here))
            moves = list(here.legal_moves)
            mass = sum(float(policy[code(move, here.turn)]) for move in moves)
            for move in moves:
                node.children[move] = PlainNode(float(policy[code(move, here.turn)]) / mass)
        for node in reversed(path):
            node.visits += 1
            node.total += value
            value = -value
    return root


def score(parent: PlainNode, child: PlainNode, c: float) -> float:
    q = -child.total / child.visits if child.visits else 0.0
    return q + c * child.prior * math.sqrt(parent.visits) / (1 + child.visits)


@dataclass
class PlainLatent:
    """A node over a learned model; `total` is for the player to move here."""

    prior: float
    visits: int = 0
    total: float = 0.0
    reward: float = 0.0
    hidden: object = None
    children: dict[int, "PlainLatent"] = field(default_factory=dict)


def plain_muzero(network, observation, legal, n, *, discount, players=2, bounds=(-1, 1)):
    """MuZero over a network with the document's three methods: n simulations below the root."""
    sign, seen = (1 if players == 1 else -1), []
    hidden, logits, value = network.initial_inference(observation)
    root = PlainLatent(1.0, hidden=hidden)

    def expand(node, logits, actions):
        weights = np.exp(
            [float(logits[a]) - max(float(logits[b]) for b in actions) for a in actions]
        )
        for action, weight in zip(actions, weights, strict=True):
            node.children[action] = PlainLatent(weight / weights.sum())

    def q(child):
        return child.reward + discount * sign * child.total / child.visits

    def score(parent, child):
        low, high = bounds or (min(seen, default=0), max(seen, default=1))
        c = math.log((parent.visits + 19652 + 1) / 19652) + 1.25
        worth = (q(child) - low) / ((high - low) or 1) if child.visits else 0.5 if bounds else 0.0
        return worth + c * child.prior * math.sqrt(parent.visits) / (1 + child.visits)

    def backup(path, value):
        for node in reversed(path):
            node.visits += 1
            node.total += value
            if node is not root:
                seen.append(q(node))
            value = node.reward + discount * sign * value

    expand(root, logits, legal)
    backup([root], float(value))
    for _ in range(n):
        path, action = [root], None
        while path[-1].children:
            here = path[-1]
            action = max(here.children, key=lambda a: score(here, here.children[a]))
            path.append(here.children[action])
        leaf = path[-1]
        leaf.hidden, leaf.reward = network.recurrent_inference(path[-2].hidden, action)
        logits, value = network.prediction(leaf.hidden)
        expand(leaf, logits, range(len(logits)))
        backup(path, float(value))
    return root
