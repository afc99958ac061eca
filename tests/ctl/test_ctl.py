"""rabbitmqctl's commands."""

import json

import pika
import pytest


def test_users_come_change_and_go(ok, fails, api, name):
    bob = name("bob ü/%")
    ok("add_user", bob, "one")
    try:
        assert api.get("users", bob)["tags"] == []
        fails(70, "already exists", "add_user", bob, "other")
        ok("authenticate_user", bob, "one")
        fails(65, "is not accepted", "authenticate_user", bob, "two")
        ok("set_user_tags", bob, "monitoring", "management")
        assert api.get("users", bob)["tags"] == ["monitoring", "management"]
        # The password is still the same.
        assert api.ask("GET", "whoami", login=(bob, "one"))[0] == 200
        ok("change_password", bob, input="two\n")
        assert api.ask("GET", "whoami", login=(bob, "two"))[0] == 200
        assert api.get("users", bob)["tags"] == ["monitoring", "management"]
        ok("clear_password", bob)
        assert api.ask("GET", "whoami", login=(bob, "two"))[0] == 401
        assert [bob, "[monitoring, management]"] in ok("list_users").rows
    finally:
        ok("delete_user", bob)
    assert not api.exists("users", bob)
    ok("delete_user", bob)
    fails(67, "does not exist", "set_user_tags", bob, "x")


def test_a_hash_made_here_is_one_that_the_broker_takes(ok, api, name):
    bob = name("hashed")
    hashed = ok("hash_password", "secret").out.strip()
    ok("add_user", bob, hashed, "--pre-hashed-password")
    try:
        ok("set_user_tags", bob, "management")
        assert api.ask("GET", "whoami", login=(bob, "secret"))[0] == 200
    finally:
        ok("delete_user", bob)


def test_permissions(ok, fails, api, user, vhost):
    ok("set_permissions", "-p", vhost, user, "^a", ".*", "")
    assert api.get("permissions", vhost, user) == {"user": user, "vhost": vhost, "configure": "^a", "write": ".*", "read": ""}
    assert [user, "^a", ".*", ""] in ok("list_permissions", "-p", vhost).rows
    assert ok("-s", "list_user_permissions", user).rows == [[vhost, "^a", ".*", ""]]
    ok("clear_permissions", "-p", vhost, user)
    assert ok("-s", "list_user_permissions", user).rows == []
    ok("set_permissions_globally", user, ".*", ".*", ".*")
    assert {row[0] for row in ok("-s", "list_user_permissions", user).rows} >= {"/", vhost}
    ok("set_topic_permissions", "-p", vhost, user, "amq.topic", "^w", "^r")
    assert ok("-s", "list_topic_permissions", "-p", vhost).rows == [[user, "amq.topic", "^w", "^r"]]
    assert ok("-s", "list_user_topic_permissions", user).rows == [[vhost, "amq.topic", "^w", "^r"]]
    ok("clear_topic_permissions", "-p", vhost, user)
    assert ok("-s", "list_topic_permissions", "-p", vhost).rows == []
    fails(67, "does not exist", "set_permissions", "-p", vhost, "nobody", "", "", "")
    fails(69, "does not exist", "set_permissions", "-p", "no such", user, "", "", "")
    fails(69, "*", "set_permissions", "-p", vhost, user, "*", "", "")
    fails(65, "does not exist", "list_permissions", "-p", "no such")


def test_vhosts_keep_what_is_not_changed(ok, fails, api, name):
    made = name("v/h")
    ok("add_vhost", made, "--description", "one", "--tags", "a,b", "--default-queue-type", "classic")
    ok("add_vhost", made)
    ok("update_vhost_metadata", made, "--description", "two", "--tags", "a,b")
    ok("set_vhost_tags", made, "c")
    ok("enable_vhost_deletion_protection", made)
    fails(65, "protected", "delete_vhost", made)
    found = api.get("vhosts", made)
    assert (found["description"], found["tags"], found["tracing"], found["protected_from_deletion"]) == ("two", ["c"], False, True)
    assert [made, "two", "[c]"] in ok("list_vhosts", "name", "description", "tags").rows
    ok("disable_vhost_deletion_protection", made)
    ok("delete_vhost", made)
    assert not api.exists("vhosts", made)
    fails(65, "does not exist", "delete_vhost", made)


