"""The search that the document `blob-mcts-node` announces, thin over `sylvan.Search`.

    mcts = MCTS(network, num_simulations=100, c_puct=1.5)
    mcts.search(game, game.current_player)          # {action: probability}
    mcts.select_action(game, game.current_player)   # the most visited action

- The search sees what the player sees: from a whole game it takes that player's view, and every
  simulation draws the hidden cards anew.
- The network is asked once per leaf: its policy gives the priors of the legal actions, its values,
  one per player, are backed up. A round that is over has its real result instead.
- The tree is kept: if the next position follows from the last one, the search continues there.
- `settings` are those of `SearchConfig`. Three are the document's later steps: `leaves_in_flight`
  (virtual loss), `widening` (progressive widening) and `rave`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from sylvan.classic.blob_game import BlobGame, Player
from sylvan.classic.formulas import tempered
from sylvan.errors import ConfigError, GameOver, SylvanError, WrongPlayer
from sylvan.games.blob import FIRST_BID, Blob
from sylvan.planning import Search

if TYPE_CHECKING:
    from sylvan.evaluators import EvaluatorLike
    from sylvan.planning import SearchResult, SearchSettings

__all__ = ["MCTS"]


class MCTS:
    """A search for one player at a table of Blob.

    >>> game = BlobGame(num_players=3)
    >>> game.setup_round(cards_to_deal=2, seed=1)
    >>> mcts = MCTS("uniform", num_simulations=200)
    >>> probabilities = mcts.search(game, game.current_player)
    >>> list(probabilities), round(sum(probabilities.values()), 6)
    ([0, 1, 2], 1.0)
    """

    def __init__(
        self,
        network: EvaluatorLike | None = None,
        num_simulations: int = 100,
        **settings: Unpack[SearchSettings],
    ) -> None:
        """Prepare searches.

        Args:
            network: an evaluator, its name, a network's file, or a function from leaves to logits
                and values; None: the card counter, which plays rounds out
            num_simulations: per search
            settings: other settings of `SearchConfig`; `c_puct` is 1.5, as in the document
        """
        given: dict[str, Any] = {"num_simulations": num_simulations, "proofs": False, **settings}
        self._search = Search(network, **given)
        self._view: Blob | None = None
        """The view at the root of the tree."""

    def search(
        self, game_state: BlobGame, player: Player | None = None, temperature: float = 1.0
    ) -> dict[int, float]:
        """Search a position, in the tree of the last search if the position follows from it.

        Args:
            game_state: a whole game, or what `player` sees of it; not changed
            player: whose turn it is; None: ask the game
            temperature: 1 gives shares of visits, 0 all to the most visited action

        Returns:
            The probability of each legal action, in the document's codes.

        :raises GameOver: the round is over.
        :raises WrongPlayer: it is another player's turn.
        """
        result = self._run(_view(game_state, player))
        codes = {code: game_state.from_code(code) for code in result.game.legal_actions()}
        if temperature == 0:
            return {action: float(code == result.best) for code, action in codes.items()}
        shares = {action: float(result.policy[code]) for code, action in codes.items()}
        return tempered(shares, temperature)

    def select_action(
        self, game_state: BlobGame, player: Player | None = None, temperature: float = 0.0
    ) -> int:
        """Search, then draw an action; at temperature 0 take the most visited one."""
        shares = self.search(game_state, player, temperature)
        return int(np.random.choice(list(shares), p=list(shares.values())))

    @property
    def result(self) -> SearchResult:
        """The result of the last search: values, statistics and the tree."""
        return self._search.result

    def _run(self, view: Blob) -> SearchResult:
        forward = None if self._view is None else _actions_between(self._view, view)
        if forward is not None:
            self._search.advance(*forward)
            self._view = view
            return self._search.run()
        self._view = None  # no tree of this view, should the search fail
        result = self._search.run(view)
        self._view = view
        return result


def _view(game: BlobGame, player: Player | None) -> Blob:
    """The view of the player to move."""
    if not isinstance(game, BlobGame):
        raise ConfigError(f"game_state is a {type(game).__name__}: give a BlobGame.")
    turn = game.current_player
    if turn is None:
        raise GameOver("The round is over: search a position that still has a move.")
    if player is not None and player != turn:
        raise WrongPlayer(f"{player} was named, but it is {turn}'s turn: name {turn}.")
    return game.observe(turn).state if game.sees_all else game.state


def _actions_between(earlier: Blob, later: Blob) -> list[int] | None:
    """The actions that lead from one view of a round to another; None if none do."""
    before, after = _history(earlier), _history(later)
    actions, state = after[len(before) :], earlier.clone()
    try:
        for action in actions:
            state.apply(action)
    except SylvanError:
        return None
    return actions if state.key() == later.key() else None


def _history(view: Blob) -> list[int]:
    """The bids and cards of a round, in order."""
    first = view.dealer + 1
    bids = [*view.bids[first:], *view.bids[:first]]
    made = [FIRST_BID + bid for bid in bids if bid is not None]
    return made + [card for _, card in view.plays]
