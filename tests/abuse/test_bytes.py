"""Bytes that are no AMQP, or nearly: a clear error or a closed socket, and nobody else notices."""

import random
import struct

import pytest
from blackbox import codec
from blackbox.wire import Closed, Wire

MIB = 2**20


def end_of(wire) -> list:
    """What the broker says until it closes; a connection.close is answered."""
    said = []
    try:
        while (frame := wire.read_frame()) is not None:
            if frame.kind == codec.METHOD:
                said.append(codec.decode_method(frame.channel, frame.payload))
                if said[-1].name == "connection.close":
                    wire.answer_close()
    except Closed as header:
        return [header]
    return said


def check_refused(broker, data: bytes, codes=(501, 502, 503, 504, 505, 540, 541)) -> None:
    """After login: the connection must end, with a code or without a word."""
    with broker.wire(timeout=30) as wire:
        try:
            wire.send(data)
        except ConnectionError:
            return
        for method in end_of(wire):
            if method.name == "connection.close":
                assert method.reply_code in codes, method


@pytest.mark.parametrize("header", [b"AMQP\x00\x00\x09\x00", b"AMQP\x00\x01\x00\x00", b"AMQP\x03\x01\x00\x00", b"AMQP\x02\x01\x00\x00", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET / HTTP/1.1\r\n\r\n"])
@pytest.mark.warren_only("RabbitMQ 4 speaks AMQP 1.0, and proposes it")
def test_other_protocols_are_told_ours_and_closed(victim, header):
    with Wire(victim().address, timeout=30) as wire:
        wire.send(header)
        received = bytearray()
        while data := wire._receive():
            received += data
        assert bytes(received) == codec.PROTOCOL_HEADER


def test_garbage_before_the_login(victim):
    broker = victim()
    dice = random.Random(1)
    for number in range(200):
        with Wire(broker.address, timeout=30) as wire:
            try:
                wire.send(dice.randbytes(dice.choice([1, 7, 8, 9, 100, 5000])) if number % 2 else codec.PROTOCOL_HEADER + dice.randbytes(dice.choice([7, 8, 100, 5000])))
                wire.socket.shutdown(1)
            except OSError:
                continue
            while wire._receive():
                pass


def test_garbage_after_the_login(victim):
    broker = victim()
    dice = random.Random(2)
    for _ in range(60):
        # A frame type that does not exist: whatever follows, the connection must end.
        check_refused(broker, bytes([dice.choice([0, 4, 5, 6, 7, 9, 255])]) + dice.randbytes(200_000))


def test_frames_of_random_methods(victim):
    broker = victim()
    dice = random.Random(3)
    for _ in range(150):
        class_id = dice.choice([10, 20, 30, 40, 50, 60, 85, 90, 0, 65535])
        payload = struct.pack(">HH", class_id, dice.choice([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 999])) + dice.randbytes(dice.randrange(60))
        with broker.wire(timeout=30) as wire:
            wire.send(codec.frame(codec.METHOD, dice.choice([0, 1, 2]), payload) + codec.method(0, "connection.close", reply_code=200))
            wire.socket.shutdown(1)
            end_of(wire)


def test_every_octet_of_a_publish_may_be_wrong(victim):
    broker = victim()
    dice = random.Random(4)
    good = codec.publish(1, "amq.topic", "a.b", b"body", headers={"a": 1, "b": {"c": ["d", None]}}, message_id="m", expiration="", timestamp=5)
    for at in range(len(good)):
        bad = bytearray(good)
        bad[at] ^= dice.choice([1, 0x80, 0xFF])
        with broker.wire(timeout=30) as wire:
            wire.send(bytes(bad) + codec.method(0, "connection.close", reply_code=200))
            wire.socket.shutdown(1)
            end_of(wire)


@pytest.mark.parametrize("end", [0, 0xCD, 0x01, 0xFF])
def test_a_wrong_frame_end(victim, end):
    check_refused(victim(), codec.method(1, "basic.qos")[:-1] + bytes([end]), (501,))


@pytest.mark.parametrize("length", [131_073 + 8, 2**24, 2**31, 2**32 - 1])
def test_a_frame_longer_than_agreed_is_refused_at_its_header(victim, length):
    # Only the seven octets of the header are sent: the broker must not wait for the rest, let alone make room for it.
    check_refused(victim(), struct.pack(">BHI", codec.METHOD, 1, length), (501,))
    check_refused(victim(), codec.method(1, "basic.publish") + codec.header(1, 2**40) + struct.pack(">BHI", codec.BODY, 1, length), (501,))


def test_a_frame_longer_than_the_initial_maximum_is_refused_before_the_login(victim):
    with Wire(victim().address, timeout=30) as wire:
        wire.send(codec.PROTOCOL_HEADER)
        wire.expect("connection.start")
        wire.send(struct.pack(">BHI", codec.METHOD, 0, 100_000))
        end_of(wire)


def test_announced_bodies_take_no_room_before_they_come(victim):
    broker = victim(growth_max=32 * MIB)
    wires = [broker.wire(timeout=30) for _ in range(100)]
    for wire in wires:
        # 16 MiB each would be 1.6 GiB.
        wire.send(codec.method(1, "basic.publish", routing_key="x") + codec.header(1, 16 * MIB) + codec.frame(codec.BODY, 1, b"a" * 1000))
        wire.call(0, "connection.update-secret", new_secret=b"guest")
    for wire in wires:
        wire.drop()


def test_a_body_of_2_to_the_63_is_refused_or_awaited(victim):
    broker = victim()
    for body_len in (2**63, 2**64 - 1, 600 * MIB):
        with broker.wire(timeout=30) as wire:
            wire.send(codec.method(1, "basic.publish", routing_key="x") + codec.header(1, body_len) + codec.frame(codec.BODY, 1, b"abc"))
            wire.socket.shutdown(1)
            end_of(wire)


def nested(depth: int, kind: bytes) -> bytes:
    """A table (without its length) with tables or arrays in it, that deep."""
    inside = b""
    for level in range(depth):
        inside = b"F" + struct.pack(">I", len(inside) + 2 if inside else 0) + (b"\x01a" + inside if inside else b"") if kind == b"F" else b"A" + struct.pack(">I", len(inside)) + inside
    return b"\x01a" + inside


def deep_table(depth: int, kind: bytes) -> codec.Raw:
    """A table that is that deep, itself counted."""
    inside = nested(depth - 1, kind)
    return codec.Raw(struct.pack(">I", len(inside)) + inside)


TOO_DEEP = "field table is nested deeper than 64"


@pytest.mark.parametrize("kind", [b"F", b"A"])
@pytest.mark.parametrize("depth", [64, 65, 1000])
def test_tables_nested_1000_deep(victim, depth, kind):
    broker = victim()
    table = deep_table(depth, kind)
    for code, data in (
        (501, codec.method(1, "queue.declare", exclusive=True, arguments=table)),
        (502, codec.publish(1, "amq.headers", "", b"m", headers=table)),
        (501, codec.method(1, "basic.consume", arguments=table)),
    ):
        with broker.wire(timeout=30) as wire:
            wire.call(1, "queue.declare", exclusive=True)
            wire.send(data + codec.method(0, "connection.close", reply_code=200))
            wire.socket.shutdown(1)
            refusals = [(method.reply_code, method.reply_text) for method in end_of(wire) if method.name == "connection.close"]
            # RabbitMQ takes them however deep they are; all that counts is that it stands.
            if broker.is_warren and depth > 64:
                assert [told for told, text in refusals if TOO_DEEP in text] == [code], refusals
            else:
                assert not refusals


def test_a_login_with_a_table_as_deep_as_its_frame_allows(victim):
    broker = victim()
    with Wire(broker.address, timeout=30) as wire:
        wire.send(codec.PROTOCOL_HEADER)
        wire.expect("connection.start")
        # Five octets a level, 8 KiB before the login.
        table = deep_table(1500, b"A")
        wire.send_method(0, "connection.start-ok", client_properties=table, mechanism="PLAIN", response=b"\0guest\0guest", locale="en_US")
        wire.socket.shutdown(1)
        said = end_of(wire)
        if broker.is_warren:
            assert said[0].name == "connection.close" and said[0].reply_code == 501 and TOO_DEEP in said[0].reply_text, said


@pytest.mark.parametrize(
    "table",
    [
        struct.pack(">I", 100) + b"\x01aI",
        struct.pack(">I", 3) + b"\x01aZ",
        struct.pack(">I", 7) + b"\x01aS\xff\xff\xff\xff",
        struct.pack(">I", 7) + b"\x01aF\x00\x00\x00\xff",
        struct.pack(">I", 2**32 - 1),
        struct.pack(">I", 2) + b"\xffa",
    ],
    ids=["too short", "unknown type", "string of 4 GiB", "table over the end", "table of 4 GiB", "name over the end"],
)
def test_broken_tables(victim, table):
    broker = victim()
    check_refused(broker, codec.method(1, "queue.declare", queue="q", arguments=codec.Raw(table)))
    check_refused(broker, codec.publish(1, "", "q", b"m", headers=codec.Raw(table)) + codec.method(1, "basic.get", queue="no-such-queue") + codec.method(0, "connection.start-ok"))


def test_half_frames_and_then_nothing(victim):
    broker = victim({"heartbeat": "2"})
    frame = codec.publish(1, "", "q", b"body")
    wires = [broker.wire(timeout=30, heartbeat=2) for _ in range(20)]
    for position, wire in enumerate(wires):
        wire.send(frame[: 1 + position * len(frame) // 21])
    for wire in wires:
        # Dropped for missing heartbeats, as anybody who falls silent.
        wire.expect_end()


def test_one_octet_at_a_time(victim):
    broker = victim()
    with Wire(broker.address, timeout=30) as wire:
        for octet in codec.PROTOCOL_HEADER:
            wire.send(bytes([octet]))
        wire.expect("connection.start")
        start_ok = codec.method(0, "connection.start-ok", client_properties={"capabilities": {"authentication_failure_close": True}}, mechanism="PLAIN", response=b"\0guest\0guest", locale="en_US")
        for octet in start_ok:
            wire.send(bytes([octet]))
        wire.expect("connection.tune")
