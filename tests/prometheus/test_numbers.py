"""How often what happens is counted: after the same traffic as on the RabbitMQ that was recorded."""

import json

import differences
import record
import text_format
import traffic

RECORDED = {entry["series"]: entry["count"] for entry in json.loads(record.RECORDED.read_text())["counts"]}


def test_the_node_counts_as_rabbitmq_does(broker):
    excused = [each for each in differences.known() if each.kind == "counts"]
    own = {series: count - broker.counted_before.get(series, 0) for series, count in record.counts(broker.scrape("/metrics")).items()}
    wrong = {
        series: (own.get(series), count)
        for series, count in RECORDED.items()
        if own.get(series) != count and not any(each.is_about(series.split("[")[0].removeprefix("rabbitmq_")) for each in excused)
    }
    assert wrong == {}, "ours, and RabbitMQ's"


def test_what_is_told_by_queue_adds_up_to_what_is_told_of_the_node(broker):
    whole, each = text_format.parse(broker.scrape("/metrics")), text_format.parse(broker.scrape("/metrics/per-object"))
    names = [name for name in whole if name.startswith("rabbitmq_queue_") and name in each]
    assert len(names) > 10
    # Queues that are gone have counted, too.
    for name in [name for name in names if whole[name].type == "gauge"]:
        assert sum(sample.value for sample in each[name].samples) == whole[name].samples[0].value, name


def test_a_queue_says_how_long_its_messages_waited_and_how_large_they_were(broker):
    families = "family=warren_queue_wait_metrics&family=warren_queue_size_metrics&vhost=shop&queue=^orders$"
    metrics = text_format.parse(broker.scrape(f"/metrics/detailed?{families}"))
    for name in ("warren_detailed_queue_wait_seconds", "warren_detailed_queue_message_size_bytes"):
        buckets = [sample for sample in metrics[name].samples if sample.name.endswith("_bucket")]
        values = [sample.value for sample in buckets]
        assert values == sorted(values) and values[-1] > 0 and buckets[-1].labels["le"] == "+Inf", name
    assert metrics["warren_detailed_queue_wait_seconds"].samples[0].labels == {"vhost": "shop", "queue": "orders", "le": "0.001"}


def counters(broker):
    """All counters of the node, by series."""
    metrics = text_format.parse(broker.scrape("/metrics"))
    return {
        (sample.name, tuple(sample.labels.items())): sample.value
        for metric in metrics.values()
        if metric.type == "counter"
        for sample in metric.samples
    }


def test_what_has_counted_may_go_and_the_node_s_counters_stay(broker):
    with traffic.come_and_go(broker) as connection:
        # Every series once, of an exchange that was deleted and declared anew too: that is what reading is strict about.
        each = text_format.parse(broker.scrape("/metrics/per-object"))
        published = each["rabbitmq_channel_messages_published_total"].samples
        assert [sample.value for sample in published if sample.labels["exchange"] == "again"] == [1]
        before = counters(broker)
        assert before["warren_delayed_messages_released_total", ()] >= 1
        connection.channel().exchange_delete("late")
    broker.management.delete("/vhosts/passing").expect(204)
    after = counters(broker)
    fallen = {series: (value, after.get(series)) for series, value in before.items() if after.get(series, -1) < value}
    assert fallen == {}, "before, and after"
