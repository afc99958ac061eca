//! The keys of metrics for Prometheus, typed.

use super::schema::prometheus as keys;
use super::values::Values;

/// Options of metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusOptions {
    /// Whether they are served.
    pub is_enabled: bool,
    /// Where they are: with a `/` in front and none at the end, or empty for the root.
    pub path: String,
    /// Whether that path has the metrics of every object.
    pub return_per_object_metrics: bool,
    /// Whether they are shown only to users that may monitor.
    pub authentication_enabled: bool,
}

pub(super) fn read(values: &Values) -> PrometheusOptions {
    PrometheusOptions {
        is_enabled: values.get(&keys::ENABLED),
        path: super::management::path_prefix(&values.find(&keys::PATH).unwrap_or_default()),
        return_per_object_metrics: values.get(&keys::RETURN_PER_OBJECT_METRICS),
        authentication_enabled: values.get(&keys::AUTHENTICATION_ENABLED),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Source};

    #[track_caller]
    fn parsed(text: &str) -> Config {
        let source = Source { name: "rabbitmq.conf".to_owned(), text: text.to_owned() };
        Config::parse(&[source], &[], &[]).unwrap().0
    }

    #[track_caller]
    fn check_listeners(text: &str, expected: &[&str]) {
        let config = parsed(text);
        let shown: Vec<String> = config
            .prometheus_listeners
            .iter()
            .map(|listener| {
                let tls = if listener.tls.is_some() { " tls" } else { "" };
                let compress = if listener.compress { "" } else { " plain" };
                format!("{} {}{tls}{compress}", listener.prefix, listener.address)
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn metrics_listen_where_rabbitmqs_do() {
        check_listeners("", &["prometheus.tcp 15692"]);
        check_listeners("prometheus.tcp.port = 1\nprometheus.tcp.ip = ::1", &["prometheus.tcp [::1]:1"]);
        check_listeners("prometheus.tcp.listener = 127.0.0.1:2", &["prometheus.tcp 127.0.0.1:2"]);
        check_listeners("prometheus.tcp.listener = none", &[]);
        check_listeners("prometheus.tcp.compress = false", &["prometheus.tcp 15692 plain"]);
        let tls = "prometheus.ssl.certfile = s.pem\nprometheus.ssl.keyfile = s.key\n";
        check_listeners(tls, &["prometheus.tcp 15692", "prometheus.ssl 15691 tls"]);
        let only = format!("{tls}prometheus.tcp.listener = none\nprometheus.ssl.port = 3");
        check_listeners(&only, &["prometheus.ssl 3 tls"]);
    }

    #[test]
    fn a_listener_with_tls_needs_a_certificate() {
        let source = Source { name: "rabbitmq.conf".to_owned(), text: "prometheus.ssl.port = 15691".to_owned() };
        let error = Config::parse(&[source], &[], &[]).unwrap_err().to_string();
        assert!(error.contains("'prometheus.ssl.port' needs 'prometheus.ssl.certfile'"), "{error}");
    }

    #[test]
    fn the_path_has_a_slash_in_front_and_none_at_the_end() {
        for (text, path) in [("", "/metrics"), ("prometheus.path = /a/b/", "/a/b"), ("prometheus.path = /", "")] {
            assert_eq!(parsed(text).prometheus.path, path);
        }
    }

    #[test]
    fn metrics_are_for_everybody_and_of_the_whole_node_unless_said_otherwise() {
        let options = parsed("").prometheus;
        assert!(options.is_enabled && !options.return_per_object_metrics && !options.authentication_enabled);
        let set = "warren.prometheus.enabled = false\nprometheus.return_per_object_metrics = true\n\
                   prometheus.authentication.enabled = true";
        let options = parsed(set).prometheus;
        assert!(!options.is_enabled && options.return_per_object_metrics && options.authentication_enabled);
    }
}
