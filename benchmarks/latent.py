"""Searches over a learned model ÷ mctx's: `python -m benchmarks.latent [--quick] [NAME ...]`.

Tree work: 256 roots, 32 simulations, 9, 362 and 4672 actions, on two cores, with a trivial model: a
hidden state is one of 64 numbers, and a step gathers its row of a table of logits, so that both
sides get newly written dense logits, `[256, actions]`, at every step. mctx is jitted and warm, runs
alternately with ours, and searches the same model with the same settings, including policy targets:
`muzero` is PUCT, `gumbel` is Gumbel MuZero with noise in every search. `top_64` keeps the 64 most
likely actions below the root; mctx has no such option, so the peer is its full search. A row
`model` is the speed of the model alone.

Before a speed is printed, both sides must have equal visits at the roots, with few exceptions (mctx
breaks ties at random). `--quick` skips mctx's PUCT at 4672 actions, where a search takes it half a
minute.

Memory: `memory` has the bytes of the trees and of the hidden states, 64 numbers each, per root and
simulation, for 4672 actions, 256 roots and 128 simulations. NAMES: actions_9, actions_362,
actions_4672, memory; with `--json` a list of figures instead of a table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Measurement, rate, repeat, run_named
from sylvan import LatentSearch, SearchConfig
from sylvan.planning import SearchSettings
from sylvan.planning.outcomes import Outcomes

CORES, ROOTS, SIMULATIONS, STATES, DISCOUNT = 2, 256, 32, 64, 0.99

SETTINGS = {
    "muzero": SearchConfig(
        c_puct=1.25, c_base=19652.0, value_range="siblings", fpu="zero", noise=False
    ),
    "gumbel": SearchConfig(selection="gumbel", max_considered=16),
}


class Table:
    """A model whose output for a state is a row of its tables."""

    def __init__(self, actions: int) -> None:
        rng = np.random.default_rng(actions)
        self.logits = rng.normal(size=(STATES, actions)).astype(np.float32)
        self.values = rng.normal(size=STATES).astype(np.float32)
        self.rewards = rng.normal(size=STATES).astype(np.float32)
        self.written = np.empty((ROOTS, actions), np.float32)

    def said(self, states: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Value, reward, logits and hidden state per step."""
        np.take(self.logits, states, axis=0, out=self.written, mode="clip")
        return self.values[states], self.rewards[states], self.written, states

    def initial_inference(self, observations: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        return self.said(observations)

    def recurrent_inference(
        self, hidden: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> tuple[NDArray[Any], ...]:
        return self.said((7 * hidden + actions + 1) % STATES)


OBSERVATIONS = np.arange(ROOTS) % STATES


def mctx_search(policy: str, table: Table) -> Callable[[int], Any]:
    """The same search by mctx: a function of a seed that waits for its output."""
    import jax
    import mctx

    logits, values, rewards = map(jax.numpy.asarray, (table.logits, table.values, table.rewards))

    def step(_: Any, __: Any, action: Any, state: Any) -> Any:
        state = (7 * state + action + 1) % STATES
        output = mctx.RecurrentFnOutput(
            reward=rewards[state],
            discount=jax.numpy.full(ROOTS, DISCOUNT),
            prior_logits=logits[state],
            value=values[state],
        )
        return output, state

    search = {
        "muzero": partial(mctx.muzero_policy, dirichlet_fraction=0.0),
        "gumbel": partial(mctx.gumbel_muzero_policy, max_num_considered_actions=16),
    }[policy]

    @jax.jit
    def searched(key: Any) -> Any:
        states = jax.numpy.asarray(OBSERVATIONS, jax.numpy.int32)
        root = mctx.RootFnOutput(
            prior_logits=logits[states], value=values[states], embedding=states
        )
        output = search(None, key, root, step, SIMULATIONS)
        tree = output.search_tree
        noise = tree.extra_data.root_gumbel if policy == "gumbel" else ()
        return output.action_weights, tree.children_visits[:, 0], noise

    return lambda seed: jax.device_get(searched(jax.random.PRNGKey(seed)))


def our_search(policy: str, table: Table, **settings: Any) -> LatentSearch:
    config = SETTINGS[policy].replace(
        simulations=SIMULATIONS, discount=DISCOUNT, threads=CORES, **settings
    )
    return LatentSearch(table, config)


def found(search: LatentSearch) -> Outcomes:
    """Search all roots; return the results in mctx's format."""
    return search.search(OBSERVATIONS).outcomes()


def check(policy: str, table: Table, theirs: Callable[[int], Any]) -> None:
    """Check that visits are equal in nearly all trees."""
    _, visits, noise = theirs(0)
    search = our_search(policy, table, prior_bits=32, proofs=False)
    forest = search.search(OBSERVATIONS, noise=np.asarray(noise).tolist() or None)
    outcomes = forest.outcomes()
    assert (outcomes.simulations == SIMULATIONS).all()
    ours = outcomes.visits.reshape(ROOTS, -1)
    equal = (ours == np.asarray(visits)).all(axis=1).mean()
    assert equal > 0.9, f"{policy}: {equal:.0%} of the trees are those of mctx"


def model_alone(table: Table) -> float:
    """Simulations per second without any tree."""
    actions = np.zeros(ROOTS, np.int64)

    def steps() -> None:
        for _ in range(SIMULATIONS):
            table.recurrent_inference(OBSERVATIONS, actions)

    return repeat(lambda: rate(ROOTS * SIMULATIONS, steps), 5)[0]


def tree_work(actions: int, quick: bool) -> list[Measurement]:
    """Both policies, and `top_k` with many actions."""
    table, rows = Table(actions), []
    count = ROOTS * SIMULATIONS
    for policy in SETTINGS:
        slow = actions > 1000 and policy == "muzero"
        kinds: dict[str, dict[str, Any]] = {"": {}}
        if actions > 1000:
            kinds["_top_64"] = {"top_k": 64}
        searches = {kind: our_search(policy, table, **k) for kind, k in kinds.items()}
        ours: dict[str, list[float]] = {kind: [] for kind in kinds}
        peers: list[float] = []
        theirs = None if slow and quick else mctx_search(policy, table)
        if theirs is not None:
            check(policy, table, theirs)
        for seed in range(1 if slow else 3 if quick else 7):
            if theirs is not None:
                peers.append(rate(count, partial(theirs, seed)))
            for kind, search in searches.items():
                search.search(OBSERVATIONS)
                for _ in range(3):
                    ours[kind].append(rate(count, partial(found, search)))
        for kind, speeds in ours.items():
            speed, spread = repeat(partial(next, iter(speeds)), len(speeds))
            peer = repeat(partial(next, iter(peers)), len(peers))[0] if peers else None
            name = f"{policy}_{actions}{kind}"
            rows.append(Measurement(name, speed, "simulations/s", spread, "mctx", peer))
    alone = model_alone(table)
    return [*rows, Measurement(f"model_{actions}", alone, "simulations/s", 0.0)]


def actions_9(quick: bool) -> list[Measurement]:
    """As many actions as tic-tac-toe."""
    return tree_work(9, quick)


def actions_362(quick: bool) -> list[Measurement]:
    """As many actions as Go."""
    return tree_work(362, quick)


def actions_4672(quick: bool) -> list[Measurement]:
    """As many actions as chess in AlphaZero's numbering."""
    return tree_work(4672, quick)


class Wide(Table):
    """The same with hidden states of 64 numbers."""

    def said(self, states: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        hidden = np.zeros((len(states), 64), np.float32)
        hidden[:, 0] = states
        return (*super().said(states)[:3], hidden)

    def recurrent_inference(
        self, hidden: NDArray[Any], actions: NDArray[np.int64]
    ) -> tuple[NDArray[Any], ...]:
        return super().recurrent_inference(hidden[:, 0].astype(np.int64), actions)


def memory(quick: bool) -> list[Measurement]:
    """Bytes per root and simulation."""
    simulations, rows = 128, []
    kinds: dict[str, SearchSettings] = {"": {}, "_top_64": {"top_k": 64}}
    for kind, settings in kinds.items():
        config = SETTINGS["muzero"].replace(**settings).replace(simulations=simulations)
        search = LatentSearch(Wide(4672), config)
        search.search(OBSERVATIONS)
        hidden = ROOTS * (simulations + 1) * 64 * 4
        each = ROOTS * simulations
        trees = (search.bytes - hidden) / each
        rows.append(Measurement(f"tree_bytes{kind}", trees, "bytes", 0.0))
    return [*rows, Measurement("hidden_bytes", hidden / each, "bytes", 0.0)]


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    run_named([actions_9, actions_362, actions_4672, memory], sys.argv[1:])
