"""Clients that are killed in the middle of something leave nothing behind that others would notice."""

import pytest
from blackbox import codec
from blackbox.proxy import eventually
from blackbox.wire import Wire

BODY = b"torn" * 100
HEADER_LEN = len(codec.header(1, len(BODY)))
CONTENT_LEN = len(codec.content(1, BODY))
OFFSETS = {
    "in the first frame's header": lambda method_len: 3,
    "after the first frame's header": lambda method_len: 7,
    "in the method": lambda method_len: method_len - 5,
    "before the method's end": lambda method_len: method_len - 1,
    "after the method": lambda method_len: method_len,
    "in the content header": lambda method_len: method_len + 9,
    "before the content header's end": lambda method_len: method_len + HEADER_LEN - 1,
    "after the content header": lambda method_len: method_len + HEADER_LEN,
    "in the body": lambda method_len: method_len + HEADER_LEN + 100,
    "before the last octet": lambda method_len: method_len + CONTENT_LEN - 1,
}
"""Where a publish is cut, in bytes, given the length of its first frame."""


@pytest.mark.parametrize("where", OFFSETS)
def test_half_a_publish_leaves_nothing(proxy, wires, user, name, where):
    queue = name()
    who = {"user": user, "password": "secret"}
    neighbour = wires(**who)
    neighbour.call(1, "queue.declare", queue=queue, durable=True)
    neighbour.call(1, "confirm.select")
    lost = proxy.metric("warren_proxy_connections_lost_total")

    torn = wires(**who)
    torn.publish(1, "", queue, b"whole")
    method_len = len(codec.method(1, "basic.publish", exchange="", routing_key=queue))
    torn.send(codec.publish(1, "", queue, BODY)[: OFFSETS[where](method_len)])
    eventually(lambda: neighbour.call(1, "queue.declare", queue=queue, passive=True).message_count == 1, "the whole message is there")
    torn.drop()

    after = wires(**who)
    after.call(1, "confirm.select")
    for wire in (neighbour, after):
        wire.publish(1, "", queue, b"after")
        wire.expect_confirms(1, 1, 1)
    assert [body(after, queue) for _ in range(3)] == [b"whole", b"after", b"after"]
    assert after.call(1, "queue.declare", queue=queue, passive=True).message_count == 0
    assert proxy.metric("warren_proxy_connections_lost_total") == lost


def body(wire, queue):
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    return wire.expect_message("basic.get-ok").body


def test_half_of_a_long_message_leaves_nothing(wires, name):
    queue = name()
    torn, neighbour = wires(), wires()
    torn.call(1, "queue.declare", queue=queue, durable=True)
    # Longer than what is held until it is whole.
    length = 20 << 20
    torn.send_method(1, "basic.publish", exchange="", routing_key=queue)
    torn.send(codec.header(1, length))
    for _ in range(100):
        torn.send(codec.frame(codec.BODY, 1, bytes(100_000)))
    torn.drop()
    neighbour.call(1, "confirm.select")
    neighbour.publish(1, "", queue, b"after")
    neighbour.expect_confirms(1, 1, 1)
    assert neighbour.call(1, "queue.declare", queue=queue, passive=True).message_count == 1


@pytest.mark.parametrize("at", [0, 1, 7])
def test_a_client_that_goes_during_the_login_is_forgotten(proxy, at):
    before = proxy.metric("amqproxy_client_connections")
    with Wire(proxy.address) as wire:
        wire.send(codec.PROTOCOL_HEADER[:at])
    eventually(lambda: proxy.metric("amqproxy_client_connections") <= before)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"AMQP\x00\x01\x00\x00"])
def test_who_does_not_speak_amqp_is_told_the_version(proxy, garbage):
    with Wire(proxy.address) as wire:
        wire.send(garbage)
        assert wire.socket.recv(8) == codec.PROTOCOL_HEADER


def test_a_malformed_frame_ends_its_client_only(wires, name):
    bad, neighbour = wires(), wires()
    neighbour.call(1, "queue.declare", queue=name(), auto_delete=True)
    bad.send(codec.frame(codec.METHOD, 1, b"\x00\x3c\x00\x28\xff")[:-1] + b"\x00")
    bad.expect_connection_error(501)
    neighbour.call(1, "exchange.declare", exchange="amq.direct", passive=True)
