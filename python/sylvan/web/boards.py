"""A state as a board that a page can draw and play on."""

from __future__ import annotations

from sylvan.games import Game
from sylvan.planning.roots import as_root, is_own_turn, is_view
from sylvan.planning.tree import label
from sylvan.web.protocol import (
    ActionInfo,
    BlobBoard,
    BlobSeat,
    Board,
    CardInfo,
    ChessBoard,
    GridBoard,
    PictureBoard,
)

__all__ = ["actions_of", "board_of", "can_search", "end_of", "mover", "still"]

MOST_ACTIONS = 512
"""Actions listed; a page that shows more would be of no use."""


def mover(state: Game) -> int | None:
    """The seat to move; None if chance moves or the game is over."""
    over = state.is_terminal() and not _codes(state)
    return None if over or state.is_chance() else state.to_play()


def can_search(state: Game) -> bool:
    """Whether a seat is to move whose thoughts a search may have: in a view, the observer."""
    return mover(state) is not None and (not is_view(state) or is_own_turn(state))


def actions_of(state: Game) -> list[ActionInfo]:
    """The legal actions, or the outcomes that chance may give."""
    codes = _codes(state)[:MOST_ACTIONS]
    return [ActionInfo(action=int(code), label=label(state, code)) for code in codes]


def _codes(state: Game) -> list[int]:
    if state.is_chance():
        return [code for code, _ in state.chance_outcomes()]
    return list(as_root(state).legal_actions())  # where a draw can be claimed, one may go on


def end_of(state: Game) -> str | None:
    """How a game ended; None if it goes on."""
    if not state.is_terminal() or _codes(state):
        return None
    returns = [float(x) for x in state.returns()]
    most = max(returns)
    if len(returns) == 1:
        return f"The game is over: {most:g}."
    winners = [seat for seat, value in enumerate(returns) if value == most]
    how = str(getattr(state, "outcome", None) or "").replace("_", " ")
    if len(winners) > 1:
        return f"Draw by {how}." if how else "Draw."
    name = state.seat_name(winners[0])
    return f"{name[0].upper()}{name[1:]} wins{f' by {how}' if how else ''}."


def board_of(state: Game, last: int | None = None) -> Board:
    """The board of a state; `last` is the action that led to it."""
    from sylvan.games import Blob, Chess, ConnectFour, TicTacToe

    if isinstance(state, Blob):
        return _blob(state)
    if isinstance(state, Chess):
        return _chess(state)
    if isinstance(state, ConnectFour):
        return _connect_four(state, last)
    if isinstance(state, TicTacToe):
        marks = (state.mark(cell) for cell in range(9))
        cells = "".join("." if seat is None else "xo"[seat] for seat in marks)
        return GridBoard(kind="grid", columns=3, rows=3, cells=cells, drop=False, last=last)
    picture = getattr(state, "_repr_svg_", None)
    svg = picture() if callable(picture) else None
    return PictureBoard(kind="picture", svg=svg, text=_text(state))


def still(board: Board) -> Board:
    """A board that is only looked at: without its legal moves."""
    return board.model_copy(update={"moves": {}}) if isinstance(board, ChessBoard) else board


def _text(state: Game) -> str:
    """A state as text; its game's name if it has no text."""
    plain = type(state).__str__ is object.__str__ and type(state).__repr__ is object.__repr__
    return type(state).__name__ if plain else str(state)


def _chess(state: Game) -> ChessBoard:
    from sylvan.games import Chess

    assert isinstance(state, Chess)
    moves = {state.action_to_string(code): int(code) for code in _codes(state)}
    played = state.moves
    last = [played[-1][:2], played[-1][2:4]] if played else []
    return ChessBoard(
        kind="chess",
        fen=state.fen(),
        turn="black" if state.fen().split()[1] == "b" else "white",
        check=state.is_check(),
        last=last,
        moves=moves,
    )


def _connect_four(state: Game, last: int | None) -> GridBoard:
    from sylvan.games import ConnectFour

    assert isinstance(state, ConnectFour)
    cells = state.to_rows().replace("/", "")
    columns = state.columns
    top = None
    if last is not None:
        top = next(cell for cell in range(last, len(cells), columns) if cells[cell] != ".")
    return GridBoard(
        kind="grid", columns=columns, rows=state.rows, cells=cells, drop=True, last=top
    )


def _blob(view: Game) -> BlobBoard:
    """A seat's view of the table; for the full state, the public view."""
    from sylvan.games import Blob
    from sylvan.games.blob import SUITS, card_name

    assert isinstance(view, Blob)
    seat = view.observer
    is_over = view.is_terminal()
    turn = None if is_over or view.is_chance() else view.to_play()
    bidding = view.phase == "bidding"
    playable = set(view.legal_actions()) if turn == seat and not bidding else set()
    hand = [] if seat is None else sorted(view.hand(seat), key=lambda card: (card // 13, -card))
    return BlobBoard(
        kind="blob",
        round=view.round + 1,
        rounds=len(view.sequence),
        cards=view.cards,
        trump=None if view.trump is None else SUITS[view.trump],
        turned_up=None if view.turned_up is None else card_name(view.turned_up),
        dealer=view.dealer,
        you=seat,
        to_play=turn,
        bidding=bidding,
        seats=[
            BlobSeat(
                cards=view.hand_sizes[each],
                bid=view.bids[each],
                tricks=view.tricks[each],
                points=view.points[each],
                voids="".join(SUITS[suit] for suit in view.voids[each]),
            )
            for each in range(view.num_players)
        ],
        hand=[
            CardInfo(
                name=card_name(card), seat=seat or 0, action=card if card in playable else None
            )
            for card in hand
        ],
        trick=[CardInfo(name=card_name(card), seat=who, action=None) for who, card in view.trick],
    )
