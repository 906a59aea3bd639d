//! A database of an older version: brought up to date with all it holds.

use protocol::hook::{Phase, RunStatus};
use protocol::method::DocumentSaveParams;
use protocol::{ContentHash, RevisionReason, Sequence, ThreadId, TurnStatus, Version, WorkspaceId};
use store::{FinishTurn, Scope, Store, TurnEnd, hash_secret};

use crate::fixture::{
    Connection, Engine, empty_database, minute, new_turn, open_connection, said, session, whole_tree,
};

/// The first migration as it was released.
const SPINE: &str = include_str!("../../src/migrations/m0001_spine.sql");
const SPINE_POSTGRES: &str = include_str!("../../src/migrations/m0001_spine.postgres.sql");

/// The second.
const TURNS: &str = include_str!("../../src/migrations/m0002_turns.sql");

/// Makes a database as the first version left it behind.
async fn first_version(connection: &Connection) {
    let done =
        "CREATE TABLE seaql_migrations (version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL);
        INSERT INTO seaql_migrations (version, applied_at) VALUES ('m0001_spine', 1)";
    connection.execute(done).await.unwrap();
    connection.execute(SPINE).await.unwrap();
    if let Connection::Postgres(_) = connection {
        connection.execute(SPINE_POSTGRES).await.unwrap();
    }
}

/// The same for the second version.
async fn second_version(connection: &Connection) {
    first_version(connection).await;
    connection.execute(TURNS).await.unwrap();
    let done = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m0002_turns', 1)";
    connection.execute(done).await.unwrap();
}

fn old_data() -> String {
    let sha256 = ContentHash::of("text");
    format!(
        r#"
        INSERT INTO workspace (id, name, root_path, agents, seq, created_at, updated_at)
            VALUES ('w', 'old', '/project', NULL, 4, 1, 2);
        INSERT INTO folder (id, workspace_id, parent_folder_id, name, created_at, updated_at)
            VALUES ('f', 'w', NULL, 'folder', 1, 2);
        INSERT INTO thread (id, workspace_id, title, mode, created_at, updated_at)
            VALUES ('t', 'w', 'thread', 'agent', 1, 2);
        INSERT INTO thread_placement (thread_id, workspace_id, folder_id) VALUES ('t', 'w', 'f');
        INSERT INTO thread_agents_doc (id, workspace_id, folder_id, status, title, content, content_sha256,
            char_count, version, created_at, updated_at, created_by)
            VALUES ('d', 'w', 'f', 'active', 'AGENTS.md', 'text', '{sha256}', 4, 1, 1, 2, 'ada');
        INSERT INTO thread_agents_doc_revision (id, doc_id, workspace_id, folder_id, version, content,
            content_sha256, char_count, saved_at, saved_by, save_reason)
            VALUES ('r', 'd', 'w', 'f', 1, 'text', '{sha256}', 4, 2, 'ada', 'manual');
        INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params)
            VALUES ('w', 4, 2, 'ada', 'thread/tree/changed', '{{"seq":4}}');
        INSERT INTO access_token (id, name, role, workspace_id, secret_sha256, created_at)
            VALUES ('a', 'owner', 'owner', NULL, '{sha256}', 1);
        "#
    )
}

async fn assert_old_data(store: &Store, workspace: &WorkspaceId, thread: &ThreadId) {
    let found = store.workspace(workspace).await.unwrap();
    assert_eq!((found.name.as_str(), found.root_path.as_deref()), ("old", Some("/project")));
    let tree = whole_tree(store, workspace).await.unwrap();
    assert_eq!((tree.folders.len(), tree.threads.len(), tree.placements.len()), (1, 1, 1));
    let scope = Scope::folder(workspace.clone(), tree.folders[0].id.clone());
    let document = store.document(&scope).await.unwrap().0.unwrap();
    assert_eq!((document.content.as_str(), document.created_by.as_deref()), ("text", Some("ada")));
    assert_eq!(store.revision(&scope, Version(1)).await.unwrap().content, "text");
    assert_eq!(store.resolve_for_thread(workspace, thread).await.unwrap().unwrap().doc, document);
    let changes = store.changes_after(workspace, Sequence(0), 1).await.unwrap();
    assert_eq!((changes[0].seq, changes[0].params.as_str()), (Sequence(4), "{\"seq\":4}"));
    assert_eq!(store.token_by_name("owner").await.unwrap().name, "owner");
}

