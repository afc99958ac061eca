#!/usr/bin/env python3
"""`warren ctl` against a broker with a management API: what it changes is looked at over plain HTTP and with a plain client.

    tests/ctl/run.py [--peer 4] [--url amqp://… --management-url http://guest:guest@127.0.0.1:15672]
                     [--ctl-command 'target/debug/warren ctl'] [-- PYTEST OPTIONS]

With --peer 4 rabbitmqctl, too, is asked the same, and has to say the same. A broker without a management API is skipped, and it is
said so.
"""

import sys
from pathlib import Path

CTL = Path(__file__).resolve().parent
sys.path.insert(0, str(CTL.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--ctl-command", help="the program under test (default: target/debug/warren ctl)")
    parser.add_argument("--management-url", help="the management API of the broker that --url names")
    arguments, rest = parser.parse_known_args()
    options = [f"--broker-command={arguments.broker_command}"]
    given = ("url", "peer", "ctl_command", "management_url")
    options += [f"--{name.replace('_', '-')}={value}" for name in given if (value := getattr(arguments, name))]
    print("warren ctl", flush=True)
    status = environment.pytest([CTL], options + (rest[1:] if rest[:1] == ["--"] else rest))
    return status


if __name__ == "__main__":
    sys.exit(main())
