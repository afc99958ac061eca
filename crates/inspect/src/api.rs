//! The HTTP API of the broker: JSON, and endless answers.

use std::time::Duration;

use bytes::Bytes;
use http_client::{AnswerStream, Client, Method, Request, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use terminal::Interrupt;

use crate::failure::Failure;
use crate::target::Target;

/// How long an answer may take that is not endless.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long the next line of an endless answer may take. A broker that has nothing to say sends an empty one every 15 s.
const LINE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the end of an answer may take that was interrupted.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest line.
const LINE_LEN_MAX: usize = 16 << 20;

/// How long a reason for a refusal may take, and how long it may be.
const REASON_TIMEOUT: Duration = Duration::from_secs(10);
const REASON_LEN_MAX: usize = 64 << 10;

/// What stays as it is in a parameter.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The API of one broker.
#[derive(Debug)]
pub(crate) struct Api {
    client: Client,
    place: String,
}

impl Api {
    /// The API of the broker that is named. Nothing is asked yet.
    pub(crate) fn of(target: &Target) -> Result<Api, Failure> {
        let url = target.url()?;
        Ok(Api { place: url.to_string(), client: Client::new(url, TIMEOUT) })
    }

    /// Answers may take so much longer than others: the broker works on them.
    pub(crate) fn allow(&mut self, longer: Duration) {
        self.client.set_timeout(TIMEOUT + longer);
    }

    /// What the API says at a path, as JSON: an object, or a list.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Value, Failure> {
        let body = self.ask(Request::new(Method::GET).below(path)).await?;
        match serde_json::from_slice(&body) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => Ok(value),
            Ok(_) => Err(self.foreign(path)),
            Err(_) => Err(Failure::failed(format!("{} answered no JSON to {path}", self.place))),
        }
    }

    /// An object of the API, which has this member.
    pub(crate) async fn get_with(&mut self, path: &str, member: &str) -> Result<Value, Failure> {
        let value = self.get(path).await?;
        if value.get(member).is_some() { Ok(value) } else { Err(self.foreign(path)) }
    }

    /// What answers is no broker.
    fn foreign(&self, path: &str) -> Failure {
        let path = path.split('?').next().unwrap_or_default();
        Failure::failed(format!(
            "{} may not be the management API of a broker: its answer to {path} has an unexpected form",
            self.place
        ))
    }

    /// What the API says to a request, as it is.
    pub(crate) async fn ask(&mut self, request: Request) -> Result<Bytes, Failure> {
        let answer = self.client.ask(&request).await.map_err(|error| self.silent(&error))?;
        match answer.status.is_success() {
            true => Ok(answer.body),
            false => Err(self.refused(answer.status, &answer.body)),
        }
    }

    /// The lines of an answer that lasts until one side ends it. An interrupt asks the broker to end it, so that its last lines say what it
    /// came to.
    pub(crate) async fn session(
        self,
        path_of: &str,
        parameters: &[(&str, Option<String>)],
        interrupt: &Interrupt,
    ) -> Result<Lines, Failure> {
        let name = format!("{:x}-{:x}", std::process::id(), fastrand::u64(..));
        let named = [parameters, &[("session", Some(name.clone()))]].concat();
        let request = Request::new(Method::DELETE).below(format!("/api/trace/sessions/{name}"));
        let mut api = self;
        let mut lines = api.lines(&path(path_of, &named)).await?;
        lines.ending = Some(Ending { interrupt: interrupt.clone(), request, api });
        Ok(lines)
    }

    /// The lines of an answer that lasts until one side ends it.
    pub(crate) async fn lines(&mut self, path: &str) -> Result<Lines, Failure> {
        let request = Request::new(Method::GET).below(path);
        let mut stream = self.client.open(&request).await.map_err(|error| self.silent(&error))?;
        if stream.status.is_success() {
            let (rest, place) = (Vec::new(), self.place.clone());
            return Ok(Lines { stream, rest, place, ending: None, is_interrupted: false });
        }
        let (mut body, status) = (Vec::new(), stream.status);
        let reading = async {
            while let Ok(Some(piece)) = stream.next().await {
                body.extend_from_slice(&piece);
                if body.len() > REASON_LEN_MAX {
                    break;
                }
            }
        };
        // What has come by then is the reason.
        let _ = tokio::time::timeout(REASON_TIMEOUT, reading).await;
        Err(self.refused(status, &body))
    }

    fn silent(&self, error: &http_client::HttpError) -> Failure {
        Failure::failed(format!("{} does not answer: {error}", self.place))
    }

    /// Why the broker refused, in its own words.
    fn refused(&self, status: StatusCode, body: &[u8]) -> Failure {
        let said = serde_json::from_slice::<Value>(body).ok();
        let reason = said.as_ref().and_then(|said| said["reason"].as_str()).unwrap_or_default();
        let text = match status {
            StatusCode::UNAUTHORIZED => {
                format!("{} refused the login, or the user is not an administrator", self.place)
            }
            StatusCode::NOT_FOUND if reason.is_empty() || reason == "Not Found" => {
                format!("{} has no such thing: is it a Warren, of this version?", self.place)
            }
            _ if reason.is_empty() => format!("{} refused it: {status}", self.place),
            _ => reason.to_owned(),
        };
        Failure::failed(text)
    }
}

