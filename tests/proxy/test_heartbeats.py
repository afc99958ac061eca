"""Heartbeats on both sides: who is silent for two of them is gone."""

import time

from blackbox import codec


def test_an_idle_client_that_sends_heartbeats_stays(proxy, pikas, name):
    connection = pikas(proxy, heartbeat=1)
    channel = connection.channel()
    queue = channel.queue_declare(name()).method.queue
    connection.process_data_events(time_limit=4)
    assert connection.is_open
    channel.basic_publish("", queue, b"still here")
    assert channel.basic_get(queue, auto_ack=True)[2] == b"still here"


def test_a_client_that_falls_silent_is_closed_and_gets_heartbeats_until_then(wires):
    wire = wires(heartbeat=1)
    started_at = time.monotonic()
    beats = 0
    while (frame := wire.read_frame()) is not None:
        assert frame.kind == codec.HEARTBEAT
        beats += 1
    assert beats >= 2
    assert 1.5 < time.monotonic() - started_at < 8


def test_a_client_without_heartbeats_may_be_silent(wires):
    wire = wires(heartbeat=0)
    assert not wire.is_readable(4)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_the_heartbeat_that_is_proposed_is_the_one_that_is_set(broker, own_proxy, wires):
    assert wires(own_proxy({"a": broker})).tune.heartbeat == 60
    assert wires(own_proxy({"a": broker}, {"proxy.heartbeat": "0"})).tune.heartbeat == 0


def test_idle_connections_to_an_upstream_are_kept_alive(broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker}, {"proxy.upstream_connections.heartbeat": "1"})
    consumer, publisher = wires(proxy), wires(proxy)
    queue = consumer.call(1, "queue.declare", queue=name()).queue
    consumer.call(1, "basic.consume", queue=queue, no_ack=True)
    publisher.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    lost = proxy.metric("warren_proxy_connections_lost_total")
    assert not consumer.is_readable(4)
    publisher.publish(1, "", queue, b"late")
    assert consumer.expect_message().body == b"late"
    assert proxy.metric("warren_proxy_connections_lost_total") == lost
