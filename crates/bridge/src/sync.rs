//! Writes beside one tree of AGENTS.md files what agents with other habits need to find them.
//!
//! Most agents read AGENTS.md by themselves. Claude Code does not where there is a CLAUDE.md in the directory that it was
//! started in or above, and its older versions never; so each AGENTS.md gets a CLAUDE.md beside it. Gemini CLI reads the names
//! that `context.fileName` lists.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use instructions::{CLAUDE_CODE, FileSettings, Request, resolve};
use serde_json::{Value, json};

use crate::change::{Change, ChangeError, Content, Journal, Undone};
use crate::json_text::JsonText;

const SOURCE: &str = "AGENTS.md";
const CLAUDE: &str = "CLAUDE.md";
/// A file that is nothing but this imports the one beside it.
const IMPORT: &str = "@AGENTS.md\n";
const GEMINI_SETTINGS: &str = ".gemini/settings.json";
const GEMINI_NAME: &str = "GEMINI.md";

/// What the journal says of these changes.
pub const REASON: &str = "sync";

/// How another name leads to an AGENTS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// By a link, which works wherever the agent is started.
    Link,
    /// By an import line. Claude Code follows imports only inside the directory that it was started in.
    Import,
}

/// What a tree needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// What has to be changed.
    pub changes: Vec<Change>,
    /// Files that somebody has written, and that do not lead to the AGENTS.md beside them.
    pub kept: Vec<PathBuf>,
    /// The AGENTS.md files that were found.
    pub sources: Vec<PathBuf>,
}

/// Finds out what a tree needs.
pub fn plan(root: &Path, means: Means, settings: &FileSettings) -> Result<Plan, ChangeError> {
    let mut plan = Plan::default();
    for directory in directories(root) {
        let source = directory.join(SOURCE);
        if has_text(&source) {
            plan.sources.push(source);
            for_claude(&directory, means, settings, &mut plan)?;
        } else if let Some(change) = left_behind(&directory)? {
            plan.changes.push(change);
        }
    }
    if !plan.sources.is_empty() {
        plan.changes.extend(for_gemini(root)?);
    }
    Ok(plan)
}

/// What undoing changes, for every file that was changed here.
pub fn undoing(root: &Path, journal: &Journal<'_>) -> Result<Vec<(Change, Undone)>, ChangeError> {
    let mut undoing = Vec::new();
    for path in journal.changed_below(root) {
        let is_settings = path.ends_with(GEMINI_SETTINGS);
        let take_out = |text: &str| if is_settings { without_name(text) } else { Ok(text.to_owned()) };
        match journal.undoing(&path, take_out)? {
            Some(found) => undoing.push(found),
            None => journal.forget(&path),
        }
    }
    Ok(undoing)
}

/// The directories that have one of the names, as far as Git would see them.
fn directories(root: &Path) -> Vec<PathBuf> {
    let is_named = |name: &std::ffi::OsStr| name == SOURCE || name == CLAUDE;
    let walk = WalkBuilder::new(root).hidden(true).require_git(false).follow_links(false).build();
    let found = walk.flatten().filter(|entry| is_named(entry.file_name()));
    let mut directories: Vec<PathBuf> =
        found.filter_map(|entry| entry.path().parent().map(Path::to_owned)).collect();
    // A CLAUDE.md is often ignored; the AGENTS.md beside it is found in any case.
    directories.sort();
    directories.dedup();
    directories
}

fn has_text(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && std::fs::read(path).is_ok_and(|bytes| bytes.iter().any(|byte| !byte.is_ascii_whitespace()))
}

fn for_claude(
    directory: &Path,
    means: Means,
    settings: &FileSettings,
    plan: &mut Plan,
) -> Result<(), ChangeError> {
    let path = directory.join(CLAUDE);
    let before = Content::at(&path)?;
    let is_blank = matches!(&before, Content::Text(text) if text.trim().is_empty());
    if before == Content::Absent || is_blank {
        let after = match means {
            Means::Link if before == Content::Absent => Content::Link(SOURCE.into()),
            Means::Link | Means::Import => Content::Text(IMPORT.to_owned()),
        };
        plan.changes.push(Change { path, before, after });
    } else if !claude_reads(directory, settings) {
        plan.kept.push(path);
    }
    Ok(())
}

