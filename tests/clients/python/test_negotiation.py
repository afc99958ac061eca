"""From the protocol header to connection.open-ok, and what is refused on the way."""

import socket
import struct

import pytest
from blackbox import codec
from blackbox.wire import Closed, Wire

LOGIN_REFUSED = "ACCESS_REFUSED - Login was refused using authentication mechanism {}. For details see the broker logfile."


@pytest.fixture
def raw(broker):
    """A TCP connection on which nothing was said yet."""
    with Wire(broker.address) as wire:
        yield wire


def test_start_offers_what_clients_branch_on(raw):
    start = raw.login()
    assert (start.version_major, start.version_minor) == (0, 9)
    assert {"PLAIN", "AMQPLAIN"} <= set(start.mechanisms.decode().split())
    assert b"en_US" in start.locales.split()
    assert {"product", "version", "platform", "copyright", "information", "cluster_name"} <= start.server_properties.keys()
    wanted = "publisher_confirms exchange_exchange_bindings basic.nack consumer_cancel_notify connection.blocked consumer_priorities authentication_failure_close per_consumer_qos direct_reply_to"
    # For proxies that name their clients; RabbitMQ has none of that.
    own = {"on_behalf_of"}
    assert {name: is_there for name, is_there in start.server_properties["capabilities"].items() if name not in own} == dict.fromkeys(wanted.split(), True)


def test_tune_proposes_the_defaults(raw):
    raw.login()
    tune = raw.expect("connection.tune")
    assert (tune.channel_max, tune.frame_max, tune.heartbeat) == (2047, 131072, 60)


@pytest.mark.parametrize("header", [b"AMQP\x00\x00\x09\x02", b"AMQP\x00\x00\x08\x00", b"HTTP/1.1", b"\x00" * 8])
def test_another_protocol_is_answered_with_ours(broker, raw, header):
    raw.send(header)
    # RabbitMQ 4 speaks AMQP 1.0 as well and proposes that to strangers.
    theirs = [] if broker.is_warren or broker.version < (4, 0) else [b"AMQP\x03\x01\x00\x00"]
    assert receive_all(raw) in [codec.PROTOCOL_HEADER, *theirs]


def test_amqp_0_9_is_served_as_0_9_1(raw):
    raw.send(b"AMQP\x01\x01\x00\x09")
    raw.expect("connection.start")


def receive_all(raw):
    received = bytearray()
    while data := raw._receive():
        received += data
    return bytes(received)


@pytest.mark.parametrize("user, password", [("guest", "wrong"), ("nobody", "guest"), ("", "")])
def test_bad_credentials_get_403_when_the_client_can_take_it(raw, user, password):
    raw.login(user=user, password=password)
    raw.expect_connection_error(403, LOGIN_REFUSED.format("PLAIN"))


def test_no_user_acts_as_another(raw):
    raw.login(response=b"other\0guest\0guest")
    expect_refusal(raw, 403, LOGIN_REFUSED.format("PLAIN"))


def test_bad_credentials_get_a_closed_socket_when_it_cannot(raw):
    raw.login(password="wrong", capabilities={})
    raw.expect_end()


def test_amqplain_logs_in(raw):
    response = codec.table({"LOGIN": "guest", "PASSWORD": "guest"})[4:]
    raw.login(mechanism="AMQPLAIN", response=response)
    raw.expect("connection.tune")


def test_amqplain_refuses_a_wrong_password(raw):
    response = codec.table({"LOGIN": "guest", "PASSWORD": "wrong"})[4:]
    raw.login(mechanism="AMQPLAIN", response=response)
    raw.expect_connection_error(403, LOGIN_REFUSED.format("AMQPLAIN"))


def test_an_unknown_mechanism_is_refused(raw):
    raw.login(mechanism="MAGIC")
    expect_refusal(raw, 503, "COMMAND_INVALID - unknown authentication mechanism 'MAGIC'")


def expect_refusal(raw, code, text):
    """Before connection.open RabbitMQ drops the socket after three seconds of silence; saying why is allowed too."""
    frame = raw.read_frame()
    if frame is None:
        return
    close = codec.decode_method(frame.channel, frame.payload)
    assert (close.name, close.reply_code, close.reply_text) == ("connection.close", code, text)
    raw.send_method(0, "connection.close-ok")
    raw.expect_end()


