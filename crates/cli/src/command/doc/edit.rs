//! `foreword doc edit`: read, edit, save with the version that was read; a conflict loses nothing.

use client::{Client, ClientError, Editing, EditingState};
use protocol::method::{DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams};
use protocol::{ErrorKind, SaveReason};
use serde_json::json;

use super::diff::unified;
use super::{report_saved, scope_name};
use crate::arguments::InScope;
use crate::context::Context;
use crate::editor::Draft;
use crate::failure::{Exit, Failure};
use crate::output::print;

pub(super) async fn run(context: &Context, client: &Client, scope: &InScope) -> Result<Exit, Failure> {
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let params = DocumentScopeParams { workspace_id: workspace_id.clone(), folder_id: folder_id.clone() };
    let opened = client.call::<DocumentGet>(&params).await?;
    let mut editing = Editing::new(opened.explicit.as_ref());

    let draft = Draft::new(&context.directories.data.join("drafts"), "AGENTS", editing.text())?;
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
            Err(failure) => return Err(kept(failure, &draft)),
        },
        answer => answer,
    };
    match answer {
        Ok(result) => {
            editing.saved(&result.doc);
            draft.discard();
            context.output.data(&result, || format!("{}\n", result.doc.version))?;
            report_saved(context.output, &result.doc, &result.warnings, scope);
            Ok(Exit::Done)
        }
        Err(error) if error.kind() == Some(ErrorKind::VersionConflict) => {
            let theirs = match &error {
                ClientError::Refused(refused) => refused.data.as_ref().and_then(|data| data.current.clone()),
                _ => None,
            };
            editing.conflicted(theirs);
            let EditingState::Conflict { theirs } = editing.state() else {
                draft.discard();
                context.output.note("somebody else has already saved the same text");
                return Ok(Exit::Done);
            };
            let other = theirs.map(|document| document.content).unwrap_or_default();
            if !context.output.is_json() {
                print(&unified(
                    &other,
                    editing.text(),
                    ("theirs, saved in the meantime", "yours, not saved"),
                    true,
                ))?;
            }
            Err(kept(Failure::from(error), &draft).hint(format!(
                "to overwrite theirs: foreword doc save{} {}",
                scope.folder.as_ref().map(|folder| format!(" --folder {folder}")).unwrap_or_default(),
                draft.path().display()
            )))
        }
        Err(error) => Err(kept(Failure::from(error), &draft)),
    }
    .map_err(|failure: Failure| Failure {
        message: format!("{} was not saved: {}", scope_name(scope), failure.message),
        ..failure
    })
}

/// Says where the user's text is.
fn kept(mut failure: Failure, draft: &Draft) -> Failure {
    failure.hints.insert(0, format!("your text is kept in {}", draft.path().display()));
    failure
}
