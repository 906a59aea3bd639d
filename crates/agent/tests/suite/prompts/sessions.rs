//! Frozen sessions: the instructions a thread started with do not change behind its back.

use std::fs;

use agent::AgentError;
use protocol::Version;
use protocol::method::{WorkspaceCreateParams, WorkspaceUpdateParams};
use store::StoreError;

use crate::fixture::{World, section};

#[tokio::test]
async fn changed_files_do_not_change_a_saved_session() {
    let world = World::new().await;
    world.write("repo/a/AGENTS.md", "In a.\n");
    let agent = world.agent();
    let request = world.thread().await;
    let prepared = agent.prepare(&request).await.unwrap();
    let session = prepared.session.unwrap();
    assert_eq!(session.stored, Version(0));
    let was = section(&prepared.compiled, "agents_context").unwrap().to_owned();
    assert!(was.contains("At the root."));

    // A preview saves nothing.
    world.write("repo/AGENTS.md", "Changed before the start.\n");
    let next = agent.prepare(&request).await.unwrap().compiled;
    assert!(section(&next, "agents_context").unwrap().contains("Changed before"));

    let thread_id = &request.scope.thread_id;
    let state = session.session.clone();
    world.store.save_session(&world.workspace, thread_id, state, session.stored).await.unwrap();
    fs::remove_file(world.path("repo/AGENTS.md")).unwrap();
    for cwd in [None, Some("a".to_owned())] {
        let mut request = request.clone();
        request.cwd = cwd;
        let next = agent.prepare(&request).await.unwrap();
        assert_eq!(next.session.unwrap().stored, Version(1));
        assert_eq!(section(&next.compiled, "agents_context"), Some(was.as_str()));
        assert_eq!(
            next.compiled.manifest.fingerprints.session,
            prepared.compiled.manifest.fingerprints.session
        );
    }
    let other = agent.prepare(&world.thread().await).await.unwrap().compiled;
    assert_eq!(section(&other, "agents_context"), None, "another thread starts with what there is now");
}

#[tokio::test]
async fn an_unreadable_session_is_an_error() {
    let world = World::new().await;
    let request = world.thread().await;
    let mut session = world.agent().prepare(&request).await.unwrap().session.unwrap().session;
    session.schema = 99;
    world.store.save_session(&world.workspace, &request.scope.thread_id, session, Version(0)).await.unwrap();
    let error = world.agent().prepare(&request).await.unwrap_err();
    let unreadable = matches!(error, AgentError::Store(StoreError::Unreadable { what: "session", .. }));
    assert!(unreadable, "{error}");
}

#[tokio::test]
async fn without_a_directory_there_is_no_session() {
    let world = World::new().await;
    let new = WorkspaceCreateParams { name: "elsewhere".to_owned(), ..WorkspaceCreateParams::default() };
    let workspace = world.store.create_workspace(new, None).await.unwrap().id;
    let world = world.in_workspace(workspace);
    let prepared = world.agent().prepare(&world.thread().await).await.unwrap();
    assert_eq!(prepared.session, None);
    assert_eq!(section(&prepared.compiled, "agents_guidance"), None, "there are no files to treat");
    assert!(matches!(world.prompt_in(Some("/")).await, Err(AgentError::NoDirectory)));
    world
        .change(WorkspaceUpdateParams {
            root_path: Some("/no/such/place".to_owned()),
            ..WorkspaceUpdateParams::unchanged(world.workspace.clone())
        })
        .await;
    let error = world.prompt().await.unwrap_err();
    assert!(error.to_string().starts_with("cannot work in /no/such/place: "), "{error}");
}
