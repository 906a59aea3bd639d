//! `foreword resolve`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use instructions::profile::{EmptyMarkers, Fallbacks, RootOverride};
use instructions::{
    Announcement, Cache, FileReader, FileSettings, Reminder, Request, Resolver, ResumeDifference, Session,
    SessionFile, SkipReason,
};
use serde_json::json;

use crate::arguments::Resolve;
use crate::config::flag::{FileFlags, Flag};
use crate::config::table::Sections;
use crate::config::value::Value;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory, warn};
use crate::output::relative_path::Viewpoint;
use crate::output::{Reader, shown};

pub(crate) fn run(context: &Context, arguments: &Resolve) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    // Peeking neither waits for the lock nor leaves a file behind.
    let file = if arguments.peek { None } else { Some(lock(context, &arguments.session)?) };
    let (session, moved) = open(context, &files, arguments, file.as_ref())?;
    let paths: Vec<PathBuf> =
        arguments.paths.iter().map(|path| directory(Some(path))).collect::<Result<_, _>>()?;
    let resolver = Resolver::new(session, files.settings.clone(), Arc::new(Cache::new()));
    let announcement =
        resolver.resolve_all(paths.iter().map(PathBuf::as_path)).map_err(|error| files.failure(&error))?;
    warn(context, Viewpoint::of_session(&resolver.session()), announcement.diagnostics());
    let answer = ResolveOutput::new(&announcement, moved.as_ref());
    // Prepare the session file first: an announcement that cannot be recorded would be repeated forever.
    let prepared = match &file {
        None => None,
        Some(file) => {
            announcement.confirm();
            Some(file.prepare(&resolver.session()).map_err(|error| file_failure(&error))?)
        }
    };
    let reader = answer.print(context, &files, paths.len(), &resolver.session().cwd)?;
    // Text that was not read does not count as delivered, so the session is saved only after printing.
    if let (Some(prepared), Reader::Listening) = (prepared, reader) {
        prepared.commit().map_err(|error| file_failure(&error))?;
    }
    Ok(Exit::Done)
}

/// Opens the session in the file, or starts a new one, with the announcement for a session that moved to another directory.
fn open(
    context: &Context,
    files: &Files,
    arguments: &Resolve,
    file: Option<&SessionFile>,
) -> Result<(Session, Option<ResumeDifference>), Failure> {
    let stored = match file {
        Some(file) => file.read(),
        None => SessionFile::peek(&arguments.session),
    };
    let Some(mut session) = stored.map_err(|error| file_failure(&error))? else {
        return Ok((start(context, files, arguments)?, None));
    };
    check_profile(&session, files)?;
    check_rules(&session, files, &arguments.files)?;
    let cwd = arguments.cwd.as_deref().map(|cwd| directory(Some(cwd))).transpose()?;
    let Some(cwd) = cwd.filter(|cwd| *cwd != session.cwd) else { return Ok((session, None)) };
    let settings = session.overlay_on(files.settings.clone());
    // A session keeps the rules that it was started with, so they also apply in the new directory.
    let request = Request { cwd: &cwd, settings: &settings };
    let moved = ResumeDifference::find(&session, &request, FileReader::Present, None)
        .map_err(|error| files.failure(&error))?;
    // Delivered only in memory: the file is written after the reminder has been printed.
    moved.clone().confirm(&mut session);
    Ok((session, Some(moved)))
}

/// Printed parts of an announcement, extracted before it is confirmed.
struct ResolveOutput {
    json: serde_json::Value,
    reminder: Option<String>,
    passed_over: Vec<SkipReason>,
    left_over: usize,
}

impl ResolveOutput {
    fn new(announcement: &Announcement, moved: Option<&ResumeDifference>) -> Self {
        let reminders = [moved.and_then(ResumeDifference::reminder), announcement.reminder()];
        let reminders: Vec<String> = reminders.iter().flatten().map(Reminder::render).collect();
        let reminder = (!reminders.is_empty()).then(|| reminders.join("\n"));
        let mut resolved = moved.map(ResumeDifference::resolved).unwrap_or_default();
        resolved.files.extend(announcement.resolved().files);
        let removed = moved.map(ResumeDifference::removed).unwrap_or_default().into_iter();
        let removed = removed.chain(announcement.removed());
        let removed: Vec<String> = removed.map(|path| path.to_string_lossy().into_owned()).collect();
        Self {
            json: json!({ "resolved": resolved, "removed": removed, "reminder": reminder }),
            passed_over: announcement.skipped().to_vec(),
            left_over: announcement.left_over(),
            reminder,
        }
    }

    /// Prints the reminder, and the reason if there is none or not all of it.
    fn print(&self, context: &Context, files: &Files, asked: usize, cwd: &Path) -> Result<Reader, Failure> {
        // A reminder may contain the text of files, which must not control the terminal.
        let text = || self.reminder.as_ref().map(|text| format!("{}\n", shown(text))).unwrap_or_default();
        let reader = context.output.data(&self.json, text)?;
        if self.left_over > 0 {
            context.output.note(format!(
                "{} more {}; call again (agents.resolver.max_files_per_resolve is {})",
                self.left_over,
                if self.left_over == 1 { "applies" } else { "apply" },
                files.settings.max_files_per_resolve()
            ));
        }
        for reason in &self.passed_over {
            context.output.note(reason.to_string());
        }
        let is_off = self.passed_over.iter().any(|reason| matches!(reason, SkipReason::SwitchedOff { .. }));
        if self.reminder.is_none() && !is_off && self.passed_over.len() < asked {
            context.output.note(format!("nothing new applies there to the session in {}", cwd.display()));
        }
        Ok(reader)
    }
}

