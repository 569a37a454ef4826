"""`sylvan train`: train a network on a game by self-play."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sylvan.cli import completion
from sylvan.cli.play import OWN_TERMINAL
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.cluster.address import ClusterOptions
    from sylvan.runs.config import TrainingConfig
    from sylvan.runs.fit import Fit
    from sylvan.runs.loop import Outcome
    from sylvan.runs.watcher import Watcher

__all__ = ["train"]

Algorithm = Literal["alphazero", "muzero"]

ENDED_WITHIN = 0.15
"""Maximum seconds from Ctrl-C to the end of the process."""

REMOTE = {"wandb", "mlflow"}
"""Loggers that talk to a server when a run ends."""

SENT_WITHIN = 5.0
"""The same with one of them."""

STOPPED = "Stopped; run the same command again to resume."


def train(
    game: Annotated[
        str,
        typer.Argument(
            help="The game: connect4, tictactoe, chess, path.py:Class, gym:name, ...",
            autocompletion=completion.games,
        ),
    ],
    run: Annotated[
        Path | None,
        typer.Option("--run", "-r", help="The run folder (default: runs/GAME)."),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="Settings for a machine: cpu, gpu8 (8 GB of GPU memory), big; or auto: those of "
            "this machine, on a CPU fitted to a budget of minutes."
        ),
    ] = "auto",
    algorithm: Annotated[
        Algorithm | None,
        typer.Option(
            help="alphazero uses the rules; muzero learns a model: required for gym:name, "
            "impossible for games with chance or hidden cards (blob)."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Stop after this many steps.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after this many minutes in total.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of random choices.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Processor cores to use.")] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda or cuda:1 (default: a GPU, if any).")
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(help="Network size (6x64, t4x128, mlp2x128), or your own: path.py:Class."),
    ] = None,
    wrapper: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Wrapper around a gym: environment, also path.py:Class, with arguments by name: "
            "'gymnasium.wrappers:ResizeObservation(shape=(48,48))'. Repeatable, innermost first.",
        ),
    ] = None,
    loss: Annotated[
        str | None, typer.Option(help="Your own loss function: path.py:function.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Settings from a .toml or .yaml file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting: learner.learning_rate=0.01"),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option("--from", help="Initial network: a .safetensors file or a run."),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(
            help="Also log to tensorboard, wandb or mlflow; repeat for several.",
            autocompletion=completion.loggers,
        ),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="The same as --log tensorboard.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Play on several processes or machines: local:4 (worker processes here), auto (a "
            "running Ray cluster), ray://host:10001.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Workers of the cluster (default: as many as it has room for)."),
    ] = None,
    worker_threads: Annotated[
        int | None, typer.Option(min=1, help="CPU cores of a worker.")
    ] = None,
    cluster_mode: Annotated[
        Literal["exact", "fast"] | None,
        typer.Option(
            help="exact (default): the weights are those of the same run on one machine; fast: "
            "games are learned from as they arrive."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Where workers write their games: a folder or an address that fsspec knows, such "
            "as s3://bucket/run (default: in the run folder)."
        ),
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option(
            min=0, help="Steps that the games of a cluster may run ahead of the learner (100)."
        ),
    ] = None,
    stale: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Steps that games may come late with --cluster-mode fast; then they are "
            "dropped (2).",
        ),
    ] = None,
    learners: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes of a cluster that share each batch of the learner (1)."
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only the final summary.")
    ] = False,
) -> None:
    """Train a network on a game by self-play.

    The run's folder stores everything. Run the same command again to resume: after Ctrl-C (which
    stops at once; the step in progress is repeated), after a crash, or with another budget.

    Examples:

    - `sylvan train tictactoe` perfect play in a minute
    - `sylvan train connect4 --run runs/four --minutes 20` a good player on two cores
    - `sylvan train my_game.py:MyGame --network 4x32 --minutes 5` your own game
    - `sylvan train connect4 --run runs/four --minutes 40` resume for another twenty minutes
    - `sylvan train connect4 --run runs/b --from runs/four --set learner.learning_rate=0.001`
    - `sylvan train gym:CartPole-v1` an environment without rules: MuZero learns a model of it
    - `sylvan train gym:FrozenLake-v1 --wrapper my_wrappers.py:Bonus` with a wrapper of your own
    - `sylvan train tictactoe --algorithm muzero --run runs/learned` a game with its rules hidden
    - `sylvan train "open_spiel:breakthrough(rows=6,columns=6)" --set simulations=32`
    - `sylvan train chess --run /shared/run --cluster auto` on a running Ray cluster

    All settings are explained in `config.toml` in the run's folder.
    """
    from sylvan.runs.interrupts import INTERRUPTED, MustEnd

    folder = run or Path("runs") / _folder_name(game)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--run {folder} is a file: name a folder for the run.")
    if wrapper and not game.startswith("gym:"):
        raise ConfigError(f"--wrapper is for environments, gym:name: omit it for {game}.")
    options: dict[str, dict[str, Any]] = {
        "run": {
            "algorithm": algorithm,
            "steps": steps,
            "minutes": minutes,
            "seed": seed,
            "threads": threads,
            "device": device,
        },
        "game": {"params": {"wrappers": wrapper} if wrapper else None},
        "network": {"size": network},
        "learner": {"loss": loss},
    }
    given = {
        section: {name: value for name, value in values.items() if value is not None}
        for section, values in options.items()
    }
    names = list(dict.fromkeys([*(log or []), *(["tensorboard"] if tensorboard else [])]))
    machines = _cluster_options(
        cluster,
        {
            "workers": workers,
            "worker_threads": worker_threads,
            "cluster_mode": cluster_mode,
            "storage": storage,
            "ahead": ahead,
            "stale": stale,
            "learners": learners,
        },
    )
    with (
        nullcontext()
        if machines is not None  # its processes must be ended in order
        else MustEnd(SENT_WITHIN if REMOTE.intersection(names) else ENDED_WITHIN, STOPPED)
    ) as ending:
        from sylvan.runs.live import terminal_watcher
        from sylvan.runs.logger import logger_named
        from sylvan.runs.loop import train as train_loop
        from sylvan.runs.watcher import Watchers

        full, asked = _config(game, folder, preset, config, given, settings or [], start)
        # The loggers first: what they print when they start must not disturb the live view.
        watch = Watchers(*map(logger_named, names), terminal_watcher(quiet))
        fitted = _fitted(full, asked, folder, watch) if preset == "auto" else None
        if fitted is not None:
            full = fitted.config
        if machines is None:
            outcome = train_loop(full, folder, watch=watch, start=start, fitted=fitted)
        else:
            from sylvan.cluster.driver import train_on_cluster

            outcome = train_on_cluster(
                full, folder, machines, watch=watch, start=start, fitted=fitted
            )
        if ending is not None:
            ending.said = True
        _print_summary(outcome)
    if outcome.reason == "interrupted":
        raise typer.Exit(INTERRUPTED)


FIELDS = {"worker_threads": "threads", "cluster_mode": "mode"}
"""Fields of `ClusterOptions` whose options have other names."""


def _cluster_options(address: str | None, options: dict[str, Any]) -> ClusterOptions | None:
    """The options of a cluster; None without one. --workers overrides the number in local:4.

    :raises ConfigError: an option of a cluster is given without one.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if address is None:
        if given:
            name = f"--{next(iter(given)).replace('_', '-')}"
            raise ConfigError(
                f"{name} is for runs on a cluster: add --cluster local:2, or omit {name}."
            )
        return None
    from dataclasses import replace

    from sylvan.cluster.address import parse_address

    fields = {FIELDS.get(name, name): value for name, value in given.items()}
    return replace(parse_address(address), **fields)


