//! What can be traced of the broker.

use telemetry::trace::Point;

pub(crate) static ROUTE: Point = Point::new(
    "routing::route",
    &["vhost", "exchange", "routing_key"],
    "Finds the queues of a message whose exchange and key are in no cache.",
);
pub(crate) static LOG_IN: Point = Point::new(
    "users::log_in",
    &["user", "from"],
    "Checks a login: by the broker's own users, or by a back end. The password is never shown.",
);
pub(crate) static CHECK: Point = Point::new(
    "users::check_permission",
    &["user", "vhost", "access", "kind", "name"],
    "Checks whether a user may do something with a queue or an exchange.",
);

/// All of these.
pub(crate) static ALL: &[&Point] = &[&ROUTE, &LOG_IN, &CHECK];
