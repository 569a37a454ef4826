"""Searches that share batches give the same results as separate searches."""

import numpy as np
import pytest

from sylvan import Forest
from sylvan.errors import EvaluationError
from sylvan.games import Chess, ConnectFour
from sylvan.players.batching import JoinedLeaves, Request, alone, together

OPENINGS = ["", "4", "44", "4453", "1234567", "71"]


def skewed(leaves):
    """Logits of the legal actions and values that depend on the position."""
    sums = leaves.observations.reshape(len(leaves), -1).astype(np.float64)
    numbers = sums @ np.cos(np.arange(sums.shape[1]))
    logits = np.concatenate([np.sin(numbers[i] + leaves.legal(i)) for i in range(len(leaves))])
    return logits.astype(np.float32), np.tanh(np.sin(3 * numbers)).astype(np.float32)


def whole(leaves):
    """The same with a logit for every action."""
    flat, values = skewed(leaves)
    logits = np.full((len(leaves), 7), -9.0, np.float32)
    logits[leaves.mask] = flat
    return logits, values


def searching(state, evaluator, simulations=60):
    forest = Forest([state], simulations=simulations)
    forest.begin()
    while (leaves := forest.select()) is not None:
        forest.take(*(yield Request(evaluator, leaves)))
    return state, [(edge.action, edge.N, edge.W) for edge in forest.result().tree.root.edges]


@pytest.mark.parametrize("width", [1, 2, 4, 100])
@pytest.mark.parametrize("evaluator", [skewed, whole])
def test_joint_searches_equal_separate_ones(width, evaluator):
    states = [ConnectFour(moves) for moves in OPENINGS]
    separate = {str(state): alone(searching(state, evaluator)) for state in states}
    shared = list(together((searching(state, evaluator) for state in states), width))
    assert len(shared) == len(states)
    for state, edges in shared:
        assert edges == separate[str(state)][1]


def test_batches_are_filled_from_all_jobs_of_one_evaluator():
    sizes = {"one": [], "other": []}

    def counting(name):
        def evaluator(leaves):
            sizes[name].append(len(leaves))
            return skewed(leaves)

        return evaluator

    one, other = counting("one"), counting("other")
    jobs = [searching(ConnectFour(m), one if i % 3 else other) for i, m in enumerate(OPENINGS)]
    assert len(list(together(jobs, 6))) == 6
    assert max(sizes["one"]) == 4 and max(sizes["other"]) == 2
    assert len(sizes["one"]) <= 62


def test_at_most_width_jobs_run():
    begun = []

    def jobs():
        for moves in OPENINGS:
            begun.append(moves)
            yield searching(ConnectFour(moves), skewed)

    results = together(jobs(), 2)
    next(results)
    assert len(begun) <= 4
    results.close()


def test_a_job_without_requests():
    def idle():
        yield from ()
        return 7

    assert alone(idle()) == 7
    assert list(together([idle(), idle()], 1)) == [7, 7]


def test_joined_leaves_equal_their_parts():
    forests = [Forest([Chess(), Chess(moves="e4")], simulations=3), Forest([Chess(moves="d4")])]
    parts = []
    for forest in forests:
        forest.begin()
        parts.append(forest.select())
    joined = JoinedLeaves(parts)
    assert len(joined) == 3
    states = [part.state(i) for part in parts for i in range(len(part))]
    for leaf, state in enumerate(states):
        assert joined.state(leaf).fen() == state.fen()
        assert joined.legal(leaf).tolist() == list(state.legal_actions())
        assert (joined.observations[leaf] == state.observation()).all()
        span = slice(joined.offsets[leaf], joined.offsets[leaf + 1])
        expected = [state.logit_index(action) for action in state.legal_actions()]
        assert joined.logit_indices[span].tolist() == expected
        assert joined.mask[leaf].nonzero()[0].tolist() == sorted(state.legal_actions())
    assert [state.fen() for state in joined.states] == [state.fen() for state in states]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda n: (np.zeros(3), np.zeros(n)), r"policy.*shape"),
        (lambda n: (np.zeros((n, 7)), np.zeros(n + 1)), r"values.*shape"),
    ],
)
def test_an_answer_of_the_wrong_size(answer, sentence):
    jobs = [searching(ConnectFour(), lambda leaves: answer(len(leaves))) for _ in range(2)]
    with pytest.raises(EvaluationError, match=sentence):
        list(together(jobs, 2))
