//! `foreword doc edit`: edits a document and saves it based on the version that was read. Conflicts lose no text.

use std::path::Path;

use client::{Client, ClientError, Merged};
use protocol::error::ErrorData;
use protocol::method::{
    DocumentGet, DocumentSave, DocumentSaveParams, DocumentSaveResult, DocumentScopeParams,
};
use protocol::{ErrorKind, SaveReason, Version};
use serde_json::json;

use super::{report_saved, scope_name};
use crate::arguments::InScope;
use crate::context::Context;
use crate::editor::{Draft, DraftOrigin, check_editor, drafts_directory};
use crate::failure::{Exit, Failure};
use crate::output::shown_name;
use crate::shell_quote::shell_word;

/// Maximum number of merges with concurrent changes.
const MAX_MERGES: usize = 5;

pub(super) async fn run(
    context: &Context,
    client: &Client,
    message: Option<String>,
    resume: Option<&Path>,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let mut draft = match resume {
        Some(file) => {
            let draft = resumed(context, client, file, scope).await?;
            check_editor()?;
            draft
        }
        None => {
            // Fail before a draft is created that would never be used.
            check_editor()?;
            opened(context, client, scope).await?
        }
    };
    // Each round edits, saves, and after a conflict merges. The limit ends a race with a document that never
    // rests.
    for _ in 0..MAX_MERGES {
        let text = draft.edit()?;
        let Some(origin) = draft.origin().cloned() else { return Err(without_origin(&draft)) };
        // Nothing was edited since this version was opened, and a draft without edits would only clutter the list.
        if text == origin.base {
            draft.discard();
            context.output.note("nothing changed");
            if context.output.is_json() {
                context.output.json(&json!({ "changed": false }))?;
            }
            return Ok(Exit::Done);
        }
        // Agents would read the markers as instructions, so a text with markers is not saved.
        if origin.marks.iter().any(|marks| marks.are_in(&text)) {
            let message = "the text still contains conflict markers";
            return Err(not_saved(Failure::new(Exit::CheckFailed, message), context, scope, &draft));
        }
        let params = DocumentSaveParams {
            workspace_id: origin.workspace_id.clone(),
            folder_id: origin.folder_id.clone(),
            content: text.clone(),
            expected_version: Some(origin.version),
            save_reason: Some(SaveReason::Manual),
            message: message.clone(),
        };
        let error = match save(context, client, &params).await {
            Ok(result) => {
                draft.discard();
                context.output.data(&result, || format!("{}\n", result.doc.version))?;
                report_saved(context.output, &result.doc, &result.warnings, scope);
                return Ok(Exit::Done);
            }
            Err(failure) => failure,
        };
        // A program handles the conflict itself; a user gets a merged text to edit.
        let Some(theirs) = conflicting(&error).filter(|_| !context.output.is_json()) else {
            return Err(not_saved(error, context, scope, &draft));
        };
        merge_into(context, &mut draft, &text, theirs)?;
    }
    let message = "the document keeps changing";
    Err(not_saved(Failure::new(Exit::Failed, message), context, scope, &draft))
}

/// Creates a draft of the scope's current document.
async fn opened(context: &Context, client: &Client, scope: &InScope) -> Result<Draft, Failure> {
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let params = DocumentScopeParams { workspace_id, folder_id };
    let document = client.call::<DocumentGet>(&params).await?.explicit;
    let base = document.as_ref().map(|document| document.content.clone()).unwrap_or_default();
    let DocumentScopeParams { workspace_id, folder_id } = params;
    let origin = DraftOrigin {
        scope: scope_name(scope),
        workspace_id,
        folder_id,
        version: document.map_or(Version(0), |document| document.version),
        base: base.clone(),
        marks: Vec::new(),
    };
    Draft::new(&drafts_directory(&context.directories.data), &base, origin)
}

