//! Answers an agent's command hook with the instructions that newly apply to the path a tool touched.
//!
//! One session is kept per session of the agent. It starts with what the agent loads on its own, so nothing is
//! delivered twice.

mod event;
mod guarding;
mod kept;
mod touched;
mod trust;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::file::read_whole;
use instructions::{
    Announcement, Cache, ContentHash, FileRead, FileSettings, InlineBudget, Purpose, Reminder, Request,
    ResolveError, Resolver, SessionFileError, survey_reading,
};
use serde_json::json;

use self::event::{EventKind, HookInput, ToolUse};
use self::kept::{KeptPath, KeptSession, Texts};
use crate::agent::{AnswerForm, Connected, Hooks};

/// Maximum size of the hook's input, which contains the tool's result.
pub const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of instruction text to inline, tried in order until the answer fits. With none, files are only named.
const INLINE_BYTES: &[u64] = &[8_192, 4_096, 0];

/// Largest instruction file that counts as read after a tool has read it.
const MAX_READ_BYTES: u64 = 64 * 1024;

/// Context of a hook run.
pub struct Hook<'a> {
    pub agent: &'static Connected,
    /// Our rules, with the user's settings.
    pub rules: &'a FileSettings,
    /// Directory of sessions.
    pub sessions: &'a Path,
    /// Working directory of this process, used if the agent does not send its own.
    pub cwd: &'a Path,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("{agent} has no command hooks")]
    NoHooks { agent: &'static str },
    #[error("cannot read the hook's input: {reason}")]
    Input { reason: String },
    #[error(transparent)]
    Session(#[from] SessionFileError),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Another process holds the session's lock.
    #[error("another process holds {}", path.display())]
    Busy { path: PathBuf },
    #[error("could not {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// The agent's list of trusted folders is not understood.
    #[error("delivered nothing: cannot read trusted folders from {}: {reason}", path.display())]
    Trust { path: PathBuf, reason: String },
    /// The agent closed our standard output.
    #[error("could not write the answer: {0}")]
    Answer(io::Error),
}

/// Reads a hook's input and writes its answer, which is empty if nothing newly applies.
// Errors never block the agent: the command exits with 1, which agents report and ignore, while 2 would forbid the tool
// call. A problem of ours must not stop the user's work.
pub fn answer(hook: &Hook<'_>, input: &[u8], output: &mut dyn Write) -> Result<(), HookError> {
    let agent = hook.agent.profile.name;
    let hooks = hook.agent.hooks.as_ref().ok_or(HookError::NoHooks { agent })?;
    let input = HookInput::parse(input).map_err(|reason| HookError::Input { reason })?;
    let is_set = |name: &str| (hook.variable)(name).is_some_and(|value| !value.is_empty());
    // The borrowing agent sends the same input as the owner of the settings, so only the environment reveals it. It
    // loads other files, and what it lacks is what has to be delivered.
    let borrower = hooks.borrowed_by.iter().find(|(variable, _)| is_set(variable));
    let reader = borrower.map_or(hook.agent.profile, |(_, profile)| profile);
    let place = input.session.as_deref().map(|session| KeptPath::of(hook.sessions, reader.name, session));
    match input.kind {
        // Before anything is locked or read: agents may send events we do not know, and those must cost nothing.
        EventKind::Other => return Ok(()),
        EventKind::Compacted => return place.map_or(Ok(()), |place| place.forget()),
        EventKind::Started | EventKind::Resumed | EventKind::Tool | EventKind::BeforeTool => {}
    }
    let cwd = instructions::path::normalise(input.cwd_or(hook.cwd), hook.cwd);
    // Guards can only restrict, so they hold in distrusted folders too, and need no session.
    if input.kind == EventKind::BeforeTool {
        return match guarding::answer(hook, hooks, borrower.is_some(), &input, reader, &cwd)? {
            Some(text) => {
                output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(HookError::Answer)
            }
            None => Ok(()),
        };
    }
    // An agent reads no files of a distrusted folder. Without this check their text would reach the model through us.
    if let Some(file) = hooks.trust_file
        && trust::is_distrusted(file, hook, &cwd)?
    {
        return Ok(());
    }
    let own = FileSettings { homes: hook.rules.homes.clone(), ..FileSettings::of(reader) };
    let mut kept = KeptSession::open(place)?;
    // A start means an empty context. A stored session with the same id would hold back text the model no longer has.
    let stored = if input.kind == EventKind::Started { None } else { kept.read()? };
    let session = match stored {
        Some(session) => session,
        None => match kept::start(hook.rules, &own, &cwd)? {
            Some(session) => session,
            // The user has disabled the agent's project files for this directory.
            None => return Ok(()),
        },
    };
    let resolver = Resolver::new(session, hook.rules.clone(), Arc::new(Cache::new()));
    let targets = match &input.tool {
        Some(tool) => touched::paths(tool, &cwd),
        None => vec![cwd.clone()],
    };
    if let Some(tool) = &input.tool {
        mark_files_loaded_by_agent(&resolver, hooks, &own, tool, &targets)?;
    }
    let delivered = fitting_reminder(&resolver, &targets, hooks.max_characters)?;
    let text = match delivered {
        Some((text, announcement)) => {
            announcement.confirm();
            Some(written(hooks.answer, input.name.as_deref(), &text))
        }
        None => None,
    };
    // The session is prepared before the answer is written, because delivered text that cannot be recorded would be
    // delivered again forever. It is committed only after the write, because text that was never read was not
    // delivered.
    let prepared = kept.prepare(&resolver.session())?;
    if let Some(text) = text {
        output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(HookError::Answer)?;
    }
    if let Some(prepared) = prepared {
        prepared.commit()?;
    }
    Ok(())
}

/// Records files that the agent loads for this call, or that the tool has read, as delivered.
fn mark_files_loaded_by_agent(
    resolver: &Resolver,
    hooks: &Hooks,
    own: &FileSettings,
    tool: &ToolUse,
    targets: &[PathBuf],
) -> Result<(), HookError> {
    if !hooks.reading_tools.contains(&tool.name.as_str()) {
        return Ok(());
    }
    let session = resolver.session();
    let mut loaded = Texts::default();
    for target in targets {
        if let Some(read) = whole_file(tool, target) {
            resolver.mark_read(read)?;
        }
        let request = Request { cwd: &session.cwd, settings: own };
        if let Some(resolution) = survey_reading(&request, target)? {
            loaded.extend(&resolution.files);
        }
    }
    let announcement = resolver.resolve_all(targets.iter().map(PathBuf::as_path))?;
    let Some(Reminder::AgentsResolvePaths { files, .. }) = announcement.reminder() else { return Ok(()) };
    // Not confirmed, because it only lists the candidates. It must be gone before the reminder is made: files of a
    // pending announcement would be missing there.
    drop(announcement);
    for file in files {
        // Agents load a file once. If it has changed since, the model still has the old text.
        let is_new = !session.loaded_versions.contains_key(&file.path);
        if let Some(sha256) = file.sha256
            && is_new
            && loaded.have(&file.path, &sha256)
        {
            resolver.mark_read(FileRead { path: file.path, sha256, version: None })?;
        }
    }
    Ok(())
}

/// Returns the file a tool has read, unless it read only a part.
fn whole_file(tool: &ToolUse, path: &Path) -> Option<FileRead> {
    // With any of these the tool returned an excerpt, and the rest of the file is still unknown to the model. The list
    // covers the spellings of all agents.
    let in_part = ["offset", "limit", "start_line", "end_line", "view_range", "pages"];
    if in_part.iter().any(|key| tool.input.get(key).is_some_and(|value| !value.is_null())) {
        return None;
    }
    let bytes = read_whole(path, MAX_READ_BYTES).filter(|bytes| !bytes.is_empty())?;
    let sha256 = ContentHash::of(bytes);
    Some(FileRead { path: path.to_owned(), sha256, version: None })
}

/// Returns the reminder, inlining as much text as the agent passes on to the model.
fn fitting_reminder(
    resolver: &Resolver,
    targets: &[PathBuf],
    max_characters: usize,
) -> Result<Option<(String, Announcement)>, HookError> {
    for bytes in INLINE_BYTES {
        let targets = targets.iter().map(PathBuf::as_path);
        let announcement = resolver.resolve_for(targets, Purpose::Read, &mut InlineBudget::of(*bytes))?;
        let Some(reminder) = announcement.reminder() else { return Ok(None) };
        let text = reminder.render();
        // Names without text are delivered even above the limit: the agent may cut the list, which is better than no
        // hint at all.
        if *bytes == 0 || text.chars().count() <= max_characters {
            return Ok(Some((text, announcement)));
        }
    }
    Ok(None)
}

fn written(form: AnswerForm, event: Option<&str>, text: &str) -> String {
    let answer = match (form, event) {
        (AnswerForm::OfEvent, Some(event)) => {
            json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
        }
        // `hookSpecificOutput` must name its event, so without a name only the plain form is left.
        (AnswerForm::OfEvent, None) | (AnswerForm::Plain, _) => json!({ "additionalContext": text }),
    };
    format!("{answer}\n")
}
