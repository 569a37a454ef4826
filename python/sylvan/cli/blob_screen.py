"""Blob in letters: the table, advice, and a look back, for `sylvan play blob` and its copilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sylvan.errors import ConfigError
from sylvan.games.blob import SUITS, Blob, card_name

if TYPE_CHECKING:
    from rich.text import Text

    from sylvan.engines.blob_advice import Advice
    from sylvan.engines.blob_sitting import Decision

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
    rows = [["", "deals", "points", "makes the bid"]]
    for row in advice.rows:
        name = view.action_to_string(row.action)
        rows.append([name, str(advice.deals), f"{row.points:.1f}", f"{100 * row.made:.0f} %"])
    return "\n".join(_columns(rows))


def looked_back(number: int, decisions: Sequence[Decision]) -> str:
    """What the person did in a round that the adviser would not have done, and what it cost."""
    lines = []
    for decision in decisions:
        if decision.cost >= TELLING:
            view, best = decision.view, decision.advice.best
            done = view.action_to_string(decision.action)
            where = "" if view.phase != "playing" else f"trick {_trick(view)}: "
            lines.append(
                f"  {where}{done}; {view.action_to_string(best.action)} was worth "
                f"{decision.cost:.1f} points more ({best.points:.1f} expected)"
            )
    if not decisions:
        return f"Round {number + 1}: you had no choice."
    if not lines:
        return f"Round {number + 1}: none of your {len(decisions)} decisions cost half a point."
    total = sum(decision.cost for decision in decisions if decision.cost >= TELLING)
    return "\n".join(
        [f"Round {number + 1}, looking back: {total:.1f} points expected to be lost", *lines]
    )


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


def _trick(view: Blob) -> int:
    return 1 + sum(view.tricks)


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
