//! `foreword prompt` without a thread: a directory, and no gateway.

use crate::support::Machine;

fn project() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "At the root.\nBe brief.\n");
    machine.write("project/a/AGENTS.md", "In a.\n");
    machine
}

#[test]
fn a_directory_needs_no_gateway_and_has_what_show_has() {
    let machine = project();
    let text = machine.run("prompt show --cwd a").done();
    assert!(text.starts_with("## Identity\n"), "{text}");
    let files = machine.run("show a").done();
    assert!(files.contains("In a."), "{files}");
    let section = machine.run("prompt show --cwd a --section agents_context").done();
    assert_eq!(section, format!("## AGENTS Context\n{files}"));
    assert!(text.contains(&files), "{text}");
    assert!(!machine.data().exists(), "nothing is made");
}

#[test]
fn sections_show_their_share_of_the_window() {
    let machine = project();
    let printed = machine.run("prompt sections --format json").object();
    let names: Vec<&str> = printed["sizes"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"read_file") && names.contains(&"edit_file"), "{names:?}");
    let sum = |list: &serde_json::Value| -> u64 {
        list.as_array().unwrap().iter().map(|item| item["tokens"].as_u64().unwrap()).sum()
    };
    let sections = sum(&printed["sections"]);
    let tools = sum(&printed["sizes"]["tools"]);
    assert_eq!(printed["sizes"]["request_tokens"], sections + tools);
    assert!(printed["sizes"].get("history").is_none(), "a directory has no earlier turns: {printed}");
    let text = machine.run("prompt sections").done();
    assert!(
        text.contains("(tools)") && text.contains(&format!("request: {} of 128000", sections + tools)),
        "{text}"
    );
    let chat = machine.run("prompt sections --mode chat --format json").object();
    let tools: Vec<&str> = chat["sizes"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["request_tools"], "a chat can ask for the tools of memory");
}

#[test]
fn the_settings_of_the_project_and_of_the_user_hold() {
    let machine = project();
    machine.write("home/config.toml", "[turns]\nmax_context_tokens = 20000\n");
    machine.write("home/SOUL.md", "Kind.\n");
    machine.write("project/.foreword/config.toml", "[agents]\nfallback_filenames = ['NOTES.md']\n");
    machine.write("project/b/NOTES.md", "In b.\n");
    let text = machine.run("prompt show --cwd b").done();
    assert!(text.contains("Kind.") && text.contains("In b."), "{text}");
    let printed = machine.run("prompt sections --format json").object();
    assert_eq!(printed["sizes"]["window_tokens"], 20_000);
    let manifest = machine.run("prompt manifest").done();
    assert!(manifest.contains("\nrequest\n  mode         agent\n  tools        read_file, "), "{manifest}");
}

#[test]
fn prompt_diff_compares_with_a_saved_prompt() {
    let machine = project();
    let before = machine.run("prompt show --format json").done();
    machine.write("project/before.json", &before);
    let same = machine.run("prompt diff --since before.json").done();
    assert!(same.starts_with("nothing differs: all "), "{same}");
    machine.write("project/AGENTS.md", "At the root.\nBe long.\n");
    let text = machine.run("prompt diff --since before.json").done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "section `agents_context` (session) was edited, from line 5 on");
    assert!(lines[1].contains("project/AGENTS.md sha256 "), "{text}");
    for (words, why) in [
        ("", "a directory has no turns: name a THREAD, or with --since a file to compare with"),
        ("--since AGENTS.md", "AGENTS.md does not contain a prompt: "),
    ] {
        let error = machine.run(&format!("prompt diff {words}")).failed(2);
        assert!(error.starts_with(&format!("error: {why}")), "{error}");
        assert!(error.ends_with("hint: `foreword prompt show --format json > FILE` makes one\n"), "{error}");
    }
    machine.run("prompt diff --since nowhere.json").failed(3);
    let error = machine.run("prompt show --cwd nowhere").failed(2);
    assert!(error.contains("nowhere"), "{error}");
}
