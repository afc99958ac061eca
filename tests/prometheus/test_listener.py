"""Where metrics are served, and how that is told."""

import gzip
import subprocess

from blackbox import broker as brokers
from blackbox.certificates import Authority


def test_a_second_broker_on_the_port_says_so_in_one_sentence(own_broker, pytestconfig):
    first = own_broker()
    second = brokers.Warren(pytestconfig.option.broker_command, {"prometheus.tcp.ip": "127.0.0.1", "prometheus.tcp.port": str(first.prometheus_port)})
    try:
        second.start(wait=False)
        assert second.wait_ended() == 1
        said = [line for line in second.log().splitlines() if "prometheus.tcp.port" in line]
        assert len(said) == 1 and f"port {first.prometheus_port} is already in use" in said[0], second.log()
    finally:
        second.remove()


def test_it_is_listed_with_the_other_listeners(own_broker):
    broker = own_broker()
    listeners = {listener["protocol"]: listener for listener in broker.management.get("/overview").json["listeners"]}
    assert listeners["http/prometheus"]["port"] == broker.prometheus_port
    contexts = {context["description"]: context for context in broker.management.get("/overview").json["contexts"]}
    assert contexts["RabbitMQ Prometheus"]["port"] == str(broker.prometheus_port) and contexts["Management"]["port"] == str(broker.management_port)
    assert broker.management.get(f"/health/checks/port-listener/{broker.prometheus_port}").status == 200
    assert broker.management.get("/health/checks/protocol-listener/http%2Fprometheus").status == 200
    assert "rabbitmq_prometheus" in broker.management.get("/nodes").json[0]["enabled_plugins"]


def test_answers_are_compressed_for_who_accepts_that_unless_switched_off(own_broker):
    for compress in (True, False):
        broker = own_broker({"prometheus.tcp.compress": str(compress).lower()})
        answer = broker.metrics.get("/metrics", prefix="", headers={"Accept-Encoding": "gzip"}).expect(200)
        assert (answer.headers.get("content-encoding") == "gzip") == compress
        text = gzip.decompress(answer.body) if compress else answer.body
        assert b"rabbitmq_identity_info{" in text


def test_a_login_is_needed_where_the_configuration_says_so(own_broker):
    broker = own_broker({"prometheus.authentication.enabled": "true", "prometheus.path": "/private"})
    assert broker.metrics.get("/private", prefix="").status == 401
    assert broker.metrics.get("/metrics", prefix="").status == 404
    assert broker.metrics.as_user(broker.user, broker.password).get("/private/per-object", prefix="").status == 200
    assert broker.metrics.as_user(broker.user, "wrong").get("/private", prefix="").status == 401


def test_metrics_go_on_while_the_api_is_off(own_broker):
    broker = own_broker()
    port = brokers.free_port()
    alone = brokers.Warren(broker.command, {"warren.management.enabled": "false", "prometheus.tcp.listener": f"127.0.0.1:{port}"})
    try:
        alone.start()
        body = brokers.Management(("127.0.0.1", port), None).get("/metrics", prefix="").expect(200).body
        assert b"rabbitmq_queues 0" in body
    finally:
        alone.remove()


def test_metrics_over_tls(own_broker, tmp_path):
    authority = Authority(tmp_path)
    server = authority.sign("server", "/CN=localhost", "DNS:localhost,IP:127.0.0.1")
    port = brokers.free_port()
    broker = own_broker({"prometheus.ssl.port": str(port), "prometheus.ssl.ip": "127.0.0.1", "prometheus.ssl.certfile": str(server.certificate), "prometheus.ssl.keyfile": str(server.key)})
    command = ["curl", "--silent", "--fail", "--cacert", str(authority.certificate), f"https://localhost:{port}/metrics"]
    assert b"rabbitmq_identity_info{" in subprocess.run(command, check=True, capture_output=True).stdout
    assert {"http/prometheus", "https/prometheus"} <= {listener["protocol"] for listener in broker.management.get("/overview").json["listeners"]}
