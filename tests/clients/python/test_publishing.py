"""Confirms, returns, properties, and the headers that mean something."""

import struct

import pytest
from blackbox import codec


@pytest.fixture
def confirming(wire):
    """The wire with channel 1 in confirm mode."""
    wire.call(1, "confirm.select")
    return wire


@pytest.fixture
def queue(wires, name):
    """A durable queue."""
    queue = name()
    wires().call(1, "queue.declare", queue=queue, durable=True)
    return queue


def test_confirms_count_from_1_on_each_channel(wires, queue):
    wire = wires(channels=2)
    for channel in (1, 2):
        wire.call(channel, "confirm.select")
        wire.publish(channel, "", queue, b"x")
        ack = wire.expect("basic.ack", channel)
        assert ack.delivery_tag == 1


@pytest.mark.parametrize("delivery_mode", [1, 2])
def test_every_publish_is_confirmed_once(confirming, queue, delivery_mode):
    confirming.send(b"".join(codec.publish(1, "", queue, b"x" * (number % 700), delivery_mode=delivery_mode) for number in range(3000)))
    confirming.expect_confirms(1, 1, 3000)


def test_publishes_to_several_queues_and_to_none_are_confirmed_once(confirming, wires, name):
    exchange, queues = name("x"), [name() for _ in range(3)]
    confirming.call(1, "exchange.declare", exchange=exchange, type="fanout")
    for queue in queues:
        confirming.call(1, "queue.declare", queue=queue, durable=True)
        confirming.call(1, "queue.bind", queue=queue, exchange=exchange)
    publishes = [codec.publish(1, exchange if number % 2 else "", "nowhere", b"x", delivery_mode=1 + number % 3 // 2) for number in range(300)]
    confirming.send(b"".join(publishes))
    confirming.expect_confirms(1, 1, 300)
    for queue in queues:
        assert confirming.call(1, "queue.purge", queue=queue).message_count == 150


def test_publishes_before_confirm_select_do_not_count(wire, queue):
    wire.publish(1, "", queue, b"x")
    wire.call(1, "confirm.select")
    wire.call(1, "confirm.select")
    wire.publish(1, "", queue, b"x")
    assert wire.expect("basic.ack").delivery_tag == 1


def test_confirm_select_can_be_silent(wire, queue):
    wire.send_method(1, "confirm.select", nowait=True)
    wire.publish(1, "", queue, b"x")
    wire.expect("basic.ack")


def test_a_publish_that_kills_its_channel_is_not_confirmed(confirming, name):
    missing = name("x")
    confirming.publish(1, missing, "", b"x")
    confirming.expect_channel_error(1, 404, f"NOT_FOUND - no exchange '{missing}' in vhost '/'", "basic.publish")


# -- returns


@pytest.mark.parametrize("exchange", ["", "amq.direct", "amq.fanout", "amq.topic", "amq.headers"])
def test_an_unroutable_mandatory_message_returns_before_its_confirm(confirming, name, exchange):
    key = name("nowhere")
    if exchange == "amq.fanout":
        exchange = name("x")
        confirming.call(1, "exchange.declare", exchange=exchange, type="fanout")
    confirming.publish(1, exchange, key, b"body", mandatory=True, headers={"a": 1}, message_id="m", delivery_mode=2)
    returned = confirming.expect_message("basic.return")
    assert (returned.method.reply_code, returned.method.reply_text, returned.method.exchange, returned.method.routing_key) == (312, "NO_ROUTE", exchange, key)
    assert (returned.body, returned.properties) == (b"body", {"headers": {"a": 1}, "delivery_mode": 2, "message_id": "m"})
    assert confirming.expect("basic.ack").delivery_tag == 1


def test_mandatory_and_routed_returns_nothing(confirming, queue):
    confirming.publish(1, "", queue, b"x", mandatory=True)
    confirming.expect("basic.ack")


def test_unroutable_and_not_mandatory_is_dropped_and_confirmed(confirming, name):
    confirming.publish(1, "", name("nowhere"), b"x")
    confirming.expect("basic.ack")


def test_a_large_unroutable_message_returns_whole(confirming, name):
    body = bytes(range(256)) * 2000
    confirming.publish(1, "", name("nowhere"), body, mandatory=True)
    assert confirming.expect_message("basic.return").body == body
    confirming.expect("basic.ack")


def test_immediate_is_not_implemented(wire, queue):
    wire.send(codec.method(1, "basic.publish", routing_key=queue, immediate=True) + codec.content(1, b"x"))
    wire.expect_connection_error(540, "NOT_IMPLEMENTED - immediate=true", "basic.publish")


# -- bodies and properties


@pytest.mark.parametrize("body_len", [0, 1, 4095, 4096, 131064, 131065, 1_000_000, 5_000_000])
@pytest.mark.parametrize("delivery_mode", [None, 2])
def test_bodies_of_any_length_come_back_whole(confirming, queue, body_len, delivery_mode):
    body = bytes(range(251)) * (body_len // 251 + 1)
    confirming.publish(1, "", queue, body[:body_len], delivery_mode=delivery_mode)
    confirming.expect("basic.ack")
    confirming.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert confirming.expect_message("basic.get-ok").body == body[:body_len]


@pytest.mark.since("4.0")
def test_more_than_16_mib_is_406(wire, queue):
    wire.publish(1, "", queue, bytes(16 * 2**20))
    wire.wait_count(1, queue, 1)
    wire.publish(1, "", queue, bytes(16 * 2**20 + 1))
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - message size 16777217 is larger than configured max size 16777216", "basic.publish")
    assert wire.call(1, "queue.purge", queue=queue).message_count == 1


def test_bodies_may_come_in_frames_of_any_length(confirming, queue):
    pieces = [b"", b"a", b"", b"bc" * 3000, b"d"]
    frames = [codec.method(1, "basic.publish", routing_key=queue), codec.header(1, 6002)] + [codec.frame(codec.BODY, 1, piece) for piece in pieces]
    for octet in b"".join(frames[:3]):
        confirming.send(bytes([octet]))
    confirming.send(b"".join(frames[3:]))
    confirming.expect("basic.ack")
    confirming.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert confirming.expect_message("basic.get-ok").body == b"".join(pieces)


# Each field type that RabbitMQ reads, as it stands on the wire.
FIELDS = {
    "bool": b"t\x01", "i8": b"b\xff", "u8": b"B\xff", "i16": b"s\xff\xfe", "u16": b"u\xff\xfe", "i32": b"I\xff\xff\xff\xfe", "u32": b"i\xff\xff\xff\xfe",
    "i64": b"l" + struct.pack(">q", -5), "u64": b"L" + struct.pack(">Q", 5), "f32": b"f" + struct.pack(">f", 1.5), "f64": b"d" + struct.pack(">d", -2.25),
    "decimal": b"D\x02\x00\x00\x01\x00", "string": b"S\x00\x00\x00\x03a\xffb", "bytes": b"x\x00\x00\x00\x02\x00\x01", "time": b"T" + struct.pack(">Q", 1700000000),
    "void": b"V", "table": b"F" + codec.table({"n": {"m": 1}}), "array": b"A" + struct.pack(">I", 11) + b"t\x00S\x00\x00\x00\x02hiVV"[:11],
}  # fmt: skip


@pytest.mark.parametrize("kind", FIELDS)
def test_header_fields_of_every_type_come_back(confirming, queue, kind):
    table = codec.Raw(struct.pack(">I", len(kind) + 1 + len(FIELDS[kind])) + bytes([len(kind)]) + kind.encode() + FIELDS[kind])
    confirming.publish(1, "", queue, b"x", headers=table, delivery_mode=2)
    confirming.expect("basic.ack")
    confirming.send_method(1, "basic.get", queue=queue, no_ack=True)
    confirming.expect("basic.get-ok")
    payload = confirming.read_frame().payload
    sent = codec.header(1, 1, headers=table, delivery_mode=2)[7:-1]
    if kind == "u64":
        sent = sent.replace(b"u64L", b"u64l")
    assert payload.replace(b"u64L", b"u64l") == sent


def test_all_properties_come_back_as_they_were(confirming, queue):
    properties = {
        "content_type": "a/b", "content_encoding": "gzip", "headers": {"k": "v"}, "delivery_mode": 2, "priority": 200, "correlation_id": "c" * 255,
        "reply_to": "somewhere", "message_id": "", "timestamp": 2**63 + 5, "type": "ü", "user_id": "guest", "app_id": "app", "cluster_id": "cl",
    }  # fmt: skip
    confirming.publish(1, "", queue, b"", **properties)
    confirming.expect("basic.ack")
    confirming.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert confirming.expect_message("basic.get-ok").properties == properties


# -- CC and BCC


def test_cc_and_bcc_name_more_routing_keys(confirming, wires, name):
    first, second, third = queues = [name() for _ in range(3)]
    for queue in queues:
        confirming.call(1, "queue.declare", queue=queue, durable=True)
    confirming.publish(1, "", first, b"m", headers={"CC": [second, first], "BCC": [third], "other": 1})
    confirming.expect("basic.ack")
    for queue in queues:
        confirming.send_method(1, "basic.get", queue=queue, no_ack=True)
        message = confirming.expect_message("basic.get-ok")
        assert message.properties["headers"] == {"CC": [second, first], "other": 1}
        assert message.method.routing_key == first
        assert confirming.call(1, "queue.purge", queue=queue).message_count == 0


def test_cc_alone_makes_a_mandatory_message_routable(confirming, queue, name):
    confirming.publish(1, "", name("nowhere"), b"m", mandatory=True, headers={"BCC": [queue]})
    confirming.expect("basic.ack")
    confirming.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert confirming.expect_message("basic.get-ok").properties.get("headers", {}) == {}


@pytest.mark.parametrize("header, value, kind", [("CC", "a-string", "longstr"), ("BCC", 1, "signedint")])
def test_cc_that_is_no_array_is_406(wire, queue, header, value, kind):
    wire.publish(1, "", queue, b"m", headers={header: value})
    wire.expect_channel_error(1, 406, f'PRECONDITION_FAILED - invalid message: {{unacceptable_type_in_header,"{header}",{kind}}}', "basic.publish")


# -- user-id


def test_the_user_id_of_another_is_406(wire, queue):
    wire.publish(1, "", queue, b"m", user_id="somebody")
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - user_id property set to 'somebody' but authenticated user was 'guest'", "basic.publish")


def test_ones_own_user_id_is_fine(confirming, queue):
    confirming.publish(1, "", queue, b"m", user_id="guest")
    confirming.expect("basic.ack")


@pytest.mark.parametrize(
    "expiration, why",
    [("", "no_integer"), ("soon", "no_integer"), ("-1", "{value_negative,-1}"), ("1.5", '{leftover_string,".5"}'), ("99999999999999", "{value_too_large,99999999999999}")],
)
def test_an_invalid_expiration_is_406(wire, queue, expiration, why):
    wire.publish(1, "", queue, b"m", expiration=expiration)
    wire.expect_channel_error(1, 406, f"PRECONDITION_FAILED - invalid expiration '{expiration}': {why}", "basic.publish")
