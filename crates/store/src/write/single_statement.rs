//! A change of a turn in one statement, for a server that is a network away: what would be six round trips under the
//! workspace's lock is one, and a transaction of its own.
//!
//! The statement is put together from the very texts that SQLite is given one after another. All of its parts see the
//! database as it was before; none may depend on what another one writes. Where it cannot be sure of something, it
//! refuses itself: the log is given no method then, which its table does not take, and nothing of it is left.

use std::fmt::Write as _;
use std::sync::Arc;

use protocol::notification::{ChangeOrigin, Notification};
use protocol::{Sequence, ThreadId, Timestamp, Turn, WorkspaceId};

use crate::change_log::{Change, LoggedChanges, Wake};
use crate::column::{Value, to_json};
use crate::connection::{Columns, Statement, Tx};
use crate::turns::turn::{read_turn, turn_columns};
use crate::write::workspace_write::Log;
use crate::{Store, StoreError};

/// not_null_violation, foreign_key_violation and unique_violation: what such a statement refuses itself with.
const REFUSED: [&str; 3] = ["23502", "23503", "23505"];

/// What a change tells of, before its number and the thread are known.
pub(crate) struct PendingEntries {
    /// Stands for the thread.
    pub(crate) thread_id: ThreadId,
    texts: Vec<NoticeText>,
}

/// The parameters of a notification are `{"seq":`, its number, `before`, the thread's id and `after`.
struct NoticeText {
    method: &'static str,
    before: String,
    after: String,
}

impl PendingEntries {
    pub(crate) fn new() -> Self {
        Self { thread_id: ThreadId::new(), texts: Vec::new() }
    }
}

impl Log for PendingEntries {
    fn log<N: Notification>(&mut self, notification: impl FnOnce(Sequence) -> N) -> Result<(), StoreError> {
        let params = to_json(&notification(Sequence(0)))?;
        let rest = params.strip_prefix(r#"{"seq":0"#);
        let Some((before, after)) = rest.and_then(|rest| rest.split_once(self.thread_id.as_str())) else {
            return Err(StoreError::database("a change of a turn does not begin with its number"));
        };
        let before = before.to_owned();
        let after = after.to_owned();
        self.texts.push(NoticeText { method: N::NAME, before, after });
        Ok(())
    }
}

/// Who is said to have made a change.
#[derive(Clone, Copy)]
pub(crate) enum Author<'a> {
    Actor(Option<&'a str>),
    /// Whoever began the turn.
    TurnCreator,
}

/// A change of a turn.
pub(crate) struct StatementList<'a> {
    pub(crate) workspace_id: &'a WorkspaceId,
    pub(crate) now: Timestamp,
    /// Finds, makes or changes the turn, and gives its columns. It asks for `(SELECT seq FROM taken) > 0`, so that the
    /// workspace is locked first, as everywhere.
    pub(crate) turn: Statement<'a>,
    /// What must write a row each.
    pub(crate) certain: Vec<Statement<'a>>,
    /// What else is written.
    pub(crate) others: Vec<Statement<'a>>,
    pub(crate) notices: &'a PendingEntries,
    pub(crate) changed_by: Author<'a>,
}

/// A statement that grows.
#[derive(Default)]
struct Composed<'a> {
    sql: String,
    values: Vec<Value<'a>>,
}

impl<'a> Composed<'a> {
    fn bind(&mut self, value: impl Into<Value<'a>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// Adds a statement, whose values come after those that are there.
    fn push(&mut self, statement: &Statement<'a>) {
        let offset = self.values.len();
        let mut parts = statement.sql.split('$');
        self.sql.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.len() - part.trim_start_matches(|it: char| it.is_ascii_digit()).len();
            let (number, rest) = part.split_at(digits);
            let number = number.parse::<usize>().map_or(0, |number| number + offset);
            let _ = write!(self.sql, "${number}{rest}");
        }
        self.values.extend_from_slice(&statement.values);
    }
}

