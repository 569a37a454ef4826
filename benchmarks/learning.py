"""Does self-play learn? `python -m benchmarks.learning [NAME ...]`.

| name | trained for | then |
|---|---|---|
| `tictactoe` | 3 minutes | share of all states in which the network's argmax keeps the value |
| `connect4` | 20 minutes | mistakes on the three sets, alone and at 600 simulations |
| `connect4_gpu` | 10 minutes | the same, on a GPU |
| `custom_game` | 5 minutes | 400 games against rollouts, equal simulations; also untrained |
| `chess` | 20 minutes | 200 games at 200 simulations against random moves, none adjudicated |

    --seeds 1,2,3        one run per seed
    --minutes 20         minutes of training in total
    --per-call 10        minutes of training in this call; call again to resume
    --run-folder FOLDER  the folder of the runs (runs/learning); existing runs are resumed
    --evaluate-only      do not train: measure the current networks of the runs
    --set NAME=VALUE     a setting of the runs, such as learner.learning_rate=0.01
    --quick              seconds instead of minutes, as a test

Measures the last network of every run and its best one, which its arena chose by rating, never by
the sets used here. The solver takes no part in play. Results are stored in the run's folder, so
that only new networks are measured again. Training needs the extra `train`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Measurement, run_named
from sylvan.errors import SylvanError
from sylvan.evaluators import load_evaluator
from sylvan.files import write_text
from sylvan.games import connect_four_sets
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.ratings.duel import Duel, duel
from sylvan.ratings.mistakes import mistake_rates
from sylvan.ratings.yardsticks import SearchSide, yardstick

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SETS = Path(connect_four_sets.__file__).parent / "data"
CACHE = 512 * 2**20
CUSTOM = f"{EXAMPLES / 'breakthrough.py'}:Breakthrough"
CUSTOM_SIMULATIONS = 100
"""Per move of either side in `custom_game`."""


@dataclass
class Options:
    """The options of the command line."""

    seeds: list[int] = field(default_factory=lambda: [1])
    minutes: float | None = None
    per_call: float | None = None
    folder: Path = Path("runs/learning")
    evaluate_only: bool = False
    settings: list[str] = field(default_factory=list)


OPTIONS = Options()
ROWS: list[dict[str, Any]] = []
"""The results: a row per network and run."""

Judge = Callable[[Any, bool], dict[str, float]]
"""Measures an evaluator, quickly if asked: figures by name."""


# --- the benchmarks -------------------------------------------------------------------------------


def tictactoe(quick: bool) -> list[Measurement]:
    """Every reachable state."""
    spec = GameSpec("tictactoe")

    def judge(evaluator: Any, quick: bool) -> dict[str, float]:
        found = mistake_rates(evaluator, spec)
        return {"states kept, network %": 100 * (1 - found["states/network"].rate)}

    return _learned("tictactoe", spec, "cpu", 3, judge, quick)


def connect4(quick: bool) -> list[Measurement]:
    """Mistakes against the solver, on two processors."""
    return _learned("connect4", GameSpec("connect4"), "cpu", 20, _mistakes, quick)


def connect4_gpu(quick: bool) -> list[Measurement]:
    """The same on a GPU."""
    return _learned("connect4_gpu", GameSpec("connect4"), "big", 10, _mistakes, quick)


def custom_game(quick: bool) -> list[Measurement]:
    """A game in Python, against rollouts."""
    spec = GameSpec(CUSTOM)
    simulations = 10 if quick else CUSTOM_SIMULATIONS

    def judge(evaluator: Any, quick: bool) -> dict[str, float]:
        rollouts = yardstick(f"rollout:simulations={simulations}", spec)
        played = _played(spec, evaluator, simulations, rollouts, 8 if quick else 400)
        return _points(played)

    return _learned("custom_game", spec, "cpu", 5, judge, quick, untrained=True)


def chess(quick: bool) -> list[Measurement]:
    """Against random moves, from the start position, to the end of every game."""
    spec = GameSpec("chess")

    def judge(evaluator: Any, quick: bool) -> dict[str, float]:
        count, simulations = (4, 5) if quick else (200, 200)
        against = yardstick("random", spec)
        played = _played(spec, evaluator, simulations, against, count, opening_plies=0)
        assert {game.ending for game in played.games} == {"end"}, "nothing is adjudicated"
        return _points(played)

    return _learned("chess", spec, "cpu", 20, judge, quick)


def _mistakes(evaluator: Any, quick: bool) -> dict[str, float]:
    simulations, positions = (20, 20) if quick else (600, None)
    found = mistake_rates(
        evaluator, GameSpec("connect4"), simulations, positions=positions, watch=_dot
    )
    figures = {}
    for name, mistakes in found.items():
        part, way = name.split("/")
        way = "network" if way == "network" else f"{simulations} simulations"
        figures[f"mistakes {part}, {way} %"] = 100 * mistakes.rate
    return figures


def _played(
    spec: GameSpec, evaluator: Any, simulations: int, against: Any, games: int, **how: Any
) -> Duel:
    side = SearchSide("network", evaluator, SearchConfig(simulations=simulations))
    return duel(spec, side, against, games, seed=1, max_plies=None, watch=_games, **how)


def _points(played: Duel) -> dict[str, float]:
    low, high = played.interval
    return {"points %": 100 * played.score, "low": 100 * low, "high": 100 * high}


# --- runs -----------------------------------------------------------------------------------------


def _learned(
    name: str,
    spec: GameSpec,
    machine: str,
    minutes: float,
    judge: Judge,
    quick: bool,
    untrained: bool = False,
) -> list[Measurement]:
    """Train a run per seed, within this call's minutes, and measure its networks."""
    rows: list[dict[str, Any]] = []
    for seed in OPTIONS.seeds:
        folder = OPTIONS.folder / f"{name}-seed{seed}"
        if not OPTIONS.evaluate_only and not _train(
            folder, spec, machine, OPTIONS.minutes or minutes, seed, quick
        ):
            print(f"{folder} is not done: call again to go on with it.", file=sys.stderr)
            continue
        facts = _facts(folder, name, seed)
        device = facts.pop("device")
        for which in ("last", "best"):
            figures = _measured(folder, which, device, judge, quick)
            step = facts["step"] if which == "last" else _best_step(folder, facts["step"])
            rows.append({**facts, "step": step, "network": which, **figures})
        if untrained:
            figures = judge(_untrained(folder), quick)
            rows.append({**facts, "network": "untrained", "step": 0, **figures})
    ROWS.extend(rows)
    return [
        Measurement(f"{name}, seed {row['seed']}, {row['network']}: {figure}", value, "", 0.0)
        for row in rows
        for figure, value in row.items()
        if isinstance(value, float) and figure != "minutes"
    ]


