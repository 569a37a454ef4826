"""Plots of a run's metrics, or of several runs in the same axes.

Each plot has a name, and a sentence on how a healthy curve looks. Noisy curves are drawn twice:
faint as measured, strong as the mean over 1/25 of the run. Matplotlib is used without its global
state, so plots can be drawn in any thread and do not affect a notebook's own.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sylvan.errors import MissingExtra
from sylvan.runs.figures import (
    PARTS,
    RATINGS,
    Series,
    best_step,
    mistakes,
    model_figures,
    per_second,
    rating_name,
    rating_text,
    series,
    time_shares,
)
from sylvan.runs.metrics import Columns
from sylvan.runs.palette import BLUE, INK, LINE, ORANGE, PARTS_PAINT, QUIET, RUNS
from sylvan.views.text import short_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PLOTS", "Curves", "Plot", "figure", "png"]

Across = Literal["step", "minutes"]

SIZE = (6.4, 3.1)
"""Width and height in inches."""
DOTS = 120
"""Dots per inch."""


@dataclass(frozen=True)
class Curves:
    """The metrics of a run, and its label."""

    label: str
    columns: Columns

    def across(self, axis: Across) -> Series:
        """The horizontal coordinates of the steps."""
        if axis == "step":
            return self.columns["step"]
        return series(self.columns, "run.elapsed") / 60


Draw = Callable[["Axes", Sequence[Curves], Across], None]


@dataclass(frozen=True)
class Plot:
    """One plot: its name, how a healthy curve looks, and the function that draws it."""

    name: str
    title: str
    sentence: str
    needs: Callable[[Columns], list[str]]
    """The names of the figures that it draws, given the columns of a run."""
    draw: Draw

    def has(self, columns: Columns) -> bool:
        """Whether the run has data for this plot."""
        return any(np.isfinite(series(columns, name)).any() for name in self.needs(columns))


def figure(plot: Plot, runs: Sequence[Curves], across: Across = "step") -> Figure:
    """Draw a plot of one or several runs; a notebook displays the returned figure.

    :raises MissingExtra: matplotlib is not installed.
    """
    drawn = _new_figure()
    axes = drawn.add_subplot()
    _plain(axes)
    plot.draw(axes, [run for run in runs if plot.has(run.columns)], across)
    axes.set_title(plot.title, loc="left", color=INK, fontsize=11, fontweight="bold")
    axes.set_xlabel("step" if across == "step" else "minutes", color=QUIET, fontsize=9)
    axes.yaxis.set_major_formatter(_short)
    names = len(axes.get_legend_handles_labels()[0])
    if names > 1:
        outside: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        location = outside if names > 3 else {}  # a long legend would cover the curves
        axes.legend(frameon=False, fontsize=8, labelcolor=INK, **location)
    return drawn


def png(plot: Plot, runs: Sequence[Curves], across: Across = "step") -> bytes:
    """Draw a plot as a PNG file; equal numbers give equal bytes."""
    file = io.BytesIO()
    figure(plot, runs, across).savefig(file, format="png", dpi=DOTS, metadata={"Software": None})
    return file.getvalue()


def _new_figure() -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.named("Plots need matplotlib", "train") from None
    return Figure(figsize=SIZE, layout="constrained")


def _plain(axes: Axes) -> None:
    """Remove the frame and lighten the grid."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=QUIET, labelsize=8, length=3, color=LINE)
    axes.grid(axis="y", color=LINE, linewidth=0.5, alpha=0.7)
    axes.set_axisbelow(True)


def _short(value: float, _: object) -> str:
    """Format a number on an axis: `20k` for 20,000, otherwise at most four digits."""
    return short_count(round(value)) if abs(value) >= 10_000 else f"{value:.4g}"


def smooth(values: Series) -> Series:
    """The trailing mean over 1/25 of the values; NaNs are skipped."""
    span = max(1, len(values) // 25)
    finite = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(finite, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(finite)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - span)
    number = counts[ends] - counts[starts]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number > 0, (sums[ends] - sums[starts]) / number, math.nan)


