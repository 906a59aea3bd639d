//! A recorded session about a thread whose instructions, turns and folders change. Commands have tests of their own; together
//! they must not contradict each other.

use scripted_model::{Answer, Tokens};
use serde_json::{Value, json};

use super::starting::Talk;
use crate::support::{Machine, Recording, eventually, start};

/// A section of what the model was sent as its system text.
fn system_section(body: &Value, title: &str) -> String {
    let blocks = body["system"].as_array().unwrap().iter();
    let text: Vec<&str> = blocks.map(|block| block["text"].as_str().unwrap()).collect();
    let text = text.join("\n\n");
    let begin = text.find(title).unwrap_or_else(|| panic!("no {title} in {text}"));
    let rest = &text[begin..];
    rest[..rest.find("\n\n## ").unwrap_or(rest.len())].to_owned()
}

#[test]
fn recording_of_show_and_gateway_without_a_marker() {
    let talk = Talk::new("agent");
    let machine = &talk.machine;
    machine.write("AGENTS.md", "Above the workspace.\n");
    for (directory, text) in [("", "At the root."), ("a/", "In a."), ("a/b/", "In b.")] {
        machine.write(format!("project/{directory}AGENTS.md"), format!("{text}\n"));
    }
    let mut recording = Recording::new(machine);
    recording
        .happens("No directory above has a marker such as .git: of itself, a directory is its own root.");
    recording.run("show a/b");
    recording.happens("A workspace has a root, and so has this command.");
    let shown = recording.run("show a/b --root .").out;
    recording.run("explain a/b --root .");
    recording.happens("The workspace's root is the directory with all of them.");
    let thread = &talk.thread;
    let prompt = recording.run(&format!("prompt show {thread} --cwd a/b --section agents_context")).out;
    recording.run(&format!("prompt manifest {thread} --cwd a/b"));
    talk.model.answer(Answer::text("Yes."));
    recording.run(&format!("turn start {thread} 'Three files?' --cwd a/b"));
    recording.happens("The model was sent:");
    let sent = system_section(&talk.model.requests()[0].body, "## AGENTS Context");
    recording.quote('>', &sent);
    assert_eq!(prompt.trim_end(), sent.trim_end());
    assert_eq!(format!("## AGENTS Context\n{}", shown.trim_end()), sent.trim_end());
    recording.check("07-one-rule-for-show-and-the-gateway");
}

#[test]
fn recording_of_the_proof_of_every_round() {
    let talk = Talk::new("agent");
    let machine = &talk.machine;
    machine.write("project/AGENTS.md", "At the root.\n");
    machine.write("project/a/AGENTS.md", "In a.\n");
    machine.write("project/a/x.txt", "x\n");
    machine.run_with("doc save", "Answer briefly.\n").done();
    let cost =
        |input, cached_read, reasoning| Tokens { input, output: 20, cached_read, cached_write: 3, reasoning };
    let read = json!({ "path": "a/x.txt" }).to_string();
    let write = json!({ "path": "a/y.txt", "content": "y\n" }).to_string();
    let wrong = json!({ "path": "a/z.txt" }).to_string();
    talk.model.answer(Answer::empty().tool_call("call_1", "read_file", &read).tokens(cost(1000, 0, 5)));
    talk.model.answer(
        Answer::empty()
            .tool_call("call_2", "write_file", &write)
            .tool_call("call_3", "read_file", &wrong)
            .tokens(cost(2000, 1000, 0)),
    );
    talk.model.answer(Answer::text("Written.").tokens(cost(3000, 2000, 7)));
    let words = format!("turn start {} 'Copy it.' --wait", talk.thread);
    let child = start(machine.command(&words));
    let turn = talk.newest();
    eventually("the question", || {
        let shown = machine.run(&format!("turn show {turn} --format json")).object();
        (shown["approvals"] != json!([])).then_some(())
    });
    let mut recording = Recording::new(machine);
    recording.happens("A turn waits for a decision.");
    recording.run(&format!("turn show {turn}"));
    recording.run(&format!("turn approve {turn} call_2"));
    let said = super::starting::ended(child);
    recording.happens("It was begun by:");
    recording.add(&words, &said);
    recording.run(&format!("turn explain {turn}"));
    recording.check("11-proof-per-round");
}