def _train(
    folder: Path, spec: GameSpec, machine: str, minutes: float, seed: int, quick: bool
) -> bool:
    """Start or resume a run; return whether its own budget is spent."""
    from sylvan.runs.config import TrainingConfig, merged, overrides
    from sylvan.runs.loop import train
    from sylvan.runs.presets import preset_settings

    settings = preset_settings(spec.name, machine, **spec.params)
    settings = merged(settings, {"run": {"minutes": minutes, "seed": seed}})
    if quick:
        short = {"selfplay": {"positions": 256, "games": 16}, "arena": {"games": 2, "positions": 8}}
        settings = merged(settings, {"run": {"minutes": None, "steps": 2}, **short})
    settings = merged(settings, overrides(OPTIONS.settings))
    return train(TrainingConfig(**settings), folder, watch=_stop_after()).reason == "done"


def _stop_after() -> Any:
    """Shows a line per step, and ends this call's training after its minutes."""
    from sylvan.runs.watcher import Watcher

    class StopAfter(Watcher):
        began = time.monotonic()

        def step_end(self, step: int, numbers: Any, progress: float) -> None:
            elo = numbers.get("rating.elo")
            rated = "" if elo is None else f", Elo {elo:.0f}"
            print(f"step {step}: {100 * progress:.0f} % of the budget{rated}", file=sys.stderr)
            minutes = (time.monotonic() - self.began) / 60
            if OPTIONS.per_call is not None and minutes >= OPTIONS.per_call and progress < 1:
                raise KeyboardInterrupt  # the step is on disk: the next call resumes

        def message(self, text: str) -> None:
            print(text, file=sys.stderr)

    return StopAfter()


