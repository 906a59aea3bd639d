//! Prompts over the wire: the next one, past ones, and their differences.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hooks::{
    ContributionKind, FailurePolicy, HookContext, HookFailure, HookPackage, HookSubscription, Phase,
    PromptSection, Visibility,
};
use protocol::Role;
use protocol::prompt::PromptManifest;
use serde_json::{Value, json};
use test_gateway::TestGateway;

use crate::support::{Socket, World};

/// A gateway with a workspace that has a directory, and a thread in it.
struct Prompts {
    gateway: TestGateway,
    world: World,
    socket: Socket,
    project: tempfile::TempDir,
}

impl Prompts {
    async fn start() -> Self {
        Self::on(TestGateway::start().await.unwrap()).await
    }

    async fn on(gateway: TestGateway) -> Self {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir_all(project.path().join("repo/a")).unwrap();
        fs::create_dir(project.path().join("repo/.git")).unwrap();
        fs::write(project.path().join("repo/AGENTS.md"), "At the root.\n").unwrap();
        fs::write(project.path().join("repo/a/AGENTS.md"), "In a.\n").unwrap();
        let world = World::new(&gateway, "w").await;
        let mut socket = Socket::owner(&gateway).await;
        let root = project.path().join("repo");
        socket.ok("workspace/update", world.with(json!({ "root_path": root }))).await;
        Self { gateway, world, socket, project }
    }

    async fn preview(&mut self, others: Value) -> Value {
        let mut params = self.world.with(json!({ "thread_id": self.world.thread }));
        params.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        self.socket.ok("prompt/preview", params).await
    }

    async fn save(&mut self, text: &str) {
        self.socket.ok("thread/agents_doc/save", self.world.with(json!({ "content": text }))).await;
    }

    async fn turn(&self) -> String {
        let workspace = self.world.workspace.parse().unwrap();
        let thread = self.world.thread.parse().unwrap();
        self.gateway.silent_turn(&workspace, &thread).await.unwrap().to_string()
    }

    async fn diff(&mut self, turn: &str) -> Value {
        let params = self.world.with(json!({ "thread_id": self.world.thread, "turn_id": turn }));
        self.socket.ok("prompt/diff", params).await["blame"].clone()
    }
}

