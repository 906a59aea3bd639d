//! `list_dir` lists the names in a directory.

use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use instructions::contained_path::file_type;
use rustix::fs::{AtFlags, Dir, FileType};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::blocking::{self, BlockingWork};
use crate::{FileError, Needs, Tool, ToolArguments, ToolContext, ToolOutput, ToolSpec};

/// Lists a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListDir;

/// Entries read between two checks of the deadline.
const BETWEEN_CHECKS: u64 = 1_024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The directory, absolute or relative to the working directory; `.` for the working directory itself.
    path: PathBuf,
}

impl Tool for ListDir {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "list_dir",
            "Lists a directory, one name a line, sorted. Directories end with a slash, links show where they lead.",
        )
    }

    fn needs(&self, arguments: &ToolArguments) -> Needs {
        arguments.text("path").map(Needs::read).unwrap_or_default()
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        blocking::run(context, &arguments, list).await
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct DirectoryEntry {
    name: OsString,
    is_directory: bool,
    target: Option<OsString>,
}

fn list(
    context: &ToolContext,
    parameters: &Parameters,
    work: &BlockingWork,
) -> Result<ToolOutput, FileError> {
    let failed = |errno| FileError::of(errno, &parameters.path);
    let descriptor = context.find(&parameters.path)?.open_directory()?;
    let limit = context.limits().list_entries.max(1);
    // A heap of the first names in order keeps memory bounded for a directory of any size: a name that sorts earlier
    // displaces the last one.
    let mut first: BinaryHeap<DirectoryEntry> = BinaryHeap::new();
    let mut count = 0_u64;
    for entry in Dir::read_from(&descriptor).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            continue;
        }
        count += 1;
        if count.is_multiple_of(BETWEEN_CHECKS) {
            work.check()?;
        }
        // Names that cannot be among the first are skipped before the system calls for their type and target.
        if first.len() == limit && first.peek().is_some_and(|last| last.name < name) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => rustix::fs::statat(&descriptor, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| file_type(&stat)),
            kind => kind,
        };
        let target = (kind == FileType::Symlink)
            .then(|| rustix::fs::readlinkat(&descriptor, &name, Vec::new()).ok())
            .flatten()
            .map(|target| OsString::from_vec(target.into_bytes()));
        first.push(DirectoryEntry { name, is_directory: kind == FileType::Directory, target });
        if first.len() > limit {
            first.pop();
        }
    }
    let mut output = ToolOutput::text(rendered(first.into_sorted_vec()))
        .with_remedy("List a directory below, or search with a glob.");
    if count == 0 {
        output = output.with_note("the directory is empty");
    }
    if count > limit as u64 {
        output = output.with_note(format!(
            "the first {limit} of {count} entries; search with a glob finds others by their content"
        ));
    }
    Ok(output)
}

fn rendered(listed: Vec<DirectoryEntry>) -> String {
    let mut text = String::new();
    for entry in listed {
        text.push_str(&one_line(&entry.name));
        if entry.is_directory {
            text.push('/');
        }
        if let Some(target) = entry.target {
            let _ = write!(text, " -> {}", one_line(&target));
        }
        text.push('\n');
    }
    text
}

/// Escapes control characters, so that a name with line breaks cannot pass for two entries.
pub(crate) fn one_line(name: &OsStr) -> String {
    let mut line = String::new();
    for character in name.to_string_lossy().chars() {
        if character.is_control() { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}
