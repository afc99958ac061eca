"""Traces and spans of a broker behind the proxy name the clients themselves, not the proxy's connections."""

import pytest
from blackbox.collector import SAMPLED, Collector, attributes_of


@pytest.fixture
def collector():
    return Collector()


@pytest.fixture
def traced(own_broker, own_proxy, collector):
    broker = own_broker({"warren.otlp.endpoint": collector.url}, management=True)
    return own_proxy({"a": broker})


def local_name(wire, own=""):
    address, port = wire.socket.getsockname()[:2]
    return f"{address}:{port}" + (f" ({own})" if own else "")


@pytest.mark.warren_only("RabbitMQ sends no spans")
def test_spans_name_clients_that_share_a_connection(traced, collector, wires):
    first, second = wires(traced), wires(traced, properties={"connection_name": "shop"})
    first.call(1, "queue.declare", queue="q", durable=True)
    # In turns, by the same upstream connection, and on channels that were another client's before.
    for wire in (first, second, first):
        wire.publish(1, "", "q", b"m", headers=SAMPLED)
        wire.call(1, "queue.declare", queue="q", durable=True)
    spans = [span for span in collector.wait(9) if span["name"] == "publish"]
    spans.sort(key=lambda span: int(span["startTimeUnixNano"]))
    named = [attributes_of(span)["warren.on_behalf_of"] for span in spans]
    assert sorted(named) == sorted([local_name(first), local_name(second, "shop"), local_name(first)])
    assert {attributes_of(span)["client.address"] for span in spans} == {"127.0.0.1"}


@pytest.mark.warren_only("RabbitMQ sends no spans")
def test_spans_name_a_client_with_a_connection_of_its_own(traced, collector, wires):
    consumer = wires(traced, properties={"connection_name": "billing"})
    consumer.call(1, "queue.declare", queue="q", durable=True)
    consumer.call(1, "basic.consume", queue="q", no_ack=True)
    consumer.publish(1, "", "q", b"m", headers=SAMPLED)
    consumer.expect_message()
    spans = {span["name"]: span for span in collector.wait(4)}
    for name in ("publish", "deliver"):
        assert attributes_of(spans[name])["warren.on_behalf_of"] == local_name(consumer, "billing")
