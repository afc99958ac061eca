#!/usr/bin/env python3
"""What clients see: the same scenarios on Warren and, recorded, on RabbitMQ.

    tests/semantics/run.py                                  Warren, from target/debug
    tests/semantics/run.py --peer 4                         a real RabbitMQ, to see that the transcripts are right
    tests/semantics/run.py --url amqp://… --management-port 15672
    tests/semantics/run.py -- -k dead_letters               what follows -- goes to pytest
"""

import sys
from pathlib import Path

SEMANTICS = Path(__file__).resolve().parent
sys.path.insert(0, str(SEMANTICS.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    arguments, rest = parser.parse_known_args()
    return environment.pytest([SEMANTICS], brokers.own_options(arguments) + (rest[1:] if rest[:1] == ["--"] else rest))


if __name__ == "__main__":
    sys.exit(main())