def test_tracing(ok, api, vhost):
    ok("trace_on", "-p", vhost)
    assert api.get("vhosts", vhost)["tracing"] is True
    ok("trace_off", "-p", vhost)
    assert api.get("vhosts", vhost)["tracing"] is False


def test_limits(ok, fails, api, user, vhost):
    ok("set_vhost_limits", "-p", vhost, '{"max-connections": 64, "max-queues": 10}')
    assert json.loads(ok("list_vhost_limits", "-p", vhost).out) == {"max-connections": 64, "max-queues": 10}
    assert [vhost, '{"max-connections":64,"max-queues":10}'] in ok("list_vhost_limits", "--global").rows
    ok("clear_vhost_limits", "-p", vhost)
    assert json.loads(ok("list_vhost_limits", "-p", vhost).out) == {}
    ok("set_user_limits", user, '{"max-channels": 5, "max-connections": 3}')
    ok("clear_user_limits", user, "max-channels")
    assert json.loads(ok("list_user_limits", "--user", user).out) == {"max-connections": 3}
    ok("clear_user_limits", user, "all")
    assert json.loads(ok("list_user_limits", "--user", user).out) == {}
    fails(69, "max-nonsense", "set_vhost_limits", "-p", vhost, '{"max-nonsense": 1}')
    fails(69, "JSON", "set_vhost_limits", "-p", vhost, "x{")
    fails(67, "does not exist", "set_user_limits", "nobody", "{}")


def test_policies(ok, fails, api, vhost):
    ok("set_policy", "-p", vhost, "p 1", "^q", '{"queue-version": 2}', "--apply-to", "queues", "--priority", "3")
    assert ok("-s", "list_policies", "-p", vhost).rows == [[vhost, "p 1", "^q", "queues", '{"queue-version":2}', "3"]]
    api.ask("PUT", "queues", vhost, "q", body={})
    assert [row[1] for row in ok("-s", "list_policies_that_match", "-p", vhost, "q").rows] == ["p 1"]
    ok("clear_policy", "-p", vhost, "p 1")
    fails(69, "no policy 'p 1'", "clear_policy", "-p", vhost, "p 1")
    ok("set_operator_policy", "-p", vhost, "o", "^q", '{"queue-version": 2}')
    assert ok("-s", "list_operator_policies", "-p", vhost).rows[0][1:5] == ["o", "^q", "all", '{"queue-version":2}']
    ok("clear_operator_policy", "-p", vhost, "o")
    fails(69, "max-lengthx", "set_policy", "-p", vhost, "p", "^q", '{"max-lengthx": 10}')


def test_global_parameters(ok, fails, name):
    key = name("parameter")
    ok("set_global_parameter", key, '{"a":1}')
    assert [key, '{"a":1}'] in ok("list_global_parameters").rows
    ok("clear_global_parameter", key)
    fails(69, "no global parameter", "clear_global_parameter", key)


@pytest.mark.warren_only("RabbitMQ needs a plugin")
def test_parameters(ok, fails, vhost):
    value = '{"max-hops":2,"uri":"amqp://me:secret@h.example"}'
    ok("set_parameter", "-p", vhost, "federation-upstream", "up", value)
    assert ok("-s", "list_parameters", "-p", vhost).rows == [["federation-upstream", "up", value]]
    fails(69, "not a valid URI", "set_parameter", "-p", vhost, "federation-upstream", "up", '{"uri":"http://h.example"}')
    fails(69, "component nosuch not found", "set_parameter", "-p", vhost, "nosuch", "up", "{}")
    ok("clear_parameter", "-p", vhost, "federation-upstream", "up")
    fails(69, "has no parameter 'up'", "clear_parameter", "-p", vhost, "federation-upstream", "up")


