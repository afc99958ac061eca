//! Why an entry, or the body of a request, cannot be read.

use model::user::HashingAlgorithm;
use serde_json::Value;

/// What is wrong with a JSON object. The texts are for people; where RabbitMQ's HTTP API answers with a term of its own, there is a variant
/// for it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// Members that must be there are not.
    #[error("{}", missing(.0))]
    Missing(Vec<String>),
    /// A user has no tags.
    #[error("the key 'tags' is missing")]
    TagsMissing,
    /// A member is neither true nor false.
    #[error("'{name}' must be true or false, not {value}")]
    NotBoolean {
        /// The member.
        name: String,
        /// What it is.
        value: Value,
    },
    /// A text has other characters than digits.
    #[error("'{name}' must be an integer, not \"{text}\"")]
    NotInteger {
        /// The member.
        name: String,
        /// What it is.
        text: String,
    },
    /// The hash of a password is not base64.
    #[error("'{name}' is not valid base64")]
    NotBase64 {
        /// The member.
        name: &'static str,
        /// What it is.
        text: String,
    },
    /// The hash of a password has another length than those of its algorithm.
    #[error("{name} is not the base64 of a 4 byte salt and a hash of the length of {}", algorithm.name())]
    HashLength {
        /// The member.
        name: &'static str,
        /// The algorithm.
        algorithm: HashingAlgorithm,
    },
    /// A user has a password and the hash of one.
    #[error("'{plain}' and '{hash}' exclude each other")]
    TwoPasswords {
        /// The member with the password.
        plain: &'static str,
        /// The member with the hash.
        hash: &'static str,
    },
    /// What RabbitMQ calls a failed validation.
    #[error("{text}")]
    Validation {
        /// What is wrong.
        text: String,
        /// What RabbitMQ says of it.
        of_rabbitmq: String,
    },
    /// A parameter is of a component that does not exist here.
    #[error(
        "Validation failed\n\ncomponent {component} not found\n (vhost: \"{vhost}\" / component: \"{component}\" / key: \"{name}\")"
    )]
    UnknownComponent {
        /// The component.
        component: String,
        /// Where the parameter is.
        vhost: String,
        /// Its name.
        name: String,
    },
    /// Anything else.
    #[error("{0}")]
    Invalid(String),
}

fn missing(names: &[String]) -> String {
    match names {
        [name] => format!("the key '{name}' is missing"),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
            format!("the keys {} are missing", names.join(", "))
        }
    }
}

impl ReadError {
    /// What has a text of its own.
    pub fn invalid(error: impl std::fmt::Display) -> ReadError {
        ReadError::Invalid(error.to_string())
    }

    /// Whether it makes sense, but not here.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, ReadError::UnknownComponent { .. })
    }

    /// A failed validation.
    pub(crate) fn validation(text: impl std::fmt::Display, of_rabbitmq: String) -> ReadError {
        ReadError::Validation { text: text.to_string(), of_rabbitmq }
    }

    /// The text, or RabbitMQ's own of what it calls a failed validation.
    #[must_use]
    pub fn in_words_of_rabbitmq(&self) -> String {
        match self {
            ReadError::Validation { of_rabbitmq, .. } => format!("Validation failed\n\n{of_rabbitmq}\n"),
            other => other.to_string(),
        }
    }
}
