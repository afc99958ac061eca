"""What goes round in circles, as fast as it can: other clients are served, and the broker ends when it is told to."""

import time

import pytest

TURNS_S = 3
PUBLISHED_COUNT = LAP_COUNT = 2_000
pytestmark = pytest.mark.warren_only("RabbitMQ is not held to this")


def declare(wire, name: str, **arguments) -> None:
    named = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
    wire.call(1, "queue.declare", queue=name, durable=True, arguments=named)


def test_shovels_in_a_circle(victim):
    broker = victim(management=True)
    with broker.wire(timeout=30) as wire:
        for queue in ("a", "b"):
            declare(wire, queue)
        uri = f"amqp://guest:guest@127.0.0.1:{broker.port}"
        for source, destination in (("a", "b"), ("b", "a")):
            value = {"src-uri": uri, "src-queue": source, "dest-uri": uri, "dest-queue": destination, "ack-mode": "on-confirm"}
            broker.management.put(f"/parameters/shovel/%2F/{source}", {"value": value}).expect(201)
        for number in range(100):
            wire.publish(1, "", "a", b"%d" % number, delivery_mode=2)
        time.sleep(TURNS_S)
        for source in ("a", "b"):
            broker.management.delete(f"/parameters/shovel/%2F/{source}").expect(204)
        counts = []
        for queue in ("a", "b"):
            counts.append(wire.call(1, "queue.declare", queue=queue, passive=True).message_count)
        assert sum(counts) >= 100, f"{counts}: what goes round is not lost"


def test_dead_letters_that_a_client_keeps_rejecting(victim):
    broker = victim()
    with broker.wire(timeout=30) as wire:
        declare(wire, "r", dead_letter_exchange="", dead_letter_routing_key="r")
        wire.publish(1, "", "r", b"m", delivery_mode=2)
        wire.call(1, "basic.consume", queue="r")
        # Each rejection brings it round once more.
        for _ in range(LAP_COUNT):
            delivery = wire.expect_message()
            wire.send_method(1, "basic.reject", delivery_tag=delivery.method.delivery_tag, requeue=False)


def test_dead_letters_in_a_circle_behind_a_rejection(victim):
    """A queue whose messages expire at once and are its own dead letters, filled by another's rejected ones."""
    broker = victim()
    with broker.wire(timeout=30) as wire:
        declare(wire, "b", message_ttl=0, dead_letter_exchange="", dead_letter_routing_key="b")
        declare(wire, "a", dead_letter_exchange="", dead_letter_routing_key="b")
        wire.publish(1, "", "a", b"m", delivery_mode=2)
        wire.call(1, "basic.consume", queue="a")
        delivery = wire.expect_message()
        wire.send_method(1, "basic.reject", delivery_tag=delivery.method.delivery_tag, requeue=False)
        time.sleep(TURNS_S)
        assert wire.call(1, "queue.declare", queue="b", passive=True).message_count == 0


def test_alternate_exchanges_in_a_ring(victim):
    broker = victim()
    with broker.wire(timeout=30) as wire:
        ring = ["x0", "x1", "x2"]
        for number, name in enumerate(ring):
            alternate = {"alternate-exchange": ring[(number + 1) % len(ring)]}
            wire.call(1, "exchange.declare", exchange=name, type="topic", durable=True, arguments=alternate)
        for number, name in enumerate(ring):
            wire.call(1, "exchange.bind", source=name, destination=ring[(number + 1) % len(ring)], routing_key="bound")
        for number in range(PUBLISHED_COUNT):
            wire.publish(1, "x0", "bound" if number % 2 else "unbound", b"m", mandatory=True)
        for _ in range(PUBLISHED_COUNT):
            assert wire.expect_message("basic.return").method.reply_text == "NO_ROUTE"
