//! `foreword compare`, `foreword map`, and the lines about other agents at the end of `foreword explain`.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Machine, finish};

/// A project with more text than Codex takes, and one directory below with more.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("project/.git/objects/x", "");
    machine.write("project/.git/refs/x", "");
    // 40,000 bytes exceed the 32,768 that Codex reads, so the file is cut and the one in `web` is dropped
    // as a whole.
    machine.write("project/AGENTS.md", "0123456\n".repeat(5_000));
    machine.write("project/CLAUDE.md", "@AGENTS.md\n");
    machine.write("project/web/AGENTS.md", "0123456\n".repeat(10));
    machine.write("project/web/app/x", "");
    machine
}

#[test]
fn agents_are_compared_in_tables_and_sentences() {
    let machine = machine();
    let out = machine.tidy(&machine.run("compare web --agent codex,gemini-cli --agent opencode").done());
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "~/project/web");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[2]), ["AGENT", "VERSION", "ROLE", "FILES", "BYTES", "TOKENS", "LOST", "BYTES"]);
    let codex = words(lines[3]);
    assert_eq!(codex[..5], ["codex", "0.166.0", "user", "1", "32,768"].map(str::to_owned), "{out}");
    assert_eq!(codex.last().map(String::as_str), Some("7,312"), "{out}");
    for sentence in [
        "Codex drops the last 7,232 bytes of AGENTS.md",
        "Codex drops all 80 bytes of web/AGENTS.md, which no longer fits",
        "Gemini CLI reads nothing here",
        "opencode puts the nearest file first",
    ] {
        assert!(lines.contains(&sentence), "{sentence}: {out}");
    }
    let row = lines.iter().find(|line| line.starts_with("web/AGENTS.md")).unwrap();
    assert!(row.contains("dropped: codex; ignored: gemini-cli; read: opencode"), "{out}");
}

#[test]
fn a_comparison_has_its_shape() {
    let machine = machine();
    let object = machine.run("compare web --agent codex --reading web/app/x --format json").object();
    let project = machine.project();
    let path = |below: &str| json!(project.join(below).to_string_lossy());
    assert_eq!(object["path"], path("web"));
    let codex = &object["agents"][0];
    let keys: Vec<&String> = codex.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["agent", "version", "role", "files", "bytes", "tokens", "lost_bytes"]);
    let file = &codex["files"][0];
    let keys: Vec<&String> = file.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["path", "outcome", "role", "when", "bytes", "kept_bytes", "tokens"]);
    assert_eq!(
        (&file["path"], &file["outcome"], &file["role"], &file["when"], &file["bytes"], &file["kept_bytes"]),
        (
            &path("AGENTS.md"),
            &json!("truncated"),
            &json!("user"),
            &json!("start"),
            &json!(40_000),
            &json!(32_768)
        )
    );
    assert_eq!((&codex["bytes"], &codex["lost_bytes"]), (&json!(32_768), &json!(7_312)));
    assert!(object["differences"].as_array().unwrap().iter().all(|sentence| sentence.is_string()));
    let all = machine.run("compare --format json").object();
    let agents = all["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent["agent"].as_str().unwrap()).collect();
    assert!(names.contains(&"codex") && !names.contains(&"codelia"), "codelia only on request: {names:?}");
}

#[test]
fn a_comparison_is_markdown_on_request() {
    let machine = machine();
    let out = machine.run("compare web --agent codex --markdown").done();
    assert!(
        out.starts_with("# What agents read in `") && out.contains("| codex | 0.166.0 | user |"),
        "{out}"
    );
}

#[test]
fn incomparable_prompts_are_refused_with_a_hint() {
    let machine = machine();
    let err = machine.run("compare --agent claud-code").failed(2);
    assert!(
        err.contains("unknown agent `claud-code`") && err.contains("did you mean `claude-code`?"),
        "{err}"
    );
    let err = machine.run("compare nowhere/at/all").failed(2);
    assert!(err.contains("the nearest directory that exists is"), "{err}");
    let err = machine.run("compare AGENTS.md").failed(2);
    assert!(err.contains("is not a directory"), "{err}");
    for words in ["map --agent claud-code", "map nowhere/at/all", "map AGENTS.md"] {
        machine.run(words).failed(2);
    }
    machine.run("map --html nowhere/map.html").failed(3);
}

