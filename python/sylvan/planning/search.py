"""One tree, one call: `search` for a single position, `Search` to keep the tree between moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sylvan.errors import ConfigError, SearchStateError
from sylvan.evaluators import evaluator_for, evaluator_named
from sylvan.planning.config import SearchConfig, configured
from sylvan.planning.forest import Forest
from sylvan.planning.result import SearchResult
from sylvan.planning.roots import action_codes, need_fair, need_game, need_turn, shown_to

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Search", "Status", "search"]


@dataclass(frozen=True)
class Status:
    """How far a search has come, for those who watch it."""

    simulations: int
    limit: int | None
    elapsed: float
    seconds: float | None


Progress = Callable[[Status], Any]


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
        evaluator: Any = None,
        config: SearchConfig | None = None,
        *,
        evaluate: Any = None,
        **settings: Any,
    ) -> None:
        """Prepare a search.

        Args:
            evaluator: a function from `Leaves` to policy logits and values (as `Forest.update`
                takes them), an evaluator, the name of one, or None for the game's default. If it
                has an attribute `encoding`, positions show themselves so; if it has one
                `preferred_batch`, so many leaves are in flight, unless the settings say otherwise
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
        """Search from `state`, or go on from where `advance` led.

        `progress` is called several times a second and ends the search by returning False. After
        Ctrl-C, or any error of the evaluator, `result` gives what was found until then.
        """
        start = self._planted().states[0] if state is None else state
        need_game(start, "The position")
        need_fair(start, self.config, "The position")
        need_turn(start, "The position")
        start = shown_to(start, self.evaluate)
        forest = self._planted() if state is None else Forest([start], self.config)
        evaluator = evaluator_for(forest.states[0], self.evaluate)
        forest.begin(None if noise is None else [noise])
        self._forest = forest
        forest.run(evaluator, None if progress is None else lambda: self._report(forest, progress))
        return forest.result()

    def _report(self, forest: Forest, progress: Progress) -> None:
        done = forest._native.progress(0)[0]
        status = Status(done, self.config.simulations, forest.seconds, self.config.seconds)
        if progress(status) is False:
            forest.stop()

    def _planted(self) -> Forest:
        if self._forest is None:
            raise SearchStateError("There is no tree yet: call run(state) first.")
        return self._forest

    def limit(self, **limits: Any) -> None:
        """End searches otherwise from the next one on; the tree stays.

        `limits` are `simulations`, `seconds`, `nodes` and `depth`; those not named stay.
        """
        if self._forest is None:
            self.config = self.config.replace(**limits)
        else:
            self._forest.limit(**limits)
            self.config = self._forest.config

    def advance(self, *actions: int | str, view: Game | None = None) -> None:
        """Play actions: the subtree behind them is kept, the rest is freed.

        Actions are codes, or names as people write them: `advance("e4", "e5")`. `view` is what the
        seat that searches then knows, where its old view cannot tell.
        """
        forest = self._planted()
        forest.advance(0, *action_codes(forest.state(0), actions), view=view)

    @property
    def state(self) -> Game:
        """The position at the root, as a copy."""
        return self._planted().states[0].clone()

    @property
    def result(self) -> SearchResult:
        """What is known now, also after an interrupted search."""
        return self._planted().result()

    def stop(self) -> None:
        """End the search that is under way; may be called from any thread."""
        self._planted().stop()


def _batched(config: SearchConfig, evaluator: Any) -> SearchConfig:
    """The settings with as many leaves in flight as the evaluator prefers, if they do not say.

    At most one in 32 simulations is in flight, so that short searches still see what they find.
    """
    preferred = getattr(evaluator, "preferred_batch", None)
    if preferred is None or "leaves_in_flight" in config.model_fields_set:
        return config
    most = min(limit for limit in (config.simulations, config.nodes, 2**17) if limit is not None)
    return config.replace(leaves_in_flight=max(1, min(int(preferred), most // 32)))


def search(
    game: Game,
    *,
    evaluator: Any = None,
    progress: Progress | None = None,
    config: SearchConfig | None = None,
    **settings: Any,
) -> SearchResult:
    """Search one position.

    >>> from sylvan.games import TicTacToe
    >>> search(TicTacToe([4, 0, 8]), simulations=2000, evaluator="uniform", seed=1).value <= 0
    True
    """
    need_game(game, "The position")
    return Search(evaluator, config, **settings).run(game, progress=progress)
