"""The firehose and trace files: the same keys, headers, fields and texts as RabbitMQ's; and what only Warren has.

With `--peer 4` the same expectations are held against a real RabbitMQ with its plugin.
"""

import base64
import http.client
import json
import re
import shutil
import socket
import threading
import time

import pytest
from blackbox import broker as brokers
from blackbox import codec
from blackbox.codec import ContentHeader, Method
from blackbox.collector import PARENT, SAMPLED, TRACE, Collector, attributes_of, length_ms
from blackbox.management import segment

VHOST = "/vhosts/%2F"
HEADERS = {"h": 1, "s": "x", "t": {"n": None, "b": True, "l": [1, "a", None]}}
PROPERTIES = {
    "content_type": "text/plain", "content_encoding": "utf8", "headers": HEADERS, "delivery_mode": 2, "priority": 3, "correlation_id": "c1",
    "reply_to": "rt", "expiration": "60000", "message_id": "4711", "timestamp": 1700000000, "type": "ty", "user_id": "guest", "app_id": "app",
}  # fmt: skip


@pytest.fixture(scope="module")
def broker(pytestconfig):
    """A broker that traces; a RabbitMQ with its plugin."""
    broker = brokers.from_options(pytestconfig.option, management=True, plugins=("rabbitmq_tracing",))
    if not isinstance(broker, brokers.Running):
        broker.start()
    broker.identify()
    yield broker
    broker.remove()


@pytest.fixture
def node(api):
    return api.get("/overview").json["node"]


@pytest.fixture
def stage(wire, api):
    """Two queues at a topic exchange, one of them at both keys."""
    for queue in ("q1", "q2"):
        wire.call(1, "queue.declare", queue=queue, durable=True)
    wire.call(1, "queue.bind", queue="q1", exchange="amq.topic", routing_key="a.#")
    wire.call(1, "queue.bind", queue="q2", exchange="amq.topic", routing_key="z.z")
    yield wire
    for queue in ("q1", "q2", "traces"):
        wire.call(1, "queue.delete", queue=queue)
    for trace in api.get("/traces").json:
        api.delete(f"/traces/{segment(trace['vhost'])}/{trace['name']}")
    for file in api.get("/trace-files").json:
        api.delete(f"/trace-files/{file['name']}")
    api.put(VHOST, {"tracing": False}).expect(204)


def act(wire):
    """What is traced: publishes with everything and with nothing, unroutable, with copies; a get, and another of the same."""
    wire.publish(1, "amq.topic", "a.b", b"hello", **PROPERTIES)
    wire.publish(1, "", "q2", b"\x00\xff")
    wire.publish(1, "amq.topic", "none", b"long text")
    wire.publish(1, "", "q2", b"cc", headers={"CC": ["q2", "nope"], "BCC": ["q2"]})
    wire.call(1, "queue.declare", queue="q1", passive=True)
    wire.send_method(1, "basic.get", queue="q1")
    first = wire.expect_message("basic.get-ok")
    wire.send_method(1, "basic.nack", delivery_tag=first.method.delivery_tag, requeue=True)
    wire.send_method(1, "basic.get", queue="q1")
    again = wire.expect_message("basic.get-ok")
    wire.send_method(1, "basic.ack", delivery_tag=again.method.delivery_tag)


def typed(wire, queue):
    """All that is ready, with headers as a list of names and typed values: their order counts."""
    found = []
    while True:
        wire.send_method(1, "basic.get", queue=queue, no_ack=True)
        method = wire.expect_one_of("basic.get-ok", "basic.get-empty")
        if method.name == "basic.get-empty":
            return found
        frame = wire.read_frame()
        header = codec.decode_header(frame.payload, with_types=True)
        assert isinstance(header, ContentHeader) and isinstance(method, Method)
        body = wire.read() if header.body_len else b""
        assert list(header.properties) == ["headers"]
        found.append((method.routing_key, list(header.properties["headers"].items()), body))


