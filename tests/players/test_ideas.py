"""Matches of ideas: fair, resumable, and of equal simulations."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.equal_nodes import Group, Meeting, opening, play
from benchmarks.float_network import float_network, with_batch_norms
from benchmarks.ideas import IDEAS, main, settings_of
from sylvan import SearchConfig
from sylvan.errors import ConfigError
from sylvan.evaluators import evaluator_named
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.evaluators.shipped import NETS
from sylvan.networks.planes import PackedPlanes

MATERIAL = evaluator_named("material")


def meeting(plies=30, simulations=16, **idea):
    common = SearchConfig(simulations=simulations, leaves_in_flight=2)
    return Meeting(common.replace(**idea), common, plies)


def games(numbers, plies=30, **idea):
    found = {}
    evaluations = play(
        meeting(plies, **idea), numbers, MATERIAL, lambda game: found.update({game.number: game})
    )
    return found, evaluations


def test_equal_sides_score_half_in_every_pair():
    found, evaluations = games(range(8))
    assert sorted(found) == list(range(8)) and evaluations > 0
    for pair in range(4):
        one, two = found[2 * pair], found[2 * pair + 1]
        assert one.score + two.score == 1 and one.plies == two.plies
        assert one.simulations == two.simulations[::-1] and one.moves == two.moves[::-1]
    assert {game.score for game in found.values()} != {0.5}, "some games are decided"


def test_a_game_depends_on_no_other():
    together, _ = games(range(6), c_puct=4.0)
    for number in (0, 3):
        assert games([number], c_puct=4.0)[0][number] == together[number]


def test_a_worse_side_loses():
    """Without values, a search plays the moves with the highest priors."""
    found, _ = games(range(16), plies=40, simulations=48, c_puct=1000.0)
    assert np.mean([game.score for game in found.values()]) < 0.4


def test_openings_differ_and_repeat():
    first = [opening(pair, seed=1).fen() for pair in range(300)]
    assert len(set(first)) > 280 and first == [opening(pair, seed=1).fen() for pair in range(300)]
    assert opening(299, seed=2).fen() != first[299]
    assert not any(opening(pair, seed=1).is_terminal() for pair in range(300))


def test_a_search_that_ends_early_is_a_fault():
    group = Group(meeting(depth=1), [0, 2], MATERIAL, first=0)
    batches = (list(group.advance()) for _ in range(100))
    with pytest.raises(AssertionError, match="depth"):
        list(batches)


def test_sides_of_unequal_simulations_are_refused():
    with pytest.raises(AssertionError, match="equal simulations"):
        Meeting(SearchConfig(simulations=10), SearchConfig(simulations=20))


def run(capsys, *arguments):
    main(["--quick", "--threads=1", "--net=material", "--json", *arguments])
    return json.loads(capsys.readouterr().out)


def test_the_command_resumes(tmp_path, capsys):
    out = str(tmp_path / "games.jsonl")
    [whole] = run(capsys, "c_puct=3", "--out", out)
    lines = Path(out).read_text().splitlines(keepends=True)
    assert whole["games"] == whole["wanted"] == len(lines) == 4
    assert whole["simulations_per_move"] == [8, 8] and whole["evaluations"] > 0
    # Two games are there, and a part of a third.
    Path(out).write_text("".join(lines[:2]) + lines[2][:20])
    [resumed] = run(capsys, "c_puct=3", "--out", out)
    assert sorted(Path(out).read_text().splitlines(keepends=True)) == sorted(lines)
    for name in ("won_drawn_lost", "pairs", "llr", "simulations_per_move"):
        assert resumed[name] == whole[name]
    [again] = run(capsys, "c_puct=3", "--out", out)
    assert again["evaluations"] == 0 and again["won_drawn_lost"] == whole["won_drawn_lost"]
    [other] = run(capsys, "c_puct=2", "--out", out)
    assert other["evaluations"] > 0, "other settings play games of their own"


def test_every_idea_is_a_setting_that_differs():
    for name in IDEAS:
        changed = SearchConfig(**settings_of(name))
        assert (changed == SearchConfig()) == (name == "same"), name
    with pytest.raises(ConfigError, match="c_putc"):
        settings_of("c_putc")


def test_the_float_network_of_an_int8_file():
    path = NETS / "chess.onnx"
    narrow = OnnxEvaluator(path, threads=1)
    wide = TorchEvaluator(float_network(path), device="cpu")
    states = [opening(pair, 0).encoded(narrow.encoding) for pair in range(40)]
    observations = np.stack([state.observation() for state in states])
    a, b = narrow.infer(observations), wide.infer(observations)
    assert np.abs(a.value - b.value).mean() < 0.007
    assert np.abs(a.moves_left - b.moves_left).mean() < 1
    for state, one, two in zip(states, a.policy, b.policy, strict=True):
        legal = [state.logit_index(action) for action in state.legal_actions()]
        one, two = np.exp(one[legal]), np.exp(two[legal])
        assert np.abs(one / one.sum() - two / two.sum()).sum() < 0.1


def test_batch_norms_keep_the_outputs():
    network = float_network(NETS / "chess.onnx")
    norms = {name: each.square().mean() for name, each in network.state_dict().items()}
    for block in range(8):
        first, second = (norms[f"body.blocks.{block}.conv{n}.0.weight"] for n in (1, 2))
        assert 0.99 < first / second < 1.01, "AdamW needs weights of one size"
    state = opening(0, 0).encoded(network.header.encoding)
    planes = PackedPlanes(network.header.encoding)
    seen = planes(torch.from_numpy(state.observation().view(np.int64)[None]))
    again = with_batch_norms(network, seen)
    assert sum(isinstance(each, torch.nn.BatchNorm2d) for each in again.modules()) == 19
    with torch.no_grad():
        one, two = network(seen), again(seen)
    assert torch.allclose(one.policy, two.policy, atol=1e-3)
    assert torch.allclose(one.value, two.value, atol=1e-3)
