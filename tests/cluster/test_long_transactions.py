"""A transaction that is longer than the journal may be, over three nodes: all of it lasts, in whichever queues, and others publish behind it."""

import time

import pytest
from blackbox.transactions import BOUNDS, COUNT, commit_long
from nodes import Cluster, Surroundings

QUEUES = {"classic": {"x-queue-type": "classic"}, "quorum": {"x-queue-type": "quorum"}}
SERVES_WITHIN_S = 60.0


@pytest.fixture
def small(pytestconfig):
    """Three nodes with little room."""
    cluster = Cluster(Surroundings(), pytestconfig.getoption("broker_command"), settings=BOUNDS)
    try:
        yield cluster.start()
    finally:
        cluster.remove()


def publish(node) -> None:
    """Confirmed."""
    with node.wire(timeout=SERVES_WITHIN_S) as wire:
        wire.call(1, "confirm.select")
        for queue in QUEUES:
            wire.publish(1, "", queue, b"behind", delivery_mode=2)
        wire.expect_confirms(1, 1, len(QUEUES))


def counts(node) -> dict[str, int]:
    deadline = time.monotonic() + SERVES_WITHIN_S
    while True:
        try:
            with node.wire() as wire:
                return {queue: wire.call(1, "queue.declare", queue=queue, passive=True).message_count for queue in QUEUES}
        except (OSError, AssertionError):
            assert time.monotonic() < deadline, "no node serves"
            time.sleep(0.05)


def test_a_transaction_longer_than_the_journal_lasts_on_three_nodes(small):
    nodes = list(small.nodes.values())
    with nodes[0].wire() as wire:
        for queue, arguments in QUEUES.items():
            wire.call(1, "queue.declare", queue=queue, durable=True, arguments=arguments)
    # Each by another node: what is carried to the leader, too.
    for node in nodes:
        commit_long(node, tuple(QUEUES))
        publish(node)
    wanted = dict.fromkeys(QUEUES, len(nodes) * (COUNT // len(QUEUES) + 1))
    assert counts(nodes[0]) == wanted
    for node in nodes:
        node.kill()
    for node in nodes:
        node.start(wait=False)
    small.await_whole(SERVES_WITHIN_S)
    assert counts(nodes[-1]) == wanted
    publish(nodes[-1])