def test_the_firehose(stage, api, node):
    wire = stage
    wire.call(1, "queue.declare", queue="traces", durable=True)
    wire.call(1, "queue.bind", queue="traces", exchange="amq.rabbitmq.trace", routing_key="#")
    assert api.get(VHOST).json["tracing"] is False
    act(wire)
    assert typed(wire, "traces") == []
    api.put(VHOST, {"tracing": True}).expect(204)
    assert api.get(VHOST).json["tracing"] is True
    wire.call(1, "queue.purge", queue="q2")
    act(wire)
    wire.call(1, "basic.consume", queue="q2", consumer_tag="c", no_ack=True)
    for _ in range(2):
        wire.expect_message()
    wire.call(1, "basic.cancel", consumer_tag="c")
    time.sleep(0.3)
    # What the exchange of traces brings is not traced itself: these gets are not seen.
    events = typed(wire, "traces")
    assert typed(wire, "traces") == []
    ends = {"connection": f"S:{wire.name}", "node": f"S:{node}", "user": "S:guest", "vhost": "S:/", "channel": "I:1"}
    properties = events[0][1][4][1]
    for _, headers, _ in events:
        names = [name for name, _ in headers]
        assert names == sorted(names)
        fields = dict(headers)
        shown = {name: text(value) for name, value in fields.items() if name in ends}
        assert shown == ends
        assert set(fields) - set(ends) in (
            {"exchange_name", "routing_keys", "properties", "routed_queues"},
            {"exchange_name", "routing_keys", "properties", "redelivered"},
        )
    seen = [(key, *(text(dict(headers).get(name)) for name in ("exchange_name", "routing_keys", "routed_queues", "redelivered")), body) for key, headers, body in events]
    assert seen == [
        ("publish.amq.topic", "S:amq.topic", "[S:a.b]", "[S:q1]", "None", b"hello"),
        ("publish.", "S:", "[S:q2]", "[S:q2]", "None", b"\x00\xff"),
        ("publish.amq.topic", "S:amq.topic", "[S:none]", "[]", "None", b"long text"),
        ("publish.", "S:", "[S:q2,S:q2,S:nope,S:q2]", "[S:nope,S:q2]", "None", b"cc"),
        ("deliver.q1", "S:amq.topic", "[S:a.b]", "None", "I:0", b"hello"),
        ("deliver.q1", "S:amq.topic", "[S:a.b]", "None", "I:1", b"hello"),
        ("deliver.q2", "S:", "[S:q2]", "None", "I:0", b"\x00\xff"),
        ("deliver.q2", "S:", "[S:q2,S:q2,S:nope,S:q2]", "None", "I:0", b"cc"),
    ]
    names = ["app_id", "user_id", "type", "timestamp", "message_id", "expiration", "reply_to", "correlation_id", "priority", "delivery_mode", "headers", "content_encoding", "content_type"]  # fmt: skip
    assert list(content(properties)) == names
    shown = {name: text(value) for name, value in content(properties).items()}
    assert (shown["timestamp"], shown["priority"], shown["delivery_mode"], shown["message_id"]) == ("I:1700000000", "I:3", "I:2", "S:4711")


def content(value):
    """What a typed table holds."""
    return value[1] if isinstance(value, tuple) else value


def text(value):
    """A typed value on one line."""
    value = value[1] if isinstance(value, tuple) else value
    if isinstance(value, list):
        return "[" + ",".join(text(item) for item in value) + "]"
    return str(value)


def test_what_no_queue_is_bound_for_is_not_traced(stage, api):
    wire = stage
    wire.call(1, "queue.declare", queue="traces", durable=True)
    wire.call(1, "queue.bind", queue="traces", exchange="amq.rabbitmq.trace", routing_key="deliver.q2")
    api.put(VHOST, {"tracing": True}).expect(204)
    act(wire)
    wire.get(1, "q2")
    time.sleep(0.2)
    assert [key for key, _, _ in typed(wire, "traces")] == ["deliver.q2"]


