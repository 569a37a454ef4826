"""Completion in bash after `sylvan`, by the script that the command installs.

What is completed is read from the command in this process; two tests ask bash.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sylvan import registry
from sylvan.cli import COMMANDS, app
from sylvan.evaluators import evaluator_names


@pytest.fixture
def bash(tmp_path):
    """Run a bash script in an empty home."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")

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


def completed(*words):
    """The completions of the last of these words, as the script asks for them."""
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = CliRunner().invoke(
        app, env={**asked, "_SYLVAN_COMPLETE": "complete_bash"}, prog_name="sylvan"
    )
    return set(done.stdout.split())


def completed_by_bash(bash, load, *words):
    """Bash's completions of the last of these words."""
    line = " ".join(f'"{word}"' for word in words)
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _sylvan_completion sylvan"
    return set(bash(f'{load}\n{ask}\nprintf "%s\\n" "${{COMPREPLY[@]}}"').split())


def test_subcommands():
    names = {command.__name__.replace("_", "-") for command in COMMANDS} | {"cluster", "runs"}
    assert completed("sylvan", "") == names
    assert completed("sylvan", "pr") == {"pretrain", "practise"}


@pytest.mark.parametrize(
    "words", [["play"], ["train"], ["analyze", "--game"], ["match", "a", "b", "--game"]]
)
def test_games(words):
    assert completed("sylvan", *words, "") == set(registry.names("games"))


def test_evaluators_and_loggers():
    assert completed("sylvan", "play", "--evaluator", "") == set(evaluator_names())
    assert completed("sylvan", "train", "x", "--log", "") == set(registry.names("loggers"))


def test_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("four", "five", "no-run"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    for name in ("four", "five"):
        (tmp_path / "runs" / name / "config.toml").touch()
    for words in [("watch",), ("runs", "compare", "four")]:
        assert completed("sylvan", *words, "f") == {"four", "five"}


def test_the_printed_script_completes_in_bash(bash):
    load = 'eval "$(sylvan --show-completion)"'
    words = ("sylvan", "train", "x", "--log", "")
    assert completed_by_bash(bash, load, *words) == set(registry.names("loggers"))


def test_installed_completion_is_read_by_a_new_shell(bash):
    bash("sylvan --install-completion; true")
    assert completed_by_bash(bash, 'source "$HOME/.bashrc"', "sylvan", "doc") == {"doctor"}
