#!/usr/bin/env python3
"""Holds a broker against its own description: schemathesis makes requests of docs/openapi.json, right ones and wrong ones.

    tests/api/run_schemathesis.py                           Warren, from target/release
    tests/api/run_schemathesis.py --long                    a hundred requests of each kind instead of ten
    tests/api/run_schemathesis.py -- --include-path-regex queues      what follows -- goes to schemathesis

Never a 5xx, no status, media type or document that the description does not have. Meanwhile a publisher with confirms goes on.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

API = Path(__file__).resolve().parent
sys.path.insert(0, str(API.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402
from blackbox.bystander import Bystander  # noqa: E402

DESCRIPTION = API.parents[1] / "docs" / "openapi.json"
CONFIGURATION = API / "schemathesis.toml"
REQUIREMENTS = API / "schemathesis-requirements.txt"
USER = "api-schemathesis"
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance"]
LONGEST_WAIT_S = 5.0
RUN_TIMEOUT_S = 3600


def command(broker: brokers.Broker, description: Path, examples: int) -> list[str]:
    """schemathesis, making the same requests each time."""
    paths = json.loads(description.read_text())["paths"]
    base = broker.management.url + ("" if all(path.startswith("/api") for path in paths) else "/api")
    program = Path(environment.python(REQUIREMENTS)).with_name("schemathesis")
    return [
        str(program), "--config-file", str(CONFIGURATION), "run", str(description.resolve()), "--url", base, "--auth", f"{USER}:{USER}", "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
        "--max-examples", str(examples), "--generation-deterministic", "--continue-on-failure", "--no-color",
    ]  # fmt: skip


def run(broker: brokers.Broker, description: Path, examples: int, rest: list[str]) -> int:
    """The exit status of schemathesis, or 1 when the broker or the bystander suffered."""
    # A user of its own: what it deletes by chance must not be whom it asks as.
    broker.management.put(f"/users/{USER}", {"password": USER, "tags": "administrator"}).expect(201, 204)
    broker.management.put(f"/permissions/%2F/{USER}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
    bystander = Bystander(broker)
    bystander.start()
    bystander.is_running.wait(60)
    # It leaves notes where it runs.
    with tempfile.TemporaryDirectory(prefix="warren-test-") as folder:
        status = subprocess.run([*command(broker, description, examples), *rest], cwd=folder, stdin=subprocess.DEVNULL, timeout=RUN_TIMEOUT_S, check=False).returncode
    bystander.check(LONGEST_WAIT_S)
    if broker.has_ended() or "panicked" in broker.log():
        print(broker.log_tail(), file=sys.stderr)
        return 1
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    brokers.add_options(parser)
    parser.add_argument("--long", action="store_true", help="a hundred requests of each kind")
    parser.add_argument("--description", type=Path, default=DESCRIPTION, help="another OpenAPI file (default: docs/openapi.json)")
    arguments, rest = parser.parse_known_args()
    if not arguments.description.exists():
        print(f"SKIPPED schemathesis: {arguments.description} does not exist")
        return 0
    broker = brokers.from_options(arguments, management=True)
    try:
        if not arguments.url:
            broker.start()
        broker.identify()
        return run(broker, arguments.description, 100 if arguments.long else 10, rest[1:] if rest[:1] == ["--"] else rest)
    finally:
        broker.remove()


if __name__ == "__main__":
    sys.exit(main())
