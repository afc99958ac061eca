#!/usr/bin/env python3
"""Runs the black-box suites, three at a time where they do not measure.

    tests/suites.py                            all of them, as CI does
    tests/suites.py semantics ctl              some, by name
    tests/suites.py --list                     their names
    tests/suites.py --binary target/release/warren
    tests/suites.py --beside 'make lint'    a command that only uses what processor time the suites leave

The program under test is what `cargo test --workspace` has built, target/debug/warren. A suite's output is shown whole when the suite
has ended. The exit status is 0 when all went well.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))

from blackbox import environment  # noqa: E402

# On two processors: two of them leave half of the time unused.
JOBS = 3


@dataclass(frozen=True)
class Suite:
    """A runner with its options. One that is `alone` measures times or memory: nothing runs beside it. One that is `first` waits more than it
    calculates, and must be served at once: it runs beside all others and goes before them, where this process may say so (root)."""

    name: str
    words: tuple[str, ...]
    alone: bool = False
    first: bool = False


# Long ones first, so that none is left over at the end.
SUITES = [
    Suite("cluster", ("cluster/run.py", "--rounds", "5", "--round-s", "8"), first=True),
    Suite("browser", ("browser/run.py", "--unless-passed")),
    Suite("proxy", ("proxy/run.py",)),
    Suite("diagnose", ("diagnose/run.py",)),
    Suite("ctl", ("ctl/run.py",)),
    Suite("tls", ("tls/run.py",)),
    Suite("clients", ("clients/run.py",)),
    Suite("schemathesis", ("api/run_schemathesis.py",)),
    Suite("api", ("api/run.py",)),
    Suite("perf-commands", ("perf/run.py", "--", "-k", "test_commands")),
    Suite("prometheus", ("prometheus/run.py",)),
    Suite("definitions", ("definitions/run.py",)),
    Suite("semantics", ("semantics/run.py",)),
    Suite("packaging", ("packaging/run.py",)),
    Suite("journeys", ("crash/journeys.py", "--rounds", "3")),
    Suite("crash", ("crash/run.py", "--rounds", "5")),
    Suite("shovels", ("crash/shovels.py", "--rounds", "4")),
    Suite("federation", ("federation/run.py",)),
    Suite("federation-killed", ("crash/federation.py", "--rounds", "4")),
    Suite("migrations", ("crash/migrations.py", "--rounds", "2")),
    Suite("fsync-order", ("crash/fsync_order.py",)),
    Suite("perf", ("perf/run.py", "--", "-k", "not test_commands"), alone=True),
    Suite("abuse", ("abuse/run.py",), alone=True),
]


class Runner:
    """Runs suites, and ends those that still run when it is ended itself."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen] = set()
        self.is_ending = False
        self.results: list[tuple[str, int, float]] = []

    def run(self, suite: Suite) -> None:
        before = ["nice", "-n", "-10"] if suite.first and os.geteuid() == 0 else []
        self.call(suite.name, [*before, sys.executable, str(TESTS / suite.words[0]), *suite.words[1:]])

    def call(self, name: str, command: list[str]) -> None:
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            with self.lock:
                if self.is_ending:
                    return
                print(f"{name}: begins", flush=True)
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    cwd=TESTS.parent, env={**os.environ, "WARREN_BINARY": str(environment.WARREN)},
                )  # fmt: skip
                self.running.add(process)
            started_at = time.monotonic()
            status = process.wait()
            took_s = time.monotonic() - started_at
            output.seek(0)
            with self.lock:
                self.running.discard(process)
                self.results.append((name, status, took_s))
                print(f"\n== {name}: {'passed' if status == 0 else f'FAILED with status {status}'} after {took_s:.0f} s\n{output.read()}", flush=True)

    def end(self) -> None:
        with self.lock:
            self.is_ending = True
            for process in self.running:
                process.send_signal(signal.SIGTERM)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites (default: all)")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many suites at a time (default: %(default)s)")
    parser.add_argument("--binary", type=Path, help="the program under test (default: target/debug/warren)")
    parser.add_argument("--beside", metavar="COMMAND", help="runs beside the suites at the lowest priority, and before those that run alone has ended")
    parser.add_argument("--list", action="store_true", help="print the names of the suites")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - {suite.name for suite in SUITES}:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    if arguments.list:
        print("\n".join(suite.name for suite in SUITES))
        return 0
    if arguments.binary:
        environment.WARREN = arguments.binary.resolve()
    if not environment.WARREN.exists():
        parser.error(f"{environment.WARREN} is missing; `cargo test --workspace --no-run` builds it")
    suites = [suite for suite in SUITES if not arguments.names or suite.name in arguments.names]

    runner, began_at = Runner(), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # What nearly all of them need.
    environment.python()
    pool, beside = ThreadPoolExecutor(arguments.jobs), ThreadPoolExecutor()
    try:
        besides = [beside.submit(runner.call, arguments.beside, ["nice", "-n", "19", *shlex.split(arguments.beside)])] if arguments.beside else []
        besides += [beside.submit(runner.run, suite) for suite in suites if suite.first]
        for _ in pool.map(runner.run, [suite for suite in suites if not suite.alone and not suite.first]):
            pass
        for each in besides:
            each.result()
        for suite in suites:
            if suite.alone:
                runner.run(suite)
    finally:
        runner.end()
        pool.shutdown(cancel_futures=True)
        beside.shutdown()
    for name, status, took_s in runner.results:
        print(f"{took_s:6.0f} s  {name}{'' if status == 0 else f': FAILED with status {status}'}")
    failed = sum(status != 0 for _, status, _ in runner.results)
    print(f"{time.monotonic() - began_at:6.0f} s  in all")
    print(f"suites: {len(runner.results) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
