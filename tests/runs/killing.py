"""Kill a training run at chosen points, and resume it.

    python -m tests.runs.killing FOLDER STEPS [POINT:N ...]

starts the tiny run in FOLDER once for each POINT:N, kills it (SIGKILL) at the N-th call at that
point, and finally runs it to its end. The points are functions that are patched here.

Each session is a fork of a process that has imported everything and started no thread, which saves
the import time of PyTorch.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from sylvan.runs.config import TrainingConfig

__all__ = ["KILL_POINTS", "killed_at", "load_everything", "outcome_of", "session", "tiny"]


def tiny_learned(steps: int, game: str = "gym:CartPole-v1") -> TrainingConfig:
    """The same for MuZero."""
    settings: dict[str, Any] = {
        "run": {"steps": steps, "seed": 5, "threads": 1, "device": "cpu", "keep": 2}
        | {"algorithm": "muzero"},
        "game": {"name": game},
        "network": {"size": "mlp1x16"},
        "search": {"simulations": 4, "discount": 0.99},
        "selfplay": {"games": 6, "positions": 60},
        "targets": {"td_steps": 5, "discount": 0.99},
        "learner": {"batch": 16, "samples_per_position": 2.0},
        "replay": {"window_min": 100, "shard_megabytes": 0.005, "keep_shards": False}
        | {"prioritised": True},
        "muzero": {"unroll": 3, "reanalyse": 0.5},
        "arena": {"every": 3, "games": 4, "simulations": 4, "max_plies": 30},
    }
    return TrainingConfig(**settings)


def tiny(steps: int | None, **run: Any) -> TrainingConfig:
    """A run of a few seconds that uses all parts."""
    settings: dict[str, Any] = {
        "run": {"steps": steps, "seed": 5, "threads": 1, "device": "cpu", "keep": 2} | run,
        "game": {"name": "tictactoe"},
        "network": {"size": "mlp1x16"},
        "search": {"simulations": 8},
        "selfplay": {"games": 12, "positions": 60, "temperature_plies": 4},
        "learner": {"batch": 16, "samples_per_position": 2.0},
        "replay": {"window_min": 100, "shard_megabytes": 0.005, "keep_shards": False},
        "arena": {"every": 3, "games": 4, "simulations": 4},
    }
    return TrainingConfig(**settings)


def die(*_: Any) -> NoReturn:
    """Kill this process, without flushing or cleaning up."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
    raise AssertionError("still alive")


def _before(module: Any, name: str, count: int) -> None:
    """Die at the start of the `count`-th call."""
    original, calls = getattr(module, name), iter(range(1, count))

    def counted(*args: Any, **kwargs: Any) -> Any:
        if next(calls, None) is None:
            die()
        return original(*args, **kwargs)

    setattr(module, name, counted)


def _after(module: Any, name: str, count: int) -> None:
    """Die at the end of the `count`-th call."""
    original, calls = getattr(module, name), iter(range(1, count))

    def counted(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if next(calls, None) is None:
            die()
        return result

    setattr(module, name, counted)


def _half_a_shard_write(count: int) -> None:
    """Die with half of a record in the file."""
    from sylvan.replay.shards import Shard

    original, calls = Shard._write, iter(range(1, count))

    def counted(self: Any, data: bytes) -> None:
        if next(calls, None) is None:
            original(self, data[: len(data) // 2])
            die()
        original(self, data)

    Shard._write = counted  # type: ignore[method-assign]


def _optimizer(count: int) -> None:
    import torch

    _after(torch.optim.AdamW, "step", count)


def _evaluation(count: int) -> None:
    from sylvan.evaluators.onnx import OnnxEvaluator

    _before(OnnxEvaluator, "forward", count)


def _search(count: int) -> None:
    from sylvan.planning import LatentForest
    from sylvan.selfplay.actors import Actors

    _after(Actors, "submit", count)
    _after(LatentForest, "step", count)


def _checkpoint(count: int) -> None:
    from sylvan.runs import checkpoints

    _before(checkpoints, "write_new", count)


def _published(count: int) -> None:
    from sylvan.runs import muzero_publish as of_models
    from sylvan.runs import publish

    for module in (publish, of_models):
        _before(module, "write_checkpoint", count)


def _metrics(count: int) -> None:
    from sylvan.runs.metrics import Metrics

    _after(Metrics, "log", count)


def _removal(count: int) -> None:
    import shutil

    _before(shutil, "rmtree", count)


KILL_POINTS: dict[str, Callable[[int], None]] = {
    "shard": _half_a_shard_write,
    "rename": lambda count: _before(os, "replace", count),
    "renamed": lambda count: _after(os, "replace", count),
    "fsync": lambda count: _before(os, "fsync", count),
    "checkpoint": _checkpoint,
    "removal": _removal,
    "metrics": _metrics,
    "publish": _published,
    "optimizer": _optimizer,
    "evaluation": _evaluation,
    "search": _search,
}


@contextmanager
def _forked() -> Iterator[int]:
    """Fork; yield 0 in the child, which exits after the block, and its number in the parent."""
    child = os.fork()
    try:
        yield child
    except BaseException:
        if child == 0:
            import traceback

            traceback.print_exc()
            os._exit(1)
        raise
    if child == 0:
        os._exit(0)


def session(config: TrainingConfig, folder: Path, arm: Callable[[], None] | None = None) -> int:
    """Train in a forked process, after `arm`; return the signal that ended it, or 0."""
    from sylvan.runs.loop import train

    with _forked() as child:
        if child == 0:
            if arm is not None:
                arm()
            train(config, folder)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    assert os.WEXITSTATUS(status) == 0, f"the run failed in {folder}"
    return 0


def killed_at(point: str, count: int) -> Callable[[], None]:
    """A function that makes its process die at the `count`-th call at a point."""
    return lambda: KILL_POINTS[point](count)


def load_everything() -> None:
    """Import everything that a session needs, without starting a thread."""
    import onnxscript  # noqa: F401
    import torch._dynamo  # PyTorch's optimizers import it when they are made
    import torch.onnx

    import sylvan.runs.alphazero_trainer
    import sylvan.runs.muzero_trainer  # noqa: F401

    torch.set_num_threads(1)


TIMED = (
    "seconds",
    "elapsed",
    "played.",
    "selfplay.fill",
    "selfplay.cache_hits",
    "selfplay.evaluations",  # those that the cache did not have
)
"""Figures that depend on timing: on how far the next games are, and on what is in a batch."""


def outcome_of(folder: Path, step: int) -> dict[str, object]:
    """All files of a run after a step, without what depends on timing."""
    checkpoint = folder / "checkpoints" / f"step-{step:06d}"
    files = [*checkpoint.glob("*.safetensors")]
    files += [path for path in folder.rglob("networks/**/*") if path.is_file()]
    files += [*folder.glob("replay/*.shard")]
    found: dict[str, object] = {str(p.relative_to(folder)): p.read_bytes() for p in files}
    found["state"] = json.loads((checkpoint / "state.json").read_text())["parts"]
    found["metrics"] = [
        {name: n for name, n in json.loads(line).items() if not any(t in name for t in TIMED)}
        for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]
    return found


def main(folder: str, steps: str, *kills: str) -> None:
    load_everything()
    config = tiny(int(steps))
    for kill in kills:
        point, _, count = kill.partition(":")
        ended = session(config, Path(folder), killed_at(point, int(count)))
        print(f"{kill} {'killed' if ended == signal.SIGKILL else 'not killed'}", flush=True)
    assert session(config, Path(folder)) == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
