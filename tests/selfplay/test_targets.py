"""Targets of self-play: by hand, by the reference, and common mistakes."""

import math

import numpy as np
import pytest

from sylvan import SearchConfig, reference
from sylvan.games.naming import GameSpec
from tests.planning.twins import flat
from tests.selfplay.test_selfplay import game, played, self_play

LOGITS = np.array([0.3, -0.2, 0.1, 0.0, 0.4, -0.5, 0.2], np.float32)


def steady(leaves):
    """The same policy in every state, and a value per seat to move."""
    return LOGITS[leaves.actions % 7], np.where(leaves.seats == 0, 0.25, -0.125)


def steady_states(states):
    """The same for the reference."""
    return [
        (
            [float(LOGITS[action % 7]) for action in state.legal_actions()],
            [0.25, -0.25] if state.to_play() == 0 else [0.125, -0.125],
        )
        for state in states
    ]


def test_a_won_game_by_hand():
    """A game whose win is proven: targets, values and surprise by hand."""
    play = self_play(game("First"), positions=6, games=3, temperature_plies=0)
    (record, *_) = played(play, flat)
    assert record.actions.tolist() == [1] and record.ending == "end"
    assert record.legal(0).tolist() == [0, 1]
    assert record.target(0).tolist() == [0, 1]
    assert record.values.tolist() == [[1, -1]] and record.returns.tolist() == [1, -1]
    assert record.surprise[0] == pytest.approx(math.log(2))  # KL of (0, 1) from (1/2, 1/2)
    assert record.weights.tolist() == [1]
    assert record.observations.tolist() == [[0, 0]]
    assert record.rewards is None and record.auxiliary == {}


@pytest.mark.parametrize("selection", ["puct", "gumbel"])
def test_targets_are_those_of_the_reference(selection):
    """A search of each position with a new tree; the temperature does not change targets."""
    settings = {"simulations": 20, "noise": False, "gumbel_scale": 0.0, "selection": selection}
    play = self_play("connect4", games=4, positions=130, reuse=False, temperature=0.7, **settings)
    records = played(play, steady)
    assert records
    for record in records[:2]:
        state = GameSpec("connect4").first()
        for ply, action in enumerate(record.actions.tolist()):
            search = reference.Search(state, steady_states, SearchConfig(**settings))
            search.run()
            np.testing.assert_array_equal(record.target(ply), reference.policy(search))
            root = search.root
            expected = root.proven or [w / root.N for w in root.W]
            np.testing.assert_allclose(record.values[ply], expected, rtol=1e-6)
            priors = np.array([float(child.original) for child in root.children.values()])
            target = record.target(ply).astype(float)
            seen = target > 0
            kl = (target[seen] * np.log(target[seen] / (priors / priors.sum())[seen])).sum()
            assert record.surprise[ply] == pytest.approx(kl, abs=1e-5)
            if ply >= 4:
                assert action == reference.best(search)  # greedy after the first plies
            state.apply(action)


def first_targets(**settings):
    """The targets of the very first position in each game."""
    records = played(self_play("connect4", positions=200, **settings), flat)
    return np.stack([record.target(0) for record in records[:6]])


def test_the_first_root_has_noise_too():
    """Noise added before the root is expanded would be missing in the first move."""
    assert len(np.unique(first_targets(noise=True), axis=0)) == 6
    assert len(np.unique(first_targets(noise=False), axis=0)) == 1


def test_moves_need_not_be_visited():
    """If every child got a visit first, every move would be in the target."""
    play = self_play("chess", positions=2, simulations=6, reuse=False, max_plies=2)
    for record in played(play, flat):
        assert (record.target(0) > 0).sum() <= 6 < len(record.target(0))


def test_policies_of_fast_searches_have_no_weight():
    fast = {"full_share": 0.0, "fast_simulations": 5}
    assert len(np.unique(first_targets(noise=True, **fast), axis=0)) == 1  # no noise
    np.testing.assert_allclose(np.rint(first_targets(**fast) * 5), first_targets(**fast) * 5)
    play = self_play("connect4", positions=600, full_share=0.25, fast_simulations=3, reuse=False)
    records = played(play, flat)
    weights = np.concatenate([record.weights for record in records])
    assert set(weights) == {0.0, 1.0} and 0.1 < weights.mean() < 0.4
    assert play.statistics.full == pytest.approx(0.25 * play.statistics.positions, rel=0.5)
    for record in records:
        for ply in record.searched:
            simulations = 12 if record.weights[ply] else 3
            counts = record.target(ply) * simulations
            if not np.isclose(record.target(ply).max(), 1):  # not proven
                assert np.allclose(counts, np.rint(counts), atol=1e-4) or proven(record, ply)


def proven(record, ply):
    """Targets of proven positions contain only some moves, and searches may end early."""
    return np.abs(record.values[ply]).max() == 1 or (record.target(ply) == 0).any()


def test_rewards_and_further_targets_are_recorded():
    (record, *_) = played(self_play(game("Alone"), positions=40), flat)
    assert record.rewards.tolist() == [[float(action)] for action in record.actions]
    (record, *_) = played(self_play(game("Offering"), positions=40), flat)
    actions = record.actions
    assert record.auxiliary["sum"].tolist() == [[float(actions.sum())]] * 4
    mine = [float(actions[seat::2].sum()) for seat in (0, 1, 0, 1)]
    assert record.auxiliary["mine"].tolist() == mine
