"""`sylvan play`: play against the search in the terminal."""

from __future__ import annotations

import random
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli.conversation import Conversation
from sylvan.cli.positions import moves_of, read_position
from sylvan.cli.searching import EvaluatorName, evaluator_of
from sylvan.cli.terminal import Bar, check_folder
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.engines.match.session import GameSession
    from sylvan.evaluators import EvaluatorLike
    from sylvan.games import Game
    from sylvan.planning import SearchConfig
    from sylvan.players.player import Player

__all__ = ["play"]

# One evaluation by a network is worth about this many by `material`.
NETWORK_WORTH = 75
# Simulations for a hint, at any level.
ADVICE = 30_000

MOVES = {
    "chess": "e2e4 or Nf3, e8=Q, O-O",
    "connect4": "a column, 1 to 7 from the left",
    "tictactoe": "a cell, 0 to 8 row by row",
}
HELP = """\
a move       {moves}
moves        list the legal moves
hint         show the search's move
solve        show the exact value: Connect Four, tic-tac-toe
undo         take back your last move and the reply
draw         offer a draw
resign       resign the game
board, fen   show the position
save FILE    write the game of chess as PGN
help, quit"""


class Side(StrEnum):
    white = "white"
    black = "black"
    random = "random"


def play(
    game: Annotated[
        str,
        typer.Argument(help="chess, connect4, tictactoe, blob, path.py:Class or open_spiel:name."),
    ] = "chess",
    position: Annotated[
        list[str] | None, typer.Argument(help="Initial position: a FEN, moves, or both.")
    ] = None,
    side: Annotated[
        Side, typer.Option("--side", "-s", help="Your side; White moves first in every game.")
    ] = Side.white,
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
    evaluator: Annotated[
        EvaluatorName | None, typer.Option(help="Evaluator of positions without a network.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of random choices.")] = None,
    pgn: Annotated[
        Path | None, typer.Option(help="Write the finished game to this PGN file.")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Blob rules: players=4, cards=5, trump=turned_up.")
    ] = None,
    seat: Annotated[
        int | None, typer.Option(min=0, help="Blob: your seat, counted from 0.")
    ] = None,
    opponents: Annotated[
        str | None,
        typer.Option(help="Blob opponents, instead of a level: rule,counter,information_set:400."),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Blob: resume a saved game.")] = None,
) -> None:
    """Play a game against the search.

    Type moves as `e2e4` or `Nf3`, a column or a cell; `help` lists all commands. Connect Four and
    tic-tac-toe use a network that comes with Sylvan, unless you choose another evaluator.

    Examples:

    - `sylvan play chess` as White, level 5
    - `sylvan play chess --side black --level 8 --pgn game.pgn`
    - `sylvan play chess --net maia-1100.pb.gz --simulations 1` a network without search
    - `sylvan play connect4 --level 10`
    - `sylvan play connect4 --net runs/first` the best network of a training run
    - `sylvan play my_game.py:MyGame` any game with two seats
    - `sylvan play blob --rule players=4 --rule cards=5 --level 8` cards, against three bots
    """
    from sylvan.engines.match.session import GameSession
    from sylvan.evaluators import shipped_network
    from sylvan.evaluators.loading import is_learned
    from sylvan.players.player import SearchPlayer

    if game == "blob":
        from sylvan.cli.play_blob import play_blob

        taken = side is not Side.white
        _refuse(game, {"--side": taken, "--net": net, "--evaluator": evaluator, "--pgn": pgn})
        _refuse(game, {"a position": position, "--seconds": seconds})
        play_blob(rule or [], seat, opponents, level, simulations, seed, resume)
        return
    _refuse(game, {"--rule": rule, "--seat": seat, "--opponents": opponents, "--resume": resume})
    check_folder(pgn)
    if pgn is not None and game != "chess":
        raise ConfigError(f"--pgn {pgn} is for chess: omit it.")
    start = read_position(game, position or [])
    if start.num_players != 2:
        raise ConfigError(f"{game} has {start.num_players} seats: give a game with two.")
    if start.is_terminal():
        raise ConfigError("The game is over in this position: start from one with a legal move.")
    drawn = random.Random(seed)
    seat_index = {Side.white: 0, Side.black: 1}.get(side, drawn.randrange(2))
    own = shipped_network(start) if net is None and evaluator is None else None
    is_network = (net or own) is not None
    config = _strength(level, simulations, seconds, is_network=is_network)
    name = f"Sylvan{'' if net is None else ' ' + net.name}"
    advice = ADVICE // (NETWORK_WORTH if is_network else 1)
    opponent: Player
    adviser: Player
    if net is not None and evaluator is None and is_learned(net):
        opponent, adviser = _planners(net, start, config, advice, name)
    else:
        judge = evaluator_of(net or own, evaluator)
        _check(start, judge)
        opponent = SearchPlayer(judge, config, name=name)
        adviser = SearchPlayer(judge, simulations=advice)
    seed = drawn.randrange(2**32) if seed is None else seed
    with opponent as player, adviser:
        player.new_game(seed)
        _PlayTerminal(game, GameSession(start, seat_index, player, adviser, seed), pgn).run()


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
        ModelPlayer(model, settings.replace(simulations=config.simulations), name=name),
        ModelPlayer(model, settings.replace(simulations=advice, temperature=0.0)),
    )


