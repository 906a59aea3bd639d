//! `foreword show --root` prints for a directory exactly the text that a workspace with that root puts into a prompt there.

use std::path::{Path, PathBuf};

use client::Client;
use protocol::method::{
    PromptPreview, PromptPreviewParams, PromptResult, ThreadCreate, ThreadCreateParams, WorkspaceCreate,
    WorkspaceCreateParams,
};
use protocol::{ContentHash, ThreadMode};
use serde_json::{Value, json};

use crate::support::{Machine, Server, finish};

#[path = "../../../../instructions/tests/support/mod.rs"]
mod tree;

use tree::Tree;

const CASES: &[&str] = &[
    include_str!("../../../../instructions/tests/cases/codex.json"),
    include_str!("../../../../instructions/tests/cases/foreword-and-codelia.json"),
    include_str!("../../../../instructions/tests/cases/found-by-comparison.json"),
    include_str!("../../../../instructions/tests/cases/agents/codex.json"),
    NESTED,
];

/// Cases in which a search for markers would find another root than the workspace's, or none.
const NESTED: &str = r#"[
    { "name": "nested marker", "profile": "foreword", "cwd": "a/b", "settings": {},
      "tree": { ".git": { "dir": true }, "AGENTS.md": "0", "a/.git": { "dir": true }, "a/AGENTS.md": "1", "a/b/AGENTS.md": "2" } },
    { "name": "no marker", "profile": "foreword", "cwd": "a/b", "settings": {},
      "tree": { "AGENTS.md": "0", "a/AGENTS.md": "1", "a/b/AGENTS.md": "2" } },
    { "name": "no marker", "profile": "codex", "cwd": "a/b", "settings": {},
      "tree": { "AGENTS.md": "0", "a/AGENTS.md": "1", "a/b/AGENTS.md": "2" } },
    { "name": "nested marker", "profile": "codex", "cwd": "a/b", "settings": {},
      "tree": { ".git": { "dir": true }, "AGENTS.md": "0", "a/.git": { "dir": true }, "a/AGENTS.md": "1", "a/b/AGENTS.md": "2" } },
    { "name": "no marker", "profile": "codelia", "cwd": "a/b", "settings": {},
      "tree": { "AGENTS.md": "0", "a/AGENTS.md": "1", "a/b/AGENTS.md": "2" } }
]"#;

/// A machine whose trees are one case after the other, with a gateway.
struct Stage {
    machine: Machine,
    tree: Tree,
    client: Client,
    _server: Server,
}

/// One case on the disk.
struct Case {
    name: String,
    profile: String,
    cwd: PathBuf,
    root: PathBuf,
    settings: Value,
}

impl Stage {
    async fn new() -> Self {
        let machine = Machine::new();
        let tree = Tree::new();
        let mut command = machine.command("serve --listen 127.0.0.1:0");
        command.env("HOME", tree.directory("home"));
        let server = Server::start(&machine, command);
        let client = machine.client().await;
        Self { machine, tree, client, _server: server }
    }

