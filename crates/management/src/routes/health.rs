//! Health checks: 200 when all is well, 503 when it is not, with a reason.

use std::time::{Duration, SystemTime};

use broker::view::{Alarms, DamagedFile};
use cluster::control::ClusterView;
use hyper::StatusCode;
use net::{CertificateFile, CertificateUse};
use serde_json::{Map, Value, json};

use super::exchanges::enter;
use super::identity::uncached;
use super::nodes::check_node;
use crate::answer::Answer;
use crate::call::Call;
use crate::options::ListenerInfo;
use crate::problem::Problem;
use crate::route::Kind::Text;
use crate::route::Role::{InVhost, Management, Public};
use crate::route::{AnswerFn, Field, Operation, Route, Shape, at};

macro_rules! checks {
    ($($path:expr => $role:ident, $handler:expr, $summary:literal;)*) => {
        &[$(at($path, &[Operation::get($role, $handler as AnswerFn, $summary, STATUS)]),)*]
    };
}

const STATUS: Shape = Shape::Check(&[
    Field::required("status", Text, "`ok` or `failed`."),
    Field::optional("reason", Text, "What is wrong."),
]);

const LOCAL_ALARMS: &str = "/api/health/checks/local-alarms";
const QUORUM_CRITICAL: &str = "/api/health/checks/node-is-quorum-critical";
const IN_SERVICE: &str = "/api/health/checks/is-in-service";
const READY: &str = "/api/health/checks/ready-to-serve-clients";

pub(super) static ROUTES: &[Route] = checks! {
    "/api/health/checks/alarms" => Management, alarms, "Checks that no alarm is in effect.";
    LOCAL_ALARMS => Management, local_alarms, "Checks that no alarm of this node is in effect.";
    "/api/health/checks/data-loss" => Management, data_loss,
        "Checks that no message file is damaged, or that an operator has acknowledged the damage.";
    "/api/health/checks/certificate-expiration/{within}/{unit}" => Management, certificates,
        "Checks that no listener's certificate expires within this time.";
    "/api/health/checks/port-listener/{port}" => Management, port, "Checks that a listener is on this port.";
    "/api/health/checks/protocol-listener/{protocols}" => Management, protocols, "Checks that each protocol has a listener.";
    "/api/health/checks/virtual-hosts" => Management, ok, "Checks that all vhosts run.";
    QUORUM_CRITICAL => Management, quorum_critical,
        "Checks that no queue would lose its majority without this node.";
    "/api/health/checks/below-node-connection-limit" => Management, connection_limit,
        "Checks that fewer connections are open than the limit allows.";
    IN_SERVICE => Public, in_service, "Checks that the node is not in maintenance.";
    READY => Public, ready, "Checks that the node can serve clients.";
    "/api/health/checks/reached-target-cluster-size" => Management, uncached_ok, "Checks that all nodes are running.";
    "/api/health/checks/metadata-store/initialized" => Management, ok, "Checks that definitions have been loaded.";
    "/api/health/checks/metadata-store/initialized/with-data" => Management, has_data, "Checks that definitions exist.";
    "/api/health/checks/quorum-queues-without-elected-leaders/all-vhosts" => Management, have_leaders,
        "Checks that all quorum queues have a leader.";
    "/api/health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/{pattern}" => Management, have_leaders,
        "Checks that all quorum queues whose names match have a leader.";
    "/api/health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}" => Management, have_leaders,
        "Checks that all quorum queues of a vhost have a leader.";
    "/api/health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}/pattern/{pattern}" => Management, have_leaders,
        "Checks that all quorum queues of a vhost whose names match have a leader.";
    "/api/healthchecks/node" => Management, alarms, "Checks that no alarm is in effect. An older check.";
    "/api/healthchecks/node/{node}" => Management, of_node, "Checks that no alarm of a node is in effect. An older check.";
    "/api/aliveness-test/{vhost}" => InVhost, alive, "Checks that the user may use the vhost. An older check.";
};

fn answer(status: StatusCode, body: &Value) -> Answer {
    Answer::json(body.to_string().into_bytes()).with_status(status)
}

