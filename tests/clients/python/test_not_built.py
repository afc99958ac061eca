"""What Warren has not built yet is refused by name, never ignored. These go when the thing comes."""

import pytest

pytestmark = pytest.mark.warren_only("not built yet")


@pytest.mark.parametrize("kind", ["stream"])
def test_queue_types(wire, name, kind):
    wire.send_method(1, "queue.declare", queue=name(), durable=True, arguments={"x-queue-type": kind})
    close = wire.expect("connection.close")
    assert close.reply_code == 540 and kind in close.reply_text, close


@pytest.mark.parametrize("kind", ["x-lvc"])
def test_exchange_types(wire, name, kind):
    wire.send_method(1, "exchange.declare", exchange=name("x"), type=kind, durable=True)
    close = wire.expect_one_of("connection.close", "channel.close")
    # Types of plugins that are not enabled are unknown to RabbitMQ: 406.
    assert close.reply_code in (540, 406) and kind in close.reply_text, close
