"""Who does not read what it has asked for is waited for alone: neighbours on the same connections go on, and the proxy's memory stays small."""

import socket
import threading

import pytest
from blackbox import codec
from blackbox.proxy import eventually

MIB = 1 << 20
OUTPUT_LEN_MAX = MIB
"""Of what waits for a client nothing more is asked for beyond this: limits.rs, CLIENT_OUTPUT_LEN_MAX."""


@pytest.fixture
def crowded(broker, own_proxy, wires, user, name):
    """A proxy with three clients who work on the connections of one login; `wires()` opens others there."""
    return Crowd(own_proxy({"a": broker}), wires, user, name)


class Crowd:
    def __init__(self, proxy, wires, user, name):
        self.proxy, self.name = proxy, name
        self.open = lambda **how: wires(proxy, user=user, password="secret", timeout=30, **how)
        self.working = [(self.open(channels=2), name("neighbour")) for _ in range(3)]
        self.published = 0
        for wire, queue in self.working:
            wire.call(1, "confirm.select")
            wire.call(2, "queue.declare", queue=queue, durable=True)
        self.work(1)
        self.rss_before = proxy.rss_anon_bytes()

    def work(self, rounds):
        """The neighbours publish and get, each its own."""
        for _ in range(rounds):
            self.published += 1
            body = b"%d" % self.published
            for wire, queue in self.working:
                wire.publish(1, "", queue, body)
            for wire, queue in self.working:
                wire.expect_confirms(1, self.published, self.published)
                wire.send_method(2, "basic.get", queue=queue, no_ack=True)
            for wire, _ in self.working:
                assert wire.expect_message("basic.get-ok").body == body

    def slow(self, channels=1):
        """A client whose socket holds little."""
        wire = self.open(channels=channels)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        return wire

    def waiting_bytes(self):
        return self.proxy.metric("warren_proxy_client_output_bytes")

    def check_shares(self):
        assert self.proxy.metric("warren_proxy_clients_on_own_connection") == 0

    def check_memory(self, more_max):
        more = self.proxy.rss_anon_bytes() - self.rss_before
        assert more < more_max, f"the proxy has taken {more / MIB:.1f} MiB"


def fill(broker, queue, bodies):
    """A durable queue with these messages."""
    with broker.wire(timeout=30) as wire:
        wire.call(1, "queue.declare", queue=queue, durable=True)
        wire.call(1, "confirm.select")
        for body in bodies:
            wire.publish(1, "", queue, body)
        wire.expect_confirms(1, 1, len(bodies))


def test_gets_that_are_not_read_hold_up_nobody_and_all_come_in_the_end(broker, crowded):
    bodies = [b"%03d" % number + bytes(MIB) for number in range(100)]
    queue = crowded.name("big")
    fill(broker, queue, bodies)
    slow = crowded.slow()
    slow.send(b"".join(codec.method(1, "basic.get", queue=queue, no_ack=True) for _ in bodies))
    eventually(lambda: crowded.waiting_bytes() > OUTPUT_LEN_MAX, "it is not asked for more")
    crowded.work(20)
    crowded.check_shares()
    assert crowded.waiting_bytes() < 4 * MIB
    crowded.check_memory(40 * MIB)
    for body in bodies:
        assert slow.expect_message("basic.get-ok").body == body
    crowded.work(1)


def test_messages_that_come_back_and_are_not_read_hold_up_nobody_and_all_come_in_the_end(crowded):
    slow, nowhere, count = crowded.slow(), crowded.name("nowhere"), 990
    body = bytes(100_000)

    def publish():
        for number in range(count):
            slow.publish(1, "", nowhere, b"%03d" % number + body, mandatory=True)

    publisher = threading.Thread(target=publish, daemon=True)
    publisher.start()
    eventually(lambda: crowded.waiting_bytes() > OUTPUT_LEN_MAX, "it is not read any more")
    crowded.work(20)
    crowded.check_shares()
    assert publisher.is_alive(), "nothing more is taken from it"
    crowded.check_memory(64 * MIB)
    for number in range(count):
        assert slow.expect_message("basic.return").body == b"%03d" % number + body
    publisher.join(30)
    assert not publisher.is_alive()
    slow.expect_silence(1)
    crowded.work(1)
