#!/usr/bin/env python3
"""Records what a real RabbitMQ answers to sequences of operations, into recorded.jsonl.gz: those that once differed, and some from seeds.

    tests/semantics/sequences/record.py                     300 from seeds, from a RabbitMQ 4 that bench/peers/rabbitmq starts
    tests/semantics/sequences/record.py --count 100 --first 5
    tests/semantics/sequences/record.py --rabbitmq amqp://…

Each is played twice, the second time with more patience, and recorded if it came out the same. Of those from seeds some are left out: those in which
a decided difference may be, and quorum queues with limits. Which message makes room there depends on the order of what came back, and Warren keeps
that in memory only.
"""

import argparse
import sys
from pathlib import Path

SEMANTICS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SEMANTICS), str(SEMANTICS.parent)]
sys.path.remove(str(Path(__file__).resolve().parent))

from blackbox import broker as brokers  # noqa: E402
from sequences import comparing, decided, keeping  # noqa: E402
from sequences.making import has_limited_quorum, make  # noqa: E402
from sequences.playing import CAREFUL  # noqa: E402

COUNT = 300


def record(broker: brokers.Broker, first: int, count: int) -> tuple[list[keeping.Recorded], list[str]]:
    """What came out the same twice, and the names of the rest."""
    seeds = [(f"seed {seed}", make(seed)) for seed in range(first, first + count)]
    seeds = [(name, operations) for name, operations in seeds if not decided.matching(operations) and not has_limited_quorum(operations)]
    named = keeping.once_differed() + seeds
    sequences = [operations for _, operations in named]
    (once, _), (again, _) = (comparing.play_all(broker, sequences, [None] * len(sequences), pace) for pace in (None, CAREFUL))
    recorded, left_out = [], []
    for (name, operations), one, two in zip(named, once, again, strict=True):
        if one.stuck or two.stuck or one.notes != two.notes:
            left_out.append(name)
        else:
            recorded.append(keeping.Recorded(name, operations, two.notes))
    return recorded, left_out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed (default: %(default)s)")
    parser.add_argument("--count", type=int, default=COUNT, help="how many seeds (default: %(default)s)")
    parser.add_argument("--rabbitmq", metavar="URL", help="a RabbitMQ 4 that runs already, on whose port + 10000 is its HTTP API")
    arguments = parser.parse_args()
    broker = brokers.Running(arguments.rabbitmq) if arguments.rabbitmq else brokers.Peer("4", comparing.DEPRECATED, management=True)
    try:
        if isinstance(broker, brokers.Peer):
            broker.start()
        recorded, left_out = record(broker, arguments.first, arguments.count)
        keeping.write(recorded)
        print(f"{len(recorded)} recorded, {keeping.RECORDED.stat().st_size} bytes; not the same twice: {', '.join(left_out) or 'none'}")
        return 0
    finally:
        broker.remove()


if __name__ == "__main__":
    sys.exit(main())
