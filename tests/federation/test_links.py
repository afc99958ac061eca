"""What a link brings, and what it leaves at its upstream."""

import time
from contextlib import contextmanager

from blackbox.management import segment

TIMEOUT_S = 30.0


def until(is_so, what):
    """Waits until it is so: what it gave. `what` says what is wrong, or is asked for that."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (found := is_so()):
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(0.05)
    return found


@contextmanager
def policy(upstream, downstream, kind: str, pattern: str, **settings):
    """The downstream's queues or exchanges of these names are fed, and what has been made for that goes in the end."""
    api = downstream.management
    value = {"uri": upstream.url.rstrip("/"), "reconnect-delay": 1, **settings}
    api.put("/parameters/federation-upstream/%2F/up", {"value": value}).expect(201, 204)
    api.put("/policies/%2F/fed", {"pattern": pattern, "apply-to": kind, "definition": {"federation-upstream-set": "all"}}).expect(201, 204)
    try:
        yield
    finally:
        api.delete("/policies/%2F/fed")
        api.delete("/parameters/federation-upstream/%2F/up")


def running(downstream, count: int = 1) -> list[dict]:
    links = []

    def are_running():
        links[:] = downstream.management.get("/federation-links").json
        return links if [link.get("status") for link in links] == ["running"] * count else None

    return until(are_running, lambda: f"links are not up: {links}")


def bound(broker, exchange: str) -> list[str]:
    bindings = broker.management.get(f"/exchanges/%2F/{exchange}/bindings/source").json
    return sorted(binding["routing_key"] for binding in bindings)


def names(broker, kind: str) -> list[str]:
    return sorted(each["name"] for each in broker.management.get(f"/{kind}/%2F").json)


def take(wire, queue: str, count: int) -> list:
    """So many messages, in their order."""
    taken = []
    until(lambda: (message := wire.get(1, queue)) and taken.append(message) or len(taken) >= count, f"{len(taken)} of {count} arrived")
    return taken


def publish(wire, exchange: str, key: str, body: bytes, **properties) -> None:
    wire.publish(1, exchange, key, body, **properties)


def prepare(broker, kind: str, name: str) -> None:
    with broker.wire() as wire:
        if kind == "exchange":
            wire.call(1, "exchange.declare", exchange=name, type="topic", durable=True)
        wire.call(1, "queue.declare", queue=name, durable=True)


def clean(*brokers, name: str) -> None:
    for broker in brokers:
        with broker.wire() as wire:
            wire.call(1, "queue.delete", queue=name)
            wire.call(1, "exchange.delete", exchange=name)


def test_an_exchange_is_fed(ends):
    upstream, downstream = ends
    name = "fed.exchange"
    prepare(downstream, "exchange", name)
    with upstream.wire() as there, downstream.wire() as here:
        here.call(1, "queue.bind", queue=name, exchange=name, routing_key="a.#")
        with policy(upstream, downstream, "exchanges", r"^fed\.exchange$", **{"max-hops": 2}):
            (link,) = running(downstream)
            assert (link["type"], link["exchange"], link["upstream_exchange"]) == ("exchange", name, name)
            until(lambda: bound(upstream, name) == ["a.#"], "the binding is not there")
            here.call(1, "queue.bind", queue=name, exchange=name, routing_key="b.#")
            until(lambda: bound(upstream, name) == ["a.#", "b.#"], "the second binding is not there")
            for key in ("a.1", "c.1", "b.1"):
                publish(there, name, key, key.encode(), user_id="guest")
            first, second = take(here, name, 2)
            assert (first.body, second.body) == (b"a.1", b"b.1")
            # The user of another broker is not trusted.
            assert "user_id" not in first.properties
            (way,) = first.properties["headers"]["x-received-from"]
            assert (way["exchange"], way["vhost"], way["redelivered"]) == (name, "/", False)
            (waiting,) = [queue for queue in names(upstream, "queues") if queue.startswith("federation: ")]
            cluster_name = downstream.management.get("/cluster-name").json["name"]
            assert waiting == f"federation: {name} -> {cluster_name}"
            arguments = upstream.management.get(f"/queues/%2F/{segment(waiting)}").json["arguments"]
            assert arguments["x-internal-purpose"] == "federation"
            here.call(1, "queue.unbind", queue=name, exchange=name, routing_key="a.#")
            until(lambda: bound(upstream, name) == ["b.#"], "the binding has not gone")
        until(lambda: not [each for each in names(upstream, "queues") if each.startswith("federation: ")], "the queue was left")
        until(lambda: not [each for each in names(upstream, "exchanges") if each.startswith("federation: ")], "an exchange was left")
    clean(upstream, downstream, name=name)


