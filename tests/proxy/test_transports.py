"""TLS and the PROXY protocol on both sides, and sockets at paths."""

import os
import shutil
import socket
import stat
import subprocess
import threading

import pika
import pytest
from blackbox import broker as brokers
from blackbox import haproxy
from blackbox.certificates import Authority
from blackbox.proxy import eventually
from blackbox.relay import Relay
from blackbox.wire import Closed, Wire

UNKNOWN = b"PROXY UNKNOWN\r\n"
V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 40001 5672\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([192, 0, 2, 8, 198, 51, 100, 1, 0x9C, 0x42, 0x16, 0x28])

needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl not found")
warren_only = pytest.mark.warren_only("the log of a peer says it in other words")


def listener_settings(authority, port):
    return {
        "proxy.listeners.ssl.default": f"127.0.0.1:{port}",
        "proxy.ssl_options.certfile": str(authority.server.certificate),
        "proxy.ssl_options.keyfile": str(authority.server.key),
    }


@needs_openssl
def test_clients_come_over_tls(broker, own_proxy, pikas, authority, name):
    port = brokers.free_port()
    proxy = own_proxy({"a": broker}, listener_settings(authority, port))
    connection = pikas(proxy, port=port, ssl_options=pika.SSLOptions(authority.context, "localhost"))
    channel = connection.channel()
    queue = channel.queue_declare(name(), exclusive=True).method.queue
    channel.basic_publish("", queue, b"x" * 1_000_000)
    assert channel.basic_get(queue, auto_ack=True)[2] == b"x" * 1_000_000


@needs_openssl
def test_a_client_without_tls_is_closed_on_the_port_of_tls(broker, own_proxy, authority):
    port = brokers.free_port()
    proxy = own_proxy({"a": broker}, listener_settings(authority, port))
    with Wire(("127.0.0.1", port)) as wire, pytest.raises((AssertionError, ConnectionError)):
        wire.login()
    assert not proxy.has_ended()


@pytest.fixture
def tls_broker(own_broker, authority):
    """A broker that also speaks TLS; its `tls_url` says where."""
    port = brokers.free_port()
    broker = own_broker({
        "listeners.ssl.default": f"127.0.0.1:{port}",
        "ssl_options.certfile": str(authority.server.certificate),
        "ssl_options.keyfile": str(authority.server.key),
        "ssl_options.cacertfile": str(authority.certificate),
    })  # fmt: skip
    broker.tls_url = f"amqps://localhost:{port}"
    return broker


@needs_openssl
def test_an_upstream_is_reached_over_tls(tls_broker, own_proxy, wires, authority):
    proxy = own_proxy({"a": tls_broker.tls_url}, {"proxy.upstreams.a.ssl_options.cacertfile": str(authority.certificate)})
    wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert proxy.upstream("a")["state"] == "up"


class Sorter(Relay):
    """A port at which a broker speaks both TLS and plaintext, as its clients do. `counts` says how many speak what now."""

    def __init__(self, broker, tls_port):
        self.places = {"plaintext": (broker.host, broker.port), "tls": (broker.host, tls_port)}
        self.counts = dict.fromkeys(self.places, 0)
        self.lock = threading.Lock()
        super().__init__(self.places["plaintext"])
        self.place = f"localhost:{self.port}"

    def count(self, kind, by):
        with self.lock:
            self.counts[kind] += by

    def carry(self, here):
        kind = "tls" if here.recv(1, socket.MSG_PEEK) == b"\x16" else "plaintext"
        self.count(kind, 1)
        try:
            with socket.create_connection(self.places[kind]) as there:
                self.pass_on(here, there)
        finally:
            self.count(kind, -1)


@needs_openssl
def test_plaintext_to_an_upstream_ends_when_it_is_to_be_tls(tls_broker, configured, wires, authority):
    sorter = Sorter(tls_broker, int(tls_broker.tls_url.rpartition(":")[2]))
    try:
        proxy = configured({"a": f"amqp://{sorter.place}"})
        wire = wires(proxy)
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
        assert sorter.counts["plaintext"] > 0
        tls = {"proxy.upstreams.a.url": f"amqps://{sorter.place}", "proxy.upstreams.a.ssl_options.cacertfile": str(authority.certificate)}
        configured.reload(proxy, {**proxy.settings, **tls})
        eventually(lambda: sorter.counts["plaintext"] == 0, "what was plaintext is left")
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
        assert sorter.counts["tls"] > 0 and sorter.counts["plaintext"] == 0
    finally:
        sorter.close()


@needs_openssl
def test_an_upstream_whose_certificate_is_not_trusted_gets_no_login(tls_broker, own_proxy, tmp_path):
    stranger = Authority(tmp_path, "stranger")
    settings = {"proxy.upstreams.a.ssl_options.cacertfile": str(stranger.certificate), "proxy.upstream_connections.wait_timeout": "1s", "proxy.connect_timeout": "10s"}
    proxy = own_proxy({"a": tls_broker.tls_url}, settings)
    with Wire(proxy.address) as wire:
        wire.login()
        wire.expect_connection_error(320, "CONNECTION_FORCED - no upstream connection within 1 s…")
    # The broker may be too slow to show it within the client's patience.
    proxy.await_state("a", "down")
    assert "certificate" in proxy.upstream("a")["last_error"].lower()


