"""Training as the founding documents and the programs around them have it, and their mistakes."""

import json
import math
import threading
from itertools import groupby, pairwise

import numpy as np
import pytest
import torch

from sylvan import Forest, SearchConfig
from sylvan.games import Chess, TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.learning.examples import ExamplesConfig
from sylvan.learning.learner import Learner, LearnerConfig
from sylvan.learning.pretrain import import_examples
from sylvan.learning.schedule import learning_rate
from sylvan.networks import build_network
from sylvan.replay.buffer import Replay, ReplayConfig
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import GameHistory
from sylvan.runs.config import TrainingConfig, sectioned
from sylvan.runs.loop import train
from sylvan.runs.presets import preset_settings
from sylvan.runs.run import Run
from sylvan.runs.watcher import Watcher
from sylvan.selfplay.ending import verdict
from tests.replay.random_records import random_record

SPEC = GameSpec("tictactoe")


def random_games(count, seed=0):
    rng = np.random.default_rng(seed)
    return [random_record(SPEC, rng, fast=0.0) for _ in range(count)]


def rewarded(rewards, returns=(0, 0), values=None):
    """A game of two seats in turn whose every step pays both of them something."""
    count = len(rewards)
    return GameRecord(
        actions=np.arange(count, dtype=np.int32),
        seats=(np.arange(count) % 2).astype(np.int8),
        policy_offsets=np.arange(count + 1, dtype=np.int64),
        policy_actions=np.arange(count, dtype=np.int32),
        policy=np.ones(count, np.float32),
        values=np.zeros((count, 2), np.float32) if values is None else np.float32(values),
        weights=np.ones(count, np.float32),
        surprise=np.zeros(count, np.float32),
        returns=np.float32(returns),
        rewards=np.float32(rewards),
        observations=np.zeros((count, 3), np.float32),
    )


# --- what is asked for --------------------------------------------------------------------------


def test_s0_24_a_history_of_a_game_makes_targets():
    values = [[0.5, -0.5], [0.2, -0.2], [-0.4, 0.4]]
    record = rewarded([[1, -1], [0, 0], [-2, 2]], returns=(1, -1), values=values)
    history = GameHistory(record, num_actions=9, discount=0.5)
    for name in ("observations", "actions", "rewards", "policies", "values", "to_play"):
        assert len(getattr(history, name)) == 3
    assert history.policies.sum(1).tolist() == [1, 1, 1]
    # To the end: 1 + 0/2 − 2/4 + 1/8; with td_steps 2: 1 + 0/2 − 0.4/4.
    assert history.make_target(0).value.tolist() == pytest.approx([0.625, -0.625])
    assert history.make_target(0, td_steps=2).value.tolist() == pytest.approx([0.9, -0.9])
    assert history.make_target(1).reward.tolist() == [1, -1]
    assert history.make_target(1).policy.tolist() == [0, 1] + [0] * 7
    past = history.make_target(7)  # a model is unrolled beyond the end
    assert not past.value.any() and not past.reward.any() and not past.policy.any()


def test_s0_25_the_replay_is_uniform_or_prioritised_bounded_and_on_disk(tmp_path):
    config = ReplayConfig(window_min=40, window_max=40, prioritised=True, alpha=1.0, beta=1.0)
    replay = Replay(tmp_path, SPEC, config)
    replay.append(random_games(30))
    assert 40 <= replay.window < 40 + 9 and replay.positions > 150  # whole games leave it
    positions = np.unique(replay.sample(5000, np.random.default_rng(1)).positions, axis=0)
    replay.update_priorities(positions, np.r_[100.0, np.ones(len(positions) - 1)])
    batch = replay.sample(3000, np.random.default_rng(2))
    first = (batch.positions == positions[0]).all(axis=1)
    assert first.mean() == pytest.approx(100 / (99 + len(positions)), abs=0.04)
    assert batch.weight[first].max() == pytest.approx(0.01 * batch.weight[~first].max(), rel=1e-3)
    replay.mark()
    again = [record.actions.tolist() for record in Replay.read(tmp_path)]
    assert again == [record.actions.tolist() for record in random_games(30)]


