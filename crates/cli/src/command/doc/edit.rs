//! `foreword doc edit`: read, edit, save with the version that was read; a conflict loses nothing.

use client::{Client, ClientError, Editing};
use protocol::error::ErrorData;
use protocol::local::DRAFTS_DIRECTORY;
use protocol::method::{DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams};
use protocol::{ErrorKind, SaveReason};
use serde_json::json;

use super::diff::shown_unified;
use super::{report_saved, scope_name};
use crate::arguments::InScope;
use crate::context::Context;
use crate::editor::Draft;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::words::shell_word;

pub(super) async fn run(context: &Context, client: &Client, scope: &InScope) -> Result<Exit, Failure> {
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let params = DocumentScopeParams { workspace_id: workspace_id.clone(), folder_id: folder_id.clone() };
    let opened = client.call::<DocumentGet>(&params).await?;
    let mut editing = Editing::new(opened.explicit.as_ref());

    let draft = Draft::new(&context.directories.data.join(DRAFTS_DIRECTORY), "AGENTS", editing.text())?;
    editing.edit(draft.edit()?);
    let Some(save) = editing.save(SaveReason::Manual) else {
        draft.discard();
        context.output.note("nothing changed");
        if context.output.is_json() {
            context.output.json(&json!({ "changed": false }))?;
        }
        return Ok(Exit::Done);
    };
    let params = DocumentSaveParams {
        workspace_id,
        folder_id,
        content: save.content,
        expected_version: Some(save.expected_version),
        save_reason: Some(save.reason),
    };
    // The editor may have been open for long: the connection it was opened with may be gone.
    let answer = match client.call::<DocumentSave>(&params).await {
        Err(ClientError::Lost) => match context.connect().await {
            Ok(client) => client.call::<DocumentSave>(&params).await,
            Err(failure) => return Err(not_saved(failure, scope, &draft)),
        },
        answer => answer,
    };
    let error = match answer {
        Ok(result) => {
            draft.discard();
            context.output.data(&result, || format!("{}\n", result.doc.version))?;
            report_saved(context.output, &result.doc, &result.warnings, scope);
            return Ok(Exit::Done);
        }
        Err(error) => error,
    };
    if let Some(theirs) = conflicting(&error) {
        let other = theirs.current.as_ref().map_or("", |document| document.content.as_str());
        if !context.output.is_json() {
            let names = ("theirs, saved in the meantime", "yours, not saved");
            print(&shown_unified(other, editing.text(), names))?;
        }
        let overwrite = overwrite_command(context, scope, theirs.actual.unwrap_or_default(), &draft);
        let mut failure = Failure::from(error);
        failure.hints.clear();
        return Err(not_saved(failure, scope, &draft).hint(format!("to put yours over theirs: {overwrite}")));
    }
    Err(not_saved(error.into(), scope, &draft))
}

/// What a gateway said about a text that somebody else saved first.
fn conflicting(error: &ClientError) -> Option<&ErrorData> {
    match error {
        ClientError::Refused(refused) => {
            refused.data.as_ref().filter(|data| data.kind == ErrorKind::VersionConflict)
        }
        _ => None,
    }
}

/// Says what was not saved, and where the user's text is.
fn not_saved(mut failure: Failure, scope: &InScope, draft: &Draft) -> Failure {
    failure.message = format!("{} was not saved: {}", scope_name(scope), failure.message);
    failure.hints.insert(0, format!("your text is kept in {}", draft.path().display()));
    failure
}

/// The command that saves the kept text on top of a version.
fn overwrite_command(context: &Context, scope: &InScope, version: u64, draft: &Draft) -> String {
    let mut command = format!("foreword{} doc save", context.repeated_flags);
    for (flag, value) in [("--workspace", &scope.workspace.workspace), ("--folder", &scope.folder)] {
        if let Some(value) = value {
            command.push_str(&format!(" {flag} {}", shell_word(value)));
        }
    }
    let path = draft.path().to_string_lossy();
    format!("{command} --expected-version {version} {}", shell_word(&path))
}
