"""Players: random, searches, UCI programs, and their text on the command line."""

import os
import shlex
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Search
from sylvan.errors import ConfigError, EngineError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.players.batching import alone
from sylvan.players.player import Clocks, RandomPlayer, SearchPlayer, moves_between, time_for_move
from sylvan.players.specs import Limits, TimeControl, player_spec
from sylvan.players.uci_client import UciClient
from sylvan.players.uci_player import UciPlayer

PARTS = [
    "random",
    "material",
    "uci:",
    "sh",
    ";",
    "=",
    ":",
    "nodes=",
    "5",
    "tc=",
    "1+1",
    ",",
    "c_puct",
]
PARTS += ["simulations=", "x.onnx", " ", "'", '"', "-1", "nan", "1e400", "[]", "null", "\0", "/"]
NETS = os.environ.get("SYLVAN_NETS")
FAKE = Path(__file__).with_name("fake_engine.py")


def fake(kind: str) -> str:
    """The command of a program with this failure."""
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} {kind}"


def fake_client(kind: str, **options: str) -> UciClient:
    return UciClient(shlex.split(fake(kind)), options)


class TestRandom:
    def moves(self, seed: int) -> list[int]:
        with RandomPlayer() as player:
            player.new_game(seed)
            return [player.play(Chess()) for _ in range(30)]

    def test_the_seed_fixes_the_game(self):
        assert self.moves(1) == self.moves(1) != self.moves(2)

    def test_every_move_is_played(self):
        with RandomPlayer() as player:
            player.new_game(5)
            drawn = [player.play(Chess()) for _ in range(2000)]
        counts = [drawn.count(action) for action in Chess().legal_actions()]
        assert len(counts) == 20 and min(counts) > 60 and max(counts) < 150


class TestSearch:
    def test_it_plays_the_move_of_the_search(self):
        game = Chess(moves="e4 e5 Nf3")
        with SearchPlayer("material", simulations=500) as player:
            assert player.play(game) == Search("material", simulations=500).run(game).best

    def test_the_tree_is_kept(self):
        player = SearchPlayer("material", simulations=300)
        game = Chess()
        alone(player.think(game))
        forest = player._forest
        for action in forest.result().pv[:2]:
            game.apply(action)
        alone(player.think(game))
        assert player._forest is forest
        assert forest.result().tree.root.N > 301
        player.new_game()
        alone(player.think(game))
        assert player._forest is not forest
        assert player._forest.result().tree.root.N == 301

    def test_a_move_taken_back_starts_a_new_tree(self):
        player = SearchPlayer("material", simulations=50)
        assert player.play(Chess(moves="e4 e5")) is not None
        first = player._forest
        player.play(Chess(moves="d4"))
        assert player._forest is not first

    def test_other_games(self):
        with SearchPlayer(simulations=400) as player:
            assert player.play(TicTacToe([0, 3, 1, 4])) == 2
            assert player.play(ConnectFour("112233")) == 3

    @pytest.mark.alone
    def test_a_clock_bounds_the_time(self):
        player = SearchPlayer("material", simulations=None, seconds=60)
        began = time.monotonic()
        player.play(Chess(), Clocks((2.0, 2.0), (0.0, 0.0)))
        assert time.monotonic() - began < 0.5

    def test_seeds_change_what_is_random(self):
        def first(seed):
            player = SearchPlayer("uniform", simulations=30, temperature=1.0)
            player.new_game(seed)
            return [player.play(Chess(moves=m)) for m in ("e4", "d4", "c4", "Nf3", "a3", "h3")]

        assert first(1) == first(1) != first(2)


def test_moves_continue_after_a_claimable_draw():
    shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"] * 2
    earlier, later = Chess(moves=shuffle), Chess(moves=[*shuffle, "e2e4", "e7e5"])
    assert earlier.outcome == "repetition"
    assert len(moves_between(earlier, later)) == 2


def test_moves_between():
    assert moves_between(Chess(moves="e4 e5"), Chess(moves="e4 c5")) is None
    assert moves_between(Chess(), Chess("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")) is None
    assert moves_between(TicTacToe(), TicTacToe([1])) is None
    later = Chess(moves="e4 e5 Nf3")
    state = Chess(moves="e4")
    for action in moves_between(state, later):
        state.apply(action)
    assert state.fen() == later.fen()


@pytest.mark.parametrize("left", [0.0, 0.001, 0.05, 1, 60, 3600])
@pytest.mark.parametrize("increment", [0.0, 0.01, 5.0])
def test_the_time_for_a_move_never_exceeds_the_clock(left, increment):
    spent = time_for_move(Clocks((1.0, left), (0.0, increment)), seat=1)
    assert 0 <= spent <= max(0.0, left - 0.01)


