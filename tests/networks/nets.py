"""Real networks, in the folder named by SYLVAN_NETS."""

import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("SYLVAN_NETS")

needs_nets = pytest.mark.skipif(
    FOLDER is None, reason="SYLVAN_NETS does not name a folder with Maia's networks"
)


def maia(rating: int) -> Path:
    """The file of a Maia network."""
    assert FOLDER is not None
    return Path(FOLDER) / f"maia-{rating}.pb.gz"
