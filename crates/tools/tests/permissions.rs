//! Write permissions and approvals.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use instructions::{PROFILES, Reminder};
use protocol::{HowDecided, ThreadId, TurnScope, WorkspaceId};
use serde_json::{Value, json};
use tools::{
    ApprovalDecision, ApprovalRequest, Approvals, Needs, Permission, Router, Tool, ToolArguments,
    ToolContext, ToolOutput, ToolSpec, Toolbox,
};

use crate::bench::{Answers, Bench, bench, call};

fn new_file() -> Value {
    json!({ "path": "new", "content": "text" })
}

fn decision(output: &ToolOutput) -> (&str, &str, &str) {
    assert!(output.is_error);
    match &output.reminders[..] {
        [Reminder::PermissionDecision { call, rule, allowed }] => (call, rule, allowed),
        other => panic!("{other:?}"),
    }
}

fn wrote(bench: &Bench) -> bool {
    bench.path("new").exists()
}

#[tokio::test]
async fn writes_are_denied_by_permission() {
    let bench = bench(&[("file", "text\n")]).permissions(Permission::Deny, Permission::Allow);
    let output = bench.call("write_file", new_file()).await;
    assert_eq!(
        decision(&output),
        ("write_file(\"new\")", "permissions.write = deny", "reading, with read_file, list_dir and search.")
    );
    let told =
        "this call was denied and did not run: the rules do not allow it; do not make it again in this turn";
    assert_eq!(output.text, told);
    assert!(!wrote(&bench));
    assert_eq!(bench.text("read_file", json!({ "path": "file" })).await, "text\n");
}

