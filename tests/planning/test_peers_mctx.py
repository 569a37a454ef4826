"""mctx as an independent implementation: MuZero's and Gumbel MuZero's searches, visit for visit.

mctx searches a learned model: every action is legal everywhere, a step pays a reward and has a
discount. Here the model is a random table, and the same table is a game. What is matched:

- `muzero_policy` is PUCT with `c_base` 19652, values scaled by a node and its children
  (`value_range="siblings"`) and 0 on that scale for an untried move (`fpu="zero"`), no noise;
- with `qtransform_by_min_max` it scales a known range to 0..1, an untried move being at its lower
  end; we scale to -1..1, so `fpu="loss"` and twice its constants give the same choices;
- `gumbel_muzero_policy` is `selection="gumbel"`, with the noise that mctx drew handed in;
- a step after which the other seat moves has a negative discount there, and values per seat here;
- a step with discount 0 ends the game here; mctx goes on below, where nothing counts any more.

mctx adds noise of 1e-7 to break ties and computes in single precision throughout, so searches in
which a choice hung on less than `CLOSE`, ten times that, are left out; they are few, and counted:
four in five must have been compared.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from sylvan import Game, Search, SearchConfig, reference
from sylvan.reference.gumbel import schedule
from tests.planning.closeness import watched

jax = pytest.importorskip("jax", reason="mctx and jax are not installed (extra 'dev')")
mctx = pytest.importorskip("mctx", reason="mctx and jax are not installed (extra 'dev')")
seq_halving = pytest.importorskip("mctx._src.seq_halving")

jax.config.update("jax_disable_most_optimizations", True)  # compiling takes longer than searching

STATES, ACTIONS, BATCH = 60, 5, 12
CLOSE = 1e-6
"""Of what rounding errors are multiplied by: see `closeness`."""


@dataclass(frozen=True)
class Model:
    """A deterministic model as tables; B models side by side for mctx."""

    after: np.ndarray
    """`[B, STATES, ACTIONS]` the next state."""
    rewards: np.ndarray
    """`[B, STATES, ACTIONS]` for the seat that moves."""
    discounts: np.ndarray
    """`[B, STATES, ACTIONS]` negative if the other seat moves next, 0 at the end."""
    logits: np.ndarray
    """`[B, STATES, ACTIONS]`"""
    values: np.ndarray
    """`[B, STATES]` for the seat that moves."""
    seats: np.ndarray
    """`[B, STATES]`"""


def make_model(seed: int, players: int, discount: float) -> Model:
    rng = np.random.default_rng(seed)
    shape = (BATCH, STATES, ACTIONS)
    after = rng.integers(0, STATES, shape)
    seats = rng.integers(0, players, shape[:2])
    turned = np.take_along_axis(seats[:, None, :].repeat(STATES, 1), after, 2) != seats[..., None]
    discounts = np.where(turned, -discount, discount) * (rng.random(shape) > 0.1)
    return Model(
        after,
        rng.normal(size=shape).astype(np.float32) / 2,
        discounts.astype(np.float32),
        rng.normal(size=shape).astype(np.float32),
        rng.normal(size=shape[:2]).astype(np.float32),
        seats,
    )


class ModelGame(Game):
    """One of the models as a game; a play starts in state 0."""

    num_actions = ACTIONS
    value_range = (-np.inf, np.inf)

    def __init__(self, model, which, players, state=0, paid=0.0, over=False):
        self.model, self.which, self.num_players = model, which, players
        self.state, self.paid, self.over = state, paid, over
        self.zero_sum = players == 2

    def clone(self):
        return type(self)(
            self.model, self.which, self.num_players, self.state, self.paid, self.over
        )

    def legal_actions(self):
        return range(ACTIONS) if not self.over else ()

    def to_play(self):
        return int(self.model.seats[self.which, self.state])

    def per_seat(self, value, seat):
        """A seat's value for every seat."""
        value = float(value)
        return [value] if self.num_players == 1 else [value, -value][:: 1 if seat == 0 else -1]

    def apply(self, action):
        step = (self.which, self.state, action)
        self.paid = self.per_seat(self.model.rewards[step], self.to_play())
        self.over = self.model.discounts[step] == 0
        self.state = int(self.model.after[step])

    def rewards(self):
        return self.paid

    def is_terminal(self):
        return bool(self.over)

    def returns(self):
        return [0.0] * self.num_players

    def observation(self):
        return np.array([self.state], np.float32)


def evaluate(games):
    answers = []
    for game in games:
        place = (game.which, game.state)
        values = game.per_seat(game.model.values[place], game.to_play())
        answers.append((game.model.logits[place].tolist(), values))
    return answers


def evaluate_leaves(leaves):
    answers = evaluate(leaves.states)
    logits = [x for row, _ in answers for x in row]
    return np.array(logits, np.float32), np.array([v for _, v in answers], np.float32)


