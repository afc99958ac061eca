"""The tools that people drive RabbitMQ with over HTTP, each in its own words: the classic `rabbitmqadmin`, the newer one, and a client library.

They are fetched when the tests run (nothing of them is kept in the repository); one that cannot be had is skipped, and says why.
"""

import csv
import io
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyrabbit2
import pytest
from blackbox import environment

VHOST = "api-tools"
TIMEOUT_S = 60
BUILD_TIMEOUT_S = 3600
NEWER_VERSION = "2.35.0"


class Failed(AssertionError):
    """A tool ended with an error."""


def run(*command: str, timeout_s: float = TIMEOUT_S, cwd: Path | None = None) -> str:
    """What a command prints; its own words if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout_s, cwd=cwd, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stdout}")
    return done.stdout


@pytest.fixture
def vhost(api):
    """A vhost that the administrator may use."""
    api.put(f"/vhosts/{VHOST}", {}).expect(201)
    api.put(f"/permissions/{VHOST}/{api.user}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
    yield VHOST
    api.delete(f"/vhosts/{VHOST}")


# -- the classic rabbitmqadmin: the Python script of RabbitMQ 3, out of Debian's package


@cache
def classic_script() -> Path | str:
    """Where the script is, or why it cannot be had."""
    folder = environment.OUTPUT / "rabbitmqadmin-classic"
    script = folder / "usr" / "bin" / "rabbitmqadmin"
    if script.exists():
        return script
    missing = [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]
    if missing:
        return f"{' and '.join(missing)} not found"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run("apt-get", "download", "rabbitmq-server", cwd=folder)
        package = next(folder.glob("rabbitmq-server_*.deb"))
        run("dpkg-deb", "--extract", str(package), str(folder))
    except (Failed, StopIteration, subprocess.TimeoutExpired) as why:
        return str(why)
    return script if script.exists() else f"{package.name} has no rabbitmqadmin"


@pytest.fixture
def classic(api, vhost, tmp_path):
    """classic("list", "queues"): the script's rows, as dictionaries, for a list; what it prints otherwise."""
    script = classic_script()
    if isinstance(script, str):
        pytest.skip(f"the classic rabbitmqadmin cannot be had: {script}")

    def call(*arguments: str, vhost: str | None = VHOST, user: str = api.user, password: str = api.password):
        options = [f"--host={api.address[0]}", f"--port={api.address[1]}", f"--username={user}", f"--password={password}", *([f"--vhost={vhost}"] if vhost else [])]
        is_listing = arguments[0] in ("list", "show", "get")
        # Its TSV is raw: one row a line, names in the first.
        output = run(sys.executable, str(script), *options, *(["--format=tsv"] if is_listing else []), *arguments, cwd=tmp_path)
        return list(csv.DictReader(io.StringIO(output), delimiter="\t", quoting=csv.QUOTE_NONE)) if is_listing else output

    return call


def test_classic_declares_lists_and_deletes(classic):
    classic("declare", "exchange", "name=x", "type=topic")
    classic("declare", "queue", "name=q", "durable=true", 'arguments={"x-house": "red"}')
    classic("declare", "binding", "source=x", "destination=q", "routing_key=a.#")
    assert [row["type"] for row in classic("list", "exchanges", "name", "type") if row["name"] == "x"] == ["topic"]
    assert classic("list", "queues", "name", "durable", "arguments.x-house") == [{"name": "q", "durable": "True", "arguments.x-house": "red"}]
    assert {(row["source"], row["destination"], row["routing_key"]) for row in classic("list", "bindings")} >= {("x", "q", "a.#")}
    classic("delete", "binding", "source=x", "destination_type=queue", "destination=q", "properties_key=a.%23")
    classic("delete", "queue", "name=q")
    classic("delete", "exchange", "name=x")
    assert classic("list", "queues", "name") == []


