"""SIGTERM ends the proxy in good order, SIGHUP has it read its configuration again."""

import os
import signal
import socket
import time

import pytest
from blackbox.proxy import eventually, hang
from blackbox.wire import Wire

STOPPING = "CONNECTION_FORCED - the proxy is being stopped"


def test_on_sigterm_clients_are_told_and_the_status_is_0(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker})
    idle, busy = wires(proxy), wires(proxy)
    busy.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.terminate()
    for wire in (idle, busy):
        wire.expect_connection_error(320, STOPPING)
    assert proxy.wait_ended() == 0


def test_on_sigterm_clients_first_have_time_to_close_by_themselves(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.term_client_close_timeout": "1500ms"})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    started_at = time.monotonic()
    proxy.terminate()
    proxy.await_log("stopping")
    # Meanwhile they work, others do not come in, and who asks is told to go elsewhere.
    wire.call(1, "confirm.select")
    wire.publish(1, "", "nobody")
    wire.expect_confirms(1, 1, 1)
    assert proxy.text("/readyz", 503) == "the proxy is being stopped"
    assert proxy.text("/healthz") == "OK"
    with pytest.raises((OSError, AssertionError)):
        proxy.wire()
    wire.expect_connection_error(320, STOPPING)
    assert time.monotonic() - started_at >= 1.5
    assert proxy.wait_ended() == 0


def test_the_proxy_ends_as_soon_as_all_clients_have_left(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.term_client_close_timeout": "60s"})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.terminate()
    proxy.await_log("stopping")
    wire.close()
    assert proxy.wait_ended(10) == 0


def test_a_second_sigterm_ends_the_proxy_at_once(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.term_client_close_timeout": "60s"})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.terminate()
    proxy.await_log("stopping")
    started_at = time.monotonic()
    proxy.terminate()
    assert proxy.wait_ended() == 0
    assert time.monotonic() - started_at < 5


def test_a_client_that_does_not_answer_is_waited_for_only_so_long(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.term_timeout": "200ms"})
    wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    started_at = time.monotonic()
    proxy.terminate()
    assert proxy.wait_ended() == 0
    assert time.monotonic() - started_at < 5


def test_what_clients_have_published_is_delivered_before_the_end(broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker})
    wire = wires(proxy)
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    for _ in range(500):
        wire.publish(1, "", queue, b"x" * 1000, delivery_mode=2)
    # All is read when its answer comes.
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.terminate()
    wire.expect_connection_error(320, STOPPING)
    assert proxy.wait_ended() == 0
    with broker.wire() as direct:
        direct.wait_count(1, queue, 500)


def test_what_is_not_confirmed_at_the_end_is_told(own_broker, own_proxy, wires):
    broker = own_broker()
    proxy = own_proxy({"a": broker}, {"proxy.term_timeout": "100ms"})
    wire = wires(proxy)
    wire.call(1, "confirm.select")
    hang(broker.pid)
    try:
        for _ in range(3):
            wire.publish(1, "", "nobody")
        eventually(lambda: proxy.metric('warren_proxy_pool_unconfirmed{user="guest",vhost="/"}') == 3, "they are under way")
        proxy.terminate()
        wire.expect_connection_error(320, STOPPING)
        proxy.terminate()
        assert proxy.wait_ended() == 0
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    assert "the proxy ends with publishes that were not confirmed count=3" in proxy.log()


def url_of(broker):
    return f"amqp://127.0.0.1:{broker.port}"


def test_sighup_brings_other_upstreams(broker, own_broker, configured, wires):
    first = own_broker()
    proxy = configured({"a": first})
    staying = wires(proxy)
    staying.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    configured.reload(proxy, {"proxy.upstreams.a.url": url_of(first), "proxy.upstreams.a.drain": "true", "proxy.upstreams.b.url": url_of(broker)})
    assert {upstream["name"]: upstream["state"] for upstream in proxy.get("/upstreams")} == {"a": "draining", "b": "up"}
    eventually(lambda: proxy.upstream("a")["connections"] == 0)
    staying.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert proxy.upstream("b")["connections"] == 1


def test_sighup_drains_and_undrains_only_what_has_changed(broker, own_broker, configured):
    proxy = configured({"a": broker, "b": own_broker()})
    urls = {key: value for key, value in proxy.settings.items() if key.endswith(".url")}

    def states():
        return {upstream["name"]: upstream["state"] for upstream in proxy.get("/upstreams")}

    proxy.operations.put("/upstreams/a/drain").expect(204)
    configured.reload(proxy, {**urls, "proxy.upstreams.b.drain": "true"})
    assert states() == {"a": "draining", "b": "draining"}
    proxy.operations.delete("/upstreams/b/drain").expect(204)
    configured.reload(proxy, {**urls, "proxy.upstreams.b.drain": "true", "proxy.log.level": "debug"})
    assert states() == {"a": "draining", "b": "up"}
    configured.reload(proxy, {**urls, "proxy.upstreams.a.drain": "true"})
    configured.reload(proxy, urls)
    assert states() == {"a": "up", "b": "up"}


def test_another_url_under_the_same_name_is_gone_to_at_sighup(broker, own_broker, configured, wires, name):
    old = own_broker()
    proxy = configured({"a": old})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    configured.reload(proxy, {"proxy.upstreams.a.url": url_of(broker)})
    eventually(lambda: [upstream["address"] for upstream in proxy.get("/upstreams")] == [f"127.0.0.1:{broker.port}"], "the old address is left")
    queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
    with broker.wire() as direct:
        direct.call(1, "queue.declare", queue=queue, passive=True)


def test_a_vhost_that_another_upstream_serves_after_sighup_is_gone_to_there(broker, own_broker, configured, wires):
    proxy = configured({"a": own_broker()})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    configured.reload(proxy, {"proxy.upstreams.a.url": proxy.settings["proxy.upstreams.a.url"], "proxy.upstreams.b.url": url_of(broker), "proxy.upstreams.b.vhosts.1": "/"})
    eventually(lambda: proxy.upstream("a")["connections"] == 0, "it is left")
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert proxy.upstream("b")["connections"] >= 1


def test_an_upstream_that_is_gone_from_the_configuration_is_left(broker, own_broker, configured, wires):
    proxy = configured({"a": own_broker()})
    wire = wires(proxy)
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    configured.reload(proxy, {"proxy.upstreams.b.url": url_of(broker)})
    eventually(lambda: [upstream["name"] for upstream in proxy.get("/upstreams")] == ["b"], "only the new upstream is there")
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert proxy.upstream("b")["connections"] >= 1


def test_sighup_brings_other_limits(broker, configured, wires):
    proxy = configured({"a": broker})
    upstream = {"proxy.upstreams.a.url": url_of(broker)}
    staying = wires(proxy), wires(proxy)
    configured.reload(proxy, {**upstream, "proxy.limits.connections": "1"})
    with Wire(proxy.address) as wire:
        wire.expect_end()
    for wire in staying:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    configured.reload(proxy, upstream)
    wires(proxy)


def test_sighup_brings_another_log_level(broker, configured, wires):
    proxy = configured({"a": broker})
    upstream = {"proxy.upstreams.a.url": url_of(broker)}

    def come_and_go():
        wires(proxy).drop()
        eventually(lambda: proxy.metric("amqproxy_client_connections") == 0, "the client is gone")

    come_and_go()
    assert "client disconnected" not in proxy.log()
    configured.reload(proxy, {**upstream, "proxy.log.level": "debug"})
    come_and_go()
    proxy.await_log("client disconnected")
    configured.reload(proxy, upstream)
    told = proxy.log().count("client disconnected")
    come_and_go()
    assert proxy.log().count("client disconnected") == told
    assert "proxy.log.level" not in proxy.log(), "nothing has to wait for a restart"


def test_sighup_brings_other_times_to_stop(broker, configured, wires):
    proxy = configured({"a": broker}, {"proxy.term_timeout": "60s", "proxy.term_client_close_timeout": "60s"})
    wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    configured.reload(proxy, {"proxy.upstreams.a.url": url_of(broker), "proxy.term_timeout": "100ms", "proxy.term_client_close_timeout": "100ms"})
    proxy.terminate()
    assert proxy.wait_ended(10) == 0


def test_sighup_brings_another_time_for_a_header_of_the_proxy_protocol(broker, configured):
    settings = {"proxy.upstreams.a.url": url_of(broker), "proxy.proxy_protocol": "true"}
    proxy = configured({"a": broker}, {**settings, "proxy.handshake_timeout": "60s"}, preface=b"PROXY UNKNOWN\r\n")
    configured.reload(proxy, {**settings, "proxy.handshake_timeout": "100ms"})
    with socket.create_connection((proxy.host, proxy.port), timeout=10) as stream:
        assert stream.recv(1) == b""


def test_a_configuration_with_an_error_changes_nothing(broker, configured, wires):
    proxy = configured({"a": broker})
    configured.reload(proxy, {"proxy.upstreams.a.url": "amqp://127.0.0.1:1", "proxy.nonsense": "1"}, "the old one stays in use")
    assert "proxy.nonsense" in proxy.log()
    wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert proxy.upstream("a")["address"] == f"127.0.0.1:{broker.port}"


def test_a_key_that_needs_a_restart_is_told(broker, configured, wires):
    proxy = configured({"a": broker})
    configured.reload(proxy, {"proxy.upstreams.a.url": url_of(broker), "proxy.worker_threads": "3"})
    proxy.await_log("proxy.worker_threads")
    wires(proxy)
