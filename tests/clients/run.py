#!/usr/bin/env python3
"""Runs the client libraries of six languages against a broker.

    tests/clients/run.py                                    Warren, from target/debug
    tests/clients/run.py --peer 4                           a real RabbitMQ, to see that the tests are right
    tests/clients/run.py --url amqp://guest:guest@127.0.0.1:5672/
    tests/clients/run.py --only python,rust -- -k topics    what follows -- goes to pytest

Python's tests are pytest's. The other languages are programs that print `ok NAME` or `not ok NAME: why` for each scenario; they are
built once, below target/tests. A language whose toolchain is missing is skipped, and it is said so.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent
sys.path.insert(0, str(CLIENTS.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402

TIMEOUT_S = 600


@dataclass
class Language:
    """How to build and run one language's program."""

    library: str
    tools: list[str]
    build: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    environment: Callable[[Path], dict[str, str]] = lambda output: {}


def call(*command: str, cwd: Path, **environment: str) -> None:
    """A build step; its output is shown when it fails."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)}:\n{done.stdout}")


class BuildFailed(RuntimeError):
    """A program could not be built."""


def build_node(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(CLIENTS / "node" / name, output)
    call("npm", "ci", "--no-audit", "--no-fund", cwd=output)


LANGUAGES = {
    "rust": Language(
        "lapin",
        ["cargo"],
        lambda output: call("cargo", "build", "--quiet", "--locked", cwd=CLIENTS / "rust", CARGO_TARGET_DIR=str(output)),
        lambda output: [str(output / "debug" / "lapin-scenarios")],
    ),
    "go": Language(
        "amqp091-go",
        ["go"],
        lambda output: call("go", "build", "-o", str(output / "scenarios"), ".", cwd=CLIENTS / "go"),
        lambda output: [str(output / "scenarios")],
    ),
    "node": Language(
        "amqplib",
        ["node", "npm"],
        build_node,
        lambda output: ["node", str(CLIENTS / "node" / "main.js")],
        lambda output: {"NODE_PATH": str(output / "node_modules")},
    ),
    "java": Language(
        "amqp-client",
        ["java", "javac", "mvn"],
        lambda output: call("mvn", "--quiet", "--batch-mode", f"-Doutput={output}", "process-classes", cwd=CLIENTS / "java"),
        lambda output: ["java", "-Xmx256m", "-cp", f"{output}/classes:{output}/lib/*", "clients.Main"],
    ),
}


class Tally:
    """Scenarios and languages, counted."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def run(self, language: str, url: str) -> None:
        """Builds and runs one program."""
        how = LANGUAGES[language]
        missing = [tool for tool in how.tools if not shutil.which(tool)]
        if missing:
            self.skipped += 1
            print(f"SKIPPED {language} ({how.library}): {' and '.join(missing)} not found", flush=True)
            return
        output = environment.OUTPUT / language
        print(f"{language} ({how.library})", flush=True)
        try:
            environment.make_once(output, environment.digest(CLIENTS / language), lambda: how.build(output))
        except BuildFailed as failure:
            self.fail(f"{language} was not built: {failure}")
            return
        program = subprocess.Popen(
            [*how.command(output), url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={**os.environ, **how.environment(output)}
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    brokers.add_options(parser)
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
