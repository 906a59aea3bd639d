//! Workspaces.

use protocol::AgentsConfig;
use protocol::method::{WorkspaceCreateParams, WorkspaceUpdateParams};

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

both_databases!(a_backslash_before_u0000_in_agents_is_no_zero_byte, async |given| {
    let config = agents(r#"{"root":{"projectRootOverride":"C:\\u0000"}}"#);
    let changes = WorkspaceUpdateParams {
        agents: Some(config.clone()),
        ..WorkspaceUpdateParams::unchanged(given.workspace.clone())
    };
    let updated = given.store.update_workspace(changes, None).await.unwrap();
    assert_eq!(updated.agents, Some(config));
});
