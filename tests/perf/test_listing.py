"""`warren perf run queue-listing`, small and short: what it measures of the management API, and where it says so."""

import csv
import json
import shlex
import subprocess

import pytest

RUN_TIMEOUT_S = 120
LISTING = "queue listing"


def ran(pytestconfig, broker, tmp_path, workload, *words):
    """The results of a run, and the lines of its CSV."""
    url = f"http://{broker.user}:{broker.password}@{broker.host}:{broker.management_port}"
    files = {name: tmp_path / f"{workload}.{name}" for name in ("json", "html", "csv")}
    command = [*shlex.split(pytestconfig.option.perf_command), "run", workload, "-h", broker.url.rstrip("/"), "--management-url", url,
               "--no-dashboard", "--scale", "0.01", "--set", "rate=3000", "--set", "warm_up=0s", "--set", "duration=2s", "--nice", "19",
               "--json", files["json"], "--html", files["html"], "--output-file", files["csv"], *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
    # 1: an expectation did not come true, on a busy machine.
    assert run.returncode in (0, 1), run.stdout + run.stderr
    [result] = json.loads(files["json"].read_text())["runs"]
    return result, list(csv.DictReader(files["csv"].open(encoding="utf-8"))), files["html"].read_text(), run.stdout


def test_answers_are_measured_beside_messages(pytestconfig, own_broker, tmp_path):
    broker = own_broker(management=True)
    run, rows, page, told = ran(pytestconfig, broker, tmp_path, "queue-listing", "--set", "every=100ms", "--set", "pollers=3")
    summary = run["summary"]
    of = summary["probes"][LISTING]["percentiles"]
    # Three, ten times a second each, for as long as was measured: a little longer than two seconds where the machine is busy. The first ones come
    # at once, and the last ones may be under way at the end.
    assert 50 <= of["count"] <= 3 * (10 * summary["duration_s"] + 2), (of, summary["duration_s"])
    assert 0 < of["p50_ns"] <= of["p95_ns"] <= of["p99_ns"] <= of["max_ns"], of
    assert summary["counts"]["requests_failed"] == 0
    assert summary["counts"]["consumed"] > 0 and summary["latencies"]["consumer"]["percentiles"]["p50_ns"] > 0
    assert any(sample["probes"].get(LISTING) for sample in run["samples"])
    assert any(int(row[f"median probe {LISTING} (µs)"] or 0) > 0 for row in rows), rows
    assert {f"{which} probe {LISTING} (µs)" for which in ("95th p.", "99th p.", "max")} <= rows[0].keys()
    assert LISTING in page and LISTING in told


def test_pollers_ask_for_lists_of_their_own(pytestconfig, own_broker, tmp_path):
    broker = own_broker(management=True)
    run, *_ = ran(pytestconfig, broker, tmp_path, "queue-listing-pollers", "--set", "every=200ms")
    probes = run["summary"]["probes"]
    # One of them asks for a queue that is not there at this scale.
    assert len(probes) == 9 and "one queue" not in probes, sorted(probes)
    assert all(of["percentiles"]["count"] >= 8 for of in probes.values()), probes


@pytest.mark.parametrize(("words", "problem"), [(("--nice", "20"), "--nice"), (("--set", "pollers=0"), "count")])
def test_what_cannot_be_is_refused(pytestconfig, tmp_path, words, problem):
    command = [*shlex.split(pytestconfig.option.perf_command), "run", "queue-listing", *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, cwd=tmp_path)
    assert run.returncode != 0 and problem in run.stderr, run.stderr
