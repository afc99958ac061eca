#!/usr/bin/env python3
"""Records from a real RabbitMQ what the scenarios see, into tests/semantics/golden.

    tests/semantics/record.py                     everything, from a RabbitMQ 4 that bench/peers/rabbitmq starts
    tests/semantics/record.py ttl quorum.get      only these areas or scenarios
    tests/semantics/record.py --url amqp://…      from a RabbitMQ that runs already, with the plugins of stage.PLUGINS
    tests/semantics/record.py --show              prints the transcripts and writes nothing
    tests/semantics/record.py --render            no broker: writes the table of known differences into docs/compatibility.md

Everything is run several times, and recorded only when it is the same each time. Commit what changed after reading the difference: it is the
contract.
"""

import argparse
import sys
from pathlib import Path

SEMANTICS = Path(__file__).resolve().parent
sys.path[:0] = [str(SEMANTICS), str(SEMANTICS.parent)]

import differences  # noqa: E402
import stage  # noqa: E402
from blackbox import broker as brokers  # noqa: E402
from scene import as_json  # noqa: E402

TIMES = 3
SLOW_SHOWN = 5


def wanted(names: list[str]) -> list[str]:
    """The scenarios that areas or scenarios name."""
    every = stage.scenarios()
    found = [each for each in every if not names or each in names or each.split(".")[0] in names]
    if not found:
        sys.exit(f"there is no scenario {' or '.join(names)}")
    return found


def record(broker: brokers.Broker, names: list[str], times: int, is_shown: bool) -> int:
    """Runs and writes; the number of scenarios that could not be recorded."""
    rounds = [stage.run(broker, names) for _ in range(times)]
    failed = set()
    slowest = sorted(names, key=lambda name: -rounds[0][name].seconds)[:SLOW_SHOWN]
    print("slowest:", ", ".join(f"{name} {rounds[0][name].seconds:.1f} s" for name in slowest))
    for name in names:
        outcomes = [each[name] for each in rounds]
        failure = next((outcome.failure for outcome in outcomes if outcome.failure), None)
        different = [step for outcome in outcomes for step, seen in outcome.transcript.items() if seen != outcomes[0].transcript.get(step)]
        if failure or different:
            failed.add(name)
            print(f"not recorded: {name}: {failure or f'differs from run to run: {set(different)}'}")
            for step in dict.fromkeys(different):
                print(*(f"    {step}: {outcome.transcript.get(step)}" for outcome in outcomes), sep="\n")
        if is_shown:
            print(f"{name}: {as_json(outcomes[0].transcript)}")
    if not is_shown:
        for area in dict.fromkeys(name.split(".")[0] for name in names):
            new = {name: each.transcript for name, each in rounds[0].items() if name not in failed}
            kept = {**stage.golden(area), **new}
            stage.write_golden(area, {name: kept[name] for name in stage.scenarios([area]) if name in kept})
    return len(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("what", nargs="*", help="areas or scenarios (default: everything)")
    parser.add_argument("--url", default=None, metavar="URL", help="a RabbitMQ that runs already; its HTTP API is on its AMQP port + 10000")
    parser.add_argument("--times", default=TIMES, type=int, metavar="COUNT", help=f"how often everything must come out the same (default: {TIMES})")
    parser.add_argument("--show", action="store_true", help="print, and write nothing")
    parser.add_argument("--render", action="store_true", help="only write docs/compatibility.md anew")
    arguments = parser.parse_args()
    if arguments.render:
        differences.render_into_documentation()
        return 0
    broker = brokers.Running(arguments.url) if arguments.url else brokers.Peer("4", management=True, plugins=stage.PLUGINS)
    try:
        if isinstance(broker, brokers.Peer):
            broker.start()
        return min(1, record(broker, wanted(arguments.what), arguments.times, arguments.show))
    finally:
        broker.remove()


if __name__ == "__main__":
    sys.exit(main())
