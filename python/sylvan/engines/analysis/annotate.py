"""Annotate a game of chess: the loss of every move, and better lines.

Each position is searched; the tree is reused from one position to the next. A move is judged by its
loss:

    loss = w(best move) - w(move played)        w = (1 + Q) / 2, the expected score from 0 to 1

Q of the best move comes from the search before the move, Q of the move played from the search after
it, which is deeper. The search's own choice has no loss. If the loss gives a mark, the position
after the best move is searched as well, and the lower Q of the two counts: otherwise the difference
in depth would look like a mistake. Marks:

    ?!  inaccuracy    loss of at least 0.05
    ?   mistake                        0.10
    ??  blunder                        0.20

The loss is in expected score, not in pawns: a pawn decides a level game, but does not matter after
the loss of a queen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from sylvan.planning.roots import root_actions
from sylvan.players.score import Score, result_score

if TYPE_CHECKING:
    import chess.pgn

    from sylvan.games import Chess
    from sylvan.planning import Search

__all__ = ["Annotation", "JudgedMove", "Summary", "annotate"]

THRESHOLDS = ((0.20, "??"), (0.10, "?"), (0.05, "?!"))
"""Minimum loss of expected score for each mark, worst first."""

LEAST = min(loss for loss, _ in THRESHOLDS)

NAGS = {"??": 4, "?": 2, "?!": 6}
"""Numeric annotation glyphs of the marks in PGN."""

LINE = 8
"""Half-moves shown of a better line."""

MOST_CENTIPAWNS = 1000
"""Scores are clipped to this before centipawns are subtracted."""


@dataclass(frozen=True)
class JudgedMove:
    """A move of the game and its judgement."""

    ply: int
    """From 1."""
    seat: int
    """The seat that moved: 0 is White."""
    move: str
    best: str
    """The search's choice."""
    score: str
    """After the move, for White: `+0.31`, `#3`, `#-3`; empty if the game is over."""
    loss: float
    """Loss of expected score, from 0 to 1."""
    centipawns: int
    """Loss in centipawns."""
    mark: str
    """`?!`, `?`, `??` or empty."""
    line: tuple[str, ...]
    """The better line, for moves with a mark."""


@dataclass(frozen=True)
class Summary:
    """Statistics of one player's moves."""

    name: str
    moves: int
    average_loss: float
    """Of expected score per move, from 0 to 1."""
    average_centipawn_loss: float
    inaccuracies: int
    mistakes: int
    blunders: int
    agreement: float
    """Share of moves that are the search's choice."""


