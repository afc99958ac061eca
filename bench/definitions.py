#!/usr/bin/env python3
"""How long imports of ten thousand definitions take: over HTTP, into a fresh broker each time, and once more into the same one.

    bench/definitions.py                                    Warren, from target/dist
    bench/definitions.py --rounds 5 --only mixed
    bench/definitions.py --peer 4                           RabbitMQ, for comparison

An import has ended when its answer is there: then it would outlast a crash. Not a test: it fails only when an import does.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "definitions")]

import documents  # noqa: E402
from blackbox import broker as brokers  # noqa: E402
from blackbox import management  # noqa: E402

LONGEST_S = 600.0


def imported_s(broker: brokers.Broker, body: bytes) -> float:
    """Seconds of one import."""
    started_at = time.monotonic()
    broker.management.post("/definitions", body).expect(204)
    return time.monotonic() - started_at


def measure(arguments: argparse.Namespace, name: str) -> None:
    """All rounds of one document, and a line about them."""
    document = documents.ALL[name](arguments.count)
    body, first_s, again_s, boot_s = json.dumps(document).encode(), [], [], []
    for _ in range(arguments.rounds):
        broker = brokers.from_options(arguments, management=True)
        try:
            broker.start()
            first_s.append(imported_s(broker, body))
            again_s.append(imported_s(broker, body))
            broker.stop()
            started_at = time.monotonic()
            broker.start()
            boot_s.append(time.monotonic() - started_at)
        finally:
            broker.remove()
    columns = "  ".join(f"{min(all_s):6.2f} {statistics.median(all_s):6.2f} {max(all_s):6.2f}" for all_s in (first_s, again_s, boot_s))
    print(f"{name:20} {documents.size(document):7} {len(body) / 2**20:6.2f}  {columns}", flush=True)


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="fresh brokers for each document (default: %(default)s)")
    parser.add_argument("--count", type=int, default=documents.LARGE, help="objects of a document (default: %(default)s)")
    parser.add_argument("--only", choices=documents.ALL, help="one document only")
    arguments = parser.parse_args()
    brokers.refuse_url(parser, arguments, "each import needs a fresh broker")
    management.TIMEOUT_S = LONGEST_S
    print(f"{'':20} {'':7} {'':6}  {'import, s':20}  {'again, s':20}  {'start with it, s':20}")
    print(f"{'document':20} {'objects':>7} {'MiB':>6}  " + "  ".join([f"{'min':>6} {'median':>6} {'max':>6}"] * 3), flush=True)
    for name in [arguments.only] if arguments.only else documents.ALL:
        measure(arguments, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
