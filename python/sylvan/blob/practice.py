"""Practice: a network plays rounds of Blob with itself and with bots, and learns with PPO.

One iteration:

    rounds  ← some thousand tables in lock-step, actions drawn from the policy
    u       ← points of each seat above the others' mean, divided by the most that a round pays
    A_t     ← (V_{t+1} − V_t) + λ · A_{t+1} over a seat's own decisions, V at the end being u
    network ← some passes over these decisions: min(r · A, clip(r) · A), r = π(a) / π_old(a);
              the error of the predicted shares; a small entropy bonus, to keep exploring

There is no search and no stored verdict: the network learns from the results of its own play, so
it can become stronger than the bots of its training data. Speed: thousands of decisions per second
on a GPU.

V is the network's own value, or with `critic="deal"` the value of a second network, which sees all
hands (`critic.py`). The policy never sees them, and the saved network has the same format.

Papers: Schulman 2016 (advantages), Schulman 2017 (PPO).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from sylvan import _native
from sylvan.blob.critic import DealCritic, share_error
from sylvan.blob.players import Bot
from sylvan.games.blob import Blob
from sylvan.learning.average import Average
from sylvan.networks import Network
from sylvan.networks.checkpoint import save_network
from sylvan.networks.device import device_named
from sylvan.settings import Section

__all__ = ["Practice", "PracticeConfig", "practise"]

CELLS, HANDS, SEATS = 1338, 416, 8
TRUMPS = ("spades", "none", "turned_up")
"""The network treats suits alike, so one suit stands for all."""


class PracticeConfig(Section):
    """Settings of practice."""

    tables: int = Field(4096, ge=1, description="rounds per iteration, played in lock-step")
    alone: float = Field(0.5, ge=0, le=1, description="share of tables with the network alone")
    usual: float = Field(
        0.6, ge=0, le=1, description="share of tables with five players and up to seven cards"
    )
    curriculum: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of the time in which hands grow from one card to all; 0: all at once",
    )
    passes: int = Field(2, ge=1, description="passes over the decisions of an iteration")
    batch: int = Field(8192, ge=1, description="decisions per update")
    learning_rate: float = Field(3e-4, gt=0, description="at the start; decays to a tenth")
    clip: float = Field(0.2, gt=0, description="clip range of PPO's probability ratio")
    entropy: float = Field(0.003, ge=0, description="weight of the policy's entropy")
    trace: float = Field(0.9, ge=0, le=1, description="λ: how far an advantage looks ahead")
    critic: Literal["view", "deal"] = Field(
        "view", description="the input of V in advantages: the seat's view, or all hands"
    )
    average: float = Field(0.995, ge=0, lt=1, description="decay of the averaged weights")
    seed: int = Field(0, ge=0, description="seed of all random numbers")


@dataclass
class Experience:
    """N decisions of an iteration."""

    seen: NDArray[np.uint8]
    """`[N, 168]` observations, one bit per cell."""
    hands: NDArray[np.uint8]
    """`[N, 52]` all hands, seat to move first, one bit per cell; `[N, 0]` without a critic."""
    legal: NDArray[np.bool_]
    actions: NDArray[np.int64]
    logs: NDArray[np.float32]
    """`[N]` log-probability of the action when it was drawn."""
    advantages: NDArray[np.float32]
    shares: NDArray[np.float32]
    """`[N, 8]` shares of the seats, seat to move first; NaN marks empty seats."""


class Decisions(NamedTuple):
    """D decisions of the network, made at once at D tables."""

    tables: NDArray[np.int64]
    """`[D]`"""
    seats: NDArray[np.int64]
    """`[D]`"""
    seen: NDArray[np.uint8]
    """`[D, 168]`, as in `Experience`; likewise the next four."""
    hands: NDArray[np.uint8]
    legal: NDArray[np.bool_]
    actions: NDArray[np.int64]
    logs: NDArray[np.float32]
    values: NDArray[np.float32]
    """`[D, 8]` expected shares, the seat to move first."""


class Practice:
    """Trains a network by practice.

    :param network: a module of Blob with a header; trained in place.
    """

    def __init__(
        self, network: Network, config: PracticeConfig, device: str = "auto", threads: int = 1
    ) -> None:
        self.device, self.config, self.threads = device_named(device), config, threads
        self.network = network.to(self.device)
        self.average = Average(self.network, config.average)
        self.rng = np.random.default_rng(config.seed)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), weight_decay=0.01)
        self.critic = DealCritic(self.network) if config.critic == "deal" else None
        self._shifts = torch.arange(7, -1, -1, device=self.device, dtype=torch.uint8)
        self._others = [Bot("counter")] * 3 + [Bot("rule"), Bot("rollouts", deals=16)]

    # --- playing ----------------------------------------------------------------------------

    def play(self, progress: float = 1.0) -> Experience:
        """Play the rounds of an iteration.

        :param progress: the share of the practice that is over, for the curriculum.
        """
        games = [self._dealt(progress) for _ in range(self.config.tables)]
        casts = [self._cast(game.num_players) for game in games]
        seeds = self.rng.integers(0, 2**63, len(games)).tolist()
        rngs = [
            [_native.Rng(seed, seat) for seat in range(game.num_players)]
            for game, seed in zip(games, seeds, strict=True)
        ]
        tables = _native.BlobTables(games, casts, rngs, self.threads)
        decisions = list(self._decisions(tables))
        players = np.array([game.num_players for game in games])
        shares = np.full((len(games), SEATS), np.nan, np.float32)
        for number, game in enumerate(games):
            shares[number, : players[number]] = np.array(tables.points(number)) / game.most_points
        return self._experience(decisions, players, shares)

    def _decisions(self, tables: _native.BlobTables) -> Iterator[Decisions]:
        """Iterate over the network's decisions, one batch per step of the tables."""
        self.network.eval()
        while True:
            numbers, seats, observations, legal = tables.ask()
            if not len(numbers):
                return
            with torch.inference_mode(), self._precision():
                given = torch.from_numpy(observations).to(self.device)
                output = self.network(given)
                mask = torch.from_numpy(legal).to(self.device)
                logs = _logs(output.policy, mask)
                noise = -torch.log(-torch.log(torch.rand_like(logs).clamp(1e-9, 1 - 1e-7)))
                actions = torch.where(mask, logs + noise, -torch.inf).argmax(dim=1)
                drawn = logs.gather(1, actions[:, None])[:, 0]
                hands, values = np.zeros((len(numbers), 0), np.uint8), output.value
                if self.critic is not None:
                    hands = tables.hands().reshape(len(numbers), -1)
                    values = self.critic(given, torch.from_numpy(hands).to(self.device).float())
            chosen = actions.cpu().numpy()
            tables.tell(chosen.tolist())
            seen = np.packbits(observations.astype(bool), axis=1)
            dealt = np.packbits(hands, axis=1)
            log = drawn.float().cpu().numpy()
            expected = values.float().cpu().numpy()
            yield Decisions(numbers, seats, seen, dealt, legal, chosen, log, expected)

    def _experience(
        self,
        decisions: list[Decisions],
        players: NDArray[np.int64],
        shares: NDArray[np.float32],
    ) -> Experience:
        """Add advantages and shares to the decisions."""
        others = (np.nansum(shares, 1, keepdims=True) - shares) / (players[:, None] - 1)
        ahead = shares - others  # V after a decision; at the end of the round, u
        later = np.zeros_like(ahead)
        advantages, targets = [], []
        for numbers, seats, *_, values in reversed(decisions):
            at, count = (numbers, seats), players[numbers]
            seat_offsets = np.arange(SEATS)
            occupied = seat_offsets < count[:, None]
            total = np.where(occupied, values, 0).sum(axis=1)
            expected = values[:, 0] - (total - values[:, 0]) / (count - 1)
            later[at] = ahead[at] - expected + self.config.trace * later[at]
            ahead[at] = expected
            advantages.append(later[at].copy())
            order = (seats[:, None] + seat_offsets) % count[:, None]
            relative = np.take_along_axis(shares[numbers], order, axis=1)
            targets.append(np.where(occupied, relative, np.nan))
        columns = [np.concatenate(column) for column in zip(*decisions, strict=True)]
        _, _, seen, hands, legal, actions, logs, _ = columns
        return Experience(
            seen,
            hands,
            legal,
            actions,
            logs,
            np.concatenate(advantages[::-1]).astype(np.float32),
            np.concatenate(targets[::-1]).astype(np.float32),
        )

    def _dealt(self, progress: float = 1.0) -> Blob:
        draw = self.rng.integers
        players = 5 if self.rng.random() < self.config.usual else int(draw(3, 9))
        most = 7 if players == 5 else min(10, 51 // players)
        most = self._most_cards(most, progress)
        trump = TRUMPS[int(self.rng.choice(3, p=(0.75, 0.2, 0.05)))]
        game = Blob(
            players,
            int(draw(1, most + 1)),
            sequence="single",
            trump=trump,
            dealer=int(draw(players)),
            seed=int(draw(2**63)),
        )
        return game.this_round()

    def _most_cards(self, most: int, progress: float) -> int:
        """The largest hand, of at most `most` cards, that the curriculum deals by now."""
        if progress >= self.config.curriculum:
            return most
        return 1 + int(most * progress / self.config.curriculum)

    def _cast(self, players: int) -> list[_native.BlobBot | None]:
        """Return the players by seat; None is the network."""
        if self.rng.random() < self.config.alone:
            return [None] * players
        other = self._others[int(self.rng.integers(len(self._others)))].native
        own = self.rng.random(players) < 0.5
        own[int(self.rng.integers(players))] = True
        return [None if mine else other for mine in own]

    # --- learning ---------------------------------------------------------------------------

    def learn(self, experience: Experience, rate: float) -> dict[str, float]:
        """Make the passes over an iteration's decisions; return the mean metrics."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        scale = float(experience.advantages.std()) + 1e-6
        sums: dict[str, float] = {}
        count = 0
        self.network.train()
        for _ in range(self.config.passes):
            order = self.rng.permutation(len(experience.actions))
            for begin in range(0, len(order), self.config.batch):
                rows = order[begin : begin + self.config.batch]
                parts = self._update(experience, rows, scale, rate)
                count += 1
                for name, part in parts.items():
                    sums[name] = sums.get(name, 0.0) + part
        return {name: total / count for name, total in sums.items()}

    def _update(
        self, experience: Experience, rows: NDArray[np.int64], scale: float, rate: float
    ) -> dict[str, float]:
        def sent(array: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array[rows])).to(self.device)

        seen, shares = self._unpacked(sent(experience.seen)), sent(experience.shares)
        with self._precision():
            output = self.network(seen)
        logs = _logs(output.policy, sent(experience.legal))
        chosen = logs.gather(1, sent(experience.actions)[:, None])[:, 0]
        ratio = (chosen - sent(experience.logs)).exp()
        advantages = sent(experience.advantages) / scale
        clipped = ratio.clamp(1 - self.config.clip, 1 + self.config.clip)
        gain = torch.minimum(ratio * advantages, clipped * advantages).mean()
        entropy = -(logs.exp() * logs.nan_to_num(neginf=0.0)).sum(dim=1).mean()
        error = share_error(output.value, shares)
        loss = error - gain - self.config.entropy * entropy
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.average.update(self.network)
        far = ((ratio - 1).abs() > self.config.clip).float().mean()
        parts = {"gain": gain, "value": error, "entropy": entropy, "clipped": far}
        if self.critic is not None:
            with self._precision():
                values = self.critic(seen, self._unpacked(sent(experience.hands), HANDS))
            parts["critic"] = self.critic.learn(values, shares, rate)
        return {name: float(part.detach()) for name, part in parts.items()}

    def _unpacked(self, packed: torch.Tensor, cells: int = CELLS) -> torch.Tensor:
        bits = (packed[:, :, None] >> self._shifts) & 1
        return bits.flatten(1)[:, :cells].float()

    def _precision(self) -> torch.autocast:
        on_gpu = self.device.type == "cuda"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=on_gpu)


def _logs(policy: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Return the log-probabilities of legal actions; -inf for others."""
    return torch.log_softmax(policy.float().masked_fill(~legal, -torch.inf), dim=1)


def practise(
    network: Network,
    folder: Path,
    config: PracticeConfig,
    *,
    minutes: float,
    device: str = "auto",
    threads: int = 1,
    tell: Callable[[str], None] = lambda _: None,
    every: float = 60.0,
) -> None:
    """Practise for some minutes; write the averaged network to `folder/networks/last.safetensors`.

    :param tell: called with a line of progress every `every` seconds.
    :param every: seconds between lines of progress, and between saved networks.
    """
    practice = Practice(network, config, device, threads)
    (folder / "networks").mkdir(parents=True, exist_ok=True)
    began = reported = time.perf_counter()
    decisions = iterations = 0
    while (passed := time.perf_counter() - began) < 60 * minutes:
        share = passed / (60 * minutes)
        experience = practice.play(share)
        played = time.perf_counter() - began - passed
        metrics = practice.learn(experience, config.learning_rate * (1 - 0.9 * share))
        decisions, iterations = decisions + len(experience.actions), iterations + 1
        if (now := time.perf_counter()) - reported > every or iterations == 1:
            reported = now
            save_network(practice.average.network, folder / "networks" / "last.safetensors")
            parts = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
            rate = decisions / (now - began)
            tell(
                f"{iterations} iterations, {decisions:,} decisions, {rate:,.0f}/s "
                f"({played:.2f} s): {parts}"
            )
    save_network(practice.average.network, folder / "networks" / "last.safetensors")
