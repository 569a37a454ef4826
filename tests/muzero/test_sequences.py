"""Segments of the replay, against their definition written out one state at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ReplayError
from sylvan.games.naming import GameSpec
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.reanalyse import Reanalyse
from sylvan.muzero.sequences import SequenceReplay
from sylvan.planning import SearchConfig
from sylvan.replay.config import ReplayConfig
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import GameHistory, TargetConfig
from tests.muzero.toy_models import Hashed
from tests.replay.random_records import random_record

HERE = Path(__file__).parent
ACTIONS = 4


def ring(seats):
    return GameSpec(f"{HERE / 'games.py'}:Ring", {"seats": seats, "actions": ACTIONS})


def generator(seed=0):
    return np.random.Generator(np.random.Philox(seed))


def made_up(rng, seats, plies, opening, ending, number, paid=True):
    """A made-up record; observations contain its number and the ply."""
    searched = np.arange(plies) >= opening
    counts = np.where(searched, rng.integers(1, ACTIONS + 1, plies), 0)
    policy = [rng.dirichlet(np.ones(count)) for count in counts if count]
    codes = [rng.permutation(ACTIONS)[:count] for count in counts if count]
    values = rng.normal(size=(plies, seats)) * searched[:, None]
    return GameRecord(
        actions=rng.integers(0, ACTIONS, plies).astype(np.int32),
        seats=((np.arange(plies) + number) % seats).astype(np.int8),
        policy_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        policy_actions=np.concatenate(codes).astype(np.int32),
        policy=np.concatenate(policy).astype(np.float32),
        values=values.astype(np.float32),
        weights=(rng.random(plies) < 0.7).astype(np.float32) * searched,
        surprise=np.zeros(plies, np.float32),
        returns=rng.normal(size=seats).astype(np.float32),
        rewards=rng.normal(size=(plies, seats)).astype(np.float32) if paid else None,
        observations=np.array([[number, ply] for ply in range(plies)], np.float32),
        ending=ending,
    )


class Oracle:
    """The expected contents of a segment, by definition; in seat order until the end."""

    def __init__(self, record, targets):
        self.record, self.targets = record, targets
        self.plies, self.seats = record.values.shape
        self.whole = record.ending == "end"

    def mover(self, state):
        last = self.record.seats[min(state, self.plies - 1)]
        return int(last) if state < self.plies else (int(last) + 1) % self.seats

    def paid(self, ply):
        """The reward of the step from a ply, including the discounted return at the end."""
        rewards = self.record.rewards
        paid = np.zeros(self.seats) if rewards is None else rewards[ply].astype(np.float64)
        if self.whole and ply == self.plies - 1:
            paid = paid + self.targets.discount * self.record.returns
        return paid

    def to_come(self, state):
        """n-step return: rewards, then the value of the search or at the truncation."""
        if state > self.plies or (state == self.plies and self.whole):
            return np.zeros(self.seats)
        if state == self.plies:
            return self.record.returns.astype(np.float64)
        steps = self.targets.td_steps
        total, worth, ply = np.zeros(self.seats), 1.0, state
        while ply < self.plies and (steps is None or ply < state + steps):
            total = total + worth * self.paid(ply)
            worth, ply = worth * self.targets.discount, ply + 1
        if ply < self.plies:
            return total + worth * self.record.values[ply]
        return total + (0.0 if self.whole else worth * self.record.returns)

    def value(self, state):
        share = self.targets.value_mix
        searched = self.record.values[state] if state < self.plies else self.to_come(state)
        return np.roll((1 - share) * self.to_come(state) + share * searched, -self.mover(state))

    def reward(self, state):
        """The reward of the step to a state."""
        if state > self.plies:
            return np.zeros(self.seats)
        return np.roll(self.paid(state - 1), -int(self.record.seats[state - 1]))

    def policy(self, state):
        target = np.zeros(ACTIONS)
        if state < self.plies:
            target[self.record.legal(state)] = self.record.target(state)
        return target


@pytest.mark.slow
@given(data=st.data())
def test_segments_match_their_definition(data):
    seats = data.draw(st.integers(1, 4), "seats")
    discount = data.draw(st.sampled_from([1.0, 0.9]), "discount")
    td_steps = data.draw(st.none() | st.integers(1, 9), "td_steps")
    mix = data.draw(st.sampled_from([0.0, 0.25]), "value_mix")
    targets = TargetConfig(discount=discount, td_steps=td_steps, value_mix=mix)
    unroll = data.draw(st.integers(1, 6), "unroll")
    rng = generator(data.draw(st.integers(0, 2**32), "seed"))
    records = []
    for number in range(data.draw(st.integers(1, 6), "records")):
        plies = data.draw(st.integers(1, 9))
        opening = data.draw(st.integers(0, plies - 1))
        ending = data.draw(st.sampled_from(["end", "limit", "resign"]))
        paid = data.draw(st.booleans())
        records.append(made_up(rng, seats, plies, opening, ending, number, paid))
    with tempfile.TemporaryDirectory() as folder:
        replay = SequenceReplay(folder, ring(seats), targets=targets, unroll=unroll, following=True)
        replay.append(records, together=data.draw(st.integers(1, 3)))
        batch = replay.sample(24, rng)
    rows = [(n, ply) for n, record in enumerate(records) for ply in record.searched]
    for b, place in enumerate(batch.positions):
        number, first = rows[place]
        compare(batch, b, first, records[number], targets, number)


def compare(batch, b, first, record, targets, number):
    """Compare a segment of a batch with its record."""
    oracle, plies = Oracle(record, targets), len(record)
    assert batch.observations[b].tolist() == [number, first]
    for k in range(batch.alive.shape[1]):
        state = first + k
        assert batch.alive[b, k] == (state < plies)
        assert batch.known[b, k] == (state <= plies or oracle.whole)
        if batch.known[b, k]:
            np.testing.assert_allclose(batch.value[b, k], oracle.value(state), atol=1e-5)
            expected = oracle.reward(state) if k else np.zeros(oracle.seats)
            np.testing.assert_allclose(batch.reward[b, k], expected, atol=1e-5)
        np.testing.assert_allclose(batch.policy[b, k], oracle.policy(state), atol=1e-4)
        weight = record.weights[state] if state < plies else 0
        assert batch.policy_weight[b, k] == weight
        if k:
            seen = [number, state] if state < plies else [0, 0]
            assert batch.following[b, k - 1].tolist() == seen
        if k < batch.actions.shape[1]:
            assert 0 <= batch.actions[b, k] < ACTIONS
            if state < plies:
                assert batch.actions[b, k] == record.actions[state]


def test_game_history_agrees_before_the_end(tmp_path):
    """`GameHistory` computes the same from a record, one state at a time."""
    targets = TargetConfig(discount=0.9, td_steps=3)
    records = [made_up(generator(n), 2, 8, 0, "end", n) for n in range(3)]
    replay = SequenceReplay(tmp_path, ring(2), targets=targets, unroll=4)
    replay.append(records)
    batch = replay.sample(50, generator())
    for b, place in enumerate(batch.positions):
        number, first = divmod(int(place), 8)
        history = GameHistory(records[number], ACTIONS, discount=0.9)
        for k in np.flatnonzero(batch.alive[b]):
            target = history.make_target(first + k, td_steps=3)
            mover = records[number].seats[first + k]
            np.testing.assert_allclose(batch.value[b, k], np.roll(target.value, -mover), atol=1e-5)
            np.testing.assert_allclose(batch.policy[b, k], target.policy, atol=1e-4)
            if k:
                mover = records[number].seats[first + k - 1]
                paid = np.roll(target.reward, -mover)
                np.testing.assert_allclose(batch.reward[b, k], paid, atol=1e-5)


def test_two_seats_worked_out_by_hand(tmp_path):
    """Tic-tac-toe, won by the first seat in five plies: values are for the seat to move."""
    spec = GameSpec("tictactoe")
    record = random_record(spec, generator(1))
    plies = [0, 3, 1, 4, 2]  # the first row
    record = GameRecord(
        actions=np.array(plies, np.int32),
        seats=np.array([0, 1, 0, 1, 0], np.int8),
        policy_offsets=np.arange(6),
        policy_actions=np.array(plies, np.int32),
        policy=np.ones(5, np.float32),
        values=np.zeros((5, 2), np.float32),
        weights=np.ones(5, np.float32),
        surprise=np.zeros(5, np.float32),
        returns=np.array([1, -1], np.float32),
    )
    config = ReplayConfig(symmetries=False)
    replay = SequenceReplay(tmp_path, spec, config, unroll=3, following=True)
    replay.append([record])
    batch = replay.sample(40, generator())
    b = int(np.flatnonzero(batch.positions == 3)[0])  # the second seat is to move, and has lost
    assert batch.value[b].tolist() == [[-1, 1], [1, -1], [0, 0], [0, 0]]
    assert batch.reward[b].tolist() == [[0, 0], [0, 0], [1, -1], [0, 0]]
    assert batch.alive[b].tolist() == [True, True, False, False]
    assert batch.known[b].all()
    assert batch.actions[b, :2].tolist() == [4, 2]
    assert batch.policy[b].argmax(axis=1).tolist() == [4, 2, 0, 0]
    state = spec.first()
    for ply, action in enumerate(plies):
        if ply >= 3:
            shown = batch.observations[b] if ply == 3 else batch.following[b, 0]
            np.testing.assert_array_equal(shown, state.observation())
        state.apply(action)
    assert not batch.following[b, 1:].any()


@pytest.mark.parametrize("name", ["tictactoe", "connect4"])
def test_a_symmetry_applies_to_a_whole_segment(name, tmp_path):
    """Playing the batch's actions from its first state gives the batch's observations."""
    spec = GameSpec(name)
    records = [random_record(spec, generator(n), plies=12) for n in range(4)]
    replay = SequenceReplay(tmp_path, spec, unroll=4, following=True)
    replay.append(records)
    plain = SequenceReplay(tmp_path, spec, ReplayConfig(symmetries=False), unroll=4, following=True)
    batch, same = replay.sample(200, generator(5)), plain.sample(200, generator(5))
    assert np.array_equal(batch.positions, same.positions)
    maps = [(lambda seen: seen, np.arange(spec.first().num_actions)), *spec.first().symmetries()]
    turned = 0
    for b in range(len(batch)):
        fits = [
            number
            for number, (turn, permutation) in enumerate(maps)
            if np.array_equal(batch.observations[b], turn(same.observations[b]))
            and np.array_equal(batch.actions[b], np.asarray(permutation)[same.actions[b]])
        ]
        assert fits
        turned += fits[0] != 0
        assert any(shown_by(maps[number], batch, same, b) for number in fits)
    assert turned > 50


def shown_by(symmetry, batch, same, b):
    """Whether a segment equals another one under a symmetry."""
    turn, permutation = symmetry
    states = np.flatnonzero(batch.alive[b, 1:])
    return np.array_equal(batch.policy[b][:, np.asarray(permutation)], same.policy[b]) and all(
        np.array_equal(batch.following[b, k], turn(same.following[b, k])) for k in states
    )


@given(
    name=st.sampled_from(["tictactoe", "connect4"]),
    openings=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    unroll=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_lead_in_segments_replay_the_opening(name, openings, unroll, seed):
    """A lead-in has the opening's states and moves and no targets for them; from the first searched
    state on it is like any other segment.
    """
    spec, rng = GameSpec(name), generator(seed)
    records = [random_record(spec, rng, plies=14, fast=0, opening=each) for each in openings]
    with tempfile.TemporaryDirectory() as folder:
        replay = SequenceReplay(
            folder,
            spec,
            ReplayConfig(symmetries=False),
            unroll=unroll,
            following=True,
            lead_in=0.75,
        )
        replay.append(records)
        batch = replay.sample(40, rng)
    firsts = np.cumsum([0, *(len(record.searched) for record in records)])
    for b in range(10, 40):
        number = int(np.flatnonzero(firsts == batch.positions[b])[0])
        record, opening = records[number], openings[number]
        states = shown_in(spec, record)
        begin = next(
            begin
            for begin in range(opening + 1)
            if np.array_equal(batch.observations[b], states[begin])
            and batch.actions[b, : opening - begin].tolist()
            == record.actions[begin : min(opening, begin + unroll)].tolist()
        )
        assert opening - begin <= unroll and (begin < opening or opening == 0)
        led = np.arange(unroll + 1) < opening - begin
        assert not batch.known[b, led].any() and not batch.policy_weight[b, led].any()
        assert not batch.policy[b, led].any() and batch.alive[b, led].all()
        for k in np.flatnonzero(~led & batch.alive[b]):
            ply = begin + k
            mover = record.seats[ply]
            assert batch.known[b, k] and batch.policy_weight[b, k] == 1
            np.testing.assert_allclose(batch.value[b, k], np.roll(record.returns, -mover))
            assert set(np.flatnonzero(batch.policy[b, k])) <= set(record.legal(ply))
            if k < unroll:
                assert batch.actions[b, k] == record.actions[ply]
        for k in np.flatnonzero(batch.alive[b, 1:]) + 1:
            np.testing.assert_array_equal(batch.following[b, k - 1], states[begin + k])


def shown_in(spec, record):
    """The observations before every ply of a record."""
    state, shown = spec.first(), []
    for action in record.actions.tolist():
        shown.append(state.observation())
        state.apply(action)
    return shown


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_policies_over_many_actions_are_sparse(share, tmp_path, monkeypatch):
    """The same batch, dense and sparse, partly reanalysed."""
    spec = GameSpec("tictactoe")
    replay = SequenceReplay(tmp_path, spec, unroll=4)
    replay.append([random_record(spec, generator(n)) for n in range(5)])
    config = MuZeroConfig.model_validate({"reanalyse": share})
    replay.reanalyse = Reanalyse(Hashed(9, 2), config, SearchConfig(simulations=5))
    plain = replay.sample(40, generator(2))
    monkeypatch.setattr("sylvan.muzero.sequences.MANY", 8)
    named = replay.sample(40, generator(2))
    assert plain.policy_actions is None and named.policy.shape == named.policy_actions.shape
    spread = np.zeros_like(plain.policy)
    for place in np.ndindex(named.policy.shape):
        spread[(*place[:2], named.policy_actions[place])] += named.policy[place]
    np.testing.assert_array_equal(spread, plain.policy)
    np.testing.assert_array_equal(named.actions, plain.actions)


def test_chess_in_few_numbers(tmp_path):
    spec = GameSpec("chess")
    records = [random_record(spec, generator(n), plies=12, fast=0.0) for n in range(3)]
    replay = SequenceReplay(tmp_path, spec, unroll=3)
    replay.append(records)
    batch = replay.sample(20, generator())
    assert batch.policy.nbytes + batch.policy_actions.nbytes < 20 * 4 * 4672
    for b, place in enumerate(batch.positions):
        number, first = divmod(int(place), 12)
        for k in range(min(4, 12 - first)):
            record = records[number]
            target = dict(zip(record.legal(first + k), record.target(first + k), strict=True))
            found = zip(batch.policy_actions[b, k], batch.policy[b, k], strict=True)
            assert {a: pytest.approx(p, abs=1e-4) for a, p in found if p} == {
                action: part for action, part in target.items() if part
            }


def test_past_the_end_actions_are_drawn_from_all(tmp_path):
    replay = SequenceReplay(tmp_path, ring(1), unroll=6)
    replay.append([made_up(generator(n), 1, 2, 0, "end", n) for n in range(4)])
    batch = replay.sample(400, generator())
    past = batch.actions[~batch.alive[:, :-1]]
    counts = np.bincount(past, minlength=ACTIONS)
    assert counts.min() > 0.8 * len(past) / ACTIONS


def test_batches_are_the_same_after_a_restart(tmp_path):
    config = ReplayConfig(window_min=20, window_max=40, prioritised=True, shard_megabytes=0.001)
    targets = TargetConfig(discount=0.9, td_steps=2)

    def opened():
        return SequenceReplay(tmp_path, ring(2), config, targets=targets, unroll=3, following=True)

    replay = opened()
    for n in range(12):
        replay.append([made_up(generator(n), 2, 6, n % 3, "end" if n % 2 else "limit", n)])
    batch = replay.sample(16, generator(1))
    replay.update_priorities(batch.positions, np.linspace(0.1, 5, 16))
    mark = replay.mark()
    expected = replay.sample(64, generator(2))
    replay.append([made_up(generator(99), 2, 5, 0, "end", 99)])
    again = opened()
    again.restore(mark)
    found = again.sample(64, generator(2))
    for name, array in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), array, err_msg=name)
    assert replay.window < replay.positions


def test_priorities_determine_the_draws(tmp_path):
    config = ReplayConfig(prioritised=True, alpha=1.0, beta=1.0)
    replay = SequenceReplay(tmp_path, ring(1), config, unroll=2)
    replay.append([made_up(generator(n), 1, 10, 0, "end", n) for n in range(2)])
    positions = np.arange(20)
    replay.update_priorities(positions, np.where(positions == 7, 19.0, 1.0))
    batch = replay.sample(4000, generator())
    chosen = batch.positions == 7
    assert 0.46 < chosen.mean() < 0.54  # 19 of 38
    np.testing.assert_allclose(batch.weight[~chosen], 1.0)
    np.testing.assert_allclose(batch.weight[chosen], 1 / 19, rtol=1e-5)
    replay.update_priorities(np.array([-5, 10**6]), np.ones(2))  # outside the window: ignored


def test_a_gap_in_the_searches_is_refused(tmp_path):
    record = made_up(generator(), 2, 6, 0, "end", 0)
    counts = np.diff(record.policy_offsets)
    replay = SequenceReplay(tmp_path, ring(2))
    for ply, sentence in ((2, "unsearched plies"), (5, "last ply")):
        keep = np.repeat(np.arange(6) != ply, counts)
        left = np.where(np.arange(6) == ply, 0, counts)
        fields = vars(record) | {
            "policy_offsets": np.concatenate([[0], np.cumsum(left)]),
            "policy_actions": record.policy_actions[keep],
            "policy": record.policy[keep],
        }
        with pytest.raises(ReplayError, match=sentence):
            replay.append([GameRecord(**fields)])
    assert replay.records == 0
    with pytest.raises(ReplayError, match="positions"):
        replay.sample(4, generator())
