//! Concurrent writers: no lost updates, and no acknowledged write is lost.

use std::collections::HashSet;
use std::time::Duration;

use protocol::method::DocumentSaveParams;
use protocol::{SaveReason, Sequence, Version};
use store::{Scope, Store, StoreError};
use tokio::task::JoinSet;

use crate::fixture::{Engine, Fixture, OWNER, conflict, message, new_thread, run, said};
use crate::params::text;

async fn save_over(store: Store, scope: Scope, content: String, version: u64) -> Result<u64, StoreError> {
    let save = DocumentSaveParams { expected_version: Some(Version(version)), ..text(&scope, &content) };
    store.save_document(save, None).await.map(|saved| saved.version.0)
}

// Repeated, because a lost update would need an unlucky interleaving of the read and the write.
both_databases!(one_of_two_writers_of_a_version_wins, async |given| {
    let another = given.another_store().await;
    let root = given.root();
    for version in 0..1000 {
        let one = save_over(given.store.clone(), root.clone(), format!("one {version}"), version);
        let two = save_over(another.clone(), root.clone(), format!("two {version}"), version);
        let one = tokio::spawn(one);
        let two = tokio::spawn(two);
        let (won, lost) = match (one.await.unwrap(), two.await.unwrap()) {
            (Ok(won), lost @ Err(_)) => ((won, "one"), lost),
            (lost @ Err(_), Ok(won)) => ((won, "two"), lost),
            both => panic!("version {version}: {both:?}"),
        };
        let (expected, actual, current) = conflict(lost);
        assert_eq!((won.0, expected, actual), (version + 1, version, version + 1));
        assert_eq!(current.unwrap().content, format!("{} {version}", won.1));
    }
    assert_eq!(given.versions(&root).await, (1..=1000).rev().collect::<Vec<_>>());
    another.close().await;
});

// Without a document there is no row to lock, so only the workspace and a unique index order the two.
both_databases!(one_of_two_first_saves_wins, async |given| {
    let another = given.another_store().await;
    for round in 0..50 {
        let folder = given.folder(None, &round.to_string()).await;
        let one = save_over(given.store.clone(), given.scope(&folder), "one".to_owned(), 0);
        let two = save_over(another.clone(), given.scope(&folder), "two".to_owned(), 0);
        let one = tokio::spawn(one);
        let two = tokio::spawn(two);
        let lost = match (one.await.unwrap(), two.await.unwrap()) {
            (Ok(1), lost) | (lost, Ok(1)) => lost,
            both => panic!("{both:?}"),
        };
        let (expected, actual, current) = conflict(lost);
        assert_eq!((expected, actual), (0, 1));
        assert_eq!(current, given.document(&given.scope(&folder)).await);
        assert_eq!(given.versions(&given.scope(&folder)).await, [1]);
    }
    another.close().await;
});

// Both were made for the same version, so the second one must fail, whichever it is.
both_databases!(one_of_a_save_and_an_archive_wins, async |given| {
    let another = given.another_store().await;
    for round in 0..50 {
        let folder = given.folder(None, &round.to_string()).await;
        let scope = given.scope(&folder);
        given.save(&scope, "before").await;
        let save = tokio::spawn(save_over(given.store.clone(), scope.clone(), "after".to_owned(), 1));
        let archiver = another.clone();
        let archived = scope.clone();
        let archive =
            tokio::spawn(async move { archiver.archive_document(&archived, Some(Version(1)), None).await });
        match (save.await.unwrap(), archive.await.unwrap()) {
            (Ok(2), refused) => assert_eq!(conflict(refused).1, 2),
            (refused, Ok(true)) => assert_eq!(conflict(refused), (1, 0, None)),
            both => panic!("{both:?}"),
        }
        assert_eq!(given.versions(&scope).await, [2, 1]);
    }
    another.close().await;
});

