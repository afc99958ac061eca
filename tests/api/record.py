#!/usr/bin/env python3
"""Records from a real RabbitMQ what the tests of the management API compare with, into tests/api/golden.

    tests/api/record.py                    everything, from a RabbitMQ 4 that bench/peers/rabbitmq starts
    tests/api/record.py shapes             only the shapes; also: access, methods, bad_bodies
    tests/api/record.py --render           no broker: writes the table of known differences into docs/compatibility.md

Commit what changed after reading the difference: it is the contract.
"""

import argparse
import sys
import time
from pathlib import Path

API = Path(__file__).resolve().parent
sys.path[:0] = [str(API), str(API.parent)]

import access  # noqa: E402
import bad_bodies  # noqa: E402
import known  # noqa: E402
import survey  # noqa: E402
from blackbox import broker as brokers  # noqa: E402
from state import State  # noqa: E402

# RabbitMQ emits statistics every five seconds: what has not changed for so long has settled.
SETTLED_AFTER_S = 15
SETTLE_TIMEOUT_S = 120


def record_shapes(broker: brokers.Broker) -> None:
    """One file a route, when two surveys far enough apart agree."""
    with State(broker) as state:
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        before = None
        while True:
            found = {name: shape if isinstance(shape, str) else shape.render() for name, shape in survey.survey(state).items()}
            if found == before:
                break
            if time.monotonic() > deadline:
                sys.exit(f"the statistics do not settle within {SETTLE_TIMEOUT_S} s")
            before = found
            time.sleep(SETTLED_AFTER_S)
    survey.GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in survey.GOLDEN.glob("*.txt"):
        path.unlink()
    for name, text in found.items():
        if "→" in text:
            print(f"no document: {name}: {text}")
        else:
            (survey.GOLDEN / f"{name}.txt").write_text(text)
    print(f"{len(found)} shapes")


def record_access(broker: brokers.Broker) -> None:
    """One line a request, one column a user."""
    legend = ", ".join(f"401{letter}: {reason}" for reason, letter in access.REASONS.items())
    lines = [f"# as: {' '.join(access.COLUMNS)}; - without permission for the vhost, + with all", f"# {legend}"]
    with access.World(broker) as world:
        for method, path, body, needed in access.ROWS:
            lines.append(f"{method} {path}  →  {world.outcomes(method, path, body, needed)}")
    (access.GOLDEN / "access.txt").write_text("\n".join(lines) + "\n")


def record_methods(broker: brokers.Broker) -> None:
    """One line an AMQP method and permission."""
    lines = ["# method  →  permission  →  what it leads to"]
    for method, arguments in access.METHODS:
        for name, permission in access.PERMISSIONS.items():
            lines.append(f"{access.describe(method, arguments)}  →  {name}  →  {access.method_outcome(broker, permission, method, arguments)}")
    (access.GOLDEN / "methods.txt").write_text("\n".join(lines) + "\n")


def record_bad_bodies(broker: brokers.Broker) -> None:
    """One line a case: its status."""
    lines = [f"{case.name}  →  {answer.status}" for case, answer in bad_bodies.send_all(broker, bad_bodies.cases())]
    bad_bodies.TABLE.write_text("\n".join(["# request and what is wrong with its body  →  RabbitMQ's status", *lines]) + "\n")


RECORDERS = {"shapes": record_shapes, "access": record_access, "methods": record_methods, "bad_bodies": record_bad_bodies}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("what", nargs="*", choices=[*RECORDERS, []], help="what to record (default: everything)")
    parser.add_argument("--render", action="store_true", help="only write docs/compatibility.md anew")
    arguments = parser.parse_args()
    if arguments.render:
        known.render_into_documentation()
        return 0
    broker = brokers.Peer("4", management=True)
    try:
        broker.start()
        broker.identify()
        for what in arguments.what or RECORDERS:
            RECORDERS[what](broker)
    finally:
        broker.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
