"""Consumers: tags, fairness, credit, exclusivity, priorities, and the end of a consumer."""

import pytest
from blackbox import codec


@pytest.fixture
def queue(wire, name):
    """A durable queue."""
    queue = name()
    wire.call(1, "queue.declare", queue=queue, durable=True)
    return queue


def publish(wire, queue, count, first=0):
    """Publishes and waits until all are in the queue."""
    channel = 900
    wire.call(channel, "channel.open")
    wire.call(channel, "confirm.select")
    wire.send(b"".join(codec.publish(channel, "", queue, b"%d" % number) for number in range(first, first + count)))
    wire.expect_confirms(channel, 1, count)
    wire.call(channel, "channel.close", reply_code=200)


def take(wire, count):
    """The next deliveries."""
    return [wire.expect_message() for _ in range(count)]


def numbers(messages):
    return [int(message.body) for message in messages]


def test_a_consumer_gets_what_is_there_and_what_comes_in_order(wire, wires, queue):
    publisher = wires()
    publish(publisher, queue, 3)
    assert wire.call(1, "basic.consume", queue=queue, consumer_tag="me").consumer_tag == "me"
    publish(publisher, queue, 3, first=3)
    messages = take(wire, 6)
    assert numbers(messages) == list(range(6))
    assert [message.method.delivery_tag for message in messages] == [1, 2, 3, 4, 5, 6]
    assert {(message.method.consumer_tag, message.method.redelivered, message.method.exchange, message.method.routing_key) for message in messages} == {("me", False, "", queue)}


def test_a_tag_is_made_up_when_none_is_given(wire, queue):
    tags = {wire.call(1, "basic.consume", queue=queue).consumer_tag for _ in range(3)}
    assert len(tags) == 3 and all(tag.startswith("amq.ctag-") for tag in tags)


def test_a_tag_can_be_used_on_two_channels_but_not_twice_on_one(wires, queue):
    wire = wires(channels=2)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="t")
    wire.call(2, "basic.consume", queue=queue, consumer_tag="t")
    wire.send_method(1, "basic.consume", queue=queue, consumer_tag="t")
    wire.expect_connection_error(530, "NOT_ALLOWED - attempt to reuse consumer tag 't'", "basic.consume")


def test_a_cancelled_tag_can_be_used_again(wire, queue):
    for _ in range(3):
        wire.call(1, "basic.consume", queue=queue, consumer_tag="t")
        assert wire.call(1, "basic.cancel", consumer_tag="t").consumer_tag == "t"


def test_cancelling_an_unknown_tag_is_fine(wire):
    assert wire.call(1, "basic.cancel", consumer_tag="never").consumer_tag == "never"


def test_nowait_consume_and_cancel_are_silent(wire, wires, queue):
    wire.send_method(1, "basic.consume", queue=queue, consumer_tag="t", no_ack=True, nowait=True)
    publish(wires(), queue, 1)
    assert take(wire, 1)[0].method.consumer_tag == "t"
    wire.send_method(1, "basic.cancel", consumer_tag="t", nowait=True)
    assert wire.call(1, "queue.declare", queue=queue, passive=True).consumer_count == 0


def test_cancel_keeps_what_was_delivered_for_acknowledgement(wire, wires, queue):
    publish(wires(), queue, 2)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="t")
    messages = take(wire, 2)
    wire.call(1, "basic.cancel", consumer_tag="t")
    wire.send_method(1, "basic.ack", delivery_tag=messages[0].method.delivery_tag)
    assert wires().call(1, "queue.declare", queue=queue, passive=True).message_count == 0
    wire.call(1, "channel.close", reply_code=200)
    assert wires().wait_count(1, queue, 1).consumer_count == 0


def test_no_ack_settles_at_delivery(wire, wires, queue):
    publish(wires(), queue, 3)
    wire.call(1, "basic.consume", queue=queue, no_ack=True)
    take(wire, 3)
    wire.call(1, "channel.close", reply_code=200)
    assert wires().call(1, "queue.delete", queue=queue).message_count == 0


