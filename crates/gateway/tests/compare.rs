//! `instructions/compare`: results, permissions, and confinement to the workspace.

use gateway::GatewaySettings;
use instructions::HomeDirectories;
use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Socket, World, ask};

/// A workspace with files, and a user with home files.
struct Place {
    gateway: TestGateway,
    world: World,
    directory: tempfile::TempDir,
}

impl Place {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        for path in ["root/.git", "root/src", "home/.codex", "outside"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        std::fs::write(at("root/AGENTS.md"), "0123456\n".repeat(5_000)).unwrap();
        std::fs::write(at("root/src/GEMINI.md"), "Be brief.\n").unwrap();
        std::fs::write(at("home/.codex/AGENTS.md"), "My own.\n").unwrap();
        std::fs::write(at("outside/AGENTS.md"), "Not yours.\n").unwrap();
        // A relative path may look as if it were inside the workspace and still lead out of it.
        std::os::unix::fs::symlink("../outside", at("root/link")).unwrap();
        let homes = HomeDirectories::find(Some(at("home")), |_| None);
        let with = |settings: &mut GatewaySettings| settings.agent.files.homes = homes.clone();
        let gateway = TestGateway::start_with(with).await.unwrap();
        let world = World::new(&gateway, "w").await;
        let root = world.with(json!({ "root_path": at("root") }));
        ask(&gateway.owner_in_memory(), "workspace/update", root).await.unwrap();
        Self { gateway, world, directory }
    }

    async fn as_role(&self, role: Role, is_bound: bool) -> Socket {
        let workspace = is_bound.then(|| self.world.workspace.parse().unwrap());
        let name = format!("{role} {is_bound}");
        let secret = self.gateway.token(&name, role, workspace).await.unwrap();
        Socket::connect(&self.gateway, &secret).await
    }

    fn path(&self, below: &str) -> String {
        self.directory.path().join(below).to_string_lossy().into_owned()
    }
}

fn paths(answer: &Value) -> Vec<String> {
    let files =
        answer["agents"].as_array().unwrap().iter().flat_map(|agent| agent["files"].as_array().unwrap());
    files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn agents_are_compared_in_a_directory() {
    let place = Place::new().await;
    let mut reader = place.as_role(Role::Reader, true).await;
    let params = json!({ "path": "src", "reading": "x.rs", "agents": ["codex", "gemini-cli"] });
    let answer = reader.ok("instructions/compare", place.world.with(params)).await;
    assert_eq!(answer["path"], place.path("root/src"));
    let codex = &answer["agents"][0];
    assert_eq!((&codex["agent"], &codex["role"]), (&json!("codex"), &json!("user")));
    assert_eq!((&codex["bytes"], &codex["lost_bytes"]), (&json!(32_768), &json!(7_232)));
    let cut = json!({
        "path": place.path("root/AGENTS.md"), "outcome": "truncated", "role": "user", "when": "start",
        "bytes": 40_000, "kept_bytes": 32_768, "tokens": codex["tokens"],
    });
    assert_eq!(codex["files"][0], cut);
    assert_eq!(answer["agents"][1]["files"][0]["path"], place.path("root/src/GEMINI.md"));
    let differences = answer["differences"].as_array().unwrap();
    let expected = json!("Codex drops the last 7,232 bytes of AGENTS.md");
    assert!(differences.contains(&expected), "{differences:#?}");
    let all = reader.ok("instructions/compare", place.world.with(json!({}))).await;
    // Older versions of agents, and the rules of the specification, are compared only on request.
    let newest = instructions::PROFILES.iter().filter(|profile| !profile.is_other_version());
    assert_eq!(all["agents"].as_array().unwrap().len(), newest.count() - 1);
}

#[tokio::test]
async fn own_files_are_for_owners_of_everything() {
    let place = Place::new().await;
    let own = place.path("home/.codex/AGENTS.md");
    for (role, is_bound, is_shown) in [
        (Role::Reader, false, false),
        (Role::Operator, false, false),
        (Role::Owner, true, false),
        (Role::Owner, false, true),
    ] {
        let mut socket = place.as_role(role, is_bound).await;
        let answer = socket.ok("instructions/compare", place.world.with(json!({}))).await;
        assert_eq!(paths(&answer).contains(&own), is_shown, "{role}, bound: {is_bound}");
        // The names of a user's own files reveal which tools they use, so the whole answer must not mention their home.
        if !is_shown {
            let home = place.path("home");
            assert!(!answer.to_string().contains(&home), "{answer}");
        }
    }
}

#[tokio::test]
async fn nothing_outside_the_workspace_is_looked_at() {
    let place = Place::new().await;
    let mut owner = place.as_role(Role::Owner, false).await;
    let outside = place.path("outside");
    for params in [
        json!({ "path": ".." }),
        json!({ "path": outside }),
        json!({ "path": "link" }),
        json!({ "path": "/" }),
        json!({ "reading": "../outside/x" }),
        json!({ "reading": "link/x" }),
        json!({ "reading": "/etc/passwd" }),
    ] {
        let error = owner.call("instructions/compare", place.world.with(params.clone())).await.unwrap_err();
        assert_eq!(error["code"], -32003, "{params}: {error}");
    }
    let answer =
        owner.ok("instructions/compare", place.world.with(json!({ "reading": "not/there/x" }))).await;
    assert!(paths(&answer).iter().all(|path| !path.starts_with(&outside)), "{answer}");
}

#[tokio::test]
async fn incomparable_texts_have_a_reason() {
    let place = Place::new().await;
    let mut reader = place.as_role(Role::Reader, false).await;
    let unknown = place.world.with(json!({ "agents": ["codx"] }));
    let error = reader.call("instructions/compare", unknown).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("did you mean `codex`"), "{error}");
    let missing = place.world.with(json!({ "path": "nowhere" }));
    assert_eq!(reader.call("instructions/compare", missing).await.unwrap_err()["code"], -32011);
    let without = World::new(&place.gateway, "without").await;
    let error = reader.call("instructions/compare", without.with(json!({}))).await.unwrap_err();
    assert_eq!(error["code"], -32011);
    assert!(error["message"].as_str().unwrap().contains("no directory"), "{error}");
}

/// Agents follow links out of a project, but a reader of the workspace must not learn what lies outside.
#[tokio::test]
async fn links_reveal_nothing_outside() {
    let place = Place::new().await;
    let root = place.directory.path().join("root");
    std::fs::create_dir_all(root.join(".claude/rules")).unwrap();
    std::fs::create_dir_all(root.join(".qwen")).unwrap();
    std::fs::write(place.directory.path().join("AGENTS.md"), "Above.\n").unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    link("../../../outside", ".claude/rules/all");
    link("../../../outside/AGENTS.md", ".claude/rules/one.md");
    link("../../outside", ".qwen/rules");
    link("../outside/AGENTS.md", "CLAUDE.md");
    link("../outside/AGENTS.md", "QWEN.md");
    link("../outside/AGENTS.md", "GEMINI.md");
    let mut reader = place.as_role(Role::Reader, true).await;
    let answer = reader.ok("instructions/compare", place.world.with(json!({ "reading": "src/x.rs" }))).await;
    let bounds = root.to_string_lossy().into_owned();
    for path in paths(&answer) {
        assert!(path.starts_with(&bounds), "{path}: {answer:#}");
    }
    for agent in answer["agents"].as_array().unwrap() {
        for file in agent["files"].as_array().unwrap() {
            // The size of the foreign file would be enough to show that it was read.
            assert_ne!(file["kept_bytes"], "Not yours.\n".len(), "{agent:#}");
        }
    }
}
