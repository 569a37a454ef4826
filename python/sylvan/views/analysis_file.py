"""Analysis files (`.sylvan`): a position, its search and the top of the tree in one file.

    result.save("mate.sylvan")
    SearchResult.load("mate.sylvan").tree.root

The first line is `sylvan-analysis 1 ` and the SHA-256 of the rest in hexadecimal; the rest is a
`Document` as JSON, compressed with zlib. Nothing in it is run when it is read: a game that is a
Python file is loaded only if the reader names it too.

The file has the most visited nodes, whole: all edges with all statistics. It does not have the
network. `Search.resume` goes on with the search.
"""

import hashlib
import heapq
import json
import math
import zlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Len, Lt
from pydantic import BaseModel, ConfigDict, ValidationError

from sylvan import registry
from sylvan._native import EdgeStats, NodeStats
from sylvan.errors import ConfigError, SnapshotError, SylvanError
from sylvan.files import write_bytes
from sylvan.games import Game
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig, SearchResult
from sylvan.planning.moves import state_after
from sylvan.planning.roots import is_view
from sylvan.planning.tree import TreeView

__all__ = ["SUFFIX", "SavedPosition", "pack", "position_of", "read_analysis", "unpack"]

SUFFIX = ".sylvan"
HEAD = b"sylvan-analysis 1 "
MOST_NODES = 10_000
MOST_BYTES = 512 * 2**20
"""Of the document: a small file cannot fill the memory."""

Action = Annotated[int, Ge(0), Lt(2**32)]
Number = float | None  # null is not finite


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SavedPosition(_Part):
    """How to make a position again."""

    game: Annotated[str, Len(1, 500)]
    start: Annotated[str, Len(0, 500)] = ""
    """The first position: a FEN, the rows of Connect Four; empty: the game's own."""
    moves: Annotated[list[Action], Len(0, 10_000)] = []
    ply: Annotated[int, Ge(0)] | None = None
    """How many of the moves are made; None: all."""
    chess960: bool = False


class SavedNode(_Part):
    """A node; its edges as columns."""

    parent: Annotated[int, Ge(0)] | None
    action: Action | None
    kind: Literal["decision", "chance", "terminal", "leaf"]
    seat: Annotated[int, Ge(0), Lt(8)]
    N: Annotated[int, Ge(0), Lt(2**32)]
    W: list[float]
    proven: list[float] | None
    actions: list[Action]
    visits: list[Annotated[int, Ge(0), Lt(2**32)]]
    sums: list[float]
    priors: list[float]
    available: list[Annotated[int, Ge(0), Lt(2**32)]]
    bounds: list[tuple[Number, Number]]


class Document(_Part):
    """The contents of a file."""

    position: SavedPosition
    settings: dict[str, Any]
    evaluator: str
    best: Action
    pv: list[Action]
    policy: list[tuple[Action, float]]
    simulations: Annotated[int, Ge(0)]
    seconds: float
    nodes: Annotated[int, Ge(0)]
    bytes: Annotated[int, Ge(0)]
    depth: Annotated[int, Ge(0)]
    stopped_by: str
    tree: Annotated[list[SavedNode], Len(1)]
    """Parents before children."""


@dataclass(frozen=True)
class Analysis:
    """The contents of a file."""

    position: SavedPosition
    first: Game
    """The first position of the game."""
    result: SearchResult


def position_of(state: Game) -> SavedPosition:
    """How to make a state of a built-in game again.

    :raises ConfigError: it is of another game; the caller has to say how.
    """
    from sylvan.games import Chess, ConnectFour, TicTacToe

    if isinstance(state, Chess):
        made = Chess(state.start_fen, chess960=state.chess960)
        moves = []
        for move in state.moves:
            moves.append(made.string_to_action(move))
            made.push(move)
        return SavedPosition(
            game="chess", start=state.start_fen, moves=moves, chess960=state.chess960
        )
    if isinstance(state, ConnectFour):
        return SavedPosition(game="connect4", start=state.to_rows())
    if isinstance(state, TicTacToe):
        return SavedPosition(game="tictactoe", moves=state.moves())
    raise ConfigError(
        f"A {type(state).__name__} does not say how it was reached: save it with "
        "position=SavedPosition(game='my_game.py:MyGame', moves=[...])."
    )


