"""Acknowledging, rejecting, requeueing: what comes back, where, and how it is marked."""

import pytest
from blackbox import codec


@pytest.fixture
def queue(wires, name):
    """A durable queue with messages 0 to 9."""
    queue = name()
    setup = wires()
    setup.call(1, "queue.declare", queue=queue, durable=True)
    setup.send(b"".join(codec.publish(1, "", queue, b"%d" % number) for number in range(10)))
    setup.wait_count(1, queue, 10)
    return queue


def get(wire, queue, channel=1, no_ack=False):
    """The next message, or None: (number, delivery tag, redelivered)."""
    wire.send_method(channel, "basic.get", queue=queue, no_ack=no_ack)
    wire_got = wire.read()
    if wire_got.name == "basic.get-empty":
        return None
    header = wire.read()
    body = wire.read() if header.body_len else b""
    return int(body), wire_got.delivery_tag, wire_got.redelivered


def drain(wire, queue):
    """All that is ready, taken without acks: numbers, and numbers of those marked redelivered."""
    got = []
    while message := get(wire, queue, no_ack=True):
        got.append(message)
    return [number for number, _, _ in got], [number for number, _, redelivered in got if redelivered]


def hold(wire, queue, count):
    """Takes messages with basic.get and keeps them unacked."""
    return [get(wire, queue)[1] for _ in range(count)]


def test_ack_settles_one(wire, wires, queue):
    hold(wire, queue, 3)
    wire.send_method(1, "basic.ack", delivery_tag=2)
    wire.call(1, "channel.close", reply_code=200)
    assert drain(wires(), queue) == ([0, 2, 3, 4, 5, 6, 7, 8, 9], [0, 2])


def test_ack_multiple_settles_all_up_to_it(wire, wires, queue):
    hold(wire, queue, 5)
    wire.send_method(1, "basic.ack", delivery_tag=2)
    wire.send_method(1, "basic.ack", delivery_tag=4, multiple=True)
    wire.call(1, "channel.close", reply_code=200)
    assert drain(wires(), queue) == ([4, 5, 6, 7, 8, 9], [4])


def test_ack_multiple_of_0_settles_all(wire, wires, queue):
    hold(wire, queue, 5)
    wire.send_method(1, "basic.ack", delivery_tag=0, multiple=True)
    wire.send_method(1, "basic.ack", delivery_tag=0, multiple=True)
    wire.call(1, "channel.close", reply_code=200)
    assert drain(wires(), queue) == ([5, 6, 7, 8, 9], [])


@pytest.mark.parametrize("method", ["basic.ack", "basic.nack", "basic.reject"])
@pytest.mark.parametrize("tag", [0, 99])
def test_an_unknown_tag_is_406(wire, queue, method, tag):
    hold(wire, queue, 1)
    wire.send_method(1, method, delivery_tag=tag)
    wire.expect_channel_error(1, 406, f"PRECONDITION_FAILED - unknown delivery tag {tag}", method)


@pytest.mark.parametrize("method", ["basic.ack", "basic.nack"])
def test_an_unknown_tag_is_406_with_multiple_too(wire, queue, method):
    hold(wire, queue, 2)
    wire.send_method(1, method, delivery_tag=99, multiple=True)
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - unknown delivery tag 99", method)


def test_acking_twice_is_406_and_gives_the_others_back(wire, wires, queue):
    hold(wire, queue, 3)
    wire.send_method(1, "basic.ack", delivery_tag=1)
    wire.send_method(1, "basic.ack", delivery_tag=1)
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - unknown delivery tag 1", "basic.ack")
    wires().wait_count(1, queue, 9)


def test_acking_twice_with_multiple_is_fine(wire, queue):
    hold(wire, queue, 3)
    wire.send_method(1, "basic.ack", delivery_tag=2, multiple=True)
    wire.send_method(1, "basic.ack", delivery_tag=3, multiple=True)
    wire.expect_silence(1)


def test_tags_belong_to_their_channel(wires, queue):
    wire = wires(channels=2)
    hold(wire, queue, 1)
    wire.send_method(2, "basic.ack", delivery_tag=1)
    wire.expect_channel_error(2, 406, "PRECONDITION_FAILED - unknown delivery tag 1", "basic.ack")
    assert get(wire, queue, channel=2)[:2] == (1, 1)


def test_reject_without_requeue_drops(wire, wires, queue):
    hold(wire, queue, 2)
    wire.send_method(1, "basic.reject", delivery_tag=1, requeue=False)
    wire.call(1, "channel.close", reply_code=200)
    assert drain(wires(), queue) == ([1, 2, 3, 4, 5, 6, 7, 8, 9], [1])


