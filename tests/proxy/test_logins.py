"""Who may come in: the broker says so, in its own words."""

import pytest
from blackbox.proxy import eventually
from blackbox.wire import Closed, Wire


def refusal(broker, **how):
    """How a login is refused."""
    with Wire(broker.address) as wire:
        wire.login(**how)
        close = wire.expect_connection_error(403)
        return close.reply_code, close.reply_text


def closed_vhost(broker, virtual_host, **who):
    """How a vhost is refused."""
    with Wire(broker.address) as wire:
        wire.login(**who)
        wire.expect("connection.tune")
        wire.send_method(0, "connection.tune-ok", channel_max=2047, frame_max=131072, heartbeat=0)
        wire.send_method(0, "connection.open", virtual_host=virtual_host)
        close = wire.expect_connection_error(530)
        return close.reply_code, close.reply_text, close.failing_class, close.failing_method


def test_a_wrong_password_is_refused_in_the_brokers_words_and_the_right_one_is_not(broker, proxy, wires, user):
    assert refusal(proxy, user=user, password="wrong") == refusal(broker, user=user, password="wrong")
    wires(user=user, password="secret")
    assert refusal(proxy, user=user, password="wrong")[0] == 403
    wires(user=user, password="secret").call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_an_unknown_user_is_refused(broker, proxy):
    assert refusal(proxy, user="nobody", password="x") == refusal(broker, user="nobody", password="x")


def test_a_certificate_is_no_login(proxy):
    with Wire(proxy.address) as wire:
        start = wire.login(mechanism="EXTERNAL", response=b"")
        assert start.mechanisms == b"AMQPLAIN PLAIN"
        wire.expect_connection_error(503, "COMMAND_INVALID - unknown authentication mechanism 'EXTERNAL'")


def test_who_cannot_be_told_is_only_closed(proxy, user):
    with Wire(proxy.address) as wire:
        wire.login(user=user, password="wrong", capabilities={})
        with pytest.raises(Closed):
            wire.read()


def test_a_user_without_access_to_the_vhost_is_refused_in_the_brokers_words(broker, proxy, wires, user, vhost):
    who = {"user": user, "password": "secret"}
    assert closed_vhost(proxy, vhost, **who) == closed_vhost(broker, vhost, **who)
    # And nobody else notices.
    wires(**who).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    wires(virtual_host=vhost).call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_a_vhost_that_is_not_there_is_refused_in_the_brokers_words(broker, proxy, user):
    who = {"user": user, "password": "secret"}
    assert closed_vhost(proxy, "no such vhost", **who) == closed_vhost(broker, "no such vhost", **who)


def test_an_operation_without_the_permission_is_refused_on_its_channel(broker, proxy, wires, user, name):
    queue = name()
    broker.management.put(f"/permissions/%2F/{user}", {"configure": "", "write": ".*", "read": ".*"}).expect(204)
    closes = []
    for through in (proxy, broker):
        wire = wires(through, user=user, password="secret")
        wire.send_method(1, "queue.declare", queue=queue)
        close = wire.expect_channel_error(1, 403)
        closes.append((close.reply_text, close.failing_class, close.failing_method))
    assert closes[0] == closes[1]


def test_without_remembered_logins_a_new_password_counts_at_once(broker, own_proxy, wires, user):
    proxy = own_proxy({"a": broker}, {"proxy.login_cache_ttl": "0"})
    wires(proxy, user=user, password="secret").close()
    broker.management.put(f"/users/{user}", {"password": "newer", "tags": ""}).expect(204)
    refusal(proxy, user=user, password="secret")
    wires(proxy, user=user, password="newer").call(1, "exchange.declare", exchange="amq.direct", passive=True)


def test_a_client_that_does_not_log_in_is_closed(broker, own_proxy):
    proxy = own_proxy({"a": broker}, {"proxy.handshake_timeout": "500ms"})
    with Wire(proxy.address) as wire:
        wire.expect_end()
    eventually(lambda: proxy.metric("amqproxy_client_connections") == 0)
