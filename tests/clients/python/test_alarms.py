"""connection.blocked and unblocked, with a disk that is nearly full because we filled it."""

import os
import shutil
from contextlib import contextmanager

import pytest
from blackbox.wire import Timeout

GIB = 2**30


@contextmanager
def filled_disk(path, size):
    """A file of that size, at once."""
    with open(path, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            yield
        finally:
            os.unlink(path)


@pytest.fixture
def short_of_disk(own_broker, tmp_path):
    """A broker that raises its disk alarm when 6 GiB more are used, and where to use them."""
    free = shutil.disk_usage(tmp_path).free
    if free < 20 * GIB:
        pytest.skip("less than 20 GiB are free here")
    return own_broker({"disk_free_limit.absolute": str(free - 6 * GIB)}), tmp_path / "fill"


def test_only_publishers_that_asked_are_told_and_consumers_go_on(short_of_disk):
    broker, fill = short_of_disk
    publisher, deaf, consumer = broker.wire(), broker.wire(capabilities={"consumer_cancel_notify": True}), broker.wire()
    publisher.call(1, "queue.declare", queue="q", durable=True)
    for number in range(10):
        publisher.publish(1, "", "q", b"%d" % number, delivery_mode=2)
    publisher.wait_count(1, "q", 10)
    with filled_disk(fill, 12 * GIB):
        # The disk is looked at every ten seconds at most.
        for wire in (publisher, deaf, consumer):
            wire.socket.settimeout(30)
        blocked = None
        while blocked is None:
            publisher.publish(1, "", "q", b"more", delivery_mode=2)
            try:
                with publisher.patience(0.2):
                    blocked = publisher.expect("connection.blocked")
            except Timeout:
                pass
        assert "low on disk" in blocked.reason
        # Blocked while it publishes; whoever only consumes is left alone, and told nothing.
        consumer.call(1, "basic.consume", queue="q", no_ack=True)
        assert [int(consumer.expect_message().body) for _ in range(10)] == list(range(10))
        deaf.publish(1, "", "q", b"from the deaf")
    unblocked = publisher.expect("connection.unblocked")
    assert unblocked.arguments == {}
    # What was sent meanwhile arrives now, also from the one that could not be told.
    got = set()
    while b"from the deaf" not in got:
        got.add(consumer.expect_message().body)
    publisher.call(1, "confirm.select")
    publisher.publish(1, "", "q", b"last", delivery_mode=2)
    publisher.expect("basic.ack")


def test_a_broker_short_of_memory_blocks_publishers(own_broker):
    broker = own_broker({"vm_memory_high_watermark.absolute": "1MB"})
    publisher = broker.wire(timeout=30)
    publisher.call(1, "queue.declare", queue="q", durable=True)
    publisher.publish(1, "", "q", b"x")
    assert "low on memory" in publisher.expect("connection.blocked").reason
