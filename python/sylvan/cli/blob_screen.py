"""Blob as text: the table, advice and review, for `sylvan play blob` and `sylvan advise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sylvan.errors import ConfigError
from sylvan.games.blob import SUITS, Blob, card_name

if TYPE_CHECKING:
    from rich.text import Text

    from sylvan.blob.advice import Advice
    from sylvan.blob.session import Decision

__all__ = ["advice_table", "cards", "colours", "review_text", "rules_of", "scoreboard", "table"]

SIGNIFICANT = 0.5
"""Points; smaller differences are within sampling error."""


def rules_of(texts: Sequence[str]) -> dict[str, int | bool | str | list[int]]:
    """Parse rules from `name=value` texts: JSON numbers, lists and booleans, else text.

    >>> rules_of(["players=4", "trump=hearts"])
    {'players': 4, 'trump': 'hearts'}
    """
    import json

    rules = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"--rule {text} has no value: write --rule players=4.")
        try:
            rules[name] = json.loads(value)
        except json.JSONDecodeError:
            rules[name] = value
    return rules


def colours(text: str) -> Text:
    """Colour hearts and diamonds red, if the terminal has colours."""
    from rich.text import Text

    coloured = Text(text)
    coloured.highlight_regex(r"(?:10|[2-9JQKA])?[♥♦]", "red")
    return coloured


def table(view: Blob, seat: int, names: Mapping[int, str]) -> str:
    """Format everything that a seat sees: bids, tricks, known voids, the trick, its hand."""
    count = f"{view.cards} card{'s' if view.cards > 1 else ''}"
    trump = "no trump" if view.trump is None else f"trump {SUITS[view.trump]}"
    if view.turned_up is not None:
        trump += f" ({card_name(view.turned_up)} turned up)"
    elif view.is_chance() and view.rule_names()[0] == "turned_up":
        trump = "trump not turned up yet"
    lines = [f"Round {view.round + 1} of {len(view.sequence)}: {count}, {trump}"]
    rows = [["", "", "cards", "bid", "took", "lacks", "points", ""]]
    for player in range(view.num_players):
        bid = view.bids[player]
        rows.append(
            [
                ">" if not view.is_terminal() and view.to_play() == player else " ",
                f"seat {player} {names.get(player, 'you' if player == seat else '')}".strip(),
                str(view.hand_sizes[player]),
                "-" if bid is None else str(bid),
                str(view.tricks[player]),
                "".join(SUITS[suit] for suit in view.voids[player]) or "-",
                str(view.points[player]),
                "deals" if player == view.dealer else "",
            ]
        )
    lines += _columns(rows, left=2)
    if view.trick:
        best = view.winning
        played = ", ".join(
            f"seat {player} "
            f"{card_name(card)}{' (takes it so far)' if (player, card) == best else ''}"
            for player, card in view.trick
        )
        lines.append(f"Trick: {played}")
    if view.hand(seat):
        lines.append(f"Your hand: {cards(view.hand(seat))}")
    return "\n".join(lines)


def cards(hand: Sequence[int]) -> str:
    """Format a hand suit by suit, highest card first.

    >>> cards([12, 3, 20])
    'A♠ 5♠  9♥'
    """
    suits = [sorted((card for card in hand if card // 13 == suit), reverse=True)
             for suit in range(4)]  # fmt: skip
    return "  ".join(" ".join(map(card_name, suit)) for suit in suits if suit)


def advice_table(view: Blob, advice: Advice) -> str:
    """Format a row per option, best first."""
    rows = [["", "visits", "points", "makes the bid"]]
    for row in advice.rows:
        name = view.action_to_string(row.action)
        rows.append([name, str(row.visits), f"{row.points:.1f}", f"{100 * row.made:.0f} %"])
    return "\n".join(_columns(rows))


def review_text(number: int, decisions: Sequence[Decision]) -> str:
    """Compare the person's choices in a round with the adviser's, and their cost in points."""
    if not decisions:
        return f"Round {number + 1}: you had no choice."
    rows = [["", "you", "advice", "points lost"]]
    for decision in decisions:
        view, best = decision.view, decision.advice.best
        where = "bid" if view.phase == "bidding" else f"trick {1 + sum(view.tricks)}"
        done, better = (
            view.action_to_string(action).removeprefix("bid ")
            for action in (decision.action, best.action)
        )
        cost = "-" if done == better else f"{decision.cost:.1f}"
        rows.append([where, done, better, cost])
    lost = sum(decision.cost for decision in decisions if decision.cost >= SIGNIFICANT)
    total = f"{lost:.1f} points expected to be lost" if lost else "no mistake worth half a point"
    return "\n".join([f"Round {number + 1}, looking back: {total}", *_columns(rows, left=3)])


def scoreboard(
    points: Sequence[int],
    names: Sequence[str],
    last: Sequence[tuple[int, int, int]] = (),
) -> str:
    """Format the points, leader first; `last` has bid, tricks and points of the last round."""
    rows = [["", "points", *(["bid", "took", "round"] if last else [])]]
    for seat in sorted(range(len(points)), key=lambda seat: -points[seat]):
        rows.append([names[seat], str(points[seat]), *(map(str, last[seat]) if last else [])])
    return "\n".join(_columns(rows))


def _columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Align columns; the first `left` of them to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
