#!/usr/bin/env python3
"""Writes Grafana's dashboards beside this file: packaging/grafana/make.py

A panel is a line here: what it shows, in which unit, and the queries with their legends. tests/packaging asks a Prometheus each of them.
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDTH, HEIGHT, STAT_HEIGHT = 24, 8, 4
# What a query is of: nodes of the chosen cluster, by the series that is exactly once in each answer.
OF_NODES = '* on (instance, job) group_left (rabbitmq_node) rabbitmq_identity_info{rabbitmq_cluster=~"$cluster", rabbitmq_node=~"$node", rabbitmq_endpoint="%s"}'
OF_QUEUES = '{vhost=~"$vhost", queue=~"$queue"}'
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def node(metric: str, rate: bool = False) -> str:
    """A metric of nodes, summed over what else it is told of."""
    inner = f"rate({metric}[$__rate_interval])" if rate else metric
    return f"sum by (rabbitmq_node) ({inner} {OF_NODES % 'aggregated'})"


def total(metric: str, rate: bool = False) -> str:
    inner = f"rate({metric}[$__rate_interval])" if rate else metric
    return f"sum({inner} {OF_NODES % 'aggregated'})"


def queue(metric: str, rate: bool = False) -> str:
    inner = f"rate({metric}{OF_QUEUES}[$__rate_interval])" if rate else f"{metric}{OF_QUEUES}"
    return f"topk($top, sum by (vhost, queue) ({inner} {OF_NODES % 'detailed'}))"


def quantile(part: float, metric: str, labels: str, of: str) -> str:
    return f"histogram_quantile({part}, sum by ({labels}, le) (rate({metric}[$__rate_interval]) {of}))"


def graph(title: str, unit: str, *queries: tuple[str, str], width: int = 12, about: str = "", stack: bool = False) -> dict:
    custom = {"fillOpacity": 10, "showPoints": "never", "stacking": {"mode": "normal" if stack else "none"}}
    return {"type": "timeseries", "title": title, "description": about, "width": width, "height": HEIGHT, "queries": queries,
            "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": custom}, "overrides": []},
            "options": {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]}, "tooltip": {"mode": "multi"}}}  # fmt: skip


def stat(title: str, query: str, unit: str = "short", width: int = 3, about: str = "", red_from: float | None = None) -> dict:
    steps = [{"color": "green", "value": None}] + ([{"color": "red", "value": red_from}] if red_from is not None else [])
    return {"type": "stat", "title": title, "description": about, "width": width, "height": STAT_HEIGHT, "queries": ((query, ""),),
            "fieldConfig": {"defaults": {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}}, "overrides": []},
            "options": {"colorMode": "background", "graphMode": "area", "reduceOptions": {"calcs": ["lastNotNull"]}}}  # fmt: skip


def table(title: str, query: str, hidden: tuple[str, ...], width: int = 24) -> dict:
    return {"type": "table", "title": title, "description": "", "width": width, "height": HEIGHT, "queries": ((query, ""),), "instant": True,
            "fieldConfig": {"defaults": {}, "overrides": []}, "options": {},
            "transformations": [{"id": "organize", "options": {"excludeByName": {name: True for name in ("Time", "__name__", "Value", *hidden)}}}]}  # fmt: skip


def row(title: str) -> dict:
    return {"type": "row", "title": title, "width": WIDTH, "height": 1, "queries": ()}


def variable(name: str, query: str, is_multi: bool = True) -> dict:
    found = {"name": name, "type": "query", "datasource": DATASOURCE, "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1}
    return found | ({"multi": True, "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}} if is_multi else {})


SOURCE = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
CLUSTER = variable("cluster", "label_values(rabbitmq_identity_info, rabbitmq_cluster)", is_multi=False)
NODE = variable("node", 'label_values(rabbitmq_identity_info{rabbitmq_cluster="$cluster"}, rabbitmq_node)')
VHOST = variable("vhost", "label_values(rabbitmq_detailed_queue_messages, vhost)")
QUEUE = variable("queue", 'label_values(rabbitmq_detailed_queue_messages{vhost=~"$vhost"}, queue)')
TOP = {"name": "top", "type": "custom", "label": "Of queues the first", "query": "10,20,50,100", "current": {"text": "20", "value": "20"}}
UPSTREAM = variable("proxy", "label_values(amqproxy_identity_info, instance)")

N = "{{rabbitmq_node}}"
Q = "{{vhost}} {{queue}}"
GLOBAL = "rabbitmq_global_messages_"

OVERVIEW = [
    stat("Ready messages", total("rabbitmq_queue_messages_ready")),
    stat("Unacknowledged", total("rabbitmq_queue_messages_unacked")),
    stat("Published", total(f"{GLOBAL}received_total", rate=True), "reqps"),
    stat("Delivered", total(f"{GLOBAL}delivered_total", rate=True), "reqps"),
    stat("Connections", total("rabbitmq_connections")),
    stat("Queues", total("rabbitmq_queues")),
    stat("Consumers", total("rabbitmq_global_consumers")),
    stat("Alarms", f"{total('rabbitmq_alarms_memory_used_watermark')} + {total('rabbitmq_alarms_free_disk_space_watermark')}", red_from=1,
         about="Memory and disk: publishers are stopped while one is on"),
    row("Nodes"),
    table("Nodes", f"rabbitmq_build_info {OF_NODES % 'aggregated'}", ("instance", "job", "erlang_version", "prometheus_client_version", "prometheus_plugin_version")),
    graph("Memory", "bytes", (node("rabbitmq_process_resident_memory_bytes"), N), (node("rabbitmq_resident_memory_limit_bytes"), f"{N} watermark")),
    graph("Disk that is free", "bytes", (node("rabbitmq_disk_space_available_bytes"), N), (node("rabbitmq_disk_space_available_limit_bytes"), f"{N} limit")),
    graph("Processors", "short", (node("process_cpu_seconds_total", rate=True), N), about="How many of them the broker keeps busy"),
    graph("Open files", "short", (node("rabbitmq_process_open_fds"), N), (node("rabbitmq_process_max_fds"), f"{N} limit")),
    row("Messages"),
    graph("Ready", "short", (node("rabbitmq_queue_messages_ready"), N), stack=True),
    graph("Unacknowledged", "short", (node("rabbitmq_queue_messages_unacked"), N), stack=True),
    graph("Published", "reqps", (total(f"{GLOBAL}received_total", rate=True), "published"), (total(f"{GLOBAL}received_confirm_total", rate=True), "to be confirmed"),
          (total(f"{GLOBAL}confirmed_total", rate=True), "confirmed"), (total(f"{GLOBAL}routed_total", rate=True), "routed to queues")),
    graph("Delivered", "reqps", (total(f"{GLOBAL}delivered_consume_manual_ack_total", rate=True), "to consumers"),
          (total(f"{GLOBAL}delivered_consume_auto_ack_total", rate=True), "to consumers without acks"),
          (total(f"{GLOBAL}delivered_get_manual_ack_total", rate=True), "by get"), (total(f"{GLOBAL}delivered_get_auto_ack_total", rate=True), "by get without acks"),
          (total(f"{GLOBAL}acknowledged_total", rate=True), "acknowledged")),
    graph("Not delivered", "reqps", (total(f"{GLOBAL}unroutable_dropped_total", rate=True), "dropped: no queue"),
          (total(f"{GLOBAL}unroutable_returned_total", rate=True), "returned: no queue"), (total(f"{GLOBAL}redelivered_total", rate=True), "delivered again"),
          (total(f"{GLOBAL}get_empty_total", rate=True), "gets of nothing"), (total("warren_publishes_refused_total", rate=True), "refused"),
          about="What publishers and consumers may want to know of"),
    graph("Dead letters", "reqps", *((total(f"{GLOBAL}dead_lettered_{cause}_total", rate=True), cause) for cause in ("expired", "rejected", "maxlen", "delivery_limit"))),
    graph("Sizes", "bytes", *((quantile(part, "rabbitmq_message_size_bytes_bucket", "rabbitmq_cluster", OF_NODES.replace("(rabbitmq_node)", "(rabbitmq_cluster)") % "aggregated"), name)
                              for part, name in ((0.5, "half"), (0.99, "99 %")))),
    graph("Delayed", "short", (total("warren_delayed_messages"), "messages"), about="Messages that are published later"),
    row("Where the time goes"),
    graph("Half of the messages", "s", (quantile(0.5, "warren_latency_stage_seconds_bucket", "stage", OF_NODES % "aggregated"), "{{stage}}"),
          about="How long messages are in each stage of their way: docs/latency.md"),
    graph("All but one in a hundred", "s", (quantile(0.99, "warren_latency_stage_seconds_bucket", "stage", OF_NODES % "aggregated"), "{{stage}}")),
    row("Connections and queues"),
    graph("Connections and channels", "short", (total("rabbitmq_connections"), "connections"), (total("rabbitmq_channels"), "channels"),
          (total("rabbitmq_global_publishers"), "publishers"), (total("rabbitmq_global_consumers"), "consumers")),
    graph("They come and go", "reqps", *((total(f"rabbitmq_{name}_total", rate=True), name.replace("_", " ")) for name in (
        "connections_opened", "connections_closed", "channels_opened", "channels_closed", "queues_declared", "queues_created", "queues_deleted"))),
    graph("Logins", "reqps", (total("rabbitmq_auth_attempts_succeeded_total", rate=True), "let in"), (total("rabbitmq_auth_attempts_failed_total", rate=True), "refused")),
    graph("Pressure", "short", (total("warren_connections_pausing"), "publishers that pause"), (total("warren_flow_entered_total", rate=True), "times a publisher waits, a second"),
          (total("warren_connections_refused_total", rate=True), "connections turned away, a second")),
    row("The store"),
    graph("Journal", "Bps", (node("warren_journal_appended_bytes_total", rate=True), f"{N} appended"), (node("warren_journal_durable_bytes_total", rate=True), f"{N} durable")),
    graph("On disk and in memory", "bytes", (node("warren_journal_unretired_bytes"), f"{N} journal"), (node("warren_store_segment_bytes"), f"{N} files of messages"),
          (node("warren_store_chunk_bytes"), f"{N} recent messages in memory")),
    graph("Reads that wait", "short", (node("warren_store_waiting_loads"), N)),
    graph("Lost and damaged", "short", (node("warren_store_lost_messages_total"), f"{N} messages lost"), (node("warren_store_damaged_segments"), f"{N} damaged files"),
          about="Anything above 0 needs an operator: warren ctl list_data_losses"),
    row("Told to others"),
    graph("Alerts that fire", "short", (f"sum by (severity) (warren_alerts_firing {OF_NODES % 'aggregated'})", "{{severity}}")),
    graph("Notices", "reqps", (total("warren_alert_notices_delivered_total", rate=True), "delivered"), (total("warren_alert_attempts_failed_total", rate=True), "attempts failed"),
          (total("warren_alert_notices_dropped_total", rate=True), "dropped")),
]  # fmt: skip

DETAILED = "rabbitmq_detailed_queue_"
QUEUES = [
    graph("Ready", "short", (queue(f"{DETAILED}messages_ready"), Q)),
    graph("Unacknowledged", "short", (queue(f"{DETAILED}messages_unacked"), Q)),
    graph("Received", "reqps", (queue("warren_detailed_queue_messages_received_total", rate=True), Q)),
    graph("Delivered with acks", "reqps", (queue(f"{DETAILED}messages_delivered_ack_total", rate=True), Q)),
    graph("Delivered without acks", "reqps", (queue(f"{DETAILED}messages_delivered_total", rate=True), Q)),
    graph("Acknowledged", "reqps", (queue(f"{DETAILED}messages_acked_total", rate=True), Q)),
    graph("Got", "reqps", (queue(f"{DETAILED}get_ack_total", rate=True), f"{Q} with acks"), (queue(f"{DETAILED}get_total", rate=True), f"{Q} without")),
    graph("Delivered again", "reqps", (queue(f"{DETAILED}messages_redelivered_total", rate=True), Q)),
    graph("Dropped", "reqps", (queue("warren_detailed_queue_messages_dropped_total", rate=True), Q), about="Expired, over a limit, rejected, or failed too often"),
    graph("Consumers", "short", (queue(f"{DETAILED}consumers"), Q)),
    graph("Capacity of consumers", "percentunit", (queue(f"{DETAILED}consumer_capacity"), Q), about="The part of the time in which a consumer could take a message"),
    graph("Bytes", "bytes", (queue(f"{DETAILED}messages_bytes"), Q)),
    graph("How long messages waited: half of them", "s", (f"topk($top, {quantile(0.5, 'warren_detailed_queue_wait_seconds_bucket' + OF_QUEUES, 'vhost, queue', OF_NODES % 'detailed')})", Q)),
    graph("How long messages waited: all but one in a hundred", "s",
          (f"topk($top, {quantile(0.99, 'warren_detailed_queue_wait_seconds_bucket' + OF_QUEUES, 'vhost, queue', OF_NODES % 'detailed')})", Q)),
    table("Queues", f"rabbitmq_detailed_queue_info{OF_QUEUES} {OF_NODES % 'detailed'}", ("instance", "job", "membership")),
]  # fmt: skip

LANE = "{{rabbitmq_node}} {{lane}}"
CLUSTER_PANELS = [
    stat("Nodes that answer", f"count({'rabbitmq_build_info'} {OF_NODES % 'aggregated'})", width=6),
    stat("Leaders", total("warren_cluster_is_leading"), width=6, about="1, except for the moment of an election"),
    stat("Nodes not reached", total("rabbitmq_unreachable_cluster_peers_count"), width=6, red_from=1),
    stat("Oldest entry that waits", f"max(warren_cluster_oldest_unacknowledged_seconds {OF_NODES % 'aggregated'})", "s", width=6, red_from=10,
         about="For a majority of disks"),
    graph("Who leads", "short", (node("warren_cluster_is_leading"), N)),
    graph("Changes of the leader", "short", (f"sum by (rabbitmq_node) (increase(warren_cluster_leader_changes_total[$__rate_interval]) {OF_NODES % 'aggregated'})", N)),
    graph("How far nodes are behind", "bytes", (f"sum by (peer) (warren_cluster_member_lag_bytes {OF_NODES % 'aggregated'})", "{{peer}}")),
    graph("Round trips", "s", (f"sum by (rabbitmq_node, peer) (warren_cluster_link_round_trip_seconds {OF_NODES % 'aggregated'})", "{{rabbitmq_node}} to {{peer}}")),
    graph("Sent", "Bps", (f"sum by (rabbitmq_node, lane) (rate(warren_cluster_link_sent_bytes_total[$__rate_interval]) {OF_NODES % 'aggregated'})", LANE)),
    graph("Received", "Bps", (f"sum by (rabbitmq_node, lane) (rate(warren_cluster_link_received_bytes_total[$__rate_interval]) {OF_NODES % 'aggregated'})", LANE)),
    graph("Oldest entry that waits", "s", (node("warren_cluster_oldest_unacknowledged_seconds"), N)),
    graph("Journal", "Bps", (node("warren_journal_durable_bytes_total", rate=True), N)),
    graph("Memory", "bytes", (node("rabbitmq_process_resident_memory_bytes"), N)),
    graph("Disk that is free", "bytes", (node("rabbitmq_disk_space_available_bytes"), N)),
]  # fmt: skip


def proxy(metric: str, rate: bool = False, by: str = "instance") -> str:
    inner = f'warren_proxy_{metric}{{instance=~"$proxy"}}'
    return f"sum by ({by}) ({f'rate({inner}[$__rate_interval])' if rate else inner})"


P, POOL = "{{instance}}", "{{user}} {{vhost}}"
UP = "{{upstream}}"
PROXY = [
    stat("Ready", f"sum({proxy('ready')})", width=4, about="Proxies whose clients find an upstream"),
    stat("Clients", 'sum(amqproxy_client_connections{instance=~"$proxy"})', width=4),
    stat("Connections to upstreams", 'sum(amqproxy_upstream_connections{instance=~"$proxy"})', width=4),
    stat("Clients that wait", f"sum({proxy('clients_waiting')})", width=4),
    stat("Messages sent on", f"sum({proxy('messages_published_total', rate=True)})", "reqps", width=4),
    stat("Channels reused", f"sum({proxy('channels_reused_total', rate=True)})", "reqps", width=4),
    graph("Clients", "short", ('sum by (instance) (amqproxy_client_connections{instance=~"$proxy"})', P), (proxy("clients_on_own_connection"), f"{P} on a connection of their own")),
    graph("Clients that come", "reqps", (proxy("clients_total", rate=True), P), (proxy("logins_remembered_total", rate=True), f"{P} logins remembered"),
          (proxy("logins_refused_total", rate=True), f"{P} logins refused")),
    graph("Messages sent on", "reqps", (proxy("messages_published_total", rate=True), P)),
    graph("Channels", "reqps", (proxy("channels_opened_total", rate=True), f"{P} opened"), (proxy("channels_reused_total", rate=True), f"{P} reused")),
    graph("Late trouble", "reqps", *((proxy(f"late_{what}_total", rate=True), f"{P} {what}") for what in ("errors", "returns", "nacks", "losses")),
          about="What went wrong after a client had gone: docs/proxy.md"),
    graph("Limits that were reached", "reqps", (proxy("limit_reached_total", rate=True, by="instance, limit"), "{{instance}} {{limit}}"), (proxy("slow_clients_total", rate=True), f"{P} slow clients")),
    row("Pools"),
    graph("Clients of pools", "short", (proxy("pool_clients", by="user, vhost"), POOL), (proxy("pool_clients_waiting", by="user, vhost"), f"{POOL} waiting")),
    graph("Connections and channels of pools", "short", (proxy("pool_connections", by="user, vhost"), f"{POOL} connections"), (proxy("pool_channels", by="user, vhost"), f"{POOL} channels")),
    graph("Not confirmed yet", "short", (proxy("pool_unconfirmed", by="user, vhost"), POOL)),
    row("Upstreams"),
    graph("Up", "short", ('sum by (upstream, state) (warren_proxy_upstream_state{instance=~"$proxy"})', "{{upstream}} {{state}}")),
    graph("Connections", "short", (proxy("upstream_connections", by="upstream"), UP)),
    graph("Dialled", "reqps", (proxy("upstream_dialled_total", rate=True, by="upstream"), UP), (proxy("upstream_failed_total", rate=True, by="upstream"), f"{UP} failed")),
    graph("Health checks", "reqps", (proxy("upstream_checks_passed_total", rate=True, by="upstream"), f"{UP} passed"),
          (proxy("upstream_checks_failed_total", rate=True, by="upstream"), f"{UP} failed")),
    row("The spool"),
    graph("Kept", "short", (proxy("spool_messages"), P)),
    graph("Bytes", "bytes", (proxy("spool_bytes"), P), (proxy("spool_bytes_max"), f"{P} at most")),
    graph("Through the spool", "reqps", *((proxy(f"spool_{what}_total", rate=True), f"{P} {what.replace('_', ' ')}") for what in ("kept", "sent_on", "refused", "expired", "dropped", "full"))),
]  # fmt: skip

DASHBOARDS = {
    "warren-overview": ("Warren: overview", OVERVIEW, [SOURCE, CLUSTER, NODE]),
    "warren-queues": ("Warren: queues", QUEUES, [SOURCE, CLUSTER, NODE, VHOST, QUEUE, TOP]),
    "warren-cluster": ("Warren: cluster", CLUSTER_PANELS, [SOURCE, CLUSTER, NODE]),
    "warren-proxy": ("Warren: proxy", PROXY, [SOURCE, UPSTREAM]),
}


def placed(panels: list[dict]) -> list[dict]:
    """Panels from left to right, in lines, as Grafana has them."""
    out, x, y, line = [], 0, 0, 0
    for number, panel in enumerate(panels, 1):
        width, height, queries = panel["width"], panel["height"], panel["queries"]
        if x + width > WIDTH:
            x, y, line = 0, y + line, 0
        known = {key: value for key, value in panel.items() if key not in ("width", "height", "queries", "instant")}
        targets = [
            {"refId": chr(ord("A") + at), "datasource": DATASOURCE, "expr": query, "legendFormat": legend, "instant": panel.get("instant", False)}
            | ({"format": "table"} if panel.get("instant") else {})
            for at, (query, legend) in enumerate(queries)
        ]
        own = {"id": number, "gridPos": {"x": x, "y": y, "w": width, "h": height}, **known}
        out.append(own if panel["type"] == "row" else own | {"datasource": DATASOURCE, "targets": targets})
        x, line = x + width, max(line, height)
    return out


def dashboard(name: str) -> dict:
    title, panels, variables = DASHBOARDS[name]
    return {
        "uid": name, "title": title, "tags": ["warren"], "schemaVersion": 39, "version": 1, "editable": True, "refresh": "15s",
        "time": {"from": "now-15m", "to": "now"}, "timezone": "browser", "templating": {"list": variables}, "panels": placed(panels),
        "links": [{"title": "Warren", "type": "dashboards", "tags": ["warren"], "asDropdown": True, "includeVars": True, "keepTime": True}],
    }  # fmt: skip


def text(name: str) -> str:
    return json.dumps(dashboard(name), indent=1) + "\n"


if __name__ == "__main__":
    for name in DASHBOARDS:
        (HERE / f"{name}.json").write_text(text(name))