/// Opens the named draft, or the scope's last one.
async fn resumed(context: &Context, client: &Client, file: &Path, scope: &InScope) -> Result<Draft, Failure> {
    // `last` is the value of `--resume` without a file.
    if file != Path::new("last") {
        let draft = Draft::open(file)?;
        return if draft.origin().is_some() { Ok(draft) } else { Err(without_origin(&draft)) };
    }
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let drafts = Draft::list(&drafts_directory(&context.directories.data))?;
    let of_scope = |draft: &Draft| {
        draft.origin().is_some_and(|it| it.workspace_id == workspace_id && it.folder_id == folder_id)
    };
    drafts.into_iter().find(of_scope).ok_or_else(|| {
        Failure::usage(format!("no draft of {} found", scope_name(scope)))
            .hint("list drafts with `foreword doc drafts`")
    })
}

fn without_origin(draft: &Draft) -> Failure {
    let path = draft.path().display();
    Failure::usage(format!("the origin of {path} is unknown"))
        .hint(format!("save it as a file with `foreword doc save {path}`"))
}

/// Saves. If the connection was lost while the editor was open, reconnects and tries once more.
async fn save(
    context: &Context,
    client: &Client,
    params: &DocumentSaveParams,
) -> Result<DocumentSaveResult, Failure> {
    match client.call::<DocumentSave>(params).await {
        // The lost save may have been executed. Then this one has the same text, which the gateway accepts without
        // a new version.
        Err(ClientError::Lost) => Ok(context.connect().await?.call::<DocumentSave>(params).await?),
        answer => Ok(answer?),
    }
}

/// Merges both edits into the draft, based on their common version.
fn merge_into(context: &Context, draft: &mut Draft, mine: &str, theirs: &ErrorData) -> Result<(), Failure> {
    let Some(origin) = draft.origin().cloned() else { return Err(without_origin(draft)) };
    let other = theirs.current.as_ref();
    let text = other.map_or("", |document| document.content.as_str());
    let version = Version(theirs.actual.unwrap_or_default());
    // The last common version is the base, so that edits of different lines by both sides survive.
    let merged = client::merge(&origin.base, mine, text);
    // Keep the user's own text in any case, because a merge may be unwanted.
    let own = draft.keep_own(mine)?;
    draft.write(merged.text())?;
    let mut marks = origin.marks;
    if let Merged::Marked { marks: new, .. } = &merged {
        marks.push(*new);
    }
    // The version of the other user is the new base: saving now replaces exactly that version and no later
    // one.
    draft.set_origin(DraftOrigin { version, base: text.to_owned(), marks, ..origin })?;
    let author = other.and_then(|document| document.updated_by.as_deref());
    let author = author.map_or_else(|| "another user".to_owned(), shown_name);
    let what = match (other, &merged) {
        (None, _) => "archived the document meanwhile; saving recreates it".to_owned(),
        (Some(_), Merged::Clean(_)) => {
            format!("saved version {version} meanwhile; both edits were merged, please review the text")
        }
        (Some(_), Merged::Marked { .. }) => {
            format!(
                "saved version {version} meanwhile and changed the same lines; resolve the conflict markers"
            )
        }
    };
    context.output.note(format!("{author} {what}; your own text is in {}", own.display()));
    Ok(())
}

/// Returns the current document from a version conflict.
fn conflicting(failure: &Failure) -> Option<&ErrorData> {
    failure.data.as_deref().filter(|data| data.kind == ErrorKind::VersionConflict)
}

/// Adds the location of the user's text and the command to resume.
fn not_saved(mut failure: Failure, context: &Context, scope: &InScope, draft: &Draft) -> Failure {
    failure.message = format!("{} was not saved: {}", scope_name(scope), failure.message);
    failure.hints.insert(0, format!("the text is kept in {}", draft.path().display()));
    let path = draft.path().to_string_lossy();
    // The suggested command must reach the same gateway, so it repeats the flags that select it.
    let flags = &context.repeated_flags;
    let resume = format!("resume with: foreword{flags} doc edit --resume {}", shell_word(&path));
    failure.hint(resume)
}
