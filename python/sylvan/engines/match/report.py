"""The result of a match: score, Elo, endings, lengths, what happened on the board; as text, JSON
and PGN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from sylvan.engines.match.chess_facts import ChessFacts
from sylvan.engines.match.match import Match, Played
from sylvan.players.elo import Elo, Sprt, elo_difference

if TYPE_CHECKING:
    import chess.pgn

__all__ = ["Report", "as_pgn", "pair_counts"]

FAULTS = ("illegal move", "disconnect", "stall", "time")
"""Endings that are one player's fault."""


def pair_counts(games: Sequence[Played]) -> list[int]:
    """Return the number of game pairs that scored 0, 1/2, 1, 3/2 and 2 for player A.

    Only pairs before the first incomplete pair count: pairs that end sooner are a biased sample.
    """
    by_number = {game.number: game.score for game in games}
    counts, number = [0] * 5, 0
    while number in by_number and number + 1 in by_number:
        counts[round(2 * (by_number[number] + by_number[number + 1]))] += 1
        number += 2
    return counts


@dataclass(frozen=True)
class Report:
    """The results of some games of a match."""

    match: Match
    games: Sequence[Played]
    sprt: Sprt | None = None

    @property
    def elo(self) -> Elo:
        """Elo of player A over player B."""
        counts = Counter(game.score for game in self.games)
        return elo_difference(counts[1.0], counts[0.5], counts[0.0])

    @property
    def llr(self) -> float:
        """The log-likelihood ratio of the sequential test, by pairs of games."""
        return 0.0 if self.sprt is None else self.sprt.llr(pair_counts(self.games))

    @property
    def verdict(self) -> str | None:
        """`H0` or `H1` once the sequential test has decided."""
        return None if self.sprt is None else self.sprt.verdict(self.llr)

    @property
    def names(self) -> tuple[str, str]:
        """Names of the players, with (A) and (B) if they are equal."""
        a, b = (spec.name for spec in self.match.players)
        return (a, b) if a != b else (f"{a} (A)", f"{b} (B)")

    def faults(self) -> dict[str, list[int]]:
        """Return the number of games that A and B lost by each kind of fault."""
        counts = {fault: [0, 0] for fault in FAULTS}
        for game in self.games:
            if game.ending in counts:
                if game.score != 0.5:
                    counts[game.ending][1 if game.score else 0] += 1
                    continue
                # Time gave a draw (chess only): the player to move at the end is at fault.
                to_move = (len(game.moves) + (" b " in (game.fen or ""))) % 2
                counts[game.ending][game.white if to_move == 0 else 1 - game.white] += 1
        return counts

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as JSON data."""
        elo = self.elo
        lengths = [len(game.moves) for game in self.games]
        white = [g.score if g.white == 0 else 1 - g.score for g in self.games]
        facts = {
            "players": list(self.names),
            "games": len(self.games),
            "distinct_games": len({(game.fen, *game.moves) for game in self.games}),
            "wins": elo.wins,
            "draws": elo.draws,
            "losses": elo.losses,
            "score": elo.score,
            "elo": elo.elo,
            "elo_interval_95": [elo.low, elo.high],
            "likelihood_of_superiority": elo.superiority,
            "pairs": pair_counts(self.games),
            "white_score": mean(white) if white else None,
            "endings": dict(Counter(game.ending for game in self.games).most_common()),
            "faults": {name: dict(zip("AB", n, strict=True)) for name, n in self.faults().items()},
            "plies": _spread(lengths),
            "seconds": [round(sum(game.seconds[i] for game in self.games), 3) for i in (0, 1)],
            "match": self.match.identity(),
        }
        if self.match.is_chess:
            facts["captures"] = _spread([game.captures for game in self.games])
            facts["checks"] = _spread([game.checks for game in self.games])
            facts |= self._chess_facts()
        if self.sprt is not None:
            bounds = list(self.sprt.bounds)
            test = {"llr": self.llr, "bounds": bounds, "verdict": self.verdict}
            facts["sprt"] = {**asdict(self.sprt), **test}
        return facts

    def _chess_facts(self) -> dict[str, Any]:
        """Return opening moves, A's material at the end, and endgames."""
        facts = [ChessFacts.of(game.fen, game.moves) for game in self.games]
        both = list(zip(facts, self.games, strict=True))
        endgames = [(fact, game) for fact, game in both if fact.endgame is not None]
        return {
            "opening_moves": dict(Counter(fact.opening for fact in facts).most_common()),
            "material": _spread([fact.material * (1 - 2 * game.white) for fact, game in both]),
            "endgames": {
                "games": len(endgames),
                "score": mean(game.score for _, game in endgames) if endgames else None,
                "kinds": dict(Counter(fact.endgame for fact, _ in endgames).most_common()),
                "plies": _spread([fact.endgame_ply for fact, _ in endgames]),
            },
        }

    def __str__(self) -> str:
        facts, elo = self.to_json(), self.elo
        a, b = self.names
        if not self.games:
            return f"{a} against {b}: no games"
        first = "White" if self.match.is_chess else "first seat"
        endings = ", ".join(f"{count} {ending}" for ending, count in facts["endings"].items())
        lines = [
            f"{a} against {b}",
            f"games        {elo.games}: {elo.wins} won, {elo.draws} drawn, {elo.losses} lost",
            f"score        {100 * elo.score:.1f} % ({first} {100 * facts['white_score']:.1f} %)",
            f"difference   {elo}; 95 % interval; superior with {100 * elo.superiority:.1f} %",
            f"endings      {endings}",
            f"plies        {_words(facts['plies'])}",
        ]
        if self.match.is_chess:
            lines.append(f"captures     {_words(facts['captures'])}")
            lines.append(f"checks       {_words(facts['checks'])}")
            lines.append(f"material     {_words(facts['material'])}, for {a} at the end")
            lines.append(f"endgames     {_endgame_words(facts['endgames'])}")
            lines.append(f"first moves  {_most_frequent(facts['opening_moves'])}")
        if facts["distinct_games"] < elo.games:
            lines.append(f"repeated     {elo.games - facts['distinct_games']} games are copies")
        for fault, (of_a, of_b) in self.faults().items():
            if of_a or of_b:
                lines.append(f"{fault:<12} {of_a} by {a}, {of_b} by {b}")
        if self.sprt is not None:
            low, high = self.sprt.bounds
            state = {"H0": "H0 accepted", "H1": "H1 accepted", None: "undecided"}[self.verdict]
            test = f"H0: {self.sprt.elo0:g} Elo, H1: {self.sprt.elo1:g} Elo"
            lines.append(
                f"SPRT         LLR {self.llr:+.2f} ({low:.2f} to {high:.2f}): {state}; {test}"
            )
        return "\n".join(lines)


