"""connection.blocked and unblocked: with a disk that is nearly full because we filled it, and with memory that messages fill."""

import os
import shutil
from contextlib import contextmanager

import pytest
from blackbox.wire import Timeout

MIB = 2**20
MARGIN, FILLING = 1024 * MIB, 2048 * MIB
"""The disk alarm goes on when so much more is used than now, and so much is: what others write meanwhile should be less than either."""


@contextmanager
def filled_disk(path, size):
    """A file of that size, at once."""
    with open(path, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            yield
        finally:
            os.unlink(path)


def publish_until_blocked(publisher):
    """connection.blocked; it comes to those who publish."""
    while True:
        publisher.publish(1, "", "q", b"more", delivery_mode=2)
        try:
            with publisher.patience(0.2):
                return publisher.expect("connection.blocked")
        except Timeout:
            pass


@pytest.fixture
def short_of_disk(own_broker, tmp_path):
    """A broker that raises its disk alarm when a little more is used, and where to use it."""
    free = shutil.disk_usage(tmp_path).free
    if free < 2 * FILLING:
        pytest.skip(f"less than {2 * FILLING // MIB} MiB are free here")
    return own_broker({"disk_free_limit.absolute": str(free - MARGIN)}), tmp_path / "fill"


def test_only_publishers_that_asked_are_told_and_consumers_go_on(short_of_disk):
    broker, fill = short_of_disk
    publisher, deaf, consumer = broker.wire(), broker.wire(capabilities={"consumer_cancel_notify": True}), broker.wire()
    publisher.call(1, "queue.declare", queue="q", durable=True)
    for number in range(10):
        publisher.publish(1, "", "q", b"%d" % number, delivery_mode=2)
    publisher.wait_count(1, "q", 10)
    with filled_disk(fill, FILLING):
        # The disk is looked at every ten seconds at most.
        for wire in (publisher, deaf, consumer):
            wire.socket.settimeout(30)
        assert "low on disk" in publish_until_blocked(publisher).reason
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
    # The memory is looked at every now and then, and it is for a publish that one is blocked.
    assert "low on memory" in publish_until_blocked(publisher).reason


@pytest.mark.warren_only("RabbitMQ takes more than this for itself")
def test_consumers_free_the_memory_that_publishers_wait_for(own_broker):
    broker = own_broker({"vm_memory_high_watermark.absolute": "80MB"})
    publisher, consumer = broker.wire(timeout=30), broker.wire(timeout=30)
    publisher.call(1, "queue.declare", queue="q", durable=True)
    publisher.call(1, "confirm.select")
    # More than the limit, less than what makes the store move messages to disk; then next to nothing, until the limit is looked at.
    confirmed, blocked = 0, None
    while blocked is None:
        publisher.publish(1, "", "q", bytes(50_000 if confirmed < 1700 else 0))
        got = publisher.expect_one_of("basic.ack", "connection.blocked")
        if got.name == "basic.ack":
            confirmed += 1
        else:
            blocked = got
    assert blocked.reason == "low on memory"
    consumer.call(1, "basic.consume", queue="q", no_ack=True)
    for _ in range(confirmed):
        consumer.expect_message()
    with publisher.patience(10):
        while publisher.expect_one_of("basic.ack", "connection.unblocked").name != "connection.unblocked":
            pass
    publisher.publish(1, "", "q", b"last", delivery_mode=2)
    while consumer.expect_message().body != b"last":
        pass