#[test]
fn an_agent_that_would_not_start_is_named() {
    let machine = machine();
    machine.write("codex/config.toml", "broken =\n");
    let with_home = |words: &str| {
        let mut command = machine.command(words);
        command.env("CODEX_HOME", machine.root().join("codex"));
        finish(command, b"")
    };
    let said = with_home("compare --agent codex --agent pi");
    let out = said.out;
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""));
    assert!(out.contains("codex would not start with") && out.contains("config.toml"), "{out}");
    assert!(with_home("map --agent codex").failed(1).contains("config.toml"));
}

#[test]
fn a_map_shows_where_something_changes() {
    let machine = machine();
    let out = machine.tidy(&machine.run("map --agent codex").done());
    let lines: Vec<&str> = out.lines().collect();
    // The directory `web/app` reads the same files as `web` and therefore has no line of its own.
    assert_eq!(lines.len(), 2, "{out}");
    assert!(
        lines[0].starts_with("~/project  1 file, about ")
            && lines[0].ends_with(", 7,232 bytes lost  + AGENTS.md"),
        "{out}"
    );
    assert!(
        lines[1].starts_with("  web  1 file, about ") && lines[1].ends_with(", 7,312 bytes lost"),
        "{out}"
    );
    assert_eq!(machine.run("map --format json").object()["agent"], "claude-code", "the one with traces here");
    let object = machine.run("map --agent foreword --format json").object();
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["agent", "directories", "sets"]);
    assert_eq!(object["agent"], "foreword");
    let directories = object["directories"].as_array().unwrap();
    assert_eq!(directories.len(), 3, "the project, web and web/app");
    let keys: Vec<&String> = directories[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["path", "files", "tokens", "lost_bytes", "set"]);
    assert_eq!(directories[1]["set"], directories[2]["set"]);
    assert_ne!(directories[0]["set"], directories[1]["set"]);
}

#[test]
fn a_map_is_one_page_on_request() {
    let machine = machine();
    let said = machine.run("map --html map.html");
    assert!(said.err.contains("wrote map.html"), "{}", said.err);
    said.done();
    let page = std::fs::read_to_string(machine.project().join("map.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("\"title\":\"Claude Code\""), "{page}");
}

#[test]
fn a_map_names_what_contradicts_itself() {
    let machine = machine();
    machine.write("project/AGENTS.md", "Run `npm install`.\n");
    machine.write("project/web/AGENTS.md", "\nRun `pnpm install`.\n");
    let out = machine.tidy(&machine.run("map --agent foreword").done());
    let conflict = "    ! `web/AGENTS.md`, line 2: it says to use `pnpm`, but `AGENTS.md` says `npm`";
    assert!(out.lines().any(|line| line == conflict), "{out}");
    let object = machine.run("map --profile foreword --format json").object();
    let sets = object["sets"].as_array().unwrap();
    let conflicts: Vec<usize> = sets.iter().map(|set| set["conflicts"].as_array().unwrap().len()).collect();
    assert_eq!(conflicts, [0, 1], "{object}");
    machine.run("map --html map.html").done();
    let page = std::fs::read_to_string(machine.project().join("map.html")).unwrap();
    assert!(page.contains("it says to use `pnpm`"), "{page}");
}

#[test]
fn bidi_characters_in_names_are_made_visible() {
    let machine = machine();
    // U+202E reverses the text after it, so a path could be displayed as another one. U+00AD is invisible
    // in most fonts.
    machine.write("project/a\u{202e}b\u{ad}/AGENTS.md", "x\n");
    for command in ["map", "check", "compare", "explain"] {
        let out = machine.run(command).out;
        assert!(!out.contains('\u{202e}'), "{command}: {out}");
    }
    let out = machine.run("map").done();
    assert!(out.contains("u{202e}") && !out.contains('\u{ad}'), "{out}");
}

