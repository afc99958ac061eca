"""Exchanges, bindings, and where messages go."""

import struct

import pika
import pytest
from blackbox import codec
from conftest import bodies, channel_error, drain


def inequivalent(argument, exchange, received, current):
    return f"PRECONDITION_FAILED - inequivalent arg '{argument}' for exchange '{exchange}' in vhost '/': received {received} but current is {current}"


@pytest.fixture
def queue(channel):
    """Declares exclusive queues of this channel: queue("orders")."""
    return lambda: channel.queue_declare("", exclusive=True).method.queue


# -- declaring and deleting


@pytest.mark.parametrize(
    "exchange, kind, internal",
    [("amq.direct", "direct", False), ("amq.fanout", "fanout", False), ("amq.topic", "topic", False), ("amq.headers", "headers", False), ("amq.match", "headers", False), ("amq.rabbitmq.trace", "topic", True)],
)
def test_the_predefined_exchanges_are_there(channel, exchange, kind, internal):
    channel.exchange_declare(exchange, kind, passive=True)
    channel.exchange_declare(exchange, kind, durable=True, internal=internal)


def test_a_missing_exchange_is_404(connection, name):
    missing = name("x")
    with channel_error(connection, 404, f"NOT_FOUND - no exchange '{missing}' in vhost '/'"):
        connection.channel().exchange_declare(missing, passive=True)


@pytest.mark.since("4.0")
def test_an_unknown_type_is_406(connection, name):
    # In 3.x it was 503, and ended the connection.
    with channel_error(connection, 406, "PRECONDITION_FAILED - unknown exchange type 'made-up'"):
        connection.channel().exchange_declare(name("x"), "made-up")


@pytest.mark.parametrize(
    "second, argument, received, current",
    [
        ({"exchange_type": "fanout"}, "type", "'fanout'", "'direct'"),
        ({"durable": False}, "durable", "'false'", "'true'"),
        ({"auto_delete": True}, "auto_delete", "'true'", "'false'"),
        ({"internal": True}, "internal", "'true'", "'false'"),
        ({"arguments": {"alternate-exchange": "other"}}, "alternate-exchange", "the value 'other' of type 'longstr'", "none"),
    ],
)
def test_a_second_declare_with_other_properties_is_406(connection, name, second, argument, received, current):
    exchange = name("x")
    connection.channel().exchange_declare(exchange, "direct", durable=True)
    with channel_error(connection, 406, inequivalent(argument, exchange, received, current)):
        connection.channel().exchange_declare(exchange, **{"exchange_type": "direct", "durable": True, **second})


def test_a_second_declare_with_unknown_arguments_is_the_same(channel, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "direct", arguments={"made-up": 1})
    channel.exchange_declare(exchange, "direct")


@pytest.mark.parametrize("exchange", ["amq.mine", "amq.rabbitmq.mine"])
def test_a_reserved_name_is_refused(connection, exchange):
    with channel_error(connection, 403, f"ACCESS_REFUSED - exchange name '{exchange}' contains reserved prefix 'amq.*'"):
        connection.channel().exchange_declare(exchange, "direct")
    with channel_error(connection, 404, f"NOT_FOUND - no exchange '{exchange}' in vhost '/'"):
        connection.channel().exchange_declare(exchange, passive=True)


def test_the_default_exchange_is_out_of_bounds(connection, queue):
    refused = "ACCESS_REFUSED - operation not permitted on the default exchange"
    for operation in (
        lambda channel: channel.exchange_declare("", "direct"),
        lambda channel: channel.exchange_declare("", passive=True),
        lambda channel: channel.exchange_delete(""),
        lambda channel: channel.queue_bind(queue(), "", "k"),
        lambda channel: channel.queue_unbind(queue(), "", "k"),
        lambda channel: channel.exchange_bind("amq.fanout", "", "k"),
        lambda channel: channel.exchange_bind("", "amq.fanout", "k"),
        lambda channel: channel.exchange_unbind("", "amq.fanout", "k"),
    ):
        with channel_error(connection, 403, refused):
            operation(connection.channel())


@pytest.mark.parametrize("exchange", ["amq.direct", "amq.rabbitmq.trace"])
def test_system_exchanges_cannot_be_deleted(connection, exchange):
    with channel_error(connection, 403, f"ACCESS_REFUSED - deletion of system exchange '{exchange}' in vhost '/' not allowed"):
        connection.channel().exchange_delete(exchange)


