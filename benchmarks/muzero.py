"""Does MuZero learn? `python -m benchmarks.muzero TASK [--seed 1] [--run FOLDER]`.

| task | trained on | then |
|---|---|---|
| `cartpole` | 2 cores | mean return of 100 greedy episodes of CartPole-v1 |
| `lunarlander` | 2 cores | the same of LunarLander-v3 |
| `tictactoe` | 2 cores | share of all states where a search with 50 simulations keeps the value |
| `connect4_h200` | a GPU, 10 minutes | mistakes on the three sets, against a run with the rules |
| `chess_h200` | a GPU, 10 minutes | legal-move mass two plies in the model; points against random |

    --seed 1             seed of the run
    --run FOLDER         its folder (runs/muzero/TASK-seedN); an existing run is resumed
    --minutes N          minutes of training in total, instead of the preset's budget
    --steps N            the same in steps
    --per-call 5         minutes of training in this call; call again to resume
    --known FOLDER       connect4_h200: a run with the known rules to compare with
    --set NAME=VALUE     a setting of the run, such as learner.learning_rate=0.01
    --machine cpu        the preset of another machine
    --evaluate-only      do not train: measure the current networks of the run
    --quick              seconds instead of minutes, as a test
    --json

An interrupted call loses only its current step. Prints the figures of the last network and of the
best one, chosen by ratings; environment steps (for games: searched positions); wall time of
training. No solver takes part in play.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sylvan._native import mix
from sylvan.errors import SylvanError
from sylvan.games.naming import GameSpec
from sylvan.muzero.episodes import play_episodes
from sylvan.muzero.evaluation import LatentSide, learned_mistake_rates
from sylvan.muzero.search import greedy
from sylvan.planning import SearchConfig
from sylvan.runs.agent import load_model
from sylvan.runs.run import Run

Judge = Callable[[Any, Run, bool], dict[str, float]]
"""Measures a model of a run: figures by name; its last argument is `quick`."""

EPISODES, EPISODE_SEED = 100, 2**40
"""The first seed of the final episodes; ratings of runs do not use these seeds."""


@dataclass(frozen=True)
class Task:
    """The training task, its machine and its measure."""

    spec: GameSpec
    machine: str
    wanted: str
    judge: Judge
    minutes: float | None = None
    """Minutes of training, if different from the preset."""


# --- figures --------------------------------------------------------------------------------------


def episodes(model: Any, run: Run, quick: bool) -> dict[str, float]:
    """Greedy episodes, all at once, with the simulations of training."""
    spec = run.config.game.spec
    side = LatentSide("model", model, greedy(run.config.search))
    found = play_episodes(
        spec, side, 4 if quick else EPISODES, mix(EPISODE_SEED, run.config.run.seed), watch=_dot
    )
    low, high = found.interval
    return {
        "mean return": found.mean,
        "low": low,
        "high": high,
        "worst episode": float(found.returns.min()),
        "mean length": float(found.lengths.mean()),
    }


def states_kept(model: Any, run: Run, quick: bool) -> dict[str, float]:
    """Every reachable state of tic-tac-toe."""
    config = greedy(run.config.search)
    positions = 100 if quick else None
    found = learned_mistake_rates(
        model, run.config.game.spec, 50, positions=positions, config=config
    )
    return {
        "states kept, search %": 100 * (1 - found["states/search"].rate),
        "states kept, policy %": 100 * (1 - found["states/network"].rate),
        "states lost, search": float(found["states/search"].mistakes),
    }


def mistakes(model: Any, run: Run, quick: bool) -> dict[str, float]:
    """Mistakes on the sets of Connect Four, at two lengths of search."""
    spec, config = run.config.game.spec, greedy(run.config.search)
    figures: dict[str, float] = {}
    for simulations in (20,) if quick else (100, 600):
        found = learned_mistake_rates(
            model, spec, simulations, positions=20 if quick else None, config=config
        )
        for name, rate in found.items():
            part, way = name.split("/")
            way = "policy" if way == "network" else f"{simulations} simulations"
            figures[f"mistakes {part}, {way} %"] = 100 * rate.rate
    return figures


def legal_and_points(model: Any, run: Run, quick: bool) -> dict[str, float]:
    """Legal share of the policy several plies into the model; points against random moves."""
    from sylvan.ratings.duel import duel
    from sylvan.ratings.yardsticks import yardstick

    spec = run.config.game.spec
    foreseen = legal_mass(model, spec, 16 if quick else 512)
    figures = {f"legal mass, {k} plies in": share for k, share in foreseen.items()}
    games, most = (4, 40) if quick else (100, 400)
    for simulations in (8,) if quick else (16, 200):
        config = greedy(run.config.search).replace(simulations=simulations)
        played = duel(
            spec,
            LatentSide("model", model, config),
            yardstick("random", spec),
            games,
            1,
            opening_plies=0,
            max_plies=most,
            watch=_dot,
        )
        low, high = played.interval
        figures |= {
            f"points against random %, {simulations} simulations": 100 * played.score,
            f"low, {simulations}": 100 * low,
            f"high, {simulations}": 100 * high,
            f"games cut off, {simulations}": float(
                sum(game.ending == "limit" for game in played.games)
            ),
        }
    return figures


def legal_mass(model: Any, spec: GameSpec, count: int, most: int = 80) -> dict[int, float]:
    """Share of the policy on legal moves, several plies into the model, on new games.

    Half of the moves are the model's most likely, half random legal ones, up to `most` plies.
    """
    import numpy as np

    from sylvan.muzero.evaluation import policy_choices
    from sylvan.muzero.quality import model_quality
    from sylvan.replay.record import GameRecord
    from sylvan.replay.targets import TargetConfig

    rng = np.random.default_rng(1)
    states = [spec.first() for _ in range(max(8, count // 8))]
    played: list[list[int]] = [[] for _ in states]
    for _ in range(most):
        going = [i for i, state in enumerate(states) if not state.is_terminal()]
        if not going:
            break
        likeliest = policy_choices(model, [states[i] for i in going])
        for i, action in zip(going, likeliest.tolist(), strict=True):
            legal = list(states[i].legal_actions())
            move = action if rng.random() < 0.5 else legal[int(rng.integers(len(legal)))]
            states[i].apply(move)
            played[i].append(move)
        _dot()
    records = []
    for state, actions in zip(states, played, strict=True):
        plies, seats = len(actions), state.num_players
        records.append(
            GameRecord(
                actions=np.array(actions, np.int32),
                seats=(np.arange(plies) % seats).astype(np.int8),
                policy_offsets=np.arange(plies + 1),
                policy_actions=np.array(actions, np.int32),
                policy=np.ones(plies, np.float32),
                values=np.zeros((plies, seats), np.float32),
                weights=np.ones(plies, np.float32),
                surprise=np.zeros(plies, np.float32),
                returns=np.zeros(seats, np.float32),
            )
        )
    return model_quality(model, spec, records, TargetConfig(), rng, count).legal


TASKS = {
    "cartpole": Task(
        GameSpec("gym:CartPole-v1"),
        "cpu",
        ">= 475 within 100k steps and 10 minutes; aim 500.0 within 15k steps and 90 s",
        episodes,
    ),
    "lunarlander": Task(
        GameSpec("gym:LunarLander-v3"),
        "cpu",
        ">= 200 within 500k steps; aim 250 within 100k steps and 15 minutes",
        episodes,
    ),
    "tictactoe": Task(
        GameSpec("tictactoe"),
        "cpu",
        ">= 99 % of states kept in 10 minutes; aim 100 % in 3",
        states_kept,
    ),
    "connect4_h200": Task(
        GameSpec("connect4"),
        "big",
        "mistakes within 2 times those of the run with the rules; aim equal",
        mistakes,
        10.0,
    ),
    "chess_h200": Task(
        GameSpec("chess"),
        "big",
        "legal mass two plies in >= 0.95, >= 90 % against random; aim 0.99 and 99 %",
        legal_and_points,
        10.0,
    ),
}


# --- runs -----------------------------------------------------------------------------------------


def _train(task: Task, given: argparse.Namespace, folder: Path) -> bool:
    """Start or resume the run; return whether its own budget is spent."""
    from sylvan.runs.config import TrainingConfig, merged, overrides
    from sylvan.runs.loop import train
    from sylvan.runs.presets import preset_settings

    settings = preset_settings(
        task.spec.name, given.machine or task.machine, "muzero", **task.spec.params
    )
    settings = merged(settings, {"run": {"seed": given.seed}})
    if given.minutes or given.steps or task.minutes:
        minutes = given.minutes or (None if given.steps else task.minutes)
        settings = merged(settings, {"run": {"minutes": minutes, "steps": given.steps}})
    if given.quick:
        short: dict[str, Any] = {
            "run": {"minutes": None, "steps": 2},
            "selfplay": {"games": 4, "positions": 128},
            "learner": {"batch": 32, "samples_per_position": 2.0},
            "search": {"simulations": 4},
            "arena": {"games": 2, "positions": 8, "simulations": 4, "max_plies": 30},
        }
        settings = merged(settings, short)
    config = TrainingConfig(**merged(settings, overrides(given.set)))
    return train(config, folder, watch=_stop_after(given.per_call)).reason == "done"


def _stop_after(minutes: float | None) -> Any:
    """Shows a line per step, and ends this call's training after its minutes."""
    from rich.console import Console

    from sylvan.runs.live import PlainLines

    class StopAfter(PlainLines):
        began = time.monotonic()

        def step_end(self, step: int, numbers: Any, progress: float) -> None:
            super().step_end(step, numbers, progress)
            gone = (time.monotonic() - self.began) / 60
            if minutes is not None and gone >= minutes and progress < 1:
                raise KeyboardInterrupt  # the step is on disk: the next call resumes

    return StopAfter(Console(stderr=True))


