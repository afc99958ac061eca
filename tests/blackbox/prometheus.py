"""A real Prometheus that scrapes what a test tells it to, and is asked."""

import json
import subprocess
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from . import broker as brokers

READY_TIMEOUT_S = 60


@dataclass(frozen=True)
class Job:
    """A path of targets, given as `host:port`."""

    name: str
    path: str
    targets: list[str]
    parameters: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def as_configured(self) -> dict:
        return {"job_name": self.name, "metrics_path": self.path, "params": self.parameters, "static_configs": [{"targets": self.targets, "labels": self.labels}]}


class Prometheus:
    """A server of its own, on a free port, over a folder that is gone afterwards."""

    def __init__(self, folder: Path, jobs: list[Job]):
        self.port, self.target_count = brokers.free_port(), sum(len(job.targets) for job in jobs)
        config = folder / "prometheus.yml"
        # Its configuration is YAML, of which JSON is a part.
        config.write_text(json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job.as_configured() for job in jobs]}))
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{self.port}"]
        self.log = open(folder / "log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=_end_with_us)

    def get(self, path: str, **parameters: str) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[dict]:
        return self.get("query", query=expression)["result"]

    def wait_scraped(self) -> None:
        """Until every target has been read well."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                targets = self.get("targets")["activeTargets"]
                if len(targets) == self.target_count and all(target["health"] == "up" for target in targets):
                    return
                problems = [target["lastError"] for target in targets if target["lastError"]]
            except OSError as error:
                problems = [str(error)]
            assert self.process.poll() is None, "Prometheus has ended"
            assert time.monotonic() < deadline, f"not everything was scraped: {problems}"
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


def _end_with_us() -> None:
    brokers.Warren._before_exec(type("NoLimit", (), {"files_max": None})())
