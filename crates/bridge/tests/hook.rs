//! Text that an agent's hook delivers to its model.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::path::{Path, PathBuf};

use bridge::Connected;
use bridge::hook::{Hook, HookError, answer};
use instructions::{FileSettings, HomeDirectories};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Project {
    _directory: TempDir,
    root: PathBuf,
    agent: &'static Connected,
}

impl Project {
    fn new(agent: &str, files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let project =
            Self { _directory: directory, root: base.join("repo"), agent: Connected::find(agent).unwrap() };
        project.write(".git/HEAD", "ref: refs/heads/main\n");
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn sessions(&self) -> PathBuf {
        self.root.with_file_name("sessions")
    }

    fn raw(&self, input: &[u8]) -> Result<String, HookError> {
        self.raw_with(input, &|_| None)
    }

    fn raw_with(&self, input: &[u8], variable: &dyn Fn(&str) -> Option<String>) -> Result<String, HookError> {
        let home = self.root.with_file_name("home");
        let homes = HomeDirectories::find(Some(home), |_| None);
        let rules = FileSettings { homes, ..FileSettings::default() };
        let hook =
            Hook { agent: self.agent, rules: &rules, sessions: &self.sessions(), cwd: &self.root, variable };
        let mut output = Vec::new();
        answer(&hook, input, &mut output)?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[track_caller]
    fn send(&self, mut input: Value) -> Value {
        let fields = input.as_object_mut().unwrap();
        fields.entry("session_id").or_insert("one".into());
        fields.entry("cwd").or_insert(self.root.to_str().unwrap().into());
        let output = self.raw(input.to_string().as_bytes()).unwrap();
        if output.is_empty() { Value::Null } else { serde_json::from_str(&output).unwrap() }
    }

    /// Returns the text delivered after a tool call; empty if nothing was delivered.
    #[track_caller]
    fn after(&self, tool: &str, input: Value) -> String {
        let answer =
            self.send(json!({ "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input }));
        let text = &answer["hookSpecificOutput"]["additionalContext"];
        text.as_str().or_else(|| answer["additionalContext"].as_str()).unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn reading(&self, name: &str) -> String {
        self.after("Read", json!({ "file_path": self.root.join(name) }))
    }

    fn event(&self, name: &str, source: &str) -> String {
        let answer = self.send(json!({ "hook_event_name": name, "source": source }));
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }
}

const TREE: &[(&str, &str)] = &[
    // Because of this file Claude Code loads no AGENTS.md on its own, except the one it imports.
    ("CLAUDE.md", "@AGENTS.md\n"),
    ("AGENTS.md", "ROOT RULES\n"),
    ("sub/AGENTS.md", "SUB RULES\n"),
    ("sub/deep/AGENTS.md", "DEEP RULES\n"),
    ("sub/deep/x.rs", ""),
    ("other/y.rs", ""),
];

#[test]
fn nested_files_come_once_and_in_their_order() {
    let project = Project::new("claude-code", TREE);
    let text = project.reading("sub/deep/x.rs");
    assert!(text.starts_with("<system-reminder type=\"agents.resolve.paths\">\n"), "{text}");
    assert!(text.find("SUB RULES").unwrap() < text.find("DEEP RULES").unwrap(), "{text}");
    assert!(!text.contains("ROOT RULES"), "the agent has it from its start: {text}");
    assert_eq!(project.reading("sub/deep/x.rs"), "");
    assert_eq!(project.reading("other/y.rs"), "");
}

#[test]
fn the_answer_names_its_event() {
    let project = Project::new("claude-code", TREE);
    let answer = project.send(json!({
        "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": { "command": "cat sub/deep/x.rs" },
        "tool_response": { "stdout": "" }, "tool_use_id": "t", "permission_mode": "default", "new_in_version_99": [1],
    }));
    let fields: Vec<_> = answer.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["hookSpecificOutput"]);
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PostToolUse");
    assert!(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("DEEP RULES"));
}

#[test]
fn unloaded_files_come_at_the_start() {
    let project = Project::new("claude-code", TREE);
    project.write("CLAUDE.md", "Only this.\n");
    assert!(project.event("SessionStart", "startup").contains("ROOT RULES"));
    assert!(!project.reading("sub/deep/x.rs").contains("ROOT RULES"));
    let project = Project::new("claude-code", &TREE[1..]);
    assert_eq!(project.event("SessionStart", "startup"), "", "without a CLAUDE.md it reads AGENTS.md");
    assert_eq!(project.reading("sub/deep/x.rs"), "", "further down, too");
}

#[test]
fn only_old_sessions_are_removed_and_nothing_through_a_link() {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(90 * 24 * 60 * 60);
    let write_old = |path: PathBuf| {
        let file = std::fs::File::create(path).unwrap();
        file.set_modified(long_ago).unwrap();
    };
    let session = format!("{}.json", "0".repeat(64));
    for is_linked in [false, true] {
        let project = Project::new("claude-code", TREE);
        let sessions = project.sessions();
        let victim = project.root.join("victim");
        std::fs::create_dir(&victim).unwrap();
        if is_linked {
            std::os::unix::fs::symlink(&victim, &sessions).unwrap();
        } else {
            std::fs::create_dir_all(&sessions).unwrap();
        }
        // A name like ours, in a directory reached through a link, may belong to another program.
        write_old(sessions.join("passwd"));
        write_old(sessions.join(&session));
        project.reading("sub/deep/x.rs");
        assert!(sessions.join("passwd").exists(), "it is none of ours");
        assert_eq!(sessions.join(&session).exists(), is_linked);
    }
}

#[test]
fn identical_text_under_another_name_is_not_repeated() {
    let imported = [("CLAUDE.md", "@AGENTS.md\n"), ("AGENTS.md", "ROOT RULES\n")];
    assert_eq!(Project::new("claude-code", &imported).event("SessionStart", "startup"), "");
    let copied = [("CLAUDE.md", "ROOT RULES\n"), ("AGENTS.md", "ROOT RULES\n")];
    assert_eq!(Project::new("claude-code", &copied).event("SessionStart", "startup"), "");
    let linked = Project::new("claude-code", &[("AGENTS.md", "ROOT RULES\n")]);
    std::os::unix::fs::symlink("AGENTS.md", linked.root.join("CLAUDE.md")).unwrap();
    assert_eq!(linked.event("SessionStart", "startup"), "");
}

#[test]
fn files_loaded_by_the_agent_are_not_repeated() {
    let project = Project::new("claude-code", TREE);
    project.write("sub/CLAUDE.md", "@AGENTS.md\n");
    let text = project.reading("sub/deep/x.rs");
    assert!(!text.contains("SUB RULES") && text.contains("DEEP RULES"), "{text}");
    // Claude Code does not notice what a shell reads, so it loads nothing for that.
    let project = Project::new("claude-code", TREE);
    project.write("sub/CLAUDE.md", "@AGENTS.md\n");
    let text = project.after("Bash", json!({ "command": "cat sub/deep/x.rs" }));
    assert!(text.contains("SUB RULES") && text.contains("DEEP RULES"), "{text}");
}

#[test]
fn a_read_file_is_not_repeated() {
    let project = Project::new("claude-code", TREE);
    assert_eq!(project.reading("sub/AGENTS.md"), "");
    let text = project.reading("sub/deep/x.rs");
    assert!(!text.contains("SUB RULES") && text.contains("DEEP RULES"), "{text}");
}

#[test]
fn changes_and_removals_are_announced() {
    let project = Project::new("claude-code", TREE);
    project.reading("sub/deep/x.rs");
    project.write("sub/AGENTS.md", "NEW SUB RULES\n");
    assert!(project.reading("sub/deep/x.rs").contains("NEW SUB RULES"));
    std::fs::remove_file(project.root.join("sub/AGENTS.md")).unwrap();
    assert!(project.reading("sub/deep/x.rs").contains("sub/AGENTS.md (deleted)"));
}

#[test]
fn every_session_is_announced() {
    let project = Project::new("claude-code", TREE);
    let tell = |session: &str, agent: Value| {
        let input = json!({ "command": "cat sub/deep/x.rs" });
        let answer = project.send(json!({
            "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": input, "session_id": session, "agent_id": agent,
        }));
        !answer.is_null()
    };
    assert!(tell("one", Value::Null));
    assert!(!tell("one", Value::Null));
    // The id is part of a file name, so it must not be able to lead out of the directory.
    assert!(tell("../../etc/passwd\n", Value::Null));
    assert!(tell("one", "sub-agent".into()), "it has a context of its own");
    let names: Vec<String> = std::fs::read_dir(project.sessions())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.len() == 64 + ".json".len()), "{names:?}");
}

#[test]
fn text_dropped_from_the_context_is_resent() {
    // After each of these events the model has lost the texts.
    for (event, source) in [("SessionStart", "compact"), ("SessionStart", "clear"), ("PreCompact", "")] {
        let project = Project::new("claude-code", TREE);
        assert!(project.reading("sub/deep/x.rs").contains("DEEP RULES"));
        project.event(event, source);
        assert!(project.reading("sub/deep/x.rs").contains("DEEP RULES"), "{event} {source}");
    }
    let project = Project::new("claude-code", TREE);
    project.reading("sub/deep/x.rs");
    project.event("SessionStart", "resume");
    assert_eq!(project.reading("sub/deep/x.rs"), "");
}

#[test]
fn long_files_are_named_within_the_agents_limit() {
    let project = Project::new("claude-code", &[("CLAUDE.md", "Its own.\n")]);
    let mut directory = String::new();
    // Eight files of 3,750 characters do not fit into the agent's limit together, so most of them are only named.
    for depth in 0..8 {
        directory.push_str(&format!("d{depth}/"));
        project.write(&format!("{directory}AGENTS.md"), &"a rule of this directory\n".repeat(150));
    }
    project.write(&format!("{directory}x.rs"), "");
    let text = project.reading(&format!("{directory}x.rs"));
    assert!(text.chars().count() <= 10_000, "{}", text.len());
    assert_eq!(text.matches("(mtime: ").count(), 8);
    assert!(text.contains("Read and apply the others"), "{text}");
}

#[test]
fn codex_gets_unloaded_files_by_its_own_trust() {
    let project = Project::new("codex", TREE);
    let patch = "*** Begin Patch\n*** Update File: sub/deep/x.rs\n@@\n-a\n+b\n*** End Patch";
    let text = project.after("apply_patch", json!({ "command": patch }));
    assert!(text.contains("DEEP RULES") && !text.contains("ROOT RULES"), "{text}");

    let project = Project::new("codex", TREE);
    // Codex keeps trust in its configuration and not in a list of folders.
    let config = format!("[projects.\"{}\"]\ntrust_level = \"untrusted\"\n", project.root.display());
    project.write("../home/.codex/config.toml", &config);
    assert_eq!(project.after("Bash", json!({ "command": "cat sub/deep/x.rs" })), "");
}

#[test]
fn codex_gets_what_its_limit_cuts() {
    let project = Project::new("codex", &[("AGENTS.md", &"x\n".repeat(20_000)), ("x.rs", "")]);
    let text = project.event("SessionStart", "startup");
    assert!(text.contains("repo/AGENTS.md (mtime: "), "{text}");
}

#[test]
fn gemini_gets_agents_files_unless_its_user_distrusts_the_folder() {
    let project = Project::new("gemini-cli", TREE);
    assert!(project.event("SessionStart", "startup").contains("ROOT RULES"));
    let input = json!({ "absolute_path": project.root.join("sub/deep/x.rs") });
    assert!(project.after("read_file", input.clone()).contains("DEEP RULES"));

    let project = Project::new("gemini-cli", TREE);
    let folders = json!({ project.root.to_str().unwrap(): "DO_NOT_TRUST" });
    project.write("../home/.gemini/trustedFolders.json", &folders.to_string());
    assert_eq!(project.event("SessionStart", "startup"), "");
    assert_eq!(project.after("read_file", input.clone()), "");
    // A broken list may contain a distrusted folder, so nothing may be delivered.
    project.write("../home/.gemini/trustedFolders.json", "{");
    let event = json!({ "hook_event_name": "SessionStart", "session_id": "s", "source": "startup" });
    let error = project.raw(event.to_string().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("cannot read trusted folders from"), "{error}");
}

#[test]
fn files_in_gemini_settings_are_not_repeated() {
    let project = Project::new("gemini-cli", TREE);
    project.write(".gemini/settings.json", r#"{"context": {"fileName": "AGENTS.md"}}"#);
    assert_eq!(project.event("SessionStart", "startup"), "");
    let input = json!({ "absolute_path": project.root.join("sub/deep/x.rs") });
    assert_eq!(project.after("read_file", input), "", "it brings those in by itself");
}

#[test]
fn copilot_is_answered_in_its_own_form() {
    let project = Project::new("copilot", TREE);
    project.write("sub/AGENTS.override.md", "OVERRIDING RULES\n");
    let arguments = json!({ "path": project.root.join("sub/deep/x.rs") }).to_string();
    let input = json!({ "sessionId": "s", "cwd": project.root, "toolName": "bash", "toolArgs": arguments, "toolResult": {} });
    let answer: Value = serde_json::from_str(&project.raw(input.to_string().as_bytes()).unwrap()).unwrap();
    assert!(answer["additionalContext"].as_str().unwrap().contains("OVERRIDING RULES"), "{answer}");
}

const GUARDED: &[(&str, &str)] = &[
    ("AGENTS.md", "- Use pnpm, never npm. <!-- guard: deny command \"npm *\" -->\n"),
    (
        "db/AGENTS.md",
        "Ask first.\n<!-- guard: ask write \"schema/**\" -->\n<!-- guard: deny read \"*.key\" -->\n",
    ),
    ("db/schema/users.sql", ""),
];

const RULE: &str = "denied by AGENTS.md:1: Use pnpm, never npm.";

#[test]
fn each_agent_is_denied_in_its_own_form() {
    for (agent, event, tool, expected) in [
        ("claude-code", "PreToolUse", "Bash", "/hookSpecificOutput/permissionDecisionReason"),
        ("codex", "PreToolUse", "Bash", "/hookSpecificOutput/permissionDecisionReason"),
        ("qwen-code", "PreToolUse", "run_shell_command", "/hookSpecificOutput/permissionDecisionReason"),
        ("gemini-cli", "BeforeTool", "run_shell_command", "/reason"),
        ("copilot", "preToolUse", "bash", "/permissionDecisionReason"),
    ] {
        let project = Project::new(agent, GUARDED);
        let call = |command: &str| {
            let input = json!({ "command": command });
            project.send(json!({ "hook_event_name": event, "tool_name": tool, "tool_input": input }))
        };
        let answer = call("cd web && sudo npm install");
        assert_eq!(answer.pointer(expected), Some(&json!(RULE)), "{agent}: {answer}");
        assert!(answer.to_string().contains("\"deny\""), "{agent}: {answer}");
        assert_eq!(call("pnpm install"), Value::Null, "{agent}");
    }
}

#[test]
fn guards_beside_a_file_hold_for_it() {
    let project = Project::new("claude-code", GUARDED);
    let call = |tool: &str, path: &str| {
        let input = json!({ "file_path": project.root.join(path), "content": "x" });
        let event = json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input });
        let answer = project.send(event);
        answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(call("Write", "db/schema/new/a.sql"), "ask");
    assert_eq!(call("Read", "db/schema/users.sql"), "");
    assert_eq!(call("Read", "db/a.key"), "deny");
    assert_eq!(call("Read", "a.key"), "");
    let project = Project::new("codex", GUARDED);
    let patch = "*** Begin Patch\n*** Update File: db/schema/users.sql\n@@\n+x\n*** End Patch";
    let event = json!({ "hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": { "command": patch } });
    let answer = project.send(event);
    let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("ask the user") && answer.to_string().contains("\"deny\""), "{answer}");
}

/// Copilot runs the hooks of a project's `.claude/settings.json`, too.
#[test]
fn borrowed_hooks_supply_unloaded_files() {
    let project = Project::new("claude-code", TREE);
    project.write("sub/AGENTS.override.md", "OVERRIDING RULES\n");
    let input = json!({
        "hook_event_name": "PostToolUse", "session_id": "one", "cwd": project.root, "tool_name": "Read",
        "tool_input": { "path": project.root.join("sub/deep/x.rs") },
    });
    let variable = |name: &str| (name == "COPILOT_CLI").then(|| "1".to_owned());
    let told = project.raw_with(input.to_string().as_bytes(), &variable).unwrap();
    assert!(told.contains("OVERRIDING RULES") && !told.contains("DEEP RULES"), "{told}");
}

#[test]
fn bad_input_is_an_error_and_never_a_panic() {
    let project = Project::new("claude-code", TREE);
    for input in ["", "not json", "[1]", "{\"a\":", "\u{0}"] {
        assert!(matches!(project.raw(input.as_bytes()), Err(HookError::Input { .. })), "{input:?}");
    }
    let gone = json!({ "hook_event_name": "SessionStart", "source": "startup", "cwd": "/nonexistent/x" });
    assert!(matches!(project.raw(gone.to_string().as_bytes()), Err(HookError::Resolve(_))));
    assert_eq!(project.raw(b"{\"hook_event_name\":\"Stop\"}").unwrap(), "");
    // Paths that do not exist, never end or lead outside must neither crash nor stall the agent.
    for path in ["", "/", "\0", "../../../..", "sub/\nname\"'", "/dev/zero", "/proc/self/mem"] {
        project.after("Read", json!({ "file_path": path }));
    }
    // Other versions may send other events, types and keys. Everything that can still be understood must be used.
    for (input, is_told) in [
        (json!({ "hook_event_name": "BeforeEverything", "version": 99 }), false),
        (json!({ "hook_event_name": 7, "tool_name": "Bash", "tool_input": { "command": "ls sub" } }), true),
        (json!({ "event": { "name": "PostToolUse" }, "payload": [] }), false),
        (
            json!({ "hook_event_name": "PostToolUse", "tool_name": ["Bash"], "tool_input": 5, "session_id": 1 }),
            false,
        ),
        (
            json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": null, "cwd": 3 }),
            false,
        ),
        (
            json!({
                "hook_event_name": "PostToolUse", "schema": "v9", "session_id": "new", "cwd": project.root,
                "tool_name": "Bash", "tool_input": { "command": "ls sub", "options": [{}] }, "extra": { "a": [1] },
            }),
            true,
        ),
    ] {
        let told = project.raw(input.to_string().as_bytes());
        assert_eq!(told.is_ok_and(|told| told.contains("RULES")), is_told, "{input}");
    }
    let opencode = Project::new("opencode", TREE);
    assert!(matches!(opencode.raw(b"{}"), Err(HookError::NoHooks { .. })));
}

#[test]
fn a_broken_session_is_begun_anew() {
    let project = Project::new("claude-code", TREE);
    project.reading("sub/deep/x.rs");
    let session = std::fs::read_dir(project.sessions()).unwrap().next().unwrap().unwrap().path();
    // Killed while writing, damaged, or written by another version: the agent must go on with a new session.
    for broken in ["", "{", "{\"schema\": 99}"] {
        std::fs::write(&session, broken).unwrap();
        assert!(project.reading("sub/deep/x.rs").contains("DEEP RULES"));
    }
}

#[test]
fn undelivered_text_is_resent() {
    // The agent may end while the hook runs. Text that it did not read must not be recorded as delivered.
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let project = Project::new("claude-code", TREE);
    let rules = FileSettings::default();
    let hook = Hook {
        agent: project.agent,
        rules: &rules,
        sessions: &project.sessions(),
        cwd: &project.root,
        variable: &|_| None,
    };
    let input = json!({
        "hook_event_name": "PostToolUse", "session_id": "one", "cwd": project.root, "tool_name": "Bash",
        "tool_input": { "command": "cat sub/deep/x.rs" },
    });
    assert!(matches!(answer(&hook, input.to_string().as_bytes(), &mut Closed), Err(HookError::Answer(_))));
    assert!(project.after("Bash", json!({ "command": "cat sub/deep/x.rs" })).contains("DEEP RULES"));
}

#[test]
fn concurrent_hooks_deliver_each_file_once() {
    let project = Project::new("claude-code", TREE);
    // Agents run tools in parallel. Without the session's lock several hooks would deliver the same file.
    let told: usize = std::thread::scope(|scope| {
        let tell =
            || project.after("Bash", json!({ "command": "cat sub/deep/x.rs" })).matches("DEEP RULES").count();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(tell)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(told, 1);
    assert!(Path::new(&project.sessions()).is_dir());
}
