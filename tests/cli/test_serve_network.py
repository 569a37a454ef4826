"""`sylvan serve-network`, as a process, and its clients."""

import contextlib
import json
import re
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.evaluators.loading import fingerprint
from sylvan.games import TicTacToe
from tests.evaluators.models import linear_model


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@contextlib.contextmanager
def serving(*words):
    """A server's process, and the address that it prints."""
    program = "from sylvan.cli import app; app()"
    command = [sys.executable, "-c", program, "serve-network", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().split(" is at ")[1].strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(linear_model(TicTacToe(), "wdl")[0])
    return path


@pytest.mark.slow
def test_commands_and_players_use_a_served_network(file, tmp_path):
    with serving(file, "--socket", tmp_path / "n") as (process, address):
        assert address == f"socket:{tmp_path / 'n'}"
        options = ["--game", "tictactoe", "--simulations", 50, "--json", "--net"]
        served, alone = [
            json.loads(run("analyze", *options, net).stdout)["moves"] for net in (address, file)
        ]
        assert served == alone
        report = tmp_path / "report.json"
        player = f"{address}:simulations=20"
        done = run("match", player, "random", "--game", "tictactoe", "-g", 2, "--report", report)
        assert done.exit_code == 0, done.output
        assert json.loads(report.read_text())["match"]["A"]["network"] == fingerprint(file)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 0 and not (tmp_path / "n").exists()
        assert re.search(r"\d+ clients, \d+ positions", said)


@pytest.mark.slow
def test_a_free_port_is_printed(file):
    with serving(file, "--port", 0) as (_, address):
        assert re.fullmatch(r"socket:127\.0\.0\.1:[1-9]\d+", address)
        done = run("analyze", "--game", "tictactoe", "--net", address, "--simulations", 9)
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["material"], "Material"),
        (["no.onnx"], "no.onnx"),
        (["shipped", "--socket", "/nowhere/n"], "/nowhere/n"),
        (["shipped", "--socket", "x" * 200], "x" * 200),
    ],
)
def test_what_cannot_be_served_is_a_sentence(words, named):
    done = run("serve-network", *words)
    assert done.exit_code == 2 and named in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_player_at_an_address_where_nobody_is(tmp_path):
    done = run("match", f"socket:{tmp_path}/n", "random", "--games", 1)
    assert done.exit_code == 2 and str(tmp_path) in done.stderr