def test_deleting_a_missing_exchange_is_fine(channel, name):
    channel.exchange_delete(name("x"))
    channel.exchange_delete(name("x"), if_unused=True)


def test_delete_if_unused_of_a_bound_exchange_is_406(connection, channel, queue, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "direct")
    bound = queue()
    channel.queue_bind(bound, exchange, "k")
    with channel_error(connection, 406, f"PRECONDITION_FAILED - exchange '{exchange}' in vhost '/' in use"):
        connection.channel().exchange_delete(exchange, if_unused=True)
    channel.queue_unbind(bound, exchange, "k")
    channel.exchange_delete(exchange, if_unused=True)


def test_cr_and_lf_are_stripped_from_names(channel, name):
    exchange = name("x")
    channel.exchange_declare(f"\r\n{exchange}\r", "fanout")
    channel.exchange_declare(exchange, passive=True)


def test_an_auto_delete_exchange_goes_with_its_last_binding(connection, channel, queue, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "direct", auto_delete=True)
    first, second = queue(), queue()
    channel.queue_bind(first, exchange, "k")
    channel.queue_bind(second, exchange, "k")
    channel.queue_unbind(first, exchange, "k")
    channel.exchange_declare(exchange, passive=True)
    channel.queue_delete(second)
    with channel_error(connection, 404):
        connection.channel().exchange_declare(exchange, passive=True)


def test_an_auto_delete_exchange_goes_with_its_last_destination_exchange(connection, channel, name):
    source, destination = name("x"), name("x")
    channel.exchange_declare(source, "direct", auto_delete=True)
    channel.exchange_declare(destination, "fanout")
    channel.exchange_bind(destination, source, "k")
    channel.exchange_delete(destination)
    with channel_error(connection, 404):
        connection.channel().exchange_declare(source, passive=True)


def test_being_a_destination_keeps_no_auto_delete_exchange(connection, channel, queue, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "fanout", auto_delete=True)
    channel.exchange_bind(exchange, "amq.direct", exchange)
    bound = queue()
    channel.queue_bind(bound, exchange)
    channel.queue_unbind(bound, exchange)
    with channel_error(connection, 404):
        connection.channel().exchange_declare(exchange, passive=True)


def test_an_internal_exchange_takes_no_publishes_from_clients(connection, channel, queue, name):
    inner, outer = name("x"), name("x")
    channel.exchange_declare(inner, "fanout", internal=True)
    channel.exchange_declare(outer, "fanout")
    channel.exchange_bind(inner, outer)
    target = queue()
    channel.queue_bind(target, inner)
    channel.basic_publish(outer, "", b"through")
    assert bodies(channel, target) == [b"through"]
    with channel_error(connection, 403, f"ACCESS_REFUSED - cannot publish to internal exchange '{inner}' in vhost '/'"):
        other = connection.channel()
        other.basic_publish(inner, "", b"direct")
        other.queue_declare("", exclusive=True)


def test_publishing_to_a_missing_exchange_is_404(connection, name):
    missing = name("x")
    with channel_error(connection, 404, f"NOT_FOUND - no exchange '{missing}' in vhost '/'"):
        channel = connection.channel()
        channel.basic_publish(missing, "", b"lost")
        channel.queue_declare("", exclusive=True)


def test_a_deleted_exchange_is_missed_at_once(connection, channel, queue, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "fanout")
    target = queue()
    channel.queue_bind(target, exchange)
    channel.basic_publish(exchange, "", b"1")
    assert bodies(channel, target) == [b"1"]
    channel.exchange_delete(exchange)
    with channel_error(connection, 404):
        channel.basic_publish(exchange, "", b"2")
        channel.queue_declare("", exclusive=True)


# -- binding


def test_binding_what_is_missing_is_404(connection, channel, queue, name):
    missing, there = name("missing"), queue()
    for operation, what in (
        (lambda channel: channel.queue_bind(missing, "amq.direct", "k"), "queue"),
        (lambda channel: channel.queue_bind(there, missing, "k"), "exchange"),
        (lambda channel: channel.exchange_bind(missing, "amq.direct", "k"), "exchange"),
        (lambda channel: channel.exchange_bind("amq.direct", missing, "k"), "exchange"),
    ):
        with channel_error(connection, 404, f"NOT_FOUND - no {what} '{missing}' in vhost '/'"):
            operation(connection.channel())


