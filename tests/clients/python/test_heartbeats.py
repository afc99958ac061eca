"""Heartbeats, both ways. These wait for real seconds: the shortest heartbeat is one."""

import time

from blackbox import codec

BEAT = codec.frame(codec.HEARTBEAT, 0, b"")


def test_the_broker_beats_when_it_has_nothing_to_say(wires):
    wire = wires(heartbeat=1)
    start = time.monotonic()
    beats = 0
    with wire.patience(2.5):
        while beats < 3:
            frame = wire.read_frame()
            assert (frame.kind, frame.channel, frame.payload) == (codec.HEARTBEAT, 0, b"")
            beats += 1
            wire.send(BEAT)
    assert time.monotonic() - start < 5


def test_a_silent_client_is_dropped(wires):
    wire = wires(heartbeat=1)
    start = time.monotonic()
    wire.expect_end()
    assert 1 < time.monotonic() - start < 6


def test_any_traffic_keeps_a_connection(wires):
    wire = wires(heartbeat=1)
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        wire.call(1, "basic.qos")
        wire.socket.settimeout(0.5)
        frame = None
        try:
            frame = wire.read_frame()
        except AssertionError:
            pass
        assert frame is None or frame.kind == codec.HEARTBEAT
        wire.socket.settimeout(10)


def test_zero_means_none(wires):
    wire = wires(heartbeat=0)
    wire.socket.settimeout(3)
    try:
        frame = wire.read_frame()
    except AssertionError:
        frame = None
    assert frame is None
    wire.call(1, "basic.qos")


def test_pika_lives_on_with_short_heartbeats(connect, name):
    connection = connect(heartbeat=1)
    channel = connection.channel()
    connection.process_data_events(time_limit=4)
    channel.queue_declare(name(), durable=True)