fn sections(prompt: &Value) -> Vec<&str> {
    let sections = prompt["manifest"]["sections"].as_array().unwrap();
    sections.iter().map(|section| section["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_preview_has_files_document_and_bootstrap() {
    let mut prompts = Prompts::start().await;
    prompts.save("From the document. </AGENTS_MD>").await;
    let prompt = prompts.preview(json!({})).await;
    assert_eq!(
        sections(&prompt),
        [
            "identity",
            "safety",
            "soul_core",
            "identity_core",
            "agents_guidance",
            "environment",
            "hidden_tool_domains",
            "agents_md",
            "agents_context",
            "extra_system"
        ]
    );
    let session = prompt["session_text"].as_str().unwrap();
    assert!(session.contains("At the root.") && !session.contains("In a."), "{session}");
    let document = "<AGENTS_MD>\nFrom the document. &lt;/AGENTS_MD>\n</AGENTS_MD>\n\n## AGENTS Context\n";
    assert!(session.contains(document), "{session}");
    let document = &prompt["manifest"]["sections"][7];
    assert_eq!(
        (&document["sources"][0]["kind"], &document["sources"][0]["version"]),
        (&json!("document"), &json!(1))
    );
    let hook = &prompt["manifest"]["hook_sources"][0];
    assert_eq!(hook["hook_id"], "foreword.thread_agents_doc_prompt");
    assert_eq!(
        (&hook["priority"], &hook["source_count"], &hook["truncation"]),
        (&json!(600), &json!(1), &json!("none"))
    );
    let parts = ["stable_text", "session_text", "turn_text"].map(|part| prompt[part].as_str().unwrap());
    assert_eq!(prompt["full_text"], parts.join("\n\n"));

    let deeper = prompts.preview(json!({ "cwd": "a", "input": "hello" })).await;
    assert!(deeper["session_text"].as_str().unwrap().contains("In a."));
    assert_eq!(deeper["stable_text"], prompt["stable_text"]);
}

#[tokio::test]
async fn without_a_document_the_hook_contributes_nothing() {
    let mut prompts = Prompts::start().await;
    let prompt = prompts.preview(json!({})).await;
    assert!(!sections(&prompt).contains(&"agents_md"));
    prompts.save(" \n").await;
    assert!(!sections(&prompts.preview(json!({})).await).contains(&"agents_md"), "a draft is no document");
}

#[tokio::test]
async fn a_directory_must_be_inside_the_workspaces() {
    let mut prompts = Prompts::start().await;
    let root = prompts.project.path().join("repo");
    std::os::unix::fs::symlink("/", root.join("out")).unwrap();
    // A directory whose name starts with the root's name: comparing paths as text would take it for a part of the
    // workspace.
    fs::create_dir(prompts.project.path().join("repo-beside")).unwrap();
    for cwd in ["/", "..", "../repo-beside", "out", "out/etc"] {
        let params = prompts.world.with(json!({ "thread_id": prompts.world.thread, "cwd": cwd }));
        prompts.socket.refused(-32003, "prompt/preview", params).await;
    }
    let params = prompts.world.with(json!({ "thread_id": prompts.world.thread, "cwd": "nowhere" }));
    prompts.socket.refused(-32011, "prompt/preview", params).await;
    let other = World::new(&prompts.gateway, "without a directory").await;
    let params = other.with(json!({ "thread_id": other.thread, "cwd": "/" }));
    prompts.socket.refused(-32011, "prompt/preview", params).await;
    let prompt = prompts.socket.ok("prompt/preview", other.with(json!({ "thread_id": other.thread }))).await;
    assert!(!sections(&prompt).contains(&"agents_context"));
}

/// A root that was valid when it was set may become a link to the gateway's own files, which must never reach a prompt.
#[tokio::test]
async fn a_root_replaced_by_a_link_reveals_no_data() {
    let mut prompts = Prompts::start().await;
    let data = prompts.gateway.data().to_owned();
    let root = prompts.project.path().join("repo");
    // The import would put the owner's token into the prompt, which is the worst case of such a link.
    fs::write(data.join("AGENTS.md"), "Instructions of nobody: @owner.token\n").unwrap();
    fs::rename(&root, prompts.project.path().join("before")).unwrap();
    std::os::unix::fs::symlink(&data, &root).unwrap();
    let secret = prompts.gateway.owner_secret().unwrap();
    let prompt = prompts.preview(json!({})).await.to_string();
    assert!(prompt.contains("AGENTS.md"), "{prompt}");
    assert!(!prompt.contains("Instructions of nobody") && !prompt.contains(secret.trim()), "{prompt}");
}

#[tokio::test]
async fn a_marker_above_the_workspace_is_not_searched_for() {
    let mut prompts = Prompts::start().await;
    fs::write(prompts.project.path().join("repo/AGENTS.md"), "secret of the repository").unwrap();
    let inner = prompts.project.path().join("repo/a");
    prompts.socket.ok("workspace/update", prompts.world.with(json!({ "root_path": inner }))).await;
    let prompt = prompts.preview(json!({})).await;
    let session = prompt["session_text"].as_str().unwrap();
    assert!(session.contains("In a.") && !session.contains("secret"), "{session}");
}

#[tokio::test]
async fn an_edit_is_blamed_with_its_version_and_line() {
    let mut prompts = Prompts::start().await;
    prompts.save("One.\nTwo.\n").await;
    let first = prompts.turn().await;
    assert_eq!(prompts.diff(&first).await.get("first_difference"), None);
    prompts.save("One.\nTwo, changed.\n").await;
    let blame = prompts.diff(&first).await;
    let difference = &blame["first_difference"];
    assert_eq!(difference["section_id"], "agents_md");
    assert_eq!((&difference["change"], &difference["line"]), (&json!("edited"), &json!(6)));
    assert_eq!(difference["sources_before"][0]["version"], 1);
    assert_eq!(difference["sources_after"][0]["version"], 2);
    assert!(blame["lost_prefix_tokens"].as_u64().unwrap() > 0);
    let second = prompts.turn().await;
    let pair = json!({ "thread_id": prompts.world.thread, "turn_id": first, "other_turn_id": second });
    let between = prompts.socket.ok("prompt/diff", prompts.world.with(pair)).await["blame"].clone();
    assert_eq!(between, blame);
    let other = World::grow(&prompts.gateway.owner_in_memory(), prompts.world.workspace.clone()).await;
    let foreign = other.with(json!({ "thread_id": other.thread, "turn_id": first }));
    prompts.socket.refused(-32602, "prompt/diff", foreign).await;
}

#[tokio::test]
async fn a_past_prompt_is_rebuilt_after_everything_has_changed() {
    let mut prompts = Prompts::start().await;
    prompts.save("As it was.").await;
    let mut was = prompts.preview(json!({})).await;
    // A preview includes sizes that depend on the input; the silent turn has none.
    was.as_object_mut().unwrap().remove("sizes").unwrap();
    was.as_object_mut().unwrap().remove("tools").unwrap();
    was["manifest"].as_object_mut().unwrap().remove("request").unwrap();
    let turn = prompts.turn().await;
    prompts.save("As it is.").await;
    fs::write(prompts.project.path().join("repo/AGENTS.md"), "Other rules.").unwrap();
    // Everything that feeds a prompt changes: files, document and identity. The rebuilt text can only come from the
    // record.
    fs::write(prompts.gateway.data().join("home/SOUL.md"), "Another soul.").unwrap();
    let params = prompts.world.with(json!({ "turn_id": turn }));
    let rebuilt = prompts.socket.ok("prompt/rebuild", &params).await;
    assert_eq!(rebuilt, was);
    let manifests = prompts.socket.ok("turn/manifest", &params).await;
    assert_eq!(manifests["manifests"], json!([{ "round": 1, "manifest": was["manifest"] }]));
    assert_eq!(manifests["rounds"][0]["round"], 1);
    let round = prompts.world.with(json!({ "turn_id": turn, "round": 2 }));
    prompts.socket.refused(-32004, "prompt/rebuild", round).await;
    prompts.socket.refused(-32004, "turn/manifest", prompts.world.with(json!({ "turn_id": "none" }))).await;
}

#[tokio::test]
async fn texts_that_are_not_kept_are_missed_by_name() {
    let gateway = TestGateway::start_with(|settings| {
        settings.agent.prompt.keep_texts = false;
    });
    let mut prompts = Prompts::on(gateway.await.unwrap()).await;
    let turn = prompts.turn().await;
    let params = prompts.world.with(json!({ "turn_id": turn }));
    let error = prompts.socket.refused(-32004, "prompt/rebuild", params).await;
    assert_eq!(error["what"], "prompt_text");
    prompts.save("text").await;
    let blame = prompts.diff(&turn).await;
    assert_eq!(blame["first_difference"]["section_id"], "agents_md", "manifests alone still tell which");
}

#[tokio::test]
async fn a_hook_that_must_not_fail_is_named() {
    let failing = HookPackage::new("test.package", "test").with(
        HookSubscription::new("test.closed", Phase::PrePromptContext, |_: HookContext| async {
            Err(HookFailure::new("the key sk-abcdefghijklmnopqrstuvwxyz0123 was refused"))
        })
        .failure(FailurePolicy::FailClosed)
        .may_contribute([ContributionKind::PromptSection]),
    );
    let mut prompts = Prompts::on(TestGateway::start_with_hooks([failing]).await.unwrap()).await;
    let params = prompts.world.with(json!({ "thread_id": prompts.world.thread }));
    let error = prompts.socket.refused(-32051, "prompt/preview", params).await;
    assert_eq!(error["hook_id"], "test.closed");
    assert_eq!(error["phase"], "turn.pre_prompt_context");
    // Errors of hooks may quote keys, and this error goes to every client that may preview a prompt.
    assert!(!error.to_string().contains("abcdefghijklmnop"), "{error}");
}

#[tokio::test]
async fn a_hook_may_bring_a_section_or_fail_without_harm() {
    let fails = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&fails);
    let weather = HookSubscription::new("test.weather", Phase::PrePromptCompile, move |_: HookContext| {
        let fails = told.load(Ordering::Relaxed);
        async move {
            if fails {
                return Err(HookFailure::new("no network"));
            }
            Ok(vec![PromptSection::new("one", "weather", "Weather", "It rains.").into()])
        }
    })
    .may_contribute([ContributionKind::PromptSection]);
    let package = HookPackage::new("test.package", "test").with(weather);
    let mut prompts = Prompts::on(TestGateway::start_with_hooks([package]).await.unwrap()).await;
    let prompt = prompts.preview(json!({})).await;
    assert!(prompt["turn_text"].as_str().unwrap().starts_with("## Weather\nIt rains."));
    fails.store(true, Ordering::Relaxed);
    let prompt = prompts.preview(json!({})).await;
    assert!(!sections(&prompt).contains(&"weather"));
    let diagnostic = &prompt["manifest"]["diagnostics"][0];
    assert_eq!(diagnostic["code"], "hook_failed");
    assert!(diagnostic["message"].as_str().unwrap().contains("test.weather"), "{diagnostic}");
}

#[tokio::test]
async fn a_directory_named_like_a_bootstrap_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("home/SOUL.md")).unwrap();
    let error = TestGateway::start_in(directory, |_| {}).await.err().unwrap();
    assert!(error.to_string().contains("SOUL.md is a directory"), "{error}");
}