def _facts(run: Run) -> dict[str, Any]:
    """Facts to report with a figure: steps and time of all calls."""
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    positions = sum(line.get("selfplay.positions", 0) for line in lines)
    seconds = lines[-1].get("run.elapsed", 0.0) if lines else 0.0
    return {"environment steps": int(positions), "seconds": round(seconds, 1), "step": len(lines)}


def _best_step(run: Run, last: int) -> int:
    """The step of the best network by the ratings; without ratings, the last."""
    table = run.folder / "ratings.json"
    best = json.loads(table.read_text())["best"] if table.exists() else None
    return last if best is None else int(best.rpartition("-")[2])


def _known_rules(folder: Path, quick: bool) -> dict[str, float]:
    """The same figures for a run with the rules."""
    from sylvan.evaluators import load_evaluator
    from sylvan.ratings.mistakes import mistake_rates

    evaluator = load_evaluator(folder, cache_bytes=512 * 2**20)
    figures: dict[str, float] = {}
    for simulations in (20,) if quick else (100, 600):
        found = mistake_rates(
            evaluator,
            GameSpec("connect4"),
            simulations,
            positions=20 if quick else None,
            config=SearchConfig(),
            watch=lambda: _dot(0, 0),
        )
        for name, rate in found.items():
            part, way = name.split("/")
            way = "policy" if way == "network" else f"{simulations} simulations"
            figures[f"mistakes {part}, {way} %"] = 100 * rate.rate
    return figures


