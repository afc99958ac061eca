"""The publishers and consumers of a crash run: threads that work until the broker is gone, and write into the ledger what they saw."""

import random
import threading
import zlib
from collections import deque

from blackbox import codec
from blackbox.wire import Closed, Timeout, Torn, Wire
from ledger import Key, Ledger

EVERYWHERE = "crash-all"
"""The durable fanout exchange that is bound to every queue."""


def body_of(keys: list[Key], padding: bytes) -> bytes:
    """A body that says which message it is, in each of its queues."""
    return b"%d;" % keys[0][0] + b",".join(b"%s=%d" % (queue.encode(), number) for _, queue, number in keys) + b";" + padding


def key_of(queue: str, body: bytes) -> Key:
    """Which message of that queue this body belongs to."""
    publisher, numbers, _ = body.split(b";", 2)
    return int(publisher), queue, dict((name.decode(), int(number)) for name, number in (each.split(b"=") for each in numbers.split(b",")))[queue]


class Worker(threading.Thread):
    """Works on a connection of its own until the broker is killed. Anything else that ends it is kept in `fault`."""

    def __init__(self, address: tuple[str, int], ledger: Ledger, seed: str, is_killed: threading.Event):
        super().__init__(daemon=True)
        self.address, self.ledger, self.random, self.is_killed = address, ledger, random.Random(seed), is_killed
        self.fault: str | None = None
        self.is_stopping = False

    def run(self) -> None:
        try:
            with Wire.open(self.address, timeout=60) as wire:
                self.work(wire)
        except (Closed, Torn, ConnectionError) as end:
            if not self.is_killed.is_set():
                self.fault = f"{type(self).__name__}: the broker dropped the connection before it was killed: {end!r}"
        except (Timeout, OSError, AssertionError, KeyError, ValueError) as fault:
            self.fault = f"{type(self).__name__}: {fault!r}"

    def work(self, wire: Wire) -> None:
        raise NotImplementedError


class Publisher(Worker):
    """Publishes with confirms, a window of messages ahead."""

    def __init__(self, address, ledger, seed, is_killed, number: int, queues: list[str]):
        super().__init__(address, ledger, seed, is_killed)
        self.number, self.queues = number, queues
        self.window = self.random.choice([1, 20, 200, 1000])
        self.noise = self.random.randbytes(400_000)
        self.confirmed = threading.Event()

    def work(self, wire: Wire) -> None:
        wire.call(1, "confirm.select")
        pending: deque[tuple[int, list[Key], int]] = deque()
        tag = 0
        while not self.is_stopping or pending:
            batch = bytearray()
            published_at = self.ledger.now()
            for _ in range(0 if self.is_stopping else min(self.random.choice([1, 5, 50]), self.window - len(pending))):
                tag += 1
                keys, publish = self.make()
                pending.append((tag, keys, published_at))
                batch += publish
            wire.send(batch)
            while pending and wire.is_readable(30.0 if len(pending) >= self.window or self.is_stopping else 0.0):
                pending = self.confirm(wire.expect_one_of("basic.ack", "basic.nack"), pending)

    def make(self) -> tuple[list[Key], bytes]:
        """The next message: its keys, and its publish in bytes."""
        is_everywhere = self.random.random() < 0.15
        queues = self.queues if is_everywhere else [self.random.choice(self.queues)]
        is_persistent = self.random.random() < 0.9
        padding_len = self.random.choice([0, 10, 100, 300, 1000] * 10 + [4096, 9000, 20_000] * 2 + [140_000])
        start = self.random.randrange(len(self.noise) - padding_len)
        padding = self.noise[start : start + padding_len]
        keys = self.ledger.publish(self.number, queues, zlib.crc32(padding), is_persistent)
        exchange, key = (EVERYWHERE, "") if is_everywhere else ("", queues[0])
        return keys, codec.publish(1, exchange, key, body_of(keys, padding), delivery_mode=2 if is_persistent else 1)

    def confirm(self, ack, pending: deque) -> deque:
        """What is pending after that confirm."""
        assert ack.name == "basic.ack", f"a publish was refused: {ack}"
        self.confirmed.set()
        left: deque = deque()
        for each in pending:
            if each[0] == ack.delivery_tag or (ack.multiple and each[0] < ack.delivery_tag):
                self.ledger.confirm(each[1], each[2])
            else:
                left.append(each)
        assert len(left) < len(pending), f"{ack} confirms nothing that is pending"
        return left


class Consumer(Worker):
    """Takes messages of one queue; acks, rejects and requeues them in every way, and holds some."""

    def __init__(self, address, ledger, seed, is_killed, queue: str):
        super().__init__(address, ledger, seed, is_killed)
        self.queue = queue
        self.prefetch = self.random.choice([1, 10, 100, 1000])
        self.unacked: dict[int, Key] = {}
        self.settling: deque[list[Key]] = deque()

    def work(self, wire: Wire) -> None:
        wire.call(1, "basic.qos", prefetch_count=self.prefetch)
        wire.send_method(1, "basic.consume", queue=self.queue, consumer_tag="c")
        wire.expect("basic.consume-ok")
        while not self.is_stopping:
            if not wire.is_readable(0.05):
                self.answer(wire)
                continue
            got = wire.expect_one_of("basic.deliver", "basic.qos-ok")
            if got.name == "basic.qos-ok":
                self.ledger.settle(self.settling.popleft())
                continue
            header = wire.read()
            body = bytearray()
            while len(body) < header.body_len:
                body += wire.read()
            key = key_of(self.queue, bytes(body))
            fault = self.ledger.deliver(key, got.redelivered)
            assert fault is None, fault
            self.unacked[got.delivery_tag] = key
            if len(self.unacked) >= self.random.choice([1, self.prefetch, self.prefetch // 2 + 1]):
                self.answer(wire)

    def answer(self, wire: Wire) -> None:
        """Settles some of what is held."""
        if not self.unacked or self.random.random() < 0.1:
            return
        tags = sorted(self.unacked)
        how = self.random.random()
        if how < 0.35:
            last = self.random.choice(tags)
            settled = [tag for tag in tags if tag <= last]
            self.settle(wire, settled, codec.method(1, "basic.ack", delivery_tag=last, multiple=True))
        elif how < 0.85:
            settled = [tag for tag in tags if self.random.random() < 0.7]
            self.settle(wire, settled, b"".join(codec.method(1, "basic.ack", delivery_tag=tag) for tag in settled))
        elif how < 0.9:
            self.settle(wire, tags[:3], b"".join(codec.method(1, "basic.reject", delivery_tag=tag) for tag in tags[:3]))
        else:
            returned = self.random.sample(tags, min(len(tags), 5))
            for tag in returned:
                del self.unacked[tag]
            wire.send(b"".join(codec.method(1, "basic.nack", delivery_tag=tag, requeue=True) for tag in returned))

    def settle(self, wire: Wire, tags: list[int], acks: bytes) -> None:
        """Sends acks, and something after them that the broker must answer."""
        keys = [self.unacked.pop(tag) for tag in tags]
        self.ledger.ack(keys)
        self.settling.append(keys)
        wire.send(acks + codec.method(1, "basic.qos", prefetch_count=self.prefetch))
