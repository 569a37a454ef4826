"""The search side of the UCI engine: the evaluator and the tree, kept between moves.

The tree is reused if the new position follows from the old one and the settings are the same. If
weights cannot be loaded, the old evaluator stays. If an evaluator fails during a search, `material`
makes this move, so that a broken file does not lose a game.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from sylvan.engines.uci.deliberation import FOREVER, Deliberation
from sylvan.engines.uci.report import chosen, line_of, move_stats
from sylvan.engines.weights import BUILT_IN, evaluator_of
from sylvan.errors import SearchStateError, SylvanError
from sylvan.evaluators import Evaluator, Material, NativeEvaluator
from sylvan.evaluators.cached import cache_of
from sylvan.evaluators.protocol import name_of, preferred_batch_of
from sylvan.planning import Search, SearchConfig
from sylvan.planning.keywords import FpuRule
from sylvan.planning.roots import root_actions
from sylvan.players.player import moves_between
from sylvan.players.score import draw_share
from sylvan.players.strength import strength

if TYPE_CHECKING:
    from sylvan.engines.uci.options import Options
    from sylvan.games import Chess
    from sylvan.planning import SearchResult

__all__ = ["Thinker"]

CACHE_SHARE = 8
"""A network's cache gets this fraction (1/8) of `Hash`, the tree the rest."""


class Thinker:
    """An evaluator and a search tree."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` sends a line to the GUI."""
        self.say = say
        self.evaluator: Evaluator = Material()
        self._weights: tuple[Any, ...] = ("material",)
        """Key of the loaded evaluator."""
        self._failed: Options | None = None
        """The options whose weights could not be loaded."""
        self._search: Search | None = None
        self._settings: tuple[Any, ...] = ()
        self._root: Chess | None = None
        """The position at the root of the tree; None if the tree cannot be reused."""
        self._late = 0.0
        """Recent delay of searches after their deadline, in seconds."""

    def new_game(self) -> None:
        """Clear the tree and the network's cache, so that every game starts the same."""
        self._search = self._root = None
        cache = cache_of(self.evaluator)
        if cache is not None:
            cache.clear()

    def stop(self) -> None:
        """Stop the running search; from any thread."""
        search = self._search
        if search is not None:
            with suppress(SearchStateError):  # it has no tree yet
                search.stop()

    def prepare(self, options: Options) -> None:
        """Load the weights of the options, unless they are loaded or have failed to load."""
        name = options.weights_file or "shipped"
        mates = not options.limit_strength or strength(options.elo).mates
        key: tuple[Any, ...] = (name,)
        if name not in BUILT_IN:
            key = (name, options.backend, options.threads, options.hash, mates)
        if key == self._weights or options is self._failed:
            return
        try:
            self.evaluator = evaluator_of(
                name,
                backend=options.backend,
                threads=options.threads,
                mates=mates,
                cache_bytes=options.hash * 2**20 // CACHE_SHARE,
                cache_boards=1,  # also hits positions reached by other move orders: faster
            )
        except Exception as error:  # no file may end the engine
            self._failed = options
            self.say(f"info string {_sentence(error)} The engine keeps {name_of(self.evaluator)}.")
            return
        self._weights = key
        self.new_game()
        self.say(f"info string The evaluator is {name_of(self.evaluator)}.")

    def think(self, deliberation: Deliberation) -> str:
        """Search and report; return the answer to `go`."""
        self.prepare(deliberation.options)
        if not root_actions(deliberation.game):
            return self._nothing_to_search(deliberation)
        try:
            return self._answer(deliberation, self._run_search(deliberation))
        except Exception as error:
            self.say(f"info string {_sentence(error)} This move is made by material.")
            saved, self.evaluator = self.evaluator, Material()
            self.new_game()
            try:
                return self._answer(deliberation, self._run_search(deliberation))
            finally:
                self.evaluator = saved
                self.new_game()

    def _run_search(self, deliberation: Deliberation) -> SearchResult:
        deliberation.late = self._late
        if deliberation.options.show_wdl:
            deliberation.draws = draw_share(self.evaluator, deliberation.game)
        search, state = self._prepare_search(deliberation)
        search.limit(**deliberation.limits())
        result = search.run(state, progress=deliberation.watch(search))
        given = deliberation.budget
        if given is not None and result.stopped_by == "seconds":
            self._late = max(0.9 * self._late, deliberation.thought - given.most)
        return result

    def _prepare_search(self, deliberation: Deliberation) -> tuple[Search, Chess | None]:
        """Return the search to run, and its state; None if the old tree is reused."""
        options, game = deliberation.options, deliberation.game
        if deliberation.go.searchmoves:
            self._root = None
            self._search = Search(self.evaluator, self._config(options))
            return self._search, game.restricted(deliberation.go.searchmoves)
        play = (options.limit_strength, options.elo, options.temperature)
        tree = (options.hash, options.c_puct, options.fpu, options.batch_size, options.syzygy_path)
        actions = None if self._root is None else moves_between(self._root, game)
        kept = self._settings == (play, tree)
        self._settings, self._root = (play, tree), game
        if self._search is not None and kept and actions is not None:
            self._search.advance(*actions)
            return self._search, None
        self._search = Search(self.evaluator, self._config(options))
        return self._search, game

    def _config(self, options: Options) -> SearchConfig:
        weak = strength(options.elo) if options.limit_strength else None
        temperature = options.temperature if weak is None else weak.temperature
        native = isinstance(self.evaluator, NativeEvaluator)
        megabytes = options.hash if native else options.hash - options.hash // CACHE_SHARE
        return SearchConfig(
            simulations=None,
            seconds=FOREVER,
            bytes=megabytes * 2**20,
            c_puct=options.c_puct,
            fpu=cast(FpuRule | float, options.fpu),
            temperature=temperature,
            leaves_in_flight=options.batch_size or preferred_batch_of(self.evaluator) or 1,
            seed=random.getrandbits(63) if temperature else 0,
        )

    def _answer(self, deliberation: Deliberation, result: SearchResult) -> str:
        if deliberation.options.verbose_move_stats:
            for line in move_stats(result):
                self.say(line)
        deliberation.report(result)
        deliberation.wait()
        moves = line_of(chosen(result))
        return f"bestmove {moves[0]}" + (f" ponder {moves[1]}" if len(moves) > 1 else "")

    def _nothing_to_search(self, deliberation: Deliberation) -> str:
        """Return the answer if the game is over: no move, or any legal one (few pieces)."""
        deliberation.wait()
        game = deliberation.game
        mated = game.outcome == "checkmate"
        self.say(f"info depth 0 score {'mate 0' if mated else 'cp 0'}")
        return f"bestmove {next(iter(game.divide(1)), '(none)')}"


def _sentence(error: Exception) -> str:
    """Format an error on one line; unexpected ones with their type."""
    text = " ".join(str(error).split()) or "no reason given"
    known = isinstance(error, SylvanError | OSError)
    return text if known else f"{type(error).__name__}: {text}"
