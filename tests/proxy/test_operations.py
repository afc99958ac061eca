"""What operators and their tools ask over HTTP."""

import re

import pytest
from blackbox import broker as brokers

LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|[+-]Inf)')
COMMENT = re.compile(r"# (TYPE [a-zA-Z_:][\w:]* (?:counter|gauge|histogram|summary|untyped)|HELP [a-zA-Z_:][\w:]* .+)")


def samples(text):
    """All samples of a page of metrics, every line of which must be right."""
    found, types = {}, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("#"):
            comment = COMMENT.fullmatch(line)
            assert comment, line
            kind, name, *rest = comment[1].split(" ", 2)
            if kind == "TYPE":
                assert name not in types, f"{name} has two types"
                types[name] = rest[0]
            continue
        sample = LINE.fullmatch(line)
        assert sample, line
        assert sample[1] in types, f"{sample[1]} has no type"
        assert (types[sample[1]] == "counter") == sample[1].endswith("_total"), line
        key = sample[1] + (f"{{{sample[2]}}}" if sample[2] else "")
        assert key not in found, f"{key} is there twice"
        found[key] = float(sample[3])
    return found


@pytest.fixture
def stranded(own_proxy):
    """A proxy whose only upstream is not there."""
    proxy = own_proxy({"a": f"amqp://127.0.0.1:{brokers.free_port()}"})
    proxy.await_state("a", "down")
    return proxy


def test_a_proxy_with_an_upstream_is_healthy_and_ready(proxy):
    proxy.await_state("a", "up")
    assert (proxy.text("/healthz"), proxy.text("/readyz")) == ("OK", "OK")


def test_a_proxy_without_an_upstream_is_healthy_and_not_ready(stranded):
    assert stranded.text("/healthz") == "OK"
    assert stranded.text("/readyz", 503) == "no upstream is up"
    assert stranded.metric("warren_proxy_ready") == 0
    upstream = stranded.upstream("a")
    assert upstream["last_error"] and upstream["consecutive_failures"] >= 2
    assert stranded.metric('warren_proxy_upstream_state{upstream="a",state="down"}') == 1


def test_it_is_ready_again_when_its_upstream_is_back(own_broker, own_proxy):
    broker = own_broker()
    proxy = own_proxy({"a": broker})
    broker.kill()
    proxy.await_state("a", "down")
    assert proxy.operations.get("/readyz", prefix="").status == 503
    broker.start()
    proxy.await_state("a", "up")
    assert proxy.text("/readyz") == "OK"


def test_every_line_of_the_metrics_is_right(proxy, wires, user):
    wires().call(1, "exchange.declare", exchange="amq.direct", passive=True)
    wires(user=user, password="secret")
    answer = proxy.operations.get("/metrics", prefix="").expect(200)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.body.decode())
    assert found["amqproxy_client_connections"] >= 2
    assert found["amqproxy_upstream_connections"] >= 1
    assert any(key.startswith("amqproxy_identity_info{") for key in found)
    assert found[f'warren_proxy_pool_clients{{user="{user}",vhost="/"}}'] == 1


def test_names_in_metrics_are_escaped(broker, proxy, wires):
    made = 'quo"te\\back'
    path = "/users/quo%22te%5Cback"
    broker.management.put(path, {"password": "secret", "tags": ""}).expect(201)
    broker.management.put("/permissions/%2F/quo%22te%5Cback", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201)
    try:
        wires(user=made, password="secret")
        assert samples(proxy.text("/metrics"))['warren_proxy_pool_clients{user="quo\\"te\\\\back",vhost="/"}'] == 1
    finally:
        broker.management.delete(path)


def test_counters_count(proxy, wires):
    wire = wires()
    wire.call(1, "confirm.select")
    before = samples(proxy.text("/metrics"))
    for _ in range(10):
        wire.publish(1, "", "nobody")
    wire.expect_confirms(1, 1, 10)
    after = samples(proxy.text("/metrics"))
    assert after["warren_proxy_messages_published_total"] - before["warren_proxy_messages_published_total"] == 10


def test_pools_show_users_vhosts_and_their_connections_and_no_passwords(proxy, wires, user):
    wire = wires(user=user, password="secret")
    wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    answer = proxy.operations.get("/pools").expect(200)
    assert b"secret" not in answer.body
    (pool,) = [pool for pool in answer.json if pool["user"] == user]
    assert (pool["vhost"], pool["clients"], pool["waiting_clients"], pool["last_error"]) == ("/", 1, 0, None)
    assert sorted(line["for"] for line in pool["connections"]) == ["calls", "publishes"]
    (line,) = [line for line in pool["connections"] if line["for"] == "calls"]
    assert (line["upstream"], line["state"], line["blocked"], line["used_channels"]) == ("a", "open", False, 1)
    assert line["local_address"].startswith("127.0.0.1:")


def test_no_page_that_a_browser_was_lured_to_asks_here(proxy):
    """A page of another site may send a browser here (`Origin`), or have its own name lead here (`Host`)."""
    host = "{}:{}".format(*proxy.operations.address)
    for headers in [{"Host": "evil.example"}, {"Host": "evil.example:15673"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]:
        for method, path in [("GET", "/pools"), ("PUT", "/upstreams/a/drain"), ("DELETE", "/upstreams/a/drain"), ("OPTIONS", "/upstreams/a/drain")]:
            proxy.operations.call(method, path, headers=headers).expect(403)
    assert proxy.upstream("a")["state"] != "draining"
    for own in [host, f"localhost:{host.split(':')[1]}", "[::1]"]:
        proxy.operations.call("GET", "/pools", headers={"Host": own, "Origin": f"http://{own}"}).expect(200)


def test_what_is_not_there_is_404_and_what_is_only_read_is_405(proxy):
    proxy.operations.get("/nothing", prefix="").expect(404)
    assert proxy.operations.post("/pools").expect(405).headers["allow"] == "GET, HEAD"
    # Any page in a browser could send one.
    assert proxy.operations.post("/upstreams/a/drain").expect(405).headers["allow"] == "PUT, DELETE"
    proxy.operations.call("HEAD", "/healthz", prefix="").expect(200)
