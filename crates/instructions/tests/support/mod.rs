//! Trees of files described as data.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a fixture that cannot be made fails its test")]
#![allow(dead_code, clippy::allow_attributes, reason = "every test file uses its own part of this")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A temporary directory with trees in it.
pub(crate) struct Tree {
    _directory: tempfile::TempDir,
    base: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Agents see the physical path of their working directory, which differs if the temporary directory is a link.
        let base = directory.path().canonicalize().unwrap();
        Self { _directory: directory, base }
    }

    /// Returns a directory of the tree, and creates it if it is missing.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = if name.is_empty() { self.base.clone() } else { self.base.join(name) };
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Creates an entry from its description: text, `dir`, `symlink`, `fifo`, `repeat`, `base64`, `git`.
    pub(crate) fn fill(&self, root: &Path, tree: &Value) {
        let Some(entries) = tree.as_object() else { return };
        for (name, entry) in entries {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            make(&path, entry, &self.base);
        }
    }
}

/// Replaces `{R}`, `{H}` and `{P}` in a text by the directories of the tree.
pub(crate) fn place(text: &str, parent: &Path) -> String {
    text.replace("{R}", &parent.join("repo").to_string_lossy())
        .replace("{H}", &parent.join("home").to_string_lossy())
        .replace("{P}", &parent.to_string_lossy())
}

fn make(path: &Path, entry: &Value, base: &Path) {
    if let Some(text) = entry.as_str() {
        fs::write(path, place(text, base)).unwrap();
    } else if entry["dir"] == true {
        fs::create_dir_all(path).unwrap();
    } else if entry["git"] == true {
        git_directory(path);
    } else if let Some(target) = entry["symlink"].as_str() {
        symlink(place(target, base), path).unwrap();
    } else if entry["fifo"] == true {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
    } else if let Some(repeat) = entry["repeat"].as_array() {
        let count = usize::try_from(repeat[1].as_u64().unwrap()).unwrap();
        fs::write(path, repeat[0].as_str().unwrap().repeat(count)).unwrap();
    } else if let Some(text) = entry["base64"].as_str() {
        fs::write(path, base64(text)).unwrap();
    } else {
        panic!("{}: what is {entry}?", path.display());
    }
}

/// Creates the parts of `git init` that agents inspect.
fn git_directory(path: &Path) {
    fs::create_dir_all(path.join("objects")).unwrap();
    fs::create_dir_all(path.join("refs")).unwrap();
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(path.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n").unwrap();
}

fn base64(text: &str) -> Vec<u8> {
    // Only a few entries that are not UTF-8 need base64, which is not worth a dependency.
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for byte in text.bytes().filter(|byte| *byte != b'=' && !byte.is_ascii_whitespace()) {
        bits = bits << 6 | u32::from(value(byte));
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Reports that a test was skipped, with the reason.
#[expect(clippy::print_stderr, reason = "who runs the tests should see it")]
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}