@needs_openssl
def test_an_upstreams_certificate_may_be_left_unchecked(tls_broker, own_proxy, wires):
    wires(own_proxy({"a": tls_broker.tls_url}, {"proxy.upstreams.a.ssl_options.verify": "verify_none"}))


@needs_openssl
def test_an_upstream_may_be_asked_for_by_another_name(tls_broker, own_proxy, wires, authority):
    url = tls_broker.tls_url.replace("localhost", "127.0.0.1")
    settings = {"proxy.upstreams.a.ssl_options.cacertfile": str(authority.certificate), "proxy.upstreams.a.ssl_options.server_name_indication": "localhost"}
    wires(own_proxy({"a": url}, settings))


@needs_openssl
def test_an_upstream_is_shown_a_certificate_whose_key_has_a_password(own_broker, own_proxy, wires, authority, tmp_path):
    port = brokers.free_port()
    own_broker({
        "listeners.ssl.default": f"127.0.0.1:{port}", "ssl_options.certfile": str(authority.server.certificate),
        "ssl_options.keyfile": str(authority.server.key), "ssl_options.cacertfile": str(authority.certificate),
        "ssl_options.verify": "verify_peer", "ssl_options.fail_if_no_peer_cert": "true",
    })  # fmt: skip
    client, encrypted = authority.sign("client", "/CN=proxy"), tmp_path / "client.key"
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", client.key, "-out", encrypted, "-passout", "pass:hidden"], check=True)
    tls = "proxy.upstreams.a.ssl_options"
    wires(own_proxy({"a": f"amqps://localhost:{port}"}, {
        f"{tls}.cacertfile": str(authority.certificate), f"{tls}.certfile": str(client.certificate), f"{tls}.keyfile": str(encrypted),
        f"{tls}.password": "hidden", f"{tls}.versions.1": "tlsv1.3", f"{tls}.ciphers.1": "TLS_AES_256_GCM_SHA384",
    }))  # fmt: skip


@needs_openssl
def test_an_upstream_that_speaks_only_an_older_version_is_told(own_broker, own_proxy, authority):
    port = brokers.free_port()
    own_broker({
        "listeners.ssl.default": f"127.0.0.1:{port}", "ssl_options.certfile": str(authority.server.certificate),
        "ssl_options.keyfile": str(authority.server.key), "ssl_options.versions.1": "tlsv1.2",
    })  # fmt: skip
    tls = "proxy.upstreams.a.ssl_options"
    proxy = own_proxy({"a": f"amqps://localhost:{port}"}, {f"{tls}.cacertfile": str(authority.certificate), f"{tls}.versions.1": "tlsv1.3"})
    proxy.await_state("a", "down")
    assert "ProtocolVersion" in proxy.upstream("a")["last_error"]


def test_clients_come_over_a_socket_that_only_its_owner_may_use(broker, own_proxy, tmp_path):
    path = str(tmp_path / "proxy.sock")
    proxy = own_proxy({"a": broker}, {"proxy.listeners.unix.default": path})
    with Wire.open(path, user=broker.user, password=broker.password) as wire:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0
    proxy.stop()
    assert not os.path.exists(path)


def test_whoever_brings_no_header_is_closed_where_one_is_wanted(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.proxy_protocol": "true"}, preface=UNKNOWN)
    with Wire(proxy.address) as wire:
        wire.send(b"AMQP\0\0\x09\x01")
        with pytest.raises(Closed):
            wire.read()
    proxy.await_log("PROXY protocol")
    for header in (UNKNOWN, V1, V2):
        wires(proxy, preface=header).call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_pika_comes_through_haproxy(broker, own_proxy, pikas, name):
    if not haproxy.IS_INSTALLED:
        pytest.skip("haproxy not found")
    proxy = own_proxy({"a": broker}, {"proxy.proxy_protocol": "true"}, preface=UNKNOWN)
    front = haproxy.HAProxy(proxy.port, "send-proxy-v2")
    try:
        front.wait_ready()
        channel = pikas(front).channel()
        queue = channel.queue_declare(name(), exclusive=True).method.queue
        channel.basic_publish("", queue, b"x")
        assert channel.basic_get(queue, auto_ack=True)[2] == b"x"
    finally:
        front.remove()


@warren_only
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_upstream_is_told_where_clients_are(own_broker, own_proxy, wires, name, version):
    broker = own_broker({"proxy_protocol": "true", "log.console.level": "debug", "default_user": "anybody", "default_pass": "secret"}, preface=UNKNOWN)
    settings = {"proxy.upstreams.a.proxy_protocol": version, "proxy.proxy_protocol": "true"}
    proxy = own_proxy({"a": broker}, settings, preface=UNKNOWN)
    sharing = wires(proxy)
    sharing.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    # A connection that is shared is the proxy's own.
    for line in (line for pool in proxy.get("/pools") for line in pool["connections"]):
        broker.await_log(f"connection was opened peer={line['local_address']}")
    own = wires(proxy, preface=V1)
    own.call(1, "basic.consume", queue=own.call(1, "queue.declare", queue=name(), exclusive=True).queue)
    broker.await_log("connection was opened peer=192.0.2.7:40001")
