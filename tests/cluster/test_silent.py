"""A leader that falls silent closes nothing: clients that came in at other nodes are sent on their way by those."""

import http.client
import os
import signal
import socket
import time

import pytest
from blackbox.wire import Wire

QUEUE = "kept"
#: An election takes two seconds, and this machine may be busy. A heartbeat of clients, or the end of the silence, would take longer than that.
SERVED_WITHIN_S = 12.0


@pytest.fixture
def silenced(cluster):
    """Falls silent on command, and speaks again in the end."""
    stopped = []

    def silence(node):
        os.kill(node.process.pid, signal.SIGSTOP)
        stopped.append(node.process.pid)

    yield silence
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def publish(wire):
    wire.publish(1, "", QUEUE, b"x", delivery_mode=2)
    wire.expect_confirms(1, 1, 1)


def open_wire(node):
    wire = Wire.open(node.address, timeout=SERVED_WITHIN_S)
    wire.call(1, "queue.declare", queue=QUEUE, durable=True)
    wire.call(1, "confirm.select")
    return wire


def await_end(stream):
    """The other side has closed it."""
    stream.settimeout(max(0.1, SERVED_WITHIN_S))
    try:
        while stream.recv(10_000):
            pass
    except TimeoutError:
        raise
    except OSError:
        pass


def test_clients_at_other_nodes_leave_a_leader_that_fell_silent(cluster, silenced):
    leader = cluster.nodes[cluster.leader()]
    others = [node for node in cluster.nodes.values() if node is not leader]
    wires = [open_wire(node) for node in others]
    for wire in wires:
        publish(wire)
    requests = []
    for node in others:
        # Kept open, as browsers do.
        connection = http.client.HTTPConnection(node.host, node.management_port, timeout=SERVED_WITHIN_S)
        connection.request("GET", "/api/overview", headers=node.api.headers())
        connection.getresponse().read()
        requests.append(connection.sock)
    silenced(leader)
    since = time.monotonic()
    for wire in wires:
        await_end(wire.socket)
    for stream in requests:
        await_end(stream)
    while True:
        try:
            for node in others:
                with open_wire(node) as wire:
                    publish(wire)
            break
        except (OSError, AssertionError):
            assert time.monotonic() - since < SERVED_WITHIN_S, "no node serves"
            time.sleep(0.05)
    assert time.monotonic() - since < 2 * SERVED_WITHIN_S
