//! The table of routes, a file for each family.

mod alerts;
mod audit;
mod backup;
mod bindings;
mod channels;
pub(crate) mod cluster;
mod connections;
mod console;
mod consumers;
mod data_loss;
mod definitions;
mod delayed;
mod deliveries;
mod exchanges;
mod features;
mod federation;
pub(crate) mod health;
mod identity;
mod latency;
mod limits;
mod live;
pub(crate) mod log;
mod memory;
mod messages;
mod nodes;
mod oauth;
mod overview;
mod parameters;
mod permission_check;
mod permissions;
mod policies;
mod policy_preview;
mod pressure;
pub(crate) mod process;
pub(crate) mod profile;
mod publish;
mod queue_info;
pub(crate) mod queue_rows;
mod queues;
mod quorum_queues;
mod refusals;
mod request_params;
mod root;
mod selection;
mod session;
mod shovels;
mod slow_requests;
mod top;
mod topic_permissions;
pub(crate) mod trace;
mod trace_messages;
mod traces;
mod troubles;
mod users;
mod vhosts;

pub(crate) use overview::CHURN;
pub use overview::http_contexts;

use crate::route::Route;

/// Whether a route is that of the short list of queues.
pub(crate) fn is_queue_info(route: &Route) -> bool {
    queue_info::ROUTES.iter().any(|own| std::ptr::eq(own, route))
}

/// Every route there is.
pub(crate) fn all() -> impl Iterator<Item = &'static Route> {
    [
        root::ROUTES,
        console::ROUTES,
        identity::ROUTES,
        session::ROUTES,
        oauth::ROUTES,
        overview::ROUTES,
        nodes::ROUTES,
        health::ROUTES,
        features::ROUTES,
        definitions::ROUTES,
        vhosts::ROUTES,
        limits::ROUTES,
        users::ROUTES,
        permissions::ROUTES,
        permission_check::ROUTES,
        topic_permissions::ROUTES,
        policies::ROUTES,
        policy_preview::ROUTES,
        parameters::ROUTES,
        exchanges::ROUTES,
        delayed::ROUTES,
        shovels::ROUTES,
        federation::ROUTES,
        queues::ROUTES,
        queue_info::ROUTES,
        quorum_queues::ROUTES,
        messages::ROUTES,
        bindings::ROUTES,
        publish::ROUTES,
        connections::ROUTES,
        channels::ROUTES,
        consumers::ROUTES,
        alerts::ROUTES,
        process::ROUTES,
        log::ROUTES,
        audit::ROUTES,
        profile::ROUTES,
        backup::ROUTES,
        cluster::ROUTES,
        data_loss::ROUTES,
        latency::ROUTES,
        troubles::ROUTES,
        pressure::ROUTES,
        slow_requests::ROUTES,
        top::ROUTES,
        live::ROUTES,
        trace::ROUTES,
        traces::ROUTES,
        trace_messages::ROUTES,
    ]
    .into_iter()
    .flatten()
}
