"""A broker that takes no publishes for now: who publishes is told, who reads is not kept from it."""

from blackbox.proxy import eventually


def test_who_publishes_is_told_that_the_broker_is_blocked_and_others_go_on(own_broker, own_proxy, wires, name):
    broker = own_broker({"disk_free_limit.absolute": str(2**50)})
    proxy = own_proxy({"a": broker})
    consumer, publisher = wires(proxy), wires(proxy)
    queue = consumer.call(1, "queue.declare", queue=name()).queue
    consumer.call(1, "basic.consume", queue=queue, no_ack=True)
    publisher.publish(1, "", "nobody")
    assert "disk" in publisher.expect("connection.blocked").reason
    eventually(lambda: any(line["blocked"] for pool in proxy.get("/pools") for line in pool["connections"]), "operators see it")
    # Who only reads hears of nothing.
    consumer.call(1, "basic.qos", prefetch_count=1)


def test_who_only_asks_is_not_held_up_by_those_who_declare_and_publish(own_broker, own_proxy, wires, name):
    broker = own_broker({"disk_free_limit.absolute": str(2**50)})
    proxy = own_proxy({"a": broker})
    # It does not want to hear of alarms, of which there is one where it has asked before.
    early = wires(proxy, capabilities={"authentication_failure_close": True})
    script, late = wires(proxy), wires(proxy)
    queue = name()
    for wire in (early, script):
        wire.call(1, "queue.declare", queue=queue, durable=True)
    script.publish(1, "", "nobody")
    script.expect("connection.blocked")
    for wire in (early, late, early):
        assert wire.call(1, "queue.declare", queue=queue, durable=True).message_count == 0
        wire.send_method(1, "basic.get", queue=queue, no_ack=True)
        wire.expect("basic.get-empty", 1)
    # Publishing where others only ask stops nobody else either.
    late.publish(1, "", "nobody")
    late.expect("connection.blocked")
    assert early.call(1, "queue.declare", queue=queue, durable=True).message_count == 0
