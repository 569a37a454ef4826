"""The diary gives back what was noted, whatever ended when."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sylvan.muzero import diary as module
from sylvan.muzero.diary import Diary
from sylvan.muzero.plies import Plies

GAMES, SEATS = 3, 2


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_diary_is_lists_of_plies(data):
    """Rounds in which games take part or not, end and begin, against plain lists."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    diary = Diary(GAMES, SEATS, np.zeros(2, np.int16))
    lists = [[] for _ in range(GAMES)]
    for _ in range(data.draw(st.integers(1, 150))):
        searched, present = rng.random() < 0.8, rng.random(GAMES) < 0.9
        present |= searched
        counts = rng.integers(1, 5, GAMES) if searched else np.zeros(GAMES, int)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        row = {
            "actions": rng.integers(0, 9, GAMES).astype(np.int32),
            "seats": rng.integers(-1, SEATS, GAMES).astype(np.int8),
            "values": rng.random((GAMES, SEATS)).astype(np.float32),
            "observations": rng.integers(0, 99, (GAMES, 2)).astype(np.int16),
        }
        legal = rng.integers(0, 9, offsets[-1]).astype(np.int32)
        policy = rng.random(offsets[-1]).astype(np.float32)
        if searched:
            diary.add(offsets=offsets, policy_actions=legal, policy=policy, **row)
        else:
            diary.add(present=present, **row)
        for place in np.flatnonzero(present):
            own = slice(offsets[place], offsets[place + 1])
            plain = {name: column[place].tolist() for name, column in row.items()}
            lists[place].append((plain, legal[own].tolist(), policy[own].tolist()))
        for place in np.flatnonzero(rng.random(GAMES) < data.draw(st.sampled_from([0.0, 0.1]))):
            compare(diary, place, lists[place])
            diary.begin(place)
            lists[place] = []
    for place in range(GAMES):
        compare(diary, place, lists[place])
    # All of it goes into another diary and comes back.
    other = Diary(GAMES, SEATS, np.zeros(2, np.int16))
    other.put(*diary.take(np.arange(GAMES)))
    for place in range(GAMES):
        compare(other, place, lists[place])


def compare(diary, place, expected):
    lengths, plies = diary.take(np.array([place]))
    assert lengths.tolist() == [len(expected)]
    for ply, (row, legal, policy) in enumerate(expected):
        for name, value in row.items():
            assert getattr(plies, name)[ply].tolist() == value
        own = slice(plies.offsets[ply], plies.offsets[ply + 1])
        assert plies.policy_actions[own].tolist() == legal
        assert plies.policy[own].tolist() == policy
    assert len(plies.policy) == plies.counts.sum()


def test_a_diary_forgets_what_nobody_needs():
    diary = Diary(2, 1)
    for turn in range(20 * module.ROUNDS):
        diary.add(
            offsets=np.array([0, 2, 3]),
            policy_actions=np.arange(3, dtype=np.int32),
            policy=np.full(3, turn, np.float32),
        )
        diary.begin(turn % 2)
    assert diary.rounds <= module.ROUNDS


def test_stretches_are_joined_and_split():
    rewards = np.zeros((3, 2), np.float32)
    one = Plies.unsearched([1, 2, 3], [0, 1, 0], rewards)
    both = one.then(Plies.unsearched([4], [1], rewards[:1]))
    assert both.actions.tolist() == [1, 2, 3, 4]
    parts = both.split(np.array([1, 0, 3]))
    assert [part.actions.tolist() for part in parts] == [[1], [], [2, 3, 4]]
    assert both.part(1, 3).actions.tolist() == [2, 3]
    assert one.then(one.part(0, 0)) is one
