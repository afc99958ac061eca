#!/usr/bin/env python3
"""Kills either end of a shovel at random moments, and checks that it loses nothing.

    tests/crash/shovels.py --rounds 3                    a few rounds, for every day
    tests/crash/shovels.py --rounds 100 --seed 7         many; the same seed makes the same choices

Two brokers: one has the queue that is emptied, the other the one that is filled; by turns the first one or the second one has the shovel. A
publisher sends persistent messages with confirms to the first queue. Each round kills one of the brokers, at times both, and starts it again. At
the end every message that was confirmed is in the second queue; one that is there twice says so (`x-shovelled-redelivered`), and each kill makes
no more of these than the shovel's prefetch.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter, deque
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from blackbox import broker as brokers  # noqa: E402
from blackbox import codec  # noqa: E402
from blackbox.wire import Closed, Timeout, Torn, Wire  # noqa: E402

FROM, TO, NAME = "shovel-from", "shovel-to", "killed"
PREFETCH = 100
SETTLE_S = 60.0
MARK = "x-shovelled-redelivered"


class Publisher(threading.Thread):
    """Publishes persistent messages with confirms, and goes on after the broker was killed."""

    def __init__(self, broker, seed: str):
        super().__init__(daemon=True)
        self.broker, self.random = broker, random.Random(seed)
        self.sent, self.is_ending = 0, threading.Event()
        self.confirmed: set[int] = set()

    def run(self) -> None:
        while not self.is_ending.is_set():
            try:
                with Wire.open(self.broker.address, timeout=10) as wire:
                    self.work(wire)
            except (Closed, Torn, Timeout, OSError):
                time.sleep(0.02)

    def work(self, wire: Wire) -> None:
        wire.call(1, "confirm.select")
        pending: deque[tuple[int, int]] = deque()
        tag = 0
        while not self.is_ending.is_set():
            batch = bytearray()
            for _ in range(self.random.choice([1, 10, 40])):
                tag, self.sent = tag + 1, self.sent + 1
                pending.append((tag, self.sent))
                body = b"%d;" % self.sent + b"x" * self.random.choice([0, 100, 1000])
                batch += codec.publish(1, "", FROM, body, delivery_mode=2)
            wire.send(batch)
            while pending and wire.is_readable(10.0):
                ack = wire.expect("basic.ack")
                while pending and pending[0][0] <= ack.delivery_tag:
                    self.confirmed.add(pending.popleft()[1])
            time.sleep(0.001)


class Run:
    """Two brokers over many rounds."""

    def __init__(self, first, second, seed: int):
        self.first, self.second, self.random, self.seed = first, second, random.Random(seed), seed
        self.arrived, self.twice, self.kills = 0, 0, 0

    def shovel(self, host) -> dict:
        """The definition, at the broker that has it: its own end has no host in its URI."""
        uri = lambda broker: "amqp://" if broker is host else broker.url  # noqa: E731
        return {
            "src-uri": uri(self.first), "src-queue": FROM, "src-prefetch-count": PREFETCH, "dest-uri": uri(self.second), "dest-queue": TO,
            "reconnect-delay": 0.05,
        }  # fmt: skip

    def round(self, number: int) -> tuple[str, list[str]]:
        host, other = (self.first, self.second) if number % 2 else (self.second, self.first)
        for broker in (self.first, self.second):
            broker.start()
        other.management.delete(f"/parameters/shovel/%2F/{NAME}")
        host.management.put(f"/parameters/shovel/%2F/{NAME}", {"value": self.shovel(host)}).expect(201, 204)
        publisher = Publisher(self.first, f"{self.seed}/{number}")
        with self.first.wire() as wire:
            wire.call(1, "queue.declare", queue=FROM, durable=True)
        publisher.start()
        time.sleep(self.random.uniform(0.1, 1.0))
        for broker in self.random.choice([[self.first], [self.second], [self.first, self.second]]):
            self.kills += 1
            broker.kill()
            time.sleep(self.random.uniform(0.0, 0.3))
            broker.start()
        time.sleep(self.random.uniform(0.0, 0.5))
        publisher.is_ending.set()
        publisher.join(60)
        arrived, faults = self.empty(publisher)
        host.management.delete(f"/parameters/shovel/%2F/{NAME}").expect(204)
        for broker in (self.first, self.second):
            broker.stop()
        self.arrived += sum(arrived.values())
        self.twice += sum(arrived.values()) - len(arrived)
        return f"{publisher.sent} sent, {len(publisher.confirmed)} confirmed, {sum(arrived.values())} arrived", faults

    def empty(self, publisher: Publisher) -> tuple[Counter, list[str]]:
        """Takes all that arrives, until the first queue is empty and nothing comes any more."""
        arrived, marked, deadline = Counter(), Counter(), time.monotonic() + SETTLE_S
        with self.first.wire() as source, self.second.wire() as target:
            while time.monotonic() < deadline:
                took = self.take(target, arrived, marked)
                missing = publisher.confirmed - arrived.keys()
                declared = source.call(1, "queue.declare", queue=FROM, passive=True)
                if not took and not missing and declared.message_count == 0:
                    break
                time.sleep(0.02)
            time.sleep(0.2)
            self.take(target, arrived, marked)
        faults = [f"{each} was confirmed, and did not arrive" for each in sorted(publisher.confirmed - arrived.keys())[:5]]
        faults += [f"{each} arrived, and was never sent" for each in arrived if each > publisher.sent]
        twice = {each: count for each, count in arrived.items() if count > 1}
        faults += [f"{each} arrived {count} times, and {marked[each]} say so" for each, count in twice.items() if marked[each] < count - 1][:5]
        if len(twice) > 2 * PREFETCH:
            faults.append(f"{len(twice)} messages arrived twice, of a prefetch of {PREFETCH}")
        return arrived, faults

    @staticmethod
    def take(wire: Wire, arrived: Counter, marked: Counter) -> int:
        """What is in the second queue now; how many those are."""
        count = 0
        while True:
            wire.send_method(1, "basic.get", queue=TO, no_ack=True)
            if wire.expect_one_of("basic.get-ok", "basic.get-empty").name == "basic.get-empty":
                return count
            header, body = wire.read(), b""
            while len(body) < header.body_len:
                body += wire.read()
            number = int(body.split(b";", 1)[0])
            arrived[number] += 1
            marked[number] += bool((header.properties.get("headers") or {}).get(MARK))
            count += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    brokers.add_options(parser)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    arguments = parser.parse_args()
    if arguments.url:
        parser.error("a broker that is to be killed must be started here: --url cannot be used")
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    pair = [brokers.from_options(arguments, management=True) for _ in range(2)]
    run, failed, number = Run(*pair, seed), 0, 0
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
                for broker in pair:
                    print(f"    {len(faults)} faults; seed {seed}; a broker's last words:\n{broker.log_tail()}", flush=True)
                break
    finally:
        for broker in pair:
            if failed:
                broker.kill()
                print(f"    its files are left in {broker.directory}")
            else:
                broker.remove()
    print(f"shovels: {number - failed} passed, {failed} failed; {run.kills} kills, {run.arrived} messages arrived, {run.twice} of them once more", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