fn first_version_is_brought_up_to_date(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = open_connection(&database).await;
        first_version(&connection).await;
        connection.execute(&old_data()).await.unwrap();
        connection.close().await;

        let store = Store::open(&database).await.unwrap();
        let (workspace, thread) = ("w".parse().unwrap(), "t".parse().unwrap());
        assert_old_data(&store, &workspace, &thread).await;
        let turn = store.create_turn(new_turn(&workspace, &thread), minute(), None, None).await.unwrap();
        assert_eq!((turn.ordinal, turn.status), (1, TurnStatus::Running));
        assert_eq!(store.sequence(&workspace).await.unwrap(), Sequence(5));
        store.close().await;

        let again = Store::open(&database).await.unwrap();
        assert_old_data(&again, &workspace, &thread).await;
        assert_eq!(again.turn(&workspace, &turn.id).await.unwrap(), turn);
        again.close().await;
    });
}

#[test]
fn a_sqlite_database_of_the_first_version_keeps_what_it_holds() {
    first_version_is_brought_up_to_date(Engine::Sqlite);
}

#[test]
fn a_postgres_database_of_the_first_version_keeps_what_it_holds() {
    first_version_is_brought_up_to_date(Engine::Postgres);
}

fn second_version_is_brought_up_to_date(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = open_connection(&database).await;
        second_version(&connection).await;
        connection.execute(&old_data()).await.unwrap();
        let running = "INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, lease_owner,
            lease_expires_at, created_at) VALUES ('u', 'w', 't', 1, 'running', 'what now?', 'gateway-1', 2, 1)";
        connection.execute(running).await.unwrap();
        connection.close().await;

        let store = Store::open(&database).await.unwrap();
        let (workspace, thread, turn) = ("w".parse().unwrap(), "t".parse().unwrap(), "u".parse().unwrap());
        assert_old_data(&store, &workspace, &thread).await;
        assert_eq!(store.turn_hold(&workspace, &turn).await.unwrap().stop_requested_at, None);
        assert_eq!(store.approvals(&workspace, &turn).await.unwrap(), []);
        assert_eq!(store.stored_history(&workspace, &thread, 9, 100).await.unwrap().context, None);
        store.request_stop(&workspace, &turn, None).await.unwrap();
        assert!(store.turn_hold(&workspace, &turn).await.unwrap().stop_requested_at.is_some());
        store.close().await;
    });
}

#[test]
fn a_sqlite_database_of_the_second_version_keeps_its_turns() {
    second_version_is_brought_up_to_date(Engine::Sqlite);
}

#[test]
fn a_postgres_database_of_the_second_version_keeps_its_turns() {
    second_version_is_brought_up_to_date(Engine::Postgres);
}

/// A table stands in the way of the second migration's last one: nothing of the migration may be left behind.
fn an_interrupted_migration_leaves_no_trace(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = open_connection(&database).await;
        first_version(&connection).await;
        connection.execute("CREATE TABLE hook_run (id TEXT)").await.unwrap();
        assert!(Store::open(&database).await.is_err());
        connection.execute("DROP TABLE hook_run").await.unwrap();
        connection.close().await;
        Store::open(&database).await.unwrap().close().await;
    });
}

#[test]
fn an_interrupted_migration_of_sqlite_is_done_by_the_next_start() {
    an_interrupted_migration_leaves_no_trace(Engine::Sqlite);
}

#[test]
fn an_interrupted_migration_of_postgres_is_done_by_the_next_start() {
    an_interrupted_migration_leaves_no_trace(Engine::Postgres);
}

/// Databases that were filled by the last version that used SeaORM, through every function that writes. What it took as
/// JSON is here as the agent of that version wrote it.
const BEFORE_DRIVERS: [(Engine, &str); 2] = [
    (Engine::Sqlite, include_str!("../data/before_drivers.sqlite.sql")),
    (Engine::Postgres, include_str!("../data/before_drivers.postgres.sql")),
];