# What a RabbitMQ 4.3.6 wrote into its files.
LINES = [
    {
        "type": "published", "exchange": "amq.topic", "queue": "none", "routed_queues": ["q1"], "routing_keys": ["a.b"], "payload": "aGVsbG8=",
        "properties": {
            "app_id": "app", "content_encoding": "utf8", "content_type": "text/plain", "correlation_id": "c1", "delivery_mode": 2, "expiration": "60000",
            "headers": {"h": 1, "s": "x", "t": {"b": True, "l": [1, "a", "undefined"], "n": "undefined"}}, "message_id": "4711", "priority": 3,
            "reply_to": "rt", "timestamp": 1700000000, "type": "ty", "user_id": "guest",
        },
    },
    {"type": "published", "exchange": "", "queue": "none", "routed_queues": ["q2"], "routing_keys": ["q2"], "payload": "AP8=", "properties": {}},
    {"type": "published", "exchange": "amq.topic", "queue": "none", "routed_queues": [], "routing_keys": ["none"], "payload": "bG9uZyB0ZXh0", "properties": {}},
    {
        "type": "published", "exchange": "", "queue": "none", "routed_queues": ["nope", "q2"], "routing_keys": ["q2", "q2", "nope", "q2"],
        "payload": "Y2M=", "properties": {"headers": {"CC": ["q2", "nope"]}},
    },
]  # fmt: skip

TEXT = """
================================================================================
TIME: Message published

Node:         NODE
Connection:   CONNECTION
Virtual host: /
User:         guest
Channel:      1
Exchange:     amq.topic
Routing keys: [<<"a.b">>]
Routed queues: [<<"q1">>]
Properties:   [{<<"app_id">>,longstr,<<"app">>},
               {<<"user_id">>,longstr,<<"guest">>},
               {<<"type">>,longstr,<<"ty">>},
               {<<"timestamp">>,signedint,1700000000},
               {<<"message_id">>,longstr,<<"4711">>},
               {<<"expiration">>,longstr,<<"60000">>},
               {<<"reply_to">>,longstr,<<"rt">>},
               {<<"correlation_id">>,longstr,<<"c1">>},
               {<<"priority">>,signedint,3},
               {<<"delivery_mode">>,signedint,2},
               {<<"headers">>,table,
                [{<<"h">>,signedint,1},
                 {<<"s">>,longstr,<<"x">>},
                 {<<"t">>,table,
                  [{<<"n">>,void,undefined},
                   {<<"b">>,bool,true},
                   {<<"l">>,array,
                    [{signedint,1},{longstr,<<"a">>},{void,undefined}]}]}]},
               {<<"content_encoding">>,longstr,<<"utf8">>},
               {<<"content_type">>,longstr,<<"text/plain">>}]
Payload: 
hel

================================================================================
TIME: Message published

Node:         NODE
Connection:   CONNECTION
Virtual host: /
User:         guest
Channel:      1
Exchange:     
Routing keys: [<<"q2">>]
Routed queues: [<<"q2">>]
Properties:   []
Payload: 
\x00\u00ff

================================================================================
TIME: Message published

Node:         NODE
Connection:   CONNECTION
Virtual host: /
User:         guest
Channel:      1
Exchange:     amq.topic
Routing keys: [<<"none">>]
Routed queues: []
Properties:   []
Payload: 
lon

================================================================================
TIME: Message published

Node:         NODE
Connection:   CONNECTION
Virtual host: /
User:         guest
Channel:      1
Exchange:     
Routing keys: [<<"q2">>,<<"q2">>,<<"nope">>,<<"q2">>]
Routed queues: [<<"nope">>,<<"q2">>]
Properties:   [{<<"headers">>,table,
                [{<<"CC">>,array,[{longstr,<<"q2">>},{longstr,<<"nope">>}]}]}]
Payload: 
cc

================================================================================
TIME: Message received

Node:         NODE
Connection:   CONNECTION
Virtual host: /
User:         guest
Channel:      1
Exchange:     amq.topic
Routing keys: [<<"a.b">>]
Queue:        q1
"""

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")