#[test]
fn recording_of_a_prompt_whose_files_have_changed() {
    let talk = Talk::new("agent");
    let machine = &talk.machine;
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "One.\nTwo.\n");
    machine.write("project/a/AGENTS.md", "In a.\n");
    let thread = &talk.thread;
    let mut recording = Recording::new(machine);
    recording.happens("A thread without a turn.");
    recording.run(&format!("prompt sections {thread}"));
    talk.model.answer(Answer::text("Yes."));
    recording.run(&format!("turn start {thread} Really?"));
    recording.happens("AGENTS.md is edited.");
    machine.write("project/AGENTS.md", "One.\nTwo!\n");
    recording.run(&format!("prompt show {thread} --section agents_context"));
    recording.run(&format!("prompt sections {thread}"));
    recording.run(&format!("prompt manifest {thread}"));
    recording.run(&format!("prompt diff {thread}"));
    recording.run(&format!("prompt diff {thread} --fresh"));
    recording.run(&format!("prompt show {thread} --fresh --section agents_context"));
    recording.happens("Another directory, which changes nothing of a prompt that is frozen.");
    recording.run(&format!("prompt show {thread} --cwd a --section agents_context"));
    recording.happens("The next turn, and who watches it afterwards.");
    talk.model.answer(Answer::text("Noted."));
    recording.run(&format!("turn start {thread} 'And now?'"));
    recording.run(&format!("turn watch {}", talk.newest()));
    recording.run(&format!("prompt diff {thread}"));
    recording.happens("Without a thread and without a gateway.");
    recording.run("prompt show --section agents_context");
    recording.check("12-prompt-of-changed-files");
}

#[test]
fn recording_of_documents_and_a_restored_folder() {
    let (machine, _server) = Machine::with_workspace();
    let mut recording = Recording::new(&machine);
    for words in [
        "folder create services",
        "folder create api --parent services",
        "thread create Talk --folder services/api",
    ] {
        machine.run(words).done();
    }
    machine.run("folder create v2 --parent services/api").done();
    recording.happens("A document appears as a draft, gets a text, is edited, and disappears.");
    for text in [" \n", "one\n", "two\n"] {
        machine.run_with("doc save --force --allow-empty --folder services/api", text).done();
    }
    machine.run("doc archive --folder services/api").done();
    recording.run("events --since 5 --limit 7");
    recording.happens("It is written anew, and its folder is deleted, then the one above.");
    machine.run_with("doc save --folder services/api", "three\n").done();
    recording.run("folder delete services/api");
    recording.run("folder delete services");
    recording.run("folder deleted");
    recording.run("doc history --folder services/api");
    recording.run("doc get --folder services/api");
    recording.happens("Both come back, the outer one first.");
    recording.run("folder restore services");
    recording.run("folder restore services/api");
    recording.run("doc effective --folder services/api");
    recording.run("folder list");
    recording.run("events --since 12 --limit 10");
    recording.check("15-told-and-restored");
}

#[test]
fn recording_of_a_turn_with_every_domain() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/hostile_server.py");
    let talk = Talk::with(
        "agent",
        &format!(
            "[mcp.servers.echoes]\ncommand = 'python3'\nargs = ['{script}', 'plain', '/dev/null']\n\
             tools = ['echo']\nwrite = 'allow'\n"
        ),
    );
    let machine = &talk.machine;
    machine.write("project/AGENTS.md", "Use British spelling.\n");
    machine.write("project/library/AGENTS.md", "Count twice.\n");
    machine.write("project/library/shelf.txt", "Emma\nPersuasion\n");
    machine.write(
        "home/skills/release/SKILL.md",
        "---\nname: release\ndescription: Cuts a release of the catalogue\n---\nTag it, then tell the list.\n",
    );
    machine.run("memory add 'Answers are short' --category preference").done();
    machine.run("memory add 'Releases are cut on Mondays' --category decision").done();
    let wanted = json!({ "tools": ["memory_remember", "mcp__echoes__echo"] }).to_string();
    let work = json!({ "goal": "Count the books in shelf.txt.", "cwd": "library" }).to_string();
    let keep = json!({ "text": "The shelf has two books", "category": "fact" }).to_string();
    for answer in [
        Answer::empty().tool_call("skill", "read_skill", r#"{"slug":"release"}"#).tool_call(
            "ask",
            "request_tools",
            &wanted,
        ),
        Answer::empty()
            .tool_call("echo", "mcp__echoes__echo", r#"{"text":"Is anybody there?"}"#)
            .tool_call("count", "delegate", &work),
        // The other agent.
        Answer::empty().tool_call("read", "read_file", r#"{"path":"shelf.txt"}"#),
        Answer::text("Two books: Emma and Persuasion."),
        Answer::empty().tool_call("keep", "memory_remember", &keep),
        Answer::text("Two books. The release can be cut on Monday."),
    ] {
        talk.model.answer(answer);
    }
    let mut recording = Recording::new(machine);
    recording.happens("A turn that uses a skill, memory, hidden tools, an MCP server and another agent.");
    let thread = &talk.thread;
    recording.run(&format!(
        "turn start {thread} 'Can the releases go out, and how many books are there?' --allow-writes"
    ));
    recording.happens("Why it went as it did:");
    recording.run("turn explain last");
    recording.happens("What its prompt consisted of:");
    recording.run(&format!("prompt manifest {thread} --turn last"));
    recording.happens("What is remembered now:");
    recording.run("memory list");
    recording.check("19-every-domain");
}
