"""A cluster on 127.0.0.1 for what needs no network, disk or clock of its own."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "definitions")]

from nodes import Cluster, Surroundings  # noqa: E402


@pytest.fixture(scope="module")
def whole_cluster(pytestconfig):
    """Three nodes that most tests of a module share."""
    cluster = Cluster(Surroundings(), pytestconfig.getoption("broker_command"))
    try:
        yield cluster.start()
    finally:
        cluster.remove()


@pytest.fixture
def cluster(whole_cluster):
    """The same, in order, whatever the test before left of it."""
    for node in whole_cluster.nodes.values():
        if node.has_ended():
            node.kill()
            node.lose_everything()
            node.start(wait=False)
    whole_cluster.await_whole()
    return whole_cluster
