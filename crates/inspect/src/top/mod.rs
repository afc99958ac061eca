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

/// See what keeps a running broker busy: queues, connections, channels, vhosts or users. For users who may monitor.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// What is compared.
    #[arg(value_name = "WHAT", value_parser = view::KINDS, default_value = "queues")]
    of: String,
    /// By what: time of processors, messages, bytes, time for which they had to wait, or memory.
    #[arg(short = 's', long = "sort", value_name = "BY", value_parser = view::ORDERS, default_value = "cpu")]
    by: String,
    /// The least first.
    #[arg(short, long)]
    reverse: bool,
    /// How many are shown; as many as there is room for on a terminal.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=500))]
    count: Option<u64>,
    /// Seconds from one look to the next.
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    interval: Duration,
    /// Only those with this in their names.
    #[arg(short, long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only those of this vhost.
    #[arg(long, value_name = "VHOST")]
    vhost: Option<String>,
    /// Only connections and channels of this user.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only channels of this connection.
    #[arg(long, value_name = "CONNECTION")]
    connection: Option<String>,
    /// Print one table and end, as where the output is no terminal.
    #[arg(short = '1', long)]
    once: bool,
    /// Print one answer as the broker sends it: JSON.
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.1..=30.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| format!("'{text}' is no number of seconds from 0.1 to 30"))
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
