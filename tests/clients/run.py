#!/usr/bin/env python3
"""Runs the client libraries of six languages against a broker.

    tests/clients/run.py                                    Warren, from target/debug
    tests/clients/run.py --peer 4                           a real RabbitMQ, to see that the tests are right
    tests/clients/run.py --url amqp://guest:guest@127.0.0.1:5672/
    tests/clients/run.py --only python,rust -- -k topics    what follows -- goes to pytest

Python's tests are pytest's. The other languages are programs that print `ok NAME` or `not ok NAME: why` for each scenario; they are
built once, below target/tests. A language whose toolchain is missing is skipped, and it is said so.
"""

import os
import subprocess
import sys
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent
sys.path.insert(0, str(CLIENTS.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment, languages  # noqa: E402
from blackbox.languages import LANGUAGES  # noqa: E402

TIMEOUT_S = 600


class Tally:
    """Scenarios and languages, counted."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def run(self, language: str, url: str) -> None:
        """Builds and runs one program."""
        how = LANGUAGES[language]
        if how.missing:
            self.skipped += 1
            print(f"SKIPPED {language} ({how.library}): {' and '.join(how.missing)} not found", flush=True)
            return
        print(f"{language} ({how.library})", flush=True)
        try:
            output = languages.build(language)
        except languages.BuildFailed as failure:
            self.fail(f"{language} was not built: {failure}")
            return
        program = subprocess.Popen(
            [*how.command(output), url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={**os.environ, **how.variables(output)}
        )  # fmt: skip
        before = self.failed
        try:
            for line in program.stdout:
                line = line.strip()
                if line.startswith("ok "):
                    self.passed += 1
                    print(f"    {line}", flush=True)
                elif line:
                    self.fail(line)
            if program.wait(TIMEOUT_S) != 0 and self.failed == before:
                self.fail(f"{language} ended with status {program.returncode}")
        finally:
            program.kill()
            program.wait()

    def fail(self, why: str) -> None:
        self.failed += 1
        print(f"    {why}", flush=True)


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--only", default=",".join(["python", *LANGUAGES]), help="languages, separated by commas (default: %(default)s)")
    arguments, rest = parser.parse_known_args()
    rest = rest[1:] if rest[:1] == ["--"] else rest
    wanted = arguments.only.split(",")
    unknown = set(wanted) - {"python", *LANGUAGES}
    if unknown:
        parser.error(f"no such language: {', '.join(sorted(unknown))}")

    tally = Tally()
    others = [language for language in wanted if language != "python"]
    if others:
        broker = brokers.from_options(arguments)
        try:
            if not arguments.url:
                broker.start()
            for language in others:
                tally.run(language, broker.url)
        finally:
            broker.remove()
    status = 0
    if "python" in wanted:
        print("python (pika, aio-pika)", flush=True)
        status = environment.pytest([CLIENTS / "python"], brokers.own_options(arguments) + rest)
    if others:
        print(f"other languages: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped", flush=True)
    return 1 if status or tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
