//! The approval request for a call: the whole call, and a digest of exactly what would run.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use diff::LineDiff;
use protocol::{ApprovalRequest, ContentHash};

use crate::toolset::tool::AnyTool;
use crate::{ToolArguments, ToolCall, ToolContext};

/// Larger diffs are left out; the arguments contain the whole text as well.
const MAX_DIFF_BYTES: usize = 1 << 20;

/// A file that a call would write.
#[derive(Debug, Clone)]
pub(crate) struct WriteTarget {
    /// Path as in the call.
    pub(crate) path: PathBuf,
    /// Resolved path.
    pub(crate) real: PathBuf,
}

/// Builds the approval request for a call in the current state. Reads files, so it may block.
pub(crate) fn question(
    context: &ToolContext,
    call: &ToolCall,
    arguments: &ToolArguments,
    tool: &dyn AnyTool,
    targets: &[WriteTarget],
    rule: &str,
) -> ApprovalRequest {
    let bases: Vec<Base> = targets.iter().map(|target| Base::read(context, &target.path)).collect();
    // A preview is a diff of one file. The digest below covers all files of a call.
    let preview = match (targets, &bases[..]) {
        ([target], [base]) => WritePreview::of(&target.real, base, arguments, tool),
        _ => WritePreview::default(),
    };
    let paths: Vec<String> =
        targets.iter().map(|target| target.real.to_string_lossy().into_owned()).collect();
    let cwd = context.root().map(|_| context.cwd().to_string_lossy().into_owned());
    let digests: Vec<Option<ContentHash>> = bases.iter().map(Base::digest).collect();
    // The digest covers the files' content as well: an approval must not carry over to a file that has changed.
    let all = serde_json::json!([call.name, arguments.fields(), paths, cwd, digests]);
    ApprovalRequest {
        call_id: call.id.clone(),
        tool: call.name.clone(),
        arguments: arguments.fields().clone(),
        paths,
        cwd,
        digest: Some(ContentHash::of(all.to_string())),
        diff: preview.diff,
        new_file: preview.is_new,
        replaces_lines: preview.replaces_lines,
        rule: rule.to_owned(),
        identity: false,
        sandbox: tool.sandbox(),
    }
}

/// Content of a file before the call.
enum Base {
    Absent,
    Content(Vec<u8>),
    /// State of a file that is too large to compare or cannot be read.
    Opaque(String),
}

impl Base {
    fn read(context: &ToolContext, path: &Path) -> Self {
        let opened = match context.find(path) {
            Ok(place) if !place.exists() => return Self::Absent,
            Ok(place) => place.open_file(),
            Err(error) => Err(error),
        };
        let (file, stat) = match opened {
            Ok(opened) => opened,
            Err(error) => return Self::Opaque(error.to_string()),
        };
        let limit = context.limits().edit_bytes;
        let mut content = Vec::new();
        match file.take(limit + 1).read_to_end(&mut content) {
            Ok(_) if content.len() as u64 <= limit => Self::Content(content),
            Ok(_) => {
                // The change time cannot be set by a program, unlike the modification time.
                let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
                Self::Opaque(format!("{:?}", (stat.st_dev, stat.st_ino, stat.st_size, times)))
            }
            Err(error) => Self::Opaque(error.to_string()),
        }
    }

    fn digest(&self) -> Option<ContentHash> {
        match self {
            Self::Absent => None,
            Self::Content(content) => Some(ContentHash::of(content)),
            Self::Opaque(state) => Some(ContentHash::of(state)),
        }
    }
}

/// Effect of a call on its file.
#[derive(Debug, Default, PartialEq, Eq)]
struct WritePreview {
    diff: Option<String>,
    is_new: bool,
    replaces_lines: Option<u64>,
}

impl WritePreview {
    fn of(path: &Path, base: &Base, arguments: &ToolArguments, tool: &dyn AnyTool) -> Self {
        let is_new = matches!(base, Base::Absent);
        let old = match base {
            Base::Absent => &[][..],
            Base::Content(content) => content,
            Base::Opaque(_) => return Self::default(),
        };
        let Some(new) = tool.preview(arguments, old) else { return Self { is_new, ..Self::default() } };
        let (diff, replaced) = unified(path, is_new, old, &new);
        Self { diff, is_new, replaces_lines: (!is_new).then_some(replaced) }
    }
}

/// Returns a unified diff, if it can be shown, and the number of lines of `old` that are removed.
fn unified(path: &Path, is_new: bool, old: &[u8], new: &[u8]) -> (Option<String>, u64) {
    let old_text = String::from_utf8_lossy(old);
    let new_text = String::from_utf8_lossy(new);
    let diff = LineDiff::new(&old_text, &new_text);
    let name = path.to_string_lossy();
    let before = if is_new { "/dev/null" } else { &name };
    let text = diff.unified(before, &name);
    let is_shown = text.len() <= MAX_DIFF_BYTES && !old.contains(&0) && !new.contains(&0);
    (is_shown.then_some(text), diff.removed_lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str) -> (String, u64) {
        let (diff, replaced) = unified(Path::new("/r/a"), old.is_empty(), old.as_bytes(), new.as_bytes());
        (diff.unwrap(), replaced)
    }

    #[test]
    fn diff_shows_every_added_and_removed_line() {
        let (diff, replaced) = check("one\ntwo\nthree\n", "one\n2\nthree\nfour\n");
        assert_eq!(diff, "--- /r/a\n+++ /r/a\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n");
        assert_eq!(replaced, 1);
        assert_eq!(check("", "a\n"), ("--- /dev/null\n+++ /r/a\n@@ -0,0 +1 @@\n+a\n".to_owned(), 0));
        assert_eq!(check("a\n", "a\n"), (String::new(), 0));
        let (diff, replaced) = check(&"x\n".repeat(62), "");
        assert_eq!((diff.lines().filter(|line| *line == "-x").count(), replaced), (62, 62));
    }

    #[test]
    fn binary_content_has_no_diff() {
        assert_eq!(unified(Path::new("/a"), false, b"a\0b\n", b"c\n"), (None, 1));
    }
}
