"""A transaction that is longer than the journal may be, over three nodes: all of it lasts, in whichever queues, and others publish behind it."""

import itertools
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


def until_answered(act) -> int:
    """Does it until it is answered, which an election may take a while; how often it was tried."""
    deadline = time.monotonic() + SERVES_WITHIN_S
    for count in itertools.count(1):
        try:
            act()
            return count
        except (OSError, AssertionError):
            assert time.monotonic() < deadline, "no node serves"
            time.sleep(0.05)


def publish(node) -> None:
    """Confirmed."""
    with node.wire(timeout=SERVES_WITHIN_S) as wire:
        wire.call(1, "confirm.select")
        for queue in QUEUES:
            wire.publish(1, "", queue, b"behind", delivery_mode=2)
        wire.expect_confirms(1, 1, len(QUEUES))


def counts(node) -> list[int]:
    found = []

    def ask():
        with node.wire() as wire:
            found[:] = [wire.call(1, "queue.declare", queue=queue, passive=True).message_count for queue in QUEUES]

    until_answered(ask)
    return found


def test_a_transaction_longer_than_the_journal_lasts_on_three_nodes(small):
    nodes = list(small.nodes.values())

    def declare():
        with nodes[0].wire() as wire:
            for queue, arguments in QUEUES.items():
                wire.call(1, "queue.declare", queue=queue, durable=True, arguments=arguments)

    until_answered(declare)
    part = COUNT // len(QUEUES)
    # What was not answered may have been done: all of a transaction, or nothing.
    possible = {0}
    for node in nodes:
        # Each by another node: what is carried to the leader, too.
        tries = until_answered(lambda node=node: commit_long(node, tuple(QUEUES)))
        possible = {before + part * done for before in possible for done in range(1, tries + 1)}
        tries = until_answered(lambda node=node: publish(node))
        possible = {before + done for before in possible for done in range(1, tries + 1)}
    before = counts(nodes[0])
    assert before[0] in possible and before[1] in possible, (before, possible)
    for node in nodes:
        node.kill()
    for node in nodes:
        node.start(wait=False)
    small.await_whole(SERVES_WITHIN_S)
    assert counts(nodes[-1]) == before
    until_answered(lambda: publish(nodes[-1]))
