//! `foreword prompt`: the next prompt of a thread.

use serde_json::{Value, json};

use crate::support::{Machine, Server};

/// A thread in a workspace with a project of two AGENTS.md files, and a document.
pub(crate) fn with_thread(configuration: &str) -> (Machine, Server, String) {
    let machine = Machine::new();
    // Without memory a chat has no tools, and no list of any.
    machine.write("home/config.toml", format!("[memory]\nenabled = false\n{configuration}"));
    machine.write("repo/.git/HEAD", "");
    machine.write("repo/AGENTS.md", "At the root.\n");
    machine.write("repo/a/AGENTS.md", "In a.\n");
    let server = machine.serve();
    machine.run(&format!("workspace create demo --root {}", machine.root().join("repo").display())).done();
    let thread = machine.run("thread create 'A thread'").word();
    machine.run_with("doc save", "Answer briefly.\n").done();
    (machine, server, thread)
}

/// The ids of the prompt's sections.
pub(crate) fn sections(machine: &Machine, thread: &str) -> Vec<String> {
    let prompt = machine.run(&format!("prompt show {thread} --format json")).object();
    let sections = prompt["manifest"]["sections"].as_array().unwrap();
    sections.iter().map(|section| section["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_text_is_the_prompt_and_nothing_else() {
    let (machine, _server, thread) = with_thread("");
    let said = machine.run(&format!("prompt show {thread}"));
    let prompt = machine.run(&format!("prompt show {thread} --format json")).object();
    assert_eq!(
        said.out,
        prompt["full_text"].as_str().unwrap(),
        "byte for byte, so that its fingerprint holds"
    );
    assert!(said.out.contains("At the root.") && said.out.contains("<AGENTS_MD>\nAnswer briefly.\n"));
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!((lines[0], lines.len()), ("", 14), "{}", said.err);
    let tokens = |line: &str| line.split_whitespace().next().unwrap().parse::<u64>().unwrap();
    let counted: u64 = lines[1..10].iter().map(|line| tokens(line.split_once("█ ").unwrap().1)).sum();
    assert_eq!(tokens(lines[12]), counted, "{}", said.err);
    assert!(lines[10].contains("(tools)") && lines[10].ends_with(" 0 tokens, 0 tools"), "{}", said.err);
    assert!(
        lines[11].contains("(history)") && lines[11].ends_with(" 0 tokens, 0 earlier turns"),
        "{}",
        said.err
    );
    let share = counted as f64 * 100.0 / 128_000.0;
    assert_eq!(
        lines[13],
        format!(
            "request: {counted} of 128000 tokens ({share:.1} % of the window), 16000 more are kept for the answer"
        )
    );
    // The bars and the figures are aligned.
    let ends: Vec<usize> =
        lines[1..12].iter().map(|line| line.split(" tokens,").next().unwrap().chars().count()).collect();
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{}", said.err);
    assert!(!said.err.contains('\u{1b}') && !said.err.ends_with("\n\n"), "{:?}", said.err);
}

#[test]
fn programs_get_what_the_protocol_answers() {
    let (machine, _server, thread) = with_thread("");
    let prompt = machine.run(&format!("prompt show {thread} --format json")).object();
    let keys: Vec<&String> = prompt.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["stable_text", "session_text", "turn_text", "full_text", "manifest", "sizes"]);
    let sections = machine.run(&format!("prompt sections {thread} --format json")).object();
    assert_eq!(sections, json!({ "sections": prompt["manifest"]["sections"], "sizes": prompt["sizes"] }));
    let manifest = machine.run(&format!("prompt manifest {thread} --format json")).object();
    assert_eq!(manifest, prompt["manifest"]);
    assert_eq!(manifest["profile"], "full");
    assert_eq!(manifest["diagnostics"], json!([]));
    assert_eq!(manifest["hook_sources"][0]["hook_id"], "foreword.thread_agents_doc_prompt");
    let section = machine.run(&format!("prompt show {thread} --section extra_system --format json")).object();
    assert_eq!(section, json!({ "id": "extra_system", "text": prompt["turn_text"] }));
}

#[test]
fn a_section_by_itself() {
    let (machine, _server, thread) = with_thread("");
    machine.run_with("doc save --force", "Grüße, 世界 👋\n").done();
    machine.check(
        &format!("prompt show {thread} --section agents_context"),
        "## AGENTS Context\n<agents_context scope=\"initial\">\nInstructions from: ~/repo/AGENTS.md\n\
         At the root.\n</agents_context>",
        "",
    );
    let last = machine.run(&format!("prompt show {thread} --section extra_system")).done();
    assert!(last.starts_with("## Current Context\nDate: 2"), "characters are not bytes: {last}");
    let error = machine.run(&format!("prompt show {thread} --section soul")).failed(2);
    assert!(error.starts_with("error: the prompt has no section `soul`\nhint: its sections are identity, "));
    assert!(error.contains("soul_core"), "{error}");
}

#[test]
fn the_manifest_records_all_sources() {
    let (machine, _server, thread) = with_thread("");
    let said = machine.run(&format!("prompt manifest {thread}"));
    let text = machine.tidy(&said.clone().done());
    let short = |line: &str| line.rsplit_once(' ').unwrap().0.to_owned();
    let below = |heading: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| *line != heading).skip(1);
        lines.take_while(|line| !line.is_empty()).map(short).collect()
    };
    assert_eq!(
        below("sources"),
        [
            "  identity         built in version 10 sha256",
            "  safety           built in version 10 sha256",
            "  soul_core        file ~/home/SOUL.md sha256",
            "  identity_core    file ~/home/IDENTITY.md sha256",
            "  agents_guidance  built in version 10 sha256",
            "  environment      built in version 10 sha256",
            "  agents_md        document / version 1 sha256",
            "  agents_context   file ~/repo/AGENTS.md sha256",
            "  extra_system     caller sha256",
        ]
    );
    assert_eq!(below("hooks"), ["  agents_md        foreword.thread_agents_doc_prompt, priority"]);
    assert_eq!(below("fingerprints").len(), 5);
    assert!(!text.contains("At the root.") && !text.contains("diagnostics"), "{text}");
    assert_eq!(said.err, "");
}

