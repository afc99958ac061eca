#!/usr/bin/env python3
"""Mistreats the broker: bytes that are no AMQP, crowds, clients that never read. --long takes the full numbers.

    tests/abuse/run.py [--long] [--peer 4] [-- PYTEST OPTIONS]
"""

import sys
from pathlib import Path

ABUSE = Path(__file__).resolve().parent
sys.path.insert(0, str(ABUSE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--long", action="store_true", help="the full numbers: 10,000 silent connections")
    arguments, rest = parser.parse_known_args()
    return environment.pytest([ABUSE], brokers.own_options(arguments) + (["--long"] if arguments.long else []) + (rest[1:] if rest[:1] == ["--"] else rest))


if __name__ == "__main__":
    sys.exit(main())
