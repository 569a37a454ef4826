"""Records of random games, in the format of self-play."""

import numpy as np

from sylvan.games.naming import GameSpec
from sylvan.replay.record import GameRecord


def random_record(
    spec: GameSpec,
    rng: np.random.Generator,
    *,
    plies: int = 60,
    fast: float = 0.25,
    opening: int = 0,
    start: str = "",
    step: int = 0,
) -> GameRecord:
    """A game of random moves with a random policy target at every ply.

    Some probabilities are zero, a fraction `fast` of plies had a fast search, the first `opening`
    plies no search.
    """
    state = spec.first(start)
    seats = state.num_players
    actions: list[int] = []
    movers: list[int] = []
    offsets, codes, policy = [0], [], []
    values, weights, surprise, rewards, seen = [], [], [], [], []
    shape = None
    while not state.is_terminal() and len(actions) < plies:
        chance = state.is_chance()
        if chance:
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            action = int(rng.choice(outcomes, p=np.array(chances) / sum(chances)))
        else:
            legal = list(state.legal_actions())
            action = int(rng.choice(legal))
        searched = not chance and len(actions) >= opening
        movers.append(-1 if chance else state.to_play())
        if not spec.is_native and not chance:
            shape = state.observation()
        seen.append(None if chance else state.observation())
        if searched:
            visits = rng.integers(0, 20, len(legal)) * (rng.random(len(legal)) < 0.7)
            visits[legal.index(action)] += 1
            codes += legal
            policy += (visits / visits.sum()).tolist()
        offsets.append(len(codes))
        row = rng.uniform(-1, 1, seats)
        if state.zero_sum:
            row[1] = -row[0]
        values.append(row if searched else np.zeros(seats))
        weights.append(float(searched and rng.random() >= fast))
        surprise.append(rng.exponential() if searched else 0.0)
        actions.append(action)
        state.apply(action)
        rewards.append(state.rewards())
    over = state.is_terminal()
    observations = None
    if not spec.is_native:
        blank = np.zeros_like(shape)
        observations = np.stack([blank if item is None else item for item in seen])
    paid = np.array(rewards, np.float32).reshape(-1, seats)
    return GameRecord(
        np.array(actions, np.int32),
        np.array(movers, np.int8),
        np.array(offsets, np.int64),
        np.array(codes, np.int32),
        np.array(policy, np.float32),
        np.array(values, np.float32).reshape(-1, seats),
        np.array(weights, np.float32),
        np.array(surprise, np.float32),
        np.array(state.returns() if over else [0.0] * seats, np.float32),
        paid if paid.any() else None,
        observations,
        start,
        "end" if over else "limit",
        step,
        int(rng.integers(2**63)),
    )
