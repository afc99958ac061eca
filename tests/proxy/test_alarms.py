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
