"""Exchanges that hash, choose at random or keep a history. In RabbitMQ most are plugins' (`rabbitmq_consistent_hash_exchange`,
`rabbitmq_random_exchange`, `rabbitmq_recent_history_exchange`): what is not enabled is skipped."""

import pika
import pytest
from conftest import bodies, channel_error
from pika import exceptions

HASHING = ["x-consistent-hash", "x-modulus-hash"]


@pytest.fixture
def declare(connection, name):
    """Declares an exchange of a type that the broker at hand may not have: declare("x-random")."""

    def declare_exchange(kind, **arguments):
        exchange = name("x")
        try:
            connection.channel().exchange_declare(exchange, kind, arguments=arguments)
        except exceptions.ChannelClosedByBroker as refused:
            if "unknown exchange type" in refused.reply_text:
                pytest.skip(f"the broker has no {kind}")
            raise
        return exchange

    return declare_exchange


@pytest.fixture
def queue(channel):
    """Declares exclusive queues of this channel: queue()."""
    return lambda: channel.queue_declare("", exclusive=True).method.queue


def refused(connection, text):
    return channel_error(connection, 406, f"PRECONDITION_FAILED - {text}")


@pytest.mark.parametrize("kind", HASHING)
def test_a_key_goes_to_one_queue_and_all_queues_get_some(channel, declare, queue, kind):
    exchange, queues = declare(kind), [queue() for _ in range(3)]
    for target in queues:
        channel.queue_bind(target, exchange, "1")
    for number in range(300):
        key = str(number % 100)
        channel.basic_publish(exchange, key, key.encode())
    found = [bodies(channel, target) for target in queues]
    assert all(found) and sum(map(len, found)) == 300
    keys = [set(taken) for taken in found]
    assert sum(map(len, keys)) == 100, "no key is in two queues"


@pytest.mark.parametrize("kind, expected", [("x-consistent-hash", 1), ("x-modulus-hash", 3)])
def test_the_keys_in_cc_count_for_a_modulus_only(channel, declare, queue, kind, expected):
    exchange, queues = declare(kind), [queue() for _ in range(3)]
    for target in queues:
        channel.queue_bind(target, exchange, "1")
    for number in range(60):
        channel.basic_publish(exchange, "one key", b"", pika.BasicProperties(headers={"CC": [str(number)]}))
    counts = [len(bodies(channel, target)) for target in queues]
    assert sum(counts) == 60 and sum(map(bool, counts)) == expected, counts


def test_weights_are_proportions(channel, declare, queue):
    exchange, small, large = declare("x-consistent-hash"), queue(), queue()
    channel.queue_bind(small, exchange, "1")
    channel.queue_bind(large, exchange, "4")
    for number in range(1000):
        channel.basic_publish(exchange, f"key {number}", b"")
    counts = [len(bodies(channel, target)) for target in (small, large)]
    assert sum(counts) == 1000 and 120 < counts[0] < 280, counts


@pytest.mark.parametrize(
    "argument, value, properties",
    [
        ("hash-header", "h", lambda text: {"headers": {"h": text}}),
        ("hash-header", "h", lambda text: {"headers": {"h": [text, "more"]}}),
        ("hash-property", "message_id", lambda text: {"message_id": text}),
        ("hash-property", "correlation_id", lambda text: {"correlation_id": text}),
        ("hash-property", "timestamp", lambda text: {"timestamp": int(text)}),
    ],
)
def test_headers_and_properties_are_hashed(channel, declare, queue, argument, value, properties):
    exchange, queues = declare("x-consistent-hash", **{argument: value}), [queue() for _ in range(3)]
    for target in queues:
        channel.queue_bind(target, exchange, "1")
    for number in range(100):
        channel.basic_publish(exchange, "one key", b"", pika.BasicProperties(**properties(str(number))))
    counts = [len(bodies(channel, target)) for target in queues]
    assert all(counts) and sum(counts) == 100, counts
    for number in range(100):
        channel.basic_publish(exchange, str(number), b"")
    counts = [len(bodies(channel, target)) for target in queues]
    assert sorted(counts) == [0, 0, 100], "what has nothing to hash goes one way"


