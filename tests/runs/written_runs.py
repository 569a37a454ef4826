"""Made-up metrics of runs, for tests of plots and tables."""

import math

from sylvan.runs.metrics import Metrics


def line(step, **more):
    """A step's numbers: 12 games and 6,400 simulations in 4 of its 5 seconds, and a rating."""
    return {
        "run.elapsed": 5.0 * step,
        "run.progress": step / 20,
        "selfplay.games": 12,
        "selfplay.positions": 100,
        "selfplay.simulations": 6400,
        "selfplay.length": 8.0,
        "selfplay.entropy": 1.0,
        "selfplay.openings": 0.5,
        "replay.window": 100 * step,
        "seconds.step": 5.0,
        "seconds.network": 3.0,
        "seconds.selfplay": 4.0,
        "seconds.search": 1.8,
        "learner.seconds": 0.5,
        "learner.learning_rate": 0.001,
        "learner.gradient_norm": 1.0,
        "loss.policy": 2.0 / step,
        "loss.value": 1.0 / step,
        "loss.target_entropy": 0.9 / step,
        **more,
    }


def rated(elo, **more):
    """The numbers of a rating."""
    return {"rating.elo": elo, "rating.low": elo - 20, "rating.high": elo + 20, **more}


def write_run(folder, elos, **more):
    """Write a run with a step per rating; NaN: the step was not rated."""
    folder.mkdir(parents=True, exist_ok=True)
    metrics = Metrics(folder)
    for step, elo in enumerate(elos, start=1):
        rating = rated(elo) if math.isfinite(elo) else {}
        metrics.log(step, **line(step, **rating, **more))
    return folder
