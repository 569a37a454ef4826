"""Batches match the positions that were played, as the game's rules give them."""

import numpy as np
import pytest

from sylvan import _native
from sylvan.errors import IllegalAction
from sylvan.games import Chess, Game
from sylvan.games.encoding import CODECS, ENCODERS, HISTORY_FILLS, Encoding
from sylvan.games.naming import GameSpec
from sylvan.replay.buffer import Replay, ReplayConfig
from sylvan.replay.targets import TargetConfig, network_values, outcomes
from tests.replay.random_records import random_record

PLAIN = ReplayConfig(symmetries=False)


def stored(spec, folder, count=6, config=PLAIN, starts=("",), **options):
    rng = np.random.default_rng(1)
    records = [
        random_record(spec, rng, opening=i % 3, start=starts[i % len(starts)], plies=80)
        for i in range(count)
    ]
    replay = Replay(folder, spec, config, **options)
    replay.append(records)
    return replay, records


def position(spec, record, ply, encoding=None):
    """A position of a record, replayed with the game's rules."""
    state = spec.first(record.start)
    for action in record.actions[:ply].tolist():
        state.set_root()
        state.apply(action)
    state.set_root()
    return state.encoded(encoding) if encoding else state


def assert_batch_is_right(spec, replay, records, encoding=None, count=200):
    batch = replay.sample(count, np.random.default_rng(2))
    for row, (number, ply) in enumerate(batch.positions.tolist()):
        record = records[number]
        state = position(spec, record, ply, encoding)
        assert np.array_equal(batch.observations[row], state.observation())
        assert batch.observations.dtype == state.observation().dtype
        logits = [state.logit_index(action) for action in record.legal(ply).tolist()]
        expected = np.zeros(state.num_logits, np.float32)
        expected[logits] = record.target(ply)
        np.testing.assert_allclose(batch.policy[row], expected, atol=1e-4)
        assert np.flatnonzero(batch.legal[row]).tolist() == sorted(logits)
        assert batch.policy_weight[row] == record.weights[ply]
    assert (batch.weight == 1).all()
    return batch


@pytest.mark.parametrize(
    "spec",
    [
        GameSpec("connect4"),
        GameSpec("connect4", {"columns": 9, "rows": 6}),
        GameSpec("connect4", {"columns": 4, "rows": 3}),
        GameSpec("tictactoe"),
        GameSpec("examples/pig.py:Pig"),
        GameSpec("examples/three_seats.py:ThreeSeats"),
        GameSpec("examples/nim.py:Nim"),
    ],
    ids=str,
)
def test_rows_match_the_positions_that_were_played(spec, tmp_path):
    replay, records = stored(spec, tmp_path)
    assert_batch_is_right(spec, replay, records)


STARTS = (
    "",
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 4 8",
    "8/P3k3/8/2pP4/8/8/5K1p/8 w - c6 0 41",
    "7k/8/8/8/8/8/1R6/K7 b - - 97 120",
)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("fill", HISTORY_FILLS)
def test_chess_in_every_encoding(encoder, codec, fill, tmp_path):
    """With history planes, castling, and promotions of both codecs."""
    spec, encoding = GameSpec("chess"), Encoding(encoder, codec, fill)
    replay, records = stored(spec, tmp_path, 4, starts=STARTS, encoding=encoding)
    assert_batch_is_right(spec, replay, records, encoding, count=60)


def test_chess960_positions_match_the_game(tmp_path):
    spec = GameSpec("chess", {"chess960": True, "encoder": "planes19"})
    start = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"
    replay, records = stored(spec, tmp_path, 3, starts=(start,))
    assert_batch_is_right(spec, replay, records, count=60)


def test_positions_after_a_claimable_draw_list_their_moves(tmp_path):
    """Human games continue after a claimable draw: knights out and back, three times."""
    spec = GameSpec("chess")
    state = Chess(moves="Nf3 Nf6 Ng1 Ng8 " * 3)
    assert state.is_terminal()
    rng = np.random.default_rng(0)
    short = random_record(spec, rng, plies=1)
    codes = []
    walk = Chess()
    for move in state.moves:
        codes.append(walk.string_to_action(move))
        walk.push(move)
    plies = len(codes)
    walk.set_root()
    last = walk.legal_actions()
    record = type(short)(
        actions=np.array([*codes, last[0]], np.int32),
        seats=np.array([0, 1] * 6 + [0], np.int8),
        policy_offsets=np.array([0] * (plies + 1) + [len(last)], np.int64),
        policy_actions=np.array(last, np.int32),
        policy=np.eye(len(last), dtype=np.float32)[0],
        values=np.zeros((plies + 1, 2), np.float32),
        weights=np.ones(plies + 1, np.float32),
        surprise=np.zeros(plies + 1, np.float32),
        returns=np.zeros(2, np.float32),
    )
    replay = Replay(tmp_path, spec, PLAIN)
    replay.append([record])
    batch = replay.sample(3, rng)
    assert batch.legal.sum(axis=1).tolist() == [20, 20, 20]
    (again,) = Replay.read(tmp_path)
    assert again.legal(plies).tolist() == last


