"""What operators ask before they act, and after: the last events, why something is refused, what a policy would change, and live numbers of clients."""

import http.client
import json
from urllib.parse import quote, urlencode

import pytest
from blackbox import broker as brokers

pytestmark = pytest.mark.warren_only("RabbitMQ's HTTP API has none of it")


@pytest.fixture(scope="module")
def broker(pytestconfig):
    broker = brokers.from_options(pytestconfig.option, management=True)
    if not isinstance(broker, brokers.Running):
        broker.start()
    broker.identify()
    yield broker
    broker.remove()


def events(api, **wanted):
    return api.get("/audit?" + urlencode(wanted)).expect(200).json


def test_what_a_client_does_is_in_the_audit_log(broker, api):
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="seen")
        [created] = events(api, event="^queue.created$", name="^seen$")
        assert (created["user"], created["via"], created["about"]["vhost"]) == ("guest", "amqp", "/")
        assert created["from"].startswith("127.0.0.1:")
        wire.call(1, "queue.delete", queue="seen")
    newest = events(api, name="^seen$")
    assert [event["event"] for event in newest if event["event"].startswith("queue.")] == ["queue.deleted", "queue.created"]
    assert newest[0]["id"] > newest[-1]["id"]
    assert not events(api, event="^(channel|consumer)[.]")


def test_the_same_permissions_as_for_the_client_are_told(broker, api):
    api.put("/users/ann", {"password": "ann", "tags": "management"}).expect(201, 204)
    api.put("/permissions/%2F/ann", {"configure": "", "write": "^amq[.]", "read": ""}).expect(201, 204)
    api.put("/exchanges/%2F/other", {"type": "topic"}).expect(201, 204)
    asked = {"vhost": "/", "user": "ann", "operation": "publish", "routing_key": "k"}
    for exchange, is_allowed in [("amq.topic", True), ("other", False), ("amq.default", True)]:
        told = api.get("/permissions/check?" + urlencode(asked | {"exchange": exchange})).expect(200).json
        assert told["allowed"] == is_allowed, exchange
        published = api.as_user("ann").post(f"/exchanges/%2F/{exchange}/publish", {"routing_key": "k", "properties": {}, "payload": "", "payload_encoding": "string"})
        assert (published.status == 200) == is_allowed, published


def test_a_preview_says_what_the_policy_does(api):
    for name in ("p-1", "p-2", "other"):
        api.put(f"/queues/%2F/{name}", {}).expect(201, 204)
    body = {"pattern": "^p-", "definition": {"max-length": 3}, "apply-to": "queues"}
    preview = api.post("/policies/%2F/short/preview", body).expect(200).json
    assert [changed["name"] for changed in preview["changed"]] == ["p-1", "p-2"]
    api.put("/policies/%2F/short", body).expect(201)
    assert {name: api.get(f"/queues/%2F/{name}").json.get("policy") for name in ("p-1", "other")} == {"p-1": "short", "other": None}
    assert api.get("/queues/%2F/p-1/policies").json["sources"] == {"max-length": {"kind": "policy", "name": "short"}}
    gone = api.post("/policies/%2F/short/preview", {"delete": True}).expect(200).json
    assert gone["changed_count"] == 2


def follow(api, parts):
    """The events of a live stream, as pairs of their name and data."""
    connection = http.client.HTTPConnection(*api.address, timeout=30)
    try:
        connection.request("GET", "/api/live?" + urlencode({"events": ",".join(parts), "interval": 1}), headers=api.headers())
        response = connection.getresponse()
        assert response.status == 200, response.read()
        name = None
        while line := response.readline().decode().rstrip("\n"):
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))
                response.readline()
    finally:
        connection.close()


def test_a_connection_is_followed_until_it_is_gone(broker, api):
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="watched", exclusive=True)
        [connection] = [connection["name"] for connection in api.get("/connections").json]
        stream = follow(api, [f"connection:{quote(connection, safe='')}", f"channel:{quote(connection + ' (1)', safe='')}", "exchange://amq.topic"])
        seen = dict(next(stream) for _ in range(3))
        assert (seen["connection"]["name"], seen["connection"]["user"], seen["connection"]["channels"]) == (connection, "guest", 1)
        assert seen["connection"]["recv_oct"] > 0
        assert (seen["channel"]["name"], seen["channel"]["consumer_count"]) == (connection + " (1)", 0)
        assert seen["exchange"]["name"] == "amq.topic"
    gone = [data for name, data in (next(stream) for _ in range(12)) if name == "gone"]
    assert gone[:2] == [{"kind": "connection", "name": connection}, {"kind": "channel", "name": connection + " (1)"}]
