"""Spans of messages in a cluster: the wait for a majority is in `commit`."""

import os
import signal
import time

import pytest
from blackbox.collector import SAMPLED, Collector, length_ms
from blackbox.wire import Wire
from nodes import Cluster, Surroundings

PAUSE_S = 0.4


@pytest.fixture
def collector():
    return Collector()


@pytest.fixture
def traced_cluster(pytestconfig, collector):
    cluster = Cluster(Surroundings(), pytestconfig.getoption("broker_command"), {"warren.otlp.endpoint": collector.url})
    try:
        yield cluster.start()
    finally:
        cluster.remove()


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_the_wait_for_a_majority_is_in_commit_alone(traced_cluster, collector, kind):
    leader = traced_cluster.nodes[traced_cluster.leader()]
    others = [node.process.pid for node in traced_cluster.nodes.values() if node is not leader]
    with Wire.open(leader.address, timeout=20) as wire:
        wire.call(1, "queue.declare", queue="q", durable=True, arguments={"x-queue-type": kind})
        wire.call(1, "confirm.select")
        wire.publish(1, "", "q", b"m", headers=SAMPLED, delivery_mode=2)
        wire.expect_confirms(1, 1, 1)
        collector.wait(4)
        collector.requests.clear()
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            wire.publish(1, "", "q", b"m", headers=SAMPLED, delivery_mode=2)
            time.sleep(PAUSE_S)
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)
        wire.expect_confirms(1, 2, 2)
        lengths = {span["name"]: length_ms(span) for span in collector.wait(4)}
    assert lengths.pop("commit") >= 1e3 * PAUSE_S / 2
    assert max(lengths.values()) < 1e3 * PAUSE_S / 2, lengths
