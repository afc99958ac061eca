//! What `warren ctl` does to the data directory of a node that does not run.

use std::path::Path;

use ctl::DirectoryOrder;
use store::file::RealDisk;

/// Carries out the order, and returns its outcome in a sentence, or why it failed.
pub(crate) fn obey(order: DirectoryOrder, dir: &Path) -> Result<String, String> {
    let shown = dir.display();
    let done = match order {
        DirectoryOrder::ForceBoot => cluster::force_boot(&RealDisk, dir).map(|member| match member {
            Some(name) => format!(
                "{name} no longer belongs to a cluster: it starts alone with the data in {shown}, and nodes with empty directories may \
                 join it"
            ),
            None => format!("{shown} belongs to no cluster: a node starts alone with its data"),
        }),
        DirectoryOrder::AcceptCopy => cluster::accept_copy(&RealDisk, dir)
            .map(|name| format!("{name} runs on {shown} from now on: do not start a node on the original directory again")),
    };
    done.map_err(|error| error.to_string())
}