// Each move is valid alone. Together they would form a cycle, in which every query for an ancestor would never
// end.
both_databases!(two_folders_cannot_be_moved_into_each_other_at_once, async |given| {
    let another = given.another_store().await;
    for _ in 0..50 {
        let one = given.folder(None, "one").await;
        let two = given.folder(None, "two").await;
        let store = given.store.clone();
        let workspace = given.workspace.clone();
        let folder = one.clone();
        let parent = two.clone();
        let first =
            tokio::spawn(async move { store.move_folder(&workspace, &folder, Some(&parent), None).await });
        let store = another.clone();
        let workspace = given.workspace.clone();
        let second = tokio::spawn(async move { store.move_folder(&workspace, &two, Some(&one), None).await });
        match (first.await.unwrap(), second.await.unwrap()) {
            (Ok(_), Err(StoreError::InvalidState(_))) | (Err(StoreError::InvalidState(_)), Ok(_)) => {}
            both => panic!("{both:?}"),
        }
    }
    another.close().await;
});

/// Saves its own texts over whatever is there, each as often as necessary, and returns what was acknowledged.
async fn autosave(store: Store, scope: Scope, author: u64, saves: u64) -> Vec<(u64, String)> {
    let mut acknowledged = Vec::new();
    let mut version = 0;
    for number in 0..saves {
        let content = format!("save {number} of author {author}");
        loop {
            let save = DocumentSaveParams {
                expected_version: Some(Version(version)),
                save_reason: Some(SaveReason::Autosave),
                ..text(&scope, &content)
            };
            match store.save_document(save, None).await {
                Ok(saved) => {
                    version = saved.version.0;
                    acknowledged.push((version, content));
                    break;
                }
                Err(StoreError::VersionConflict { actual, current, .. }) => {
                    assert!(actual.0 > version && current.is_some());
                    // Authors without pauses would spend the whole test on conflicts.
                    tokio::time::sleep(Duration::from_millis((actual.0 * 37 + author * 101) % 200)).await;
                    version = store.document(&scope).await.unwrap().0.unwrap().version.0;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    acknowledged
}

both_databases!(a_hundred_autosaving_authors_lose_nothing, async |given| {
    const AUTHORS: u64 = 100;
    const SAVES: u64 = 5;
    let root = given.root();
    let mut authors = JoinSet::new();
    for author in 0..AUTHORS {
        authors.spawn(autosave(given.store.clone(), root.clone(), author, SAVES));
    }
    let mut acknowledged = authors.join_all().await.concat();
    acknowledged.sort();
    let versions: Vec<_> = acknowledged.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (1..=AUTHORS * SAVES).collect::<Vec<_>>());
    for (version, content) in &acknowledged {
        assert_eq!(given.store.revision(&root, Version(*version)).await.unwrap().content, *content);
    }
    assert_eq!(given.versions(&root).await, (1..=AUTHORS * SAVES).rev().collect::<Vec<_>>());
    assert_eq!(given.document(&root).await.unwrap().content, acknowledged.last().unwrap().1);
});

// A follower that has seen a number never looks at lower ones again, so a change that appeared late would be
// lost to it.
both_databases!(a_lower_sequence_number_never_appears_after_a_higher_one, async |given| {
    const WRITERS: u64 = 8;
    const CHANGES: u64 = 20;
    let before = given.seq().await.0;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let store = given.store.clone();
        let workspace = given.workspace.clone();
        writers.spawn(async move {
            for _ in 0..CHANGES {
                store.create_folder(&workspace, None, "folder", None).await.unwrap();
            }
        });
    }
    let writing = tokio::spawn(writers.join_all());
    let mut seen = before;
    loop {
        let done = writing.is_finished();
        for told in given.told_after(Sequence(seen)).await {
            assert_eq!(told.seq().0, seen + 1);
            seen += 1;
        }
        if done {
            break;
        }
    }
    writing.await.unwrap();
    assert_eq!(seen, before + WRITERS * CHANGES);
});

// The lock is per workspace, and a busy one must not delay the others.
both_databases!(writers_of_many_workspaces_do_not_disturb_each_other, async |given| {
    let mut writers = JoinSet::new();
    for _ in 0..10 {
        let scope = Scope::root(given.another_workspace().await);
        writers.spawn(autosave(given.store.clone(), scope, 0, 10));
    }
    for acknowledged in writers.join_all().await {
        let versions: HashSet<_> = acknowledged.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, (1..=10).collect());
    }
});

// A thread that is created while its folder is deleted must fail or move along, or it could never be found again.
both_databases!(nothing_is_left_in_a_folder_that_is_deleted_meanwhile, async |given| {
    let another = given.another_store().await;
    for _ in 0..30 {
        let folder = given.folder(None, "folder").await;
        let store = given.store.clone();
        let workspace = given.workspace.clone();
        let id = folder.clone();
        let save = save_over(another.clone(), given.scope(&folder), "text".to_owned(), 0);
        let save = tokio::spawn(save);
        let delete = tokio::spawn(async move { store.delete_folder(&workspace, &id, None).await });
        let thread = another.create_thread(new_thread(&given.workspace, Some(&folder), "thread"), None).await;
        delete.await.unwrap().unwrap();
        if let Err(error) = save.await.unwrap() {
            assert!(
                matches!(error, StoreError::NotFound { what: protocol::ErrorSubject::Folder, .. }),
                "{error:?}"
            );
        }
        match thread {
            Ok(thread) => {
                assert_eq!(given.store.thread(&given.workspace, &thread.id).await.unwrap().folder_id, None);
            }
            Err(error) => assert!(
                matches!(error, StoreError::NotFound { what: protocol::ErrorSubject::Folder, .. }),
                "{error:?}"
            ),
        }
    }
    let tree = given.tree().await;
    assert_eq!((tree.folders, tree.placements, tree.agents_docs), (vec![], vec![], vec![]));
    another.close().await;
});

// Callers are dropped at arbitrary awaits, for example when a client disconnects.
both_databases!(a_save_that_is_given_up_happens_whole_or_not_at_all, async |given| {
    let root = given.root();
    let before = given.seq().await;
    for round in 0..100 {
        let store = given.store.clone();
        let save = text(&root, &format!("text {round}"));
        let saving = tokio::spawn(async move { store.save_document(save, None).await });
        tokio::time::sleep(Duration::from_micros(round * 40)).await;
        saving.abort();
        if let Ok(saved) = saving.await {
            saved.unwrap();
        }
    }
    let last = given.save(&root, "last").await.version.0;
    assert_eq!(given.versions(&root).await, (1..=last).rev().collect::<Vec<_>>());
    let told: Vec<_> = given.told_after(before).await.iter().map(|told| told.seq().0 - before.0).collect();
    // One more, because a document appeared.
    assert_eq!(told, (1..=last + 1).collect::<Vec<_>>());
});

/// Makes the next statements that add an item to a turn fail with a PostgreSQL error code, such as that of a deadlock.
async fn fail_items(given: &Fixture, times: u32, code: &str) {
    let connection = given.connection().await;
    // A sequence counts attempts, because its values are not rolled back with the transaction.
    let trigger = format!(
        "CREATE SEQUENCE IF NOT EXISTS attempts;
        SELECT setval('attempts', 1, false);
        CREATE OR REPLACE FUNCTION fail_item() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('attempts') <= {times} THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = '{code}'; END IF;
            RETURN NEW;
        END $$;
        CREATE OR REPLACE TRIGGER fail_item BEFORE INSERT ON turn_item FOR EACH ROW EXECUTE FUNCTION fail_item()"
    );
    connection.execute(&trigger).await.unwrap();
    connection.close().await;
}

// The callers must not see deadlocks and serialization failures, which a second attempt resolves.
#[test]
fn postgres_retries_serialization_failures() {
    run(Engine::Postgres, async |given| {
        let turn = given.turn(&given.thread(None, "thread").await).await.id;
        let add = async |text: &str| {
            given.store.add_turn_items(&given.workspace, &turn, OWNER, &[message(text)], vec![]).await
        };
        for code in ["40P01", "40001"] {
            fail_items(given, 3, code).await;
            add(code).await.unwrap();
        }
        assert_eq!(given.items(&turn).await.iter().map(said).collect::<Vec<_>>(), ["40P01", "40001"]);
        // Retries are bounded, and only made for these errors.
        fail_items(given, 100, "40P01").await;
        assert!(matches!(add("never").await, Err(StoreError::Database(_))));
        assert_eq!(given.column("SELECT CAST(last_value AS TEXT) FROM attempts").await, ["4"]);
        fail_items(given, 1, "23514").await;
        assert!(matches!(add("never").await, Err(StoreError::Database(_))));
        assert_eq!(given.column("SELECT CAST(last_value AS TEXT) FROM attempts").await, ["1"]);
        assert_eq!(given.items(&turn).await.len(), 2);
    });
}
