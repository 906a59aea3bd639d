//! The effective document of folders and threads.

use protocol::Document;
use store::{RESOLVE_FOR_THREAD, Scope};

use crate::fixture::{Connection, Engine, run};

both_databases!(nothing_is_effective_where_there_is_no_document, async |given| {
    let folder = given.folder(None, "folder").await;
    let thread = given.thread(Some(&folder), "thread").await;
    assert_eq!(given.store.resolve_for_folder(&given.root()).await.unwrap(), None);
    assert_eq!(given.store.resolve_for_folder(&given.scope(&folder)).await.unwrap(), None);
    assert_eq!(given.store.resolve_for_thread(&given.workspace, &thread).await.unwrap(), None);
});

both_databases!(a_scopes_own_document_is_not_inherited, async |given| {
    let folder = given.folder(None, "folder").await;
    let root = given.save(&given.root(), "root").await;
    let own = given.save(&given.scope(&folder), "own").await;
    let resolved = given.store.resolve_for_folder(&given.scope(&folder)).await.unwrap().unwrap();
    assert_eq!((resolved.doc, resolved.inherited), (own, false));
    assert_eq!(resolved.source_folder_id.as_ref(), Some(&folder));
    assert_eq!(resolved.resolved_for_folder_id.as_ref(), Some(&folder));
    assert_eq!(resolved.source_path, ["folder"]);
    let resolved = given.store.resolve_for_folder(&given.root()).await.unwrap().unwrap();
    assert_eq!((resolved.doc, resolved.inherited), (root, false));
    assert_eq!((resolved.source_folder_id, resolved.resolved_for_folder_id), (None, None));
    assert_eq!(resolved.source_path, [""; 0]);
});

both_databases!(the_nearest_document_above_is_inherited, async |given| {
    let top = given.folder(None, "top").await;
    let middle = given.folder(Some(&top), "middle").await;
    let bottom = given.folder(Some(&middle), "bottom").await;
    given.save(&given.root(), "root").await;
    given.save(&given.scope(&top), "top").await;
    let nearest = given.save(&given.scope(&middle), "middle").await;
    let resolved = given.store.resolve_for_folder(&given.scope(&bottom)).await.unwrap().unwrap();
    assert_eq!((resolved.doc, resolved.inherited), (nearest, true));
    assert_eq!(resolved.source_folder_id, Some(middle));
    assert_eq!(resolved.resolved_for_folder_id, Some(bottom));
    assert_eq!(resolved.source_path, ["top", "middle"]);
});

both_databases!(the_roots_document_is_inherited_last, async |given| {
    let top = given.folder(None, "top").await;
    let bottom = given.folder(Some(&top), "bottom").await;
    given.save(&given.root(), "root").await;
    let resolved = given.store.resolve_for_folder(&given.scope(&bottom)).await.unwrap().unwrap();
    assert_eq!((resolved.doc.content.as_str(), resolved.inherited), ("root", true));
    assert_eq!((resolved.source_folder_id, resolved.source_path), (None, vec![]));
});

both_databases!(drafts_and_archived_documents_hide_nothing, async |given| {
    let draft = given.folder(None, "draft").await;
    let archived = given.folder(Some(&draft), "archived").await;
    given.save(&given.root(), "root").await;
    given.save(&given.scope(&draft), " \n").await;
    given.save(&given.scope(&archived), "gone").await;
    given.archive(&given.scope(&archived)).await;
    assert_eq!(given.effective(&given.scope(&draft)).await.as_deref(), Some("root"));
    assert_eq!(given.effective(&given.scope(&archived)).await.as_deref(), Some("root"));
});

both_databases!(a_thread_gets_what_its_folder_gets, async |given| {
    let folder = given.folder(None, "folder").await;
    let loose = given.thread(None, "loose").await;
    let placed = given.thread(Some(&folder), "placed").await;
    given.save(&given.root(), "root").await;
    let resolve = async |thread| {
        let resolved = given.store.resolve_for_thread(&given.workspace, thread).await.unwrap().unwrap();
        (resolved.doc.content, resolved.inherited, resolved.resolved_for_folder_id)
    };
    assert_eq!(resolve(&loose).await, ("root".to_owned(), false, None));
    assert_eq!(resolve(&placed).await, ("root".to_owned(), true, Some(folder.clone())));
    given.save(&given.scope(&folder), "folder").await;
    assert_eq!(resolve(&placed).await, ("folder".to_owned(), false, Some(folder.clone())));
    given.store.move_thread(&given.workspace, &placed, None, None).await.unwrap();
    assert_eq!(resolve(&placed).await, ("root".to_owned(), false, None));
});

