"""TLS as clients see it."""

import os
import signal
import socket
import ssl
import time

import pika
import pytest
from blackbox import broker as brokers
from blackbox.certificates import Authority

# pika tells of a closed connection in one of several ways, by how far it had come.
CLOSED = (pika.exceptions.AMQPConnectionError, OSError)
BODY_10_MB = bytes(range(256)) * 40960


def publish_and_get(connection, body):
    channel = connection.channel()
    channel.confirm_delivery()
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.basic_publish("", queue, body)
    return channel.basic_get(queue, auto_ack=True)[2]


def test_messages_go_over_tls_small_and_large(tls_broker, context, connect):
    connection = connect(tls_broker(), context())
    for body in (b"", b"hello", BODY_10_MB):
        assert publish_and_get(connection, body) == body


def test_a_consumer_is_handed_what_comes_later(tls_broker, context, connect):
    # What TLS holds back in its own buffers would arrive only with the next write.
    broker = tls_broker()
    consumer, publisher = (connect(broker, context()).channel() for _ in range(2))
    queue = consumer.queue_declare("later", exclusive=False, auto_delete=True).method.queue
    deliveries = consumer.consume(queue, auto_ack=True, inactivity_timeout=10)
    for number in range(50):
        publisher.basic_publish("", queue, str(number).encode())
        assert next(deliveries)[2] == str(number).encode()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_are_spoken(tls_broker, context, connect, version):
    client = context()
    client.minimum_version = client.maximum_version = version
    assert publish_and_get(connect(tls_broker(), client), b"x") == b"x"


def test_older_versions_and_those_that_are_switched_off_are_not(tls_broker, context, wires):
    broker = tls_broker({"ssl_options.versions.1": "tlsv1.3"})
    client = context()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        wires(broker.tls_port, client)


def test_certificates_are_not_asked_for_unless_configured(tls_broker, context, connect):
    assert publish_and_get(connect(tls_broker(), context()), b"x") == b"x"


def test_client_without_a_certificate_is_refused_where_one_is_required(tls_broker, context, connect, authority):
    broker = tls_broker({"ssl_options.verify": "verify_peer"})
    with pytest.raises(CLOSED):
        connect(broker, context())
    assert publish_and_get(connect(broker, context(authority.client)), b"x") == b"x"


def test_client_may_come_without_a_certificate_where_it_is_optional(tls_broker, context, connect):
    broker = tls_broker({"ssl_options.verify": "verify_peer", "ssl_options.fail_if_no_peer_cert": "false"})
    assert publish_and_get(connect(broker, context()), b"x") == b"x"


def test_certificate_of_a_stranger_is_refused(tls_broker, context, connect, tmp_path):
    stranger = Authority(tmp_path, "stranger").sign("client", "/CN=guest")
    broker = tls_broker({"ssl_options.verify": "verify_peer", "ssl_options.fail_if_no_peer_cert": "false"})
    with pytest.raises(CLOSED):
        connect(broker, context(stranger))


def test_plain_clients_are_told_apart_and_closed(tls_broker, wires):
    broker = tls_broker()
    wire = wires(broker.tls_port)
    wire.socket.sendall(b"AMQP\x00\x00\x09\x01")
    wire.socket.settimeout(10)
    while wire.socket.recv(100):
        pass
    broker.await_log("the TLS handshake failed")


def test_who_never_shakes_hands_holds_up_nobody(tls_broker, context, connect):
    broker = tls_broker({"ssl_handshake_timeout": "500"})
    silent = [socket.create_connection(("127.0.0.1", broker.tls_port)) for _ in range(20)]
    assert publish_and_get(connect(broker, context()), b"x") == b"x"
    for each in silent:
        each.settimeout(10)
        assert each.recv(1) == b"", "it is closed in time"
        each.close()
    broker.await_log("the TLS handshake took longer than 500 ms")


def test_the_name_chooses_the_certificate(tls_broker, context, wires, authority):
    other = authority.sign("other", "/CN=other", "DNS:mq.example.com")
    broker = tls_broker({
        "warren.tls.sni.other.hostname": "*.example.com",
        "warren.tls.sni.other.certfile": str(other.certificate),
        "warren.tls.sni.other.keyfile": str(other.key),
    })  # fmt: skip
    for name in ("localhost", "mq.example.com"):
        shown = wires(broker.tls_port, context(), name).socket.getpeercert()
        assert ("DNS", name) in shown["subjectAltName"]


def serial(wire):
    return wire.socket.getpeercert()["serialNumber"]


def test_renewed_certificates_are_taken_and_broken_ones_are_not(tls_broker, context, wires, connect, authority):
    server = authority.sign("renewed", "/CN=localhost", "DNS:localhost")
    broker = tls_broker(server=server)
    connection = connect(broker, context())
    before = serial(wires(broker.tls_port, context()))

    authority.sign("renewed", "/CN=localhost", "DNS:localhost")
    os.kill(broker.pid, signal.SIGHUP)
    broker.await_log("certificates and keys reloaded")
    renewed = serial(wires(broker.tls_port, context()))
    assert renewed != before

    server.certificate.write_text("rubbish")
    os.kill(broker.pid, signal.SIGHUP)
    broker.await_log("the old ones stay in use")
    assert str(server.certificate) in broker.log()
    assert serial(wires(broker.tls_port, context())) == renewed
    assert publish_and_get(connection, b"x") == b"x", "open connections live on"


def test_files_that_cannot_be_used_stop_the_start(pytestconfig, authority, tmp_path):
    missing = tmp_path / "none.pem"
    settings = {"listeners.ssl.default": "127.0.0.1:0", "ssl_options.certfile": str(missing), "ssl_options.keyfile": str(authority.server.key)}
    broker = brokers.Warren(pytestconfig.option.broker_command, settings)
    try:
        broker.start(wait=False)
        assert broker.wait_ended() == 1
        assert str(missing) in broker.log()
    finally:
        broker.remove()


def test_a_listener_takes_no_more_than_its_limit(tls_broker, context, connect):
    broker = tls_broker({"warren.listeners.ssl.default.connection_max": "2"})
    kept = [connect(broker, context()) for _ in range(2)]
    with pytest.raises(CLOSED):
        connect(broker, context())
    with broker.wire():
        pass  # other listeners are not full
    kept[0].close()
    deadline = time.monotonic() + 10
    while True:
        try:
            connect(broker, context())
            break
        except CLOSED:
            assert time.monotonic() < deadline


def test_clients_come_over_a_unix_socket(pytestconfig):
    broker = brokers.Warren(pytestconfig.option.broker_command)
    path = broker.directory / "amqp.sock"
    broker.settings["warren.listeners.unix.local"] = str(path)
    try:
        broker.start()
        assert path.stat().st_mode & 0o777 == 0o600
        with broker.wire() as wire:
            wire.drop()
            wire.socket = socket.socket(socket.AF_UNIX)
            wire.socket.connect(str(path))
            wire.socket.settimeout(10)
            wire.handshake()
            wire.call(1, "channel.open")
        broker.kill()
        assert path.exists(), "a killed broker cleans nothing up"
        broker.start()
        broker.stop()
        assert not path.exists()
    finally:
        broker.remove()


def test_suites_without_forward_secrecy_or_authenticated_encryption_are_not_there(tls_broker):
    broker = tls_broker()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES128-SHA:AES256-SHA:ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")
    with socket.create_connection(("127.0.0.1", broker.tls_port)) as tcp, pytest.raises(ssl.SSLError):
        context.wrap_socket(tcp)
