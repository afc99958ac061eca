//! Links over sockets of this host: nodes that are linked, and what strangers and faults do to them.

mod calls;
mod changes;
mod files;
mod forward;
mod group;
mod messages;
mod node;
mod strangers;
mod times;
mod tls;