def test_acking_a_no_ack_delivery_is_406(wire, wires, queue):
    publish(wires(), queue, 1)
    wire.call(1, "basic.consume", queue=queue, no_ack=True)
    wire.send_method(1, "basic.ack", delivery_tag=take(wire, 1)[0].method.delivery_tag)
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - unknown delivery tag 1", "basic.ack")


def test_no_local_is_ignored(wire, queue):
    wire.call(1, "basic.consume", queue=queue, no_local=True)
    wire.publish(1, "", queue, b"1")
    assert numbers(take(wire, 1)) == [1]


# -- exclusive


def in_exclusive_use(queue):
    return f"ACCESS_REFUSED - queue '{queue}' in vhost '/' in exclusive use"


def test_an_exclusive_consumer_keeps_others_out(wires, queue):
    owner, other = wires(), wires()
    owner.call(1, "basic.consume", queue=queue, consumer_tag="t", exclusive=True)
    other.send_method(1, "basic.consume", queue=queue)
    other.expect_channel_error(1, 403, in_exclusive_use(queue), "basic.consume")
    owner.call(1, "basic.cancel", consumer_tag="t")
    other.call(1, "basic.consume", queue=queue)


def test_an_exclusive_consumer_wants_to_be_the_first(wires, queue):
    wires().call(1, "basic.consume", queue=queue)
    other = wires()
    other.send_method(1, "basic.consume", queue=queue, exclusive=True)
    other.expect_channel_error(1, 403, in_exclusive_use(queue), "basic.consume")


# -- fairness and priorities


def test_consumers_take_turns(wires, queue):
    consumers = [wires() for _ in range(3)]
    for consumer in consumers:
        consumer.call(1, "basic.consume", queue=queue)
    publisher = wires()
    for number in range(12):
        publish(publisher, queue, 1, first=number)
    got = [numbers(take(consumer, 4)) for consumer in consumers]
    assert sorted(got) == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]


def test_a_consumer_without_credit_is_passed_over(wires, queue):
    full, free = wires(), wires()
    full.call(1, "basic.qos", prefetch_count=1)
    full.call(1, "basic.consume", queue=queue)
    free.call(1, "basic.consume", queue=queue)
    publish(wires(), queue, 5)
    first = take(full, 1)
    rest = take(free, 4)
    assert sorted(numbers(first + rest)) == [0, 1, 2, 3, 4]
    full.expect_silence(1)


def test_higher_priority_consumers_come_first_until_they_are_full(wires, queue):
    low, high = wires(), wires()
    low.call(1, "basic.consume", queue=queue)
    high.call(1, "basic.qos", prefetch_count=2)
    high.call(1, "basic.consume", queue=queue, arguments={"x-priority": 10})
    publisher = wires()
    publish(publisher, queue, 4)
    taken = take(high, 2)
    assert numbers(taken) == [0, 1]
    assert numbers(take(low, 2)) == [2, 3]
    high.send_method(1, "basic.ack", delivery_tag=taken[1].method.delivery_tag, multiple=True)
    high.expect_silence(1)
    publish(publisher, queue, 1, first=4)
    assert numbers(take(high, 1)) == [4]


def test_lower_than_the_default_priority_comes_last(wires, queue):
    last, first = wires(), wires()
    last.call(1, "basic.consume", queue=queue, arguments={"x-priority": -1})
    first.call(1, "basic.consume", queue=queue)
    publish(wires(), queue, 5)
    assert numbers(take(first, 5)) == [0, 1, 2, 3, 4]
    last.expect_silence(1)


