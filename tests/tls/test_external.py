"""EXTERNAL: the certificate says who the client is."""

import pika
import pytest
from blackbox.wire import Wire

VERIFIED = {"ssl_options.verify": "verify_peer", "ssl_options.fail_if_no_peer_cert": "false", "auth_mechanisms.1": "PLAIN", "auth_mechanisms.2": "EXTERNAL"}
REFUSED = "ACCESS_REFUSED - Login was refused using authentication mechanism EXTERNAL. For details see the broker logfile."


def external(connect, broker, context):
    return connect(broker, context, credentials=pika.credentials.ExternalCredentials())


@pytest.mark.parametrize(
    ("settings", "user"),
    [
        ({}, "CN=client1,O=Org\\, Inc.,C=DE"),
        ({"ssl_cert_login_from": "common_name"}, "client1"),
        ({"ssl_cert_login_from": "subject_alternative_name"}, "client.example"),
        ({"ssl_cert_login_from": "subject_alternative_name", "ssl_cert_login_san_type": "email"}, "me@example.com"),
    ],
)
def test_the_user_is_named_by_the_certificate(tls_broker, context, connect, authority, settings, user):
    # `default_user` is the one user that a new broker has.
    broker = tls_broker({**VERIFIED, **settings, "default_user": user, "default_pass": "unknown to the client"})
    connection = external(connect, broker, context(authority.client))
    assert connection.is_open
    assert connection.channel().queue_declare("", exclusive=True).method.queue


def login_by_external(wire):
    start = wire.login(mechanism="EXTERNAL", response=b"")
    return start.mechanisms, wire.expect_one_of("connection.tune", "connection.close")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def test_without_a_certificate_or_a_user_of_its_name_the_login_is_refused(tls_broker, context, wires, authority):
    broker = tls_broker(VERIFIED)
    for identity, why in ((None, "no peer certificate"), (authority.client, "no user 'CN=client1,O=Org")):
        offered, answer = login_by_external(wires(broker.tls_port, context(identity)))
        assert "EXTERNAL" in text(offered).split()
        assert (answer.name, answer.reply_code, answer.reply_text) == ("connection.close", 403, REFUSED)
        broker.await_log(why)


def test_it_is_not_offered_without_tls(tls_broker):
    broker = tls_broker(VERIFIED)
    with Wire(broker.address) as wire:
        start = wire.login(user=broker.user, password=broker.password)
        assert text(start.mechanisms).split() == ["PLAIN"]


def test_it_is_not_offered_unless_configured(tls_broker, context, wires, authority):
    broker = tls_broker({"ssl_options.verify": "verify_peer"})
    offered = wires(broker.tls_port, context(authority.client)).login().mechanisms
    assert "EXTERNAL" not in text(offered).split()
