"""The opinion that a run's networks have of a position, step by step of the training.

A run keeps networks of earlier steps (`sylvan.runs.history`). Each is asked once; a network that
appears while a page looks is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, SylvanError
from sylvan.games import Game
from sylvan.games.positions import position_of
from sylvan.planning.roots import as_root, hides
from sylvan.runs.history import networks_by_step
from sylvan.runs.run import Run
from sylvan.web import protocol as p
from sylvan.web.boards import actions_of, board_of, mover, still
from sylvan.web.looking import opinion_of
from sylvan.web.rows import finite, labels_of

__all__ = ["Opinions", "policy_of", "shares_of"]

MOVES = 8
"""Moves of a policy that are sent."""


@dataclass
class Opinions:
    """A position, and what the networks of a run think of it."""

    name: str
    run: Run
    text: str
    known: dict[int, p.Opinion] = field(default_factory=dict)
    """By step."""

    def __post_init__(self) -> None:
        """:raises SylvanError: the text is no position of the game in which a seat is to move."""
        spec = self.run.config.game.spec
        if spec.is_gymnasium:
            raise ConfigError(f"{spec.name} has no positions to type: watch its film instead.")
        self.state: Game = position_of(spec, self.text.split())
        if hides(self.state):
            raise ConfigError(f"Positions of {spec.name} cannot be typed: cards are hidden.")
        if mover(self.state) is None:
            raise ConfigError("No seat is to move in this position: choose an earlier one.")

    def add_new(self) -> bool:
        """Ask the networks that were not asked yet; returns whether there are any.

        A network that is deleted meanwhile is left out.
        """
        new = {s: path for s, path in networks_by_step(self.run).items() if s not in self.known}
        asked = len(self.known)
        for step, path in new.items():
            try:
                self.known[step] = self._ask(step, path)
            except SylvanError:
                if path.is_file():
                    raise
        return len(self.known) > asked

    def message(self) -> p.Opinions:
        seat = mover(self.state)
        assert seat is not None
        return p.Opinions(
            run=self.name,
            text=self.text,
            board=still(board_of(self.state)),
            seat=seat,
            steps=[self.known[step] for step in sorted(self.known)],
        )

    def _ask(self, step: int, path: Path) -> p.Opinion:
        if self.run.config.run.algorithm == "muzero":
            return self._ask_model(step, path)
        from sylvan.evaluators.pytorch import TorchEvaluator

        evaluator, names = TorchEvaluator(path, device="cpu"), actions_of(self.state)
        named = {info.action: info.label for info in names}
        value, priors = opinion_of(evaluator, self.state, named)
        seat = mover(self.state)
        assert value is not None and seat is not None
        return p.Opinion(step=step, value=finite(value[seat]), policy=priors[:MOVES])

    def _ask_model(self, step: int, path: Path) -> p.Opinion:
        """A learned model's heads at the root."""
        from sylvan.muzero.evaluation import in_memory
        from sylvan.muzero.model import TorchModel
        from sylvan.networks.checkpoint import load_network

        model = TorchModel(load_network(path), device="cpu")
        output = model.initial_inference(np.asarray(self.state.observation())[None])
        legal = [int(action) for action in as_root(self.state).legal_actions()]
        return p.Opinion(
            step=step,
            value=finite(float(np.ravel(in_memory(output[0]))[0])),
            policy=policy_of(self.state, legal, shares_of(in_memory(output[2])[0], legal)),
        )


def policy_of(state: Game, actions: Sequence[int], shares: Sequence[float]) -> list[p.Considered]:
    """Actions with their probabilities, the likeliest first."""
    likeliest = sorted(zip(shares, actions, strict=True), reverse=True)[:MOVES]
    return [
        p.Considered(
            action=action,
            label=labels_of(state, [action])[0],
            N=0,
            Q=None,
            P=share,
            U=None,
            urgency=None,
        )
        for share, action in likeliest
    ]


def shares_of(logits: NDArray[Any], legal: Sequence[int]) -> list[float]:
    """The probabilities that logits give to the legal actions."""
    chosen = logits[list(legal)].astype(np.float64)
    powers = np.exp(chosen - chosen.max())
    shares: list[float] = (powers / powers.sum()).tolist()
    return shares
