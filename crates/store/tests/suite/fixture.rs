//! A store with one workspace, on either database, and short ways to fill it.

use std::time::Duration;

use protocol::message::{Message, TurnItem, TurnMessage};
use protocol::method::{
    DocumentSaveParams, ThreadCreateParams, ThreadTreeParams, ThreadTreeResult, TurnStartParams,
    WorkspaceCreateParams,
};
use protocol::notification::{
    ContextCompressed, ContextCompressing, DocumentChanged, Notification as _, TreeChanged,
    TurnApprovalDecided, TurnApprovalRequested, TurnCancelled, TurnCompleted, TurnFailed, TurnManifestKept,
    TurnStarted, TurnToolFinished, TurnToolStarted,
};
use protocol::prompt::{PromptFingerprints, PromptManifest, PromptProfile, RoundManifest};
use protocol::{
    ContentHash, Document, FolderId, RevisionSummary, Sequence, Session, ThreadId, ThreadMode, Timestamp,
    Turn, TurnError, TurnId, TurnStatus, Version, WorkspaceId,
};
use serde::de::DeserializeOwned;
use serde_json::json;
use sqlx::Connection as _;
use store::{
    BeginRound, Change, Database, FinishTurn, Lease, PromptText, Scope, Store, StoreError, StoredItem,
    ThreadContext, TurnEnd, TurnEvent,
};
use test_postgres::{TestDatabase, test_database};
use tokio::runtime::Runtime;

use crate::params::text;

/// Defines a test for each database from one body: `both_databases!(rule, async |given| { … });`.
macro_rules! both_databases {
    ($rule:ident, $body:expr) => {
        fn $rule(engine: $crate::fixture::Engine) {
            $crate::fixture::run(engine, $body);
        }

        mod $rule {
            #[test]
            fn sqlite() {
                super::$rule($crate::fixture::Engine::Sqlite);
            }

            #[test]
            fn postgres() {
                super::$rule($crate::fixture::Engine::Postgres);
            }
        }
    };
}

/// The database that a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// An open store and the workspace that most tests are about.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) database: Database,
    /// Removes the data when the test is over.
    _place: Place,
}

pub(crate) enum Place {
    Directory { _directory: tempfile::TempDir },
    Postgres { _database: TestDatabase },
}

/// Runs a test, or skips it if its database is not installed.
pub(crate) fn run(engine: Engine, test: impl AsyncFnOnce(&Fixture)) {
    with_runtime(engine, |given, runtime| runtime.block_on(in_time("the test itself", test(given))));
}

/// Longer than any step takes, and shorter than the test runner's limit, which reports no step.
const STEP_TIME: Duration = Duration::from_secs(150);

/// Waits for a step of a test, and names it if it hangs.
pub(crate) async fn in_time<T>(step: &str, doing: impl Future<Output = T>) -> T {
    match tokio::time::timeout(STEP_TIME, doing).await {
        Ok(done) => done,
        Err(_) => panic!("{step} hangs: it is not done after {STEP_TIME:?}"),
    }
}

/// Runs a test that awaits the store itself.
pub(crate) fn with_runtime(engine: Engine, test: impl FnOnce(&Fixture, &Runtime)) {
    let Some((database, place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let given = runtime.block_on(in_time("opening the store", Fixture::open(database, place)));
    test(&given, &runtime);
    runtime.block_on(in_time("closing the store", given.store.close()));
}

pub(crate) fn empty_database(engine: Engine) -> Option<(Database, Place)> {
    match engine {
        Engine::Sqlite => {
            let directory = tempfile::tempdir().unwrap();
            let database = Database::Sqlite(directory.path().join("foreword.db"));
            Some((database, Place::Directory { _directory: directory }))
        }
        Engine::Postgres => {
            let database = test_database()?;
            Some((Database::Postgres(database.url().to_owned()), Place::Postgres { _database: database }))
        }
    }
}

/// Opens a connection.
// A missing SQLite file is created.
pub(crate) async fn open_connection(database: &Database) -> Connection {
    match database {
        Database::Sqlite(path) => Connection::Sqlite(rusqlite::Connection::open(path).unwrap()),
        Database::Postgres(address) => {
            Connection::Postgres(tokio::sync::Mutex::new(sqlx::PgConnection::connect(address).await.unwrap()))
        }
    }
}

/// A direct connection to the database.
pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(tokio::sync::Mutex<sqlx::PgConnection>),
}

/// An error of a statement.
#[derive(Debug)]
pub(crate) enum DatabaseError {
    Sqlite(rusqlite::Error),
    Postgres(sqlx::Error),
}

/// A constraint that a statement violated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    Unique,
    ForeignKey,
}

