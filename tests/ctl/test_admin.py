"""rabbitmqadmin's commands: those of the old one, and its successor's."""

import json

import pytest


def test_a_message_goes_through(ok, vhost):
    ok("-V", vhost, "declare", "exchange", "name=e", "type=topic")
    ok("-V", vhost, "declare", "queue", "name=q 1", "durable=true", 'arguments={"x-house": 5}')
    ok("-V", vhost, "declare", "binding", "source=e", "destination=q 1", "routing_key=a.*")
    assert ok("-V", vhost, "publish", "exchange=e", "routing_key=a.b", "payload=hello").out == "Message published\n"
    assert ok("-V", vhost, "publish", "exchange=e", "routing_key=b", "payload=lost").out == "Message published but NOT routed\n"
    ok("-V", vhost, "publish", "routing_key=q 1", input="from what comes in")
    [first, second] = json.loads(ok("-V", vhost, "-f", "raw_json", "get", "queue=q 1", "count=5", "ackmode=ack_requeue_false").out)
    assert (first["payload"], first["exchange"], first["routing_key"]) == ("hello", "e", "a.b")
    assert second["payload"] == "from what comes in"
    ok("-V", vhost, "delete", "binding", "source=e", "destination_type=queue", "destination=q 1", "routing_key=a.*")
    assert ok("-V", vhost, "publish", "exchange=e", "routing_key=a.b", "payload=x").out == "Message published but NOT routed\n"
    ok("-V", vhost, "delete", "queue", "name=q 1")
    ok("-V", vhost, "delete", "exchange", "name=e")


def test_the_successors_words_do_the_same(ok, fails, api, vhost):
    ok("--vhost", vhost, "queues", "declare", "--name", "q", "--type", "classic")
    assert api.get("queues", vhost, "q")["type"] == "classic"
    ok("--vhost", vhost, "exchanges", "declare", "--name", "e", "--type", "fanout", "--durable", "true")
    ok("--vhost", vhost, "bindings", "declare", "--source", "e", "--destination-type", "queue", "--destination", "q", "--routing-key", "k")
    ok("--vhost", vhost, "publish", "message", "--exchange", "e", "--routing-key", "k", "--payload", "hi")
    messages = ok("--vhost", vhost, "get", "messages", "--queue", "q", "--ack-mode", "ack_requeue_false", "-f", "raw_json").out
    assert [message["payload"] for message in json.loads(messages)] == ["hi"]
    ok("--vhost", vhost, "bindings", "delete", "--source", "e", "--destination-type", "queue", "--destination", "q", "--routing-key", "k")
    ok("--vhost", vhost, "queues", "purge", "--name", "q")
    ok("--vhost", vhost, "queues", "delete", "--name", "q")
    ok("--vhost", vhost, "queues", "delete", "--name", "q", "--idempotently")
    fails(65, "no queue 'q'", "--vhost", vhost, "queues", "delete", "--name", "q")
    assert [row["name"] for row in json.loads(ok("--vhost", vhost, "queues", "list", "--format", "json").out)] == []


def test_the_successors_words_know_types_of_queues(ok, api, vhost, broker):
    ok("--vhost", vhost, "queues", "declare", "--name", "q", "--type", "quorum")
    assert api.get("queues", vhost, "q")["type"] == "quorum"
    if broker.is_warren:
        return  # there are no streams yet
    ok("--vhost", vhost, "streams", "declare", "--name", "s", "--expiration", "7D")
    assert api.get("queues", vhost, "s")["arguments"]["x-max-age"] == "7D"
    ok("--vhost", vhost, "streams", "delete", "--name", "s")


def test_users_and_permissions(ok, api, name, vhost):
    bob = name("bob")
    ok("declare", "user", f"name={bob}", "password=one", "tags=management")
    try:
        assert api.ask("GET", "whoami", login=(bob, "one"))[0] == 200
        ok("users", "declare", "--name", bob, "--password", "two", "--tags", "monitoring")
        assert api.get("users", bob)["tags"] == ["monitoring"]
        ok("declare", "permission", f"vhost={vhost}", f"user={bob}", "configure=", "write=.*", "read=.*")
        listed = json.loads(ok("list", "permissions", "-f", "raw_json").out)
        assert {"user": bob, "vhost": vhost, "configure": "", "write": ".*", "read": ".*"} in listed
        ok("delete", "permissions", "--vhost", vhost, "--user", bob)
    finally:
        ok("delete", "user", f"name={bob}")
    assert not api.exists("users", bob)


