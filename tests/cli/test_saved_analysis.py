"""`sylvan analyze x.sylvan`: show an analysis, and go on with its search."""

import json

import pytest
from typer.testing import CliRunner

from sylvan.cli import app


def sylvan(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.sylvan"
    done = sylvan(
        "analyze", "e4", "--evaluator", "material", "-n", 800, "--set", "c_puct=2", "--tree", path
    )
    assert done.exit_code == 0, done.stderr
    return path


def visits(*words):
    done = sylvan("analyze", *words, "--json", "-k", 99)
    assert done.exit_code == 0, done.stderr
    return sum(move["N"] for move in json.loads(done.stdout)["moves"])


@pytest.mark.slow
def test_a_search_goes_on_with_a_limit_and_is_saved_again(file):
    assert visits(file) == 800
    assert visits(file, "-n", 300, "--tree", file) == 1100
    assert visits(file) == 1100
    assert visits(file, "--seconds", 0.05) > 1100


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--set", "c_puct=3"], "--simulations"),
        (["--evaluator", "material"], "--simulations"),
        (["-n", 100, "--evaluator", "rollout"], "material"),
        (["-n", 100, "--set", "selection=gumbel"], "cannot go on"),
    ],
)
def test_what_cannot_go_on_gets_a_sentence(file, words, sentence):
    done = sylvan("analyze", file, *words)
    assert done.exit_code == 2 and done.stdout == ""
    assert sentence in done.stderr and done.stderr.count("\n") == 1
