"""A group of games of a lease, which are planned in one search per move.

A round has three parts, so that another group can be planned meanwhile:

    plan     views → search → an action per game
    step     apply the actions
    settle   log the plies; finished games end, new ones begin in their slots

`plan` and `step` touch only the group; `settle` also the lease's book. All random choices come from
the seed of a game and its ply, so what is played does not depend on slots, groups or other games.

An episode of one seat that is truncated, comes to the move limit or to the end of its part in this
lease is searched once more in its last state: that value replaces the missing return.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from sylvan._native import drawn_edges, full_searches, ply_seeds
from sylvan.games.game import Game
from sylvan.muzero.game_slots import GameSlots, Views
from sylvan.muzero.lease_book import LeaseBook
from sylvan.muzero.resignation import Resignation
from sylvan.muzero.search import latent_search
from sylvan.muzero.starts import Order, checksum
from sylvan.muzero.turns import CUT, FAILED, need_turns
from sylvan.planning import LatentModel, SearchConfig
from sylvan.planning.outcomes import OVER, Outcomes, Transitions
from sylvan.selfplay.config import SelfPlayConfig

__all__ = ["GameGroup"]

EMPTY = -1
"""The game of an empty slot."""


class GameGroup:
    """Games in N slots.

    :param first: any state of the game.
    :param name: of the game, for errors.
    """

    def __init__(
        self,
        book: LeaseBook,
        slots: GameSlots,
        count: int,
        first: Game,
        name: str,
        model: LatentModel,
        config: SelfPlayConfig,
        search: SearchConfig,
    ) -> None:
        self.book, self.slots, self.config, self.name = book, slots, config, name
        self.seats = first.num_players
        self.seconds = 0.0
        """Time spent in searches, including the model."""
        self._full = latent_search(model, first, search)
        fast = search.replace(simulations=config.fast_simulations, noise=False)
        self._fast = latent_search(model, first, fast)
        self._resignation = Resignation(config, first, count)
        self._game = np.full(count, EMPTY, np.int64)
        """The index in the lease of the game in each slot."""
        self._seed = np.zeros(count, np.uint64)
        self._ply, self._begun = np.zeros(count, np.int64), np.zeros(count, np.int64)
        """Plies of the episode so far, and when this part of it began."""
        self._rows: NDArray[np.int64]
        self._views: Views
        self._cut: NDArray[np.bool_]
        self._found: list[tuple[NDArray[np.int64], Outcomes, bool]]
        self._actions: NDArray[np.int64]
        self._transitions: Transitions
        self._fill(list(range(count)))

    @property
    def is_over(self) -> bool:
        """Whether no game is left."""
        return not (self._game != EMPTY).any()

    def plan_and_step(self) -> None:
        """Search all games, choose their moves and apply them."""
        self.plan()
        self.step()

    def plan(self) -> None:
        """Search all games and choose their moves."""
        rows = self._rows = np.flatnonzero(self._game != EMPTY)
        views = self._views = self.slots.views(rows)
        plies = self._ply[rows]
        self._cut = views.cut | (self._at_limit(rows) | self._at_segment(rows))
        seeds = ply_seeds(self._seed[rows], plies)
        full = full_searches(seeds, self.config.full_share)
        began = time.perf_counter()
        self._found = [
            (part, self._searched(part, seeds, full=is_full), is_full)
            for is_full, part in ((True, np.flatnonzero(full)), (False, np.flatnonzero(~full)))
            if len(part)
        ]
        self.seconds += time.perf_counter() - began
        warm = plies < self.config.temperature_plies
        temperatures = np.where(warm, self.config.temperature, self.config.final_temperature)
        self._actions = np.empty(len(rows), np.int64)
        for part, found, _ in self._found:
            self._actions[part] = _picked(found, temperatures[part], seeds[part])

    def _searched(
        self, part: NDArray[np.int64], seeds: NDArray[np.uint64], *, full: bool
    ) -> Outcomes:
        """Search some of the games that are viewed."""
        views = self._views
        search = self._full if full else self._fast
        forest = search.search(
            views.observations[part], views.legal[part], seats=views.seats[part], seeds=seeds[part]
        )
        return forest.outcomes()

    def _at_limit(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`[n]` games of one seat that have come to the move limit."""
        limit = self.config.max_plies if self.seats == 1 else None
        plies = self._ply[rows]
        return (plies >= (math.inf if limit is None else limit)) & (plies > self._begun[rows])

    def _at_segment(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`[n]` games of one seat that have come to the end of their part in this lease."""
        limit = self.config.segment_plies if self.seats == 1 else None
        played = self._ply[rows] - self._begun[rows]
        return played >= (math.inf if limit is None else limit)

    def step(self) -> None:
        """Apply the moves."""
        moves = np.full(len(self._game), -1, np.int64)
        moves[self._rows] = np.where(self._cut, -1, self._actions)
        self._transitions = self.slots.play(moves)

    def settle(self) -> None:
        """Log the plies; end games that are over, and begin others in their slots."""
        rows, moved = self._rows, self._transitions
        turns = np.where(self._cut, CUT, moved.turns[rows])
        present = ~(self._cut | (turns == FAILED))
        resigned = np.zeros(len(rows), bool)
        for part, found, full in self._found:
            resigned[part] = self._log(part, found, turns[part], present[part], full=full)
        self._ply[rows[present]] += 1
        over = (turns == OVER) | (turns == FAILED) | self._cut | resigned
        if self.seats > 1 and self.config.max_plies is not None:
            over |= self._ply[rows] >= self.config.max_plies
        ended = np.flatnonzero(over).tolist()
        for row in ended:
            self._end(row, int(turns[row]), resigned=bool(resigned[row]))
        if ended:
            self._fill([int(rows[row]) for row in ended])

    def _log(
        self,
        part: NDArray[np.int64],
        found: Outcomes,
        turns: NDArray[np.int64],
        present: NDArray[np.bool_],
        *,
        full: bool,
    ) -> NDArray[np.bool_]:
        """Log a ply of some games; return whether the seat that moved resigns."""
        rows, book = self._rows[part], self.book
        need_turns(self.name, found.seats, np.where(present, turns, OVER), self.seats)
        book.log.add(
            self._game[rows],
            found,
            present,
            self._actions[part],
            self._transitions.rewards[rows],
            self._views.observations[part],
            full=full,
        )
        simulations = int(found.simulations.sum())
        book.positions += len(part)
        book.simulations += simulations
        book.batches += 1 + int(found.simulations.max(initial=0))
        book.rows += len(part) + simulations
        resigned = np.zeros(len(part), bool)
        resigned[present] = self._resignation.resigned(
            rows[present], found.seats[present], found.values[present]
        )
        return resigned

    def _end(self, row: int, turn: int, *, resigned: bool) -> None:
        """End the game of a row."""
        slot = int(self._rows[row])
        game = int(self._game[slot])
        if turn == FAILED:
            self.book.drop(game, self.slots.faults[slot])
            self.slots.end(slot, failed=True)
            return
        returns, ending = self._result(row, slot, turn, resigned=resigned)
        columns = self.book.log.games
        columns["resigning"][game] = self._resignation.would[slot]
        columns["played_on"][game] = self._resignation.play_on[slot]
        self.book.end(game, ending, returns, self.slots.score(slot))
        if ending == "segment":
            columns["seen"][game] = checksum(self._views.observations[row])
            self.slots.keep(slot, int(columns["episodes"][game]), int(self._ply[slot]))
        else:
            self.slots.end(slot)

    def _result(
        self, row: int, slot: int, turn: int, *, resigned: bool
    ) -> tuple[NDArray[np.float32], str]:
        """The returns of a game that is over, and how it ended."""
        if turn == OVER:
            return self._transitions.returns[slot], "end"
        if turn == CUT and self._cut[row]:
            goes_on = not self._views.cut[row] and not self._at_limit(self._rows[row : row + 1])[0]
            return self._value(row), "segment" if goes_on else "limit"
        if resigned:
            return self._resignation.returns(slot), "resign"
        return self.slots.verdict(slot), "limit"

    def _value(self, row: int) -> NDArray[np.float32]:
        """The root value of the search of a row."""
        for part, found, _ in self._found:
            at = int(np.searchsorted(part, row))
            if at < len(part) and part[at] == row:
                value: NDArray[np.float32] = found.values[at]
                return value
        raise AssertionError("every row was searched")

    def _fill(self, empty: list[int]) -> None:
        """Begin games in empty slots; drop those that raise an error."""
        self._game[empty] = EMPTY
        again: dict[int, Order] = {}
        while orders := again | self.book.orders([slot for slot in empty if slot not in again]):
            openings = self.slots.begin(orders)
            empty, again = [], {}
            for slot, order in orders.items():
                opening = openings[slot]
                if isinstance(opening, Exception):
                    self.book.drop(order.game, opening)
                    self.slots.end(slot, failed=True)
                    empty.append(slot)
                    if order.before is not None:
                        again[slot] = self.book.instead(order)
                    continue
                self._game[slot], self._seed[slot] = order.game, order.seed
                self._begun[slot] = self._ply[slot] = len(order.before or opening.actions)
                self._resignation.begin(slot, order.seed)
                columns = self.book.log.games
                columns["restarted"][order.game] = opening.restarted
                if opening.actions:
                    columns["openings"][order.game] = len(opening.actions)
                    self.book.log.add_opening(order.game, *opening[:3])

    def stop(self) -> None:
        """End the search under way."""
        for search in (self._full, self._fast):
            if search.forest is not None:
                search.forest.stop()


def _picked(
    found: Outcomes, temperatures: NDArray[np.float64], seeds: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """`[n]` the actions to play: drawn from the policy target, or the search's best."""
    edges = drawn_edges(found.offsets, found.policy, temperatures, seeds)
    actions = found.best.astype(np.int64)
    warm = np.flatnonzero(edges >= 0)
    actions[warm] = found.actions[found.offsets[warm] + edges[warm]]
    return actions