#[test]
fn every_command_follows_an_agents_settings() {
    let machine = machine();
    machine.write(
        "project/.gemini/settings.json",
        r#"{"context": {"fileName": "AGENTS.md", "importFormat": "flat"}}"#,
    );
    let out = machine.run("compare --agent gemini-cli").done();
    assert!(out.contains("read: gemini-cli") && !out.contains("reads nothing"), "{out}");
    let note = ".gemini/settings.json: `context.importFormat` changes what Gemini CLI reads, and is not followed here";
    assert!(out.contains(note), "{out}");
    assert!(machine.run("explain --profile gemini-cli").done().contains("`context.fileName` in"));
    assert!(machine.run("map --agent gemini-cli").done().contains("+ AGENTS.md"));
    assert!(!machine.run("check").out.contains("Gemini CLI reads nothing"));
    // In a directory below, only the settings of that directory count.
    let out = machine.run("compare web --agent gemini-cli").done();
    assert!(out.contains("Gemini CLI reads nothing here"), "{out}");
}

/// A project may choose whose rules its own files are read by, and by no such choice what is read outside of it.
#[test]
fn a_projects_profile_cannot_leave_the_project() {
    let machine = machine();
    machine.write("secret/key.md", "PRIVATE KEY\n");
    let project = machine.project();
    std::fs::remove_file(project.join("AGENTS.md")).unwrap();
    std::fs::remove_file(project.join("CLAUDE.md")).unwrap();
    std::fs::create_dir_all(project.join(".claude/rules")).unwrap();
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".claude/rules/k.md"] {
        symlink(project.join("../secret/key.md"), project.join(name)).unwrap();
    }
    for profile in ["claude-code", "codex", "gemini-cli", "qwen-code", "copilot", "pi", "opencode", "zed"] {
        machine.write("project/.foreword/config.toml", format!("[agents]\nprofile = \"{profile}\"\n"));
        for command in ["show", "explain"] {
            let said = machine.run(command);
            assert!(!said.out.contains("PRIVATE KEY"), "{profile} {command}: {}", said.out);
        }
    }
    // An explicit question about the agent's own behavior is answered.
    assert!(machine.run("show --profile codex").out.contains("PRIVATE KEY"));
}

#[test]
fn trees_with_traps_are_mapped() {
    let machine = machine();
    let project = machine.project();
    // A link to its own parent makes the tree infinite for a walk that follows links, and reading the pipe
    // would block forever.
    symlink("..", project.join("web/up")).unwrap();
    symlink("AGENTS.md", project.join("web/app/AGENTS.md")).unwrap();
    std::fs::create_dir(project.join("line\nbreak")).unwrap();
    std::fs::write(project.join("line\nbreak/AGENTS.md"), "x").unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = project.join("web/GEMINI.md");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for agent in instructions::PROFILES {
        let out = machine.run(&format!("map --agent {}", agent.name)).done();
        assert!(!out.contains("line\nbreak"), "{out}");
    }
    let out = machine.run("compare web").done();
    assert!(out.contains("web/GEMINI.md is a FIFO and keeps Gemini CLI waiting for ever"), "{out}");
}

#[test]
fn explain_ends_with_what_other_agents_would_lose() {
    let machine = machine();
    let ending = |words: &str| {
        let out = machine.run(words).done();
        out.rsplit("\n\n").next().unwrap().to_owned()
    };
    assert_eq!(
        ending("explain"),
        "claude-code  reads CLAUDE.md, which only imports AGENTS.md; loses nothing\n"
    );
    // An agent is mentioned only if its directory in the home shows that it is used here, or if the project
    // has files for it.
    std::fs::create_dir(machine.root().join(".codex")).unwrap();
    std::fs::create_dir(machine.root().join(".gemini")).unwrap();
    assert_eq!(
        ending("explain"),
        "codex        loses the last 7,232 bytes of AGENTS.md\n\
         claude-code  reads CLAUDE.md, which only imports AGENTS.md; loses nothing\n\
         gemini-cli   reads nothing here, and so loses 40,000 bytes\n"
    );
    assert!(!ending("explain --profile codex").contains("gemini-cli"));
}
