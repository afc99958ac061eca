#!/usr/bin/env python3
"""Plants problems in a broker and asks `warren diagnose`; and the same of loads that are well.

    tests/diagnose/run.py [-- PYTEST OPTIONS]
"""

import sys
from pathlib import Path

DIAGNOSE = Path(__file__).resolve().parent
sys.path.insert(0, str(DIAGNOSE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    arguments, rest = brokers.runner(__doc__).parse_known_args()
    return environment.pytest([DIAGNOSE], brokers.own_options(arguments) + (rest[1:] if rest[:1] == ["--"] else rest))


if __name__ == "__main__":
    sys.exit(main())