def test_definitions_go_out_and_come_in(ok, api, name, tmp_path):
    made, file = name("exported"), tmp_path / "definitions.json"
    ok("add_vhost", made)
    ok("export_definitions", str(file))
    definitions = json.loads(file.read_text())
    assert made in [vhost["name"] for vhost in definitions["vhosts"]]
    assert json.loads(ok("export_definitions", "-").out)["vhosts"] == definitions["vhosts"]
    ok("delete_vhost", made)
    ok("import_definitions", input=file.read_text())
    assert api.exists("vhosts", made)
    ok("delete_vhost", made)


def test_queues_are_listed_as_they_are_now(ok, api, wire, vhost):
    for queue, arguments in [("a b", {"note": 10}), ("c", {})]:
        assert api.ask("PUT", "queues", vhost, queue, body={"arguments": arguments})[0] == 201
    for _ in range(3):
        body = {"properties": {}, "routing_key": "a b", "payload": "x", "payload_encoding": "string"}
        assert api.ask("POST", "exchanges", vhost, "amq.default", "publish", body=body) == (200, {"routed": True})
    assert sorted(ok("-s", "list_queues", "-p", vhost).rows) == [["a b", "3"], ["c", "0"]]
    listed = json.loads(ok("list_queues", "-p", vhost, "name", "arguments", "--formatter", "json").out)
    assert {row["name"]: row["arguments"].get("note") for row in listed} == {"a b": 10, "c": None}
    ok("purge_queue", "-p", vhost, "a b")
    assert ["a b", "0"] in ok("list_queues", "-p", vhost, "name", "messages_ready").rows
    ok("delete_queue", "-p", vhost, "a b", "--if-empty", "--if-unused")
    assert ok("-s", "list_queues", "-p", vhost, "name").rows == [["c"]]


@pytest.mark.warren_only("RabbitMQ's queues cannot be paused")
def test_a_queue_is_paused_and_resumed(ok, fails, api, vhost):
    assert api.ask("PUT", "queues", vhost, "a b", body={})[0] == 201
    for command, is_paused in [("pause_queue", True), ("resume_queue", False)]:
        ok(command, "-p", vhost, "a b")
        assert api.ask("GET", "queues", vhost, "a b")[1].get("paused", False) is is_paused
    fails(65, "no queue", "pause_queue", "-p", vhost, "none")


def test_missing_queues_have_rabbitmqctls_status(fails, vhost):
    fails(64, "no queue", "delete_queue", "-p", vhost, "none")
    fails(65, "no queue", "purge_queue", "-p", vhost, "none")
    fails(65, "does not exist", "list_queues", "-p", "no such")


def test_a_queue_with_messages_is_not_deleted_if_empty(fails, ok, api, name):
    # Not in a virtual host with a name beyond ASCII: RabbitMQ 4.3 answers with 500 there.
    queue = name()
    api.ask("PUT", "queues", "/", queue, body={})
    body = {"properties": {}, "routing_key": queue, "payload": "x", "payload_encoding": "string"}
    api.ask("POST", "exchanges", "/", "amq.default", "publish", body=body)
    fails(69, "not empty", "delete_queue", queue, "-e")
    ok("delete_queue", queue)


def test_exchanges_and_bindings(ok, api, vhost):
    api.ask("PUT", "exchanges", vhost, "e", body={"type": "topic"})
    api.ask("PUT", "queues", vhost, "q", body={})
    api.ask("POST", "bindings", vhost, "e", "e", "q", "q", body={"routing_key": "a.*", "arguments": {"x": 1}})
    assert ["e", "topic"] in ok("list_exchanges", "-p", vhost).rows
    assert ["e", "exchange", "q", "queue", "a.*", '[{"x",1}]'] in ok("list_bindings", "-p", vhost).rows


