"""Whole MuZero runs: the files, the report, agents, exports, and the commands."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import sylvan
from sylvan.cli import app
from sylvan.errors import ConfigError, NetworkError, RunError
from sylvan.games import TicTacToe
from sylvan.games.naming import GameSpec
from sylvan.muzero import OnnxModel
from sylvan.runs.agent import load_model
from sylvan.runs.loop import train
from sylvan.runs.muzero_trainer import MuZeroTrainer
from sylvan.runs.report import write_report
from sylvan.runs.run import Run
from sylvan.runs.seeds import random_numbers
from sylvan.runs.watcher import Watcher
from tests.runs.killing import tiny, tiny_learned

pytest.importorskip("gymnasium")


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    """The folder of a run of three steps on an environment."""
    return train(tiny_learned(3), tmp_path_factory.mktemp("runs") / "pole").run.folder


@pytest.fixture(scope="module")
def tictactoe(tmp_path_factory):
    """The same on a game, without its rules."""
    config = tiny_learned(3, "tictactoe")
    config = config.replace(
        targets={}, search={"simulations": 4}, arena=config.arena.replace(positions=20)
    )
    return train(config, tmp_path_factory.mktemp("runs") / "learned").run.folder


def command(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def refused(sentence, *words):
    """A command fails with one line that contains a sentence."""
    code, text = command(*words)
    assert code == 2 and sentence in text, text


def renamed(cartpole, tmp_path, name, old="gym:CartPole-v1"):
    """A copy of a run whose settings name another environment."""
    folder = shutil.copytree(cartpole, tmp_path / "copy")
    settings = folder / "config.toml"
    settings.write_text(settings.read_text().replace(old, name))
    return folder


def test_the_files_of_a_muzero_run(cartpole):
    networks = {str(path.relative_to(cartpole / "networks")) for path in cartpole.rglob("*.onnx")}
    parts = ("representation", "dynamics", "prediction")
    assert networks == {f"{which}/{part}.onnx" for which in ("best", "last") for part in parts}
    # With a lag of 1 the network of step 1 plays in step 3.
    assert Run.open(cartpole).checkpoints.steps() == [1, 2, 3]
    lines = [json.loads(line) for line in (cartpole / "metrics.jsonl").read_text().splitlines()]
    final = lines[-1]
    for name in ("rating.return", "rating.low", "model.reward.1", "model.value.0", "loss.reward"):
        assert np.isfinite(final[name]), name
    assert "loss.consistency" in final and "rating.elo" not in final
    assert 8 < final["rating.return"] <= 30 and final["rating.length"] == final["rating.return"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Fickle", "Unready"])
def test_a_run_continues_if_episodes_fail(kind, tmp_path):
    pytest.importorskip("tests.muzero.environments")
    config = tiny_learned(2, f"gym:test/{kind}-v0")
    config = config.replace(
        arena=config.arena.replace(every=1, games=12),
        selfplay=config.selfplay.replace(positions=300),
    )
    folder = train(config, tmp_path / "run").run.folder
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 2 and sum(line["selfplay.dropped"] for line in lines) > 0
    if kind == "Unready":  # of the others, a good player ends an episode before it fails
        assert sum(line["rating.dropped"] for line in lines) > 0
    for line in lines:
        assert line["rating.dropped"] < 12 and np.isfinite(line["rating.return"])


def test_a_game_is_rated_in_the_arena_and_on_its_solved_states(tictactoe):
    lines = [json.loads(line) for line in (tictactoe / "metrics.jsonl").read_text().splitlines()]
    final = lines[-1]
    assert "rating.elo" in final and 0 < final["rating.mistakes.states.search"] < 1
    assert 0 < final["model.legal.1"] <= 1


@pytest.mark.slow
def test_the_report_shows_the_models_errors(cartpole, tictactoe):
    page = write_report(cartpole).read_text()
    for plot in ("rating", "model-reward", "model-value", "returns", "consistency-loss"):
        assert f'id="{plot}"' in page
    assert "rating, best" in page and 'id="model-legal"' not in page
    assert 'id="model-legal"' in write_report(tictactoe).read_text()


def test_lists_show_returns(cartpole):
    _, text = command("runs", "list", cartpole.parent)
    (line,) = [line for line in text.splitlines() if line.startswith("pole")]
    assert "CartPole-v1" in line and "+" not in line
    assert "rating.return" in command("runs", "show", cartpole)[1]


def test_an_agent_acts_in_an_environment(cartpole):
    import gymnasium

    agent, environment = sylvan.load(cartpole), gymnasium.make("CartPole-v1")
    observation, _ = environment.reset(seed=1)
    for _ in range(5):
        action = agent.act(observation)
        assert action == agent.plan(observation).best  # there are no random choices
        observation, *_ = environment.step(action)
    assert agent.act(observation, legal_actions=[1]) == 1
    assert sylvan.load(cartpole, simulations=9).plan(observation).simulations == 9


def test_an_agent_numbers_actions_as_the_environment_does(tmp_path):
    import gymnasium

    pytest.importorskip("tests.muzero.environments")
    config = tiny_learned(1, "gym:test/Shifted-v0")
    config = config.replace(arena=config.arena.replace(every=0))
    folder = train(config, tmp_path / "run").run.folder
    environment = gymnasium.make("test/Shifted-v0")
    observation, _ = environment.reset(seed=1)
    elsewhere = renamed(folder, tmp_path, "gym:nomod:Shifted-v0", "gym:test/Shifted-v0")
    for agent in (sylvan.load(folder), sylvan.load(elsewhere)):
        assert agent.act(observation) == agent.plan(observation).best + 1
        assert agent.act(observation, [1]) == 1 and agent.act(observation, [2]) == 2
        with pytest.raises(ConfigError, match="legal_actions has 0: the actions are 1 to 2"):
            agent.act(observation, [0])
        environment.step(agent.act(observation))
    state = GameSpec("gym:test/Shifted-v0").first()
    assert agent.act(state) in state.legal_actions() and agent.act(state) == agent.plan(state).best
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["1", "2"]


@pytest.mark.parametrize("reanalyse", [0.0, 1.0])
def test_a_run_respects_masks(tmp_path, reanalyse):
    """In acting, in ratings, and in targets, also of positions that are searched again."""
    pytest.importorskip("tests.muzero.environments")
    config = tiny_learned(2, "gym:test/Masked-v0")
    config = config.replace(muzero=config.muzero.replace(reanalyse=reanalyse))
    run = train(config, tmp_path / "run").run
    for line in run.metrics.lines():
        assert line["selfplay.dropped"] == 0  # the environment refuses masked actions
        assert line.get("rating.dropped", 0) == 0
    replay = MuZeroTrainer(run, Watcher()).replay
    replay.restore(run.checkpoints.newest()[0].part("replay"))
    batch = replay.sample(64, random_numbers(1, "test"))
    steps = batch.observations[:, 1].astype(int)
    assert batch.policy_actions is None  # an entry per action
    for policy, step in zip(batch.policy[:, 0], steps, strict=True):
        masked = ~np.roll([True, False, True, False], step * (step + 1) // 2)
        assert policy[masked].sum() == 0 and policy.sum() == pytest.approx(1)


def test_an_agent_takes_a_mask(cartpole):
    agent, seen = sylvan.load(cartpole), np.zeros(4, np.float32)
    assert agent.act(seen, action_mask=[0, 1]) == 1 and agent.act(seen, action_mask=[True, 0]) == 0
    with pytest.raises(ConfigError, match="action_mask"):
        agent.act(seen, [1], action_mask=[0, 1])
    for mask in ([1], [1, 0, 0], [[1, 0]], 1):
        with pytest.raises(ConfigError, match="one entry for each of the 2 actions"):
            agent.act(seen, action_mask=mask)


@pytest.mark.slow
def test_a_run_with_parts_and_a_wrapper(tmp_path, monkeypatch):
    """It resumes from another folder: the wrapper's file is saved with its whole path."""
    pytest.importorskip("tests.muzero.environments")
    (tmp_path / "mine.py").write_text(
        "import gymnasium\n"
        "class Doubled(gymnasium.RewardWrapper):\n"
        "    def reward(self, reward): return 2 * reward\n"
    )
    monkeypatch.chdir(tmp_path)
    words = ["train", "gym:test/Parted-v0", "--wrapper", "mine.py:Doubled", "--quiet"]
    words += ["--run", tmp_path / "run", "--network", "mlp1x8", "--threads", 1]
    for text in ("simulations=2", "selfplay.games=2", "selfplay.positions=20", "arena.games=2"):
        words += ["--set", text]
    assert command(*words, "--steps", 1)[0] == 0
    assert command(*words, "--steps", 2)[0] == 0  # the same wrapper, so the same run
    monkeypatch.chdir("/")
    run = Run.open(tmp_path / "run")
    assert run.config.game.params["wrappers"] == [f"{tmp_path}/mine.py:Doubled"]
    state = run.config.game.spec.first()
    assert state.observation().shape == (101,)
    state.apply(0)
    assert state.score == 2.0


