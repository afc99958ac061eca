"""Small things of the HTTP API that programs notice: seen in RabbitMQ 4.3.6, and the same here."""

import json

import pytest

pytestmark = pytest.mark.since("4.3")
VHOST = "as-rabbitmq"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@pytest.fixture
def vhost(api):
    api.put(f"/vhosts/{VHOST}").expect(201)
    yield VHOST
    api.delete(f"/vhosts/{VHOST}").expect(204)


def test_a_limit_of_minus_one_is_shown(api, vhost):
    api.put(f"/vhost-limits/{vhost}/max-queues", {"value": -1}).expect(204)
    assert api.get(f"/vhost-limits/{vhost}").json == [{"vhost": vhost, "value": {"max-queues": -1}}]
    api.put(f"/queues/{vhost}/unlimited", {"durable": True}).expect(201)


def test_definitions_have_an_etag(api, vhost):
    for path in ("/definitions", f"/definitions/{vhost}"):
        etag = api.get(path).expect(200).headers["etag"]
        assert api.get(path, headers={"If-None-Match": '"another"'}).expect(200).body
        # RabbitMQ's may have changed by then.
        again = api.get(path, headers={"If-None-Match": etag}).expect(200, 304)
        assert again.status == 200 or not again.body


def test_definitions_with_a_byte_order_mark_are_taken(api, vhost):
    document = json.dumps({"queues": [{"name": "bom", "durable": True, "auto_delete": False, "arguments": {}}]}).encode()
    api.post(f"/definitions/{vhost}", BYTE_ORDER_MARK + document).expect(204)
    assert api.get(f"/queues/{vhost}/bom?columns=name").json == {"name": "bom"}
    # Elsewhere it is no JSON.
    assert api.put(f"/queues/{vhost}/other", BYTE_ORDER_MARK + b'{"durable":true}').expect(400).reason == "not_json"


@pytest.mark.parametrize("arguments, taken", [({"x-max-length": 0, "x-overflow": "reject-publish"}, 0), ({"x-max-length": 1, "x-overflow": "reject-publish"}, 1), ({"x-max-length": 0, "x-overflow": "reject-publish-dlx"}, 0)])
def test_a_publish_that_a_queue_refuses_says_why(api, vhost, arguments, taken):
    api.put(f"/queues/{vhost}/full", {"durable": True, "arguments": arguments}).expect(201)
    publish = {"properties": {}, "routing_key": "full", "payload": "m", "payload_encoding": "string"}
    for _ in range(taken):
        assert api.post(f"/exchanges/{vhost}/amq.default/publish", publish).expect(200).json == {"routed": True}
    refused = api.post(f"/exchanges/{vhost}/amq.default/publish", publish).expect(400)
    assert refused.json == {"error": "bad_request", "reason": "rejected Unable to publish message. Check queue limits."}


def test_a_publish_to_a_queue_of_no_length_is_taken_and_dropped(api, vhost):
    api.put(f"/queues/{vhost}/none", {"durable": True, "arguments": {"x-max-length": 0}}).expect(201)
    publish = {"properties": {}, "routing_key": "none", "payload": "m", "payload_encoding": "string"}
    assert api.post(f"/exchanges/{vhost}/amq.default/publish", publish).expect(200).json == {"routed": True}


def test_headers_that_are_no_text_are_shown_in_base64(api, broker, vhost):
    api.put(f"/permissions/{vhost}/guest", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
    api.put(f"/queues/{vhost}/q", {"durable": True}).expect(201)
    with broker.wire(virtual_host=vhost) as wire:
        wire.call(1, "confirm.select")
        wire.publish(1, "", "q", b"m", headers={"bad": b"\xff\xfe\x00", "good": "grün", "list": [b"\xff", "x"], "table": {"in": b"\xfe"}})
        wire.expect("basic.ack")
    [got] = api.post(f"/queues/{vhost}/q/get", {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}).expect(200).json
    shown = {"bad": "Not UTF-8, base64 is: //4A", "good": "grün", "list": ["Not UTF-8, base64 is: /w==", "x"], "table": {"in": "Not UTF-8, base64 is: /g=="}}
    assert got["properties"]["headers"] == shown
