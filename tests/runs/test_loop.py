"""The training loop: its files, its events, and recovery from failures."""

import errno
import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from sylvan.errors import ConfigError, NetworkError, ReplayError, RunError
from sylvan.evaluators import load_evaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.networks import load_network, save_network
from sylvan.networks.checkpoint import read_checkpoint, read_header
from sylvan.runs.alphazero_trainer import AlphaZeroTrainer
from sylvan.runs.loop import train
from sylvan.runs.run import Run
from sylvan.runs.trainer import Trainer
from sylvan.runs.watcher import Watcher
from tests.runs.killing import tiny


class Listener(Watcher):
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.messages: list[str] = []
        self.numbers: dict[int, dict[str, float]] = {}

    def run_begin(self, config, folder, step, elapsed):
        self.heard.append(f"begin {step}")

    def step_begin(self, step, progress):
        self.heard.append(f"step {step} at {progress:.2f}")

    def rated(self, step, rating):
        self.heard.append(f"rated {step}")

    def step_end(self, step, numbers, progress):
        self.heard.append(f"end {step} at {progress:.2f}")
        self.numbers[step] = dict(numbers)

    def message(self, text):
        self.messages.append(text)

    def run_end(self, step, reason):
        self.heard.append(f"{reason} {step}")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of three steps, and its events."""
    folder, listener = tmp_path_factory.mktemp("finished") / "run", Listener()
    outcome = train(tiny(3), folder, watch=listener)
    return outcome, listener


def weights(folder, step):
    return read_checkpoint(folder / f"checkpoints/step-{step:06d}/network.safetensors")[1]


def test_a_run_in_order(finished):
    outcome, listener = finished
    assert (outcome.step, outcome.reason) == (3, "done")
    assert listener.heard == [
        "begin 0",
        "step 1 at 0.00",
        "end 1 at 0.33",
        "step 2 at 0.33",
        "end 2 at 0.67",
        "step 3 at 0.67",
        "rated 3",
        "end 3 at 1.00",
        "done 3",
    ]
    assert listener.messages == []
    final = listener.numbers[3]
    for name in ("selfplay.games", "loss.policy", "loss.value", "replay.window", "rating.elo"):
        assert np.isfinite(final[name]), name
    assert final["learner.learning_rate"] < listener.numbers[2]["learner.learning_rate"]


def test_the_files_of_a_run(finished):
    folder = finished[0].run.folder
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {
        "config.toml",
        "metrics.jsonl",
        "checkpoints/step-000003/network.safetensors",
        "checkpoints/step-000003/average.safetensors",
        "checkpoints/step-000003/learner.safetensors",
        "checkpoints/step-000003/selfplay.safetensors",
        "checkpoints/step-000003/state.json",
        "networks/best.onnx",
        "networks/best.safetensors",
        "networks/last.onnx",
        "networks/last.safetensors",
    } <= names
    # keep=2, and the first games after step 2 are played by the network of step 1.
    assert Run.open(folder).checkpoints.steps() == [1, 2, 3]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]


def test_its_networks_are_the_averaged_ones_in_both_formats(finished):
    folder = finished[0].run.folder
    header, tensors = read_checkpoint(folder / "networks/last.safetensors")
    _, averaged = read_checkpoint(folder / "checkpoints/step-000003/average.safetensors")
    assert all((tensors[name] == averaged[name]).all() for name in averaged)
    assert header.training_step > 0
    observations = np.random.default_rng(0).integers(0, 2, (5, 2, 3, 3)).astype(np.float32)
    onnx = load_evaluator(folder).infer(observations)
    torch = load_evaluator(folder, backend="torch").infer(observations)
    assert np.allclose(onnx.policy, torch.policy, atol=1e-4)
    assert load_evaluator(folder).header.training_step == header.training_step


def test_a_finished_run_returns_done_and_loads_nothing(finished, monkeypatch):
    monkeypatch.setattr(Trainer, "__init__", lambda *_: pytest.fail("something was loaded"))
    outcome = train(tiny(3), finished[0].run.folder)
    assert (outcome.step, outcome.reason) == (3, "done")


def test_a_network_missing_after_a_kill_is_published(finished, tmp_path):
    """A run killed between its last checkpoint and the export has the files of an earlier step."""
    folder = copied(finished, tmp_path)
    last = folder / "networks/last.safetensors"
    wanted = last.read_bytes()
    save_network(load_network(last), last, training_step=1)
    (folder / "networks/last.onnx").write_bytes(b"old")
    assert train(tiny(3), folder).reason == "done"
    assert last.read_bytes() == wanted
    assert (folder / "networks/last.onnx").read_bytes() == (
        finished[0].run.folder / "networks/last.onnx"
    ).read_bytes()


@pytest.mark.parametrize("steps", [3, 4])
def test_half_written_files_of_a_killed_process_are_removed(finished, tmp_path, steps):
    folder = copied(finished, tmp_path)
    (folder / "networks/best").mkdir()
    stale = (
        ".config.toml.71.tmp",
        ".metrics.jsonl.71.tmp",
        "networks/.best.onnx.4194303.tmp",
        "networks/best/.dynamics.onnx.71.tmp",
    )
    for name in stale:
        (folder / name).write_bytes(b"half")
    (folder / "checkpoints/.step-000004.tmp").mkdir()
    own = (".notes.tmp", "networks/best.71.tmp", "report/.index.html.71.tmp")  # not of this run
    (folder / "report").mkdir(exist_ok=True)
    for name in own:
        (folder / name).write_bytes(b"mine")
    assert train(tiny(steps), folder).step == steps
    left = {str(path.relative_to(folder)) for path in folder.rglob("*.tmp")}
    assert left == set(own)


def copied(finished, tmp_path):
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(finished[0].run.folder, folder)
    return folder


def test_more_steps_resume_the_run(finished, tmp_path):
    folder, listener = copied(finished, tmp_path), Listener()
    assert train(tiny(4), folder, watch=listener).step == 4
    assert listener.messages == ["run.steps: 3 → 4."]
    assert listener.heard[:2] == ["begin 3", "step 4 at 0.75"]
    before, after = weights(folder, 3), weights(folder, 4)
    assert any((before[name] != after[name]).any() for name in before)


def test_another_game_or_seed_is_refused(finished, tmp_path):
    folder = copied(finished, tmp_path)
    for config, sentence in (
        (tiny(3).replace(game={"name": "connect4"}), r"game\.name.*'tictactoe'.*'connect4'"),
        (tiny(3, seed=6), r"run\.seed.*5.*6"),
    ):
        with pytest.raises(RunError, match=sentence):
            train(config, folder)
    assert train(tiny(3), folder).reason == "done"


def test_another_evaluation_profile_is_refused_or_reported(finished, tmp_path):
    folder = copied(finished, tmp_path)
    (first,) = Run.open(folder).profiles
    assert first["after_step"] == 0 and first["profile"]["device"] == "cpu"
    assert {"torch", "onnxruntime", "network", "precision", "batch"} < first["profile"].keys()
    path = folder / "profile.json"
    moved = path.read_text().replace(f'"{first["profile"]["torch"]}"', '"1.0"')
    path.write_text(moved)
    with pytest.raises(RunError, match=r"torch is .*, not '1\.0'.*run\.profile=any"):
        train(tiny(4), folder)
    assert path.read_text() == moved and Run.open(folder).config.run.steps == 3
    listener = Listener()
    assert train(tiny(4, profile="any"), folder, watch=listener).step == 4
    assert any("not '1.0'" in text for text in listener.messages)
    assert [entry["after_step"] for entry in Run.open(folder).profiles] == [0, 3]
    assert train(tiny(5), folder).step == 5
    assert len(Run.open(folder).profiles) == 2


@pytest.mark.slow
def test_kernels_that_passed_the_test_are_recorded_and_used_again(tmp_path, monkeypatch):
    folder, config, used = tmp_path / "run", tiny(1, threads=2), []

    def use(evaluator, kernels):
        used.append(kernels)
        evaluator.kernels = kernels

    def depends(evaluator, actors, seed):
        use(evaluator, "eager")
        return False

    monkeypatch.setattr("sylvan.runs.alphazero_trainer.self_play_evaluator", torch_evaluator)
    monkeypatch.setattr(TorchEvaluator, "use_kernels", use)
    monkeypatch.setattr("sylvan.selfplay.lease_player.answers_depend_on_batch", depends)
    listener = Listener()
    train(config, folder, watch=listener)
    first, last = (entry["profile"]["kernels"] for entry in Run.open(folder).profiles)
    assert first.split() == ["benchmark"] * 2 and "eager" in last.split()
    assert any("'eager'" in text for text in listener.messages)
    used.clear()
    train(tiny(2, threads=2), folder)
    assert used[:2] == last.split()


def torch_evaluator(network, **options):
    return TorchEvaluator(network, device="cpu")


def test_a_fast_run_and_one_without_a_profile_resume_anywhere(finished, tmp_path):
    folder, config = copied(finished, tmp_path), tiny(4)
    (folder / "profile.json").write_text('[{"after_step": 0, "profile": {"device": "other"}}]')
    fast = config.replace(selfplay=config.selfplay.replace(mode="fast"))
    assert train(fast, folder).step == 4
    (folder / "profile.json").unlink()
    assert train(tiny(5), folder).step == 5
    assert [entry["after_step"] for entry in Run.open(folder).profiles] == [4]


def test_a_damaged_checkpoint_is_skipped(finished, tmp_path):
    folder, listener = copied(finished, tmp_path), Listener()
    path = folder / "checkpoints/step-000003/learner.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x99")
    assert train(tiny(3), folder, watch=listener).reason == "done"
    assert len(listener.messages) == 1
    assert (
        "step-000003 is damaged: learner.safetensors has changed; resuming from step 2"
        in (listener.messages[0])
    )
    assert listener.heard[:2] == ["begin 2", "step 3 at 0.67"]
    original = finished[0].run.folder
    for name, tensor in weights(original, 3).items():
        assert (weights(folder, 3)[name] == tensor).all()


def test_a_damaged_shard_loses_only_its_game(finished, tmp_path):
    folder, listener = copied(finished, tmp_path), Listener()
    shard = sorted((folder / "replay").glob("*.shard"))[-1]
    data = bytearray(shard.read_bytes())
    data[len(data) * 3 // 4] ^= 255
    shard.write_bytes(data)
    assert train(tiny(4), folder, watch=listener).step == 4
    assert any(shard.name in text for text in listener.messages)
    assert listener.numbers[4]["replay.window"] > 50


@pytest.mark.parametrize("place", ["os.fsync", "os.replace"])
def test_a_full_disk_ends_the_session_and_loses_nothing(finished, tmp_path, monkeypatch, place):
    folder = copied(finished, tmp_path)
    calls = iter(range(3))

    def full(*arguments, original=getattr(os, place.partition(".")[2])):
        if next(calls, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments)

    monkeypatch.setattr(place, full)
    with pytest.raises(RunError, match="full"):
        train(tiny(9), folder)
    monkeypatch.undo()
    assert train(tiny(4), folder).reason == "done"


def test_a_disk_that_fills_while_a_shard_is_written_loses_nothing(finished, tmp_path, monkeypatch):
    folder, opened, writes = tmp_path / "run", Path.open, iter(range(3))

    class Full:
        """A file on a disk that is full after some writes, in the middle of one."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            if next(writes, None) is None:
                self.file.write(data[: len(data) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.file.write(data)

    def full(path, mode="r", *arguments, **named):
        file = opened(path, mode, *arguments, **named)
        return Full(file) if path.suffix == ".shard" and mode == "ab" else file

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ReplayError, match="the disk is full"):
        train(tiny(3), folder)
    monkeypatch.undo()
    assert Run.open(folder).checkpoints.steps()[-1] in (1, 2)
    assert train(tiny(3), folder).reason == "done"
    for name, tensor in weights(finished[0].run.folder, 3).items():
        assert (weights(folder, 3)[name] == tensor).all()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase", ["selfplay_progress", "learner_progress", "arena_progress"])
def test_an_interrupted_run_repeats_its_step(finished, tmp_path, monkeypatch, number, phase):
    class Impatient(Listener):
        """Interrupts the run once, in a phase of the last step."""

    def interrupt(self, *_):
        if self.heard[-1].startswith("step 3"):
            self.heard.append("asked")
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Impatient, phase, interrupt)
    monkeypatch.setattr("sylvan.selfplay.lease_player.WATCH_INTERVAL", 0.0)
    listener = Impatient()
    outcome = train(tiny(3), tmp_path / "run", watch=listener)
    assert (outcome.step, outcome.reason) == (2, "interrupted")
    assert listener.heard[-2:] == ["asked", "interrupted 2"] and listener.messages == []
    assert train(tiny(3), tmp_path / "run").reason == "done"
    for name, tensor in weights(finished[0].run.folder, 3).items():
        assert (weights(tmp_path / "run", 3)[name] == tensor).all()


