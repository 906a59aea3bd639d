//! Wakes: followers of a workspace learn that there is something to read.

use std::time::{Duration, Instant};

use protocol::Role;
use store::{NewToken, Store, Wake, hash_secret};
use tokio::sync::broadcast::Receiver;

use crate::fixture::{Engine, Fixture, run};
use crate::params::text;

const LONG_ENOUGH: Duration = Duration::from_secs(20);

/// Waits for one wake among others.
// A wake with logged changes counts as one of its workspace.
pub(crate) async fn heard(wakes: &mut Receiver<Wake>, expected: &Wake) {
    let is_expected = |wake: Wake| match wake.workspace_id() {
        Some(workspace_id) => Some(workspace_id) == expected.workspace_id(),
        None => wake == *expected,
    };
    let listening = async { while !is_expected(wakes.recv().await.unwrap()) {} };
    assert!(tokio::time::timeout(LONG_ENOUGH, listening).await.is_ok(), "{expected:?} was not heard");
}

/// Opens another store and waits until it notices the first one's writes.
pub(crate) async fn another_that_listens(given: &Fixture) -> (Store, Receiver<Wake>) {
    let another = given.another_store().await;
    let mut wakes = another.wakes();
    let expected = Wake::Workspace(given.workspace.clone());
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < LONG_ENOUGH, "the other store does not listen");
        given.folder(None, "heard?").await;
        let own = heard(&mut wakes, &expected);
        if tokio::time::timeout(Duration::from_millis(100), own).await.is_ok() {
            break;
        }
    }
    // Wakes of earlier writes may still be on their way.
    tokio::time::sleep(Duration::from_millis(100)).await;
    (another, wakes.resubscribe())
}

async fn make_and_revoke_token(store: &Store) {
    let new = NewToken {
        name: "ci".to_owned(),
        role: Role::Reader,
        workspace_id: None,
        expires_at: None,
        secret_sha256: hash_secret("secret"),
    };
    let token = store.create_token(new, None).await.unwrap();
    store.revoke_token(&token.id, None).await.unwrap();
}

both_databases!(a_change_wakes_its_own_store, async |given| {
    let mut wakes = given.store.wakes();
    given.save(&given.root(), "text").await;
    heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
    let elsewhere = given.another_workspace().await;
    heard(&mut wakes, &Wake::Workspace(elsewhere)).await;
});

// A wake before the commit would make followers read the old state and then wait.
both_databases!(the_change_can_be_read_when_its_wake_is_heard, async |given| {
    let mut wakes = given.store.wakes();
    let store = given.store.clone();
    let scope = given.root();
    let seq = given.seq().await;
    let saving = tokio::spawn(async move { store.save_document(text(&scope, "text"), None).await });
    // On PostgreSQL, a wake for the creation of the workspace may come first.
    while given.told_after(seq).await.is_empty() {
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
    }
    saving.await.unwrap().unwrap();
});

both_databases!(a_revoked_token_wakes, async |given| {
    let mut wakes = given.store.wakes();
    make_and_revoke_token(&given.store).await;
    heard(&mut wakes, &Wake::Tokens).await;
});

#[test]
fn a_change_that_changes_nothing_does_not_wake_sqlite() {
    // On PostgreSQL, a listener that has just connected sends a spurious wake.
    run(Engine::Sqlite, async |given| {
        given.save(&given.root(), "text").await;
        let mut wakes = given.store.wakes();
        given.save(&given.root(), "text").await;
        given.save_over(&given.root(), "conflict", 9).await.unwrap_err();
        assert!(wakes.try_recv().is_err());
    });
}

#[test]
fn on_postgres_another_store_is_woken_too() {
    run(Engine::Postgres, async |given| {
        let (another, mut wakes) = another_that_listens(given).await;
        given.save(&given.root(), "text").await;
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
        assert_eq!(another.sequence(&given.workspace).await.unwrap(), given.seq().await);
        make_and_revoke_token(&given.store).await;
        heard(&mut wakes, &Wake::Tokens).await;
        another.close().await;
    });
}

#[test]
fn on_postgres_a_lost_listener_reconnects_and_wakes_all() {
    const END_LISTENERS: &str = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE 'LISTEN%' AND pid <> pg_backend_pid()";
    run(Engine::Postgres, async |given| {
        let (another, mut wakes) = another_that_listens(given).await;
        assert_ne!(given.column(END_LISTENERS).await, [""; 0]);
        heard(&mut wakes, &Wake::Everything).await;
        given.save(&given.root(), "text").await;
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
        another.close().await;
    });
}
