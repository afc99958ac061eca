"""Messages that are dropped because they are there already. In RabbitMQ that is a plugin's (`rabbitmq_message_deduplication`), of which only the first
meaning, in classic queues, is common to both: the rest is Warren's, or LavinMQ's."""

import time

import pika
import pytest

pytestmark = pytest.mark.warren_only("RabbitMQ has it as a plugin")


def publish(channel, exchange, key, body, **headers):
    properties = pika.BasicProperties(delivery_mode=2, headers={"x-deduplication-header": key, **headers})
    channel.basic_publish(exchange, "q", body, properties)


def take_all(channel, queue):
    bodies = []
    while True:
        method, _, body = channel.basic_get(queue, auto_ack=True)
        if method is None:
            return bodies
        bodies.append(body)


@pytest.fixture
def deduplicated(channel, name):
    """Declares a queue that drops duplicates, bound to an exchange of its own name."""
    declared = []

    def declare(**arguments):
        queue = name("q")
        channel.queue_declare(queue, durable=True, arguments={"x-message-deduplication": True, **arguments})
        channel.exchange_declare(queue, "fanout", durable=True)
        channel.queue_bind(queue, queue)
        declared.append(queue)
        return queue

    yield declare
    for queue in declared:
        channel.queue_delete(queue)
        channel.exchange_delete(queue)


def test_what_is_there_is_dropped_and_confirmed(channel, deduplicated):
    queue = deduplicated()
    channel.confirm_delivery()
    for key in ("a", "a", b"a", 1, 1, "1", True):
        publish(channel, queue, key, repr(key).encode())
    method, _, body = channel.basic_get(queue)
    assert body == b"'a'"
    publish(channel, queue, "a", b"while it is unacked")
    channel.basic_ack(method.delivery_tag)
    publish(channel, queue, "a", b"again")
    taken = take_all(channel, queue)
    assert taken[-1] == b"again" and len(taken) == 5, taken
    assert b"while it is unacked" not in taken


def test_a_window_outlives_the_message(channel, deduplicated):
    queue = deduplicated(**{"x-cache-ttl": 60_000})
    publish(channel, queue, "a", b"1")
    publish(channel, queue, "b", b"2", **{"x-cache-ttl": 200})
    assert take_all(channel, queue) == [b"1", b"2"]
    publish(channel, queue, "b", b"3")
    assert take_all(channel, queue) == []
    time.sleep(0.3)
    publish(channel, queue, "a", b"4")
    publish(channel, queue, "b", b"5")
    assert take_all(channel, queue) == [b"5"]


def test_an_exchange_drops_before_it_routes(channel, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "topic", arguments={"x-message-deduplication": True, "x-cache-size": 2})
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, exchange, "#")
    for key in ("a", "a", "b", "a", "c", "a"):
        publish(channel, exchange, key, key.encode())
    assert take_all(channel, queue) == [b"a", b"b", b"c", b"a"]
    channel.exchange_delete(exchange)


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_keys_outlive_a_restart(own_broker, how):
    broker = own_broker()
    with broker.wire() as wire:
        arguments = {"x-message-deduplication": True}
        wire.call(1, "exchange.declare", exchange="x", type="fanout", durable=True, arguments=arguments)
        wire.call(1, "queue.declare", queue="q", durable=True, arguments=arguments)
        wire.call(1, "queue.bind", queue="q", exchange="x")
        wire.call(1, "confirm.select")
        wire.publish(1, "", "q", b"straight", delivery_mode=2, headers={"x-deduplication-header": "a"})
        wire.publish(1, "x", "", b"by x", delivery_mode=2, headers={"x-deduplication-header": "b"})
        wire.expect_confirms(1, 1, 2)
    if how == "terminate":
        broker.terminate()
        broker.wait_ended()
    else:
        broker.kill()
    broker.start()
    connection = pika.BlockingConnection(pika.ConnectionParameters(broker.host, broker.port))
    channel = connection.channel()
    channel.confirm_delivery()
    for key in ("a", "c"):
        publish(channel, "", key, b"again")
    for key in ("b", "c", "d"):
        publish(channel, "x", key, b"again by x")
    # The queue has had `c` from elsewhere.
    assert take_all(channel, "q") == [b"straight", b"by x", b"again", b"again by x"]
    publish(channel, "", "a", b"free")
    publish(channel, "x", "b", b"known")
    assert take_all(channel, "q") == [b"free"]
    connection.close()