impl DatabaseError {
    pub(crate) fn violation(&self) -> Option<Violation> {
        match self {
            DatabaseError::Sqlite(error) => match error.sqlite_error()?.extended_code {
                rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => {
                    Some(Violation::Unique)
                }
                rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Some(Violation::ForeignKey),
                _ => None,
            },
            DatabaseError::Postgres(error) => match error.as_database_error()?.kind() {
                sqlx::error::ErrorKind::UniqueViolation => Some(Violation::Unique),
                sqlx::error::ErrorKind::ForeignKeyViolation => Some(Violation::ForeignKey),
                _ => None,
            },
        }
    }
}

impl Connection {
    /// Runs statements without results.
    pub(crate) async fn execute(&self, statements: &str) -> Result<(), DatabaseError> {
        match self {
            Connection::Sqlite(connection) => {
                connection.execute_batch(statements).map_err(DatabaseError::Sqlite)
            }
            Connection::Postgres(connection) => {
                let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned()));
                let executed = statements.execute(&mut *connection.lock().await).await;
                executed.map(drop).map_err(DatabaseError::Postgres)
            }
        }
    }

    /// Returns the texts that a query selects.
    pub(crate) async fn column(&self, query: &str) -> Vec<String> {
        match self {
            Connection::Sqlite(connection) => {
                let mut query = connection.prepare(query).unwrap();
                query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
            }
            Connection::Postgres(connection) => {
                let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query.to_owned()));
                query.fetch_all(&mut *connection.lock().await).await.unwrap()
            }
        }
    }

    pub(crate) async fn close(self) {
        match self {
            Connection::Sqlite(connection) => connection.close().unwrap(),
            Connection::Postgres(connection) => connection.into_inner().close().await.unwrap(),
        }
    }
}

impl Fixture {
    async fn open(database: Database, place: Place) -> Self {
        let store = Store::open(&database).await.unwrap();
        let workspace = make_workspace(&store, "main").await;
        Self { store, workspace, database, _place: place }
    }

    /// Opens the same database again, like another gateway.
    pub(crate) async fn another_store(&self) -> Store {
        Store::open(&self.database).await.unwrap()
    }

    pub(crate) async fn another_workspace(&self) -> WorkspaceId {
        make_workspace(&self.store, &format!("another {}", WorkspaceId::new())).await
    }

    /// Opens a connection that bypasses the store.
    pub(crate) async fn connection(&self) -> Connection {
        open_connection(&self.database).await
    }

    /// Returns the texts that a query selects.
    pub(crate) async fn column(&self, query: &str) -> Vec<String> {
        let connection = self.connection().await;
        let column = connection.column(query).await;
        connection.close().await;
        column
    }

    pub(crate) fn root(&self) -> Scope {
        Scope::root(self.workspace.clone())
    }

    pub(crate) fn scope(&self, folder: &FolderId) -> Scope {
        Scope::folder(self.workspace.clone(), folder.clone())
    }

    pub(crate) async fn folder(&self, parent: Option<&FolderId>, name: &str) -> FolderId {
        self.store.create_folder(&self.workspace, parent, name, None).await.unwrap().id
    }

    pub(crate) async fn thread(&self, folder: Option<&FolderId>, title: &str) -> ThreadId {
        self.store.create_thread(new_thread(&self.workspace, folder, title), None).await.unwrap().id
    }

    /// Starts a turn that [`OWNER`] runs.
    pub(crate) async fn turn(&self, thread: &ThreadId) -> Turn {
        self.store.create_turn(new_turn(&self.workspace, thread), minute(), None, None).await.unwrap()
    }

    /// Ends a turn that [`OWNER`] runs.
    pub(crate) async fn finish(&self, turn: &TurnId, end: TurnEnd) -> Result<Turn, StoreError> {
        self.store.finish_turn(&self.workspace, turn, OWNER, FinishTurn::new(end), None).await
    }

