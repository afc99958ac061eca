"""Transactions: publishes and acks that count when they are committed."""

import pytest
from blackbox import codec


@pytest.fixture
def queue(wires, name):
    """A durable queue."""
    queue = name()
    wires().call(1, "queue.declare", queue=queue, durable=True)
    return queue


@pytest.fixture
def tx(wire):
    """The wire with channel 1 in transaction mode."""
    wire.call(1, "tx.select")
    return wire


def count(wires, queue):
    with wires() as other:
        return other.call(1, "queue.declare", queue=queue, passive=True).message_count


def test_publishes_are_seen_after_commit_only(tx, wires, queue):
    for number in range(3):
        tx.publish(1, "", queue, b"%d" % number, delivery_mode=2)
    tx.call(1, "access.request")
    assert count(wires, queue) == 0
    tx.call(1, "tx.commit")
    wires().wait_count(1, queue, 3)


def test_rollback_forgets_publishes(tx, wires, queue):
    tx.publish(1, "", queue, b"forgotten")
    tx.call(1, "tx.rollback")
    tx.publish(1, "", queue, b"kept")
    tx.call(1, "tx.commit")
    other = wires()
    other.wait_count(1, queue, 1)
    other.send_method(1, "basic.get", queue=queue)
    assert other.expect_message("basic.get-ok").body == b"kept"


def test_closing_the_channel_forgets_what_was_not_committed(tx, wires, queue):
    tx.publish(1, "", queue, b"forgotten")
    tx.call(1, "channel.close", reply_code=200)
    assert count(wires, queue) == 0


def test_acks_count_after_commit_only(wires, queue):
    wire = wires()
    for _ in range(2):
        wire.publish(1, "", queue, b"m")
        wire.wait_count(1, queue, 1)
        tx = wires()
        tx.call(1, "tx.select")
        tx.send_method(1, "basic.get", queue=queue)
        tag = tx.expect_message("basic.get-ok").method.delivery_tag
        tx.send_method(1, "basic.ack", delivery_tag=tag)
        tx.call(1, "channel.close", reply_code=200)
        wire.wait_count(1, queue, 1)
        tx.call(1, "channel.open")
        tx.call(1, "tx.select")
        tx.send_method(1, "basic.get", queue=queue)
        tag = tx.expect_message("basic.get-ok").method.delivery_tag
        tx.send_method(1, "basic.ack", delivery_tag=tag)
        tx.call(1, "tx.commit")
        tx.call(1, "channel.close", reply_code=200)
        assert count(wires, queue) == 0


def test_rollback_gives_acks_back_to_the_channel(wires, queue):
    wire = wires()
    wire.publish(1, "", queue, b"m")
    wire.wait_count(1, queue, 1)
    wire.call(1, "tx.select")
    wire.send_method(1, "basic.get", queue=queue)
    tag = wire.expect_message("basic.get-ok").method.delivery_tag
    wire.send_method(1, "basic.ack", delivery_tag=tag)
    wire.call(1, "tx.rollback")
    # Still held by the channel, and can be acked again.
    assert count(wires, queue) == 0
    wire.send_method(1, "basic.ack", delivery_tag=tag)
    wire.call(1, "tx.commit")
    wire.call(1, "channel.close", reply_code=200)
    assert count(wires, queue) == 0


def test_nack_with_requeue_counts_after_commit(wires, queue):
    wire = wires()
    wire.publish(1, "", queue, b"m")
    wire.wait_count(1, queue, 1)
    wire.call(1, "tx.select")
    wire.send_method(1, "basic.get", queue=queue)
    tag = wire.expect_message("basic.get-ok").method.delivery_tag
    wire.send_method(1, "basic.nack", delivery_tag=tag, requeue=True)
    wire.call(1, "access.request")
    assert count(wires, queue) == 0
    wire.call(1, "tx.commit")
    wires().wait_count(1, queue, 1)


def test_mandatory_messages_return_at_commit(tx, name):
    tx.publish(1, "", name("nowhere"), b"back", mandatory=True)
    tx.call(1, "access.request")
    tx.send_method(1, "tx.commit")
    assert tx.expect_message("basic.return").body == b"back"
    tx.expect("tx.commit-ok")


def test_a_publish_to_a_missing_exchange_fails_at_once_and_forgets_the_rest(tx, wires, queue, name):
    missing = name("x")
    tx.publish(1, "", queue, b"forgotten")
    tx.publish(1, missing, "", b"bad")
    tx.expect_channel_error(1, 404, f"NOT_FOUND - no exchange '{missing}' in vhost '/'", "basic.publish")
    assert count(wires, queue) == 0


@pytest.mark.parametrize("method", ["tx.commit", "tx.rollback"])
def test_without_select_it_is_406(wire, method):
    wire.send_method(1, method)
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - channel is not transactional", method)


def test_select_may_be_repeated(tx):
    tx.call(1, "tx.select")
    tx.call(1, "tx.commit")
    tx.call(1, "tx.commit")


def test_tx_and_confirms_exclude_each_other(wires):
    wire = wires()
    wire.call(1, "tx.select")
    wire.send_method(1, "confirm.select")
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode", "confirm.select")
    wire.call(1, "confirm.select")
    wire.send_method(1, "tx.select")
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - cannot switch from confirm to tx mode", "tx.select")


def test_a_large_transaction_is_seen_whole_and_in_order(tx, wires, queue):
    tx.send(b"".join(codec.publish(1, "", queue, b"%d" % number, delivery_mode=2) for number in range(2000)))
    tx.call(1, "tx.commit")
    other = wires()
    other.wait_count(1, queue, 2000)
    other.call(1, "basic.consume", queue=queue, no_ack=True)
    assert [int(other.expect_message().body) for _ in range(2000)] == list(range(2000))
