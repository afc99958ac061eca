//! What `warren ctl` does to the data directory of a node that does not run.

use std::path::Path;

use ctl::DirectoryOrder;
use store::file::RealDisk;

/// Does it, and says in a sentence what came of it, or why nothing did.
pub(crate) fn obey(order: DirectoryOrder, dir: &Path) -> Result<String, String> {
    let shown = dir.display();
    let done = match order {
        DirectoryOrder::ForceBoot => cluster::force_boot(&RealDisk, dir).map(|member| match member {
            Some(name) => format!(
                "{name} belongs to no cluster any more: it starts alone with all that is in {shown}, and nodes with empty directories may \
                 join it"
            ),
            None => format!("{shown} belongs to no cluster: a node starts alone with all that is in it"),
        }),
        DirectoryOrder::AcceptCopy => cluster::accept_copy(&RealDisk, dir)
            .map(|name| format!("{name} runs on {shown} from now on: the directory that it is a copy of must not be started again")),
    };
    done.map_err(|error| error.to_string())
}
