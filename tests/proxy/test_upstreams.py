"""Several upstreams: shares, fail-over, a spare one, vhosts of their own, draining."""

import socket
from contextlib import suppress
from threading import Thread

import pytest
from blackbox.proxy import eventually
from blackbox.wire import Wire


def consume(wires, proxy, name, **how):
    """A client with an upstream connection of its own."""
    wire = wires(proxy, **how)
    wire.call(1, "basic.consume", queue=wire.call(1, "queue.declare", queue=name(), exclusive=True).queue)
    return wire


def upstreams_of(proxy):
    """How many connections each upstream has."""
    return {upstream["name"]: upstream["connections"] for upstream in proxy.get("/upstreams")}


def test_upstreams_of_equal_weight_get_equal_shares(broker, own_broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker, "b": own_broker()})
    # Which one is by chance: fewer than these come once in 100,000 runs.
    for _ in range(30):
        consume(wires, proxy, name)
    shares = upstreams_of(proxy)
    assert min(shares.values()) >= 4, shares


def test_weights_are_shares(broker, own_broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker, "b": own_broker()}, {"proxy.upstreams.a.weight": "4"})
    for _ in range(50):
        consume(wires, proxy, name)
    shares = upstreams_of(proxy)
    assert shares["a"] > shares["b"] > 0, shares


def test_the_least_connections_decide_where_it_is_said_so(broker, own_broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker, "b": own_broker()}, {"proxy.strategy": "least_connections"})
    for _ in range(10):
        consume(wires, proxy, name)
    shares = upstreams_of(proxy)
    assert abs(shares["a"] - shares["b"]) <= 2, shares


def test_when_an_upstream_dies_clients_go_to_the_other(broker, own_broker, own_proxy, wires, name):
    dying = own_broker()
    proxy = own_proxy({"dying": dying, "well": broker})
    idle = [wires(proxy) for _ in range(4)]
    for wire in idle:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    dying.kill()
    for wire in idle:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    for _ in range(4):
        consume(wires, proxy, name)
    proxy.await_state("dying", "down")
    assert upstreams_of(proxy)["dying"] == 0
    assert proxy.text("/readyz") == "OK"


def test_a_spare_upstream_is_used_only_while_no_other_is_up(broker, own_broker, own_proxy, wires, name):
    first = own_broker()
    proxy = own_proxy({"first": first, "spare": broker}, {"proxy.upstreams.spare.weight": "0"})
    for _ in range(5):
        consume(wires, proxy, name).drop()
    assert upstreams_of(proxy)["spare"] == 0
    first.kill()
    proxy.await_state("first", "down")
    consume(wires, proxy, name).drop()
    assert proxy.upstream("spare")["dialled"] > 0
    first.start()
    proxy.await_state("first", "up")
    dialled = proxy.upstream("spare")["dialled"]
    for _ in range(5):
        consume(wires, proxy, name).drop()
    assert proxy.upstream("spare")["dialled"] == dialled


def test_a_vhost_is_only_on_the_upstream_that_names_it(broker, own_broker, own_proxy, wires, name, vhost):
    other = own_broker()
    proxy = own_proxy({"general": other, "special": broker}, {"proxy.upstreams.special.vhosts.1": vhost})
    for _ in range(4):
        # `other` has no such vhost, and would refuse.
        consume(wires, proxy, name, virtual_host=vhost)
        consume(wires, proxy, name)
    places = {pool["vhost"]: {line["upstream"] for line in pool["connections"]} for pool in proxy.get("/pools")}
    assert places == {"/": {"general"}, vhost: {"special"}}


def test_lines_to_a_spare_upstream_return_when_another_one_is_up(broker, own_broker, own_proxy, wires, name):
    first = own_broker()
    proxy = own_proxy({"first": first, "spare": broker}, {"proxy.upstreams.spare.weight": "0"})
    first.kill()
    proxy.await_state("first", "down")
    idle, busy = wires(proxy), consume(wires, proxy, name)
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    first.start()
    proxy.await_state("first", "up")
    eventually(lambda: upstreams_of(proxy)["spare"] == 1, "only the consumer is there")
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    assert upstreams_of(proxy)["first"] > 0
    assert not busy.is_readable()