def wait_for(api, name, check):
    """A file's content, as soon as it is so."""
    until = time.monotonic() + 10
    while True:
        answer = api.get(f"/trace-files/{name}")
        if answer.status == 200 and check(answer.body):
            return answer
        assert time.monotonic() < until, answer
        time.sleep(0.1)


def test_trace_files(stage, api, node):
    wire = stage
    api.put("/traces/%2F/t1", {"format": "json", "pattern": "#"}).expect(201)
    api.put("/traces/%2F/t2", {"format": "text", "pattern": "#", "max_payload_bytes": 3}).expect(201)
    api.put("/traces/%2F/t3", {"format": "json", "pattern": "deliver.#"}).expect(201)
    assert api.get(VHOST).json["tracing"] is True
    listed = {trace["name"]: trace for trace in api.get("/traces").json}
    assert sorted(listed) == ["t1", "t2", "t3"]
    assert {key: listed["t2"][key] for key in ("vhost", "name", "format", "pattern", "max_payload_bytes")} == {
        "vhost": "/", "name": "t2", "format": "text", "pattern": "#", "max_payload_bytes": 3
    }  # fmt: skip
    assert api.get("/traces/%2F/t1").json["format"] == "json"
    assert api.get(f"/traces/node/{node}/%2F/t1").json["name"] == "t1"
    time.sleep(0.5)
    act(wire)
    answer = wait_for(api, "t1.log", lambda body: body.count(b"\n") >= 6)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    lines = [json.loads(line) for line in answer.body.splitlines()]
    for line in lines:
        assert TIME.fullmatch(line.pop("timestamp"))
        assert {key: line.pop(key) for key in ("node", "connection", "vhost", "user", "channel")} == {
            "node": node, "connection": wire.name, "vhost": "/", "user": "guest", "channel": 1
        }  # fmt: skip
    received = {**LINES[0], "type": "received", "queue": "q1", "routed_queues": "none"}
    assert lines == [*LINES, received, received]
    answer = wait_for(api, "t2.log", lambda body: body.count(b"Message received") >= 2)
    shown = TIME.sub("TIME", answer.body.decode()).replace(node, "NODE").replace(wire.name, "CONNECTION")
    assert shown.startswith(TEXT), shown
    only = wait_for(api, "t3.log", lambda body: body.count(b"\n") >= 2).body.splitlines()
    assert [json.loads(line)["type"] for line in only] == ["received", "received"]
    files = {file["name"]: file["size"] for file in api.get("/trace-files").json}
    assert files["t1.log"] == len(api.get("/trace-files/t1.log").body)
    assert sorted(files) == ["t1.log", "t2.log", "t3.log"]
    assert api.get(f"/trace-files/node/{node}").json
    for name in ("t1", "t2", "t3"):
        api.delete(f"/traces/%2F/{name}").expect(204)
    assert api.get("/traces").json == []
    assert api.get(VHOST).json["tracing"] is False
    # Files stay until they are deleted.
    api.delete("/trace-files/t1.log").expect(204)
    api.get("/trace-files/t1.log").expect(404)
    api.delete("/trace-files/t1.log").expect(404)
    api.get("/trace-files/t2.log").expect(200)


