#!/usr/bin/env python3
"""Kills either end of a shovel at random moments, and checks that it loses nothing.

    tests/crash/shovels.py --rounds 3                    a few rounds, for every day
    tests/crash/shovels.py --rounds 100 --seed 7         many; the same seed makes the same choices

The first broker has the queue that is emptied, the second one the one that is filled; by turns one or the other has the shovel. What arrives
twice says so by `x-shovelled-redelivered`. See `joined.py`.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import joined  # noqa: E402

FROM, TO, NAME = "shovel-from", "shovel-to", "killed"
MARK = "x-shovelled-redelivered"


class Shovels(joined.Rounds):
    name = "shovels"

    def definition(self, host) -> dict:
        """At the broker that has it: its own end has no host in its URI."""
        uri = lambda broker: "amqp://" if broker is host else broker.url  # noqa: E731
        return {
            "src-uri": uri(self.first), "src-queue": FROM, "src-prefetch-count": joined.PREFETCH, "dest-uri": uri(self.second),
            "dest-queue": TO, "reconnect-delay": 0.05,
        }  # fmt: skip

    def join(self, number: int) -> tuple[joined.Publisher, joined.Arrivals]:
        self.host, other = (self.first, self.second) if number % 2 else (self.second, self.first)
        other.management.delete(f"/parameters/shovel/%2F/{NAME}")
        self.host.management.put(f"/parameters/shovel/%2F/{NAME}", {"value": self.definition(self.host)}).expect(201, 204)
        with self.first.wire() as wire:
            wire.call(1, "queue.declare", queue=FROM, durable=True)
        return joined.Publisher(self.first, f"{self.seed}/{number}", "", FROM), joined.Arrivals(lambda headers: headers.get(MARK))

    def collect(self, arrivals: joined.Arrivals, is_all) -> None:
        self.drain_until(arrivals, TO, FROM, is_all)

    def part(self) -> None:
        self.host.management.delete(f"/parameters/shovel/%2F/{NAME}").expect(204)


if __name__ == "__main__":
    sys.exit(joined.main(Shovels, __doc__))
