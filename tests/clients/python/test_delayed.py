"""Messages that are delivered later. In RabbitMQ they are a plugin's (`rabbitmq_delayed_message_exchange`), which is skipped if it is not there."""

import time

import pika
import pytest
from pika import exceptions


@pytest.fixture
def later(connection, name):
    """A delayed exchange that routes by key."""
    exchange = name("later")
    try:
        connection.channel().exchange_declare(exchange, "x-delayed-message", durable=True, arguments={"x-delayed-type": "direct"})
    except exceptions.ChannelClosedByBroker as refused:
        if "unknown exchange type" in refused.reply_text or "invalid exchange type" in refused.reply_text:
            pytest.skip("the broker has no delayed exchanges")
        raise
    yield exchange
    connection.channel().exchange_delete(exchange)


def publish(channel, exchange, delay, body):
    channel.basic_publish(exchange, "key", body, pika.BasicProperties(delivery_mode=2, headers={"x-delay": delay, "kept": body}))


def take(channel, queue, count, within_s=10):
    """So many messages of a queue, each with when it came."""
    messages = []
    ends_at = time.monotonic() + within_s
    while len(messages) < count and time.monotonic() < ends_at:
        method, properties, body = channel.basic_get(queue, auto_ack=True)
        if method is None:
            channel.connection.process_data_events(0.002)
        else:
            messages.append((time.monotonic(), properties, body))
    return messages


def test_messages_come_when_they_are_due(channel, later):
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, later, "key")
    started_at = time.monotonic()
    for delay in (300, 100, 200):
        publish(channel, later, delay, str(delay).encode())
    publish(channel, later, -1, b"at once")
    messages = take(channel, queue, 4)
    assert [body for _, _, body in messages] == [b"at once", b"100", b"200", b"300"]
    for came_at, properties, body in messages[1:]:
        assert came_at - started_at >= int(body) / 1000, "it came early"
        assert properties.headers["x-delay"] == -int(body)
        assert properties.headers["kept"] == body


def test_a_confirm_comes_before_the_message_is_due(channel, later):
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.queue_bind(queue, later, "key")
    channel.confirm_delivery()
    started_at = time.monotonic()
    publish(channel, later, 1000, b"later")
    assert time.monotonic() - started_at < 1
    assert take(channel, queue, 1, within_s=0.2) == []
    assert [body for _, _, body in take(channel, queue, 1)] == [b"later"]


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_what_waits_outlives_a_restart(own_broker, how):
    broker = own_broker()
    with broker.wire() as wire:
        wire.call(1, "exchange.declare", exchange="later", type="x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"})
        wire.call(1, "queue.declare", queue="q", durable=True)
        wire.call(1, "queue.bind", queue="q", exchange="later")
        wire.call(1, "confirm.select")
        wire.publish(1, "later", "", b"waited", delivery_mode=2, headers={"x-delay": 1500})
        wire.expect_confirms(1, 1, 1)
    if how == "terminate":
        broker.terminate()
        broker.wait_ended()
    else:
        broker.kill()
    broker.start()
    parameters = pika.ConnectionParameters(broker.host, broker.port)
    connection = pika.BlockingConnection(parameters)
    messages = take(connection.channel(), "q", 1)
    assert [(body, properties.headers["x-delay"]) for _, properties, body in messages] == [(b"waited", -1500)]
    connection.close()