fn start(context: &Context, files: &Files, arguments: &Resolve) -> Result<Session, Failure> {
    let cwd = directory(arguments.cwd.as_deref())?;
    let (session, _) = Session::start(&files.request(&cwd), None).map_err(|error| files.failure(&error))?;
    context.output.note(if arguments.peek {
        let file = arguments.session.display();
        format!("{file} contains no session yet; this is for a new one in {}", cwd.display())
    } else {
        format!("started a session in {}", cwd.display())
    });
    Ok(session)
}

/// Waiting times for a session that another process holds.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Time after which a notice is printed.
    say_after: Duration,
    /// Time after which waiting fails.
    give_up_after: Duration,
}

const PATIENCE: Patience =
    Patience { say_after: Duration::from_secs(2), give_up_after: Duration::from_secs(30) };
/// Polling interval of the lock.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Locks a session file and prints a notice if that takes long.
pub(crate) fn lock(context: &Context, path: &Path) -> Result<SessionFile, Failure> {
    lock_within(path, PATIENCE, |message| context.output.warning(message, None))
}

fn lock_within(path: &Path, patience: Patience, say: impl Fn(&str)) -> Result<SessionFile, Failure> {
    let begun = Instant::now();
    let mut said = false;
    loop {
        if let Some(file) = SessionFile::try_lock(path).map_err(|error| file_failure(&error))? {
            return Ok(file);
        }
        let waited = begun.elapsed();
        let lock = SessionFile::lock_path(path);
        if waited >= patience.give_up_after {
            let seconds = patience.give_up_after.as_secs();
            let message = format!("another process has held {} for {seconds} seconds", lock.display());
            return Err(Failure::new(Exit::Failed, message)
                .hint("end that process and retry, or name another session file"));
        }
        if waited >= patience.say_after && !said {
            say(&format!("waiting for {}, which another process holds", lock.display()));
            said = true;
        }
        // A blocking lock would allow neither a notice nor a time limit.
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Checks that the profile matches the one that the session was started with.
pub(crate) fn check_profile(session: &Session, files: &Files) -> Result<(), Failure> {
    if session.profile == files.settings.profile.name {
        return Ok(());
    }
    let message =
        format!("the session uses the profile `{}`, not `{}`", session.profile, files.settings.profile.name);
    Err(Failure::usage(message).hint("omit --profile"))
}

/// Checks that repeated flags match those that the session was started with.
fn check_rules(session: &Session, files: &Files, flags: &FileFlags) -> Result<(), Failure> {
    for flag in &flags.0 {
        if differs(session, files, flag)? {
            let flag = &flag.name;
            let message = format!("the session was started with another `{flag}`, or without one");
            return Err(Failure::usage(message).hint(format!("omit {flag}, or name another session file")));
        }
    }
    Ok(())
}

/// Returns true if a flag contradicts the session. Flags that the profile ignores never do.
fn differs(session: &Session, files: &Files, flag: &Flag) -> Result<bool, Failure> {
    let profile = files.settings.profile;
    let remembered = session.overlay_on(FileSettings::default());
    Ok(match (&flag.value, flag.key.path) {
        // `--no-markers` changes nothing if the profile takes an empty list for its defaults.
        (Value::List(markers), "agents.root.markers") => {
            let says = !markers.is_empty() || profile.search.empty_markers == EmptyMarkers::CwdOnly;
            says && *markers != session.markers
        }
        (Value::Path(root), "agents.root.project_root_override") => {
            let counts = profile.search.root_override == RootOverride::Allowed;
            counts && Some(directory(Some(root))?) != session.root
        }
        (Value::List(_), "agents.fallback_filenames")
            if profile.choose.fallbacks == Fallbacks::Unsupported =>
        {
            false
        }
        // The profile is checked separately.
        (_, "agents.profile") => false,
        (value, path) => {
            let remembered = Sections { files: remembered, ..Sections::default() };
            flag.key.load(&remembered, path).as_ref() != Some(value)
        }
    })
}

/// Converts an error of a session file.
pub(crate) fn file_failure(error: &instructions::SessionFileError) -> Failure {
    use instructions::SessionFileError;
    match error {
        SessionFileError::Io { .. } => Failure::new(Exit::Failed, error.to_string()),
        // The file may belong to something else, so the hint must not suggest removing it.
        SessionFileError::Malformed { .. } => Failure::usage(error.to_string()).hint("name another file"),
        SessionFileError::Schema { .. } => Failure::usage(error.to_string())
            .hint("use the version of foreword that wrote it, or start a new session"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_locked_session_is_awaited_until_the_timeout() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.json");
        let said = RefCell::new(Vec::new());
        let say = |message: &str| said.borrow_mut().push(message.to_owned());
        let patience = Patience { say_after: Duration::ZERO, give_up_after: Duration::from_millis(100) };
        let held = SessionFile::lock(&path).unwrap();
        let failure = lock_within(&path, patience, say).unwrap_err();
        let lock_path = path.with_extension("json.lock");
        assert_eq!(failure.exit, Exit::Failed);
        assert_eq!(
            failure.message,
            format!("another process has held {} for 0 seconds", lock_path.display())
        );
        assert_eq!(failure.hints, ["end that process and retry, or name another session file"]);
        let waiting = format!("waiting for {}, which another process holds", lock_path.display());
        assert_eq!(said.take(), [waiting], "once");
        drop(held);
        lock_within(&path, patience, say).unwrap();
        assert_eq!(said.take(), Vec::<String>::new());
    }
}
