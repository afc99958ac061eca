"""RabbitMQ's PerfTest, from Maven Central; bench/perftest says which version."""

import os
import shutil
import subprocess
from pathlib import Path

from blackbox import environment

POM = Path(__file__).resolve().parents[2] / "bench" / "perftest" / "pom.xml"
FETCH_TIMEOUT_S = 600


def missing() -> list[str]:
    """What is needed to run it and not there."""
    absent = [] if shutil.which("java") else ["java"]
    return absent if _fetched() or shutil.which("mvn") else [*absent, "mvn"]


def command() -> list[str]:
    """The words that start it. It is fetched when it is not there yet."""
    jars = _fetched()
    if not jars:
        jars = environment.OUTPUT / "perftest"
        maven = ["mvn", "--quiet", "--batch-mode", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        subprocess.run(maven, check=True, stdin=subprocess.DEVNULL, timeout=FETCH_TIMEOUT_S)
    # It runs for two seconds: starting fast is all that counts.
    return ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{jars}/*", "com.rabbitmq.perf.PerfTest"]


def _fetched() -> Path | None:
    """Where it is already: here, or where the benchmarks have it."""
    places = [environment.OUTPUT / "perftest"]
    if "WARREN_PEERS" in os.environ:
        places.append(Path(os.environ["WARREN_PEERS"]) / "perftest")
    return next((place for place in places if any(place.glob("perf-test-*.jar"))), None)
