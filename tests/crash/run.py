#!/usr/bin/env python3
"""Kills the broker at random moments and checks what is left.

    tests/crash/run.py --rounds 5                   a few rounds, for every day
    tests/crash/run.py --rounds 50 --seed 7         many; the same seed makes the same choices, though threads never run the same way twice
    tests/crash/run.py --peer 4                     against a real RabbitMQ

Each round: publishers with confirms, several durable queues, consumers that ack, reject and requeue; queues are declared and deleted
meanwhile; then SIGKILL, sometimes once more while the broker recovers; then a restart, and every queue is compared with the ledger (see
`ledger`, which says what must follow). Messages left by one round are often left in place for the next.

Every other round the broker runs with the least bounds that it takes, so that it moves messages from journal and memory to segments,
writes checkpoints and reclaims files while it is killed. With the default bounds a round is over before any of that begins.

The ledger's own tests come first: an oracle that finds nothing proves nothing.
"""

import random
import sys
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from blackbox import broker as brokers  # noqa: E402
from blackbox import codec, environment  # noqa: E402
from blackbox.wire import Wire  # noqa: E402
from ledger import Ledger, Recovered, Report  # noqa: E402
from traffic import EVERYWHERE, Consumer, Publisher, body_of, key_of  # noqa: E402

QUEUES = [f"crash-{number}" for number in range(4)]
QUORUM = QUEUES[-1]
"""Keeps what is transient, too. RabbitMQ's comes back in another order, so there it is a classic queue."""
QUORUM_ARGUMENTS = {"x-queue-type": "quorum", "x-delivery-limit": -1}
DEFINER = 1000
"""The publisher number of the connection that declares and deletes queues."""
SMALL = {"warren.journal.bound": "8MiB", "warren.journal.file_size": "1MiB", "warren.chunks.bound": "8MiB"}
CONFIRMS_MIN, DURABLE_ACKS_MIN = 50, 10
"""What a round must have before the kill. Far less than a slow disk allows; a broker that is in the way of its clients does not get there."""
TIMEOUT_S = 60.0


@dataclass
class Files:
    """What the broker has moved out of its journal."""

    segments: int = 0
    checkpoint: int = 0

    @classmethod
    def of(cls, broker) -> "Files":
        if not isinstance(broker, brokers.Warren):
            return cls()
        last = max((int(path.stem) for path in broker.data_dir.glob("checkpoints/*.checkpoint") if path.stem.isdigit()), default=0)
        return cls(len(list(broker.data_dir.glob("segments/*.segment"))), last)