def check_tune_refused(raw, text, **tune_ok):
    raw.login()
    raw.expect("connection.tune")
    raw.send_method(0, "connection.tune-ok", **{"channel_max": 2047, "frame_max": 131072, "heartbeat": 60, **tune_ok})
    expect_refusal(raw, 530, "NOT_ALLOWED - negotiated " + text)


def test_a_higher_channel_max_is_refused(raw):
    check_tune_refused(raw, "channel_max = 2048 is higher than the maximum allowed value (2047)", channel_max=2048)


def test_a_higher_frame_max_is_refused(raw):
    check_tune_refused(raw, "frame_max = 131073 is higher than the maximum allowed value (131072)", frame_max=131073)


@pytest.mark.since("4.1")
def test_a_frame_max_below_8192_is_refused(raw):
    check_tune_refused(raw, "frame_max = 8191 is lower than the minimum allowed value (8192)", frame_max=8191)


def test_bodies_are_cut_to_the_negotiated_frame_max(wires, name):
    wire = wires(frame_max=8192)
    queue = name()
    wire.call(1, "queue.declare", queue=queue, durable=True)
    body = bytes(range(256)) * 100
    wire.send(codec.method(1, "basic.publish", routing_key=queue) + codec.content(1, body, frame_max=8192))
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    wire.expect("basic.get-ok")
    wire.read()
    frames = []
    while sum(frames) < len(body):
        frames.append(len(wire.read_frame().payload))
    assert frames == [8184, 8184, 8184, 25600 - 3 * 8184]


def test_a_frame_larger_than_negotiated_is_a_frame_error(wires, name):
    wire = wires(frame_max=8192)
    wire.send(codec.method(1, "basic.publish", routing_key="nowhere") + codec.header(1, 8193) + codec.frame(codec.BODY, 1, bytes(8193)))
    # Eight bytes more than negotiated are let pass.
    wire.expect_connection_error(501, "FRAME_ERROR - …")


def test_more_channels_than_negotiated_are_refused(wires):
    wire = wires(channel_max=5, channels=5)
    wire.send_method(6, "channel.open")
    wire.expect_connection_error(530, "NOT_ALLOWED - number of channels opened (5) has reached the negotiated channel_max (5)")


def test_2000_channels_on_one_connection(wires, name):
    wire = wires(channel_max=2047, channels=0)
    queue = name()
    wire.send(b"".join(codec.method(channel, "channel.open") for channel in range(1, 2001)))
    assert {wire.expect("channel.open-ok").channel for _ in range(2000)} == set(range(1, 2001))
    wire.call(1, "queue.declare", queue=queue, durable=True)
    wire.send(b"".join(codec.publish(channel, "", queue, b"%d" % channel) + codec.method(channel, "basic.qos", prefetch_count=1) for channel in range(1, 2001)))
    assert {wire.expect("basic.qos-ok").channel for _ in range(2000)} == set(range(1, 2001))
    assert wire.call(1, "queue.purge", queue=queue).message_count == 2000
    wire.send(b"".join(codec.method(channel, "channel.close", reply_code=200) for channel in range(1, 2001)))
    assert {wire.expect("channel.close-ok").channel for _ in range(2000)} == set(range(1, 2001))


def test_no_limit_is_more_than_any(raw):
    check_tune_refused(raw, "channel_max = 0 (no limit) is higher than the maximum allowed value (2047)", channel_max=0)


def test_no_limit_of_frames_is_more_than_any(raw):
    check_tune_refused(raw, "frame_max = 0 is higher than the maximum allowed value (131072)", frame_max=0)


def check_open_refused(raw, virtual_host, text, code=530):
    raw.login()
    tune = raw.expect("connection.tune")
    raw.send_method(0, "connection.tune-ok", channel_max=tune.channel_max, frame_max=tune.frame_max, heartbeat=0)
    raw.send_method(0, "connection.open", virtual_host=virtual_host)
    raw.expect_connection_error(code, text, "connection.open")


def test_an_unknown_vhost_is_refused(raw):
    check_open_refused(raw, "no-such-vhost", "NOT_ALLOWED - vhost no-such-vhost not found")


def test_a_vhost_name_is_not_trimmed(raw):
    check_open_refused(raw, "", "NOT_ALLOWED - vhost  not found")


def test_close_is_answered_and_ends_the_connection(wire):
    wire.send_method(0, "connection.close", reply_code=200, reply_text="bye")
    wire.expect("connection.close-ok")
    # Who reads the end of the stream before it looks at close-ok would take it for a failure.
    assert not wire.is_readable(0.2), "the socket is the client's to close"
    wire.publish(1, "", "nowhere", b"late")
    wire.socket.shutdown(socket.SHUT_WR)
    wire.expect_end()


