//! `foreword doc get` for a deleted folder: prints the document's last text.

use client::Client;
use protocol::method::{DocumentHistory, DocumentHistoryParams, DocumentRevision, DocumentRevisionParams};
use protocol::{DeletedFolder, Version};
use serde_json::json;

use crate::arguments::InScope;
use crate::context::Context;
use crate::failure::{Exit, Failure};

use super::{print_text, scope_name};

pub(super) async fn run(
    context: &Context,
    client: &Client,
    deleted: DeletedFolder,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let workspace_id = deleted.folder.workspace_id.clone();
    let folder_id = Some(deleted.folder.id.clone());
    let params = DocumentHistoryParams { workspace_id, folder_id, limit: Some(1), before: None };
    let newest = client.call::<DocumentHistory>(&params).await?.revisions;
    let name = scope_name(scope);
    let deleted_at = deleted.deleted_at;
    let Some(Version(version)) = newest.first().map(|revision| revision.version) else {
        context.output.data(&json!({ "deleted": deleted }), String::new)?;
        context.output.note(format!("{name} was deleted {deleted_at} and never had a document"));
        return Ok(Exit::CheckFailed);
    };
    let DocumentHistoryParams { workspace_id, folder_id, .. } = params;
    let params = DocumentRevisionParams { workspace_id, folder_id, version: Version(version) };
    let revision = client.call::<DocumentRevision>(&params).await?.revision;
    if context.output.is_json() {
        context.output.json(&json!({ "deleted": deleted, "revision": revision }))?;
        return Ok(Exit::Done);
    }
    print_text(&revision.content)?;
    let id = &deleted.folder.id;
    context.output.note(format!(
        "{name} was deleted {deleted_at}; this is the last text of its document, version {version}; \
         restore the folder with `foreword folder restore {id}`"
    ));
    Ok(Exit::Done)
}
