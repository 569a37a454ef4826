"""Search one position: `search` once, `Search` to keep the tree between moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from sylvan.errors import ConfigError, SearchStateError
from sylvan.evaluators import evaluator_for, evaluator_named
from sylvan.evaluators.protocol import Evaluator, EvaluatorLike, preferred_batch_of
from sylvan.planning.config import SearchConfig, configured
from sylvan.planning.described import lists_settings
from sylvan.planning.forest import Forest
from sylvan.planning.keywords import Limits, SearchSettings
from sylvan.planning.moves import action_codes
from sylvan.planning.result import SearchResult
from sylvan.planning.roots import checked_root, need_fair, need_turn, shown_to
from sylvan.planning.tree import TreeView

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Search", "Status", "search"]


@dataclass(frozen=True)
class Status:
    """Progress of a running search."""

    simulations: int
    """Simulations so far."""
    limit: int | None
    """The limit on simulations; None: no limit."""
    elapsed: float
    """Seconds so far."""
    seconds: float | None
    """The limit on seconds; None: no limit."""


Progress = Callable[[Status], object]
"""Called several times per second during a search; returns False to end it."""


@lists_settings
class Search:
    """A search that keeps its tree from move to move.

    >>> from sylvan.games import TicTacToe
    >>> search = Search("uniform", simulations=500)
    >>> result = search.run(TicTacToe([0, 3, 1, 4]))
    >>> result.best_label, result.stopped_by
    ('2', 'proven')
    """

    def __init__(
        self,
        evaluator: EvaluatorLike | None = None,
        config: SearchConfig | None = None,
        *,
        evaluate: EvaluatorLike | None = None,
        **settings: Unpack[SearchSettings],
    ) -> None:
        """Prepare a search.

        Args:
            evaluator: a function from `Leaves` to policy logits and values (as `Forest.update`
                takes them), an evaluator, the name of one, or None for the game's default. If it
                has an attribute `encoding`, observations have this encoding. If it has an attribute
                `preferred_batch`, this many leaves are in flight unless the settings give a number
            config: the settings
            evaluate: another name of `evaluator`
            settings: changes to them, by name
        """
        if evaluator is not None and evaluate is not None:
            raise ConfigError("evaluator and evaluate are the same: give one of them.")
        self.evaluate = evaluator_named(evaluate if evaluator is None else evaluator)
        self.config = _batched(configured(config, settings), self.evaluate)
        self._forest: Forest | None = None

    def run(
        self,
        state: Game | None = None,
        *,
        progress: Progress | None = None,
        noise: Sequence[float] | None = None,
    ) -> SearchResult:
        """Search `state`, or without it the position that `advance` reached.

        `progress` is called several times per second and ends the search by returning False. After
        Ctrl-C or an error of the evaluator, `result` has what was found so far.
        """
        forest, evaluator = self._reused() if state is None else self._planted(state)
        return self._run(forest, evaluator, progress, noise)

    def resume(self, result: SearchResult, *, progress: Progress | None = None) -> SearchResult:
        """Go on with the search of a result, also of one that `SearchResult.load` read.

        The tree of `result` takes the place of this search's; the limits count anew, as in a second
        `run()`. With the result's evaluator and settings (`result.config`) the visits are those of
        a search that was never interrupted, if

        - the result has the whole tree: a node that a file leaves out is evaluated again
        - nothing is random: chance, playouts and noise draw other numbers, and priors at the root
          keep the noise they had
        - leaves are evaluated one by one (`leaves_in_flight=1`); else batches begin elsewhere
        - the value range is known, not learned from the tree.

        :raises ConfigError: the search was Gumbel, had RAVE, or was over hidden cards.
        """
        forest, evaluator = self._planted(result.game)
        forest.restore(0, result.tree)
        return self._run(forest, evaluator, progress, None)

    def _run(
        self,
        forest: Forest,
        evaluator: Evaluator,
        progress: Progress | None,
        noise: Sequence[float] | None,
    ) -> SearchResult:
        forest.begin(None if noise is None else [noise])
        self._forest = forest
        watch = None if progress is None else lambda: self._report(forest, progress)
        forest.run_with(evaluator, watch)
        return forest.result()

    def _planted(self, state: Game) -> tuple[Forest, Evaluator]:
        """A forest of one new tree, and its evaluator."""
        root = checked_root(state, self.config)
        evaluator = evaluator_for(root, self.evaluate)
        config = self.config if self.evaluate is not None else _batched(self.config, evaluator)
        return Forest.of_roots([shown_to(root, evaluator)], config), evaluator

    def _reused(self) -> tuple[Forest, Evaluator]:
        """The forest of the last search, whose root may have moved, and its evaluator."""
        forest = self._searched()
        need_fair(forest.state(0), self.config, "The position")
        need_turn(forest.state(0), "The position")
        return forest, evaluator_for(forest.state(0), self.evaluate)

    def _searched(self) -> Forest:
        if self._forest is None:
            raise SearchStateError("There is no tree yet: call run(state) first.")
        return self._forest

    def _report(self, forest: Forest, progress: Progress) -> None:
        done = forest.progress().simulations
        status = Status(done, self.config.simulations, forest.seconds, self.config.seconds)
        if progress(status) is False:
            forest.stop()

    def limit(self, **limits: Unpack[Limits]) -> None:
        """Change the limits from the next search on; the tree stays.

        `limits` are `simulations`, `seconds`, `nodes` and `depth`; those not named stay.
        """
        if self._forest is None:
            self.config = self.config.replace(**limits)
        else:
            self._forest.limit(**limits)
            self.config = self._forest.config

    def advance(self, *actions: int | str, view: Game | None = None) -> None:
        """Move the root along some actions: the subtree behind them is kept, the rest is freed.

        Actions are codes, or names: `advance("e4", "e5")`. `view` is the searching seat's new view,
        if its old one cannot tell.
        """
        forest = self._searched()
        forest.advance(0, *action_codes(forest.state(0), actions), view=view)

    @property
    def state(self) -> Game:
        """A copy of the position at the root."""
        return self._searched().state(0).clone()

    @property
    def best(self) -> int:
        """The best action so far; cheaper than `result`."""
        return self._searched().best()

    @property
    def tree(self) -> TreeView:
        """The tree as it is now; cheaper than `result`."""
        return self._searched().tree()

    @property
    def result(self) -> SearchResult:
        """The result so far, also during a search or after an interrupted one."""
        return self._searched().result()

    def stop(self) -> None:
        """End the running search; from any thread."""
        self._searched().stop()


def _batched(config: SearchConfig, evaluator: Evaluator | None) -> SearchConfig:
    """The settings with as many leaves in flight as the evaluator prefers, unless they are set.

    At most one in 32 simulations is in flight, so that short searches still use their results.
    """
    preferred = None if evaluator is None else preferred_batch_of(evaluator)
    if preferred is None or "leaves_in_flight" in config.model_fields_set:
        return config
    most = min(limit for limit in (config.simulations, config.nodes, 2**17) if limit is not None)
    return config.replace(leaves_in_flight=max(1, min(int(preferred), most // 32)))


@lists_settings
def search(
    game: Game,
    *,
    evaluator: EvaluatorLike | None = None,
    progress: Progress | None = None,
    config: SearchConfig | None = None,
    **settings: Unpack[SearchSettings],
) -> SearchResult:
    """Search one position.

    >>> from sylvan.games import TicTacToe
    >>> search(TicTacToe([4, 0, 8]), simulations=2000, evaluator="uniform", seed=1).value <= 0
    True
    """
    searcher = Search(evaluator, config, **settings)
    return searcher._run(*searcher._planted(game), progress, None)
