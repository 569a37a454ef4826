"""A run can begin with any network that Sylvan builds: its size and settings are read back."""

import pytest

from sylvan.errors import NetworkError
from sylvan.games import Blob, Chess
from sylvan.networks import build_network
from sylvan.networks.build import _BODIES
from sylvan.networks.checkpoint import save_network
from sylvan.runs.config import TrainingConfig
from sylvan.runs.run import Run
from sylvan.runs.warm_start import network_like, warm_start

NETWORKS = {
    "tower": ("1x8", Chess(encoder="planes18")),
    "transformer": ("t1x16", Chess(encoder="planes18")),
    "mlp": ("mlp1x8", Chess(encoder="planes18")),
    "suits": ("suits1x16", Blob()),
}


def test_every_architecture_is_tried():
    assert NETWORKS.keys() == _BODIES.keys()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_every_architecture_is_continued(name, tmp_path):
    size, game = NETWORKS[name]
    network = build_network(size, game=game, seed=1)
    save_network(network, tmp_path / "net.safetensors")
    like = network_like(tmp_path / "net.safetensors")
    assert like["size"] == size
    again = build_network(
        like["size"],
        game=game,
        value=like["value"],
        moves_left=like["moves_left"],
        seed=2,
        **like["settings"],
    )
    assert again.header.architecture == network.header.architecture
    run = Run.create(tmp_path / "run", TrainingConfig(game={"name": "chess"}, network=like))
    assert Run.open(tmp_path / "run").config.network == run.config.network
    warm_start(again, tmp_path / "net.safetensors")
    for one, two in zip(again.parameters(), network.parameters(), strict=True):
        assert (one == two).all()


def test_a_network_of_another_encoding_is_refused(tmp_path):
    source = build_network("1x8", game=Chess(encoder="planes18"), seed=1)
    save_network(source, tmp_path / "net.safetensors")
    other = build_network("1x8", game=Chess(encoder="planes19"), seed=1)
    with pytest.raises(NetworkError, match=r"planes18.*planes19"):
        warm_start(other, tmp_path / "net.safetensors")