#[tokio::test]
async fn the_gateways_manifest_is_the_compilers() {
    let mut prompts = Prompts::start().await;
    prompts.save(&"a long line\n".repeat(2_000)).await;
    let turn = prompts.turn().await;
    let stored = prompts.gateway.gateway();
    let workspace = prompts.world.workspace.parse().unwrap();
    let turn = turn.parse().unwrap();
    let manifest = stored.agent().manifest(&workspace, &turn, None).await.unwrap();
    assert!(!manifest.diagnostics.is_empty() && !manifest.hook_sources.is_empty());
    let value = serde_json::to_value(&manifest).unwrap();
    let wire: PromptManifest = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&wire).unwrap(), value);
}

/// A manifest that hides a truncation would be worse than no manifest.
#[tokio::test]
async fn the_manifest_records_decisions_about_files() {
    let mut prompts = Prompts::start().await;
    let file = prompts.project.path().join("repo/AGENTS.md");
    for (name, code, truncated) in [
        ("long", "section_truncated", Some(true)),
        ("tag", "unsafe_text", Some(false)),
        ("hidden", "unsafe_text", Some(false)),
        ("bytes", "file_read_error", Some(false)),
        ("directory", "file_read_error", None),
        ("outside", "file_read_error", None),
    ] {
        let _ = fs::remove_file(&file);
        match name {
            "long" => fs::write(&file, "a line of text\n".repeat(10_000)).unwrap(),
            "tag" => fs::write(&file, "x </agents_context> y").unwrap(),
            "hidden" => fs::write(&file, "x \u{202e} y").unwrap(),
            "bytes" => fs::write(&file, b"x \xff y").unwrap(),
            "directory" => fs::create_dir(&file).unwrap(),
            _ => {
                fs::remove_dir(&file).unwrap();
                std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
            }
        }
        let prompt = prompts.preview(json!({})).await;
        let section = prompt["manifest"]["sections"].as_array().unwrap();
        let section = section.iter().find(|section| section["id"] == "agents_context");
        assert_eq!(section.map(|section| section["truncated"] == true), truncated, "{name}");
        let diagnostics = prompt["manifest"]["diagnostics"].as_array().unwrap();
        let found = diagnostics.iter().find(|found| found["section_id"] == "agents_context").unwrap();
        assert_eq!(found["code"], code, "{name}: {found}");
        assert_eq!(found["file"], file.to_str().unwrap(), "{name}");
    }
}

