#!/usr/bin/env python3
"""Looks for sequences of operations that Warren answers otherwise than RabbitMQ, and makes them small.

    tests/semantics/sequences/search.py                          a thousand, from a seed that is said
    tests/semantics/sequences/search.py --first 7000 --count 1   that sequence again
    tests/semantics/sequences/search.py --rabbitmq amqp://…      beside a RabbitMQ that runs already, on whose port + 10000 is its HTTP API
    tests/semantics/sequences/search.py --play FILE              the sequences of a file, each a JSON list of operations

It ends with status 1 if anything differs that `decided.py` does not know, or if the broker was stuck or busy with nothing.
"""

import argparse
import itertools
import json
import sys
import time
from pathlib import Path

SEMANTICS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SEMANTICS), str(SEMANTICS.parent)]
sys.path.remove(str(Path(__file__).resolve().parent))

from blackbox import broker as brokers  # noqa: E402
from sequences import comparing, decided  # noqa: E402
from sequences.comparing import BATCH, BUSY_SHARE_MAX, Difference, Pair  # noqa: E402
from sequences.making import Operation, make  # noqa: E402
from sequences.playing import Pace  # noqa: E402
from sequences.reducing import reduce  # noqa: E402


class Search:
    """What was played and found so far."""

    def __init__(self, pair: Pair, are_reduced: bool, differences_max: int):
        self.pair, self.are_reduced, self.differences_max = pair, are_reduced, differences_max
        self.played = self.operations = self.decided = self.unstable = 0
        self.found: list[Difference] = []
        self.busy = 0

    def batch(self, named: list[tuple[str, list[Operation]]]) -> None:
        """Plays some on both brokers."""
        sequences = [operations for _, operations in named]
        expected, _ = comparing.play_all(self.pair.rabbitmq, sequences, [None] * len(sequences))
        seen, share = comparing.play_all(self.pair.warren, sequences, [each.notes if not each.stuck else None for each in expected])
        self.played += len(sequences)
        self.operations += sum(len(each) for each in sequences)
        self.unstable += sum(bool(each.stuck) for each in expected)
        if any(each.stuck for each in seen):
            # All of the batch are played again, one by one, on a broker that is not.
            self.pair.renew()
        for (name, operations), ours, theirs in zip(named, seen, expected, strict=True):
            if comparing.difference(operations, theirs, ours):
                self.look_at(name, operations)
        if share > BUSY_SHARE_MAX and not any(each.stuck for each in seen):
            self.look_for_busy(named)

    def look_for_busy(self, named: list[tuple[str, list[Operation]]]) -> None:
        """Which of these leaves the broker busy with nothing."""
        self.pair.renew()
        for name, operations in named:
            _, share = comparing.play_all(self.pair.warren, [operations], [None])
            if share > BUSY_SHARE_MAX:
                self.pair.renew()
                self.busy += 1
                print(f"\n{name} leaves the broker busy with {share:.0%} of a processor:", *(f"    {json.dumps(each)}" for each in operations), sep="\n", flush=True)

    def look_at(self, name: str, operations: list[Operation]) -> None:
        """Plays one again with patience, makes it small, and shows it."""
        if decided.matching(operations):
            self.decided += 1
            return
        found = self.pair.differ(operations)
        if found is None:
            self.unstable += 1
            return
        if self.are_reduced:
            smaller = reduce(found, self.check)
            found = self.pair.differ(smaller.operations) or found
        self.found.append(found)
        print(f"\n{name} differs:", *found.lines(), sep="\n", flush=True)

    def check(self, operations: list[Operation]) -> Difference | None:
        return None if decided.matching(operations) else self.pair.differ(operations, Pace())

    def summary(self) -> str:
        return (
            f"{self.played} sequences, {self.operations} operations: {len(self.found)} differ, {self.decided} differ as decided, "
            f"{self.unstable} were not the same when played again, {self.busy} leave it busy with nothing"
        )


def sequences_of(arguments: argparse.Namespace) -> list[tuple[str, list[Operation]]]:
    if arguments.play:
        return [(f"{arguments.play.name}:{at}", json.loads(line)) for at, line in enumerate(arguments.play.read_text().splitlines(), 1) if line.strip()]
    made = ((f"seed {seed}", make(seed)) for seed in itertools.count(arguments.first))
    return list(itertools.islice((each for each in made if not decided.matching(each[1])), arguments.count))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--first", type=int, default=int(time.time()) * 1000, metavar="SEED", help="the first seed (default: by the clock)")
    parser.add_argument("--count", type=int, default=1000, help="how many sequences (default: %(default)s)")
    parser.add_argument("--play", type=Path, metavar="FILE", help="the sequences of a file instead")
    parser.add_argument("--rabbitmq", metavar="URL", help="a RabbitMQ 4 that runs already (default: bench/peers/rabbitmq starts one)")
    parser.add_argument("--as-found", action="store_true", help="do not make small what differs")
    parser.add_argument("--most", type=int, default=20, metavar="COUNT", help="end after so many differences (default: %(default)s)")
    parser.add_argument("--broker-command", default=brokers.DEFAULT_COMMAND, metavar="COMMAND", help="starts the broker under test")
    arguments = parser.parse_args()
    named = sequences_of(arguments)
    rabbitmq = brokers.Running(arguments.rabbitmq) if arguments.rabbitmq else brokers.Peer("4", comparing.DEPRECATED, management=True)
    pair = None
    try:
        if isinstance(rabbitmq, brokers.Peer):
            rabbitmq.start()
        pair = Pair(lambda: brokers.Warren(arguments.broker_command, management=True), rabbitmq)
        search = Search(pair, not arguments.as_found, arguments.most)
        print(f"{len(named)} sequences, from {named[0][0]}", flush=True)
        for start in range(0, len(named), BATCH):
            search.batch(named[start : start + BATCH])
            print(f"{search.summary()}", flush=True)
            if len(search.found) >= search.differences_max:
                break
        return 1 if search.found or search.busy else 0
    finally:
        if pair:
            pair.warren.remove()
        rabbitmq.remove()


if __name__ == "__main__":
    sys.exit(main())
