//! Why an entry is not taken.

use definitions::ReadError;

use crate::pages;
use crate::sheet::Remark;

/// What becomes of an entry: remarks where it is taken, or why it is not.
pub(super) type Judgement = Result<Vec<Remark>, Refusal>;

/// Why an entry is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    text: String,
    advice: String,
    page: &'static str,
    /// It makes sense, but not here.
    pub(super) is_unsupported: bool,
}

impl Refusal {
    /// It makes no sense, and has to be corrected.
    pub(super) fn wrong(text: impl Into<String>) -> Refusal {
        let advice = "correct the entry, or remove it: nothing is imported with this entry".to_owned();
        Refusal { text: text.into(), advice, page: pages::HTTP_API, is_unsupported: false }
    }

    /// It makes sense, but not here.
    pub(super) fn unsupported(text: impl Into<String>, advice: impl Into<String>, page: &'static str) -> Refusal {
        Refusal { text: text.into(), advice: advice.into(), page, is_unsupported: true }
    }
}

impl From<Refusal> for Remark {
    fn from(refusal: Refusal) -> Remark {
        let remark = Remark::refused(refusal.text, refusal.page).advising(refusal.advice);
        if refusal.is_unsupported { remark.that_can_be_left_out() } else { remark }
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Refusal {
        match &error {
            ReadError::UnknownComponent { component, .. } => missing(component),
            _ => Refusal::wrong(error.to_string()),
        }
    }
}

/// What there is to say of a component that is not there.
fn missing(component: &str) -> Refusal {
    match component {
        // Of RabbitMQ 2 and 3.0.
        "federation" => {
            let advice = "replace it by parameters federation-upstream and federation-upstream-set and a policy, as in RabbitMQ since 3.1";
            Refusal::unsupported("this component no longer exists", advice, pages::FEDERATION)
        }
        other => {
            let advice = "find out which plugin reads it, and whether it is needed";
            Refusal::unsupported(
                format!("parameters of the component '{other}' are not supported"),
                advice,
                pages::DIFFERENCES,
            )
        }
    }
}