def test_classic_publishes_gets_and_purges(classic):
    classic("declare", "queue", "name=q")
    for payload in ("one", "two", "three"):
        classic("publish", "routing_key=q", f"payload={payload}", 'properties={"delivery_mode": 2, "headers": {"n": 1}}')
    got = classic("get", "queue=q", "count=2", "ackmode=ack_requeue_false")
    assert [(row["payload"], row["message_count"], row["redelivered"]) for row in got] == [("one", "2", "False"), ("two", "1", "False")]
    classic("purge", "queue", "name=q")
    assert classic("get", "queue=q") == []


def test_classic_says_what_is_not_routed(classic):
    assert "NOT routed" in classic("publish", "routing_key=nosuch", "payload=x")


def test_classic_manages_users_and_permissions(classic, api):
    try:
        classic("declare", "user", "name=api-classic", "password=secret", "tags=management")
        classic("declare", "permission", f"vhost={VHOST}", "user=api-classic", "configure=^a", "write=^b", "read=^c")
        assert [row["tags"] for row in classic("list", "users") if row["name"] == "api-classic"] == ["management"]
        assert {"vhost": VHOST, "user": "api-classic", "configure": "^a", "write": "^b", "read": "^c"} in classic("list", "permissions", "vhost", "user", "configure", "write", "read")
        assert [row["name"] for row in classic("list", "vhosts", "name", user="api-classic", password="secret", vhost=None)] == [VHOST]
        classic("delete", "permission", f"vhost={VHOST}", "user=api-classic")
        classic("delete", "user", "name=api-classic")
        assert api.get("/users/api-classic").status == 404
    finally:
        api.delete("/users/api-classic")


def test_classic_manages_policies_limits_and_parameters(classic):
    classic("declare", "policy", "name=p", "pattern=^q$", 'definition={"queue-version": 2}', "priority=3", "apply-to=queues")
    classic("declare", "operator_policy", "name=o", "pattern=^q$", 'definition={"queue-version": 1}', "priority=3", "apply-to=queues")
    classic("declare", "vhost_limit", f"vhost={VHOST}", "name=max-queues", "value=7")
    assert [(row["name"], row["pattern"], row["priority"]) for row in classic("list", "policies")] == [("p", "^q$", "3")]
    assert [row["name"] for row in classic("list", "operator_policies")] == ["o"]
    assert [row["value"] for row in classic("list", "vhost_limits") if row["vhost"] == VHOST] == ['{"max-queues": 7}']
    classic("delete", "policy", "name=p")
    classic("delete", "operator_policy", "name=o")
    classic("delete", "vhost_limit", f"vhost={VHOST}", "name=max-queues")
    assert classic("list", "policies") == []


def test_classic_manages_shovels_and_upstreams(classic, api, eventually):
    classic("declare", "queue", "name=from")
    classic("publish", "routing_key=from", "payload=x")
    classic("declare", "parameter", "component=shovel", "name=s", 'value={"src-uri": "amqp:///%s", "src-queue": "from", "dest-uri": "amqp:///%s", "dest-queue": "to"}' % (VHOST, VHOST))
    classic("declare", "parameter", "component=federation-upstream", "name=u", 'value={"uri": "amqp://127.0.0.1:1", "max-hops": 2}')
    assert {(row["component"], row["name"]) for row in classic("list", "parameters") if row["vhost"] == VHOST} == {("shovel", "s"), ("federation-upstream", "u")}
    eventually(lambda: check_moved(api))
    with pytest.raises(Failed, match="Validation failed"):
        classic("declare", "parameter", "component=shovel", "name=t", 'value={"src-uri": "amqp://"}')
    classic("delete", "parameter", "component=shovel", "name=s")
    classic("delete", "parameter", "component=federation-upstream", "name=u")
    assert [row for row in classic("list", "parameters") if row["vhost"] == VHOST] == []


def check_moved(api) -> None:
    assert api.get(f"/queues/{VHOST}/to").expect(200).json["messages"] == 1