    pub(crate) async fn items(&self, turn: &TurnId) -> Vec<StoredItem> {
        self.store.turn_items(&self.workspace, turn).await.unwrap()
    }

    /// Returns the context of a thread.
    pub(crate) async fn context(&self, thread: &ThreadId) -> Option<ThreadContext> {
        self.store.stored_history(&self.workspace, thread, 1, 100).await.unwrap().context
    }

    pub(crate) async fn tree(&self) -> ThreadTreeResult {
        whole_tree(&self.store, &self.workspace).await.unwrap()
    }

    /// Saves over any version.
    pub(crate) async fn save(&self, scope: &Scope, content: &str) -> Document {
        self.store.save_document(text(scope, content), None).await.unwrap()
    }

    /// Saves over one version only.
    pub(crate) async fn save_over(
        &self,
        scope: &Scope,
        content: &str,
        version: u64,
    ) -> Result<Document, StoreError> {
        let save = DocumentSaveParams { expected_version: Some(Version(version)), ..text(scope, content) };
        self.store.save_document(save, None).await
    }

    pub(crate) async fn archive(&self, scope: &Scope) -> bool {
        self.store.archive_document(scope, None, None).await.unwrap()
    }

    /// Returns the scope's own document.
    pub(crate) async fn document(&self, scope: &Scope) -> Option<Document> {
        self.store.document(scope).await.unwrap().0
    }

    /// Returns the effective text of a scope.
    pub(crate) async fn effective(&self, scope: &Scope) -> Option<String> {
        self.store.document(scope).await.unwrap().1.map(|resolved| resolved.doc.content)
    }

    /// Returns the scope's whole history, newest first.
    pub(crate) async fn history(&self, scope: &Scope) -> Vec<RevisionSummary> {
        self.store.history(scope, 1000, None).await.unwrap()
    }

    /// Returns the scope's version numbers, newest first.
    pub(crate) async fn versions(&self, scope: &Scope) -> Vec<u64> {
        self.history(scope).await.into_iter().map(|revision| revision.version.0).collect()
    }

    pub(crate) async fn seq(&self) -> Sequence {
        self.store.sequence(&self.workspace).await.unwrap()
    }

    /// Returns the logged changes after a sequence number.
    pub(crate) async fn told_after(&self, since: Sequence) -> Vec<Told> {
        let changes = self.store.changes_after(&self.workspace, since, 10_000).await.unwrap();
        changes
            .iter()
            .map(|change| match change.method.as_str() {
                DocumentChanged::NAME => Told::Document(params(change)),
                TreeChanged::NAME => Told::Tree(params(change)),
                TurnStarted::NAME => Told::Turn(TurnStatus::Running, params(change)),
                TurnCompleted::NAME => Told::Turn(TurnStatus::Completed, params(change)),
                TurnFailed::NAME => Told::Turn(TurnStatus::Failed, params(change)),
                TurnCancelled::NAME => Told::Turn(TurnStatus::Cancelled, params(change)),
                method => told_event(method, change),
            })
            .collect()
    }
}

/// A change in the form of its notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Document(DocumentChanged),
    Tree(TreeChanged),
    /// The four status notifications have the same fields.
    Turn(TurnStatus, TurnStarted),
    /// The event, and the fields that the notifications of all events share.
    Event(TurnEvent, TurnStarted),
}

fn told_event(method: &str, change: &Change) -> Told {
    let event = match method {
        TurnManifestKept::NAME => {
            let TurnManifestKept { round, .. } = params(change);
            TurnEvent::ManifestKept { round }
        }
        TurnToolStarted::NAME => {
            let TurnToolStarted { call_id, tool, .. } = params(change);
            TurnEvent::ToolStarted { call_id, tool }
        }
        TurnToolFinished::NAME => {
            let told: TurnToolFinished = params(change);
            let TurnToolFinished { call_id, tool, is_error, reminders, effects, .. } = told;
            TurnEvent::ToolFinished { call_id, tool, is_error, reminders, effects }
        }
        TurnApprovalRequested::NAME => {
            let told: TurnApprovalRequested = params(change);
            let TurnApprovalRequested { call_id, tool, digest, new_file, replaces_lines, .. } = told;
            TurnEvent::ApprovalRequested { call_id, tool, digest, new_file, replaces_lines }
        }
        TurnApprovalDecided::NAME => {
            let TurnApprovalDecided { call_id, tool, decision, .. } = params(change);
            TurnEvent::ApprovalDecided { call_id, tool, decision }
        }
        ContextCompressing::NAME => TurnEvent::ContextCompressing {},
        ContextCompressed::NAME => {
            let ContextCompressed { through, summarised, missing_after, .. } = params(change);
            TurnEvent::ContextCompressed { through, summarised, missing_after }
        }
        unknown => panic!("`{unknown}` is no notification"),
    };
    Told::Event(event, params(change))
}