def test_frames_after_close_are_ignored(wire):
    wire.send(codec.method(0, "connection.close", reply_code=200) + codec.method(1, "basic.qos", prefetch_size=1) + codec.method(1, "queue.declare"))
    wire.expect("connection.close-ok")


def test_closing_the_sending_half_ends_the_connection(wire):
    wire.socket.shutdown(socket.SHUT_WR)
    wire.expect_end()


@pytest.mark.warren_only("RabbitMQ may lose what it read but did not process before the end of the stream")
def test_what_was_sent_before_the_sending_half_was_closed_counts(wires, name):
    queue = name()
    wire = wires()
    wire.call(1, "queue.declare", queue=queue, durable=True)
    wire.send(b"".join(codec.publish(1, "", queue, b"%d" % number) for number in range(100)))
    wire.socket.shutdown(socket.SHUT_WR)
    wire.expect_end()
    assert wires().call(1, "queue.declare", queue=queue, passive=True).message_count == 100


def test_update_secret_is_answered(wire):
    # Users of the internal database have no secret that could expire: whatever it is, it is taken.
    for secret in (b"guest", b"another"):
        wire.call(0, "connection.update-secret", new_secret=secret, reason="rotated")
        wire.call(1, "basic.qos", prefetch_count=1)


@pytest.mark.parametrize("reserved", [0, 1])
def test_access_request_is_granted(wire, reserved):
    assert wire.call(1, "access.request", realm="/data", active=bool(reserved), read=True).ticket == 1


def test_channel_flow_on_is_answered(wire):
    assert wire.call(1, "channel.flow", active=True).active is True


def test_channel_flow_off_is_not_implemented(wire):
    wire.send_method(1, "channel.flow", active=False)
    wire.expect_connection_error(540, "NOT_IMPLEMENTED - active=false", "channel.flow")


def test_a_second_channel_open_is_a_connection_error(wire):
    wire.send_method(1, "channel.open")
    wire.expect_connection_error(504, "CHANNEL_ERROR - second 'channel.open' seen", "channel.open")


def test_a_method_on_a_closed_channel_is_a_connection_error(wire):
    wire.send_method(7, "queue.declare", queue="q")
    wire.expect_connection_error(504, "CHANNEL_ERROR - expected 'channel.open'", "queue.declare")


def test_an_answer_to_a_close_that_was_never_sent_is_a_connection_error(wire):
    wire.send_method(7, "channel.close-ok")
    wire.expect_connection_error(504, "CHANNEL_ERROR - expected 'channel.open'", "channel.close-ok")


def test_a_channel_can_be_opened_again_at_once(wire):
    for _ in range(50):
        wire.call(1, "channel.close", reply_code=200)
        wire.call(1, "channel.open")


def test_what_was_sent_after_a_channel_error_is_ignored_until_it_is_answered(wire, name):
    missing = name()
    wire.send(codec.method(1, "queue.declare", queue=missing, passive=True) + codec.method(1, "queue.declare", queue=missing, durable=True) + codec.publish(1, "", missing, b"lost"))
    wire.expect_channel_error(1, 404, failing="queue.declare")
    wire.send_method(1, "queue.declare", queue=missing, passive=True)
    wire.expect_channel_error(1, 404)


def test_a_method_of_channel_0_on_another_channel_is_refused(wire):
    wire.send_method(1, "connection.close", reply_code=200)
    wire.expect_connection_error(503, "COMMAND_INVALID - unimplemented method", "connection.close")


def test_a_method_that_only_servers_send_is_refused(wire):
    wire.send_method(1, "queue.declare-ok")
    wire.expect_connection_error(503, "COMMAND_INVALID - unimplemented method", "queue.declare-ok")


@pytest.mark.parametrize("method", ["queue.declare", "connection.start-ok"])
def test_a_method_that_does_not_belong_on_channel_0_is_refused(wire, method):
    wire.send_method(0, method)
    wire.expect_connection_error(504, "CHANNEL_ERROR - unexpected method in connection state running", method)


def test_a_channel_before_connection_open_is_refused(raw):
    raw.login()
    raw.expect("connection.tune")
    raw.send_method(0, "connection.tune-ok", channel_max=2047, frame_max=131072)
    raw.send_method(1, "channel.open")
    raw.expect_connection_error(505, "UNEXPECTED_FRAME - …")


