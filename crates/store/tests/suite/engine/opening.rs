//! Opening a database: new, existing, and concurrently.

use store::{Store, StoreError};

both_databases!(what_was_written_is_there_after_reopening, async |given| {
    let folder = given.folder(None, "folder").await;
    given.thread(Some(&folder), "thread").await;
    given.save(&given.scope(&folder), "old").await;
    let document = given.save(&given.scope(&folder), "new").await;
    let tree = given.tree().await;
    let history = given.history(&given.scope(&folder)).await;
    let seq = given.seq().await;
    given.store.close().await;
    let reopened = given.another_store().await;
    assert_eq!(crate::fixture::whole_tree(&reopened, &given.workspace).await.unwrap(), tree);
    assert_eq!(reopened.document(&given.scope(&folder)).await.unwrap().0, Some(document));
    assert_eq!(reopened.history(&given.scope(&folder), 50, None).await.unwrap(), history);
    assert_eq!(reopened.sequence(&given.workspace).await.unwrap(), seq);
    reopened.create_folder(&given.workspace, None, "after", None).await.unwrap();
    assert_eq!(reopened.sequence(&given.workspace).await.unwrap(), seq.next());
    reopened.close().await;
});

both_databases!(a_closed_store_says_that_it_is_unavailable, async |given| {
    given.store.close().await;
    crate::fixture::assert_unavailable(given.store.workspaces().await);
    crate::fixture::assert_unavailable(given.store.create_folder(&given.workspace, None, "x", None).await);
});

both_databases!(a_schema_of_a_newer_version_is_refused, async |given| {
    let connection = given.connection().await;
    let newer = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)";
    connection.execute(newer).await.unwrap();
    connection.close().await;
    match Store::open(&given.database).await {
        Err(error @ StoreError::Database(_)) => {
            assert!(error.to_string().contains("newer version"), "{error}")
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it was opened"),
    }
});

both_databases!(an_open_database_answers, async |given| {
    given.store.ping().await.unwrap();
});

// Gateways of one deployment start together, and each of them migrates.
#[test]
fn many_stores_open_one_fresh_postgres_database_at_once() {
    let Some(fresh) = test_postgres::test_database() else { return };
    let database = store::Database::Postgres(fresh.url().to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let database = database.clone();
            opening.spawn(async move { Store::open(&database).await });
        }
        for store in opening.join_all().await {
            let store = store.unwrap();
            assert_eq!(store.workspaces().await.unwrap(), []);
            store.close().await;
        }
    });
}

#[test]
fn a_sqlite_file_is_left_without_a_write_ahead_log() {
    crate::fixture::run(crate::fixture::Engine::Sqlite, async |given| {
        given.save(&given.root(), "text").await;
        given.store.close().await;
        let store::Database::Sqlite(path) = &given.database else { unreachable!() };
        let beside: Vec<_> = path.parent().unwrap().read_dir().unwrap().flatten().collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
    });
}