def test_unbinding_what_is_not_bound_is_fine(channel, queue, name):
    channel.queue_unbind(queue(), "amq.direct", "never")
    channel.exchange_unbind("amq.fanout", "amq.direct", "never")
    channel.queue_unbind(queue(), name("missing"), "never")
    channel.queue_unbind(name("missing"), "amq.direct", "never")


def test_a_message_reaches_a_queue_once_however_often_it_is_bound(channel, queue, name):
    exchange, target = name("x"), queue()
    channel.exchange_declare(exchange, "topic")
    for key in ("#", "a.*", "a.b", "a.b", "*.b"):
        channel.queue_bind(target, exchange, key)
    channel.basic_publish(exchange, "a.b", b"once")
    assert bodies(channel, target) == [b"once"]


def test_binding_twice_is_undone_by_unbinding_once(channel, queue, name):
    target = queue()
    for _ in range(2):
        channel.queue_bind(target, "amq.direct", target)
    channel.queue_unbind(target, "amq.direct", target)
    channel.basic_publish("amq.direct", target, b"lost")
    assert bodies(channel, target) == []


def test_bindings_with_other_arguments_are_others(channel, queue):
    target = queue()
    channel.queue_bind(target, "amq.direct", target, {"a": 1})
    channel.queue_bind(target, "amq.direct", target, {"a": 2})
    channel.queue_unbind(target, "amq.direct", target, {"a": 1})
    channel.basic_publish("amq.direct", target, b"kept")
    channel.queue_unbind(target, "amq.direct", target, {"a": 2})
    channel.basic_publish("amq.direct", target, b"lost")
    assert bodies(channel, target) == [b"kept"]


# -- routing

KEYS = ["", "a", "b", "*", "#", ".", "a.", ".a", "a.b", "aa.b", "a.b.c", "a..b", "c.b.a", "a.b.c.d", "a.a.a", "A.b"]
PATTERNS = [
    "", "a", "*", "#", ".", "a.", "a.b", "*.*", "a.*", "*.b", "a.#", "#.b", "#.#", "*.#", "#.*", "a.#.b", "#.a.b", "#.a.#", "*.b.#", "*.b.*", "a.*.#",
    "*.#.c", "*.#.b.#.c", "a..b", "a.*.b", "*.*.*", "#.*.#", "a.b.c.d", "a.#.#.d",
]  # fmt: skip


def words(text):
    return text.split(".") if text else []


def matches(pattern, key):
    if not pattern:
        return not key
    if pattern[0] == "#":
        return any(matches(pattern[1:], key[start:]) for start in range(len(key) + 1))
    return bool(key) and pattern[0] in ("*", key[0]) and matches(pattern[1:], key[1:])


def test_topic_patterns_match_words(channel, queue, name):
    exchange = name("x")
    channel.exchange_declare(exchange, "topic")
    targets = {pattern: queue() for pattern in PATTERNS}
    for pattern, target in targets.items():
        channel.queue_bind(target, exchange, pattern)
    for key in KEYS:
        channel.basic_publish(exchange, key, key.encode())
    got = {pattern: [body.decode() for body in bodies(channel, target)] for pattern, target in targets.items()}
    assert got == {pattern: [key for key in KEYS if matches(words(pattern), words(key))] for pattern in PATTERNS}


@pytest.mark.since("4.3")
@pytest.mark.parametrize("pattern", ["#.a.#.a.#", "#.#.#"])
def test_more_than_two_hashes_in_a_binding_key_are_406(connection, channel, queue, pattern):
    target = queue()
    with channel_error(connection, 406, f"PRECONDITION_FAILED - Topic binding key '{pattern}' uses 3 '#' wildcards, at most 2 are allowed"):
        connection.channel().queue_bind(target, "amq.topic", pattern)
    channel.queue_bind(target, "amq.direct", pattern)


def check_headers(channel, queue, name, binding, headers, is_match):
    exchange, target = name("x"), queue()
    channel.exchange_declare(exchange, "headers")
    channel.queue_bind(target, exchange, "ignored", binding)
    channel.basic_publish(exchange, "key", b"m", pika.BasicProperties(headers=headers))
    assert (bodies(channel, target) == [b"m"]) is is_match


