//! From what a command says about connections to the broker that is under load.

use std::time::Duration;

use amqp::{TableBuf, Value};
use client::{ConnectOptions, Mechanism, Uri};
use net::{ClientTls, ClientTlsOptions, DialOptions, Trust};

use super::Failure;
use crate::engine::{self, Recovery, Target};
use crate::perftest::{Allocation, ConnectionSettings};

/// Makes the target. `is_spread`: connect from many local addresses.
pub(crate) fn target(settings: &ConnectionSettings, is_spread: bool) -> Result<Target, Failure> {
    let uris =
        settings.uris.iter().map(|uri| Uri::parse(uri)).collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
    let needs_tls = uris.iter().any(|uri| uri.is_tls);
    let tls = if needs_tls { Some(ClientTls::new(&tls_options(settings)).map_err(Failure::failed)?) } else { None };
    let seconds = |time: Duration| u16::try_from(time.as_secs()).unwrap_or(u16::MAX);
    let options = ConnectOptions {
        properties: TableBuf::new()
            .with("product", Value::LongStr(b"warren perf"))
            .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
            .with("platform", Value::LongStr(b"Rust")),
        mechanism: if settings.is_sasl_external { Mechanism::External } else { Mechanism::Plain },
        heartbeat: settings.heartbeat.map_or(0, seconds),
        frame_max: settings.frame_len_max.unwrap_or(0),
        tls,
        dial: DialOptions {
            nodelay: settings.has_no_delay,
            send_buffer_len: settings.send_buffer_len,
            receive_buffer_len: settings.receive_buffer_len,
            ..DialOptions::default()
        },
        ..ConnectOptions::default()
    };
    let mut target = Target::new(uris, options);
    target.allocation = match settings.allocation {
        Allocation::Random => engine::Allocation::Random,
        Allocation::RoundRobin => engine::Allocation::InTurn,
    };
    target.recovery = match settings.recovery_interval {
        Some((least, most)) => Recovery::Every(least..=most),
        None => Recovery::Never,
    };
    target.startup_timeout = settings.startup_timeout.unwrap_or(Duration::ZERO);
    // Without a time to wait, one that is there is enough.
    target.startup_count = settings.startup_timeout.map_or(1, |_| settings.startup_count);
    target.is_spread = is_spread;
    Ok(target)
}

fn tls_options(settings: &ConnectionSettings) -> ClientTlsOptions {
    let trust = match &settings.tls.ca {
        _ if settings.tls.is_insecure => Trust::Anybody,
        Some(file) => Trust::File(file.clone()),
        None => Trust::System,
    };
    ClientTlsOptions { trust, identity: settings.tls.identity.clone(), server_name: settings.tls.server_name.clone() }
}
