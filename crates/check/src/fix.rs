//! Automatic fixes that change nothing a reader can see.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::document::utf16;
use crate::rule::RuleId;
use crate::rules::without_invisible;
use crate::{CheckReport, Finding};

/// A fixed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    pub path: PathBuf,
    /// Codes of the fixed rules.
    pub rules: Vec<&'static str>,
}

/// A file that could not be fixed and is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("could not fix {}: {reason}", path.display())]
pub struct FixError {
    pub path: PathBuf,
    pub reason: String,
}

/// Applies all automatic fixes. Each file is replaced as a whole, unless it changed since the check.
pub fn fix(report: &CheckReport) -> (Vec<FixedFile>, Vec<FixError>) {
    let mut files: BTreeMap<&Path, Vec<RuleId>> = BTreeMap::new();
    let fixable = report.findings.iter().filter(|finding| finding.fixable && is_prose(&finding.path));
    for Finding { path, rule, .. } in fixable {
        let rules = files.entry(path).or_default();
        if !rules.contains(rule) {
            rules.push(*rule);
        }
    }
    let mut fixed = Vec::new();
    let mut errors = Vec::new();
    for (path, rules) in files {
        match rewrite(path, &rules) {
            Ok(true) => {
                let rules = rules.iter().map(|rule| rule.rule().code).collect();
                fixed.push(FixedFile { path: path.to_owned(), rules });
            }
            Ok(false) => {}
            Err(error) => errors.push(FixError { path: path.to_owned(), reason: error.to_string() }),
        }
    }
    (fixed, errors)
}

/// Returns true if a file is prose. Instructions can import code and data, in which every character counts.
fn is_prose(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    extension.is_none_or(|extension| {
        ["md", "mdc", "mdx", "markdown", "txt", "rst", "adoc"].contains(&extension.as_str())
    })
}

/// Rewrites a file. Returns false for a link, whose target is fixed under its own name.
fn rewrite(path: &Path, rules: &[RuleId]) -> io::Result<bool> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_file() {
        return Ok(false);
    }
    // The file is replaced by a new one, which would separate it from its other names.
    if metadata.nlink() > 1 {
        return Err(io::Error::other("it has another name (a hard link), which would keep the old text"));
    }
    let before = std::fs::read(path)?;
    // The encoding is fixed first: invisible characters can only be removed from UTF-8.
    let mut after = match utf16(&before) {
        Some(text) if rules.contains(&RuleId::Encoding) => text.into_bytes(),
        _ => before.clone(),
    };
    if rules.contains(&RuleId::InvisibleCharacter)
        && let Ok(text) = std::str::from_utf8(&after)
    {
        // A byte order mark is legitimate at the very beginning only.
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        after = [&text[..mark], &without_invisible(&text[mark..])].concat().into_bytes();
    }
    if after == before {
        return Ok(false);
    }
    // The new file is in the same directory, because a rename replaces a file atomically only within one file system.
    let directory = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&after)?;
    file.as_file().set_permissions(metadata.permissions())?;
    file.as_file().sync_all()?;
    // An editor may have saved the file since it was read. This narrows the window to the rename itself, and a change
    // that is noticed wins over the fix.
    if std::fs::read(path)? != before {
        return Err(io::Error::other("it was changed meanwhile"));
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(true)
}
