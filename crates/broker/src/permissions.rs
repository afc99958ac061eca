//! What a user may do in a vhost, remembered for the names that were asked about last.
//!
//! An answer is remembered only as long as no user and no permission changes: what is revoked is revoked at once. Where a back end has to
//! be asked, the check is left open (see [`Permissions::take_open`]), and what was asked for is done again from its beginning when the
//! answer is there. That must not repeat an effect. So everything is done in two steps: the first only checks, and ends with a proof,
//! [`Permitted`]; the second takes the proof, acts, and checks no permission.

use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;

use model::name::{DEFAULT_EXCHANGE_ALIAS, VhostName};
use model::user::{Access, TopicAccess, TopicVariables};
use parking_lot::Mutex;

use crate::backend::{Answer, Decision, Question};
use crate::identity::{Authorizer, Identity, Origin, Rights};
use crate::trace_points::CHECK;
use crate::users::{Granted, Users};
use model::refusal::{self, Outcome};

/// As many as RabbitMQ remembers per channel.
const REMEMBERED_COUNT: usize = 12;

/// Proof that a user may do what is done next, to `T` if it is about one thing. Only a check gives it, and what acts takes it.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permitted<T = ()>(T);

impl Permitted {
    /// What both permit.
    pub(crate) fn and(self, other: Permitted) -> Permitted {
        let (Permitted(()), Permitted(())) = (self, other);
        Permitted(())
    }

    /// The same, about what is acted on.
    pub(crate) fn with<T>(self, target: T) -> Permitted<T> {
        Permitted(target)
    }
}

impl<T> Permitted<T> {
    /// What is acted on.
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Permitted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A user's permissions in a vhost.
#[derive(Debug)]
pub(crate) struct Permissions {
    identity: Arc<Identity>,
    vhost: VhostName,
    origin: Origin,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// [`Users::version`] when the rest was true; 0 before anything was asked.
    version: u64,
    granted: Granted,
    /// What was allowed, newest first.
    allowed: VecDeque<Question>,
    /// What back ends answered, and which were asked, until what it was asked for is done. One method may ask a great many.
    answers: HashMap<Question, Vec<(usize, bool)>>,
    open: Option<Box<Open>>,
}

/// A question that a back end has to answer before the check can be made.
pub(crate) struct Open {
    authorizer: usize,
    question: Question,
    pub(crate) answer: Answer<bool>,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("question", &self.question).finish_non_exhaustive()
    }
}

/// What kind of thing a permission is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// An exchange.
    Exchange,
    /// A queue.
    Queue,
}

impl Resource {
    /// The word in the text of a refusal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Resource::Exchange => "exchange",
            Resource::Queue => "queue",
        }
    }
}

impl Permissions {
    pub(crate) fn new(identity: Arc<Identity>, vhost: VhostName, origin: Origin) -> Self {
        Self { identity, vhost, origin, known: Mutex::default() }
    }

    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// The question that the last check was left open for, if it was: its refusal means nothing then. The taker waits for
    /// the answer, gives it to [`Permissions::close`], and checks again.
    pub(crate) fn take_open(&self) -> Option<Box<Open>> {
        self.known.lock().open.take()
    }

    /// Whether the last check was left open.
    pub(crate) fn has_open(&self) -> bool {
        self.known.lock().open.is_some()
    }

    /// An answer has come.
    pub(crate) fn close(&self, open: Open, is_allowed: bool) {
        let Open { authorizer, question, .. } = open;
        self.known.lock().answers.entry(question).or_default().push((authorizer, is_allowed));
    }

    /// What was asked for is done, or refused: the next time others are asked again.
    pub(crate) fn forget_answers(&self) {
        if let Rights::Others(_) = self.identity.rights {
            let mut known = self.known.lock();
            known.answers.clear();
            known.open = None;
        }
    }

    /// Runs `ask` on what is true now.
    fn ask<T>(&self, users: &Users, ask: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock();
        // Read before the permissions are: a change in between makes them be read again.
        let version = users.version() + 1;
        if known.version != version {
            let granted = users.granted(self.identity.name(), self.vhost.as_str());
            let answers = std::mem::take(&mut known.answers);
            *known = Known { version, granted, answers, ..Known::default() };
        }
        ask(&mut known)
    }

    /// Whether the user may do something. False, too, when a back end has to be asked first.
    fn allows(&self, users: &Users, question: &Question) -> bool {
        match &self.identity.rights {
            Rights::All => true,
            Rights::Stored => self.ask(users, |known| {
                if known.allowed.contains(question) {
                    return true;
                }
                let is_allowed = self.is_granted(&known.granted, question);
                if is_allowed {
                    known.remember(question);
                }
                is_allowed
            }),
            Rights::Others(authorizers) => self.ask(users, |known| {
                if known.allowed.contains(question) {
                    return true;
                }
                let mut all = authorizers.iter().enumerate();
                let is_allowed = all.all(|(number, authorizer)| self.agrees(known, number, authorizer, question));
                if is_allowed {
                    known.remember(question);
                }
                is_allowed
            }),
        }
    }

    fn agrees(&self, known: &mut Known, number: usize, authorizer: &Authorizer, question: &Question) -> bool {
        let (backend, user) = match authorizer {
            Authorizer::Stored => return self.is_granted(&known.granted, question),
            Authorizer::Backend(backend, user) => (backend, user),
        };
        let answers = known.answers.get(question).map_or(&[][..], Vec::as_slice);
        if let Some((_, is_allowed)) = answers.iter().find(|(of, _)| *of == number) {
            return *is_allowed;
        }
        match backend.decide(user, &self.origin, question) {
            Decision::Allowed => true,
            Decision::Refused => false,
            Decision::Ask(answer) => {
                known.open = Some(Box::new(Open { authorizer: number, question: question.clone(), answer }));
                false
            }
        }
    }

