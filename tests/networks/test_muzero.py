"""Learned models: shapes, the range of hidden states, dependencies, files."""

import numpy as np
import pytest
import torch

from sylvan.errors import NetworkError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.muzero import MuZeroConfig, build_muzero
from sylvan.networks import load_network, save_network
from sylvan.networks.muzero_mlp import ranged
from sylvan.networks.muzero_tower import small_board
from tests.muzero.made_up import Counter

GAMES = {
    "mlp of a vector": ("mlp2x16", lambda: Counter(shape=(4, 3))),
    "mlp of a board": ("mlp3x16", TicTacToe),
    "tower": ("2x8", TicTacToe),
    "tower of columns": ("1x8", ConnectFour),
    "tower of a matrix": ("1x8", lambda: Counter(shape=(4, 3))),
    "tower of an image": ("1x8", lambda: Counter(shape=(3, 40, 30), dtype=np.uint8)),
    "chess": ("1x8", lambda: Chess(encoder="planes19")),
    "chess with history": ("1x8", lambda: Chess(encoder="az119")),
    "three seats": ("mlp2x16", lambda: Counter(players=3)),
}


@pytest.fixture(params=GAMES, ids=str)
def made(request):
    size, game = GAMES[request.param]
    return build_muzero(size, game=game(), seed=1).eval()


def batch_of(network, count=5, seed=0):
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 2, (count, *network.header.observation_shape)).astype(np.float32)
    actions = rng.integers(0, network.header.num_logits, count)
    return torch.from_numpy(seen), torch.from_numpy(actions)


def test_shapes_of_all_outputs(made):
    seen, actions = batch_of(made)
    for answer in (
        made.initial_inference(seen),
        made.recurrent_inference(made.representation(seen), actions),
    ):
        numbers = (5, 3) if made.header.num_players == 3 else (5,)
        assert tuple(answer.value.shape) == tuple(answer.reward.shape) == numbers
        assert tuple(answer.policy.shape) == (5, made.header.num_logits)
        assert tuple(answer.hidden.shape) == (5, *made.hidden_shape)
        assert all(torch.isfinite(each).all() for each in answer)
    assert not made.initial_inference(seen).reward.any()


def test_every_hidden_state_is_scaled_to_0_and_1(made):
    seen, actions = batch_of(made)
    hidden = made.representation(seen)
    for _ in range(3):
        flat = hidden.flatten(1)
        assert torch.equal(flat.amin(dim=1), torch.zeros(5))
        assert torch.allclose(flat.amax(dim=1), torch.ones(5), atol=1e-2)
        hidden = made.dynamics.step(hidden, actions)


def test_a_constant_state_becomes_zero_and_not_nan():
    assert torch.equal(ranged(torch.full((2, 3), 7.0)), torch.zeros(2, 3))
    hidden = ranged(torch.tensor([[1.0, 3.0, 2.0], [-4.0, 0.0, 4.0]]))
    assert torch.allclose(hidden, torch.tensor([[0, 1, 0.5], [0, 0.5, 1]]), atol=1e-4)


def test_examples_of_a_batch_are_independent(made):
    seen, actions = batch_of(made)
    hidden = made.initial_inference(seen).hidden
    whole = made.recurrent_inference(hidden, actions)
    for row in range(5):
        alone = made.recurrent_inference(
            made.initial_inference(seen[row : row + 1]).hidden, actions[row : row + 1]
        )
        for one, all_ in zip(alone, whole, strict=True):
            assert torch.allclose(one[0], all_[row], atol=1e-5)


def test_the_next_state_depends_on_the_action(made):
    seen, _ = batch_of(made, 1)
    hidden = made.representation(seen)
    steps = [made.dynamics.step(hidden, torch.tensor([action])) for action in (0, 1)]
    assert not torch.allclose(*steps, atol=1e-4)


def test_a_saved_model_gives_the_same_outputs(made, tmp_path):
    save_network(made, tmp_path / "model.safetensors", training_step=7)
    loaded = load_network(tmp_path / "model.safetensors")
    assert loaded.header == made.header.replace(training_step=7)
    seen, actions = batch_of(made)
    hidden = made.representation(seen)
    for one, other in zip(
        made.recurrent_inference(hidden, actions),
        loaded.recurrent_inference(hidden, actions),
        strict=True,
    ):
        assert torch.equal(one, other)


def test_a_seed_gives_the_same_network_and_keeps_the_generator_s_state():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one, other = (build_muzero("2x8", game=TicTacToe(), seed=3) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))


@pytest.mark.parametrize(
    ("game", "config", "kinds"),
    [
        (TicTacToe(), {}, ("wdl", "wdl", 1)),
        (Counter(), {}, ("categorical", "categorical", 1)),
        (Counter(players=3), {}, ("scalar", "scalar", 3)),
        (Counter(players=2), {"value_kind": "scalar"}, ("scalar", "scalar", 1)),
        (Counter(), {"reward_kind": "scalar", "support": 7}, ("categorical", "scalar", 1)),
    ],
)
def test_encodings_of_values_and_rewards(game, config, kinds):
    network = build_muzero("mlp2x8", game=game, config=MuZeroConfig(**config), seed=0)
    made = network.header.architecture
    assert (made["value_kind"], made["reward_kind"], made["outputs"]) == kinds
    if kinds[0] == "categorical":
        assert network.value.size == 2 * made["support"] + 1


