"""The figures that a run is watched by: their names in the metrics, and what follows from them.

A name says which part of the loop measured it: `selfplay.`, `replay.`, `loss.`, `seconds.`,
`rating.`, `run.`. Whatever is derived, such as games per second, is derived here, once, for the
live view, the plots and the tables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sylvan.runs.metrics import FILE, Columns, read_columns

__all__ = [
    "NAMES",
    "PARTS",
    "Series",
    "best_step",
    "known",
    "last",
    "mistakes",
    "per_second",
    "run_columns",
    "series",
    "sparkline",
    "time_shares",
    "time_span",
]

Series = NDArray[np.float64]
"""`[steps]` numbers."""

NAMES = {
    "run.elapsed": "seconds spent on the run, pauses left out",
    "run.progress": "share of the budget that is spent, 0 to 1",
    "selfplay.games": "games that ended in the step",
    "selfplay.positions": "positions that were searched in the step",
    "selfplay.simulations": "simulations of those searches",
    "selfplay.length": "plies of a game, mean",
    "selfplay.entropy": "nats of the policy target, mean",
    "selfplay.openings": "distinct openings (first six plies) per game",
    "selfplay.surprise": "nats by which the search changed the network's policy, mean",
    "selfplay.resigned": "share of games that were resigned",
    "selfplay.unfinished": "share of games that were broken off at the move limit",
    "selfplay.false_resignations": "share of resignations, played on, that would not have lost",
    "selfplay.cache_hits": "share of evaluations that were remembered",
    "selfplay.first_seat": "mean return of the first seat",
    "selfplay.draws": "share of games that paid everyone the same",
    "selfplay.dropped": "episodes that were given up because their environment failed",
    "selfplay.return": "what the step's finished episodes paid in all, mean",
    "replay.window": "positions that batches are drawn from",
    "replay.positions": "positions stored since the run began",
    "replay.games": "games stored since the run began",
    "loss.policy": "cross-entropy of the network's policy against the target, nats",
    "loss.value": "loss of the value output",
    "loss.reward": "loss of a learned model's reward output",
    "loss.consistency": "how unlike a learned model's states are to those that came, -1 to 1",
    "loss.reconstruction": "squared error of what a learned model's states look like, summed",
    "loss.total": "what is minimised: all losses with their weights",
    "loss.target_entropy": "nats of the policy targets, below which the policy loss cannot go",
    "learner.gradient_norm": "length of the gradient before it is clipped",
    "learner.learning_rate": "of the optimiser's last update",
    "learner.updates": "updates of the step",
    "seconds.step": "wall time of the step",
    "seconds.selfplay": "wall time of self-play",
    "seconds.network": "inside the network during self-play",
    "seconds.search": "inside the search and the rules, partly while the network works",
    "learner.seconds": "making updates, waiting for batches included",
    "seconds.arena": "rating",
    "rating.elo": "of the network against the run's yardsticks",
    "rating.return": "what greedy episodes paid in all, mean: the rating where there is one seat",
    "rating.length": "steps of those episodes, mean",
    "rating.dropped": "episodes of the rating that were given up because their environment failed",
    "rating.low": "lower end of its 95% interval",
    "rating.high": "upper end of its 95% interval",
}
"""What a run logs, by name; `rating.` has further ones that depend on the game, and `model.`, of a
learned model, by steps ahead: `model.reward.1`, `model.value.5`, `model.legal.2`."""

RATINGS = ("rating.elo", "rating.return")
"""How good a network is: the Elo of a game's, what an environment pays a single seat's."""

PARTS = ("network", "search", "learner", "arena")
"""What takes a run's time, in the order of the loop."""


def run_columns(folder: str | PathLike[str]) -> Columns:
    """The metrics of a run's folder, with ratings as all its games together have them by now.

    A rating in the metrics is what was known at its step. Games of later networks say more about
    earlier ones, and `ratings.json` has the Elo of all of them from one fit. `rating.chosen` is 1
    at the step whose network the run holds to be its best.
    """
    columns = read_columns(Path(folder) / FILE)
    try:
        table = json.loads((Path(folder) / "ratings.json").read_bytes())
        fitted, chosen = dict(table["ratings"]), table["best"]
        for index, step in enumerate(columns["step"]):
            name = f"step-{int(step):06d}"
            for figure in ("elo", "low", "high"):
                column = columns.get(f"rating.{figure}")
                if column is not None and np.isfinite(column[index]) and name in fitted:
                    column[index] = float(fitted[name][figure])
            if name == chosen:
                columns["rating.chosen"] = np.where(columns["step"] == step, 1.0, math.nan)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no arena, or a file of another kind: what was logged stands
    return columns