def _spread(numbers: list[int]) -> dict[str, float] | None:
    """Return mean, median, minimum and maximum."""
    if not numbers:
        return None
    return {
        "mean": round(mean(numbers), 2),
        "median": median(numbers),
        "least": min(numbers),
        "most": max(numbers),
    }


def _words(spread: dict[str, float]) -> str:
    return f"{spread['mean']:g} on average, {spread['least']:g} to {spread['most']:g}"


def _endgame_words(facts: dict[str, Any]) -> str:
    if not facts["games"]:
        return "none"
    kinds = ", ".join(f"{count} {kind}" for kind, count in facts["kinds"].items())
    return (
        f"{facts['games']} ({kinds}) after {facts['plies']['mean']:g} plies on average; "
        f"score {100 * facts['score']:.1f} %"
    )


def _most_frequent(counts: dict[str, int], shown: int = 2) -> str:
    most = [f"{moves} ({count})" for moves, count in list(counts.items())[:shown]]
    others = len(counts) - len(most)
    return ", ".join(most) + (f" and {others} others" if others else "")


_TERMINATIONS = {"time": "time forfeit", "disconnect": "abandoned", "stall": "abandoned"}
_TERMINATIONS |= {"illegal move": "rules infraction", "length": "adjudication"}
_TERMINATIONS |= {"resignation": "adjudication", "agreed draw": "adjudication"}


def as_pgn(report: Report) -> str:
    """Return all games as PGN, in the order of the schedule."""
    from sylvan.games.pgn import game_text

    games = sorted(report.games, key=lambda game: game.number)
    return "".join(game_text(_pgn_game(game, report.names)) for game in games)


def _pgn_game(played: Played, names: tuple[str, str]) -> chess.pgn.Game:
    import chess
    import chess.pgn

    board = chess.Board(played.fen) if played.fen else chess.Board()
    game = chess.pgn.Game()
    game.setup(board)
    points = played.score if played.white == 0 else 1 - played.score
    game.headers["Event"] = "Sylvan match"
    game.headers["Date"] = f"{date.today():%Y.%m.%d}"
    game.headers["Round"] = str(played.number + 1)
    game.headers["White"], game.headers["Black"] = names[played.white], names[1 - played.white]
    game.headers["Result"] = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}[points]
    game.headers["Opening"] = played.opening
    game.headers["Termination"] = _TERMINATIONS.get(played.ending, "normal")
    game.headers["PlyCount"] = str(len(played.moves))
    node: chess.pgn.GameNode = game
    for move in played.moves:
        node = node.add_variation(chess.Move.from_uci(move))
    node.comment = played.ending + (f": {played.detail}" if played.detail else "")
    return game
