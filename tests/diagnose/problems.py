"""The problems that are planted, and healthy loads: what a scene does, and which finding has to come first.

Each is a function of a scene. `planted(kind, about)` says the kind of the first finding and a word of its text.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Callable

from blackbox.wire import Wire
from scene import Scene

MIB = 1 << 20


@dataclass
class Case:
    act: Callable[[Scene], None]
    #: The kind of the first finding, and a word that it has; no kind: there is no finding.
    kind: str | None
    about: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    how: dict = field(default_factory=dict)
    #: Until it can be seen.
    settles_s: float = 0.5
    #: What it needs of the machine: `far`, `strace`, `calm`.
    needs: str = ""

    @property
    def name(self) -> str:
        return self.act.__name__


PROBLEMS: list[Case] = []
HEALTHY: list[Case] = []


def planted(kind: str, about: str, **how):
    def add(act):
        PROBLEMS.append(Case(act, kind, about, **how))
        return act

    return add


def healthy(act):
    HEALTHY.append(Case(act, None, settles_s=1.0))
    return act


# Messages that are lost.


@planted("unroutable_dropped", "shop")
def messages_that_no_queue_wants_are_dropped(scene):
    scene.publisher("shop", "nowhere", 50)


@planted("unroutable_returned", "shop")
def messages_that_no_queue_wants_are_returned(scene):
    wire = scene.wire("shop")

    def act():
        wire.publish(1, "", "nowhere", b"x", mandatory=True)
        wire.expect_message("basic.return")

    scene.every(50, act)


@planted("refused", "orders refuses")
def a_full_queue_refuses(scene):
    scene.queue("orders", max_length=10, overflow="reject-publish")
    scene.confirming_publisher("shop", "orders", 50)


@planted("dropped_over_length", "orders loses")
def a_full_queue_drops_its_head(scene):
    scene.queue("orders", max_length=10)
    scene.publisher("shop", "orders", 50)


@planted("expired", "orders loses")
def messages_expire(scene):
    scene.queue("orders", message_ttl=100)
    scene.publisher("shop", "orders", 50)


@planted("rejected", "orders loses")
def messages_are_rejected_and_gone(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 50)
    scene.consumer("worker", "orders", settle=reject)


@planted("rejected", "dead letter exchange dead")
def dead_letters_have_no_queue(scene):
    with Wire.open(scene.broker.address) as wire:
        wire.call(1, "exchange.declare", exchange="dead", type="fanout")
    scene.queue("orders", dead_letter_exchange="dead")
    scene.publisher("shop", "orders", 50)
    scene.consumer("worker", "orders", settle=reject)


@planted("failed_too_often", "orders loses")
def messages_are_returned_too_often(scene):
    scene.queue("orders", queue_type="quorum", delivery_limit=0)
    scene.publisher("shop", "orders", 50)
    scene.consumer("worker", "orders", settle=requeue)


# Messages that go in circles.


@planted("dead_letter_loop", "laps a second")
def dead_letters_go_round(scene):
    scene.queue("orders", dead_letter_exchange="", dead_letter_routing_key="retry")
    scene.queue("retry", dead_letter_exchange="", dead_letter_routing_key="orders", message_ttl=1)
    scene.consumer("worker", "orders", settle=reject)
    with Wire.open(scene.broker.address) as wire:
        for _ in range(10):
            wire.publish(1, "", "orders", b"x")


@planted("redeliveries", "orders")
def a_consumer_returns_what_it_gets(scene):
    scene.queue("orders")
    scene.consumer("worker", "orders", settle=requeue, prefetch=1)
    with Wire.open(scene.broker.address) as wire:
        wire.publish(1, "", "orders", b"x")


# Queues that grow or stand.


@planted("no_consumer", "orders grows")
def a_queue_has_no_consumer(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 50)


@planted("dead_letters", "dead letters of orders")
def dead_letters_have_no_consumer(scene):
    scene.queue("dead")
    scene.queue("orders", dead_letter_exchange="", dead_letter_routing_key="dead")
    for other in range(5):
        scene.queue(f"other{other}", dead_letter_exchange="", dead_letter_routing_key="dead")
    scene.publisher("shop", "orders", 50)
    scene.consumer("worker", "orders", settle=reject)


@planted("slow_consumer", "takes 4")
def a_consumer_is_slow(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 100)
    scene.consumer("worker", "orders", prefetch=1, takes_s=0.04)


@planted("far_consumer", "the network round trip takes 4", needs="far", settings={"loopback_users.guest": "false"})
def a_consumer_is_far_away(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 100)
    scene.perf("-x", "0", "-y", "1", "-p", "-u", "orders", "-q", "1", wrapper=scene.far.wrapper, host=scene.far_host)


@planted("stalled_consumer", "orders grows")
def a_consumer_hangs(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 50)
    scene.consumer("worker", "orders", prefetch=10, takes_s=600)


@planted("stalled_consumer", "orders makes no progress")
def a_consumer_hangs_and_no_more_comes(scene):
    fill(scene, "orders", 500)
    scene.consumer("worker", "orders", prefetch=10, takes_s=600)


@planted("single_active_consumer", "only one of its 3")
def one_of_three_consumers_is_active(scene):
    scene.queue("orders", single_active_consumer=True)
    scene.publisher("shop", "orders", 100)
    for number in range(3):
        scene.consumer(f"worker{number}", "orders", prefetch=1, takes_s=0.04)


@planted("backlog", "orders has 2,000")
def a_backlog_was_left(scene):
    fill(scene, "orders", 2_000)


@planted("no_prefetch", "5,000 messages of orders")
def a_consumer_without_prefetch_holds_all(scene):
    fill(scene, "orders", 5_000)
    wire = scene.wire("worker")
    wire.call(1, "basic.consume", queue="orders")
    for _ in range(5_000):
        wire.expect_message()


@planted("unread", "worker")
def a_consumer_does_not_read(scene):
    fill(scene, "orders", 200, MIB // 10)
    wire = scene.wire("worker")
    wire.call(1, "basic.consume", queue="orders", no_ack=True)


# What clients do.


@planted("far_publisher", "shop", needs="far", settings={"loopback_users.guest": "false"})
def a_publisher_is_far_away(scene):
    scene.queue("orders")
    scene.consumer("worker", "orders", prefetch=100)
    scene.perf("-x", "1", "-y", "0", "-p", "-u", "orders", "-c", "1", "--id", "shop", wrapper=scene.far.wrapper, host=scene.far_host)


@planted("connection_churn", "connections a second")
def connections_come_and_go(scene):
    def act():
        wire = scene.wire("lambda")
        wire.close()

    scene.every(30, act)


@planted("channel_churn", "channels a second")
def channels_come_and_go(scene):
    wire = scene.wire("shop")

    def act():
        wire.call(2, "channel.open")
        wire.call(2, "channel.close", reply_code=200, reply_text="")

    scene.every(60, act)


@planted("channel_leak", "shop")
def channels_are_never_closed(scene):
    scene.wire("shop", channels=300)


@planted("channel_errors", "no queue 'nowhere'")
def channels_fail_again_and_again(scene):
    wire = scene.wire("shop")

    def act():
        wire.send_method(1, "queue.declare", queue="nowhere", passive=True)
        wire.expect_channel_error(1, 404)

    scene.every(10, act)


@planted("logins_refused", "logins a second")
def logins_are_refused(scene):
    def act():
        with Wire(scene.broker.address) as wire:
            wire.login(password="wrong")
            wire.expect("connection.close")

    scene.every(5, act)


@planted("polling", "polls: 50")
def a_client_polls(scene):
    scene.queue("orders")
    wire = scene.wire("shop")
    scene.every(50, lambda: wire.get(1, "orders"))


@planted("queue_churn", "queues a second")
def a_queue_is_declared_for_each_message(scene):
    wire = scene.wire("shop")
    scene.queue("orders")
    scene.consumer("worker", "orders")

    def act():
        wire.call(1, "queue.declare", queue="orders", durable=True)
        wire.publish(1, "", "orders", b"x")

    scene.every(60, act)


@planted("unused_queues", "2,000 of 2,000")
def thousands_of_queues_are_not_used(scene):
    with Wire.open(scene.broker.address, timeout=60) as wire:
        for number in range(2_000):
            wire.send_method(1, "queue.declare", queue=f"unused{number}", durable=True)
        for _ in range(2_000):
            wire.expect("queue.declare-ok")


# The machine.


@planted("memory_alarm", "The longest queue is orders", settings={"vm_memory_high_watermark.absolute": "60MB"}, settles_s=3.0)
def memory_is_short(scene):
    scene.queue("orders")
    wire = scene.wire("shop")

    def act():
        # It is kept from it sooner or later.
        with suppress(TimeoutError):
            wire.publish(1, "", "orders", b"x" * MIB, delivery_mode=1)

    wire.socket.settimeout(0.5)
    scene.every(50, act)


@planted("disk_alarm", "disk", settings={"disk_free_limit.absolute": "900TB"}, settles_s=1.0)
def the_disk_is_full(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 20)


@planted("slow_disk", "a sync takes 2", needs="strace")
def the_disk_is_slow(scene):
    scene.queue("orders")
    scene.consumer("worker", "orders")
    scene.confirming_publisher("shop", "orders", 100)


@planted("processors_taken", "Other programs", needs="calm", settles_s=2.0)
def neighbours_take_the_processors(scene):
    scene.queue("orders")
    scene.perf("-x", "2", "-y", "2", "-p", "-u", "orders", "-r", "1500", "-q", "100")
    scene.take_processors()


# Healthy loads.


@healthy
def nothing_happens(scene):
    scene.queue("orders")


@healthy
def a_queue_is_hot(scene):
    scene.perf("-x", "2", "-y", "2", "-u", "orders", "-r", "2000", "-q", "500", "-A", "50")


@healthy
def a_queue_has_a_hundred_messages_a_second(scene):
    scene.queue("orders")
    scene.confirming_publisher("shop", "orders", 100)
    scene.consumer("worker", "orders", prefetch=10)


@healthy
def a_queue_is_filled_in_batches(scene):
    scene.queue("orders")
    scene.publisher("shop", "orders", 100, batch=75)
    scene.consumer("worker", "orders", prefetch=10, takes_s=0.002)


@healthy
def dead_letters_are_kept_and_consumed(scene):
    scene.queue("dead")
    scene.queue("orders", dead_letter_exchange="", dead_letter_routing_key="dead")
    scene.publisher("shop", "orders", 50)
    count = iter(range(1_000_000))
    scene.consumer("worker", "orders", prefetch=10, settle=lambda wire, tag: (reject if next(count) % 10 == 0 else ack)(wire, tag))
    scene.consumer("undertaker", "dead", prefetch=10)


@healthy
def a_quorum_queue_is_at_work(scene):
    scene.queue("orders", queue_type="quorum")
    scene.confirming_publisher("shop", "orders", 100)
    scene.consumer("worker", "orders", prefetch=50)


@healthy
def consumers_without_prefetch_keep_up(scene):
    scene.perf("-x", "1", "-y", "1", "-u", "orders", "-r", "2000")


@healthy
def many_clients_are_idle(scene):
    scene.queue("orders")
    for number in range(50):
        wire = scene.wire(f"idle{number}")
        wire.call(1, "basic.consume", queue="orders")


@healthy
def requests_are_answered_to_reply_queues(scene):
    scene.queue("requests")
    server = scene.wire("server")
    server.call(1, "basic.consume", queue="requests", no_ack=True)

    def serve():
        message = server.expect_message()
        server.publish(1, "", message.properties["reply_to"], b"answer")

    client = scene.wire("client")
    replies = client.call(1, "queue.declare", exclusive=True).queue
    client.call(1, "basic.consume", queue=replies, no_ack=True)

    def ask():
        client.publish(1, "", "requests", b"question", reply_to=replies)
        client.expect_message()

    scene.every(1_000_000, serve)
    scene.every(50, ask)


@healthy
def messages_wait_for_their_time(scene):
    scene.queue("orders")
    with Wire.open(scene.broker.address) as wire:
        wire.call(1, "exchange.declare", exchange="later", type="x-delayed-message", durable=True, arguments={"x-delayed-type": "direct"})
        wire.call(1, "queue.bind", queue="orders", exchange="later", routing_key="orders")
    scene.publisher("shop", "orders", 50, exchange="later", headers={"x-delay": 500})
    scene.consumer("worker", "orders", prefetch=10)


@healthy
def a_client_takes_a_message_now_and_then(scene):
    fill(scene, "orders", 100)
    wire = scene.wire("shop")
    scene.every(2, lambda: wire.get(1, "orders"))


def ack(wire, tag):
    wire.send_method(1, "basic.ack", delivery_tag=tag)


def reject(wire, tag):
    wire.send_method(1, "basic.reject", delivery_tag=tag, requeue=False)


def requeue(wire, tag):
    wire.send_method(1, "basic.reject", delivery_tag=tag, requeue=True)


def fill(scene, queue, count, body_len=10):
    """So many messages in a new queue."""
    scene.queue(queue)
    with Wire.open(scene.broker.address, timeout=60) as wire:
        wire.call(1, "confirm.select")
        for _ in range(count):
            wire.publish(1, "", queue, b"x" * body_len)
        wire.expect_confirms(1, 1, count)
