#!/usr/bin/env python3
"""Three nodes on this machine, to look at: `make cluster`. Ctrl-C ends all three.

    tests/cluster/three.py [--data-dir /tmp/hares] [--binary target/release/warren]

They are as docs/clustering.md has them: clients on 5671 to 5673, the HTTP API on 15671 to 15673, links on 25671 to 25673. What they say in their
logs is shown with the node's name before it. Their directories stay, so they go on where they were.
"""

import argparse
import subprocess
import sys
import threading
from pathlib import Path

COUNT = 3
END_WITHIN_S = 30


def settings(node: int) -> dict[str, str]:
    """Those of the page."""
    found = {
        "warren.node_name": f"hare{node}@localhost",
        "listeners.tcp.default": f"127.0.0.1:567{node}",
        "management.tcp.ip": "127.0.0.1",
        "management.tcp.port": f"1567{node}",
        "warren.prometheus.enabled": "false",
        "warren.cluster.secret": "carrots",
        "warren.cluster.listener": f"127.0.0.1:2567{node}",
        "warren.cluster.advertise": f"127.0.0.1:2567{node}",
    }
    for peer in range(1, COUNT + 1):
        found[f"warren.cluster.peers.{peer}"] = f"hare{peer}@localhost=127.0.0.1:2567{peer}"
        found[f"cluster_formation.classic_config.nodes.{peer}"] = f"hare{peer}@localhost"
    return found


def follow(node: int, process: subprocess.Popen) -> None:
    for line in process.stdout:
        print(f"hare{node}  {line}", end="", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=Path("/tmp/hares"), help="has a directory for each (default: %(default)s)")
    parser.add_argument("--binary", type=Path, default=Path("target/release/warren"), help="(default: %(default)s)")
    arguments = parser.parse_args()
    nodes = {}
    try:
        for node in range(1, COUNT + 1):
            options = [f"--set={key}={value}" for key, value in settings(node).items()]
            command = [str(arguments.binary), "serve", "--data-dir", str(arguments.data_dir / f"hare{node}"), *options]
            # A group of their own: Ctrl-C comes to this program alone, which tells them.
            nodes[node] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
            threading.Thread(target=follow, args=(node, nodes[node]), daemon=True).start()
        print("how they are: warren ctl --url http://guest:guest@localhost:15671 cluster_status", flush=True)
        for process in nodes.values():
            process.wait()
    except KeyboardInterrupt:
        print("ending all three", flush=True)
    finally:
        for process in nodes.values():
            process.terminate()
        for process in nodes.values():
            try:
                process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
