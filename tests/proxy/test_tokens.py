"""Clients with tokens of OAuth 2, and newer ones by `connection.update-secret`."""

import pytest
from blackbox.tokens import Issuer, scopes

pytestmark = pytest.mark.warren_only("a peer would have to be installed with this back end")

MAY_WRITE = {"scope": scopes("configure:*/*", "write:*/*", "read:*/*")}
MAY_NOT_WRITE = {"scope": scopes("configure:*/*", "read:*/*")}


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture
def guarded(own_broker, own_proxy, issuer):
    """A proxy before a broker that believes tokens, and that broker."""
    broker = own_broker({"auth_backends.1": "internal", "auth_backends.2": "oauth2", **issuer.settings})
    return own_proxy({"a": broker}), broker


def connected(wires, server, token):
    return wires(server, user="token-user", password=token)


def renew(wire, token):
    wire.send_method(0, "connection.update-secret", new_secret=token.encode(), reason="it is time")


def test_a_newer_token_counts_from_then_on_and_lines_are_shared_as_before(guarded, wires, issuer):
    proxy, _ = guarded
    wire, other = (connected(wires, proxy, issuer(MAY_NOT_WRITE)) for _ in range(2))
    token = issuer({**MAY_WRITE})
    for each in (wire, other):
        each.call(1, "queue.declare", queue="q", durable=True)
        renew(each, token)
        each.expect("connection.update-secret-ok")
        each.call(1, "confirm.select")
        each.publish(1, "", "q", b"x")
        each.expect_confirms(1, 1, 1)
    assert proxy.metric("warren_proxy_clients_moved_total") == 0
    lines = [line for pool in proxy.get("/pools") for line in pool["connections"]]
    assert [line["used_channels"] for line in lines if line["used_channels"]] == [2], "they have the same token"


def test_what_a_newer_token_does_not_allow_is_refused(guarded, wires, issuer):
    proxy, _ = guarded
    wire = connected(wires, proxy, issuer(MAY_WRITE))
    wire.call(1, "queue.declare", queue="q", durable=True)
    wire.publish(1, "", "q", b"x")
    renew(wire, issuer(MAY_NOT_WRITE))
    wire.expect("connection.update-secret-ok")
    wire.publish(1, "", "q", b"x")
    wire.expect_channel_error(1, 403)


@pytest.mark.parametrize(("claims", "key"), [({}, "other"), ({"sub": "another"}, "own")], ids=["forged", "of another"])
def test_a_token_that_is_not_taken_is_refused_in_the_brokers_words(guarded, wires, issuer, claims, key):
    def outcome(server):
        wire = connected(wires, server, issuer(MAY_WRITE))
        renew(wire, issuer({**MAY_WRITE, **claims}, key))
        close = wire.expect_connection_error(530)
        return close.reply_code, close.reply_text, close.failing_class, close.failing_method

    proxy, broker = guarded
    assert outcome(proxy) == outcome(broker)


def test_a_token_that_is_too_long_for_a_login_is_taken(guarded, wires, issuer):
    proxy, _ = guarded
    wire = connected(wires, proxy, issuer(MAY_NOT_WRITE))
    renew(wire, issuer({**MAY_WRITE, "padding": "x" * 8000}))
    wire.expect("connection.update-secret-ok")
    wire.publish(1, "", "nobody", b"x", mandatory=True)
    assert wire.expect_message("basic.return").body == b"x"


def test_who_consumes_renews_its_token_where_it_is(guarded, wires, issuer):
    proxy, _ = guarded
    wire = connected(wires, proxy, issuer(MAY_WRITE))
    wire.call(1, "queue.declare", queue="q", durable=True)
    wire.call(1, "basic.consume", queue="q", no_ack=True)
    renew(wire, issuer(MAY_WRITE))
    wire.expect("connection.update-secret-ok")
    wire.publish(1, "", "q", b"x")
    assert wire.expect_message().body == b"x"
