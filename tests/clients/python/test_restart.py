"""What a graceful stop does to clients, and what is there after the next start. For SIGKILL see tests/crash."""

import time

import pytest
from blackbox.wire import Closed


def test_sigterm_tells_clients_320_and_ends_with_0(own_broker):
    broker = own_broker()
    wires = [broker.wire() for _ in range(3)]
    broker.terminate()
    for wire in wires:
        close = wire.expect("connection.close")
        assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'")
        wire.answer_close()
        wire.expect_end()
    assert broker.wait_ended() == 0


@pytest.mark.warren_only("RabbitMQ takes seconds")
def test_an_empty_directory_is_ready_at_once(own_broker):
    started_at = time.monotonic()
    own_broker()
    # A hundredth of that is usual, and `bench/run start` measures it; but this machine may be busy.
    assert time.monotonic() - started_at < 2


def restart(broker, how):
    if how == "terminate":
        broker.terminate()
        broker.wait_ended()
    else:
        broker.kill()
    broker.start()


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_what_lasts_and_what_does_not(own_broker, how):
    broker = own_broker()
    with broker.wire() as wire:
        wire.call(1, "exchange.declare", exchange="lasting", type="topic", durable=True, arguments={"alternate-exchange": "caught", "other": 1})
        wire.call(1, "exchange.declare", exchange="caught", type="fanout", durable=True)
        wire.call(1, "exchange.declare", exchange="fleeting", type="direct")
        wire.call(1, "exchange.declare", exchange="headers", type="headers", durable=True)
        for queue in ("q1", "q2", "caught"):
            wire.call(1, "queue.declare", queue=queue, durable=True, arguments={"x-made-up": "kept"})
        wire.call(1, "queue.declare", queue="fleeting-q")
        wire.call(1, "queue.declare", queue="deleted-q", durable=True)
        wire.call(1, "queue.bind", queue="q1", exchange="lasting", routing_key="a.#")
        wire.call(1, "queue.bind", queue="q2", exchange="lasting", routing_key="*.b")
        wire.call(1, "queue.bind", queue="caught", exchange="caught")
        wire.call(1, "queue.bind", queue="q1", exchange="fleeting", routing_key="k")
        wire.call(1, "queue.bind", queue="q2", exchange="headers", arguments={"x-match": "any", "n": 1})
        wire.call(1, "exchange.bind", destination="lasting", source="amq.direct", routing_key="to-lasting")
        wire.call(1, "queue.delete", queue="deleted-q")
        wire.call(1, "confirm.select")
        body = bytes(range(256)) * 100
        publishes = [("lasting", "a.b", b"both", 2), ("", "q1", b"transient", 1), ("", "q1", body, 2), ("", "q2", b"", 2), ("lasting", "nowhere", b"caught", 2)]
        for exchange, key, message, delivery_mode in publishes:
            wire.publish(1, exchange, key, message, delivery_mode=delivery_mode, headers={"k": [1, {"n": None}]}, message_id="id")
        wire.expect_confirms(1, 1, len(publishes))

    restart(broker, how)
    with broker.wire() as wire:
        for queue in ("fleeting-q", "deleted-q"):
            wire.send_method(1, "queue.declare", queue=queue, passive=True)
            wire.expect_channel_error(1, 404)
        if broker.is_warren or broker.version < (4, 0):
            # RabbitMQ 4 keeps its transient exchanges in the same store as the others.
            wire.send_method(1, "exchange.declare", exchange="fleeting", passive=True)
            wire.expect_channel_error(1, 404)
        # The same declarations are equivalent still.
        wire.call(1, "exchange.declare", exchange="lasting", type="topic", durable=True, arguments={"alternate-exchange": "caught"})
        wire.call(1, "queue.declare", queue="q1", durable=True)
        got = {}
        for queue in ("q1", "q2", "caught"):
            got[queue] = []
            for _ in range(wire.call(1, "queue.declare", queue=queue, passive=True).message_count):
                wire.send_method(1, "basic.get", queue=queue, no_ack=True)
                message = wire.expect_message("basic.get-ok")
                assert message.properties == {"headers": {"k": [1, {"n": None}]}, "delivery_mode": 2, "message_id": "id"}
                got[queue].append(message.body)
        assert got == {"q1": [b"both", body], "q2": [b"both", b""], "caught": [b"caught"]}
        # The bindings route as before.
        wire.publish(1, "amq.direct", "to-lasting", b"caught by the alternate")
        wire.publish(1, "headers", "", b"by headers", headers={"n": 1})
        wire.wait_count(1, "q2", 1)
        wire.wait_count(1, "caught", 1)
        wire.publish(1, "lasting", "a.b", b"both")
        wire.wait_count(1, "q1", 1)
        wire.wait_count(1, "q2", 2)


def test_messages_delivered_before_the_stop_come_back_marked(own_broker):
    broker = own_broker()
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
        wire.call(1, "confirm.select")
        for number in range(4):
            wire.publish(1, "", "q", b"%d" % number, delivery_mode=2)
            wire.expect("basic.ack")
        for _ in range(2):
            wire.send_method(1, "basic.get", queue="q")
            wire.expect_message("basic.get-ok")
        broker.terminate()
        with pytest.raises(Closed):
            while True:
                if wire.read().name == "connection.close":
                    wire.answer_close()
    broker.wait_ended()
    broker.start()
    with broker.wire() as wire:
        for number, redelivered in ((0, True), (1, True), (2, False), (3, False)):
            wire.send_method(1, "basic.get", queue="q", no_ack=True)
            message = wire.expect_message("basic.get-ok")
            assert (int(message.body), message.method.redelivered) == (number, redelivered)


@pytest.mark.warren_only("RabbitMQ has its own words")
def test_a_taken_port_and_a_taken_data_directory_end_the_start_with_1(own_broker, pytestconfig):
    from blackbox import broker as brokers

    first = own_broker()
    second = brokers.from_options(pytestconfig.option)
    try:
        second.settings["listeners.tcp.default"] = f"{first.host}:{first.port}"
        second.start(wait=False)
        assert second.wait_ended() == 1
        assert str(first.port) in second.log_tail()
        second.settings["listeners.tcp.default"] = f"{second.host}:{brokers.free_port()}"
        second.data_dir = first.data_dir
        second.start(wait=False)
        assert second.wait_ended() == 1
        assert str(first.data_dir) in second.log_tail()
    finally:
        second.remove()
    with first.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
