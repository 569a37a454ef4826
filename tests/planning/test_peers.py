"""OpenSpiel's Python MCTS as an independent implementation: the same trees, visit for visit.

It counts as we do: its first simulation evaluates the root, so `n + 1` of its simulations are `n`
of ours, and a node's count has its own evaluation in it. PUCT is `Q + c P √N / (1 + n)` with 0 for
an untried move (`fpu="zero"`); UCT tries every move, then takes `Q + c √(ln N / n)`. It does not
scale values, nor do we with `value_range=(-1, 1)`. Chance nodes are passed in one simulation
(`dont_return_chance_node`). What differs is taken out:

- it shuffles moves before it looks for the best: the generator handed in sorts them by our rule for
  ties instead, and draws chance outcomes from our stream;
- it gives a move that ends the game its bare result, without exploration. Once that shortcut is
  switched off there, and once the reference gets the same shortcut as a rule of its own.
"""

import math
import zlib

import numpy as np
import pytest

from sylvan import Search, SearchConfig, reference
from sylvan._native import Rng, mix
from sylvan.games import TicTacToe
from sylvan.games.open_spiel import from_open_spiel
from tests.planning import exact
from tests.planning.bandit import puct, uct
from tests.planning.closeness import as_bandit, watched

mcts = pytest.importorskip(
    "open_spiel.python.algorithms.mcts", reason="OpenSpiel is not installed (extra 'openspiel')"
)

GAMES = [
    "tic_tac_toe",
    "connect_four",
    "dots_and_boxes(num_rows=2,num_cols=2)",  # a box gives another turn
    "pig(players=2,winscore=15)",  # chance
    "pig(players=3,winscore=12)",  # three seats and chance
]
CLOSE = 2e-6
FORMULAS = {"puct": mcts.SearchNode.puct_value, "uct": mcts.SearchNode.uct_value}


def facts(state, seed):
    """Priors and values of an OpenSpiel state, fixed by its history; no two priors are equal."""
    seen = mix(zlib.crc32(state.history_str().encode()), seed)
    weights = [1 + mix(seen, action) % 1000 + action / 100 for action in state.legal_actions()]
    values = [mix(seen, 5000 + seat) % 2_000_001 / 1e6 - 1 for seat in range(state.num_players())]
    if len(values) == 2:
        values[1] = -values[0]
    return [w / sum(weights) for w in weights], values


class Evaluator(mcts.Evaluator):
    """The facts for OpenSpiel."""

    def __init__(self, seed):
        self.seed = seed

    def evaluate(self, state):
        return np.array(facts(state, self.seed)[1])

    def prior(self, state):
        if state.is_chance_node():
            return state.chance_outcomes()
        return list(zip(state.legal_actions(), facts(state, self.seed)[0], strict=True))


def evaluator(seed):
    """The facts for the reference, and for the core."""

    def evaluate(states):
        answers = [facts(state._state, seed) for state in states]
        return [([math.log(p) for p in priors], values) for priors, values in answers]

    def evaluate_leaves(leaves):
        answers = evaluate(leaves.states)
        logits = [x for row, _ in answers for x in row]
        return np.array(logits, np.float32), np.array([v for _, v in answers], np.float32)

    return evaluate, evaluate_leaves


class Orderly:
    """In place of NumPy's generator: our rule for ties, and our stream for chance."""

    def __init__(self, seed):
        self.rng = Rng(seed, 0)

    def shuffle(self, moves):
        moves.sort(key=lambda move: (-move[1], move[0]))

    def choice(self, outcomes, p):
        return outcomes[self.rng.pick(list(p))]


def without_shortcut(formula):
    """OpenSpiel's own formula, also for a move that ends the game."""

    def score(child, parent_count, c):
        known, child.outcome = child.outcome, None
        result = formula(child, parent_count, c)
        child.outcome = known
        return result

    return score


def open_spiel_root(game, seed, config, formula, solve=False):
    """The root of OpenSpiel's tree."""
    bot = mcts.MCTSBot(
        game.spiel,
        config.c_puct if config.selection == "puct" else config.c_uct,
        config.simulations + 1,
        Evaluator(seed),
        solve=solve,
        random_state=Orderly(config.seed),
        child_selection_fn=formula,
        dont_return_chance_node=True,
    )
    return bot.mcts_search(game._state)