def test_what_is_wrong_is_refused(stage, api):
    for body, reason in [
        ({"format": "text"}, "[{key_missing,pattern}]"),
        ({"pattern": "#"}, "[{key_missing,format}]"),
        ({}, "[{key_missing,format},{key_missing,pattern}]"),
        ({"format": "ebcdic", "pattern": "#"}, "format not json or text"),
        ({"format": "text", "pattern": "#", "max_payload_bytes": "abc"}, "max_payload_bytes not integer"),
    ]:
        assert api.put("/traces/%2F/t", body).expect(400).reason == reason
    api.put("/traces/%2F/t", {"format": "json", "pattern": "#", "tracer_connection_username": "guest", "tracer_connection_password": "guest"}).expect(201)
    assert "tracer_connection_password" not in api.get("/traces/%2F/t").json
    api.put("/traces/%2F/t", {"format": "json", "pattern": "#"}).expect(400)
    api.get("/traces/%2F/none").expect(404)
    api.delete("/traces/%2F/none").expect(404)
    api.get("/traces/node/nowhere@x").expect(400)
    for name in ("none.log", segment("../../etc/passwd"), segment("../x")):
        api.get(f"/trace-files/{name}").expect(404, 400, 500)


@pytest.mark.warren_only("there a deleted file is written on, and is never seen")
def test_a_file_that_is_deleted_begins_anew(stage, api):
    api.put("/traces/%2F/t", {"format": "json", "pattern": "publish.#"}).expect(201)
    stage.publish(1, "", "q1", b"one")
    wait_for(api, "t.log", lambda body: body.count(b"\n") == 1)
    api.delete("/trace-files/t.log").expect(204)
    stage.publish(1, "", "q1", b"two")
    body = wait_for(api, "t.log", lambda body: body.count(b"\n") == 1).body
    assert base64.b64decode(json.loads(body)["payload"]) == b"two"


@pytest.mark.warren_only("there traces end with the node")
def test_a_trace_goes_on_after_a_restart(own_broker):
    broker = own_broker(management=True)
    api = broker.management
    api.put("/traces/%2F/t", {"format": "events", "message_id": "4711"}).expect(201)
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
        wire.publish(1, "", "q", b"before", message_id="4711", delivery_mode=2)
        wire.publish(1, "", "q", b"other", message_id="4712")
        wait_for(api, "t.log", lambda body: body.count(b"\n") == 2)
    broker.stop()
    broker.start()
    api = broker.management
    assert [trace["name"] for trace in api.get("/traces").json] == ["t"]
    with broker.wire() as wire:
        wire.get(1, "q")
    body = wait_for(api, "t.log", lambda body: body.count(b"\n") >= 3).body
    assert [json.loads(line)["event"] for line in body.splitlines()] == ["published", "stored", "got"]


@pytest.mark.warren_only("RabbitMQ's plugin answers 500, and loses what comes next")
def test_a_disk_that_takes_nothing_is_told_in_a_sentence(own_broker, tmp_path):
    directory = tmp_path / "file"
    directory.write_text("not a directory")
    broker = own_broker({"tracing.dir": str(directory)}, management=True)
    reason = broker.management.put("/traces/%2F/t", {"format": "json", "pattern": "#"}).expect(400).reason
    assert reason.startswith(f"cannot write {directory}/t.log: ")
    assert broker.management.get("/traces").json == []


class Live:
    """A live trace, as its viewer reads it."""

    def __init__(self, api, query):
        self.connection = http.client.HTTPConnection(*api.address, timeout=10)
        self.connection.request("GET", f"/api/trace/messages{query}", headers=api.headers())
        self.response = self.connection.getresponse()

    def next(self):
        """The next event that is one."""
        while True:
            line = self.response.readline()
            if not line:
                return None
            if line.strip():
                return json.loads(line)

    def close(self):
        self.response.close()
        self.connection.close()


