#!/usr/bin/env python3
"""Records answers of a RabbitMQ's management API, for the tests of crates/ctl.

    record.py http://guest:guest@127.0.0.1:15672 amqp://guest:guest@127.0.0.1:5672

It needs pika, and a broker that nobody else uses: it declares what is recorded and does not clean up. What differs from
run to run and is of no use to a test is left out.
"""

import base64
import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pika

HERE = pathlib.Path(__file__).parent
NODE = "rabbit@here"

# What is kept of long objects.
KEPT = {
    "overview": ["cluster_name", "node", "rabbitmq_version", "product_name", "product_version", "erlang_version",
                 "erlang_full_version", "object_totals", "queue_totals", "churn_rates", "listeners"],
    "nodes": ["name", "type", "running", "os_pid", "uptime", "mem_used", "mem_limit", "mem_alarm", "mem_calculation_strategy",
              "disk_free", "disk_free_limit", "disk_free_alarm", "fd_total", "fd_used", "proc_total", "proc_used", "run_queue",
              "processors", "being_drained", "partitions", "enabled_plugins", "config_files", "log_files", "db_dir"],
}


def main() -> None:
    http, amqp = sys.argv[1:3]
    parts = urllib.parse.urlsplit(http)
    login = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    base = f"{parts.scheme}://{parts.hostname}:{parts.port}/api/"

    def ask(method: str, path: str, body: object = None) -> tuple[int, bytes]:
        request = urllib.request.Request(base + path, method=method, headers={"Authorization": f"Basic {login}"})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    node = json.loads(ask("GET", "overview")[1])["node"]
    ask("PUT", "vhosts/a%2Fb", {"description": "a slash in its name", "tags": "x,y"})
    ask("PUT", "users/alice", {"password": "secret", "tags": "monitoring"})
    ask("PUT", "permissions/%2F/alice", {"configure": "^a", "write": ".*", "read": ""})
    ask("PUT", "topic-permissions/%2F/alice", {"exchange": "amq.topic", "write": "^a", "read": "^b"})
    ask("PUT", "policies/%2F/short", {"pattern": "^q", "definition": {"max-length": 10}, "priority": 3, "apply-to": "queues"})
    ask("PUT", "vhost-limits/a%2Fb/max-connections", {"value": 64})
    ask("PUT", "user-limits/alice/max-channels", {"value": 5})
    connection = pika.BlockingConnection(pika.URLParameters(amqp))
    channel = connection.channel()
    channel.queue_declare("q 1", durable=True, arguments={"x-max-length": 10, "x-overflow": "reject-publish"})
    channel.queue_declare("qq", durable=True, arguments={"x-queue-type": "quorum"})
    channel.queue_bind("q 1", "amq.topic", "a.*", {"x": 1, "s": "t"})
    for _ in range(3):
        channel.basic_publish("", "q 1", b"hello", pika.BasicProperties(delivery_mode=2))
    channel.basic_qos(prefetch_count=1)
    channel.basic_consume("q 1", lambda *_: None, consumer_tag="tag1", arguments={"x-priority": 3})
    # Statistics are gathered every five seconds.
    end = time.time() + 12
    while time.time() < end:
        connection.process_data_events(1)

    def record(name: str, method: str, path: str, body: object = None, status: int = 200) -> None:
        answered, text = ask(method, path, body)
        assert answered == status, (method, path, answered, text)
        value = json.loads(text.replace(node.encode(), NODE.encode()))
        if name in KEPT:
            kept = lambda item: {key: item[key] for key in KEPT[name] if key in item}
            value = [kept(item) for item in value] if isinstance(value, list) else kept(value)
        if isinstance(value, list):
            value = value[:6]
        (HERE / f"{name}.json").write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")

    for name, path in {
        "overview": "overview", "nodes": "nodes", "memory": f"nodes/{node}/memory", "users": "users", "user": "users/alice",
        "vhosts": "vhosts", "vhost": "vhosts/a%2Fb", "permissions": "vhosts/%2F/permissions",
        "user_permissions": "users/alice/permissions", "topic_permissions": "vhosts/%2F/topic-permissions",
        "policies": "policies/%2F", "queues_counted": "queues/%2F?disable_stats=true&enable_queue_totals=true",
        "queues": "queues/%2F", "queue": "queues/%2F/q%201", "exchanges": "exchanges/%2F", "bindings": "bindings/%2F",
        "bindings_between": "bindings/%2F/e/amq.topic/q/q%201", "connections": "connections", "channels": "channels",
        "consumers": "consumers/%2F", "vhost_limits": "vhost-limits", "user_limits": "user-limits/alice",
        "global_parameters": "global-parameters", "parameters": "parameters", "feature_flags": "feature-flags",
        "deprecated_features": "deprecated-features", "attempts": f"auth/attempts/{node}",
        "quorum_status": "queues/quorum/%2F/qq/status", "definitions": "definitions",
    }.items():
        record(name, "GET", path)
    record("no_listener", "GET", "health/checks/port-listener/1", status=503)
    record("not_found", "GET", "users/nobody", status=404)
    record("no_vhost_or_user", "PUT", "permissions/%2F/nobody", {"configure": "", "write": "", "read": ""}, status=400)
    record("bad_pattern", "PUT", "permissions/%2F/alice", {"configure": "*", "write": "", "read": ""}, status=400)
    record("in_use", "DELETE", "queues/%2F/q%201?if-unused=true", status=400)
    record("messages", "POST", "queues/%2F/q%201/get", {"count": 2, "ackmode": "ack_requeue_true", "encoding": "auto"})
    record("routed", "POST", "exchanges/%2F/amq.default/publish",
           {"properties": {}, "routing_key": "q 1", "payload": "x", "payload_encoding": "string"})
    connection.close()


if __name__ == "__main__":
    main()