fn ok(_: &Call) -> Result<Answer, Problem> {
    Ok(passed(Map::new()))
}

/// Nothing is done there, but an administrator who may not enter the vhost is refused, as in RabbitMQ.
fn alive(call: &Call) -> Result<Answer, Problem> {
    enter(call)?;
    ok(call)
}

fn uncached_ok(call: &Call) -> Result<Answer, Problem> {
    ok(call).map(uncached)
}

fn passed(mut body: Map<String, Value>) -> Answer {
    body.insert("status".to_owned(), "ok".into());
    answer(StatusCode::OK, &Value::Object(body))
}

fn failed(reason: &str, mut body: Map<String, Value>) -> Answer {
    body.insert("status".to_owned(), "failed".into());
    body.insert("reason".to_owned(), reason.into());
    answer(StatusCode::SERVICE_UNAVAILABLE, &Value::Object(body))
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Of all nodes.
fn alarms(call: &Call) -> Result<Answer, Problem> {
    let mut on = listed(call.service.node(), call.broker().alarms());
    let peers = call.broker().peer_alarms();
    on.extend(peers.iter().flat_map(|peer| listed(&peer.node, peer.alarms)));
    Ok(alarms_answer(on))
}

/// Of the node that was asked.
fn local_alarms(call: &Call) -> Result<Answer, Problem> {
    let node = call.asked_node();
    let alarms = match node == call.service.node() {
        true => call.broker().alarms(),
        false => {
            let peers = call.broker().peer_alarms();
            peers.into_iter().find(|peer| peer.node == node).map_or_else(Alarms::default, |peer| peer.alarms)
        }
    };
    Ok(alarms_answer(listed(node, alarms)))
}

fn listed(node: &str, alarms: Alarms) -> Vec<Value> {
    let on = [("memory", alarms.is_memory_low), ("disk", alarms.is_disk_low)].into_iter().filter(|(_, is_on)| *is_on);
    on.map(|(resource, _)| json!({"node": node, "resource": resource})).collect()
}

fn alarms_answer(on: Vec<Value>) -> Answer {
    match on.is_empty() {
        true => passed(Map::new()),
        false => failed("There are alarms in effect in the cluster", members(json!({"alarms": on}))),
    }
}

/// RabbitMQ has no such check.
fn data_loss(call: &Call) -> Result<Answer, Problem> {
    let files = call.broker().data_loss();
    if files.is_empty() {
        return Ok(uncached(passed(Map::new())));
    }
    let count = files.iter().map(DamagedFile::lost_count).sum::<u64>();
    let reason = format!("{count} messages were lost to damaged files");
    Ok(uncached(failed(&reason, members(json!({"lost_messages": count, "damaged_files": files.len()})))))
}

fn of_node(call: &Call) -> Result<Answer, Problem> {
    check_node(call)?;
    alarms(call)
}

/// Seconds of a unit of time.
fn unit_s(unit: &str) -> Option<u64> {
    const DAY: u64 = 24 * 60 * 60;
    match unit {
        "day" | "days" => Some(DAY),
        "week" | "weeks" => Some(7 * DAY),
        "month" | "months" => Some(30 * DAY),
        "year" | "years" => Some(365 * DAY),
        _ => None,
    }
}

fn certificates(call: &Call) -> Result<Answer, Problem> {
    let Some(unit_s) = unit_s(call.argument("unit")) else {
        let reason = "Time unit not recognised. Supported units: days, weeks, months, years.";
        return Err(Problem::bad_request(reason));
    };
    let count: u64 = call.argument("within").parse().map_err(|_| Problem::bad_request("Invalid expiration value."))?;
    let within = Duration::from_secs(count.saturating_mul(unit_s));
    let until = SystemTime::now().checked_add(within);
    let listeners = call.service.listeners();
    let node = call.service.node();
    let expiring: Vec<Value> = listeners.iter().flat_map(|listener| expiring(node, listener, until)).collect();
    Ok(match expiring.is_empty() {
        true => passed(Map::new()),
        false => failed("Certificates expiring", members(json!({"expired": expiring}))),
    })
}

/// What RabbitMQ reports of each identity of a listener with certificates that end until then; None: whenever they end.
fn expiring(node: &str, listener: &ListenerInfo, until: Option<SystemTime>) -> Vec<Value> {
    let Some(tls) = &listener.tls else { return Vec::new() };
    let files = tls.certificates();
    let dates = |file: &CertificateFile| -> Vec<String> {
        file.ends.iter().filter(|end| until.is_none_or(|until| **end < until)).map(|end| date(*end)).collect()
    };
    let of_use = |usage: CertificateUse| files.iter().filter(move |file| file.usage == usage);
    let authorities = of_use(CertificateUse::Authorities).next();
    let authorities_dates = authorities.map(&dates).unwrap_or_default();
    of_use(CertificateUse::Chain)
        .map(|chain| (chain, dates(chain)))
        .filter(|(_, dates)| !dates.is_empty() || !authorities_dates.is_empty())
        .map(|(chain, dates)| {
            json!({
                "node": node,
                "protocol": listener.protocol,
                "interface": listener.ip.to_string(),
                "port": listener.port,
                "certfile": chain.path.to_string_lossy(),
                "certfile_expires_on": dates,
                "cacertfile": authorities.map(|file| file.path.to_string_lossy()).unwrap_or_default(),
                "cacertfile_expires_on": authorities_dates,
            })
        })
        .collect()
}

/// `2027-01-31 12:00:00`.
fn date(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").replace('Z', "")
}

fn port(call: &Call) -> Result<Answer, Problem> {
    let port: u64 = call.argument("port").parse().map_err(|_| Problem::bad_request("Invalid port"))?;
    let ports: Vec<u64> = call.service.active_listeners().iter().map(|listener| listener.port.into()).collect();
    Ok(match ports.contains(&port) {
        true => passed(members(json!({"port": port}))),
        false => failed("No active listener", members(json!({"ports": ports, "missing": port}))),
    })
}

fn protocols(call: &Call) -> Result<Answer, Problem> {
    let listeners = call.service.active_listeners();
    let mut active: Vec<&str> = listeners.iter().map(|listener| &*listener.protocol).collect();
    active.sort_unstable();
    active.dedup();
    let is_active = |wanted: &str| active.contains(&canonical(wanted));
    let missing: Vec<&str> =
        call.argument("protocols").split(',').map(str::trim).filter(|wanted| !is_active(wanted)).collect();
    Ok(match missing.is_empty() {
        true => passed(members(json!({"protocols": active}))),
        false => failed("No active listener", members(json!({"protocols": active, "missing": missing}))),
    })
}

/// Other names of protocols that RabbitMQ knows.
fn canonical(protocol: &str) -> &str {
    match protocol {
        "amqp091" | "amqp0.9.1" | "amqp0-9-1" | "amqp10" | "amqp1.0" => "amqp",
        "amqps" | "amqp091/ssl" => "amqp/ssl",
        "management" => "http",
        other => other,
    }
}

fn quorum_critical(call: &Call) -> Result<Answer, Problem> {
    Ok(quorum_critical_of(call.service.cluster().as_deref(), call.asked_node()))
}

fn quorum_critical_of(cluster: Option<&ClusterView>, node: &str) -> Answer {
    match cluster.filter(|view| view.members.len() > 1) {
        None => passed(members(json!({"reason": "single node cluster"}))),
        Some(cluster) if cluster.is_critical(node) => failed(CRITICAL, Map::new()),
        Some(_) => passed(Map::new()),
    }
}

/// RabbitMQ's words, and what it would be for all queues at once.
const CRITICAL: &str =
    "There are queues that would lose their quorum if the target node is shut down: all of the cluster's";

/// Why a node takes no clients, if it does not.
fn out_of_service(cluster: &ClusterView, node: &str) -> Option<String> {
    let (voters, running) = cluster.voter_count();
    if !cluster.has_majority && cluster.cluster.is_none() {
        return Some("this node is in no cluster yet".to_owned());
    }
    if !cluster.has_majority {
        return Some(format!("this node is in a minority: it can reach {running} of {voters} nodes, itself included"));
    }
    let is_draining = cluster.member(node).is_some_and(|member| member.is_draining);
    is_draining.then(|| "this node is in maintenance mode".to_owned())
}

fn in_service(call: &Call) -> Result<Answer, Problem> {
    let reason = call.service.cluster().and_then(|cluster| out_of_service(&cluster, call.asked_node()));
    Ok(uncached(reason.map_or_else(|| passed(Map::new()), |reason| failed(&reason, Map::new()))))
}

/// Checks that are about the node that is asked, and that it answers itself where no broker runs.
const OF_NODE: [&str; 4] = [LOCAL_ALARMS, QUORUM_CRITICAL, IN_SERVICE, READY];

/// Whether a route is such a check.
pub(crate) fn is_of_node(path: &str) -> bool {
    OF_NODE.contains(&path)
}

/// Whether a route is a check of any kind.
pub(crate) fn is_check(path: &str) -> bool {
    ROUTES.iter().any(|route| route.path == path)
}

/// What all checks say where no client is served.
pub(crate) fn refused(reason: &str) -> Answer {
    uncached(failed(reason, Map::new()))
}

/// A check of a node on which no broker runs.
pub(crate) fn without_broker(path: &str, view: &ClusterView, alarms: Alarms, listeners: &[ListenerInfo]) -> Answer {
    let (node, cluster) = (view.own.as_str(), Some(view).filter(|view| view.cluster.is_some()));
    match path {
        LOCAL_ALARMS => return alarms_answer(listed(node, alarms)),
        // One that is still on its way into a cluster is not what an upgrade waits for.
        QUORUM_CRITICAL if cluster.is_some() || view.waiting.is_none() => return quorum_critical_of(cluster, node),
        _ => {}
    }
    let reason = match cluster {
        None => Some(view.waiting.clone().unwrap_or_else(|| "this node is in no cluster yet".to_owned())),
        Some(cluster) => out_of_service(cluster, node)
            .or_else(|| cluster.leader.is_none().then(|| "it is not known which node leads the cluster".to_owned())),
    };
    uncached(match reason {
        Some(reason) => failed(&reason, Map::new()),
        None if path == READY && !has_amqp(listeners.iter().filter(|listener| !listener.is_suspended())) => {
            failed(NO_LISTENERS, Map::new())
        }
        None => passed(Map::new()),
    })
}

fn has_amqp<'a>(mut listeners: impl Iterator<Item = &'a ListenerInfo>) -> bool {
    listeners.any(|listener| listener.protocol.starts_with("amqp"))
}

