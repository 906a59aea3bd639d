//! `foreword session`.

use std::path::Path;

use instructions::{ResumeDifference, Session as Stored, SessionFile};
use serde_json::json;

use super::resolve::file_failure;
use crate::arguments::Session;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory, failure};
use crate::table::table;

pub(crate) fn run(context: &Context, command: &Session) -> Result<Exit, Failure> {
    match command {
        Session::Show { file } => show(context, file),
        Session::Diff { file, cwd, .. } => diff(context, file, cwd.as_deref()),
    }
}

fn read(path: &Path) -> Result<Stored, Failure> {
    if !path.exists() {
        return Err(Failure::usage(format!("there is no session file {}", path.display()))
            .hint("`foreword resolve --session FILE --cwd DIR PATH` starts one"));
    }
    let file = SessionFile::lock(path).map_err(|error| file_failure(&error))?;
    match file.read().map_err(|error| file_failure(&error))? {
        Some(session) => Ok(session),
        None => Err(Failure::usage(format!("there is no session file {}", path.display()))),
    }
}

fn show(context: &Context, path: &Path) -> Result<Exit, Failure> {
    let session = read(path)?;
    context.output.data(&session, || {
        let root = session.root.as_ref().map_or("none".to_owned(), |root| root.display().to_string());
        let bytes = session.initial.text.as_ref().map_or(0, String::len);
        let mut text = format!(
            "profile  {}\ncwd      {}\nroot     {root}\nmarkers  {}\ninitial  {bytes} bytes of text from {} files\n\n",
            session.profile,
            session.cwd.display(),
            session.markers.join(" "),
            session.initial.files.len(),
        );
        let rows = session.loaded_versions.iter().map(|(path, version)| {
            let initial = if session.initial.files.contains(path) { "at the start" } else { "on the way" };
            vec![
                path.display().to_string(),
                version.size.to_string(),
                version.sha256.chars().take(12).collect(),
                initial.to_owned(),
            ]
        });
        text.push_str(&table(&["file", "bytes", "sha256", "loaded"], rows));
        text
    })?;
    Ok(Exit::Done)
}

fn diff(context: &Context, path: &Path, cwd: Option<&Path>) -> Result<Exit, Failure> {
    let session = read(path)?;
    let files = Files::new(context)?;
    let cwd = match cwd {
        Some(cwd) => directory(Some(cwd))?,
        None => session.cwd.clone(),
    };
    let profile = instructions::Profile::find(&session.profile).ok_or_else(|| {
        Failure::usage(format!("the session uses the unknown profile `{}`", session.profile))
    })?;
    let request = instructions::Request { profile, ..files.request(&cwd) };
    let difference = ResumeDifference::find(&session, &request, None).map_err(|error| failure(&error))?;
    let reminder = difference.reminder().map(|reminder| reminder.render());
    context.output.data(&json!({ "differs": reminder.is_some(), "reminder": reminder }), || {
        reminder.as_ref().map(|text| format!("{text}\n")).unwrap_or_default()
    })?;
    if reminder.is_none() {
        context.output.note("nothing differs");
    }
    Ok(Exit::Done)
}