def test_bounded_scalars_stay_in_the_range_of_the_game():
    network = build_muzero("mlp1x8", game=Counter(players=3), seed=0)
    with torch.no_grad():
        network.prediction.out.weight.mul_(1e4)
    value = network.initial_inference(batch_of(network)[0]).value
    assert value.abs().max() == 1.0


@pytest.mark.parametrize(("players", "layers"), [(1, True), (2, False)])
def test_layers_for_consistency_are_the_default_for_one_seat(players, layers):
    network = build_muzero("mlp1x8", game=Counter(players=players), seed=0)
    assert (network.projector is not None) is layers
    forced = MuZeroConfig(consistency=0.0 if layers else 1.0)
    other = build_muzero("mlp1x8", game=Counter(players=players), config=forced, seed=0)
    assert (other.projector is not None) is not layers
    if not layers:
        with pytest.raises(NetworkError, match="consistency"):
            network.projected(torch.zeros(1, 8))


@pytest.mark.parametrize(
    ("size", "shape"),
    [("mlp1x8", (5,)), ("1x8", (2, 3, 4)), ("1x8", (3, 4)), ("mlp1x8", (2, 3, 4))],
)
def test_a_hidden_state_is_decoded_to_an_observation(size, shape):
    game, config = Counter(shape=shape, players=2), MuZeroConfig(reconstruction=1.0)
    network = build_muzero(size, game=game, config=config, seed=0)
    hidden = network.representation(torch.zeros(7, *shape))
    assert network.shown(hidden).shape == (7, *shape)
    without = build_muzero(size, game=game, seed=0)
    with pytest.raises(NetworkError, match="reconstruction"):
        without.shown(hidden)


def test_images_cannot_be_reconstructed():
    game = Counter(shape=(1, 24, 32), dtype=np.uint8)
    with pytest.raises(NetworkError, match="reconstruction"):
        build_muzero("1x8", game=game, config=MuZeroConfig(reconstruction=1.0))


def test_forward_agrees_with_inference():
    """`forward` has the signature of networks without a model."""
    for game in (TicTacToe(), Counter(players=3)):
        network = build_muzero("mlp2x16", game=game, seed=2).eval()
        with torch.no_grad():
            network.prediction.out.weight.mul_(20)
        seen, _ = batch_of(network)
        output, answer = network(seen), network.initial_inference(seen)
        assert torch.equal(output.policy, answer.policy)
        value = output.value
        if network.header.value == "wdl":
            shares = torch.softmax(value, dim=1)
            value = shares[:, 0] - shares[:, 2]
            assert value.abs().max() > 0.05
        assert torch.allclose(value, answer.value, atol=1e-6)


def test_images_are_scaled_and_reduced():
    assert small_board(40, 30) == (5, 4)
    network = build_muzero("1x8", game=Counter(shape=(3, 40, 30), dtype=np.uint8), seed=0).eval()
    assert network.hidden_shape == (8, 5, 4) and network.header.architecture["actions"] == "filled"
    seen = torch.rand(2, 3, 40, 30)
    unscaled = build_muzero(
        "1x8", game=Counter(shape=(3, 40, 30), dtype=np.uint8), seed=0, scale=1.0
    ).eval()
    assert torch.allclose(
        network.representation(seen * 255), unscaled.representation(seen), atol=1e-4
    )


def test_bytes_on_a_small_board_are_not_an_image():
    network = build_muzero("1x8", game=Counter(shape=(2, 4, 4), dtype=np.uint8), seed=0)
    made = network.header.architecture
    assert (made["image"], made["scale"]) == (False, 1.0)


def test_a_hidden_state_may_be_narrower_than_the_tower():
    network = build_muzero("1x16", game=ConnectFour(), config=MuZeroConfig(hidden=4), seed=0)
    assert network.hidden_shape == (4, 6, 7)
    seen, actions = batch_of(network)
    hidden = network.representation(seen)
    assert network.dynamics.step(hidden, actions).shape == (5, 4, 6, 7)
    fewer = build_muzero("4x16", game=ConnectFour(), seed=0, dynamics_blocks=1)
    assert len(fewer.dynamics.blocks) == 1 and len(fewer.representation.tower.blocks) == 4


def test_in_chess_a_step_flips_the_ranks():
    """The next seat has the other side of the board; other games have no flip."""
    network = build_muzero("1x8", game=Chess(encoder="planes19"), seed=4).eval()
    assert network.dynamics.turns and network.header.architecture["actions"] == "moves"
    other = build_muzero("1x8", game=Chess(encoder="planes19"), seed=4, turns=False).eval()
    hidden = torch.rand(3, 8, 8, 8)
    actions = torch.tensor([877, 0, 4000])
    turned, straight = (n.dynamics.step(hidden, actions) for n in (network, other))
    assert torch.equal(turned.flip(2), straight)
    assert not build_muzero("1x8", game=ConnectFour(), seed=0).dynamics.turns


@pytest.mark.parametrize(
    ("size", "game", "settings", "sentence"),
    [
        ("t2x32", TicTacToe(), {}, "'t2x32'"),
        ("big", TicTacToe(), {}, "'big'"),
        ("2x8", Chess(codec="lc0"), {}, r"1858.*4672"),
        ("2x8", TicTacToe(), {"hiden": 3}, r"'hiden'.*'hidden'"),
        ("2x8", Counter(), {}, r"\(6,\)"),
        ("2x8", TicTacToe(), {"actions": "columns"}, "9 actions"),
    ],
)
def test_invalid_networks_are_refused(size, game, settings, sentence):
    with pytest.raises(NetworkError, match=sentence):
        build_muzero(size, game=game, **settings)
