"""Requests and answers of the analysis server: one JSON object per line.

`read` parses a line to a `Query` or a `Cancel`; errors name the field. `schema` returns the JSON
Schema that `sylvan serve-analysis --schema` prints.
"""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sylvan.errors import ProtocolError
from sylvan.settings import plain_rule

__all__ = ["Cancel", "Cancelled", "Failure", "Line", "Query", "Report", "Score", "read", "schema"]

Ply = Annotated[int, Field(ge=0)]
Identity = Annotated[str, Field(max_length=200)] | int


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Query(_Model):
    """Positions of one game to analyse."""

    action: Literal["analyze"] = "analyze"
    id: Identity = Field(description="names the query in every answer")
    fen: str | None = Field(
        None, description="the first position; none: the initial position of chess"
    )
    moves: list[str] | str = Field(
        [], description="moves from there: UCI or SAN, a list or one text"
    )
    plies: Annotated[list[Ply], Field(min_length=1)] | Literal["all"] | None = Field(
        None,
        description="numbers of moves after which to analyse the position; none: after the last; "
        "`all`: the first position and after each move",
    )
    chess960: bool = Field(False, description="castling as in Chess960")
    simulations: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        None, description="per position; none: the server's default, unless `seconds` is given"
    )
    seconds: Annotated[float, Field(gt=0, le=10**6)] | None = Field(
        None, description="search time of the position's batch"
    )
    lines: Annotated[int, Field(ge=1, le=1000)] = Field(
        5, description="moves to report, best first"
    )
    searchmoves: list[str] = Field([], description="restrict the search to these moves")
    report_every: Annotated[float, Field(ge=0.05)] | None = Field(
        None, description="seconds between intermediate reports; none: only the final one"
    )
    priority: Annotated[int, Field(ge=-1000, le=1000)] = Field(
        0, description="higher is analysed first, and interrupts lower"
    )
    settings: dict[str, bool | int | float | str] = Field(
        {}, description="other settings of the search: fields of `SearchConfig`"
    )


class Cancel(_Model):
    """Cancel a query: no reports of it follow the answer."""

    action: Literal["cancel"]
    id: Identity = Field(description="id of the query")


class Score(_Model):
    """A value for the side to move; see `sylvan.players.score`."""

    q: float = Field(description="mean result from -1 (lost) to 1 (won)")
    cp: int = Field(description="the same in centipawns")
    mate: int | None = Field(description="moves to mate, negative if the side to move is mated")
    wdl: tuple[int, int, int] = Field(description="wins, draws and losses in thousandths")
    proven: bool = Field(description="whether the value is exact")


class Line(_Model):
    """A move and its expected continuation."""

    move: str = Field(description="UCI")
    san: str = Field(description="SAN")
    N: int = Field(description="visits")
    Q: float | None = Field(description="mean result of the visits for the side to move")
    P: float = Field(description="prior")
    score: Score | None = Field(description="none if the move is unvisited")
    pv: list[str] = Field(description="principal variation in UCI, this move first")


class Report(_Model):
    """The current result of one position."""

    id: Identity
    ply: int = Field(description="number of moves of the query before this position")
    final: bool = Field(description="whether this is the last report on this position")
    fen: str
    best: str | None = Field(description="the move to play, in UCI; none if the game is over")
    score: Score
    outcome: str | None = Field(description="how the game ended, if it is over: `checkmate`, ...")
    simulations: int
    nodes: int
    depth: int = Field(description="depth of the deepest simulation")
    seconds: float
    stopped_by: str | None = Field(description="what ended the search; none: it is running")
    evaluator: str
    lines: list[Line]


class Cancelled(_Model):
    """The answer to `cancel`."""

    id: Identity
    cancelled: int = Field(description="number of positions that will get no report")


class Failure(_Model):
    """The answer to an invalid line, or to a position that cannot be analysed."""

    id: Identity | None = Field(description="id of the query, if it can be read")
    error: str = Field(description="one sentence: what is wrong, and what to do")
    field: str | None = Field(description="the invalid field, if there is one")


_MODELS: dict[str, type[Query] | type[Cancel]] = {"analyze": Query, "cancel": Cancel}


def read(line: str) -> Query | Cancel:
    """Parse the request in a line.

    :raises ProtocolError: the line is invalid; `field` is the invalid field.

    >>> read('{"id": "a", "moves": "e4 e5"}').moves
    'e4 e5'
    >>> read('{"id": "a", "simulation": 5}')
    Traceback (most recent call last):
    sylvan.errors.ProtocolError: There is no field 'simulation': did you mean 'simulations'?
    """
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        raise ProtocolError(f"The line is not JSON: {reason}; send one object per line.") from None
    if not isinstance(request, dict):
        raise ProtocolError('The line is not a JSON object: send one like {"id": 1}.')
    action = request.get("action", "analyze")
    if not isinstance(action, str) or action not in _MODELS:
        raise ProtocolError(
            f"There is no action {json.dumps(action)[:60]}: it is {' or '.join(_MODELS)}.", "action"
        )
    try:
        return _MODELS[action].model_validate(request)
    except ValidationError as error:
        raise _fault(error, _MODELS[action]) from None


def identity(line: str) -> str | int | None:
    """Return the id in a line, which may be invalid, or None."""
    try:
        given = json.loads(line)["id"]
    except (ValueError, RecursionError, TypeError, KeyError, IndexError):
        return None
    fits = isinstance(given, str | int) and not isinstance(given, bool)
    return given if fits and len(str(given)) <= 200 else None


def _fault(error: ValidationError, model: type[BaseModel]) -> ProtocolError:
    """Convert the first error of pydantic to a `ProtocolError`."""
    faults = error.errors()
    field = str(faults[0]["loc"][0])
    if faults[0]["type"] == "extra_forbidden":
        close = difflib.get_close_matches(field, model.model_fields, 1, 0.5)
        names = ", ".join(model.model_fields)
        hint = f"did you mean {close[0]!r}?" if close else f"use one of {names}."
        return ProtocolError(f"There is no field {field[:60]!r}: {hint}", field)
    if faults[0]["type"] == "missing":
        return ProtocolError(f"{field} is missing: every request has one.", field)
    rules = [_json_rule(fault["msg"]) for fault in faults if fault["loc"][0] == field]
    shown = json.dumps(faults[0]["input"], default=str)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    meaning = model.model_fields[field].description
    wanted = " or ".join(dict.fromkeys(rules))
    return ProtocolError(f"{field} is {shown}: it must be {wanted} ({meaning}).", field)


def _json_rule(message: str) -> str:
    """Convert a rule of pydantic to JSON's terms."""
    return plain_rule(message).replace("True or False", "true or false")


def schema() -> dict[str, Any]:
    """Return the JSON Schema of requests and answers."""
    asked, answered = TypeAdapter(Query | Cancel), TypeAdapter(Report | Cancelled | Failure)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sylvan serve-analysis",
        "request": asked.json_schema(),
        "answer": answered.json_schema(mode="serialization"),
    }
