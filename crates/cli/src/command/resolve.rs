//! `foreword resolve`.

use std::path::PathBuf;
use std::sync::Arc;

use instructions::{Cache, PassedOver, Resolver, Session, SessionFile};
use serde_json::json;

use crate::arguments::Resolve;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory, failure, warn};
use crate::output::Reader;

pub(crate) fn run(context: &Context, arguments: &Resolve) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let file = SessionFile::lock(&arguments.session).map_err(|error| file_failure(&error))?;
    let session = match file.read().map_err(|error| file_failure(&error))? {
        Some(session) => {
            if let Some(cwd) = &arguments.cwd
                && directory(Some(cwd))? != session.cwd
            {
                let message = format!("the session was started in {}", session.cwd.display());
                return Err(
                    Failure::usage(message).hint("leave --cwd out, or see `foreword session diff --cwd`")
                );
            }
            session
        }
        None => start(context, &files, arguments)?,
    };
    check_profile(&session, &files)?;
    let profile = files.profile;
    let cwd = session.cwd.clone();
    let resolver =
        Resolver::new(session, profile, files.settings, files.surroundings, Arc::new(Cache::new()));
    let here = directory(None)?;
    let paths: Vec<PathBuf> =
        arguments.paths.iter().map(|path| instructions::path::normalise(path, &here)).collect();
    let announcement =
        resolver.resolve_all(paths.iter().map(PathBuf::as_path)).map_err(|error| failure(&error))?;
    warn(context, announcement.diagnostics());
    let reminder = announcement.reminder().map(|reminder| reminder.render());
    let passed_over = announcement.passed_over().to_vec();
    let resolved: Vec<_> = announcement.files().collect();
    let removed: Vec<String> =
        announcement.removed().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let answer = json!({ "resolved": { "files": resolved }, "removed": removed, "reminder": reminder });
    // Saved as far as possible first: what cannot be remembered must not be said, or it is said for ever.
    let prepared = match arguments.peek {
        true => None,
        false => {
            announcement.confirm();
            Some(file.prepare(&resolver.session()).map_err(|error| file_failure(&error))?)
        }
    };
    let reader = context
        .output
        .data(&answer, || reminder.as_ref().map(|text| format!("{text}\n")).unwrap_or_default())?;
    for reason in &passed_over {
        context.output.note(reason.to_string());
    }
    let is_off = passed_over.iter().any(|reason| matches!(reason, PassedOver::SwitchedOff { .. }));
    if reminder.is_none() && !is_off && passed_over.len() < paths.len() {
        context.output.note(format!("nothing new applies there for the session in {}", cwd.display()));
    }
    // What nobody read was not delivered.
    if let (Some(prepared), Reader::Listening) = (prepared, reader) {
        prepared.commit().map_err(|error| file_failure(&error))?;
    }
    Ok(Exit::Done)
}

fn start(context: &Context, files: &Files, arguments: &Resolve) -> Result<Session, Failure> {
    let cwd = directory(arguments.cwd.as_deref())?;
    let (session, _) = Session::start(&files.request(&cwd), None).map_err(|error| failure(&error))?;
    context.output.note(format!("started a session in {}", cwd.display()));
    Ok(session)
}

/// A session is followed by the rules it was started with.
pub(crate) fn check_profile(session: &Session, files: &Files) -> Result<(), Failure> {
    if session.profile == files.profile.name {
        return Ok(());
    }
    let message = format!("the session uses the profile `{}`, not `{}`", session.profile, files.profile.name);
    Err(Failure::usage(message).hint("leave --profile out"))
}

/// What is wrong with a session file.
pub(crate) fn file_failure(error: &instructions::SessionFileError) -> Failure {
    use instructions::SessionFileError;
    match error {
        SessionFileError::Io { .. } => Failure::new(Exit::Failed, error.to_string()),
        SessionFileError::Malformed { .. } => Failure::usage(error.to_string())
            .hint("name another file, or remove this one to start a new session"),
        SessionFileError::Schema { .. } => Failure::usage(error.to_string())
            .hint("use the version of foreword that wrote it, or start a new session"),
    }
}