def _line(axes: Axes, x: Series, y: Series, colour: str, label: str, **style: Any) -> None:
    finite = np.isfinite(y) & np.isfinite(x)
    if not finite.any():
        return
    marker = "o" if finite.sum() < 2 else ""
    if finite.sum() >= 50:  # fewer points are drawn unsmoothed
        axes.plot(x[finite], y[finite], color=colour, alpha=0.25, linewidth=0.8)
        y = smooth(np.where(finite, y, math.nan))
    axes.plot(
        x[finite], y[finite], color=colour, label=label, linewidth=1.6, marker=marker, markersize=4,
        **style,
    )  # fmt: skip


def _simple(
    *names: tuple[str, str], scale: float = 1.0, unit: str = "", low: float | None = None
) -> tuple[Callable[[Columns], list[str]], Draw]:
    """A plot of (name, label) pairs; several runs have a colour each and a dash per name."""

    def draw(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
        for i, run in enumerate(runs):
            for j, (name, label) in enumerate(names):
                colour = RUNS[(i if len(runs) > 1 else j) % len(RUNS)]
                style = {"linestyle": ("-", "--", ":")[j % 3]} if len(runs) > 1 else {}
                text = _label(run, label, len(runs), len(names))
                y = series(run.columns, name) * scale
                _line(axes, run.across(across), y, colour, text, **style)
        axes.set_ylabel(unit, color=QUIET, fontsize=9)
        if low is not None:
            axes.set_ylim(bottom=low)

    return lambda _: [name for name, _ in names], draw


def _label(run: Curves, label: str, runs: int, names: int) -> str:
    if runs == 1:
        return label
    return run.label if names == 1 else f"{run.label}: {label}"


def _draw_rating(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
    for i, run in enumerate(runs):
        colour = RUNS[i % len(RUNS)]
        name = rating_name(run.columns)
        x, y = run.across(across), series(run.columns, name)
        finite = np.isfinite(y) & np.isfinite(x)
        low, high = (series(run.columns, f"rating.{end}")[finite] for end in ("low", "high"))
        label = run.label if len(runs) > 1 else "rating"
        axes.plot(x[finite], y[finite], color=colour, label=label, linewidth=1.6, marker="o",
                  markersize=3)  # fmt: skip
        if np.isfinite(low).any() and len(runs) <= 3:
            axes.fill_between(x[finite], low, high, color=colour, alpha=0.18, linewidth=0)
        best = best_step(run.columns)
        if best is not None and len(runs) == 1:
            _mark(
                axes,
                float(x[best]),
                float(y[best]),
                f"best {rating_text(y[best], name)}",
                ORANGE,
                9,
            )
            end = int(np.flatnonzero(finite)[-1])
            if end != best:
                _mark(
                    axes,
                    float(x[end]),
                    float(y[end]),
                    f"last {rating_text(y[end], name)}",
                    BLUE,
                    -16,
                )
    units = {rating_name(run.columns).rpartition(".")[2] for run in runs}
    unit = " or ".join("Elo" if unit == "elo" else unit for unit in sorted(units))
    axes.set_ylabel(unit, color=QUIET, fontsize=9)
    axes.margins(0.06, 0.14)  # space for the labels of best and last


def _mark(axes: Axes, x: float, y: float, text: str, colour: str, above: int) -> None:
    axes.plot([x], [y], "o", color=colour, markersize=7, zorder=5)
    axes.annotate(
        text, (x, y), (0, above), textcoords="offset points", ha="center", fontsize=8, color=INK
    )


def _draw_policy(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
    for i, run in enumerate(runs):
        colour = RUNS[i % len(RUNS)]
        x = run.across(across)
        label = run.label if len(runs) > 1 else "policy loss"
        _line(axes, x, series(run.columns, "loss.policy"), colour, label)
        if len(runs) == 1:
            floor = series(run.columns, "loss.target_entropy")
            _line(axes, x, floor, QUIET, "entropy of the targets", linestyle="--")
    axes.set_ylabel("nats", color=QUIET, fontsize=9)


def _draw_mistakes(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
    for i, run in enumerate(runs):
        names = mistakes(run.columns)
        for j, name in enumerate(names):
            colour = RUNS[(i if len(runs) > 1 else j) % len(RUNS)]
            style = {"linestyle": ("-", "--", ":", "-.")[j % 4]} if len(runs) > 1 else {}
            what = name.removeprefix("rating.mistakes").strip("._").replace(".", " ")
            y = 100 * series(run.columns, name)
            _line(axes, run.across(across), y, colour, _label(run, what, len(runs), 2), **style)
    axes.set_ylabel("% of positions", color=QUIET, fontsize=9)
    axes.set_ylim(bottom=0)


def _model_plot(
    what: str, unit: str, scale: float = 1.0
) -> tuple[Callable[[Columns], list[str]], Draw]:
    """A learned model's figure, with a curve per steps ahead; for several runs the deepest one."""

    def draw(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
        for i, run in enumerate(runs):
            names = model_figures(run.columns, what)
            for j, (ahead, name) in enumerate(names.items()):
                if len(runs) > 1 and ahead != max(names):
                    continue
                colour = RUNS[(i if len(runs) > 1 else j) % len(RUNS)]
                label = "now" if ahead == 0 else f"{ahead} ahead"
                y = scale * series(run.columns, name)
                _line(axes, run.across(across), y, colour, _label(run, label, len(runs), 2))
        axes.set_ylabel(unit, color=QUIET, fontsize=9)
        axes.set_ylim(bottom=0)

    return lambda columns: list(model_figures(columns, what).values()), draw


def _draw_speed(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
    for i, run in enumerate(runs):
        label = run.label if len(runs) > 1 else "simulations/s"
        y = per_second(run.columns, "simulations")
        _line(axes, run.across(across), y, RUNS[i % len(RUNS)], label)
    axes.set_ylabel("simulations/s", color=QUIET, fontsize=9)
    axes.set_ylim(bottom=0)


def _draw_time(axes: Axes, runs: Sequence[Curves], across: Across) -> None:
    """Stack the parts of one run; for several runs, draw the network's share."""
    if len(runs) > 1:
        for i, run in enumerate(runs):
            y = 100 * time_shares(run.columns)["network"]
            _line(axes, run.across(across), y, RUNS[i % len(RUNS)], f"{run.label}: network")
    else:
        for run in runs:
            shares = time_shares(run.columns)
            stack = [100 * smooth(shares[part]) for part in PARTS]
            axes.stackplot(
                run.across(across),
                stack,
                labels=PARTS,
                colors=[PARTS_PAINT[part] for part in PARTS],
                linewidth=0,
            )
    axes.set_ylabel("% of the time", color=QUIET, fontsize=9)
    axes.set_ylim(0, 100)


PLOTS = (
    Plot(
        "rating",
        "Rating",
        "Rises fast, then slower, and ends flat. A fall by more than the shaded 95% interval is a "
        "late regression: the best network is not the last.",
        lambda _: list(RATINGS),
        _draw_rating,
    ),
    Plot(
        "mistakes",
        "Mistakes against perfect play",
        "Fall towards 0, the easy positions first. Rates that stay at their first value mean that "
        "the network does not learn.",
        mistakes,
        _draw_mistakes,
    ),
    Plot(
        "policy-loss",
        "Policy loss",
        "Falls to the dashed line, its lower bound, and then follows it; it may rise again when "
        "better play leads to harder positions.",
        lambda _: ["loss.policy"],
        _draw_policy,
    ),
    Plot(
        "value-loss",
        "Value loss",
        "Falls more slowly than the policy loss and never to 0, because later moves decide the "
        "game. Close to 0 without a rising rating, the network overfits its replay window.",
        *_simple(("loss.value", "value loss"), low=0.0),
    ),
    Plot(
        "reward-loss",
        "Reward loss",
        "Of a learned model. Falls early, because rewards are the easiest part of the rules.",
        *_simple(("loss.reward", "reward loss"), low=0.0),
    ),
    Plot(
        "consistency-loss",
        "Consistency loss",
        "Falls from 0 towards -1: the predicted states become similar to the states that the "
        "model computes from the observations.",
        *_simple(("loss.consistency", "consistency loss")),
    ),
    Plot(
        "reconstruction-loss",
        "Reconstruction loss",
        "Falls towards 0. On a board of zeros and ones it is about the number of squares that the "
        "model gets wrong in a position.",
        *_simple(("loss.reconstruction", "reconstruction loss"), low=0.0),
    ),
    Plot(
        "model-reward",
        "Rewards foreseen",
        "The error of the predicted reward, by the number of steps ahead. Falls towards 0, for the "
        "near steps first.",
        *_model_plot("reward", "mean error"),
    ),
    Plot(
        "model-value",
        "Values foreseen",
        "The error of the predicted value, by the number of steps ahead. Curves close together: "
        "the model adds no error of its own. Curves that fan out show the depth at which it fails.",
        *_model_plot("value", "mean error"),
    ),
    Plot(
        "model-legal",
        "Legal moves foreseen",
        "The share of the predicted policy that is on legal moves, by the number of moves ahead. "
        "Rises towards 100 %, more slowly for deeper moves.",
        *_model_plot("legal", "% of the policy", 100.0),
    ),
    Plot(
        "returns",
        "Returns of the episodes played",
        "Rises with the rating, a little below it, because self-play explores with noise.",
        *_simple(("selfplay.return", "return")),
    ),
    Plot(
        "entropy",
        "Policy entropy",
        "Starts near the logarithm of the number of moves and falls as the search becomes certain. "
        "It should never reach 0, where exploration ends.",
        *_simple(("selfplay.entropy", "entropy"), unit="nats", low=0.0),
    ),
    Plot(
        "length",
        "Game length",
        "Often rises first, as blunders disappear, and falls as the winning side learns to finish. "
        "At the move limit, neither side learns to win.",
        *_simple(("selfplay.length", "plies"), unit="plies", low=0.0),
    ),
    Plot(
        "openings",
        "Opening variety",
        "Falls slowly as bad openings disappear. Close to 0 the run repeats one game: use more "
        "noise, a higher temperature or random openings.",
        *_simple(("selfplay.openings", "distinct"), scale=100.0, unit="% of games", low=0.0),
    ),
    Plot(
        "results",
        "Results of self-play",
        "The first seat's mean return converges to its return under perfect play. Large swings "
        "mean that the sides do not learn at the same pace.",
        *_simple(("selfplay.first_seat", "first seat"), ("selfplay.draws", "share of draws")),
    ),
    Plot(
        "learning-rate",
        "Learning rate",
        "As configured: a short warm-up, then a decay to about 0 at the end of the budget.",
        *_simple(("learner.learning_rate", "learning rate"), low=0.0),
    ),
    Plot(
        "gradient",
        "Gradient norm",
        "Stays within one order of magnitude. Repeated spikes or growth call for a lower learning "
        "rate.",
        *_simple(("learner.gradient_norm", "gradient norm"), low=0.0),
    ),
    Plot(
        "window",
        "Replay window",
        "Grows with the run, as configured. A small window forgets quickly; a very large one keeps "
        "games of weak networks.",
        *_simple(("replay.window", "positions"), unit="positions", low=0.0),
    ),
    Plot(
        "speed",
        "Speed",
        "Flat. A slow fall may come from longer games, a sudden one from another job on the "
        "machine.",
        lambda _: ["selfplay.simulations"],
        _draw_speed,
    ),
    Plot(
        "time",
        "Where the time goes",
        "Mostly the network. More than a sixth in the search means small batches or slow rules; "
        "most of it in the learner means too many updates per position.",
        lambda _: ["seconds.step"],
        _draw_time,
    ),
)
"""All plots, in the order of the report."""
