"""`sylvan watch`: watch a run's network act, as pictures or boards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli import completion
from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.games.naming import GameSpec
    from sylvan.ratings.duel import Side
    from sylvan.runs.run import Run

__all__ = ["watch"]


def watch(
    run: Annotated[
        str,
        typer.Argument(help="A run folder, or its name in runs/.", autocompletion=completion.runs),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .gif, an .mp4, or a folder for PNG files."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the episode.")] = 0,
    simulations: Annotated[
        int | None,
        typer.Option(
            "--simulations", "-n", min=1, help="Simulations per step (default: as trained)."
        ),
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="Use the newest network instead of the best.")
    ] = False,
    most: Annotated[int, typer.Option(min=1, help="Stop after this many steps.")] = 1000,
    every: Annotated[int, typer.Option(min=1, help="Draw every n-th step.")] = 1,
) -> None:
    """Watch a run's network act: an environment as pictures, a game as boards.

    An episode is written to a file, by default `episode.gif` in the run's folder; a game is
    printed.

    Examples:

    - `sylvan watch runs/CartPole-v1`
    - `sylvan watch runs/lander --out landing.mp4 --seed 3 --every 2`
    - `sylvan watch runs/lander --out pictures` a PNG file per step
    - `sylvan watch runs/tictactoe` a game against itself
    """
    from sylvan.runs.overview import find_run

    found = find_run(run).run
    player = _player(found, "last" if last else "best", simulations)
    spec = found.config.game.spec
    if not spec.is_gymnasium:
        if out is not None:
            raise ConfigError(f"{spec.name} has no pictures: omit --out {out}.")
        _print_game(spec, player, seed, most)
        return
    path = out or found.folder / "episode.gif"
    if not path.parent.is_dir():
        raise ConfigError(f"{path} cannot be written: there is no folder {path.parent}")
    _film(spec, player, path, seed, most, every)


def _player(run: Run, which: str, simulations: int | None) -> Side:
    """Make the agent: a search over the learned model, or with the rules."""
    from sylvan.muzero.evaluation import LatentSide
    from sylvan.muzero.search import greedy

    config = greedy(run.config.search)
    if simulations is not None:
        config = config.replace(simulations=simulations)
    if run.config.run.algorithm == "muzero":
        from sylvan.runs.agent import load_model

        return LatentSide(run.folder.name, load_model(run.folder, which=which), config)
    from sylvan.evaluators import load_evaluator
    from sylvan.evaluators.loading import network_file
    from sylvan.ratings.yardsticks import SearchSide

    file = network_file(run.folder)
    file = file.with_name(which + file.suffix)
    return SearchSide(run.folder.name, load_evaluator(file), config)


def _film(spec: GameSpec, player: Side, path: Path, seed: int, most: int, every: int) -> None:
    """Write the pictures of an episode."""
    from sylvan.runs.film import film
    from sylvan.views.frames import save_frames

    frames: list[Any] = []
    with Bar(f"playing {spec.short_name}") as bar:
        for scene in film(
            spec,
            seed,
            lambda state, steps: player.choose([state], [seed + steps])[0],
            most,
            every,
        ):
            state, steps = scene.state, scene.steps
            frames += [] if scene.picture is None else [scene.picture]
            bar.show(steps, state.max_length)
    metadata = getattr(state.environment, "metadata", {})
    save_frames(path, frames, float(metadata.get("render_fps", 30)) / every)
    ended = "cut off" if state.truncated else "ended" if state.is_terminal() else "stopped"
    print(f"{path}: {len(frames)} pictures; {ended} after {steps} steps, return {state.score:g}")


def _print_game(spec: GameSpec, player: Side, seed: int, most: int) -> None:
    """Print a game of a network against itself, board by board."""
    from sylvan.ratings.duel import DuelGame

    state = spec.episode(seed)
    seats = tuple(0 for _ in range(state.num_players))
    game = DuelGame(0, state, seats, seed, 0, totals=[0.0] * state.num_players)
    game.settle(most)
    _show(game.state, None)
    while not game.ending:
        action = int(player.choose([game.state], [seed + len(game.actions)])[0])
        word = game.state.action_to_string(action)
        print(f"\n{len(game.actions) + 1}. {word}")
        game.apply(action)
        game.settle(most)
        _show(game.state, action)
    totals = ", ".join(f"{total:g}" for total in game.totals)
    print(f"\n{len(game.actions)} plies; returns per seat: {totals}")


def _show(state: Game, last: int | None) -> None:
    """Print a board, in colours if the terminal has them."""
    from rich.console import Console

    from sylvan.cli.board import coloured, plain

    console = Console()
    picture = coloured(state, 0, last) if console.is_terminal else None
    print(plain(state, 0)) if picture is None else console.print(picture)
