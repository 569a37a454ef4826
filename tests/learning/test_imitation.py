"""Training on packed games: batches, updates, checkpoints, export."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sylvan.errors import ConfigError, TrainingError
from sylvan.games import Chess
from tests.learning.packed_games import packed_games

torch = pytest.importorskip("torch")

from sylvan.learning.centipawns import OutcomeCurve, fit_outcomes  # noqa: E402
from sylvan.learning.game_files import GameTable, read_game_files  # noqa: E402
from sylvan.learning.imitation import (  # noqa: E402
    DEFAULT_LEARNER,
    Imitation,
    ImitationConfig,
    ImitationSection,
)
from sylvan.learning.imitation_checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from sylvan.learning.imitation_run import imitate  # noqa: E402
from sylvan.learning.position_batches import (  # noqa: E402
    PositionBatches,
    mirrored_codes,
    packed_planes,
)
from sylvan.networks.attention_policy import az73_gather  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("games") / "games.bin"
    path.write_bytes(packed_games(150, seed=8, evaluated=True, plies=40))
    return path


@pytest.fixture(scope="module")
def table(file: Path) -> GameTable:
    return read_game_files([file], CPU)


def config(**settings: object) -> ImitationConfig:
    section = {"network": "1x16", "policy_channels": 8} | settings
    learner = DEFAULT_LEARNER.replace(batch=64, learning_rate=5e-3)
    return ImitationConfig(imitation=ImitationSection(**section), learner=learner)


def test_attention_scores_are_gathered_in_the_order_of_move_codes() -> None:
    game = Chess("8/P5k1/8/8/8/8/8/RN2K2R w KQ - 0 1")
    gather = az73_gather()
    for action in game.legal_actions():
        uci = game.action_to_string(action)
        start, end = (8 * (int(uci[i + 1]) - 1) + "abcdefgh".index(uci[i]) for i in (0, 2))
        piece = "nbr".find(uci[4:]) if len(uci) == 5 and uci[4] != "q" else -1
        index = 64 * start + end if piece < 0 else 4096 + 64 * piece + 8 * (start % 8) + end % 8
        assert gather[action] == index


def test_mirrored_codes_are_the_moves_of_the_mirrored_board() -> None:
    game = Chess("1n2k3/P1P5/8/3pP3/7b/1N6/6K1/Q2R4 w - d6 0 1")
    mirrored = Chess("3k2n1/5P1P/8/3Pp3/b7/6N1/1K6/4R2Q w - e6 0 1")
    codes = mirrored_codes()
    assert sorted(codes[game.legal_actions()]) == sorted(mirrored.legal_actions())
    assert sorted(codes) == list(range(4672))


@pytest.mark.slow
def test_batches_match_the_game_s_observations_and_actions(table: GameTable) -> None:
    rows = torch.arange(0, len(table), 7)
    batch = PositionBatches(table, None, 0.0).make(rows)
    packed = packed_planes(table.boards[rows], table.facts[rows]).numpy().view(np.uint64)
    from sylvan.games.chess import expand_planes

    np.testing.assert_array_equal(batch.observations.numpy(), expand_planes(packed, "planes19"))
    for i in range(len(rows)):
        codes = batch.legal[i][batch.is_legal[i]]
        begin = int(table.legal_begin[rows[i]])
        assert codes.tolist() == table.legal[begin : begin + len(codes)].tolist()
    outcomes = {0: [0, 0, 1], 1: [0, 1, 0], 2: [1, 0, 0]}
    assert batch.value.tolist() == [outcomes[int(r)] for r in table.results[rows]]


def test_positions_without_castling_rights_are_mirrored_every_second_epoch(
    table: GameTable,
) -> None:
    batches, rows = PositionBatches(table, None, 0.0), torch.arange(len(table))
    plain, even, odd = (batches.make(rows, epoch) for epoch in (None, 0, 1))
    codes = torch.from_numpy(mirrored_codes())
    mirrored = 0
    for i, facts in enumerate(table.facts.tolist()):
        flipped = [bool((each.legal[i] != plain.legal[i]).any()) for each in (even, odd)]
        assert sum(flipped) == (0 if facts & 15 else 1)
        if sum(flipped):
            other = even if flipped[0] else odd
            mirrored += flipped[0]
            count = int(table.choices[i])
            np.testing.assert_array_equal(other.observations[i], plain.observations[i].flip(2))
            assert torch.equal(other.legal[i][:count], codes[plain.legal[i][:count]])
    assert mirrored > 100


def test_evaluations_are_mixed_into_results(table: GameTable) -> None:
    curve = OutcomeCurve((0.0, 0.0), (-50.0, 0.0))  # half won, half drawn, for any evaluation
    rows = torch.arange(200)
    mixed = PositionBatches(table, curve, 0.5).make(rows).value
    plain = PositionBatches(table, None, 0.5).make(rows).value
    for i in range(200):
        known = table.evaluations[i] != -32768
        expected = 0.5 * plain[i] + torch.tensor([0.25, 0.25, 0.0]) if known else plain[i]
        assert torch.allclose(mixed[i], expected)


def test_the_fit_recovers_a_known_outcome_curve() -> None:
    rng, true = np.random.default_rng(1), OutcomeCurve((-1.0, 1.5), (-1.2, -1.4))
    centipawns = rng.integers(-500, 500, 200_000).astype(np.int16)
    chances = true.chances(centipawns)
    drawn = (rng.random(len(centipawns))[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    curve = fit_outcomes(centipawns, (2 - drawn).astype(np.uint8))
    assert curve is not None
    grid = np.arange(-400, 401, 50)
    np.testing.assert_allclose(curve.chances(grid), true.chances(grid), atol=0.02)
    assert fit_outcomes(np.full(5, -32768, np.int16), np.zeros(5, np.uint8)) is None


@pytest.mark.slow
def test_losses_fall(table: GameTable) -> None:
    training = Imitation(table, config(), None, 64 * 120)
    means = []
    for _ in range(4):
        training.sums.zero_()
        for _ in range(30):
            training.update()
        means.append(float(training.sums[0] / training.sums[-1]))
    assert means[-1] < means[0] - 0.1


@pytest.mark.slow
def test_a_resumed_run_equals_an_uninterrupted_one(table: GameTable, tmp_path: Path) -> None:
    whole = Imitation(table, config(), None, 64 * 40)
    for _ in range(40):
        whole.update()
    for end in (17, 40):
        piece = Imitation(table, config(), None, 64 * 40)
        assert load_checkpoint(piece, tmp_path / "checkpoint") == (end == 40)
        while piece.updates < end:
            piece.update()
        save_checkpoint(piece, tmp_path / "checkpoint")
    state = whole.state()
    assert state.keys() == piece.state().keys()
    for name, array in piece.state().items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)


def test_a_checkpoint_survives_a_kill_before_the_rename(table: GameTable, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    training = Imitation(table, config(), None, 64 * 100)
    training.update()
    save_checkpoint(training, folder)
    folder.rename(tmp_path / "checkpoint.new")  # killed after the old one was removed
    assert load_checkpoint(Imitation(table, config(), None, 64 * 100), folder)
    other = Imitation(table, config(seed=3), None, 64 * 100)
    with pytest.raises(TrainingError, match="seed 0, not 3"):
        load_checkpoint(other, folder)


@pytest.mark.slow
def test_a_loss_that_is_not_finite_stops_the_training(file: Path, tmp_path: Path) -> None:
    bad = config()
    bad = bad.model_copy(update={"learner": bad.learner.replace(learning_rate=1e30, clip=0)})
    with pytest.raises(TrainingError, match="not finite"):
        imitate([file], tmp_path, bad, samples=64 * 60, device="cpu")
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.slow
def test_a_run_stops_after_its_minutes_and_resumes(file: Path, tmp_path: Path) -> None:
    messages: list[str] = []
    first = imitate(
        [file],
        tmp_path,
        config(),
        samples=64 * 120,
        minutes=1e-3,
        device="cpu",
        tell=messages.append,
    )
    state = json.loads((tmp_path / "checkpoint" / "state.json").read_text())
    assert state["updates"] == 50
    assert not (tmp_path / "networks" / "best.onnx").exists()
    last = imitate([file], tmp_path, config(), samples=64 * 120, device="cpu", tell=messages.append)
    assert any(line.startswith("resuming at sample 3,200 of 7,680") for line in messages)
    assert last["games.bin"].policy < first["games.bin"].policy
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["samples"] for line in lines] == [3200, 3200, 7680, 7680]
    _check_export(tmp_path / "networks")


def _check_export(folder: Path) -> None:
    """PyTorch and the ONNX evaluator give the same outputs, and a search runs."""
    import sylvan
    from sylvan.evaluators.loading import load_evaluator
    from sylvan.games.chess import expand_planes
    from sylvan.networks import load_network

    evaluator = load_evaluator(str(folder / "best.onnx"))
    network = load_network(folder / "last.safetensors")
    game = Chess(moves="e4 e5 Nf3 Nc6").encoded(evaluator.encoding)
    observation = expand_planes(game.observation()[None], "planes19")
    output = network(torch.from_numpy(observation))
    answer = evaluator.infer(game.observation()[None])
    np.testing.assert_allclose(answer.policy, output.policy.detach(), atol=1e-4)
    np.testing.assert_allclose(answer.value, output.value.softmax(1).detach(), atol=1e-4)
    result = sylvan.search(Chess(), evaluator=evaluator, simulations=8)
    assert result.best in Chess().legal_actions()


def test_wrong_minutes_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="minutes is 0"):
        imitate([file], tmp_path, config(), minutes=0, device="cpu")