def test_classic_exports_and_imports_definitions(classic, tmp_path):
    classic("declare", "queue", "name=kept", "durable=true")
    classic("export", "definitions.json")
    exported = json.loads((tmp_path / "definitions.json").read_text())
    assert [queue["name"] for queue in exported["queues"]] == ["kept"]
    classic("delete", "queue", "name=kept")
    classic("import", "definitions.json")
    assert [row["name"] for row in classic("list", "queues", "name")] == ["kept"]


def test_classic_shows_the_overview_and_closes_connections(classic, api, wires, eventually):
    assert classic("show", "overview", "rabbitmq_version")[0]["rabbitmq_version"] == api.get("/overview").json["rabbitmq_version"]
    wire = wires(virtual_host=VHOST)

    def check_listed():
        assert wire.name in [row["name"] for row in classic("list", "connections", "name")]

    eventually(check_listed)
    classic("close", "connection", f"name={wire.name}")
    wire.expect_connection_error(320, "CONNECTION_FORCED - Closed via management plugin")


def test_classic_says_who_is_refused(classic):
    with pytest.raises(Failed, match="Access refused|not_authori"):
        classic("list", "queues", password="wrong")


# -- the newer rabbitmqadmin: a Rust program, built from crates.io, which takes minutes


@cache
def newer_program() -> Path | str:
    folder = environment.OUTPUT / f"rabbitmqadmin-{NEWER_VERSION}"
    program = folder / "bin" / "rabbitmqadmin"
    if program.exists():
        return program
    if not shutil.which("cargo"):
        return "cargo not found"
    try:
        # A debug build: its release profile takes four times as long, and nobody waits for the tool.
        run("cargo", "install", "--quiet", "--locked", "--debug", "--jobs=2", "--version", NEWER_VERSION, "--root", str(folder), "rabbitmqadmin", timeout_s=BUILD_TIMEOUT_S)
    except (Failed, subprocess.TimeoutExpired) as why:
        return str(why)
    return program


@pytest.fixture
def newer(api, vhost, pytestconfig):
    """newer("queues", "list"): what it prints."""
    if not pytestconfig.option.long and not shutil.which("rabbitmqadmin", path=str(environment.OUTPUT / f"rabbitmqadmin-{NEWER_VERSION}" / "bin")):
        pytest.skip("the newer rabbitmqadmin takes long to build: run with --long once")
    program = newer_program()
    if isinstance(program, str):
        pytest.skip(f"the newer rabbitmqadmin cannot be had: {program}")
    options = ["--host", api.address[0], "--port", str(api.address[1]), "--username", api.user, "--password", api.password, "--non-interactive"]
    return lambda *arguments: run(str(program), *options, "--vhost", VHOST, *arguments)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_newer_declares_lists_publishes_gets_and_deletes(newer):
    newer("exchanges", "declare", "--name", "x", "--type", "topic", "--durable", "true")
    newer("queues", "declare", "--name", "q", "--type", "classic", "--durable", "true")
    newer("exchanges", "bind", "--source", "x", "--destination-type", "queue", "--destination", "q", "--routing-key", "a.#")
    assert "q" in newer("queues", "list") and "x" in newer("exchanges", "list") and "a.#" in newer("bindings", "list")
    newer("publish", "message", "--exchange", "x", "--routing-key", "a.b", "--payload", "hello")
    assert "hello" in newer("get", "messages", "--queue", "q")
    newer("queues", "delete", "--name", "q")
    newer("exchanges", "delete", "--name", "x")


