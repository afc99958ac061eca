"""`warren migrate` from one Warren to another: what it says, what it changes, and how it ends. Kills are in crash/migrations.py."""

import fcntl
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from blackbox import broker as brokers
from blackbox import codec, environment

SECRET = "hush"


@pytest.fixture
def pair(pytestconfig):
    """An old broker with a vhost, queues and messages, and a new one that has nothing."""
    if pytestconfig.option.url or pytestconfig.option.peer:
        pytest.skip("both brokers are this test's own")
    settings = {"default_user": "admin", "default_pass": SECRET}
    old, new = (brokers.Warren(pytestconfig.option.broker_command, settings, management=True) for _ in range(2))
    try:
        old.start()
        new.start()
        fill(old)
        yield old, new
    finally:
        old.remove()
        new.remove()


def fill(old) -> None:
    declare = lambda name, **arguments: {"vhost": "shop", "name": name, "durable": True, "auto_delete": False, "arguments": arguments}  # noqa: E731
    document = {
        "vhosts": [{"name": "shop"}],
        "users": [{"name": "app", "password_hash": "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ""}],
        "permissions": [{"user": user, "vhost": "shop", "configure": ".*", "write": ".*", "read": ".*"} for user in ("admin", "app")],
        "queues": [declare("orders"), declare("invoices", **{"x-queue-type": "quorum"}), declare("short", **{"x-max-length": 2}), declare("brief", **{"x-expires": 3_600_000})],
        "exchanges": [
            {"vhost": "shop", "name": name, "type": "topic", "durable": True, "auto_delete": False, "internal": name == "inner", "arguments": {}}
            for name in ("e", "inner")
        ],
        "bindings": [
            {"vhost": "shop", "source": "e", "destination": "inner", "destination_type": "exchange", "routing_key": "inner.#", "arguments": {}},
            {"vhost": "shop", "source": "inner", "destination": "orders", "destination_type": "queue", "routing_key": "inner.#", "arguments": {}},
        ]
        + [
            {"vhost": "shop", "source": "e", "destination": name, "destination_type": "queue", "routing_key": f"{name}.#", "arguments": {}}
            for name in ("orders", "invoices", "short", "brief")
        ],
        "policies": [{"vhost": "shop", "name": "bounds", "pattern": "^nothing$", "apply-to": "queues", "definition": {"max-length": 9}, "priority": 0}],
        "parameters": [{"vhost": "shop", "component": "vhost-limits", "name": "limits", "value": {"max-queues": 100}}],
    }  # fmt: skip
    old.management.post("/definitions", document).expect(200, 201, 204)
    with old.wire(virtual_host="shop") as wire:
        wire.call(1, "confirm.select")
        wire.send(b"".join(codec.publish(1, "e", f"{name}.new", b"m", delivery_mode=2) for name in ("orders", "orders", "invoices", "short", "brief")))
        wire.expect_confirms(1, 1, 5)


@pytest.fixture
def migrate(pair, tmp_path):
    """Runs the command with words beside those that name the brokers: its status and what it said."""
    old, new = pair
    variables = {"PATH": os.environ["PATH"], "WARREN_MIGRATE_FROM": url(old), "WARREN_MIGRATE_TO": url(new)}

    def run(*words: str, timeout_s: str = "60", **more: str) -> tuple[int, str]:
        fixed = ["--from-api", old.management.url, "--to-api", new.management.url, "--state", tmp_path / "state", "--timeout", timeout_s]
        command = [environment.WARREN, "migrate", *map(str, fixed), *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={**variables, **more}, check=False)
        said = done.stdout + done.stderr
        state = (tmp_path / "state").read_text() if (tmp_path / "state").exists() else ""
        assert SECRET not in said and SECRET not in state
        return done.returncode, said

    return run


def url(broker) -> str:
    return f"amqp://admin:{SECRET}@{broker.host}:{broker.port}"


def messages(broker) -> dict[str, int]:
    return {queue["name"]: queue["messages"] for queue in broker.management.get("/queues").expect(200).json}


def everything(broker):
    """What it has, but for what changes by itself."""
    definitions = broker.management.get("/definitions").expect(200).json
    return json.dumps(definitions, sort_keys=True), messages(broker)


def consume(broker, *names: str):
    """A connection with consumers that take nothing."""
    wire = broker.wire(virtual_host="shop")
    wire.call(1, "basic.qos", prefetch_count=1)
    for name in names:
        wire.send_method(1, "basic.consume", queue=name, nowait=True)
    return wire


def test_a_plan_and_a_dry_run_change_nothing(pair, migrate):
    old, new = pair
    before = everything(old), everything(new)
    status, said = migrate("--plan")
    assert status == 0, said
    assert "the new broker lacks 1 vhost, 1 user, 2 permissions, 2 exchanges, 4 queues, 6 bindings, 1 parameter, 1 policy" in said
    assert "4 messages in 3 queues, 100 at a time" in said
    assert "not now: queue 'brief' in 'shop': it would expire at the new broker" in said
    status, said = migrate("--dry-run")
    assert status == 0, said
    assert "definitions: would create queue 'orders' in 'shop'\n" in said
    assert "definitions: would create policy 'bounds' in 'shop'\n" in said and "would create vhost-limits 'limits' in 'shop'\n" in said
    assert "feed: would move queue 'orders' in 'shop': 2 messages\n" in said
    status, said = migrate("--plan", "--format", "json")
    assert (status, json.loads(said)["messages"]) == (0, 4)
    assert (everything(old), everything(new)) == before


def test_everything_arrives_and_nothing_of_the_migration_is_left(pair, migrate):
    old, new = pair
    status, said = migrate("--until", "definitions")
    assert status == 0 and "is the next step" in said, said
    with consume(new, "brief"):
        status, said = migrate()
    assert status == 0, said
    assert "done: everything is at the new broker" in said
    assert messages(old) == dict.fromkeys(("orders", "invoices", "short", "brief"), 0)
    assert messages(new) == {"orders": 2, "invoices": 1, "short": 1, "brief": 1}
    with new.wire(virtual_host="shop") as wire:
        assert wire.get(1, "orders").method.routing_key == "orders.new"
    ends = {name: new.management.get(f"/exchanges/shop/{name}/bindings/source?columns=destination").expect(200).json for name in ("e", "inner")}
    assert {"destination": "inner"} in ends["e"] and ends["inner"] == [{"destination": "orders"}], "internal exchanges are in no export"
    assert new.management.get("/parameters/shovel").json == []
    assert not [each for each in new.management.get("/exchanges").json if each["name"].startswith("warren-migrate.")]
    status, said = migrate()
    assert status == 0 and "already done" in said, said


def test_what_would_be_dropped_waits_and_can_be_left(pair, migrate):
    old, new = pair
    assert migrate("--until", "definitions")[0] == 0
    with new.wire(virtual_host="shop") as wire:
        wire.call(1, "confirm.select")
        wire.send(codec.publish(1, "", "short", b"1") + codec.publish(1, "", "short", b"2"))
        wire.expect_confirms(1, 1, 2)
    status, said = migrate(timeout_s="6")
    assert status == 3, said
    assert "queue 'short' in 'shop': it is full at the new broker: it would drop messages" in said
    assert messages(old)["short"] == 1 and messages(new)["short"] == 2
    status, said = migrate("--accept")
    assert status == 0, said
    assert messages(old) == {"orders": 0, "invoices": 0, "short": 1, "brief": 1}
    assert "left: it is full at the new broker" in said


def test_the_cut_over_names_and_awaits_clients(pair, migrate):
    old, _ = pair
    with consume(old, "orders"):
        status, said = migrate("--accept", timeout_s="6")
        assert status == 3, said
        assert "cut-over: waits for 1 client of the old broker:" in said and "user admin in 'shop', has 1 consumer" in said
        assert "it has consumers at the old broker, and none at the new broker" in said
    status, said = migrate("--accept")
    assert status == 0, said


def test_what_is_declared_meanwhile_comes_along_there_and_back(pair, migrate):
    old, new = pair
    assert migrate("--until", "definitions")[0] == 0
    with old.wire(virtual_host="shop") as wire:
        wire.call(1, "queue.declare", queue="late", durable=True)
        wire.call(1, "queue.bind", queue="late", exchange="e", routing_key="late")
        wire.call(1, "confirm.select")
        wire.send(codec.publish(1, "e", "late", b"m"))
        wire.expect_confirms(1, 1, 1)
        # It goes with its client, and is no one else's.
        wire.call(1, "queue.declare", queue="mine", exclusive=True)
    status, said = migrate("--accept")
    assert status == 0, said
    assert messages(new)["late"] == 1
    with new.wire(virtual_host="shop") as wire:
        wire.call(1, "queue.declare", queue="later", durable=True)
    status, said = migrate("--accept", "--back")
    assert status == 0, said
    assert messages(old)["late"] == 1 and messages(old)["later"] == 0 and messages(old)["orders"] == 2
    assert sum(messages(new).values()) == 0


def test_what_links_of_federation_have_made_is_left_to_them(pair, migrate):
    old, new = pair
    link, inner = "federation: e -> elsewhere", "federation: e -> elsewhere A"
    document = {
        "exchanges": [{"vhost": "shop", "name": inner, "type": "x-federation-upstream", "durable": True, "auto_delete": True, "internal": True, "arguments": {"x-max-hops": 1}}],
        "queues": [{"vhost": "shop", "name": link, "durable": True, "auto_delete": False, "arguments": {"x-internal-purpose": "federation"}}],
        "bindings": [
            {"vhost": "shop", "source": "e", "destination": inner, "destination_type": "exchange", "routing_key": "#", "arguments": {}},
            {"vhost": "shop", "source": inner, "destination": link, "destination_type": "queue", "routing_key": "", "arguments": {}},
        ],
    }  # fmt: skip
    old.management.post("/definitions", document).expect(200, 201, 204)
    with old.wire(virtual_host="shop") as wire:
        wire.call(1, "confirm.select")
        wire.send(codec.publish(1, "e", "orders.new", b"m", delivery_mode=2))
        wire.expect_confirms(1, 1, 1)
    assert messages(old)[link] == 1
    with consume(old, link):
        status, said = migrate("--accept", timeout_s="5")
        assert status == 3 and "cut-over: waits for 1 client of the old broker:" in said, said
    status, said = migrate("--accept")
    assert status == 0, said
    [row] = [line for line in said.splitlines() if link in line]
    assert row.split(link)[1].split()[:4] == ["0", "0", "1", "0"] and "not moved: a queue of a federation link" in row, said
    assert messages(old)[link] == 1 and messages(new)["orders"] == 3
    assert link not in messages(new)
    definitions = new.management.get("/definitions").json
    assert not [each for each in definitions["exchanges"] + definitions["bindings"] if inner in each.values()]


def test_vhosts_that_were_made_meanwhile_come_back(pair, migrate):
    old, new = pair
    # Shovels log in at the old broker as a user who is not the new one's.
    old.management.put("/users/mover", {"password": SECRET, "tags": "administrator"}).expect(201)
    for vhost in ("shop", "%2F"):
        old.management.put(f"/permissions/{vhost}/mover", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201)
    new.management.put("/vhosts/fresh", {}).expect(201)
    with new.wire(virtual_host="fresh") as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
        wire.call(1, "confirm.select")
        wire.send(codec.publish(1, "", "q", b"m", delivery_mode=2))
        wire.expect_confirms(1, 1, 1)
    status, said = migrate("--back", WARREN_MIGRATE_FROM=url(old).replace("admin", "mover"))
    assert status == 0, said
    assert messages(old)["q"] == 1 and sum(messages(new).values()) == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--until", "never"), 2, "possible values"),
        (("--from-api", "ftp://there"), 2, "the argument '--from-api <URL>' cannot be used multiple times"),
        (("--at-once", "0"), 2, "0 is not in 1.."),
    ],
)
def test_wrong_usage_is_told(migrate, words, status, says):
    got, said = migrate(*words)
    assert got == status and says in said, said