@pytest.mark.parametrize("ids", [(60, 999), (61, 10)])
def test_an_unknown_method_ends_the_connection(wire, ids):
    wire.send(codec.frame(codec.METHOD, 1, struct.pack(">HH", *ids)))
    with pytest.raises(Closed):
        # RabbitMQ drops the connection; saying why is allowed too.
        assert wire.expect("connection.close").reply_code in (501, 502, 503, 540, 541)
        wire.send_method(0, "connection.close-ok")
        wire.read()


@pytest.mark.parametrize("arguments", [b"\0", bytes(7) + b"xx"])
def test_arguments_too_short_or_too_long_are_a_frame_error(wire, arguments):
    wire.send(codec.frame(codec.METHOD, 1, struct.pack(">HH", 60, 10) + arguments))
    wire.expect_connection_error(501, "FRAME_ERROR - …", "basic.qos")


def test_a_wrong_frame_end_is_a_frame_error(wire):
    wire.send(codec.method(1, "basic.qos")[:-1] + b"\0")
    wire.expect_connection_error(501, "FRAME_ERROR - …")


@pytest.mark.parametrize(
    "frame, code, text",
    [
        (codec.frame(7, 1, b""), 501, "FRAME_ERROR - …"),
        (codec.frame(codec.HEARTBEAT, 0, b"abc"), 501, "FRAME_ERROR - …"),
        (codec.frame(codec.HEARTBEAT, 1, b""), 505, "UNEXPECTED_FRAME - …"),
        (codec.frame(codec.BODY, 0, b"abc"), 505, "UNEXPECTED_FRAME - …"),
    ],
    ids=["unknown type", "heartbeat with a payload", "heartbeat on a channel", "body on channel 0"],
)
def test_frames_that_belong_nowhere_are_refused(wire, frame, code, text):
    # RabbitMQ goes on with the octets as Erlang prints them.
    wire.send(frame)
    wire.expect_connection_error(code, text)


@pytest.mark.since("4.0")
def test_a_body_longer_than_announced_is_a_frame_error(wire):
    wire.send(codec.method(1, "basic.publish", routing_key="x") + codec.header(1, 2) + codec.frame(codec.BODY, 1, b"abc"))
    wire.expect_connection_error(501, "FRAME_ERROR - content body frame exceeds remaining content size", "basic.publish")


def test_a_body_without_a_publish_is_an_unexpected_frame(wire):
    wire.send(codec.frame(codec.BODY, 1, b"surprise"))
    wire.expect_connection_error(505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead")


def test_a_method_inside_a_content_is_an_unexpected_frame(wire):
    wire.send(codec.method(1, "basic.publish", routing_key="x") + codec.method(1, "basic.qos"))
    wire.expect_connection_error(505, "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead", "basic.publish")


def test_a_header_of_another_class_is_an_unexpected_frame(wire):
    wire.send(codec.method(1, "basic.publish", routing_key="x") + codec.header(1, 0, class_id=50))
    wire.expect_connection_error(505, "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead", "basic.publish")


def test_heartbeats_may_come_between_a_publish_and_its_body(wire, name):
    queue = name()
    wire.call(1, "queue.declare", queue=queue, durable=True)
    beat = codec.frame(codec.HEARTBEAT, 0, b"")
    wire.send(codec.method(1, "basic.publish", routing_key=queue) + beat + codec.header(1, 4) + beat + codec.frame(codec.BODY, 1, b"ab") + beat + codec.frame(codec.BODY, 1, b"cd"))
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert wire.expect_message("basic.get-ok").body == b"abcd"


def test_publishes_of_several_channels_may_interleave(wires, name):
    wire = wires(channels=2)
    queue = name()
    wire.call(1, "queue.declare", queue=queue, durable=True)
    first = [codec.method(1, "basic.publish", routing_key=queue), codec.header(1, 4), codec.frame(codec.BODY, 1, b"1a"), codec.frame(codec.BODY, 1, b"1b")]
    second = [codec.method(2, "basic.publish", routing_key=queue), codec.header(2, 4), codec.frame(codec.BODY, 2, b"2a"), codec.frame(codec.BODY, 2, b"2b")]
    wire.send(b"".join(frame for pair in zip(first, second, strict=True) for frame in pair))
    bodies = []
    for _ in range(2):
        wire.call(2, "basic.qos")
        wire.send_method(1, "basic.get", queue=queue, no_ack=True)
        bodies.append(wire.expect_message("basic.get-ok").body)
    assert sorted(bodies) == [b"1a1b", b"2a2b"]
