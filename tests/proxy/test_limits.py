"""How many clients may come in, and how fast they may send."""

import time

import pytest
from blackbox.proxy import eventually
from blackbox.wire import Closed, Torn, Wire

V1 = "PROXY TCP4 {} 198.51.100.1 40001 5672\r\n"


def is_let_in(proxy, **how) -> bool:
    """Whether a client comes in, who leaves again at once."""
    try:
        with proxy.wire(**how) as wire:
            wire.close()
        return True
    except (Closed, Torn, ConnectionError, AssertionError):
        return False


def check_is_full(proxy, **how):
    """A client more is not let in."""
    with pytest.raises((Closed, Torn, ConnectionError)):
        proxy.wire(**how)


def test_no_more_than_so_many_clients_come_in_and_who_leaves_makes_room(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.limits.connections": "2"})
    eventually(lambda: proxy.metric("amqproxy_client_connections") == 0, "who looked whether it is ready has left")
    first, second = wires(proxy), wires(proxy)
    check_is_full(proxy)
    second.close()
    eventually(lambda: is_let_in(proxy), "there is room again")
    first.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.await_log("connection limit (2) is reached")


def test_a_user_with_too_many_clients_is_told(broker, own_proxy, wires, user):
    proxy = own_proxy({"a": broker}, {"proxy.limits.connections_per_user": "1"})
    one = wires(proxy, user=user, password="secret")
    with Wire(proxy.address) as wire:
        wire.login(user=user, password="secret")
        wire.expect("connection.tune")
        wire.send_method(0, "connection.tune-ok", channel_max=2047, frame_max=131072, heartbeat=0)
        wire.send_method(0, "connection.open", virtual_host="/")
        wire.expect_connection_error(530, f"NOT_ALLOWED - connection limit (1) of user '{user}' is reached")
    wires(proxy)
    one.close()
    eventually(lambda: is_let_in(proxy, user=user, password="secret"), "there is room again")


def test_wrong_passwords_do_not_take_a_users_places(broker, own_proxy, wires, user):
    proxy = own_proxy({"a": broker}, {"proxy.limits.connections_per_user": "1"})
    guessing = Wire(proxy.address)
    guessing.login(user=user, password="wrong")
    wires(proxy, user=user, password="secret").call(1, "exchange.declare", exchange="amq.direct", passive=True)
    guessing.drop()


def test_an_address_has_its_own_limit(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, {"proxy.limits.connections_per_address": "2", "proxy.proxy_protocol": "true"}, preface=b"PROXY UNKNOWN\r\n")
    crowd = [wires(proxy, preface=V1.format("192.0.2.7").encode()) for _ in range(2)]
    check_is_full(proxy, preface=V1.format("192.0.2.7").encode())
    wires(proxy, preface=V1.format("192.0.2.8").encode())
    crowd[0].close()
    eventually(lambda: is_let_in(proxy, preface=V1.format("192.0.2.7").encode()), "there is room again")


def test_limits_may_be_only_told(broker, own_proxy, wires):
    settings = {"proxy.limits.connections": "1", "proxy.limits.connections_per_user": "1", "proxy.limits.connections_per_address": "1"}
    proxy = own_proxy({"a": broker}, {**settings, "proxy.limits.alarm_only": "true"})
    for _ in range(3):
        wires(proxy).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    proxy.await_log("limit reached")


def test_clients_come_in_no_faster_than_allowed(broker, own_proxy):
    proxy = own_proxy({"a": broker}, {"proxy.limits.connection_rate_per_address": "2", "proxy.limits.connection_burst_per_address": "3"})
    came = [is_let_in(proxy) for _ in range(12)]
    assert not all(came)
    eventually(lambda: is_let_in(proxy), "a while later there is room")


def test_a_user_sends_no_faster_than_allowed_and_others_do(broker, own_proxy, wires, user, name):
    proxy = own_proxy({"a": broker}, {"proxy.limits.byte_rate_per_user": "200kB"})
    slow, fast = wires(proxy, user=user, password="secret"), wires(proxy)
    # The burst that everybody has at first is one second's.
    started_at = time.monotonic()
    slow.call(1, "confirm.select")
    for _ in range(10):
        slow.publish(1, "", "nobody", bytes(100_000))
    fast.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert time.monotonic() - started_at < 2
    slow.expect_confirms(1, 1, 10)
    assert time.monotonic() - started_at > 2


def test_all_clients_together_come_in_no_faster_than_allowed(broker, own_proxy):
    settings = {"proxy.limits.connection_rate": "1", "proxy.limits.connection_burst": "3", "proxy.proxy_protocol": "true"}
    proxy = own_proxy({"a": broker}, settings, preface=b"PROXY UNKNOWN\r\n")
    # Each from another address.
    came = [is_let_in(proxy, preface=V1.format(f"192.0.2.{number}").encode()) for number in range(1, 21)]
    assert not all(came)
    eventually(lambda: is_let_in(proxy), "a while later there is room")


def test_all_clients_together_send_no_faster_than_allowed_and_lose_nothing(broker, own_proxy, wires, user):
    proxy = own_proxy({"a": broker}, {"proxy.limits.byte_rate": "1MB"})
    crowd = [wires(proxy), wires(proxy), wires(proxy, user=user, password="secret"), wires(proxy, user=user, password="secret")]
    for wire in crowd:
        wire.call(1, "confirm.select")
    started_at = time.monotonic()
    # No client sends as much as is allowed in a second; what all of them send takes two.
    for _ in range(15):
        for wire in crowd:
            wire.publish(1, "", "nobody", bytes(50_000))
    for wire in crowd:
        wire.expect_confirms(1, 1, 15)
    assert time.monotonic() - started_at > 1.5