#[test]
fn a_directory_counts_from_the_workspaces_own() {
    let (machine, _server, thread) = with_thread("");
    let text = machine.run(&format!("prompt show {thread} --cwd a --section agents_context")).done();
    assert!(text.contains("At the root.") && text.contains("In a."), "{text}");
    let absolute = machine.root().join("repo/a");
    let same =
        machine.run(&format!("prompt show {thread} --cwd {} --section agents_context", absolute.display()));
    assert_eq!(same.done(), text);
    machine.check_code(
        &format!("prompt show {thread} --cwd .."),
        3,
        "",
        "error: ~ is not inside the workspace's directory ~/repo\n",
    );
    let error = machine.run(&format!("prompt show {thread} --cwd nowhere"));
    assert!(error.err.contains("repo/nowhere: No such file"), "{error:?}");
    assert_ne!(error.code, Some(0));
}

#[test]
fn missing_names_are_reported() {
    let (machine, _server, thread) = with_thread("");
    let nobody = "019370aa-0000-7000-8000-000000000001";
    for words in [format!("diff {thread} --since {nobody}"), format!("show {thread} --turn {nobody}")] {
        let error = machine.run(&format!("prompt {words}")).failed(2);
        let hint = "hint: list turns with `foreword turn list THREAD`";
        assert_eq!(error, format!("error: there is no turn `{nobody}`\n{hint}\n"));
    }
    let error = machine.run(&format!("prompt show {nobody}")).failed(2);
    assert!(error.starts_with(&format!("error: there is no thread `{nobody}`\nhint: ")), "{error}");
    let error = machine.run(&format!("prompt diff {thread}")).failed(2);
    assert!(
        error.starts_with(&format!("error: thread `{thread}` has no turn to compare with yet\n")),
        "{error}"
    );
    for words in [
        format!("show {thread} --round 1"),
        format!("show {thread} --turn x --fresh"),
        format!("show {thread} --mode chat"),
        format!("diff {thread} --until x --cwd a"),
        "show --turn x".to_owned(),
        "show --fresh".to_owned(),
        "diff --until x".to_owned(),
    ] {
        assert_eq!(machine.run(&format!("prompt {words}")).code, Some(2), "{words}");
    }
}

#[test]
fn pipes_get_plain_unchanged_bytes() {
    let (machine, _server, thread) = with_thread("");
    machine.write("home/USER.md", "bell \u{7} and \u{1b}[31mred\n");
    let plain = machine.run(&format!("prompt show {thread}"));
    assert!(plain.out.contains("bell \u{7} and \u{1b}[31mred"), "a pipe gets what a model gets");
    let mut command = machine.command(&format!("prompt show {thread}"));
    command.env("NO_COLOR", "1");
    assert_eq!(crate::support::finish(command, b""), plain);
    let script = format!("$foreword prompt show {thread} | head -n 1");
    let said = crate::support::finish(machine.shell(&script), b"");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "## Identity\n"), "{}", said.err);
    assert!(!said.err.contains("error"), "{}", said.err);
}

#[test]
fn deviations_are_warnings_and_manifest_diagnostics() {
    let (machine, _server, thread) = with_thread("");
    std::fs::remove_file(machine.home().join("SOUL.md")).unwrap();
    let said = machine.run(&format!("prompt show {thread}"));
    let warning = "warning: soul_core, ~/home/SOUL.md: the file is not there; the gateway makes it when it starts \
                   (missing_file)\n";
    assert!(machine.tidy(&said.err).ends_with(warning), "{}", said.err);
    let manifest: Value = machine.run(&format!("prompt manifest {thread} --format json")).object();
    assert_eq!(manifest["diagnostics"][0]["code"], "missing_file");
    assert!(machine.run(&format!("prompt show {thread} --format json")).object().is_object());
}
