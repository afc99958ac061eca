"""A network that takes a while, where there can be one."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import far  # noqa: E402

ONE_WAY_S = 0.02


@pytest.fixture(scope="session")
def far_network():
    """None where there can be none. This process is in a network of its own from here on."""
    return None if far.why_impossible() else far.FarNetwork(ONE_WAY_S)