def test_an_agent_needs_no_environment_for_vectors(cartpole, tmp_path):
    """The environment of the run cannot be imported."""
    agent = sylvan.load(renamed(cartpole, tmp_path, "gym:nomod:Pole-v0"))
    seen = np.array([0.1, 0, 0.05, 0])
    assert agent.plan(seen).value == sylvan.load(cartpole).plan(seen).value
    with pytest.raises(ConfigError, match=r"\(2,\).*\(4,\)"):
        agent.act(seen[:2])


def test_a_run_has_two_networks(cartpole):
    for load in (sylvan.load, load_model):
        with pytest.raises(ConfigError, match=r"which.*'foo'"):
            load(cartpole, which="foo")


def test_an_agent_takes_a_game_or_an_observation(tictactoe):
    agent, game = sylvan.load(tictactoe), TicTacToe([0, 4])
    action = agent.act(game)
    assert action in game.legal_actions()
    assert action == agent.act(game.observation(), game.legal_actions(), seat=game.to_play())


def test_frames_are_stacked_as_in_training(tmp_path):
    config = tiny_learned(1)
    config = config.replace(
        game={"name": "gym:CartPole-v1", "params": {"frame_stack": 2}},
        arena=config.arena.replace(every=0),
    )
    agent = sylvan.load(train(config, tmp_path / "run").run.folder)
    first, second = np.array([[0, 0, 0, 0], [0.5, 0, 0.1, 0]], np.float32)
    agent.act(first)
    after = agent.plan(second).value
    assert after == agent.search.run(np.concatenate([first, second])).value
    agent.reset()
    assert agent.plan(second).value == agent.search.run(np.concatenate([second, second])).value


