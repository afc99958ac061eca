"""A client of the management HTTP API that hides nothing: every status, header and body as it came.

One request, one TCP connection. It knows no route, follows no redirect and raises nothing for a status: what is right is the tests' to say.
"""

import base64
import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import quote

TIMEOUT_S = 30.0
_NONE = object()


class Answer(NamedTuple):
    """What came back."""

    request: str
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which must be JSON and say so."""
        assert self.headers.get("content-type", "").startswith("application/json"), f"{self} is not JSON"
        return json.loads(self.body)

    @property
    def reason(self) -> Any:
        """The `reason` of an error."""
        return self.json["reason"]

    def expect(self, *statuses: int) -> "Answer":
        """This answer, which must have one of these statuses."""
        assert self.status in statuses, f"{self}, which should be {' or '.join(map(str, statuses))}"
        return self

    def __str__(self) -> str:
        return f"{self.request} → {self.status} {self.body[:300].decode(errors='replace')}"


class Management:
    """The API of one broker as one of its users (`user=None` sends no credentials)."""

    def __init__(self, address: tuple[str, int], user: str | None = "guest", password: str = "guest", timeout_s: float = TIMEOUT_S):
        self.address, self.user, self.password, self.timeout_s = address, user, password, timeout_s

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"

    def as_user(self, user: str | None, password: str | None = None) -> "Management":
        """The same API as somebody else, whose password is the user's name unless told otherwise."""
        return Management(self.address, user, (user or "") if password is None else password, self.timeout_s)

    def headers(self) -> dict[str, str]:
        """What names the user."""
        if self.user is None:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()}

    def call(self, method: str, path: str, body: Any = _NONE, *, headers: dict[str, str | None] | None = None, prefix: str = "/api") -> Answer:
        """One request. A body of bytes is sent as it is, anything else as JSON; a header of None is left out."""
        sent = self.headers()
        if body is not _NONE:
            sent["Content-Type"] = "application/json"
        sent = {key: value for key, value in {**sent, **(headers or {})}.items() if value is not None}
        data = None if body is _NONE else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection(*self.address, timeout=self.timeout_s)
        try:
            connection.request(method, prefix + path, data, sent)
            response = connection.getresponse()
            got = response.read()
        finally:
            connection.close()
        return Answer(f"{method} {prefix}{path} as {self.user}", response.status, {key.lower(): value for key, value in response.getheaders()}, got)

    def get(self, path: str, **how: Any) -> Answer:
        return self.call("GET", path, **how)

    def put(self, path: str, body: Any = _NONE, **how: Any) -> Answer:
        return self.call("PUT", path, body, **how)

    def post(self, path: str, body: Any = _NONE, **how: Any) -> Answer:
        return self.call("POST", path, body, **how)

    def delete(self, path: str, body: Any = _NONE, **how: Any) -> Answer:
        return self.call("DELETE", path, body, **how)


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")