def test_values_are_for_the_seat_to_move(tmp_path):
    spec = GameSpec("tictactoe")
    mix = TargetConfig(value_mix=0.25)
    for kind in ("wdl", "scalar", "seats"):
        replay, records = stored(spec, tmp_path / kind, targets=mix, value=kind)
        batch = replay.sample(50, np.random.default_rng(3))
        for row, (number, ply) in enumerate(batch.positions.tolist()):
            record = records[number]
            seat = record.seats[ply : ply + 1]
            z, q = outcomes(record)[ply : ply + 1], record.values[ply : ply + 1]
            parts = [network_values(part, seat, kind)[0] for part in (z, q)]
            np.testing.assert_allclose(batch.value[row], 0.75 * parts[0] + 0.25 * parts[1], 1e-6)
            left = len(record) - ply if record.ending == "end" else -1
            assert batch.moves_left is not None and batch.moves_left[row, 0] == left


@pytest.mark.parametrize("name", ["connect4", "tictactoe"])
def test_symmetric_rows_match_permuted_games(name, tmp_path):
    """A transformed row is the position after the permuted actions."""
    spec = GameSpec(name)
    replay, records = stored(spec, tmp_path, 20, ReplayConfig())
    symmetries = spec.first().symmetries()
    batch = replay.sample(400, np.random.default_rng(4))
    seen = np.zeros(len(symmetries), int)
    for row, (number, ply) in enumerate(batch.positions.tolist()):
        record = records[number]
        fits = []
        for permutation in (np.asarray(p) for _, p in symmetries):
            state = spec.first()
            for action in record.actions[:ply].tolist():
                state.apply(int(permutation[action]))
            policy = np.zeros(state.num_actions, np.float32)
            policy[permutation[record.legal(ply)]] = record.target(ply)
            legal = np.zeros(state.num_actions, bool)
            legal[state.legal_actions()] = True
            fits.append(
                np.array_equal(batch.observations[row], state.observation())
                and np.allclose(batch.policy[row], policy, atol=1e-4)
                and np.array_equal(batch.legal[row], legal)
            )
        assert any(fits), (number, ply)
        if sum(fits) == 1:
            seen[fits.index(True)] += 1
    assert (seen > 400 / len(symmetries) / 3).all(), "each symmetry is drawn"


class Turned(Game):
    """Mark cells of a strip; symmetric under reversal, with a map for a single row."""

    num_players, num_actions = 1, 4

    def __init__(self):
        self.cells = np.zeros(4, np.float32)

    def legal_actions(self):
        return np.flatnonzero(self.cells == 0).tolist()

    def apply(self, action):
        self.cells[action] = 1 + self.cells.max()

    def clone(self):
        other = Turned()
        other.cells = self.cells.copy()
        return other

    def to_play(self):
        return 0

    def is_terminal(self):
        return bool((self.cells > 0).all())

    def returns(self):
        return [float(self.cells[0])]

    def observation(self):
        return self.cells.copy()

    def symmetries(self):
        def reverse(cells):
            assert cells.shape == (4,)
            return cells[::-1]

        return [(reverse, [3, 2, 1, 0])]


def test_a_python_games_map_is_called_row_by_row_and_the_identity_is_added(tmp_path):
    path = tmp_path / "turned.py"
    spec = GameSpec(f"{path}:Turned")
    source = "import numpy as np\nfrom tests.replay.test_batches import Turned\n"
    path.write_text(source)
    replay, records = stored(spec, tmp_path / "replay", 10, ReplayConfig())
    batch = replay.sample(300, np.random.default_rng(5))
    turned = 0
    for row, (number, ply) in enumerate(batch.positions.tolist()):
        observations = records[number].observations
        assert observations is not None
        seen, found = observations[ply], batch.observations[row]
        assert np.array_equal(found, seen) or np.array_equal(found, seen[::-1])
        turned += not np.array_equal(found, seen)
        assert np.array_equal(batch.legal[row], found == 0)
    assert 60 < turned < 200


def test_illegal_moves_and_wrong_arrays_are_refused():
    first = Chess()
    rows = np.zeros(1, np.int64)
    empty = np.zeros(0, np.uint16)
    illegal = np.array([4000], np.uint16)
    with pytest.raises(IllegalAction, match=r"Action 4000.*row 0"):
        _native.remake_positions([first], rows, empty, rows, rows, illegal, illegal, rows, rows + 1)
    five = np.zeros(5, np.int64)
    ends = np.array([0, 0, 0, 1, 1])
    for threads in (1, 2, 3, 9):
        with pytest.raises(IllegalAction, match="row 3"):
            _native.remake_positions(
                [first], five, empty, five, five, illegal, illegal, five, ends, threads
            )
    with pytest.raises(ValueError, match="array"):
        _native.remake_positions([first], rows, empty, rows, rows + 1, empty, empty, rows, rows)
    with pytest.raises(ValueError, match="origin"):
        _native.remake_positions([first], rows + 1, empty, rows, rows, empty, empty, rows, rows)
    with pytest.raises(ValueError, match="per row"):
        _native.remake_positions([first], rows, empty, rows[:0], rows, empty, empty, rows, rows)


@pytest.mark.parametrize("name", ["chess", "connect4"])
def test_the_number_of_threads_does_not_change_batches(name, tmp_path):
    spec = GameSpec(name)
    one, _ = stored(spec, tmp_path)
    three = Replay(tmp_path, spec, PLAIN.replace(threads=3))
    for count in (1, 2, 100):
        a, b = (replay.sample(count, np.random.default_rng(6)) for replay in (one, three))
        assert np.array_equal(a.observations, b.observations)
        assert np.array_equal(a.policy, b.policy) and np.array_equal(a.legal, b.legal)