@dataclass(frozen=True)
class Annotation:
    """An annotated game."""

    game: chess.pgn.Game
    """The game with scores, marks and better lines added."""
    moves: list[JudgedMove]
    interrupted: bool = False

    @property
    def players(self) -> tuple[Summary, Summary]:
        """Summaries of White's and Black's moves."""
        headers = self.game.headers
        return self._summary(headers.get("White", "?"), 0), self._summary(
            headers.get("Black", "?"), 1
        )

    def _summary(self, name: str, seat: int) -> Summary:
        moves = [move for move in self.moves if move.seat == seat]
        marks = [move.mark for move in moves]
        return Summary(
            name=name,
            moves=len(moves),
            average_loss=round(mean([move.loss for move in moves] or [0.0]), 4),
            average_centipawn_loss=round(mean([move.centipawns for move in moves] or [0]), 1),
            inaccuracies=marks.count("?!"),
            mistakes=marks.count("?"),
            blunders=marks.count("??"),
            agreement=round(mean([float(m.move == m.best) for m in moves] or [0.0]), 4),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the annotation as JSON data."""
        white, black = self.players
        return {
            "headers": dict(self.game.headers),
            "white": asdict(white),
            "black": asdict(black),
            "moves": [asdict(move) for move in self.moves],
            "complete": not self.interrupted,
        }


def annotate(
    game: chess.pgn.Game,
    search: Search,
    progress: Callable[[int, int], Any] | None = None,
) -> Annotation:
    """Annotate the main line of a game.

    :param game: changed in place.
    :param search: its limits apply to each position.
    :param progress: called with the number of positions done and their total.

    >>> import io, chess.pgn
    >>> from sylvan import Search
    >>> game = chess.pgn.read_game(io.StringIO("1. f3 e5 2. g4 Qh4# 0-1"))
    >>> annotation = annotate(game, Search("material", simulations=2000))
    >>> annotation.moves[2].mark, annotation.players[0].blunders
    ('??', 1)
    """
    from sylvan.games import Chess
    from sylvan.planning import Search

    board = game.board()
    state = Chess(board.fen(en_passant="fen"), chess960=board.chess960)
    nodes = list(game.mainline())
    judged: list[JudgedMove] = []
    checking = Search(search.evaluate, search.config)
    try:
        found = _search_position(search, state, None)
        for ply, node in enumerate(nodes, start=1):
            if progress is not None:
                progress(ply, len(nodes) + 1)
            assert found is not None, "a move follows the end of the game"
            earlier, action = state.clone(), state.string_to_action(node.move.uci())
            earlier.set_root()  # the game continued: no draw was claimed here
            state = earlier.clone()
            state.apply(action)
            was_drawn = ply == len(nodes) and game.headers["Result"] == "1/2-1/2"
            after = None
            if not (was_drawn and state.is_terminal()):
                after = _search_position(search, state, action)
            score = _after_move(state, earlier.to_play(), after)
            if action != found.best and _loss(found.score, score) >= LEAST:
                found = _with_lower_score(checking, earlier, found)
            judged.append(_judge(ply, earlier, action, found, score, is_over=after is None))
            _write(node, judged[-1], found, after)
            found = after
    except KeyboardInterrupt:
        return Annotation(game, judged, interrupted=True)
    return Annotation(game, judged)


@dataclass(frozen=True)
class _Found:
    """The result of a search for the side to move, copied before the tree changes."""

    best: int
    score: Score
    line: list[int]


def _search_position(search: Search, state: Chess, action: int | None) -> _Found | None:
    """Search `state`, reached by `action`; return None if it has no moves."""
    if action is not None:
        search.advance(action)
    if not root_actions(state):
        return None
    result = search.run(state if action is None else None)
    return _Found(result.best, result_score(result), list(result.pv))


def _after_move(state: Chess, seat: int, after: _Found | None) -> Score:
    """Return the score of the position after a move for `seat`; `after` is None if it is final."""
    return Score(state.returns()[seat], proven=True) if after is None else -after.score


def _loss(best: Score, played: Score) -> float:
    return max(0.0, (best.q - played.q) / 2)


def _with_lower_score(checking: Search, earlier: Chess, found: _Found) -> _Found:
    """Return `found` with the lower of two scores: its own, and that of a search after the best
    move, which is as deep as the search after the move played.
    """
    state = earlier.clone()
    state.apply(found.best)
    after = _search_position(checking, state, None)
    score = _after_move(state, earlier.to_play(), after)
    return found if score.q >= found.score.q else replace(found, score=score)


def _judge(
    ply: int, earlier: Chess, action: int, found: _Found, score: Score, *, is_over: bool
) -> JudgedMove:
    """Judge the move `action` in `earlier`; `score` is the score after it, for its mover."""
    seat = earlier.to_play()
    loss, centipawns = 0.0, 0
    if action != found.best:
        loss = _loss(found.score, score)
        centipawns = max(0, _cut(found.score.cp) - _cut(score.cp))
    mark = next((mark for least, mark in THRESHOLDS if loss >= least), "")
    return JudgedMove(
        ply=ply,
        seat=seat,
        move=earlier.san(action),
        best=earlier.san(found.best),
        score="" if is_over else str(_for_white(score, seat)),
        loss=round(loss, 4),
        centipawns=centipawns,
        mark=mark,
        line=tuple(_labels(earlier, found.line[:LINE])) if mark else (),
    )


def _for_white(score: Score, seat: int) -> Score:
    return score if seat == 0 else -score


def _cut(cp: int) -> int:
    return max(-MOST_CENTIPAWNS, min(MOST_CENTIPAWNS, cp))


def _labels(state: Chess, actions: list[int]) -> list[str]:
    state, labels = state.clone(), []
    for action in actions:
        labels.append(state.san(action))
        state.apply(action)
    return labels


def _write(
    node: chess.pgn.ChildNode, judged: JudgedMove, found: _Found, after: _Found | None
) -> None:
    """Put the score, the mark and the better line of a move into the PGN."""
    import chess
    import chess.engine

    # Remove marks of an earlier run; keep marks for good moves, which a person made.
    node.nags -= set(NAGS.values())
    if after is not None:
        cp, mate = after.score.cp, after.score.mate
        points = chess.engine.Cp(cp) if mate is None else chess.engine.Mate(mate)
        node.set_eval(chess.engine.PovScore(points, judged.seat == 1))
    if judged.mark:
        node.nags.add(NAGS[judged.mark])
        _add_line(node.parent, judged.line, f"best: {_for_white(found.score, judged.seat)}")


def _add_line(parent: chess.pgn.GameNode, line: tuple[str, ...], comment: str) -> None:
    """Add a variation, unless there is one with the same first move."""
    if parent.has_variation(parent.board().parse_san(line[0])):
        return
    for text in line:
        parent = parent.add_variation(parent.board().parse_san(text), comment=comment)
        comment = ""
