"""The document `alphachess`: N, W, Q, P of every move, self-play, a game in the terminal.

    engine = AlphaChess("material", Config(simulations_per_move=400))
    result = engine.search(Chess())
    statistics(result)["e2e4"].N, .W, .Q, .P
    print(self_play("material", games=2))
    play_human("material", human="white")

- Selection is PUCT, `Q + c * P * sqrt(sum N) / (1 + N)`: the square root covers only the node's
  visits, and there is no logarithm of visits. An unvisited move has the node's own mean minus a
  reduction (`fpu`), so priors decide which moves are tried.
- A value is for the side to move at the leaf. The move that led there belongs to the other side and
  gets the negative; the move before it gets the value itself.
- The tree is kept during a game: after the engine's move and the reply the search continues in
  their subtree.
- `max_bytes` limits the tree's memory to 16 GB by default: a full tree drops its least visited
  parts and the search continues. `max_depth` limits the length of a line, not the search.
- In self-play, noise is mixed into the root's priors after its evaluation. Moves are drawn in
  proportion to visits until move `temp_threshold`; then the most visited move is played.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from sylvan.classic.move_codec import decode, encode
from sylvan.classic.progress import progress_bar
from sylvan.classic.settings import read_overrides, read_settings
from sylvan.engines.match.session import GameSession
from sylvan.errors import ConfigError, GameOver, SylvanError
from sylvan.evaluators import EvaluatorLike, evaluator_named, load_evaluator
from sylvan.games.chess import Chess
from sylvan.games.pgn import game_text
from sylvan.planning import Search, SearchConfig, SearchResult
from sylvan.planning.config import ALIASES
from sylvan.players.player import Choice, Player, moves_between

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.players.batching import Thinking
    from sylvan.players.player import Clocks

__all__ = [
    "AlphaChess",
    "Config",
    "EdgeStatistics",
    "SelfPlayStatistics",
    "decode",
    "encode",
    "play_human",
    "self_play",
    "statistics",
]


_NAMES = ALIASES | {"max_depth": "horizon"}
"""Settings of the core by the names used here; elsewhere `max_depth` ends the search."""


@dataclass(frozen=True)
class Config:
    """The settings, under the names of the document's project.

    >>> Config.read({"mcts": {"simulations_per_move": 50}}, ["temp_threshold=10"]).temp_threshold
    10
    >>> Config(simulations_per_move=-1)
    Traceback (most recent call last):
    sylvan.errors.ConfigError: simulations_per_move is -1: it must be at least 0 (new simulations \
per search; None: no such limit).
    """

    simulations_per_move: int = 800
    c_puct: float = 1.5
    dirichlet_alpha: float = 0.3
    dirichlet_epsilon: float = 0.25
    temp_threshold: int = 30
    """Self-play: from this move of each side on, the most visited move is played."""
    max_depth: int | None = 40
    """Plies of the longest line; a position so deep is evaluated and not expanded."""
    max_bytes: int = 16 * 2**30
    """Memory limit of the tree."""
    max_moves: int = 512
    """Self-play: half-moves after which a game ends as a draw."""
    seed: int = 0
    other: Mapping[str, Any] = field(default_factory=dict)
    """Any other setting of `SearchConfig`."""

    def __post_init__(self) -> None:
        for name in ("temp_threshold", "max_moves"):
            value: Any = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ConfigError(f"{name} is {value!r}: it must be a whole number, 0 or more.")
        depth: Any = self.max_depth
        if depth is not None and (
            not isinstance(depth, int) or isinstance(depth, bool) or depth < 1
        ):
            raise ConfigError(
                f"max_depth is {depth!r}: it must be a whole number from 1 on, or None."
            )
        self.search_config()

    def search_config(self, *, self_play: bool = False) -> SearchConfig:
        """The settings of one search; in self-play with noise and temperature 1."""
        of_games = ("temp_threshold", "max_moves", "other")
        own = [item.name for item in fields(self) if item.name not in of_games]
        settings = {name: getattr(self, name) for name in own} | dict(self.other)
        settings["horizon"] = settings.pop("max_depth")
        return SearchConfig(**settings, noise=self_play, temperature=1.0 if self_play else 0.0)

    @classmethod
    def read(
        cls,
        source: Mapping[str, Any] | str | Path | None = None,
        overrides: Iterable[str] = (),
        **settings: Any,
    ) -> Self:
        """Merge settings of a file or dictionary, of a command line, and keywords; later ones win.

        Names are those of the fields, or of `SearchConfig`.
        """
        merged: dict[str, Any] = {}
        for part in (read_settings(source or {}), read_overrides(overrides), settings):
            merged |= _named(part)
        known = {item.name for item in fields(cls)}
        other = {name: value for name, value in merged.items() if name not in known}
        return cls(**{name: merged[name] for name in merged if name in known}, other=other)


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Rename settings to `Config`'s fields; those of `SearchConfig` keep their names."""
    own = {_NAMES.get(item.name, item.name): item.name for item in fields(Config)}
    named = {}
    for name, value in settings.items():
        general = _NAMES.get(name, name)
        if (general not in own and general not in SearchConfig.model_fields) or name == "other":
            close = difflib.get_close_matches(name, [*own.values(), *_NAMES], 1, 0.0)
            raise ConfigError(f"There is no setting {name!r}: did you mean {close[0]!r}?")
        named[own.get(general, general)] = value
    return named