/// Whether Claude Code, started in a directory, gets its AGENTS.md by whatever CLAUDE.md is there.
fn claude_reads(directory: &Path, settings: &FileSettings) -> bool {
    let settings = FileSettings { homes: settings.homes.clone(), ..FileSettings::of(&CLAUDE_CODE) };
    let Ok(resolution) = resolve(&Request { cwd: directory, settings: &settings }, None) else {
        return false;
    };
    let real = |path: &Path| path.canonicalize().ok();
    let source = real(&directory.join(SOURCE));
    let bytes = std::fs::read(directory.join(SOURCE)).unwrap_or_default();
    let sha256 = instructions::ContentHash::of(&bytes);
    resolution
        .files
        .iter()
        .any(|file| file.sha256 == sha256 || (source.is_some() && real(&file.path) == source))
}

/// A CLAUDE.md that leads to an AGENTS.md which is gone.
fn left_behind(directory: &Path) -> Result<Option<Change>, ChangeError> {
    let (path, source) = (directory.join(CLAUDE), directory.join(SOURCE));
    if source.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let Ok(before) = Content::at(&path) else { return Ok(None) };
    let is_ours = match &before {
        Content::Link(target) => target == Path::new(SOURCE),
        Content::Text(text) => text == IMPORT,
        Content::Absent => false,
    };
    Ok(is_ours.then_some(Change { path, before, after: Content::Absent }))
}

/// Lets Gemini CLI read AGENTS.md, too. It reads GEMINI.md in any case, but says so in its settings if it is named.
fn for_gemini(root: &Path) -> Result<Option<Change>, ChangeError> {
    let path = root.join(GEMINI_SETTINGS);
    let path = if path.is_symlink() { path.canonicalize().unwrap_or(path) } else { path };
    let before = Content::at(&path)?;
    let text = match &before {
        Content::Text(text) => text.as_str(),
        Content::Absent | Content::Link(_) => "",
    };
    let edited = with_name(text).map_err(|reason| ChangeError::refused(&path, reason))?;
    let after = Content::Text(edited);
    Ok((before != after).then_some(Change { path, before, after }))
}

fn with_name(text: &str) -> Result<String, String> {
    let json = JsonText::parse(text)?;
    let context = json.object().child_or_new("context")?;
    match context.value("fileName")? {
        None => context.set("fileName", &json!([SOURCE, GEMINI_NAME]))?,
        Some(Value::String(name)) if name == SOURCE => return Ok(text.to_owned()),
        Some(Value::String(name)) => context.set("fileName", &json!([SOURCE, name]))?,
        Some(Value::Array(names)) if names.contains(&json!(SOURCE)) => return Ok(text.to_owned()),
        Some(Value::Array(_)) => context.list_or_new("fileName")?.push(&json!(SOURCE)),
        Some(_) => return Err("`context.fileName` is neither a text nor an array".to_owned()),
    }
    let mut edited = json.text();
    if !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(edited)
}

fn without_name(text: &str) -> Result<String, String> {
    let json = JsonText::parse(text)?;
    let root = json.object();
    let Some(context) = root.child("context")? else { return Ok(text.to_owned()) };
    match context.value("fileName")? {
        Some(Value::Array(names)) if names.contains(&json!(SOURCE)) => {
            let left: Vec<Value> = names.into_iter().filter(|name| *name != json!(SOURCE)).collect();
            // What is left is what Gemini CLI reads without being told.
            if left.is_empty() || left == [json!(GEMINI_NAME)] {
                context.remove("fileName")?;
            } else {
                context.list_or_new("fileName")?.remove_where(|name| *name == json!(SOURCE));
            }
        }
        _ => return Ok(text.to_owned()),
    }
    if context.is_empty() {
        root.remove("context")?;
    }
    Ok(json.text())
}
