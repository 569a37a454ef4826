"""Completion in bash after `sylvan`, by the script that the command installs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sylvan import registry
from sylvan.cli import COMMANDS
from sylvan.evaluators import evaluator_names

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def bash(tmp_path):
    """Run a bash script in an empty home."""

    def run(script):
        scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": scripts, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
        command = ["bash", "--norc", "-c", script]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def completed(bash, *words, load='eval "$(sylvan --show-completion)"'):
    """Bash's completions of the last of these words."""
    line = " ".join(f'"{word}"' for word in words)
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _sylvan_completion sylvan"
    return set(bash(f'{load}\n{ask}\nprintf "%s\\n" "${{COMPREPLY[@]}}"').split())


def test_subcommands(bash):
    names = {command.__name__.replace("_", "-") for command in COMMANDS} | {"cluster", "runs"}
    assert completed(bash, "sylvan", "") == names
    assert completed(bash, "sylvan", "pr") == {"pretrain", "practise"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["play"], ["train"], ["analyze", "--game"], ["match", "a", "b", "--game"]]
)
def test_games(bash, words):
    assert completed(bash, "sylvan", *words, "") == set(registry.names("games"))


@pytest.mark.slow
def test_evaluators_and_loggers(bash):
    assert completed(bash, "sylvan", "play", "--evaluator", "") == set(evaluator_names())
    assert completed(bash, "sylvan", "train", "x", "--log", "") == set(registry.names("loggers"))


@pytest.mark.slow
def test_runs(bash, tmp_path):
    for name in ("four", "five", "no-run"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    for name in ("four", "five"):
        (tmp_path / "runs" / name / "config.toml").touch()
    for words in [("watch",), ("runs", "compare", "four")]:
        assert completed(bash, "sylvan", *words, "f") == {"four", "five"}


@pytest.mark.slow
def test_installed_completion_is_read_by_a_new_shell(bash):
    bash("sylvan --install-completion; true")
    assert completed(bash, "sylvan", "doc", load='source "$HOME/.bashrc"') == {"doctor"}
