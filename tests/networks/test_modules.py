"""Networks for any observation shape, number of actions and number of seats."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import NetworkError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.games.encoding import ENCODERS, Encoding
from sylvan.networks import NetworkHeader, build_network
from sylvan.networks.tower import SqueezeExcitation, Tower, TowerSettings
from sylvan.networks.transformer import TransformerLayer, TransformerSettings

SHAPES = [(3,), (4, 5), (2, 3, 3), (5, 6, 7)]
SIZES = ["2x8", "t2x32", "mlp2x16"]


def header(shape=(2, 3, 3), logits=9, players=2, value="wdl", **fields):
    return NetworkHeader(
        game="made up",
        observation_shape=shape,
        num_logits=logits,
        num_players=players,
        value=value,
        **fields,
    )


def built(size, head, **more):
    from sylvan.networks.build import architecture_named

    return build_network(head.replace(architecture=architecture_named(size) | more), seed=1)


@given(
    size=st.sampled_from(SIZES),
    shape=st.sampled_from(SHAPES),
    logits=st.integers(1, 100),
    seats=st.integers(1, 8),
    moves_left=st.booleans(),
    activation=st.sampled_from(["relu", "mish"]),
)
def test_outputs_have_the_shapes_of_any_game(size, shape, logits, seats, moves_left, activation):
    if size == "2x8" and len(shape) == 1:
        return
    kinds = {1: ["scalar", "seats"], 2: ["wdl", "scalar", "seats"]}.get(seats, ["seats"])
    for value in kinds:
        head = header(shape, logits, seats, value, moves_left=moves_left)
        network = built(size, head, activation=activation)
        output = network(torch.randn(3, *shape))
        assert output.policy.shape == (3, logits)
        assert output.value.shape == (3, {"wdl": 3, "scalar": 1, "seats": seats}[value])
        assert (output.moves_left is not None) == moves_left
        if moves_left:
            assert output.moves_left.shape == (3, 1)


@pytest.mark.parametrize("norm", ["batch", "fixed", "folded"])
@pytest.mark.parametrize("size", SIZES)
def test_gradients_reach_every_parameter(size, norm):
    more = {"norm": norm, "pooling_every": 2} if size == "2x8" else {}
    network = built(size, header(moves_left=True), **more).train()
    output = network(torch.randn(8, 2, 3, 3, generator=torch.Generator().manual_seed(1)))
    sum((part**2).sum() for part in output[:3]).backward()
    still = [name for name, p in network.named_parameters() if not p.grad.abs().sum() > 0]
    assert not still


def test_gradients_through_a_block_keep_their_size():
    """In a tower of forty blocks without batch norm, gradients neither vanish nor explode."""
    torch.manual_seed(1)
    tower = Tower((6, 8, 8), TowerSettings(blocks=40, channels=32, squeeze=0, norm="fixed"))
    planes = torch.randn(16, 6, 8, 8, requires_grad=True)
    out = tower(planes)
    assert 0.3 < out.square().mean() < 3
    out.square().mean().backward()
    first = tower.blocks[0].conv1[0].weight.grad.norm()
    last = tower.blocks[-1].conv1[0].weight.grad.norm()
    assert 0.1 < first / last < 10


def test_a_name_gives_the_size():
    network = build_network("3x24", game=ConnectFour())
    assert len(network.body.blocks) == 3 and network.body.out_shape == (24, 6, 7)
    network = build_network("t3x64", game=ConnectFour())
    assert len(network.body.layers) == 3 and network.header.architecture["heads"] == 2
    # Maia's shape and size: 6 blocks of 64 with squeeze-excitation, convolutional policy.
    encoding = Encoding(codec="lc0")
    maia = build_network("6x64", game=Chess(), encoding=encoding, norm="folded")
    assert maia.parameter_count == 865_571  # the count in the docs of its file format


@pytest.mark.parametrize("size", SIZES)
def test_a_header_builds_the_same_network(size):
    one = build_network(size, game=TicTacToe(), seed=7, moves_left=True)
    state = torch.get_rng_state()
    two = build_network(one.header, game=TicTacToe(), seed=7)
    assert torch.equal(torch.get_rng_state(), state)
    assert two.header == one.header
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    other = build_network(one.header, seed=8)
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs)


def test_a_new_network_is_nearly_uniform():
    for size in SIZES:
        output = build_network(size, game=ConnectFour(), seed=1).eval()(torch.ones(4, 2, 6, 7))
        policy, value = torch.softmax(output.policy, 1), torch.softmax(output.value, 1)
        assert policy.max() < 2.5 / 7, size
        assert (value - 1 / 3).abs().max() < 0.25, size


def test_plane_policy_has_the_order_of_the_codec():
    """The logit of plane p on square s has index 73 s + p, as in the codec az73."""
    network = build_network("1x8", game=Chess(), seed=1).eval()
    logits = network.policy.logits
    with torch.no_grad():
        logits.weight.zero_()
        logits.bias.copy_(torch.arange(73))
    policy = network(torch.randn(1, 112, 8, 8)).policy[0]
    assert torch.equal(policy, torch.arange(73.0).repeat(64))
    # A feature on one square changes the logits of that square only.
    with torch.no_grad():
        logits.weight.zero_()
        logits.weight[:, :, 1, 1] = 1
        network.policy.conv = torch.nn.Identity()
    features = torch.zeros(1, 8, 8, 8)
    features[0, :, 3, 5] = 1
    moved = network.policy(features)[0] - torch.arange(73.0).repeat(64)
    assert set(torch.nonzero(moved).flatten().tolist()) == set(range(73 * 29, 73 * 30))


def test_values_stay_in_their_range():
    far = 100 * torch.randn(64, 2, 3, 3)
    for value, bounds in (("scalar", (-1, 1)), ("seats", (0, 10))):
        more = {"value_range": bounds} if value == "seats" else {}
        network = built("2x8", header(value=value), **more)
        with torch.no_grad():
            network.value.out.weight *= 100
        out = network(far).value
        assert bounds[0] <= out.min() and out.max() <= bounds[1]
        assert out.max() - out.min() > 0.9 * (bounds[1] - bounds[0])


def test_squeeze_excitation_by_hand():
    """The formula of lc0: sigmoid(first half) · x + second half, from plane means."""
    torch.manual_seed(2)
    unit = SqueezeExcitation(4, 3, "relu")
    planes = torch.randn(2, 4, 5, 5)
    x = planes.numpy()
    w1, b1 = unit.squeeze.weight.detach().numpy(), unit.squeeze.bias.detach().numpy()
    w2, b2 = unit.excite.weight.detach().numpy(), unit.excite.bias.detach().numpy()
    both = np.maximum(x.mean((2, 3)) @ w1.T + b1, 0) @ w2.T + b2
    gate, shift = 1 / (1 + np.exp(-both[:, :4])), both[:, 4:]
    wanted = x * gate[:, :, None, None] + shift[:, :, None, None]
    np.testing.assert_allclose(unit(planes).detach().numpy(), wanted, atol=1e-6)


def test_attention_by_hand():
    """softmax(q·k / √d + bias) · v, per head, compared with NumPy."""
    torch.manual_seed(3)
    layer = TransformerLayer(5, TransformerSettings(width=8, heads=2))
    with torch.no_grad():
        layer.bias.normal_()
    tokens = torch.randn(1, 5, 8)
    q, k, v = np.split(layer.qkv(tokens)[0].detach().numpy(), 3, axis=1)
    mixed = []
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        scores = q[:, part] @ k[:, part].T / 2 + layer.bias[head].detach().numpy()
        weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        mixed.append(weights @ v[:, part])
    wanted = layer.out(torch.tensor(np.concatenate(mixed, 1))).detach().numpy()
    np.testing.assert_allclose(layer.attention(tokens)[0].detach().numpy(), wanted, atol=1e-5)


def test_global_pooling_reaches_every_square():
    """A stone in one corner changes the opposite corner, out of reach of 3 × 3 convolutions."""
    torch.manual_seed(1)
    far = []
    for every in (0, 1):
        settings = TowerSettings(blocks=1, channels=8, squeeze=0, norm="folded")
        tower = Tower((1, 12, 12), settings.model_copy(update={"pooling_every": every}))
        stone = torch.zeros(1, 1, 12, 12)
        stone[0, 0, 0, 0] = 5
        change = tower(stone) - tower(torch.zeros(1, 1, 12, 12))
        far.append(change[0, :, -1, -1].abs().max().item())
    assert far[0] == 0 and far[1] > 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: build_network("big", game=TicTacToe()), "'big'"),
        (lambda: build_network("6x64"), "game="),
        (
            lambda: build_network("2x8", game=TicTacToe(), blcks=3),
            r"'blcks'.*'blocks'",
        ),
        (lambda: build_network("0x8", game=TicTacToe()), "blocks 0"),
        (lambda: build_network("2x8", game=TicTacToe(), activation="elu"), "'elu'"),
        (
            lambda: built("2x8", header(shape=(5,))),
            r"\(5,\)",
        ),
        (
            lambda: build_network("2x8", game=ConnectFour(), policy="planes"),
            r"7.*policy='dense'",
        ),
        (
            lambda: build_network("2x8", game=Chess(), policy="lc0"),
            r"'lc0'.*lc0",
        ),
        (
            lambda: build_network("t2x30", game=TicTacToe(), heads=4),
            r"30.*4",
        ),
        (
            lambda: build_network(header().replace(architecture={"name": "mine"})),
            "'mine'",
        ),
        (
            lambda: build_network(built("2x8", header()).header, moves_left=True),
            "header",
        ),
        (
            lambda: build_network(built("2x8", header()).header, game=TicTacToe()),
            r"made up.*tic_tac_toe",
        ),
        (
            lambda: build_network("2x8", game=TicTacToe(), encoding=Encoding()),
            r"tic_tac_toe.*encoding",
        ),
    ],
)
def test_invalid_networks_are_refused(call, sentence):
    with pytest.raises(NetworkError, match=sentence):
        call()


def test_chess_in_every_encoding():
    for encoder in ENCODERS:
        for codec, logits in (("az73", 4672), ("lc0", 1858)):
            encoding = Encoding(encoder=encoder, codec=codec)
            network = build_network("1x8", game=Chess(), encoding=encoding)
            shape = encoding.observation_shape
            assert network(torch.zeros(1, *shape)).policy.shape == (1, logits)
            assert network.header.observation_size == math.prod(shape)
