"""The PROXY protocol: headers written by hand, and a real HAProxy."""

import socket
from contextlib import suppress

import pika
import pytest
from blackbox import haproxy
from blackbox.wire import Wire

UNKNOWN = b"PROXY UNKNOWN\r\n"
V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 40001 5672\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([192, 0, 2, 8, 198, 51, 100, 1, 0x9C, 0x42, 0x16, 0x28])
SETTINGS = {"proxy_protocol": "true", "log.console.level": "debug", "default_user": "anybody", "default_pass": "secret"}


@pytest.fixture
def broker(own_broker):
    """A broker that wants headers. Its user may come from anywhere."""
    return own_broker(SETTINGS, preface=UNKNOWN)


@pytest.mark.parametrize(("header", "peer"), [(V1, "192.0.2.7:40001"), (V2, "192.0.2.8:40002")])
def test_the_announced_address_is_the_clients(broker, header, peer):
    with Wire.open(broker.address, user="anybody", password="secret", preface=header):
        broker.await_log(f"connection was opened peer={peer}")


def test_the_proxy_may_speak_for_itself(broker):
    with broker.wire() as wire:
        peer = "{}:{}".format(*wire.socket.getsockname())
        broker.await_log(f"connection was opened peer={peer}")


@pytest.mark.parametrize("header", [b"AMQP\0\0\x09\x01", b"PROXY TCP4 nonsense\r\n", b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c" + bytes(12), b"GET / HTTP/1.1\r\n\r\n"])
def test_whoever_brings_no_header_is_closed_with_one_line(broker, header):
    before = broker.log().count("PROXY protocol")
    with Wire(broker.address, preface=header) as wire:
        wire.expect_end()
    broker.await_log("PROXY protocol", before + 1)
    assert broker.log().count("PROXY protocol") == before + 1


def test_only_trusted_senders_are_let_in_where_some_are_named(own_broker):
    broker = own_broker({**SETTINGS, "warren.proxy_protocol.trusted_senders.balancer": "127.0.0.1/32"}, preface=UNKNOWN)
    Wire.open(broker.address, user="anybody", password="secret", preface=V1).close()
    with socket.create_connection(broker.address, timeout=10, source_address=("127.0.0.2", 0)) as stranger, suppress(ConnectionError):
        stranger.sendall(V1 + b"AMQP\0\0\x09\x01")
        assert stranger.recv(1) == b""
    broker.await_log("does not come from a trusted sender")


def test_users_of_loopback_are_not_let_in_from_afar(own_broker):
    broker = own_broker({"proxy_protocol": "true"}, preface=UNKNOWN)
    with Wire(broker.address, preface=V1) as wire:
        wire.login(user="guest", password="guest")
        wire.expect_connection_error(403)
    broker.await_log("can only connect via localhost")


@pytest.mark.parametrize("header", ["send-proxy", "send-proxy-v2"])
def test_pika_comes_through_haproxy(own_broker, header):
    if not haproxy.IS_INSTALLED:
        pytest.skip("haproxy not found")
    broker = own_broker({"proxy_protocol": "true", "log.console.level": "debug"}, preface=UNKNOWN)
    proxy = haproxy.HAProxy(broker.port, header)
    try:
        proxy.wait_ready()
        connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", proxy.port, socket_timeout=10))
        # The address that HAProxy saw is the client's, and not HAProxy's own.
        client = "{}:{}".format(*connection._impl._transport._sock.getsockname())
        broker.await_log(f"connection was opened peer={client}")
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.basic_publish("", queue, b"x" * 1_000_000)
        assert channel.basic_get(queue, auto_ack=True)[2] == b"x" * 1_000_000
        connection.close()
    finally:
        proxy.remove()
