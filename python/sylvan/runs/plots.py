"""Plots of a run's metrics, or of several runs over each other.

Each plot has a name, and a sentence that says what it should look like. Noisy curves are drawn
twice: faint as measured, strong as the mean over a twenty-fifth of the run. Matplotlib is used
without its global state, so plots can be made in any thread and beside a notebook's own.
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
    model_figures,
    mistakes,
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
"""Inches."""
DOTS = 120
"""Per inch."""


@dataclass(frozen=True)
class Curves:
    """The metrics of a run under its name."""

    label: str
    columns: Columns

    def across(self, axis: Across) -> Series:
        """Where the steps are on the horizontal axis."""
        if axis == "step":
            return self.columns["step"]
        return series(self.columns, "run.elapsed") / 60


Draw = Callable[["Axes", Sequence[Curves], Across], None]


@dataclass(frozen=True)
class Plot:
    """One picture: what it is called, what it should look like, and how it is drawn."""

    name: str
    title: str
    sentence: str
    needs: Callable[[Columns], list[str]]
    """The names that it draws, of those that a run has."""
    draw: Draw

    def has(self, columns: Columns) -> bool:
        """Whether a run has anything to draw."""
        return any(np.isfinite(series(columns, name)).any() for name in self.needs(columns))


def figure(plot: Plot, runs: Sequence[Curves], across: Across = "step") -> Figure:
    """A picture of one run, or of several; in a notebook it shows itself.

    :raises MissingExtra: matplotlib is not installed.
    """
    made = _new_figure()
    axes = made.add_subplot()
    _plain(axes)
    plot.draw(axes, [run for run in runs if plot.has(run.columns)], across)
    axes.set_title(plot.title, loc="left", color=INK, fontsize=11, fontweight="bold")
    axes.set_xlabel("step" if across == "step" else "minutes", color=QUIET, fontsize=9)
    axes.yaxis.set_major_formatter(_short)
    names = len(axes.get_legend_handles_labels()[0])
    if names > 1:
        beside: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        place = beside if names > 3 else {}  # more would cover the curves
        axes.legend(frameon=False, fontsize=8, labelcolor=INK, **place)
    return made


def png(plot: Plot, runs: Sequence[Curves], across: Across = "step") -> bytes:
    """The picture as a PNG file; the same bytes for the same numbers."""
    file = io.BytesIO()
    figure(plot, runs, across).savefig(file, format="png", dpi=DOTS, metadata={"Software": None})
    return file.getvalue()


def _new_figure() -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("Plots need matplotlib: pip install 'sylvan[train]'.") from None
    return Figure(figsize=SIZE, layout="constrained")


def _plain(axes: Axes) -> None:
    """Axes with no more ink than they need."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=QUIET, labelsize=8, length=3, color=LINE)
    axes.grid(axis="y", color=LINE, linewidth=0.5, alpha=0.7)
    axes.set_axisbelow(True)


def _short(value: float, _: object) -> str:
    """A number on an axis: `20k` for 20,000, and no more places than it needs."""
    return short_count(round(value)) if abs(value) >= 10_000 else f"{value:.4g}"


def smooth(values: Series) -> Series:
    """Each value as the mean of those up to it, over a twenty-fifth of them; NaNs are skipped."""
    span = max(1, len(values) // 25)
    seen = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(seen, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(seen)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - span)
    number = counts[ends] - counts[starts]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number > 0, (sums[ends] - sums[starts]) / number, math.nan)


def _line(axes: Axes, x: Series, y: Series, colour: str, label: str, **style: Any) -> None:
    seen = np.isfinite(y) & np.isfinite(x)
    if not seen.any():
        return
    marker = "o" if seen.sum() < 2 else ""
    if seen.sum() >= 50:  # fewer points need no help
        axes.plot(x[seen], y[seen], color=colour, alpha=0.25, linewidth=0.8)
        y = smooth(np.where(seen, y, math.nan))
    axes.plot(
        x[seen], y[seen], color=colour, label=label, linewidth=1.6, marker=marker, markersize=4,
        **style,
    )  # fmt: skip


