"""Brokers that die, hang and come back: who had nothing under way goes on, who had is told."""

import os
import signal
import socket

import pytest
from blackbox import proxy as proxies
from blackbox.broker import free_port
from blackbox.management import segment
from blackbox.proxy import eventually
from blackbox.wire import Closed, Wire

LOST = "CONNECTION_FORCED - the upstream connection was lost: …"


@pytest.fixture
def silent():
    """The URL of an upstream that accepts and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        yield "amqp://127.0.0.1:{}".format(*listener.getsockname()[1:])


@pytest.fixture
def hang():
    """Stops a broker's process without ending it."""
    stopped = []

    def stop(broker):
        stopped.append(broker.pid)
        proxies.hang(broker.pid)

    yield stop
    for pid in stopped:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def test_an_idle_client_goes_on_when_its_upstream_was_killed_and_is_back(own_broker, own_proxy, wires, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker})
    wire = wires(proxy)
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    wire.call(1, "confirm.select")
    wire.publish(1, "", queue, b"before", delivery_mode=2)
    wire.expect_confirms(1, 1, 1)
    broker.kill()
    proxy.await_state("a", "down")
    assert not wire.is_readable(0.1), "an idle client heard of it"
    broker.start()
    wire.publish(1, "", queue, b"after", delivery_mode=2)
    wire.expect_confirms(1, 2, 2)
    wire.wait_count(1, queue, 2)


def test_a_call_that_comes_while_the_upstream_is_down_waits_for_it(own_broker, own_proxy, wires, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    broker.kill()
    proxy.await_state("a", "down")
    wire.send_method(1, "queue.declare", queue=name())
    assert not wire.is_readable(0.2)
    broker.start()
    wire.expect("queue.declare-ok", 1)


def test_clients_leave_a_hanging_upstream_for_one_that_is_up(broker, own_broker, own_proxy, wires, hang):
    hanging = own_broker()
    proxy = own_proxy({"hanging": hanging, "well": broker}, {"proxy.upstreams.well.drain": "true"})
    idle = [wires(proxy) for _ in range(4)]
    for wire in idle:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    hang(hanging)
    proxy.await_state("hanging", "down")

    def states():
        return {line["state"] for pool in proxy.get("/pools") for line in pool["connections"] if line["upstream"] == "hanging"}

    # Nobody else is up: they stay.
    assert "open" in states() and "draining" not in states()
    proxy.operations.delete("/upstreams/well/drain").expect(204)
    eventually(lambda: "open" not in states(), "its lines are being left")
    for wire in idle:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    eventually(lambda: proxy.upstream("hanging")["connections"] == 0, "it is left")


def test_a_consumer_is_told_that_its_upstream_was_killed(own_broker, own_proxy, wires, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker})
    wire = wires(proxy)
    queue = wire.call(1, "queue.declare", queue=name()).queue
    wire.call(1, "basic.consume", queue=queue)
    broker.kill()
    wire.expect_connection_error(320, LOST)


def test_a_publisher_whose_confirms_are_lost_is_told(own_broker, own_proxy, wires, hang, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker})
    wire, idle = wires(proxy), wires(proxy)
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    wire.call(1, "confirm.select")
    hang(broker)
    wire.publish(1, "", queue, b"never confirmed", delivery_mode=2)
    eventually(lambda: any(line["unconfirmed"] for pool in proxy.get("/pools") for line in pool["connections"]), "the publish is under way")
    broker.kill()
    wire.expect_connection_error(320, LOST)
    broker.start()
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_who_waits_too_long_for_an_upstream_is_told_why(own_broker, own_proxy, wires, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker}, {"proxy.upstream_connections.wait_timeout": "1s"})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    broker.kill()
    proxy.await_state("a", "down")
    wire.send_method(1, "queue.declare", queue=name())
    wire.expect_connection_error(320, "CONNECTION_FORCED - no upstream connection within 1 s…")


def test_who_waits_for_its_login_is_told_where_it_is_said_why_no_upstream_can_be_reached(own_proxy):
    port = free_port()
    proxy = own_proxy({"a": f"amqp://127.0.0.1:{port}"}, {"proxy.upstream_connections.wait_timeout": "1s"})
    with Wire(proxy.address) as told, Wire(proxy.address) as not_told:
        told.login(user="somebody")
        not_told.login(user="somebody", capabilities={})
        told.expect_connection_error(320, "CONNECTION_FORCED - no upstream connection within 1 s: the proxy's log contains the reason")
        with pytest.raises(Closed):
            not_told.read()
    proxy.await_log("they had waited too long for an upstream user=somebody count=")
    assert f'text="no upstream connection within 1 s: cannot connect to 127.0.0.1:{port}' in proxy.log()


def test_what_a_script_published_before_it_ended_arrives_also_where_it_had_to_wait(own_broker, own_proxy, wires, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker})
    wire = wires(proxy)
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    wire.call(1, "queue.purge", queue=queue)
    scripts = [wires(proxy) for _ in range(3)]
    broker.kill()
    proxy.await_state("a", "down")
    for script in scripts:
        script.publish(1, "", queue, b"last words", delivery_mode=2)
        # As a process ends that does not say so.
        script.drop()
    broker.start()
    with broker.wire() as direct:
        direct.wait_count(1, queue, 3)
    eventually(lambda: all(pool["clients"] == 0 for pool in proxy.get("/pools")), "they are forgotten")


def test_a_hanging_upstream_does_not_keep_clients_from_another_one(broker, own_proxy, wires, silent):
    proxy = own_proxy({"silent": silent, "well": broker})
    for _ in range(10):
        wire = wires(proxy)
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.await_state("silent", "down")
    assert proxy.upstream("silent")["last_error"]
    assert proxy.upstream("well")["state"] == "up"


def test_a_client_of_a_hanging_upstream_alone_is_told(own_proxy, silent):
    proxy = own_proxy({"silent": silent}, {"proxy.upstream_connections.wait_timeout": "2s"})
    with Wire(proxy.address) as wire:
        wire.login()
        wire.expect_connection_error(320, "CONNECTION_FORCED - no upstream connection within 2 s…")


def test_an_upstream_that_falls_silent_is_given_up_after_two_heartbeats(own_broker, own_proxy, wires, hang, name):
    broker = own_broker()
    proxy = own_proxy({"a": broker}, {"proxy.upstream_connections.heartbeat": "1"})
    busy, idle = wires(proxy), wires(proxy)
    queue = busy.call(1, "queue.declare", queue=name()).queue
    busy.call(1, "basic.consume", queue=queue)
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    hang(broker)
    busy.expect_connection_error(320, LOST)
    proxy.await_state("a", "down")
    assert not idle.is_readable()
    os.kill(broker.pid, signal.SIGCONT)
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_an_upstream_that_closes_tells_busy_clients_in_its_own_words(broker, own_proxy, wires, user, name):
    """As when an operator closes the connection over the HTTP API."""
    proxy = own_proxy({"a": broker})
    wire = wires(proxy, user=user, password="secret")
    queue = wire.call(1, "queue.declare", queue=name()).queue
    wire.call(1, "basic.consume", queue=queue)

    def close():
        for connection in broker.management.get("/connections").json:
            if connection.get("user") == user:
                broker.management.delete(f"/connections/{segment(connection['name'])}", headers={"X-Reason": "go away"})
        return wire.is_readable(0.2)

    eventually(close, "the client is told")
    wire.expect_connection_error(320, "CONNECTION_FORCED - go away")