def test_fewer_messages_than_there_were_end_it_unless_accepted(pair, migrate):
    old, new = pair
    old.management.delete("/queues/shop/brief").expect(204)
    status, said = migrate("--until", "drain")
    assert status == 0, said
    # No consumer has taken them.
    new.management.delete("/queues/shop/orders/contents").expect(204)
    status, said = migrate()
    assert status == 4, said
    assert "fewer than before" in said and "continue anyway with --accept" in said, said
    ways = [each for each in new.management.get("/exchanges").json if each["name"].startswith("warren-migrate.")]
    assert ways, "nothing is removed"
    status, said = migrate("--accept")
    assert status == 0, said


def test_permissions_have_to_be_there(pair, migrate):
    old, new = pair
    old.management.delete("/permissions/shop/admin").expect(204)
    before = everything(new)
    status, said = migrate()
    assert status == 1 and "user 'admin' has no permissions at the old broker" in said and "in 'shop'" in said, said
    assert everything(new) == before


def test_a_state_is_of_one_migration_and_of_one_run(pair, migrate, tmp_path):
    _, new = pair
    assert migrate("--until", "check")[0] == 0
    status, said = migrate(WARREN_MIGRATE_TO=url(new).replace("127.0.0.1", "localhost"))
    assert status == 1 and "state belongs to a migration" in said and "start again with --again" in said, said
    with open(tmp_path / "state.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, said = migrate()
    assert status == 1 and "another run uses" in said, said


# What RabbitMQ answers, by path; anything else is an empty list.
RABBITMQ = {
    "/api/overview": {"product_name": "RabbitMQ", "product_version": "4.3.6", "rabbitmq_version": "4.3.6"},
    "/api/whoami": {"name": "admin", "tags": ["administrator"]},
    "/api/definitions": {
        "vhosts": [{"name": "/"}], "users": [{"name": "admin", "tags": ["administrator"]}],
        "permissions": [{"user": "admin", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
        "queues": [{"vhost": "/", "name": "s", "durable": True, "auto_delete": False, "arguments": {"x-queue-type": "stream"}}],
        # RabbitMQ exports bindings to the exchanges of links, and not these.
        "exchanges": [{"vhost": "/", "name": "x", "type": "topic", "durable": True, "auto_delete": False, "internal": False, "arguments": {}}],
        "bindings": [{"vhost": "/", "source": "x", "destination": "federation: x -> down A", "destination_type": "exchange", "routing_key": "#", "arguments": {}}],
        "parameters": [{"component": "federation-upstream", "vhost": "/", "name": "u", "value": {"uri": "amqp://127.0.0.1:1"}}],
    },
}  # fmt: skip


@pytest.fixture
def strange():
    """Starts what answers as a RabbitMQ does, but for some paths; gives its URL, and a list of what was asked to be changed."""
    servers = []

    def start(**different):
        answers, changes = RABBITMQ | {f"/api/{name}": answer for name, answer in different.items()}, []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(answers.get(self.path.split("?")[0], [])).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                changes.append(self.path)
                self.send_error(500)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}", changes

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(old_api: str, new_api: str, folder, *words: str) -> tuple[int, str]:
    """The command between two HTTP APIs."""
    uri = f"amqp://admin:{SECRET}@127.0.0.1:"
    command = [environment.WARREN, "migrate", "--from", f"{uri}1", "--to", f"{uri}2", "--from-api", old_api, "--to-api", new_api, "--state", folder / "state", *words]
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert SECRET not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_what_is_refused_stops_it_before_anything_is_changed(pair, strange, tmp_path):
    _, new = pair
    old_api, _ = strange()
    before = everything(new)
    status, said = ask(old_api, new.management.url, tmp_path, "--until", "definitions")
    assert status == 1 and "check: refused: " in said and "--skip-unsupported would skip them" in said, said
    assert everything(new) == before
    assert said.count("check: refused: ") == 1, said
    assert "check: 1 upstream of federation" in said, said
    status, said = ask(old_api, new.management.url, tmp_path, "--until", "definitions", "--skip-unsupported")
    assert status == 0 and "definitions: left out: " in said, said


def test_who_may_migrate_and_to_what(strange, tmp_path):
    old_api, changes = strange()
    status, said = ask(old_api, strange()[0], tmp_path)
    assert status == 1 and "is RabbitMQ 4.3.6: --to must be a Warren" in said, said
    status, said = ask(old_api, old_api, tmp_path)
    assert status == 2 and "both brokers would have the same HTTP API" in said, said
    limited_api, _ = strange(whoami={"name": "admin", "tags": ["management"]})
    status, said = ask(limited_api, old_api, tmp_path)
    assert status == 1 and "user 'admin' is not an administrator of the old broker" in said, said
    assert changes == []


def test_a_broker_that_is_not_there_and_a_wrong_password_are_told(pair, migrate):
    old, new = pair
    status, said = migrate(WARREN_MIGRATE_FROM=f"amqp://admin:wrong@{old.host}:{old.port}")
    assert status == 1 and "does not accept the user" in said, said
    new.stop()
    status, said = migrate()
    assert status == 1 and "does not answer" in said, said