def test_reject_with_requeue_puts_back_at_the_old_place(wire, queue):
    hold(wire, queue, 4)
    wire.send_method(1, "basic.reject", delivery_tag=3, requeue=True)
    wire.send_method(1, "basic.reject", delivery_tag=2, requeue=True)
    assert drain(wire, queue) == ([1, 2, 4, 5, 6, 7, 8, 9], [1, 2])


def test_nack_multiple_with_requeue_keeps_the_order(wire, queue):
    hold(wire, queue, 6)
    wire.send_method(1, "basic.ack", delivery_tag=2)
    wire.send_method(1, "basic.nack", delivery_tag=5, multiple=True, requeue=True)
    assert drain(wire, queue) == ([0, 2, 3, 4, 6, 7, 8, 9], [0, 2, 3, 4])


def test_nack_multiple_without_requeue_drops(wire, wires, queue):
    hold(wire, queue, 6)
    wire.send_method(1, "basic.nack", delivery_tag=5, multiple=True, requeue=False)
    wire.call(1, "channel.close", reply_code=200)
    assert drain(wires(), queue) == ([5, 6, 7, 8, 9], [5])


def test_nack_of_0_with_multiple_means_all(wire, queue):
    hold(wire, queue, 6)
    wire.send_method(1, "basic.nack", delivery_tag=0, multiple=True, requeue=True)
    assert drain(wire, queue) == (list(range(10)), list(range(6)))


def test_requeued_messages_of_several_consumers_keep_the_order_of_the_queue(wires, queue):
    first, second = wires(), wires()
    for wire in (first, second, first, second):
        hold(wire, queue, 1)
    second.send_method(1, "basic.nack", delivery_tag=0, multiple=True, requeue=True)
    second.expect_silence(1)
    first.send_method(1, "basic.nack", delivery_tag=0, multiple=True, requeue=True)
    first.expect_silence(1)
    assert drain(first, queue) == (list(range(10)), [0, 1, 2, 3])


def test_a_requeued_message_goes_to_a_waiting_consumer(wires, queue):
    holder, consumer = wires(), wires()
    hold(holder, queue, 1)
    consumer.call(1, "basic.consume", queue=queue, no_ack=True)
    assert [int(consumer.expect_message().body) for _ in range(9)] == list(range(1, 10))
    holder.send_method(1, "basic.reject", delivery_tag=1, requeue=True)
    message = consumer.expect_message()
    assert (int(message.body), message.method.redelivered) == (0, True)


def test_a_message_may_be_requeued_to_the_same_consumer_again_and_again(wire, queue):
    wire.call(1, "basic.qos", prefetch_count=1)
    wire.call(1, "basic.consume", queue=queue)
    for tag in range(1, 20):
        message = wire.expect_message()
        assert (int(message.body), message.method.delivery_tag, message.method.redelivered) == (0, tag, tag > 1)
        wire.send_method(1, "basic.nack", delivery_tag=tag, requeue=True)


def test_closing_the_channel_requeues_what_it_held(wire, queue):
    hold(wire, queue, 4)
    wire.call(1, "channel.close", reply_code=200)
    wire.call(1, "channel.open")
    assert drain(wire, queue) == (list(range(10)), [0, 1, 2, 3])


def test_a_cut_connection_requeues_what_it_held(wires, queue):
    lost, other = wires(), wires()
    hold(lost, queue, 4)
    lost.drop()
    other.wait_count(1, queue, 10)
    assert drain(other, queue) == (list(range(10)), [0, 1, 2, 3])


@pytest.mark.parametrize("method", ["basic.recover", "basic.recover-async"])
def test_recover_requeues_what_the_channel_holds(wires, queue, method):
    wire = wires(channels=2)
    hold(wire, queue, 3)
    assert get(wire, queue, channel=2)[0] == 3
    wire.send_method(1, method, requeue=True)
    if method == "basic.recover":
        wire.expect("basic.recover-ok")
    assert drain(wire, queue) == ([0, 1, 2, 4, 5, 6, 7, 8, 9], [0, 1, 2])


@pytest.mark.parametrize("method", ["basic.recover", "basic.recover-async"])
def test_recover_without_requeue_is_not_implemented(wire, method):
    wire.send_method(1, method, requeue=False)
    wire.expect_connection_error(540, "NOT_IMPLEMENTED - requeue=false", method)


def test_recover_delivers_again_to_the_consumer(wire, queue):
    wire.call(1, "basic.qos", prefetch_count=2)
    wire.call(1, "basic.consume", queue=queue)
    assert [int(wire.expect_message().body) for _ in range(2)] == [0, 1]
    wire.send_method(1, "basic.recover", requeue=True)
    messages, is_recovered = [], False
    while len(messages) < 2 or not is_recovered:
        got = wire.read()
        if getattr(got, "name", "") == "basic.recover-ok":
            is_recovered = True
        elif getattr(got, "name", "") == "basic.deliver":
            wire.read()
            messages.append((int(wire.read()), got.redelivered))
    assert messages == [(0, True), (1, True)]
