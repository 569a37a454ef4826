"""The settings of self-play; each search has a `SearchConfig`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sylvan.settings import Section

__all__ = ["SelfPlayConfig"]

Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class SelfPlayConfig(Section):
    """How the games of self-play are played."""

    games: int = Field(
        512,
        ge=1,
        description="parallel games; each adds a leaf to a batch of the network, and a third of "
        "them fill one (with `batches` 2)",
    )
    batches: int = Field(
        2,
        ge=1,
        le=4,
        description="with the rules: batches that are evaluated at once, while the games fill one "
        "more; more batches are smaller, and keep a GPU busy if the games are slow now and then",
    )
    positions: int = Field(
        8192,
        ge=1,
        description="approximate positions searched per step: the number of games is this divided "
        "by their mean length. With fewer positions, new networks are used sooner",
    )
    lag: int = Field(
        1,
        ge=0,
        le=100,
        description="steps by which the network that plays a step's games is older than the newest "
        "one. 1 lets the next games begin while the last ones end; 0 waits for them",
    )
    segment_plies: Annotated[int, Field(ge=2)] | None = Field(
        64,
        description="with a learned model and one seat: a step plays at most so many plies of an "
        "episode, and a later step continues it, so that long episodes do not delay learning; "
        "none: whole episodes",
    )
    processes: Annotated[int, Field(ge=0, le=1024)] | None = Field(
        None,
        description="with a learned model: processes in which environments and Python games step; "
        "0: in the run's own process; none: one per core if a step takes more than 1 ms, else 0. "
        "The games are the same for any number",
    )
    reuse: bool = Field(
        True, description="keep the subtree of the played move, which deepens searches at no cost"
    )

    mode: Literal["exact", "fast"] = Field(
        "exact",
        description="exact: the games follow from the seed, whatever the threads and timing; fast: "
        "they differ in the last digits from run to run, because the network's answers may depend "
        "on the rest of a batch, and batches are not padded",
    )

    # Which move is played. ------------------------------------------------------------------------
    temperature: Temperature = Field(
        1.0, description="temperature of the first moves, sampled from the policy target; 0: best"
    )
    temperature_plies: int = Field(
        30, ge=0, description="number of plies with that temperature; later moves should be strong"
    )
    final_temperature: Temperature = Field(
        0.0, description="temperature of later moves; 0 takes the best, for reliable results"
    )

    # The cost of a search. ------------------------------------------------------------------------
    full_share: Share = Field(
        1.0,
        description="share of searches with all simulations and noise, whose policy is learned; "
        "the others are fast and give more games, and so more results, in the same time. KataGo: "
        "a quarter",
    )
    fast_simulations: int = Field(
        16, ge=1, description="simulations of a fast search, whose policy is not learned"
    )

    # Where games start. ---------------------------------------------------------------------------
    opening_share: Share = Field(
        0.0, description="share of games that start with random moves, for variety of openings"
    )
    opening_plies: int = Field(
        4, ge=1, description="maximum number of random moves in such a game; the number is random"
    )
    restart_share: Share = Field(
        0.0,
        description="share of games that start at the position of an earlier game with the largest "
        "value error, so that hard positions occur more often",
    )
    restart_memory: int = Field(
        1024, ge=1, description="number of such positions to keep, those with the largest errors"
    )

    # When games end. ------------------------------------------------------------------------------
    max_plies: Annotated[int, Field(ge=1)] | None = Field(
        512, description="end a game after this many plies; none: no limit"
    )
    verdict: Literal["draw", "estimate"] = Field(
        "draw",
        description="result of a game at max_plies: the middle of the value range, or the game's "
        "own estimate (chess: a quarter of a win for more material)",
    )
    resign_below: Annotated[float, Field(gt=-1, lt=0)] | None = Field(
        None,
        description="a seat resigns below this value, of -1 (lost) to 1, which saves the moves of "
        "decided games. Two seats, zero-sum; none: never",
    )
    resign_turns: int = Field(
        2, ge=1, description="consecutive turns below it before a seat resigns, to ignore outliers"
    )
    resign_play_on: Share = Field(
        0.1,
        description="share of games played to the end in spite of a resignation, to count wrong "
        "ones; if more than 5 % of them are wrong, lower resign_below",
    )
