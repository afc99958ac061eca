//! Root becomes the user that RabbitMQ runs as, as its own programs do, and gives it the directory of its data.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::directories::HOME;

const NAME: &str = "rabbitmq";

/// A user of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
}

/// Goes on as that user, if there is one and this is root. Comes back only where there is nothing to change, or with the reason why it
/// cannot be.
pub(super) fn drop_root(words: &[OsString], data_dir: &Path) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let Some(user) = user_in(&fs::read_to_string("/etc/passwd").unwrap_or_default()) else { return Ok(()) };
    fs::create_dir_all(data_dir).with_context(|| format!("cannot make the directory {}", data_dir.display()))?;
    give(Path::new(HOME), user);
    give(data_dir.parent().unwrap_or(data_dir), user);
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg0("rabbitmq-server").args(words).uid(user.uid).gid(user.gid).env("HOME", HOME);
    Err(command.exec()).context("cannot change to the user rabbitmq")
}

fn user_in(passwd: &str) -> Option<User> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(NAME))?;
    let mut fields = line.split(':').skip(2);
    Some(User { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
}

/// Gives a directory and all in it to the user. What cannot be given, as in a volume that is only to be read, is left: the broker says
/// what it cannot write.
fn give(path: &Path, user: User) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if (metadata.uid(), metadata.gid()) != (user.uid, user.gid) {
        let given = if metadata.is_symlink() { lchown } else { chown };
        let _ = given(path, Some(user.uid), Some(user.gid));
    }
    if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).for_each(|path| give(&path, user));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_found_by_its_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nrabbitmq:x:999:998::/var/lib/rabbitmq:/bin/false\n";
        assert_eq!(user_in(passwd), Some(User { uid: 999, gid: 998 }));
        assert_eq!(user_in("rabbitmqx:x:1:1::/:/x\n"), None);
        assert_eq!(user_in("rabbitmq:x:many\n"), None);
    }
}
