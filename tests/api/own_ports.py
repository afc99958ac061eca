"""Starts a broker on RabbitMQ's own ports, sets up what a client's own tests want to find, and runs them: `own_ports.py CLIENT COMMAND…`.

It runs in a network namespace of its own (`unshare --net --map-root-user`), where these ports are free. CLIENT is `rabbit-hole` (for Go) or
`rust` (rabbitmq_http_client).
"""

import fcntl
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blackbox.broker import Warren  # noqa: E402

AMQP_PORT, HTTP_PORT = 5672, 15672
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}
UNSHARE = ["unshare", "--net", "--map-root-user"]
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def bring_loopback_up() -> None:
    """A new network namespace has a loopback interface that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14s", b"lo", flags | _UP, b""))


def why_impossible() -> str | None:
    """Why such a namespace cannot be had here."""
    if not shutil.which("unshare"):
        return "unshare not found"
    if subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "network namespaces cannot be made here"
    return None


def command(client: str, *words: str) -> list[str]:
    """What runs a program beside such a broker."""
    return [*UNSHARE, sys.executable, __file__, client, *words]


def set_up_for_rabbit_hole(api) -> None:
    api.put("/vhosts/rabbit%2Fhole", {}).expect(201)
    api.put("/permissions/rabbit%2Fhole/guest", EVERYTHING).expect(201, 204)
    api.put("/users/policymaker", {"password": "policymaker", "tags": "policymaker"}).expect(201)
    api.put("/permissions/%2F/policymaker", EVERYTHING).expect(201)


def set_up_for_rust(api) -> None:
    """As `bin/ci/before_build.sh` of the crate does it."""
    api.put("/vhosts/rust%2Fhttp%2Fapi%2Fclient", {}).expect(201)
    api.put("/permissions/rust%2Fhttp%2Fapi%2Fclient/guest", EVERYTHING).expect(201, 204)
    api.put("/users/rust3", {"password": "rust3", "tags": ""}).expect(201)
    api.put("/permissions/%2F/rust3", EVERYTHING).expect(201)
    api.put("/cluster-name", {"name": "rabbitmq@localhost"}).expect(204)


SET_UPS = {"rabbit-hole": set_up_for_rabbit_hole, "rust": set_up_for_rust}


def main(client: str, *words: str) -> int:
    bring_loopback_up()
    broker = Warren(management=True, settings={"listeners.tcp.default": f"127.0.0.1:{AMQP_PORT}", "management.tcp.port": str(HTTP_PORT)})
    broker.port, broker.management_port = AMQP_PORT, HTTP_PORT
    try:
        broker.start()
        SET_UPS[client](broker.management)
        return subprocess.run(words, check=False).returncode
    finally:
        broker.remove()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