    /// Puts a case's files where the case before had its own.
    fn set(&self, case: &Value) -> Case {
        let parent = self.tree.directory("");
        for entry in std::fs::read_dir(&parent).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                std::fs::remove_dir_all(&path).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
        }
        // The machine's home outlives a case because the gateway runs in it. Files of the previous case
        // would otherwise apply to the next one.
        for name in ["AGENTS.md", "AGENTS.override.md"] {
            let _ = std::fs::remove_file(self.machine.home().join(name));
        }
        self.tree.directory("home");
        let root = self.tree.directory("repo");
        let name = case["name"].as_str().unwrap().to_owned();
        let (profile, cwd) = if let Some(agent) = case["agent"].as_str() {
            self.tree.fill(&parent, &case["tree"]);
            let cwd = tree::place(case["cwd"].as_str().unwrap(), &parent);
            (agent, Path::new(&cwd).canonicalize().unwrap())
        } else {
            let profile = case["profile"].as_str().unwrap();
            self.tree.fill(&root, &case["tree"]);
            let home =
                if profile == "codex" { self.tree.directory("home/.codex") } else { self.machine.home() };
            self.tree.fill(&home, &case["home"]);
            (profile, instructions::path::normalise(Path::new(case["cwd"].as_str().unwrap()), &root))
        };
        std::fs::create_dir_all(&cwd).unwrap();
        // A few cases work beside the project.
        let root = if cwd.starts_with(&root) { root } else { cwd.clone() };
        let settings = case["settings"].clone();
        Case { name: format!("{profile}: {name}"), profile: profile.to_owned(), cwd, root, settings }
    }

    /// Returns the text in the JSON of `show`: `None` if nothing applies, an error if it fails.
    fn show(&self, case: &Case) -> Result<Option<String>, String> {
        let mut command = self.machine.command("show --format json");
        command.arg(&case.cwd).args(["--profile", &case.profile]);
        command.env("HOME", self.tree.directory("home"));
        let root = case.settings["root"].as_str().map(|path| case.place(path));
        // Without a marker, a workspace's directory is the root, which the command cannot know.
        if root.is_some() || !self.has_marker(case) {
            command.arg("--root").arg(root.unwrap_or_else(|| case.root.clone()));
        }
        for (flag, values) in [("--fallback", "fallback_filenames"), ("--marker", "markers")] {
            for value in case.settings[values].as_array().into_iter().flatten() {
                command.args([flag, value.as_str().unwrap()]);
            }
        }
        if case.settings["markers"] == json!([]) {
            command.arg("--no-markers");
        }
        for (flag, value) in [("--max-bytes", "max_bytes"), ("--max-files", "max_files")] {
            if let Some(value) = case.settings[value].as_u64() {
                command.args([flag, &value.to_string()]);
            }
        }
        let said = finish(command, b"");
        match said.code {
            // Warnings, such as that a root has no effect, are no part of the answer.
            Some(0) => {
                let shown: Value = serde_json::from_str(&said.out).unwrap();
                Ok(shown["text"].as_str().map(str::to_owned))
            }
            _ => Err(said.err),
        }
    }

    /// Returns true if a marker below the workspace's directory decides the root.
    fn has_marker(&self, case: &Case) -> bool {
        let given = case.settings["markers"].as_array();
        let given = given.map(|markers| markers.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        let markers = match (case.profile.as_str(), given) {
            // An empty list is a decision as well, except where it stands for the defaults.
            ("foreword" | "codex", Some(markers)) if markers.is_empty() => return true,
            ("codelia", given) if given.as_ref().is_none_or(Vec::is_empty) => vec![".codelia", ".git", ".jj"],
            ("foreword", None) => vec![".foreword", ".git", ".jj", ".hg"],
            (_, Some(markers)) => markers,
            (_, None) => vec![".git"],
        };
        let inside = case.cwd.ancestors().take_while(|directory| directory.starts_with(&case.root));
        inside
            .flat_map(|directory| markers.iter().map(|marker| directory.join(marker)))
            .any(|path| path.exists())
    }

    /// Returns the instructions in the prompt of a workspace with this root and these settings.
    async fn preview(&self, case: &Case) -> Result<PromptResult, String> {
        let settings = &case.settings;
        let mut agents = json!({ "profile": case.profile, "root": {}, "initial": {} });
        for (value, pointer) in [
            (&settings["fallback_filenames"], "/fallbackFilenames"),
            (&settings["markers"], "/root/markers"),
            (&settings["max_bytes"], "/initial/maxBytes"),
            (&settings["max_files"], "/initial/maxFiles"),
            (&settings["root"], "/root/projectRootOverride"),
        ] {
            if value.is_null() {
                continue;
            }
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let value = value.as_str().map_or_else(|| value.clone(), |path| json!(case.place(path)));
            agents.pointer_mut(parent).unwrap()[key] = value;
        }
        let params = WorkspaceCreateParams {
            name: format!("{} {}", case.name, ContentHash::of(case.settings.to_string())),
            root_path: Some(case.root.to_string_lossy().into_owned()),
            agents: Some(serde_json::from_value(agents).unwrap()),
        };
        let made = self.client.call::<WorkspaceCreate>(&params).await.map_err(|error| error.to_string())?;
        let workspace_id = made.workspace.id;
        let params = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            folder_id: None,
            title: "t".to_owned(),
            mode: ThreadMode::Agent,
        };
        let thread =
            self.client.call::<ThreadCreate>(&params).await.map_err(|error| error.to_string())?.thread;
        let cwd = Some(case.cwd.to_string_lossy().into_owned());
        let params = PromptPreviewParams { cwd, ..PromptPreviewParams::new(workspace_id, thread.id) };
        self.client.call::<PromptPreview>(&params).await.map_err(|error| error.to_string())
    }
}