class EdgeStatistics(NamedTuple):
    """Statistics of a move, for the side that plays it."""

    N: int
    """Visits."""
    W: float
    """Sum of values."""
    Q: float
    """W / N; NaN before the first visit."""
    P: float
    """Prior."""


def statistics(result: SearchResult) -> dict[str, EdgeStatistics]:
    """N, W, Q and P of every legal move by its UCI name, most visited first."""
    name = result.tree.game.action_to_string
    return {name(e.action): EdgeStatistics(e.N, e.W, e.Q, e.P) for e in result.tree.root.edges}


class AlphaChess(Player):
    """A player that searches, and keeps its tree during a game.

    >>> engine = AlphaChess("material", Config(simulations_per_move=50))
    >>> game = Chess("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
    >>> game.san(engine.play(game))
    'Ra8#'
    """

    name = "AlphaChess"

    def __init__(
        self,
        network: EvaluatorLike | None = None,
        config: Config | None = None,
        *,
        self_play: bool = False,
    ) -> None:
        """Create a player.

        Args:
            network: an evaluator, its name, a function from leaves to logits and values, or the
                path of a network
            config: the settings
            self_play: add noise, and draw moves by their visits up to `temp_threshold`
        """
        self.network = (
            load_evaluator(network) if isinstance(network, Path) else evaluator_named(network)
        )
        self.config = config or Config()
        self.self_play = self_play
        self.new_game(self.config.seed)

    def new_game(self, seed: int = 0) -> None:
        """Drop the tree; `seed` is the next game's."""
        settings = self.config.search_config(self_play=self.self_play).replace(seed=seed)
        self._search = Search(self.network, settings)
        self._root: Chess | None = None

    def search(self, game: Chess) -> SearchResult:
        """Search a position; if it follows from the last one, continue in its tree.

        :raises GameOver: the game is over.
        """
        if game.is_terminal():
            raise GameOver("The game is over: search a position that still has a move.")
        actions = None if self._root is None else moves_between(self._root, game)
        self._root = game.clone()
        if actions is None:
            return self._search.run(game)
        self._search.advance(*actions)
        return self._search.run()

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:  # noqa: ARG002
        """Search and choose; in self-play at temperature 1 up to `temp_threshold`."""
        yield from ()
        assert isinstance(game, Chess)
        result = self.search(game)
        early = len(game.moves) // 2 < self.config.temp_threshold
        return Choice(result.action if self.self_play and early else result.best, result.value)

    @property
    def result(self) -> SearchResult:
        """The result of the last search."""
        return self._search.result


