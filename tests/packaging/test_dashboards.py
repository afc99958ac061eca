"""Each query of each dashboard gives series, of brokers, a cluster and a proxy under load; rules of alerts are rules, of metrics that there are."""

import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pika
import pytest
import yaml
from blackbox import broker as brokers
from blackbox.prometheus import Job, Prometheus
from blackbox.proxy import Proxy
from chart import ROOT, render
from test_chart_brokers import Pod, connection, fill

GRAFANA, ALERTS = ROOT / "packaging" / "grafana", ROOT / "packaging" / "prometheus" / "alerts.yml"
sys.path.append(str(GRAFANA))
sys.path.append(str(Path(__file__).resolve().parents[1] / "prometheus"))
import make  # noqa: E402
import traffic  # noqa: E402

WINDOW = "30s"
TIMEOUT_S = 30
FAMILIES = ["queue_coarse_metrics", "queue_consumer_count", "queue_metrics", "queue_delivery_metrics", "warren_queue_metrics", "warren_queue_wait_metrics"]
TARGETS = [(name, panel["title"], target) for name in make.DASHBOARDS for panel in make.dashboard(name)["panels"] for target in panel.get("targets", [])]


def load(broker):
    """A queue whose messages are confirmed, delivered and acknowledged."""
    client = pika.BlockingConnection(pika.ConnectionParameters(broker.host, broker.port))
    channel = client.channel()
    channel.confirm_delivery()
    channel.queue_declare("busy", durable=True)
    for _ in range(20):
        channel.basic_publish("", "busy", b"x" * 500, pika.BasicProperties(delivery_mode=2))
    channel.basic_consume("busy", lambda channel, method, *_: channel.basic_ack(method.delivery_tag))
    client.process_data_events(1)
    return client


