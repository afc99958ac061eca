"""Starts a broker on RabbitMQ's own ports, sets up what rabbit-hole's specs want to find, and runs them: `rabbit_hole.py PROGRAM REPORT.json`.

It runs in a network namespace of its own (`unshare --net --map-root-user`), where these ports are free.
"""

import fcntl
import socket
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blackbox.broker import Warren  # noqa: E402

AMQP_PORT, HTTP_PORT = 5672, 15672
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def bring_loopback_up() -> None:
    """A new network namespace has a loopback interface that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14s", b"lo", flags | _UP, b""))


def main(program: str, report: str) -> int:
    bring_loopback_up()
    broker = Warren(management=True, settings={"listeners.tcp.default": f"127.0.0.1:{AMQP_PORT}", "management.tcp.port": str(HTTP_PORT)})
    broker.port, broker.management_port = AMQP_PORT, HTTP_PORT
    try:
        broker.start()
        api, everything = broker.management, {"configure": ".*", "write": ".*", "read": ".*"}
        api.put("/vhosts/rabbit%2Fhole", {}).expect(201)
        api.put("/permissions/rabbit%2Fhole/guest", everything).expect(201, 204)
        api.put("/users/policymaker", {"password": "policymaker", "tags": "policymaker"}).expect(201)
        api.put("/permissions/%2F/policymaker", everything).expect(201)
        return subprocess.run([program, f"-ginkgo.json-report={report}", "-ginkgo.no-color"], check=False).returncode
    finally:
        broker.remove()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