@pytest.mark.warren_only("RabbitMQ has no live traces")
def test_where_is_message_4711(stage, api):
    wire = stage
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2", "x-message-ttl": 60000}
    wire.call(1, "queue.declare", queue="traces", durable=True, arguments=arguments)
    live = Live(api, "?message_id=4711&body=2")
    assert live.next() == {"event": "begin"}
    wire.call(1, "confirm.select")
    wire.publish(1, "", "traces", b"body", message_id="4711", delivery_mode=2)
    wire.publish(1, "", "traces", b"other", message_id="4712")
    # One ack for both, or one for each in any order.
    confirmed = set()
    while confirmed != {1, 2}:
        ack = wire.expect_one_of("basic.ack")
        confirmed |= set(range(1, ack.delivery_tag + 1)) if ack.multiple else {ack.delivery_tag}
    wire.send_method(1, "basic.get", queue="traces")
    message = wire.expect_message("basic.get-ok")
    wire.send_method(1, "basic.reject", delivery_tag=message.method.delivery_tag, requeue=False)
    time.sleep(0.1)
    wire.send_method(1, "basic.get", queue="q2")
    message = wire.expect_message("basic.get-ok")
    wire.send_method(1, "basic.ack", delivery_tag=message.method.delivery_tag)
    events = [live.next() for _ in range(8)]
    live.close()
    assert [(event["event"], event.get("queue"), event.get("routed_queues")) for event in events] == [
        ("published", None, ["traces"]),
        ("stored", None, None),
        ("confirmed", None, None),
        ("got", "traces", None),
        ("rejected", "traces", None),
        ("dead_lettered", "traces", ["q2"]),
        ("got", "q2", None),
        ("acked", "q2", None),
    ]
    assert (events[0]["body"], events[0]["body_bytes"], events[0]["body_is_cut"]) == ("bo", 4, True)
    assert events[5]["reason"] == "rejected"


@pytest.mark.warren_only("RabbitMQ has no live traces")
def test_a_live_trace_ends_by_itself(stage, api):
    for query, reason in [("?rate=3", "more than 3 events a second matched"), ("?max=4", "4 events matched"), ("?max=4&rate=none", "4 events matched")]:
        live = Live(api, query)
        assert live.next() == {"event": "begin"}
        for _ in range(10):
            stage.publish(1, "", "q1", b"m")
        events = []
        while (event := live.next()) is not None:
            events.append(event)
        assert (events[-1]["event"], events[-1]["reason"]) == ("end", reason)
        live.close()


@pytest.mark.warren_only("RabbitMQ has no live traces")
def test_there_are_eight_traces_at_most_and_a_viewer_that_goes_leaves_nothing(stage, api):
    viewers = [Live(api, "") for _ in range(8)]
    assert all(viewer.response.status == 200 for viewer in viewers)
    assert Live(api, "").response.status == 503
    # Those into files have eight places of their own: they run for weeks, and would keep viewers out.
    asked = {"format": "json", "pattern": "#"}
    for number in range(8):
        api.put(f"/traces/%2F/t{number}", asked).expect(201)
    assert "which is the maximum" in api.put("/traces/%2F/t8", asked).expect(400).reason
    for number in range(8):
        api.delete(f"/traces/%2F/t{number}").expect(204)
        api.delete(f"/trace-files/t{number}.log").expect(204)
    for viewer in viewers:
        viewer.close()
    until = time.monotonic() + 5
    while (live := Live(api, "")).response.status != 200:
        assert time.monotonic() < until
        time.sleep(0.1)
    live.close()
    api.as_user("stranger", "x").get("/trace/messages").expect(401)
    assert api.get("/trace/messages?quue=x").expect(400).reason