@pytest.mark.parametrize(
    "binding, headers, is_match",
    [
        ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 3}, True),
        ({"x-match": "all", "a": 1, "b": "x"}, {"a": 1}, False),
        ({"x-match": "all", "a": 1}, {"a": 2}, False),
        ({"x-match": "any", "a": 1, "b": "x"}, {"b": "x"}, True),
        ({"x-match": "any", "a": 1, "b": "x"}, {"a": 2, "b": "y"}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
        ({}, None, True),
        ({"x-match": "all"}, {}, True),
        ({"x-match": "any"}, {"a": 1}, False),
        ({"x-match": "all", "a": None}, {"a": "whatever"}, True),
        ({"x-match": "all", "a": None}, {"b": 1}, False),
        ({"x-match": "all", "x-a": 1, "b": 2}, {"b": 2}, True),
        ({"x-match": "any", "x-a": 1, "b": 2}, {"x-a": 1}, False),
        ({"x-match": "all", "a": 1}, {"a": "1"}, False),
        ({"x-match": "all", "a": True}, {"a": True}, True),
        ({"x-match": "all", "a": {"n": [1, "b"]}}, {"a": {"n": [1, "b"]}}, True),
        ({"x-match": "all", "a": 1}, None, False),
    ],
)
def test_headers_exchange(channel, queue, name, binding, headers, is_match):
    check_headers(channel, queue, name, binding, headers, is_match)


@pytest.mark.parametrize(
    "binding, headers, is_match",
    [
        ({"x-match": "all-with-x", "x-a": 1, "b": 2}, {"b": 2}, False),
        ({"x-match": "all-with-x", "x-a": 1, "b": 2}, {"b": 2, "x-a": 1}, True),
        ({"x-match": "any-with-x", "x-a": 1, "b": 2}, {"x-a": 1}, True),
        ({"x-match": "any-with-x", "x-a": 1, "b": 2}, {"x-a": 2}, False),
    ],
)
def test_headers_exchange_that_looks_at_x_headers_too(channel, queue, name, binding, headers, is_match):
    check_headers(channel, queue, name, binding, headers, is_match)


def test_header_integers_match_whatever_their_width(wire, name):
    exchange, target = name("x"), name()
    wire.call(1, "exchange.declare", exchange=exchange, type="headers")
    wire.call(1, "queue.declare", queue=target, exclusive=True)
    wire.call(1, "queue.bind", queue=target, exchange=exchange, arguments={"x-match": "all", "a": codec.Raw(b"l" + struct.pack(">q", 5))})
    for width in (b"b" + struct.pack(">b", 5), b"s" + struct.pack(">h", 5), b"I" + struct.pack(">i", 5), b"l" + struct.pack(">q", 5)):
        wire.publish(1, exchange, "", b"m", headers={"a": codec.Raw(width)})
    wire.wait_count(1, target, 4)


def test_an_invalid_x_match_is_406(connection, channel, queue):
    target = queue()
    with channel_error(connection, 406, "PRECONDITION_FAILED - Invalid x-match field value <<\"some\">>; expected all, any, all-with-x, or any-with-x"):
        connection.channel().queue_bind(target, "amq.headers", "", {"x-match": "some", "a": 1})
    with channel_error(connection, 406, "PRECONDITION_FAILED - Invalid x-match field type signedint (value 1); expected longstr"):
        connection.channel().queue_bind(target, "amq.headers", "", {"x-match": 1, "a": 1})


# -- exchanges behind exchanges


def test_exchange_to_exchange_bindings_route_on(channel, queue, name):
    outer, inner, target = name("x"), name("x"), queue()
    channel.exchange_declare(outer, "topic")
    channel.exchange_declare(inner, "direct")
    channel.exchange_bind(inner, outer, "a.#")
    channel.queue_bind(target, inner, "a.b")
    channel.basic_publish(outer, "a.b", b"yes")
    channel.basic_publish(outer, "a.c", b"no")
    message = drain(channel, target)
    assert [each.body for each in message] == [b"yes"]
    assert (message[0].method.exchange, message[0].method.routing_key) == (outer, "a.b")
    channel.exchange_unbind(inner, outer, "a.#")
    channel.basic_publish(outer, "a.b", b"lost")
    assert bodies(channel, target) == []


def test_cycles_of_exchanges_are_cut(channel, queue, name):
    ring = [name("x") for _ in range(3)]
    targets = [queue() for _ in ring]
    for exchange, target in zip(ring, targets, strict=True):
        channel.exchange_declare(exchange, "fanout")
        channel.queue_bind(target, exchange)
    for position, exchange in enumerate(ring):
        channel.exchange_bind(ring[(position + 1) % 3], exchange)
        channel.exchange_bind(exchange, exchange)
    channel.basic_publish(ring[1], "", b"m")
    assert [bodies(channel, target) for target in targets] == [[b"m"]] * 3