def _folder_name(game: str) -> str:
    """Return a game's folder name in `runs`.

    >>> _folder_name("games/nim.py:Nim"), _folder_name("open_spiel:go(board_size=5)")
    ('nim', 'go')
    """
    path, _, name = game.rpartition(":")
    return Path(path).stem if path.endswith(".py") else name.partition("(")[0]


def _config(
    game: str,
    folder: Path,
    preset: str,
    file: Path | None,
    given: dict[str, dict[str, Any]],
    texts: list[str],
    start: Path | None,
) -> tuple[TrainingConfig, dict[str, Any]]:
    """Combine preset, file, options and --set, in this order; a resumed run's settings come
    first.

    Return all settings, and those that the user gave.
    """
    from sylvan.runs.config import FIXED, TrainingConfig, merged, overrides, sectioned
    from sylvan.runs.presets import preset_settings
    from sylvan.runs.run import Run
    from sylvan.runs.warm_start import network_like, params_like
    from sylvan.settings.file import plain_settings, read_settings

    layers: list[dict[str, Any]] = [sectioned(read_settings(file))] if file else []
    layers += [given, overrides(texts)]
    if Run.exists(folder):
        if start is not None and Run.open(folder).checkpoints.steps():
            raise ConfigError(
                f"{folder} is already started, so --from {start} has no effect: give another "
                "folder with --run, or omit --from."
            )
        base = plain_settings(Run.open(folder).config)
        if preset != "auto":
            params = merged(base, {"game": {"params": _params(layers)}})["game"]["params"]
            other = preset_settings(game, preset, base["run"]["algorithm"], **params)
            layers.insert(0, {name: each for name, each in other.items() if name not in FIXED})
    else:
        base = preset_settings(game, preset, _algorithm(layers), **_params(layers))
        if start is not None:
            like = {"network": network_like(start), "game": {"params": params_like(start)}}
            layers.insert(0, like)
    layers.append({"game": {"name": game}})
    asked: dict[str, Any] = {}
    for layer in layers:
        asked = merged(asked, layer)
    return TrainingConfig(**merged(_one_budget(base, asked), asked)), asked


