"""Alerts and webhooks: receivers that hang, fail, are slow or hang up harm nobody, and are told once each what they can be told."""

import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from blackbox import broker as brokers

pytestmark = pytest.mark.warren_only("alerts are Warren's own")

TIMEOUT_S = 15.0
POLL_S = 0.02
# Nobody who publishes or consumes may notice what receivers do.
MESSAGE_TIMEOUT_S = 2.0
SECRET = "a secret"


class Receiver(ThreadingHTTPServer):
    """A webhook of one kind: `fine`, `hangs` (and is given up), `stuck` (and is waited for), `fails` and `closes` (the first two attempts),
    `slow`. It remembers what it has taken."""

    daemon_threads = True

    def __init__(self, kind: str):
        self.kind = kind
        self.taken: list[dict] = []
        self.attempts = 0
        self.ended = threading.Event()
        super().__init__(("127.0.0.1", 0), Hook)
        threading.Thread(target=self.serve_forever, args=(POLL_S,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{self.kind}"

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(body["status"], body["queue"]) for body in list(self.taken)]

    def close(self) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        receiver: Receiver = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.attempts += 1
        if receiver.kind in ("hangs", "stuck"):
            receiver.ended.wait()
            return
        if receiver.kind == "slow":
            receiver.ended.wait(0.2)
        if receiver.kind == "closes" and receiver.attempts <= 2:
            return
        is_failing = receiver.kind == "fails" and receiver.attempts <= 2
        if not is_failing:
            expected = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
            assert self.headers["Warren-Signature"] == expected
            assert self.headers["Content-Type"] == "application/json"
            receiver.taken.append(json.loads(body))
        self.send_response(500 if is_failing else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receivers():
    receivers = {kind: Receiver(kind) for kind in ("fine", "hangs", "stuck", "fails", "closes", "slow")}
    yield receivers
    for receiver in receivers.values():
        receiver.close()


@pytest.fixture
def alerting(pytestconfig):
    """A broker that looks for alerts ten times a second, and keeps little in memory."""
    settings = {"warren.alerts.interval": "100ms", "warren.chunks.bound": "8MiB"}
    broker = brokers.from_options(pytestconfig.option, settings, management=True)
    try:
        if isinstance(broker, brokers.Running):
            pytest.skip("it has to be started with settings of its own")
        yield broker.start()
    finally:
        broker.remove()


def until(check, what: str):
    """What `check` returns, once that is something."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (found := check()):
        assert time.monotonic() < deadline, f"{what} in time"
        time.sleep(POLL_S)
    return found


def set_webhook(api, receiver: Receiver, **more) -> None:
    api.put(f"/alerts/webhooks/{receiver.kind}", {"url": receiver.url, "secret": SECRET, "timeout": 500, **more}).expect(201)


class Traffic:
    """Somebody who publishes and consumes all the time, and notes the longest wait."""

    def __init__(self, broker):
        self.wire = broker.wire()
        self.wire.call(1, "queue.declare", queue="traffic")
        self.wire.call(1, "confirm.select")
        self.longest_s, self.count, self.error = 0.0, 0, None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            while not self.is_over.is_set():
                started = time.monotonic()
                self.wire.publish(1, "", "traffic", b"m", delivery_mode=2)
                self.wire.expect("basic.ack", 1)
                self.wire.send_method(1, "basic.get", queue="traffic", no_ack=True)
                self.wire.expect_message("basic.get-ok")
                self.longest_s = max(self.longest_s, time.monotonic() - started)
                self.count += 1
        except Exception as error:  # noqa: BLE001: told by `end`, in the test's own thread
            self.error = error

    def end(self) -> None:
        self.is_over.set()
        self.thread.join()
        self.wire.close()
        assert self.error is None, self.error
        assert self.count > 10 and self.longest_s < MESSAGE_TIMEOUT_S, f"{self.count} messages, one waited for {self.longest_s:.2f} s"


def test_receivers_that_hang_fail_close_or_are_slow_harm_nobody(alerting, receivers):
    api = alerting.management
    for receiver in receivers.values():
        # Whoever waited for the one that is stuck would wait for longer than this test.
        set_webhook(api, receiver, timeout="1m" if receiver.kind == "stuck" else 500)
    queues = [f"watched-{number}" for number in range(3)]
    with alerting.wire() as wire:
        for queue in queues:
            wire.call(1, "queue.declare", queue=queue)
        api.put("/alerts/rules/long", {"kind": "queue-length", "above": 4, "queue": "^watched-", "severity": "critical"}).expect(201)
        traffic = Traffic(alerting)
        for queue in queues:
            for _ in range(5):
                wire.publish(1, "", queue, b"m")
        until(lambda: len(receivers["fine"].taken) == 3, "what fires is told")
        firing = api.get("/alerts").expect(200).json
        assert [(alert["state"], alert["rule"], alert["value"]) for alert in firing] == [("firing", "long", 5)] * 3
        for queue in queues:
            wire.call(1, "queue.purge", queue=queue)
        others = [receivers[kind] for kind in ("fine", "slow", "fails", "closes")]
        until(lambda: all(len(receiver.taken) >= 6 for receiver in others), "those that can be told are told everything")
        traffic.end()
    for receiver in others:
        for queue in queues:
            of_queue = [body for body in receiver.taken if body["queue"] == queue]
            assert [body["status"] for body in of_queue] == ["firing", "resolved"], receiver.kind
            assert of_queue[0]["id"] == of_queue[1]["id"] and of_queue[0]["since"] == of_queue[1]["since"]
        assert len(receiver.taken) == 6, f"{receiver.kind} was told something again"
    body = receivers["fine"].taken[0]
    documented = {"version", "status", "id", "rule", "kind", "severity", "vhost", "queue", "value", "threshold", "since", "at"}
    documented |= {"reminder", "folded", "test", "node", "cluster"}
    assert set(body) == documented
    assert (body["version"], body["severity"], body["vhost"], body["threshold"]) == (1, "critical", "/", 4)
    # The one that hangs has been given up again and again, and nothing that it was to be told is lost.
    standing = until(lambda: (said := api.get("/alerts/webhooks/hangs").json)["failed"] and said, "it is given up")
    assert (standing["waiting"], standing["delivered"], standing["dropped"]) == (6, 0, 0)
    assert standing["last_error"] == "no answer within 0.5 s"
    history = api.get("/alerts/history").expect(200).json
    assert sorted(change["status"] for change in history) == ["firing"] * 3 + ["resolved"] * 3
    tried = api.post("/alerts/webhooks/fine/test", {}).expect(200).json
    assert tried["delivered"] and receivers["fine"].taken[-1]["test"] is True


def test_rules_outlast_a_kill_and_what_still_fires_is_told_by_the_same_id(alerting, receivers):
    api, fine = alerting.management, receivers["fine"]
    set_webhook(api, fine)
    with alerting.wire() as wire:
        wire.call(1, "queue.declare", queue="orders", durable=True)
        wire.call(1, "confirm.select")
        wire.publish(1, "", "orders", b"m", delivery_mode=2)
        wire.expect("basic.ack", 1)
    api.put("/alerts/rules/stuck", {"kind": "no-consumers", "queue": "^orders$", "webhooks": ["fine"]}).expect(201)
    until(lambda: fine.taken, "it fires")
    alerting.kill()
    alerting.start()
    rules = alerting.management.get("/alerts/rules").expect(200).json
    assert [(rule["name"], rule["kind"], rule["source"]) for rule in rules] == [("stuck", "no-consumers", "runtime")]
    until(lambda: len(fine.taken) == 2, "it fires again")
    assert fine.told == [("firing", "orders")] * 2 and fine.taken[0]["id"] == fine.taken[1]["id"]
    alerting.management.delete("/alerts/rules/stuck").expect(204)
    until(lambda: len(fine.taken) == 3, "a rule that goes ends what fires by it")
    assert (fine.taken[2]["status"], fine.taken[2]["reason"]) == ("resolved", "rule_removed")


def test_the_age_of_a_backlog_on_disk_is_known(alerting):
    api = alerting.management
    body = bytes(1 << 20)
    with alerting.wire() as wire:
        wire.call(1, "queue.declare", queue="backlog", durable=True)
        wire.call(1, "confirm.select")
        started = time.monotonic()
        for tag in range(1, 33):
            wire.publish(1, "", "backlog", body, delivery_mode=2)
            wire.expect_confirms(1, tag, tag)
        # Four times what memory has room for: the oldest message is in a file only.
        api.put("/alerts/rules/old", {"kind": "oldest-age", "above": 0.5, "queue": "^backlog$"}).expect(201)
        [alert] = until(lambda: [alert for alert in api.get("/alerts").json if alert["rule"] == "old"], "it grows old")
        assert 0.5 < alert["value"] <= time.monotonic() - started + 1
