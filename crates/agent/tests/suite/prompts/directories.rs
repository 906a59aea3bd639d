//! Settings of a workspace for its instruction files, and the rule that nothing above its directory is read.

use std::os::unix::fs::symlink;

use agent::AgentError;
use protocol::method::WorkspaceUpdateParams;
use serde_json::json;

use crate::fixture::{World, section};

impl World {
    /// Returns the initial chain of a directory; empty if there is none.
    async fn chain(&self, cwd: Option<&str>) -> String {
        let compiled = self.prompt_in(cwd).await.unwrap();
        section(&compiled, "agents_context").unwrap_or_default().to_owned()
    }

    async fn refused(&self, cwd: Option<&str>) -> AgentError {
        self.prompt_in(cwd).await.unwrap_err()
    }

    /// Creates `outside/AGENTS.md` above `outside/repo/a/b`, with a text at each level.
    async fn nested() -> Self {
        let world = Self::new().await;
        world.write("AGENTS.md", "secret above\n");
        world.write("outside/AGENTS.md", "secret outside\n");
        world.write("repo/a/AGENTS.md", "In a.\n");
        world.write("repo/a/b/AGENTS.md", "In b.\n");
        world
    }
}

#[tokio::test]
async fn instruction_files_can_be_disabled() {
    let world = World::nested().await;
    world.configure(json!({ "enabled": false })).await;
    assert_eq!(world.chain(Some("a")).await, "");
    world.configure(json!({ "enabled": true })).await;
    assert!(world.chain(Some("a")).await.contains("In a."));
}

#[tokio::test]
async fn markers_choose_the_root_inside_a_workspace() {
    let world = World::nested().await;
    world.write("repo/a/project.toml", "");
    for (profile, markers, expected) in [
        ("foreword", json!(["project.toml"]), &["In a.", "In b."][..]),
        ("foreword", json!([]), &["In b."]),
        ("foreword", json!(["nowhere"]), &["At the root.", "In a.", "In b."]),
        ("codex", json!(["project.toml"]), &["In a.", "In b."]),
        ("codex", json!([]), &["In b."]),
        ("codex", json!(["nowhere"]), &["In b."]),
    ] {
        world.configure(json!({ "profile": profile, "root": { "markers": markers } })).await;
        let chain = world.chain(Some("a/b")).await;
        let found: Vec<&str> =
            ["At the root.", "In a.", "In b."].into_iter().filter(|text| chain.contains(text)).collect();
        assert_eq!(found, expected, "{profile}: {markers}");
        assert!(!chain.contains("secret"), "{chain}");
    }
}

#[tokio::test]
async fn limits_hold() {
    let world = World::nested().await;
    world.write("repo/a/AGENTS.md", "A long line in a.\n".repeat(100));
    world.configure(json!({ "initial": { "maxBytes": 100 } })).await;
    let chain = world.chain(Some("a")).await;
    assert!(chain.contains("of 1800 bytes shown"), "{chain}");
    world.configure(json!({ "initial": { "maxFiles": 1 } })).await;
    let chain = world.chain(Some("a/b")).await;
    assert!(chain.contains("In b.") && !chain.contains("A long line"), "{chain}");
}

#[tokio::test]
async fn a_configured_root_must_be_inside_the_workspace() {
    let world = World::nested().await;
    world.configure(json!({ "root": { "projectRootOverride": "a" } })).await;
    let chain = world.chain(Some("a/b")).await;
    assert!(chain.contains("In a.") && chain.contains("In b.") && !chain.contains("At the root."), "{chain}");
    let error = world.refused(None).await;
    assert!(matches!(error, AgentError::Files(_)), "the workspace's directory is not inside it: {error}");
    let above = world.path("");
    // The last path shares a prefix with the root as text, but is another directory.
    for path in ["..", "/", above.to_str().unwrap(), "a/../..", "../outside", "../repo-beside"] {
        world.configure(json!({ "root": { "projectRootOverride": path } })).await;
        let error = world.refused(Some("a")).await;
        assert!(matches!(error, AgentError::RootOutsideWorkspace { .. }), "{path}: {error}");
        assert!(error.to_string().contains("projectRootOverride"), "{error}");
    }
}

// The root belongs to one project. Other workspaces must not be read above their directories because of it.
#[tokio::test]
async fn the_gateway_root_applies_only_to_its_project() {
    let mut world = World::nested().await;
    world.settings.files.agents.root.project_root_override = Some(world.path(""));
    let chain = world.chain(Some("a")).await;
    assert!(chain.contains("At the root.") && !chain.contains("secret"), "{chain}");
    world.settings.files.agents.root.project_root_override = Some(world.path("repo/a"));
    let chain = world.chain(Some("a/b")).await;
    assert!(chain.contains("In a.") && !chain.contains("At the root."), "{chain}");
    assert!(world.chain(None).await.contains("At the root."));
}

#[tokio::test]
async fn a_path_leaving_and_reentering_the_root_is_rejected() {
    let world = World::nested().await;
    symlink(world.path("outside"), world.path("repo/link")).unwrap();
    symlink(world.path("repo/a"), world.path("outside/back")).unwrap();
    // Two of these end inside the root again. The way there leads outside, where files would be read.
    for cwd in ["link", "link/back", "link/back/b", "link/nowhere"] {
        let error = world.refused(Some(cwd)).await;
        assert!(matches!(error, AgentError::OutsideWorkspace { .. }), "{cwd}: {error}");
    }
    symlink(world.path("repo/a"), world.path("repo/inside")).unwrap();
    assert!(world.chain(Some("inside/b")).await.contains("In a."), "a link inside is fine");
    symlink(world.path("outside/AGENTS.md"), world.path("repo/a/AGENTS.override.md")).unwrap();
    let chain = world.chain(Some("a")).await;
    assert!(!chain.contains("secret"), "{chain}");
}

#[tokio::test]
async fn dots_in_a_directory_do_not_widen_its_bounds() {
    let world = World::nested().await;
    // The only marker is now above the workspace, so a search that left its directory would find it.
    std::fs::remove_dir_all(world.path("repo/.git")).unwrap();
    world.write(".git/HEAD", "");
    for name in ["repo/", "repo/.", "outside/../repo", "repo/a/.."] {
        let root_path = Some(format!("{}/{name}", world.path("").to_str().unwrap()));
        let unchanged = WorkspaceUpdateParams::unchanged(world.workspace.clone());
        world.change(WorkspaceUpdateParams { root_path, ..unchanged }).await;
        for cwd in [None, Some("."), Some("a")] {
            let chain = world.chain(cwd).await;
            assert!(chain.contains("At the root.") && !chain.contains("secret"), "{name} {cwd:?}: {chain}");
        }
        assert!(matches!(world.refused(Some("..")).await, AgentError::OutsideWorkspace { .. }));
    }
}
