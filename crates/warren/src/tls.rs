//! TLS of listeners: from the configuration to the socket, and files that change while we run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use model::config::{PeerVerification, TlsIdentity, TlsOptions, TlsVersion};
use net::{ClientVerification, Identity, Reload, ServerTls, ServerTlsOptions, SniIdentity, TlsSetupError};

/// How often files are looked at. Certificates are renewed days before they end.
const FILES_INTERVAL: Duration = Duration::from_secs(5);

/// Everything with files of certificates and keys, each with what the log calls it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsFiles(Vec<(&'static str, Arc<ServerTls>)>);

impl TlsFiles {
    /// Reads the files that `options`, the keys below `prefix`, name. From now on they are looked after.
    pub(crate) fn open(&mut self, prefix: &'static str, options: &TlsOptions) -> Result<Arc<ServerTls>> {
        let tls = ServerTls::new(server_options(options)).with_context(|| format!("cannot use {prefix}"))?;
        let tls = Arc::new(tls);
        self.0.push((prefix, Arc::clone(&tls)));
        Ok(tls)
    }

    /// Reads all of them again. What is broken is logged, and the old files stay in force.
    pub(crate) fn reload(&self) {
        for (prefix, tls) in &self.0 {
            log_reload(prefix, tls.reload().map(|()| Reload::Reloaded));
        }
    }

    /// Reads again what has changed.
    fn reload_changed(&self) {
        for (prefix, tls) in &self.0 {
            log_reload(prefix, tls.reload_if_changed());
        }
    }

    /// Does the latter every now and then, for ever.
    pub(crate) async fn watch(self) {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let mut ticks = tokio::time::interval(FILES_INTERVAL);
        loop {
            ticks.tick().await;
            self.reload_changed();
        }
    }
}

fn log_reload(prefix: &str, outcome: Result<Reload, TlsSetupError>) {
    match outcome {
        Ok(Reload::Unchanged) => {}
        Ok(Reload::Reloaded) => tracing::info!(prefix, "certificates and keys reloaded"),
        Err(error) => {
            tracing::error!(prefix, %error, "reloading certificates or keys failed; the old ones stay in use");
        }
    }
}

fn server_options(options: &TlsOptions) -> ServerTlsOptions {
    // The configuration has made sure that there are authorities where they are needed.
    let authorities = || PathBuf::from(options.cacertfile.as_deref().unwrap_or_default());
    let depth = options.depth;
    ServerTlsOptions {
        identity: identity(&options.identity),
        sni: options
            .sni
            .iter()
            .map(|sni| SniIdentity { hostname: sni.hostname.clone(), identity: identity(&sni.identity) })
            .collect(),
        clients: match options.verify {
            PeerVerification::None => ClientVerification::None,
            PeerVerification::Optional => ClientVerification::Optional { authorities: authorities(), depth },
            PeerVerification::Required => ClientVerification::Required { authorities: authorities(), depth },
        },
        versions: options
            .versions
            .iter()
            .map(|version| match version {
                TlsVersion::V1_2 => net::TlsVersion::V1_2,
                TlsVersion::V1_3 => net::TlsVersion::V1_3,
            })
            .collect(),
        cipher_suites: options.ciphers.clone(),
        is_cipher_order_ours: options.honor_cipher_order,
    }
}

fn identity(identity: &TlsIdentity) -> Identity {
    Identity {
        chain: PathBuf::from(&identity.certfile),
        key: PathBuf::from(&identity.keyfile),
        password: identity.password.clone(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_suite_that_the_configuration_knows_there_is() {
        for name in model::config::CIPHER_SUITES {
            assert!(net::parse_cipher_suite(name).is_ok(), "{name}");
        }
        for name in net::known_cipher_suites() {
            assert!(model::config::CIPHER_SUITES.contains(&name), "{name}");
        }
    }
}
