//! Differences between a session's frozen start and the disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::stored_path;
use crate::profile::{Profile, Rendering};
use crate::resolve::render;
use crate::resolve::resolution::{InstructionFile, Resolution};
use crate::session::InitialChain;
use crate::text::common_prefix;

/// Change of a file in a frozen start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrozenChange {
    /// Its text changed.
    Edited,
    /// A session started now would contain it; the frozen text does not.
    Added,
    /// The frozen text contains it; a session started now would not.
    Removed,
}

/// A file that differs between a frozen start and the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrozenFile {
    /// Path of the file.
    #[serde(with = "stored_path")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: PathBuf,
    /// Kind of change.
    pub change: FrozenChange,
    /// First line of an edited file that is not in the frozen text; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl InitialChain {
    /// Returns the files that differ from a session started now, in the order of their text.
    pub fn differences(&self, now: &Resolution) -> Vec<FrozenFile> {
        // Removed files have no place in the new order and come first.
        let removed = self.files.iter().filter(|path| now.files.iter().all(|file| file.path != **path));
        let removed =
            removed.map(|path| FrozenFile { path: path.clone(), change: FrozenChange::Removed, line: None });
        let others = now.files.iter().filter_map(|file| {
            if !self.files.contains(&file.path) {
                return Some(FrozenFile { path: file.path.clone(), change: FrozenChange::Added, line: None });
            }
            // Sessions of older versions contain no file versions, so their text is compared instead.
            let is_same = match self.versions.get(&file.path) {
                Some(version) => version.sha256 == file.sha256 && version.bytes == file.bytes,
                None => self.text.as_deref().is_some_and(|text| text.contains(file.text.trim_end())),
            };
            (!is_same).then(|| FrozenFile {
                path: file.path.clone(),
                change: FrozenChange::Edited,
                line: self.first_new_line(now, file),
            })
        });
        removed.chain(others).collect()
    }

    /// Returns the first line of a file that differs from the frozen text.
    fn first_new_line(&self, now: &Resolution, file: &InstructionFile) -> Option<u64> {
        let frozen = self.text.as_deref()?;
        let fresh = now.text.as_deref()?;
        let text = file.text.trim_end();
        let (before, after, start) = match Profile::find(now.profile)?.render.form {
            Rendering::AgentsContext => (frozen.split_once(&render::heading(&file.path))?.1, text, 0),
            // These renderings do not name files. The first differing file is where the whole texts diverge.
            Rendering::Instructions | Rendering::Forms(_) => (frozen, fresh, fresh.find(text)?),
        };
        let shared = common_prefix(after, before).get(start..)?;
        // A text that was only shortened differs from the line after its last.
        let is_shorter = shared.len() == text.len() && before[start + shared.len()..].starts_with('\n');
        Some(file.lines_before + shared.matches('\n').count() as u64 + 1 + u64::from(is_shorter))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{CODEX, FileSettings, Request, Session, resolve};

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Asserts the differences after a change, written as `change path:line`.
    fn check(settings: &FileSettings, change: impl FnOnce(&Path), expected: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write(root, ".git/HEAD", "");
        write(root, "AGENTS.md", "one\ntwo\nthree\n");
        write(root, "a/AGENTS.md", "in a\nmore\n");
        let cwd = root.join("a");
        let request = Request { cwd: &cwd, settings };
        let (session, _) = Session::start(&request, None).unwrap();
        change(root);
        let now = resolve(&request, None).unwrap();
        let found = session.initial.differences(&now);
        let words: Vec<String> = found
            .iter()
            .map(|file| {
                let path = file.path.strip_prefix(root).unwrap().display();
                let line = file.line.map_or_else(String::new, |line| format!(":{line}"));
                format!("{:?} {path}{line}", file.change)
            })
            .collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn the_changed_file_and_its_line_are_named() {
        let settings = FileSettings::default();
        check(&settings, |_| {}, &[]);
        check(&settings, |root| write(root, "AGENTS.md", "one\n2\nthree\n"), &["Edited AGENTS.md:2"]);
        check(&settings, |root| write(root, "a/AGENTS.md", "in a\nmore\nnew\n"), &["Edited a/AGENTS.md:3"]);
        check(&settings, |root| write(root, "a/AGENTS.md", "in a\n"), &["Edited a/AGENTS.md:2"]);
        let both = |root: &Path| {
            std::fs::remove_file(root.join("AGENTS.md")).unwrap();
            write(root, "a/AGENTS.local.md", "mine\n");
        };
        check(&settings, both, &["Removed AGENTS.md", "Added a/AGENTS.local.md"]);
    }

    #[test]
    fn a_text_that_names_no_files_has_lines_too() {
        let settings = FileSettings::of(&CODEX);
        check(&settings, |root| write(root, "AGENTS.md", "one\ntwo\n3\n"), &["Edited AGENTS.md:3"]);
        check(&settings, |root| write(root, "a/AGENTS.md", "in b\nmore\n"), &["Edited a/AGENTS.md:1"]);
    }
}
