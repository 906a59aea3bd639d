//! Writes the files that other agents need next to a tree of AGENTS.md files.
//!
//! Most agents read AGENTS.md on their own. Claude Code does not if there is a CLAUDE.md in its start directory or
//! above, and older versions never do, so each AGENTS.md gets a CLAUDE.md next to it. Gemini CLI reads the names listed
//! in `context.fileName`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use compare::{Names, Tree};
use instructions::file::{Found, read_anywhere};
use instructions::{CLAUDE_CODE, ContentHash, FileSettings, InstructionFile, Request, resolve};
use serde_json::{Value, json};

use crate::change::{Change, ChangeError, Content, Journal, Undone, inside};
use crate::json_text::JsonText;

const SOURCE: &str = "AGENTS.md";
const CLAUDE: &str = "CLAUDE.md";
/// File that only imports the one next to it.
const IMPORT: &str = "@AGENTS.md\n";
const GEMINI_SETTINGS: &str = ".gemini/settings.json";
const GEMINI_NAME: &str = "GEMINI.md";

/// Maximum bytes read to check whether a file has text.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reason recorded in the journal.
pub const REASON: &str = "sync";

/// Form in which CLAUDE.md refers to AGENTS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// A link, which works wherever the agent is started.
    Link,
    /// An import line. Claude Code follows imports only inside its start directory.
    Import,
}

/// Planned changes for a tree.
#[derive(Debug, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
    /// Files left unchanged that do not refer to the AGENTS.md next to them.
    pub kept: Vec<Kept>,
    /// Settings that cannot be changed and directories that cannot be read. The other changes do not depend on them.
    pub problems: Vec<ChangeError>,
    /// AGENTS.md files found.
    pub sources: Vec<PathBuf>,
}

/// A CLAUDE.md that is left unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub path: PathBuf,
    /// Reason and consequence, to be printed after the file name: `has its own text, so …`.
    pub reason: String,
    pub remedy: &'static str,
}

/// Plans the changes for a tree.
pub fn plan(root: &Path, means: Means, settings: &FileSettings) -> Plan {
    let mut plan = Plan::default();
    for directory in directories(root, &mut plan.problems) {
        let source = directory.join(SOURCE);
        if has_text(&source) {
            plan.sources.push(source);
            for_claude(&directory, means, settings, &mut plan);
        } else if let Some(change) = left_behind(&directory) {
            plan.changes.push(change);
        }
    }
    for directory in not_followed_from_below(&plan.sources, means, settings) {
        let path = directory.join(CLAUDE);
        // Only a bare import can be replaced without losing text.
        let is_bare = matches!(Content::at(&path), Ok(Content::Text(text)) if text.trim() == IMPORT.trim());
        let remedy = if is_bare {
            "make it a link: ln -sf AGENTS.md CLAUDE.md"
        } else {
            "move its own text into AGENTS.md, then make it a link to that"
        };
        let reason = "imports AGENTS.md, which Claude Code does not follow where it is started further down";
        plan.kept.push(Kept { path, reason: reason.to_owned(), remedy });
    }
    if !plan.sources.is_empty() {
        match for_gemini(root) {
            Ok(change) => plan.changes.extend(change),
            Err(problem) => plan.problems.push(problem),
        }
    }
    plan
}

/// Returns the changes that undo `sync` in every file it changed.
pub fn undoing(root: &Path, journal: &Journal<'_>) -> Result<Vec<(Change, Undone)>, ChangeError> {
    let mut undoing = Vec::new();
    for path in journal.changed_below(root) {
        let is_settings = path.ends_with(GEMINI_SETTINGS);
        let take_out = |text: &str| if is_settings { without_name(text) } else { Ok(text.to_owned()) };
        match journal.undoing(&path, take_out)? {
            Some(found) => undoing.push(found),
            // Nothing of ours is left in the file, so the record has no use any more.
            None => journal.forget(&path),
        }
    }
    Ok(undoing)
}

/// Returns the project's directories with AGENTS.md or CLAUDE.md, walking the tree as Git would. The files themselves
/// may be ignored by Git, because agents read them anyway.
fn directories(root: &Path, problems: &mut Vec<ChangeError>) -> Vec<PathBuf> {
    let tree = match Tree::walk(root, &Names::new([])) {
        Ok(tree) => tree,
        Err(error) => {
            problems.push(ChangeError::Unseen(error.to_string()));
            return Vec::new();
        }
    };
    problems.extend(tree.problems().iter().cloned().map(ChangeError::Unseen));
    let is_wanted = |name: &OsString| name == SOURCE || name == CLAUDE;
    let found = tree.directories().iter().filter(|directory| directory.instructions.iter().any(is_wanted));
    let found = found.map(|directory| directory.path.clone());
    found.filter(|directory| is_of_the_project(root, directory)).collect()
}

/// Returns false inside packages and nested repositories, which belong to others.
fn is_of_the_project(root: &Path, directory: &Path) -> bool {
    let mut below = directory.ancestors().take_while(|above| *above != root);
    let is_foreign = |above: &Path| {
        above.file_name() == Some(OsStr::new("node_modules")) || above.join(".git").symlink_metadata().is_ok()
    };
    !below.any(is_foreign)
}