@partial(jax.jit, static_argnums=(0, 1))
def mctx_search(policy, simulations, tables, key):
    """All models of a batch at once."""
    after, rewards, discounts, logits, values = tables
    every = jax.numpy.arange(BATCH)

    def step(_, __, action, state):
        following = after[every, state, action]
        output = mctx.RecurrentFnOutput(
            reward=rewards[every, state, action],
            discount=discounts[every, state, action],
            prior_logits=logits[every, following],
            value=values[every, following],
        )
        return output, following

    first = jax.numpy.zeros(BATCH, jax.numpy.int32)
    root = mctx.RootFnOutput(prior_logits=logits[:, 0], value=values[:, 0], embedding=first)
    search = {
        "muzero": partial(mctx.muzero_policy, dirichlet_fraction=0.0),
        "known range": partial(
            mctx.muzero_policy,
            dirichlet_fraction=0.0,
            qtransform=partial(mctx.qtransform_by_min_max, min_value=-6.0, max_value=4.0),
        ),
        "gumbel": partial(mctx.gumbel_muzero_policy, max_num_considered_actions=4),
    }[policy]
    return search(None, key, root, step, simulations)


SETTINGS = {
    "muzero": SearchConfig(
        c_puct=1.25, c_base=19652.0, value_range="siblings", fpu="zero", proofs=False, prior_bits=32
    ),
    "known range": SearchConfig(
        c_puct=2.5,
        c_base=19652.0,
        c_factor=2.0,
        value_range=(-6.0, 4.0),
        fpu="loss",
        proofs=False,
        prior_bits=32,
    ),
    "gumbel": SearchConfig(selection="gumbel", max_considered=4, proofs=False, prior_bits=32),
}


def same_visits(tree, which, index, node):
    """The same counts and the same Q, all the way down to where a game ends."""
    visits = np.asarray(tree.children_visits[which, index])
    assert visits.tolist() == [child.N for child in node.children.values()]
    for action, child in node.children.items():
        if child.N and child.kind == "decision":
            same_visits(tree, which, int(tree.children_index[which, index, action]), child)


def compare(policy, simulations, players, discount):
    """How many searches of a batch could be compared."""
    model = make_model(simulations + players, players, discount)
    tables = (model.after, model.rewards, model.discounts, model.logits, model.values)
    output = mctx_search(policy, simulations, tables, jax.random.PRNGKey(simulations))
    tree = jax.device_get(output.search_tree)
    config = SETTINGS[policy].replace(simulations=simulations, discount=discount)
    compared = 0
    for which in range(BATCH):
        game = ModelGame(model, which, players)
        noise = None if policy != "gumbel" else tree.extra_data.root_gumbel[which].tolist()
        slow, closest = watched(game, evaluate, config, noise)
        if closest < CLOSE:
            continue
        same_visits(tree, which, 0, slow.root)
        fast = Search(evaluate_leaves, config).run(game, noise=noise)
        np.testing.assert_array_equal(fast.policy, reference.policy(slow))
        np.testing.assert_allclose(fast.policy, output.action_weights[which], atol=2e-4)
        seat = game.to_play()
        assert abs(slow.root.W[seat] / slow.root.N - float(tree.node_values[which, 0])) < 1e-4
        if policy == "gumbel":
            assert fast.best == int(output.action[which])
        compared += 1
    return compared


@pytest.mark.parametrize(
    "policy", ["muzero", "gumbel", pytest.param("known range", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("players", "discount"), [(1, 0.9), (1, 0.997), (2, 1.0), (2, 0.95)])
def test_mctx_builds_the_same_tree(policy, players, discount):
    """All with one number of simulations, because jax compiles anew for another."""
    compared = compare(policy, 50, players, discount)
    assert compared >= BATCH * 0.8


def test_sequential_halving_has_the_schedule_of_mctx():
    for considered in range(1, 40):
        for simulations in (0, 1, 2, 5, 16, 33, 100, 250):
            theirs = seq_halving.get_sequence_of_considered_visits(considered, simulations)
            assert schedule(considered, simulations) == list(theirs)


def test_the_comparison_notices_another_constant():
    """A search with `c_puct` 1.35 is not the one that mctx makes."""
    model = make_model(33, 1, 0.9)
    tables = (model.after, model.rewards, model.discounts, model.logits, model.values)
    output = mctx_search("muzero", 50, tables, jax.random.PRNGKey(50))
    config = SETTINGS["muzero"].replace(simulations=50, discount=0.9, c_puct=1.35)
    differing = 0
    for which in range(BATCH):
        search = reference.Search(ModelGame(model, which, 1), evaluate, config)
        search.run()
        visits = [child.N for child in search.root.children.values()]
        differing += visits != output.search_tree.children_visits[which, 0].tolist()
    assert differing > 0
