"""A backlog that memory does not hold: the broker stays as small as it was, gives all back in order, and starts soon with it.

The full measure, with ten million messages and rates, is `bench/run flat` and `bench/run start`.
"""

import statistics
import struct
import time

import pytest
from blackbox import codec

MIB = 2**20
COUNT, BATCH = 600_000, 500
BOUNDS = {"warren.journal.bound": "32MiB", "warren.journal.file_size": "4MiB", "warren.chunks.bound": "16MiB"}
RSS_MAX = 128 * MIB
GROWTH_MAX = 16 * MIB
"""A twelfth of what a third of the messages are."""
READY_MAX_S = 5.0
"""A busy machine of two cores needs a tenth of that. It must not depend on how much waits."""


@pytest.mark.timeout(180)
@pytest.mark.warren_only("RabbitMQ's memory is not bounded by keys of Warren")
def test_a_long_backlog_takes_no_memory_and_comes_back_in_order(own_broker):
    broker = own_broker(BOUNDS)
    with broker.wire(timeout=60) as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
        wire.call(1, "confirm.select")
        sizes = fill(wire, broker)
    largest = max(max(third) for third in sizes)
    assert largest < RSS_MAX, f"{largest // MIB} MiB while it was filled"
    # The chunks are full long before the first third is over. Moving messages takes some memory for a moment, now and then: so medians.
    usual = [statistics.median(third) for third in sizes]
    assert usual[2] < usual[0] + GROWTH_MAX, f"usually {[size // MIB for size in usual]} MiB in each third"

    broker.kill()
    started_at = time.monotonic()
    broker.start()
    ready_s = time.monotonic() - started_at
    assert ready_s < READY_MAX_S, f"ready after {ready_s:.1f} s with {COUNT} messages waiting"

    with broker.wire(timeout=60) as wire:
        assert wire.call(1, "queue.declare", queue="q", passive=True).message_count == COUNT
        drained = drain(wire, broker)
        assert wire.call(1, "queue.declare", queue="q", passive=True).message_count == 0
    print(f"{[size // MIB for size in usual]} MiB in each third, ready after {ready_s * 1000:.0f} ms, {drained // MIB} MiB while it was drained")
    assert drained < RSS_MAX, f"{drained // MIB} MiB while it was drained"


def body_of(number: int) -> bytes:
    return struct.pack(">Q", number) + b"." * 1016


def fill(wire, broker) -> list[list[int]]:
    """Publishes all, two batches ahead of the confirms; the memory in each third, time and again."""
    publish = codec.publish(1, "", "q", body_of(0), delivery_mode=2)
    head, tail = publish.split(body_of(0))
    padding = body_of(0)[8:] + tail
    sizes, confirmed = [[], [], []], 0
    for first in range(0, COUNT + BATCH, BATCH):
        wire.send(b"".join(head + struct.pack(">Q", number) + padding for number in range(first, min(first + BATCH, COUNT))))
        # One queue and one publisher: confirms come in order.
        while confirmed < first:
            confirmed = wire.expect("basic.ack", 1).delivery_tag
        sizes[min(3 * first // COUNT, 2)].append(broker.rss_anon_bytes())
    return sizes


def drain(wire, broker) -> int:
    """Takes all; the largest memory meanwhile. All deliveries are equally long, so they need no parsing."""
    wire.call(1, "basic.consume", queue="q", consumer_tag="c", no_ack=True)
    # What came together with consume-ok has been read already.
    largest, number, rest = 0, 0, bytes(wire.received)
    wire.received.clear()
    delivery_len = None
    while number < COUNT:
        rest += wire._receive()
        if delivery_len is None:
            end = rest.find(body_of(0))
            if end < 0:
                continue
            delivery_len = end + len(body_of(0)) + 1
        whole_len = len(rest) - len(rest) % delivery_len
        for at in range(0, whole_len, delivery_len):
            body = rest[at + delivery_len - 1025 : at + delivery_len - 1]
            assert body == body_of(number), f"message {struct.unpack_from('>Q', body)[0]} came where {number} was due"
            number += 1
        rest = rest[whole_len:]
        largest = max(largest, broker.rss_anon_bytes())
    assert not rest
    return largest