@pytest.mark.parametrize(
    "kind, arguments, text",
    [
        ("x-consistent-hash", {"hash-property": "app_id"}, "Unsupported property: app_id"),
        ("x-consistent-hash", {"hash-header": "h", "hash-property": "message_id"}, "hash-header and hash-property are mutually exclusive"),
        ("x-recent-history", {"x-recent-history-length": 0}, "Invalid argument 0, 'x-recent-history-length' must be a positive integer"),
        ("x-recent-history", {"x-recent-history-length": "5"}, "Invalid argument <<\"5\">>, 'x-recent-history-length' must be a positive integer"),
    ],
)
def test_arguments_are_checked(connection, declare, name, kind, arguments, text):
    exchange = declare(kind)
    with refused(connection, text):
        connection.channel().exchange_declare(name("x"), kind, arguments=arguments)
    # Not those of a second declaration.
    connection.channel().exchange_declare(exchange, kind, arguments=arguments)


@pytest.mark.parametrize(
    "key, text",
    [
        ("many", 'The binding key must be an integer: <<"many">>'),
        ("", "The binding key must be an integer: <<>>"),
        ("½", 'The binding key must be an integer: <<"½"/utf8>>'),
        ("0", "The binding key must be greater than 0"),
        ("-7", "The binding key must be greater than 0"),
        ("10001", "The binding key must not exceed 10000"),
    ],
)
def test_a_weight_is_an_integer(connection, channel, declare, queue, key, text):
    exchange, target = declare("x-consistent-hash"), queue()
    with refused(connection, text):
        connection.channel().queue_bind(target, exchange, key)
    with refused(connection, text):
        connection.channel().exchange_bind("amq.fanout", exchange, key)
    channel.queue_bind(target, exchange, "+7")
    channel.queue_unbind(target, exchange, key)


@pytest.mark.since("4.0")
def test_a_local_random_exchange_takes_queues_without_a_key(connection, channel, declare, queue):
    exchange, target = declare("x-local-random"), queue()
    for key, bind in (
        ("key", lambda channel, key: channel.queue_bind(target, exchange, key)),
        ("key", lambda channel, key: channel.exchange_bind("amq.fanout", exchange, key)),
    ):
        with refused(connection, "Non empty binding 'key' key not permitted"):
            bind(connection.channel(), key)
    with refused(connection, "Destination not found"):
        connection.channel().exchange_bind("amq.fanout", exchange, "")
    channel.queue_bind(target, exchange, "")
    channel.basic_publish(exchange, "any key", b"one")
    assert bodies(channel, target) == [b"one"]


@pytest.mark.parametrize("kind", ["x-random", "x-local-random"])
def test_chance_uses_all_queues(channel, declare, queue, kind):
    exchange, queues = declare(kind), [queue() for _ in range(3)]
    for target in queues:
        channel.queue_bind(target, exchange, "")
    for _ in range(150):
        channel.basic_publish(exchange, "one key", b"")
    counts = [len(bodies(channel, target)) for target in queues]
    assert min(counts) > 15 and sum(counts) == 150, counts


def test_who_comes_later_gets_the_last_messages(channel, declare, queue):
    exchange, early = declare("x-recent-history", **{"x-recent-history-length": 3}), queue()
    channel.queue_bind(early, exchange, "one")
    for number in range(5):
        channel.basic_publish(exchange, "key", b"%d" % number)
    channel.basic_publish(exchange, "key", b"not kept", pika.BasicProperties(headers={"x-recent-history-no-store": True}))
    assert bodies(channel, early) == [b"0", b"1", b"2", b"3", b"4", b"not kept"]
    late = queue()
    channel.queue_bind(late, exchange, "another")
    assert bodies(channel, late) == [b"2", b"3", b"4"]
    channel.queue_bind(late, exchange, "another")
    assert bodies(channel, late) == []
    channel.queue_bind(late, exchange, "a third")
    assert bodies(channel, late) == [b"2", b"3", b"4"]


def test_an_exchange_that_is_bound_routes_the_history(channel, declare, queue, name):
    exchange, target, onward = declare("x-recent-history"), queue(), name("x")
    channel.exchange_declare(onward, "fanout")
    channel.queue_bind(target, onward)
    for body in (b"1", b"2"):
        channel.basic_publish(exchange, "key", body)
    channel.exchange_bind(onward, exchange)
    # RabbitMQ hands them over the newest first.
    assert sorted(bodies(channel, target)) == [b"1", b"2"]


@pytest.mark.parametrize("kind", [*HASHING, "x-random", "x-local-random", "x-recent-history"])
def test_what_nothing_is_bound_for_goes_to_the_alternate(channel, declare, queue, name, kind):
    alternate, caught = name("ae"), queue()
    channel.exchange_declare(alternate, "fanout")
    channel.queue_bind(caught, alternate)
    exchange = declare(kind, **{"alternate-exchange": alternate})
    channel.basic_publish(exchange, "k", b"lost")
    assert bodies(channel, caught) == [b"lost"]