@pytest.mark.slow
def test_a_budget_in_time_is_kept(tmp_path):
    listener = Listener()
    outcome = train(tiny(None, minutes=4 / 60), tmp_path / "run", watch=listener)
    assert outcome.reason == "done" and outcome.step >= 1
    last = listener.numbers[outcome.step]
    assert last["run.elapsed"] < 20.0  # one step may be slow on a busy machine
    assert "rating.elo" in last and (tmp_path / "run/networks/best.onnx").exists()
    again = train(tiny(None, minutes=4 / 60), tmp_path / "run")
    assert (again.step, again.reason) == (outcome.step, "done")


def test_time_that_runs_out_in_a_rating_ends_the_run(tmp_path, monkeypatch):
    """The checkpoint must be marked as finished, or the next command would run another step."""
    config = tiny(None, minutes=1.0)
    config = config.replace(arena=config.arena.replace(every=1))
    clock = [0.0]
    monkeypatch.setattr("sylvan.runs.budget.monotonic", lambda: clock[0])
    rate = Trainer.rate

    def slow(self):
        clock[0] += 100.0
        return rate(self)

    monkeypatch.setattr(Trainer, "rate", slow)
    assert train(config, tmp_path / "run").step == 1
    again = train(config, tmp_path / "run")
    assert (again.step, again.reason) == (1, "done")
    assert (tmp_path / "run/networks/last.onnx").exists()