def test_a_vhost_that_no_upstream_serves_is_refused_at_once(broker, own_proxy, vhost):
    proxy = own_proxy({"a": broker}, {"proxy.upstreams.a.vhosts.1": vhost, "proxy.upstream_connections.wait_timeout": "1s"})
    with Wire(proxy.address) as wire:
        wire.login(user=broker.user, password=broker.password)
        wire.expect("connection.tune")
        wire.send_method(0, "connection.tune-ok", channel_max=2047, frame_max=131072, heartbeat=0)
        wire.send_method(0, "connection.open", virtual_host="/")
        close = wire.expect("connection.close")
        assert "no upstream serves the vhost '/'" in close.reply_text


def test_a_drained_upstream_is_left_by_idle_clients_and_used_again_afterwards(broker, own_broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker, "b": own_broker()}, {"proxy.upstreams.b.weight": "0"})
    idle, busy = wires(proxy), consume(wires, proxy, name)
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    before = upstreams_of(proxy)
    # One for publishes, one for calls, the consumer's own.
    assert before["a"] == 3 and before["b"] == 0, before

    proxy.operations.put("/upstreams/a/drain").expect(204)
    assert proxy.upstream("a")["state"] == "draining"
    # The consumer stays until it leaves.
    eventually(lambda: upstreams_of(proxy)["a"] == 1, "only the consumer is there")
    idle.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    consume(wires, proxy, name)
    assert upstreams_of(proxy)["a"] == 1
    assert not busy.is_readable()
    busy.close()
    eventually(lambda: upstreams_of(proxy)["a"] == 0, "nobody is there")

    proxy.operations.delete("/upstreams/a/drain").expect(204)
    proxy.await_state("a", "up")
    consume(wires, proxy, name)
    eventually(lambda: upstreams_of(proxy)["a"] > 0, "it is used again")


def test_an_unconfirmed_publish_is_confirmed_before_its_upstream_is_left(broker, own_broker, own_proxy, wires, name):
    proxy = own_proxy({"a": broker, "b": own_broker()}, {"proxy.upstreams.b.weight": "0"})
    wire = wires(proxy)
    wire.call(1, "confirm.select")
    for round_number in range(10):
        for _ in range(100):
            wire.publish(1, "", "nobody", b"x" * 1000)
        proxy.operations.call("PUT" if round_number % 2 == 0 else "DELETE", "/upstreams/a/drain").expect(204)
    wire.expect_confirms(1, 1, 1000)


@pytest.mark.parametrize(
    ("scheme", "says", "told"),
    [
        ("amqp", b"\x15\x03\x03\x00\x02\x02\x46", "it speaks TLS: use amqps:// in its URL, or another port"),
        ("amqp", b"HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks HTTP: use another port in its URL"),
        ("amqp", b"AMQP\x00\x01\x00\x00", "it speaks a version of AMQP other than 0-9-1"),
        ("amqps", b"AMQP\x00\x00\x09\x01", "127.0.0.1:{port} does not speak TLS: use amqp:// in its URL, or another port"),
    ],
)
def test_a_url_of_something_else_is_told_at_once(own_proxy, scheme, says, told):
    def answer():
        with suppress(OSError):
            while True:
                with listener.accept()[0] as stream:
                    stream.recv(1)
                    stream.sendall(says)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        Thread(target=answer, daemon=True).start()
        settings = {"proxy.upstreams.a.ssl_options.verify": "verify_none"} if scheme == "amqps" else {}
        proxy = own_proxy({"a": f"{scheme}://127.0.0.1:{port}"}, {"proxy.health_check.failures": "100", **settings})
        proxy.await_log(f'upstream is not well so far upstream=a error="{told.format(port=port)}"')
        listener.shutdown(socket.SHUT_RDWR)


def test_draining_an_upstream_that_is_not_there_is_404(proxy):
    assert "nobody" in proxy.operations.put("/upstreams/nobody/drain").expect(404).body.decode()
    proxy.operations.get("/upstreams/a/drain").expect(405)
