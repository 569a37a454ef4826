"""Made-up records with simple numbers."""

import numpy as np

from sylvan.replay.record import GameRecord


def game(moves, *, returns=(1, -1), policies=None, weights=None, ending="end", start=""):
    """A record of moves such as `a1 b2`; None as a policy: no search. Surprise is 0.1."""
    actions = [9 * (ord(move[0]) - ord("a")) + int(move[1:]) for move in moves.split()]
    count = len(actions)
    policies = [[1.0]] * count if policies is None else policies
    sizes = [0 if policy is None else len(policy) for policy in policies]
    flat = [p for policy in policies if policy is not None for p in policy]
    return GameRecord(
        actions=np.array(actions, np.int32),
        seats=(np.arange(count) % len(returns)).astype(np.int8),
        policy_offsets=np.cumsum([0, *sizes]).astype(np.int64),
        policy_actions=np.concatenate([np.arange(n) for n in [0, *sizes]]).astype(np.int32),
        policy=np.array(flat, np.float32),
        values=np.zeros((count, len(returns)), np.float32),
        weights=np.ones(count, np.float32) if weights is None else np.array(weights, np.float32),
        surprise=np.full(count, 0.1, np.float32),
        returns=np.array(returns, np.float32),
        ending=ending,
        start=start,
    )
