"""The figures of a run: their names in the metrics, and figures derived from them.

The prefix of a name is the part of the loop that measured it: `selfplay.`, `replay.`, `loss.`,
`seconds.`, `rating.`, `run.`. The live view, the plots and the tables share the derived figures
defined here, such as games per second.
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
from sylvan.views.text import percent

__all__ = [
    "NAMES",
    "PARTS",
    "Series",
    "best_step",
    "known",
    "last",
    "limit",
    "mistakes",
    "per_second",
    "run_columns",
    "series",
    "sparkline",
    "time_shares",
    "time_span",
    "time_used",
]

Series = NDArray[np.float64]
"""`[steps]` numbers."""

NAMES = {
    "run.elapsed": "seconds spent on the run, without pauses",
    "run.progress": "share of the budget that is spent, 0 to 1",
    "selfplay.games": "games that ended in the step",
    "selfplay.positions": "positions searched in the step",
    "selfplay.simulations": "simulations of those searches",
    "played.games": "games that ended while self-play ran, of this step and of the next",
    "played.positions": "positions searched in that time",
    "played.simulations": "simulations of those searches",
    "played.workers": "workers of a cluster that played",
    "played.slowest_worker": "positions per second of the slowest worker, as a share of the median",
    "selfplay.fill": "mean share of a batch that holds positions",
    "selfplay.length": "mean plies of a game",
    "selfplay.entropy": "mean entropy of the policy target, nats",
    "selfplay.openings": "distinct openings (first six plies) per game",
    "selfplay.surprise": "mean divergence of the search's policy from the network's, nats",
    "selfplay.resigned": "share of games that were resigned",
    "selfplay.unfinished": "share of games that reached the move limit",
    "selfplay.false_resignations": "share of played-on resignations that did not lose",
    "selfplay.evaluations": "evaluations by the network, those that no cache had",
    "selfplay.cache_hits": "share of evaluations found in the cache",
    "selfplay.first_seat": "mean return of the first seat",
    "selfplay.draws": "share of games with equal returns for all seats",
    "selfplay.dropped": "episodes discarded because their environment failed",
    "selfplay.return": "mean total reward of the step's finished episodes",
    "replay.window": "positions that batches are drawn from",
    "replay.positions": "positions stored since the start of the run",
    "replay.games": "games stored since the start of the run",
    "loss.policy": "cross-entropy of the network's policy against the target, nats",
    "loss.value": "loss of the value output",
    "loss.reward": "loss of a learned model's reward output",
    "loss.consistency": "minus the cosine of a model's predicted and encoded states, -1 to 1",
    "loss.reconstruction": "squared error of observations decoded from a model's states, summed",
    "loss.total": "the minimised loss: weighted sum of all losses",
    "loss.target_entropy": "entropy of the policy targets, the policy loss's lower bound, nats",
    "learner.gradient_norm": "norm of the gradient before clipping",
    "learner.learning_rate": "learning rate of the last update",
    "learner.updates": "updates of the step",
    "seconds.step": "wall time of the step",
    "seconds.selfplay": "wall time of self-play",
    "seconds.network": "time in the network during self-play",
    "seconds.search": "time in which the network waited for positions of the games",
    "learner.seconds": "time of the updates, including waiting for batches",
    "seconds.arena": "time of the rating",
    "rating.elo": "Elo of the network, relative to the run's yardsticks",
    "rating.return": "mean total reward of greedy episodes: the rating for one seat",
    "rating.length": "mean steps of those episodes",
    "rating.dropped": "episodes of the rating discarded because their environment failed",
    "rating.low": "lower end of the rating's 95% interval",
    "rating.high": "upper end of the rating's 95% interval",
    "rating.best": "rating of the run's best network by all games until this step",
    "rating.best_step": "step of that network",
}
"""Every logged figure. `rating.` has more that depend on the game; `model.` has a learned model's,
by steps ahead: `model.reward.1`, `model.value.5`, `model.legal.2`."""

RATINGS = ("rating.elo", "rating.return")
"""Measures of strength: Elo in games, the return in environments with one seat."""

HIGH_BUSY = 0.8
LOW_FILL = 0.6
"""Batches that are less full than this limit self-play."""

PARTS = ("network", "search", "learner", "arena")
"""The parts of a step's time, in the order of the loop."""


def run_columns(folder: str | PathLike[str]) -> Columns:
    """Read the metrics of a run's folder, with ratings from the latest fit.

    A rating in the metrics uses the games up to its step. `ratings.json` has one fit over all
    games, including later ones against the same network. `rating.chosen` is 1 at the step of the
    run's best network.
    """
    columns = read_columns(Path(folder) / FILE)
    try:
        table = json.loads((Path(folder) / "ratings.json").read_bytes())
        fitted, chosen = dict(table.get("ratings", {})), table["best"]
        for index, step in enumerate(columns["step"]):
            name = f"step-{int(step):06d}"
            for figure in ("elo", "low", "high"):
                column = columns.get(f"rating.{figure}")
                if column is not None and np.isfinite(column[index]) and name in fitted:
                    column[index] = float(fitted[name][figure])
            if name == chosen:
                columns["rating.chosen"] = np.where(columns["step"] == step, 1.0, math.nan)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # no arena, or not a ratings file: use the logged ratings
    return columns


def series(columns: Columns, name: str) -> Series:
    """`[steps]` values of a figure; all NaN if the run does not have it."""
    return columns.get(name, np.full(len(columns["step"]), math.nan))


def known(values: Sequence[float] | Series) -> Series:
    """The finite values."""
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array)]


