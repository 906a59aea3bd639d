//! Memory items: visibility and reading.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{
    ErrorSubject, MemoryItem, MemoryItemId, MemoryScope, MemoryStatus, ThreadId, Timestamp, WorkspaceId,
};

use crate::column::{Value, enum_str, values};
use crate::connection::{Columns, Tx};
use crate::{Store, StoreError};

/// The columns that [`read_item`] reads, at the time `$1`.
// Items past their time count as expired even before a gateway has marked them.
macro_rules! memory_columns {
    () => {
        "m.id, m.scope, m.thread_id, m.category, m.text, m.source_turn,
        CASE WHEN m.status = 'active' AND m.expires_at <= $1 THEN 'expired' ELSE m.status END,
        m.created_at, m.created_by, m.expires_at"
    };
}
pub(crate) use memory_columns;

/// The condition for items that a caller may see: `$2` is the workspace, `$3` the caller's name, `$4` the thread or
/// NULL for all.
macro_rules! is_visible {
    () => {
        "(m.scope = 'user' AND m.owner = $3 OR m.scope = 'workspace' AND m.workspace_id = $2
            OR m.scope = 'thread' AND m.workspace_id = $2 AND ($4 IS NULL OR m.thread_id = $4))"
    };
}
pub(crate) use is_visible;

/// The part of memory that a caller can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryView {
    pub workspace_id: WorkspaceId,
    /// Owner of the private items; `None` for callers that are bound to the workspace and have none.
    pub owner: Option<String>,
    /// The only thread whose items are visible; `None` for all threads of the workspace.
    pub thread_id: Option<ThreadId>,
}

/// The place where an item is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPlace {
    /// With the user of this name, in all workspaces.
    User(String),
    Workspace(WorkspaceId),
    Thread(WorkspaceId, ThreadId),
}

/// Reason for rejecting a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemoryPlaceError {
    #[error("`thread_id` is missing: the scope is `thread`")]
    NoThread,
    #[error("`thread_id` belongs to the scope `thread`, and this one is `{0}`")]
    NotOfThread(MemoryScope),
    #[error("this token is bound to one workspace, and the scope `user` holds in all of them")]
    NotTheirOwn,
}

impl MemoryPlace {
    /// Returns the place for a new item of the view's owner.
    pub fn of(
        view: &MemoryView,
        scope: MemoryScope,
        thread_id: Option<ThreadId>,
    ) -> Result<Self, MemoryPlaceError> {
        let workspace_id = || view.workspace_id.clone();
        match (scope, thread_id) {
            (MemoryScope::Thread, Some(thread_id)) => Ok(Self::Thread(workspace_id(), thread_id)),
            (MemoryScope::Thread, None) => Err(MemoryPlaceError::NoThread),
            (_, Some(_)) => Err(MemoryPlaceError::NotOfThread(scope)),
            (MemoryScope::Workspace, None) => Ok(Self::Workspace(workspace_id())),
            (MemoryScope::User, None) => {
                view.owner.clone().map(Self::User).ok_or(MemoryPlaceError::NotTheirOwn)
            }
        }
    }

    pub fn scope(&self) -> MemoryScope {
        match self {
            Self::User(_) => MemoryScope::User,
            Self::Workspace(_) => MemoryScope::Workspace,
            Self::Thread(..) => MemoryScope::Thread,
        }
    }

    pub(crate) fn owner(&self) -> Option<&str> {
        match self {
            Self::User(owner) => Some(owner),
            Self::Workspace(_) | Self::Thread(..) => None,
        }
    }

    pub(crate) fn workspace_id(&self) -> Option<&WorkspaceId> {
        match self {
            Self::User(_) => None,
            Self::Workspace(workspace_id) | Self::Thread(workspace_id, _) => Some(workspace_id),
        }
    }

    pub(crate) fn thread_id(&self) -> Option<&ThreadId> {
        match self {
            Self::User(_) | Self::Workspace(_) => None,
            Self::Thread(_, thread_id) => Some(thread_id),
        }
    }
}

/// Selects items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFilter {
    pub scope: Option<MemoryScope>,
    pub category: Option<String>,
    pub status: MemoryStatus,
    /// Only items older than this one, newest first.
    pub before: Option<MemoryItemId>,
    /// Only items newer than this one, oldest first.
    pub after: Option<MemoryItemId>,
    /// Lists the oldest items first, also without `after`.
    pub oldest_first: bool,
    pub limit: u64,
}

impl MemoryView {
    /// Returns the parameters `$2` to `$4`.
    pub(crate) fn values(&self) -> [Value<'_>; 3] {
        [Value::from(&self.workspace_id), Value::from(&self.owner), Value::from(self.thread_id.as_ref())]
    }
}