fn what_the_version_before_wrote_can_be_read(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let (_, dump) = BEFORE_DRIVERS.into_iter().find(|(made_by, _)| *made_by == engine).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = open_connection(&database).await;
        connection.execute(dump).await.unwrap();
        connection.close().await;
        let store = Store::open(&database).await.unwrap();
        assert_all_of_it(&store).await;
        store.close().await;
        let connection = open_connection(&database).await;
        let applied = connection.column("SELECT version FROM seaql_migrations ORDER BY version").await;
        let known = ["m0001_spine", "m0002_turns", "m0003_approvals", "m0004_parts", "m0005_stops"];
        let later = ["m0006_operators", "m0007_instance", "m0008_standing", "m0009_audit"];
        let last = ["m0010_moved_out", "m0011_frozen_sessions", "m0012_names", "m0013_how_decided"];
        let tools = ["m0014_requested_tools"];
        let memory = ["m0015_memory", "m0016_memory_use", "m0017_jobs"];
        let delegation = ["m0018_delegation"];
        let speed = ["m0019_announcements", "m0020_tree"];
        let jobs = ["m0021_job_usage", "m0022_memory_purge"];
        let all = [&known[..], &later, &last, &tools, &memory, &delegation, &speed, &jobs].concat();
        assert_eq!(applied, all);
        connection.close().await;
    });
}

async fn assert_all_of_it(store: &Store) {
    let workspaces = store.workspaces().await.unwrap();
    assert_eq!(
        workspaces.iter().map(|workspace| workspace.name.as_str()).collect::<Vec<_>>(),
        ["old", "another"]
    );
    let (workspace, id) = (&workspaces[0], &workspaces[0].id);
    assert_eq!(workspace.root_path.as_deref(), Some("/project"));
    assert_eq!(workspace.agents.as_ref().unwrap().enabled, Some(true));

    let tree = whole_tree(store, id).await.unwrap();
    let names: Vec<_> = tree.folders.iter().map(|folder| folder.name.as_str()).collect();
    assert_eq!(
        (names, tree.threads.len(), tree.placements.len(), tree.agents_docs.len()),
        (vec!["top", "inner"], 2, 1, 3)
    );
    let (top, inner) = (&tree.folders[0], &tree.folders[1]);
    assert_eq!(inner.parent_folder_id.as_ref(), Some(&top.id));
    let root = Scope::root(id.clone());
    let document = store.document(&root).await.unwrap().0.unwrap();
    assert_eq!(document.content, "root, second: it's \"quoted\" ✓\n");
    assert_eq!(
        (document.version, document.created_by.as_deref(), document.updated_by),
        (Version(2), Some("ada"), None)
    );
    let folder = Scope::folder(id.clone(), top.id.clone());
    let history = store.history(&folder, 50, None).await.unwrap();
    let reasons: Vec<_> = history.iter().map(|revision| (revision.version.0, revision.save_reason)).collect();
    use RevisionReason::{Archive, Manual, Restore};
    assert_eq!(reasons, [(4, Restore), (3, Manual), (2, Archive), (1, Manual)]);
    assert_eq!(store.revision(&folder, Version(3)).await.unwrap().content, "two");

    let (thread, loose) = (&tree.threads[0].id, &tree.threads[1].id);
    let effective = store.resolve_for_thread(id, thread).await.unwrap().unwrap();
    assert_eq!((effective.doc.content.as_str(), effective.source_path), ("one", vec!["top".to_owned()]));
    let names: Vec<_> = store.tokens().await.unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["owner", "ci"]);
    assert!(store.token_by_secret(&hash_secret("secret")).await.unwrap().unwrap().revoked_at.is_none());

    let turns = store.turns(id, thread, 9, None).await.unwrap();
    let statuses: Vec<_> = turns.iter().map(|turn| (turn.ordinal, turn.status)).collect();
    assert_eq!(statuses, [(2, TurnStatus::Failed), (1, TurnStatus::Completed)]);
    let turn = &turns[1];
    let usage = turn.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cached_read), (12, 3, 4));
    assert_eq!(turns[0].error.as_ref().unwrap().message, "the provider failed");
    let items = store.turn_items(id, &turn.id).await.unwrap();
    assert_eq!(items.iter().map(said).collect::<Vec<_>>(), ["what now?", "this"]);
    let manifests = store.manifests(id, &turn.id).await.unwrap();
    assert_eq!((manifests.len(), manifests[0].manifest.fingerprints.full.as_str()), (1, "f1"));
    let run = &store.hook_runs(id, &turn.id).await.unwrap()[0];
    assert_eq!(
        (run.hook_id.as_str(), run.phase, run.status),
        ("h", Phase::PrePromptCompile, RunStatus::Completed)
    );
    let approval = &store.approvals(id, &turn.id).await.unwrap()[0];
    let decision = approval.decision.as_ref().unwrap();
    assert_eq!((decision.allowed, decision.decided_by.as_deref()), (true, Some("ada")));
    assert_eq!(
        (approval.request.call_id.as_str(), approval.request.paths.as_slice()),
        ("c2", &["x".to_owned()][..])
    );
    let saved = store.session(id, thread).await.unwrap().unwrap();
    assert_eq!((saved.version, saved.state), (Version(1), session("/project")));
    let context = store.stored_history(id, thread, 9, 100).await.unwrap().context.unwrap();
    assert_eq!(context.summary.as_deref(), Some("a summary"));
    let text = ContentHash::of("a prompt's text");
    assert_eq!(store.prompt_texts(id, std::slice::from_ref(&text)).await.unwrap()[&text], "a prompt's text");

    let running = &store.turns(id, loose, 1, None).await.unwrap()[0];
    let hold = store.turn_hold(id, &running.id).await.unwrap();
    assert!(running.status == TurnStatus::Running && hold.stop_requested_at.is_some());
    let end = FinishTurn::new(TurnEnd::Cancelled);
    store.finish_turn(id, &running.id, "gateway-1", end, None).await.unwrap();
    let seq = store.sequence(id).await.unwrap();
    let log = store.changes_after(id, Sequence(0), 1000).await.unwrap();
    assert_eq!(log.iter().map(|change| change.seq.0).collect::<Vec<_>>(), (1..=seq.0).collect::<Vec<_>>());
    let save = DocumentSaveParams {
        expected_version: Some(Version(2)),
        ..crate::params::text(&root, "from now on")
    };
    assert_eq!(store.save_document(save, None).await.unwrap().version, Version(3));
}

