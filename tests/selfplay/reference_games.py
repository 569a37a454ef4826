"""Games of self-play move by move with `sylvan.reference`: what actors must play.

All random choices of a game come from streams of its seed, as `selfplay/seeds.rs` lists them. The
evaluator is a hash of the observation, so a position has the same answer in every batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from sylvan import reference
from sylvan._native import Rng, mix
from sylvan.games import Game
from sylvan.planning import SearchConfig
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import verdict

START, PLAY_ON = 0, 1
SEARCH, FULL, ACTION, CHANCE = 0, 1, 2, 3

FACTOR = 0x9E3779B97F4A7C15
MASK = 2**64 - 1


def hashed(
    observation: Any, indices: Sequence[int], seats: int, value_range: tuple[float, float]
) -> tuple[list[float], list[float]]:
    """Logits in -2..2 for some policy outputs, and values in a range, zero-sum for two seats."""
    data = np.ascontiguousarray(observation).tobytes()
    key = int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
    mixed = [((key ^ int(index)) * FACTOR & MASK) >> 48 for index in indices]
    low, high = value_range
    parts = [(key >> 16 * (3 - seat % 4) & 0xFFFF) / 65536 for seat in range(seats)]
    values = [low + (high - low) * part for part in parts]
    if seats == 2:
        values[1] = -values[0]
    return [x / 16384 - 2 for x in mixed], values


def evaluate_states(states: list[Game]) -> list[tuple[list[float], list[float]]]:
    """Answer the reference."""
    return [
        hashed(
            state.observation(),
            [getattr(state, "logit_index", int)(action) for action in state.legal_actions()],
            state.num_players,
            state.value_range,
        )
        for state in states
    ]


def evaluate_leaves(leaves: Any) -> tuple[np.ndarray, np.ndarray]:
    """Answer a batch of leaves."""
    seats, value_range = leaves.forest.num_players, leaves.forest.value_range
    answers = [
        hashed(seen, leaves.logit_indices[first:end], seats, value_range)
        for seen, first, end in zip(
            leaves.observations, leaves.offsets[:-1], leaves.offsets[1:], strict=True
        )
    ]
    logits = np.array([x for answer in answers for x in answer[0]], np.float32)
    return logits, np.array([answer[1] for answer in answers], np.float32)


class ReferenceGame:
    """One game of self-play, played by the reference when it is created."""

    def __init__(
        self,
        first: Game,
        config: SelfPlayConfig,
        search: SearchConfig,
        seed: int,
        number: int,
        positions: Sequence[Sequence[int]] = (),
    ) -> None:
        self.config, self.search_config = config, search
        self.seed = mix(seed, number)
        self.state, self.plies = first.clone(), list[dict[str, Any]]()
        self.low, self.would, self.ending = [0, 0], -1, ""
        share = config.resign_play_on if config.resign_below is not None else 0.0
        self.play_on = share > 0 and Rng(self.seed, PLAY_ON).uniform() < share
        self._start(positions)
        self.search: reference.Search | None = None
        while not self.ending:
            self._move()

    def _start(self, positions: Sequence[Sequence[int]]) -> None:
        rng, config = Rng(self.seed, START), self.config
        kind, actions = rng.uniform(), list[int]()
        if kind < config.restart_share and positions:
            actions = list(positions[rng.below(len(positions))])
        elif config.restart_share <= kind < config.restart_share + config.opening_share:
            actions = self._random_opening(rng)
        for action in actions:
            self._apply(action, -1 if self.state.is_chance() else self.state.to_play())
        while not self.state.is_terminal() and self.state.is_chance():
            outcomes = list(self.state.chance_outcomes())
            self._apply(outcomes[rng.pick([p for _, p in outcomes])][0], -1)
        self.opening = len(self.plies)

    def _random_opening(self, rng: Rng) -> list[int]:
        for _ in range(100):
            state, actions = self.state.clone(), list[int]()
            moves = 1 + rng.below(self.config.opening_plies)
            while moves and not state.is_terminal():
                legal = list(state.legal_actions())
                actions.append(legal[rng.below(len(legal))])
                moves -= 1
                state.apply(actions[-1])
            if not state.is_terminal():
                return actions
        return []

    def _apply(self, action: int, seat: int, **searched: Any) -> None:
        self.state.apply(action)
        self.plies.append({"action": action, "seat": seat, **searched})
        if type(self.state).rewards is not Game.rewards:
            self.plies[-1]["rewards"] = self.state.rewards()

    def _move(self) -> None:
        """Search, move, and end the game if it is over."""
        seed, config = mix(self.seed, 2 + len(self.plies)), self.config
        full = config.full_share >= 1 or Rng(seed, FULL).uniform() < config.full_share
        warm = len(self.plies) < config.temperature_plies
        settings = self.search_config.replace(
            temperature=config.temperature if warm else config.final_temperature
        )
        if not full:
            settings = settings.replace(
                simulations=config.fast_simulations, noise=False, forced_playouts=0.0
            )
        search = self._search(settings)
        search.rng = Rng(seed, SEARCH)
        root = search.run()
        values = root.proven or [root.value(seat) for seat in range(search.seats)]
        search.rng = Rng(seed, ACTION)
        action = reference.pick(search)
        ply = {
            "policy_actions": list(root.children),
            "policy": reference.policy(search),
            "values": np.array(values, np.float32),
            "weight": float(full),
        }
        resigned = self._resigns(root.seat, float(ply["values"][root.seat]))
        self._apply(action, root.seat, **ply)
        self._continue(action)
        limit = config.max_plies
        if self.state.is_terminal():
            self.ending, self.returns = "end", self.state.returns()
        elif resigned:
            low, high = self.state.value_range
            self.ending = "resign"
            self.returns = tuple(low if seat == self.would else high for seat in range(2))
        elif limit is not None and len(self.plies) >= limit:
            self.ending, self.returns = "limit", verdict(self.state, config.verdict)

    def _search(self, settings: SearchConfig) -> reference.Search:
        """Return the search of the seat to move; its tree may be kept from the last move."""
        if self.search is None or not self.config.reuse:
            self.search = reference.Search(self.state, evaluate_states, settings)
        self.search.config = settings
        return self.search

    def _continue(self, action: int) -> None:
        """Follow a move in the tree, and what chance does then."""
        assert self.search is not None
        self.search.advance(action)
        while not self.state.is_terminal() and self.state.is_chance():
            outcome = self._outcome()
            self._apply(outcome, -1)
            self.search.advance(outcome)

    def _outcome(self) -> int:
        """The outcome that chance draws at this ply."""
        rng = Rng(mix(self.seed, 2 + len(self.plies)), CHANCE)
        outcomes = list(self.state.chance_outcomes())
        return int(outcomes[rng.pick([p for _, p in outcomes])][0])

    def _resigns(self, seat: int, value: float) -> bool:
        config = self.config
        if config.resign_below is None:
            return False
        low, high = self.state.value_range
        scaled = (value - (low + high) / 2) / ((high - low) / 2)
        self.low[seat] = self.low[seat] + 1 if scaled < config.resign_below else 0
        if self.low[seat] < config.resign_turns or self.would >= 0:
            return False
        self.would = seat
        return not self.play_on


class HiddenReferenceGame(ReferenceGame):
    """A game in which seats do not see everything: every search starts from the mover's view, and a
    seat with one legal action takes it without a search.
    """

    def _start(self, positions: Sequence[Sequence[int]]) -> None:
        super()._start(positions)
        self._continue_unsearched()

    def _search(self, settings: SearchConfig) -> reference.Search:
        view = self.state.observe(self.state.to_play())
        return reference.DealSearch(view, evaluate_states, settings.replace(proofs=False))

    def _continue(self, action: int) -> None:
        self._continue_unsearched()

    def _continue_unsearched(self) -> None:
        while not self.state.is_terminal():
            if self.state.is_chance():
                self._apply(self._outcome(), -1)
            elif len(legal := self.state.legal_actions()) == 1:
                self._apply(legal[0], self.state.to_play())
            else:
                return
