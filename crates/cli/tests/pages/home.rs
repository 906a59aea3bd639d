//! Ada's home: empty at first, with the binary on her PATH, an editor that adds a line, and a model that answers.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use protocol::local::{DEFAULT_ADDRESS, GATEWAY_FILE, GatewayFile};
use scripted_model::{Answer, RecordedRequest, ScriptedModel, Wire};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::REPOSITORY;
use super::page::{Block, Page, Precision, Role};
use super::shown::compare;
use super::terminal::{Busy, Terminal};
use crate::support::{FOREWORD, eventually, finish};

/// As the pages call it.
const HOME: &str = "/home/ada";
/// Files that Foreword itself creates in a home.
const KEPT: &[&str] = &[".cache", ".config", ".local"];

/// Files that a reader may have before following a page, at the paths that examples are most likely to touch.
const READERS_FILES: &[(&str, &str)] = &[
    ("backups/monday.db", "a backup of another program\n"),
    ("memory.json", "[]\n"),
    ("shop/mine.txt", "mine\n"),
    ("library/mine.txt", "mine\n"),
    ("rules/mine.txt", "mine\n"),
    ("ledger/mine.txt", "mine\n"),
    ("bank/mine.txt", "mine\n"),
    ("concepts/mine.txt", "mine\n"),
    ("everything/mine.txt", "mine\n"),
    (".claude/settings.json", "{\n  \"model\": \"opus\" // mine\n}\n"),
    (".config/foreword/config.toml", "[retention]\naudit = \"2 years\"\n"),
    (
        ".config/foreword/skills/release/SKILL.md",
        "---\nname: release\ndescription: How I release\n---\nAsk first.\n",
    ),
    (".local/share/bash-completion/completions/foreword", "# installed earlier\n"),
];

/// Treatment of the output of a page's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outputs {
    Compared,
    /// The reader's own files change what commands print, so only their effects are looked at.
    Ignored,
}

pub(super) struct Home {
    directory: TempDir,
    /// Entries of the home directory before a page is followed.
    entries: Vec<String>,
    outputs: Outputs,
    gateway: Option<Busy>,
    model: ScriptedModel,
    _runtime: Runtime,
}

