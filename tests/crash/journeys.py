#!/usr/bin/env python3
"""Kills the broker at random moments while messages travel, and checks that each is in exactly one place.

    tests/crash/journeys.py --rounds 3                   a few rounds, for every day
    tests/crash/journeys.py --rounds 40 --seed 7         many; the same seed makes the same choices

Messages go into queues that give them up (too many, too old, rejected, failed too often) to a queue of dead letters, from which an operator moves
some on; to an exchange that delays them; and to a queue that drops duplicates. After SIGKILL and a restart whatever was confirmed and not acked
must be there, once; nothing delayed may come before its time; and of what is published again only what was lost may be taken in.
"""

import random
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from blackbox import broker as brokers  # noqa: E402
from blackbox import codec  # noqa: E402
from blackbox.wire import Closed, Timeout, Torn, Wire  # noqa: E402

WORK, RANKED, TRY, LATE, DEAD = "journey-work", "journey-ranked", "journey-try", "journey-late", "journey-dead"
MOVED, ONCE = "journey-moved", "journey-once"
KEY = "x-deduplication-header"
LATER = "journey-later"
"""The exchange that delays."""
QUEUES = {
    WORK: {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD, "x-max-length": 300, "x-message-ttl": 600},
    RANKED: {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD, "x-max-priority": 5, "x-max-length-bytes": 100_000},
    TRY: {
        "x-queue-type": "quorum",
        "x-delivery-limit": 2,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": DEAD,
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    },
    LATE: {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD},
    DEAD: {},
    MOVED: {},
    ONCE: {"x-message-deduplication": True},
}
DELAY_MS_MAX = 2000
SMALL = {"warren.journal.bound": "8MiB", "warren.journal.file_size": "1MiB", "warren.chunks.bound": "8MiB"}
CONFIRMS_MIN, TIMEOUT_S = 200, 60.0


def publish_once(number: int, body: bytes) -> bytes:
    """The publish of a message that is to be taken in once, in bytes."""
    return codec.publish(1, "", ONCE, body, delivery_mode=2, headers={KEY: str(number)})


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Traveller:
    """How far one message got."""

    due_ms: int
    is_confirmed: bool = False
    is_acked: bool = False
    is_once: bool = False
    delivered_in: str | None = None


