"""Blob in letters: the table, advice, and a look back, for `sylvan play blob` and its copilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sylvan.errors import ConfigError
from sylvan.games.blob import SUITS, Blob, card_name

if TYPE_CHECKING:
    from rich.text import Text

    from sylvan.blob.advice import Advice
    from sylvan.blob.sitting import Decision

__all__ = ["advice_table", "cards", "colours", "looked_back", "rules_of", "scoreboard", "table"]

TELLING = 0.5
"""Points; less than this is within what sampled deals leave open."""


def rules_of(texts: Sequence[str]) -> dict[str, int | bool | str | list[int]]:
    """Rules from `name=value` texts: numbers, lists, true and false as in JSON, else text.

    >>> rules_of(["players=4", "trump=hearts"])
    {'players': 4, 'trump': 'hearts'}
    """
    import json

    rules = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"--rule {text} has no value: write it as --rule players=4.")
        try:
            rules[name] = json.loads(value)
        except json.JSONDecodeError:
            rules[name] = value
    return rules


def colours(text: str) -> Text:
    """Hearts and diamonds in red, where there are colours."""
    from rich.text import Text

    painted = Text(text)
    painted.highlight_regex(r"(?:10|[2-9JQKA])?[♥♦]", "red")
    return painted


def table(view: Blob, seat: int, names: Mapping[int, str]) -> str:
    """Everything that a seat sees: who has bid, taken and shown what, the trick, its hand."""
    count = f"{view.cards} card{'s' if view.cards > 1 else ''}"
    trump = "no trump" if view.trump is None else f"trump {SUITS[view.trump]}"
    if view.turned_up is not None:
        trump += f" ({card_name(view.turned_up)} turned up)"
    elif view.is_chance() and view.rule_names()[0] == "turned_up":
        trump = "trump not turned up yet"
    lines = [f"Round {view.round + 1} of {len(view.sequence)}: {count}, {trump}"]
    rows = [["", "", "cards", "bid", "took", "lacks", "points", ""]]
    for place in range(view.num_players):
        bid = view.bids[place]
        rows.append(
            [
                ">" if not view.is_terminal() and view.to_play() == place else " ",
                f"seat {place} {names.get(place, 'you' if place == seat else '')}".strip(),
                str(view.hand_sizes[place]),
                "-" if bid is None else str(bid),
                str(view.tricks[place]),
                "".join(SUITS[suit] for suit in view.voids[place]) or "-",
                str(view.points[place]),
                "deals" if place == view.dealer else "",
            ]
        )
    lines += _columns(rows, left=2)
    if view.trick:
        best = view.winning
        fallen = ", ".join(
            f"seat {place} {card_name(card)}{' (takes it so far)' if (place, card) == best else ''}"
            for place, card in view.trick
        )
        lines.append(f"Trick: {fallen}")
    if view.hand(seat):
        lines.append(f"Your hand: {cards(view.hand(seat))}")
    return "\n".join(lines)


def cards(hand: Sequence[int]) -> str:
    """A hand suit by suit, the highest first.

    >>> cards([12, 3, 20])
    'A♠ 5♠  9♥'
    """
    suits = [sorted((card for card in hand if card // 13 == suit), reverse=True)
             for suit in range(4)]  # fmt: skip
    return "  ".join(" ".join(map(card_name, suit)) for suit in suits if suit)


def advice_table(view: Blob, advice: Advice) -> str:
    """A row per option, the best first."""
    rows = [["", "visits", "points", "makes the bid"]]
    for row in advice.rows:
        name = view.action_to_string(row.action)
        rows.append([name, str(row.visits), f"{row.points:.1f}", f"{100 * row.made:.0f} %"])
    return "\n".join(_columns(rows))


def looked_back(number: int, decisions: Sequence[Decision]) -> str:
    """What the person did in a round, what the adviser would have done, and what that cost."""
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
    lost = sum(decision.cost for decision in decisions if decision.cost >= TELLING)
    total = f"{lost:.1f} points expected to be lost" if lost else "no mistake worth half a point"
    return "\n".join([f"Round {number + 1}, looking back: {total}", *_columns(rows, left=3)])


def scoreboard(
    points: Sequence[int],
    names: Sequence[str],
    last: Sequence[tuple[int, int, int]] = (),
) -> str:
    """Points, the leader first; `last` has bid, tricks and points of the round just over."""
    rows = [["", "points", *(["bid", "took", "round"] if last else [])]]
    for seat in sorted(range(len(points)), key=lambda seat: -points[seat]):
        rows.append([names[seat], str(points[seat]), *(map(str, last[seat]) if last else [])])
    return "\n".join(_columns(rows))


def _columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows with their columns under each other, the first `left` of them to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
