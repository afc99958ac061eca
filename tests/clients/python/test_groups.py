"""Message groups: with one consumer at a time, in order, while many share the queue. RabbitMQ has no such thing."""

import random
import socket
import threading
import time
from collections import defaultdict
from contextlib import suppress

import pika
import pytest
from pika import exceptions

pytestmark = pytest.mark.warren_only("message groups are Warren's own")

GROUPS = 12
PER_GROUP = 60


class Ledger:
    """Who has which messages, by group. Broken promises are kept for the end: threads cannot fail a test."""

    def __init__(self):
        self.lock = threading.Lock()
        self.held = defaultdict(dict)
        self.acked = defaultdict(list)
        self.wrong = []

    def take(self, who, group, number):
        with self.lock:
            others = {owner for owner in self.held[group].values() if owner != who}
            if others:
                self.wrong.append(f"{who} got {group}/{number} while {others} had some of it")
            if self.held[group] and number < max(self.held[group]):
                self.wrong.append(f"{who} got {group}/{number} after {max(self.held[group])}")
            self.held[group][number] = who

    def settle(self, group, number):
        with self.lock:
            del self.held[group][number]
            self.acked[group].append(number)

    def lose(self, who):
        """Its connection is about to go, and with it what it holds."""
        with self.lock:
            for group in self.held.values():
                for number in [number for number, owner in group.items() if owner == who]:
                    del group[number]

    def count(self):
        with self.lock:
            return sum(len(numbers) for numbers in self.acked.values())


def worker(connect, queue, who, prefetch, ledger, stop, dies_after=None):
    connection = connect()
    channel = connection.channel()
    channel.basic_qos(prefetch_count=prefetch)
    source = random.Random(who)
    waiting, taken = [], 0
    with suppress(exceptions.AMQPError):
        for method, properties, body in channel.consume(queue, inactivity_timeout=0.05):
            if method is not None:
                group, number = properties.headers["order"], int(body)
                ledger.take(who, group, number)
                waiting.append((method.delivery_tag, group, number))
                taken += 1
                if dies_after is not None and taken >= dies_after:
                    # An answer says that all acks have arrived.
                    channel.basic_qos(prefetch_count=prefetch)
                    ledger.lose(who)
                    break
            if waiting and (method is None or len(waiting) >= source.randint(1, prefetch)):
                # The oldest of its group, so that acks are in the order of a group, but groups are not.
                tag, group, number = waiting.pop(0)
                ledger.settle(group, number)
                channel.basic_ack(tag)
            if stop.is_set() and not waiting:
                break
    if dies_after is None:
        with suppress(exceptions.AMQPError):
            connection.close()
    else:
        # Without a word: as a process that is killed.
        connection._impl._transport._sock.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def queue(channel, name):
    queue = name("orders")
    channel.queue_declare(queue, durable=True, arguments={"x-message-group-header": "order"})
    yield queue
    channel.queue_delete(queue)


def publish(channel, queue, groups=GROUPS, per_group=PER_GROUP):
    for number in range(per_group):
        for group in range(groups):
            channel.basic_publish("", queue, str(number).encode(), pika.BasicProperties(headers={"order": f"o{group}"}))


def run(connect, queue, ledger, workers, until, within_s=60):
    stop = threading.Event()
    threads = [threading.Thread(target=worker, args=(connect, queue, who, prefetch, ledger, stop, dies_after)) for who, prefetch, dies_after in workers]
    for thread in threads:
        thread.start()
    ends_at = time.monotonic() + within_s
    while ledger.count() < until and time.monotonic() < ends_at:
        time.sleep(0.02)
    stop.set()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert ledger.wrong == []
    assert ledger.count() == until


def test_a_group_is_with_one_consumer_at_a_time_and_in_order(connect, channel, queue):
    publish(channel, queue)
    ledger = Ledger()
    run(connect, queue, ledger, [(who, 1 + 3 * who, None) for who in range(5)], GROUPS * PER_GROUP)
    assert ledger.acked == {f"o{group}": list(range(PER_GROUP)) for group in range(GROUPS)}


def test_order_survives_consumers_that_are_killed(connect, channel, queue):
    publish(channel, queue)
    ledger = Ledger()
    dying = [(who, 8, 20 * who) for who in range(1, 4)]
    run(connect, queue, ledger, [*dying, (10, 4, None), (11, 1, None)], GROUPS * PER_GROUP)
    assert ledger.acked == {f"o{group}": list(range(PER_GROUP)) for group in range(GROUPS)}


def test_a_busy_consumer_holds_up_its_own_group_only(connect, channel, queue):
    busy, free = connect().channel(), connect().channel()
    for consumer in (busy, free):
        consumer.basic_qos(prefetch_count=1)
    heard = {"busy": [], "free": []}

    def listen(consumer, who):
        def take(_, method, properties, body):
            heard[who].append((properties.headers["order"], int(body)))
            if who == "free":
                consumer.basic_ack(method.delivery_tag)

        consumer.basic_consume(queue, take)

    listen(busy, "busy")
    publish(channel, queue, groups=1, per_group=3)
    busy.connection.process_data_events(1)
    assert heard["busy"] == [("o0", 0)]
    publish(channel, queue, groups=4, per_group=3)
    listen(free, "free")
    ends_at = time.monotonic() + 10
    while len(heard["free"]) < 9 and time.monotonic() < ends_at:
        free.connection.process_data_events(0.1)
    free.connection.process_data_events(0.3)
    assert heard["free"] == [(f"o{group}", number) for number in range(3) for group in range(1, 4)]
    assert heard["busy"] == [("o0", 0)]
