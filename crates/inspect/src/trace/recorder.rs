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
    /// Start recording, until the broker's process ends or `stop`.
    Start {
        /// When a request takes longer than this, the recording is saved to a file in the data directory [default: 1000, or as
        /// configured].
        #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..))]
        slow_request: Option<u64>,
    },
    /// Stop recording, and discard the recording.
    Stop,
    /// Report whether the recorder is running, and list saved recordings.
    Status,
    /// Save the current recording, or one that the broker has saved, for https://ui.perfetto.dev or chrome://tracing.
    Save {
        /// A saved recording from `status`, instead of the current one.
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
        _ => "The flight recorder is not running.".to_owned(),
    }];
    for saved in shown["saved"].as_array().into_iter().flatten() {
        lines.push(format!("{} ({} bytes)", saved["name"].as_str().unwrap_or_default(), saved["bytes"]));
    }
    let bound = shown["saved_bytes"].as_u64().filter(|len| *len > 0).zip(shown["saved_bytes_max"].as_u64());
    if let Some((len, len_max)) = bound {
        lines
            .push(format!("Recordings use {len} bytes of {} MiB. Beyond that, the oldest are deleted.", len_max >> 20));
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
        assert!(
            status(&bounded).ends_with("\nRecordings use 12 bytes of 256 MiB. Beyond that, the oldest are deleted.")
        );
        assert_eq!(status(&json!({"running": false, "saved": []})), "The flight recorder is not running.");
    }
}
