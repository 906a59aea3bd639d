//! Ids that do not exist here: never created, deleted, or of another workspace.

use protocol::ApprovalRequest;
use protocol::method::WorkspaceUpdateParams;
use protocol::{FolderId, ThreadId, Timestamp, TurnId, Version, WorkspaceId};
use serde_json::Map;
use store::{ApprovalAnswer, FinishTurn, PromptText, Scope, StoreError, TurnEvent};

use crate::fixture::{
    Fixture, OWNER, bare_round, completed, from_now, lease, message, minute, new_thread, new_turn, session,
    whole_tree,
};
use crate::params::{older, text};

/// Every operation on a folder, by name.
async fn uses_of_folder(
    given: &Fixture,
    workspace: &WorkspaceId,
    folder: &FolderId,
) -> Vec<(&'static str, Option<StoreError>)> {
    let store = &given.store;
    let mut uses = uses_of_scope(given, &Scope::folder(workspace.clone(), folder.clone())).await;
    uses.extend([
        ("get", store.folder(workspace, folder).await.err()),
        ("create in", store.create_folder(workspace, Some(folder), "x", None).await.err()),
        ("rename", store.rename_folder(workspace, folder, "x", None).await.err()),
        ("move", store.move_folder(workspace, folder, None, None).await.err()),
        ("delete", store.delete_folder(workspace, folder, None).await.err()),
        ("create thread", store.create_thread(new_thread(workspace, Some(folder), "x"), None).await.err()),
    ]);
    uses
}

/// Every operation on a scope's document, by name.
async fn uses_of_scope(given: &Fixture, scope: &Scope) -> Vec<(&'static str, Option<StoreError>)> {
    let store = &given.store;
    vec![
        ("document", store.document(scope).await.err()),
        ("save", store.save_document(text(scope, "x"), None).await.err()),
        ("archive", store.archive_document(scope, None, None).await.err()),
        ("restore", store.restore_document(older(scope, Version(1)), None).await.err()),
        ("history", store.history(scope, 50, None).await.err()),
        ("revision", store.revision(scope, Version(1)).await.err()),
        ("resolve", store.resolve_for_folder(scope).await.err()),
    ]
}

/// Every operation on a thread, by name.
async fn uses_of_thread(
    given: &Fixture,
    workspace: &WorkspaceId,
    thread: &ThreadId,
) -> Vec<(&'static str, Option<StoreError>)> {
    let store = &given.store;
    vec![
        ("get", store.thread(workspace, thread).await.err()),
        ("rename", store.rename_thread(workspace, thread, "x", None).await.err()),
        ("move", store.move_thread(workspace, thread, None, None).await.err()),
        ("archive", store.archive_thread(workspace, thread, None).await.err()),
        ("resolve", store.resolve_for_thread(workspace, thread).await.err()),
        ("begin turn", store.create_turn(new_turn(workspace, thread), minute(), None, None).await.err()),
        ("turns", store.turns(workspace, thread, 50, None).await.err()),
        ("session", store.session(workspace, thread).await.err()),
        ("save session", store.save_session(workspace, thread, session("/"), Version(0)).await.err()),
        ("save context", store.save_thread_context(workspace, thread, 1, None, Version(0)).await.err()),
        ("save session again", store.save_session(workspace, thread, session("/"), Version(1)).await.err()),
    ]
}

/// Every operation on a turn, by name.
async fn uses_of_turn(
    given: &Fixture,
    workspace: &WorkspaceId,
    turn: &TurnId,
) -> Vec<(&'static str, Option<StoreError>)> {
    let store = &given.store;
    let end = FinishTurn::new(completed());
    let told = || vec![TurnEvent::ContextCompressing {}];
    let question = ApprovalRequest {
        call_id: "call".to_owned(),
        tool: "bash".to_owned(),
        arguments: Map::new(),
        paths: Vec::new(),
        cwd: None,
        digest: None,
        diff: None,
        new_file: false,
        replaces_lines: None,
        rule: "permissions.shell = ask".to_owned(),
        identity: false,
        sandbox: None,
    };
    let soon = from_now(60_000);
    vec![
        ("get", store.turn(workspace, turn).await.err()),
        ("finish", store.finish_turn(workspace, turn, OWNER, end, None).await.err()),
        ("renew", store.renew_lease(workspace, turn, &lease(OWNER, 1000)).await.err()),
        ("hold", store.turn_hold(workspace, turn).await.err()),
        ("add items", store.add_turn_items(workspace, turn, OWNER, &[], Vec::new()).await.err()),
        ("items", store.turn_items(workspace, turn).await.err()),
        ("begin round", store.begin_round(workspace, turn, OWNER, bare_round(1, "f")).await.err()),
        ("manifests", store.manifests(workspace, turn).await.err()),
        ("add items and tell", store.add_turn_items(workspace, turn, OWNER, &[], told()).await.err()),
        ("tell", store.log_turn_events(workspace, turn, OWNER, told()).await.err()),
        ("tell nothing", store.log_turn_events(workspace, turn, OWNER, Vec::new()).await.err()),
        ("request approval", store.request_approval(workspace, turn, OWNER, question, soon).await.err()),
        (
            "answer approval",
            store.answer_approval(workspace, turn, "call", ApprovalAnswer::default()).await.err(),
        ),
        ("approvals", store.approvals(workspace, turn).await.err()),
        ("stop", store.request_stop(workspace, turn, None).await.err()),
        ("hook runs", store.hook_runs(workspace, turn).await.err()),
    ]
}

