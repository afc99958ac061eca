#!/usr/bin/env python3
"""Kills either end of a link of federation at random moments, and checks that it loses nothing.

    tests/crash/federation.py --rounds 4                 a few rounds, for every day
    tests/crash/federation.py --rounds 100 --seed 7      many; the same seed makes the same choices

The second broker is fed by the first one: by turns an exchange, whose queue is emptied at the end, and a queue, from which a consumer takes
all the time. What arrives twice says so: by `redelivered` of the last way in `x-received-from`, or because the second broker gives it out
again after it was killed itself. See `joined.py`.
"""

import sys
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import joined  # noqa: E402
from blackbox.wire import Wire  # noqa: E402

EXCHANGE, TO, QUEUE, NAME = "fed-x", "fed-to", "fed-q", "killed"
WAY = "x-received-from"


def is_marked(headers: dict) -> bool:
    return bool(headers.get(WAY) and headers[WAY][0]["redelivered"])


class Consumer(threading.Thread):
    """Takes from a queue with acknowledgements, and goes on after the broker was killed."""

    def __init__(self, broker, arrivals: joined.Arrivals, queue: str = QUEUE):
        super().__init__(daemon=True)
        self.broker, self.arrivals, self.queue, self.is_ending = broker, arrivals, queue, threading.Event()

    def run(self) -> None:
        while not self.is_ending.is_set():
            try:
                with Wire.open(self.broker.address, timeout=10) as wire:
                    wire.call(1, "basic.qos", prefetch_count=joined.PREFETCH)
                    wire.call(1, "basic.consume", queue=self.queue)
                    while not self.is_ending.is_set():
                        if wire.is_readable(0.05):
                            self.take(wire)
            # A node of a cluster that leads no more says goodbye, where a message is expected.
            except (*joined.GONE, AssertionError):
                time.sleep(0.02)

    def take(self, wire: Wire) -> None:
        message = wire.expect_message()
        self.arrivals.add(message.body, message.properties, message.method.redelivered)
        wire.send_method(1, "basic.ack", delivery_tag=message.method.delivery_tag)


class Federation(joined.Rounds):
    name = "federation"
    # Those of the link, and of the consumer, at each of two kills.
    twice_max = 4 * joined.PREFETCH

    def join(self, number: int) -> tuple[joined.Publisher, joined.Arrivals]:
        arrivals, self.consumer = joined.Arrivals(is_marked), None
        seed = f"{self.seed}/{number}"
        for broker in (self.first, self.second):
            with broker.wire() as wire:
                wire.call(1, "exchange.declare", exchange=EXCHANGE, type="topic", durable=True)
                wire.call(1, "queue.declare", queue=QUEUE, durable=True)
        with self.second.wire() as wire:
            wire.call(1, "queue.declare", queue=TO, durable=True)
            wire.call(1, "queue.bind", queue=TO, exchange=EXCHANGE, routing_key="#")
        api = self.second.management
        upstream = {"uri": self.first.url, "prefetch-count": joined.PREFETCH, "reconnect-delay": 0.05}
        api.put(f"/parameters/federation-upstream/%2F/{NAME}", {"value": upstream}).expect(201, 204)
        pattern = EXCHANGE if number % 2 else QUEUE
        policy = {"pattern": f"^{pattern}$", "definition": {"federation-upstream": NAME}}
        api.put(f"/policies/%2F/{NAME}", policy).expect(201, 204)
        self.await_link(api)
        if number % 2:
            return joined.Publisher(self.first, seed, EXCHANGE, "key"), arrivals
        self.consumer = Consumer(self.second, arrivals)
        self.consumer.start()
        return joined.Publisher(self.first, seed, "", QUEUE), arrivals

    @staticmethod
    def await_link(api) -> None:
        """What is published before the link is up is for no one."""
        deadline = time.monotonic() + joined.SETTLE_S
        while [link["status"] for link in api.get("/federation-links").json] != ["running"]:
            assert time.monotonic() < deadline, "the link is not up"
            time.sleep(0.02)

    def collect(self, arrivals: joined.Arrivals, is_all) -> None:
        if self.consumer is None:
            with self.first.wire() as wire:
                names = [queue["name"] for queue in self.first.management.get("/queues/%2F").json]
                (waiting,) = [name for name in names if name.startswith("federation: ")]
                wire.call(1, "queue.declare", queue=waiting, passive=True)
            self.drain_until(arrivals, TO, waiting, is_all)
            return
        deadline = time.monotonic() + joined.SETTLE_S
        while time.monotonic() < deadline and not is_all():
            time.sleep(0.02)
        # What may come twice is to come.
        time.sleep(0.3)
        self.consumer.is_ending.set()
        self.consumer.join(20)

    def part(self) -> None:
        api = self.second.management
        api.delete(f"/policies/%2F/{NAME}").expect(204)
        deadline = time.monotonic() + joined.SETTLE_S
        while any(queue["name"].startswith("federation: ") for queue in self.first.management.get("/queues/%2F").json):
            assert time.monotonic() < deadline, "the link has left its queue"
            time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(joined.main(Federation, __doc__))