def first_of(position: SavedPosition) -> Game:
    """The first position of a saved game."""
    from sylvan.games import Chess, ConnectFour

    if position.game == "chess":
        return Chess(position.start or None, chess960=position.chess960)
    if position.game == "connect4" and position.start:
        return ConnectFour.from_rows(position.start)
    return GameSpec(position.game).first()


def pack(
    result: SearchResult, position: SavedPosition | None = None, nodes: int | None = None
) -> bytes:
    """A file of the `nodes` most visited nodes (default: 10,000).

    :raises ConfigError: the position cannot be saved.
    """
    if is_view(result.game):
        raise ConfigError(
            "A search over hidden cards cannot be saved: its tree holds what others may not see."
        )
    if nodes is not None and nodes < 1:
        raise ConfigError(f"nodes is {nodes}: save at least the root.")
    policy = np.flatnonzero(result.policy)
    document = Document(
        position=position or position_of(result.game),
        settings=result.config.model_dump(exclude_unset=True, mode="json"),
        evaluator=result.evaluator,
        best=int(result.best),
        pv=[int(action) for action in result.pv],
        policy=[(int(action), float(result.policy[action])) for action in policy],
        simulations=result.simulations,
        seconds=float(result.seconds),
        nodes=result.nodes,
        bytes=result.bytes,
        depth=result.depth,
        stopped_by=result.stopped_by,
        tree=_top(result.tree, MOST_NODES if nodes is None else nodes),
    )
    data = zlib.compress(document.model_dump_json().encode(), 6)
    return HEAD + hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def write_analysis(
    result: SearchResult,
    path: str | PathLike[str],
    *,
    position: SavedPosition | None = None,
    nodes: int | None = None,
) -> None:
    """Write an analysis file, atomically."""
    write_bytes(path, pack(result, position, nodes))


def read_analysis(path: str | PathLike[str], game: str | None = None) -> Analysis:
    """Read an analysis file.

    :param game: the game that it must be of; needed for a game that is a Python file.
    :raises SnapshotError: the file is damaged, or of another program or version.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SnapshotError(f"{path} cannot be read: {reason}") from None
    return unpack(data, str(path), None if game is None else (game,))


def unpack(
    data: bytes, name: str, games: tuple[str, ...] | None = None, most: int | None = None
) -> Analysis:
    """Read the contents of an analysis file; `name` is for errors.

    :param games: the games that it may be of; None: the registered ones.
    :param most: the largest size of its document in bytes; None: 512 MB.
    :raises SnapshotError: it is damaged, or of another program, version or game.
    """
    try:
        whole = _checked(data, MOST_BYTES if most is None else most)
        document = Document.model_validate_json(whole)
        _need_whole(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SnapshotError(f"{name} is no analysis: {where}: {first['msg'].lower()}") from None
    except (ValueError, zlib.error) as error:
        raise SnapshotError(f"{name} is no analysis: {error}; save it again") from None
    known = tuple(registry.names("games")) if games is None else games
    if document.position.game not in known:
        raise SnapshotError(
            f"{name} is of the game {document.position.game!r}: name it to read the file, because "
            "a game may be a Python file, which would be run."
        )
    try:
        return _restored(document)
    except SylvanError as error:
        raise SnapshotError(f"{name} cannot be opened: {error}") from None


def _checked(data: bytes, most: int) -> bytes:
    """The document's bytes; an exception of zlib or a `ValueError` if they are damaged."""
    head, newline, packed = data.partition(b"\n")
    if not head.startswith(HEAD[:16]) or not newline:
        raise ValueError("it does not begin with 'sylvan-analysis'")
    if not head.startswith(HEAD):
        raise ValueError("it was written by a newer version of Sylvan")
    if hashlib.sha256(packed).hexdigest().encode() != head[len(HEAD) :]:
        raise ValueError("its checksum is wrong")
    unpacking = zlib.decompressobj()
    whole = unpacking.decompress(packed, most)
    if unpacking.unconsumed_tail:
        raise ValueError("it is too large")
    return whole