def test_s0_25_many_threads_may_use_it(tmp_path):
    replay = Replay(tmp_path, SPEC, ReplayConfig())
    replay.append(random_games(1))
    failures = []

    def work(number):
        try:
            for _ in range(10):
                replay.append(random_games(1, seed=number))
                assert len(replay.sample(8, np.random.default_rng(number)).policy) == 8
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and replay.records == 41


def test_s1_23_the_learner_has_what_was_listed():
    cosine, exponential = (LearnerConfig(schedule=name) for name in ("cosine", "exponential"))
    for config in (cosine, exponential):
        rates = [learning_rate(config, share) for share in np.linspace(config.warmup, 1, 50)]
        assert all(a >= b for a, b in pairwise(rates))
        assert rates[-1] < 0.05 * rates[0]
    assert LearnerConfig(optimizer="adamw", weight_decay=0.1).clip > 0  # Adam, L2, clipping
    assert {"precision", "compile", "average"} <= set(LearnerConfig.model_fields)


def tiny(**sections):
    """A run of tic-tac-toe of a few seconds."""
    whole = {
        "game": {"name": "tictactoe"},
        "network": {"size": "mlp1x16"},
        "search": {"simulations": 8},
        "selfplay": {"games": 8, "positions": 96},
        "learner": {"batch": 32},
        "arena": {"every": 1, "games": 2, "simulations": 2, "positions": 0},
        "run": {"steps": 2, "threads": 1, "device": "cpu"},
    }
    return TrainingConfig(**whole | sections)


def test_s0_26_the_loop_plays_learns_evaluates_saves_and_logs(tmp_path):
    heard = []

    class Order(Watcher):
        def selfplay_progress(self, *_):
            heard.append("play")

        def game_ended(self, _):
            heard.append("play")

        def learner_progress(self, *_):
            heard.append("learn")

        def rated(self, *_):
            heard.append("evaluate")

        def step_end(self, *_):
            heard.append("saved" if run.checkpoints.steps() else "lost")

    run = Run(tmp_path / "run", tiny())
    train(tiny(), tmp_path / "run", watch=Order())
    assert [name for name, _ in groupby(heard)] == ["play", "learn", "evaluate", "saved"] * 2
    (_, logged) = run.metrics.lines()
    assert logged["rating.score.best"] in (0, 0.25, 0.5, 0.75, 1)  # against the version before
    checkpoint = run.checkpoints.read(2)
    optimizer = [name for name in checkpoint.part("learner") if name.startswith("optimizer/")]
    assert checkpoint.network("network").tensors and optimizer


def test_s1_26_the_preset_for_a_small_card_fits_it(tmp_path):
    """8 GB on the card, 16 GB beside it, for chess, the game that needs most."""
    config = TrainingConfig(**preset_settings("chess", "gpu8"))
    network = build_network(config.network.size, game=Chess(), seed=0)
    # Weights, gradients, two moments and the average; every layer's output, kept for the gradient.
    numbers = 5 * network.parameter_count
    blocks, channels = map(int, config.network.size.split("x"))
    outputs = config.learner.batch * 64 * channels * (8 * blocks + 8)
    assert 4 * (numbers + outputs) < 8e9
    replay = Replay(tmp_path, GameSpec("chess"), ReplayConfig())
    rng = np.random.default_rng(0)
    replay.append([random_record(GameSpec("chess"), rng, fast=0.0) for _ in range(10)])
    per_position = replay.nbytes / replay.window
    memory = config.search.bytes + config.run.cache_megabytes * 2**20
    assert memory + per_position * config.replay.window_max < 16e9