/// Returns the parameters that a subscriber gets: the stored body and the position in the log.
fn params<T: DeserializeOwned>(change: &Change) -> T {
    let mut params: serde_json::Value = serde_json::from_str(&change.body).unwrap();
    params["seq"] = serde_json::to_value(change.seq).unwrap();
    serde_json::from_value(params).unwrap()
}

impl Told {
    pub(crate) fn seq(&self) -> Sequence {
        match self {
            Told::Document(change) => change.seq,
            Told::Tree(change) => change.seq,
            Told::Turn(_, change) | Told::Event(_, change) => change.seq,
        }
    }
}

pub(crate) fn new_thread(
    workspace: &WorkspaceId,
    folder: Option<&FolderId>,
    title: &str,
) -> ThreadCreateParams {
    let workspace_id = workspace.clone();
    let folder_id = folder.cloned();
    ThreadCreateParams { workspace_id, folder_id, title: title.to_owned(), mode: ThreadMode::Chat }
}

/// The owner of most turns.
pub(crate) const OWNER: &str = "gateway-1";

/// Returns a lease of one minute for [`OWNER`].
pub(crate) fn minute() -> Lease {
    lease(OWNER, 60_000)
}

/// Returns the parameters of a turn.
pub(crate) fn new_turn(workspace: &WorkspaceId, thread: &ThreadId) -> TurnStartParams {
    TurnStartParams::new(workspace, thread, "what now?")
}

/// Returns a lease that ends in some milliseconds, which may be negative.
pub(crate) fn lease(owner: &str, milliseconds: i64) -> Lease {
    Lease { owner: owner.to_owned(), expires_at: from_now(milliseconds) }
}

pub(crate) fn from_now(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(Timestamp::now().milliseconds() + milliseconds)
}

/// Returns an end without a session.
pub(crate) fn completed() -> TurnEnd {
    TurnEnd::Completed { session: None }
}

pub(crate) fn failed() -> TurnEnd {
    TurnEnd::Failed(failure("it failed"))
}

pub(crate) fn failure(message: &str) -> TurnError {
    serde_json::from_value(json!({ "kind": "provider_failed", "message": message })).unwrap()
}

pub(crate) fn message(text: &str) -> TurnItem {
    TurnItem::Message(TurnMessage::new(Message::user(text)))
}

/// Returns the text of a message.
#[track_caller]
pub(crate) fn said(stored: &StoredItem) -> String {
    match &stored.item {
        TurnItem::Message(message) => message.message.text(),
        TurnItem::Context(_) | TurnItem::Round(_) | TurnItem::Trimmed(_) | TurnItem::Request(_) => {
            panic!("{stored:?} is not a message")
        }
    }
}

/// Returns a session with a directory that distinguishes it.
pub(crate) fn session(cwd: &str) -> Session {
    let session = json!({
        "schema": 1, "profile": "codex", "cwd": cwd, "markers": [".git"],
        "initial": { "files": [] }, "covered_dirs": [], "loaded_versions": {},
    });
    protocol::parse_session(session.to_string().as_bytes()).unwrap()
}

pub(crate) fn manifest(round: u32, fingerprint: &str) -> RoundManifest {
    let part = || ContentHash::from_stored("part".to_owned());
    let full = ContentHash::from_stored(fingerprint.to_owned());
    let fingerprints =
        PromptFingerprints { stable: part(), session: part(), turn: part(), dynamic: part(), full };
    let manifest = PromptManifest {
        compiler_version: "1".to_owned(),
        profile: PromptProfile::Full,
        sections: Vec::new(),
        fingerprints,
        diagnostics: Vec::new(),
        hook_sources: Vec::new(),
        left_out: Vec::new(),
        policies: Vec::new(),
        request: None,
    };
    RoundManifest { round, manifest }
}

