#!/usr/bin/env python3
"""Tests of the metrics for Prometheus.

    tests/prometheus/run.py                     Warren, from target/debug; a real Prometheus where it is installed, else it is said so
    tests/prometheus/run.py -- -k names         what follows -- goes to pytest
"""

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402

WANTED = {"prometheus": "no Prometheus scrapes the broker", "promtool": "answers are not checked by it", "callgrind_control": "the work of a scrape is not counted"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--broker-command", default=brokers.DEFAULT_COMMAND, metavar="COMMAND", help="starts the broker under test")
    arguments, rest = parser.parse_known_args()
    for program, consequence in WANTED.items():
        if not shutil.which(program):
            print(f"SKIPPED: {program} not found, so {consequence}", flush=True)
    options = [f"--broker-command={arguments.broker_command}"]
    return environment.pytest([HERE], options + (rest[1:] if rest[:1] == ["--"] else rest))


if __name__ == "__main__":
    sys.exit(main())