def test_newer_manages_users_permissions_and_policies(newer, api):
    try:
        newer("users", "declare", "--name", "api-newer", "--password", "secret", "--tags", "monitoring")
        newer("permissions", "declare", "--user", "api-newer", "--configure", "^a", "--write", "^b", "--read", "^c")
        assert api.get("/users/api-newer").expect(200).json["tags"] == ["monitoring"]
        assert "api-newer" in newer("users", "list") and "^b" in newer("permissions", "list")
        newer("policies", "declare", "--name", "p", "--pattern", "^q$", "--apply-to", "queues", "--priority", "3", "--definition", '{"queue-version": 2}')
        assert "^q$" in newer("policies", "list")
        newer("policies", "delete", "--name", "p")
        newer("permissions", "delete", "--user", "api-newer")
        newer("users", "delete", "--name", "api-newer")
    finally:
        api.delete("/users/api-newer")


def test_newer_exports_definitions_and_checks_health(newer, api):
    assert json.loads(newer("definitions", "export", "--stdout"))["vhosts"]
    newer("health_check", "local_alarms")
    newer("health_check", "port_listener", "--port", str(api.address[1]))
    newer("health_check", "protocol_listener", "--protocol", "amqp")
    with pytest.raises(Failed):
        newer("health_check", "port_listener", "--port", "1")


def test_newer_does_all_that_it_does_on_rabbitmq(newer, api, wires, eventually, tmp_path):
    """Every kind of thing made, told and deleted; what a command answers that it cannot read, it fails by."""
    node = api.get("/overview").expect(200).json["node"]
    file, own_file = str(tmp_path / "all.json"), str(tmp_path / "vhost.json")
    wire = wires(virtual_host=VHOST)
    wire.call(1, "queue.declare", queue="watched", durable=True)
    wire.call(1, "basic.consume", queue="watched", consumer_tag="watcher")
    eventually(lambda: check_told("watcher", newer("list", "consumers")))
    eventually(lambda: check_told(wire.name, newer("connections", "list")))
    try:
        for command in NEWER_COMMANDS:
            newer(*(word.format(node=node, port=api.address[1], file=file, own_file=own_file) for word in command))
    finally:
        for path in ("/users/api-newer", "/vhosts/api-newer", "/global-parameters/api-newer"):
            api.delete(path)
    newer("close", "connection", "--name", wire.name)
    wire.expect("connection.close")


def check_told(name: str, output: str) -> None:
    assert name in output