def test_a_diamond_of_exchanges_delivers_once(channel, queue, name):
    top, left, right, bottom = (name("x") for _ in range(4))
    target = queue()
    for exchange in (top, left, right, bottom):
        channel.exchange_declare(exchange, "fanout")
    for source, destination in ((top, left), (top, right), (left, bottom), (right, bottom)):
        channel.exchange_bind(destination, source)
    channel.queue_bind(target, bottom)
    channel.basic_publish(top, "", b"m")
    assert bodies(channel, target) == [b"m"]


@pytest.fixture
def alternates(channel, name):
    """Declares a direct exchange with an alternate."""

    def declare(alternate):
        exchange = name("x")
        channel.exchange_declare(exchange, "direct", arguments={"alternate-exchange": alternate})
        return exchange

    return declare


def test_an_alternate_exchange_takes_what_cannot_be_routed(channel, queue, name, alternates):
    last = name("x")
    channel.exchange_declare(last, "fanout")
    middle = alternates(last)
    first = alternates(middle)
    routed, caught = queue(), queue()
    channel.queue_bind(routed, first, "k")
    channel.queue_bind(caught, last)
    channel.basic_publish(first, "k", b"routed")
    channel.basic_publish(first, "other", b"caught")
    assert (bodies(channel, routed), bodies(channel, caught)) == ([b"routed"], [b"caught"])


def test_an_alternate_exchange_sees_the_messages_of_its_exchange_only(channel, queue, name, alternates):
    # The e2e binding matched, so the first exchange did route; that the second found nobody is the second's affair.
    caught = queue()
    alternate, dead_end = name("x"), name("x")
    channel.exchange_declare(alternate, "fanout")
    channel.exchange_declare(dead_end, "direct")
    channel.queue_bind(caught, alternate)
    first = alternates(alternate)
    channel.exchange_bind(dead_end, first, "k")
    channel.basic_publish(first, "k", b"m")
    assert bodies(channel, caught) == []


def test_a_message_that_the_alternate_takes_counts_as_routed(wire, name):
    exchange, alternate, target = name("x"), name("x"), name()
    wire.call(1, "exchange.declare", exchange=alternate, type="fanout")
    wire.call(1, "exchange.declare", exchange=exchange, type="direct", arguments={"alternate-exchange": alternate})
    wire.call(1, "queue.declare", queue=target, exclusive=True)
    wire.call(1, "confirm.select")
    wire.publish(1, exchange, "k", b"returned", mandatory=True)
    assert wire.expect_message("basic.return").body == b"returned"
    wire.expect("basic.ack")
    wire.call(1, "queue.bind", queue=target, exchange=alternate)
    wire.publish(1, exchange, "k", b"taken", mandatory=True)
    wire.expect("basic.ack")


def test_alternates_in_a_circle_or_missing_drop_the_message(channel, queue, name, alternates):
    missing = name("missing")
    lonely = alternates(missing)
    channel.basic_publish(lonely, "k", b"dropped")
    first, second = name("x"), name("x")
    for exchange, alternate in ((first, second), (second, first)):
        channel.exchange_declare(exchange, "direct", arguments={"alternate-exchange": alternate})
    channel.basic_publish(first, "k", b"dropped")
    caught = queue()
    channel.exchange_declare(missing, "fanout")
    channel.queue_bind(caught, missing)
    channel.basic_publish(lonely, "k", b"now it is there")
    assert bodies(channel, caught) == [b"now it is there"]


def test_routing_follows_every_change_of_bindings(channel, queue, name):
    exchange, target, other = name("x"), queue(), queue()
    channel.exchange_declare(exchange, "topic")
    expected = []
    for number in range(30):
        channel.basic_publish(exchange, "a.b", b"before")
        channel.queue_bind(target, exchange, "a.*")
        channel.basic_publish(exchange, "a.b", b"%d" % number)
        expected.append(b"%d" % number)
        channel.queue_bind(other, exchange, "a.#")
        channel.queue_unbind(target, exchange, "a.*")
        channel.basic_publish(exchange, "a.b", b"after")
        channel.queue_unbind(other, exchange, "a.#")
    assert bodies(channel, target) == expected
    assert bodies(channel, other) == [b"after"] * 30
