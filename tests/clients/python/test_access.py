"""Users with less than all permissions, on brokers of their own."""

import pytest
from blackbox.wire import Wire


@pytest.fixture
def limited(own_broker, pytestconfig):
    """A broker whose only user, alice, may configure ^mine, write ^(mine|inbox) and read ^(mine|outbox)."""
    write, read = "write", "read"
    if pytestconfig.option.peer:
        # RabbitMQ 4.3 takes the one for the other.
        write, read = read, write
    return own_broker(
        {
            "default_user": "alice",
            "default_pass": "secret",
            "default_user_tags.administrator": "false",
            "default_permissions.configure": "^mine",
            f"default_permissions.{write}": "^(mine|inbox|amq.default)",
            f"default_permissions.{read}": "^(mine|outbox)",
        }
    )


def refused(what, kind, thing):
    return f"ACCESS_REFUSED - {what} access to {kind} '{thing}' in vhost '/' refused for user 'alice'"


@pytest.mark.since("4.0")
def test_permissions_are_checked(limited):
    with limited.wire() as wire:
        wire.call(1, "queue.declare", queue="mine-q", durable=True)
        wire.call(1, "exchange.declare", exchange="mine-x", type="topic", durable=True)
        wire.call(1, "queue.bind", queue="mine-q", exchange="mine-x", routing_key="#")
        wire.call(1, "exchange.bind", destination="mine-x", source="mine-x", routing_key="k")
        wire.publish(1, "mine-x", "k", b"m")
        wire.wait_count(1, "mine-q", 1)
        wire.publish(1, "", "mine-q", b"m")
        wire.wait_count(1, "mine-q", 2)
        wire.send_method(1, "basic.get", queue="mine-q", no_ack=True)
        wire.expect_message("basic.get-ok")

        for method, arguments, what, kind, thing in (
            ("queue.declare", {"queue": "other", "durable": True}, "configure", "queue", "other"),
            ("queue.delete", {"queue": "other"}, "configure", "queue", "other"),
            ("exchange.declare", {"exchange": "other", "type": "direct"}, "configure", "exchange", "other"),
            ("exchange.delete", {"exchange": "other"}, "configure", "exchange", "other"),
            ("queue.bind", {"queue": "mine-q", "exchange": "amq.direct"}, "read", "exchange", "amq.direct"),
            ("queue.bind", {"queue": "outbox", "exchange": "mine-x"}, "write", "queue", "outbox"),
            ("queue.unbind", {"queue": "mine-q", "exchange": "amq.direct"}, "read", "exchange", "amq.direct"),
            ("exchange.bind", {"destination": "amq.direct", "source": "mine-x"}, "write", "exchange", "amq.direct"),
            ("exchange.bind", {"destination": "mine-x", "source": "amq.direct"}, "read", "exchange", "amq.direct"),
            ("queue.purge", {"queue": "inbox"}, "read", "queue", "inbox"),
            ("basic.get", {"queue": "inbox"}, "read", "queue", "inbox"),
            ("basic.consume", {"queue": "inbox"}, "read", "queue", "inbox"),
            ("exchange.declare", {"exchange": "mine-y", "type": "direct", "arguments": {"alternate-exchange": "outbox"}}, "write", "exchange", "outbox"),
        ):
            wire.send_method(1, method, **arguments)
            wire.expect_channel_error(1, 403, refused(what, kind, thing), method)
        wire.publish(1, "amq.direct", "k", b"m")
        wire.expect_channel_error(1, 403, refused("write", "exchange", "amq.direct"), "basic.publish")
        # Server-named queues are checked under the name they get.
        wire.send_method(1, "queue.declare", exclusive=True)
        close = wire.expect_channel_error(1, 403, failing="queue.declare")
        assert close.reply_text.startswith("ACCESS_REFUSED - configure access to queue 'amq.gen-"), close


def test_other_users_do_not_exist(limited):
    with Wire(limited.address) as wire:
        wire.login(user="guest", password="guest")
        wire.expect_connection_error(403)
    with Wire(limited.address) as wire:
        wire.login(user="alice", password="Secret")
        wire.expect_connection_error(403)


def test_the_default_vhost_may_have_another_name(own_broker):
    broker = own_broker({"default_vhost": "shop"})
    with broker.wire(virtual_host="shop") as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
    with Wire(broker.address) as wire:
        wire.login()
        tune = wire.expect("connection.tune")
        wire.send_method(0, "connection.tune-ok", channel_max=tune.channel_max, frame_max=tune.frame_max)
        wire.send_method(0, "connection.open", virtual_host="/")
        wire.expect_connection_error(530, "NOT_ALLOWED - vhost / not found", "connection.open")


def test_limits_of_the_configuration_are_told_and_kept(own_broker):
    broker = own_broker({"channel_max": "10", "frame_max": "16384", "heartbeat": "7", "max_message_size": "1000"})
    with broker.wire(channel_max=10, frame_max=16384) as wire:
        assert (wire.tune.channel_max, wire.tune.frame_max, wire.tune.heartbeat) == (10, 16384, 7)
        wire.publish(1, "", "nowhere", bytes(1001))
        wire.expect_channel_error(1, 406, "PRECONDITION_FAILED - message size 1001 is larger than configured max size 1000", "basic.publish")


@pytest.mark.since("4.0")
def test_consumers_of_a_channel_are_limited_by_configuration(own_broker):
    broker = own_broker({"consumer_max_per_channel": "2"})
    with broker.wire() as wire:
        queue = wire.call(1, "queue.declare", exclusive=True).queue
        for _ in range(2):
            wire.call(1, "basic.consume", queue=queue)
        wire.send_method(1, "basic.consume", queue=queue)
        wire.expect_connection_error(530, "NOT_ALLOWED - reached maximum (2) of consumers per channel", "basic.consume")