#[track_caller]
fn assert_all_not_found(uses: Vec<(&'static str, Option<StoreError>)>, what: &str, id: &str) {
    for (operation, error) in uses {
        match error {
            Some(StoreError::NotFound { what: named, id: missing }) => {
                assert_eq!((named.to_string().as_str(), missing.as_str()), (what, id), "{operation}");
            }
            other => panic!("{operation}: {other:?}"),
        }
    }
}

both_databases!(an_unknown_folder_is_not_found_anywhere, async |given| {
    for unknown in [FolderId::new(), "no uuid at all".parse().unwrap()] {
        let uses = uses_of_folder(given, &given.workspace, &unknown).await;
        assert_all_not_found(uses, "folder", unknown.as_str());
    }
});

both_databases!(a_deleted_folder_is_found_only_in_its_history, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    given.store.delete_folder(&given.workspace, &folder, None).await.unwrap();
    let mut uses = uses_of_folder(given, &given.workspace, &folder).await;
    uses.retain(|(operation, _)| !matches!(*operation, "history" | "revision"));
    assert_all_not_found(uses, "folder", folder.as_str());
});

both_databases!(a_folder_of_another_workspace_is_not_found_anywhere, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.scope(&folder), "text").await;
    let elsewhere = given.another_workspace().await;
    let uses = uses_of_folder(given, &elsewhere, &folder).await;
    assert_all_not_found(uses, "folder", folder.as_str());
    assert_eq!(given.versions(&given.scope(&folder)).await, [1]);
});

both_databases!(nothing_moves_into_a_folder_that_is_not_there, async |given| {
    let elsewhere = given.another_workspace().await;
    let foreign = given.store.create_folder(&elsewhere, None, "foreign", None).await.unwrap().id;
    let deleted = given.folder(None, "deleted").await;
    given.store.delete_folder(&given.workspace, &deleted, None).await.unwrap();
    let folder = given.folder(None, "folder").await;
    let thread = given.thread(None, "thread").await;
    let seq = given.seq().await;
    for target in [FolderId::new(), foreign, deleted] {
        let uses = vec![
            ("folder", given.store.move_folder(&given.workspace, &folder, Some(&target), None).await.err()),
            ("thread", given.store.move_thread(&given.workspace, &thread, Some(&target), None).await.err()),
        ];
        assert_all_not_found(uses, "folder", target.as_str());
    }
    assert_eq!(given.seq().await, seq);
});

both_databases!(an_unknown_thread_is_not_found_anywhere, async |given| {
    let unknown = ThreadId::new();
    let uses = uses_of_thread(given, &given.workspace, &unknown).await;
    assert_all_not_found(uses, "thread", unknown.as_str());
});

both_databases!(a_thread_of_another_workspace_is_not_found_anywhere, async |given| {
    let thread = given.thread(None, "thread").await;
    let elsewhere = given.another_workspace().await;
    let uses = uses_of_thread(given, &elsewhere, &thread).await;
    assert_all_not_found(uses, "thread", thread.as_str());
    assert_eq!(given.store.thread(&given.workspace, &thread).await.unwrap().title, "thread");
});

both_databases!(an_unknown_turn_is_not_found_anywhere, async |given| {
    let unknown = TurnId::new();
    let uses = uses_of_turn(given, &given.workspace, &unknown).await;
    assert_all_not_found(uses, "turn", unknown.as_str());
});

both_databases!(a_turn_of_another_workspace_is_not_found_anywhere, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let items = [message("text")];
    given.store.add_turn_items(&given.workspace, &turn.id, OWNER, &items, Vec::new()).await.unwrap();
    given.store.begin_round(&given.workspace, &turn.id, OWNER, bare_round(1, "f")).await.unwrap();
    given.store.save_session(&given.workspace, &turn.thread_id, session("/"), Version(0)).await.unwrap();
    let elsewhere = given.another_workspace().await;
    let uses = uses_of_turn(given, &elsewhere, &turn.id).await;
    assert_all_not_found(uses, "turn", turn.id.as_str());
    let uses = uses_of_thread(given, &elsewhere, &turn.thread_id).await;
    assert_all_not_found(uses, "thread", turn.thread_id.as_str());
    assert_eq!(given.store.turn(&given.workspace, &turn.id).await.unwrap(), turn);
});

both_databases!(in_an_unknown_workspace_it_is_the_workspace_that_is_not_found, async |given| {
    let unknown = WorkspaceId::new();
    let folder = given.folder(None, "folder").await;
    let thread = given.thread(None, "thread").await;
    let store = &given.store;
    let mut uses = uses_of_scope(given, &Scope::root(unknown.clone())).await;
    uses.extend(uses_of_folder(given, &unknown, &folder).await);
    uses.extend(uses_of_thread(given, &unknown, &thread).await);
    uses.extend(uses_of_turn(given, &unknown, &given.turn(&thread).await.id).await);
    let texts = [PromptText::new("text")];
    let changes = WorkspaceUpdateParams {
        name: Some("x".to_owned()),
        ..WorkspaceUpdateParams::unchanged(unknown.clone())
    };
    uses.extend([
        ("workspace", store.workspace(&unknown).await.err()),
        ("update", store.update_workspace(changes, None).await.err()),
        ("tree", whole_tree(store, &unknown).await.err()),
        ("tree as JSON", store.tree_json(&unknown).await.err()),
        ("sequence", store.sequence(&unknown).await.err()),
        ("texts", store.prompt_texts(&unknown, &[texts[0].sha256.clone()]).await.err()),
        ("prune texts", store.prune_prompt_texts(Some(&unknown), Timestamp::now()).await.err()),
        ("prune hook runs", store.prune_hook_runs(Some(&unknown), Timestamp::now()).await.err()),
        ("create folder", store.create_folder(&unknown, None, "x", None).await.err()),
        ("create thread", store.create_thread(new_thread(&unknown, None, "x"), None).await.err()),
    ]);
    assert_all_not_found(uses, "workspace", unknown.as_str());
});