class TestUci:
    def test_a_game_from_any_position(self):
        player = UciPlayer(fake("good"), {"skill level": "3"}, Limits(nodes=10))
        with player:
            player.new_game()
            game = Chess("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ["e2e4", "e8e7"])
            choice = alone(player.think(game))
            assert game.action_to_string(choice.action) == "e1d1"
            assert 0 < choice.value < 0.1

    @pytest.mark.parametrize(
        ("kind", "ending"),
        [("illegal", "illegal move"), ("nothing", "illegal move"), ("dies", "disconnect")],
    )
    def test_failures_have_names_and_the_next_game_works(self, kind, ending):
        with UciPlayer(fake(kind), {}, Limits(nodes=10)) as player:
            for _ in range(2):
                player.new_game()
                with pytest.raises(EngineError) as caught:
                    list(map(player.play, [Chess()] * 3))
                assert caught.value.ending == ending

    def test_a_program_that_stalls(self):
        client = fake_client("hangs")
        with pytest.raises(EngineError, match=r"within 0\.2") as caught:
            client.go("startpos", "nodes 1", 0.2)
        assert caught.value.ending == "stall"
        client.close()

    def test_noise_is_not_an_answer(self):
        client = fake_client("chatty")
        assert client.go("startpos", "nodes 1", 10) == ("a2a3", 25, None)
        client.close()

    def test_a_program_that_ends_at_once(self):
        with pytest.raises(EngineError, match=r"ended with code 3|closed its output"):
            fake_client("crashes")

    @pytest.mark.slow
    def test_a_program_that_says_nothing(self, monkeypatch):
        monkeypatch.setattr("sylvan.players.uci_client.START", 0.5)
        with pytest.raises(EngineError, match="UCI"):
            fake_client("silent")

    def test_an_option_that_does_not_exist(self):
        with pytest.raises(ConfigError, match=r"'Skil'.*Skill Level"):
            fake_client("good", Skil="3")

    def test_closing_ends_the_program(self):
        client = fake_client("hangs")
        client.close()
        assert client._process.poll() is not None
        client.close()


class TestSpecs:
    def test_settings_and_limits(self):
        spec = player_spec("material:simulations=100,c_puct=2.5,fpu=parent,proofs=false")
        config = spec.config()
        assert (config.simulations, config.c_puct, config.fpu, config.proofs) == (
            100,
            2.5,
            "parent",
            False,
        )
        assert player_spec("material").config().simulations == 800
        timed = player_spec("uniform:seconds=0.5").config()
        assert (timed.simulations, timed.seconds) == (None, 0.5)
        assert player_spec("rollout:nodes=50,depth=3").config().nodes == 50

    def test_a_player_keeps_its_own_limit(self):
        common = Limits(nodes=10)
        assert player_spec("material").limited(common).limits == common
        assert player_spec("material:nodes=5").limited(common).limits.nodes == 5
        assert not player_spec("material:simulations=5").limited(common).limits
        assert not player_spec("random").limited(common).limits

    def test_programs(self):
        spec = player_spec(f"uci:{shlex.quote(sys.executable)} Skill Level=0 Hash=16 depth=4")
        assert spec.settings == {"Skill Level": "0", "Hash": "16"}
        assert (spec.limits.depth, spec.source) == (4, shlex.quote(sys.executable))
        spec = player_spec(f"uci:{fake('good')} --x=1; Skill Level = 3 ; nodes=7; Path=/a b/c")
        assert spec.source.endswith("good --x=1")
        assert spec.settings == {"Skill Level": "3", "Path": "/a b/c"}
        assert spec.limits.nodes == 7

    def test_networks(self, tmp_path):
        file = tmp_path / "net:1.onnx"
        file.write_bytes(b"no network")
        spec = player_spec(f"{file}:simulations=10,policy_temperature=1.4,threads=1")
        assert spec.is_network and spec.source == str(file)
        assert spec.settings == {"simulations": 10, "policy_temperature": 1.4}
        assert spec.options["threads"] == 1
        assert spec.name == "net:1.onnx:simulations=10,policy_temperature=1.4,threads=1"
        before = spec.identity()
        file.write_bytes(b"another network")
        assert spec.identity() != before

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "''"),
            ("stockfish", "'stockfish'"),
            ("random:seed=1", "'random'"),
            ("material:simulations", "'material:simulations'"),
            ("material:simulations=5,c_puct", "'c_puct'"),
            ("material:c_puckt=5", "'c_puct'"),
            ("material:simulations=many", r"simulations.*'many'"),
            ("material:nodes=many", r"nodes.*'many'"),
            ("material:nodes=0", r"nodes.*0"),
            ("material:tc=soon", "'soon'"),
            ("material:tc=0", "'0'"),
            ("no/such/net.onnx", r"'no/such/net.onnx'"),
            ("uci:", "command"),
            ("uci:no-such-program", "'no-such-program'"),
            ("uci:'open", "quotation"),
            ("uci:sh; Hash", "'Hash'"),
            ("uci:sh Skill Level=3; depth=4", "write uci:sh; Skill Level=3; depth=4"),
            ("uci:sh Hash=1 Skill Level=3; depth=4", "'Hash=1' is an option before the first"),
        ],
    )
    def test_refused(self, text, sentence):
        with pytest.raises(ConfigError, match=sentence):
            player_spec(text)

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ("cache_bytes=much", r"cache_bytes.*'much'"),
            ("deterministic=1", r"deterministic.*1"),
            ("policy_temperature=hot", "policy_temperature.*'hot'"),
            ("tempo=3", "'tempo'"),
        ],
    )
    def test_options_of_a_network(self, tmp_path, settings, sentence):
        file = tmp_path / "net.onnx"
        file.write_bytes(b"no network")
        with pytest.raises(ConfigError, match=sentence):
            player_spec(f"{file}:{settings}")

    @pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not name a folder")
    def test_an_option_of_another_backend(self):
        spec = player_spec(f"{Path(NETS) / 'maia-1100.pb.gz'}:device=cpu")
        with pytest.raises(ConfigError, match="'device'"):
            spec.evaluator()

    @given(st.text(max_size=30) | st.lists(st.sampled_from(PARTS), max_size=8).map("".join))
    def test_any_text_names_a_player_or_is_refused(self, text):
        sentence = ""
        try:
            player_spec(text)
        except ConfigError as error:
            sentence = str(error)
        assert "\n" not in sentence

    def test_a_program_needs_a_limit(self):
        spec = player_spec(f"uci:{fake('good')}")
        with pytest.raises(ConfigError, match="limit"):
            spec.limited(Limits())

    def test_time_controls(self):
        assert TimeControl.parse("1:30+2") == TimeControl(90, 2)
        assert str(TimeControl.parse("0.5")) == "0.5+0"
