//! Where RabbitMQ has its files, and where this broker's data are among them.

use std::path::{Path, PathBuf};

use crate::config_files::Locations;
use crate::environment::Environment;

/// Its configuration.
const ETC: &str = "/etc/rabbitmq";
/// Its data: what containers have as a volume.
const MNESIA_BASE: &str = "/var/lib/rabbitmq/mnesia";

/// Its file of variables.
pub(super) const ENV_FILE: &str = "/etc/rabbitmq/rabbitmq-env.conf";
/// Its home, where the cookie is.
pub(super) const HOME: &str = "/var/lib/rabbitmq";

/// Variables that name directories, which are read here.
pub(super) const VARIABLES: &[&str] =
    &["RABBITMQ_MNESIA_DIR", "RABBITMQ_MNESIA_BASE", "RABBITMQ_ENABLED_PLUGINS_FILE", "RABBITMQ_LOG_BASE"];

/// What of a data directory shows that RabbitMQ has written it.
const OF_RABBITMQ: &[&str] = &["schema.DAT", "schema_upgrade_lock", "msg_stores", "coordination", "quorum"];

/// The configuration's files, where variables name no others.
pub(super) fn locations(environment: &Environment) -> Locations {
    let beside = Locations::beside(None, environment);
    let usual = Path::new(ETC);
    let main = beside.main.or_else(|| {
        let names = ["rabbitmq.conf", "rabbitmq.config"].map(|name| usual.join(name));
        names.into_iter().find(|file| file.exists())
    });
    Locations {
        main,
        conf_d: beside.conf_d.or_else(|| Some(usual.join("conf.d"))),
        advanced: beside.advanced.or_else(|| Some(usual.join("advanced.config")).filter(|file| file.exists())),
    }
}

/// The directory below which nodes have theirs.
pub(super) fn base(environment: &Environment) -> PathBuf {
    PathBuf::from(environment.get("RABBITMQ_MNESIA_BASE").unwrap_or(MNESIA_BASE))
}

/// This broker's own data. They do not depend on the node's name, which in a container may be another one each time.
pub(super) fn data_dir(environment: &Environment) -> PathBuf {
    match environment.get("RABBITMQ_MNESIA_DIR") {
        Some(dir) => Path::new(dir).join("warren"),
        None => base(environment).join("warren"),
    }
}

/// Data that a RabbitMQ has left, which are not read.
pub(super) fn left_by_rabbitmq(environment: &Environment) -> Option<PathBuf> {
    let is_one = |dir: &Path| OF_RABBITMQ.iter().any(|name| dir.join(name).exists());
    let named = environment.get("RABBITMQ_MNESIA_DIR").map(PathBuf::from).filter(|dir| is_one(dir));
    named.or_else(|| {
        let entries = std::fs::read_dir(base(environment)).ok()?;
        entries.filter_map(|entry| Some(entry.ok()?.path())).find(|dir| is_one(dir))
    })
}

/// The file that lists plugins.
pub(super) fn enabled_plugins(environment: &Environment) -> PathBuf {
    let usual = || Path::new(ETC).join("enabled_plugins");
    environment.get("RABBITMQ_ENABLED_PLUGINS_FILE").map_or_else(usual, PathBuf::from)
}
