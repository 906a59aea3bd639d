//! `[prompt]` in the configuration, and the files of the home directory.

use std::fs;

use super::prompt::{sections, with_thread};
use crate::support::Machine;

#[test]
fn a_profile_decides_how_much_there_is() {
    let (machine, _server, thread) = with_thread("[prompt]\nprofile = 'minimal'\n");
    assert_eq!(
        sections(&machine, &thread),
        ["identity", "safety", "environment", "agents_md", "agents_context"]
    );
    let (machine, _server, thread) = with_thread("[prompt]\nprofile = 'none'\n");
    assert_eq!(sections(&machine, &thread), [""; 0]);
    let said = machine.run(&format!("prompt show {thread}"));
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""));
    assert!(said.err.starts_with("\nthe prompt is empty\n"), "{}", said.err);
    assert!(said.err.contains("agents_md: the section is left out: the prompt's profile"), "{}", said.err);
}

#[test]
fn sections_can_be_disabled_and_unknown_ones_warn() {
    let (machine, server, thread) =
        with_thread("[prompt]\ndisabled_sections = ['soul_core', 'agents_md', 'sole_core']\n");
    let ids = sections(&machine, &thread);
    assert!(!ids.contains(&"soul_core".to_owned()) && !ids.contains(&"agents_md".to_owned()), "{ids:?}");
    assert!(ids.contains(&"identity_core".to_owned()));
    let log = server.log();
    let warning = "warning: prompt.disabled_sections: unknown section `sole_core`\n\
                   hint: known sections: identity, safety, soul_core,";
    assert!(log.contains(warning) && log.matches("disabled_sections").count() == 1, "{log}");
    let said = machine.run(&format!("prompt show {thread}"));
    let omitted =
        "warning: agents_md: the section is left out: it is switched off (prompt.disabled_sections)";
    assert!(said.err.contains(omitted), "{}", said.err);
}

#[test]
fn budgets_of_nothing_leave_what_is_ours() {
    let zero = "[prompt]\nbootstrap_file_chars = 0\nbootstrap_total_chars = 0\nagents_md_chars = 0\n\
                section_chars = 0\nsections_total_chars = 0\n";
    let (machine, _server, thread) = with_thread(zero);
    assert_eq!(
        sections(&machine, &thread),
        ["identity", "safety", "agents_guidance", "environment", "agents_context"]
    );
    let said = machine.run(&format!("prompt show {thread}"));
    assert_eq!(said.err.matches("warning: ").count(), 4, "{}", said.err);
}

#[test]
fn budgets_beyond_all_bounds_are_taken_and_others_refused() {
    let most = i64::MAX;
    let absurd = format!(
        "[prompt]\nbootstrap_file_chars = {most}\nbootstrap_total_chars = {most}\nagents_md_chars = {most}\n\
         section_chars = {most}\nsections_total_chars = {most}\n"
    );
    let (machine, _server, thread) = with_thread(&absurd);
    machine.write("home/USER.md", "Ada.\n".repeat(50_000));
    let said = machine.run(&format!("prompt show {thread}"));
    assert!(said.out.contains(&"Ada.\n".repeat(49_999)) && !said.err.contains("warning"), "{}", said.err);

    for (key, value) in
        [("agents_md_chars", "-1"), ("section_chars", "'many'"), ("profile", "'big'"), ("colour", "1")]
    {
        let machine = Machine::new();
        machine.write("home/config.toml", format!("[prompt]\n{key} = {value}\n"));
        let error = machine.run("serve --listen 127.0.0.1:0").failed(2);
        assert!(error.contains(&format!("prompt.{key}")) && error.contains("config.toml"), "{error}");
    }
}

#[test]
fn settings_can_come_from_the_environment() {
    let machine = Machine::new();
    let mut command = machine.command("config");
    command.env("FOREWORD_PROMPT_KEEP_TEXTS", "off").env("FOREWORD_PROMPT_PROFILE", "minimal");
    let text = crate::support::finish(command, b"").done();
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(line("prompt.keep_texts ").contains("false"), "{text}");
    assert!(line("prompt.profile ").contains("minimal"), "{text}");
}

#[test]
fn only_the_first_start_creates_bootstrap_files() {
    let machine = Machine::new();
    machine.serve().stop("TERM");
    let soul = machine.home().join("SOUL.md");
    assert!(fs::read_to_string(&soul).unwrap().starts_with("# Soul\n"));
    assert!(fs::read_to_string(machine.home().join("IDENTITY.md")).unwrap().starts_with("# Identity\n"));
    assert!(!machine.home().join("USER.md").exists(), "it is the user's to make");
    fs::write(&soul, "").unwrap();
    machine.write("home/IDENTITY.md", "mine\n");
    machine.serve().stop("TERM");
    assert_eq!(fs::read_to_string(&soul).unwrap(), "", "also an empty one");
    assert_eq!(fs::read_to_string(machine.home().join("IDENTITY.md")).unwrap(), "mine\n");
}

#[test]
fn a_directory_instead_of_a_file_has_a_hint() {
    let machine = Machine::new();
    fs::create_dir_all(machine.home().join("SOUL.md")).unwrap();
    machine.check_code(
        "serve --listen 127.0.0.1:0",
        3,
        "",
        "error: ~/home/SOUL.md is a directory, but must be a file\n\
         hint: move it away, or use another home directory with --home\n",
    );
    let error = machine.run("serve --listen 127.0.0.1:0 --format json").error(3);
    assert_eq!(error["hint"], "move it away, or use another home directory with --home");
}