def publish_once(port, queue="busy"):
    """A client that comes, publishes and goes, as applications behind a proxy do."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as client:
        channel = client.channel()
        channel.confirm_delivery()
        channel.basic_publish("", queue, b"through the proxy")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed (apt-get install prometheus)")
    folder = tmp_path_factory.mktemp("dashboards")
    with ExitStack() as stack:
        port = brokers.free_port()
        broker = brokers.Warren(settings={"prometheus.tcp.ip": "127.0.0.1", "prometheus.tcp.port": str(port), "cluster_name": "alone"}, management=True)
        stack.callback(broker.remove)
        broker.start()
        stack.enter_context(traffic.running(broker))
        stack.callback(load(broker).close)
        proxy = Proxy(upstreams={"one": broker}, settings={"proxy.spool.dir": str(folder / "spool")})
        stack.callback(proxy.remove)
        proxy.start()
        publish_once(proxy.port)
        pods = start_cluster(stack, folder)
        alone, members = f"127.0.0.1:{port}", [f"127.0.0.1:{pod.ports[15692]}" for pod in pods]
        jobs = [
            Job("warren", "/metrics", [alone]), Job("warren-queues", "/metrics/detailed", [alone], {"family": FAMILIES}),
            Job("warren-cluster", "/metrics", members), Job("warren-proxy", "/metrics", [f"127.0.0.1:{proxy.http_port}"]),
        ]  # fmt: skip
        server = Prometheus(folder, jobs)
        stack.callback(server.stop)
        server.wait_scraped()
        # A rate is of two looks.
        publish_once(proxy.port)
        await_that(lambda: len(server.query(f"rate(process_cpu_seconds_total[{WINDOW}])")) == 4, "second scrapes")
        await_that(lambda: server.query(f"rate(amqproxy_client_connections[{WINDOW}])"), "second scrapes of the proxy")
        yield server


def start_cluster(stack, folder):
    """Three nodes as the chart has them, and a message in them."""
    rendered = render({"replicaCount": 3, "auth": {"password": "s3cret"}, "clusterName": "three"})
    files = folder / "etc"
    (files / "cluster-secret").mkdir(parents=True)
    fill(rendered, files)
    pods = [Pod(rendered, folder, files, number) for number in range(3)]
    for pod in pods:
        pod.peer_with(pods)
        stack.enter_context(pod.running())
    for pod in pods:
        pod.await_that(lambda pod=pod: pod.asked("check_if_ready_to_serve_clients") == 0, "readiness")
    with connection(pods[0]) as client:
        client.channel().queue_declare("orders", durable=True)
    return pods


def await_that(what, describe):
    deadline = time.monotonic() + TIMEOUT_S
    while not what():
        assert time.monotonic() < deadline, f"{describe} did not come"
        time.sleep(0.1)


def filled(expression, cluster):
    values = {"cluster": cluster, "__rate_interval": WINDOW, "top": "20", "node": ".*", "vhost": ".*", "queue": ".*", "proxy": ".*"}
    return re.sub(r"\$(\w+)", lambda name: values[name[1]], expression)


@pytest.mark.parametrize("dashboard, title, target", TARGETS, ids=[f"{name}-{title}-{target['refId']}" for name, title, target in TARGETS])
def test_every_query_of_every_panel_has_series(prometheus, dashboard, title, target):
    expression = filled(target["expr"], "three" if dashboard == "warren-cluster" else "alone")
    found = prometheus.query(expression)
    assert found, f"no series of {expression}"
    for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
        assert all(label in series["metric"] for series in found), f"{label} of the legend is in no series of {expression}"


@pytest.mark.parametrize("name", make.DASHBOARDS)
def test_what_can_be_chosen_is_there(prometheus, name):
    for variable in make.dashboard(name)["templating"]["list"]:
        if variable["type"] == "query":
            selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            found = prometheus.query(filled(selector, "alone"))
            assert found and all(label in series["metric"] for series in found), variable["query"]


@pytest.mark.parametrize("name", make.DASHBOARDS)
def test_files_are_what_the_script_writes(name):
    path = GRAFANA / f"{name}.json"
    assert path.read_text() == make.text(name), "packaging/grafana/make.py writes it"
    panels = json.loads(path.read_text())["panels"]
    taken = [(panel["gridPos"]["x"] + dx, panel["gridPos"]["y"] + dy) for panel in panels for dx in range(panel["gridPos"]["w"]) for dy in range(panel["gridPos"]["h"])]
    assert len(taken) == len(set(taken)), "panels lie over each other"


def test_rules_of_alerts_are_rules():
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (apt-get install prometheus)")
    done = subprocess.run(["promtool", "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_disk_that_fills_is_told_by_a_trend_of_half_an_hour(tmp_path):
    """A gigabyte a minute of a hundred: said once it has gone on for 45 minutes, and never of a disk that lost as much once."""
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (apt-get install prometheus)")
    values = {"fills": "100000000000-1000000000x60", "once": "100000000000 99000000000x60"}
    series = [{"series": f'rabbitmq_disk_space_available_bytes{{instance="{name}"}}', "values": value} for name, value in values.items()]
    series += [{"series": f'rabbitmq_disk_space_available_limit_bytes{{instance="{name}"}}', "values": "50000000x60"} for name in values]
    message = {"summary": "The disk of fills is full within four hours if it goes on like this"}
    told = [{"exp_labels": {"severity": "warning", "instance": "fills"}, "exp_annotations": message}]
    moments = [("1m", []), ("29m", []), ("44m", []), ("46m", told)]
    cases = [{"eval_time": time, "alertname": "WarrenDiskFills", "exp_alerts": alerts} for time, alerts in moments]
    script = tmp_path / "tests.yml"
    script.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": cases}]}))
    done = subprocess.run(["promtool", "test", "rules", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


RULES = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_alerts_ask_for_what_there_is_and_are_silent(prometheus, rule):
    for metric in re.findall(r"\b(?:rabbitmq|warren)_\w+", rule["expr"]):
        assert prometheus.query(metric), f"there is no {metric}"
    if rule["alert"] != "WarrenUnroutable":
        assert not prometheus.query(rule["expr"]), "it fires of nothing"
