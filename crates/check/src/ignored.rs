//! Patterns of version control, also for paths that do not exist.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use instructions::file::read_whole;

/// Largest file of patterns that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Parsed `.gitignore` files.
// Most paths that texts mention share the same few directories, so each file is parsed once per check.
#[derive(Default)]
pub(crate) struct Ignored {
    files: RefCell<HashMap<PathBuf, Option<Gitignore>>>,
}

impl Ignored {
    /// Returns true if a path is ignored. Paths outside the root count as ignored, because they cannot be
    /// judged.
    pub(crate) fn contains(&self, root: &Path, path: &Path, is_directory: bool) -> bool {
        let Some(parent) = path.parent().filter(|parent| parent.starts_with(root)) else { return true };
        let mut files = self.files.borrow_mut();
        parent.ancestors().take_while(|directory| directory.starts_with(root)).any(|directory| {
            let file = files.entry(directory.to_owned()).or_insert_with(|| read(directory));
            // A mentioned directory is often ignored through one of its parents, so the parents are matched as well.
            let matched = |file: &Gitignore| file.matched_path_or_any_parents(path, is_directory).is_ignore();
            file.as_ref().is_some_and(matched)
        })
    }
}

fn read(directory: &Path) -> Option<Gitignore> {
    let file = directory.join(".gitignore");
    let text = read_whole(&file, MAX_BYTES)?;
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&text).lines() {
        // Git skips invalid patterns as well.
        let _ = builder.add_line(Some(file.clone()), line);
    }
    builder.build().ok()
}
