"""An upgrade: what a node wrote before there were clusters becomes the first member of one."""

import time

import pytest
from documents import difference, objects
from nodes import SMALL, Cluster, Surroundings
from older import KEPT, QUEUES, read, unpack

SERVES_WITHIN_S = 20.0
CLOCKS_APART_MS = 500


def check(node, told, *, is_first=False):
    """It has just what the older program said. Each message is marked when it has been handed out before."""
    found = await_answer(node)
    # The first start as a node of a cluster writes down what it is called.
    found["definitions"]["global_parameters"] = [each for each in found["definitions"]["global_parameters"] if each["name"] != "cluster_name"]
    assert difference(objects(found["definitions"]), objects(told["definitions"])) == []
    # Another leader has the time from an answer, as exactly as an answer has it.
    assert [without_due(each) for each in found["delayed"]] == [without_due(each) for each in told["delayed"]]
    assert all(abs(each["due"] - before["due"]) <= CLOCKS_APART_MS for each, before in zip(found["delayed"], told["delayed"]))
    for queue in QUEUES:
        expected = told["messages"][queue] if is_first else [{**each, "redelivered": True} for each in told["messages"][queue]]
        assert found["messages"][queue] == expected, queue


def without_due(delayed):
    return {name: value for name, value in delayed.items() if name != "due"}


def await_answer(node):
    """What it has, as soon as it can be asked: there may be an election."""
    deadline = time.monotonic() + SERVES_WITHIN_S
    while True:
        try:
            return read(node)
        except (OSError, AssertionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.mark.parametrize("settings", [{}, SMALL], ids=["", "with the least bounds"])
def test_an_older_directory_becomes_the_first_member_of_a_cluster(pytestconfig, settings):
    cluster = Cluster(Surroundings(), pytestconfig.getoption("broker_command"), settings)
    first, second, third = cluster.nodes.values()
    try:
        told = unpack(first.directory)
        # It has data, so it is alone until an empty one asks it.
        first.start()
        check(first, told, is_first=True)
        assert first.view()["cluster"] is None
        for node in (second, third):
            node.start(wait=False)
        cluster.await_whole()
        for node in cluster.nodes.values():
            check(node, told)
        first.kill()
        for node in (second, third):
            check(node, told)
        # Keys are known as before, and work goes on.
        with second.wire() as wire:
            wire.call(1, "confirm.select")
            for key in (f"key-{KEPT - 1}", "another"):
                wire.publish(1, "", "unique", b"once more", delivery_mode=2, headers={"x-deduplication-header": key})
            wire.expect_confirms(1, 1, 2)
            wire.wait_count(1, "unique", len(told["messages"]["unique"]) + 1)
        first.start(wait=False)
        cluster.await_whole()
    finally:
        cluster.remove()