def _facts(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """Facts to report with a figure: seed, machine, time."""
    from sylvan.runs.run import Run

    run = Run.open(folder)
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    last = json.loads(lines[-1]) if lines else {}
    return {
        "benchmark": name,
        "seed": seed,
        "machine": _machine(run.config.run.device, run.config.run.threads),
        "minutes": round(last.get("run.elapsed", 0.0) / 60, 1),
        "step": last.get("step", 0),
        "device": run.config.run.device,
    }


def _best_step(folder: Path, last: int) -> int:
    """The step of the best network by the arena; without an arena, the last."""
    table = folder / "ratings.json"
    best = json.loads(table.read_text())["best"] if table.exists() else None
    return last if best is None else int(best.rpartition("-")[2])


def _machine(device: str, threads: int | None) -> str:
    if device != "cpu":
        import torch

        return str(torch.cuda.get_device_name(device))
    model = platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(": ")[2] for line in lines if "model name" in line), model)
    return f"{threads or os.cpu_count()} threads, {model}"


def _measured(folder: Path, which: str, device: str, judge: Judge, quick: bool) -> dict[str, float]:
    """The figures of one network; stored ones are not measured again."""
    from hashlib import blake2b

    kind = ".onnx" if device == "cpu" else ".safetensors"
    file = folder / "networks" / f"{which}{kind}"
    if not file.is_file():
        sys.exit(f"error: {folder} has no {which} network yet: train for longer.")
    # Include the sets: figures on other positions are different figures.
    sets = b"".join(path.read_bytes() for path in sorted(SETS.glob("*.txt")))
    key = blake2b(file.read_bytes() + bytes([quick]) + sets, digest_size=12).hexdigest()
    kept = folder / "measured.json"
    known: dict[str, dict[str, float]] = json.loads(kept.read_text()) if kept.exists() else {}
    if key not in known:
        print(f"measuring {file} ", end="", file=sys.stderr, flush=True)
        options: dict[str, Any] = {} if device == "cpu" else {"device": device}
        known[key] = judge(load_evaluator(file, cache_bytes=CACHE, **options), quick)
        print(file=sys.stderr)
        write_text(kept, json.dumps(known, indent=1) + "\n")
    return known[key]


def _untrained(folder: Path) -> Any:
    """An evaluator with the run's untrained network."""
    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.learning.plugins import network_named
    from sylvan.runs.run import Run

    config = Run.open(folder).config
    network = network_named(
        config.network.size,
        game=config.game.spec.first(),
        value=config.network.value,
        moves_left=config.network.moves_left,
        seed=config.run.seed,
        **config.network.settings,
    )
    return TorchEvaluator(network.eval())


# --- what is shown --------------------------------------------------------------------------------

_shown = 0.0


def _dot() -> None:
    """Print progress every two seconds."""
    global _shown
    if time.monotonic() - _shown > 2:
        print(".", end="", file=sys.stderr, flush=True)
        _shown = time.monotonic()


def _games(over: int, games: int) -> None:
    _dot()


def markdown(rows: list[dict[str, Any]]) -> str:
    """Print a row per network, then mean and worst over the seeds for each kind of network."""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in [*rows, *_summary(rows)]:
        cells = (row.get(head, "") for head in heads)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and worst of several seeds."""
    found = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["benchmark"], row["network"]), []).append(row)
    for (benchmark, network), group in groups.items():
        if len(group) < 2:
            continue
        figures = [n for n, value in group[0].items() if isinstance(value, float)]
        for title in ("mean", "worst"):
            summary: dict[str, Any] = {"benchmark": benchmark, "seed": title, "network": network}
            for figure in figures:
                values = [row[figure] for row in group]
                fewer = "mistakes" in figure or figure == "minutes"
                worst = max(values) if fewer else min(values)
                summary[figure] = worst if title == "worst" else sum(values) / len(values)
            found.append(summary)
    return found


def _cell(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--per-call", type=float)
    parser.add_argument("--run-folder", type=Path, default=Options.folder)
    parser.add_argument("--evaluate-only", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given, rest = parser.parse_known_args()
    OPTIONS.seeds = [int(seed) for seed in given.seeds.split(",")]
    OPTIONS.minutes, OPTIONS.per_call, OPTIONS.folder = (
        given.minutes,
        given.per_call,
        given.run_folder,
    )
    OPTIONS.evaluate_only, OPTIONS.settings = given.evaluate_only, given.set
    as_json = "--json" in rest
    benchmarks = (tictactoe, connect4, connect4_gpu, custom_game, chess)
    try:
        run_named(benchmarks, [word for word in rest if word != "--json"], show=lambda _: None)
    except SylvanError as error:
        sys.exit(f"error: {error}")
    print(json.dumps(ROWS, indent=1) if as_json else markdown(ROWS))


if __name__ == "__main__":
    main()