def _check(start: Game, judge: EvaluatorLike | None) -> None:
    """Reject an evaluator for another game."""
    from sylvan.evaluators import evaluator_for
    from sylvan.networks.header import header_of
    from sylvan.planning.roots import shown_to

    evaluator = evaluator_for(start, judge)
    shown = shown_to(start, evaluator)
    header = header_of(evaluator)
    if header is not None and not shown.is_chance():
        header.check(shown)


def _strength(
    level: int, simulations: int | None, seconds: float | None, *, is_network: bool
) -> SearchConfig:
    """Return the opponent's search settings."""
    from sylvan.planning import SearchConfig
    from sylvan.players.strength import STRONGEST, WEAKEST, strength

    if simulations is not None or seconds is not None:
        return SearchConfig(simulations=simulations, seconds=seconds)
    limited = strength(round(WEAKEST + (level - 1) / 9 * (STRONGEST - WEAKEST)))
    count = max(1, limited.simulations // NETWORK_WORTH) if is_network else limited.simulations
    return SearchConfig(simulations=count, temperature=limited.temperature)


class _PlayTerminal(Conversation):
    """A game's terminal session."""

    def __init__(self, name: str, sitting: GameSession, pgn: Path | None) -> None:
        from sylvan.cli.opinion import Oracle

        super().__init__()
        self.name = name
        self.sitting = sitting
        self.oracle = Oracle()
        self.pgn = pgn
        self.is_chess = hasattr(sitting.game, "fen")

    @property
    def is_over(self) -> bool:
        return self.sitting.is_over

    def begin(self) -> None:
        colour = ("White", "Black")[self.sitting.seat]
        who = (
            f"{colour}, {self.sitting.player.name} the other side"
            if self.is_chess
            else (f"{'first' if self.sitting.seat == 0 else 'second'}")
        )
        self.say(f"You play {who}. Type a move, or help.")
        self.show()

    def prompt(self) -> str | None:
        """Return the prompt for the person's move, or make the opponent's."""
        if self.sitting.is_persons_turn:
            return "your move: "
        self.answer()
        return None

    def answer(self) -> None:
        """Make the search's move."""
        with Bar("thinking"):
            reply = self.sitting.reply()
        self.say(f"{self.sitting.player.name} plays {reply}")
        self.show()

    def handle(self, line: str) -> None:
        """Make the person's move."""
        (move,) = moves_of(line)[:1] or [line]
        self.sitting.play(self.sitting.read(move))
        if self.sitting.is_over:
            self.show()

    def show(self, _: str = "") -> None:
        """Print the board."""
        from sylvan.cli.board import coloured, plain

        sitting, picture = self.sitting, None
        if self.console.is_terminal and self.console.encoding.lower().startswith("utf"):
            last = sitting.actions[-1] if sitting.actions else None
            picture = coloured(sitting.game, sitting.seat, last)
        if picture is not None:
            self.console.print(picture)
        else:
            self.say(plain(sitting.game, sitting.seat))

    def moves(self, _: str) -> None:
        from sylvan.planning.tree import label

        game = self.sitting.game
        self.say(" ".join(sorted(label(game, action) for action in game.legal_actions())))

    def hint(self, _: str) -> None:
        with Bar("thinking"):
            self.say(f"The search would play {self.sitting.hint()}.")

    def solve(self, _: str) -> None:
        """Print the exact value."""
        with Bar("solving"):
            opinion = self.oracle.opinion(self.sitting.game)
        self.say(opinion)

    def undo(self, _: str) -> None:
        self.say(f"{self.sitting.undo()} half-move(s) taken back.")
        self.show()

    def draw(self, _: str) -> None:
        if not self.sitting.offer_draw():
            self.say(f"{self.sitting.player.name} plays on.")

    def fen(self, _: str) -> None:
        game: Any = self.sitting.game
        self.say(game.fen() if self.is_chess else str(game))

    def save(self, rest: str) -> None:
        """Write the game to a file."""
        from sylvan.files import write_text

        if not self.is_chess:
            raise ConfigError("Only games of chess can be saved as PGN.")
        if not rest:
            raise ConfigError("Give a file name: save game.pgn")
        write_text(rest, self.sitting.pgn())
        self.say(f"The game is in {rest}.")

    def end(self) -> None:
        """Print the result and the game."""
        self.say(self.sitting.verdict)
        if self.is_chess and self.sitting.actions:
            self.say(self.sitting.pgn().strip())
        if self.pgn is not None:
            self.save(str(self.pgn))


_PlayTerminal.commands = {
    "help": lambda table, _: table.say(
        HELP.format(moves=MOVES.get(table.name, "as `moves` lists them"))
    ),
    "moves": _PlayTerminal.moves,
    "hint": _PlayTerminal.hint,
    "solve": _PlayTerminal.solve,
    "opinion": _PlayTerminal.solve,
    "undo": _PlayTerminal.undo,
    "draw": _PlayTerminal.draw,
    "resign": lambda table, _: table.sitting.resign(),
    "board": _PlayTerminal.show,
    "fen": _PlayTerminal.fen,
    "save": _PlayTerminal.save,
}
