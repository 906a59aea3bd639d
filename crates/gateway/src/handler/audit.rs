//! `audit/list`.

use protocol::error::ErrorObject;
use protocol::limits::{DEFAULT_HISTORY_LIMIT, MAX_HISTORY_LIMIT};
use protocol::method::{AuditListParams, AuditListResult};
use store::AuditFilter;

use crate::error::{checked_limit, from_store};
use crate::router::Context;

pub(crate) async fn list(context: Context, params: AuditListParams) -> Result<AuditListResult, ErrorObject> {
    let AuditListParams { since, before, limit } = params;
    let limit = checked_limit(limit.unwrap_or(DEFAULT_HISTORY_LIMIT), MAX_HISTORY_LIMIT)?;
    // Counts are written every few seconds; flush them so that the answer includes the latest events.
    context.shared.access.flush_counts().await.map_err(from_store)?;
    let workspace_id = context.peer.actor.workspace_id.clone();
    let filter = AuditFilter { workspace_id, since, before, limit: limit.into() };
    let entries = context.shared.store.audit_entries(filter).await.map_err(from_store)?;
    Ok(AuditListResult { entries })
}