/// The lines of an answer, as they come.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: AnswerStream,
    rest: Vec<u8>,
    place: String,
    ending: Option<Ending>,
    is_interrupted: bool,
}

/// How an interrupt ends an answer.
#[derive(Debug)]
struct Ending {
    interrupt: Interrupt,
    request: Request,
    api: Api,
}

impl Lines {
    /// Whether an interrupt has ended it.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// The next line that says something, and what it says. None: the answer has ended.
    pub(crate) async fn next_event(&mut self) -> Result<Option<(String, Value)>, Failure> {
        while let Some(line) = self.next().await? {
            // What comes when nothing happens, so that both sides know that the other is there.
            if line.is_empty() {
                continue;
            }
            let event = serde_json::from_str(&line)
                .map_err(|_| Failure::failed(format!("{} sent a line that is not valid JSON", self.place)))?;
            return Ok(Some((line, event)));
        }
        Ok(None)
    }

    /// The next line. None: the answer has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Failure> {
        let Some(mut ending) = self.ending.take() else { return self.next_in(LINE_TIMEOUT).await };
        let line = tokio::select! {
            line = self.next_in(LINE_TIMEOUT) => Some(line),
            () = ending.interrupt.come() => None,
        };
        if let Some(line) = line {
            self.ending = Some(ending);
            return line;
        }
        self.is_interrupted = true;
        let ended = tokio::time::timeout(END_TIMEOUT, ending.api.ask(ending.request)).await;
        // A broker that can no longer be asked sees that its viewer has disconnected.
        if !matches!(ended, Ok(Ok(_))) { Ok(None) } else { self.next_in(END_TIMEOUT).await }
    }

    async fn next_in(&mut self, timeout: Duration) -> Result<Option<String>, Failure> {
        let silent = || format!("{} has sent nothing for {} s", self.place, timeout.as_secs());
        let silent = Failure::failed(silent());
        tokio::time::timeout(timeout, self.read_line()).await.unwrap_or(Err(silent))
    }

    async fn read_line(&mut self) -> Result<Option<String>, Failure> {
        // The bytes before this position were looked through.
        let mut looked_at = 0;
        loop {
            if let Some(end) = self.rest[looked_at..].iter().position(|byte| *byte == b'\n') {
                let end = looked_at + end;
                let line = self.rest.drain(..=end).collect::<Vec<u8>>();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            looked_at = self.rest.len();
            if looked_at > LINE_LEN_MAX {
                return Err(Failure::failed(format!("{} sends a line without an end", self.place)));
            }
            match self.stream.next().await {
                Ok(Some(piece)) => self.rest.extend_from_slice(&piece),
                Ok(None) => return Ok(None),
                Err(error) => return Err(Failure::failed(format!("{} broke off: {error}", self.place))),
            }
        }
    }
}

/// A part of a path or of a query, as it is written there.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PARAMETER).to_string()
}

/// A path with the parameters that are given.
pub(crate) fn path(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut whole = path.to_owned();
    let given = parameters.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
    for (number, (name, value)) in given.enumerate() {
        let before = if number == 0 { '?' } else { '&' };
        whole.push_str(&format!("{before}{name}={}", encoded(value)));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded_and_left_out_where_they_are_not_given() {
        let given = [("pattern", Some("a::* &".to_owned())), ("max", None), ("x", Some("1".to_owned()))];
        assert_eq!(path("/api/x", &given), "/api/x?pattern=a%3A%3A%2A%20%26&x=1");
        assert_eq!(path("/api/x", &[]), "/api/x");
    }
}
