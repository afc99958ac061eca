//! One broker, over its HTTP API and over AMQP.

use std::collections::BTreeMap;
use std::time::Duration;

use amqp_client::{CallError, ConnectOptions, Connection, Uri};
use http_client::{Answer, Client, DEFINITIONS_LEN_MAX, HttpError, Method, Request};
use net::ClientTls;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::address::Address;
use crate::definitions;
use crate::facts::OWN_NAME;
use crate::failure::Failure;
use crate::queue::{COLUMNS, Queue, QueueId};

/// How long an answer may take: RabbitMQ takes its time for long lists.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a document may take to be imported.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);
/// How old RabbitMQ's numbers of queues may be: its queues report them every five seconds.
const RABBITMQ_LAG_MS: u64 = 6_000;

const DEFINITIONS: &str = "/api/definitions";

/// All bindings, as definitions have them.
const BINDINGS: &str = "/api/bindings?columns=source,vhost,destination,destination_type,routing_key,arguments";

const CHANNEL: u16 = 1;
const NOT_FOUND: u16 = 404;

/// A broker.
pub(crate) struct Broker {
    /// `old` or `new`.
    role: &'static str,
    place: String,
    uri: Uri,
    tls: ClientTls,
    api: Client,
    /// The user that asks.
    pub(crate) user: String,
    /// `RabbitMQ 3.10.8`.
    pub(crate) product: String,
    pub(crate) is_warren: bool,
}

impl Broker {
    pub(crate) fn new(role: &'static str, address: &Address, tls: &ClientTls) -> Self {
        let mut api = Client::new(address.api.clone(), TIMEOUT);
        api.set_answer_len_max(DEFINITIONS_LEN_MAX);
        Broker {
            role,
            place: address.shown(),
            uri: address.uri.clone(),
            tls: tls.clone(),
            api,
            user: String::new(),
            product: String::new(),
            is_warren: false,
        }
    }

    /// The broker as the beginning of a sentence.
    pub(crate) fn named(&self) -> String {
        format!("the {} broker ({})", self.role, self.place)
    }

    pub(crate) fn lag_ms(&self) -> u64 {
        if self.is_warren { 0 } else { RABBITMQ_LAG_MS }
    }

