//! `warren trace recorder`: the last calls of all functions.

use std::path::{Path, PathBuf};

use http_client::{Method, Request};
use serde_json::{Value, json};

use crate::api::Api;
use crate::failure::Failure;
use crate::run::print_line;
use crate::target::Target;

const PATH: &str = "/api/flight-recorder";

#[derive(Debug, clap::Args)]
pub(super) struct Recorder {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Begin to record, until the broker's process ends or `stop`.
    Start {
        /// Requests that take so long have the recording saved into a file of the data directory [default: 1000, or as configured].
        #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..))]
        slow_request: Option<u64>,
    },
    /// Stop, and forget what was recorded.
    Stop,
    /// Say whether it runs, and which recordings were saved.
    Status,
    /// Save what is recorded now, or what was saved by the broker, for https://ui.perfetto.dev or chrome://tracing.
    Save {
        /// One of the recordings that `status` names, instead of what is recorded now.
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// The file.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

impl Recorder {
    pub(super) async fn run(&self, target: &Target) -> Result<(), Failure> {
        let mut api = Api::of(target)?;
        match &self.command {
            Command::Start { slow_request } => {
                let mut wanted = json!({"running": true});
                if let Some(ms) = slow_request {
                    wanted["slow_request_ms"] = (*ms).into();
                }
                switch(&mut api, &wanted).await
            }
            Command::Stop => switch(&mut api, &json!({"running": false})).await,
            Command::Status => print_line(&status(&api.get(PATH).await?)),
            Command::Save { name, output } => save(&mut api, name.as_deref(), output).await,
        }
    }
}

async fn switch(api: &mut Api, wanted: &Value) -> Result<(), Failure> {
    api.ask(Request::new(Method::PUT).below(PATH).with_json(wanted.to_string())).await.map(drop)
}

async fn save(api: &mut Api, name: Option<&str>, output: &Path) -> Result<(), Failure> {
    let path = match name {
        None => format!("{PATH}/recording"),
        Some(name) => format!("{PATH}/recordings/{}", crate::api::encoded(name)),
    };
    let recording = api.ask(Request::new(Method::GET).below(path)).await?;
    std::fs::write(output, &recording)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", output.display())))?;
    print_line(&format!("{} bytes are in {}. Open it at https://ui.perfetto.dev.", recording.len(), output.display()))
}

fn status(shown: &Value) -> String {
    let mut lines = vec![match shown["running"].as_bool() {
        Some(true) => format!("It runs, in {} MiB.", shown["bytes"].as_u64().unwrap_or_default() >> 20),
        _ => "It does not run.".to_owned(),
    }];
    for saved in shown["saved"].as_array().into_iter().flatten() {
        lines.push(format!("{} ({} bytes)", saved["name"].as_str().unwrap_or_default(), saved["bytes"]));
    }
    let bound = shown["saved_bytes"].as_u64().filter(|len| *len > 0).zip(shown["saved_bytes_max"].as_u64());
    if let Some((len, len_max)) = bound {
        lines.push(format!("Recordings take {len} bytes of {} MiB, beyond which the oldest go.", len_max >> 20));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_names_what_was_saved() {
        let shown = json!({"running": true, "bytes": 8 << 20, "saved": [{"name": "a.json", "bytes": 12}]});
        assert_eq!(status(&shown), "It runs, in 8 MiB.\na.json (12 bytes)");
        let mut bounded = shown;
        (bounded["saved_bytes"], bounded["saved_bytes_max"]) = (12.into(), (256 << 20).into());
        assert!(status(&bounded).ends_with("\nRecordings take 12 bytes of 256 MiB, beyond which the oldest go."));
        assert_eq!(status(&json!({"running": false, "saved": []})), "It does not run.");
    }
}
