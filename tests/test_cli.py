"""The `sylvan` command: what it prints, and what it says when it cannot."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sylvan.cli import app

ROOT = Path(__file__).parents[1]
COMMANDS = ["analyze", "bench", "doctor", "perft", "solve"]


def sylvan(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def facts(*words: str) -> dict:
    """What a command prints for programs, as strict JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    done = sylvan(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout, parse_constant=refuse)


def assert_user_error(done: Result, *words: str) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that has these words in it."""
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_version():
    done = sylvan("--version")
    assert (done.exit_code, done.stdout) == (0, f"sylvan {metadata.version('sylvan')}\n")


def test_version_needs_nothing_dear():
    code = "import sys, sylvan.cli; print([m for m in ('numpy', 'chess') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert loaded.stdout == "[]\n", loaded.stdout + loaded.stderr


def test_no_command_shows_the_help():
    done = sylvan()
    assert done.exit_code == 0
    for command in COMMANDS:
        assert command in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command):
    done = sylvan(command, "--help")
    assert done.exit_code == 0
    assert command == "doctor" or f"sylvan {command} " in done.stdout.partition("Examples:")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["anlyze"], ["anlyze", "'analyze'"]),
        (["--no-such-option"], ["--no-such-option"]),
        (["perft", "startpos"], ["depth"]),
        (["perft", "startpos", "three"], ["depth", "integer"]),
        (["perft", "startpos", "-1"], []),
    ],
)
def test_wrong_words(words, said):
    assert_user_error(sylvan(*words), *said)


def test_our_own_mistakes_keep_their_traceback(monkeypatch):
    def broken():
        raise ZeroDivisionError

    monkeypatch.setattr("sylvan.doctor.examine", broken)
    done = sylvan("doctor")
    assert isinstance(done.exception, ZeroDivisionError)


class TestDoctor:
    def test_names_every_extra_of_the_package(self):
        report = facts("doctor")
        assert set(report["extras"]) == set(
            metadata.metadata("sylvan").get_all("Provides-Extra") or []
        )
        assert report["extras"]["dev"]["packages"]["pytest"] == pytest.__version__
        assert report["extras"]["openspiel"]["works"]
        assert report["native_works"]
        assert report["cores"] >= 1

    def test_an_extra_includes_what_it_refers_to(self):
        extras = facts("doctor")["extras"]
        assert extras["openspiel"]["packages"].items() <= extras["dev"]["packages"].items()

    def test_says_how_to_install_what_is_missing(self, monkeypatch):
        import sylvan.doctor as module

        real = module.version
        monkeypatch.setattr(
            module, "version", lambda name: None if name == "open-spiel" else real(name)
        )
        assert facts("doctor")["extras"]["openspiel"]["works"] is False
        shown = " ".join(sylvan("doctor").stdout.split())
        assert "extra openspiel not installed: pip install 'sylvan[openspiel]'" in shown

    def test_an_extra_that_does_not_load_does_not_work(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyspiel", None)
        assert facts("doctor")["extras"]["openspiel"]["works"] is False
        assert "does not load" in sylvan("doctor").stdout

    def test_every_extra_is_probed(self):
        from sylvan.doctor import _PROBES

        assert set(_PROBES) == set(facts("doctor")["extras"]) - {"dev"}

    def test_a_broken_native_module_is_reported(self, monkeypatch):
        monkeypatch.setattr("sylvan.doctor._native", lambda: (False, "does not load: no such file"))
        done = sylvan("doctor")
        assert done.exit_code == 1
        assert "does not load: no such file" in " ".join(done.stdout.split())