const NO_LISTENERS: &str = "no protocol listeners";

/// One node leads all queues: either all of them have a leader, or none has.
fn have_leaders(call: &Call) -> Result<Answer, Problem> {
    Ok(match call.service.cluster().is_some_and(|view| view.leader.is_none()) {
        true => failed("Quorum queues without a leader: no node leads the cluster", Map::new()),
        false => passed(Map::new()),
    })
}

fn connection_limit(call: &Call) -> Result<Answer, Problem> {
    let broker = call.broker();
    let (count, max) = (broker.connection_count(), broker.options().connection_max);
    Ok(uncached(match max {
        Some(max) if count >= max => {
            failed("node connection limit is reached", members(json!({"connections": count, "limit": max})))
        }
        _ => passed(Map::new()),
    }))
}

fn ready(call: &Call) -> Result<Answer, Problem> {
    if let Some(reason) = call.service.cluster().and_then(|cluster| out_of_service(&cluster, call.asked_node())) {
        return Ok(uncached(failed(&reason, Map::new())));
    }
    if !has_amqp(call.service.active_listeners().iter()) {
        return Ok(uncached(failed(NO_LISTENERS, Map::new())));
    }
    connection_limit(call)
}

fn has_data(call: &Call) -> Result<Answer, Problem> {
    Ok(match call.broker().vhost_names().is_empty() {
        false => passed(Map::new()),
        true => failed("Metadata store has not yet been initialized: it has no data", Map::new()),
    })
}
