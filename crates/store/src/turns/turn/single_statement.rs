//! Starting and ending a turn in one statement.

use protocol::method::TurnStartParams;
use protocol::{Turn, TurnId, TurnStatus, WorkspaceId};

use super::{EndGuard, EndTurn, TurnActor, new_turn};
use crate::StoreError;
use crate::column::enum_str;
use crate::connection::{Statement, Tx};
use crate::turns::events::status_event;
use crate::turns::items::{self, NewItems};
use crate::turns::lease::Lease;
use crate::turns::requested_tools;
use crate::turns::sessions;
use crate::write::single_statement::{Author, JoinedStatements, PendingEvents};

/// Starts a turn in one statement.
// The statement counts running turns in the state before it waited for the workspace's lock, so it fails if another
// writer has taken a number since.
pub(super) async fn begin(
    tx: &mut Tx<'_>,
    start: &TurnStartParams,
    lease: &Lease,
    actor: &TurnActor,
    max_running: u64,
) -> Result<Option<Turn>, StoreError> {
    const INSERT: &str = insert_turn!(
        ", taken, (SELECT seq FROM workspace WHERE id = $2) seen",
        " AND taken.seq = seen.seq + 1"
    );
    let id = TurnId::new();
    let now = tx.now();
    let event = status_event(TurnStatus::Running, actor.parent_turn_id.as_ref());
    let events = PendingEvents::new(&start.workspace_id, &id, vec![event])?;
    let values = new_turn(&id, start, lease, actor, now, max_running);
    let change = JoinedStatements {
        workspace_id: &start.workspace_id,
        now,
        turn: Statement { sql: INSERT.into(), values },
        certain: Vec::new(),
        others: Vec::new(),
        events: &events,
        changed_by: Author::Actor(actor.name.as_deref()),
    };
    change.run(tx).await
}

/// Ends a turn of its owner in one statement.
pub(super) async fn end(
    tx: &mut Tx<'_>,
    (workspace_id, turn_id, owner): (&WorkspaceId, &TurnId, &str),
    ending: &EndTurn,
    items: &NewItems,
    actor: Option<&str>,
) -> Result<Option<Turn>, StoreError> {
    let now = tx.now();
    let status = ending.finish.end.status();
    let mut events = ending.finish.events.clone();
    events.push(status_event(status, None));
    let events = PendingEvents::new(workspace_id, turn_id, events)?;
    let word = enum_str(status);
    let guard = EndGuard::Owner(owner.to_owned());
    let mut certain = Vec::new();
    if let (Some((_, expected)), Some(text)) = (ending.finish.end.session(), &ending.session) {
        certain.push(sessions::write_of_subject(workspace_id, text, *expected, now));
    }
    let mut others = items::inserts(workspace_id, turn_id, items, now);
    if let (TurnStatus::Completed, Some(names)) = (status, &ending.requested_tools) {
        others.push(requested_tools::write_of_subject(workspace_id, names, now));
    }
    let values = ending.values(&word, &ending.usage, now, (workspace_id, turn_id), &guard);
    let change = JoinedStatements {
        workspace_id,
        now,
        turn: Statement { sql: end_turn!(" AND (SELECT seq FROM taken) > 0").into(), values },
        certain,
        others,
        events: &events,
        changed_by: Author::Actor(actor),
    };
    change.run(tx).await
}
