#!/usr/bin/env python3
"""Links between brokers: of Warren, and with --peer between Warren and a real RabbitMQ, in both directions.

    tests/federation/run.py                    two brokers of Warren
    tests/federation/run.py --peer 4           and a RabbitMQ 4, as upstream and as downstream
    tests/federation/run.py -- -k queue        what follows -- goes to pytest
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    arguments, rest = parser.parse_known_args()
    brokers.refuse_url(parser, arguments, "brokers that feed each other must be started here")
    return environment.pytest([HERE], [*brokers.own_options(arguments), *(rest[1:] if rest[:1] == ["--"] else rest)])


if __name__ == "__main__":
    sys.exit(main())
