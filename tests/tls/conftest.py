"""Certificates, brokers and pika for the tests in this folder."""

import ssl
from contextlib import suppress

import pika
import pytest
from blackbox import broker as brokers
from blackbox.certificates import Authority
from blackbox.wire import Wire
from pika import exceptions


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """An authority with certificates `server` and `client`."""
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    authority.server = authority.sign("server", "/CN=localhost", "DNS:localhost,IP:127.0.0.1")
    authority.client = authority.sign("client", "/C=DE/O=Org, Inc./CN=client1", "DNS:client.example,email:me@example.com")
    return authority


@pytest.fixture
def tls_broker(own_broker, authority):
    """Starts brokers with a TLS listener; their `tls_port` says where."""

    def start(settings=None, server=None):
        server = server or authority.server
        port = brokers.free_port()
        broker = own_broker({
            "listeners.ssl.default": f"127.0.0.1:{port}",
            "ssl_options.certfile": str(server.certificate),
            "ssl_options.keyfile": str(server.key),
            "ssl_options.cacertfile": str(authority.certificate),
            **(settings or {}),
        })  # fmt: skip
        broker.tls_port = port
        return broker

    return start


@pytest.fixture
def context(authority):
    """What a client trusts, and shows: context(identity)."""

    def make(identity=None):
        context = ssl.create_default_context(cafile=str(authority.certificate))
        if identity:
            context.load_cert_chain(identity.certificate, identity.key)
        return context

    return make


@pytest.fixture
def connect():
    """Opens pika connections over TLS: connect(broker, context)."""
    opened = []

    def open_connection(broker, context, server_name="localhost", **how):
        options = pika.SSLOptions(context, server_name)
        parameters = {"host": "127.0.0.1", "port": broker.tls_port, "ssl_options": options, "socket_timeout": 10, **how}
        opened.append(pika.BlockingConnection(pika.ConnectionParameters(**parameters)))
        return opened[-1]

    yield open_connection
    for connection in opened:
        with suppress(exceptions.AMQPError):
            if connection.is_open:
                connection.close()


@pytest.fixture
def wires():
    """Opens raw connections that have not said anything yet: wires(port, context)."""
    opened = []

    def open_wire(port, context=None, server_name="localhost"):
        wire = Wire(("127.0.0.1", port))
        opened.append(wire)
        if context:
            wire.socket = context.wrap_socket(wire.socket, server_hostname=server_name)
        return wire

    yield open_wire
    for wire in opened:
        wire.drop()
