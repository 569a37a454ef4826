"""Ideas for the search, each in a match against the defaults: equal network, equal simulations.

    python -m benchmarks.ideas [--net FILE] [--nodes 800] [--games 400] [--device cuda] [IDEA ...]

An IDEA is a name of `IDEAS`, or settings of `SearchConfig`: `c_puct=2,fpu_reduction=0.2`. `all`
plays the whole table, `--list` prints it. `--against` gives settings to the other side. `--out
FILE` keeps finished games, and a later call plays the missing ones. `--minutes` ends the call in
time; games in progress are lost then. How the games are played: `benchmarks/equal_nodes.py`;
commands and results: `benchmarks/ideas.md`.

A network is a `.safetensors` file, an `.onnx` file or one of lc0 or Maia (`.pb.gz`); on a GPU
PyTorch runs it in half precision, also our int8 models (`benchmarks/float_network.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from benchmarks.equal_nodes import Finished, Meeting, play
from sylvan.cli.terminal import print_json
from sylvan.errors import ConfigError, SylvanError
from sylvan.evaluators import evaluator_named
from sylvan.evaluators.loading import fingerprint, is_network, load_evaluator
from sylvan.evaluators.protocol import Evaluator
from sylvan.planning import SearchConfig
from sylvan.players.elo import Elo, Sprt, elo_difference

IDEAS: dict[str, dict[str, Any]] = {
    "same": {},
    "c_puct_1": {"c_puct": 1.0},
    "c_puct_1.25": {"c_puct": 1.25},
    "c_puct_1.75": {"c_puct": 1.75},
    "c_puct_2": {"c_puct": 2.0},
    "c_puct_2.5": {"c_puct": 2.5},
    "c_puct_3": {"c_puct": 3.0},
    "grown_alphazero": {"c_puct": 1.25, "c_base": 19652.0},
    "grown_lc0": {"c_puct": 1.745, "c_base": 38739.0, "c_factor": 3.894},
    "grown_katago": {"c_puct": 1.0, "c_base": 500.0, "c_factor": 0.45},
    "grown_fast": {"c_puct": 1.25, "c_base": 500.0, "c_factor": 1.0},
    "fpu_reduction_0": {"fpu_reduction": 0.0},
    "fpu_reduction_0.15": {"fpu_reduction": 0.15},
    "fpu_reduction_0.45": {"fpu_reduction": 0.45},
    "fpu_reduction_0.6": {"fpu_reduction": 0.6},
    "fpu_root_0": {"fpu_root_reduction": 0.0},
    "fpu_root_loss": {"fpu_root": "loss"},
    "policy_temperature_0.8": {"policy_temperature": 0.8},
    "policy_temperature_1.2": {"policy_temperature": 1.2},
    "policy_temperature_1.36": {"policy_temperature": 1.359},
    "policy_temperature_1.6": {"policy_temperature": 1.6},
    "policy_temperature_2": {"policy_temperature": 2.0},
    "lc0": {
        "c_puct": 1.745,
        "c_base": 38739.0,
        "c_factor": 3.894,
        "policy_temperature": 1.359,
        "fpu_reduction": 0.33,
    },
    "prior_floor_0.01": {"prior_floor": 0.01},
    "prior_floor_0.05": {"prior_floor": 0.05},
    "forcing_0.3": {"forcing_bonus": 0.3},
    "forcing_0.7": {"forcing_bonus": 0.7},
    "deviation_0.5": {"c_deviation": 0.5, "usual_deviation": 0.2},
    "deviation_0.85": {"c_deviation": 0.85, "usual_deviation": 0.2},
    "deviation_0.85_low": {"c_deviation": 0.85, "usual_deviation": 0.1},
    "deviation_0.85_high": {"c_deviation": 0.85, "usual_deviation": 0.4},
    "transpositions": {"transpositions": True},
    "lcb_0.5": {"lcb": 0.5},
    "lcb_1": {"lcb": 1.0},
    "lcb_2": {"lcb": 2.0},
    "stop_early": {"stop_early": True},
    "shortest_win": {"shortest_win": True},
    "prior_bits_16": {"prior_bits": 16},
}
"""By name: the settings that differ from the defaults."""

SPRT = Sprt(elo0=0, elo1=20)
QUICK = {"nodes": 8, "games": 4, "plies": 12, "leaves": 2}


@dataclass(frozen=True)
class Row:
    """A match: an idea, the settings of both sides, and the network."""

    idea: str
    meeting: Meeting
    network: str
    """Fingerprint of its file, or the evaluator's name."""

    @property
    def key(self) -> str:
        """A hash of all that decides the games, except for the number of threads."""
        sides = [
            each.model_dump(mode="json", exclude={"threads"})
            for each in (self.meeting.a, self.meeting.b)
        ]
        facts = [self.network, sides, self.meeting.plies, self.meeting.seed]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """The games of a row, and the work of this call."""

    row: Row
    games: list[Finished]
    wanted: int
    evaluations: int
    seconds: float

    @property
    def elo(self) -> Elo:
        scores = [game.score for game in self.games]
        return elo_difference(*(scores.count(score) for score in (1.0, 0.5, 0.0)))

    @property
    def pairs(self) -> list[int]:
        """The number of complete pairs that scored 0, 1/2, 1, 3/2 and 2."""
        scores = {game.number: game.score for game in self.games}
        counts = [0] * 5
        for number, score in scores.items():
            if number % 2 == 0 and number + 1 in scores:
                counts[round(2 * (score + scores[number + 1]))] += 1
        return counts

    @property
    def llr(self) -> float:
        return SPRT.llr(self.pairs)

    @property
    def per_move(self) -> list[float]:
        """Mean simulations per move of A and of B."""
        return [
            sum(game.simulations[side] for game in self.games)
            / max(sum(game.moves[side] for game in self.games), 1)
            for side in (0, 1)
        ]

    def to_json(self) -> dict[str, Any]:
        """All figures."""
        elo = self.elo
        return {
            "idea": self.row.idea,
            "games": elo.games,
            "wanted": self.wanted,
            "won_drawn_lost": [elo.wins, elo.draws, elo.losses],
            "score": elo.score,
            "elo": elo.elo,
            "interval": [elo.low, elo.high],
            "pairs": self.pairs,
            "llr": self.llr,
            "verdict": SPRT.verdict(self.llr),
            "simulations_per_move": self.per_move,
            "ended_by_limit": sum(game.ending == "limit" for game in self.games),
            "evaluations": self.evaluations,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        """A row of a Markdown table."""
        elo = self.elo
        games = str(elo.games) if elo.games == self.wanted else f"{elo.games} of {self.wanted}"
        a, b = self.per_move
        speed = self.evaluations / self.seconds if self.seconds else 0
        return (
            f"| `{self.row.idea}` | {games} | {elo.score:.1%} | {elo.wins}, {elo.draws}, "
            f"{elo.losses} | {elo} | {self.llr:+.2f} {SPRT.verdict(self.llr) or ''} | {a:.0f}, "
            f"{b:.0f} | {speed:,.0f} | {self.seconds:.0f} |"
        )


HEAD = (
    "| idea | games | score | won, drawn, lost | Elo | LLR (0, 20) | simulations a move | "
    "evaluations/s | seconds |\n" + "|---" * 9 + "|"
)


def settings_of(idea: str) -> dict[str, Any]:
    """The settings of an idea: one of the table, or `name=value,name=value`.

    >>> settings_of("c_puct=2,transpositions=true")
    {'c_puct': 2, 'transpositions': True}
    """
    if idea in IDEAS:
        return IDEAS[idea]
    pairs = [part.partition("=") for part in idea.split(",")]
    if not all(sign for _, sign, _ in pairs):
        raise ConfigError(f"There is no idea {idea!r}: there are {', '.join(IDEAS)}.")
    return {name.strip(): _value(text) for name, _, text in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def network(net: str, device: str, batch: int) -> Evaluator:
    """Load a network for a device; or an evaluator by its name, such as `material`."""
    path = Path(net)
    if not is_network(path):
        return evaluator_named(net)
    if device == "cpu" or path.suffix == ".safetensors":
        options: dict[str, Any] = {}
        if path.suffix == ".safetensors":
            options = {"device": device, "batch": batch}
        return load_evaluator(path, **options)
    if path.suffix == ".onnx":
        from benchmarks.float_network import float_network
        from sylvan.evaluators.pytorch import TorchEvaluator

        return TorchEvaluator(float_network(path), device=device, batch=batch, name=path.name)
    return load_evaluator(path, backend="torch", device=device, batch=batch)


@contextmanager
def kept(path: Path | None, key: str) -> Iterator[tuple[list[Finished], IO[str] | None]]:
    """The games of a row in a file, and the file to add to."""
    if path is None:
        yield [], None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    # A killed program leaves a part of a line.
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    lines = [json.loads(line) for line in whole.splitlines()]
    games = {line["game"][0]: _finished(line["game"]) for line in lines if line["row"] == key}
    with path.open("a") as file:
        yield list(games.values()), file


def _finished(fields: list[Any]) -> Finished:
    number, score, plies, ending, simulations, moves = fields
    return Finished(number, score, plies, ending, tuple(simulations), tuple(moves))


def play_row(
    row: Row, evaluator: Evaluator, games: int, out: Path | None, deadline: float
) -> Result:
    """Play the missing games of a row."""
    began = time.monotonic()
    with kept(out, row.key) as (found, file):
        found = [game for game in found if game.number < games]

        def done(game: Finished) -> None:
            found.append(game)
            if file is not None:
                file.write(json.dumps({"idea": row.idea, "row": row.key, "game": game}) + "\n")
                file.flush()
            print(f"\r{row.idea}: {len(found)} of {games} games", end="", file=sys.stderr)

        missing = sorted(set(range(games)) - {game.number for game in found})
        evaluations = play(row.meeting, missing, evaluator, done, deadline)
    print(file=sys.stderr)
    found.sort(key=lambda game: game.number)
    assert time.monotonic() >= deadline or len(found) == games
    return Result(row, found, games, evaluations, time.monotonic() - began)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ideas",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("ideas", nargs="*", metavar="IDEA")
    parser.add_argument("--list", action="store_true", help="print the table of ideas")
    parser.add_argument("--net", default=str(files("sylvan") / "nets/chess.onnx"))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cpu")
    parser.add_argument("--nodes", type=int, default=800, help="simulations a move")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--leaves", type=int, default=4, help="leaves in flight per tree")
    parser.add_argument("--plies", type=int, default=240, help="most plies of a game")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", default="same", help="the other side: an idea")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, default=2048, help="most positions at once on a GPU")
    parser.add_argument("--minutes", type=float, help="end the call in time")
    parser.add_argument("--out", type=Path, help="a file that keeps the games")
    parser.add_argument("--quick", action="store_true", help="few games, few nodes: does it run?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if given.quick:
        vars(given).update(QUICK)
    return given


def main(arguments: list[str]) -> None:
    """Play the named ideas, one after another."""
    given = parsed(arguments)
    if given.list:
        for name, settings in IDEAS.items():
            print(f"{name:20}", ", ".join(f"{k}={v!r}" for k, v in settings.items()))
        return
    ideas = list(IDEAS) if given.ideas == ["all"] else given.ideas or ["same"]
    common = SearchConfig(
        simulations=given.nodes, leaves_in_flight=given.leaves, threads=given.threads or 1
    )
    b = common.replace(**settings_of(given.against))
    meetings = [
        Meeting(common.replace(**settings_of(idea)), b, given.plies, given.seed) for idea in ideas
    ]
    deadline = time.monotonic() + 60 * given.minutes if given.minutes else float("inf")
    evaluator = network(given.net, given.device, given.batch)
    marked = fingerprint(Path(given.net)) if is_network(given.net) else given.net
    results = []
    if not given.json:
        print(HEAD)
    for idea, meeting in zip(ideas, meetings, strict=True):
        if time.monotonic() >= deadline:
            break
        row = Row(idea, meeting, marked)
        results.append(play_row(row, evaluator, given.games, given.out, deadline))
        if not given.json:
            print(results[-1], flush=True)
    if given.json:
        print_json([result.to_json() for result in results])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SylvanError as error:
        sys.exit(f"error: {error}")
