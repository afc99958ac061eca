"""The two load generators, as commands that can be run side by side."""

import re
import shlex
import subprocess
from pathlib import Path

import perftest as perftest_program
import pytest
from blackbox import environment

RUN_TIMEOUT_S = 60


def pytest_addoption(parser):
    parser.addoption("--perf-command", default=f"{environment.WARREN} perf", help="the load generator under test")


class Run:
    """A generator at work."""

    def __init__(self, command: list[str], broker, words: list[str]):
        self.words = [*command, "-h", broker.url.rstrip("/"), *words]
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = ""

    def wait(self, status: int = 0) -> "Run":
        """Until it has ended, with this status."""
        try:
            self.output = self.process.communicate(timeout=RUN_TIMEOUT_S)[0]
        finally:
            self.process.kill()
        assert self.process.returncode == status, self.told()
        return self

    def told(self) -> str:
        return f"{shlex.join(self.words)} ended with {self.process.returncode}:\n{self.output}"

    def rate(self, which: str) -> int:
        """An average of the last lines: `sending` or `receiving`."""
        return int(self.find(rf"{which} rate avg: (\d+) msg/s")[1])

    def latency_s(self, which: str) -> tuple[float, float]:
        """Least and 99th percentile of the last lines: `consumer` or `confirm`."""
        found = self.find(rf"{which} latency min/median/75th/95th/99th (\d+)/\d+/\d+/\d+/(\d+) (µs|ms)")
        unit = {"µs": 1e-6, "ms": 1e-3}[found[3]]
        return int(found[1]) * unit, int(found[2]) * unit

    def find(self, pattern: str) -> re.Match:
        found = re.search(pattern, self.output)
        assert found, f"no '{pattern}': {self.told()}"
        return found


@pytest.fixture(scope="session")
def generators(pytestconfig) -> dict[str, list[str]]:
    """The commands, by name."""
    if absent := perftest_program.missing():
        pytest.skip(f"{' and '.join(absent)} not found")
    return {"PerfTest": perftest_program.command(), "warren perf": shlex.split(pytestconfig.option.perf_command)}


@pytest.fixture
def start(generators):
    """start("PerfTest", broker, "-x", "1"): a `Run`. What still runs at the end of a test is ended."""
    started = []

    def start_run(generator: str, broker, *words: str) -> Run:
        started.append(Run(generators[generator], broker, list(words)))
        return started[-1]

    yield start_run
    for run in started:
        run.process.kill()
        run.process.wait()