def test_models_on_onnx_runtime_and_pytorch_agree(cartpole):
    onnx = load_model(cartpole)
    assert isinstance(onnx, OnnxModel)
    (cartpole / "networks/best").rename(cartpole / "networks/away")
    try:
        torch = load_model(cartpole)
    finally:
        (cartpole / "networks/away").rename(cartpole / "networks/best")
    assert not isinstance(torch, OnnxModel)
    seen = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    for one, other in zip(onnx.initial_inference(seen), torch.initial_inference(seen), strict=True):
        assert np.allclose(one, other, atol=1e-3)


def test_loading_a_run_without_a_model_raises(tmp_path):
    with pytest.raises(RunError, match="run"):
        sylvan.load(tmp_path)
    run = Run.create(tmp_path / "rules", tiny(1))
    with pytest.raises(ConfigError, match="tictactoe"):
        sylvan.load(run.folder)
    run = Run.create(tmp_path / "new", tiny_learned(1))
    with pytest.raises(NetworkError, match="no network"):
        sylvan.load(run.folder)


def test_networks_are_exported_to_a_folder(cartpole, tmp_path):
    code, text = command("runs", "export", cartpole, tmp_path / "model")
    assert code == 0 and "best model of" in text
    model = OnnxModel(tmp_path / "model")
    plan = sylvan.LatentSearch(model, simulations=9, discount=0.99).run(np.zeros(4, np.float32))
    assert plan.best in (0, 1)
    refused("three networks: give a folder", "runs", "export", cartpole, tmp_path / "model.onnx")
    assert command("runs", "export", cartpole, tmp_path / "model.safetensors")[0] == 0


