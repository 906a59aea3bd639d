//! `audit/list`.

use protocol::limits::{DEFAULT_HISTORY_LIMIT, MAX_HISTORY_LIMIT};
use protocol::method::{AuditListParams, AuditListResult};
use rpc::Error;
use store::AuditFilter;

use crate::error::from_store;
use crate::router::Context;

pub(crate) async fn list(context: Context, params: AuditListParams) -> Result<AuditListResult, Error> {
    let AuditListParams { since, before, limit } = params;
    let limit = limit.unwrap_or(DEFAULT_HISTORY_LIMIT);
    if !(1..=MAX_HISTORY_LIMIT).contains(&limit) {
        let message = format!("`limit` must be between 1 and {MAX_HISTORY_LIMIT}, not {limit}");
        return Err(Error::invalid_params(message));
    }
    // Whoever asks wants to see what has just happened, too.
    context.shared.access.flush_counts().await.map_err(from_store)?;
    let workspace_id = context.peer.actor.workspace_id.clone();
    let filter = AuditFilter { workspace_id, since, before, limit: limit.into() };
    let entries = context.shared.store.audit_entries(filter).await.map_err(from_store)?;
    Ok(AuditListResult { entries })
}
