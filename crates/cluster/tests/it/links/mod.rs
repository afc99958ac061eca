//! Links over sockets of this host: nodes that are linked, and what strangers and faults do to them.

mod calls;
mod files;
mod forward;
mod group;
mod messages;
mod node;
mod peers;
mod strangers;
mod times;
mod tls;
