"""Declaring, purging and deleting queues, and who may."""

import pika
import pytest
from conftest import bodies, channel_error

LOCKED = (
    "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{}' in vhost '/'. It could be originally declared on another connection or "
    "the exclusive property value does not match that of the original declaration."
)


def inequivalent(argument, queue, received, current):
    return f"PRECONDITION_FAILED - inequivalent arg '{argument}' for queue '{queue}' in vhost '/': received {received} but current is {current}"


def test_declare_ok_counts_messages_and_consumers(connection, name):
    queue = name()
    channel = connection.channel()
    channel.confirm_delivery()
    assert channel.queue_declare(queue, durable=True).method.message_count == 0
    for _ in range(3):
        channel.basic_publish("", queue, b"x")
    # One consumer with one message: two stay ready.
    consumer = connection.channel()
    consumer.basic_qos(prefetch_count=1)
    consumer.basic_consume(queue, lambda *_: None)
    connection.process_data_events(time_limit=0.1)
    ok = channel.queue_declare(queue, passive=True).method
    assert (ok.queue, ok.message_count, ok.consumer_count) == (queue, 2, 1)
    again = channel.queue_declare(queue, durable=True).method
    assert (again.message_count, again.consumer_count) == (2, 1)


def test_passive_declare_ignores_everything_but_the_name(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    assert channel.queue_declare(queue, passive=True, durable=False, auto_delete=True, arguments={"x-anything": 1}).method.queue == queue


def test_server_named_queues_get_long_random_names(channel):
    names = {channel.queue_declare("", exclusive=True).method.queue for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith("amq.gen-") and len(name) == len("amq.gen-") + 22 for name in names)


def test_the_last_declared_queue_is_meant_when_none_is_named(wire, name):
    queue = name()
    wire.call(1, "queue.declare", queue=queue, durable=True)
    wire.publish(1, "", queue, b"first")
    wire.send_method(1, "basic.get", queue="", no_ack=True)
    assert wire.expect_message("basic.get-ok").body == b"first"
    # Without a key as well, the queue's name is the key.
    wire.call(1, "queue.bind", queue="", exchange="amq.direct", routing_key="")
    wire.publish(1, "amq.direct", queue, b"second")
    assert wire.call(1, "queue.purge", queue="").message_count == 1
    wire.call(1, "queue.unbind", queue="", exchange="amq.direct", routing_key="")
    wire.publish(1, "amq.direct", queue, b"third")
    assert wire.call(1, "queue.delete", queue="").message_count == 0


def test_a_passive_declaration_without_a_name_finds_nothing(wire, name):
    wire.call(1, "queue.declare", queue=name(), exclusive=True)
    wire.send_method(1, "queue.declare", queue="", passive=True)
    wire.expect_channel_error(1, 404, "NOT_FOUND - no queue '' in vhost '/'", "queue.declare")


@pytest.mark.parametrize("method", ["queue.purge", "queue.delete", "basic.get", "basic.consume"])
def test_no_queue_declared_before_is_404(wire, method):
    wire.send_method(1, method, queue="")
    wire.expect_channel_error(1, 404, "NOT_FOUND - no previously declared queue", method)


@pytest.mark.parametrize("method", ["queue.purge", "basic.get", "basic.consume"])
def test_a_missing_queue_is_404(wire, name, method):
    missing = name()
    wire.send_method(1, method, queue=missing)
    wire.expect_channel_error(1, 404, f"NOT_FOUND - no queue '{missing}' in vhost '/'", method)


def test_deleting_a_missing_queue_is_fine(wire, name):
    assert wire.call(1, "queue.delete", queue=name()).message_count == 0


def test_cr_and_lf_are_stripped_from_names(wire, name):
    queue = name()
    assert wire.call(1, "queue.declare", queue=f"{queue[:6]}\r\n{queue[6:]}\n", durable=True).queue == queue
    assert wire.call(1, "queue.declare", queue=queue, passive=True).queue == queue


def test_names_may_be_255_bytes_of_anything(wire):
    queue = "ü/ %" + "x" * 250
    assert wire.call(1, "queue.declare", queue=queue, exclusive=True).queue == queue
    wire.publish(1, "", queue, b"m")
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    assert wire.expect_message("basic.get-ok").method.routing_key == queue


def test_a_reserved_name_is_refused_unless_passive(connection):
    with channel_error(connection, 403, "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'"):
        connection.channel().queue_declare("amq.mine", exclusive=True)
    with channel_error(connection, 404, "NOT_FOUND - no queue 'amq.mine' in vhost '/'"):
        connection.channel().queue_declare("amq.mine", passive=True)


def test_not_even_a_server_named_queue_can_be_declared_again_by_name(connection, channel):
    generated = channel.queue_declare("", exclusive=True).method.queue
    assert connection.channel().queue_declare(generated, passive=True).method.queue == generated
    with channel_error(connection, 403, f"ACCESS_REFUSED - queue name '{generated}' contains reserved prefix 'amq.*'"):
        connection.channel().queue_declare(generated, exclusive=True)


def test_a_second_declare_with_auto_delete_changed_is_406(connection, name):
    queue = name()
    connection.channel().queue_declare(queue, exclusive=True, auto_delete=True)
    with channel_error(connection, 406, inequivalent("auto_delete", queue, "'false'", "'true'")):
        connection.channel().queue_declare(queue, exclusive=True)


def test_a_second_declare_with_durable_changed_is_406(connection, name):
    queue = name()
    connection.channel().queue_declare(queue, durable=True)
    with channel_error(connection, 406, inequivalent("durable", queue, "'false'", "'true'")):
        connection.channel().queue_declare(queue)


def test_exclusive_queues_are_never_durable_so_that_flag_may_differ(channel, name):
    queue = name()
    channel.queue_declare(queue, exclusive=True, durable=True)
    channel.queue_declare(queue, exclusive=True)


def test_a_second_declare_with_the_exclusive_flag_changed_is_405(connection, name):
    queue = name()
    connection.channel().queue_declare(queue, exclusive=True)
    with channel_error(connection, 405, LOCKED.format(queue)):
        connection.channel().queue_declare(queue)
    queue = name()
    connection.channel().queue_declare(queue, durable=True)
    with channel_error(connection, 405, LOCKED.format(queue)):
        connection.channel().queue_declare(queue, durable=True, exclusive=True)


def test_unknown_arguments_may_differ(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True, arguments={"x-made-up": 1, "other": "a"})
    channel.queue_declare(queue, durable=True, arguments={"x-made-up": 2, "more": True})
    channel.queue_declare(queue, durable=True)


def test_queue_type_classic_is_the_same_as_none(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True, arguments={"x-queue-type": "classic"})
    channel.queue_declare(queue, durable=True)
    other = name()
    channel.queue_declare(other, durable=True)
    channel.queue_declare(other, durable=True, arguments={"x-queue-type": "classic"})


def test_an_unknown_queue_type_is_406(connection, name):
    queue = name()
    with channel_error(connection, 406, "PRECONDITION_FAILED - invalid arg 'x-queue-type' for queue '{}' in vhost '/': \"unsupported queue type 'made-up'\"".format(queue)):
        connection.channel().queue_declare(queue, durable=True, arguments={"x-queue-type": "made-up"})


def test_transient_queues_that_are_not_exclusive_are_permitted(channel, name):
    assert channel.queue_declare(name(), durable=False).method.message_count == 0


@pytest.mark.parametrize("arguments", [{"x-queue-mode": "lazy"}, {"x-queue-mode": "default"}, {"x-queue-version": 2}])
def test_arguments_of_older_clients_are_accepted(channel, name, arguments):
    channel.queue_declare(name(), durable=True, arguments=arguments)


# -- exclusive and auto-delete


@pytest.mark.parametrize(
    "method, more",
    [("queue.declare", {"exclusive": True}), ("queue.declare", {"passive": True}), ("queue.purge", {}), ("queue.delete", {}), ("basic.get", {}), ("basic.consume", {})],
)
def test_exclusive_queues_are_locked_for_other_connections(wires, name, method, more):
    queue = name()
    wires().call(1, "queue.declare", queue=queue, exclusive=True)
    other = wires()
    other.send_method(1, method, queue=queue, **more)
    other.expect_channel_error(1, 405, LOCKED.format(queue), method)


def test_exclusive_queues_cannot_be_bound_by_other_connections(wires, name):
    queue = name()
    wires().call(1, "queue.declare", queue=queue, exclusive=True)
    other = wires()
    other.send_method(1, "queue.bind", queue=queue, exchange="amq.direct", routing_key="k")
    other.expect_channel_error(1, 405, LOCKED.format(queue), "queue.bind")


def test_anybody_may_publish_to_an_exclusive_queue(wires, name):
    owner, other = wires(), wires()
    queue = name()
    owner.call(1, "queue.declare", queue=queue, exclusive=True)
    other.call(1, "confirm.select")
    other.publish(1, "", queue, b"hello")
    other.expect("basic.ack")
    assert owner.call(1, "queue.purge", queue=queue).message_count == 1


def test_an_exclusive_queue_is_gone_when_its_connection_has_closed(wires, name):
    queue = name()
    for _ in range(20):
        owner = wires(channels=2)
        owner.call(2, "queue.declare", queue=queue, exclusive=True, durable=True)
        owner.call(2, "channel.close", reply_code=200)
        owner.publish(1, "", queue, b"m")
        owner.close()
        # At once: the next declaration must not find it locked, nor full.
        with_new = wires()
        assert with_new.call(1, "queue.declare", queue=queue, durable=True, exclusive=True).message_count == 0
        with_new.close()


def test_an_exclusive_queue_is_gone_when_its_connection_was_cut(wires, name):
    queue = name()
    owner = wires()
    owner.call(1, "queue.declare", queue=queue, exclusive=True)
    owner.drop()
    other = wires()
    while True:
        other.send_method(1, "queue.declare", queue=queue, passive=True)
        if other.expect_channel_error(1, None).reply_code == 404:
            break


def test_auto_delete_waits_for_a_first_consumer_and_goes_with_the_last(wires, name):
    queue = name()
    wire = wires(channels=3)
    wire.call(1, "queue.declare", queue=queue, durable=True, auto_delete=True)
    wire.call(1, "basic.consume", queue=queue, consumer_tag="a")
    wire.call(2, "basic.consume", queue=queue, consumer_tag="b")
    wire.call(1, "basic.cancel", consumer_tag="a")
    assert wire.call(3, "queue.declare", queue=queue, passive=True).consumer_count == 1
    wire.call(2, "channel.close", reply_code=200)
    wire.send_method(3, "queue.declare", queue=queue, passive=True)
    wire.expect_channel_error(3, 404)


def test_auto_delete_does_not_count_basic_get(wire, name):
    queue = name()
    wire.call(1, "queue.declare", queue=queue, durable=True, auto_delete=True)
    wire.send_method(1, "basic.get", queue=queue)
    wire.expect("basic.get-empty")
    assert wire.call(1, "queue.declare", queue=queue, passive=True).queue == queue


def test_a_reply_text_that_is_too_long_is_cut(wires, name):
    queue = name() + "x" * 150
    wires().call(1, "queue.declare", queue=queue, exclusive=True)
    other = wires()
    other.send_method(1, "basic.get", queue=queue)
    close = other.expect_channel_error(1, 405)
    assert close.reply_text == LOCKED.format(queue)[:252] + "..."


# -- purge and delete


def test_purge_counts_and_drops_what_is_ready_only(connection, name):
    queue = name()
    channel = connection.channel()
    channel.queue_declare(queue, durable=True)
    for number in range(5):
        channel.basic_publish("", queue, str(number).encode())
    held, _, _ = channel.basic_get(queue)
    assert channel.queue_purge(queue).method.message_count == 4
    channel.basic_nack(held.delivery_tag, requeue=True)
    assert bodies(channel, queue) == [b"0"]


def test_delete_counts_what_was_ready(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    for _ in range(3):
        channel.basic_publish("", queue, b"x")
    assert channel.queue_delete(queue).method.message_count == 3


def test_delete_if_empty_of_a_queue_with_messages_is_406(connection, name):
    queue = name()
    channel = connection.channel()
    channel.queue_declare(queue, durable=True)
    channel.basic_publish("", queue, b"x")
    with channel_error(connection, 406, f"PRECONDITION_FAILED - queue '{queue}' in vhost '/' not empty"):
        channel.queue_delete(queue, if_empty=True)
    assert bodies(connection.channel(), queue) == [b"x"]
    connection.channel().queue_delete(queue, if_empty=True)


def test_delete_if_unused_of_a_queue_with_a_consumer_is_406(connection, name):
    queue = name()
    consumer = connection.channel()
    consumer.queue_declare(queue, durable=True)
    consumer.basic_consume(queue, lambda *_: None)
    with channel_error(connection, 406, f"PRECONDITION_FAILED - queue '{queue}' in vhost '/' in use"):
        connection.channel().queue_delete(queue, if_unused=True)
    consumer.close()
    connection.channel().queue_delete(queue, if_unused=True)
    with channel_error(connection, 404):
        connection.channel().queue_declare(queue, passive=True)


def test_a_deleted_queue_takes_its_bindings_with_it(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    channel.queue_bind(queue, "amq.topic", queue + ".#")
    channel.queue_delete(queue)
    channel.queue_declare(queue, durable=True)
    channel.basic_publish("amq.topic", queue + ".x", b"lost")
    channel.basic_publish("", queue, b"kept")
    assert bodies(channel, queue) == [b"kept"]


def test_nowait_declares_are_carried_out_in_silence(wire, name):
    queue, exchange = name(), name("x")
    wire.send_method(1, "queue.declare", queue=queue, durable=True, nowait=True)
    wire.send_method(1, "exchange.declare", exchange=exchange, type="direct", nowait=True)
    wire.send_method(1, "queue.bind", queue=queue, exchange=exchange, routing_key="k", nowait=True)
    wire.publish(1, exchange, "k", b"m")
    wire.wait_count(1, queue, 1)
    wire.send_method(1, "queue.purge", queue=queue, nowait=True)
    wire.send_method(1, "queue.delete", queue=queue, if_empty=True, nowait=True)
    wire.send_method(1, "exchange.delete", exchange=exchange, nowait=True)
    wire.send_method(1, "queue.declare", queue=queue, passive=True)
    wire.expect_channel_error(1, 404)


def test_messages_keep_all_their_properties(channel, name):
    queue = name()
    channel.queue_declare(queue, durable=True)
    properties = pika.BasicProperties(
        content_type="text/plain", content_encoding="utf-8", headers={"a": 1, "b": {"c": [1, "two", True, None, 2**40, b"\x00"]}},
        delivery_mode=2, priority=3, correlation_id="c", reply_to="r", message_id="m", timestamp=1700000000, type="t", user_id="guest",
        app_id="app", cluster_id="cluster",
    )  # fmt: skip
    channel.basic_publish("", queue, b"body", properties)
    _, received, body = channel.basic_get(queue, auto_ack=True)
    assert body == b"body"
    assert {key: value for key, value in vars(received).items()} == vars(properties)
