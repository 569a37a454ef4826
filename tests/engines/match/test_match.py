"""Matches: schedule, endings, failing programs, match file, report."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import chess.pgn
import numpy as np
import pytest

from sylvan.engines.match.arbiter import Adjudication, play_game
from sylvan.engines.match.ledger import Ledger
from sylvan.engines.match.match import Match, Played, _Workers
from sylvan.engines.match.openings import Opening
from sylvan.engines.match.report import Report, as_pgn, pair_counts
from sylvan.errors import ConfigError, EngineError, SylvanError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.players.batching import alone
from sylvan.players.elo import Sprt
from sylvan.players.player import Choice, Player, RandomPlayer, SearchPlayer
from sylvan.players.specs import Limits, PlayerSpec, TimeControl, player_spec
from tests.players.test_players import fake

NETS = os.environ.get("SYLVAN_NETS")


def match(a: str, b: str, limits: Limits | None = None, **settings) -> Match:
    pair = tuple(player_spec(text).limited(limits or Limits()) for text in (a, b))
    return Match(pair, **settings)


def facts(game: Played) -> tuple:
    """Return a game without its thinking time."""
    return replace(game, seconds=(0.0, 0.0))


SHORT = Adjudication(length=20)


class TestSchedule:
    def test_each_opening_is_played_with_both_colours(self):
        games = list(match("random", "random", rules=SHORT).play(range(6)))
        assert [game.number for game in games] == list(range(6))
        assert [game.white for game in games] == [0, 1] * 3
        openings = [tuple(game.moves[: game.book]) for game in games]
        assert openings[0] == openings[1] != openings[2] == openings[3]

    def test_the_stronger_side_wins_with_both_colours(self):
        games = list(match("material:simulations=100", "random").play(range(6)))
        assert [game.score for game in games] == [1.0] * 6
        assert [
            facts(g).score for g in match("random", "material:simulations=100").play(range(2))
        ] == [
            0.0,
            0.0,
        ]

    def test_a_game_does_not_depend_on_the_others(self):
        plan = match("random", "material:simulations=20", rules=SHORT, seed=3)
        all_games = {game.number: facts(game) for game in plan.play(range(8), concurrency=3)}
        assert sorted(all_games) == list(range(8))
        (alone,) = plan.play([5])
        assert facts(alone) == all_games[5]
        (other,) = replace(plan, seed=4).play([5])
        assert other.moves != alone.moves

    def test_openings_repeat_in_order(self):
        openings = (Opening("a", None, ("e2e4",)), Opening("b", "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"))
        games = list(match("random", "random", openings=openings, rules=SHORT).play(range(6)))
        assert [game.opening for game in games] == ["a", "a", "b", "b", "a", "a"]
        assert games[2].fen == "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"

    def test_concurrency_must_be_positive(self):
        with pytest.raises(ConfigError, match=r"concurrency.*0"):
            list(match("random", "random").play(range(1), concurrency=0))

    def test_closing_abandons_games_in_progress(self):
        threads = threading.active_count()
        playing = match("random", "material:seconds=0.01").play(range(50), concurrency=2)
        next(playing)
        playing.close()
        assert threading.active_count() == threads

    def test_a_closed_player_need_not_be_stopped(self, monkeypatch):
        def gone(self):
            raise EngineError("Fake ended with code 0 unexpectedly", ending="disconnect")

        workers = _Workers(match("material:seconds=0.01", "random"), iter(range(4)))
        workers.start(1)
        workers.results.get()
        monkeypatch.setattr(type(workers._players[0]), "stop", gone)
        workers.stop()

    def test_a_long_search_is_stopped(self):
        workers = _Workers(match("material:seconds=60", "uniform:seconds=60"), iter(range(4)))
        workers.start(2)
        time.sleep(0.2)
        began = time.monotonic()
        workers.stop()
        assert time.monotonic() - began < 30
        assert workers.results.get_nowait() is None  # stopped games give no result


class Scripted(Player):
    """Plays given moves with a given expected value."""

    name = "scripted"

    def __init__(self, moves, value=0.0, delay=0.0):
        self.moves, self.value, self.delay = moves.split(), value, delay

    def think(self, game, clocks=None):
        yield from ()
        time.sleep(self.delay)
        return Choice(game.string_to_action(self.moves.pop(0)), self.value)


class TestArbiter:
    @pytest.mark.parametrize(
        ("fen", "white", "black", "returns", "ending"),
        [
            (None, "f3 g4", "e5 Qh4#", (-1, 1), "checkmate"),
            ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "Qf7", "", (0, 0), "stalemate"),
            ("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "Kxd2", "", (0, 0), "insufficient material"),
            (None, "Nf3 Ng1 Nf3 Ng1", "Nf6 Ng8 Nf6 Ng8", (0, 0), "repetition"),
            ("4k3/8/8/8/8/8/8/R3K3 w - - 99 80", "Ra2", "", (0, 0), "fifty moves"),
        ],
    )
    def test_the_rules_end_a_game(self, fen, white, black, returns, ending):
        game = alone(play_game(Chess(fen), (Scripted(white), Scripted(black))))
        assert (game.returns, game.ending) == (returns, ending)

    @pytest.mark.parametrize(
        ("fen", "expected"),
        [
            ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", (0, 0)),  # a bare king cannot mate
            ("4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1", (-1, 1)),
        ],
    )
    def test_time(self, fen, expected):
        players = (Scripted("e4", delay=0.05), Scripted(""))
        game = alone(play_game(Chess(fen), players, (TimeControl(0.02), None)))
        assert (game.returns, game.ending) == (expected, "time")
        assert "late" in game.detail and game.actions == []

    def test_an_increment_comes_after_the_move(self):
        players = (Scripted("e4 d4 c4 b4", delay=0.03), Scripted("e5 d5 c5 b5"))
        controls = (TimeControl(0.06, 0.06), TimeControl(1))
        rules = Adjudication(length=8)
        game = alone(play_game(Chess(), players, controls, rules))
        assert (game.ending, len(game.actions)) == ("length", 8)
        assert game.seconds[0] >= 0.12 > 0.06

    @pytest.mark.parametrize(
        ("values", "rules", "verdict"),
        [
            ([0.9] * 6, Adjudication(resign=0.8), (1.0, "resignation")),
            ([-0.9] * 6, Adjudication(resign=0.8), (-1.0, "resignation")),
            ([0.9] * 5, Adjudication(resign=0.8), None),
            ([0.9] * 5 + [0.7], Adjudication(resign=0.8), None),
            ([0.9] * 5 + [None], Adjudication(resign=0.8), None),
            ([0.9] * 60 + [0.01] * 16, Adjudication(draw=0.05), (0.0, "agreed draw")),
            ([0.01] * 59, Adjudication(draw=0.05), None),
            ([0.01] * 70 + [None], Adjudication(draw=0.05), None),
            ([None] * 30, Adjudication(length=30), (0.0, "length")),
            ([0.99] * 300, Adjudication(), None),
        ],
    )
    def test_adjudication(self, values, rules, verdict):
        assert rules.verdict(values) == verdict

    @pytest.mark.parametrize("rules", [{"resign": 1.5}, {"draw": 0}, {"length": 0}])
    def test_invalid_adjudication_is_refused(self, rules):
        with pytest.raises(ConfigError, match=next(iter(rules))):
            Adjudication(**rules)

    def test_resignation_needs_both_players(self):
        moves = "a3 b3 c3 d3 e3 f3 g3 h3", "a6 b6 c6 d6 e6 f6 g6 h6"
        rules = Adjudication(resign=0.5, length=16)
        disagree = Scripted(moves[0], 0.9), Scripted(moves[1], 0.9)
        assert alone(play_game(Chess(), disagree, rules=rules)).ending == "length"
        agree = Scripted(moves[0], 0.9), Scripted(moves[1], -0.9)
        game = alone(play_game(Chess(), agree, rules=rules))
        assert (game.ending, game.returns, len(game.actions)) == ("resignation", (1, -1), 6)

    def test_other_games(self):
        for start in (TicTacToe(), ConnectFour()):
            players = SearchPlayer("rollout", simulations=200), RandomPlayer()
            game = alone(play_game(start, players))
            assert game.ending == "end" and sum(game.returns) == 0


class TestFaults:
    @pytest.mark.parametrize(
        ("kind", "ending"), [("illegal", "illegal move"), ("dies", "disconnect")]
    )
    def test_a_failing_program_loses_and_is_restarted(self, kind, ending):
        plan = match("random", f"uci:{fake(kind)}; nodes=5")
        games = list(plan.play(range(4), concurrency=2))
        assert [game.ending for game in games] == [ending] * 4
        assert [game.score for game in games] == [1.0] * 4
        report = Report(plan, games)
        assert report.faults()[ending] == [0, 4]
        assert f"{ending:<12} 0 by random, 4 by" in str(report)

    def test_a_program_that_ends_between_games_is_restarted(self):
        plan = match("random", f"uci:{fake('leaves')}; nodes=5", rules=SHORT)
        assert [game.ending for game in plan.play(range(4))] == ["length"] * 4

    def test_late_moves_lose_on_time(self):
        plan = match("random", f"uci:{fake('late')}", Limits(tc=TimeControl(0.1)))
        (game,) = plan.play([0])
        assert (game.ending, game.score) == ("time", 1.0)
        assert Report(plan, [game]).faults()["time"] == [0, 1]

    def test_a_program_that_cannot_start_ends_the_match(self):
        plan = match("random", f"uci:{fake('crashes')}; nodes=5")
        with pytest.raises(SylvanError, match=r"ended with code 3|closed its output"):
            list(plan.play(range(4), concurrency=2))


class TestNetworks:
    def evaluator(self, leaves):
        """A fake network that counts its batches."""
        self.sizes.append(len(leaves))
        logits = np.sin(leaves.actions.astype(np.float32))
        return logits, np.cos(leaves.observations[:, :12].sum(axis=1) % 1000).astype(np.float32)

    @pytest.fixture
    def plan(self, tmp_path, monkeypatch):
        self.sizes = []
        file = tmp_path / "net.onnx"
        file.write_bytes(b"x")
        monkeypatch.setattr(
            PlayerSpec, "evaluator", lambda spec: self.evaluator if spec.is_network else spec.source
        )
        return match(f"{file}:nodes=8", f"{file}:nodes=1", rules=SHORT)

    def test_games_fill_one_batch(self, plan):
        assert plan.shares_batches
        games = list(plan.play(range(10)))
        assert sorted(game.number for game in games) == list(range(10))
        assert max(self.sizes) == 10

    def test_games_do_not_depend_on_the_batch_width(self, plan):
        wide = {game.number: facts(game) for game in plan.play(range(6))}
        narrow = {game.number: facts(game) for game in plan.play(range(6), concurrency=1)}
        assert wide == narrow

    def test_with_a_clock_each_game_has_its_own_thread(self, plan):
        timed = Match((replace(plan.players[0], limits=Limits(seconds=0.01)), plan.players[1]))
        assert not timed.shares_batches

    @pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not name the networks' folder")
    def test_a_real_network(self):
        net = Path(NETS) / "maia-1100.pb.gz"
        plan = match(f"{net}:nodes=4", "random", rules=SHORT)
        games = list(plan.play(range(2)))
        assert len(games) == 2
        assert "network" in plan.identity()["A"]


def played(number: int, score: float, ending: str = "checkmate") -> Played:
    return Played(number, "x", None, ["e2e4"], 1, score, ending, 0, 0, (0.0, 0.0))


class TestReport:
    def test_only_complete_pairs_count_in_order(self):
        games = [played(n, s) for n, s in [(0, 1), (1, 0.5), (2, 0), (4, 1), (5, 1), (7, 0)]]
        assert pair_counts(games) == [0, 0, 0, 1, 0]
        assert pair_counts([*games, played(3, 0)]) == [1, 0, 0, 1, 1]
        assert pair_counts([]) == [0] * 5

    def test_the_sequential_test_decides(self):
        plan = match("random", "random")
        games = [played(n, 1.0 if n % 4 else 0.5) for n in range(60)]
        report = Report(plan, games, Sprt(0, 50))
        assert report.verdict == "H1" and "H1 accepted" in str(report)
        assert Report(plan, games[:4], Sprt(0, 5)).verdict is None

    def test_nothing_played(self):
        report = Report(match("random", "random"), [])
        assert "no games" in str(report)
        assert report.to_json()["plies"] is None

    def test_copies_are_counted(self):
        openings = (Opening("a", None, ("e2e4",)),)
        a, b = "material:simulations=10", "uniform:simulations=50"
        plan = match(a, b, openings=openings, rules=SHORT)
        report = Report(plan, list(plan.play(range(4))))
        assert report.to_json()["distinct_games"] == 2
        assert "2 games are copies" in str(report)

    def test_pgn_has_the_moves_played(self):
        plan = match("material:simulations=50", "random")
        report = Report(plan, list(plan.play(range(4), concurrency=2)))
        stream = io.StringIO(as_pgn(report))
        for number in range(4):
            game = chess.pgn.read_game(stream)
            assert not game.errors
            board = game.end().board()
            played = next(g for g in report.games if g.number == number)
            assert [move.uci() for move in board.move_stack] == played.moves
            assert board.result() == game.headers["Result"]
            assert game.headers["White"] == report.names[number % 2]
            captures = checks = 0
            board = game.board()
            for i, move in enumerate(game.mainline_moves()):
                captures += i >= played.book and board.is_capture(move)
                board.push(move)
                checks += i >= played.book and board.is_check()
            assert (played.captures, played.checks) == (captures, checks)

    def test_json_has_the_numbers(self):
        plan = match("material:simulations=50", "random")
        found = Report(plan, list(plan.play(range(2))), Sprt(0, 5)).to_json()
        assert (found["wins"], found["draws"], found["losses"]) == (2, 0, 0)
        assert found["endings"] == {"checkmate": 2}
        assert found["plies"]["least"] > 8 and found["sprt"]["verdict"] is None
        json.dumps(found["match"])


class TestLedger:
    def test_a_match_resumes(self, tmp_path):
        file, plan = tmp_path / "match.jsonl", match("random", "random", rules=SHORT)
        with Ledger(file, plan) as ledger:
            for game in plan.play(range(3)):
                ledger.add(game)
        with Ledger(file, plan) as ledger:
            assert [game.number for game in ledger.games] == [0, 1, 2]
            for game in plan.play([3]):
                ledger.add(game)
        with Ledger(file, plan) as ledger:
            assert list(map(facts, ledger.games)) == list(map(facts, plan.play(range(4))))

    @pytest.mark.parametrize("cut", [1, 30, 200])
    def test_an_incomplete_line_is_cut_off(self, tmp_path, cut):
        file, plan = tmp_path / "match.jsonl", match("random", "random", rules=SHORT)
        with Ledger(file, plan) as ledger:
            for game in plan.play(range(2)):
                ledger.add(game)
        whole = file.read_bytes()
        file.write_bytes(whole[:-cut])
        with Ledger(file, plan) as ledger:
            assert [game.number for game in ledger.games] == [0]
            ledger.add(next(iter(plan.play([1]))))
        assert len(file.read_bytes().splitlines()) == 3

    def test_a_file_cut_in_its_first_line_is_restarted(self, tmp_path):
        file, plan = tmp_path / "match.jsonl", match("random", "random")
        with Ledger(file, plan):
            pass
        file.write_bytes(file.read_bytes()[:40])
        with Ledger(file, plan) as ledger:
            assert ledger.games == []
        assert json.loads(file.read_text())["sylvan_match"] == 1

    @pytest.mark.parametrize(
        ("other", "said"),
        [
            (match("random", "uniform:simulations=2"), r"\bB\b"),
            (match("random", "random", seed=1), r"seed.*0.*1"),
            (match("random", "random", rules=SHORT), "adjudication"),
            (match("random", "random", openings=(Opening("x"),)), "openings"),
        ],
    )
    def test_another_match_is_refused(self, tmp_path, other, said):
        file = tmp_path / "match.jsonl"
        with Ledger(file, match("random", "random")):
            pass
        before = file.read_bytes()
        with pytest.raises(ConfigError, match=said):
            Ledger(file, other)
        assert file.read_bytes() == before

    @pytest.mark.parametrize(
        "content", [b"1. e4 e5 *\n", b"{}\n", b'["a"]\n', b"\xff\xfe\n", b"half a line"]
    )
    def test_any_other_file_is_refused_and_unchanged(self, tmp_path, content):
        file = tmp_path / "notes.txt"
        file.write_bytes(content)
        with pytest.raises(ConfigError, match="match"):
            Ledger(file, match("random", "random"))
        assert file.read_bytes() == content

    def test_a_damaged_line_is_reported(self, tmp_path):
        file, plan = tmp_path / "match.jsonl", match("random", "random", rules=SHORT)
        with Ledger(file, plan) as ledger:
            for game in plan.play(range(3)):
                ledger.add(game)
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join([lines[0], lines[1][:50] + b"\n", lines[2]]))
        with pytest.raises(ConfigError, match="line 2"):
            Ledger(file, plan)
        file.write_bytes(b"".join([lines[0], b"{}\n"]))
        with pytest.raises(ConfigError, match="line 2"):
            Ledger(file, plan)
        file.write_bytes(b"".join([lines[0], lines[1], lines[1]]))
        with pytest.raises(ConfigError, match="twice"):
            Ledger(file, plan)

    def test_one_writer_at_a_time(self, tmp_path):
        file, plan = tmp_path / "match.jsonl", match("random", "random")
        with Ledger(file, plan), pytest.raises(ConfigError, match="another"):
            Ledger(file, plan)

    @pytest.mark.slow
    def test_a_killed_match_resumes(self, tmp_path):
        """After SIGKILL, the same command gives the games of an uninterrupted run."""
        file, pgn = tmp_path / "match.jsonl", tmp_path / "games.pgn"
        words = ["match", "material:simulations=1500", "material:simulations=900"]
        words += ["--games", "16", "--max-plies", "20", "--out", str(file), "--pgn", str(pgn)]
        program = [sys.executable, "-c", "from sylvan.cli import app; app()", *words]
        running = subprocess.Popen(program, stdout=subprocess.DEVNULL)
        while not file.exists() or len(file.read_bytes().splitlines()) < 4:
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
        survived = len(file.read_bytes().splitlines()) - 1
        assert 3 <= survived < 16 and not pgn.exists()
        subprocess.run(program, stdout=subprocess.DEVNULL, check=True)
        plan = match(words[1], words[2], rules=SHORT)
        with Ledger(file, plan) as ledger:
            games = sorted(map(facts, ledger.games), key=lambda game: game.number)
        assert games == sorted(map(facts, plan.play(range(16), 2)), key=lambda game: game.number)
        assert pgn.read_text().count("[Event ") == 16