def test_an_episode_is_watched_as_pictures(cartpole, tmp_path, capfd, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.setenv("SDL_VIDEODRIVER", "")  # to undo the command's change afterwards
    monkeypatch.delenv("SDL_VIDEODRIVER")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    code, text = command("watch", cartpole, "--most", 4, "--out", tmp_path / "e.gif")
    assert code == 0 and "5 pictures; stopped after 4 steps, return 4" in text
    assert (tmp_path / "e.gif").read_bytes()[:4] == b"GIF8"
    assert "XDG_RUNTIME_DIR" not in capfd.readouterr().err  # SDL's warning without a display
    refused("no folder", "watch", cartpole, "--out", tmp_path / "nowhere" / "e.gif")


@pytest.mark.parametrize(
    ("kind", "seed", "sentence"),
    [
        ("Walk", 0, "its render_modes are []"),
        ("Filmed", 0, "raised RuntimeError (the wheel came off) in the episode of seed 0"),
        ("Filmed", 4, "raised OSError (no coin) in the episode of seed 4"),
    ],
)
def test_watch_reports_why_it_cannot_render(cartpole, tmp_path, kind, seed, sentence):
    pytest.importorskip("tests.muzero.environments")
    folder = renamed(cartpole, tmp_path, f"gym:test/{kind}-v0")
    refused(sentence, "watch", folder, "--seed", seed)


def test_a_game_is_watched_as_boards(tictactoe):
    code, text = command("watch", tictactoe)
    assert code == 0 and "1. " in text and "returns per seat" in text
    refused("has no pictures", "watch", tictactoe, "--out", "a.gif")


def test_a_person_plays_against_the_model(tictactoe):
    result = CliRunner().invoke(
        app, ["play", "tictactoe", "--net", str(tictactoe), "--level", "1"], input="4\nquit\n"
    )
    assert result.exit_code == 0, result.output
    assert "Sylvan learned plays" in result.output
    refused("plays tictactoe", "play", "connect4", "--net", tictactoe)


def test_the_model_is_a_player_of_matches(tictactoe):
    from sylvan.players.specs import player_spec

    spec = player_spec(f"{tictactoe}:simulations=6")
    with spec.open() as player:
        player.new_game(1)
        assert player.play(TicTacToe([0, 4])) in TicTacToe([0, 4]).legal_actions()
    assert spec.config().simulations == 6
    with pytest.raises(ConfigError, match="simulations"):
        player_spec(f"{tictactoe}:seconds=1")


def test_different_discounts_are_refused(tmp_path):
    config = tiny_learned(1)
    config = config.replace(search=config.search.replace(discount=0.5))
    with pytest.raises(ConfigError, match=r"search\.discount.*0\.5.*targets\.discount.*0\.99"):
        train(config, tmp_path / "run")


def test_a_value_kind_for_other_seats_is_refused(tmp_path):
    config = tiny_learned(1)
    wrong = config.replace(muzero=config.muzero.replace(value_kind="wdl"))
    sentence = r"muzero\.value_kind is 'wdl'.* CartPole-v1 has 1: set it to auto, scalar or cat"
    with pytest.raises(ConfigError, match=sentence):
        train(wrong, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert train(config, tmp_path / "run").step == 1  # the failed command left nothing


def test_a_game_with_hidden_information_is_refused(tmp_path):
    sentence = "blob has hidden information"
    refused(sentence, "train", "blob", "--algorithm", "muzero", "--run", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert "hidden cards" in " ".join(command("train", "--help")[1].split())