#[test]
fn what_the_version_before_wrote_to_sqlite_can_be_read() {
    what_the_version_before_wrote_can_be_read(Engine::Sqlite);
}

#[test]
fn what_the_version_before_wrote_to_postgres_can_be_read() {
    what_the_version_before_wrote_can_be_read(Engine::Postgres);
}

/// A session that the first turn of an older version froze, though it failed, and one of a turn that completed.
fn a_session_without_a_completed_turn_is_forgotten(engine: Engine) {
    let Some((database, _place)) = empty_database(engine) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = open_connection(&database).await;
        second_version(&connection).await;
        connection.execute(&old_data()).await.unwrap();
        let state = serde_json::to_string(&session("/project")).unwrap();
        let frozen = format!(
            "INSERT INTO thread (id, workspace_id, title, mode, created_at, updated_at)
                VALUES ('t2', 'w', 'another', 'agent', 1, 2);
            INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, created_at, finished_at)
                VALUES ('u1', 'w', 't', 1, 'failed', 'what now?', 1, 2),
                    ('u2', 'w', 't2', 1, 'failed', 'what now?', 1, 2),
                    ('u3', 'w', 't2', 2, 'completed', 'what now?', 3, 4);
            INSERT INTO session (thread_id, workspace_id, state, version, updated_at)
                VALUES ('t', 'w', '{state}', 1, 1), ('t2', 'w', '{state}', 2, 4)"
        );
        connection.execute(&frozen).await.unwrap();
        connection.close().await;

        let store = Store::open(&database).await.unwrap();
        let (workspace, frozen) = ("w".parse().unwrap(), "t".parse().unwrap());
        assert_eq!(store.session(&workspace, &frozen).await.unwrap(), None);
        let kept = store.session(&workspace, &"t2".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!((kept.version, kept.state), (Version(2), session("/project")));
        // The next turn saves its own as the first.
        store.save_session(&workspace, &frozen, session("/project"), Version(0)).await.unwrap();
        store.close().await;
    });
}

#[test]
fn a_session_that_a_failed_turn_froze_in_sqlite_is_forgotten() {
    a_session_without_a_completed_turn_is_forgotten(Engine::Sqlite);
}

#[test]
fn a_session_that_a_failed_turn_froze_in_postgres_is_forgotten() {
    a_session_without_a_completed_turn_is_forgotten(Engine::Postgres);
}
