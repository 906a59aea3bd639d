//! `thread/agents_doc/…`.

use protocol::error::ErrorObject;
use protocol::limits::{DEFAULT_HISTORY_LIMIT, MAX_HISTORY_LIMIT};
use protocol::method::{
    DocumentArchiveParams, DocumentArchiveResult, DocumentGetResult, DocumentHistoryParams,
    DocumentHistoryResult, DocumentResolveForThreadParams, DocumentResolveResult, DocumentRestoreParams,
    DocumentRestoreResult, DocumentRevisionParams, DocumentRevisionResult, DocumentSaveParams,
    DocumentSaveResult, DocumentScopeParams,
};
use protocol::{Document, Warning};
use store::Scope;

use crate::error::{checked_limit, from_store};
use crate::router::Context;

pub(crate) async fn get(
    context: Context,
    params: DocumentScopeParams,
) -> Result<DocumentGetResult, ErrorObject> {
    let scope = Scope { workspace_id: params.workspace_id, folder_id: params.folder_id };
    let (explicit, effective) = context.shared.store.document(&scope).await.map_err(from_store)?;
    Ok(DocumentGetResult { explicit, effective })
}

pub(crate) async fn save(
    context: Context,
    params: DocumentSaveParams,
) -> Result<DocumentSaveResult, ErrorObject> {
    let saving = context.shared.store.save_document_with(params, context.actor(), context.peer.client());
    let doc = saving.await.map_err(from_store)?;
    let carried = context.shared.settings.agent.prompt.budgets.agents_md;
    Ok(DocumentSaveResult { warnings: warnings(&doc, carried), doc })
}

pub(crate) async fn archive(
    context: Context,
    params: DocumentArchiveParams,
) -> Result<DocumentArchiveResult, ErrorObject> {
    let scope = Scope { workspace_id: params.workspace_id, folder_id: params.folder_id };
    let store = &context.shared.store;
    let archived =
        store.archive_document(&scope, params.expected_version, context.actor()).await.map_err(from_store)?;
    let effective = store.resolve_for_folder(&scope).await.map_err(from_store)?;
    Ok(DocumentArchiveResult { archived, effective })
}

pub(crate) async fn resolve_for_thread(
    context: Context,
    params: DocumentResolveForThreadParams,
) -> Result<DocumentResolveResult, ErrorObject> {
    let store = &context.shared.store;
    let effective =
        store.resolve_for_thread(&params.workspace_id, &params.thread_id).await.map_err(from_store)?;
    Ok(DocumentResolveResult { effective })
}

pub(crate) async fn resolve_for_folder(
    context: Context,
    params: DocumentScopeParams,
) -> Result<DocumentResolveResult, ErrorObject> {
    let scope = Scope { workspace_id: params.workspace_id, folder_id: params.folder_id };
    let effective = context.shared.store.resolve_for_folder(&scope).await.map_err(from_store)?;
    Ok(DocumentResolveResult { effective })
}

pub(crate) async fn history(
    context: Context,
    params: DocumentHistoryParams,
) -> Result<DocumentHistoryResult, ErrorObject> {
    let limit = checked_limit(params.limit.unwrap_or(DEFAULT_HISTORY_LIMIT), MAX_HISTORY_LIMIT)?;
    let scope = Scope { workspace_id: params.workspace_id, folder_id: params.folder_id };
    let store = &context.shared.store;
    let revisions = store.history(&scope, limit.into(), params.before).await.map_err(from_store)?;
    Ok(DocumentHistoryResult { revisions })
}

pub(crate) async fn revision(
    context: Context,
    params: DocumentRevisionParams,
) -> Result<DocumentRevisionResult, ErrorObject> {
    let scope = Scope { workspace_id: params.workspace_id, folder_id: params.folder_id };
    let revision = context.shared.store.revision(&scope, params.version).await.map_err(from_store)?;
    Ok(DocumentRevisionResult { revision })
}

pub(crate) async fn restore(
    context: Context,
    params: DocumentRestoreParams,
) -> Result<DocumentRestoreResult, ErrorObject> {
    let doc = context.shared.store.restore_document(params, context.actor()).await.map_err(from_store)?;
    Ok(DocumentRestoreResult { doc })
}

/// Returns warnings about a saved document, such as one that exceeds the prompt's budget.
fn warnings(document: &Document, carried: usize) -> Vec<Warning> {
    let limit = carried as u64;
    if document.char_count <= limit {
        return Vec::new();
    }
    vec![Warning {
        code: "over_prompt_budget".to_owned(),
        message: format!(
            "the text has {} characters, a prompt carries the first {limit}; shorten it, or move parts into folders",
            document.char_count
        ),
    }]
}