@dataclass
class SelfPlayStatistics:
    """Results, endings and lengths of self-play games, and the work of the search."""

    games: int = 0
    white_wins: int = 0
    black_wins: int = 0
    draws: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    """By `Chess.outcome`; `move_limit` for games that reached `max_moves`."""
    moves: int = 0
    """Half-moves."""
    simulations: int = 0
    seconds: float = 0.0
    pgns: list[str] = field(default_factory=list)

    @property
    def mean_length(self) -> float:
        """Mean number of half-moves per game."""
        return self.moves / self.games if self.games else 0.0

    @property
    def simulations_per_second(self) -> float:
        """Speed of the search; 0 before the first game."""
        return self.simulations / self.seconds if self.seconds else 0.0

    def add(self, game: Chess, simulations: int, seconds: float) -> None:
        """Count a game."""
        white = game.returns()[0] if game.is_terminal() else 0.0
        self.games += 1
        self.white_wins += white > 0
        self.black_wins += white < 0
        self.draws += white == 0
        self.endings[game.outcome or "move_limit"] += 1
        self.moves += len(game.moves)
        self.simulations += simulations
        self.seconds += seconds
        self.pgns.append(_pgn(game, white))

    def __str__(self) -> str:
        endings = ", ".join(f"{name} {n}" for name, n in self.endings.most_common())
        return (
            f"{self.games} games: {self.white_wins} won by White, {self.black_wins} by Black, "
            f"{self.draws} drawn ({endings or 'none'})\n"
            f"{self.mean_length:.1f} half-moves a game, {self.simulations:,} simulations, "
            f"{self.simulations_per_second:,.0f} a second"
        )


def _pgn(game: Chess, white: float) -> str:
    import chess.pgn

    record = chess.pgn.Game.from_board(game.board())
    result = {1.0: "1-0", -1.0: "0-1"}.get(white, "1/2-1/2")
    names = {"White": AlphaChess.name, "Black": AlphaChess.name}
    record.headers.update({"Event": "Self-play", **names, "Result": result})
    return game_text(record)


def self_play(
    network: EvaluatorLike | None = None,
    config: Config | None = None,
    games: int = 1,
    fen: str | None = None,
) -> SelfPlayStatistics:
    """Play games against itself, with exploration, and count the results."""
    counted, engine = SelfPlayStatistics(), AlphaChess(network, config, self_play=True)
    config = engine.config
    with progress_bar("games", games) as show:
        for number in range(games):
            game, began, simulations = Chess(fen), perf_counter(), 0
            engine.new_game(config.seed + number)
            while not game.is_terminal() and len(game.moves) < config.max_moves:
                action = engine.play(game)
                simulations += engine.result.simulations
                game.apply(action)
            counted.add(game, simulations, perf_counter() - began)
            show(number + 1)
    return counted


def play_human(
    network: EvaluatorLike | None = None,
    config: Config | None = None,
    human: Literal["white", "black"] = "white",
    *,
    fen: str | None = None,
    ask: Callable[[str], str] = input,
    tell: Callable[[str], Any] = print,
) -> GameSession:
    """Play against a person in the terminal: moves as `e2e4` or `Nf3`; `resign` gives up.

    Shows the board before each of the person's moves, and the result and the PGN at the end.
    `sylvan play chess` has hints, levels and undo as well.
    """
    if human not in ("white", "black"):
        raise ConfigError(f"human is {human!r}: it must be 'white' or 'black'.")
    engine = AlphaChess(network, config)
    session = GameSession(Chess(fen), ("white", "black").index(human), engine)
    while not session.is_over:
        if not session.is_persons_turn:
            tell(f"{engine.name} plays {session.reply()}.")
            continue
        tell(str(session.game))
        try:
            text = ask("Your move: ").strip()
            if text.lower() == "resign":
                session.resign()
            else:
                session.play(session.read(text))
        except EOFError:
            break
        except SylvanError as error:
            tell(str(error))
    for text in (str(session.game), session.verdict, session.pgn().strip()):
        tell(text)
    return session
