//! What the journal has ready gives room to what needs it more, on a full disk.

use std::io;

use super::files::PreparedFile;
use super::format::FILE_HEADER_LEN;
use super::shared::Shared;
use crate::file::PAGE_LEN;

/// Removes files that are ready but too short for what the writer has to write next: no later commit is written before that one, nor a
/// checkpoint made that frees anything else. Says whether there should be room for a file of this length then.
pub(crate) fn make_room(shared: &Shared, len: u64) -> bool {
    let Ok(free) = shared.dir.free_space() else { return false };
    let useless = shared.files.lock().take_useless(len.saturating_sub(free));
    !useless.is_empty() && remove_prepared(shared, useless, DISK_FULL)
}

/// Why a file that is ready is removed.
const DISK_FULL: &str = "the disk is full";

/// Removes files that are ready, and says why. Those that cannot be removed stay ready.
pub(crate) fn remove_prepared(shared: &Shared, prepared: Vec<PreparedFile>, why: &str) -> bool {
    let mut are_removed = true;
    for file in prepared {
        tracing::info!(path = %file.path.display(), "removing a journal file that is not in use: {why}");
        if let Err(error) = shared.dir.remove(&file.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %file.path.display(), %error, "journal file was not removed");
            shared.add_prepared(file);
            are_removed = false;
        }
    }
    shared.judge_files();
    are_removed && shared.dir.sync().is_ok()
}

/// Cuts off what files have behind all that will ever be in them. Says whether there was something.
pub(crate) fn cut_closed(shared: &Shared) -> bool {
    let files = shared.files.lock().shorten_closed();
    let mut is_cut = false;
    for (file, len) in files {
        match file.truncate(len).and_then(|()| file.fdatasync()) {
            Ok(()) => is_cut = true,
            Err(error) => tracing::warn!(dir = %shared.dir.display(), %error, "shortening a journal file failed"),
        }
    }
    is_cut
}

/// Makes room for so much that is not the journal's, and without which no file is let go. One file stays ready, and is as long as the
/// commits that gather need. Says whether there should be room then; if there cannot be, all stays as it is.
pub(crate) fn give_room(shared: &Shared, len: u64) -> bool {
    let lacking_len = || len.saturating_sub(shared.dir.free_space().unwrap_or(0));
    if lacking_len() == 0 || (cut_closed(shared) && lacking_len() == 0) {
        return true;
    }
    let lacking_len = lacking_len();
    let kept_len =
        (FILE_HEADER_LEN + shared.options.commit_len_max()).next_multiple_of(PAGE_LEN as u64) + PAGE_LEN as u64;
    let Some((removed, shortened)) = shared.files.lock().take_room(lacking_len, kept_len) else { return false };
    let removed_len = removed.iter().map(|file| file.len).sum();
    let is_removed = removed.is_empty() || remove_prepared(shared, removed, DISK_FULL);
    let Some(file) = shortened else { return is_removed };
    let shortened_len = file.len - lacking_len.saturating_sub(removed_len).next_multiple_of(PAGE_LEN as u64);
    tracing::info!(path = %file.path.display(), len = shortened_len, "disk is full, shortening a journal file that is not in use");
    let shortening = file.file.truncate(shortened_len).and_then(|()| file.file.fdatasync());
    let len = if shortening.is_ok() { shortened_len } else { file.len };
    shared.add_prepared(PreparedFile { len, ..file });
    // The writer may have looked for it meanwhile.
    shared.files.wake_writer();
    shortening.is_ok() && is_removed
}
