"""Ctrl-C ends long commands soon, with one exit code, without a traceback."""

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.games import Blob
from sylvan.networks import build_network, save_network
from sylvan.runs.run import Run

pytestmark = pytest.mark.slow

SOON = 30
"""Seconds that a busy machine may take; an idle one takes less than four."""


def started(*words, **options):
    program = [sys.executable, "-c", "from sylvan.cli import app; app()", *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, **options)


def interrupted(process, code=130):
    """Interrupt a command and return its output."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=SOON)
    assert process.returncode == code and "Traceback" not in output + errors, output + errors
    return output + errors


def test_rounds_that_are_made(tmp_path):
    """Work is stored every few seconds, which is as long as an interruption waits."""
    folder = tmp_path / "rounds"
    process = started("examples", "blob", "--out", folder, "--minutes", 5, "--threads", 1)
    while not list(folder.glob("*.rounds")):
        assert process.poll() is None
        time.sleep(0.05)
    interrupted(process)


def test_settings_that_are_being_fitted(tmp_path):
    folder = tmp_path / "run"
    process = started("train", "connect4", "--minutes", 3, "--device", "cpu", "--run", folder)
    assert process.stdout.readline().startswith("Measuring")
    interrupted(process)
    assert not folder.exists()


TINY = """
run = {steps = 100000, threads = 1, device = "cpu"}
network = {size = "mlp1x16"}
search = {simulations = 8}
selfplay = {games = 12, positions = 60}
learner = {batch = 16, samples_per_position = 2.0}
replay = {window_min = 100}
arena = {every = 0}
"""


@pytest.mark.alone
@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.013), (signal.SIGINT, 0.11)]
)
def test_one_signal_ends_training_within_200_ms(tmp_path, number, moment):
    folder = tmp_path / "run"
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["train", "tictactoe", "--config", tmp_path / "tiny.toml", "--run", folder]
    process = started(*words)
    while not (folder / "checkpoints/step-000002").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    time.sleep(moment)
    asked = time.monotonic()
    process.send_signal(number)
    process.wait(timeout=SOON)
    assert time.monotonic() - asked < 0.2
    output, errors = process.communicate()
    assert process.returncode == 130 and errors == ""
    assert "run the same command again to resume" in output
    step = Run.open(folder).checkpoints.steps()[-1]
    again = CliRunner().invoke(app, [*map(str, words), "--steps", str(step + 1)])
    assert again.exit_code == 0, again.output
    assert f"Done: {step + 1} steps" in again.stdout


def test_a_position_that_takes_long_to_solve():
    process = started("solve", "connect4")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    interrupted(process)


def test_the_browser_app(tmp_path):
    process = started("web", "tictactoe", "--port", 0, cwd=tmp_path)
    assert "http://" in process.stdout.readline()
    interrupted(process)


def test_an_analysis_server():
    """It ends by the signal, at once, also while a query runs."""
    process = started("serve-analysis", "--net", "material", stdin=subprocess.PIPE)
    query = '{"id": 1, "simulations": 1000000000, "report_every": 0.05}\n'
    process.stdin.write(query)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    interrupted(process, -signal.SIGINT)


def test_learning_from_examples(tmp_path):
    games = tmp_path / "games.pgn"
    games.write_text("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1/2-1/2\n\n" * 20)
    words = ("--network", "mlp1x16", "--epochs", 1e6, "--device", "cpu", "--out", tmp_path / "run")
    process = started("pretrain", games, *words)
    assert process.stderr.readline()
    interrupted(process)


def test_practice(tmp_path):
    network = build_network("suits1x16", game=Blob(), seed=1)
    save_network(network, tmp_path / "start.safetensors")
    words = ("--minutes", 5, "--tables", 64, "--device", "cpu", "--out", tmp_path / "run")
    process = started("practise", "blob", "--from", tmp_path / "start.safetensors", *words)
    assert "iterations" in process.stderr.readline()
    interrupted(process)
