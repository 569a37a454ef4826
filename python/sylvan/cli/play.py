"""`sylvan play`: play against the search in the terminal."""

from __future__ import annotations

import random
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sylvan.cli import completion
from sylvan.cli.positions import read_position
from sylvan.cli.searching import EvaluatorOption, evaluator_of, is_network
from sylvan.cli.terminal import check_folder
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.engines.match.saved_game import SavedGame
    from sylvan.games import Game
    from sylvan.planning import SearchConfig
    from sylvan.players.player import Player

__all__ = ["OWN_TERMINAL", "play"]

OWN_TERMINAL = {"blob"}
"""Games played in a terminal of their own, against bots by name instead of a network."""


class Side(StrEnum):
    white = "white"
    black = "black"
    random = "random"


def play(
    game: Annotated[
        str,
        typer.Argument(
            help="chess, connect4, tictactoe, blob, path.py:Class, open_spiel:name; or a run's "
            "folder, to play against its network.",
            autocompletion=completion.games,
        ),
    ] = "chess",
    position: Annotated[
        list[str] | None, typer.Argument(help="Initial position: a FEN, moves, or both.")
    ] = None,
    side: Annotated[
        Side | None,
        typer.Option("--side", "-s", help="Your side in a game of two seats; White moves first."),
    ] = None,
    level: Annotated[
        int, typer.Option("--level", "-l", min=1, max=10, help="Strength, 1 to 10.")
    ] = 5,
    simulations: Annotated[
        int | None,
        typer.Option(
            "--simulations", "-n", min=1, help="Simulations per move, instead of a level."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", "-t", min=0, help="Seconds per move, instead of a level."),
    ] = None,
    net: Annotated[
        Path | None,
        typer.Option(help="A network: a run folder, .onnx, .safetensors, .pb or .pb.gz."),
    ] = None,
    evaluator: EvaluatorOption = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of random choices.")] = None,
    pgn: Annotated[
        Path | None, typer.Option(help="Write the finished game to this PGN file.")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Blob rules: players=4, cards=5, trump=turned_up.")
    ] = None,
    seat: Annotated[int | None, typer.Option(min=0, help="Your seat, counted from 0.")] = None,
    opponents: Annotated[
        str | None,
        typer.Option(help="Blob opponents, instead of a level: rule,counter,information_set:400."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Resume a game that `save FILE` wrote.")
    ] = None,
) -> None:
    """Play a game against the search.

    Type moves as `e2e4` or `Nf3`, a column or a cell; `help` lists all commands. Connect Four and
    tic-tac-toe use a network that comes with Sylvan, unless you choose another evaluator. The
    search has all other seats. In games with hidden information you see only what your seat sees,
    and the search only what its seat sees.

    Examples:

    - `sylvan play chess` as White, level 5
    - `sylvan play chess --side black --level 8 --pgn game.pgn`
    - `sylvan play chess --net maia-1100.pb.gz --simulations 1` a network without search
    - `sylvan play connect4 --level 10`
    - `sylvan play runs/first` the game of a training run, against its best network
    - `sylvan play connect4 --net runs/first` the same for a game that you name
    - `sylvan play my_game.py:MyGame --seat 1` any game of your own
    - `sylvan play connect4 --resume game.json` resume after `save game.json`
    - `sylvan play blob --rule players=4 --rule cards=5 --level 8` cards, against three bots
    """
    from sylvan.cli.play_game import PlayTerminal
    from sylvan.engines.match.saved_game import SavedGame
    from sylvan.engines.match.session import GameSession
    from sylvan.evaluators.loading import is_run

    if game in OWN_TERMINAL:
        from sylvan.cli.play_blob import play_blob

        _refuse(game, {"--side": side, "--net": net, "--evaluator": evaluator, "--pgn": pgn})
        _refuse(game, {"a position": position, "--seconds": seconds})
        play_blob(rule or [], seat, opponents, level, simulations, seed, resume)
        return
    _refuse(game, {"--rule": rule, "--opponents": opponents})
    check_folder(pgn)
    saved = _saved(game, resume, {"a position": position, "--seat": seat, "--side": side})
    game = game if saved is None else saved.game
    if pgn is not None and game != "chess":
        raise ConfigError(f"--pgn {pgn} is for chess: omit it.")
    net = Path(game) if net is None and evaluator is None and is_run(game) else net
    start = read_position(game, list(position or []) if saved is None else list(saved.position))
    drawn = random.Random(seed)
    seed = drawn.randrange(2**32) if seed is None else seed
    if saved is None:
        own = _seat(start, seat, side, drawn)
        saved = SavedGame(game, tuple(position or ()), own, seed, ())
    opponent, adviser = _players(start, net, evaluator, level, simulations, seconds)
    with opponent, adviser:
        opponent.new_game(seed)
        session = GameSession(start, saved.seat, opponent, adviser, saved.seed)
        saved.apply(session, resume or game)
        if session.is_over:
            raise ConfigError(
                "The game is over in this position: start from one with a legal move."
            )
        PlayTerminal(saved, session, pgn).run()


def _saved(game: str, resume: Path | None, others: dict[str, object]) -> SavedGame | None:
    """Read the game to resume; other options cannot change it."""
    from sylvan.engines.match.saved_game import SavedGame

    if resume is None:
        return None
    for name, value in others.items():
        if value is not None and value != []:
            raise ConfigError(f"--resume {resume} has its own position and seat: omit {name}.")
    saved = SavedGame.read(resume)
    if game not in (saved.game, "chess"):  # chess is the default
        words = shlex.join([saved.game, "--resume", str(resume)])
        raise ConfigError(f"{resume} is a game of {saved.game}: sylvan play {words}.")
    return saved


def _seat(start: Game, seat: int | None, side: Side | None, drawn: random.Random) -> int:
    """Return the person's seat."""
    seats = start.num_players
    if side is not None and seats != 2:
        raise ConfigError(f"--side is for games of two seats, this has {seats}: give --seat.")
    if side is not None and seat is not None:
        raise ConfigError("--side and --seat contradict: give one of them.")
    if seat is not None and seat >= seats:
        raise ConfigError(f"--seat {seat} does not exist: give one from 0 to {seats - 1}.")
    if side is Side.random:
        return drawn.randrange(2)
    return seat or (1 if side is Side.black else 0)


def _players(
    start: Game,
    net: Path | None,
    evaluator: str | None,
    level: int,
    simulations: int | None,
    seconds: float | None,
) -> tuple[Player, Player]:
    """Make the opponent and the adviser."""
    from sylvan.engines.match.levels import ADVICE, NETWORK_WORTH, players_at
    from sylvan.engines.match.match import check_evaluator
    from sylvan.evaluators.loading import is_learned
    from sylvan.players.player import SearchPlayer

    if net is None and evaluator is None and simulations is None and seconds is None:
        return players_at(start, level)
    by_network = is_network(start, net, evaluator)
    config = _strength(level, simulations, seconds, is_network=by_network)
    name = f"Sylvan{'' if net is None else ' ' + net.name}"
    advice = ADVICE // (NETWORK_WORTH if by_network else 1)
    if net is not None and evaluator is None and is_learned(net):
        return _planners(net, start, config, advice, name)
    judge = evaluator_of(net, evaluator)
    check_evaluator(start, judge)
    return SearchPlayer(judge, config, name=name), SearchPlayer(judge, simulations=advice)


def _refuse(game: str, given: dict[str, object]) -> None:
    """Reject options that do not apply to this game."""
    for name, value in given.items():
        if value is not None and value is not False and value != []:
            raise ConfigError(f"{name} is not for {game}: omit it.")


def _planners(
    run: Path, start: Game, config: SearchConfig, advice: int, name: str
) -> tuple[Player, Player]:
    """Make opponent and adviser that plan with a run's learned model."""
    from sylvan.muzero.search import greedy
    from sylvan.runs.agent import load_model
    from sylvan.runs.model_player import ModelPlayer
    from sylvan.runs.run import Run

    trained = Run.open(run).config
    if type(trained.game.spec.first()) is not type(start):
        raise ConfigError(f"{run} plays {trained.game.name}: give a run of this game.")
    if config.seconds is not None:
        raise ConfigError(f"{run} plans with a learned model: give --simulations, not --seconds.")
    settings = greedy(trained.search).replace(temperature=config.temperature)
    model = load_model(run)
    return (
        ModelPlayer(model, settings.replace(simulations=config.simulations or 1), name=name),
        ModelPlayer(model, settings.replace(simulations=advice, temperature=0.0)),
    )


def _strength(
    level: int, simulations: int | None, seconds: float | None, *, is_network: bool
) -> SearchConfig:
    """Return the opponent's search settings."""
    from sylvan.engines.match.levels import level_settings
    from sylvan.planning import SearchConfig

    if simulations is not None or seconds is not None:
        return SearchConfig(simulations=simulations, seconds=seconds)
    return level_settings(level, is_network=is_network)
