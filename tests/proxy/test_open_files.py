"""More clients than the proxy may have files."""

import pytest
from blackbox.proxy import eventually
from blackbox.wire import Closed, Timeout, Torn, Wire


def test_running_out_of_files_is_refused_clearly_and_survived(broker, own_proxy, wires):
    proxy = own_proxy({"a": broker}, files_max=64)
    first = wires(proxy)
    first.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    inside, refused = [], 0
    for _ in range(100):
        try:
            inside.append(wires(proxy, timeout=20, channels=0))
        except (Closed, Torn, ConnectionError):
            refused += 1
        except Timeout:
            pytest.fail("a connection for which there is no file waits instead of being refused")
    assert refused > 0 and len(inside) > 20, (refused, len(inside))
    proxy.await_log("the limit of open files is reached")
    # Those who are in are served.
    first.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    for wire in inside:
        wire.call(1, "channel.open")
    for wire in inside:
        wire.drop()

    def has_room():
        try:
            proxy.wire().close()
        except (Closed, Torn, ConnectionError):
            return False
        return True

    eventually(has_room, "there is room again")
    assert proxy.text("/healthz") == "OK"


def test_clients_leave_files_for_connections_to_the_broker(broker, own_proxy):
    """All come before any of them has logged in."""
    proxy = own_proxy({"a": broker}, files_max=64)
    clients = [Wire(proxy.address) for _ in range(100)]
    try:
        proxy.await_log("the limit of open files is reached")
        clients[0].login(user=broker.user, password=broker.password)
        clients[0].expect("connection.tune")
    finally:
        for wire in clients:
            wire.drop()


def test_a_limit_that_is_too_low_for_what_is_permitted_is_told_at_the_start(broker, own_proxy):
    own_proxy({"a": broker}, {"proxy.limits.connections": "50"}, files_max=64).await_log("the limit of open files has no room for as many clients")
    assert "no room" not in own_proxy({"a": broker}, {"proxy.limits.connections": "30"}, files_max=64).log()
