"""Whole games against other engines with fast clocks: no illegal moves, no losses on time."""

import shutil
import sys

import pytest

from sylvan.engines.match.match import Match
from sylvan.players.specs import player_spec

ENGINE = f"uci:{sys.executable} -m sylvan.engines.uci; Hash=64"

pytestmark = pytest.mark.slow


@pytest.mark.alone
@pytest.mark.parametrize(
    ("program", "options", "tc"),
    [
        ("stockfish", "stockfish; Skill Level=0; Hash=16", "1+0.01"),
        ("gnuchess", "gnuchess --uci; Hash=16", "0.5+0.05"),
    ],
)
def test_fast_games(program, options, tc):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    ours, theirs = player_spec(f"{ENGINE}; tc={tc}"), player_spec(f"uci:{options}; tc={tc}")
    for game in Match((ours, theirs)).play(range(2)):
        mine = game.ending in ("illegal move", "disconnect", "stall", "time") and game.score == 0
        assert not mine, f"{game.ending}: {game.detail}: {' '.join(game.moves)}"
        assert len(game.moves) > 10
