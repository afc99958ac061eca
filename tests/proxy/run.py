#!/usr/bin/env python3
"""`warren proxy` before a broker: the client libraries of tests/clients through it, then pytest's tests in this folder.

    tests/proxy/run.py                                  before Warren, from target/debug
    tests/proxy/run.py --peer 4                         before a real RabbitMQ
    tests/proxy/run.py --only python                    pytest's tests in this folder alone; `clients`: the others alone
    tests/proxy/run.py --languages go,node -- -k limits some languages; what follows -- goes to pytest
    tests/proxy/run.py --proxy-command 'PROGRAM proxy {set}'
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment, proxy  # noqa: E402

PARTS = ("clients", "python")
PLUGINS = ("rabbitmq_random_exchange",)
"""What a RabbitMQ needs for what the clients do."""


def run_clients(arguments) -> int:
    """The scenarios of all languages, as if the proxy were the broker. Only what went wrong is shown, and how many went well."""
    broker = brokers.from_options(arguments, management=True, plugins=PLUGINS)
    before = None
    try:
        if not isinstance(broker, brokers.Running):
            broker.start()
        before = proxy.Proxy(arguments.proxy_command, {"a": broker})
        before.start()
        words = [f"--url={before.url}", f"--management-port={broker.management_port}"]
        words += [f"--only={arguments.languages}"] if arguments.languages else []
        run = subprocess.Popen([sys.executable, str(HERE.parent / "clients" / "run.py"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            for line in run.stdout:
                if not line.startswith("    ok "):
                    print(line, end="", flush=True)
            status = run.wait()
        finally:
            run.terminate()
            run.wait()
        if before.has_ended() or "panicked" in before.log():
            print(f"the proxy did not survive:\n{before.log_tail()}", flush=True)
            status = 1
        return status
    finally:
        if before is not None:
            before.remove()
        broker.remove()


def main() -> int:
    parser = brokers.runner(__doc__)
    proxy.add_options(parser)
    parser.add_argument("--only", default=",".join(PARTS), help="what to run, separated by commas (default: %(default)s)")
    parser.add_argument("--languages", help="languages of the clients, separated by commas (default: all)")
    arguments, rest = parser.parse_known_args()
    wanted = arguments.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    statuses = []
    if "clients" in wanted:
        print("clients through warren proxy", flush=True)
        statuses.append(run_clients(arguments))
    if "python" in wanted:
        print("warren proxy", flush=True)
        options = [*brokers.own_options(arguments), f"--proxy-command={arguments.proxy_command}"]
        statuses.append(environment.pytest([HERE], options + (rest[1:] if rest[:1] == ["--"] else rest)))
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