impl<'a> StatementList<'a> {
    /// The whole, which answers with the number taken last and the turn.
    fn compose(&self) -> Statement<'a> {
        let count = self.notices.texts.len();
        let mut all = Composed::default();
        let workspace = all.bind(self.workspace_id);
        let _ = write!(
            all.sql,
            "WITH taken AS (UPDATE workspace SET seq = seq + {count} WHERE id = {workspace} RETURNING seq), subject AS ("
        );
        all.push(&self.turn);
        all.sql.push(')');
        let mut guard = "TRUE".to_owned();
        for (number, statement) in self.certain.iter().enumerate() {
            let _ = write!(all.sql, ", certain{number} AS (");
            all.push(statement);
            all.sql.push_str(" RETURNING 1 AS one)");
            let _ = write!(guard, " AND EXISTS (SELECT 1 FROM certain{number})");
        }
        for (number, statement) in self.others.iter().enumerate() {
            let _ = write!(all.sql, ", other{number} AS (");
            all.push(statement);
            all.sql.push(')');
        }
        let now = all.bind(self.now);
        let actor = match self.changed_by {
            Author::Actor(actor) => all.bind(actor),
            Author::TurnCreator => "t.created_by".to_owned(),
        };
        let mut rows = Vec::with_capacity(count);
        for (number, text) in (1_u64..).zip(&self.notices.texts) {
            let [number, method] = [all.bind(number), all.bind(text.method)];
            let [before, after] = [all.bind(&text.before), all.bind(&text.after)];
            rows.push(format!("({number}, {method}, {before}, {after})"));
        }
        let rows = rows.join(", ");
        let _ = write!(
            all.sql,
            ", log AS (INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params)
                SELECT {workspace}, taken.seq - {count} + v.number, {now}, {actor}, CASE WHEN {guard} THEN v.method END,
                    '{{\"seq\":' || (taken.seq - {count} + v.number) || v.before || t.thread_id || v.after
                FROM taken LEFT JOIN subject t ON TRUE CROSS JOIN (VALUES {rows}) v (number, method, before, after))
            SELECT taken.seq, {columns} FROM taken, subject turn",
            columns = turn_columns!()
        );
        Statement { sql: all.sql.into(), values: all.values }
    }

    /// Runs it, and says what it has logged once it is committed; none where there is no such workspace.
    pub(crate) async fn run(self, tx: &mut Tx<'_>) -> Result<Option<Turn>, StoreError> {
        let Statement { sql, values } = self.compose();
        let read = |mut row: Columns<'_>| Ok((row.next::<Sequence>()?, read_turn(&mut row)?));
        let done = tx.one_by_key(sql, &values, read).await?;
        let Some((last, turn)) = done else { return Ok(None) };
        let changed_by = match self.changed_by {
            Author::Actor(actor) => actor.map(str::to_owned),
            Author::TurnCreator => turn.created_by.clone(),
        };
        let origin = ChangeOrigin { changed_at: self.now, changed_by };
        let first = last.0 + 1 - self.notices.texts.len() as u64;
        let changes = (first..).zip(&self.notices.texts).map(|(seq, text)| Change {
            seq: Sequence(seq),
            origin: origin.clone(),
            method: text.method.to_owned(),
            params: format!(r#"{{"seq":{seq}{}{}{}"#, text.before, turn.thread_id, text.after),
        });
        let workspace_id = self.workspace_id.clone();
        let changes = changes.collect();
        tx.wake(Wake::Logged(Arc::new(LoggedChanges { workspace_id, changes })));
        Ok(Some(turn))
    }
}

impl Store {
    /// Runs a change of a workspace that is one statement, which is a transaction of its own. None where there is no
    /// such thing, or where the statement has refused itself: then the caller goes step by step, and finds out why.
    pub(crate) async fn write_at_once<T, F>(
        &self,
        workspace_id: &WorkspaceId,
        change: F,
    ) -> Result<Option<T>, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<Option<T>, StoreError> + Clone + Send + 'static,
    {
        let Some(postgres) = self.postgres() else { return Ok(None) };
        let _permit = self.workspace_permit(workspace_id).await?;
        self.counter().count_transaction();
        match postgres.write_alone(self.counter(), change).await {
            Err(error) if error.sql_state().is_some_and(|code| REFUSED.contains(&code.as_ref())) => Ok(None),
            done => done,
        }
    }
}
