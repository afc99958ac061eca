"""What a broker says is heard by the client that it concerns, in the broker's words, and by nobody else."""

import pytest


def outcome(wire, method, **arguments):
    """The close of a channel that this call brings about."""
    wire.send_method(1, method, **arguments)
    close = wire.expect_channel_error(1, None)
    return close.reply_code, close.reply_text, close.failing_class, close.failing_method


@pytest.fixture
def check_unharmed(wires):
    """A neighbour with a publish confirmed before, who must have heard nothing."""
    neighbour = wires(channels=2)
    neighbour.call(1, "confirm.select")
    neighbour.publish(1, "", "nobody")
    neighbour.expect_confirms(1, 1, 1)
    yield neighbour
    neighbour.call(2, "exchange.declare", exchange="amq.direct", passive=True)
    neighbour.publish(1, "", "nobody")
    neighbour.expect_confirms(1, 2, 2)


@pytest.mark.usefixtures("check_unharmed")
@pytest.mark.parametrize(
    ("code", "method", "arguments"),
    [
        (404, "queue.declare", {"queue": "no such queue", "passive": True}),
        (404, "basic.get", {"queue": "no such queue"}),
        (404, "basic.consume", {"queue": "no such queue"}),
        (404, "exchange.declare", {"exchange": "no such exchange", "passive": True}),
        (404, "queue.bind", {"queue": "no such queue", "exchange": "amq.direct"}),
        (406, "exchange.declare", {"exchange": "amq.direct", "type": "fanout"}),
        (406, "basic.ack", {"delivery_tag": 7}),
        (403, "exchange.declare", {"exchange": "amq.new", "type": "fanout"}),
        (403, "exchange.delete", {"exchange": "amq.direct"}),
    ],
)  # fmt: skip
def test_a_failed_call_closes_its_channel_in_the_brokers_words(broker, wires, code, method, arguments):
    through = outcome(wires(), method, **arguments)
    assert through[0] == code
    assert through == outcome(wires(broker), method, **arguments)


@pytest.mark.usefixtures("check_unharmed")
def test_another_declaration_of_a_queue_is_told_what_differs(broker, wires, name):
    queue = name()
    wires().call(1, "queue.declare", queue=queue, durable=True)
    through = outcome(wires(), "queue.declare", queue=queue, durable=True, arguments={"x-max-length": 5})
    assert through[0] == 406
    assert through == outcome(wires(broker), "queue.declare", queue=queue, durable=True, arguments={"x-max-length": 5})


@pytest.mark.usefixtures("check_unharmed")
def test_a_publish_to_no_exchange_closes_its_channel_in_the_brokers_words(broker, wires):
    closes = []
    for through in (None, broker):
        wire = wires(through)
        wire.publish(1, "no such exchange", "x", b"x")
        close = wire.expect_channel_error(1, 404)
        closes.append((close.reply_text, close.failing_class, close.failing_method))
        # The other channels of the client go on.
        wire.call(2, "channel.open")
    assert closes[0] == closes[1]


@pytest.mark.usefixtures("check_unharmed")
def test_an_error_of_the_connection_ends_its_client_only(wires):
    wire = wires()
    wire.send_method(7, "basic.qos", prefetch_count=1)
    wire.expect_connection_error(504)


@pytest.mark.usefixtures("check_unharmed")
def test_a_returned_message_comes_back_to_its_publisher(wires, name):
    one, other = wires(), wires()
    for number, wire in enumerate((one, other)):
        wire.call(1, "confirm.select")
        wire.publish(1, "", name("nowhere"), b"from %d" % number, mandatory=True, message_id=str(number))
    for number, wire in enumerate((one, other)):
        returned = wire.expect_message("basic.return")
        assert (returned.method.reply_code, returned.method.reply_text) == (312, "NO_ROUTE")
        assert (returned.body, returned.properties["message_id"]) == (b"from %d" % number, str(number))
        # The return comes before the confirm.
        wire.expect_confirms(1, 1, 1)


@pytest.mark.usefixtures("check_unharmed")
def test_a_returned_message_without_confirms_comes_alone(wires, name):
    wire = wires()
    wire.publish(1, "", name("nowhere"), b"back", mandatory=True)
    assert wire.expect_message("basic.return").body == b"back"
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)


@pytest.mark.usefixtures("check_unharmed")
def test_a_consumer_is_told_that_its_queue_is_gone(wires, name):
    queue, staying = name(), name()
    consumer, other, deleter = wires(), wires(), wires()
    deleter.call(1, "queue.declare", queue=queue)
    deleter.call(1, "queue.declare", queue=staying)
    consumer.call(1, "basic.consume", queue=queue, consumer_tag="mine")
    other.call(1, "basic.consume", queue=staying, consumer_tag="mine")
    deleter.call(1, "queue.delete", queue=queue)
    assert consumer.expect("basic.cancel", 1).consumer_tag == "mine"
    deleter.publish(1, "", staying, b"on")
    assert other.expect_message().body == b"on"


def test_an_empty_name_means_the_queue_that_the_client_declared_last(wires, name):
    both = [(wires(), name()) for _ in range(2)]
    for wire, queue in both:
        wire.call(1, "queue.declare", queue=queue, durable=True)
        wire.publish(1, "", queue, queue.encode())
        wire.wait_count(1, queue, 1)
    for wire, queue in both:
        wire.send_method(1, "basic.get", queue="", no_ack=True)
        assert wire.expect_message("basic.get-ok").body == queue.encode()
