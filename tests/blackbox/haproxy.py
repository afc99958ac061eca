"""A real HAProxy in front of a broker, which ends with its test."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from .broker import free_port

READY_TIMEOUT_S = 10.0
IS_INSTALLED = shutil.which("haproxy") is not None


class HAProxy:
    """Passes TCP on to a port, with a header of the PROXY protocol: `send-proxy` or `send-proxy-v2`."""

    def __init__(self, port: int, header: str):
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="warren-haproxy-"))
        configuration = self.directory / "haproxy.cfg"
        configuration.write_text(
            "global\n  maxconn 500\n"
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
            f"listen amqp\n  bind 127.0.0.1:{self.port}\n  server broker 127.0.0.1:{port} {header}\n"
        )
        self.process = subprocess.Popen(["haproxy", "-db", "-q", "-f", str(configuration)], stdin=subprocess.DEVNULL, cwd=self.directory)

    def wait_ready(self) -> None:
        """Until it accepts connections."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None and time.monotonic() < deadline, "haproxy did not start"
                time.sleep(0.01)

    def remove(self) -> None:
        """Ends it and deletes its files."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
