"""Players of ours for a table: by strength, or with a network that the server was given."""

from __future__ import annotations

from pathlib import Path

from sylvan.engines.match.levels import level_settings, players_at
from sylvan.engines.match.match import check_evaluator
from sylvan.errors import ConfigError
from sylvan.evaluators import load_evaluator
from sylvan.evaluators.loading import is_learned
from sylvan.games import Game
from sylvan.games.naming import GameSpec
from sylvan.muzero.search import greedy
from sylvan.players.player import Player, SearchPlayer
from sylvan.runs.agent import load_model
from sylvan.runs.model_player import ModelPlayer
from sylvan.runs.overview import Damaged
from sylvan.runs.run import Run
from sylvan.web import protocol as p
from sylvan.web.desk import Desk
from sylvan.web.runs import listed_runs

__all__ = ["BLOB", "adviser_for", "networks_for", "offers", "player_for"]

BLOB = "blob"


def offers(desk: Desk) -> list[p.GameOffer]:
    """The games that can be played here."""
    found = []
    for game in dict.fromkeys([*desk.games, BLOB]):
        if not GameSpec(game).is_gymnasium:
            start = GameSpec(game).first()
            seats = [start.seat_name(seat) for seat in range(start.num_players)]
            found.append(p.GameOffer(game=game, seats=seats, networks=[*networks_for(desk, game)]))
    return found


def networks_for(desk: Desk, game: str) -> dict[str, Path]:
    """Networks of runs of this game, and those that the server was started with, by name."""
    runs = {
        name: run.run.folder
        for name, run in listed_runs(desk).items()
        if not isinstance(run, Damaged)
        and run.run.config.game.name == game
        and run.run.network("best").is_file()
    }
    return runs if game == BLOB else {**desk.networks, **runs}


def player_for(desk: Desk, game: str, start: Game, choice: p.SeatChoice) -> Player:
    """The player of a seat.

    :raises SylvanError: there is no such network, or it plays another game.
    """
    if choice.network is None:
        return players_at(start, choice.level)[0]
    known = networks_for(desk, game)
    if choice.network not in known:
        listed = ", ".join(known) or "none"
        raise ConfigError(f"There is no network {choice.network!r} for {game} here: {listed}.")
    path, config = known[choice.network], level_settings(choice.level, is_network=True)
    name = f"{choice.network}, level {choice.level}"
    if is_learned(path):
        settings = greedy(Run.open(path).config.search)
        settings = settings.replace(
            simulations=config.simulations or 1, temperature=config.temperature
        )
        return ModelPlayer(load_model(path), settings, name=name)
    judge = load_evaluator(path, cache_bytes=32 * 2**20, name=choice.network)
    check_evaluator(start, judge)
    return SearchPlayer(judge, config, name=name)


def adviser_for(start: Game, level: int) -> SearchPlayer:
    """The player that gives hints and judges moves."""
    return players_at(start, level)[1]