@pytest.mark.warren_only("RabbitMQ sends no spans")
def test_spans_of_a_sampled_message(own_broker):
    collector = Collector(statuses=[503])
    broker = own_broker({"warren.otlp.endpoint": collector.url, "warren.otlp.headers.api-key": "s3cret"}, management=True)
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True)
        wire.call(1, "confirm.select")
        wire.publish(1, "", "q", b"not sampled", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
        wire.publish(1, "", "q", b"no trace")
        wire.publish(1, "", "q", b"sampled", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"}, delivery_mode=2, message_id="4711")
        wire.expect_confirms(1, 1, 3)
        for _ in range(3):
            wire.send_method(1, "basic.get", queue="q")
            tag = wire.expect_message("basic.get-ok").method.delivery_tag
        wire.send_method(1, "basic.ack", delivery_tag=tag, multiple=True)
        spans = {span["name"]: span for span in collector.wait(6)}
    assert sorted(spans) == ["ack", "commit", "deliver", "enqueue", "publish", "route"]
    assert {span["traceId"] for span in spans.values()} == {TRACE}
    parents = {name: span["parentSpanId"] for name, span in spans.items()}
    publish, deliver = spans["publish"]["spanId"], spans["deliver"]["spanId"]
    assert parents == {"publish": PARENT, "route": publish, "enqueue": publish, "commit": publish, "deliver": PARENT, "ack": deliver}
    for span in spans.values():
        assert 0 <= int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) < 60e9
        attributes = {attribute["key"]: attribute["value"] for attribute in span["attributes"]}
        assert attributes["messaging.system"] == {"stringValue": "rabbitmq"}
        assert attributes["messaging.message.id"] == {"stringValue": "4711"}
    path, headers, body, status = collector.requests[0]
    assert (path, status) == ("/v1/traces", 503), "what was not taken is sent again"
    assert {name.lower(): value for name, value in headers.items()}["api-key"] == "s3cret"
    assert body["resourceSpans"][0]["resource"]["attributes"][0] == {"key": "service.name", "value": {"stringValue": "warren"}}


@pytest.mark.warren_only("RabbitMQ sends no spans")
def test_spans_of_a_message_that_no_queue_takes_name_none(own_broker):
    collector = Collector()
    broker = own_broker({"warren.otlp.endpoint": collector.url}, management=True)
    with broker.wire() as wire:
        wire.call(1, "confirm.select")
        wire.publish(1, "", "no-such-queue", b"m", headers=SAMPLED | {"tracestate": "vendor=1,other=2"})
        wire.expect_confirms(1, 1, 1)
        spans = {span["name"]: span for span in collector.wait(2)}
    assert sorted(spans) == ["publish", "route"]
    assert [attributes_of(span)["warren.routed_queues"] for span in spans.values()] == [{"values": []}] * 2
    assert spans["publish"]["status"] == {"code": 2}
    assert [span["traceState"] for span in spans.values()] == ["vendor=1,other=2"] * 2


@pytest.mark.warren_only("RabbitMQ sends no spans")
def test_spans_of_what_becomes_of_a_message_in_its_queue(own_broker):
    collector = Collector()
    broker = own_broker({"warren.otlp.endpoint": collector.url}, management=True)
    to_dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="dead", durable=True)
        wire.call(1, "queue.declare", queue="q", durable=True, arguments=to_dead)
        wire.call(1, "queue.declare", queue="brief", durable=True, arguments=to_dead | {"x-message-ttl": 50})
        wire.call(1, "queue.declare", queue="short", durable=True, arguments={"x-max-length": 1})
        wire.call(1, "exchange.declare", exchange="later", type="x-delayed-message", arguments={"x-delayed-type": "fanout"})
        wire.call(1, "queue.bind", queue="short", exchange="later", routing_key="")

        def take(queue):
            until = time.monotonic() + 10
            while (message := wire.get(1, queue, no_ack=False)) is None:
                assert time.monotonic() < until
                time.sleep(0.02)
            return message.method.delivery_tag

        # Given back, taken again, rejected, and a dead letter.
        wire.publish(1, "", "q", b"m", headers=SAMPLED)
        wire.send_method(1, "basic.nack", delivery_tag=take("q"), requeue=True)
        wire.send_method(1, "basic.nack", delivery_tag=take("q"), requeue=False)
        wire.send_method(1, "basic.ack", delivery_tag=take("dead"))
        by = {}
        for span in collector.wait(10):
            by.setdefault(span["name"], []).append(span)
        assert {name: len(found) for name, found in by.items()} == {
            "publish": 1, "route": 1, "enqueue": 1, "deliver": 3, "requeue": 1, "ack": 2, "dead_letter": 1,
        }
        [dead_letter], [requeue] = by["dead_letter"], by["requeue"]
        rejected = next(span for span in by["ack"] if span.get("status"))
        assert dead_letter["parentSpanId"] == rejected["spanId"]
        assert requeue["parentSpanId"] in {span["spanId"] for span in by["deliver"]}
        assert attributes_of(dead_letter)["warren.reason"] == "rejected"
        assert attributes_of(dead_letter)["warren.routed_queues"] == {"values": [{"stringValue": "dead"}]}
        # Too old.
        collector.requests.clear()
        wire.publish(1, "", "brief", b"m", headers=SAMPLED)
        wire.send_method(1, "basic.ack", delivery_tag=take("dead"))
        by = {span["name"]: span for span in collector.wait(7)}
        assert sorted(by) == ["ack", "dead_letter", "deliver", "enqueue", "expire", "publish", "route"]
        assert by["dead_letter"]["parentSpanId"] == by["expire"]["spanId"]
        assert by["expire"]["parentSpanId"] == PARENT and by["expire"]["status"] == {"code": 2}
        assert 50 <= length_ms(by["expire"]) < 5000
        # Too many, after a delay.
        collector.requests.clear()
        for _ in range(2):
            wire.publish(1, "later", "", b"m", headers=SAMPLED | {"x-delay": 60})
        by = {span["name"]: span for span in collector.wait(9)}
        assert sorted(by) == ["delay", "drop", "enqueue", "publish", "route"]
        assert attributes_of(by["drop"])["warren.reason"] == "maxlen"
        assert 60 <= length_ms(by["delay"]) < 5000 and by["delay"]["parentSpanId"] == PARENT


