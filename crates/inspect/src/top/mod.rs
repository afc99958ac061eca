//! `warren top`: what keeps a broker busy.
//!
//! ```text
//!  view     what is looked at: which objects, by what, of which vhost, user or connection; and what keys make of it
//!  table    an answer as lines
//!  screen   a terminal: keys, and lines that replace each other
//! ```

mod screen;
mod table;
mod view;

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::Value;

use crate::api::Api;
use crate::failure::Failure;
use crate::run::print_line;
use crate::target::Target;
use screen::{Key, Screen};
use view::{After, View};

/// Show what keeps a running broker busy: queues, connections, channels, vhosts or users. For users with the tag monitoring.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// The kind of objects.
    #[arg(value_name = "WHAT", value_parser = view::KINDS, default_value = "queues")]
    of: String,
    /// The measure to sort by: CPU time, messages, bytes, waiting time, or memory.
    #[arg(short = 's', long = "sort", value_name = "BY", value_parser = view::ORDERS, default_value = "cpu")]
    by: String,
    /// Show the smallest first.
    #[arg(short, long)]
    reverse: bool,
    /// The number of rows; by default, as many as fit on the terminal.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=500))]
    count: Option<u64>,
    /// The number of seconds between two updates.
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    interval: Duration,
    /// Only objects whose names contain this text.
    #[arg(short, long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only objects of this vhost.
    #[arg(long, value_name = "VHOST")]
    vhost: Option<String>,
    /// Only connections and channels of this user.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only channels of this connection.
    #[arg(long, value_name = "CONNECTION")]
    connection: Option<String>,
    /// Print one table and exit, as when the output is not a terminal.
    #[arg(short = '1', long)]
    once: bool,
    /// Print one answer of the broker as JSON.
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.1..=30.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("'{text}' is not a number of seconds from 0.1 to 30"))
}

/// Rows that are shown where there is no terminal and nothing is said.
const COUNT_DEFAULT: u64 = 20;

impl Arguments {
    /// Shows it.
    ///
    /// # Errors
    ///
    /// When there is nothing to show, in one sentence.
    pub async fn run(&self) -> Result<(), Failure> {
        let view = View {
            of: self.of.clone(),
            by: self.by.clone(),
            is_reversed: self.reverse,
            filter: self.filter.clone(),
            vhost: self.vhost.clone(),
            user: self.user.clone(),
            connection: self.connection.clone(),
        };
        if self.json || self.once || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            let answer = self.ask(&view, self.count.unwrap_or(COUNT_DEFAULT), self.interval).await?;
            if self.json {
                return print_line(&answer.to_string());
            }
            return print_line(&table::lines(&view, &answer, None, usize::MAX).join("\n"));
        }
        self.watch(view).await
    }

    async fn ask(&self, view: &View, count: u64, interval: Duration) -> Result<Value, Failure> {
        let mut api = Api::of(&self.target)?;
        api.allow(interval);
        api.get_with(&view.path(count, interval), "rows").await
    }

    /// Looks again and again, until the viewer has seen enough.
    async fn watch(&self, view: View) -> Result<(), Failure> {
        let mut screen =
            Screen::open().map_err(|error| Failure::failed(format!("cannot use the terminal: {error}")))?;
        let mut views = view::Views::new(view);
        let mut answer = Value::Null;
        // The first answer is soon there, and so is the first to another question.
        let mut interval = FIRST_INTERVAL.min(self.interval);
        loop {
            let (width, height) = screen.size();
            let count = self.count.unwrap_or_else(|| table::room(height) as u64).max(1);
            screen.show(&views.lines(&answer, width, height)).map_err(|error| Failure::failed(error.to_string()))?;
            let view = views.current().clone();
            let asked = self.ask(&view, count, interval);
            tokio::pin!(asked);
            loop {
                tokio::select! {
                    result = &mut asked => {
                        answer = result?;
                        interval = self.interval;
                        break;
                    }
                    key = screen.key() => {
                        let key = key.unwrap_or(Key::Quit);
                        let after = views.press(&key, &answer);
                        let lines = views.lines(&answer, width, height);
                        screen.show(&lines).map_err(|error| Failure::failed(error.to_string()))?;
                        match after {
                            After::Quit => return Ok(()),
                            After::Ask => {
                                interval = FIRST_INTERVAL.min(self.interval);
                                break;
                            }
                            After::Nothing => {}
                        }
                    }
                }
            }
        }
    }
}

/// How long the first look takes.
const FIRST_INTERVAL: Duration = Duration::from_millis(300);
