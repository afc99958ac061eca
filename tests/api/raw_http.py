"""HTTP as bytes: what no client library would send, and what comes back, response by response."""

import socket
from contextlib import suppress
from typing import NamedTuple

from blackbox.management import Management

TIMEOUT_S = 10.0


class Response(NamedTuple):
    """One response of several that a connection may carry."""

    status: int
    headers: dict[str, str]
    body: bytes


class Torn(AssertionError):
    """What came is not HTTP."""


class RawHttp:
    """One TCP connection."""

    def __init__(self, address: tuple[str, int], timeout: float = TIMEOUT_S):
        self.socket = socket.create_connection(address, timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def __enter__(self) -> "RawHttp":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_while_open(self, data: bytes) -> None:
        """Sends as much as the other side takes: it may answer and hang up before the end."""
        with suppress(ConnectionError):
            self.socket.sendall(data)

    def read_response(self, has_body: bool = True) -> Response | None:
        """The next response, or None when the connection ended before one."""
        while b"\r\n\r\n" not in self.received:
            if not self._receive():
                if self.received:
                    raise Torn(f"the stream ended inside a head: {self.received[:200]!r}")
                return None
        head, self.received = self.received.split(b"\r\n\r\n", 1)
        status_line, *lines = head.decode("latin1").split("\r\n")
        version, status, *_ = status_line.split(" ", 2)
        if not version.startswith("HTTP/1."):
            raise Torn(f"no status line: {status_line!r}")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        is_empty = not has_body or status in ("204", "304") or status.startswith("1")
        body = b"" if is_empty else self._read_chunks() if "chunked" in headers.get("transfer-encoding", "") else self._take(int(headers.get("content-length", 0)))
        return Response(int(status), headers, body)

    def read_to_end(self) -> list[Response]:
        """All responses until the connection ends; its end may be rough."""
        responses = []
        while (response := self.read_response()) is not None:
            responses.append(response)
        return responses

    def _read_chunks(self) -> bytes:
        body = b""
        while True:
            size = int(self._take_line().split(b";")[0], 16)
            body += self._take(size)
            assert self._take_line() == b""
            if size == 0:
                return body

    def _take_line(self) -> bytes:
        while b"\r\n" not in self.received:
            if not self._receive():
                raise Torn("the stream ended inside a chunk")
        line, self.received = self.received.split(b"\r\n", 1)
        return line

    def _take(self, length: int) -> bytes:
        while len(self.received) < length:
            if not self._receive():
                raise Torn(f"the stream ended {length - len(self.received)} bytes early")
        taken, self.received = self.received[:length], self.received[length:]
        return taken

    def _receive(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        self.received += data
        return bool(data)


def head(api: Management, method: str, target: str, *lines: str, version: str = "HTTP/1.1") -> bytes:
    """The head of a request by that user."""
    own = [f"Host: {api.address[0]}:{api.address[1]}", *(f"{name}: {value}" for name, value in api.headers().items())]
    return "\r\n".join([f"{method} {target} {version}", *own, *lines, "", ""]).encode("utf-8", "surrogateescape")