class Run:
    """One broker over many rounds."""

    def __init__(self, broker, seed: int):
        self.broker, self.seed = broker, seed
        self.random = random.Random(seed)
        is_warren = isinstance(broker, brokers.Warren)
        self.quorum = frozenset([QUORUM] if is_warren else [])
        self.ledger = Ledger(keeps_acks=is_warren, keeping_all=self.quorum)
        self.passing: list[str] = []
        self.deleted: str | None = None
        self.files = Files()
        self.segments_max = 0
        self.ready_after_s = 0.0

    def prepare(self, number: int) -> None:
        """The bounds of that round, for the broker's next start."""
        for key, value in SMALL.items():
            if self.is_small(number):
                self.broker.settings[key] = value
            else:
                self.broker.settings.pop(key, None)

    def is_small(self, number: int) -> bool:
        return number % 2 == 1 and isinstance(self.broker, brokers.Warren)

    def declare(self) -> None:
        with self.broker.wire() as wire:
            wire.call(1, "exchange.declare", exchange=EVERYWHERE, type="fanout", durable=True)
            for queue in QUEUES:
                arguments = QUORUM_ARGUMENTS if queue in self.quorum else {}
                wire.call(1, "queue.declare", queue=queue, durable=True, arguments=arguments)
                wire.call(1, "queue.bind", queue=queue, exchange=EVERYWHERE)

    def round(self, number: int) -> Report:
        """Traffic, death, restart, check."""
        seed = f"{self.seed}/{number}/"
        address, is_killed = self.broker.address, threading.Event()
        self.ledger.begin_round()
        publishers = [Publisher(address, self.ledger, f"{seed}p{each}", is_killed, each, QUEUES) for each in range(3)]
        consumer_count = self.random.choice([2, 4, 6])
        consumers = [Consumer(address, self.ledger, f"{seed}c{each}", is_killed, QUEUES[each % len(QUEUES)]) for each in range(consumer_count)]
        for worker in publishers + consumers:
            worker.start()
        report = Report(faults=[f"Publisher: no confirm in {TIMEOUT_S:.0f} s" for publisher in publishers if not publisher.confirmed.wait(TIMEOUT_S)])
        self.change_definitions(number)
        if fault := self.ledger.wait_for(CONFIRMS_MIN, DURABLE_ACKS_MIN, TIMEOUT_S):
            report.faults.append(fault)
        if self.is_small(number):
            self.wait_for_moving()
        time.sleep(self.random.uniform(0.05, 2.0))
        is_killed.set()
        self.broker.kill()
        for worker in publishers + consumers:
            worker.join(90)
        report.faults += [worker.fault for worker in publishers + consumers if worker.fault]
        self.files = Files.of(self.broker)
        if self.is_small(number):
            self.segments_max = max(self.segments_max, self.files.segments)
        self.prepare(number + 1)
        if self.random.random() < 0.3 and isinstance(self.broker, brokers.Warren):
            # Once more, at any moment of the recovery.
            self.broker.start(wait=False)
            time.sleep(self.random.uniform(0.0, 0.1))
            self.broker.kill()
        started_at = time.monotonic()
        self.broker.start()
        self.ready_after_s = time.monotonic() - started_at
        self.check(report)
        return report

    def wait_for_moving(self) -> None:
        """Until the broker moves messages out of its journal, or was given long enough: the dice may have chosen little traffic."""
        deadline, before = time.monotonic() + 10, Files.of(self.broker)
        while Files.of(self.broker) == before and time.monotonic() < deadline:
            time.sleep(0.01)

    def change_definitions(self, number: int) -> None:
        """A queue comes with confirmed messages in it; another one, of two rounds ago, goes."""
        queue = f"crash-round-{number}"
        with self.broker.wire(timeout=60) as wire:
            wire.call(1, "queue.declare", queue=queue, durable=True)
            wire.call(1, "confirm.select")
            pending = []
            for count in range(5):
                published_at, padding = self.ledger.now(), b"x" * count
                keys = self.ledger.publish(DEFINER, [queue], zlib.crc32(padding), True)
                pending.append((keys, published_at))
                wire.send(codec.publish(1, "", queue, body_of(keys, padding), delivery_mode=2))
            wire.expect_confirms(1, 1, len(pending))
            for keys, published_at in pending:
                self.ledger.confirm(keys, published_at)
            self.passing.append(queue)
            if len(self.passing) > 2:
                self.deleted = self.passing.pop(0)
                wire.call(1, "queue.delete", queue=self.deleted)
                self.ledger.forget_all_but(self.deleted, [])

    def check(self, report: Report) -> None:
        """Every queue against the ledger."""
        for queue in QUEUES + self.passing:
            with self.broker.wire(timeout=60) as wire:
                recovered = self.take_all(wire, queue, report)
                self.ledger.check(queue, recovered, report)
                keys = [each.key for each in recovered]
                if report.faults:
                    continue
                self.ledger.forget_all_but(queue, keys)
                if queue in QUEUES and self.random.random() < 0.4:
                    self.ledger.ack(keys)
                    wire.send_method(1, "basic.ack", delivery_tag=0, multiple=True)
                    wire.call(1, "basic.qos")
                    self.ledger.settle(keys)
                wire.call(1, "channel.close", reply_code=200)
        if self.deleted:
            with self.broker.wire() as wire:
                wire.send_method(1, "queue.declare", queue=self.deleted, passive=True)
                if wire.expect_one_of("channel.close", "queue.declare-ok").name == "queue.declare-ok":
                    report.faults.append(f"queue {self.deleted} came back after queue.delete-ok")

    def take_all(self, wire: Wire, queue: str, report: Report) -> list[Recovered]:
        """What is in the queue, unacked."""
        wire.send_method(1, "queue.declare", queue=queue, passive=True)
        state = wire.expect_one_of("queue.declare-ok", "channel.close")
        if state.name == "channel.close":
            report.faults.append(f"queue {queue} is missing")
            wire.send_method(1, "channel.close-ok")
            wire.call(1, "channel.open")
            return []
        recovered = []
        wire.call(1, "basic.consume", queue=queue, consumer_tag="check")
        for _ in range(state.message_count):
            message = wire.expect_message()
            recovered.append(Recovered(key_of(queue, message.body), zlib.crc32(message.body.split(b";", 2)[2]), message.method.redelivered))
        wire.call(1, "basic.cancel", consumer_tag="check")
        wire.send_method(1, "basic.get", queue=queue)
        if wire.expect_one_of("basic.get-empty", "basic.get-ok").name == "basic.get-ok":
            report.faults.append(f"queue {queue} says it has {state.message_count} messages and has more")
        return recovered


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    arguments = parser.parse_args()
    brokers.refuse_url(parser, arguments, "a broker that is to be killed must be started here")
    if status := environment.pytest([Path(__file__).resolve().parent], []):
        return status
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)

    broker = brokers.from_options(arguments)
    run = Run(broker, seed)
    failed = 0
    try:
        run.prepare(1)
        broker.start()
        run.declare()
        for number in range(1, arguments.rounds + 1):
            try:
                report = run.round(number)
            except (AssertionError, OSError, brokers.NotReady) as fault:
                report = Report(faults=[repr(fault)])
            summary = (
                f"{run.ledger.confirms} confirms; {report.kept} came back ({report.unconfirmed_kept} unconfirmed, {report.marked} marked), "
                f"{report.durable_acks} durable acks kept, {report.acks_lost} others lost; {run.files.segments} segments, "
                f"checkpoint {run.files.checkpoint}{' (small bounds)' if run.is_small(number) else ''}; ready in {run.ready_after_s * 1000:.0f} ms"
            )
            print(f"{'not ok' if report.faults else 'ok'} round {number}: {summary}", flush=True)
            for fault in report.faults[:20]:
                print(f"    {fault}")
            if report.faults:
                failed += 1
                print(f"    {len(report.faults)} faults; seed {seed}; the broker's last words:\n{broker.log_tail()}", flush=True)
                break
        if not failed and isinstance(broker, brokers.Warren) and run.segments_max == 0:
            failed += 1
            print("not ok: no round with small bounds had a segment; nothing was moved out of the journal")
    finally:
        if failed and isinstance(broker, brokers.Warren):
            broker.kill()
            print(f"    its files are left in {broker.directory}")
        else:
            broker.remove()
    print(f"crash: {number - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