def test_policies_limits_and_vhosts(ok, api, name):
    made = name("v")
    ok("vhosts", "declare", "--name", made, "--description", "d")
    assert api.get("vhosts", made)["description"] == "d"
    ok("declare", "policy", f"vhost={made}", "name=p", "pattern=^q", 'definition={"queue-version": 2}', "apply-to=queues")
    [policy] = json.loads(ok("-V", made, "list", "policies", "-f", "raw_json").out)
    assert (policy["name"], policy["definition"], policy["apply-to"]) == ("p", {"queue-version": 2}, "queues")
    ok("delete", "policy", f"vhost={made}", "name=p")
    ok("declare", "vhost_limit", f"vhost={made}", "name=max-queues", "value=3")
    assert {"vhost": made, "value": {"max-queues": 3}} in json.loads(ok("list", "vhost_limits", "-f", "raw_json").out)
    ok("delete", "vhost_limit", f"vhost={made}", "name=max-queues")
    ok("delete", "vhost", f"name={made}")


@pytest.mark.parametrize("what", ["users", "vhosts", "connections", "exchanges", "bindings", "permissions", "queues", "nodes", "policies", "parameters", "channels", "consumers"])
def test_everything_is_listed(what, ok):
    assert ok("list", what).out
    assert isinstance(json.loads(ok("list", what, "-f", "raw_json").out), list)


def test_the_overview_and_exports(ok, tmp_path):
    [overview] = json.loads(ok("show", "overview", "rabbitmq_version", "object_totals.exchanges", "-f", "raw_json").out)
    assert overview["rabbitmq_version"] and overview["object_totals.exchanges"] >= 7
    for words in [("export", str(tmp_path / "a")), ("definitions", "export", "--file", str(tmp_path / "b"))]:
        ok(*words)
    assert json.loads((tmp_path / "a").read_text())["users"] == json.loads((tmp_path / "b").read_text())["users"]
    ok("import", str(tmp_path / "a"))


@pytest.mark.warren_only("RabbitMQ has streams")
def test_an_import_leaves_out_what_is_not_supported(ok, fails, api, vhost):
    queue = {"durable": True, "auto_delete": False, "arguments": {}}
    queues = [{"name": "s", **queue, "arguments": {"x-queue-type": "stream"}}, {"name": "q", **queue}]
    document = json.dumps({"queues": queues})
    fails(69, "stream", "-V", vhost, "definitions", "import_into_vhost", "--stdin", input=document)
    assert not api.exists("queues", vhost, "q")
    said = ok("-V", vhost, "definitions", "import_into_vhost", "--stdin", "--skip-unsupported", input=document).out
    assert said.startswith("Left out") and "'s'" in said
    assert (api.exists("queues", vhost, "q"), api.exists("queues", vhost, "s")) == (True, False)


@pytest.mark.warren_only("RabbitMQ needs plugins")
def test_shovels_and_upstreams(ok, fails, api, vhost):
    ends = ("--source-uri", "amqp://h.example", "--source-queue", "a", "--destination-uri", "amqp://h.example", "--destination-queue", "b")
    ok("--vhost", vhost, "shovels", "declare_amqp091", "--name", "s", *ends, "--reconnect-delay", "600")
    value = api.get("parameters", "shovel", vhost, "s")["value"]
    assert (value["src-queue"], value["dest-queue"], value["reconnect-delay"]) == ("a", "b", 600)
    ok("--vhost", vhost, "shovels", "delete", "--name", "s")
    fails(65, "has no parameter 's'", "--vhost", vhost, "shovels", "delete", "--name", "s")
    ok("--vhost", vhost, "shovels", "delete", "--name", "s", "--idempotently")
    ok("--vhost", vhost, "federation", "declare_upstream", "--name", "u", "--uri", "amqp://h.example", "--max-hops", "3")
    [upstream] = [row for row in api.get("parameters", "federation-upstream", vhost) if row["name"] == "u"]
    assert upstream["value"] == {"uri": "amqp://h.example", "max-hops": 3}
    assert ok("federation", "list_all_upstreams").out
    ok("--vhost", vhost, "federation", "delete_upstream", "--name", "u")
    assert not api.exists("parameters", "federation-upstream", vhost, "u")
