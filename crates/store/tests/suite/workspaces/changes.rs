//! The change log: one row for each change, numbered without gaps, and nothing for operations without effect.

use protocol::method::{WorkspaceCreateParams, WorkspaceUpdateParams};
use protocol::notification::{DocumentChanged, TreeChange, TreeChanged};
use protocol::{FolderId, Sequence, ThreadId, Version};

use crate::fixture::{Fixture, Told, new_thread};
use crate::params::{older, text};

/// Returns the only change that the newest operation logged.
async fn newest(given: &Fixture, before: Sequence) -> Told {
    let mut told = given.told_after(before).await;
    assert_eq!(told.len(), 1, "{told:?}");
    told.remove(0)
}

/// Checks that the newest operation logged one change of the tree.
async fn assert_tree_changed(
    given: &Fixture,
    reason: TreeChange,
    folder_id: Option<&FolderId>,
    thread_id: Option<&ThreadId>,
) {
    let seq = given.seq().await;
    let expected = TreeChanged {
        seq,
        workspace_id: given.workspace.clone(),
        reason,
        folder_id: folder_id.cloned(),
        thread_id: thread_id.cloned(),
    };
    assert_eq!(newest(given, Sequence(seq.0 - 1)).await, Told::Tree(expected));
}

/// Returns the logged change of a document, and whether the tree changed with it.
async fn document_change(given: &Fixture, before: Sequence) -> (DocumentChanged, bool) {
    let mut told = given.told_after(before).await.into_iter();
    let Some(Told::Document(change)) = told.next() else { panic!("no document changed") };
    let rest: Vec<Told> = told.collect();
    if rest.is_empty() {
        return (change, false);
    }
    let tree = TreeChanged {
        seq: change.seq.next(),
        workspace_id: change.workspace_id.clone(),
        reason: TreeChange::AgentsDoc,
        folder_id: change.folder_id.clone(),
        thread_id: None,
    };
    assert_eq!(rest, [Told::Tree(tree)]);
    (change, true)
}

both_databases!(a_workspace_begins_its_log_with_number_1, async |given| {
    assert_eq!(given.seq().await, Sequence(1));
    assert_tree_changed(given, TreeChange::WorkspaceCreated, None, None).await;
});

both_databases!(every_change_of_the_tree_is_logged, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let changes = WorkspaceUpdateParams {
        name: Some("other".to_owned()),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    store.update_workspace(changes, None).await.unwrap();
    assert_tree_changed(given, TreeChange::WorkspaceUpdated, None, None).await;
    let outer = given.folder(None, "outer").await;
    assert_tree_changed(given, TreeChange::FolderCreated, Some(&outer), None).await;
    let inner = given.folder(None, "inner").await;
    store.rename_folder(workspace, &inner, "other", None).await.unwrap();
    assert_tree_changed(given, TreeChange::FolderRenamed, Some(&inner), None).await;
    store.move_folder(workspace, &inner, Some(&outer), None).await.unwrap();
    assert_tree_changed(given, TreeChange::FolderMoved, Some(&inner), None).await;
    let thread = given.thread(Some(&inner), "thread").await;
    assert_tree_changed(given, TreeChange::ThreadCreated, Some(&inner), Some(&thread)).await;
    store.rename_thread(workspace, &thread, "other", None).await.unwrap();
    assert_tree_changed(given, TreeChange::ThreadRenamed, Some(&inner), Some(&thread)).await;
    store.move_thread(workspace, &thread, Some(&outer), None).await.unwrap();
    assert_tree_changed(given, TreeChange::ThreadMoved, Some(&outer), Some(&thread)).await;
    store.archive_thread(workspace, &thread, None).await.unwrap();
    assert_tree_changed(given, TreeChange::ThreadArchived, Some(&outer), Some(&thread)).await;
    store.delete_folder(workspace, &inner, None).await.unwrap();
    assert_tree_changed(given, TreeChange::FolderDeleted, Some(&inner), None).await;
});

both_databases!(a_save_is_logged_with_the_documents_summary, async |given| {
    let folder = given.folder(None, "folder").await;
    let seq = given.seq().await;
    let saved = given.save(&given.scope(&folder), "text").await;
    let expected = DocumentChanged {
        seq: seq.next(),
        workspace_id: given.workspace.clone(),
        folder_id: Some(folder),
        summary: Some(saved.summary()),
        effective_changed: true,
    };
    assert_eq!(document_change(given, seq).await, (expected, true));
});

both_databases!(an_archive_is_logged_without_a_summary, async |given| {
    given.save(&given.root(), "text").await;
    let seq = given.seq().await;
    given.archive(&given.root()).await;
    let (change, _) = document_change(given, seq).await;
    assert_eq!((change.folder_id, change.summary), (None, None));
});

both_databases!(a_restore_is_logged_like_a_save, async |given| {
    given.save(&given.root(), "old").await;
    given.save(&given.root(), "new").await;
    let seq = given.seq().await;
    let restored = given.store.restore_document(older(&given.root(), Version(1)), None).await.unwrap();
    let (change, _) = document_change(given, seq).await;
    assert_eq!(change.summary, Some(restored.summary()));
    assert!(change.effective_changed);
});

both_databases!(only_what_agents_get_counts_as_effective, async |given| {
    let root = given.root();
    for (content, effective_changed) in [
        (Some(""), false),
        (Some(" "), false),
        (Some("text"), true),
        (Some("other text"), true),
        (Some("\n"), true),
        (None, false),
        (Some("text"), true),
        (None, true),
    ] {
        let seq = given.seq().await;
        match content {
            Some(content) => drop(given.save(&root, content).await),
            None => assert!(given.archive(&root).await),
        }
        let (change, _) = document_change(given, seq).await;
        assert_eq!(change.effective_changed, effective_changed, "{content:?}");
    }
});