def last(columns: Columns, name: str) -> float:
    """The newest finite value of a figure; NaN if there is none."""
    found = known(series(columns, name))
    return float(found[-1]) if found.size else math.nan


def rating_name(columns: Columns) -> str:
    """The entry of `RATINGS` that the run has values of."""
    return next((name for name in RATINGS if known(series(columns, name)).size), RATINGS[0])


def rating_text(value: float, name: str = RATINGS[0]) -> str:
    """Format a rating: Elo with its sign, a return with four digits.

    >>> rating_text(212.4), rating_text(487.25, "rating.return")
    ('+212', '487.2')
    """
    return f"{value:+.0f}" if name == "rating.elo" else f"{value:.4g}"


def best_step(columns: Columns, name: str = "", *, lowest: bool = False) -> int | None:
    """The index of the highest (or lowest) value; the earliest of ties; None if there is none.

    Without a name: of the rating; then it is the run's chosen best network, if known, although a
    later fit may rate another slightly higher, or another network may have the same return.

    >>> best_step({"step": np.arange(3.0), "rating.elo": np.array([math.nan, 7.0, 7.0])})
    1
    """
    name = name or rating_name(columns)
    values = series(columns, name)
    if name in RATINGS and "rating.chosen" in columns:
        values = columns["rating.chosen"]
    if not np.isfinite(values).any():
        return None
    return int(np.nanargmin(values) if lowest else np.nanargmax(values))


def mistakes(columns: Columns) -> list[str]:
    """The names of the mistake rates: shares of positions whose move changes the game value."""
    return [name for name in columns if name.startswith("rating.mistakes")]


def model_figures(columns: Columns, what: str) -> dict[int, str]:
    """Steps ahead -> name of a learned model's figure `what`: `reward`, `value` or `legal`."""
    start = f"model.{what}."
    names = {int(name.removeprefix(start)): name for name in columns if name.startswith(start)}
    return dict(sorted(names.items()))


def per_second(columns: Columns, what: str) -> Series:
    """`games`, `positions` or `simulations` per second of self-play."""
    seconds = series(columns, "seconds.selfplay")
    stored, played = series(columns, f"selfplay.{what}"), series(columns, f"played.{what}")
    with np.errstate(all="ignore"):
        done = np.where(np.isfinite(played), played, stored)
        return np.where(seconds > 0, done / seconds, math.nan)


def time_shares(columns: Columns) -> dict[str, Series]:
    """Shares of each step's wall time: `PARTS` in order, then `rest`.

    The search partly overlaps with the network. Its share is the rest of self-play: the time that
    an infinitely fast search would save.
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


def limit(columns: Columns) -> tuple[str, str] | None:
    """The limit of self-play in the last step, and the measure that shows it; None if unknown.

    The time inside an evaluator on a GPU is mostly waiting, so there the share of time in which the
    GPU had work decides (`seconds.device`).

    >>> seconds = {"selfplay": 10.0, "network": 9.0, "search": 0.5}
    >>> columns = {f"seconds.{name}": np.array([value]) for name, value in seconds.items()}
    >>> limit({"step": np.array([1.0]), **columns})
    ('the network is the limit', 'it computes 90% of the time')
    """
    whole, network, waits = (
        last(columns, f"seconds.{name}") for name in ("selfplay", "network", "search")
    )
    fill, under_way = last(columns, "selfplay.fill"), last(columns, "selfplay.under_way")
    device, handling = last(columns, "seconds.device"), last(columns, "seconds.handling")
    if not (whole > 0 and math.isfinite(network + waits)):
        return None
    if network + waits < whole / 2:
        rest = 1 - (network + waits) / whole
        return "steps are short", f"loading networks takes {percent(rest)} of the time"
    if device > HIGH_BUSY * whole:
        return "the card is the limit", f"it is busy {percent(device / whole)} of the time"
    if handling > whole / 2:
        share = percent(handling / whole)
        return "handing batches over is the limit", f"one thread works on it {share} of the time"
    if device < whole / 2 and fill >= LOW_FILL:
        found = f"the card is busy {percent(device / whole)} of the time"
        return "the games are the limit", f"{found}, with {under_way:.1f} batches under way"
    if waits > network:
        return "the games are the limit", f"the network waits {percent(waits / whole)} of the time"
    if fill < LOW_FILL:
        return f"batches are {percent(fill)} full", "too few games are played at once"
    return "the network is the limit", f"it computes {percent(network / whole)} of the time"


def sparkline(values: Sequence[float] | Series, width: int) -> str:
    """Draw a curve in at most `width` characters; each is the mean of an equal part of the values.

    >>> sparkline([1, 2, 3, 4, 3, 2, 1, 0], 8)
    '▃▅▆█▆▅▃▁'
    >>> sparkline([5.0, 5.0], 8), sparkline([], 8)
    ('▄▄', '')
    """
    found = np.clip(known(values), -1e150, 1e150)  # so that differences stay finite
    if not found.size:
        return ""
    means = [float(part.mean()) for part in np.array_split(found, min(width, found.size))]
    low, high = min(means), max(means)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return "▄" * len(means)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (mean - low) / (high - low))] for mean in means)


def time_span(seconds: float) -> str:
    """Format a duration.

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


def time_used(elapsed: float, limit: float) -> str:
    """Format the time used of a budget, which is NaN if there is none.

    >>> time_used(42, 180), time_used(87, 180), time_used(42, math.nan)
    ('42 s of 3:00 min', '1:27 of 3:00 min', '42 s')
    """
    used, whole = time_span(elapsed), time_span(limit)
    if not math.isfinite(limit):
        return used
    unit = whole.rpartition(" ")[2]
    return f"{used.removesuffix(f' {unit}')} of {whole}"
