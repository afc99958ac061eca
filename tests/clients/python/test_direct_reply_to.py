"""amq.rabbitmq.reply-to: replies without a reply queue."""

import pytest

PSEUDO = "amq.rabbitmq.reply-to"


@pytest.fixture
def queue(wires, name):
    """The server's queue of requests."""
    queue = name("requests")
    wires().call(1, "queue.declare", queue=queue, durable=True)
    return queue


@pytest.fixture
def client(wires):
    """A client that waits for replies."""
    client = wires()
    client.call(1, "basic.consume", queue=PSEUDO, consumer_tag="replies", no_ack=True)
    return client


def request(client, server, queue, body=b"request"):
    """Sends a request; what the server sees as reply-to."""
    client.publish(1, "", queue, body, reply_to=PSEUDO, correlation_id="1")
    server.wait_count(1, queue, 1)
    server.send_method(1, "basic.get", queue=queue, no_ack=True)
    message = server.expect_message("basic.get-ok")
    assert message.body == body
    return message.properties["reply_to"]


@pytest.mark.since("4.2")
def test_a_reply_reaches_the_requester(client, wires, queue):
    server = wires()
    reply_to = request(client, server, queue)
    assert reply_to.startswith(PSEUDO + ".") and len(reply_to) < 256
    server.call(1, "confirm.select")
    for number in range(3):
        server.publish(1, "", reply_to, b"%d" % number, correlation_id="1", mandatory=True)
        reply = client.expect_message()
        assert (reply.body, reply.properties["correlation_id"]) == (b"%d" % number, "1")
        assert (reply.method.consumer_tag, reply.method.redelivered, reply.method.exchange, reply.method.routing_key) == ("replies", False, "", reply_to)
        server.expect("basic.ack")


def test_a_reply_that_is_not_mandatory_reaches_the_requester(client, wires, queue):
    server = wires()
    server.publish(1, "", request(client, server, queue), b"reply")
    assert client.expect_message().body == b"reply"


def test_requests_may_go_through_any_exchange(client, wires, queue):
    server = wires()
    server.call(1, "queue.bind", queue=queue, exchange="amq.topic", routing_key=queue)
    client.publish(1, "amq.topic", queue, b"request", reply_to=PSEUDO)
    server.wait_count(1, queue, 1)
    server.send_method(1, "basic.get", queue=queue, no_ack=True)
    server.publish(1, "", server.expect_message("basic.get-ok").properties["reply_to"], b"reply")
    assert client.expect_message().body == b"reply"


def test_declaring_the_reply_address_tells_whether_somebody_waits(client, wires, queue):
    server = wires()
    reply_to = request(client, server, queue)
    assert server.call(1, "queue.declare", queue=reply_to, passive=True).queue == reply_to
    assert server.call(1, "queue.declare", queue=reply_to).queue == reply_to
    client.call(1, "basic.cancel", consumer_tag="replies")
    server.send_method(1, "queue.declare", queue=reply_to, passive=True)
    server.expect_channel_error(1, 404, f"NOT_FOUND - no queue '{reply_to}' in vhost '/'", "queue.declare")


def test_a_reply_to_somebody_gone_harms_nobody(client, wires, queue):
    server = wires()
    reply_to = request(client, server, queue)
    client.call(1, "channel.close", reply_code=200)
    server.call(1, "confirm.select")
    server.publish(1, "", reply_to, b"too late", mandatory=True)
    # RabbitMQ says nothing here; to return it is as good.
    if server.expect_one_of("basic.return", "basic.ack").name == "basic.return":
        server.read(), server.read()
        server.expect("basic.ack")
    server.expect_silence(1)
    client.call(1, "channel.open")
    client.expect_silence(1)


@pytest.mark.since("4.0")
def test_a_made_up_address_cannot_be_routed(wires):
    server = wires()
    server.call(1, "confirm.select")
    for made_up in (PSEUDO, PSEUDO + ".", PSEUDO + ".abc", PSEUDO + ".g1h2AAdyZXBseUAxAAAAAQAAAAEAAAAB.AAAA=="):
        server.publish(1, "", made_up, b"x", mandatory=True)
        server.expect_message("basic.return")
        server.expect("basic.ack")


def test_acknowledged_replies_are_not_to_be_had(wire):
    wire.send_method(1, "basic.consume", queue=PSEUDO, no_ack=False)
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - reply consumer cannot acknowledge", "basic.consume")


def test_a_second_reply_consumer_on_a_channel_is_406(client):
    client.send_method(1, "basic.consume", queue=PSEUDO, no_ack=True, consumer_tag="second")
    client.expect_channel_error(1, 406, "PRECONDITION_FAILED - reply consumer already set", "basic.consume")


def test_a_request_without_a_reply_consumer_is_406(wire, queue):
    wire.publish(1, "", queue, b"x", reply_to=PSEUDO)
    wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - fast reply consumer does not exist", "basic.publish")


def test_each_channel_has_its_own_replies(wires, queue):
    client, server = wires(channels=2), wires()
    for channel in (1, 2):
        client.call(channel, "basic.consume", queue=PSEUDO, consumer_tag=f"c{channel}", no_ack=True)
        client.publish(channel, "", queue, b"x", reply_to=PSEUDO)
        server.wait_count(1, queue, 1)
        server.send_method(1, "basic.get", queue=queue, no_ack=True)
        server.publish(1, "", server.expect_message("basic.get-ok").properties["reply_to"], b"%d" % channel)
        reply = client.expect_message()
        assert (reply.method.channel, reply.method.consumer_tag, reply.body) == (channel, f"c{channel}", b"%d" % channel)


def test_other_reply_to_values_are_left_alone(wire, queue):
    wire.publish(1, "", queue, b"x", reply_to="my-own-queue")
    wire.wait_count(1, queue, 1)
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert wire.expect_message("basic.get-ok").properties["reply_to"] == "my-own-queue"


@pytest.mark.parametrize("method", ["queue.purge", "queue.delete", "basic.get"])
def test_the_pseudo_queue_takes_little_else(wire, method):
    wire.send_method(1, method, queue=PSEUDO)
    got = wire.expect_one_of("channel.close", "queue.delete-ok", "queue.purge-ok", "basic.get-empty")
    assert got.name != "channel.close" or got.reply_code in (403, 404, 405, 406), got


@pytest.mark.since("4.2")
def test_an_address_has_two_parts(client, wires, queue):
    parts = request(client, wires(), queue).removeprefix(f"{PSEUDO}.").split(".")
    assert len(parts) == 2 and all(parts), parts


@pytest.mark.since("4.3")
@pytest.mark.parametrize("method", ["queue.bind", "queue.unbind"])
def test_nothing_is_bound_to_an_address(client, wires, queue, method):
    text = "ACCESS_REFUSED - cannot bind or unbind to a volatile (direct reply-to) queue"
    for address in (request(client, wires(), queue), f"{PSEUDO}.nobody.here"):
        other = wires()
        other.send_method(1, method, queue=address, exchange="amq.direct", routing_key="k")
        other.expect_channel_error(1, 403, text, method)