    /// What the permissions that the broker keeps say.
    fn is_granted(&self, granted: &Granted, question: &Question) -> bool {
        match question {
            Question::Vhost { .. } => granted.permission.is_some(),
            Question::Resource { name, access, .. } => {
                granted.permission.as_ref().is_some_and(|permission| permission.allows(*access, name))
            }
            Question::Topic { exchange, routing_key, access, .. } => {
                let vhost = self.vhost.as_str();
                let variables = TopicVariables { username: self.identity.name(), vhost, client_id: None };
                // Without a rule it may.
                let mut rules = granted.topics.iter().filter(|rule| rule.exchange.as_str() == *exchange);
                rules.all(|rule| rule.pattern(*access, variables).is_some_and(|pattern| pattern.is_match(routing_key)))
            }
        }
    }

    /// Whether it may be in the vhost at all.
    pub(crate) fn may_enter(&self, users: &Users) -> bool {
        self.allows(users, &Question::Vhost { vhost: self.vhost.to_string() })
    }

    fn question(&self, access: Access, resource: Resource, name: &str) -> Question {
        let name = permission_name(name).to_owned();
        Question::Resource { vhost: self.vhost.to_string(), resource, name, access }
    }

    /// Whether it may still read a queue that it reads, as far as the broker's own permissions say. No back end is asked anew: what it
    /// allowed holds for the consumer, until there is a new secret.
    pub(crate) fn may_go_on_reading(&self, users: &Users, queue: &str) -> bool {
        let question = self.question(Access::Read, Resource::Queue, queue);
        match &self.identity.rights {
            Rights::All => true,
            Rights::Stored => self.allows(users, &question),
            Rights::Others(authorizers) => {
                let is_stored = authorizers.iter().any(|authorizer| matches!(authorizer, Authorizer::Stored));
                !is_stored || self.ask(users, |known| self.is_granted(&known.granted, &question))
            }
        }
    }

    /// Whether there are rules about routing keys on this exchange.
    pub(crate) fn has_topic_rules(&self, users: &Users, exchange: &str) -> bool {
        let is_about = |known: &mut Known| known.granted.topics.iter().any(|rule| rule.exchange.as_str() == exchange);
        match &self.identity.rights {
            Rights::All => false,
            Rights::Stored => self.ask(users, is_about),
            Rights::Others(_) => true,
        }
    }

    /// Refuses with 403 what it may not do.
    pub(crate) fn check(&self, users: &Users, access: Access, resource: Resource, name: &str) -> Outcome<Permitted> {
        let question = self.question(access, resource, name);
        let word = match access {
            Access::Configure => "configure",
            Access::Write => "write",
            Access::Read => "read",
        };
        let mut call = CHECK.enter(|arguments| {
            arguments.text("user", self.identity.name()).text("vhost", self.vhost.as_str()).text("access", word);
            arguments.text("kind", resource.name()).text("name", name);
        });
        if self.allows(users, &question) {
            call.returns(|| "allowed".to_owned());
            return Ok(Permitted(()));
        }
        call.returns(|| if self.has_open() { "a back end is to be asked" } else { "refused" }.to_owned());
        let name = permission_name(name);
        refusal::access_refused(format!(
            "{word} access to {} '{name}' in vhost '{}' refused for user '{}'",
            resource.name(),
            self.vhost,
            self.identity.name()
        ))
    }

    /// Passive declares need any one permission (since RabbitMQ 4.3.1).
    pub(crate) fn check_any(&self, users: &Users, resource: Resource, name: &str) -> Outcome<Permitted> {
        let refused = self.check(users, Access::Configure, resource, name);
        for access in [Access::Write, Access::Read] {
            if refused.is_ok() || self.has_open() {
                break;
            }
            let allowed = self.check(users, access, resource, name);
            if allowed.is_ok() {
                return allowed;
            }
        }
        refused
    }

    /// Refuses with 403 a routing key that it may not use.
    pub(crate) fn check_topic(
        &self,
        users: &Users,
        access: TopicAccess,
        exchange: &str,
        routing_key: &[u8],
    ) -> Outcome<Permitted> {
        let key = String::from_utf8_lossy(routing_key).into_owned();
        let (vhost, exchange) = (self.vhost.to_string(), exchange.to_owned());
        let question = Question::Topic { vhost, exchange: exchange.clone(), routing_key: key.clone(), access };
        if self.allows(users, &question) {
            return Ok(Permitted(()));
        }
        let word = match access {
            TopicAccess::Write => "write",
            TopicAccess::Read => "read",
        };
        let user = self.identity.name();
        refusal::access_refused(format!(
            "{word} access to topic '{key}' in exchange '{exchange}' in vhost '{}' refused for user '{user}'",
            self.vhost
        ))
    }
}

/// What a permission's pattern is matched with: the default exchange has another name there.
pub(crate) fn permission_name(name: &str) -> &str {
    if name.is_empty() { DEFAULT_EXCHANGE_ALIAS } else { name }
}

impl Known {
    fn remember(&mut self, question: &Question) {
        self.allowed.truncate(REMEMBERED_COUNT - 1);
        self.allowed.push_front(question.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_exchange_has_another_name_in_permissions() {
        assert_eq!(permission_name(""), "amq.default");
        assert_eq!(permission_name("logs"), "logs");
    }
}
