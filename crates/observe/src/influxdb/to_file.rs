//! The file as a destination: what cannot be written is lost, and tried anew with the next batch.

use std::path::PathBuf;
use std::sync::Arc;

use super::file::LineFile;
use super::health::{Health, News};
use super::outbox::Batch;
use super::run::Destination;
use super::tally::Tally;

pub(super) struct ToFile {
    file: LineFile,
    health: Health,
    tally: Arc<Tally>,
}

impl ToFile {
    pub(super) fn new(path: PathBuf, tally: Arc<Tally>) -> Self {
        ToFile { file: LineFile::new(path), health: Health::default(), tally }
    }
}

impl Destination for ToFile {
    async fn room(&mut self) {}

    fn take(&mut self, batch: Batch) {
        let path = self.file.path().display().to_string();
        match self.file.append(&batch.text) {
            Ok(()) => self.tally.write(batch.line_count),
            Err(error) => {
                self.tally.dropped.add(batch.line_count);
                self.health.lose(batch.line_count);
                if self.health.failed().is_some() {
                    tracing::warn!(
                        file = path,
                        %error,
                        "statistics for InfluxDB could not be written, and are lost until the file can be"
                    );
                }
            }
        }
        if batch.ends_round
            && let Some(News::Recovered(lost_lines)) = self.health.round_ended()
        {
            tracing::info!(file = path, lost_lines, "statistics for InfluxDB were written again");
        }
    }

    async fn flush(&mut self) {}

    fn give_up(&mut self) {}
}