def test_connections_are_listed_and_closed(broker, ok, fails, api, name):
    user, tag = name("connected"), "the tag"
    ok("add_user", user, "secret")
    ok("set_permissions", user, ".*", ".*", ".*")
    connection = pika.BlockingConnection(
        pika.ConnectionParameters(broker.host, broker.port, credentials=pika.PlainCredentials(user, "secret"))
    )
    channel = connection.channel()
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.basic_consume(queue, lambda *_: None, consumer_tag=tag)

    def mine(*words):
        # Statistics of a new connection come a moment later.
        for _ in range(200):
            rows = [row for row in ok(*words).rows if user in row or tag in row]
            if rows:
                return rows
            connection.process_data_events(0.1)
        raise AssertionError(f"{words} does not show it")

    [[pid, _, protocol]] = mine("list_connections", "pid", "user", "protocol")
    assert protocol == "{0,9,1}" and " -> " in pid
    assert mine("list_channels", "user", "consumer_count")[0][0] == user
    assert mine("list_consumers", "queue_name", "consumer_tag", "ack_required") == [[queue, tag, "true"]]
    fails(69, "no connection", "close_connection", "nobody", "bye")
    ok("close_connection", pid, "go away")
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as closed:
        while True:
            connection.process_data_events(0.1)
    assert "go away" in closed.value.reply_text
    ok("close_all_user_connections", user, "bye")
    ok("delete_user", user)


def test_listings_say_which_consumer_is_the_active_one(broker, ok, api, vhost):
    connection = pika.BlockingConnection(
        pika.ConnectionParameters(broker.host, broker.port, vhost, credentials=pika.PlainCredentials(broker.user, broker.password))
    )
    channel = connection.channel()
    for queue_type in ("classic", "quorum"):
        channel.queue_declare(queue_type, durable=True, arguments={"x-queue-type": queue_type, "x-single-active-consumer": True})
        for tag in ("first", "second"):
            channel.basic_consume(queue_type, lambda *_: None, consumer_tag=f"{queue_type} {tag}")

    def eventually(expected, *words):
        # Statistics come a moment later.
        for _ in range(200):
            rows = sorted(ok("-s", *words, "-p", vhost).rows)
            if rows == expected:
                return
            connection.process_data_events(0.1)
        raise AssertionError(f"{words}: {rows}")

    consumers = ("list_consumers", "consumer_tag", "active", "activity_status")
    eventually(
        [
            ["classic first", "true", "single_active"],
            ["classic second", "false", "waiting"],
            ["quorum first", "true", "single_active"],
            ["quorum second", "false", "waiting"],
        ],
        *consumers,
    )
    queues = ("list_queues", "name", "single_active_consumer_tag")
    eventually([["classic", "classic first"], ["quorum", "quorum first"]], *queues)
    for queue_type in ("classic", "quorum"):
        channel.basic_cancel(f"{queue_type} first")
    eventually([["classic second", "true", "single_active"], ["quorum second", "true", "single_active"]], *consumers)
    eventually([["classic", "classic second"], ["quorum", "quorum second"]], *queues)
    connection.close()


def test_listings_say_what_waits_in_a_quorum_queue(broker, ok, vhost):
    connection = pika.BlockingConnection(
        pika.ConnectionParameters(broker.host, broker.port, vhost, credentials=pika.PlainCredentials(broker.user, broker.password))
    )
    channel = connection.channel()
    channel.queue_declare(
        "q",
        durable=True,
        arguments={
            "x-queue-type": "quorum",
            "x-overflow": "reject-publish",
            "x-dead-letter-exchange": "nowhere",
            "x-dead-letter-strategy": "at-least-once",
            "x-delayed-retry-type": "all",
            "x-delayed-retry-min": 100_000,
            "x-delayed-retry-max": 100_000,
        },
    )
    channel.confirm_delivery()
    for _ in range(4):
        channel.basic_publish("", "q", b"m")
    for requeue in (True, True, False):
        channel.basic_nack(channel.basic_get("q")[0].delivery_tag, requeue=requeue)
    names = ("messages", "messages_ready", "messages_unacknowledged", "messages_delayed", "messages_dlx")
    # Statistics come a moment later.
    for _ in range(200):
        [row] = ok("-s", "list_queues", "-p", vhost, *names).rows
        if row == ["4", "1", "0", "2", "1"]:
            break
        connection.process_data_events(0.1)
    else:
        raise AssertionError(row)
    connection.close()


