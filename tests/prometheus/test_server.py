"""A real Prometheus, which scrapes everything and is asked what the dashboards ask."""

import json
import shutil
import subprocess
import urllib.parse

import dashboards
import pytest
import record
from blackbox.prometheus import Job, Prometheus

NAMESPACE = "test"
JOBS = {"aggregated": ("/metrics", {}), "per-object": ("/metrics/per-object", {}), "detailed": ("/metrics/detailed", {"family": list(record.FAMILIES)}), "memory-breakdown": ("/metrics/memory-breakdown", {})}

if not shutil.which("prometheus"):
    pytest.skip("prometheus is not installed (apt-get install prometheus)", allow_module_level=True)


@pytest.fixture(scope="module")
def prometheus(broker, tmp_path_factory):
    target, labels = f"127.0.0.1:{broker.prometheus_port}", {"namespace": NAMESPACE}
    jobs = [Job(name, path, [target], parameters, labels) for name, (path, parameters) in JOBS.items()]
    server = Prometheus(tmp_path_factory.mktemp("prometheus"), jobs)
    try:
        server.wait_scraped()
        yield server
    finally:
        server.stop()


def joined(broker, endpoint="aggregated"):
    cluster = broker.management.get("/cluster-name").json["name"]
    return dashboards.JOIN.format(cluster=cluster, namespace=NAMESPACE, endpoint=endpoint)


@pytest.mark.parametrize("metric", [*dashboards.OVERVIEW, *dashboards.ERLANG])
def test_every_panel_of_the_dashboards_has_data(broker, prometheus, metric):
    found = prometheus.query(f"{metric} {joined(broker)}")
    assert found, f"no series of {metric}"
    for series in found:
        labels = series["metric"]
        assert labels["rabbitmq_node"].startswith("rabbit@") and labels["rabbitmq_cluster"] and labels["job"] == "aggregated", labels


def test_the_panel_of_sizes_finds_its_bounds(broker, prometheus):
    found = {series["metric"]["le"]: float(series["value"][1]) for series in prometheus.query("rabbitmq_message_size_bytes_bucket{job='aggregated'}")}
    assert sorted(found, key=float) == sorted(dashboards.SIZE_BOUNDS, key=float)
    for bound in dashboards.SIZE_BOUNDS:
        assert prometheus.query(f'sum(rabbitmq_message_size_bytes_bucket{{le="{bound}"}} {joined(broker)})'), bound
    assert found["+Inf"] >= found["1e+06"] >= found["100.0"] > 0


def test_other_endpoints_can_be_joined_as_well(broker, prometheus):
    for endpoint, metric in [("per-object", "rabbitmq_queue_messages_ready"), ("detailed", "rabbitmq_detailed_queue_messages_ready"), ("memory-breakdown", "rabbitmq_memory_other_erlang_process_bytes")]:
        assert prometheus.query(f"{metric} {joined(broker, endpoint)}"), endpoint


def test_absent_is_what_is_said_to_be_absent(prometheus):
    for dashboard, (prefix, _) in dashboards.ABSENT.items():
        assert not prometheus.query(f'{{__name__=~"{prefix}.*"}}'), dashboard


@pytest.mark.parametrize("endpoint", JOBS)
def test_promtool_accepts_the_answer(broker, endpoint):
    path, parameters = JOBS[endpoint]
    text = broker.scrape(f"{path}?{urllib.parse.urlencode(parameters, doseq=True)}")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    # 3: it can be read, and some names are not as Prometheus recommends.
    assert checked.returncode in (0, 3), checked.stderr
    recorded = {entry["name"] for entries in json.loads(record.RECORDED.read_text()).values() if isinstance(entries, list) for entry in entries if "name" in entry}
    excused = recorded | set(dashboards.ERLANG)
    remarks = [line for line in checked.stderr.splitlines() if line and line.split()[0] not in excused]
    assert remarks == [], "names of our own should be as Prometheus recommends"