POLICY_COMMANDS = [
    [kind, *rest]
    for kind in ("policies", "operator_policies")
    for rest in (
        ("declare", "--name", "p", "--pattern", "^q", "--apply-to", "queues", "--priority", "3", "--definition", '{{"queue-version": 1}}'), ("list",), ("list_in",),
        ("list_in", "--apply-to", "queues"), ("list_matching_object", "--name", "q", "--type", "queues"), ("patch", "--name", "p", "--definition", '{{"queue-version": 2}}'),
        ("update_definition", "--name", "p", "--definition-key", "queue-version", "--new-value", "1"), ("update_definitions_of_all_in", "--definition-key", "queue-version", "--new-value", "2"),
        ("patch", "--name", "p", "--definition", '{{"max-length": 9}}'), ("delete_definition_keys", "--name", "p", "--definition-keys", "max-length"),
        ("patch", "--name", "p", "--definition", '{{"max-length": 9}}'), ("delete_definition_keys_from_all_in", "--definition-keys", "max-length"),
        ("delete", "--name", "p"), ("delete", "--name", "p", "--idempotently"),
    )
]  # fmt: skip
# Files that would be the broker's.
NODE_FILES = "--node-local-ca-certificate-bundle-path /ca.pem --node-local-client-certificate-file-path /c.pem --node-local-client-private-key-file-path /k.pem"
NEWER_COMMANDS = [
    *(words.split() for words in (
        "vhosts declare --name api-newer --description d", "vhosts list", "vhosts enable_deletion_protection --name api-newer", "vhosts disable_deletion_protection --name api-newer",
        "vhosts delete --name api-newer", "declare vhost --name api-newer --default-queue-type quorum", "delete vhost --name api-newer",
        "vhosts declare --name api-newer", "vhosts delete_multiple --name-pattern ^api-newer$ --approve", "vhost_limits declare --name max-queues --value 100", "vhost_limits list", "vhost_limits delete --name max-queues",
        "users declare --name api-newer --password secret --tags monitoring", "users list", "permissions declare --username api-newer --configure ^a --read ^b --write ^c", "permissions list",
        "user_limits declare --username api-newer --name max-connections --value 5", "user_limits list", "user_limits delete --username api-newer --name max-connections", "users permissions",
        "declare user_limit --username api-newer --name max-channels --value 5", "list user_limits --username api-newer", "delete user_limit --username api-newer --name max-channels",
        "list user_connections --username api-newer", "close user_connections --username api-newer", "connections close_of_user --username api-newer",
        "users limits", "permissions delete --username api-newer", "users delete --name api-newer", "exchanges declare --name x --type topic --durable true", "exchanges list",
        "declare exchange --name x2 --type headers", "queues declare --name q --type classic --durable true", "queues list", "queues show --name q",
        "exchanges bind --source x --destination-type exchange --destination x2 --routing-key e", "bindings declare --source x --destination-type queue --destination q --routing-key a",
        "bindings list", "publish message --routing-key q --payload x", "publish message --exchange x --routing-key a --payload x", "get messages --queue q --ack-mode ack_requeue_false",
        "queues purge --name q", "queues rebalance", "bindings delete --source x --destination-type queue --destination q --routing-key a",
        "exchanges unbind --source x --destination-type exchange --destination x2 --routing-key e", "parameters list_all", "parameters list_in --component vhost-limits",
        'global_parameters set --name api-newer --value {{"a":1}}', "global_parameters list", "global_parameters clear --name api-newer", "nodes list", "nodes memory_breakdown_in_bytes --node {node}",
        "nodes memory_breakdown_in_percent --node {node}", "show overview", "show churn", "show endpoint", "auth_attempts stats --node {node}", "health_check local_alarms",
        "health_check cluster_wide_alarms", "health_check node_is_quorum_critical", "health_check port_listener --port {port}", "health_check protocol_listener --protocol amqp",
        "list nodes", "list channels", "list feature_flags", "list deprecated_features", "list deprecated_features_in_use",
        "show memory_breakdown_in_bytes --node {node}", "show memory_breakdown_in_percent --node {node}", "passwords salt_and_hash secret",
        "feature_flags list", "feature_flags enable_all", "deprecated_features list", "deprecated_features list_used", "plugins list_all", "plugins list_on_node --node {node}",
        "definitions export --file {file}", "definitions import --file {file}", "definitions export_from_vhost --file {own_file}", "definitions import_into_vhost --file {own_file}",
        "channels list", "connections list", "connections list_of_user --username guest", "streams list",
        "shovels declare_amqp091 --name s --source-uri amqp:// --source-queue q --destination-uri amqp:// --destination-queue q2", "shovels list_all", "shovels list", *(f"shovels disable_tls_peer_verification_for_all_{end}_uris" for end in ("source", "destination")),
        *(f"shovels enable_tls_peer_verification_for_all_{end}_uris {NODE_FILES}" for end in ("source", "destination")), "shovels delete --name s",
        "federation declare_upstream --name u --uri amqp:// --max-hops 2 --ack-mode on-confirm --queue-name q", "federation declare_upstream_for_queues --name u2 --uri amqp:// --queue-name q",
        "federation declare_upstream_for_exchanges --name u3 --uri amqp:// --exchange-name x", "federation list_all_upstreams", "federation list_all_links",
        "federation disable_tls_peer_verification_for_all_upstreams", f"federation enable_tls_peer_verification_for_all_upstreams {NODE_FILES}",
        "federation delete_upstream --name u", "federation delete_upstream --name u2", "federation delete_upstream --name u3",
        "policies declare_blanket --name blanket --apply-to queues --definition {{\"max-length\":100}}", "policies delete --name blanket",
        "policies declare --name base --pattern ^q --apply-to queues --priority 3 --definition {{\"max-length\":100}}",
        "policies declare_override --name base --override-name over --definition {{\"max-length\":50}}", "policies list_conflicting", "policies list_conflicting_in",
        "policies update_definitions_of_all --definition-key max-length --new-value 60", "policies delete --name over", "policies delete --name base",
        "queues declare --name qs1 --type classic --durable true", "queues delete_multiple --name-pattern ^qs --approve",
        "queues delete --name q", "queues delete --name q --idempotently", "exchanges delete --name x", "delete exchange --name x2",
    )),
    *POLICY_COMMANDS,
]  # fmt: skip


