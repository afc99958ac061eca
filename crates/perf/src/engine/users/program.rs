//! A script, made ready to be run by thousands: texts, tables and routes are made once, loops are jumps.

use std::sync::Arc;

use amqp::TableBuf;
use amqp_client::Route;

use super::super::message::{self, MessagesError};
use super::super::values::{self, NameTooLong};
use super::template::{Names, Slot, TemplateError, Text};
use super::throttle::{Throttle, Throttles};
use crate::plan::{self, Distribution, Script, Settle, Sizes, Step, StepExpectation, Template};
use http_client::{HttpUrl, HttpUrlError};

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Argument(#[from] NameTooLong),
    #[error(transparent)]
    Message(#[from] MessagesError),
    #[error(transparent)]
    Url(#[from] HttpUrlError),
    #[error("\"{0}\" is a path below the management URL, which is not set: --management-url")]
    NoManagement(String),
}

/// A script, made ready.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) instructions: Box<[Instruction]>,
    pub(crate) names: Names,
    /// The variable `queue`.
    pub(crate) queue: Slot,
}

/// One instruction, and the step that it comes from.
#[derive(Debug)]
pub(crate) struct Instruction {
    /// Number and kind of the step: `3.1 (publish)`.
    pub(crate) step: Box<str>,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Connect,
    OpenChannel,
    DeclareQueue(Box<DeclareQueue>),
    DeclareExchange {
        name: Text,
        kind: Box<str>,
        durable: bool,
    },
    Bind {
        queue: Text,
        exchange: Text,
        key: Text,
    },
    DeleteQueue {
        name: Text,
    },
    Publish(Box<Publish>),
    Consume {
        queue: Text,
        prefetch: u16,
        settle: Settle,
    },
    ConsumeUntil {
        count: u32,
        timeout: std::time::Duration,
    },
    Cancel,
    Wait(std::time::Duration),
    Think(Distribution),
    ExpectQueueLength {
        queue: Text,
        min: u32,
        max: u32,
    },
    ExpectReceived {
        min: u64,
        max: u64,
    },
    ExpectVariable {
        name: Slot,
        value: Text,
    },
    HttpGet(Box<HttpGet>),
    Set {
        name: Slot,
        value: Text,
    },
    Throttle(Arc<Throttle>),
    /// Runs what follows, up to its end, so often; 0 skips it.
    Repeat {
        count: u32,
        end: usize,
    },
    RepeatEnd,
    Disconnect,
}

#[derive(Debug)]
pub(crate) struct DeclareQueue {
    pub(crate) name: Text,
    pub(crate) durable: bool,
    pub(crate) exclusive: bool,
    pub(crate) auto_delete: bool,
    pub(crate) arguments: TableBuf,
}

#[derive(Debug)]
pub(crate) struct Publish {
    pub(crate) exchange: Text,
    pub(crate) key: Text,
    /// If neither name nor key have variables.
    pub(crate) route: Option<Route>,
    pub(crate) sizes: Sizes,
    pub(crate) properties: plan::Properties,
    pub(crate) headers: Option<TableBuf>,
    pub(crate) count: u32,
    pub(crate) confirm: bool,
    pub(crate) throttle: Option<Arc<Throttle>>,
}

#[derive(Debug)]
pub(crate) struct HttpGet {
    pub(crate) url: Text,
    /// What its answers are counted under: the path, variables and all.
    pub(crate) name: Arc<str>,
    pub(crate) status: u16,
}

impl Program {
    pub(crate) fn new(
        script: &Script,
        throttles: &Throttles,
        management: Option<&HttpUrl>,
    ) -> Result<Self, ProgramError> {
        let mut names = Names::default();
        let queue = names.slot("queue");
        let mut compiler = Compiler { instructions: Vec::new(), names, throttles, management };
        compiler.steps(&script.steps, "")?;
        Ok(Program { instructions: compiler.instructions.into(), names: compiler.names, queue })
    }
}

struct Compiler<'a> {
    instructions: Vec<Instruction>,
    names: Names,
    throttles: &'a Throttles,
    management: Option<&'a HttpUrl>,
}

