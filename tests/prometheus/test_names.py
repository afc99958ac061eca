"""Names, types and labels, held against what was recorded from RabbitMQ."""

import json

import differences
import pytest
import record
import text_format

RECORDED = json.loads(record.RECORDED.read_text())
PREFIXES = ("rabbitmq_detailed_", "rabbitmq_cluster_", "rabbitmq_")
KNOWN = differences.known()


def bare(name):
    """A name without what endpoints put before it."""
    return next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)


def reasons(kinds, name):
    return [each for each in KNOWN if each.kind in kinds and each.is_about(bare(name))]


@pytest.mark.parametrize(("endpoint", "path"), record.paths().items())
def test_whatever_rabbitmq_has_is_there_or_said_why_not(broker, endpoint, path):
    own = text_format.parse(broker.scrape(path))
    kinds = ["absent", *(["sum absent"] if endpoint == "/metrics" else [])]
    wrong = []
    for entry in RECORDED[endpoint]:
        name = entry["name"]
        metric = own.get(name)
        # One that RabbitMQ has without any series may be left out.
        if (metric is None or not metric.samples) and entry.get("labels") != [] and not reasons(kinds, name):
            wrong.append(f"{name} is not there")
        if metric is None:
            continue
        if metric.type != entry["type"]:
            wrong.append(f"{name} is of type {metric.type}, not {entry['type']}")
        has_series = entry.get("labels") and metric.samples
        if has_series and [list(names) for names in metric.label_names] != entry["labels"] and not reasons(["labels"], name):
            wrong.append(f"{name} has the labels {metric.label_names}, not {entry['labels']}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("endpoint", "path"), record.paths().items())
def test_what_rabbitmq_does_not_have_is_named_as_warrens_or_listed(broker, endpoint, path):
    recorded = {entry["name"] for entry in RECORDED[endpoint]}
    additional = [name for name in text_format.parse(broker.scrape(path)) if name not in recorded and not name.startswith("warren_")]
    assert [name for name in additional if not reasons(["additional"], name)] == []


def test_labels_from_a_fixed_set_have_rabbitmqs_values(broker):
    own = text_format.parse(broker.scrape("/metrics"))
    wrong = []
    for entry in RECORDED["/metrics"]:
        if entry["name"] not in own or "values" not in entry or reasons(["values"], entry["name"]):
            continue
        known = [tuple(sorted(values.items())) for values in entry["values"]]
        for sample in own[entry["name"]].samples:
            values = tuple(sorted((name, value) for name, value in sample.labels.items() if name in record.FIXED))
            if values not in known:
                wrong.append(f"{sample.name} {dict(values)}")
    assert wrong == []


def test_every_difference_is_one(broker):
    """A difference that is gone has to go from the list."""
    texts = {endpoint: text_format.parse(broker.scrape(path)) for endpoint, path in record.paths().items()}
    for each in KNOWN:
        if each.kind not in ("absent", "sum absent", "additional"):
            continue
        for pattern in each.metrics:
            only = each._replace(metrics=(pattern,))
            theirs = {(endpoint, entry["name"]) for endpoint, entries in RECORDED.items() if endpoint in texts for entry in entries if only.is_about(bare(entry["name"]))}
            ours = {(endpoint, name) for endpoint, metrics in texts.items() for name, metric in metrics.items() if metric.samples and only.is_about(bare(name))}
            assert (ours - theirs) if each.kind == "additional" else (theirs - ours), f"{pattern} is no difference of kind {each.kind}"


def test_the_documentation_lists_them():
    assert differences.rendered() in differences.DOCUMENTATION.read_text(), "run tests/prometheus/record.py --render"


def test_every_answer_is_written_as_it_should_be_and_every_metric_means_something(broker):
    for path in record.paths().values():
        for metric in text_format.parse(broker.scrape(path)).values():
            assert metric.help.strip(), metric.name
            assert all(sample.value >= 0 for sample in metric.samples), metric.name
            assert metric.type != "counter" or metric.name.endswith("_total"), metric.name
