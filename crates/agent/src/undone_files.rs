//! What commands did to protected files, kept for a while after these were put back: somebody may want it.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Removes what was set aside longer ago than this, and says of how many commands.
pub(crate) fn prune(directory: &Path, age: Duration) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let now = SystemTime::now();
    let mut pruned = 0;
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|old| old >= age));
        if !is_old {
            continue;
        }
        match fs::remove_dir_all(entry.path()) {
            Ok(()) => pruned += 1,
            Err(error) => {
                let path = entry.path();
                tracing::warn!(%error, path = %path.display(), "files that were set aside could not be removed");
            }
        }
    }
    pruned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_long_ago_is_removed() {
        let holder = tempfile::tempdir().unwrap();
        for name in ["old", "new"] {
            fs::create_dir_all(holder.path().join(name).join("sub")).unwrap();
        }
        let day = Duration::from_secs(86_400);
        let old = fs::File::open(holder.path().join("old")).unwrap();
        old.set_modified(SystemTime::now() - 2 * day).unwrap();
        assert_eq!(prune(holder.path(), day), 1);
        assert!(!holder.path().join("old").exists() && holder.path().join("new/sub").exists());
        assert_eq!(prune(&holder.path().join("missing"), day), 0);
    }
}
