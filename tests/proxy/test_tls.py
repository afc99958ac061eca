"""TLS on the proxy's listener: whom it lets in, which certificate it shows, and that a new one is taken without a restart."""

import os
import shutil
import signal
import ssl

import pytest
from blackbox import broker as brokers
from blackbox.certificates import Authority
from blackbox.wire import Closed, Torn, Wire

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl not found")
REFUSED = (ssl.SSLError, ConnectionError, Closed, Torn)
"""How a client is told that its certificate will not do: in the handshake, or by TLS 1.3 when it reads."""


@pytest.fixture
def tls_proxy(broker, own_proxy, authority):
    """Starts proxies that listen with TLS at their `tls_port`: tls_proxy({"verify": "verify_peer"}, server)."""

    def start(settings=None, server=None):
        server, port = server or authority.server, brokers.free_port()
        options = {"certfile": server.certificate, "keyfile": server.key, **(settings or {})}
        of_tls = {f"proxy.ssl_options.{key}": str(value) for key, value in options.items()}
        proxy = own_proxy({"a": broker}, {"proxy.listeners.ssl.default": f"127.0.0.1:{port}", **of_tls})
        proxy.tls_port = port
        return proxy

    return start


@pytest.fixture
def context(authority):
    """What a client trusts, and shows: context(identity)."""

    def make(identity=None, version=None):
        context = ssl.create_default_context(cafile=str(authority.certificate))
        if identity:
            context.load_cert_chain(identity.certificate, identity.key)
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    return make


@pytest.fixture
def connect():
    """Opens connections over TLS, with channel 1 open: connect(proxy, context, "localhost")."""
    opened = []

    def open_wire(proxy, context, server_name="localhost"):
        wire = Wire(("127.0.0.1", proxy.tls_port))
        opened.append(wire)
        wire.socket = context.wrap_socket(wire.socket, server_hostname=server_name)
        wire.handshake(user=proxy.user, password=proxy.password)
        wire.call(1, "channel.open")
        return wire

    yield open_wire
    for wire in opened:
        wire.drop()


def check_works(wire):
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)


def check_refused(connect, proxy, context):
    refused = proxy.log().count("the TLS handshake failed")
    with pytest.raises(REFUSED):
        connect(proxy, context)
    proxy.await_log("the TLS handshake failed", refused + 1)


def serial(wire):
    return wire.socket.getpeercert()["serialNumber"]


@pytest.fixture(scope="module")
def client(authority):
    return authority.sign("client-of-proxy", "/CN=client")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_without_a_certificate_is_refused_where_one_is_required(tls_proxy, connect, context, authority, client, version):
    proxy = tls_proxy({"verify": "verify_peer", "cacertfile": authority.certificate})
    check_refused(connect, proxy, context(version=version))
    check_works(connect(proxy, context(client, version)))


def test_a_client_may_come_without_a_certificate_where_it_is_optional_and_not_with_a_strangers(tls_proxy, connect, context, authority, client, tmp_path):
    proxy = tls_proxy({"verify": "verify_peer", "fail_if_no_peer_cert": "false", "cacertfile": authority.certificate})
    check_works(connect(proxy, context()))
    check_works(connect(proxy, context(client)))
    check_refused(connect, proxy, context(Authority(tmp_path, "stranger").sign("client", "/CN=client")))


def test_a_strangers_certificate_is_not_looked_at_where_none_is_asked_for(tls_proxy, connect, context, tmp_path):
    check_works(connect(tls_proxy(), context(Authority(tmp_path, "stranger").sign("client", "/CN=client"))))


def test_the_name_chooses_the_certificate(tls_proxy, connect, context, authority):
    exact = authority.sign("exact", "/CN=exact", "DNS:mq.example.org")
    any_of = authority.sign("any-of", "/CN=any", "DNS:*.example.com")
    proxy = tls_proxy({
        "sni.exact.hostname": "mq.example.org", "sni.exact.certfile": exact.certificate, "sni.exact.keyfile": exact.key,
        "sni.any.hostname": "*.example.com", "sni.any.certfile": any_of.certificate, "sni.any.keyfile": any_of.key,
    })  # fmt: skip
    for name, shown in (("localhost", "localhost"), ("mq.example.org", "exact"), ("mq.example.com", "any"), ("other.example.com", "any")):
        wire = connect(proxy, context(), name)
        assert wire.socket.getpeercert()["subject"] == ((("commonName", shown),),), name
        check_works(wire)
    unknown = context()
    unknown.check_hostname = False
    assert connect(proxy, unknown, "elsewhere.example.net").socket.getpeercert()["subject"] == ((("commonName", "localhost"),),)


def test_renewed_certificates_are_taken_and_broken_ones_are_not(tls_proxy, connect, context, authority):
    server, other = (authority.sign(name, f"/CN={name}", "DNS:localhost,DNS:mq.example.org") for name in ("renewed", "renewed-by-name"))
    proxy = tls_proxy({"sni.other.hostname": "mq.example.org", "sni.other.certfile": other.certificate, "sni.other.keyfile": other.key}, server)
    living = connect(proxy, context())
    before = serial(living), serial(connect(proxy, context(), "mq.example.org"))

    for each in ("renewed", "renewed-by-name"):
        authority.sign(each, f"/CN={each}", "DNS:localhost,DNS:mq.example.org")
    os.kill(proxy.pid, signal.SIGHUP)
    proxy.await_log("certificates and keys reloaded")
    renewed = serial(connect(proxy, context())), serial(connect(proxy, context(), "mq.example.org"))
    assert not set(renewed) & set(before)
    check_works(living)

    server.certificate.write_text("rubbish")
    os.kill(proxy.pid, signal.SIGHUP)
    proxy.await_log("the old ones stay in use")
    assert str(server.certificate) in proxy.log()
    assert serial(connect(proxy, context())) == renewed[0]
    check_works(living)


def test_another_authority_of_clients_is_taken_and_who_is_inside_stays(tls_proxy, connect, context, authority, client, tmp_path):
    other, trusted = Authority(tmp_path, "other"), tmp_path / "trusted.pem"
    shutil.copy(authority.certificate, trusted)
    proxy = tls_proxy({"verify": "verify_peer", "cacertfile": trusted})
    theirs = other.sign("client", "/CN=client")
    living = connect(proxy, context(client))
    check_refused(connect, proxy, context(theirs))

    trusted.write_bytes(other.certificate.read_bytes())
    os.kill(proxy.pid, signal.SIGHUP)
    proxy.await_log("certificates and keys reloaded")
    check_works(connect(proxy, context(theirs)))
    check_refused(connect, proxy, context(client))
    check_works(living)
