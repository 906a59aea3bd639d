//! `memory/…`.

use memory::QueryTerms;
use protocol::error::{ErrorKind, ErrorObject};
use protocol::limits::{
    DEFAULT_HISTORY_LIMIT, DEFAULT_MEMORY_SEARCH, MAX_HISTORY_LIMIT, MAX_MEMORY_IMPORT, MAX_MEMORY_SEARCH,
};
use protocol::method::{
    MemoryAddParams, MemoryExportParams, MemoryExportResult, MemoryForgetResult, MemoryGetParams,
    MemoryImportParams, MemoryImportResult, MemoryListParams, MemoryListResult, MemoryResult,
    MemorySearchParams, RefusedMemory,
};
use protocol::{MemoryItem, MemoryRecord, MemoryScope, ThreadId, WorkspaceId};
use store::{
    Forgotten, MemoryFilter, MemoryPlace, MemoryPlaceError, MemoryView, NewMemory, StoreError, WordMatch,
};

use crate::error::{checked_limit, from_store, invalid_params};
use crate::router::Context;

/// Items per part of an export, few enough that even the longest texts fit into one message.
const EXPORT_PART: u64 = 200;

/// Returns the items the caller may see: those of the workspace and, for unbound tokens, their own.
fn view(context: &Context, workspace_id: WorkspaceId, thread_id: Option<ThreadId>) -> MemoryView {
    let owner = context.memory_reader().map(str::to_owned);
    MemoryView { workspace_id, owner, thread_id }
}

/// Returns where a new item is stored, or an error if the caller may not write there.
fn place(
    view: &MemoryView,
    scope: MemoryScope,
    thread_id: Option<ThreadId>,
) -> Result<MemoryPlace, ErrorObject> {
    MemoryPlace::of(view, scope, thread_id).map_err(|error| match error {
        MemoryPlaceError::NoThread | MemoryPlaceError::NotOfThread(_) => invalid_params(error.to_string()),
        MemoryPlaceError::NotTheirOwn => ErrorObject::new(ErrorKind::Forbidden, error.to_string()),
    })
}

pub(crate) async fn add(context: Context, params: MemoryAddParams) -> Result<MemoryResult, ErrorObject> {
    let MemoryAddParams { workspace_id, scope, category, text, thread_id, expires_at, supersedes } = params;
    let view = view(&context, workspace_id, None);
    let place = place(&view, scope, thread_id)?;
    let new = NewMemory { place, category, text, source_turn: None, expires_at, supersedes };
    let added = context.shared.store.add_memory(&view, new, context.actor()).await.map_err(from_store)?;
    Ok(MemoryResult { item: added.item, was_there: added.was_there })
}

pub(crate) async fn list(
    context: Context,
    params: MemoryListParams,
) -> Result<MemoryListResult, ErrorObject> {
    let MemoryListParams { workspace_id, scope, thread_id, status, before, limit } = params;
    let limit = checked_limit(limit.unwrap_or(DEFAULT_HISTORY_LIMIT), MAX_HISTORY_LIMIT)?;
    let status = status.unwrap_or_default();
    let limit = limit.into();
    let filter = MemoryFilter { scope, status, before, limit, ..MemoryFilter::default() };
    let view = view(&context, workspace_id, thread_id);
    let items = context.shared.store.memories(&view, filter).await.map_err(from_store)?;
    Ok(MemoryListResult { items })
}

pub(crate) async fn get(context: Context, params: MemoryGetParams) -> Result<MemoryResult, ErrorObject> {
    let view = view(&context, params.workspace_id, None);
    let item = context.shared.store.memory(&view, &params.id).await.map_err(from_store)?;
    Ok(MemoryResult { item, was_there: false })
}

pub(crate) async fn search(
    context: Context,
    params: MemorySearchParams,
) -> Result<MemoryListResult, ErrorObject> {
    let MemorySearchParams { workspace_id, query, thread_id, limit } = params;
    let limit = checked_limit(limit.unwrap_or(DEFAULT_MEMORY_SEARCH), MAX_MEMORY_SEARCH)?.into();
    let view = view(&context, workspace_id, thread_id);
    let terms = QueryTerms::of(&query);
    let items = context.shared.store.search_memory(&view, &terms, WordMatch::AllElseAny, limit).await;
    Ok(MemoryListResult { items: items.map_err(from_store)? })
}

pub(crate) async fn forget(
    context: Context,
    params: MemoryGetParams,
) -> Result<MemoryForgetResult, ErrorObject> {
    let view = view(&context, params.workspace_id, None);
    let forgotten = context.shared.store.forget_memory(&view, &params.id, context.actor()).await;
    let forgotten = forgotten.map_err(from_store)?;
    let Forgotten { item, removed, was_forgotten } = forgotten;
    Ok(MemoryForgetResult { item, removed, was_forgotten })
}

pub(crate) async fn export(
    context: Context,
    params: MemoryExportParams,
) -> Result<MemoryExportResult, ErrorObject> {
    let view = view(&context, params.workspace_id, None);
    let filter = MemoryFilter {
        after: params.after,
        oldest_first: true,
        limit: EXPORT_PART,
        ..MemoryFilter::default()
    };
    let items = context.shared.store.memories(&view, filter).await.map_err(from_store)?;
    let next =
        (items.len() as u64 == EXPORT_PART).then(|| items.last().map(|item| item.id.clone())).flatten();
    Ok(MemoryExportResult { items: items.into_iter().filter_map(record).collect(), next })
}

fn record(item: MemoryItem) -> Option<MemoryRecord> {
    let MemoryItem { scope, thread_id, category, text, expires_at, .. } = item;
    Some(MemoryRecord { scope, thread_id, category, text: text?, expires_at })
}

pub(crate) async fn import(
    context: Context,
    params: MemoryImportParams,
) -> Result<MemoryImportResult, ErrorObject> {
    let actual = params.items.len();
    if actual > MAX_MEMORY_IMPORT {
        let message = format!("{actual} items are more than the {MAX_MEMORY_IMPORT} that one import takes");
        return Err(ErrorObject::with(ErrorKind::TooLarge, message, |data| {
            data.limit = Some(MAX_MEMORY_IMPORT as u64);
            data.actual = Some(actual as u64);
        }));
    }
    let view = view(&context, params.workspace_id, None);
    context.shared.store.sequence(&view.workspace_id).await.map_err(from_store)?;
    let mut result = MemoryImportResult::default();
    for (index, record) in (0..).zip(params.items) {
        let refused = |reason| RefusedMemory { index, reason };
        let MemoryRecord { scope, thread_id, category, text, expires_at } = record;
        let place = match place(&view, scope, thread_id) {
            Ok(place) => place,
            Err(error) => {
                result.refused.push(refused(error.message));
                continue;
            }
        };
        let new = NewMemory { place, category, text, source_turn: None, expires_at, supersedes: None };
        match context.shared.store.add_memory(&view, new, context.actor()).await {
            Ok(added) if added.was_there => result.unchanged += 1,
            Ok(_) => result.added += 1,
            Err(
                error @ (StoreError::InvalidValue { .. }
                | StoreError::TooLarge { .. }
                | StoreError::NotFound { .. }),
            ) => result.refused.push(refused(error.to_string())),
            // The database is unavailable or the disk is full. Items imported so far are kept; a repeated import skips
            // them.
            Err(error) => return Err(from_store(error)),
        }
    }
    Ok(result)
}
