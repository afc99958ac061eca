"""Somebody who only wants to work while others misbehave."""

import threading
import time

from .wire import Wire


class Bystander(threading.Thread):
    """A client that publishes with confirms, consumes and acks all the time, and remembers the longest it had to wait."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.broker = broker
        self.longest_s, self.rounds, self.fault = 0.0, 0, None
        self.connection: str | None = None
        """The name of its connection, once it is running."""
        self.is_stopping = threading.Event()
        self.is_running = threading.Event()

    def run(self) -> None:
        try:
            with self.broker.wire(timeout=30) as wire:
                self.work(wire)
        except (AssertionError, OSError) as fault:
            self.fault = fault
            self.is_running.set()

    def work(self, wire: Wire) -> None:
        self.connection = wire.name
        queue = wire.call(1, "queue.declare", exclusive=True).queue
        wire.call(1, "confirm.select")
        wire.call(1, "basic.consume", queue=queue)
        while not self.is_stopping.is_set():
            started_at = time.monotonic()
            wire.publish(1, "", queue, b"x" * 100)
            for _ in range(2):
                if wire.expect_one_of("basic.ack", "basic.deliver").name == "basic.deliver":
                    wire.read(), wire.read()
            self.rounds += 1
            wire.send_method(1, "basic.ack", delivery_tag=self.rounds)
            self.longest_s = max(self.longest_s, time.monotonic() - started_at)
            self.is_running.set()
            # The abuse is the load, not this.
            self.is_stopping.wait(0.01)

    def check(self, longest_s: float) -> None:
        self.is_stopping.set()
        self.join(60)
        assert self.fault is None, f"the bystander was disturbed: {self.fault!r}"
        assert self.rounds > 0
        assert self.longest_s < longest_s, f"the bystander had to wait for {self.longest_s:.1f} s"
