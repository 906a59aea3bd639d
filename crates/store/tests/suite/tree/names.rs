//! Names that are accepted and rejected.

use protocol::method::{ThreadCreateParams, WorkspaceCreateParams, WorkspaceUpdateParams};
use protocol::{Role, ThreadMode};
use store::{NewToken, hash_secret};

use crate::fixture::{Fixture, assert_invalid, new_thread};

const UNACCEPTABLE: &[&str] = &["", " \t", "\u{3000}", "a\nb", "a\0b", "a\u{7f}", "a\u{85}"];

/// Tries a name in every operation that takes one.
async fn assert_refused_everywhere(given: &Fixture, name: &str) {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "folder").await;
    let thread = given.thread(None, "thread").await;
    let seq = given.seq().await;
    let new = WorkspaceCreateParams { name: name.to_owned(), ..WorkspaceCreateParams::default() };
    assert_invalid(store.create_workspace(new, None).await, "name");
    let changes = WorkspaceUpdateParams {
        name: Some(name.to_owned()),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    assert_invalid(store.update_workspace(changes, None).await, "name");
    assert_invalid(store.create_folder(workspace, None, name, None).await, "name");
    assert_invalid(store.rename_folder(workspace, &folder, name, None).await, "name");
    assert_invalid(store.create_thread(new_thread(workspace, None, name), None).await, "title");
    assert_invalid(store.rename_thread(workspace, &thread, name, None).await, "title");
    assert_invalid(store.create_token(new_token(name), None).await, "name");
    assert_eq!(given.seq().await, seq);
    assert_eq!(store.workspaces().await.unwrap().len(), 1);
    assert_eq!(store.tokens().await.unwrap(), []);
}

fn new_token(name: &str) -> NewToken {
    NewToken {
        name: name.to_owned(),
        role: Role::Reader,
        workspace_id: None,
        expires_at: None,
        secret_sha256: hash_secret(&format!("secret of {name}")),
    }
}

both_databases!(blank_names_and_control_characters_are_refused, async |given| {
    for name in UNACCEPTABLE {
        assert_refused_everywhere(given, name).await;
    }
});

both_databases!(names_of_201_characters_are_refused, async |given| {
    assert_refused_everywhere(given, &"x".repeat(201)).await;
});

both_databases!(names_of_200_characters_are_kept_as_they_are, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let longest = format!(" {} ", "\u{1f600}".repeat(198));
    let new = WorkspaceCreateParams { name: longest.clone(), ..WorkspaceCreateParams::default() };
    assert_eq!(store.create_workspace(new, None).await.unwrap().name, longest);
    let folder = given.folder(None, &longest).await;
    assert_eq!(store.folder(workspace, &folder).await.unwrap().name, longest);
    let new = ThreadCreateParams { mode: ThreadMode::Agent, ..new_thread(workspace, None, &longest) };
    let thread = store.create_thread(new, None).await.unwrap();
    assert_eq!(store.thread(workspace, &thread.id).await.unwrap().title, longest);
    // A token's name signs its actions, so it must not begin with a blank.
    let longest = "\u{1f600}".repeat(200);
    store.create_token(new_token(&longest), None).await.unwrap();
    assert_eq!(store.token_by_name(&longest).await.unwrap().name, longest);
});

both_databases!(names_of_folders_and_threads_may_repeat, async |given| {
    let one = given.folder(None, "same").await;
    let two = given.folder(None, "same").await;
    assert_ne!(one, two);
    let one = given.thread(None, "same").await;
    let two = given.thread(None, "same").await;
    assert_ne!(one, two);
});

// Actions are signed with the token's name in the history and in the audit log.
both_databases!(a_tokens_name_looks_like_no_others, async |given| {
    let alike = [
        "gateway",
        "Gateway",
        " gateway",
        "gateway\u{200b}",
        "gate\u{ad}way",
        "ｇａｔｅｗａｙ",
        "STDIO",
        "owner ",
        "ow\u{200b}ner",
        "x\u{202e}y",
        "a\u{2060}b",
        "\u{feff}a",
    ];
    for name in alike {
        assert_invalid(given.store.create_token(new_token(name), None).await, "name");
    }
    assert_eq!(given.store.tokens().await.unwrap(), []);
    for name in ["ci", "Ольга", "名前", "build bot 2", "gateway-2"] {
        given.store.create_token(new_token(name), None).await.unwrap();
    }
});
