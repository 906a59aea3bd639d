//! A database of an older version: brought up to date with all it holds.

use protocol::{ContentHash, Sequence, ThreadId, TurnStatus, Version, WorkspaceId};
use sea_orm::ConnectionTrait as _;
use sea_orm_migration::{MigrationTrait, MigratorTrait};
use store::{Scope, Store};

use crate::fixture::{Engine, empty_database, new_turn, open_connection};

/// The first migration as it was released.
#[path = "../../src/migration/spine.rs"]
mod spine;

/// The second.
#[path = "../../src/migration/turns.rs"]
mod turns;

struct FirstVersion;

impl MigratorTrait for FirstVersion {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(spine::Migration)]
    }
}

struct SecondVersion;

impl MigratorTrait for SecondVersion {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(spine::Migration), Box::new(turns::Migration)]
    }
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
    let tree = store.tree(workspace).await.unwrap();
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
        FirstVersion::up(&connection, None).await.unwrap();
        connection.execute_unprepared(&old_data()).await.unwrap();
        connection.close().await.unwrap();

        let store = Store::open(&database).await.unwrap();
        let (workspace, thread) = ("w".parse().unwrap(), "t".parse().unwrap());
        assert_old_data(&store, &workspace, &thread).await;
        let turn = store.create_turn(&workspace, new_turn(&thread), None).await.unwrap();
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
        SecondVersion::up(&connection, None).await.unwrap();
        connection.execute_unprepared(&old_data()).await.unwrap();
        let running = "INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, lease_owner,
            lease_expires_at, created_at) VALUES ('u', 'w', 't', 1, 'running', 'what now?', 'gateway-1', 2, 1)";
        connection.execute_unprepared(running).await.unwrap();
        connection.close().await.unwrap();

        let store = Store::open(&database).await.unwrap();
        let (workspace, thread, turn) = ("w".parse().unwrap(), "t".parse().unwrap(), "u".parse().unwrap());
        assert_old_data(&store, &workspace, &thread).await;
        assert_eq!(store.turn(&workspace, &turn).await.unwrap().stop_requested_at, None);
        assert_eq!(store.approvals(&workspace, &turn).await.unwrap(), []);
        assert_eq!(store.thread_context(&workspace, &thread).await.unwrap(), None);
        let stopped = store.request_stop(&workspace, &turn, None).await.unwrap();
        assert_eq!(store.turn(&workspace, &turn).await.unwrap(), stopped);
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
        FirstVersion::up(&connection, None).await.unwrap();
        connection.execute_unprepared("CREATE TABLE hook_run (id TEXT)").await.unwrap();
        assert!(Store::open(&database).await.is_err());
        connection.execute_unprepared("DROP TABLE hook_run").await.unwrap();
        connection.close().await.unwrap();
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
