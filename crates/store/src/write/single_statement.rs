//! A change of a turn in one statement, for a server that is a network away.
//!
//! Six round trips under the workspace's lock become one, which is its own transaction.

// The statement is composed of the same texts that SQLite runs one after another. All parts see the database as it was
// before, so none may depend on rows that another one writes. If a condition does not hold, the log's row gets no method,
// which violates its NOT NULL constraint and rolls everything back.

use std::fmt::Write as _;

use protocol::notification::ChangeOrigin;
use protocol::{Sequence, ThreadId, Timestamp, Turn, TurnId, WorkspaceId};

use crate::change_log::Wake;
use crate::column::Value;
use crate::connection::{Columns, Statement, Tx};
use crate::turns::events::{TurnEvent, TurnRef};
use crate::turns::turn::{read_turn, turn_columns};
use crate::write::workspace_write::LogEntry;
use crate::{Store, StoreError};

/// not_null_violation, foreign_key_violation and unique_violation: the errors of a statement whose conditions do not
/// hold. untranslatable_character: PostgreSQL does not take apart JSON with an escaped zero byte, such as a tool's name
/// that a model has made up; the statements one by one store such a body as it is.
const REFUSED: [&str; 4] = ["23502", "23503", "23505", "22P05"];

/// Events of a turn, before their sequence numbers and the turn's thread are known.
pub(crate) struct PendingEvents {
    turn_id: TurnId,
    events: Vec<TurnEvent>,
    /// Bodies without the thread.
    entries: Vec<LogEntry>,
}

impl PendingEvents {
    pub(crate) fn new(
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        events: Vec<TurnEvent>,
    ) -> Result<Self, StoreError> {
        let turn = TurnRef { workspace_id, thread_id: None, turn_id };
        let entries = events.iter().map(|event| LogEntry::of_turn(turn, event)).collect::<Result<_, _>>()?;
        Ok(Self { turn_id: turn_id.clone(), events, entries })
    }

    /// Returns the entries as they were logged.
    fn of_thread(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let turn = TurnRef { workspace_id, thread_id: Some(thread_id), turn_id: &self.turn_id };
        self.events.iter().map(|event| LogEntry::of_turn(turn, event)).collect()
    }
}

/// The author recorded for a change.
#[derive(Clone, Copy)]
pub(crate) enum Author<'a> {
    Actor(Option<&'a str>),
    TurnCreator,
}

/// A change of a turn that is sent as one statement.
pub(crate) struct JoinedStatements<'a> {
    pub(crate) workspace_id: &'a WorkspaceId,
    pub(crate) now: Timestamp,
    /// Finds, inserts or changes the turn, and returns its columns.
    // Its condition `(SELECT seq FROM taken) > 0` makes it wait for the workspace's lock, which every writer takes first.
    // Without it, PostgreSQL may run the parts in any order, and two writers could deadlock.
    pub(crate) turn: Statement<'a>,
    /// Statements that must each affect exactly one row.
    pub(crate) certain: Vec<Statement<'a>>,
    /// Further statements, which may affect any number of rows.
    pub(crate) others: Vec<Statement<'a>>,
    pub(crate) events: &'a PendingEvents,
    pub(crate) changed_by: Author<'a>,
}

/// A statement under construction.
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

    /// Appends a statement and renumbers its placeholders.
    fn push(&mut self, statement: &Statement<'a>) {
        // Each statement numbers its placeholders from `$1`, and its parameters follow those that are bound already.
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

impl<'a> JoinedStatements<'a> {
    /// Builds the statement, which returns the last sequence number and the turn.
    fn compose(&self) -> Statement<'a> {
        let count = self.events.entries.len();
        let mut all = Composed::default();
        let workspace = all.bind(self.workspace_id);
        let _ = write!(
            all.sql,
            "WITH taken AS (UPDATE workspace SET seq = seq + {count} WHERE id = {workspace} RETURNING seq), subject AS ("
        );
        all.push(&self.turn);
        all.sql.push(')');
        let mut guard = "t.id IS NOT NULL".to_owned();
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
        for (number, entry) in (1_u64..).zip(&self.events.entries) {
            let number = all.bind(number);
            let method = all.bind(entry.method);
            let body = all.bind(&entry.body);
            rows.push(format!("({number}, {method}, {body})"));
        }
        let rows = rows.join(", ");
        // The thread's id is only known here. It is added as the second member, as in bodies that are complete from the
        // beginning. The functions for `json` keep the order of the members, which those for `jsonb` do not.
        let _ = write!(
            all.sql,
            ", log AS (INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params)
                SELECT {workspace}, taken.seq - {count} + v.number, {now}, {actor}, CASE WHEN {guard} THEN v.method END,
                    (SELECT CAST(json_object_agg(member.key, member.value ORDER BY member.place) AS TEXT) FROM (
                        SELECT key, value, place * 2 AS place
                            FROM json_each(CAST(v.body AS json)) WITH ORDINALITY AS e (key, value, place)
                        UNION ALL SELECT 'thread_id', to_json(t.thread_id), 3) member)
                FROM taken LEFT JOIN subject t ON TRUE CROSS JOIN (VALUES {rows}) v (number, method, body))
            SELECT taken.seq, {columns} FROM taken, subject turn",
            columns = turn_columns!()
        );
        Statement { sql: all.sql.into(), values: all.values }
    }

    /// Runs the statement and wakes followers after commit.
    // `None` if the workspace does not exist.
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
        let first = Sequence(last.0 + 1 - self.events.entries.len() as u64);
        // The same entries as the database has made, without reading them back: the thread is known from the returned
        // row.
        let entries = self.events.of_thread(self.workspace_id, &turn.thread_id)?;
        tx.wake(Wake::logged(self.workspace_id.clone(), first, &origin, entries));
        Ok(Some(turn))
    }
}

impl Store {
    /// Runs a change of a workspace that is one statement.
    // `None` on SQLite, and if a condition did not hold: the caller then runs the statements one by one, which finds
    // the reason.
    pub(crate) async fn write_joined<T, F>(
        &self,
        workspace_id: &WorkspaceId,
        change: F,
    ) -> Result<Option<T>, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<Option<T>, StoreError> + Clone + Send + 'static,
    {
        let Some(postgres) = self.postgres() else { return Ok(None) };
        // Held until the commit: it limits the connections that wait for this workspace's lock.
        let _permit = self.workspace_permit(workspace_id).await?;
        self.counter().count_transaction();
        match postgres.write_alone(self.counter(), change).await {
            Err(error) if error.sql_state().is_some_and(|code| REFUSED.contains(&code.as_ref())) => Ok(None),
            done => done,
        }
    }
}
