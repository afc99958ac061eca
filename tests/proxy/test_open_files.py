"""More clients than the proxy may have files."""

import pytest
from blackbox.proxy import eventually
from blackbox.wire import Closed, Timeout, Torn


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