def test_s2_20_the_settings_of_the_other_program_are_settings_here():
    config = TrainingConfig(
        game={"name": "chess", "params": {"encoder": "planes19"}},
        network={"size": "19x256"},
        search=sectioned(
            {
                "num_simulations": 400,
                "pb_c_base": 20000,
                "pb_c_init": 2,
                "root_dirichlet_alpha": 0.3,
            }
        )["search"],
        selfplay={"max_plies": 200, "verdict": "estimate"},
    )
    search = config.search
    assert (search.simulations, search.c_base, search.c_puct) == (400, 20000, 2)
    assert search.dirichlet_alpha == 0.3 and search.noise
    assert config.game.spec.first().observation().shape[0] == 19
    ahead = Chess("4k3/8/8/8/8/8/8/Q3K3 b - - 0 1")
    assert verdict(ahead, "estimate").tolist() == [0.25, -0.25]
    assert verdict(Chess(), "estimate").tolist() == [0, 0]


def test_s3_22_positions_with_evaluations_are_learned_from_before_self_play(tmp_path):
    rows = [
        {"fen": f"4k3/8/8/8/8/8/4P3/4K3 {seat} - - {clock} 50", "move": move, "cp": cp}
        for clock in range(40)
        for seat, move, cp in (("w", "e2e4", 150), ("b", "e8e7", -150))
    ]
    rows.append({"fen": "4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", "move": "a1a8", "cp": 900})
    source = tmp_path / "labels.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = ExamplesConfig(max_centipawns=200)
    found = import_examples([source], tmp_path / "examples", GameSpec("chess"), config)
    assert found.positions == 80 and found.skipped == 1  # the decided one is filtered
    assert found.bytes / found.positions < 115e9 / 5e6 / 10  # boards and masks: 23 kB each
    for record in Replay.read(tmp_path / "examples"):
        mover = int(record.seats[0])
        value = math.tanh(150 / 400) * (1 if mover == 0 else -1)
        assert record.values[0][mover] == pytest.approx(value, abs=1e-3)


# --- mistakes around the documents ---------------------------------------------------------------


def test_a_gradient_reaches_the_network(tmp_path):
    """Summing `.item()`s and calling `backward()` on a new tensor changes nothing, silently."""
    replay = Replay(tmp_path, SPEC, ReplayConfig())
    replay.append(random_games(20))
    network = build_network("mlp2x16", game=TicTacToe(), seed=1)
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    config = LearnerConfig(batch=32, weight_decay=0.0, warmup=0.0)
    losses = Learner(network, config, "cpu", 1).train(replay, 3, 0.0, np.random.default_rng(0))
    assert losses.gradient_norm > 0
    changed = {
        name: not torch.equal(value, before[name]) for name, value in network.named_parameters()
    }
    assert changed and all(changed.values())


def test_each_seat_has_its_own_stream_of_rewards():
    """One discounted stream for both players would credit a seat with the other's gains."""
    record = rewarded([[3, -3], [-1, 1], [0, 0]])
    history = GameHistory(record, num_actions=9, discount=0.5)
    one_stream = [3 + 1 / 2 + 0 / 4, 1 + 0 / 2, 0]  # each mover's own reward, all added up
    by_mover = [history.make_target(ply).value[ply % 2] for ply in range(3)]
    assert by_mover == pytest.approx([3 - 1 / 2, 1.0, 0.0]) and by_mover[0] != one_stream[0]
    for ply in range(3):
        value = history.make_target(ply).value
        assert value[0] == -value[1]


def test_a_target_has_no_visit_that_the_search_did_not_make():
    """Untried moves that are worth infinity put a visit on every move of every target."""

    def sure(leaves):
        """A network that is almost sure of the first legal move."""
        policy = np.zeros(len(leaves.actions), np.float32)
        policy[leaves.offsets[:-1]] = 8.0
        return policy, np.zeros((len(leaves), 2), np.float32)

    config = SearchConfig(simulations=16, noise=False, seed=1)
    forest = Forest([TicTacToe()], config)
    forest.run(sure)
    policy = forest.result().policy
    assert policy[0] > 0.8 and np.count_nonzero(policy) < 9
    forced = Forest([TicTacToe()], config.replace(fpu=2.0, proofs=False))
    forced.run(sure)
    assert np.count_nonzero(forced.result().policy) == 9  # what the mistake would look like
    assert policy.sum() == pytest.approx(1, abs=1e-5)
