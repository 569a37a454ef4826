"""Statistics of a step of self-play."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sylvan.selfplay.game_columns import ENDINGS, GameColumns

__all__ = ["SelfPlayStatistics"]

OPENING = 8
"""Number of first plies that count as a game's opening."""


@dataclass
class SelfPlayStatistics:
    """Statistics of one step, updated while it runs."""

    games: int = 0
    """Games that ended."""
    plies: int = 0
    """Plies of those games."""
    positions: int = 0
    """Searched positions."""
    full: int = 0
    """Positions with a full search."""
    simulations: int = 0
    batches: int = 0
    """Batches evaluated."""
    rows: int = 0
    """Positions in them."""
    capacity: int = 0
    """Positions that those batches had room for."""
    seconds: float = 0.0
    """Wall time. It includes games of the next step, and lacks games that began in the last one."""
    played_games: float = 0
    """Games that ended in this time, of this step and of the next; an estimate on a cluster."""
    played_positions: float = 0
    played_simulations: float = 0
    network_seconds: float = 0.0
    """Time inside the evaluator, while games continue."""
    search_seconds: float = 0.0
    """Time in which the evaluator waited for positions, because the games were slower."""
    handling_seconds: float = 0.0
    """Time in which the evaluator's thread handed batches over; it computes nothing meanwhile."""
    device_seconds: float = 0.0
    """Time in which the GPU had work of the evaluator; 0: not measured."""
    under_way: float = 0.0
    """Mean number of batches under way; 0: they are evaluated one after another."""
    workers: int = 0
    """Workers of a cluster that played; 0: this machine did."""
    slowest_worker: float = 0.0
    """Positions per second of the slowest worker, as a share of the median."""
    entropy: float = 0.0
    """Sum over full searches of the policy target's entropy, in nats."""
    surprise: float = 0.0
    """Sum over full searches of KL(target || prior), in nats."""
    first_seat: float = 0.0
    """Sum over games of seat 0's return."""
    score: float = 0.0
    """Sum over episodes of seat 0's total reward, by the environment's own count; only with a
    learned model."""
    dropped: int = 0
    """Games dropped because they raised an exception, or could not be replayed."""
    resignations: int = 0
    limits: int = 0
    """Games that reached the move limit."""
    restarts: int = 0
    """Games that started inside an earlier one."""
    played_on: int = 0
    """Ended games in which a seat would have resigned, but played on."""
    false_positives: int = 0
    """Games among `played_on` in which that seat did not lose."""
    cache_lookups: int = 0
    cache_hits: int = 0
    openings: set[bytes] = field(default_factory=set, repr=False)
    """The first plies of ended games."""

    def add(self, games: GameColumns) -> None:
        """Count finished games."""
        searched, endings = games["counts"] > 0, games["endings"]
        full = searched & (games["weights"] > 0)
        over = endings != ENDINGS.index("segment")
        self.games += int(over.sum())
        self.plies += int(games["lengths"][over].sum())
        if "scores" in games.columns:
            self.plies += int(games["begins"][over].sum())
            self.score += float(games["scores"][over].sum())
        self.positions += int(searched.sum())
        self.full += int(full.sum())
        self.simulations += int(games["simulations"].sum())
        likely = games["policy"][np.repeat(full, games["counts"])]
        likely = likely[likely > 0].astype(np.float64)
        self.entropy -= float((likely * np.log(likely)).sum())
        self.surprise += float(games["surprise"][full].sum(dtype=np.float64))
        self.first_seat += float(games["returns"][over, 0].sum(dtype=np.float64))
        resigned = endings == ENDINGS.index("resign")
        self.resignations += int(resigned.sum())
        self.limits += int((endings == ENDINGS.index("limit")).sum())
        self.restarts += int(games["restarted"].sum())
        self.openings |= {
            games["actions"][first : min(first + OPENING, end)].tobytes()
            for first, end in zip(games.plies[:-1], games.plies[1:], strict=True)
        }
        played_on = np.flatnonzero(~resigned & (games["resigning"] >= 0))
        self.played_on += len(played_on)
        loser = games["resigning"][played_on]
        returns = games["returns"][played_on]
        rows = np.arange(len(played_on))
        if len(played_on):
            wrong = returns[rows, loser] >= returns[rows, 1 - loser]
            self.false_positives += int(wrong.sum())

    @property
    def fill(self) -> float:
        """Mean share of a batch that holds positions."""
        return self.rows / self.capacity if self.capacity else 0.0

    @property
    def mean_length(self) -> float:
        """Mean plies per game."""
        return self.plies / max(self.games, 1)

    @property
    def mean_score(self) -> float:
        """Mean of `score` per game."""
        return self.score / max(self.games, 1)

    @property
    def policy_entropy(self) -> float:
        """Mean entropy of policy targets, in nats."""
        return self.entropy / max(self.full, 1)

    @property
    def mean_surprise(self) -> float:
        """Mean KL(target || prior), in nats."""
        return self.surprise / max(self.full, 1)

    @property
    def distinct_openings(self) -> int:
        """Number of different openings (first eight plies) of the ended games."""
        return len(self.openings)

    @property
    def network_share(self) -> float:
        """Share of the wall time in which the network was busy."""
        return self.network_seconds / self.seconds if self.seconds else 0.0

    def numbers(self) -> dict[str, float]:
        """All figures by name, for metrics."""
        mean = 1 / max(self.games, 1)
        per_second = 1 / self.seconds if self.seconds else 0.0
        return {
            "games": self.games,
            "positions": self.positions,
            "full_positions": self.full,
            "simulations": self.simulations,
            "seconds": self.seconds,
            "network_seconds": self.network_seconds,
            "search_seconds": self.search_seconds,
            "handling_seconds": self.handling_seconds,
            "device_seconds": self.device_seconds,
            "batches_under_way": self.under_way,
            "evaluations_per_second": self.rows * per_second,
            "network_share": self.network_share,
            "batch_fill": self.fill,
            "games_per_second": (self.played_games or self.games) * per_second,
            "positions_per_second": (self.played_positions or self.positions) * per_second,
            "simulations_per_second": (self.played_simulations or self.simulations) * per_second,
            "mean_length": self.mean_length,
            "policy_entropy": self.policy_entropy,
            "surprise": self.mean_surprise,
            "first_seat_return": self.first_seat * mean,
            "distinct_openings": self.distinct_openings,
            "resignations": self.resignations,
            "resignations_played_on": self.played_on,
            "resignation_false_positives": self.false_positives,
            "broken_off": self.limits,
            "restarts": self.restarts,
            "mean_score": self.mean_score,
            "dropped": self.dropped,
            "cache_hits": self.cache_hits,
            "cache_lookups": self.cache_lookups,
        }
