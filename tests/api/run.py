#!/usr/bin/env python3
"""Tests of the management HTTP API.

    tests/api/run.py                                        Warren, from target/debug
    tests/api/run.py --peer 4                               a real RabbitMQ, to see that the tests are right
    tests/api/run.py --url amqp://… --management-port 15672
    tests/api/run.py --long -- -k parallel                  the full numbers; what follows -- goes to pytest
"""

import sys
from pathlib import Path

API = Path(__file__).resolve().parent
sys.path.insert(0, str(API.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--long", action="store_true", help="the full numbers: 10,000 parallel requests, and tools that take long to build")
    arguments, rest = parser.parse_known_args()
    options = brokers.own_options(arguments) + (["--long"] if arguments.long else [])
    return environment.pytest([API], options + (rest[1:] if rest[:1] == ["--"] else rest), API / "requirements.txt")


if __name__ == "__main__":
    sys.exit(main())
