"""A broker with a management API, a way to ask it, and `warren ctl` pointed at it."""

import base64
import json
import os
import shlex
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

import pytest
from blackbox import broker as brokers
from blackbox import environment

DEFAULT_CTL = f"{environment.WARREN} ctl"
API_TIMEOUT_S = 30.0


def pytest_addoption(parser):
    parser.addoption("--ctl-command", default=DEFAULT_CTL, help="the program under test (default: target/debug/warren ctl)")
    parser.addoption("--management-url", default=None, help="the management API of the broker that --url names")


class Api:
    """The management API, asked without any of our own code."""

    def __init__(self, url: str):
        parts = urllib.parse.urlsplit(url)
        self.url = url.rstrip("/")
        self.base = f"{parts.scheme}://{parts.hostname}:{parts.port}/api/"
        self.login = (urllib.parse.unquote(parts.username or "guest"), urllib.parse.unquote(parts.password or "guest"))

    def ask(self, method: str, *parts: str, body=None, query: str = "", login=None) -> tuple[int, object]:
        path = "/".join(urllib.parse.quote(part, safe="") for part in parts) + query
        credentials = base64.b64encode(":".join(login or self.login).encode()).decode()
        request = urllib.request.Request(self.base + path, method=method, headers={"Authorization": f"Basic {credentials}"})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def get(self, *parts: str, query: str = ""):
        status, value = self.ask("GET", *parts, query=query)
        assert status == 200, (parts, status, value)
        return value

    def exists(self, *parts: str) -> bool:
        return self.ask("GET", *parts)[0] == 200


@dataclass
class Said:
    """What a command said, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker that all tests share; one with a management API."""
    options = pytestconfig.option
    if options.url:
        broker = brokers.Running(options.url)
        broker.management_url = options.management_url or f"http://{broker.user}:{broker.password}@{broker.host}:15672"
    elif options.peer:
        broker = brokers.Peer(options.peer, management=True)
        broker.management_url = f"http://guest:guest@127.0.0.1:{broker.management_port}"
    else:
        port = brokers.free_port()
        broker = brokers.Warren(options.broker_command, {"management.tcp.ip": "127.0.0.1", "management.tcp.port": str(port)})
        broker.management_url = f"http://guest:guest@127.0.0.1:{port}"
    try:
        if not isinstance(broker, brokers.Running):
            broker.start()
        broker.identify()
        _await_api(broker)
    except BaseException:
        broker.remove()
        raise
    yield broker
    broker.remove()


def _await_api(broker) -> None:
    began = time.monotonic()
    while True:
        try:
            Api(broker.management_url).get("overview")
            return
        except (OSError, AssertionError):
            if time.monotonic() - began > API_TIMEOUT_S:
                raise
            time.sleep(0.1)


@pytest.fixture(scope="session")
def api(broker) -> Api:
    return Api(broker.management_url)


@pytest.fixture
def ctl(broker, pytestconfig):
    """Runs a command: ctl("list_users"), ctl("add_user", "bob", input="secret\\n")."""
    command = shlex.split(pytestconfig.option.ctl_command)
    environment = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG")}

    def run(*words: str, input: str | None = None, url: str | None = None) -> Said:
        done = subprocess.run(
            [*command, *words], input=input or "", capture_output=True, text=True, timeout=60,
            env={**environment, "WARREN_CTL_URL": url or broker.management_url}, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def ok(ctl):
    """Runs a command that has to succeed without a word on stderr; what it said."""

    def run(*words: str, **how) -> Said:
        said = ctl("-q", *words, **how)
        assert (said.status, said.err) == (0, ""), (words, said)
        return said

    return run


@pytest.fixture
def fails(ctl):
    """Runs a command that has to fail with this status and one line that has this text."""

    def run(status: int, text: str, *words: str, **how) -> None:
        said = ctl(*words, **how)
        assert said.status == status, (words, said)
        assert said.err.startswith("Error: ") and said.err.count("\n") == 1, said
        assert text in said.err, said

    return run


@pytest.fixture
def vhost(api, name):
    """A virtual host of the test's own."""
    made = name("vhost/ü")
    assert api.ask("PUT", "vhosts", made, body={})[0] == 201
    api.ask("PUT", "permissions", made, api.login[0], body={"configure": ".*", "write": ".*", "read": ".*"})
    yield made
    api.ask("DELETE", "vhosts", made, "deletion", "protection")
    api.ask("DELETE", "vhosts", made)


@pytest.fixture
def user(api, name):
    """A user of the test's own, whose password is 'secret'."""
    made = name("user ü")
    assert api.ask("PUT", "users", made, body={"password": "secret", "tags": "management"})[0] == 201
    yield made
    api.ask("DELETE", "users", made)


@pytest.fixture
def rabbitmqctl(broker):
    """What rabbitmqctl itself says, where the broker is one that it can ask."""
    if not isinstance(broker, brokers.Peer) or broker.major != "4":
        pytest.skip("needs --peer 4")
    return lambda *words: broker._call("ctl", str(broker.port), *words)
