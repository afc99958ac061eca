#!/usr/bin/env python3
"""TLS, EXTERNAL and the PROXY protocol: pytest's tests in this folder, and the client libraries of tests/clients over each of them.

    tests/tls/run.py                        everything; HAProxy's part is skipped where there is none, and it is said so
    tests/tls/run.py --only tls,python      some transports (tls, external, proxy, proxy-v2) and pytest (python)
    tests/tls/run.py --languages go,node    some languages
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "clients")]

import run as clients  # noqa: E402
from blackbox import broker as brokers  # noqa: E402
from blackbox import environment, haproxy, transports  # noqa: E402


def run_clients(name: str, languages: list[str], command: str, tally: clients.Tally) -> None:
    """All languages over one transport."""
    print(f"over {name}:", flush=True)
    transport = transports.Transport(name)
    broker = brokers.Warren(command, transport.settings)
    transport.reach(broker)
    try:
        broker.start()
        os.environ.update(transport.environment)
        for language in languages:
            tally.run(language, transport.url)
    finally:
        for variable in transport.environment:
            os.environ.pop(variable, None)
        broker.remove()
        transport.remove()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--broker-command", default=brokers.DEFAULT_COMMAND, metavar="COMMAND", help="starts the broker under test")
    parser.add_argument("--only", default=",".join(["python", *transports.NAMES]), help="what to run, separated by commas (default: %(default)s)")
    parser.add_argument("--languages", default=",".join(clients.LANGUAGES), help="which languages (default: %(default)s)")
    arguments, rest = parser.parse_known_args()
    wanted = arguments.only.split(",")
    if unknown := set(wanted) - {"python", *transports.NAMES}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if not shutil.which("openssl"):
        print("SKIPPED everything with TLS: openssl not found", flush=True)
        return 0
    tally, status = clients.Tally(), 0
    if "python" in wanted:
        status = environment.pytest([HERE], [f"--broker-command={arguments.broker_command}", *(rest[1:] if rest[:1] == ["--"] else rest)])
    for name in transports.NAMES:
        if name not in wanted:
            continue
        if name.startswith("proxy") and not haproxy.IS_INSTALLED:
            tally.skipped += 1
            print(f"SKIPPED clients over {name}: haproxy not found", flush=True)
            continue
        run_clients(name, arguments.languages.split(","), arguments.broker_command, tally)
    print(f"clients over TLS and proxies: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped", flush=True)
    return 1 if status or tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