both_databases!(a_moved_or_renamed_folder_takes_its_document_along, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let one = given.folder(None, "one").await;
    let two = given.folder(None, "two").await;
    let child = given.folder(Some(&one), "child").await;
    given.save(&given.scope(&two), "two").await;
    store.move_folder(workspace, &one, Some(&two), None).await.unwrap();
    assert_eq!(given.effective(&given.scope(&child)).await.as_deref(), Some("two"));
    given.save(&given.scope(&child), "child").await;
    store.rename_folder(workspace, &one, "renamed", None).await.unwrap();
    let resolved = store.resolve_for_folder(&given.scope(&child)).await.unwrap().unwrap();
    assert_eq!(resolved.source_path, ["two", "renamed", "child"]);
});

both_databases!(below_a_deleted_folder_the_parents_document_is_effective, async |given| {
    let parent = given.folder(None, "parent").await;
    let folder = given.folder(Some(&parent), "folder").await;
    let child = given.folder(Some(&folder), "child").await;
    let thread = given.thread(Some(&folder), "thread").await;
    given.save(&given.scope(&parent), "parent").await;
    given.save(&given.scope(&folder), "folder").await;
    given.store.delete_folder(&given.workspace, &folder, None).await.unwrap();
    assert_eq!(given.effective(&given.scope(&child)).await.as_deref(), Some("parent"));
    let resolved = given.store.resolve_for_thread(&given.workspace, &thread).await.unwrap().unwrap();
    assert_eq!((resolved.doc.content.as_str(), resolved.inherited), ("parent", false));
});

both_databases!(the_root_document_of_another_workspace_is_not_inherited, async |given| {
    let elsewhere = given.another_workspace().await;
    given.save(&given.root(), "root").await;
    assert_eq!(given.store.resolve_for_folder(&Scope::root(elsewhere)).await.unwrap(), None);
});

both_databases!(a_deep_tree_resolves_to_its_root, async |given| {
    let mut folder = given.folder(None, "0").await;
    for depth in 1..100 {
        folder = given.folder(Some(&folder), &depth.to_string()).await;
    }
    given.save(&given.root(), "root").await;
    let thread = given.thread(Some(&folder), "thread").await;
    let resolved = given.store.resolve_for_thread(&given.workspace, &thread).await.unwrap().unwrap();
    assert_eq!((resolved.doc.content.as_str(), resolved.source_path.len()), ("root", 0));
    let deepest = given.save(&given.scope(&folder), "deepest").await;
    let resolved = given.store.resolve_for_thread(&given.workspace, &thread).await.unwrap().unwrap();
    assert_eq!((resolved.doc, resolved.source_path.len()), (deepest, 100));
});

both_databases!(explicit_and_effective_come_together, async |given| {
    let folder = given.folder(None, "folder").await;
    let root = given.save(&given.root(), "root").await;
    let draft = given.save(&given.scope(&folder), "").await;
    let both = async |scope: Scope| {
        let (explicit, effective) = given.store.document(&scope).await.unwrap();
        (explicit, effective.map(|resolved| resolved.doc))
    };
    assert_eq!(both(given.root()).await, (Some(root.clone()), Some(root.clone())));
    assert_eq!(both(given.scope(&folder)).await, (Some(draft), Some(root)));
    let none: Option<Document> = None;
    let empty = given.folder(None, "empty").await;
    given.archive(&given.root()).await;
    assert_eq!(both(given.scope(&empty)).await, (none.clone(), none));
});

#[test]
fn sqlite_resolves_documents_by_index() {
    run(Engine::Sqlite, async |given| {
        let Connection::Sqlite(connection) = given.connection().await else { unreachable!() };
        let explain = format!("EXPLAIN QUERY PLAN {RESOLVE_FOR_THREAD}");
        let mut explain = connection.prepare(&explain).unwrap();
        let steps = explain.query_map(["workspace", "thread"], |row| row.get("detail")).unwrap();
        let plan: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        let shown = plan.join("\n");
        // `d` is thread_agents_doc, `f` is folder, `t` is thread and `p` is thread_placement.
        for (alias, least) in [("d", 3), ("f", 2), ("t", 1), ("p", 1)] {
            let accesses: Vec<_> = plan.iter().filter(|step| step.split(' ').nth(1) == Some(alias)).collect();
            assert!(accesses.len() >= least, "{alias} is missing:\n{shown}");
            for access in accesses {
                assert!(access.starts_with("SEARCH") && access.contains("INDEX"), "{access}\n{shown}");
            }
        }
        for table in ["thread_agents_doc", "folder", "thread", "thread_placement"] {
            assert!(!plan.iter().any(|step| step.starts_with(&format!("SCAN {table}"))), "{shown}");
        }
        for index in ["uq_thread_agents_doc_root_active", "uq_thread_agents_doc_folder_active"] {
            assert!(shown.contains(index), "{index} is not used:\n{shown}");
        }
    });
}
