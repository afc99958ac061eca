"""Publishers that outrun their consumers: what they send ahead waits with them, not in the broker's sockets, where it would only be late."""

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from blackbox import codec

KIB = 2**10
LIMITED_LEN = 256 * KIB
"""Of which Linux makes twice as much, for its own needs."""
LONG_ENOUGH_S, MEASURED_S = 1.0, 1.0


@pytest.mark.warren_only("RabbitMQ leaves the buffers of sockets to the kernel")
def test_little_waits_in_the_sockets_of_publishers(own_broker):
    waiting = flood(own_broker())
    assert waiting < 2 * LIMITED_LEN, f"{waiting // KIB} KiB waited"


@pytest.mark.warren_only("RabbitMQ leaves the buffers of sockets to the kernel")
def test_a_receive_buffer_that_was_set_stays(own_broker):
    waiting = flood(own_broker({"tcp_listen_options.recbuf": "1MiB"}))
    assert waiting > 2 * LIMITED_LEN, f"{waiting // KIB} KiB waited"


def flood(broker) -> int:
    """What waited in the broker's sockets at most, in bytes, while a publisher sent more than a consumer was handed."""
    with broker.wire() as consumer, broker.wire() as publisher:
        consumer.call(1, "queue.declare", queue="q")
        consumer.call(1, "basic.consume", queue="q", no_ack=True)
        messages = 20 * codec.publish(1, "", "q", bytes(10 * KIB))
        threads = [threading.Thread(target=use, args=(peer.socket, act)) for peer, act in
                   ((consumer, lambda peer: peer.recv(256 * KIB)), (publisher, lambda peer: peer.sendall(messages)))]
        for thread in threads:
            thread.start()
        try:
            time.sleep(LONG_ENOUGH_S)
            until, longest = time.monotonic() + MEASURED_S, 0
            while time.monotonic() < until:
                longest = max(longest, receive_queue_len(broker.port))
                time.sleep(0.01)
            return longest
        finally:
            for peer in (consumer, publisher):
                with suppress(OSError):
                    peer.socket.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def use(peer: socket.socket, act) -> None:
    """Does the same until the socket is shut down."""
    with suppress(OSError):
        while act(peer) != b"":
            pass


def receive_queue_len(port: int) -> int:
    """What waits to be read in the fullest socket on a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return max(int(row[4].split(":")[1], 16) for row in rows if int(row[1].split(":")[1], 16) == port)
