//! Retention of files set aside: changes that commands made to protected files, kept for a while after the originals
//! were restored.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use instructions::own_files;

/// Removes directories older than `age` and returns their number.
pub(crate) fn prune(directory: &Path, age: Duration) -> u64 {
    let now = SystemTime::now();
    let mut pruned = 0;
    // `tools` names its directories with six letters or digits. Anything else in the folder belongs to the user.
    let is_ours = |name: &str| name.len() == 6 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for path in own_files(directory, is_ours) {
        let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|old| old >= age));
        if !is_old {
            continue;
        }
        match fs::remove_dir_all(&path) {
            Ok(()) => pruned += 1,
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "failed to remove set-aside files");
            }
        }
    }
    pruned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_set_aside_files_are_removed() {
        let holder = tempfile::tempdir().unwrap();
        for name in ["oldOne", "newOne", "somebody-elses"] {
            fs::create_dir_all(holder.path().join(name).join("sub")).unwrap();
        }
        let day = Duration::from_secs(86_400);
        for name in ["oldOne", "somebody-elses"] {
            let old = fs::File::open(holder.path().join(name)).unwrap();
            old.set_modified(SystemTime::now() - 2 * day).unwrap();
        }
        assert_eq!(prune(holder.path(), day), 1);
        assert!(!holder.path().join("oldOne").exists() && holder.path().join("newOne/sub").exists());
        assert!(holder.path().join("somebody-elses/sub").exists());
        assert_eq!(prune(&holder.path().join("missing"), day), 0);
    }
}