impl Case {
    fn place(&self, path: &str) -> PathBuf {
        path.replace("{R}", &self.root.to_string_lossy()).into()
    }
}

#[tokio::test]
async fn show_and_workspace_agree_on_every_case() {
    let stage = Stage::new().await;
    let cases = CASES.iter().flat_map(|cases| serde_json::from_str::<Vec<Value>>(cases).unwrap());
    let mut failures = Vec::new();
    let mut compared = 0;
    for case in cases {
        let case = stage.set(&case);
        // A workspace's settings are strict: they cannot disable reading.
        if case.settings["max_bytes"] == 0 {
            continue;
        }
        compared += 1;
        let shown = stage.show(&case);
        let prompt = stage.preview(&case).await;
        let (shown, prompt) = match (shown, prompt) {
            (Ok(shown), Ok(prompt)) => (shown, prompt),
            (Err(_), Err(_)) => continue,
            (shown, prompt) => {
                let prompt = prompt.map(|prompt| prompt.full_text);
                failures.push(format!("{}: show {shown:?}, prompt {prompt:?}", case.name));
                continue;
            }
        };
        // Codex sends its files as a message of the user and the other profiles as part of the system text,
        // so they differ in place and heading.
        let role = if case.profile == "codex" { "" } else { "## AGENTS Context\n" };
        let expected = shown.map(|text| format!("{role}{text}").replace('\0', "\u{fffd}"));
        let section = prompt.manifest.sections.iter().find(|section| section.id == "agents_context");
        let is_same = match (&expected, section) {
            (None, None) => true,
            // `show` prints imitated tags as Codex sends them. In a prompt of ours they are harmless.
            (Some(expected), Some(_)) if role.is_empty() && prompt.user_text.contains("&lt;") => {
                prompt.user_text.replace("&lt;", "<") == *expected
            }
            (Some(expected), Some(section)) => {
                ContentHash::of(expected) == section.sha256
                    && if role.is_empty() {
                        prompt.user_text == *expected && !prompt.session_text.contains(expected.as_str())
                    } else {
                        prompt.session_text.contains(expected.as_str()) && prompt.user_text.is_empty()
                    }
            }
            _ => false,
        };
        // Codex follows a link of the project's out of it, and that is shown; a workspace's prompt stays inside its directory.
        let leads_out = expected.as_ref().is_some_and(|text| text.contains("MARK_OUTSIDE_END"));
        if leads_out {
            assert!(!prompt.full_text.contains("MARK_OUTSIDE_END"), "{}", case.name);
            assert!(!prompt.user_text.contains("MARK_OUTSIDE_END"), "{}", case.name);
            continue;
        }
        if !is_same {
            let user = &prompt.user_text;
            let session = &prompt.session_text;
            failures.push(format!("{}: show {expected:?}\n  prompt {user:?} {session:?}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} cases\n{}", failures.len(), failures.join("\n"));
    // The test would pass with no case at all if the files of cases moved or changed their shape.
    assert!(compared > 100, "{compared} cases");
}
