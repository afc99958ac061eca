//! The file as a destination: what cannot be written is lost, and tried anew with the next batch.

use std::path::PathBuf;
use std::sync::Arc;

use super::delivery_stats::DeliveryStats;
use super::file::LineFile;
use super::health::{Health, HealthChange};
use super::outbox::Batch;
use super::run::Destination;

pub(super) struct ToFile {
    file: LineFile,
    health: Health,
    stats: Arc<DeliveryStats>,
}

impl ToFile {
    pub(super) fn new(path: PathBuf, stats: Arc<DeliveryStats>) -> Self {
        ToFile { file: LineFile::new(path), health: Health::default(), stats }
    }
}

impl Destination for ToFile {
    async fn room(&mut self) {}

    fn take(&mut self, batch: Batch) {
        let path = self.file.path().display().to_string();
        match self.file.append(&batch.text) {
            Ok(()) => self.stats.write(batch.line_count),
            Err(error) => {
                self.stats.dropped.add(batch.line_count);
                self.health.lose(batch.line_count);
                if self.health.failed().is_some() {
                    tracing::warn!(
                        file = path,
                        %error,
                        "writing statistics for InfluxDB failed; they are lost until the file can be written"
                    );
                }
            }
        }
        if batch.ends_round
            && let Some(HealthChange::Recovered(lost_lines)) = self.health.round_ended()
        {
            tracing::info!(file = path, lost_lines, "statistics for InfluxDB are written again");
        }
    }

    async fn flush(&mut self) {}

    fn give_up(&mut self) {}
}