# -- a client library: pyrabbit2


@pytest.fixture
def library(api, vhost):
    """pyrabbit2's client."""
    return pyrabbit2.Client(f"{api.address[0]}:{api.address[1]}", api.user, api.password, timeout=TIMEOUT_S)


def test_library_tells_what_the_broker_is(library, api):
    overview = library.get_overview()
    assert overview["rabbitmq_version"] == api.get("/overview").json["rabbitmq_version"]
    assert library.get_whoami()["name"] == api.user
    assert library.get_nodes()[0]["running"] is True
    assert library.is_alive(VHOST)
    assert library.get_cluster_name()["name"]


def test_library_declares_publishes_gets_and_deletes(library, eventually):
    library.create_exchange(VHOST, "x", "direct", durable=True)
    library.create_queue(VHOST, "q", durable=True)
    library.create_binding(VHOST, "x", "q", rt_key="k")
    assert library.get_exchange(VHOST, "x")["type"] == "direct"
    assert [(binding["source"], binding["routing_key"]) for binding in library.get_queue_bindings(VHOST, "q")] == [("", "q"), ("x", "k")]
    assert library.publish(VHOST, "x", "k", "hello", properties={"message_id": "m"})
    assert not library.publish(VHOST, "x", "nosuch", "hello")
    eventually(lambda: check_depth(library, 1))
    [message] = library.get_messages(VHOST, "q", count=5)
    assert (message["payload"], message["properties"], message["routing_key"]) == ("hello", {"message_id": "m"}, "k")
    library.publish(VHOST, "x", "k", "again")
    library.purge_queue(VHOST, "q")
    assert library.get_messages(VHOST, "q") == []
    library.delete_binding(VHOST, "x", "q", "k")
    library.delete_queue(VHOST, "q")
    library.delete_exchange(VHOST, "x")
    assert library.get_queues(VHOST) == []


def check_depth(library, expected: int) -> None:
    assert library.get_queue(VHOST, "q").get("messages") == expected


def test_library_manages_users_permissions_and_policies(library, api):
    try:
        library.create_user("api-library", password="secret", tags="management")
        library.set_vhost_permissions(VHOST, "api-library", "^a", "^b", "^c")
        assert library.get_permission(VHOST, "api-library") == {"user": "api-library", "vhost": VHOST, "configure": "^a", "read": "^b", "write": "^c"}
        library.create_policy(VHOST, "p", pattern="^q$", definition={"queue-version": 2}, priority=1, **{"apply-to": "queues"})
        assert library.get_policy(VHOST, "p")["definition"] == {"queue-version": 2}
        library.delete_policy(VHOST, "p")
        library.delete_permission(VHOST, "api-library")
        library.delete_user("api-library")
        assert "api-library" not in [user["name"] for user in library.get_users()]
    finally:
        api.delete("/users/api-library")


def test_library_raises_what_the_api_refuses(library):
    with pytest.raises(pyrabbit2.http.HTTPError) as refused:
        library.get_queue(VHOST, "nosuch")
    assert refused.value.status == 404


def test_library_exports_definitions(library):
    assert {"users", "vhosts", "permissions", "policies", "queues", "exchanges", "bindings"} <= set(library.get_definitions())
