"""Workers of a crash run say when the broker has let them down before it was killed."""

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import traffic  # noqa: E402
from blackbox.wire import Closed, Timeout, Torn  # noqa: E402
from ledger import Ledger  # noqa: E402


class Ending(traffic.Worker):
    """Meets one end."""

    end: Exception

    def work(self, wire) -> None:
        raise self.end


@pytest.mark.parametrize(
    "end, is_killed, fault",
    [
        (Closed("gone"), True, None),
        (ConnectionResetError(), True, None),
        (Torn("half a frame"), True, None),
        (Closed("gone"), False, "before it was killed"),
        (Torn("half a frame"), False, "before it was killed"),
        (BrokenPipeError(), False, "before it was killed"),
        (Timeout("nothing"), True, "nothing"),
        (AssertionError("nonsense"), True, "nonsense"),
    ],
)
def test_only_the_kill_may_end_a_connection(monkeypatch, end, is_killed, fault):
    class NoWire:
        __enter__ = __exit__ = lambda *_: None

    monkeypatch.setattr(traffic, "Wire", SimpleNamespace(open=lambda *_, **__: NoWire()))
    killed = threading.Event()
    if is_killed:
        killed.set()
    worker = Ending(("", 0), Ledger(), "seed", killed)
    worker.end = end
    worker.run()
    assert (worker.fault is None) if fault is None else (fault in worker.fault)