    /// Asks for the broker's product and version, and for the user that asks.
    pub(crate) async fn identify(&mut self) -> Result<(), Failure> {
        let overview = self.get("/api/overview?columns=product_name,product_version,rabbitmq_version").await?;
        let text = |name: &str| overview[name].as_str();
        let Some(version) = text("product_version").or(text("rabbitmq_version")) else {
            let text =
                format!("{} may not be a broker: its overview at {} has no version", self.named(), self.api.url());
            return Err(Failure::Stopped(text));
        };
        let name = text("product_name").unwrap_or("RabbitMQ");
        self.is_warren = name == "Warren";
        self.product = format!("{name} {version}");
        let user = self.get("/api/whoami").await?;
        self.user = user["name"].as_str().unwrap_or_default().to_owned();
        let tags = match &user["tags"] {
            Value::Array(tags) => tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            tags => tags.as_str().unwrap_or_default().split(',').map(str::to_owned).collect::<Vec<_>>(),
        };
        if !tags.iter().any(|tag| tag.trim() == "administrator") {
            let text = format!(
                "user '{}' is not an administrator of {}: only administrators may export and import",
                self.user,
                self.named()
            );
            return Err(Failure::Stopped(text));
        }
        Ok(())
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Value, Failure> {
        let answer = self.ask(Request::new(Method::GET).below(path), path).await?;
        self.value(path, &answer)
    }

    /// The text of an answer, which is not taken apart: it may be very long.
    pub(crate) async fn text(&mut self, path: &str) -> Result<String, Failure> {
        let answer = self.ask(Request::new(Method::GET).below(path), path).await?;
        if answer.status.as_u16() == 404 {
            return Ok("[]".to_owned());
        }
        let text = String::from_utf8(answer.body.into()).ok();
        let text = text.filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        let text =
            text.ok_or_else(|| Failure::Stopped(format!("{} does not answer {path} with JSON", self.named())))?;
        match text.trim_start().starts_with(['{', '[']) {
            true => Ok(text),
            false => {
                Err(Failure::Stopped(format!("{} answers {path} with neither an object nor a list", self.named())))
            }
        }
    }

    /// Some lists of its definitions, as it exports them, as a document.
    pub(crate) async fn lists(&mut self, lists: &[&'static str]) -> Result<Value, Failure> {
        let text = self.text(DEFINITIONS).await?;
        ::definitions::lists_of(&text, lists).map_err(|error| {
            Failure::Stopped(format!("{} does not answer {DEFINITIONS} with JSON: {error}", self.named()))
        })
    }

    /// A list. Where there is none of that kind, such as shovels without the plugin, it is empty.
    pub(crate) async fn list(&mut self, path: &str) -> Result<Vec<Value>, Failure> {
        match self.get(path).await? {
            Value::Array(list) => Ok(list),
            _ => Err(Failure::Stopped(format!("{} does not answer {path} with a list", self.named()))),
        }
    }

    /// Its definitions, as the other broker can import them.
    pub(crate) async fn definitions(&mut self) -> Result<Value, Failure> {
        let mut definitions = self.get(DEFINITIONS).await?;
        if !definitions.is_object() {
            return Err(Failure::Stopped(format!("{} does not answer /api/definitions with an object", self.named())));
        }
        let exchanges = self.list(&format!("/api/{}", ::definitions::EXCHANGES)).await?;
        if self.is_warren && exchanges.iter().any(::definitions::is_internal) {
            let bindings = self.list(BINDINGS).await?;
            definitions::add_bindings_of_internal(&mut definitions, &exchanges, bindings);
        }
        Ok(::definitions::exported(definitions, &exchanges))
    }

    /// Imports a document of definitions. Returns what was left out.
    pub(crate) async fn import(&mut self, document: &Value, skips_unsupported: bool) -> Result<Vec<String>, Failure> {
        let path = if skips_unsupported { "/api/definitions?skip_unsupported=true" } else { "/api/definitions" };
        self.api.set_timeout(IMPORT_TIMEOUT);
        let answer = self.ask(Request::new(Method::POST).below(path).with_json(document.to_string()), path).await;
        self.api.set_timeout(TIMEOUT);
        let answer = answer?;
        if answer.body.is_empty() {
            return Ok(Vec::new());
        }
        let value = self.value(path, &answer)?;
        let left_out = value["left_out"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(left_out.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Deletes something. That it is not there is as good.
    pub(crate) async fn delete(&mut self, path: &str) -> Result<(), Failure> {
        self.ask(Request::new(Method::DELETE).below(path), path).await.map(drop)
    }

    async fn ask(&mut self, request: Request, path: &str) -> Result<Answer, Failure> {
        let is_deletion = request.body_len() == 0 && !path.contains("definitions");
        let answer = self.api.ask(&request).await.map_err(|error| self.away(&error))?;
        let status = answer.status.as_u16();
        let body = || reason(&answer.body);
        match status {
            200..=299 => Ok(answer),
            404 if is_deletion => Ok(answer),
            401 => Err(Failure::Stopped(format!("{} does not accept the user: {}", self.named(), body()))),
            500..=599 => Err(Failure::Away(format!("{} answers {path} with {status}: {}", self.named(), body()))),
            _ => Err(Failure::Stopped(format!("{} refuses {path}: {status} {}", self.named(), body()))),
        }
    }

    fn away(&self, error: &HttpError) -> Failure {
        Failure::Away(format!("{} does not answer at {}: {error}", self.named(), self.api.url()))
    }

    fn value(&self, path: &str, answer: &Answer) -> Result<Value, Failure> {
        if answer.status.as_u16() == 404 {
            return Ok(Value::Array(Vec::new()));
        }
        match serde_json::from_slice(&answer.body) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => Ok(value),
            Ok(_) => {
                Err(Failure::Stopped(format!("{} answers {path} with neither an object nor a list", self.named())))
            }
            Err(_) => Err(Failure::Stopped(format!("{} does not answer {path} with JSON", self.named()))),
        }
    }

    /// All queues, with numbers that may be some seconds old.
    pub(crate) async fn queues(&mut self) -> Result<BTreeMap<QueueId, Queue>, Failure> {
        let list = self.list(&format!("/api/queues?columns={COLUMNS}")).await?;
        Ok(list.iter().filter_map(Queue::read).collect())
    }

    /// How many messages of these queues are ready at this moment, asked over AMQP. A deleted queue has none. Warren's
    /// numbers are of the moment anyway.
    pub(crate) async fn count_ready(&self, queues: &mut BTreeMap<QueueId, Queue>) -> Result<(), Failure> {
        if self.is_warren {
            return Ok(());
        }
        let mut connection: Option<(String, Connection)> = None;
        for (id, queue) in queues.iter_mut().filter(|(_, queue)| queue.stays().is_none()) {
            let mut open = match connection.take() {
                Some((vhost, open)) if vhost == id.vhost => open,
                other => {
                    if let Some((_, done)) = other {
                        done.close(Duration::from_secs(1)).await;
                    }
                    self.connect(&id.vhost).await?
                }
            };
            let declare = amqp::queue::Declare { queue: id.name.as_bytes(), passive: true, ..Default::default() };
            match open.declare_queue(CHANNEL, &declare).await {
                Ok((_, ready, _)) => queue.ready = u64::from(ready),
                Err(CallError::Refused { code: NOT_FOUND, .. }) => {
                    (queue.ready, queue.unacked) = (0, 0);
                    open.open_channel(CHANNEL).await.map_err(|error| self.away_from(&error))?;
                }
                Err(error) => return Err(self.away_from(&error)),
            }
            connection = Some((id.vhost.clone(), open));
        }
        if let Some((_, done)) = connection {
            done.close(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    async fn connect(&self, vhost: &str) -> Result<Connection, Failure> {
        let options = ConnectOptions {
            name: Some(OWN_NAME.to_owned()),
            tls: self.uri.is_tls.then(|| self.tls.clone()),
            timeout: TIMEOUT,
            answer_timeout: TIMEOUT,
            ..ConnectOptions::default()
        };
        let uri = Uri { vhost: vhost.to_owned(), ..self.uri.clone() };
        let opened = Connection::open(&uri, &options).await;
        let mut open =
            opened.map_err(|error| Failure::Away(format!("{} accepts no connection: {error}", self.named())))?;
        open.open_channel(CHANNEL).await.map_err(|error| self.away_from(&error))?;
        Ok(open)
    }

    fn away_from(&self, error: &CallError) -> Failure {
        Failure::Away(format!("{} does not return message counts: {error}", self.named()))
    }
}

/// What a broker says of a refusal, of its JSON.
fn reason(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = value["reason"].as_str().or(value["error"].as_str());
    let text = text.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    text.trim().chars().take(500).collect()
}