@pytest.mark.warren_only("RabbitMQ sends no spans")
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_the_wait_for_the_disk_is_in_commit_alone(own_broker, kind):
    collector = Collector()
    slow = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_exit=100000"]
    broker = own_broker({"warren.otlp.endpoint": collector.url}, management=True, wrapper=slow)
    count = 20
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="q", durable=True, arguments={"x-queue-type": kind})
        wire.call(1, "confirm.select")
        for number in range(1, count + 1):
            wire.publish(1, "", "q", b"m", headers=SAMPLED, delivery_mode=2)
            if number % 4 == 0:
                wire.expect_confirms(1, number - 3, 4)
        spans = collector.wait(4 * count)
    for span in spans:
        assert (length_ms(span) >= 50) == (span["name"] == "commit"), (span["name"], length_ms(span))


@pytest.mark.warren_only("RabbitMQ sends no spans")
@pytest.mark.parametrize("is_silent", [False, True])
def test_a_server_that_takes_no_spans_is_logged_and_no_client_waits(own_broker, is_silent):
    # The port is closed; or the listener never answers.
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    if not is_silent:
        server.close()
    broker = own_broker({"warren.otlp.endpoint": f"http://127.0.0.1:{port}", "warren.otlp.timeout": "1s"}, management=True)
    is_over = threading.Event()

    def publish():
        with broker.wire() as wire:
            wire.call(1, "queue.declare", queue="q", arguments={"x-max-length": 10}, durable=True)
            wire.call(1, "confirm.select")
            first = 1
            while not is_over.is_set():
                for _ in range(500):
                    wire.publish(1, "", "q", b"m", headers=SAMPLED)
                wire.expect_confirms(1, first, first + 499)
                first += 500

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        # While spans come without an end.
        until = time.monotonic() + 20
        while f"127.0.0.1:{port} (warren.otlp.endpoint) does not accept spans" not in (log := broker.log()):
            assert time.monotonic() < until, log
            time.sleep(0.1)
        assert broker.management.get("/overview").json["node"]
    finally:
        is_over.set()
        publisher.join()
    began_at = time.monotonic()
    broker.stop()
    assert time.monotonic() - began_at < 10
    log = broker.log()
    assert re.search(rf"\d+ spans are lost: 127.0.0.1:{port} \(warren.otlp.endpoint\) did not accept them before the shutdown", log), log
    server.close()
