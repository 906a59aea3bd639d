//! Answers an agent's command hook: what newly applies to the path that a tool touched.
//!
//! One session is kept for each of the agent's sessions. It begins with what the agent itself loads at its start, so that
//! nothing is told twice, and everything that is told is told once.

mod event;
mod kept;
mod touched;
mod trust;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::file::read_whole;
use instructions::{
    Announcement, Cache, ContentHash, FileRead, FileSettings, InlineRoom, Purpose, Reminder, Request,
    ResolveError, Resolver, SessionFileError, survey_reading,
};
use serde_json::json;

use self::event::{EventKind, HookInput, ToolUse};
use self::kept::{KeptPath, KeptSession, Texts};
use crate::agent::{AnswerForm, Connected, Hooks};

/// Largest input that is read: it contains what a tool answered.
pub const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of texts that a first try, and those after it, may bring along. With none, files are named by their paths.
const ROOMS: &[u64] = &[8_192, 4_096, 0];

/// Largest instruction file that counts as read when a tool has read it.
const MAX_READ_BYTES: u64 = 64 * 1024;

/// Everything besides the input.
pub struct Hook<'a> {
    /// Who asks.
    pub agent: &'static Connected,
    /// Our rules, with the user's settings.
    pub rules: &'a FileSettings,
    /// Where sessions are kept.
    pub sessions: &'a Path,
    /// Where this process was started, for agents that do not say where they are.
    pub cwd: &'a Path,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Why a hook cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The agent has no command hooks.
    #[error("{agent} has no command hooks")]
    NoHooks {
        /// The agent.
        agent: &'static str,
    },
    /// What came on standard input is not a hook's JSON.
    #[error("cannot read the hook's input: {reason}")]
    Input {
        /// What is wrong with it.
        reason: String,
    },
    /// The session cannot be read or kept.
    #[error(transparent)]
    Session(#[from] SessionFileError),
    /// What applies cannot be found out.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Another process has the session.
    #[error("another process holds {}", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The system refused.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent's own file about trusted folders says nothing that can be understood.
    #[error("nothing is passed on: {} does not say which folders its user trusts: {reason}", path.display())]
    Trust {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody reads the answer.
    #[error("could not write the answer: {0}")]
    Answer(io::Error),
}

/// Reads a hook's input and writes its answer, which is nothing where nothing newly applies.
pub fn answer(hook: &Hook<'_>, input: &[u8], output: &mut dyn Write) -> Result<(), HookError> {
    let agent = hook.agent.profile.name;
    let hooks = hook.agent.hooks.as_ref().ok_or(HookError::NoHooks { agent })?;
    let input = HookInput::parse(input).map_err(|reason| HookError::Input { reason })?;
    let is_set = |name: &str| (hook.variable)(name).is_some_and(|value| !value.is_empty());
    let borrower = hooks.borrowed_by.iter().find(|(variable, _)| is_set(variable));
    let reader = borrower.map_or(hook.agent.profile, |(_, profile)| profile);
    let place = input.session.as_deref().map(|session| KeptPath::of(hook.sessions, reader.name, session));
    match input.kind {
        EventKind::Other => return Ok(()),
        EventKind::Compacted => return place.map_or(Ok(()), |place| place.forget()),
        EventKind::Started | EventKind::Resumed | EventKind::Tool => {}
    }
    let cwd = instructions::path::normalise(input.cwd_or(hook.cwd), hook.cwd);
    if let Some(file) = hooks.trust_file
        && trust::is_distrusted(file, hook, &cwd)?
    {
        return Ok(());
    }
    let own = FileSettings { homes: hook.rules.homes.clone(), ..FileSettings::of(reader) };
    let mut kept = KeptSession::open(place)?;
    let stored = if input.kind == EventKind::Started { None } else { kept.read()? };
    let session = match stored {
        Some(session) => session,
        None => match kept::start(hook.rules, &own, &cwd)? {
            Some(session) => session,
            // The agent reads no project files here, because its user said so.
            None => return Ok(()),
        },
    };
    let resolver = Resolver::new(session, hook.rules.clone(), Arc::new(Cache::new()));
    let targets = match &input.tool {
        Some(tool) => touched::paths(tool, &cwd),
        None => vec![cwd.clone()],
    };
    if let Some(tool) = &input.tool {
        note_what_the_agent_loads(&resolver, hooks, &own, tool, &targets)?;
    }
    let told = tell(&resolver, &targets, hooks.max_characters)?;
    let text = match told {
        Some((text, announcement)) => {
            announcement.confirm();
            Some(written(hooks.answer, input.name.as_deref(), &text))
        }
        None => None,
    };
    // What cannot be remembered must not be said, or it is said for ever; and what nobody read was not said.
    let prepared = kept.prepare(&resolver.session())?;
    if let Some(text) = text {
        output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(HookError::Answer)?;
    }
    if let Some(prepared) = prepared {
        prepared.commit()?;
    }
    Ok(())
}

/// What the agent itself brings in for this call, and what the call has given the model, counts as delivered.
fn note_what_the_agent_loads(
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
    drop(announcement);
    for file in files {
        // Agents bring a file in once; of one that has changed since, the model has the old text.
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

/// What a tool has read, if it has read all of it.
fn whole_file(tool: &ToolUse, path: &Path) -> Option<FileRead> {
    let in_part = ["offset", "limit", "start_line", "end_line", "view_range", "pages"];
    if in_part.iter().any(|key| tool.input.get(key).is_some_and(|value| !value.is_null())) {
        return None;
    }
    let bytes = read_whole(path, MAX_READ_BYTES).filter(|bytes| !bytes.is_empty())?;
    let sha256 = ContentHash::of(bytes);
    Some(FileRead { path: path.to_owned(), sha256, version: None })
}

/// The reminder, with as many texts as fit into what reaches the model.
fn tell(
    resolver: &Resolver,
    targets: &[PathBuf],
    max_characters: usize,
) -> Result<Option<(String, Announcement)>, HookError> {
    for bytes in ROOMS {
        let targets = targets.iter().map(PathBuf::as_path);
        let announcement = resolver.resolve_for(targets, Purpose::Read, &mut InlineRoom::of(*bytes))?;
        let Some(reminder) = announcement.reminder() else { return Ok(None) };
        let text = reminder.render();
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
        (AnswerForm::OfEvent, None) | (AnswerForm::Plain, _) => json!({ "additionalContext": text }),
    };
    format!("{answer}\n")
}