def _fitted(
    config: TrainingConfig, asked: dict[str, Any], folder: Path, watch: Watcher
) -> Fit | None:
    """Fit the settings of a new run to its budget of minutes and tell the user; else None."""
    from sylvan.runs.fit import can_fit, fit
    from sylvan.runs.run import Run

    if Run.exists(folder) or not can_fit(config):
        return None
    watch.message("Measuring this machine and the game, to choose settings for the budget ...")
    fitted = fit(config, asked)
    for sentence in fitted.sentences():
        watch.message(sentence)
    return fitted


def _algorithm(layers: list[dict[str, Any]]) -> str:
    """Return the requested algorithm, the last one given; `auto` if none is."""
    given = [layer.get("run", {}).get("algorithm") for layer in layers]
    return next((str(name) for name in reversed(given) if name), "auto")


def _params(layers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the requested game arguments, which determine its observations."""
    return {
        name: value
        for layer in layers
        for name, value in layer.get("game", {}).get("params", {}).items()
    }


def _one_budget(base: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Drop the budget from the settings if another kind of budget is requested."""
    from sylvan.runs.config import merged

    kinds = {"steps", "minutes"} & set(asked.get("run", {}))
    if not kinds:
        return base
    return merged(base, {"run": {"steps": None, "minutes": None}})


def _print_summary(outcome: Outcome) -> None:
    """Print where the results are and what to do next."""
    run = outcome.run
    if outcome.reason == "interrupted":
        print(f"Stopped after step {outcome.step}; run the same command again to resume.")
    else:
        print(f"Done: {outcome.step} steps. More: --minutes or --steps with a larger number.")
    best = run.network("best")
    if best.exists():
        print(f"Networks: {best} (best), {run.network('last')} (last), and the same as .onnx.")
        if _can_be_watched(outcome):
            print(f"Watch it: {shlex.join(['sylvan', 'watch', str(run.folder)])}")
        if not run.config.game.spec.is_gymnasium and run.config.game.name not in OWN_TERMINAL:
            print(f"Play against it: {shlex.join(['sylvan', 'play', str(run.folder)])}")


def _can_be_watched(outcome: Outcome) -> bool:
    """Whether `sylvan watch` can show the run: a game, or an environment that renders pictures."""
    spec = outcome.run.config.game.spec
    if outcome.run.config.run.algorithm != "muzero":
        return False
    if not spec.is_gymnasium:
        return True
    state: Any = spec.first()
    state.close()
    return "rgb_array" in (state.environment.metadata.get("render_modes") or [])
