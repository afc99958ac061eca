"""The client libraries of other languages than Python: how the programs of tests/clients are built and run.

Two programs each. One runs the scenarios at a broker: `PROGRAM URL`. The other keeps on through restarts, and writes down what happens to it:
`PROGRAM QUEUE HOST:PORT HOST:PORT …`, a line of JSON for each event. It declares that quorum queue, publishes 0, 1, 2, … to it as persistent
messages with confirms, and consumes them with acks, by two connections of its own; to which of the hosts is its library's business. What was not
confirmed when a connection ended is published again on the next.

    {"opened": "publisher"}              or "consumer": a connection is there
    {"lost": "why"}                      it is not any more
    {"published": 7}                     before it is sent, each time
    {"confirmed": 7}
    {"delivered": 7, "redelivered": false}   before it is acked

When its standard input ends, it publishes no new numbers, but still what has to be confirmed, and goes on consuming until it is killed.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import environment

CLIENTS = environment.TESTS / "clients"


class BuildFailed(RuntimeError):
    """A program could not be built."""


@dataclass
class Language:
    """How to build and run one language's programs, which are built below `output`."""

    library: str
    tools: list[str]
    build: Callable[[Path], None]
    command: Callable[[Path], list[str]]
    reconnecting: Callable[[Path], list[str]]
    variables: Callable[[Path], dict[str, str]] = lambda output: {}

    @property
    def missing(self) -> list[str]:
        """What is not installed here of what it needs."""
        return [tool for tool in self.tools if not shutil.which(tool)]


def call(*command: str, cwd: Path, **environment: str) -> None:
    """A build step; its output is shown when it fails."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"{' '.join(command)}:\n{done.stdout}")


def build_go(output: Path) -> None:
    call("go", "build", "-o", str(output / "scenarios"), ".", cwd=CLIENTS / "go")
    call("go", "build", "-o", str(output / "reconnecting"), "./reconnecting", cwd=CLIENTS / "go")


def build_node(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(CLIENTS / "node" / name, output)
    call("npm", "ci", "--no-audit", "--no-fund", cwd=output)


def java(output: Path, main: str) -> list[str]:
    return ["java", "-Xmx256m", "-cp", f"{output}/classes:{output}/lib/*", main]


LANGUAGES = {
    "rust": Language(
        "lapin",
        ["cargo"],
        lambda output: call("cargo", "build", "--quiet", "--locked", cwd=CLIENTS / "rust", CARGO_TARGET_DIR=str(output)),
        lambda output: [str(output / "debug" / "lapin-scenarios")],
        lambda output: [str(output / "debug" / "reconnecting")],
    ),
    "go": Language(
        "amqp091-go",
        ["go"],
        build_go,
        lambda output: [str(output / "scenarios")],
        lambda output: [str(output / "reconnecting")],
    ),
    "node": Language(
        "amqplib",
        ["node", "npm"],
        build_node,
        lambda output: ["node", str(CLIENTS / "node" / "main.js")],
        lambda output: ["node", str(CLIENTS / "node" / "reconnecting.js")],
        lambda output: {"NODE_PATH": str(output / "node_modules")},
    ),
    "java": Language(
        "amqp-client",
        ["java", "javac", "mvn"],
        lambda output: call("mvn", "--quiet", "--batch-mode", f"-Doutput={output}", "process-classes", cwd=CLIENTS / "java"),
        lambda output: java(output, "clients.Main"),
        lambda output: java(output, "clients.Reconnecting"),
    ),
}


def build(name: str) -> Path:
    """Where that language's programs are, which are built when they are missing or outdated. Raises BuildFailed."""
    output = environment.OUTPUT / name
    environment.make_once(output, environment.digest(CLIENTS / name), lambda: LANGUAGES[name].build(output))
    return output
