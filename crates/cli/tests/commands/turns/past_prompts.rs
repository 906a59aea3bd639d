//! `foreword prompt show --turn` and `prompt diff`: past prompts, and why the next one is another.

use std::process::Command;

use protocol::{ThreadId, WorkspaceId};
use test_gateway::TestGateway;
use tokio::runtime::Runtime;

use crate::support::{Machine, Said, finish};

/// A gateway in this process, because only a turn leaves a prompt behind; the commands are real.
struct Past {
    machine: Machine,
    gateway: TestGateway,
    runtime: Runtime,
    workspace: WorkspaceId,
    thread: ThreadId,
}

impl Past {
    fn new() -> Self {
        Self::with(|_| {})
    }

    /// With settings changed before the start.
    fn with(change: impl FnOnce(&mut agent::AgentSettings)) -> Self {
        let machine = Machine::new();
        let runtime = Runtime::new().unwrap();
        let started = TestGateway::start_with(|settings| change(&mut settings.agent));
        let gateway = runtime.block_on(started).unwrap();
        let workspace = runtime.block_on(gateway.workspace("demo")).unwrap().id;
        let mut past = Self { machine, gateway, runtime, workspace, thread: ThreadId::new() };
        past.thread = past.run("thread create 'A thread'", "").word().parse().unwrap();
        past.run("doc save", "One.\nTwo.\n").done();
        past
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.machine.command(words);
        command.env("FOREWORD_DATA", self.gateway.data());
        command
    }

    #[track_caller]
    fn run(&self, words: &str, input: &str) -> Said {
        finish(self.command(words), input.as_bytes())
    }

    #[track_caller]
    fn show(&self, words: &str) -> Said {
        self.run(&format!("prompt show {} {words}", self.thread), "")
    }

    #[track_caller]
    fn diff(&self, words: &str) -> Said {
        self.run(&format!("prompt diff {} {words}", self.thread), "")
    }

    fn turn(&self) -> String {
        self.runtime.block_on(self.gateway.silent_turn(&self.workspace, &self.thread)).unwrap().to_string()
    }
}

#[test]
fn a_past_prompt_is_printed_as_it_was() {
    let past = Past::new();
    let was = past.show("").done();
    let turn = past.turn();
    past.run("doc save --force", "Other rules.\n").done();
    assert_ne!(past.show("").done(), was);
    assert_eq!(past.show(&format!("--turn {turn}")).done(), was);
    assert_eq!(past.show(&format!("--turn {turn} --round 1")).done(), was);
    let section = past.show(&format!("--turn {turn} --section agents_md")).done();
    assert!(section.contains("\nOne.\nTwo.\n"), "{section}");
    let error = past.show(&format!("--turn {turn} --round 7")).failed(2);
    assert_eq!(error, format!("error: turn `{turn}` has no manifest of round 7\n"));
}

#[test]
fn the_difference_names_section_line_and_cost() {
    let past = Past::new();
    let turn = past.turn();
    let same = past.diff(&format!("--since {turn}")).done();
    assert!(same.starts_with("nothing differs: all ") && same.ends_with(" tokens can be reused\n"), "{same}");
    past.run("doc save --force", "One.\nTwo!\n").done();
    let text = past.diff(&format!("--since {turn}")).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "section `agents_md` (session) was edited, from line 6 on");
    assert!(lines[1].starts_with("  before  document / version 1 sha256 "), "{text}");
    assert!(lines[2].starts_with("  after   document / version 2 sha256 "), "{text}");
    assert!(lines[3].ends_with(" of them before the history"), "{text}");
    assert_eq!(past.diff("").done(), text, "the last turn is the one to compare with");
    let later = past.turn();
    assert_eq!(past.diff(&format!("--since {turn} --until {later}")).done(), text);
    let blame = past.diff(&format!("--since {turn} --format json")).object();
    assert_eq!(blame["blame"]["first_difference"]["line"], 6);
    past.run("doc archive", "").done();
    let text = past.diff(&format!("--since {turn}")).done();
    assert!(text.starts_with("section `agents_md` (session) was removed\n"), "{text}");
}

#[test]
fn an_unkept_text_is_reported_with_its_reason() {
    let past = Past::with(|settings| settings.prompt.keep_texts = false);
    let turn = past.turn();
    let error = past.show(&format!("--turn {turn}")).failed(2);
    assert_eq!(
        error,
        "error: the text of section `identity` is not kept (any more)\n\
         hint: the gateway's settings prompt.keep_texts and retention.prompt_texts decide which texts are kept\n"
    );
    let same = past.diff(&format!("--since {turn}")).done();
    assert!(same.starts_with("nothing differs"), "manifests are kept: {same}");
}

#[test]
fn a_turn_of_another_thread_is_refused() {
    let past = Past::new();
    let turn = past.turn();
    let other = past.run("thread create 'Another thread'", "").word();
    for word in ["show", "sections", "manifest"] {
        let error = past.run(&format!("prompt {word} {other} --turn {turn}"), "").failed(2);
        assert_eq!(error, format!("error: turn `{turn}` belongs to another thread than `{other}`\n"));
    }
}
