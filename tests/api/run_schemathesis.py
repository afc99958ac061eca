#!/usr/bin/env python3
"""Holds a broker against its own description: schemathesis makes requests of docs/openapi.json, right ones and wrong ones.

    tests/api/run_schemathesis.py                           Warren, from target/debug
    tests/api/run_schemathesis.py --long                    a hundred requests of each kind instead of ten
    tests/api/run_schemathesis.py --seed 7                  other requests than the usual ones
    tests/api/run_schemathesis.py -- --include-path-regex queues      what follows -- goes to schemathesis

Never a 5xx, no status, media type or document that the description does not have. Meanwhile a publisher with confirms goes on.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

API = Path(__file__).resolve().parent
sys.path[:0] = [str(API.parent), str(API)]

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402
from blackbox.bystander import Bystander  # noqa: E402
from blackbox.management import segment  # noqa: E402
from state import EVERYTHING, State  # noqa: E402

DESCRIPTION = API.parents[1] / "docs" / "openapi.json"
CONFIGURATION = API / "schemathesis.toml"
HOOKS = API / "sparing.py"
REQUIREMENTS = API / "schemathesis-requirements.txt"
USER = "api-schemathesis"
# Names that paths are filled with, beside invented ones. Not `/`, where the bystander lives, and nobody who asks here.
NAMES = {
    "vhost": ["api-shop", "api odd/name", "api-empty"], "queue": ["orders", "idle", "q/ü +"], "exchange": ["events", "inner", "amq.topic"], "source": ["events", "inner"],
    "destination": ["orders", "inner"], "type": ["q", "e"], "user": ["api-alice", "api-mona"], "username": ["api-alice"], "unit": ["days", "weeks"], "within": ["1", "30"], "protocols": ["amqp", "amqp,http"],
    "component": ["vhost-limits", "operator_policy"], "name": ["long", "cap", "max-queues", "max-channels", "api-house", "limits"],
}  # fmt: skip
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance"]
KNOWN_SHARE = 0.5
LONGEST_WAIT_S = 5.0
RUN_TIMEOUT_S = 3600


def configuration(names: dict[str, list]) -> str:
    """What schemathesis.toml says, and which names there are. In half of the requests, so that what is not there is asked for as well."""
    lines = [f"hooks = {json.dumps(str(HOOKS))}", CONFIGURATION.read_text()]
    for name, values in names.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(values, ensure_ascii=False)}"]
    lines += ["[parameters]", *(f'"path.{name}" = {{ dictionary = "{name}", probability = {KNOWN_SHARE} }}' for name in names)]
    return "\n".join(lines)


def command(broker: brokers.Broker, description: Path, examples: int, seed: int | None) -> list[str]:
    """schemathesis, making the same requests each time, and other ones for each seed."""
    paths = json.loads(description.read_text())["paths"]
    base = broker.management.url + ("" if any(path.startswith("/api/") for path in paths) else "/api")
    program = Path(environment.python(REQUIREMENTS)).with_name("schemathesis")
    return [
        str(program), "--config-file", "schemathesis.toml", "run", str(description.resolve()), "--url", base, "--auth", f"{USER}:{USER}", "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
        "--max-examples", str(examples), *(["--generation-deterministic"] if seed is None else ["--seed", str(seed)]), "--continue-on-failure", "--no-color",
    ]  # fmt: skip


def run(broker: brokers.Broker, description: Path, examples: int, seed: int | None, rest: list[str]) -> int:
    """The exit status of schemathesis, or 1 when the broker or the bystander suffered."""
    broker.management.put(f"/users/{USER}", {"password": USER, "tags": "administrator"}).expect(201, 204)
    bystander = Bystander(broker)
    bystander.start()
    bystander.is_running.wait(60)
    # It leaves notes where it runs.
    with State(broker) as state, tempfile.TemporaryDirectory(prefix="warren-test-") as folder:
        for vhost in ("/", *NAMES["vhost"]):
            broker.management.put(f"/permissions/{segment(vhost)}/{USER}", EVERYTHING).expect(201, 204)
        there = {name: [unquote(state.names[name])] for name in ("node", "port", "connection")}
        there |= {"channel": [unquote(state.names["publisher"])], "props": [unquote(state.names["key"]), "~"]}
        Path(folder, "schemathesis.toml").write_text(configuration(NAMES | there))
        spared = {USER: "api-polly", broker.user: "api-mona", broker.virtual_host: "api-shop", bystander.connection: state.wires[1].name}
        kept = {"api-shop": "api-empty", "api-alice": "api-mona", state.wires[0].name: state.wires[1].name}
        environ = {**os.environ, "WARREN_SPARED": json.dumps(spared), "WARREN_KEPT": json.dumps(kept)}
        status = subprocess.run([*command(broker, description, examples, seed), *rest], cwd=folder, env=environ, stdin=subprocess.DEVNULL, timeout=RUN_TIMEOUT_S, check=False).returncode
    bystander.check(LONGEST_WAIT_S)
    if broker.has_ended() or "panicked" in broker.log():
        print(broker.log_tail(), file=sys.stderr)
        return 1
    return status


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--long", action="store_true", help="a hundred requests of each kind")
    parser.add_argument("--seed", type=int, default=None, help="of the requests (default: the same ones each time, which no seed makes)")
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
        return run(broker, arguments.description, 100 if arguments.long else 10, arguments.seed, rest[1:] if rest[:1] == ["--"] else rest)
    finally:
        broker.remove()


if __name__ == "__main__":
    sys.exit(main())
