"""Elo of the levels of `sylvan.players.strength`: matches against Stockfish.

    python -m benchmarks.elo_ladder [--quick] [--json] [--games 100] [--net PATH] [RUNG ...]

A rung is `simulations:temperature`; default: those of `LADDER`. Each plays the three nearest skill
levels of Stockfish, whose Elo is known: `Skill Level` N at `go depth N + 1` is 1320,
1742, 2204, 2500, 2788 for N = 0, 3, 5, 7, 10 (the table of Stockfish's commit a08b8d4). Rungs that
are far below all of them play the next stronger rung, whose Elo is that of `LADDER`. A rung's Elo E
solves

    sum over games of  1 / (1 + 10^((step - E) / 400))  =  points,

with twice the standard error from the Fisher information. If one side scores over 95 % in the first
20 games against a level, no more are played: they would add little information.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from sylvan.engines.match.match import Match
from sylvan.evaluators.shipped import NETS
from sylvan.players.specs import player_spec
from sylvan.players.strength import LADDER

STEPS = {0: 1320, 3: 1742, 5: 2204, 7: 2500, 10: 2788}
"""Stockfish's `Skill Level` at depth one more: its Elo."""
WEAK = 1250
"""Rungs below this Elo score too little against the weakest step."""
FIRST = 20
"""Games after which a one-sided opponent is left."""


@dataclass(frozen=True)
class Opponent:
    """A player of known Elo."""

    name: str
    text: str
    """Its specification."""
    elo: int


@dataclass(frozen=True)
class Meeting:
    """Games of a rung against an opponent."""

    opponent: Opponent
    games: int
    points: float

    @property
    def tells(self) -> bool:
        """Whether the result is not one-sided."""
        return 0.05 <= self.points / self.games <= 0.95


def stockfish(skill: int) -> Opponent:
    """A step of Stockfish."""
    text = f"uci:stockfish; Skill Level={skill}; Hash=16; depth={skill + 1}"
    return Opponent(f"skill {skill}", text, STEPS[skill])


def player(rung: str, net: str) -> str:
    """The specification of a rung; like its level, without search it overlooks mates."""
    simulations, _, temperature = rung.partition(":")
    mates = str(int(simulations) > 0).lower() if net.endswith((".onnx", ".pb.gz")) else None
    extra = "" if mates is None else f",mates={mates}"
    return f"{net}:simulations={simulations},temperature={temperature or 0}{extra}"


def opponents(near: float, net: str) -> list[Opponent]:
    """The opponents that tell most about a rung of about this Elo."""
    if near < WEAK:
        above = next(rung for rung in LADDER if rung.elo > near)
        name = f"{above.simulations}:{above.temperature:g}"
        return [Opponent(name, player(name, net), above.elo)]
    nearest = sorted(STEPS, key=lambda skill: abs(STEPS[skill] - near))
    return [stockfish(skill) for skill in nearest[:3]]


def expected(elo: float, step: int) -> float:
    """The expected score per game at a difference in Elo."""
    return 1 / (1 + 10 ** ((step - elo) / 400))


def fitted(meetings: list[Meeting]) -> tuple[float, float]:
    """The Elo that explains the games, and twice its standard error."""
    points = sum(m.points for m in meetings)
    games = sum(m.games for m in meetings)
    points = min(games - 0.25, max(0.25, points))  # if all games are won or lost, limit the Elo
    low, high = -1000.0, 5000.0
    for _ in range(60):
        elo = (low + high) / 2
        made = sum(m.games * expected(elo, m.opponent.elo) for m in meetings)
        low, high = (elo, high) if made < points else (low, elo)
    information = (
        sum(m.games * (p := expected(elo, m.opponent.elo)) * (1 - p) for m in meetings)
        * (math.log(10) / 400) ** 2
    )
    return elo, 2 / math.sqrt(information)


def meet(rung: str, opponent: Opponent, games: int, net: str, seed: int) -> Meeting:
    """Play a rung against an opponent."""
    pair = (player_spec(player(rung, net)), player_spec(opponent.text))
    points = 0.0
    for done, game in enumerate(Match(pair, seed=seed).play(range(games)), start=1):
        points += game.score
        if sys.stderr.isatty():
            shown = f"{rung} against {opponent.name}: {points:g} of {done}"
            print(f"\r{shown}   ", end="", file=sys.stderr)
    return Meeting(opponent, games, points)


def measured(rung: str, near: float, games: int, net: str) -> tuple[float, float, list[Meeting]]:
    """A rung's Elo, twice its standard error, and its games."""
    meetings: list[Meeting] = []
    for number, opponent in enumerate(opponents(near, net)):
        first = meet(rung, opponent, min(FIRST, games), net, seed=number)
        if first.tells and games > FIRST:
            more = meet(rung, opponent, games - FIRST, net, seed=100 + number)
            first = Meeting(opponent, games, first.points + more.points)
        meetings.append(first)
    elo, error = fitted(meetings)
    return elo, error, meetings


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="simulations:temperature")
    parser.add_argument("--quick", action="store_true", help="4 games per step")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--games", type=int, default=100, help="per step that tells something")
    parser.add_argument("--net", default=str(NETS / "chess.onnx"), help="another network")
    options = parser.parse_args()
    if shutil.which("stockfish") is None:
        parser.error("stockfish is not installed, and the ladder is made of it")
    near = {f"{rung.simulations}:{rung.temperature:g}": rung.elo for rung in LADDER}
    found: list[dict[str, Any]] = []
    for rung in options.rungs or near:
        guess = near.get(rung, found[-1]["elo"] if found else 1500)
        games = 4 if options.quick else options.games
        elo, error, meetings = measured(rung, guess, games, options.net)
        played = {f"vs {m.opponent.name}": f"{m.points:g}/{m.games}" for m in meetings}
        found.append({"rung": rung, "elo": round(elo), "error": round(error), **played})
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("| simulations | temperature | Elo | ± | games |\n|---|---|---|---|---|")
    for row in found:
        simulations, _, temperature = row["rung"].partition(":")
        games = ", ".join(f"{k} {v}" for k, v in row.items() if k.startswith("vs"))
        print(f"| {simulations} | {temperature or 0} | {row['elo']} | {row['error']} | {games} |")


if __name__ == "__main__":
    main()
