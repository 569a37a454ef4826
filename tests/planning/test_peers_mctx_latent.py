"""mctx again, this time against `LatentSearch`: both search the same model, B roots at once.

What is matched is told in `test_peers_mctx.py`. Here nothing ends and seats take turns, so mctx's
convention for two seats is a discount of -1 times ours, everywhere. A model is a table per root,
with actions from 9 to some hundreds; searches in which a choice hung on less than 1e-6 of what
rounding errors are multiplied by are left out, and counted: three in five must have been compared.
"""

from functools import partial

import numpy as np
import pytest

from sylvan import LatentSearch
from sylvan.reference.latent import LatentGame, evaluate
from tests.planning.closeness import watched
from tests.planning.test_peers_mctx import CLOSE, SETTINGS, jax, mctx

STATES = 40


class Tables:
    """A model: everything it says is a hash of the root it started from and of a state."""

    def __init__(self, seed, roots, actions):
        rng = np.random.default_rng(seed)
        shape = (roots, STATES, actions)
        self.after = rng.integers(0, STATES, shape)
        self.rewards = (rng.normal(size=shape) / 2).astype(np.float32)
        self.logits = rng.normal(size=shape).astype(np.float32)
        self.values = rng.normal(size=shape[:2]).astype(np.float32)
        self.roots = np.stack([np.arange(roots), np.zeros(roots, np.int64)], axis=1)

    def initial_inference(self, observations):
        place = tuple(np.asarray(observations).T)
        return self.values[place], np.zeros(len(observations)), self.logits[place], observations

    def recurrent_inference(self, hidden, actions):
        root, state = hidden.T
        step = (root, state, actions)
        place = (root, self.after[step])
        return self.values[place], self.rewards[step], self.logits[place], np.stack(place, axis=1)


@partial(jax.jit, static_argnums=(0, 1))
def mctx_search(policy, simulations, tables, discount, key):
    after, rewards, logits, values = tables
    every = jax.numpy.arange(len(after))

    def step(_, __, action, state):
        following = after[every, state, action]
        output = mctx.RecurrentFnOutput(
            reward=rewards[every, state, action],
            discount=jax.numpy.full(len(after), discount),
            prior_logits=logits[every, following],
            value=values[every, following],
        )
        return output, following

    first = jax.numpy.zeros(len(after), jax.numpy.int32)
    root = mctx.RootFnOutput(prior_logits=logits[:, 0], value=values[:, 0], embedding=first)
    scale = partial(mctx.qtransform_by_min_max, min_value=-6.0, max_value=4.0)
    search = {
        "muzero": partial(mctx.muzero_policy, dirichlet_fraction=0.0),
        "noise": partial(mctx.muzero_policy, dirichlet_fraction=0.25, dirichlet_alpha=0.3),
        "known range": partial(mctx.muzero_policy, dirichlet_fraction=0.0, qtransform=scale),
        "gumbel": partial(mctx.gumbel_muzero_policy, max_num_considered_actions=16),
    }[policy]
    return search(None, key, root, step, simulations)


def noise_of(policy, key, tree, shape):
    """The noise that mctx drew, a row per root."""
    if policy == "gumbel":
        return tree.extra_data.root_gumbel.tolist()
    if policy == "noise":
        drawn = jax.random.split(key, 3)[1]
        return jax.random.dirichlet(drawn, np.full(shape[1], 0.3), (shape[0],)).tolist()
    return None


def settings(policy):
    if policy == "noise":
        return SETTINGS["muzero"].replace(noise=True, dirichlet_alpha=0.3, dirichlet_fraction=0.25)
    return SETTINGS[policy].replace(max_considered=16)


def same_tree(tree, which, index, node):
    """The same visits of every edge, all the way down; those without a visit may not be listed."""
    visits = np.asarray(tree.children_visits[which, index])
    ours = np.zeros_like(visits)
    for edge in node.edges:
        ours[edge.action] = edge.N
    np.testing.assert_array_equal(ours, visits)
    for edge in node.edges:
        if edge.N > 1:
            child = int(tree.children_index[which, index, edge.action])
            same_tree(tree, which, child, edge.child)


def compare(policy, roots, actions, simulations, players, discount):
    """The share of the searches that could be compared."""
    tables = Tables(roots + actions + simulations, roots, actions)
    arrays = (tables.after, tables.rewards, tables.logits, tables.values)
    key = jax.random.PRNGKey(roots)
    signed = discount if players == 1 else -discount
    output = mctx_search(policy, simulations, arrays, signed, key)
    tree = jax.device_get(output.search_tree)
    noise = noise_of(policy, key, tree, (roots, actions))
    config = settings(policy).replace(simulations=simulations, discount=discount, threads=2)
    search = LatentSearch(tables, config, num_players=players)
    plans = search.run_many(tables.roots, noise=noise)
    compared = 0
    for which, plan in enumerate(plans):
        game = LatentGame(
            tables, tables.roots[which], range(actions), num_actions=actions, num_players=players
        )
        given = None if noise is None else noise[which]
        slow, closest = watched(game, evaluate, config.replace(threads=1), given)
        if closest < CLOSE:
            continue
        same_tree(tree, which, 0, plan.tree.root)
        assert plan.tree.root.N == slow.root.N == simulations + 1
        value = float(tree.node_values[which, 0])
        assert abs(plan.values[0] - value) < 1e-4
        np.testing.assert_allclose(plan.policy, output.action_weights[which], atol=2e-4)
        compared += 1
    return compared / roots


@pytest.mark.slow  # jax compiles each
@pytest.mark.parametrize(
    ("policy", "roots", "actions", "simulations", "players", "discount"),
    [
        ("muzero", 6, 9, 40, 1, 0.97),
        ("muzero", 5, 9, 32, 2, 1.0),  # mctx's discount is -1 there
        ("muzero", 2, 700, 12, 2, 1.0),
        ("gumbel", 6, 9, 40, 1, 0.97),
        ("gumbel", 1, 24, 60, 2, 0.95),
        ("gumbel", 2, 700, 12, 2, 1.0),
    ],
)
def test_mctx_makes_the_same_search(policy, roots, actions, simulations, players, discount):
    assert compare(policy, roots, actions, simulations, players, discount) >= 0.6


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["noise", "known range"])
def test_so_it_does_with_noise_and_known_bounds(policy):
    assert compare(policy, 6, 9, 40, 1, 0.97) >= 0.8