class Travellers:
    """All messages, by number. Thread-safe; survives the broker."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all: dict[int, Traveller] = {}
        self.confirms = 0

    def depart(self, delay_ms: int = 0) -> tuple[int, bytes]:
        """A message is about to be sent: its number, and its body."""
        with self.lock:
            number = len(self.all)
            due_ms = now_ms() + delay_ms if delay_ms else 0
            self.all[number] = Traveller(due_ms)
            return number, b"%d;%d;" % (number, due_ms)

    def confirm(self, numbers: list[int]) -> None:
        with self.lock:
            self.confirms += len(numbers)
            for number in numbers:
                self.all[number].is_confirmed = True

    def arrive(self, queue: str, body: bytes) -> int:
        """A consumer has it."""
        arrived_ms = now_ms()
        number, due_ms, _ = body.split(b";", 2)
        assert arrived_ms >= int(due_ms), f"{int(number)} came {int(due_ms) - arrived_ms} ms too early"
        with self.lock:
            traveller = self.all[int(number)]
            assert not traveller.is_acked or traveller.delivered_in == queue, f"{int(number)} was acked in {traveller.delivered_in} and came to {queue}"
            traveller.delivered_in = queue
        return int(number)

    def ack(self, number: int) -> None:
        with self.lock:
            self.all[number].is_acked = True


class Worker(threading.Thread):
    """Works on a connection of its own until the broker is killed. Anything else that ends it is kept in `fault`."""

    def __init__(self, address, travellers: Travellers, seed: str, is_killed: threading.Event):
        super().__init__(daemon=True)
        self.address, self.travellers, self.random, self.is_killed = address, travellers, random.Random(seed), is_killed
        self.fault: str | None = None

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
    """Publishes persistent messages with confirms, everywhere."""

    def work(self, wire: Wire) -> None:
        wire.call(1, "confirm.select")
        pending: deque[tuple[int, int]] = deque()
        tag, window = 0, self.random.choice([5, 50, 400])
        while True:
            batch = bytearray()
            for _ in range(min(self.random.choice([1, 10, 60]), window - len(pending))):
                tag += 1
                number, publish = self.make()
                pending.append((tag, number))
                batch += publish
            wire.send(batch)
            while wire.is_readable(30.0 if len(pending) >= window else 0.0):
                ack = wire.expect("basic.ack")
                is_meant = lambda each, ack=ack: each[0] == ack.delivery_tag or (ack.multiple and each[0] < ack.delivery_tag)  # noqa: E731
                self.travellers.confirm([number for tag, number in filter(is_meant, pending)])
                pending = deque(each for each in pending if not is_meant(each))

    def make(self) -> tuple[int, bytes]:
        """The next message: its number, and its publish in bytes."""
        padding = b"x" * self.random.choice([0, 10, 100, 1000, 1000, 5000])
        queue = self.random.choice([WORK, RANKED, TRY, LATE, LATE, ONCE])
        if queue == LATE:
            delay_ms = self.random.randint(1, DELAY_MS_MAX)
            number, body = self.travellers.depart(delay_ms)
            return number, codec.publish(1, LATER, LATE, body + padding, delivery_mode=2, headers={"x-delay": delay_ms})
        number, body = self.travellers.depart()
        if queue == ONCE:
            self.travellers.all[number].is_once = True
            return number, publish_once(number, body + padding)
        how = {"priority": self.random.randint(0, 6), "expiration": str(self.random.randint(1, 800))} if queue == RANKED else {}
        return number, codec.publish(1, "", queue, body + padding, delivery_mode=2, **how)


class Consumer(Worker):
    """Takes messages of one queue; acks some, rejects some, gives some back, and holds some."""

    def __init__(self, address, travellers, seed, is_killed, queue: str):
        super().__init__(address, travellers, seed, is_killed)
        self.queue = queue

    def work(self, wire: Wire) -> None:
        wire.call(1, "basic.qos", prefetch_count=self.random.choice([1, 20, 200]))
        wire.call(1, "basic.consume", queue=self.queue, consumer_tag="c")
        while True:
            message = wire.expect_message()
            number, tag = self.travellers.arrive(self.queue, message.body), message.method.delivery_tag
            how = self.random.random()
            if how < 0.4:
                self.travellers.ack(number)
                wire.send_method(1, "basic.ack", delivery_tag=tag)
            elif how < 0.9:
                wire.send_method(1, "basic.reject", delivery_tag=tag, requeue=self.random.random() < 0.7)


class Operator(Worker):
    """Moves dead letters on."""

    def __init__(self, broker, travellers, seed, is_killed):
        super().__init__(broker.address, travellers, seed, is_killed)
        self.management = broker.management
        self.moved = 0

    def work(self, wire: Wire) -> None:
        while not self.is_killed.is_set():
            request = {"to_queue": MOVED, "limit": self.random.choice([1, 10, 500])}
            try:
                self.moved += self.management.post(f"/queues/%2F/{DEAD}/messages/move", request).expect(200).json["moved"]
            except OSError:
                if not self.is_killed.is_set():
                    raise
                return


class Run:
    """One broker over many rounds."""

    def __init__(self, broker, seed: int):
        self.broker, self.seed, self.random = broker, seed, random.Random(seed)

    def declare(self) -> None:
        with self.broker.wire() as wire:
            for queue, arguments in QUEUES.items():
                wire.call(1, "queue.declare", queue=queue, durable=True, arguments=arguments)
            wire.call(1, "exchange.declare", exchange=LATER, type="x-delayed-message", durable=True, arguments={"x-delayed-type": "direct"})
            wire.call(1, "queue.bind", queue=LATE, exchange=LATER, routing_key=LATE)

    def round(self, number: int) -> tuple[str, list[str]]:
        """Traffic, death, restart, check: what happened, and what was wrong."""
        for key, value in SMALL.items():
            self.broker.settings.pop(key, None)
            if number % 2 == 1:
                self.broker.settings[key] = value
        self.broker.start()
        self.declare()
        travellers, is_killed, seed = Travellers(), threading.Event(), f"{self.seed}/{number}/"
        workers: list[Worker] = [Publisher(self.broker.address, travellers, f"{seed}p{each}", is_killed) for each in range(3)]
        for each, queue in enumerate([WORK, TRY, TRY, LATE, RANKED]):
            workers.append(Consumer(self.broker.address, travellers, f"{seed}c{each}", is_killed, queue))
        workers.append(Operator(self.broker, travellers, f"{seed}o", is_killed))
        for worker in workers:
            worker.start()
        faults, deadline = [], time.monotonic() + TIMEOUT_S
        while travellers.confirms < CONFIRMS_MIN and time.monotonic() < deadline:
            time.sleep(0.01)
        if travellers.confirms < CONFIRMS_MIN:
            faults.append(f"in {TIMEOUT_S:.0f} s the broker came to {travellers.confirms} confirms, not to {CONFIRMS_MIN}")
        time.sleep(self.random.uniform(0.1, 1.5 * DELAY_MS_MAX / 1000))
        is_killed.set()
        self.broker.kill()
        for worker in workers:
            worker.join(90)
        faults += [worker.fault for worker in workers if worker.fault]
        if self.random.random() < 0.3:
            # Once more, at any moment of the recovery.
            self.broker.start(wait=False)
            time.sleep(self.random.uniform(0.0, 0.1))
            self.broker.kill()
        self.broker.start()
        again = self.publish_again(travellers)
        found = self.take_all(travellers, faults)
        self.check(travellers, found, faults)
        self.broker.stop()
        counts = {queue: sum(queues == [queue] for queues in found.values()) for queue in (DEAD, MOVED, LATE, ONCE)}
        shown = ", ".join(f"{count} in {queue}" for queue, count in counts.items())
        return f"{len(travellers.all)} sent, {travellers.confirms} confirmed; {len(found)} came back, {shown}; {again} published again", faults

    def publish_again(self, travellers: Travellers) -> int:
        """Publishes all that is to be taken in once, as one does who has heard of no confirm; how many those are."""
        numbers = [number for number, traveller in travellers.all.items() if traveller.is_once]
        with self.broker.wire(timeout=60) as wire:
            wire.call(1, "confirm.select")
            for tag in range(0, len(numbers), 100):
                part = numbers[tag : tag + 100]
                wire.send(b"".join(publish_once(number, b"%d;0;" % number) for number in part))
                wire.expect_confirms(1, tag + 1, tag + len(part))
        for number in numbers:
            travellers.all[number].is_confirmed = True
        return len(numbers)

    def take_all(self, travellers: Travellers, faults: list[str]) -> dict[int, list[str]]:
        """Every message that is left, with the queues where it was, once nothing is due any more."""
        found: dict[int, list[str]] = {}
        until_ms = max(traveller.due_ms for traveller in travellers.all.values()) + 300
        with self.broker.wire(timeout=60) as wire:
            is_empty = False
            # What a queue gives up meanwhile comes to the dead letters: until nothing moves any more.
            while not (is_empty and now_ms() > until_ms):
                is_empty = True
                for queue in QUEUES:
                    while (body := self.get(wire, queue)) is not None:
                        is_empty, arrived_ms = False, now_ms()
                        number, due_ms = (int(each) for each in body.split(b";", 2)[:2])
                        found.setdefault(number, []).append(queue)
                        if arrived_ms < due_ms:
                            faults.append(f"{number} came {due_ms - arrived_ms} ms too early")
                        if number not in travellers.all:
                            faults.append(f"{number} was never sent")
                time.sleep(0.02)
        return found

    @staticmethod
    def get(wire: Wire, queue: str) -> bytes | None:
        """The body of the queue's first message, if it has one."""
        wire.send_method(1, "basic.get", queue=queue, no_ack=True)
        if wire.expect_one_of("basic.get-ok", "basic.get-empty").name == "basic.get-empty":
            return None
        header, body = wire.read(), b""
        while len(body) < header.body_len:
            body += wire.read()
        return body

    @staticmethod
    def check(travellers: Travellers, found: dict[int, list[str]], faults: list[str]) -> None:
        for number, queues in found.items():
            if len(queues) > 1:
                faults.append(f"{number} came back {len(queues)} times: {queues}")
        for number, traveller in travellers.all.items():
            if traveller.is_confirmed and not traveller.is_acked and number not in found:
                faults.append(f"{number} was confirmed and not acked, and is missing: {traveller}")


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    arguments = parser.parse_args()
    brokers.refuse_url(parser, arguments, "a broker that is to be killed must be started here")
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    broker = brokers.from_options(arguments, management=True)
    run, failed = Run(broker, seed), 0
    try:
        for number in range(1, arguments.rounds + 1):
            try:
                summary, faults = run.round(number)
            except (AssertionError, OSError, brokers.NotReady) as fault:
                summary, faults = "", [repr(fault)]
            print(f"{'not ok' if faults else 'ok'} round {number}: {summary}", flush=True)
            for fault in faults[:20]:
                print(f"    {fault}")
            if faults:
                failed = 1
                print(f"    {len(faults)} faults; seed {seed}; the broker's last words:\n{broker.log_tail()}", flush=True)
                break
    finally:
        if failed:
            broker.kill()
            print(f"    its files are left in {broker.directory}")
        else:
            broker.remove()
    print(f"journeys: {number - failed} passed, {failed} failed", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