impl Compiler<'_> {
    fn steps(&mut self, steps: &[Step], within: &str) -> Result<(), ProgramError> {
        for (at, step) in steps.iter().enumerate() {
            let number = format!("{within}{}", at + 1);
            let label = |kind: &str| format!("{number} ({kind})").into_boxed_str();
            if let Step::Repeat { count, steps } = step {
                let start = self.instructions.len();
                self.instructions
                    .push(Instruction { step: label("repeat"), action: Action::Repeat { count: *count, end: start } });
                self.steps(steps, &format!("{number}."))?;
                let behind = self.instructions.len() + 1;
                self.instructions[start].action = Action::Repeat { count: *count, end: behind };
                self.instructions.push(Instruction { step: label("repeat"), action: Action::RepeatEnd });
                continue;
            }
            let (kind, action) = self.step(step)?;
            self.instructions.push(Instruction { step: label(kind), action });
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(&'static str, Action), ProgramError> {
        Ok(match step {
            Step::Connect => ("connect", Action::Connect),
            Step::OpenChannel => ("open_channel", Action::OpenChannel),
            Step::DeclareQueue { name, durable, exclusive, auto_delete, arguments } => {
                let declare = DeclareQueue {
                    name: self.text(name)?,
                    durable: *durable,
                    exclusive: *exclusive,
                    auto_delete: *auto_delete,
                    arguments: values::table(arguments)?,
                };
                ("declare_queue", Action::DeclareQueue(Box::new(declare)))
            }
            Step::DeclareExchange { name, kind, durable } => {
                let kind = kind.as_str().into();
                ("declare_exchange", Action::DeclareExchange { name: self.text(name)?, kind, durable: *durable })
            }
            Step::Bind { queue, exchange, key } => {
                let (queue, exchange, key) = (self.text(queue)?, self.text(exchange)?, self.text(key)?);
                ("bind", Action::Bind { queue, exchange, key })
            }
            Step::DeleteQueue { name } => ("delete_queue", Action::DeleteQueue { name: self.text(name)? }),
            Step::Publish { exchange, key, size, properties, count, confirm, throttle } => {
                message::check(properties)?;
                let (exchange, key) = (self.text(exchange)?, self.text(key)?);
                let route = exchange.constant().zip(key.constant()).map(|(exchange, key)| {
                    Route::new(exchange.as_bytes(), key.as_bytes(), false)
                        .ok_or_else(|| MessagesError::Route(key.to_owned()))
                });
                let publish = Publish {
                    exchange,
                    key,
                    route: route.transpose()?,
                    sizes: size.clone(),
                    headers: match properties.headers.is_empty() {
                        true => None,
                        false => Some(values::table(&properties.headers)?),
                    },
                    properties: properties.clone(),
                    count: *count,
                    confirm: *confirm,
                    throttle: throttle.as_ref().map(|throttle| self.throttles.get(throttle)),
                };
                ("publish", Action::Publish(Box::new(publish)))
            }
            Step::Consume { queue, prefetch, settle } => {
                let (prefetch, settle) = (*prefetch, *settle);
                ("consume", Action::Consume { queue: self.text(queue)?, prefetch, settle })
            }
            Step::ConsumeUntil { count, timeout } => {
                ("consume_until", Action::ConsumeUntil { count: *count, timeout: *timeout })
            }
            Step::Cancel => ("cancel", Action::Cancel),
            Step::Wait(time) => ("wait", Action::Wait(*time)),
            Step::Think(time) => ("think", Action::Think(time.clone())),
            Step::Expect(StepExpectation::QueueLength { queue, min, max }) => {
                let (queue, min, max) = (self.text(queue)?, *min, *max);
                ("expect_queue_length", Action::ExpectQueueLength { queue, min, max })
            }
            Step::Expect(StepExpectation::Received { min, max }) => {
                ("expect_received", Action::ExpectReceived { min: *min, max: *max })
            }
            Step::Expect(StepExpectation::Variable { name, value }) => {
                ("expect_variable", Action::ExpectVariable { name: self.names.slot(name), value: self.text(value)? })
            }
            Step::HttpGet { url, status } => ("http_get", Action::HttpGet(Box::new(self.http_get(url, *status)?))),
            Step::Set { name, value } => ("set", Action::Set { name: self.names.slot(name), value: self.text(value)? }),
            Step::Throttle(throttle) => ("throttle", Action::Throttle(self.throttles.get(throttle))),
            // Taken apart before.
            Step::Repeat { .. } => ("repeat", Action::RepeatEnd),
            Step::Disconnect => ("disconnect", Action::Disconnect),
        })
    }

    fn text(&mut self, template: &Template) -> Result<Text, TemplateError> {
        Text::new(template, &mut self.names)
    }

    fn http_get(&mut self, template: &Template, status: u16) -> Result<HttpGet, ProgramError> {
        let url = self.text(template)?;
        if template.0.starts_with('/') && self.management.is_none() {
            return Err(ProgramError::NoManagement(template.0.clone()));
        }
        if let Some(url) = url.constant().filter(|url| !url.starts_with('/')) {
            HttpUrl::parse(url)?;
        }
        let name = match template.0.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => &template.0,
        };
        Ok(HttpGet { url, name: name.into(), status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(steps: Vec<Step>, management: Option<&HttpUrl>) -> Result<Program, ProgramError> {
        Program::new(&Script { steps }, &Throttles::default(), management)
    }

    fn get(url: &str) -> Step {
        Step::HttpGet { url: Template(url.to_owned()), status: 200 }
    }

    #[test]
    fn loops_are_jumps_and_every_step_has_its_number() {
        let inner = Step::Repeat { count: 3, steps: vec![Step::Cancel] };
        let steps = vec![Step::Connect, Step::Repeat { count: 2, steps: vec![inner, Step::OpenChannel] }];
        let program = program(steps, None).unwrap();
        let steps: Vec<&str> = program.instructions.iter().map(|instruction| &*instruction.step).collect();
        let expected = [
            "1 (connect)",
            "2 (repeat)",
            "2.1 (repeat)",
            "2.1.1 (cancel)",
            "2.1 (repeat)",
            "2.2 (open_channel)",
            "2 (repeat)",
        ];
        assert_eq!(steps, expected);
        assert!(matches!(program.instructions[1].action, Action::Repeat { count: 2, end: 7 }));
        assert!(matches!(program.instructions[2].action, Action::Repeat { count: 3, end: 5 }));
    }

    #[test]
    fn answers_are_counted_by_path_without_server_and_password() {
        let management = HttpUrl::parse("http://h:15672").unwrap();
        let name = |url: &str| match &program(vec![get(url)], Some(&management)).unwrap().instructions[0].action {
            Action::HttpGet(get) => get.name.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(name("/api/users/{user}"), "/api/users/{user}");
        assert_eq!(name("http://me:secret@h/api/x?y=1"), "/api/x?y=1");
        assert_eq!(name("http://h"), "/");
    }

    #[test]
    fn path_needs_a_management_url() {
        let error = |url| program(vec![get(url)], None).unwrap_err().to_string();
        assert_eq!(
            error("/api/x"),
            "\"/api/x\" is a path below the management URL, which is not set: --management-url"
        );
        assert_eq!(error("ftp://u:p@h/"), "'ftp://u:***@h/' is not an http:// or https:// URL");
        assert!(program(vec![get("http://{host}/")], None).is_ok());
    }

    #[test]
    fn what_cannot_be_sent_is_said_before_anybody_tries() {
        let publish = |key: &str, headers: plan::Arguments| Step::Publish {
            exchange: Template::default(),
            key: Template(key.to_owned()),
            size: Sizes::Drawn(Distribution::Fixed(1.0)),
            properties: plan::Properties { headers, ..plan::Properties::default() },
            count: 1,
            confirm: false,
            throttle: None,
        };
        let long = "x".repeat(256);
        assert!(program(vec![publish(&long, Vec::new())], None).is_err());
        assert!(program(vec![publish("k", vec![(long, plan::Value::Int(1))])], None).is_err());
        assert!(program(vec![publish("{", Vec::new())], None).is_err());
        assert!(program(vec![publish("k", Vec::new())], None).is_ok());
    }
}
