#!/usr/bin/env python3
"""Tests of what is handed to users beside the binary: the chart, the package, the dashboards.

    tests/packaging/run.py                       with target/debug/warren
    tests/packaging/run.py -- -k chart           what follows -- goes to pytest

`make test-packages` does what needs root and a network: installs the package in a fresh Debian, and runs the image.
"""

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402

WANTED = {
    "helm": "the chart is rendered by Helm's library only",
    "prometheus": "queries of the dashboards are asked of none",
    "promtool": "rules of alerts are not checked by it",
    "dpkg-deb": "no package is made",
    "rpmbuild": "no RPM package is made",
    "busybox": "services of compose files are not run",
    "openssl": "there are no certificates",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    _, rest = parser.parse_known_args()
    for program, consequence in WANTED.items():
        if not shutil.which(program):
            print(f"SKIPPED: {program} not found, so {consequence}", flush=True)
    return environment.pytest([HERE], rest[1:] if rest[:1] == ["--"] else rest, HERE / "requirements.txt")


if __name__ == "__main__":
    sys.exit(main())
