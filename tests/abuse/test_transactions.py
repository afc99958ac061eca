"""A transaction that is longer than the journal may be: it is kept whole, and holds up no other client."""

import pytest
from blackbox.transactions import BOUNDS, COUNT, commit_long


def declare(broker) -> None:
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)


@pytest.mark.warren_only("RabbitMQ's journal is not bounded by keys of Warren")
def test_a_transaction_longer_than_the_journal_holds_up_no_publisher(victim):
    broker = victim(BOUNDS)
    declare(broker)
    commit_long(broker)
    # Once more, with what the first has left.
    commit_long(broker)
    with broker.wire(timeout=60) as wire:
        wire.call(1, "confirm.select")
        wire.publish(1, "", "q", b"after", delivery_mode=2)
        wire.expect_confirms(1, 1, 1)
        assert wire.call(1, "queue.declare", queue="q", passive=True).message_count == 2 * COUNT + 1


@pytest.mark.warren_only("RabbitMQ's journal is not bounded by keys of Warren")
def test_a_transaction_longer_than_the_journal_survives_a_kill(own_broker):
    broker = own_broker(BOUNDS)
    declare(broker)
    commit_long(broker)
    broker.kill()
    broker.start()
    with broker.wire(timeout=60) as wire:
        wire.call(1, "confirm.select")
        wire.publish(1, "", "q", b"after", delivery_mode=2)
        wire.expect_confirms(1, 1, 1)
        assert wire.call(1, "queue.declare", queue="q", passive=True).message_count == COUNT + 1