impl Home {
    pub(super) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("foreword-page-").tempdir().expect("a directory");
        for name in ["ada", "bin", "scripts"] {
            std::fs::create_dir(directory.path().join(name)).expect("a directory");
        }
        symlink(FOREWORD, directory.path().join("bin/foreword")).expect("a link to the binary");
        // `doc edit` waits for an editor. This one changes the text without a terminal, as a reader would
        // by hand.
        let editor = directory.path().join("scripts/editor");
        std::fs::write(&editor, "echo 'Name the ticket in every commit.' >> \"$1\"\n").expect("an editor");
        let runtime = Runtime::new().expect("a runtime");
        let model = runtime.block_on(ScriptedModel::start()).expect("a model");
        model.answer_by(answer);
        let outputs = Outputs::Compared;
        Self { directory, entries: Vec::new(), outputs, gateway: None, model, _runtime: runtime }
    }

    /// A home whose owner has a configuration, skills and backups that no page may change.
    pub(super) fn with_readers_files() -> Self {
        let mut home = Self::new();
        for (path, text) in READERS_FILES {
            let path = home.path("ada").join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("create a directory");
            std::fs::write(path, text).expect("write a file");
        }
        home.entries = home.list();
        home.outputs = Outputs::Ignored;
        home
    }

    /// Follows a page from start to end and checks that everything is restored.
    pub(super) fn follow(&mut self, page: &Page) {
        let mut terminal = Terminal::open(self.command("bash"), &self.path("scripts"));
        let mut said = String::new();
        for (index, block) in page.blocks.iter().enumerate() {
            let fail = |problem: &str, said: &str| -> ! {
                panic!("{}, line {}: {problem}\n{}\nit said:\n{said}", page.path, block.line, block.text)
            };
            match &block.role {
                Role::Run { exit } => {
                    let commands = self.filled_in(&block.text);
                    let (code, output) = match exit {
                        0 => terminal.run(&commands),
                        _ => terminal.run_to_failure(&commands),
                    };
                    said = self.as_shown(&output);
                    if code != *exit {
                        fail(&format!("ended with {code}, not {exit}"), &said);
                    }
                }
                Role::Console => {
                    for (command, shown) in commands(&block.text) {
                        let (code, output) = terminal.run(&self.filled_in(&command));
                        let output = self.as_shown(&output);
                        let compared = self.compare(&shown, &output, Precision::Exact);
                        if let Some(problem) = Some(format!("ended with {code}")).filter(|_| code != 0) {
                            fail(&problem, &output);
                        } else if let Err(problem) = compared.as_ref()
                            && !shown.is_empty()
                        {
                            fail(problem, &output);
                        }
                    }
                }
                Role::Serve => said = self.serve(&block.text),
                Role::UntilInterrupted => {
                    let lines = shown_after(&page.blocks[index + 1..]).map_or(1, |text| text.lines().count());
                    let (ended, output) = self.run_until_interrupted(&mut terminal, &block.text, lines);
                    said = self.as_shown(&output);
                    if let Err(problem) = ended {
                        fail(&problem, &said);
                    }
                }
                Role::Output(precision) => {
                    if let Err(problem) = self.compare(&block.text, &said, *precision) {
                        fail(&problem, &said);
                    }
                }
                Role::UserConfiguration => self.accept(page, block, "config.toml"),
                Role::ProjectConfiguration => self.accept(page, block, ".foreword/config.toml"),
                Role::Json => {
                    if let Err(problem) = serde_json::from_str::<Value>(&block.text) {
                        fail(&problem.to_string(), "");
                    }
                }
                Role::NotRun(_) | Role::NotChecked(_) | Role::Prose => {}
            }
        }
        drop(terminal);
        self.is_as_before(page);
        self.stop();
    }

    fn compare(&self, shown: &str, output: &str, precision: Precision) -> Result<(), String> {
        match self.outputs {
            Outputs::Compared => compare(shown, output, precision),
            Outputs::Ignored => Ok(()),
        }
    }

    /// Starts a gateway in another terminal, in the place of the one before.
    fn serve(&mut self, block: &str) -> String {
        self.stop();
        let mut terminal = Busy::start(self.command("bash"), &self.filled_in(block));
        eventually("the gateway to listen", || {
            if let Some(status) = terminal.has_ended() {
                panic!("the gateway ended with {status}:\n{}", terminal.said());
            }
            terminal.said().contains("Stop with Ctrl-C.").then_some(())
        });
        let said = terminal.said().to_owned();
        self.gateway = Some(terminal);
        self.as_shown(&said)
    }

    fn stop(&mut self) {
        if let Some(mut gateway) = self.gateway.take() {
            let status = gateway.interrupt();
            assert!(status.success(), "the gateway ended with {status}:\n{}", gateway.said());
        }
    }

    /// Runs a block in another terminal, with the variables and in the directory of the first, and interrupts it once it has
    /// Output of this many lines.
    fn run_until_interrupted(
        &self,
        terminal: &mut Terminal,
        block: &str,
        lines: usize,
    ) -> (Result<(), String>, String) {
        let state = self.path("scripts/state.sh");
        let state = state.display();
        // The command runs in a second shell, which must have the variables and directory that earlier
        // blocks of the page have set.
        terminal.run(&format!("{{ declare -px; printf 'cd %q\\n' \"$PWD\"; }} > '{state}'"));
        let block = format!(". '{state}'\n{}", self.filled_in(block));
        let mut other = Busy::start(self.command("bash"), &block);
        eventually("something to be said", || {
            (other.said().lines().count() >= lines || other.has_ended().is_some()).then_some(())
        });
        let ended_by_itself = other.has_ended();
        let status = ended_by_itself.unwrap_or_else(|| other.interrupt());
        let said = other.said().to_owned();
        match (ended_by_itself, status.code()) {
            (Some(status), _) => (Err(format!("ended before Ctrl-C with {status}")), said),
            // A shell that exits with 0 after an interrupted command continues with the next one.
            (None, Some(0 | 130) | None) => (Ok(()), said),
            (None, Some(code)) => (Err(format!("ended with {code}")), said),
        }
    }

    /// Returns true if a configuration file with this text is accepted.
    fn accept(&self, page: &Page, block: &Block, name: &str) {
        let project = tempfile::tempdir_in(self.directory.path()).expect("a directory");
        let file = project.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(&file, &block.text).expect("write");
        let mut command = self.command(FOREWORD);
        command.arg("config").current_dir(project.path());
        // A user's configuration is named by a flag, and a project's one is found from the working
        // directory. The project may set fewer keys, so each must be read in its own role.
        if name == "config.toml" {
            command.arg("--config").arg(&file);
        }
        let said = finish(command, b"");
        assert_eq!(said.code, Some(0), "{}, line {}: {}", page.path, block.line, said.err);
    }

    /// A page leaves nothing behind: no files, no workspaces, no tokens, no variables of the next reader's shell.
    fn is_as_before(&mut self, page: &Page) {
        assert_eq!(self.list(), self.entries, "{} changes the home directory", page.path);
        for (path, text) in READERS_FILES.iter().filter(|_| self.outputs == Outputs::Ignored) {
            let found = std::fs::read_to_string(self.path("ada").join(path));
            assert_eq!(found.ok().as_deref(), Some(*text), "{} changes ~/{path}", page.path);
        }
        if self.gateway.is_none() {
            return;
        }
        // Objects in the gateway's database are invisible in the home directory, so the gateway itself is
        // asked for them.
        let ask = |words: &[&str]| -> Value {
            let mut command = self.command(FOREWORD);
            command.args(words).args(["--format", "json"]);
            serde_json::from_str(&finish(command, b"").done()).expect("JSON")
        };
        let workspaces = ask(&["workspace", "list"]);
        assert_eq!(workspaces["workspaces"], json!([]), "{} leaves workspaces behind", page.path);
        let tokens = ask(&["token", "list"])["tokens"].clone();
        let valid =
            tokens.as_array().expect("tokens").iter().filter(|token| token.get("revoked_at").is_none());
        let names: Vec<&str> = valid.filter_map(|token| token["name"].as_str()).collect();
        assert_eq!(names, ["owner"], "{} leaves tokens behind", page.path);
    }

    /// Returns the names in ada's home, without the directories in which Foreword keeps its own files.
    fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("ada")).expect("read ada's home");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("read an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| !KEPT.contains(&name.as_str()))
            .collect();
        names.sort_unstable();
        names
    }

    /// A program with ada's environment, and nothing of that of the tests.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env_clear().current_dir(self.path("ada"));
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env("HOME", self.path("ada")).env("LANG", "C.UTF-8").env("USER", "ada");
        command.env("EDITOR", format!("sh {}", self.path("scripts/editor").display()));
        command.env("REPOSITORY", Path::new(REPOSITORY).canonicalize().expect("the repository"));
        // Several pages are followed at the same time, and none asks a model that costs something.
        command.env("FOREWORD_GATEWAY_LISTEN", "127.0.0.1:0");
        command.env("ANTHROPIC_BASE_URL", self.model.base_url(Wire::Anthropic));
        command.env("OPENAI_BASE_URL", self.model.base_url(Wire::Openai));
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().expect("the directory").join(name)
    }

    /// A block as it is run: with the address that the gateway really has, and with what a reader fills in.
    fn filled_in(&self, block: &str) -> String {
        // Pages show the default address, but the gateway listens on a free port because pages are followed
        // in parallel.
        let block = block.replace('…', "x");
        match self.address() {
            Some(address) => block.replace(DEFAULT_ADDRESS, &address),
            None => block,
        }
    }

    /// Returns the output in the form shown on a page.
    fn as_shown(&self, said: &str) -> String {
        let said = said.replace(&self.path("ada").display().to_string(), HOME);
        match self.address() {
            Some(address) => said.replace(&address, DEFAULT_ADDRESS),
            None => said,
        }
    }

    fn address(&self) -> Option<String> {
        let file = self.path("ada/.local/share/foreword").join(GATEWAY_FILE);
        let file: GatewayFile = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        Some(file.url.strip_prefix("http://")?.to_owned())
    }
}