_shown = 0.0


def _dot(*_: int) -> None:
    """Print progress every two seconds."""
    global _shown
    if time.monotonic() - _shown > 2:
        print(".", end="", file=sys.stderr, flush=True)
        _shown = time.monotonic()


def measured(name: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Train a task within this call's minutes, and measure its networks: a row for each."""
    task = TASKS[name]
    folder = given.run or Path("runs/muzero") / f"{name}-seed{given.seed}"
    if not given.evaluate_only and not _train(task, given, folder):
        sys.exit(f"{folder} is not done: call again to go on with it.")
    run = Run.open(folder)
    facts: dict[str, Any] = {
        "task": name,
        "seed": run.config.run.seed,
        "device": run.config.run.device,
    }
    facts |= _facts(run)
    rows: list[dict[str, Any]] = []
    for which in ("last", "best"):
        step = facts["step"] if which == "last" else _best_step(run, facts["step"])
        if which == "best" and step == facts["step"]:
            rows.append({**rows[0], "network": "best"})
            continue
        model = load_model(folder, which=which, device=run.config.run.device)
        row = {**facts, "step": step, "network": which, **task.judge(model, run, given.quick)}
        rows.append(row)
    if given.known is not None:
        rows.append(
            {"task": name, "network": "known rules", **_known_rules(given.known, given.quick)}
        )
    print(file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=[*TASKS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--per-call", type=float)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--machine", choices=["cpu", "gpu8", "big"])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--evaluate-only", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        rows = measured(given.task, given)
    except SylvanError as error:
        sys.exit(f"error: {error}")
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"wanted: {TASKS[given.task].wanted}")
    for row in rows:
        print(", ".join(f"{name} {_cell(value)}" for name, value in row.items()))


def _cell(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