def test_a_priority_that_is_no_number_is_406(wire, queue):
    wire.send_method(1, "basic.consume", queue=queue, arguments={"x-priority": "high"})
    wire.expect_channel_error(1, 406, f"PRECONDITION_FAILED - invalid arg 'x-priority' for queue '{queue}' in vhost '/': \"expected integer, got longstr\"", "basic.consume")


def test_unknown_consumer_arguments_are_ignored(wire, queue):
    wire.call(1, "basic.consume", queue=queue, arguments={"x-made-up": "whatever", "n": 1})


# -- qos


def test_prefetch_counts_per_consumer_and_for_new_consumers(wire, wires, queue):
    publish(wires(), queue, 10)
    wire.call(1, "basic.qos", prefetch_count=2)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="two")
    assert numbers(take(wire, 2)) == [0, 1]
    wire.call(1, "basic.qos", prefetch_count=3)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="three")
    assert [message.method.consumer_tag for message in take(wire, 3)] == ["three"] * 3
    wire.expect_silence(1)


def test_each_ack_makes_room_for_one_more(wire, wires, queue):
    publish(wires(), queue, 6)
    wire.call(1, "basic.qos", prefetch_count=2)
    wire.call(1, "basic.consume", queue=queue)
    assert numbers(take(wire, 2)) == [0, 1]
    wire.send_method(1, "basic.ack", delivery_tag=2)
    assert numbers(take(wire, 1)) == [2]
    wire.send_method(1, "basic.reject", delivery_tag=1, requeue=False)
    assert numbers(take(wire, 1)) == [3]
    wire.send_method(1, "basic.ack", delivery_tag=4, multiple=True)
    assert numbers(take(wire, 2)) == [4, 5]


def test_prefetch_does_not_hold_back_no_ack_consumers(wire, wires, queue):
    publish(wires(), queue, 5)
    wire.call(1, "basic.qos", prefetch_count=1)
    wire.call(1, "basic.consume", queue=queue, no_ack=True)
    assert numbers(take(wire, 5)) == [0, 1, 2, 3, 4]


def test_prefetch_does_not_hold_back_basic_get(wire, wires, queue):
    publish(wires(), queue, 3)
    wire.call(1, "basic.qos", prefetch_count=1)
    for number in range(3):
        wire.send_method(1, "basic.get", queue=queue)
        assert int(wire.expect_message("basic.get-ok").body) == number


def test_prefetch_size_is_not_implemented(wire):
    wire.send_method(1, "basic.qos", prefetch_size=1)
    wire.expect_connection_error(540, "NOT_IMPLEMENTED - prefetch_size!=0 (1)", "basic.qos")


@pytest.mark.until("4.2")
def test_global_prefetch_is_shared_by_the_channel(wire, wires, queue):
    publish(wires(), queue, 10)
    wire.call(1, "basic.qos", prefetch_count=3, global_=True)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="a")
    wire.send_method(1, "basic.consume", queue=queue, consumer_tag="b")
    bodies, is_consuming = [], False
    while len(bodies) < 3 or not is_consuming:
        got = wire.read()
        is_consuming |= getattr(got, "name", "") == "basic.consume-ok"
        if isinstance(got, bytes):
            bodies.append(got)
    assert sorted(bodies) == [b"0", b"1", b"2"]
    wire.call(1, "access.request")
    wire.send_method(1, "basic.ack", delivery_tag=2, multiple=True)
    assert sorted(numbers(take(wire, 2))) == [3, 4]


@pytest.mark.until("4.2")
def test_global_prefetch_goes_with_prefetch_per_consumer(wire, wires, queue):
    publish(wires(), queue, 10)
    wire.call(1, "basic.qos", prefetch_count=2)
    wire.call(1, "basic.qos", prefetch_count=3, global_=True)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="a")
    assert numbers(take(wire, 2)) == [0, 1]
    wire.call(1, "basic.consume", queue=queue, consumer_tag="b")
    assert take(wire, 1)[0].method.consumer_tag == "b"
    wire.call(1, "access.request")


