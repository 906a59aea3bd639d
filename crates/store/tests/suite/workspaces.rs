//! Workspaces.

mod audit;
mod changes;
mod refusals;
mod retention;
mod tokens;

use protocol::method::{WorkspaceCreateParams, WorkspaceUpdateParams};
use protocol::{AgentsConfig, WorkspaceId};

use store::StoreError;

use crate::fixture::assert_invalid;

fn agents(json: &str) -> AgentsConfig {
    serde_json::from_str(json).unwrap()
}

both_databases!(a_workspace_has_what_it_was_made_with, async |given| {
    let new = WorkspaceCreateParams {
        name: "one".to_owned(),
        root_path: Some("/srv/one".to_owned()),
        agents: Some(agents(r#"{"root":{"markers":[".git"]},"initial":{"maxFiles":3}}"#)),
    };
    let made = given.store.create_workspace(new.clone(), None).await.unwrap();
    assert_eq!((&made.name, &made.root_path, &made.agents), (&new.name, &new.root_path, &new.agents));
    assert_eq!(given.store.workspace(&made.id).await.unwrap(), made);
});

both_databases!(workspaces_are_listed_oldest_first, async |given| {
    let second = given.another_workspace().await;
    let ids: Vec<_> = given.store.workspaces().await.unwrap().into_iter().map(|found| found.id).collect();
    assert_eq!(ids, [given.workspace.clone(), second]);
});

both_databases!(an_update_changes_only_what_it_names, async |given| {
    let update = async |changes| given.store.update_workspace(changes, None).await.unwrap();
    let before = given.store.workspace(&given.workspace).await.unwrap();
    let changes = WorkspaceUpdateParams {
        root_path: Some("/srv".to_owned()),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    assert_eq!(update(changes).await.name, before.name);
    let changes = WorkspaceUpdateParams {
        agents: Some(agents(r#"{"enabled":false}"#)),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    assert_eq!(update(changes).await.root_path.as_deref(), Some("/srv"));
    let changes = WorkspaceUpdateParams {
        name: Some("other".to_owned()),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    let after = update(changes).await;
    assert_eq!((after.name.as_str(), after.root_path.as_deref()), ("other", Some("/srv")));
    assert_eq!(after.agents, Some(agents(r#"{"enabled":false}"#)));
    assert_eq!(given.store.workspace(&given.workspace).await.unwrap(), after);
});

both_databases!(an_update_to_what_is_there_changes_nothing, async |given| {
    let before = given.store.workspace(&given.workspace).await.unwrap();
    let seq = given.seq().await;
    for name in [None, Some(before.name.clone())] {
        let changes =
            WorkspaceUpdateParams { name, ..WorkspaceUpdateParams::unchanged(given.workspace.clone()) };
        assert_eq!(given.store.update_workspace(changes, None).await.unwrap(), before);
    }
    assert_eq!(given.seq().await, seq);
});

both_databases!(a_root_path_is_absolute_and_without_zero_bytes, async |given| {
    let longest = format!("/{}", "x".repeat(4_095));
    for (path, acceptable) in
        [("src", false), ("", false), ("/a\0b", false), (&*format!("{longest}x"), false), (&*longest, true)]
    {
        let root_path = Some(path.to_owned());
        let changes =
            WorkspaceUpdateParams { root_path, ..WorkspaceUpdateParams::unchanged(given.workspace.clone()) };
        let updated = given.store.update_workspace(changes, None).await;
        match acceptable {
            true => assert_eq!(updated.unwrap().root_path.as_deref(), Some(path)),
            false => assert_invalid(updated, "root_path"),
        }
    }
});

both_databases!(a_zero_byte_in_agents_is_refused, async |given| {
    let changes = WorkspaceUpdateParams {
        agents: Some(agents(r#"{"root":{"markers":["a\u0000b"]}}"#)),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    assert_invalid(given.store.update_workspace(changes, None).await, "agents");
});

// In JSON, an escaped backslash may be followed by the characters `u0000`, which are harmless.
both_databases!(a_backslash_before_u0000_in_agents_is_no_zero_byte, async |given| {
    let config = agents(r#"{"root":{"projectRootOverride":"C:\\u0000"}}"#);
    let changes = WorkspaceUpdateParams {
        agents: Some(config.clone()),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    let updated = given.store.update_workspace(changes, None).await.unwrap();
    assert_eq!(updated.agents, Some(config));
});

both_databases!(a_name_belongs_to_one_workspace_at_a_time, async |given| {
    let create = async |name: &str| {
        let new = WorkspaceCreateParams { name: name.to_owned(), ..WorkspaceCreateParams::default() };
        given.store.create_workspace(new, None).await
    };
    let rename = async |id: &WorkspaceId, name: &str| {
        let name = Some(name.to_owned());
        let changes = WorkspaceUpdateParams { name, ..WorkspaceUpdateParams::unchanged(id.clone()) };
        given.store.update_workspace(changes, None).await
    };
    let is_taken = |error| matches!(error, StoreError::AlreadyExists { name, .. } if name == "one");
    let one = create("one").await.unwrap();
    let two = create("two").await.unwrap();
    assert!(is_taken(create("one").await.unwrap_err()));
    assert!(is_taken(rename(&two.id, "one").await.unwrap_err()));
    assert_eq!(rename(&one.id, "one").await.unwrap(), one, "its own name is free for it");
    let archived = given.store.archive_workspace(&one.id, None).await.unwrap();
    assert!(archived.archived_at.is_some());
    assert_eq!(given.store.archive_workspace(&one.id, None).await.unwrap(), archived, "once is enough");
    let another = create("one").await.unwrap();
    assert!(is_taken(given.store.restore_workspace(&one.id, None).await.unwrap_err()));
    rename(&another.id, "other").await.unwrap();
    assert_eq!(given.store.restore_workspace(&one.id, None).await.unwrap().archived_at, None);
});

// All of them pass the check before any of them commits. The unique index decides, and the losers get the
// proper error.
both_databases!(of_many_that_take_a_name_at_once_one_gets_it, async |given| {
    let taking = (0..8).map(|_| {
        let store = given.store.clone();
        tokio::spawn(async move {
            let new = WorkspaceCreateParams { name: "wanted".to_owned(), ..WorkspaceCreateParams::default() };
            let made = store.create_workspace(new, None).await;
            made.map_err(|error| assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}"))
        })
    });
    let mut got = 0;
    for taken in taking.collect::<Vec<_>>() {
        got += usize::from(taken.await.unwrap().is_ok());
    }
    assert_eq!(got, 1);
    // Two renames that pass the check at the same time meet at the unique index.
    let mut renames = Vec::new();
    for number in 0..4 {
        let new = WorkspaceCreateParams { name: format!("w{number}"), ..WorkspaceCreateParams::default() };
        let id = given.store.create_workspace(new, None).await.unwrap().id;
        let store = given.store.clone();
        renames.push(tokio::spawn(async move {
            let name = Some("same".to_owned());
            let changes = WorkspaceUpdateParams { name, ..WorkspaceUpdateParams::unchanged(id) };
            let renamed = store.update_workspace(changes, None).await;
            renamed.map_err(|error| assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}"))
        }));
    }
    let mut got = 0;
    for renamed in renames {
        got += usize::from(renamed.await.unwrap().is_ok());
    }
    assert_eq!(got, 1);
});
