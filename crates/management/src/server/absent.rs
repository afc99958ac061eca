//! The answers while no broker runs here: the reason, and what the node knows without one.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_server::AnswerBody;
use hyper::body::Body;
use hyper::{Request, Response};

use crate::headers;
use crate::local::{Doorkeeper, LocalSite};
use crate::options::Options;
use crate::problem::Problem;
use crate::response::problem_response;

/// Answers where no broker does.
pub struct Absent {
    options: Arc<Options>,
    /// Why no client is served, also through another node; None: only what the node answers itself is asked for.
    refusal: Option<Box<str>>,
    local: Option<Arc<LocalSite>>,
    /// Decides whether others than the operator may look inside. None: they may not.
    doorkeeper: Option<Doorkeeper>,
}

impl fmt::Debug for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Absent").field("refusal", &self.refusal).finish_non_exhaustive()
    }
}

/// Why none does, where nothing else is known.
const NO_BROKER: &str = "no broker is running on this node";

impl Absent {
    /// Answers what the node answers itself.
    #[must_use]
    pub fn new(options: Arc<Options>, local: Arc<LocalSite>) -> Self {
        Self { options, refusal: None, local: Some(local), doorkeeper: None }
    }

    /// Answers what the node answers itself, and introspection to clients that the doorkeeper lets in.
    #[must_use]
    pub fn guarded(options: Arc<Options>, local: Arc<LocalSite>, doorkeeper: Doorkeeper) -> Self {
        Self { options, refusal: None, local: Some(local), doorkeeper: Some(doorkeeper) }
    }

    /// Says that no client is served, and why.
    #[must_use]
    pub fn refusing(options: Arc<Options>, reason: &str, local: Option<Arc<LocalSite>>) -> Self {
        Self { options, refusal: Some(reason.into()), local, doorkeeper: None }
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) async fn respond<B: Body<Data = Bytes>>(&self, request: Request<B>) -> Response<AnswerBody> {
        let (parts, body) = request.into_parts();
        let local = match &self.local {
            Some(local) => local.answer(&parts, body, self.refusal.as_deref(), self.doorkeeper.as_ref()).await,
            None => None,
        };
        let mut response = local
            .unwrap_or_else(|| problem_response(&Problem::unavailable(self.refusal.as_deref().unwrap_or(NO_BROKER))));
        headers::add_common(response.headers_mut(), &self.options.headers, None);
        headers::add_cors(response.headers_mut(), &self.options.cors, &parts.headers, None);
        response
    }
}