def same_visits(peer, node):
    """The same counts, all the way down."""
    assert peer.explore_count == node.N
    for child in peer.children:
        if child.explore_count:
            same_visits(child, node.children[child.action])
        else:
            assert node.children[child.action].N == 0


def settings(rule, simulations, seed):
    return SearchConfig(
        selection=rule,
        simulations=simulations,
        c_puct=1.3,
        c_uct=1.1,
        fpu="zero",
        value_range=(-1.0, 1.0),
        prior_bits=32,
        proofs=False,
        seed=seed,
    )


def start(name, seed):
    """A position after some moves, where a seat is to move."""
    game, rng = from_open_spiel(name), np.random.default_rng(seed)
    for _ in range(seed % 4):
        game.apply(int(rng.choice(game.legal_actions())))
    while game.is_chance():
        game.apply(int(rng.choice([action for action, _ in game.chance_outcomes()])))
    return game


@pytest.mark.slow
@pytest.mark.parametrize("rule", FORMULAS)
@pytest.mark.parametrize("name", GAMES)
def test_open_spiel_builds_the_same_tree(name, rule):
    """Its formula everywhere; in chance games too, and where a seat moves twice."""
    compared = 0
    for seed in range(8):
        game, config = start(name, seed), settings(rule, 150, seed)
        evaluate, evaluate_leaves = evaluator(seed)
        search, closest = watched(game, evaluate, config)
        if closest < CLOSE:
            continue
        same_visits(
            open_spiel_root(game, seed, config, without_shortcut(FORMULAS[rule])), search.root
        )
        core = Search(evaluate_leaves, config).run(game)
        assert core.policy[list(search.root.children)].tolist() == list(reference.policy(search))
        compared += 1
    assert compared >= 5


def bare_result_at_the_end(config):
    """OpenSpiel's shortcut as a rule of the reference: a finished game is scored by its result."""

    def scores(node):
        b = as_bandit(node, config)
        formula = uct(config.c_uct) if config.selection == "uct" else puct(config.c_puct, zero)
        return {
            child.action: b.worth[a] if child.kind == "terminal" else formula(b, a)
            for a, child in enumerate(node.children.values())
        }

    def zero(_):
        return 0.0

    return scores


@pytest.mark.parametrize("rule", FORMULAS)
@pytest.mark.parametrize("name", GAMES)
def test_open_spiel_untouched_is_the_reference_with_its_shortcut_as_a_rule(name, rule):
    compared = 0
    for seed in range(6):
        game, config = start(name, seed), settings(rule, 120, seed)
        scores = bare_result_at_the_end(config)
        search, closest = watched(game, evaluator(seed)[0], config, own_scores=scores)
        if closest < CLOSE:
            continue
        same_visits(open_spiel_root(game, seed, config, FORMULAS[rule]), search.root)
        compared += 1
    assert compared >= 4


def test_the_comparison_notices_a_formula_that_is_not_ours():
    """UCT here and PUCT there, or another constant, are not the same tree."""
    game, config = start("connect_four", 1), settings("puct", 100, 1)
    search = reference.Search(game, evaluator(1)[0], config)
    search.run()
    same_visits(open_spiel_root(game, 1, config, without_shortcut(FORMULAS["puct"])), search.root)
    for other, formula in ((config.replace(c_puct=1.4), "puct"), (config, "uct")):
        with pytest.raises(AssertionError):
            same_visits(
                open_spiel_root(game, 1, other, without_shortcut(FORMULAS[formula])), search.root
            )


def test_what_both_prove_is_the_same():
    """MCTS-Solver there, bounds here, on every 40th position of tic-tac-toe."""
    proven = 0
    positions = [s for s in exact.reachable(TicTacToe()) if not s.is_terminal()][::40]
    for seed, position in enumerate(positions):
        game = from_open_spiel("tic_tac_toe")
        for action in position.moves():
            game.apply(action)
        config = settings("puct", 300, seed)
        peer = open_spiel_root(game, seed, config, FORMULAS["puct"], solve=True)
        ours = Search("uniform", simulations=3000, seed=seed).run(position)
        if peer.outcome is not None and ours.stopped_by == "proven":
            assert tuple(peer.outcome) == ours.values
            proven += 1
    assert proven > 50