@pytest.mark.until("4.2")
def test_prefetch_per_consumer_lifts_the_global_one_set_before(wire, wires, queue):
    publish(wires(), queue, 10)
    wire.call(1, "basic.qos", prefetch_count=1, global_=True)
    wire.call(1, "basic.qos", prefetch_count=2)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="a")
    assert numbers(take(wire, 2)) == [0, 1]
    wire.call(1, "basic.consume", queue=queue, consumer_tag="b")
    assert numbers(take(wire, 2)) == [2, 3]
    wire.call(1, "access.request")


@pytest.mark.until("4.2")
def test_global_prefetch_can_be_raised_and_lifted(wire, wires, queue):
    publish(wires(), queue, 6)
    wire.call(1, "basic.qos", prefetch_count=1, global_=True)
    wire.call(1, "basic.consume", queue=queue)
    assert numbers(take(wire, 1)) == [0]
    wire.call(1, "basic.qos", prefetch_count=3, global_=True)
    assert numbers(take(wire, 2)) == [1, 2]
    wire.call(1, "basic.qos", prefetch_count=0, global_=True)
    assert numbers(take(wire, 3)) == [3, 4, 5]


# -- basic.get


def test_get_tells_how_many_are_left(wire, wires, queue):
    publish(wires(), queue, 2)
    for number, left in ((0, 1), (1, 0)):
        wire.send_method(1, "basic.get", queue=queue)
        message = wire.expect_message("basic.get-ok")
        assert (int(message.body), message.method.message_count, message.method.delivery_tag, message.method.redelivered) == (number, left, number + 1, False)
    wire.send_method(1, "basic.get", queue=queue)
    wire.expect("basic.get-empty")


# -- the end


def test_consumers_are_told_when_their_queue_is_deleted(wires, queue):
    consumer = wires()
    consumer.call(1, "basic.consume", queue=queue, consumer_tag="t")
    wires().call(1, "queue.delete", queue=queue)
    cancel = consumer.expect("basic.cancel", 1)
    assert (cancel.consumer_tag, cancel.nowait) == ("t", True)
    consumer.expect_silence(1)


def test_consumers_that_cannot_be_told_are_not(wires, queue):
    consumer = wires(capabilities={"publisher_confirms": True})
    consumer.call(1, "basic.consume", queue=queue, consumer_tag="t")
    wires().call(1, "queue.delete", queue=queue)
    consumer.expect_silence(1)


def test_the_deleting_channel_is_told_about_its_own_consumers(wire, queue):
    wire.call(1, "basic.consume", queue=queue, consumer_tag="t")
    wire.send_method(1, "queue.delete", queue=queue)
    got = {wire.expect_one_of("queue.delete-ok", "basic.cancel").name for _ in range(2)}
    assert got == {"queue.delete-ok", "basic.cancel"}


def test_what_a_lost_consumer_held_goes_to_the_others_marked(wires, queue):
    lost, other = wires(), wires()
    lost.call(1, "basic.consume", queue=queue)
    publisher = wires()
    publish(publisher, queue, 3)
    assert numbers(take(lost, 3)) == [0, 1, 2]
    other.call(1, "basic.consume", queue=queue)
    lost.drop()
    messages = take(other, 3)
    assert numbers(messages) == [0, 1, 2]
    assert all(message.method.redelivered for message in messages)


def test_a_thousand_consumers_on_one_channel(wire, wires, queue):
    wire.send(b"".join(codec.method(1, "basic.consume", queue=queue, consumer_tag=f"c{number}", no_ack=True) for number in range(1000)))
    for number in range(1000):
        assert wire.expect("basic.consume-ok").consumer_tag == f"c{number}"
    publish(wires(), queue, 2000)
    tags = [message.method.consumer_tag for message in take(wire, 2000)]
    assert {tags.count(tag) for tag in set(tags)} == {2} and len(set(tags)) == 1000