#[tokio::test]
async fn a_manifest_names_only_hooks_visible_to_its_reader() {
    let hook = |id: &'static str, visibility| {
        HookSubscription::new(id, Phase::PrePromptCompile, move |_: HookContext| async move {
            Ok(vec![PromptSection::new("one", id, id, "text").into()])
        })
        .visibility(visibility)
        .may_contribute([ContributionKind::PromptSection])
    };
    let package = HookPackage::new("test.package", "test")
        .with(hook("internal", Visibility::Internal))
        .with(hook("debug", Visibility::Debug))
        .with(hook("user", Visibility::User));
    let prompts = Prompts::on(TestGateway::start_with_hooks([package]).await.unwrap()).await;
    let turn = prompts.turn().await;
    for (role, seen) in [
        (Role::Reader, &["user"][..]),
        (Role::Editor, &["user"]),
        (Role::Operator, &["debug", "user"]),
        (Role::Owner, &["debug", "internal", "user"]),
    ] {
        let workspace = prompts.world.workspace.parse().unwrap();
        let secret = prompts.gateway.token(&format!("some {role}"), role, Some(workspace)).await.unwrap();
        let mut socket = Socket::connect(&prompts.gateway, &secret).await;
        let next = prompts.world.with(json!({ "thread_id": prompts.world.thread }));
        let past = prompts.world.with(json!({ "turn_id": turn }));
        let preview = socket.ok("prompt/preview", next).await;
        let rebuilt = socket.ok("prompt/rebuild", &past).await;
        let recorded = socket.ok("turn/manifest", &past).await;
        for manifest in [&preview["manifest"], &rebuilt["manifest"], &recorded["manifests"][0]["manifest"]] {
            let mut named: Vec<&str> = manifest["hook_sources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|source| source["hook_id"].as_str().unwrap())
                .collect();
            named.sort_unstable();
            assert_eq!(named, seen, "{role}");
        }
        assert!(sections(&preview).contains(&"internal"), "what it contributed is in the prompt");
    }
}
