"""Confirms through shared channels: each publisher has its own numbers."""

MESSAGES = 300


def test_publishers_that_share_a_connection_count_for_themselves(wires, name):
    queue = name()
    publishers = [wires() for _ in range(5)]
    publishers[0].call(1, "queue.declare", queue=queue, durable=True)
    for wire in publishers:
        wire.call(1, "confirm.select")
    for _ in range(MESSAGES):
        for wire in publishers:
            wire.publish(1, "", queue, b"x", delivery_mode=2)
    for wire in publishers:
        wire.expect_confirms(1, 1, MESSAGES)
    assert publishers[0].call(1, "queue.declare", queue=queue, passive=True).message_count == MESSAGES * len(publishers)


def test_confirms_begin_at_one_however_often_the_channel_was_used_before(wires):
    for _ in range(5):
        wire = wires()
        wire.publish(1, "", "nobody")
        wire.call(1, "confirm.select")
        wire.publish(1, "", "nobody")
        wire.expect_confirms(1, 1, 1)
        wire.close()


def test_a_publisher_without_confirms_hears_of_none(wires, name):
    wire = wires()
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    for _ in range(MESSAGES):
        wire.publish(1, "", queue, b"x")
    wire.wait_count(1, queue, MESSAGES)


def test_what_the_broker_refuses_is_refused_to_its_publisher_alone(wires, name):
    full, empty = name(), name()
    one, other = wires(), wires()
    one.call(1, "queue.declare", queue=full, durable=True, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    other.call(1, "queue.declare", queue=empty, durable=True)
    for wire in (one, other):
        wire.call(1, "confirm.select")
    one.publish(1, "", full)
    one.expect_confirms(1, 1, 1)
    other.publish(1, "", empty)
    one.publish(1, "", full)
    assert one.expect("basic.nack", 1).delivery_tag == 2
    other.expect_confirms(1, 1, 1)


def test_a_message_keeps_its_properties_and_a_long_body(wires, name):
    wire = wires(frame_max=8192)
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    body = bytes(range(256)) * 4000
    wire.publish(1, "", queue, body, frame_max=8192, content_type="a/b", headers={"n": 1, "s": "x"}, correlation_id="c", priority=3)
    wire.wait_count(1, queue, 1)
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    got = wire.expect_message("basic.get-ok")
    assert got.body == body
    assert got.properties == {"content_type": "a/b", "headers": {"n": 1, "s": "x"}, "correlation_id": "c", "priority": 3}
