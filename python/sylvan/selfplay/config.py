"""The settings of self-play; those of each search are a `SearchConfig`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.settings import Section

__all__ = ["SelfPlayConfig"]

Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class SelfPlayConfig(Section):
    """How games are played to be learned from."""

    games: int = Field(
        512,
        ge=1,
        description="games in progress at once; each adds a leaf to the network's batch, so more "
        "keep it busy, fewer end sooner after the network that began them",
    )
    positions: int = Field(
        8192,
        ge=1,
        description="positions searched in a step; fewer let games follow the network more closely",
    )
    halves: Annotated[int, Field(ge=1, le=2)] | None = Field(
        None,
        description="with a learned model: 2 plans half of the games while the moves of the others "
        "are made, which pays where environments are slow; none: where each half has 64 games",
    )
    reuse: bool = Field(
        True, description="keep the subtree behind a move, which deepens searches for nothing"
    )

    # Which move is played. ------------------------------------------------------------------------
    temperature: Temperature = Field(
        1.0, description="of the first moves, drawn from the policy target; variety needs it"
    )
    temperature_plies: int = Field(
        30, ge=0, description="plies for which that holds; what follows should be played well"
    )
    final_temperature: Temperature = Field(
        0.0, description="of all later moves; 0 takes the best, so that results mean something"
    )

    # What a search costs. -------------------------------------------------------------------------
    full_share: Share = Field(
        1.0,
        description="share of searches with all simulations and noise, whose policy is learned; "
        "the others are fast, so that more games, and values, come out of the same time. KataGo: "
        "a quarter",
    )
    fast_simulations: int = Field(
        16, ge=1, description="simulations of a fast search, which plays but teaches no policy"
    )

    # Where games start. ---------------------------------------------------------------------------
    opening_share: Share = Field(
        0.0, description="share of games that begin with random moves, which keeps openings varied"
    )
    opening_plies: int = Field(
        4, ge=1, description="the most random moves of such a game; how many is drawn, too"
    )
    restart_share: Share = Field(
        0.0,
        description="share of games that start where an earlier one was most mistaken about its "
        "result, so that hard positions are met often enough to be learned",
    )
    restart_memory: int = Field(
        1024, ge=1, description="such positions kept; the least mistaken one goes first"
    )

    # When games end. ------------------------------------------------------------------------------
    max_plies: Annotated[int, Field(ge=1)] | None = Field(
        512, description="a game that is longer is broken off, so that none goes on for ever"
    )
    verdict: Literal["draw", "estimate"] = Field(
        "draw",
        description="what a broken-off game counts as: the middle of the range, or what the game "
        "itself thinks (chess: a quarter of a win for more material)",
    )
    resign_below: Annotated[float, Field(gt=-1, lt=0)] | None = Field(
        None,
        description="a seat gives up below this value, of -1 (lost) to 1; saves the moves after "
        "the decision. Two seats, zero-sum; none: never",
    )
    resign_turns: int = Field(
        2, ge=1, description="turns in a row below it before a seat gives up, against single errors"
    )
    resign_play_on: Share = Field(
        0.1,
        description="share of games played to the end all the same, to count those that would have "
        "been given up wrongly; more than 5 % of them: lower resign_below",
    )