def _simple(
    *names: tuple[str, str], scale: float = 1.0, unit: str = "", low: float | None = None
) -> tuple[Callable[[Columns], list[str]], Draw]:
    """A plot of names and their labels; with several runs, a colour each and a dash per name."""

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
        seen = np.isfinite(y) & np.isfinite(x)
        low, high = (series(run.columns, f"rating.{end}")[seen] for end in ("low", "high"))
        label = run.label if len(runs) > 1 else "rating"
        axes.plot(x[seen], y[seen], color=colour, label=label, linewidth=1.6, marker="o",
                  markersize=3)  # fmt: skip
        if np.isfinite(low).any() and len(runs) <= 3:
            axes.fill_between(x[seen], low, high, color=colour, alpha=0.18, linewidth=0)
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
            end = int(np.flatnonzero(seen)[-1])
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
    axes.margins(0.06, 0.14)  # room for the marks


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
    """A learned model's figure, a curve for each number of steps ahead; of runs the last."""

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
    """Of one run as a stack; of several as the network's share."""
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
        "Rises fast, then slower, and ends flat; a fall by more than the shaded 95% interval is a "
        "late regression, and then the best network is not the last.",
        lambda _: list(RATINGS),
        _draw_rating,
    ),
    Plot(
        "mistakes",
        "Mistakes against perfect play",
        "Fall towards 0, the easy positions first; rates that stay where they were at the first "
        "step mean that nothing is learned.",
        mistakes,
        _draw_mistakes,
    ),
    Plot(
        "policy-loss",
        "Policy loss",
        "Sinks towards the dashed line, below which no network can go, and follows it from then "
        "on; it may rise again when better play makes sharper questions.",
        lambda _: ["loss.policy"],
        _draw_policy,
    ),
    Plot(
        "value-loss",
        "Value loss",
        "Sinks more slowly than the policy's and never to 0, since games are decided by what comes "
        "later; close to 0 while the rating stands still, the network knows its window by heart.",
        *_simple(("loss.value", "value loss"), low=0.0),
    ),
    Plot(
        "reward-loss",
        "Reward loss",
        "Of a learned model; sinks early, since rewards are the easiest part of the rules.",
        *_simple(("loss.reward", "reward loss"), low=0.0),
    ),
    Plot(
        "consistency-loss",
        "Consistency loss",
        "Falls from 0 towards -1: the states that the model foresees look more and more like those "
        "that came.",
        *_simple(("loss.consistency", "consistency loss")),
    ),
    Plot(
        "reconstruction-loss",
        "Reconstruction loss",
        "Sinks towards 0: on a board of zeros and ones it is about how many squares the model gets "
        "wrong in a position, foreseen or seen.",
        *_simple(("loss.reconstruction", "reconstruction loss"), low=0.0),
    ),
    Plot(
        "model-reward",
        "Rewards foreseen",
        "How far off the reward is that the learned model says for a step so far ahead; sinks "
        "towards 0, the near ones first.",
        *_model_plot("reward", "mean error"),
    ),
    Plot(
        "model-value",
        "Values foreseen",
        "How far off the value is after so many steps in the model. All curves close together: the "
        "model adds no error of its own; a fan that opens says from which depth on it dreams.",
        *_model_plot("value", "mean error"),
    ),
    Plot(
        "model-legal",
        "Legal moves foreseen",
        "The share of the policy, so many moves deep in the model, that is on moves that the rules "
        "allow there; rises towards 100 %, more slowly the deeper.",
        *_model_plot("legal", "% of the policy", 100.0),
    ),
    Plot(
        "returns",
        "Returns of the episodes played",
        "Rises with the rating, a little below it: these are played with noise, to find out more.",
        *_simple(("selfplay.return", "return")),
    ),
    Plot(
        "entropy",
        "Policy entropy",
        "Begins near the logarithm of the number of moves and falls as the search gets sure, "
        "without ever reaching 0: at 0 there is nothing left to find out.",
        *_simple(("selfplay.entropy", "entropy"), unit="nats", low=0.0),
    ),
    Plot(
        "length",
        "Game length",
        "Often rises first, when blunders go, and falls where the stronger side learns to finish; "
        "stuck at the move limit, nobody learns how to win.",
        *_simple(("selfplay.length", "plies"), unit="plies", low=0.0),
    ),
    Plot(
        "openings",
        "Opening variety",
        "Falls slowly as bad openings go out of use; close to 0 the run plays one game over and "
        "over: more noise, a higher temperature or random openings help.",
        *_simple(("selfplay.openings", "distinct"), scale=100.0, unit="% of games", low=0.0),
    ),
    Plot(
        "results",
        "Results of self-play",
        "The first seat's mean return settles at what perfect play gives it; a swing from one end "
        "to the other means that the sides do not learn at the same pace.",
        *_simple(("selfplay.first_seat", "first seat"), ("selfplay.draws", "share of draws")),
    ),
    Plot(
        "learning-rate",
        "Learning rate",
        "What was asked for: a short warm-up, then down to about 0 at the end of the budget.",
        *_simple(("learner.learning_rate", "learning rate"), low=0.0),
    ),
    Plot(
        "gradient",
        "Gradient norm",
        "Of one order of magnitude throughout; spikes that come again and again, or growth, call "
        "for a lower learning rate.",
        *_simple(("learner.gradient_norm", "gradient norm"), low=0.0),
    ),
    Plot(
        "window",
        "Replay window",
        "Grows with the run, as it is set to; a window of few steps is forgotten quickly, a very "
        "large one keeps teaching the play of weak networks.",
        *_simple(("replay.window", "positions"), unit="positions", low=0.0),
    ),
    Plot(
        "speed",
        "Speed",
        "Flat; a slow fall may only be longer games, a sudden one another job on the machine.",
        lambda _: ["selfplay.simulations"],
        _draw_speed,
    ),
    Plot(
        "time",
        "Where the time goes",
        "Mostly the network; more than a sixth in the search means that batches are small or rules "
        "slow, most in the learner that it goes over every position too often.",
        lambda _: ["seconds.step"],
        _draw_time,
    ),
)
"""All of them, in the order in which a report shows them."""