def test_status(ok, broker):
    status = json.loads(ok("status", "--formatter", "json").out)
    assert status["rabbitmq_version"] == ok("server_version").out.strip()
    assert any(listener["port"] == broker.port for listener in status["listeners"])
    assert "Running Nodes" in ok("cluster_status").out
    assert len(json.loads(ok("cluster_status", "--formatter", "json").out)["running_nodes"]) == 1
    assert f"port: {broker.port}, protocol: amqp" in ok("listeners").out
    assert ok("ping").out == "Ping succeeded\n"
    assert ok("environment").out.strip()
    assert ok("await_startup").out == ""


def test_health_checks(ok, fails, broker):
    for words in [
        ("check_running",),
        ("check_alarms",),
        ("check_local_alarms",),
        ("check_port_connectivity",),
        ("check_port_listener", str(broker.port)),
        ("check_protocol_listener", "amqp"),
        ("check_virtual_hosts",),
        ("check_certificate_expiration", "--within", "1", "--unit", "weeks"),
        ("check_if_node_is_quorum_critical",),
        ("node_health_check",),
    ]:
        assert ok(*words).out.count("\n") == 1, words
    fails(69, "No active listener", "check_port_listener", "1")
    fails(69, "No active listener", "check_protocol_listener", "nonsense")


def test_who_may_not_is_77_and_nobody_there_69(fails, broker, user):
    there = broker.management_url.partition("@")[2]
    fails(77, "does not accept", "list_users", url=f"http://guest:wrong@{there}")
    fails(69, "cannot reach", "list_users", url="http://guest:guest@127.0.0.1:1")
    # This one may log in, and do little.
    fails(77, "may not", "list_users", "--username", user, "--password", "secret")


@pytest.mark.parametrize(
    "words",
    [
        ("-q", "list_users"),
        ("-q", "list_vhosts", "name", "tags", "tracing"),
        ("-q", "list_exchanges", "name", "type", "durable", "auto_delete", "internal", "arguments"),
        ("-q", "list_permissions"),
        ("-s", "list_permissions"),
        ("-q", "list_queues", "name", "messages", "arguments", "durable", "auto_delete", "type", "state"),
        ("list_queues", "--no-table-headers"),
        ("-q", "list_bindings"),
        ("-q", "list_policies"),
        ("-q", "list_policies", "--formatter", "json"),
        ("-q", "list_feature_flags"),
        ("-q", "list_queues", "--formatter", "csv"),
    ],
)
def test_scripts_read_what_rabbitmqctl_would_say(words, ok, ctl, api, rabbitmqctl):
    api.ask("PUT", "queues", "/", "compared", body={"arguments": {"x-max-length": 10, "x-overflow": "reject-publish"}})
    api.ask("POST", "bindings", "/", "e", "amq.topic", "q", "compared", body={"routing_key": "a.*", "arguments": {"s": "t", "x": 1}})
    api.ask("PUT", "policies", "/", "compared", body={"pattern": "^c", "definition": {"queue-version": 2}, "apply-to": "queues"})
    try:
        theirs, ours = rabbitmqctl(*words), ctl(*words).out
        if "json" in words:
            assert json.loads(ours) == json.loads(theirs)
        else:
            # They do not sort, and neither do we.
            assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    finally:
        api.ask("DELETE", "queues", "/", "compared")
        api.ask("DELETE", "policies", "/", "compared")