both_databases!(the_tree_changes_when_a_document_appears_disappears_or_changes_its_status, async |given| {
    let folder = given.folder(None, "folder").await;
    for scope in [given.root(), given.scope(&folder)] {
        for (content, tree_changed) in [
            (Some(""), true),
            (Some(" "), false),
            (Some("text"), true),
            (Some("other text"), false),
            (Some("\n"), true),
            (None, true),
            (Some("text"), true),
            (None, true),
        ] {
            let seq = given.seq().await;
            match content {
                Some(content) => drop(given.save(&scope, content).await),
                None => assert!(given.archive(&scope).await),
            }
            assert_eq!(document_change(given, seq).await.1, tree_changed, "{content:?}");
        }
        let restore = async |version| {
            let seq = given.seq().await;
            given.store.restore_document(older(&scope, Version(version)), None).await.unwrap();
            document_change(given, seq).await.1
        };
        assert_eq!((restore(3).await, restore(4).await, restore(2).await), (true, false, true));
    }
});

both_databases!(operations_without_effect_are_not_logged, async |given| {
    given.save(&given.root(), "text").await;
    let seq = given.seq().await;
    given.save(&given.root(), "text").await;
    given.save_over(&given.root(), "", 7).await.unwrap_err();
    assert!(!given.archive(&given.scope(&given.folder(None, "folder").await)).await);
    let told = given.told_after(seq).await;
    assert!(
        matches!(told.as_slice(), [Told::Tree(TreeChanged { reason: TreeChange::FolderCreated, .. })]),
        "{told:?}"
    );
});

// In this order, clients never have a document whose folder is unknown to them.
both_databases!(deleting_a_folder_logs_its_document_before_the_folder, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    let seq = given.seq().await;
    given.store.delete_folder(&given.workspace, &folder, None).await.unwrap();
    let archived = DocumentChanged {
        seq: Sequence(seq.0 + 1),
        workspace_id: given.workspace.clone(),
        folder_id: Some(folder.clone()),
        summary: None,
        effective_changed: true,
    };
    let tree = |number: u64, reason| {
        Told::Tree(TreeChanged {
            seq: Sequence(seq.0 + number),
            workspace_id: given.workspace.clone(),
            reason,
            folder_id: Some(folder.clone()),
            thread_id: None,
        })
    };
    assert_eq!(
        given.told_after(seq).await,
        [Told::Document(archived), tree(2, TreeChange::AgentsDoc), tree(3, TreeChange::FolderDeleted)]
    );
});

// Followers detect lost changes by gaps in the sequence, so a rejected write must not leave one.
both_databases!(numbers_have_no_gaps_and_refusals_take_none, async |given| {
    let root = given.root();
    for round in 0..5 {
        given.save(&root, &format!("text {round}")).await;
        given.save_over(&root, "conflict", 99).await.unwrap_err();
        given.store.move_folder(&given.workspace, &FolderId::new(), None, None).await.unwrap_err();
        given.store.create_folder(&given.workspace, None, "", None).await.unwrap_err();
        given.folder(None, "folder").await;
    }
    let numbers: Vec<_> = given.told_after(Sequence(0)).await.iter().map(|told| told.seq().0).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
    assert_eq!(given.seq().await, Sequence(12));
});

both_databases!(entries_are_numbered_consecutively, async |given| {
    given.save(&given.root(), "text").await;
    given.folder(None, "folder").await;
    let changes = given.store.changes_after(&given.workspace, Sequence(0), 100).await.unwrap();
    let rows: Vec<_> = changes.iter().map(|change| change.seq).collect();
    let told: Vec<_> = given.told_after(Sequence(0)).await.iter().map(Told::seq).collect();
    assert_eq!(rows, told);
});

// Notifications go to every subscriber of the workspace and are kept longer than the documents they are about.
both_databases!(the_log_never_contains_the_text_of_documents, async |given| {
    given.save(&given.root(), "a very secret text").await;
    let changes = given.store.changes_after(&given.workspace, Sequence(0), 100).await.unwrap();
    assert!(changes.iter().all(|change| !change.body.contains("secret")));
});

both_databases!(the_log_is_read_in_pages, async |given| {
    for _ in 0..4 {
        given.folder(None, "folder").await;
    }
    let page = async |since, limit| {
        let changes = given.store.changes_after(&given.workspace, Sequence(since), limit).await.unwrap();
        changes.into_iter().map(|change| change.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(page(0, 2).await, [1, 2]);
    assert_eq!(page(2, 2).await, [3, 4]);
    assert_eq!(page(4, 2).await, [5]);
    assert_eq!(page(5, 2).await, [0; 0]);
    assert_eq!(page(u64::MAX, 2).await, [0; 0]);
});

both_databases!(every_workspace_counts_for_itself, async |given| {
    given.folder(None, "folder").await;
    let elsewhere = given.another_workspace().await;
    given.store.save_document(text(&store::Scope::root(elsewhere.clone()), "text"), None).await.unwrap();
    given.store.create_thread(new_thread(&elsewhere, None, "thread"), None).await.unwrap();
    assert_eq!(given.store.sequence(&elsewhere).await.unwrap(), Sequence(4));
    assert_eq!(given.seq().await, Sequence(2));
    assert_eq!(given.told_after(Sequence(0)).await.len(), 2);
    let new = WorkspaceCreateParams { name: "third".to_owned(), ..WorkspaceCreateParams::default() };
    let third = given.store.create_workspace(new, None).await.unwrap().id;
    assert_eq!(given.store.sequence(&third).await.unwrap(), Sequence(1));
});