/// Returns a round with nothing but a manifest.
pub(crate) fn bare_round(round: u32, fingerprint: &str) -> BeginRound {
    BeginRound {
        hook_runs: Vec::new(),
        items: Vec::new(),
        texts: Vec::new(),
        manifest: manifest(round, fingerprint),
        events: Vec::new(),
    }
}

/// Stores texts like the first round of a turn.
pub(crate) async fn put_texts(
    store: &Store,
    workspace: &WorkspaceId,
    texts: Vec<PromptText>,
) -> Result<(), StoreError> {
    let thread = store.create_thread(new_thread(workspace, None, "texts"), None).await.unwrap().id;
    let turn = store.create_turn(new_turn(workspace, &thread), minute(), None, None).await.unwrap().id;
    store.begin_round(workspace, &turn, OWNER, BeginRound { texts, ..bare_round(1, "f") }).await
}

pub(crate) async fn whole_tree(
    store: &Store,
    workspace: &WorkspaceId,
) -> Result<ThreadTreeResult, StoreError> {
    store.tree_part(ThreadTreeParams::whole(workspace.clone())).await
}

async fn make_workspace(store: &Store, name: &str) -> WorkspaceId {
    let new = WorkspaceCreateParams { name: name.to_owned(), ..WorkspaceCreateParams::default() };
    store.create_workspace(new, None).await.unwrap().id
}

/// Returns the parts of a version conflict: expected, actual, and the current document.
#[track_caller]
pub(crate) fn conflict<T>(result: Result<T, StoreError>) -> (u64, u64, Option<Document>) {
    match result {
        Err(StoreError::VersionConflict { expected, actual, current }) => {
            (expected.0, actual.0, current.map(|document| *document))
        }
        Err(error) => panic!("not a version conflict: {error:?}"),
        Ok(_) => panic!("it succeeded"),
    }
}

/// Checks that something was not found.
#[track_caller]
pub(crate) fn assert_not_found<T>(result: Result<T, StoreError>, what: &str, id: impl ToString) {
    match result {
        Err(StoreError::NotFound { what: named, id: missing }) => {
            assert_eq!((named.to_string().as_str(), missing), (what, id.to_string()));
        }
        Err(error) => panic!("not missing: {error:?}"),
        Ok(_) => panic!("the {what} was found"),
    }
}

/// Checks that a value was rejected.
#[track_caller]
pub(crate) fn assert_invalid<T>(result: Result<T, StoreError>, field: &str) {
    match result {
        Err(StoreError::InvalidValue { field: named, .. }) => assert_eq!(named, field),
        Err(error) => panic!("not an invalid value: {error:?}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// Checks that a state did not allow the operation.
#[track_caller]
pub(crate) fn assert_invalid_state<T>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::InvalidState(_)) => {}
        Err(error) => panic!("not an invalid state: {error:?}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// Checks that the turn had ended.
#[track_caller]
pub(crate) fn assert_ended<T>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::TurnEnded { .. }) => {}
        Err(error) => panic!("the turn has not ended: {error:?}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// Checks that another gateway runs the turn.
#[track_caller]
pub(crate) fn assert_not_holder<T>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::NotHolder { .. }) => {}
        Err(error) => panic!("it is its own: {error:?}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// Checks that a thread has a running turn, and returns it.
#[track_caller]
pub(crate) fn turn_running<T>(result: Result<T, StoreError>, thread: &ThreadId) -> Option<TurnId> {
    match result {
        Err(StoreError::TurnRunning { thread_id, turn_id }) => {
            assert_eq!(&thread_id, thread);
            turn_id
        }
        Err(error) => panic!("no turn is in the way: {error:?}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// Checks that the database was unavailable.
#[track_caller]
pub(crate) fn assert_unavailable<T>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::Unavailable(_)) => {}
        Err(error) => panic!("not unavailable: {error:?}"),
        Ok(_) => panic!("it succeeded"),
    }
}