@pytest.mark.parametrize(
    "words",
    [
        ("delete_queue", "no such"),
        ("purge_queue", "no such"),
        ("set_user_tags", "nobody", "x"),
        ("clear_policy", "none"),
        ("delete_vhost", "none"),
        ("list_permissions", "-p", "none"),
        ("set_permissions", "-p", "none", "guest", "", "", ""),
        ("set_permissions", "nobody", "", "", ""),
        ("set_policy", "p", "^q", "x{"),
        ("authenticate_user", "guest", "wrong"),
        ("add_user", "guest", "x"),
        ("add_user",),
        ("frobnicate",),
        ("list_queues", "nmae"),
        ("list_queues", "--timeout", "0"),
        ("enable_feature_flag", "nonsense"),
    ],
)
def test_failures_have_rabbitmqctls_status(words, ctl, broker, rabbitmqctl):
    import subprocess

    theirs = subprocess.run([str(broker.script), "ctl", str(broker.port), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert ctl(*words).status == theirs.returncode


@pytest.mark.warren_only("alerts are Warren's own")
def test_alert_rules_and_webhooks(ok, fails, api, name):
    rule, webhook = name("rule/ü"), name("webhook")
    ok("set_alert_webhook", webhook, '{"url":"http://127.0.0.1:1/hook","secret":"s3cret"}')
    ok("set_alert_rule", rule, json.dumps({"kind": "queue-length", "above": 1_000_000, "for": "1m", "webhooks": [webhook]}))
    try:
        rows = ok("-s", "list_alert_rules", "name", "source", "kind", "above", "for").rows
        assert [rule, "runtime", "queue-length", "1000000", "60000"] in rows
        assert api.get("alerts", "rules", rule)["webhooks"] == [webhook]
        assert "s3cret" not in ok("list_alert_webhooks").out
        assert rule not in ok("list_alerts").out
        fails(69, "the webhook was not notified", "test_alert_webhook", webhook)
    finally:
        ok("delete_alert_rule", rule)
        ok("delete_alert_webhook", webhook)
    fails(69, "no alert rule", "delete_alert_rule", rule)


@pytest.mark.warren_only("a RabbitMQ's HTTP API cannot, and rabbitmqctl does not ask it")
def test_the_running_server_is_changed(ok, fails, api):
    def limits() -> tuple[int, int]:
        [node] = api.get("nodes")
        return node["mem_limit"], node["disk_free_limit"]

    memory, disk = limits()
    try:
        ok("set_vm_memory_high_watermark", "absolute", "3GiB")
        ok("set_disk_free_limit", "60MB")
        assert limits() == (3 << 30, 60_000_000)
        status = json.loads(ok("--formatter", "json", "status").out)
        assert status["disk_free_limit"] == 60_000_000
        ok("set_vm_memory_high_watermark", "0.5")
        half = limits()[0]
        ok("set_disk_free_limit", "mem_relative", "0.5")
        assert limits() == (half, half)
        ok("set_vm_memory_high_watermark", "absolute", "1")
        fails(69, "alarm", "check_alarms")
        # A value that is none changes nothing.
        for status, text, *words in [
            (65, "between 0 and 1", "set_vm_memory_high_watermark", "1.1"),
            (65, "between 0 and 1", "set_vm_memory_high_watermark", "half"),
            (65, "such as 50MB", "set_vm_memory_high_watermark", "absolute", "2xB"),
            (64, "absolute", "set_vm_memory_high_watermark", "absolute"),
            (65, "such as 50MB", "set_disk_free_limit", "1.5GB"),
            (65, "between 0 and 1000", "set_disk_free_limit", "mem_relative", "many"),
            (64, "mem_relative", "set_disk_free_limit", "mem_relative"),
        ]:
            fails(status, text, *words)
        assert limits() == (1, half)
    finally:
        ok("set_vm_memory_high_watermark", "absolute", str(memory))
        ok("set_disk_free_limit", str(disk))
    assert limits() == (memory, disk)
    ok("check_alarms")
    for level in ("debug", "critical", "none", "info"):
        ok("set_log_level", level)
    fails(69, "level loud is not supported. Try one of debug, info, warning, error, critical, none", "set_log_level", "loud")


@pytest.mark.warren_only("a RabbitMQ's HTTP API cannot, and rabbitmqctl does not ask it")
def test_listeners_are_suspended_and_resumed(ok, fails, broker):
    def connect() -> pika.BlockingConnection:
        credentials = pika.PlainCredentials(broker.user, broker.password)
        return pika.BlockingConnection(pika.ConnectionParameters(broker.host, broker.port, credentials=credentials))

    before = connect()
    try:
        ok("suspend_listeners")
        with pytest.raises(pika.exceptions.AMQPConnectionError):
            connect()
        fails(69, "No active listener", "check_port_listener", str(broker.port))
        fails(69, str(broker.port), "check_port_connectivity")
        # Who is there stays, and twice is once.
        assert before.channel().is_open
        ok("suspend_listeners")
    finally:
        ok("resume_listeners")
    connect().close()
    before.close()
    ok("check_port_listener", str(broker.port))