fn has_text(path: &Path) -> bool {
    match read_anywhere(path, MAX_BYTES) {
        Found::File { content, .. } => content.bytes.iter().any(|byte| !byte.is_ascii_whitespace()),
        _ => false,
    }
}

/// Consequence of a CLAUDE.md that is in the way.
const UNREAD: &str = ", so the AGENTS.md beside it is not read by Claude Code";

fn for_claude(directory: &Path, means: Means, settings: &FileSettings, plan: &mut Plan) {
    let path = directory.join(CLAUDE);
    let before = match Content::at(&path) {
        Ok(before) => before,
        Err(error) => {
            let reason = match error {
                ChangeError::Refused { reason, .. } => format!("is left unchanged because {reason}{UNREAD}"),
                ChangeError::Io { source, .. } => format!("cannot be read ({source}){UNREAD}"),
                ChangeError::Unseen(reason) => format!("cannot be read ({reason}){UNREAD}"),
            };
            plan.kept.push(Kept { path, reason, remedy: "fix or remove it" });
            return;
        }
    };
    let is_blank = matches!(&before, Content::Text(text) if text.trim().is_empty());
    if before == Content::Absent || is_blank {
        let after = match means {
            // A blank file hides the AGENTS.md as well. It is filled with an import instead, because a link cannot be
            // created over an existing file.
            Means::Link if before == Content::Absent => Content::Link(SOURCE.into()),
            Means::Link | Means::Import => Content::Text(IMPORT.to_owned()),
        };
        plan.changes.push(Change { path, before, after });
    } else if matches!(before, Content::Link(_)) && !path.exists() {
        let reason = format!("is a broken link{UNREAD}");
        plan.kept.push(Kept { path, reason, remedy: "remove it and run this again" });
    } else if !claude_reads(directory, directory, settings) {
        let reason = format!("has its own text{UNREAD}");
        plan.kept.push(Kept { path, reason, remedy: "add the line `@AGENTS.md` to it" });
    }
}

/// Returns directories whose CLAUDE.md import fails when Claude Code starts in a subdirectory. Not reported with
/// `--import`, which accepts that.
fn not_followed_from_below<'a>(
    sources: &'a [PathBuf],
    means: Means,
    settings: &FileSettings,
) -> Vec<&'a Path> {
    let directories: Vec<&Path> = sources.iter().filter_map(|source| source.parent()).collect();
    let is_lost = |directory: &&Path| {
        let is_text = matches!(Content::at(&directory.join(CLAUDE)), Ok(Content::Text(text)) if !text.trim().is_empty());
        let below = directories.iter().find(|below| below.starts_with(directory) && *below != directory);
        let reads = |cwd: &Path| claude_reads(cwd, directory, settings);
        is_text && reads(directory) && below.is_some_and(|below| !reads(below))
    };
    let asked = directories.iter().copied().filter(|_| means == Means::Link);
    asked.filter(is_lost).collect()
}

/// Returns true if Claude Code, started in `cwd`, reads the AGENTS.md of `directory` through any CLAUDE.md.
fn claude_reads(cwd: &Path, directory: &Path, settings: &FileSettings) -> bool {
    let settings = FileSettings { homes: settings.homes.clone(), ..FileSettings::of(&CLAUDE_CODE) };
    let Ok(resolution) = resolve(&Request { cwd, settings: &settings }, None) else {
        return false;
    };
    let real = |path: &Path| path.canonicalize().ok();
    let source = real(&directory.join(SOURCE));
    // A copy is as good as a link, so the text is compared besides the path.
    let sha256 = match Content::at(&directory.join(SOURCE)) {
        Ok(Content::Text(text)) => Some(ContentHash::of(&text)),
        _ => None,
    };
    let is_it = |file: &InstructionFile| {
        sha256.as_ref() == Some(&file.sha256) || (source.is_some() && real(&file.path) == source)
    };
    resolution.files.iter().any(is_it)
}

/// Returns the removal of a CLAUDE.md that we wrote and whose AGENTS.md is gone.
fn left_behind(directory: &Path) -> Option<Change> {
    let path = directory.join(CLAUDE);
    let source = directory.join(SOURCE);
    // A blank AGENTS.md or a broken link is still an AGENTS.md: its author may be about to fill or fix it.
    if source.symlink_metadata().is_ok() {
        return None;
    }
    let before = Content::at(&path).ok()?;
    let is_ours = match &before {
        Content::Link(target) => target == Path::new(SOURCE),
        // Compared exactly, because any other text, even with this line in it, may be the user's own.
        Content::Text(text) => text == IMPORT,
        Content::Absent => false,
    };
    is_ours.then_some(Change { path, before, after: Content::Absent })
}

/// Makes Gemini CLI read AGENTS.md. Once `context.fileName` is set, its default GEMINI.md must be listed as well.
fn for_gemini(root: &Path) -> Result<Option<Change>, ChangeError> {
    let path = inside(root, &root.join(GEMINI_SETTINGS))?;
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
        // Gemini CLI does not add its default to a configured list, so a project that relies on GEMINI.md would lose
        // it.
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
            // Only the default is left, so the setting is not needed any more.
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
