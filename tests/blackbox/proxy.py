"""`warren proxy` as the tests see it: a process on free ports of 127.0.0.1 before brokers, with files that are gone afterwards."""

import os
import shlex
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import environment
from .broker import Broker, Warren, free_port
from .management import Management

DEFAULT_COMMAND = f"{environment.WARREN} proxy {{set}}"
TIMEOUT_S = 15.0
# Whatever the machine has set: the proxy's environment is the test's alone.
_AMQPROXY_VARIABLES = (
    "LISTEN_ADDRESS", "LISTEN_PORT", "HTTP_PORT", "LOG_LEVEL", "IDLE_CONNECTION_TIMEOUT", "MAX_UPSTREAM_CHANNELS", "TERM_TIMEOUT",
    "TERM_CLIENT_CLOSE_TIMEOUT", "AMQP_URL", "UPSTREAM",
)  # fmt: skip


def eventually(check: Callable[[], Any], what: str = "", patience_s: float = TIMEOUT_S) -> Any:
    """What `check` returns, as soon as that is true."""
    deadline = time.monotonic() + patience_s
    while not (found := check()):
        assert time.monotonic() < deadline, f"this did not become true within {patience_s} s: {what or check.__doc__ or check}"
        time.sleep(0.02)
    return found


def hang(pid: int) -> None:
    """Stops a process without ending it. When this returns, none of its threads does anything any more."""
    os.kill(pid, signal.SIGSTOP)

    def stands() -> bool:
        # The state comes after the name, which may have brackets in it.
        stats = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat"))
        return all(stat.rpartition(") ")[2].startswith("T") for stat in stats)

    eventually(stands, "the process stands still")


class Proxy(Warren):
    """A process of our own. In the command `{set}` is filled in: one --set for each setting.

    `upstreams` are brokers by their names, or URLs. `words` instead of settings says all that follows the command, given the proxy with
    its ports: for what a user may write there. `variables` are environment variables.
    """

    def __init__(
        self, command: str = DEFAULT_COMMAND, upstreams: dict[str, Broker | str] | None = None, settings: dict[str, str] | None = None, *,
        words: Callable[["Proxy"], list[str]] | None = None, variables: dict[str, str] | None = None, files_max: int | None = None, preface: bytes = b"",
    ):  # fmt: skip
        self.command, self.given, self.variables = command, words, variables or {}
        self.files_max, self.preface, self.wrapper = files_max, preface, []
        self.port, self.http_port = free_port(), free_port()
        self.settings = {
            "proxy.listeners.tcp.default": f"{self.host}:{self.port}",
            "proxy.http.listener": f"{self.host}:{self.http_port}",
        }
        for name, upstream in (upstreams or {}).items():
            if not isinstance(upstream, str):
                self.user, self.password = upstream.user, upstream.password
            url = upstream if isinstance(upstream, str) else f"amqp://{upstream.host}:{upstream.port}"
            self.settings[f"proxy.upstreams.{name}.url"] = url
        self.settings |= settings or {}
        self.directory = Path(tempfile.mkdtemp(prefix="warren-proxy-test-"))
        self.log_path = self.directory / "log"
        self.process = None

    def words(self) -> list[str]:
        settings = self.given(self) if self.given else [f"--set={key}={value}" for key, value in self.settings.items()]
        return shlex.split(self.command.format(set=shlex.join(settings)))

    def environment(self) -> dict[str, str]:
        return {key: value for key, value in os.environ.items() if key not in _AMQPROXY_VARIABLES} | self.variables

    # -- what operators ask

    @property
    def operations(self) -> Management:
        """Its HTTP API, which wants no login."""
        return Management((self.host, self.http_port), user=None)

    def get(self, path: str) -> Any:
        """The JSON of `/api` and a path."""
        return self.operations.get(path).expect(200).json

    def text(self, path: str, *statuses: int) -> str:
        """The text of a page, which must have one of these statuses (200 if none is named)."""
        return self.operations.get(path, prefix="").expect(*(statuses or (200,))).body.decode()

    def upstream(self, name: str) -> dict:
        """How it sees an upstream."""
        return next(upstream for upstream in self.get("/upstreams") if upstream["name"] == name)

    def metric(self, name: str) -> float:
        """The value of a metric, labels included in its name."""
        for line in self.text("/metrics").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(f"there is no metric {name}")

    def await_state(self, name: str, state: str) -> None:
        """Until it sees an upstream so."""
        eventually(lambda: self.upstream(name)["state"] == state, f"the upstream {name} is {state}")


def add_options(parser) -> None:
    """The option of runners and of pytest."""
    add = getattr(parser, "addoption", None) or parser.add_argument
    add("--proxy-command", default=DEFAULT_COMMAND, metavar="COMMAND", help="starts the proxy under test; {set} is filled in (default: target/debug/warren proxy …)")