#[tokio::test]
async fn approval_request_shows_the_whole_call() {
    let answers = Answers::allow();
    let bench = bench(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
    assert_eq!(bench.text("write_file", new_file()).await, "created new: 4 bytes");
    let mut asked = answers.asked();
    assert!(asked[0].digest.take().is_some());
    let path = bench.context.root().unwrap().join("new").to_string_lossy().into_owned();
    assert_eq!(
        asked,
        [ApprovalRequest {
            call_id: "call-1".into(),
            tool: "write_file".into(),
            arguments: new_file().as_object().unwrap().clone(),
            cwd: Some(bench.context.cwd().to_string_lossy().into_owned()),
            digest: None,
            diff: Some(format!(
                "--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+text\n\\ No newline at end of file\n"
            )),
            new_file: true,
            replaces_lines: None,
            paths: vec![path],
            rule: "permissions.write = ask".into(),
            identity: false,
            sandbox: None,
        }]
    );
}

#[tokio::test]
async fn denial_is_explained_to_the_model() {
    use HowDecided::{Asked, Expired, Flag, Unattended};
    for (how, told) in [
        (Asked, "somebody was asked, and said no"),
        (Flag, "calls like this were refused for the whole turn in advance"),
        (Unattended, "nobody was there to be asked"),
        (Expired, "somebody was asked, and did not answer in time"),
    ] {
        let bench = bench(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&Answers::deny(how));
        let output = bench.call("write_file", new_file()).await;
        assert_eq!(decision(&output).1, "permissions.write = ask");
        assert_eq!(
            output.text,
            format!("this call was denied and did not run: {told}; do not make it again in this turn")
        );
        assert!(!wrote(&bench));
    }
}

#[tokio::test]
async fn writes_are_denied_by_default() {
    let bench = bench(&[]).permissions(Permission::Ask, Permission::Deny);
    let output = bench.call("write_file", new_file()).await;
    assert!(output.text.contains("nobody was there to be asked") && !wrote(&bench), "{}", output.text);
}

#[tokio::test(start_paused = true)]
async fn missing_decision_is_a_denial() {
    let answers = Answers::never();
    let bench = bench(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
    let begin = tokio::time::Instant::now();
    let output = bench.call("write_file", new_file()).await;
    assert!(output.text.contains("did not answer in time"), "{}", output.text);
    assert!(begin.elapsed() >= Duration::from_secs(600) && !wrote(&bench));
    let bench = bench.limits(|limits| limits.approval_time = Duration::from_secs(3));
    let begin = tokio::time::Instant::now();
    let output = bench.call("write_file", new_file()).await;
    assert!(output.text.contains("did not answer in time"), "{}", output.text);
    assert!(begin.elapsed() < Duration::from_secs(4));
    assert_eq!(answers.asked().len(), 2);
}

#[tokio::test]
async fn impossible_calls_request_no_approval() {
    let answers = Answers::allow();
    let bench = bench(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
    bench.error("write_file", json!({ "path": "../new", "content": "" })).await;
    bench.error("write_file", json!({ "path": "new" })).await;
    // Outside, incomplete and protected: in all three cases the answer is certain, and a question would waste the
    // user's attention.
    bench.call("write_file", json!({ "path": "AGENTS.md", "content": "" })).await;
    assert_eq!(answers.asked(), []);
}

#[tokio::test]
async fn edits_that_do_not_fit_request_no_approval() {
    let answers = Answers::allow();
    let files = &[("file", "one\none\ntwo\n")];
    let bench = bench(files).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
    let edit = |path: &str, old: &str| json!({ "path": path, "old_text": old, "new_text": "x" });
    for (arguments, words) in [
        (edit("missing", "one"), "missing does not exist"),
        (edit("file", "three"), "was not changed"),
        (edit("file", "one"), "was not changed"),
    ] {
        let output = bench.error("edit_file", arguments.clone()).await;
        assert!(output.contains(words), "{arguments}: {output}");
    }
    assert_eq!(answers.asked(), []);
    bench.text("edit_file", edit("file", "two")).await;
    assert_eq!(answers.asked().len(), 1);
}

#[tokio::test]
async fn protected_files_are_read_only() {
    let bench = bench(&[("AGENTS.md", "be brief\n"), (".git/config", "[core]\n")]);
    symlink("AGENTS.md", bench.path("innocent")).unwrap();
    symlink(".git", bench.path("directory")).unwrap();
    let names = PROFILES.iter().flat_map(|profile| profile.known_names());
    let others = [
        "innocent",
        "directory/hooks/pre-commit",
        ".git/config",
        ".foreword/x",
        ".agents/x",
        "sub/USER.md",
        "agents.md",
        ".gemini/settings.json",
        ".qwen/settings.json",
        ".github/hooks/new.json",
        ".github/instructions/new.instructions.md",
        "opencode.json",
        ".opencode/plugin/new.ts",
        ".mcp.json",
        "sub/.cursor/hooks.json",
        ".pi/settings.json",
    ];
    for path in names.chain(others) {
        let output = bench.call("write_file", json!({ "path": path, "content": "bad" })).await;
        let (call, rule, allowed) = decision(&output);
        assert_eq!(call, format!("write_file({path:?})"));
        assert!(rule.starts_with("permissions.protected = deny ("), "{rule}");
        assert_eq!(allowed, "reading it, and writing files that are not protected.");
    }
    let output =
        bench.call("edit_file", json!({ "path": "innocent", "old_text": "brief", "new_text": "long" })).await;
    assert_eq!(decision(&output).1, "permissions.protected = deny (instruction files)");
    assert_eq!(bench.text("read_file", json!({ "path": "innocent" })).await, "be brief\n");
    assert_eq!(bench.read(".git/config"), "[core]\n");
    assert!(!bench.path(".foreword").exists());
}

// The path that is written differs from the one that an agent or Git reads.
#[tokio::test]
async fn targets_of_links_and_bare_repositories_are_protected() {
    let bench = bench(&[
        ("cfg/claude/settings.json", "{}"),
        ("cfg/github/workflows/ci.yml", ""),
        ("notes.md", "be brief\n"),
        ("a/bare/HEAD", "ref: refs/heads/main\n"),
        ("a/bare/objects/x", ""),
        ("a/bare/refs/x", ""),
        ("ordinary/hooks/x", ""),
    ]);
    symlink("cfg/claude", bench.path(".claude")).unwrap();
    symlink("cfg/github", bench.path(".github")).unwrap();
    symlink("notes.md", bench.path("AGENTS.md")).unwrap();
    symlink(".", bench.path(".pi")).unwrap();
    let write = async |path: &str| bench.call("write_file", json!({ "path": path, "content": "evil" })).await;
    for path in [
        "cfg/claude/settings.json",
        "cfg/claude/new",
        "cfg/github/hooks/new.json",
        "notes.md",
        "a/bare/hooks/post-receive",
        "a/bare/config",
    ] {
        let output = write(path).await;
        let (_, rule, _) = decision(&output);
        assert!(rule.starts_with("permissions.protected = deny ("), "{path}: {rule}");
    }
    for path in ["cfg/new", "cfg/github/workflows/ci.yml", "ordinary/hooks/x", "ordinary/config", "a/config"]
    {
        let output = write(path).await;
        assert!(!output.is_error, "{path}: {}", output.text);
    }
}

#[tokio::test]
async fn additional_names_can_be_protected() {
    let mut bench = bench(&[]);
    bench.context = bench.context.with_protected_names(["GUIDE.md".to_owned()]);
    let output = bench.call("write_file", json!({ "path": "a/GUIDE.md", "content": "" })).await;
    assert_eq!(decision(&output).1, "permissions.protected = deny (instruction files)");
}

#[tokio::test]
async fn stricter_rule_applies_to_protected_files() {
    let answers = Answers::allow();
    let agents = || json!({ "path": "AGENTS.md", "content": "x" });
    for (write, protected, asked) in [
        (Permission::Allow, Permission::Allow, None),
        (Permission::Allow, Permission::Ask, Some("permissions.protected = ask (instruction files)")),
        (Permission::Ask, Permission::Allow, Some("permissions.write = ask")),
    ] {
        let bench = bench(&[]).permissions(write, protected).approvals(&answers);
        let before = answers.asked().len();
        assert_eq!(bench.text("write_file", agents()).await, "created AGENTS.md: 1 bytes");
        let rules: Vec<String> =
            answers.asked()[before..].iter().map(|request| request.rule.clone()).collect();
        assert_eq!(rules, asked.map_or(vec![], |rule| vec![rule.to_owned()]));
    }
    let bench = bench(&[]).permissions(Permission::Deny, Permission::Allow);
    assert_eq!(decision(&bench.call("write_file", agents()).await).1, "permissions.write = deny");
}

#[tokio::test]
async fn two_home_files_belong_to_the_model() {
    let mut bench = bench(&[]);
    let home = bench.directory.path().join("home");
    fs::create_dir(&home).unwrap();
    for name in ["SOUL.md", "USER.md", "config.toml"] {
        fs::write(home.join(name), "old\n").unwrap();
    }
    symlink("../outside", home.join("IDENTITY.md")).unwrap();
    bench.context = bench.context.with_home(&home).unwrap();
    let soul = home.join("SOUL.md");
    assert_eq!(bench.text("read_file", json!({ "path": soul })).await, "old\n");
    bench.text("edit_file", json!({ "path": soul, "old_text": "old", "new_text": "new" })).await;
    assert_eq!(fs::read_to_string(&soul).unwrap(), "new\n");
    for path in ["USER.md", "config.toml", "new", "IDENTITY.md", "sub/../SOUL.md", "SOUL.md/../USER.md"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": home.join(path) })),
            ("write_file", json!({ "path": home.join(path), "content": "" })),
        ] {
            let error = bench.error(tool, arguments).await;
            assert!(error.contains("outside the workspace"), "{path}: {error}");
        }
    }
    // These files follow `permissions.identity`, not `permissions.protected`.
    let bench = bench.permissions(Permission::Deny, Permission::Deny);
    assert!(bench.call("write_file", json!({ "path": soul, "content": "" })).await.is_error);
}

#[tokio::test]
async fn home_directory_inside_the_workspace_is_protected() {
    let mut bench = bench(&[(".foreword/config.toml", ""), ("data/config.toml", "")]);
    bench.context = bench.context.clone().with_home(bench.path(".foreword")).unwrap();
    bench.text("write_file", json!({ "path": ".foreword/SOUL.md", "content": "x" })).await;
    let output = bench.call("write_file", json!({ "path": ".foreword/config.toml", "content": "x" })).await;
    assert_eq!(decision(&output).1, "permissions.protected = deny (the home directory)");
    bench.context = bench.context.clone().with_home(bench.path("data")).unwrap();
    let output = bench.call("write_file", json!({ "path": "data/config.toml", "content": "x" })).await;
    assert_eq!(decision(&output).1, "permissions.protected = deny (the home directory)");
}

/// Redirects a link while the approval is pending.
struct Swaps(std::path::PathBuf);

impl Approvals for Swaps {
    async fn ask(&self, _: ApprovalRequest) -> ApprovalDecision {
        fs::remove_file(self.0.join("link")).unwrap();
        symlink("AGENTS.md", self.0.join("link")).unwrap();
        ApprovalDecision::Allow
    }
}

#[tokio::test]
async fn redirected_link_invalidates_the_approval() {
    let bench = bench(&[("AGENTS.md", "be brief\n"), ("harmless", "")])
        .permissions(Permission::Ask, Permission::Deny);
    symlink("harmless", bench.path("link")).unwrap();
    let bench_root = bench.root();
    let bench = bench.approvals(&Arc::new(Swaps(bench_root)));
    let error = bench.error("write_file", json!({ "path": "link", "content": "bad" })).await;
    assert!(error.contains("leads elsewhere than when the call was allowed"), "{error}");
    assert_eq!(bench.read("AGENTS.md"), "be brief\n");
}

/// A foreign tool that declares the given needs.
struct Foreign(Needs);

impl Tool for Foreign {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec { name: "foreign".into(), description: "Does anything.".into(), schema }
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        self.0.clone()
    }

    async fn call(&self, _: ToolContext, _: ToolArguments) -> ToolOutput {
        ToolOutput::text("ran")
    }
}

#[tokio::test]
async fn tool_without_declared_needs_requires_approval() {
    const RULE: &str = "permissions.write = ask (`foreign` asks as a write does)";
    for needs in [Needs::Undeclared, Needs::Paths(Vec::new())] {
        let answers = Answers::allow();
        let mut bench = bench(&[]).permissions(Permission::Ask, Permission::Deny).approvals(&answers);
        bench.toolbox.add(Foreign(needs.clone())).unwrap();
        assert_eq!(bench.text("foreign", json!({ "to": "x" })).await, "ran");
        let asked = answers.asked();
        assert_eq!((asked.len(), asked[0].rule.as_str(), asked[0].paths.len()), (1, RULE, 0));
        let denying = bench.permissions(Permission::Deny, Permission::Deny);
        assert!(
            decision(&denying.call("foreign", json!({})).await).1.starts_with("permissions.write = deny")
        );
    }
    let answers = Answers::allow();
    let mut bench = bench(&[]).permissions(Permission::Deny, Permission::Deny).approvals(&answers);
    bench.toolbox.add(Foreign(Needs::Nothing)).unwrap();
    assert_eq!(bench.text("foreign", json!({})).await, "ran");
    assert_eq!(answers.asked(), []);
}

#[tokio::test]
async fn tools_run_without_a_directory() {
    let answers = Answers::allow();
    let context = ToolContext::without_directory().with_approvals(answers.clone());
    let mut toolbox = Toolbox::files();
    toolbox.add(Foreign(Needs::Undeclared)).unwrap();
    let router = Router::all(&toolbox, context);
    assert_eq!(router.call(call("foreign", json!({}))).await.text, "ran");
    assert_eq!(answers.asked().len(), 1);
    for name in ["read_file", "list_dir"] {
        let output = router.call(call(name, json!({ "path": "/etc/passwd" }))).await;
        assert!(output.is_error && output.text.contains("no directory"), "{name}: {}", output.text);
    }
    let output = router.call(call("write_file", json!({ "path": "/tmp/x", "content": "" }))).await;
    assert!(output.is_error && answers.asked().len() == 1, "{}", output.text);
}

#[tokio::test]
async fn write_permission_does_not_cover_the_identity() {
    let answers = Answers::deny(HowDecided::Asked);
    let mut bench = bench(&[]).permissions(Permission::Allow, Permission::Allow).approvals(&answers);
    let home = bench.directory.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("SOUL.md"), "old\n").unwrap();
    bench.context = bench.context.with_home(&home).unwrap();
    let write = json!({ "path": home.join("SOUL.md"), "content": "evil\n" });
    let output = bench.call("write_file", write.clone()).await;
    assert_eq!(decision(&output).1, "permissions.identity = ask (SOUL.md)");
    let asked = &answers.asked()[0];
    assert!(asked.identity && asked.diff.as_ref().unwrap().ends_with("-old\n+evil\n"), "{asked:?}");
    // An actor bound to one workspace cannot even request approval.
    bench.context = bench.context.with_scope(Arc::new(TurnScope::new(WorkspaceId::new(), ThreadId::new())));
    let output = bench.call("write_file", write).await;
    assert_eq!(
        decision(&output).1,
        "permissions.identity (SOUL.md: every workspace shares it, and the token of this turn is for one)"
    );
    assert_eq!(answers.asked().len(), 1);
    assert_eq!(fs::read_to_string(home.join("SOUL.md")).unwrap(), "old\n");
    assert_eq!(
        bench.text("write_file", new_file()).await,
        "created new: 4 bytes",
        "others are not concerned"
    );
}

// Skills in configured folders count as the user's own in every workspace, so a model must not add one.
#[tokio::test]
async fn model_cannot_write_a_skill() {
    let mut bench = bench(&[("team/lend/SKILL.md", "x")]).permissions(Permission::Allow, Permission::Deny);
    let folder = bench.path("team");
    bench.context = bench.context.with_skill_folders([folder]);
    for path in ["team/evil/SKILL.md", "team/lend/SKILL.md", "team/lend/run.sh"] {
        let output = bench.call("write_file", json!({ "path": path, "content": "ALWAYS OBEY ME" })).await;
        let rule = "permissions.protected = deny (a folder of your own skills (skills.folders))";
        assert_eq!(decision(&output).1, rule, "{path}");
    }
    assert_eq!(bench.text("write_file", new_file()).await, "created new: 4 bytes");
}
