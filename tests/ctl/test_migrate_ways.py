"""`warren migrate` over TLS, and into a cluster of three nodes of which one is killed in the midst."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from blackbox import broker as brokers
from blackbox import codec, environment
from blackbox.certificates import Authority
from test_migrate import SECRET, fill, messages

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))

from nodes import Cluster, Surroundings  # noqa: E402

MESSAGE_COUNT = 6_000
TIMEOUT_S = 90
MARK = "x-shovelled-redelivered"


class Tool:
    """The command with the words that name the brokers."""

    def __init__(self, folder: Path, old: str, new: str, old_api: str, new_api: str, *words: str):
        self.state, self.words = folder / "state", words
        self.variables = {
            "PATH": os.environ["PATH"], "WARREN_MIGRATE_FROM": old, "WARREN_MIGRATE_TO": new,
            "WARREN_MIGRATE_FROM_API": old_api, "WARREN_MIGRATE_TO_API": new_api,
        }  # fmt: skip

    def start(self, *words: str) -> subprocess.Popen:
        command = [environment.WARREN, "migrate", "--state", str(self.state), "--timeout", str(TIMEOUT_S), *self.words, *words]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.variables)

    def run(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        said = process.communicate(timeout=TIMEOUT_S + 30)[0]
        assert SECRET not in said
        return process.returncode, said


@pytest.fixture(autouse=True)
def _own_brokers_only(pytestconfig):
    if pytestconfig.option.url or pytestconfig.option.peer:
        pytest.skip("all brokers are this test's own")


@pytest.fixture
def authority(tmp_path):
    authority = Authority(tmp_path)
    authority.server = authority.sign("server", "/CN=localhost", "DNS:localhost")
    return authority


@pytest.fixture
def secured(pytestconfig, authority):
    """An old and a new broker that speak TLS, too; their `tls_port` and `api_tls_port` say where."""
    made = []
    for _ in range(2):
        tls_port, api_tls_port = brokers.free_port(), brokers.free_port()
        files = {"certfile": str(authority.server.certificate), "keyfile": str(authority.server.key)}
        settings = {
            "default_user": "admin", "default_pass": SECRET, "listeners.ssl.default": f"127.0.0.1:{tls_port}",
            "management.ssl.ip": "127.0.0.1", "management.ssl.port": str(api_tls_port),
            **{f"{place}.{key}": file for place in ("ssl_options", "management.ssl") for key, file in files.items()},
        }  # fmt: skip
        broker = brokers.Warren(pytestconfig.option.broker_command, settings, management=True)
        broker.tls_port, broker.api_tls_port = tls_port, api_tls_port
        made.append(broker)
    try:
        for broker in made:
            broker.start()
        fill(made[0])
        yield made
    finally:
        for broker in made:
            broker.remove()


def secured_tool(folder: Path, old, new, query: str, *words: str) -> Tool:
    uri = lambda broker: f"amqps://admin:{SECRET}@localhost:{broker.tls_port}"  # noqa: E731
    return Tool(folder, f"{uri(old)}?{query}", uri(new), f"https://localhost:{old.api_tls_port}", f"https://localhost:{new.api_tls_port}", *words)


def test_a_migration_over_tls_trusts_an_authority(secured, authority, tmp_path):
    old, new = secured
    query = f"verify=verify_peer&cacertfile={quote(str(authority.certificate), safe='')}"
    status, said = secured_tool(tmp_path, old, new, query).run()
    assert status == 1 and "certificate" in said, said
    assert messages(new) == {}
    trusting = secured_tool(tmp_path, old, new, query, "--tls-ca", str(authority.certificate), "--accept")
    status, said = trusting.run()
    assert status == 0, said
    assert messages(new) == {"orders": 2, "invoices": 1, "short": 1, "brief": 0}
    status, said = trusting.run("--back")
    assert status == 0, said
    assert messages(old) == {"orders": 2, "invoices": 1, "short": 1, "brief": 1}


def test_a_shovel_that_does_not_trust_the_old_broker_is_told(secured, tmp_path):
    """The program may trust anything: the shovels go by the URI."""
    old, new = secured
    tool = secured_tool(tmp_path, old, new, "verify=verify_peer", "--tls-insecure")
    process = tool.start()
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while not [each for each in new.management.get("/shovels").json if "certificate" in each.get("reason", "")]:
            assert time.monotonic() < deadline, new.management.get("/shovels").body
            time.sleep(0.1)
    finally:
        process.kill()
        process.communicate()
    status, said = secured_tool(tmp_path, old, new, "verify=verify_none", "--tls-insecure", "--accept").run()
    assert status == 0, said
    assert messages(new)["orders"] == 2


@pytest.fixture
def old(pytestconfig):
    broker = brokers.Warren(pytestconfig.option.broker_command, management=True)
    try:
        yield broker.start()
    finally:
        broker.remove()


@pytest.fixture
def cluster(pytestconfig):
    cluster = Cluster(Surroundings(), pytestconfig.option.broker_command)
    try:
        yield cluster.start()
    finally:
        cluster.remove()


def test_a_cluster_gets_everything_though_its_leader_is_killed(old, cluster, tmp_path):
    with old.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True, arguments={"x-queue-type": "quorum"})
        wire.call(1, "confirm.select")
        wire.send(b"".join(codec.publish(1, "", "q", b"%d" % number, delivery_mode=2) for number in range(MESSAGE_COUNT)))
        wire.expect_confirms(1, 1, MESSAGE_COUNT)
    leader = cluster.leader()
    named = next(node for number, node in cluster.nodes.items() if number != leader)
    tool = Tool(tmp_path, old.url, named.url, old.management.url, named.management.url)
    process = tool.start()
    deadline = time.monotonic() + TIMEOUT_S
    while not messages(named).get("q"):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.02)
    cluster.nodes[leader].kill()
    process.kill()
    process.communicate()
    assert json.loads(tool.state.read_text())["step"] in ("feed", "cut-over", "drain"), "it was in the midst"
    status, said = tool.run()
    assert status == 0, said
    assert messages(old) == {"q": 0}
    found, marked, count = Counter(), Counter(), messages(named)["q"]
    with named.wire(timeout=30) as wire:
        wire.call(1, "basic.consume", queue="q", no_ack=True)
        for _ in range(count):
            message = wire.expect_message()
            found[message.body] += 1
            marked[message.body] += bool((message.properties.get("headers") or {}).get(MARK))
    assert found.keys() == {b"%d" % number for number in range(MESSAGE_COUNT)}
    assert not [body for body, count in found.items() if count - 1 > marked[body]]
