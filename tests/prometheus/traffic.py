"""Traffic in which everything that is counted happens: what is scraped afterwards has a series for each.

The same calls for a RabbitMQ, whose names are recorded, and for a Warren, which is held against them.
"""

import time
from contextlib import contextmanager, suppress

import pika
from pika import exceptions

VHOSTS = ("shop", "depot")
CLASSIC, QUORUM, LIMITED, SHORT, DEAD = "orders", "invoices", "few", "soon over", "dead"
NODE_WAIT_S = 15.0
STATISTICS_S = 12.0


def _connect(broker, vhost="/", user=None, password=None):
    login = pika.PlainCredentials(user or broker.user, password or broker.password)
    return pika.BlockingConnection(pika.ConnectionParameters(broker.host, broker.port, vhost, login, socket_timeout=10))


def until(what, describe):
    deadline = time.monotonic() + NODE_WAIT_S
    while not what():
        assert time.monotonic() < deadline, f"{describe} did not come"
        time.sleep(0.01)


@contextmanager
def running(broker):
    """Everything is there and has happened; connections and consumers stay until the end."""
    for vhost in VHOSTS:
        broker.management.put(f"/vhosts/{vhost}", {}).expect(201)
        broker.management.put(f"/permissions/{vhost}/{broker.user}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
    with suppress(exceptions.AMQPError):
        _connect(broker, password="wrong").close()
    broker.management.as_user(broker.user, "wrong").get("/whoami")
    connections = [_connect(broker, vhost) for vhost in VHOSTS]
    try:
        for connection in connections:
            _happen(connection)
        yield connections
    finally:
        for connection in connections:
            with suppress(exceptions.AMQPError):
                connection.close()
        for vhost in VHOSTS:
            broker.management.delete(f"/vhosts/{vhost}").expect(204)


def come_and_go(broker):
    """Connects to a vhost in which exchanges are deleted, and what one of them delayed has gone on. Gives the connection; the vhost is `passing`."""
    broker.management.put("/vhosts/passing", {}).expect(201)
    broker.management.put(f"/permissions/passing/{broker.user}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
    connection = _connect(broker, "passing")
    channel = connection.channel()
    channel.queue_declare("few")
    for _ in range(3):
        # Of the last one there are series.
        channel.exchange_delete("again")
        channel.exchange_declare("again", "fanout")
        channel.queue_bind("few", "again")
        channel.basic_publish("again", "", b"")
    channel.exchange_declare("late", "x-delayed-message", arguments={"x-delayed-type": "fanout"})
    channel.queue_bind("few", "late")
    channel.basic_publish("late", "", b"", pika.BasicProperties(headers={"x-delay": 1}))
    until(lambda: channel.queue_declare("few", passive=True).method.message_count == 4, "a delayed message")
    return connection


def settle(broker):
    """Until statistics that a RabbitMQ gathers every five seconds are there."""
    if not broker.is_warren:
        time.sleep(STATISTICS_S)


def _happen(connection):
    closing = connection.channel()
    closing.close()
    plain, confirming, transactional = connection.channel(), connection.channel(), connection.channel()
    confirming.confirm_delivery()
    plain.exchange_declare("sales", "topic", durable=True)
    plain.queue_declare(CLASSIC, durable=True)
    plain.queue_declare(QUORUM, durable=True, arguments={"x-queue-type": "quorum", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD, "x-delivery-limit": 1})
    plain.queue_declare(LIMITED, durable=True, arguments={"x-max-length": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD})
    plain.queue_declare(SHORT, durable=True, arguments={"x-message-ttl": 1})
    plain.queue_declare(DEAD, durable=True)
    plain.queue_declare("gone")
    plain.queue_delete("gone")
    for queue in (CLASSIC, QUORUM, LIMITED, SHORT):
        plain.queue_bind(queue, "sales", "#" if queue == CLASSIC else queue)
    lasting = pika.BasicProperties(delivery_mode=2)
    # Sizes on both sides of the first buckets.
    for size in (1, 99, 101, 2_000):
        plain.basic_publish("sales", "a.b", b"x" * size, lasting)
        confirming.basic_publish("sales", QUORUM, b"x" * size, lasting)
    for number in range(3):
        plain.basic_publish("", LIMITED, b"%d" % number)
        plain.basic_publish("sales", SHORT, b"%d" % number)
    plain.basic_publish("amq.direct", "nobody", b"dropped")
    with suppress(exceptions.UnroutableError):
        confirming.basic_publish("amq.direct", "nobody", b"returned", mandatory=True)
    transactional.tx_select()
    transactional.basic_publish("", CLASSIC, b"not committed")
    _fetch(plain)
    _consume(connection)


def _fetch(channel):
    for queue in (CLASSIC, QUORUM):
        with_ack = _got(channel, queue)
        channel.basic_nack(with_ack.delivery_tag, requeue=True)
        again = _got(channel, queue)
        channel.basic_reject(again.delivery_tag, requeue=False)
        _got(channel, queue, auto_ack=True)
    channel.queue_declare("empty", durable=True)
    assert channel.basic_get("empty")[0] is None


def _got(channel, queue, auto_ack=False):
    found = []

    def look():
        method, _, _ = channel.basic_get(queue, auto_ack=auto_ack)
        found.append(method)
        return method is not None

    until(look, f"a message of {queue}")
    return found[-1]


def _consume(connection):
    """Consumers with and without acks, and messages that nobody acknowledges."""
    handed_out = []
    for queue in (CLASSIC, QUORUM):
        with_ack, without_ack = connection.channel(), connection.channel()
        with_ack.basic_qos(prefetch_count=1)
        with_ack.basic_consume(queue, lambda channel, method, *_: handed_out.append(method) or (len(handed_out) % 2 and channel.basic_ack(method.delivery_tag)))
        without_ack.basic_consume(DEAD, lambda *_: None, auto_ack=True)
        before = len(handed_out)

        def several(before=before):
            connection.process_data_events(0)
            return len(handed_out) >= before + 1

        until(several, f"a delivery of {queue}")
