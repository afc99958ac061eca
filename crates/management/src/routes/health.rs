//! Health checks: 200 when all is well, 503 when it is not, with a reason.

use std::time::{Duration, SystemTime};

use broker::view::{Alarms, DamagedFile};
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
    ($($path:literal => $role:ident, $handler:expr, $summary:literal;)*) => {
        &[$(at($path, &[Operation::get($role, $handler as AnswerFn, $summary, STATUS)]),)*]
    };
}

const STATUS: Shape = Shape::Check(&[
    Field::required("status", Text, "`ok` or `failed`."),
    Field::optional("reason", Text, "What is wrong."),
]);

pub(super) static ROUTES: &[Route] = checks! {
    "/api/health/checks/alarms" => Management, alarms, "No alarm is on.";
    "/api/health/checks/local-alarms" => Management, local_alarms, "No alarm of this node is on.";
    "/api/health/checks/data-loss" => Management, data_loss,
        "No file of messages is damaged, or an operator has acknowledged the damage.";
    "/api/health/checks/certificate-expiration/{within}/{unit}" => Management, certificates,
        "No certificate of a listener expires within that time.";
    "/api/health/checks/port-listener/{port}" => Management, port, "Something listens on a port.";
    "/api/health/checks/protocol-listener/{protocols}" => Management, protocols, "Something listens for each protocol.";
    "/api/health/checks/virtual-hosts" => Management, ok, "All vhosts run.";
    "/api/health/checks/node-is-quorum-critical" => Management, quorum_critical,
        "No queue would lose its majority without this node.";
    "/api/health/checks/below-node-connection-limit" => Management, connection_limit,
        "Fewer connections are open than may be.";
    "/api/health/checks/is-in-service" => Public, in_service, "The node is not in maintenance.";
    "/api/health/checks/ready-to-serve-clients" => Public, ready, "The node can serve clients.";
    "/api/health/checks/reached-target-cluster-size" => Management, uncached_ok, "All nodes are there.";
    "/api/health/checks/metadata-store/initialized" => Management, ok, "Definitions have been loaded.";
    "/api/health/checks/metadata-store/initialized/with-data" => Management, has_data, "There are definitions.";
    "/api/health/checks/quorum-queues-without-elected-leaders/all-vhosts" => Management, have_leaders,
        "All quorum queues have a leader.";
    "/api/health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/{pattern}" => Management, have_leaders,
        "All quorum queues that match have a leader.";
    "/api/health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}" => Management, have_leaders,
        "All quorum queues of a vhost have a leader.";
    "/api/health/checks/quorum-queues-without-elected-leaders/vhost/{vhost}/pattern/{pattern}" => Management, have_leaders,
        "All quorum queues of a vhost that match have a leader.";
    "/api/healthchecks/node" => Management, alarms, "No alarm is on; an older check.";
    "/api/healthchecks/node/{node}" => Management, of_node, "No alarm of a node is on; an older check.";
    "/api/aliveness-test/{vhost}" => InVhost, alive, "The user may use the vhost; an older check.";
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
    let mut on = alarms_of(call.service.node(), call.broker().alarms());
    let peers = call.broker().peer_alarms();
    on.extend(peers.iter().flat_map(|peer| alarms_of(&peer.node, peer.alarms)));
    tell_alarms(on)
}

fn local_alarms(call: &Call) -> Result<Answer, Problem> {
    tell_alarms(alarms_of(call.service.node(), call.broker().alarms()))
}

fn alarms_of(node: &str, alarms: Alarms) -> Vec<Value> {
    let on = [("memory", alarms.is_memory_low), ("disk", alarms.is_disk_low)].into_iter().filter(|(_, is_on)| *is_on);
    on.map(|(resource, _)| json!({"node": node, "resource": resource})).collect()
}

fn tell_alarms(on: Vec<Value>) -> Result<Answer, Problem> {
    Ok(match on.is_empty() {
        true => passed(Map::new()),
        false => failed("There are alarms in effect in the cluster", members(json!({"alarms": on}))),
    })
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

/// What RabbitMQ tells of each identity of a listener with certificates that end until then; None: whenever they end.
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
    let Some(cluster) = call.service.cluster().filter(|view| view.members.len() > 1) else {
        return Ok(passed(members(json!({"reason": "single node cluster"}))));
    };
    Ok(match cluster.is_critical(call.service.node()) {
        true => failed(CRITICAL, Map::new()),
        false => passed(Map::new()),
    })
}

/// RabbitMQ's words, and what it would be for all queues at once.
const CRITICAL: &str =
    "There are queues that would lose their quorum if the target node is shut down: all of the cluster's";

/// Why this node takes no clients, if it does not.
fn out_of_service(call: &Call) -> Option<String> {
    let cluster = call.service.cluster()?;
    let (voters, running) = cluster.voter_count();
    if !cluster.has_majority {
        return Some(format!("this node is in a minority: it can reach {running} of {voters} nodes, itself included"));
    }
    let is_draining = cluster.member(call.service.node()).is_some_and(|member| member.is_draining);
    is_draining.then(|| "this node is in maintenance mode".to_owned())
}

fn in_service(call: &Call) -> Result<Answer, Problem> {
    Ok(uncached(out_of_service(call).map_or_else(|| passed(Map::new()), |reason| failed(&reason, Map::new()))))
}

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
    if let Some(reason) = out_of_service(call) {
        return Ok(uncached(failed(&reason, Map::new())));
    }
    let is_listening = call.service.active_listeners().iter().any(|listener| listener.protocol.starts_with("amqp"));
    if !is_listening {
        return Ok(uncached(failed("no protocol listeners", Map::new())));
    }
    connection_limit(call)
}

fn has_data(call: &Call) -> Result<Answer, Problem> {
    Ok(match call.broker().vhost_names().is_empty() {
        false => passed(Map::new()),
        true => failed("Metadata store has not yet been initialized: it has no data", Map::new()),
    })
}