def test_a_warm_start_uses_the_other_networks_weights(finished, tmp_path):
    source = finished[0].run.folder
    other = train(tiny(1, seed=9), tmp_path / "run", start=source).run.folder
    first = weights(other, 0) if (other / "checkpoints/step-000000").exists() else None
    assert first is not None
    _, best = read_checkpoint(source / "networks/best.safetensors")
    assert all((first[name] == best[name]).all() for name in best)


def test_a_warm_start_from_another_game_is_refused(tmp_path):
    from sylvan.games import ConnectFour
    from sylvan.networks import build_network

    path = tmp_path / "four.safetensors"
    save_network(build_network("mlp1x16", game=ConnectFour(), seed=0), path)
    with pytest.raises(NetworkError, match=r"connect_four.*tic_tac_toe"):
        train(tiny(1), tmp_path / "runs/new/run", start=path)
    assert not (tmp_path / "runs").exists()


def test_a_failed_start_leaves_the_folder_unchanged(finished, tmp_path):
    """Otherwise the saved wrong setting would make the corrected command fail."""
    wrong, folder = tiny(1).replace(network={"size": "mlp0x0"}), tmp_path / "run"
    with pytest.raises(NetworkError):
        train(wrong, folder)
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(NetworkError):
        train(wrong, folder)
    assert not any(folder.iterdir())
    assert train(tiny(1), folder).step == 1

    other = copied(finished, tmp_path / "other")
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    wrong = tiny(4).replace(learner=tiny(4).learner.replace(loss="nowhere.py:loss"))
    with pytest.raises(ConfigError, match="nowhere"):
        train(wrong, other)
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before


