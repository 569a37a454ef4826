"""Headers: read back as written, and refused if invalid."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import NetworkError
from sylvan.games import ConnectFour, Game, TicTacToe
from sylvan.games.encoding import Encoding
from sylvan.networks import NetworkHeader
from sylvan.networks.header import game_name

FIELDS = {
    "game": "nim",
    "observation_shape": (3,),
    "num_logits": 4,
    "num_players": 2,
    "value": "wdl",
}

ENCODINGS = st.builds(Encoding, codec=st.sampled_from(["az73", "lc0"]))


@given(
    shape=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    logits=st.integers(1, 5000),
    encoding=st.none() | ENCODINGS,
    moves_left=st.booleans(),
    step=st.integers(0, 10**9),
    architecture=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5)),
)
def test_json_gives_the_same_header(shape, logits, encoding, moves_left, step, architecture):
    header = NetworkHeader(
        **FIELDS
        | {
            "observation_shape": shape,
            "num_logits": logits,
            "encoding": encoding,
            "moves_left": moves_left,
            "training_step": step,
            "architecture": architecture,
        }
    )
    assert NetworkHeader.from_json(header.to_json()) == header


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_logits": 0}, "'num_logits'"),
        ({"observation_shape": []}, "'observation_shape'"),
        ({"value": "win"}, "'value'"),
        ({"num_players": 3}, r"'wdl'.*3.*'seats'"),
        ({"num_players": 3, "value": "scalar"}, "'scalar'"),
        ({"colour": 1}, "'colour'"),
        ({"game": None}, "'game'"),
        ({"format": 2, "sylvan": "9.0"}, r"net\.x.*format 2.*Sylvan 9\.0"),
        ({"encoding": {"encoder": 3}}, r"'encoding.encoder'"),
    ],
)
def test_an_invalid_field_is_refused(change, sentence):
    text = json.dumps(FIELDS | change)
    with pytest.raises(NetworkError, match=sentence):
        NetworkHeader.from_json(text, "net.x")


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"format": 1}'])
def test_text_that_is_not_a_header_is_refused(text):
    with pytest.raises(NetworkError, match=r"net\.x"):
        NetworkHeader.from_json(text, "net.x")


class Three(Game):
    """A game of three seats, without rules."""

    num_players, num_actions = 3, 5

    def legal_actions(self):
        return [0]

    def apply(self, action): ...
    def clone(self):
        return self

    def to_play(self):
        return 0

    def is_terminal(self):
        return False

    def returns(self):
        return (0, 0, 0)

    def observation(self):
        return np.zeros((4,), np.float32)


def test_a_header_from_a_game():
    header = NetworkHeader.for_game(Three())
    assert (header.game, header.value, header.value_outputs) == ("three", "seats", 3)
    assert NetworkHeader.for_game(ConnectFour()).observation_shape == (2, 6, 7)
    assert game_name(TicTacToe()) == "tic_tac_toe"
    header.check(Three())


def test_another_game_or_shape_is_refused():
    header = NetworkHeader.for_game(ConnectFour())
    header.check(ConnectFour("4453"))
    with pytest.raises(NetworkError, match=r"connect_four.*tic_tac_toe"):
        header.check(TicTacToe())
    with pytest.raises(NetworkError, match=r"\(2, 6, 7\).*\(2, 5"):
        header.check(ConnectFour(columns=6, rows=5))
    with pytest.raises(NetworkError, match=r"8.*7"):
        header.replace(num_logits=8).check(ConnectFour())
    with pytest.raises(NetworkError, match=r"Encoding.*game\.encoded"):
        header.replace(encoding=Encoding()).check(ConnectFour())


def test_a_header_is_read_without_torch():
    import subprocess
    import sys

    code = "import sys, sylvan.networks; assert 'torch' not in sys.modules, 'torch'"
    subprocess.run([sys.executable, "-c", code], check=True)
