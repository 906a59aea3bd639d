//! `foreword prompt` of a thread whose instructions have changed on disk since it began.

use scripted_model::{Answer, ScriptedModel, Wire};
use tokio::runtime::Runtime;

use crate::support::{Machine, Said, Server};

/// A thread that has had its first turn.
struct Frozen {
    machine: Machine,
    model: ScriptedModel,
    thread: String,
    _server: Server,
    _runtime: Runtime,
}

impl Frozen {
    fn new() -> Self {
        let machine = Machine::new();
        machine.write("project/.git/HEAD", "");
        machine.write("project/AGENTS.md", "One.\nTwo.\n");
        machine.write("project/a/AGENTS.md", "In a.\n");
        let runtime = Runtime::new().unwrap();
        let model = runtime.block_on(ScriptedModel::start()).unwrap();
        let url = model.base_url(Wire::Anthropic);
        let provider =
            format!("[model]\ndefault = 'anthropic/m'\n[providers.anthropic]\nbase_url = '{url}'\n");
        machine.write("home/config.toml", provider);
        let server = machine.serve();
        machine.run("workspace create demo --root .").done();
        let thread = machine.run("thread create Talk --mode agent").word();
        let frozen = Self { machine, model, thread, _server: server, _runtime: runtime };
        frozen.ask();
        frozen
    }

    #[track_caller]
    fn ask(&self) {
        self.model.answer(Answer::text("Yes."));
        self.machine.run(&format!("turn start {} Really?", self.thread)).done();
    }

    #[track_caller]
    fn prompt(&self, command: &str, words: &str) -> Said {
        let said = self.machine.run(&format!("prompt {command} {} {words}", self.thread));
        Said { out: self.machine.tidy(&said.out), err: self.machine.tidy(&said.err), ..said }
    }
}

#[test]
fn prompt_diff_names_a_changed_line_and_its_reminder() {
    let frozen = Frozen::new();
    let before = frozen.prompt("show", "");
    assert!(!before.err.contains("differ"), "{}", before.err);
    frozen.machine.write("project/AGENTS.md", "One.\nTwo!\n");

    let said = frozen.prompt("show", "");
    assert_eq!(said.out, before.out, "the text is frozen");
    let notice = "\nthe thread goes on with the instructions it began with; on disk they differ:\n  \
                  edited   ~/project/AGENTS.md, from line 2 on\n\
                  the next turn will be told:\n  <system-reminder type=\"session.resume.diff\">\n";
    assert!(said.err.contains(notice), "{}", said.err);
    assert!(said.err.ends_with("`--fresh` shows the prompt of a new thread\n"), "{}", said.err);
    // Also beside a section that is frozen, and beside no other.
    let section = frozen.prompt("show", "--section agents_context");
    assert!(section.err.contains(notice), "{}", section.err);
    assert_eq!(frozen.prompt("show", "--section safety").err, "");
    let fresh = frozen.prompt("show", "--fresh --section agents_context");
    assert!(fresh.out.contains("Two!") && !fresh.err.contains("differ"), "{fresh:?}");

    let diff = frozen.prompt("diff", "").done();
    assert!(diff.starts_with("nothing differs: all "), "{diff}");
    assert!(diff.contains("\n  edited   ~/project/AGENTS.md, from line 2 on\n"), "{diff}");
    let fresh = frozen.prompt("diff", "--fresh").done();
    assert!(fresh.starts_with("section `agents_context` (session) was edited, from line 5 on\n"), "{fresh}");
    let json = frozen.prompt("diff", "--format json").object();
    assert_eq!(json["frozen"]["files"][0]["line"], 2);
    assert_eq!(json["frozen"]["reminder"]["type"], "session.resume.diff");

    // The notice reports that the model was reminded.
    frozen.ask();
    let told = frozen.model.requests().last().unwrap().body["messages"].to_string();
    assert!(told.contains("session.resume.diff"), "{told}");
    let said = frozen.prompt("sections", "");
    assert!(said.out.contains("(history)") && said.out.contains("2 earlier turns"), "{}", said.out);
    assert!(said.err.contains("the model has been told in an earlier turn\n"), "{}", said.err);
}

#[test]
fn an_unchanged_directory_is_reported() {
    let frozen = Frozen::new();
    let before = frozen.prompt("show", "").out;
    let said = frozen.prompt("show", "--cwd a");
    assert_eq!(said.out, before);
    let notice = "  added    ~/project/a/AGENTS.md\n\
                  the thread has worked in ~/project; its next turn works in ~/project/a, with the prompt it has\n\
                  the next turn will be told:\n";
    assert!(said.err.contains(notice), "{}", said.err);
    assert!(said.err.contains("  - cwd: ~/project -> ~/project/a\n"), "{}", said.err);
    let fresh = frozen.prompt("show", "--cwd a --fresh");
    assert!(fresh.out.contains("In a.") && !fresh.err.contains("differ"), "{}", fresh.err);
}