pub(crate) fn read_item(row: &mut Columns<'_>) -> Result<MemoryItem, StoreError> {
    Ok(MemoryItem {
        id: row.next()?,
        scope: row.next()?,
        thread_id: row.next()?,
        category: row.next()?,
        text: row.next()?,
        source_turn: row.next()?,
        status: row.next()?,
        created_at: row.next()?,
        created_by: row.next()?,
        expires_at: row.next()?,
    })
}

impl Store {
    /// Returns items, newest first unless the filter has another order.
    pub fn memories<'a>(
        &'a self,
        view: &'a MemoryView,
        filter: MemoryFilter,
    ) -> BoxFuture<'a, Result<Vec<MemoryItem>, StoreError>> {
        let view = view.clone();
        let now = self.now();
        self.read(async move |tx: &mut Tx<'_>| {
            tx.sequence(&view.workspace_id).await?;
            list(tx, &view, &filter, now).await
        })
        .boxed()
    }

    /// Returns one item. An item that the view excludes counts as missing.
    pub fn memory<'a>(
        &'a self,
        view: &'a MemoryView,
        id: &'a MemoryItemId,
    ) -> BoxFuture<'a, Result<MemoryItem, StoreError>> {
        let view = view.clone();
        let id = id.clone();
        let now = self.now();
        self.read(async move |tx: &mut Tx<'_>| find_or_missing(tx, &view, &id, now).await).boxed()
    }
}

pub(crate) async fn list(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    filter: &MemoryFilter,
    now: Timestamp,
) -> Result<Vec<MemoryItem>, StoreError> {
    let status = enum_str(filter.status);
    let scope = filter.scope.map(enum_str);
    let [workspace, owner, thread] = view.values();
    let mut values = vec![Value::from(now), workspace, owner, thread, Value::from(&status)];
    let mut sql = concat!(
        "SELECT ",
        memory_columns!(),
        " FROM memory_item m WHERE ",
        is_visible!(),
        " AND CASE WHEN m.status = 'active' AND m.expires_at <= $1 THEN 'expired' ELSE m.status END = $5"
    )
    .to_owned();
    let mut narrow = |condition: &str, value| {
        values.push(value);
        sql.push_str(&format!(" AND {condition} ${}", values.len()));
    };
    if scope.is_some() {
        narrow("m.scope =", Value::from(&scope));
    }
    if filter.category.is_some() {
        narrow("m.category =", Value::from(&filter.category));
    }
    if let Some(before) = &filter.before {
        narrow("m.id <", Value::from(before));
    }
    if let Some(after) = &filter.after {
        narrow("m.id >", Value::from(after));
    }
    values.push(Value::from(filter.limit));
    let order = if filter.oldest_first || filter.after.is_some() { "ASC" } else { "DESC" };
    sql.push_str(&format!(" ORDER BY m.id {order} LIMIT ${}", values.len()));
    tx.all(sql, &values, |mut row| read_item(&mut row)).await
}

pub(crate) async fn find_or_missing(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    id: &MemoryItemId,
    now: Timestamp,
) -> Result<MemoryItem, StoreError> {
    const ITEM: &str =
        concat!("SELECT ", memory_columns!(), " FROM memory_item m WHERE ", is_visible!(), " AND m.id = $5");
    let [workspace, owner, thread] = view.values();
    let values = [Value::from(now), workspace, owner, thread, Value::from(id)];
    match tx.one_by_key(ITEM, &values, |mut row| read_item(&mut row)).await? {
        Some(item) => Ok(item),
        None => Err(tx.missing(&view.workspace_id, ErrorSubject::MemoryItem, id).await),
    }
}

/// Returns the items that the thread's model has in its context: those recalled by turns that are sent again.
// Sections that also contained private items of another user are not sent again, so their items do not count.
pub(crate) async fn recalled(
    tx: &mut Tx<'_>,
    view: &MemoryView,
    thread_id: &ThreadId,
) -> Result<Vec<MemoryItemId>, StoreError> {
    const RECALLED: &str = "SELECT DISTINCT u.item_id FROM turn t JOIN memory_use u ON u.turn_id = t.id
        WHERE t.workspace_id = $1 AND t.thread_id = $2 AND t.status = 'completed' AND u.kind = 'section'
            AND t.ordinal > coalesce((SELECT through FROM thread_context c WHERE c.thread_id = $2), 0)
            AND NOT EXISTS (SELECT 1 FROM memory_use beside JOIN memory_item m ON m.id = beside.item_id
                WHERE beside.turn_id = u.turn_id AND beside.kind = 'section' AND beside.place = u.place
                    AND m.scope = 'user' AND m.owner <> coalesce($3, ''))";
    tx.all(RECALLED, values![&view.workspace_id, thread_id, &view.owner], |mut row| row.next()).await
}