/// Returns the commands of a `console` block with their expected output.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    // A command that ends with a backslash continues on the next line, which would otherwise count as
    // expected output.
    let mut continued = false;
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((format!("{command}\n"), String::new())),
            (None, Some((command, _))) if continued => command.push_str(&format!("{line}\n")),
            (None, Some((_, shown))) => shown.push_str(&format!("{line}\n")),
            (None, None) => panic!("a block of commands begins with `$ `:\n{text}"),
        }
        continued = line.ends_with('\\');
    }
    commands
}

/// Returns the expected output of the block before.
fn shown_after(blocks: &[Block]) -> Option<&str> {
    blocks.first().filter(|block| matches!(block.role, Role::Output(_))).map(|block| block.text.as_str())
}

/// Answers of the scripted model: it searches for issues and totals if the question is about them, and writes
/// files on request.
fn answer(request: &RecordedRequest) -> Answer {
    let messages = ["messages", "input"].iter().find_map(|key| request.body[*key].as_array());
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let question = messages.iter().rev().find_map(question).unwrap_or_default();
    let was_called = messages.last().is_some_and(is_result);
    match () {
        () if was_called && question.contains("issue") => {
            Answer::text("Issue 7: the total is rounded twice.")
        }
        () if question.contains("issue") => {
            Answer::empty().tool_call("call_1", "mcp__tracker__find_issue", r#"{"word":"total"}"#)
        }
        () if was_called && question.contains("note") => Answer::text("Done: the note is in notes.md."),
        () if question.contains("note") => {
            let note = json!({ "path": "notes.md", "content": "Totals are sums of cents.\n" }).to_string();
            // A page names the call that it decides about, and an id that came before would get another one.
            let id = if question.contains("another") { "call_note" } else { "call_1" };
            Answer::empty().tool_call(id, "write_file", &note)
        }
        () if was_called => {
            Answer::text("In billing/total.py, by adding up the lines of the invoice, in cents.")
        }
        () if question.contains("total") => {
            let path = json!({ "path": "billing/total.py" }).to_string();
            Answer::empty().tool_call("call_1", "read_file", &path)
        }
        () => Answer::text("It sends invoices."),
    }
}

/// The words of a message that a person wrote.
fn question(message: &Value) -> Option<String> {
    if message["role"] != "user" || is_result(message) {
        return None;
    }
    match &message["content"] {
        Value::String(text) => Some(text.clone()),
        parts => Some(parts[0]["text"].as_str()?.to_owned()),
    }
}

/// Returns true if the request contains a tool result, in any API's format.
fn is_result(message: &Value) -> bool {
    let text = message.to_string();
    text.contains("tool_result") || text.contains("function_call_output")
}
