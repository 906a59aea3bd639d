//! `foreword session`.

use std::path::Path;
use std::time::UNIX_EPOCH;

use instructions::{FileReader, ResumeDifference, Session as Stored, SessionFile};
use protocol::Timestamp;
use serde_json::json;

use super::resolve::{check_profile, file_failure, lock};
use crate::arguments::Session;
use crate::command::turns::prompt::hash;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::count;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::time;
use crate::output::{Reader, shown_path, table};

pub(crate) fn run(context: &Context, command: &Session) -> Result<Exit, Failure> {
    match command {
        Session::Show { file } => show(context, file),
        Session::Diff { file, cwd, confirm, .. } => {
            // A query neither waits nor leaves a file behind, so do not lock a session that does not exist.
            read(file)?;
            let locked = confirm.then(|| lock(context, file)).transpose()?;
            diff(context, file, cwd.as_deref(), locked.as_ref())
        }
    }
}

fn read(path: &Path) -> Result<Stored, Failure> {
    let session = SessionFile::peek(path).map_err(|error| file_failure(&error))?;
    session.ok_or_else(|| {
        Failure::usage(format!("there is no session file {}", path.display()))
            .hint("start one with `foreword resolve --session FILE --cwd DIR PATH`")
    })
}

fn show(context: &Context, path: &Path) -> Result<Exit, Failure> {
    let session = read(path)?;
    context.output.data(&session, || describe(&session))?;
    Ok(Exit::Done)
}

/// Formats the state of a session.
pub(crate) fn describe(session: &Stored) -> String {
    let root = session.root.as_ref().map_or("none".to_owned(), shown_path);
    let bytes = session.initial.text.as_ref().map_or(0, String::len);
    let mut text = format!(
        "profile  {}\ncwd      {}\nroot     {root}\nmarkers  {}\ninitial  {bytes} bytes of text from {}\n\n",
        session.profile,
        shown_path(&session.cwd),
        session.markers.join(" "),
        count(session.initial.files.len() as u64, "file"),
    );
    let viewpoint = Viewpoint::of_session(session);
    let rows = session.loaded_versions.iter().map(|(path, version)| {
        let initial = &session.initial;
        // A file of the start may have been read again with a later text.
        let is_initial_text = initial.versions.get(path).is_none_or(|begun| begun.sha256 == version.sha256);
        let loaded = if session.announced.contains(path) {
            "only pointed to"
        } else if initial.files.contains(path) && is_initial_text {
            "at the start"
        } else {
            "on the way"
        };
        vec![
            viewpoint.path(path),
            version.bytes.to_string(),
            hash(&version.sha256).to_owned(),
            loaded.to_owned(),
        ]
    });
    text.push_str(&table(&["file", "bytes", "sha256", "loaded"], rows));
    text
}

/// Returns the time of the last save, from the file's modification time.
fn saved_at(path: &Path) -> Option<Timestamp> {
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let since_epoch = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_milliseconds(i64::try_from(since_epoch.as_millis()).ok()?))
}

/// Prints the differences. With --confirm, the session is then updated to the disk's state.
fn diff(
    context: &Context,
    path: &Path,
    cwd: Option<&Path>,
    locked: Option<&SessionFile>,
) -> Result<Exit, Failure> {
    let mut session = read(path)?;
    // `--confirm` writes the file again, so its time must be read before that.
    let saved = saved_at(path);
    let files = Files::new(context)?;
    check_profile(&session, &files)?;
    let cwd = match cwd {
        Some(cwd) => directory(Some(cwd))?,
        None => session.cwd.clone(),
    };
    let difference = ResumeDifference::find(&session, &files.request(&cwd), FileReader::Present, None)
        .map_err(|error| files.failure(&error))?;
    let reminder = difference.reminder().map(|reminder| reminder.render());
    // Prepare the session file first: a reminder that cannot be recorded would be repeated forever.
    let prepared = match locked.filter(|_| reminder.is_some()) {
        Some(file) => {
            difference.confirm(&mut session);
            Some(file.prepare(&session).map_err(|error| file_failure(&error))?)
        }
        None => None,
    };
    let reader =
        context.output.data(&json!({ "differs": reminder.is_some(), "reminder": reminder }), || {
            reminder.as_ref().map(|text| format!("{text}\n")).unwrap_or_default()
        })?;
    if let (Some(prepared), Reader::Listening) = (prepared, reader) {
        prepared.commit().map_err(|error| file_failure(&error))?;
    }
    let what = if reminder.is_some() { "this differs" } else { "nothing differs" };
    let since =
        saved.map_or_else(String::new, |saved| format!(" since the session was saved ({})", time(saved)));
    context.output.note(format!("{what}{since}"));
    Ok(Exit::Done)
}
