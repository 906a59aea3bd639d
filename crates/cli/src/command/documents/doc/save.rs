//! `foreword doc save`: never overwrites a version without consent.

use client::Client;
use protocol::method::{DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams};
use protocol::{Document, SaveReason, Version};

use super::diff::shown_unified;
use super::{read_text, report_saved, scope_name};
use crate::arguments::DocSave;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::shown_name;

pub(super) async fn run(context: &Context, client: &Client, arguments: DocSave) -> Result<Exit, Failure> {
    let DocSave { file, expected_version, force, allow_empty, message, scope } = arguments;
    // The input is read to its end before anything is asked, because it may come from a program that is still
    // writing.
    let content = read_text(file.as_deref(), context.output)?;
    // An empty input is usually the result of a failed command in a pipe, and would silently disable the
    // document.
    if content.trim().is_empty() && !allow_empty {
        return Err(Failure::usage("the text is empty; nothing was saved")
            .hint("--allow-empty saves it as a draft, so the scope inherits again; `foreword doc archive` removes a document"));
    }
    let (workspace_id, folder_id) = context.scope(client, &scope).await?;
    let expected_version = match expected_version {
        Some(version) => Some(Version(version)),
        None if force => None,
        None => {
            let params =
                DocumentScopeParams { workspace_id: workspace_id.clone(), folder_id: folder_id.clone() };
            let there = client.call::<DocumentGet>(&params).await?.explicit;
            Some(agreed_version(there.as_ref(), &content, &scope_name(&scope))?)
        }
    };
    let params = DocumentSaveParams {
        workspace_id,
        folder_id,
        content,
        expected_version,
        save_reason: Some(SaveReason::Manual),
        message,
    };
    let result = client.call::<DocumentSave>(&params).await?;
    context.output.data(&result, || format!("{}\n", result.doc.version))?;
    report_saved(context.output, &result.doc, &result.warnings, &scope);
    Ok(Exit::Done)
}

/// Returns the version that may be replaced: none, one with the same text, or one that the user agreed to replace.
fn agreed_version(there: Option<&Document>, content: &str, place: &str) -> Result<Version, Failure> {
    let Some(there) = there else { return Ok(Version(0)) };
    // Saving the same text again changes nothing, so it needs no consent.
    if there.content == protocol::text::normalise(content) {
        return Ok(there.version);
    }
    let author =
        there.updated_by.as_deref().map(|name| format!(" by {}", shown_name(name))).unwrap_or_default();
    let version = format!("version {}, saved {}{author}", there.version, there.updated_at);
    let difference = shown_unified(&there.content, content, ("there now", "yours"));
    match confirm(&format!("{difference}{place} has {version}. Replace it?")) {
        Some(true) => Ok(there.version),
        Some(false) => Err(Failure::new(Exit::CheckFailed, "nothing was saved")),
        // Without a terminal there is no consent. Replacing the text of another user must then be explicit.
        None => Err(Failure::new(Exit::CheckFailed, format!("{place} has {version}; nothing was saved"))
            .hint(format!("--expected-version {} replaces exactly that version", there.version))
            .hint("--force replaces any version; `foreword doc edit` merges")),
    }
}
