#!/usr/bin/env python3
"""`warren perf` and RabbitMQ's PerfTest: whether they understand each other's messages, and do the same when they are told the same;
and workloads that PerfTest has nothing like.

    tests/perf/run.py [--perf-command 'target/debug/warren perf'] [--peer 4] [-- PYTEST OPTIONS]

PerfTest is fetched by Maven; without Java or Maven its tests are skipped, and it is said so.
"""

import sys
from pathlib import Path

PERF = Path(__file__).resolve().parent
sys.path.insert(0, str(PERF.parent))

import perftest  # noqa: E402
from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--perf-command", help="the load generator under test (default: target/debug/warren perf)")
    arguments, rest = parser.parse_known_args()
    if absent := perftest.missing():
        print(f"SKIPPED what needs PerfTest: {' and '.join(absent)} not found", flush=True)
    options = [f"--broker-command={arguments.broker_command}"]
    options += [f"--{name.replace('_', '-')}={value}" for name in ("url", "peer", "perf_command") if (value := getattr(arguments, name))]
    print("warren perf and PerfTest", flush=True)
    return environment.pytest([PERF], options + (rest[1:] if rest[:1] == ["--"] else rest))


if __name__ == "__main__":
    sys.exit(main())