def test_a_queue_is_fed_while_it_needs_messages(ends):
    upstream, downstream = ends
    name = "fed.queue"
    prepare(downstream, "queue", name)
    with upstream.wire() as there, downstream.wire() as here, policy(upstream, downstream, "queues", r"^fed\.queue$", **{"prefetch-count": 5}):
        (link,) = running(downstream)
        assert (link["type"], link["queue"], link["upstream_queue"]) == ("queue", name, name)
        for number in range(20):
            publish(there, "", name, b"%d" % number)
        until(lambda: there.call(1, "queue.declare", queue=name, passive=True).message_count == 20, "they are not there")
        here.call(1, "basic.qos", prefetch_count=1)
        here.call(1, "basic.consume", queue=name)
        for number in range(20):
            message = here.expect_message()
            assert message.body == b"%d" % number
            (way,) = message.properties["headers"]["x-received-from"]
            assert (way["queue"], way["visit-count"]) == (name, 1)
            assert message.properties["headers"]["x-original-routing-key"] == name
            here.send_method(1, "basic.ack", delivery_tag=message.method.delivery_tag)
    clean(upstream, downstream, name=name)


def test_both_feed_each_other_and_no_message_comes_round(ends):
    first, second = ends
    name = "fed.both"
    for broker in ends:
        prepare(broker, "exchange", name)
        with broker.wire() as wire:
            wire.call(1, "queue.bind", queue=name, exchange=name, routing_key="#")
    pattern = r"^fed\.both$"
    with policy(first, second, "exchanges", pattern, **{"max-hops": 5}), policy(second, first, "exchanges", pattern, **{"max-hops": 5}):
        for broker in ends:
            running(broker)
            # That of its own queue, and that of the other one's.
            until(lambda: len(bound(broker, name)) == 2, "the other one's binding is not there")  # noqa: B023
        with first.wire() as there, second.wire() as here:
            publish(there, name, "k", b"there")
            publish(here, name, "k", b"here")
            for wire in (there, here):
                assert sorted(message.body for message in take(wire, name, 2)) == [b"here", b"there"]
            time.sleep(0.3)
            assert there.get(1, name) is None and here.get(1, name) is None
    clean(first, second, name=name)


def test_a_link_says_why_it_is_down_and_is_restarted(ends):
    upstream, downstream = ends
    name = "fed.down"
    prepare(downstream, "exchange", name)
    api = downstream.management
    wrong = upstream.url.rstrip("/").replace("guest:guest", "guest:wrong")
    with policy(upstream, downstream, "exchanges", r"^fed\.down$", uri=wrong):
        (link,) = until(lambda: api.get("/federation-links/state/down").json, "no link is down")
        assert "wrong" not in str(link["error"]) + link["uri"]
    with policy(upstream, downstream, "exchanges", r"^fed\.down$"):
        (link,) = running(downstream)
        node = link["node"]
        api.delete(f"/federation-links/vhost/%2F/{link['id']}/{node}/restart").expect(204)
        running(downstream)
    clean(upstream, downstream, name=name)


def test_an_upstream_without_federation_feeds_too(warrens, plain_peer):
    name = "fed.plain"
    downstream = warrens[0]
    prepare(downstream, "exchange", name)
    with plain_peer.wire() as there, downstream.wire() as here:
        here.call(1, "queue.bind", queue=name, exchange=name, routing_key="#")
        with policy(plain_peer, downstream, "exchanges", r"^fed\.plain$"):
            running(downstream)
            far = {"x-received-from": [{"cluster-name": "far", "vhost": "/"}]}
            publish(there, name, "k", b"came far", headers=far)
            publish(there, name, "k", b"comes")
            (message,) = take(here, name, 1)
            assert message.body == b"comes"
    clean(plain_peer, downstream, name=name)


def test_a_link_from_the_same_broker_names_its_end_here(warrens):
    broker = warrens[1]
    api, name = broker.management, "fed.near"
    prepare(broker, "exchange", name)
    api.put("/vhosts/north", {}).expect(201)
    api.put("/permissions/north/guest", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
    uri = broker.url + "north"
    with policy(broker, broker, "exchanges", r"^fed\.near$", uri=uri):
        (link,) = running(broker)
        assert link["uri"] == uri.replace("guest:guest@", "")
        assert link["local_channel"]["vhost"] == "/"
    api.delete("/vhosts/north").expect(204)
    clean(broker, name=name)