def series(columns: Columns, name: str) -> Series:
    """`[steps]` numbers of a name; all NaN if the run has none."""
    return columns.get(name, np.full(len(columns["step"]), math.nan))


def known(values: Sequence[float] | Series) -> Series:
    """Those that are finite numbers."""
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]


def last(columns: Columns, name: str) -> float:
    """The newest finite number of a name; NaN if there is none."""
    found = known(series(columns, name))
    return float(found[-1]) if found.size else math.nan


def rating_name(columns: Columns) -> str:
    """What a run's networks are rated by, of `RATINGS`: the one that it has numbers of."""
    return next((name for name in RATINGS if known(series(columns, name)).size), RATINGS[0])


def rating_text(value: float, name: str = RATINGS[0]) -> str:
    """A rating for people: a difference of Elo has a sign, a return its size.

    >>> rating_text(212.4), rating_text(487.25, "rating.return")
    ('+212', '487.2')
    """
    return f"{value:+.0f}" if name == "rating.elo" else f"{value:.4g}"


def best_step(columns: Columns, name: str = "", *, lowest: bool = False) -> int | None:
    """The index of the highest (or lowest) number; the earliest of equals, None if there is none.

    Without a name it is that of the ratings; of Elos the one that the run has chosen, if that is
    known: what was the best when it was measured stays, though later games may have put another a
    little above it.

    >>> best_step({"step": np.arange(3.0), "rating.elo": np.array([math.nan, 7.0, 7.0])})
    1
    """
    name = name or rating_name(columns)
    values = series(columns, name)
    if name == "rating.elo" and "rating.chosen" in columns:
        values = columns["rating.chosen"]
    if not np.isfinite(values).any():
        return None
    return int(np.nanargmin(values) if lowest else np.nanargmax(values))


def mistakes(columns: Columns) -> list[str]:
    """The names of mistake rates, shares of positions whose chosen move changes the game value."""
    return [name for name in columns if name.startswith("rating.mistakes")]


def foreseen(columns: Columns, what: str) -> dict[int, str]:
    """The names of a learned model's figures, `reward`, `value` or `legal`, by steps ahead."""
    start = f"model.{what}."
    names = {int(name.removeprefix(start)): name for name in columns if name.startswith(start)}
    return dict(sorted(names.items()))


def per_second(columns: Columns, what: str) -> Series:
    """`games`, `positions` or `simulations` per second of self-play."""
    seconds = series(columns, "seconds.selfplay")
    with np.errstate(all="ignore"):
        return np.where(seconds > 0, series(columns, f"selfplay.{what}") / seconds, math.nan)


def time_shares(columns: Columns) -> dict[str, Series]:
    """The share of each step's wall time by part, in the order of `PARTS`; then the `rest`.

    The search works while the network does. Its share is what of self-play is not the network:
    the time that a search in no time at all would save.
    """
    whole, network = series(columns, "seconds.step"), series(columns, "seconds.network")
    seconds = {
        "network": network,
        "search": series(columns, "seconds.selfplay") - network,
        "learner": series(columns, "learner.seconds"),
        "arena": series(columns, "seconds.arena"),
    }
    with np.errstate(all="ignore"):
        parts = {part: seconds[part] / whole for part in PARTS}
    shares = {part: np.clip(np.where(np.isfinite(v), v, 0), 0, 1) for part, v in parts.items()}
    rest = np.clip(1 - sum(shares.values()), 0, 1)
    return {**shares, "rest": np.where(np.isfinite(whole), rest, math.nan)}


def sparkline(values: Sequence[float] | Series, width: int) -> str:
    """A curve in so many letters at most: each is the mean of its share of the values.

    >>> sparkline([1, 2, 3, 4, 3, 2, 1, 0], 8)
    '▃▅▆█▆▅▃▁'
    >>> sparkline([5.0, 5.0], 8), sparkline([], 8)
    ('▄▄', '')
    """
    found = np.clip(known(values), -1e150, 1e150)  # whose differences exist
    if not found.size:
        return ""
    means = [float(part.mean()) for part in np.array_split(found, min(width, found.size))]
    low, high = min(means), max(means)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return "▄" * len(means)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (mean - low) / (high - low))] for mean in means)


def time_span(seconds: float) -> str:
    """A span for people.

    >>> time_span(7.4), time_span(252), time_span(3780), time_span(200_000), time_span(math.nan)
    ('7 s', '4:12 min', '1:03 h', '2 d 7 h', '–')
    """
    if not math.isfinite(seconds):
        return "–"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    if whole < 48 * 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02} h"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
