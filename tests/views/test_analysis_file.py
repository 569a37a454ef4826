"""Analysis files: what is saved is what is read, and nothing else is accepted."""

import hashlib
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.errors import ConfigError, SnapshotError
from sylvan.games import Blob, Chess, ConnectFour, TicTacToe
from sylvan.planning import SearchResult
from sylvan.views.analysis_file import HEAD, SavedPosition, pack, unpack

POSITIONS = [
    Chess(moves="e4 c5 Nf3"),
    Chess("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"),
    Chess("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", chess960=True),
    ConnectFour("4453", columns=8, rows=5),
    TicTacToe([4, 0]),
]


def searched(state, **settings):
    return sylvan.search(state, evaluator="rollout", simulations=300, seed=5, **settings)


def nodes_of(node):
    """All statistics of a subtree."""
    yield (
        node.path,
        node.kind,
        node.seat,
        node.N,
        node.W,
        node.proven,
        [(edge.action, edge.N, edge.W, edge.P, edge.available, edge.bounds) for edge in node.edges],
    )
    for edge in node.edges:
        if edge.child is not None:
            yield from nodes_of(edge.child)


@pytest.mark.parametrize("state", POSITIONS, ids=repr)
def test_what_is_saved_is_read(state, tmp_path):
    result = searched(state, c_puct=2.0)
    result.save(tmp_path / "a.sylvan")
    read = SearchResult.load(tmp_path / "a.sylvan")
    assert list(nodes_of(read.tree.root)) == list(nodes_of(result.tree.root))
    assert str(read) == str(result) and read.to_json() == result.to_json()
    assert np.array_equal(read.policy, result.policy)
    assert read.config == result.config
    assert read.game.legal_actions() == state.legal_actions()
    assert read.pv_labels == result.pv_labels


def test_a_game_is_the_same_game():
    read = unpack(pack(searched(POSITIONS[2])), "x").result.game
    assert (read.fen(), read.chess960) == (POSITIONS[2].fen(), True)
    state = Chess(moves="Nf3 Nf6 Ng1 Ng8")
    assert unpack(pack(searched(state)), "x").result.game.moves == state.moves


def test_the_top_of_a_tree_is_saved():
    result = searched(ConnectFour())
    root = unpack(pack(result, nodes=20), "x").result.tree.root
    kept = list(nodes_of(root))
    assert len(kept) == 20
    least = min(N for _, _, _, N, *_ in kept)
    left_out = [
        edge.N for node in _walk(root) for edge in node.edges if edge.N and edge.child is None
    ]
    assert max(left_out) <= least + 1  # an edge's visits, and a node's own evaluation
    with pytest.raises(ConfigError):
        pack(result, nodes=0)


def _walk(node):
    yield node
    for edge in node.edges:
        if edge.child is not None:
            yield from _walk(edge.child)


def test_what_was_read_can_be_saved_again_and_shown(tmp_path):
    data = pack(searched(TicTacToe()))
    read = unpack(data, "x").result
    assert pack(read) == data
    read.save(tmp_path / "tree.svg")
    assert "<svg" in (tmp_path / "tree.svg").read_text()


def test_hidden_cards_are_not_saved():
    view = Blob(players=3, seed=1).observe(Blob(players=3, seed=1).to_play())
    result = sylvan.search(view, evaluator="rollout", simulations=50)
    with pytest.raises(ConfigError):
        pack(result)


def test_a_file_cannot_name_code_to_run(tmp_path):
    """A game may be a Python file; a file that names one is read only by who names it too."""
    code = tmp_path / "game.py"
    code.write_text(
        "import pathlib\nfrom sylvan.games import TicTacToe as Game\n"
        "pathlib.Path(__file__ + '.ran').touch()\n"
    )
    position = SavedPosition(game=f"{code}:Game", moves=[4])
    data = pack(searched(TicTacToe([4])), position)
    with pytest.raises(SnapshotError, match=r"game\.py"):
        unpack(data, "x")
    assert not (tmp_path / "game.py.ran").exists()
    assert unpack(data, "x", (f"{code}:Game",)).result.tree.root.N == 301
    assert (tmp_path / "game.py.ran").exists()


DATA = pack(searched(TicTacToe([4])), nodes=30)


@given(at=st.integers(0, len(DATA) - 1), by=st.integers(1, 255), cut=st.booleans())
def test_damage_is_noticed(at, by, cut):
    """Every changed byte and every cut: a sentence, nothing else."""
    damaged = DATA[:at] if cut else DATA[:at] + bytes([DATA[at] ^ by]) + DATA[at + 1 :]
    with pytest.raises(SnapshotError):
        unpack(damaged, "x")


def sealed(document):
    data = zlib.compress(json.dumps(document).encode())
    return HEAD + hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def changed(**fields):
    document = json.loads(zlib.decompress(DATA.partition(b"\n")[2]))
    for path, value in fields.items():
        place = document
        *steps, last = path.split("__")
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[int(last) if isinstance(place, list) else last] = value
    return document


@pytest.mark.parametrize(
    "fields",
    [
        {"tree": []},
        {"tree__0__parent": 3},
        {"tree__3__parent": 7},
        {"tree__3__action": None},
        {"tree__2__W": [0.0]},
        {"tree__2__visits": []},
        {"tree__2__kind": "question"},
        {"tree__2__seat": 7},
        {"tree__2__N": -1},
        {"position__moves": [77]},
        {"position__ply": 5},
        {"position__game": "chess", "position__start": "nonsense"},
        {"settings": {"c_pact": 1}},
        {"settings": {"c_puct": -1}},
        {"policy": [[99, 0.5]]},
        {"more": 1},
        {"best": "4"},
    ],
    ids=str,
)
def test_a_whole_file_with_nonsense_in_it_is_refused(fields):
    assert unpack(sealed(changed()), "x").result.best == unpack(DATA, "x").result.best
    with pytest.raises(SnapshotError):
        unpack(sealed(changed(**fields)), "x")


def test_a_small_file_cannot_fill_the_memory(monkeypatch):
    monkeypatch.setattr("sylvan.views.analysis_file.MOST_BYTES", 10_000)
    with pytest.raises(SnapshotError, match="large"):
        unpack(sealed({"evaluator": "x" * 10_000_000}), "x")


def test_a_newer_version_is_named():
    with pytest.raises(SnapshotError, match="newer"):
        unpack(b"sylvan-analysis 2 " + DATA[len(HEAD) :], "x")


def test_a_game_that_cannot_tell_its_moves_says_what_to_give():
    with pytest.raises(ConfigError, match="Nim"):
        pack(searched(Nim()))


class Nim(sylvan.Game):
    num_players, num_actions = 2, 3

    def __init__(self, stones=10, seat=0):
        self.stones, self.seat = stones, seat

    def legal_actions(self):
        return range(min(3, self.stones))

    def apply(self, action):
        self.stones -= action + 1
        self.seat = 1 - self.seat

    def clone(self):
        return Nim(self.stones, self.seat)

    def to_play(self):
        return self.seat

    def is_terminal(self):
        return self.stones == 0

    def returns(self):
        return (-1, 1) if self.seat == 0 else (1, -1)

    def observation(self):
        return np.array([self.stones], np.float32)