def test_without_ratings_the_last_network_is_the_best(tmp_path):
    config = tiny(2)
    config = config.replace(arena=config.arena.replace(every=0))
    folder = train(config, tmp_path / "run").run.folder
    assert (folder / "networks/best.onnx").read_bytes() == (
        folder / "networks/last.onnx"
    ).read_bytes()


def test_self_play_keeps_its_network_until_the_gate_is_passed(tmp_path, monkeypatch):
    """The gate is never passed, so every game is played by the first network."""
    from sylvan.ratings import arena

    monkeypatch.setattr(arena.Arena, "_is_best", lambda self, *_: self.best is None)
    players: dict[int, object] = {}
    load = AlphaZeroTrainer._loaded

    def noted(self, lease):
        network = self.publisher.filled(self._network_of(lease.network))
        players[lease.number] = {name: t.clone() for name, t in network.state_dict().items()}
        return load(self, lease)

    monkeypatch.setattr(AlphaZeroTrainer, "_loaded", noted)
    config = tiny(4)
    config = config.replace(
        arena=config.arena.replace(every=1, gate=0.55, games=2),
        selfplay=config.selfplay.replace(lag=0),
    )
    folder = train(config, tmp_path / "run").run.folder
    first, second, third, fourth = (players[step] for step in range(1, 5))
    name = next(iter(first))
    assert (first[name] != second[name]).any()  # the first rating has no gate
    assert all((second[n] == third[n]).all() and (third[n] == fourth[n]).all() for n in second)
    assert (
        read_header(folder / "networks/best.safetensors").training_step
        < read_header(folder / "networks/last.safetensors").training_step
    )
    assert load_network(folder / "networks/best.safetensors") is not None


def test_training_runs_in_another_thread_too(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(train(tiny(1), tmp_path / "run")))
    thread.start()
    thread.join()
    assert found[0].reason == "done"