def _need_whole(document: Document) -> None:
    """:raises ValueError: nodes do not form a tree, or columns differ in length."""
    for number, node in enumerate(document.tree):
        columns = (node.visits, node.sums, node.priors, node.available, node.bounds)
        if any(len(column) != len(node.actions) for column in columns):
            raise ValueError(f"the edges of node {number} have columns of different lengths")
        is_root = node.parent is None and node.action is None
        is_child = node.parent is not None and node.parent < number and node.action is not None
        if not (is_root if number == 0 else is_child):
            raise ValueError(f"node {number} is not in the tree")
        if len(node.W) != len(document.tree[0].W) or node.seat >= len(node.W):
            raise ValueError(f"node {number} has another number of seats")


def _top(tree: TreeView, most: int) -> list[SavedNode]:
    """The most visited nodes."""
    saved: list[SavedNode] = []
    waiting: list[tuple[int, int, tuple[int, ...], int | None]] = [(0, 0, (), None)]
    serial = 0
    while waiting and len(saved) < most:
        *_, path, parent = heapq.heappop(waiting)
        if not tree.has(path):
            continue
        node = tree.node_after(path)
        edges = node.edges
        number = len(saved)
        saved.append(
            SavedNode(
                parent=parent,
                action=path[-1] if path else None,
                kind=node.kind,  # type: ignore[arg-type]
                seat=node.seat,
                N=node.N,
                W=list(node.W),
                proven=None if node.proven is None else list(node.proven),
                actions=[edge.action for edge in edges],
                visits=[edge.N for edge in edges],
                sums=[edge.W for edge in edges],
                priors=[edge.P for edge in edges],
                available=[edge.available for edge in edges],
                bounds=[(_finite(edge.bounds[0]), _finite(edge.bounds[1])) for edge in edges],
            )
        )
        for edge in edges:
            if edge.N:
                serial += 1
                heapq.heappush(waiting, (-edge.N, serial, (*path, edge.action), number))
    return saved


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _restored(document: Document) -> Analysis:
    """The result of a document."""
    position = document.position
    first = state = first_of(position)
    made = len(position.moves) if position.ply is None else position.ply
    if made > len(position.moves):
        raise ConfigError(f"its ply is {made}, but it has {len(position.moves)} moves")
    for action in position.moves[:made]:
        state = state_after(state, action)
    if state.num_players != len(document.tree[0].W):
        raise ConfigError("its tree has another number of seats than its game")
    nodes = _nodes(document)
    config = SearchConfig(**document.settings)
    policy = np.zeros(state.num_actions, np.float32)
    for action, share in document.policy:
        if action >= state.num_actions:
            raise ConfigError(f"its policy has the action {action}, which the game does not have")
        policy[action] = share
    facts = json.loads(document.model_dump_json(exclude={"position", "settings", "policy", "tree"}))
    tree = TreeView.of_nodes(state, document.best, nodes)
    result = SearchResult.restored(state, config, tree, policy, facts)
    return Analysis(position, first, result)


def _nodes(document: Document) -> dict[tuple[int, ...], NodeStats]:
    """The statistics of each node by its path."""
    paths: list[tuple[int, ...]] = []
    nodes: dict[tuple[int, ...], NodeStats] = {}
    for node in document.tree:
        path: tuple[int, ...] = ()
        if node.parent is not None and node.action is not None:
            path = (*paths[node.parent], node.action)
        paths.append(path)
        columns = (
            node.actions, node.visits, node.sums, node.priors, node.bounds, node.available
        )  # fmt: skip
        edges = tuple(
            EdgeStats(action, N, W, P, (_low(bounds), _high(bounds)), available)
            for action, N, W, P, bounds, available in zip(*columns, strict=True)
        )
        nodes[path] = NodeStats(node.kind, node.seat, node.N, node.W, node.proven, edges)
    return nodes


def _low(bounds: tuple[Number, Number]) -> float:
    return -math.inf if bounds[0] is None else bounds[0]


def _high(bounds: tuple[Number, Number]) -> float:
    return math.inf if bounds[1] is None else bounds[1]
