"""What every client does first: the scenarios that all languages in this folder's neighbours run, with pika and with aio-pika."""

import asyncio
import threading
import uuid

import aio_pika
import aiormq
import pika
import pytest
from conftest import bodies, connection_error, channel_error

BODY_10_MB = bytes(range(256)) * 40960


def test_hello_world(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    channel.basic_publish("", queue, b"Hello World!")
    method, properties, body = next(channel.consume(queue, auto_ack=True, inactivity_timeout=10))
    assert (body, method.routing_key, method.exchange, method.redelivered) == (b"Hello World!", queue, "", False)


def test_work_queue_shares_by_prefetch_and_acks(connect, name):
    queue = name()
    setup = connect().channel()
    setup.queue_declare(queue, durable=True)
    workers = [connect().channel() for _ in range(2)]
    taken = {0: [], 1: []}
    for number, worker in enumerate(workers):
        worker.basic_qos(prefetch_count=1)
        worker.basic_consume(queue, lambda channel, method, _, body, number=number: taken[number].append((method.delivery_tag, body)))
    for task in range(6):
        setup.basic_publish("", queue, str(task).encode(), pika.BasicProperties(delivery_mode=2))
    while not (taken[0] and taken[1]):
        for worker in workers:
            worker.connection.process_data_events(time_limit=0.1)
    assert len(taken[0]) == len(taken[1]) == 1, "prefetch 1 gave somebody more than one"
    while len(taken[0]) < 5:
        workers[0].basic_ack(taken[0][-1][0])
        before = len(taken[0])
        while len(taken[0]) == before:
            workers[0].connection.process_data_events(time_limit=1)
    assert sorted(body for _, body in taken[0] + taken[1]) == [str(task).encode() for task in range(6)]


def test_publish_subscribe_gives_all_a_copy(channel, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "fanout")
    queues = [channel.queue_declare("", exclusive=True).method.queue for _ in range(3)]
    for queue in queues:
        channel.queue_bind(queue, exchange)
    channel.basic_publish(exchange, "whatever", b"news")
    assert [bodies(channel, queue) for queue in queues] == [[b"news"]] * 3


def test_routing_by_direct_exchange(channel, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "direct")
    errors, everything = (channel.queue_declare("", exclusive=True).method.queue for _ in range(2))
    channel.queue_bind(errors, exchange, "error")
    for severity in ("info", "warning", "error"):
        channel.queue_bind(everything, exchange, severity)
        channel.basic_publish(exchange, severity, severity.encode())
    channel.basic_publish(exchange, "debug", b"debug")
    assert bodies(channel, errors) == [b"error"]
    assert bodies(channel, everything) == [b"info", b"warning", b"error"]


def test_topics(channel, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "topic")
    orange, rabbits, everything = (channel.queue_declare("", exclusive=True).method.queue for _ in range(3))
    channel.queue_bind(orange, exchange, "*.orange.*")
    channel.queue_bind(rabbits, exchange, "*.*.rabbit")
    channel.queue_bind(rabbits, exchange, "lazy.#")
    channel.queue_bind(everything, exchange, "#")
    keys = ["quick.orange.rabbit", "lazy.orange.elephant", "quick.orange.fox", "lazy.brown.fox", "lazy", "quick.brown.fox", "quick.orange.new.rabbit", "lazy.orange.new.rabbit", ""]
    for key in keys:
        channel.basic_publish(exchange, key, key.encode())
    assert bodies(channel, orange) == [b"quick.orange.rabbit", b"lazy.orange.elephant", b"quick.orange.fox"]
    assert bodies(channel, rabbits) == [b"quick.orange.rabbit", b"lazy.orange.elephant", b"lazy.brown.fox", b"lazy", b"lazy.orange.new.rabbit"]
    assert bodies(channel, everything) == [key.encode() for key in keys]


def test_rpc_over_direct_reply_to(connect, name):
    queue = name("rpc")
    server = connect().channel()
    server.queue_declare(queue, durable=True)
    client = connect().channel()
    replies = []
    client.basic_consume("amq.rabbitmq.reply-to", lambda *reply: replies.append(reply), auto_ack=True)
    client.basic_publish("", queue, b"20", pika.BasicProperties(reply_to="amq.rabbitmq.reply-to", correlation_id="7"))
    method, properties, body = next(server.consume(queue, auto_ack=True, inactivity_timeout=10))
    assert properties.reply_to.startswith("amq.rabbitmq.reply-to.")
    server.basic_publish("", properties.reply_to, str(int(body) * 2).encode(), pika.BasicProperties(correlation_id=properties.correlation_id))
    while not replies:
        client.connection.process_data_events(time_limit=1)
    _, method, properties, body = replies[0]
    assert (body, properties.correlation_id) == (b"40", "7")


def test_publisher_confirms(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    channel.confirm_delivery()
    for number in range(20):
        channel.basic_publish("", queue, str(number).encode(), pika.BasicProperties(delivery_mode=2), mandatory=True)
    with pytest.raises(pika.exceptions.UnroutableError):
        channel.basic_publish("", name("missing"), b"", mandatory=True)
    assert channel.queue_declare(queue, passive=True).method.message_count == 20


def test_a_body_of_10_mb(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    channel.basic_publish("", queue, BODY_10_MB, pika.BasicProperties(delivery_mode=2))
    method, _, body = next(channel.consume(queue, inactivity_timeout=30))
    assert body == BODY_10_MB
    channel.basic_ack(method.delivery_tag)


def test_consumer_in_a_thread_of_its_own(connect, name):
    queue = name()
    connect().channel().queue_declare(queue, durable=True)
    consumer = connect()
    channel = consumer.channel()
    taken = []

    def take(channel, method, _, body):
        taken.append(body)
        channel.basic_ack(method.delivery_tag)
        if len(taken) == 500:
            channel.stop_consuming()

    channel.basic_qos(prefetch_count=50)
    channel.basic_consume(queue, take)
    thread = threading.Thread(target=channel.start_consuming)
    thread.start()
    publisher = connect().channel()
    for number in range(500):
        publisher.basic_publish("", queue, str(number).encode())
    thread.join(30)
    assert taken == [str(number).encode() for number in range(500)]


# -- the same with asyncio


@pytest.fixture
async def aio_connection(broker):
    connection = await aio_pika.connect(broker.url, timeout=10)
    yield connection
    await connection.close()


async def test_aio_hello_world_and_work_queue(aio_connection, name):
    channel = await aio_connection.channel()
    await channel.set_qos(prefetch_count=2)
    queue = await channel.declare_queue(name(), durable=True)
    for number in range(10):
        await channel.default_exchange.publish(aio_pika.Message(str(number).encode(), delivery_mode=aio_pika.DeliveryMode.PERSISTENT), queue.name)
    taken = []
    async with queue.iterator(timeout=10) as messages:
        async for message in messages:
            async with message.process():
                taken.append(message.body)
            if len(taken) == 10:
                break
    assert taken == [str(number).encode() for number in range(10)]


@pytest.mark.parametrize("kind, key, expected", [("fanout", "", 2), ("direct", "a.b", 1), ("topic", "a.b", 2)])
async def test_aio_exchanges(aio_connection, name, kind, key, expected):
    channel = await aio_connection.channel()
    exchange = await channel.declare_exchange(name("x"), kind, durable=True)
    queues = [await channel.declare_queue(exclusive=True) for _ in range(2)]
    await queues[0].bind(exchange, "a.b")
    await queues[1].bind(exchange, "a.*")
    await exchange.publish(aio_pika.Message(b"m"), key)
    got = [await queue.get(no_ack=True, fail=False, timeout=10) for queue in queues]
    assert sum(message is not None for message in got) == expected


async def test_aio_rpc_over_direct_reply_to(aio_connection, name):
    server = await aio_connection.channel()
    requests = await server.declare_queue(name("rpc"), durable=True)

    async def answer(message):
        async with message.process():
            await server.default_exchange.publish(aio_pika.Message(message.body[::-1], correlation_id=message.correlation_id), message.reply_to)

    await requests.consume(answer)
    client = await aio_connection.channel()
    replies: asyncio.Queue = asyncio.Queue()
    reply_queue = await client.get_queue("amq.rabbitmq.reply-to", ensure=False)
    await reply_queue.consume(replies.put, no_ack=True)
    correlation_id = str(uuid.uuid4())
    await client.default_exchange.publish(aio_pika.Message(b"abc", reply_to="amq.rabbitmq.reply-to", correlation_id=correlation_id), requests.name)
    reply = await asyncio.wait_for(replies.get(), 10)
    assert (reply.body, reply.correlation_id) == (b"cba", correlation_id)


async def test_aio_publisher_confirms_and_returns(aio_connection, name):
    channel = await aio_connection.channel(publisher_confirms=True, on_return_raises=True)
    queue = await channel.declare_queue(name(), durable=True)
    await asyncio.gather(*(channel.default_exchange.publish(aio_pika.Message(b"x"), queue.name) for _ in range(100)))
    with pytest.raises(aio_pika.exceptions.DeliveryError):
        await channel.default_exchange.publish(aio_pika.Message(b"x"), name("missing"), mandatory=True)
    assert (await channel.declare_queue(queue.name, passive=True)).declaration_result.message_count == 100


async def test_aio_body_of_10_mb(aio_connection, name):
    channel = await aio_connection.channel()
    queue = await channel.declare_queue(name(), durable=True)
    await channel.default_exchange.publish(aio_pika.Message(BODY_10_MB), queue.name)
    assert (await queue.get(no_ack=True, timeout=30)).body == BODY_10_MB


async def test_aio_channel_errors_leave_the_connection(broker, aio_connection, name):
    missing, locked = name(), name()
    channel = await aio_connection.channel()
    with pytest.raises(aio_pika.exceptions.ChannelNotFoundEntity, match=f"NOT_FOUND - no queue '{missing}' in vhost '/'"):
        await channel.declare_queue(missing, passive=True)
    channel = await aio_connection.channel()
    with pytest.raises(aiormq.exceptions.ChannelAccessRefused):
        await channel.declare_queue("amq.mine", durable=True)
    channel = await aio_connection.channel()
    await channel.declare_queue(missing, durable=True)
    with pytest.raises(aio_pika.exceptions.ChannelPreconditionFailed):
        await channel.declare_queue(missing, durable=True, auto_delete=True)
    owner = await aio_pika.connect(broker.url, timeout=10)
    async with owner:
        await (await owner.channel()).declare_queue(locked, exclusive=True)
        channel = await aio_connection.channel()
        with pytest.raises(aiormq.exceptions.ChannelLockedResource, match=f"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{locked}' in vhost '/'"):
            await channel.declare_queue(locked, durable=True)
    # And the connection routes as before.
    channel = await aio_connection.channel()
    exchange = await channel.declare_exchange(name("x"), "topic", durable=True)
    queue = await channel.declare_queue(exclusive=True)
    await queue.bind(exchange, "a.*")
    await exchange.publish(aio_pika.Message(b"after all that"), "a.b")
    assert (await queue.get(no_ack=True, timeout=10)).body == b"after all that"


async def test_aio_connection_errors_end_it(broker):
    connection = await aio_pika.connect(broker.url, timeout=10)
    closed: asyncio.Future = asyncio.get_running_loop().create_future()
    connection.close_callbacks.add(lambda _, why: closed.done() or closed.set_result(why))
    channel = await connection.channel()
    queue = await channel.declare_queue(exclusive=True)
    await queue.consume(print, consumer_tag="mine")
    underlay = await channel.get_underlay_channel()
    # The library would refuse by itself to use a tag twice.
    underlay.consumers.clear()
    with pytest.raises(aio_pika.exceptions.AMQPError):
        await underlay.basic_consume(queue.name, print, consumer_tag="mine")
    why = await asyncio.wait_for(closed, 10)
    assert "NOT_ALLOWED - attempt to reuse consumer tag 'mine'" in str(why), why
    assert not connection.connected.is_set()
    await connection.close()


# -- one error of each class, as every language's program has it


def test_404_ends_the_channel(connection, name):
    missing = name()
    with channel_error(connection, 404, f"NOT_FOUND - no queue '{missing}' in vhost '/'"):
        connection.channel().queue_declare(missing, passive=True)


def test_403_ends_the_channel(connection):
    with channel_error(connection, 403, "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'"):
        connection.channel().queue_declare("amq.mine", durable=True)


def test_405_ends_the_channel(connect, name):
    queue = name()
    connect().channel().queue_declare(queue, exclusive=True)
    other = connect()
    with channel_error(
        other,
        405,
        f"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{queue}' in vhost '/'. It could be originally declared on another "
        "connection or the exclusive property value does not match that of the original declaration.",
    ):
        other.channel().queue_declare(queue, durable=True)


def test_406_ends_the_channel(connection, name):
    queue = name()
    connection.channel().queue_declare(queue, durable=True)
    with channel_error(connection, 406, f"PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue '{queue}' in vhost '/': received 'true' but current is 'false'"):
        connection.channel().queue_declare(queue, durable=True, auto_delete=True)


def test_530_ends_the_connection(connection, channel):
    queue = channel.queue_declare("", exclusive=True).method.queue
    with connection_error(connection, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'mine'"):
        for _ in range(2):
            channel._impl.basic_consume(queue, lambda *_: None, consumer_tag="mine")
            channel._impl._consumers.pop("mine", None)
            connection.process_data_events(time_limit=1)


def test_540_ends_the_connection(connection, channel):
    queue = channel.queue_declare("", exclusive=True).method.queue
    with connection_error(connection, 540, "NOT_IMPLEMENTED - prefetch_size!=0 (10)"):
        channel.basic_qos(prefetch_size=10)
    assert queue
